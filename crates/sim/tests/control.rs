//! An incast is shared fairly, with congestion control and without. What holds for every control of the table is checked in
//! `src/control/checks.rs`.

mod common;
#[path = "common/incast.rs"]
mod incast;

use common::{machine, recv, run, send};
use incast::{Roles, jain};
use spec::Time;
use std::sync::Mutex;
use tailback_sim::control::CONTROLS;

fn with(control: &str, text: &str) -> String {
    format!("{text}[control]\nkind = \"{control}\"\n")
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

/// When a lone message has come over ways of different lengths, on which its packets catch up with each other.
fn lone_message(control: &str, kind: &str) -> Time {
    let text =
        format!("nodes = 64\nranks_per_node = 1\n[topology]\nkind = \"{kind}\"\n[routing]\nkind = \"valiant\"\n");
    let (m, bytes, end) = (machine(&with(control, &text)), 64 << 10, Mutex::new(Time::ZERO));
    run(&m, |comm| match comm.rank() {
        0 => comm.exchange(&mut [send(63, 1, bytes)]),
        63 => {
            comm.exchange(&mut [recv(0, 1, bytes)]);
            *end.lock().unwrap() = comm.now();
        }
        _ => {}
    });
    end.into_inner().unwrap()
}

#[test]
fn no_control_slows_a_lone_message() {
    for entry in CONTROLS {
        for kind in ["dragonfly", "torus", "hyperx"] {
            let name = entry.card.name;
            assert_eq!(lone_message(name, kind), lone_message("none", kind), "{name} on a {kind}");
        }
    }
}
