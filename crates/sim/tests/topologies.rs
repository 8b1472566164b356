//! Every topology of the table under every routing: the conformance list, the closed form, and bandwidth.

mod common;

use comm::Comm;
use common::{machine, recv, run, send};
use spec::Time;
use std::sync::Mutex;
use tailback_sim::routing::ROUTINGS;
use tailback_sim::topology::{TOPOLOGIES, TopologyEntry};

fn text(topology: &TopologyEntry, routing: &str, nodes: usize, threads: usize) -> String {
    let (kind, shape) = (topology.card.name, topology.shapes[0].1);
    format!(
        "nodes = {nodes}\nranks_per_node = 1\nthreads = {threads}\nthreads_from = 0\n[routing]\nkind = \"{routing}\"\n[topology]\nkind = \"{kind}\"\n{shape}\n"
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
                run(&m, shifts);
                m.stats().log_hash
            };
            assert_eq!(hash(1), hash(2), "{} {}", topology.card.name, routing.card.name);
        }
    }
}

/// Each rank sends to every other and receives from every other.
fn shifts(comm: &dyn Comm) {
    for shift in 1..comm.size() {
        let (to, from) = ((comm.rank() + shift) % comm.size(), (comm.rank() + comm.size() - shift) % comm.size());
        comm.exchange(&mut [send(to, 1, 30_000), recv(from, 1, 30_000)]);
    }
}

/// Groups that differ in their switches and nodes behave as others do.
#[test]
fn uneven_groups_conform() {
    let dragonfly = "kind = \"dragonfly\"\ngroup_switches = \"3, 1, 4, 2\"\nglobal = 3\nendpoints = 2\ngroup_nodes = \"2, 1, 0, 2\"";
    let aries = "kind = \"aries\"\ngroup_chassis = \"1, 3, 2\"\nslots = 2\nendpoints = 1\nblue_links = 3\ngroup_nodes = \"1, 3, 1\"";
    for shape in [dragonfly, aries] {
        let m = |routing: &str, threads: usize| {
            let parts = format!("threads = {threads}\nthreads_from = 0\n[routing]\nkind = \"{routing}\"");
            machine(&format!("nodes = 5\nranks_per_node = 1\n{parts}\n[topology]\n{shape}\n[nic]\nrate = \"4GB/s\"\n"))
        };
        run(&m("ugal", 1), |comm| comm::conformance::run_all(comm, |_| ()));
        for to in 1..5 {
            let m = m("minimal", 1);
            assert_eq!(measured(&m, 0, to, 5000), m.zero_load(0, to, 5000), "{shape}: 0 -> {to}");
        }
        for routing in ROUTINGS {
            let [one, two] = [1, 2].map(|threads| {
                let m = m(routing.card.name, threads);
                run(&m, shifts);
                m.stats().log_hash
            });
            assert_eq!(one, two, "{} {shape}", routing.card.name);
        }
    }
}

/// Every count as large as its card allows, one at a time and all at once: refused or built, but no sum or product overflows.
#[test]
fn the_largest_counts_of_every_topology_do_no_harm() {
    for topology in TOPOLOGIES {
        let counts: Vec<&spec::Param> = topology.card.params.iter().filter(|p| p.kind == spec::Kind::Count).collect();
        let line = |p: &spec::Param| format!("{} = {}\n", p.name, p.most);
        let mut all: Vec<String> = counts.iter().map(|p| line(p)).collect();
        all.push(all.concat());
        for lines in all {
            let text = format!("nodes = 64\n[topology]\nkind = \"{}\"\n{lines}", topology.card.name);
            let config = tailback_sim::Config::from_toml(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
            if let Err(error) = tailback_sim::Simulator::new(config) {
                assert!(error.to_string().contains(topology.card.name), "{text}: {error}");
            }
        }
        for param in counts {
            let text = format!("[topology]\nkind = \"{}\"\n{} = 1000001\n", topology.card.name, param.name);
            let refused = tailback_sim::Config::from_toml(&text).map(tailback_sim::Simulator::new);
            let said = refused.unwrap().err().expect("it is too large").to_string();
            assert!(said.contains("at most 1000000") && said.contains(param.name), "{said}");
        }
    }
}
