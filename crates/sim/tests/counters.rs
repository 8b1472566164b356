//! What nodes count: their NICs, the last hop to them, and the switch they are at.

mod common;

use comm::Comm;
use common::{machine, recv, run, send};
use spec::Time;
use std::sync::Mutex;

const BYTES: usize = 1 << 16;

fn counter(comm: &dyn Comm, name: &str) -> u64 {
    comm.counters().iter().find(|c| c.0 == name).unwrap_or_else(|| panic!("no {name} in {:?}", comm.counters())).1
}

/// A counter on every node, once all that was sent has come.
fn counted(file: &str, name: &str, body: impl Fn(&dyn Comm) + Sync) -> Vec<u64> {
    let found = Mutex::new(Vec::new());
    let m = machine(file);
    run(&m, |comm| {
        body(comm);
        comm.pause(Time::from_us(10_000));
        let value = counter(comm, name);
        found.lock().unwrap().push((comm.rank(), value));
    });
    let mut all = found.into_inner().unwrap();
    all.sort_unstable();
    all.into_iter().map(|(_, value)| value).collect()
}

/// Everyone sends to rank 0.
fn incast(comm: &dyn Comm) {
    if comm.rank() == 0 {
        let mut all: Vec<_> = (1..comm.size()).map(|from| recv(from, 1, BYTES)).collect();
        comm.exchange(&mut all);
    } else {
        comm.exchange(&mut [send(0, 1, BYTES)]);
    }
}

#[test]
fn what_is_sent_is_received() {
    let file = "nodes = 8\nranks_per_node = 1\n";
    let [sent, received] = ["nic0.tx_bytes", "nic0.rx_bytes"].map(|name| counted(file, name, incast));
    assert_eq!(sent.iter().sum::<u64>(), received.iter().sum::<u64>(), "{sent:?} {received:?}");
    let [out, came] = ["nic0.tx_packets", "nic0.rx_packets"].map(|name| counted(file, name, incast));
    assert_eq!(out.iter().sum::<u64>(), came.iter().sum::<u64>(), "{out:?} {came:?}");
    assert!(received[0] >= 7 * BYTES as u64 && received[1..].iter().all(|b| *b < BYTES as u64), "{received:?}");
}

/// Two switches of four nodes: what crosses is forwarded once, and a crowd on one node of the other switch makes packets wait.
#[test]
fn switches_count_what_they_pass_on_and_where_it_waits() {
    let file = "nodes = 8\nranks_per_node = 1\n[topology]\nkind = \"fat-tree\"\nradix = 8\nlevels = 2\n";
    let (first, second) = (0..4, 4..8);
    let forwarded = counted(file, "switch.forwarded_bytes", incast);
    // Everyone at a switch reads the same switch. The senders at the other one send all of theirs across.
    for leaf in [first, second.clone()] {
        assert!(forwarded[leaf.clone()].iter().all(|b| *b == forwarded[leaf.start]), "{forwarded:?}");
    }
    assert!(forwarded[4] >= 4 * BYTES as u64 && forwarded[0] < BYTES as u64, "{forwarded:?}");
    let quiet = |comm: &dyn Comm| match comm.rank() {
        4 => comm.exchange(&mut [send(0, 1, 8)]),
        0 => comm.exchange(&mut [recv(4, 1, 8)]),
        _ => {}
    };
    let [crowded, alone] = [counted(file, "switch.stalled_ps", incast), counted(file, "switch.stalled_ps", quiet)];
    assert!(crowded[4] > 0 && alone == [0; 8], "{crowded:?} {alone:?}");
}
