//! `--dry-run` knows the messages of a run to a factor of two, writes nothing, and says when it cannot help.

mod common;

use common::{folder, tailback, text};

/// The number after a word, with its million or thousand.
fn number(text: &str, before: &str) -> f64 {
    let line = text.lines().find(|l| l.contains(before)).unwrap_or_else(|| panic!("no {before} in {text}"));
    let mut words = line[line.find(before).unwrap() + before.len()..].split_whitespace();
    let value: f64 = words.next().unwrap().parse().unwrap();
    value * if words.next() == Some("million") { 1e6 } else { 1e3 }
}

/// What a run says that it did: "4.2 M messages, 23.7 M packet-hops".
fn done(text: &str, what: &str) -> f64 {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at =
        words.iter().position(|w| w.trim_end_matches(',') == what).unwrap_or_else(|| panic!("no {what} in {text}"));
    words[at - 2].parse::<f64>().unwrap() * if words[at - 1] == "M" { 1e6 } else { 1e3 }
}

#[test]
fn a_dry_run_knows_messages_to_a_factor_of_two() {
    let dir = folder("dry");
    for given in [
        "run gpcnet --nodes 20 --placements 2",
        "run gpcnet --nodes 20 --placements 1 --rounds 40 --cut 40 --on small-dragonfly",
        "run gpcnet --nodes 24 --placements 2 --congestors a2a --canaries p2p-bw",
        // The time limit leaves a part of each block: an eighth of the messages was said when parts had limits, too.
        "run gpcnet --nodes 24 --placements 1 --canaries p2p-bw-sync --time 2ms",
    ] {
        let words: Vec<&str> = given.split_whitespace().collect();
        let dry = tailback(&dir, &[&words[..], &["--dry-run"]].concat());
        let said = text(&dry.stdout);
        assert!(dry.status.success(), "{}", text(&dry.stderr));
        assert!(!dir.join("tailback-runs").exists(), "a dry run writes nothing");
        let run = tailback(&dir, &[&words[..], &["--out", "one", "--force"]].concat());
        let took = text(&run.stderr);
        for (before, what) in [("Messages      about", "messages"), ("Packet-hops   about", "packet-hops")] {
            let ratio = number(&said, before) / done(&took, what);
            assert!((0.5..2.0).contains(&ratio), "{given}: {what} {ratio:.2}\n{said}\n{took}");
        }
    }
}

#[test]
fn a_dry_run_of_what_cannot_be_cut_or_is_real_is_refused() {
    let dir = folder("dry-refused");
    for (words, expected) in [
        (&["run", "hpcc", "--on", "default", "--only", "hpl", "--n", "400", "--dry-run"][..], "too few steps"),
        (&["run", "harness", "--on", "local", "--dry-run"], "name a simulated machine"),
        (&["run", "gpcnet", "--dry-run", "--plan-only"], "cannot be used with"),
    ] {
        let refused = tailback(&dir, words);
        let said = text(&refused.stderr);
        assert!(refused.status.code() == Some(2) && said.contains(expected), "{words:?}: {said}");
    }
}

#[test]
fn what_cannot_be_cut_is_refused_on_the_fewest_nodes() {
    let dir = folder("dry-fewest");
    let words = "run hpcc --on malbec --nodes 120 --only hpl --n 400 --dry-run";
    let refused = tailback(&dir, &words.split_whitespace().collect::<Vec<_>>());
    let said = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("too few steps"), "{said}");
    assert!(said.contains("looking at 30 of 120 nodes") && !said.contains("looking at 60"), "{said}");
}
