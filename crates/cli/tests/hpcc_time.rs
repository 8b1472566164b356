//! How long HPC Challenge will take is said before it starts, and sizes are chosen by it.

mod common;

use common::{folder, tailback, text};
use std::fs;
use std::path::Path;

/// What was said before, and what the tests took in the end, in seconds of the simulated machine.
fn said_and_taken(dir: &Path, name: &str, more: &[&str]) -> (f64, f64) {
    let machine = [
        "run",
        "hpcc",
        "--on",
        "default",
        "--nodes",
        "4",
        "--ranks-per-node",
        "2",
        "--payload",
        "lengths",
        "--out",
        name,
    ];
    let out = tailback(dir, &[&machine[..], more].concat());
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{said}");
    let words = said.lines().find_map(|l| l.strip_prefix("tailback: about ")).unwrap_or_else(|| panic!("{said}"));
    let mut words = words.split(' ');
    let number: f64 = words.next().unwrap().parse().unwrap();
    let unit = match words.next() {
        Some("us") => 1e-6,
        Some("ms") => 1e-3,
        _ => 1.0,
    };
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(dir.join(name).join("run.json")).unwrap()).unwrap();
    let phases = record["phases"].as_array().unwrap();
    (number * unit, phases.iter().map(|p| p["elapsed_s"].as_f64().unwrap()).sum())
}

#[test]
fn what_it_will_take_is_said_before() {
    let dir = folder("hpcc-time");
    for n in ["64", "256", "1000"] {
        let (said, taken) = said_and_taken(&dir, n, &["--n", n]);
        assert!((said / taken - 1.0).abs() < 0.3, "N = {n}: {said} s were said, and it took {taken} s");
    }
    // Local tests alone, whose times differ by orders of magnitude between these sizes.
    let local = |n| said_and_taken(&dir, &format!("local{n}"), &["--only", "star,hpl", "--n", n]);
    let ((small, took_small), (large, took_large)) = (local("64"), local("2000"));
    assert!(took_large > 100.0 * took_small, "{took_small} s and {took_large} s");
    for (said, taken) in [(small, took_small), (large, took_large)] {
        assert!((said / taken - 1.0).abs() < 0.5, "{said} s were said, and it took {taken} s");
    }
}

#[test]
fn sizes_fit_a_budget() {
    let dir = folder("hpcc-budget");
    let within = |budget: &str| {
        let limits = ["--only", "star,hpl", "--rank-memory", "32MiB", "--memory", "80%", "--budget", budget];
        said_and_taken(&dir, budget, &limits)
    };
    for (budget, seconds) in [("10ms", 0.010), ("100ms", 0.100)] {
        let (said, taken) = within(budget);
        assert!(said <= 1.001 * seconds && said > 0.5 * seconds, "{budget}: {said} s were said");
        assert!((taken / seconds - 0.8).abs() < 0.5, "{budget}: it took {taken} s");
    }
    for (more, says) in [(["--n", "100"], "give one of them"), (["--only", "hpl"], "smallest problem takes about")] {
        let out = tailback(&dir, &[&["run", "hpcc", "--budget", "1ns", "--out", "no"][..], &more].concat());
        assert_eq!(out.status.code(), Some(2));
        assert!(text(&out.stderr).contains(says), "{more:?}: {}", text(&out.stderr));
    }
}
