//! From a measured machine to its twin: a simulated machine is measured, and its numbers come back.

mod common;

use common::{command, folder, tailback, text};
use rustix::process::{Pid, Signal};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

/// Three nodes behind one switch, with numbers that are no defaults.
const HIDDEN: &str = "nodes = 3\nranks_per_node = 1\n[host]\nsend_overhead = \"400ns\"\nrecv_overhead = \"300ns\"\n\
    flops = 7e9\nmemory_rate = \"5GB/s\"\nupdates = 3e7\n[nic]\nrate = \"5GB/s\"\n\
    [protocol]\neager = 4096\n[topology]\nkind = \"single-switch\"\n";

/// A fit simulates what was measured some hundred times, so that is little.
const BRIEFLY: [&str; 13] = [
    "run",
    "characterize",
    "--on",
    "hidden.toml",
    "--sizes",
    "8,256KiB",
    "--trials",
    "1",
    "--budget",
    "100ms",
    "--quiet",
    "--out",
    "quiet",
];

#[test]
fn a_machine_is_measured_and_its_numbers_come_back() {
    let dir = folder("calibrate");
    fs::write(dir.join("hidden.toml"), HIDDEN).unwrap();
    let measure =
        "run characterize --on hidden.toml --sizes 8,4KiB,16KiB,256KiB --trials 2 --compute yes --out quiet --quiet";
    let out = tailback(&dir, &measure.split(' ').collect::<Vec<_>>());
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    // Tests of one rank alone are no columns of HPC Challenge, and nothing is wider than a terminal.
    let said = text(&out.stdout);
    assert!(said.contains("single/dgemm") && !said.contains("HPC Challenge"), "{said}");
    assert!(said.lines().all(|l| l.chars().count() <= 80), "{said}");
    let out = tailback(&dir, &["calibrate", "quiet", "--out", "twin.toml", "--format", "html"]);
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    let page = text(&out.stdout);
    // More data of this kind would not tell the two latencies apart: that is what the page says, and no advice.
    let together = "not identified: it shows only together with nic.latency";
    for part in ["twin, a twin", "It repeats ", "Fitted to", "host.send_overhead", "not identified", together] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let twin = fs::read_to_string(dir.join("twin.toml")).unwrap();
    assert!(twin.contains("eager = 4096 "), "{twin}");
    // A number, what it is times its unit, and what is written behind it.
    let number = |key: &str, unit: &str, scale: f64| {
        let line =
            twin.lines().find(|l| l.starts_with(&format!("{key} = "))).unwrap_or_else(|| panic!("{key}: {twin}"));
        assert!(line.contains("# fitted, 95 %"), "{line}");
        let value = line.split('"').nth(1).unwrap().strip_suffix(unit).unwrap();
        value.parse::<f64>().unwrap() * scale
    };
    let rate = number("rate", "B/s", 1.0);
    assert!((rate / 5e9 - 1.0).abs() < 0.05, "{twin}");
    let (send, receive) = (number("send_overhead", "ps", 1e-12), number("recv_overhead", "ps", 1e-12));
    assert!((send / 400e-9 - 1.0).abs() < 0.05 && (receive / 300e-9 - 1.0).abs() < 0.05, "{send} {receive}: {twin}");
    // What was computed is as fast there.
    for (key, rate) in [("flops", 7e9), ("memory_rate", 5e9), ("updates", 3e7)] {
        let line = twin.lines().find(|l| l.starts_with(&format!("{key} = "))).expect(key);
        let value =
            line.split_once(" = ").unwrap().1.split("  #").next().unwrap().trim().trim_matches('"').replace("B/s", "");
        assert!((value.parse::<f64>().unwrap() / rate - 1.0).abs() < 0.01 && line.contains("# measured: "), "{line}");
    }
    // What nothing depends on is said to be assumed, and the twin is a machine.
    assert!(twin.contains("# assumed: not identified by these data, default kept"), "{twin}");
    let out = tailback(&dir, &["machine", "check", "twin.toml"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    // Nothing is left of the simulations, and a file that is there stays.
    let mut left: Vec<String> =
        fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    left.sort_unstable();
    assert_eq!(left, ["hidden.toml", "quiet", "twin.toml"]);
    let out = tailback(&dir, &["calibrate", "quiet", "--out", "twin.toml"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("twin.toml is there already"), "{}", text(&out.stderr));
}

#[test]
fn kinds_that_nobody_gave_are_found() {
    let dir = folder("calibrate-kinds");
    // Ports that many share: behind one queue for all outputs a packet waits for others' ways.
    let fifo = "nodes = 6\nranks_per_node = 1\n[switch]\nqueueing = \"fifo\"\n[topology]\nkind = \"single-switch\"\n";
    fs::write(dir.join("hidden.toml"), fifo).unwrap();
    let out = tailback(&dir, &BRIEFLY);
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    fs::write(dir.join("like.toml"), fifo.replace("[switch]\nqueueing = \"fifo\"", "[protocol]\nlong = \"pushed\""))
        .unwrap();
    let out = tailback(&dir, &["calibrate", "quiet", "--like", "like.toml", "--out", "twin.toml"]);
    let twin = fs::read_to_string(dir.join("twin.toml")).unwrap();
    // A queue for each column and one for all look alike on six nodes; a queue for each output does not.
    let line = twin.lines().find(|l| l.starts_with("queueing = ")).expect("it is open");
    assert!(!line.contains("\"voq\"") && line.contains("voq") && line.contains("less well"), "{line}");
    assert!(text(&out.stdout).contains("switch.queueing"), "{}", text(&out.stdout));
    // What somebody gave is left alone.
    assert!(twin.contains("long = \"pushed\"\n"), "{twin}{}", text(&out.stderr));
}

#[test]
fn a_slow_node_is_found_and_treated_as_such() {
    let dir = folder("calibrate-uneven");
    let slow = HIDDEN.replace("nodes = 3", "nodes = 8") + "[[fault]]\nlink = \"endpoint 5\"\nrate = \"2GB/s\"\n";
    fs::write(dir.join("hidden.toml"), slow).unwrap();
    let out = tailback(&dir, &BRIEFLY);
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    assert!(text(&out.stdout).contains("node 5 is slow"), "{}", text(&out.stdout));
    let out = tailback(&dir, &["calibrate", "quiet", "--uneven", "model", "--out", "twin.toml"]);
    let said = text(&out.stdout);
    assert!(said.contains("Slower than the others: node 5"), "{said}{}", text(&out.stderr));
    let twin = fs::read_to_string(dir.join("twin.toml")).unwrap();
    assert!(twin.contains("link = \"endpoint 5\"") && twin.matches("[[fault]]").count() == 1, "{twin}");
}

#[test]
fn a_signal_ends_all_simulations_and_leaves_nothing() {
    let dir = folder("calibrate-signal");
    fs::write(dir.join("hidden.toml"), HIDDEN).unwrap();
    let measure = ["run", "characterize", "--on", "hidden.toml", "--sizes", "8", "--trials", "1", "--quiet"];
    assert_eq!(tailback(&dir, &[&measure[..], &["--out", "quiet"]].concat()).status.code(), Some(0));
    let mut child =
        command(&dir, &["calibrate", "quiet", "--out", "twin.toml"]).stderr(Stdio::piped()).spawn().unwrap();
    // The first thing that it says, after the first simulations, is how many there will be.
    let mut said = String::new();
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    reader.read_line(&mut said).unwrap();
    assert!(said.contains("simulations"), "{said}");
    rustix::process::kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    reader.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5), "{said}");
    assert!(said.contains("stopped by SIGTERM"), "{said}");
    let left = fs::read_dir(&dir).unwrap().count();
    assert_eq!(left, 2, "hidden.toml and quiet alone: {:?}", fs::read_dir(&dir).unwrap().collect::<Vec<_>>());
}

#[test]
fn uncertain_numbers_are_moved_and_their_changes_added_up() {
    let dir = folder("sensitivity");
    let file = "nodes = 10\nranks_per_node = 1\n[nic]\nrate = \"5GB/s\" # fitted, 95 %: 4.5 GB/s to 5.5 GB/s\nlatency = \"50ns\" # assumed\n\
        mtu = 2048 # of the data sheet\n[topology]\nkind = \"single-switch\"\n";
    fs::write(dir.join("m.toml"), file).unwrap();
    let out = tailback(&dir, &["machine", "sensitivity", "m.toml", "--out", "swept"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let said = text(&out.stdout);
    for part in ["nic.rate (fitted)", "nic.latency ", "Within what was fitted: p2p-lat", "With what is assumed between"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("mtu"), "{said}");
    let low = fs::read_to_string(dir.join("swept/nic.rate-less.toml")).unwrap();
    assert!(low.contains("rate = \"4500000000B/s\""), "{low}");
    assert!(dir.join("swept/nic.latency-more/run.json").exists());
    fs::write(dir.join("sure.toml"), "[topology]\nkind = \"single-switch\"\n").unwrap();
    let out = tailback(&dir, &["machine", "sensitivity", "sure.toml", "--out", "none"]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stdout));
}

#[test]
fn what_cannot_be_a_twin_is_refused() {
    let dir = folder("calibrate-refused");
    let out = tailback(&dir, &["calibrate", "nothing", "--out", "t.toml"]);
    assert_ne!(out.status.code(), Some(0));
    assert!(text(&out.stderr).contains("nothing"), "{}", text(&out.stderr));
    let run = ["run", "maxrate", "--nodes", "4", "--sizes", "8", "--trials", "1", "--out", "r", "--quiet"];
    assert_eq!(tailback(&dir, &run).status.code(), Some(0));
    fs::write(dir.join("broken.toml"), "[[fault]]\nat = \"1ms\"\nlink = \"node 0\"\n").unwrap();
    let out = tailback(&dir, &["calibrate", "r", "--like", "broken.toml", "--out", "t.toml"]);
    assert_ne!(out.status.code(), Some(0), "{}", text(&out.stdout));
    let out = tailback(&dir, &["calibrate", "r", "--like", "unknown", "--out", "t.toml"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("unknown"), "{}", text(&out.stderr));
    assert!(!dir.join("t.toml").exists());
}

#[test]
fn a_table_of_nodecomm_gives_a_twin_and_a_bad_one_is_refused_by_its_line() {
    let dir = folder("calibrate-nodecomm");
    // Round trips of 4 us and 2 n at 5 GB/s, of 1 and 65536 integers.
    let row = |ints: f64| format!("{ints}\t{:e}\n", 4e-6 + 2.0 * 4.0 * ints / 5e9);
    fs::write(dir.join("table.txt"), format!("Pingpong for\n{}{}", row(1.0), row(65536.0))).unwrap();
    fs::write(dir.join("bad.txt"), "1 4e-6\n2 nan\n").unwrap();
    let like = "nodes = 2\n[protocol]\neager = \"1MiB\"\nlong = \"pushed\"\n[switch]\nqueueing = \"voq\"\n";
    fs::write(dir.join("like.toml"), like).unwrap();
    let make = |table: &str| tailback(&dir, &["calibrate", table, "--like", "like.toml", "--out", "twin.toml"]);
    let out = make("bad.txt");
    let said = text(&out.stderr);
    assert!(out.status.code() == Some(2) && said.contains("line 2") && said.contains("bad.txt"), "{said}");
    let out = make("table.txt");
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    let said = text(&out.stdout);
    assert!(said.lines().all(|l| l.chars().count() <= 80), "{said}");
    let twin = fs::read_to_string(dir.join("twin.toml")).unwrap();
    let rate = twin.lines().find_map(|l| l.strip_prefix("rate = \"")).expect(&twin);
    let rate: f64 = rate.split("B/s").next().unwrap().parse().unwrap();
    // Of the rate headers take a hundredth.
    assert!((rate / 5e9 - 1.0).abs() < 0.05, "{twin}");
}
