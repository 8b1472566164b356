//! Every congestion control: the run does not depend on threads, the machine still behaves, an incast is shared fairly.

mod common;
#[path = "common/incast.rs"]
mod incast;

use comm::conformance;
use common::{machine, run};
use incast::{Roles, jain};
use spec::Time;
use tailback_sim::control::CONTROLS;

fn with(control: &str, text: &str) -> String {
    format!("{text}[control]\nkind = \"{control}\"\n")
}

/// Sixteen senders across four switches, long enough for marks, notices, timers and recovery.
fn roles() -> Roles {
    Roles { root: 0, victims: Some([5, 1]), bytes: 64 << 10, duration: Time::from_us(1500) }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for entry in CONTROLS {
        let outcome = |threads| {
            let text = format!(
                "threads = {threads}\nnodes = 20\nranks_per_node = 1\n[topology]\nkind = \"chain\"\nswitches = 4\n"
            );
            let m = machine(&with(entry.card.name, &text));
            let samples = incast::run(&m, roles()).samples;
            (m.stats().log_hash, m.stats().events, samples)
        };
        assert_eq!(outcome(1), outcome(2), "{}", entry.card.name);
    }
}

#[test]
fn every_control_of_lossless_networks_acts() {
    let queue = |control: &str| {
        let text = "nodes = 20\nranks_per_node = 1\n[topology]\nkind = \"chain\"\nswitches = 4\n";
        incast::run(&machine(&with(control, text)), roles()).summary(Time::from_us(500))[0]
    };
    let none = queue("none");
    // `aimd` waits for losses: see tests/loss.rs.
    for entry in CONTROLS.iter().filter(|e| !["none", "aimd"].contains(&e.card.name)) {
        let us = queue(entry.card.name);
        assert!(us < none / 2.0, "{}: {us} us beside {none} without", entry.card.name);
    }
}

#[test]
fn every_behaviour_of_comm_with_every_control() {
    for entry in CONTROLS {
        let text = "nodes = 3\nranks_per_node = 2\n[topology]\nkind = \"chain\"\nswitches = 2\n";
        let classes = format!("{text}[protocol]\nsmall = 64\n");
        for text in [text, &classes] {
            run(&machine(&with(entry.card.name, text)), |comm| conformance::run_all(comm, |_| ()));
        }
    }
}

#[test]
fn an_incast_on_one_switch_is_shared_equally() {
    for n in [2, 8, 32] {
        let m = machine(&format!("nodes = {}\nranks_per_node = 1\n", n + 1));
        let duration = Time::from_us(1000 * n as u64);
        // Long writes: between two of them a sender is idle for a round trip.
        let shares = incast::run(&m, Roles { root: 0, victims: None, bytes: 1 << 20, duration }).shares;
        assert_eq!(shares.len(), n);
        assert!(jain(&shares) > 0.999, "{n} senders: {}", jain(&shares));
        let each = 12.5e9 * 4096.0 / 4136.0 / n as f64;
        for share in &shares {
            assert!((share / each - 1.0).abs() < 0.02, "{n} senders: {share} beside {each}");
        }
    }
}

#[test]
fn slowed_sources_still_share_equally() {
    let m = machine(&with("slingshot", "nodes = 33\nranks_per_node = 1\n"));
    let duration = Time::from_us(20_000);
    let shares = incast::run(&m, Roles { root: 0, victims: None, bytes: 64 << 10, duration }).shares;
    assert!(jain(&shares) > 0.999, "{}", jain(&shares));
    let all: f64 = shares.iter().sum();
    assert!((0.80..0.95).contains(&(all / 12.5e9)), "a share of 0.9 is handed out: {all}");
}
