//! Every topology of the table under every routing: the conformance list, the closed form, and bandwidth.

mod common;

use common::{machine, recv, run, send};
use spec::Time;
use std::sync::Mutex;
use tailback_sim::routing::ROUTINGS;
use tailback_sim::topology::{TOPOLOGIES, TopologyEntry};

fn text(topology: &TopologyEntry, routing: &str, nodes: usize, threads: usize) -> String {
    let (kind, shape) = (topology.card.name, topology.shapes[0].1);
    format!(
        "nodes = {nodes}\nranks_per_node = 1\nthreads = {threads}\n[routing]\nkind = \"{routing}\"\n[topology]\nkind = \"{kind}\"\n{shape}\n"
    )
}

#[test]
fn every_topology_conforms_with_every_routing() {
    for topology in TOPOLOGIES {
        for routing in ROUTINGS {
            let m = machine(&text(topology, routing.card.name, 5, 1));
            run(&m, |comm| comm::conformance::run_all(comm, |_| ()));
        }
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

/// Behind NICs that are slower than any cable, latency and bandwidth of a lone message are exact to the picosecond.
#[test]
fn zero_load_is_the_closed_form() {
    for topology in TOPOLOGIES {
        let m = machine(&(text(topology, "minimal", 9, 1) + "[nic]\nrate = \"4GB/s\"\n"));
        for to in 1..9 {
            for bytes in [0, 8, 4096, 5000, 100_000] {
                let (it, form) = (measured(&m, 0, to, bytes), m.zero_load(0, to, bytes as u64));
                assert_eq!(it, form, "{}: 0 -> {to}, {bytes} bytes", topology.card.name);
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
    for topology in TOPOLOGIES {
        for routing in ROUTINGS {
            let hash = |threads| {
                let m = machine(&text(topology, routing.card.name, 8, threads));
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
