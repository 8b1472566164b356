//! Every topology of the table under every routing: the conformance list, the closed form, and bandwidth.

mod common;

use common::{machine, recv, run, send};
use spec::Time;
use std::sync::Mutex;
use tailback_sim::routing::ROUTINGS;
use tailback_sim::topology::TOPOLOGIES;

/// The shape of a topology in which some ways have every kind of cable.
fn small(kind: &str) -> &'static str {
    match kind {
        "chain" => "switches = 3",
        "fat-tree" => "levels = 3\nradix = 4",
        "dragonfly" => "switches = 2\nendpoints = 1\nglobal = 2",
        "aries" => "chassis = 2\nslots = 2\nendpoints = 1\nblue_links = 2",
        "torus" => "dims = \"3x3\"\nendpoints = 1",
        "hyperx" => "dims = \"3x3\"\nendpoints = 1",
        _ => "",
    }
}

fn text(kind: &str, routing: &str, nodes: usize, per: usize, threads: usize) -> String {
    format!(
        "nodes = {nodes}\nranks_per_node = {per}\nthreads = {threads}\n[routing]\nkind = \"{routing}\"\n[topology]\nkind = \"{kind}\"\n{}\n",
        small(kind)
    )
}

/// Every topology with routes in order and with detours; every routing on a dragonfly.
#[test]
fn all_conform() {
    let topologies = TOPOLOGIES.iter().flat_map(|t| [(t.card.name, "minimal"), (t.card.name, "ugal")]);
    let routings = ROUTINGS.iter().map(|r| ("dragonfly", r.card.name));
    for (kind, routing) in topologies.chain(routings) {
        let m = machine(&text(kind, routing, 5, 1, 1));
        run(&m, |comm| comm::conformance::run_all(comm, |_| ()));
    }
}

/// The time of a lone message, seen from the receiver.
fn measured(machine: &tailback_sim::Simulator, from: usize, to: usize, bytes: usize) -> Time {
    let time = Mutex::new(Time::ZERO);
    run(machine, |comm| {
        if comm.rank() == from {
            comm.exchange(&mut [send(to, 1, bytes)]);
        } else if comm.rank() == to {
            comm.exchange(&mut [recv(from, 1, bytes)]);
            *time.lock().unwrap() = comm.now();
        }
    });
    time.into_inner().unwrap()
}

/// On a path whose cables are no slower than the NIC, latency and bandwidth of a lone message are exact to the picosecond.
#[test]
fn zero_load_is_the_closed_form() {
    for topology in TOPOLOGIES {
        let kind = topology.card.name;
        let fast = if kind == "aries" { "local_rate = \"12.5GB/s\"\nglobal_rate = \"12.5GB/s\"\n" } else { "" };
        let m = machine(&(text(kind, "minimal", 9, 1, 1) + fast));
        for to in 1..9 {
            for bytes in [0, 8, 4096, 5000, 100_000] {
                let (it, form) = (measured(&m, 0, to, bytes), m.zero_load(0, to, bytes as u64));
                assert_eq!(it, form, "{kind}: 0 -> {to}, {bytes} bytes");
            }
        }
    }
}

/// A lone stream gets the rate of its slowest cable.
#[test]
fn bandwidth_is_that_of_the_slowest_cable() {
    let shape = "[topology]\nkind = \"dragonfly\"\nswitches = 2\nendpoints = 1\nglobal = 1\nglobal_rate = \"5GB/s\"\n";
    let m = machine(&format!("nodes = 6\nranks_per_node = 1\n[nic]\npacket_overhead = \"0ns\"\n{shape}"));
    let bytes = 16 << 20;
    let rate = bytes as f64 / measured(&m, 0, 5, bytes).secs();
    assert!((rate / (5e9 * 4096.0 / 4136.0) - 1.0).abs() < 2e-3, "{rate}");
}

/// The same result on one thread and on two, under every routing, with traffic that crosses parts.
#[test]
fn threads_do_not_matter() {
    for topology in TOPOLOGIES.iter().filter(|t| t.card.name != "single-switch") {
        for routing in ROUTINGS {
            let hash = |threads| {
                let m = machine(&text(topology.card.name, routing.card.name, 8, 1, threads));
                run(&m, |comm| {
                    for shift in 1..comm.size() {
                        let (to, from) =
                            ((comm.rank() + shift) % comm.size(), (comm.rank() + comm.size() - shift) % comm.size());
                        comm.exchange(&mut [send(to, 1, 30_000), recv(from, 1, 30_000)]);
                    }
                });
                m.stats().log_hash
            };
            assert_eq!(hash(1), hash(2), "{} {}", topology.card.name, routing.card.name);
        }
    }
}
