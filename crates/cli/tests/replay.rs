//! Schedules of communication, replayed: in the time that they must take, and refused with the line where they are wrong.

mod common;

use common::{folder, tailback, text};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// All nodes on one switch, so that every message takes as long as every other.
const MACHINE: &str = "nodes = 40\nranks_per_node = 1\n[topology]\nkind = \"single-switch\"\n";

/// A broadcast over a binomial tree, one send after the other, as a file. A message takes far longer than ranks are apart when they begin.
fn tree(ranks: usize) -> String {
    let mut file = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let own = if rank == 0 { 0 } else { 1 << rank.ilog2() };
        let _ = writeln!(file, "rank {rank} {{");
        if rank > 0 {
            let _ = writeln!(file, "in: recv 1000000b from {}", rank - own);
        }
        let mut last = String::new();
        for (i, to) in (0..10).map(|bit| 1usize << bit).filter(|bit| *bit > own).map(|bit| rank + bit).enumerate() {
            if to < ranks {
                let _ = writeln!(file, "out{i}: send 1000000b to {to}");
                let before = if last.is_empty() && rank > 0 { "in".to_string() } else { last };
                if !before.is_empty() {
                    let _ = writeln!(file, "out{i} requires {before}");
                }
                last = format!("out{i}");
            }
        }
        let _ = writeln!(file, "}}");
    }
    file
}

fn good(dir: &Path, args: &[&str]) -> String {
    let out = tailback(dir, args);
    assert_eq!(out.status.code(), Some(0), "{args:?}: {}", text(&out.stderr));
    text(&out.stdout)
}

/// Microseconds that a schedule takes alone.
fn alone(dir: &Path, name: &str, schedule: &str) -> f64 {
    let file = format!("{name}.goal");
    fs::write(dir.join(&file), schedule).unwrap();
    let quick = ["--repeat", "3", "--congestors", "a2a", "--cut", "50", "--share", "20%", "--quiet"];
    let args = [&["replay", &file, "--on", "one.toml", "--out", name, "--format", "fom"][..], &quick].concat();
    let merits = good(dir, &args);
    let value = merits.lines().find_map(|l| l.strip_prefix("FOM replay.replay.isolated.avg "));
    value.and_then(|v| v.split(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{merits}"))
}

#[test]
fn a_tree_takes_as_many_messages_as_it_is_high() {
    let dir = folder("replay-tree");
    fs::write(dir.join("one.toml"), MACHINE).unwrap();
    let idle = alone(&dir, "idle", "num_ranks 32\nrank 0 { calc 0 }\n");
    let [two, eight, all] = [2, 8, 32].map(|n| alone(&dir, &format!("tree{n}"), &tree(n)) - idle);
    assert!((eight / two - 3.0).abs() < 0.2 && (all / two - 5.0).abs() < 0.3, "{idle} {two} {eight} {all}");
    let computing = "num_ranks 2\nrank 0 { a: calc 50000 b: send 8b to 1 b requires a }\nrank 1 { recv 8b from 0 }\n";
    let later = alone(&dir, "computing", computing) - idle;
    // Ranks begin some microseconds apart, and what takes no longer than that does not show.
    assert!((45.0..55.0).contains(&later), "{later} us with 50 us of computing");
    // A send that need not wait for it goes on its way while the rank computes.
    let beside = "num_ranks 2\nrank 0 { a: calc 50000 b: send 8b to 1 }\nrank 1 { a: recv 8b from 0 b: calc 50000 b requires a }\n";
    let beside = alone(&dir, "beside", beside) - idle;
    assert!(beside < later + 3.0, "{beside} us beside, {later} us one after the other");
    // Calculations take turns on one processor, and run side by side on two.
    let [turns, side] = [0, 1].map(|cpu| {
        let both = format!("num_ranks 2\nrank 0 {{ calc 50000 calc 30000 cpu {cpu} }}\n");
        alone(&dir, &format!("cpu{cpu}"), &both) - idle
    });
    assert!((turns - 80.0).abs() < 5.0 && (side - 50.0).abs() < 5.0, "{turns} us in turn, {side} us side by side");
    // Whichever of several messages comes first is worked on first: the slow rank's does not hold the other's answer back.
    let first = "num_ranks 3\nrank 0 { a: recv 8b from 1 b: recv 8b from 2 c: send 8b to 2 c requires b }\n\
                 rank 1 { a: calc 50000 b: send 8b to 0 b requires a }\n\
                 rank 2 { a: send 8b to 0 b: recv 8b from 0 b requires a c: calc 45000 c requires b }\n";
    let answered = alone(&dir, "first", first) - idle;
    assert!(answered < 60.0, "{answered} us; an answer that waits for the slow rank makes it 95");
}

#[test]
fn what_is_wrong_with_a_schedule_is_said_with_its_place() {
    let dir = folder("replay-wrong");
    for (schedule, code, says) in [
        ("num_ranks 2\nrank 0 {\nfly 3\n}\n", 2, "line 3"),
        ("num_ranks 2\nrank 0 { send 8b to 1 }\n", 2, "rank 0 sends 1 message of 8 bytes"),
        ("num_ranks 1\nrank 0 { a: calc 1 b: calc 1 a requires b b requires a }\n", 2, "in a circle"),
        ("num_ranks 5000\n", 77, "the schedule has 5000 ranks"),
    ] {
        fs::write(dir.join("wrong.goal"), schedule).unwrap();
        let out = tailback(&dir, &["replay", "wrong.goal", "--nodes", "10", "--quiet"]);
        assert_eq!(out.status.code(), Some(code), "{schedule}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(says), "{schedule}: {}", text(&out.stderr));
    }
}
