//! The files of distributions that the original GPCNeT writes, made from a record.

mod common;

use common::{folder, tailback, text};
use std::fs;

#[test]
fn distributions_are_those_of_the_record() {
    let dir = folder("dat");
    let run =
        ["run", "gpcnet", "--nodes", "12", "--rounds", "3", "--cut", "50", "--time", "2ms", "--out", "r", "--quiet"];
    assert_eq!(tailback(&dir, &run).status.code(), Some(0));
    let out = tailback(&dir, &["report", "r", "--dat", "d"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let mut names: Vec<String> =
        fs::read_dir(dir.join("d")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    // Three tests alone and with congestors, and four congestors with each.
    assert_eq!(names.len(), 3 * 2 + 3 * 4, "{names:?}");
    for name in
        ["p2p_latency_baseline.dat", "p2p_neighbors_with_congestors.dat", "put_incast_congestor_with_p2p_latency.dat"]
    {
        assert!(names.iter().any(|n| n == name), "{name}: {names:?}");
    }
    let file = fs::read_to_string(dir.join("d/p2p_latency_baseline.dat")).unwrap();
    let mut lines = file.lines();
    assert_eq!(lines.next().unwrap(), format!("{:22}{:>20}", "", "RR Two-sided Lat"));
    assert_eq!(lines.next().unwrap(), format!("{:>20} {:>20} {:>20}", "Bin", "usec", "count"));
    let rows: Vec<(usize, f64, u64)> = lines
        .map(|line| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            (cells[0].parse().unwrap(), cells[1].parse().unwrap(), cells[2].parse().unwrap())
        })
        .collect();
    assert_eq!((rows.len(), rows[99_999].0), (100_000, 99_999));
    let record: serde_json::Value = serde_json::from_str(&fs::read_to_string(dir.join("r/run.json")).unwrap()).unwrap();
    let phase = record["phases"].as_array().unwrap().iter().find(|p| p["about"]["test"] == "p2p-lat").unwrap();
    let summary = &phase["jobs"][0]["summary"];
    let count: u64 = rows.iter().map(|r| r.2).sum();
    assert_eq!(summary["samples"].as_u64(), Some(count));
    let mean = rows.iter().map(|r| r.1 * r.2 as f64).sum::<f64>() / count as f64;
    let known = summary["mean"].as_f64().unwrap() * 1e6;
    assert!((mean / known - 1.0).abs() < 0.02, "{mean} us by the file, {known} by the record");
    let again = tailback(&dir, &["report", "r", "--dat", "d"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("is there already"), "{}", text(&again.stderr));
}

#[test]
fn what_has_no_canaries_has_no_distributions() {
    let dir = folder("dat-none");
    let run = ["run", "maxrate", "--sizes", "8", "--pairs", "1", "--out", "r", "--quiet"];
    assert_eq!(tailback(&dir, &run).status.code(), Some(0));
    let out = tailback(&dir, &["report", "r", "--dat", "d"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("has no canaries") && !dir.join("d").exists(), "{}", text(&out.stderr));
}
