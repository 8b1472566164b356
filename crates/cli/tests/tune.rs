//! `tailback tune` from outside, on the simulated machine: a known load is found again, and the same way twice.

mod common;

use common::{folder, tailback, text};
use std::fs;
use std::path::Path;
use std::process::Output;

const MACHINE: [&str; 5] = ["--nodes", "16", "--ranks-per-node", "2", "--quiet"];

/// Records a load of a known share and number of ranks per node.
fn known(dir: &Path, share: &str, slots: &str) {
    let load = ["--canaries", "p2p-lat", "--congestors", "a2a,p2p-incast", "--share", share, "--slots", slots];
    let quick = ["--time", "1ms", "--rounds", "300000", "--cut", "10", "--out", "known"];
    let args: Vec<&str> =
        ["run", "gpcnet", "--placements", "1"].into_iter().chain(load).chain(quick).chain(MACHINE).collect();
    let out = tailback(dir, &args);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
}

fn tune(dir: &Path, more: &[&str]) -> Output {
    let like = ["tune", "--like", "known/run.json", "--congestors", "a2a,p2p-incast", "--time", "1ms"];
    let args: Vec<&str> = like.into_iter().chain(MACHINE).chain(more.iter().copied()).collect();
    tailback(dir, &args)
}

/// The nearest candidate's share in percent, its ranks per node and its distance.
fn nearest(stdout: &str) -> (u32, u32, f64) {
    let best = stdout.lines().find(|l| l.contains("tailback run gpcnet")).expect("the flags of the nearest");
    let after = |option: &str| best.split(option).nth(1).unwrap().split([' ', '%']).next().unwrap().parse().unwrap();
    let distance = stdout.lines().find_map(|l| l.strip_prefix("FOM tune.distance ")).unwrap();
    (after("--share "), after("--slots "), distance.split(' ').next().unwrap().parse().unwrap())
}

/// Another seed puts the congestors on other nodes, so nothing is played again. A light load is used: one that fills the network leaves
/// the same counters with one rank per node as with two.
#[test]
fn a_light_load_is_found_again_with_another_seed() {
    let dir = folder("tune-known");
    known(&dir, "40%", "1");
    let out = tune(&dir, &["--seed", "7", "--candidates", "14", "--out", "tuned"]);
    let stdout = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(!stdout.contains("fairer trial"), "{stdout}");
    assert!(stdout.contains("tailback run gpcnet --nodes 16 --ranks-per-node 2 --share"), "{stdout}");
    let (share, slots, distance) = nearest(&stdout);
    // 16 nodes: one more or less is 6 %.
    assert!((30..=50).contains(&share) && slots == 1 && distance < 0.3, "{stdout}");
    let record = fs::read(dir.join("tuned/run.json")).unwrap();
    tune(&dir, &["--seed", "7", "--candidates", "14", "--out", "again"]);
    assert_eq!(record, fs::read(dir.join("again/run.json")).unwrap());
    let shown = tailback(&dir, &["report", "tuned/run.json"]);
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
}

/// With the recorded seed a candidate equal to the recorded load is the same phase but for the order of what happens at one moment, which
/// is another at every time.
#[test]
fn the_recorded_seed_plays_the_recorded_load_again() {
    let dir = folder("tune-replay");
    known(&dir, "60%", "1");
    let out = tune(&dir, &["--seed", "1", "--candidates", "10"]);
    let stdout = text(&out.stdout);
    let (share, slots, distance) = nearest(&stdout);
    assert!((share, slots) == (60, 1) && distance < 1e-3, "{stdout}");
    assert!(stdout.contains("another --seed is a fairer trial"), "{stdout}");
}

#[test]
fn what_cannot_be_compared_is_said_with_a_remedy() {
    let dir = folder("tune-errors");
    known(&dir, "60%", "1");
    for (more, words) in [
        (&["--counter", "machine.nic0.tx_byte"][..], "machine.nic0.tx_bytes"),
        (&["--phase", "loaded/p2p-la"], "loaded/p2p-lat"),
        (&["--counter", "machine.nic0.tx_bytes=elsewhere"], "THERE=HERE"),
        (&["--congestors", "a2b"], "a2a"),
    ] {
        let more: Vec<&str> = more.iter().copied().chain(["--candidates", "2"]).collect();
        let like = ["tune", "--like", "known/run.json", "--time", "1ms"];
        let args: Vec<&str> = like.into_iter().chain(MACHINE).chain(more).collect();
        let out = tailback(&dir, &args);
        let stderr = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    let missing = tailback(&dir, &["tune", "--like", "nowhere.json"]);
    assert_eq!(missing.status.code(), Some(1), "{}", text(&missing.stderr));
    assert!(text(&missing.stderr).contains("nowhere.json"));
}
