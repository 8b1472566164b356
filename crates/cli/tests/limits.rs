//! Numbers that nobody can mean are refused before anything is made of them: with exit code 2, with the flag or the field, the value and
//! the limit; and beside each a number that is taken.

mod common;

use common::{folder, tailback, text};
use std::fs;
use std::path::Path;

/// Words of a command with `{}` for the value, a value that is refused and what is said of it, and one that is taken; none where it needs
/// more than a plan.
type Case<'a> = (&'a str, &'a str, &'a [&'a str], &'a str);

/// Plans alone: what is refused is refused before, and what is taken need not run.
const OF_RUNS: &[Case<'_>] = &[
    ("run ambient --canaries p2p-lat:{}", "1TB", &["p2p-lat: size=1TB", "at most 16GiB"], "1MB"),
    (
        "run ambient --canaries p2p-bw:128KiB:window={}",
        "99999999999",
        &["p2p-bw: window=99999999999", "at most 1048576"],
        "64",
    ),
    ("run ambient --canaries put-incast:{}", "2^45", &["put-incast: size=2^45", "at most 16GiB"], "2^15"),
    ("run ambient --payload checked --canaries alltoall:{}", "8GiB", &["size=8GiB", "buffers take", "may use"], "8KiB"),
    ("run gpcnet --congestors a2a@{}", "1e308", &["a2a@1e308", "from 0.000001 to 1000000"], "3"),
    ("run gpcnet --congestors a2a@{}", "1e-308", &["a2a@1e-308", "from 0.000001 to 1000000"], "0.5"),
    ("run gpcnet --placements {}", "4000000000", &["placements=4000000000", "at most 100000"], "7"),
    ("run gpcnet --rounds {}", "18446744073709551616", &["rounds=18446744073709551616", "at most 1000000000"], "70"),
    ("run gpcnet --time {}", "1e308", &["time=1e308", "the largest time is 10000000s"], "1h"),
    ("run gpcnet --cut {}", "99999999999", &["cut=99999999999", "at most 1000000000"], "100"),
    ("run gpcnet --ejection {}", "1e300GB/s", &["ejection=1e300GB/s", "the largest rate is"], "12GB/s"),
    ("run harness --steps {}", "99999999999", &["steps=99999999999", "at most 1000000000"], "10"),
    ("run maxrate --sizes {}", "2^36", &["sizes=2^36", "at most 16 GiB"], "2^10"),
    ("run maxrate --to {}", "1TiB", &["to=1TiB", "at most 16GiB"], "1KiB"),
    (
        "run maxrate --sizes 8 --modes stream --window {}",
        "10000000000",
        &["window=10000000000", "at most 1048576"],
        "32",
    ),
    (
        "run maxrate --nodes 2 --ranks-per-node 110 --per-octave 64 --to {}",
        "16GiB",
        &["phases are too many", "at most 200000"],
        "",
    ),
    ("run ambient --repeat {}", "4000000000", &["repeat=4000000000", "at most 20000"], "4"),
    (
        "run ambient --canaries p2p-lat,p2p-bw,allreduce,alltoall,a2a,p2p-incast,get-bcast,p2p-bcast,put-bw,get-lat,null --repeat {}",
        "20000",
        &["240000 phases are too many", "at most 200000"],
        "3",
    ),
    ("run app --repeat {} -- true", "4000000000", &["repeat=4000000000", "at most 1000000"], ""),
    ("run contention --repeats {}", "4000000000", &["repeats=4000000000", "at most 10000"], "4"),
    ("run contention --size {}", "1TiB", &["size=1TiB", "at most 16GiB"], "1MiB"),
    (
        "run hpcc --on default --threads-per-rank {}",
        "1000000000",
        &["threads-per-rank=1000000000", "at most 4096"],
        "2",
    ),
    ("run hpcc --on default --repetitions {}", "1000000000000", &["repetitions=1000000000000", "at most 1000000"], "2"),
    ("run hpcc --on default --n {} --rank-memory 1GiB", "1000000", &["--n 1000000", "choose a smaller N"], "100"),
    ("run hpcc --on default --memory {} --rank-memory 1GiB", "1TiB", &["--memory 1TiB", "choose a smaller N"], "1MiB"),
    ("run harness --nodes {}", "4000000000", &["--nodes", "4000000000 is not in 1..=1000000"], "3"),
    ("run harness --ranks-per-node {}", "4000000000", &["--ranks-per-node", "4000000000 is not in 1..=4096"], "3"),
    (
        "run harness --ranks-per-node 4096 --nodes {}",
        "1000000",
        &["nodes x ranks_per_node = 4096000000 is out of range", "4000000"],
        "2",
    ),
    ("run harness --threads {}", "1000000000", &["--threads", "1000000000 is not in 1..=1024"], "2"),
    ("contention measure g1 --repeats {}", "4000000000", &["--repeats", "is not in 1..=10000"], "2"),
    ("contention measure g1 --size {}", "1e15", &["size=1000000000000000", "at most 16GiB"], "1MiB"),
    ("contention measure g1 --lead {}", "1e308", &["--lead", "the largest time is 10000000s"], "1ms"),
    ("contention validate --graphs 3 --among {}", "4000000000", &["--among", "is not in 1..=10000"], "5"),
    ("contention validate --among 5 --graphs {}", "4000000000", &["--graphs", "is not in 1..=100000"], "3"),
    ("contention validate --graphs 3 --degree {}", "4000000000", &["--degree", "is not in 1..=10000"], "4"),
    ("contention validate --graphs 3 --edges {}", "2..4000000000", &["--edges 2..4000000000"], "2..3"),
];

fn refused(dir: &Path, words: &[String], says: &[&str]) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let out = tailback(dir, &words);
    let said = format!("{words:?}\n{}{}", text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(2), "{said}");
    says.iter().for_each(|word| assert!(said.contains(word), "`{word}` is not said by {said}"));
}

fn words(template: &str, value: &str) -> Vec<String> {
    let (before, after) = template.split_once(" -- ").map_or((template, None), |(a, b)| (a, Some(b)));
    let all = before.split(' ').map(|word| word.replace("{}", value));
    let all = all.chain(["--plan-only".to_string()]);
    all.chain(after.into_iter().flat_map(|rest| ["--".to_string(), rest.to_string()])).collect()
}

#[test]
fn numbers_that_nobody_can_mean_are_refused_and_others_are_not() {
    let dir = folder("limits-flags");
    for (template, bad, says, good) in OF_RUNS {
        refused(&dir, &words(template, bad), says);
        if !good.is_empty() {
            let all = words(template, good);
            let out = tailback(&dir, &all.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(out.status.code(), Some(0), "{all:?}\n{}", text(&out.stderr));
        }
    }
    let tune = ["tune", "--like", "x", "--candidates", "4000000000"].map(String::from);
    refused(&dir, &tune, &["--candidates", "is not in 1..=10000"]);
}

/// Files of all kinds: a text with `{}` for the value, how it is used, a bad value, what is said, and a good value.
const OF_FILES: &[(&str, &str, &str, &[&str], &str)] = &[
    (
        "nodes = {}\n",
        "run harness --plan-only --on FILE",
        "9223372036854775807",
        &["nodes", "choose 1 to 1000000"],
        "4",
    ),
    (
        "nodes = 4\n[nic]\nrate = \"{}\"\n",
        "run harness --plan-only --on FILE",
        "1e300GB/s",
        &["rate=1e300GB/s"],
        "1GB/s",
    ),
    (
        "nodes = 4\n[host]\nsend_overhead = \"{}\"\n",
        "run harness --plan-only --on FILE",
        "1e308",
        &["send_overhead=1e308", "the largest time"],
        "1us",
    ),
    (
        "nodes = 4\n[topology]\nkind = \"chain\"\nswitches = {}\n",
        "run harness --plan-only --on FILE",
        "9223372036854775807",
        &["switches=9223372036854775807", "at most 1000000"],
        "2",
    ),
    ("0 -> 1 {}\n", "contention predict FILE", "1e300", &["1e300"], "1MiB"),
    ("0 -> 1 1MiB @{}\n", "contention predict FILE", "1e308", &["1e308"], "1ms"),
];

#[test]
fn numbers_in_files_are_refused_with_their_place() {
    let dir = folder("limits-files");
    for (i, (content, command, bad, says, good)) in OF_FILES.iter().enumerate() {
        let words = |name: &str| command.split(' ').map(|w| w.replace("FILE", name)).collect::<Vec<_>>();
        let write = |name: &str, value: &str| fs::write(dir.join(name), content.replace("{}", value)).unwrap();
        let (bad_file, good_file) = (format!("bad{i}.toml"), format!("good{i}.toml"));
        write(&bad_file, bad);
        refused(&dir, &words(&bad_file), says);
        write(&good_file, good);
        let all = words(&good_file);
        let out = tailback(&dir, &all.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(out.status.code(), Some(0), "{all:?}\n{}", text(&out.stderr));
    }
}

/// A plan as it is printed, changed at one place.
#[test]
fn numbers_in_plans_are_refused_with_their_place() {
    let dir = folder("limits-plans");
    let out = tailback(&dir, &["run", "gpcnet", "--nodes", "10", "--congestors", "a2a", "--plan-only"]);
    let plan: serde_json::Value = serde_json::from_str(&text(&out.stdout)).unwrap();
    let cases: [(&str, &str, &[&str]); 8] = [
        ("/placements", "4294967295", &["`placements` is 4294967295", "1 to 100000"]),
        (
            "/phases/0/jobs/0/stop/time_s",
            "1e308",
            &["phase `isolated/p2p-lat`", "`time_s` is 1e308", "10000000 seconds"],
        ),
        ("/phases/0/jobs/0/stop/time_s", "-1", &["`time_s` is -1.0"]),
        ("/phases/0/jobs/0/stop/steps", "0", &["`steps` is 0"]),
        ("/phases/0/jobs/0/members/block/first_node", "4294967295", &["reaches node 4294967296"]),
        ("/phases/0/jobs/0/members/block/nodes", "4294967295", &["job `p2p-lat`", "reaches node"]),
        ("/phases/0/jobs/0/params", "{\"size\": \"1TB\"}", &["p2p-lat: size=1TB", "at most 16GiB"]),
        ("/phases/0/jobs/0/params", "{\"window\": \"99999999999\"}", &["window=99999999999", "at most 1048576"]),
    ];
    let run = |name: &str| ["run", "--plan", name, "--nodes", "10", "--plan-only"].map(String::from);
    fs::write(dir.join("good.json"), plan.to_string()).unwrap();
    let good = run("good.json");
    assert_eq!(tailback(&dir, &good.each_ref().map(String::as_str)).status.code(), Some(0));
    for (i, (place, value, says)) in cases.iter().enumerate() {
        let mut changed = plan.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = serde_json::from_str(value).unwrap();
        let name = format!("bad{i}.json");
        fs::write(dir.join(&name), changed.to_string()).unwrap();
        refused(&dir, &run(&name), says);
    }
}
