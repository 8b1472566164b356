//! Cables and switches that break in the middle of a run: traffic goes around, or the run says why it cannot.

mod common;
#[path = "common/incast.rs"]
mod incast;

use comm::{Buffer, Data};
use common::{failure, machine, recv, run, send};
use spec::Time;
use std::sync::Mutex;
use tailback_sim::routing::ROUTINGS;
use tailback_sim::{Config, Simulator};

/// Four leaves (switches 0 to 3) of four nodes, four spines (4 to 7).
const TREE: &str = "ranks_per_node = 1\nnodes = 16\n[topology]\nkind = \"fat-tree\"\nradix = 8\n";

fn fault(text: &str) -> String {
    format!("[[fault]]\n{text}\n")
}

/// Everybody sends `bytes` to the node half a machine away, `rounds` times; the time at which the last has everything.
fn shift(machine: &Simulator, rounds: usize, bytes: usize) -> Time {
    let end = Mutex::new(Time::ZERO);
    run(machine, |comm| {
        let (n, me) = (comm.size(), comm.rank());
        for _ in 0..rounds {
            comm.exchange(&mut [send((me + n / 2) % n, 1, bytes), recv((me + n - n / 2) % n, 1, bytes)]);
        }
        let mut end = end.lock().unwrap();
        *end = comm.now().max(*end);
    });
    end.into_inner().unwrap()
}

#[test]
fn a_slowed_cable_slows_what_crosses_it_from_then_on() {
    let text = "nodes = 4\nranks_per_node = 1\n[topology]\nkind = \"chain\"\nswitches = 2\n";
    // Two flows share the cable at 6.25 GB/s each: 1 MB takes 168 us, or ten times that.
    let whole = shift(&machine(text), 10, 1_000_000).secs();
    let slow = machine(&(text.to_string() + &fault("at = \"0s\"\nlink = \"0-1\"\nrate = \"1.25GB/s\"")));
    let ratio = shift(&slow, 10, 1_000_000).secs() / whole;
    assert!((ratio - 10.0).abs() < 0.2, "{ratio}");
    let middle = machine(&(text.to_string() + &fault("at = \"800us\"\nlink = \"0-1\"\nrate = \"1.25GB/s\"")));
    let seconds = shift(&middle, 10, 1_000_000).secs();
    let expected = 800e-6 + (whole - 800e-6) * 10.0;
    assert!((seconds / expected - 1.0).abs() < 0.02, "{seconds} beside {expected}");
    assert_eq!(middle.events(), ["link 0-1 set to 1.25GB/s at 800us"]);
    assert_eq!(middle.stats().resent_packets, 0);
}

#[test]
fn what_waited_for_a_cut_cable_is_no_congestion_any_more() {
    // The incast waits in spine 4 for its cable to the root's leaf, and its sources hold off; then that cable is cut.
    let text = format!("{TREE}[control]\nkind = \"slingshot\"\n{}", fault("at = \"12us\"\nlink = \"0-4\""));
    let roles = incast::Roles { root: 0, victims: None, bytes: 64 << 10, duration: Time::from_us(5000) };
    let shares = incast::run(&machine(&text), roles).shares;
    assert!(incast::jain(&shares) > 0.9, "nobody is held for what is gone: {shares:?}");
}

#[test]
fn every_routing_goes_around_a_cut_cable_and_a_lost_spine() {
    for entry in ROUTINGS {
        for what in ["link = \"0-5\"", "link = \"switch 2 port 6\"", "switch = 6"] {
            let routing = format!("[routing]\nkind = \"{}\"\n", entry.card.name);
            let text = format!("{TREE}{routing}{}", fault(&format!("at = \"8us\"\n{what}")));
            let m = machine(&text);
            shift(&m, 4, 200_000);
            assert_eq!(m.events().len(), 1, "{}: {what}", entry.card.name);
            let stats = m.stats();
            assert_eq!(stats.injected_bytes, stats.delivered_bytes);
        }
    }
}

#[test]
fn what_a_lost_spine_held_is_sent_again() {
    let m = machine(&(TREE.to_string() + &fault("at = \"5us\"\nswitch = 5")));
    let broken = shift(&m, 4, 200_000);
    assert!(m.stats().resent_packets > 0);
    assert_eq!(m.events(), ["switch 5 lost at 5.00us"]);
    assert!(broken > shift(&machine(TREE), 4, 200_000));
}

#[test]
fn detours_are_found_where_no_shortest_way_is_left() {
    // The one cable between two switches of a group, and between two groups; two neighbours of a ring.
    for (topology, cut) in [
        ("kind = \"hyperx\"\nendpoints = 1", "0-1"),
        ("kind = \"torus\"\ndims = \"4x4\"\nendpoints = 1", "0-1"),
        ("kind = \"dragonfly\"\nswitches = 4\nendpoints = 2\nglobal = 1", "0-1"),
    ] {
        for routing in ["minimal", "adaptive", "ugal"] {
            let text = format!(
                "ranks_per_node = 1\nnodes = 16\n[topology]\n{topology}\n[routing]\nkind = \"{routing}\"\n{}",
                fault(&format!("at = \"1us\"\nlink = \"{cut}\""))
            );
            let config = Config::from_toml(&text).unwrap();
            let m = Simulator::new(config).unwrap_or_else(|e| panic!("{topology}: {e}"));
            run(&m, |comm| {
                for _ in 0..20 {
                    comm.alltoall(Data::Len(16 * 3000), Buffer::Len(16 * 3000));
                }
            });
            assert_eq!(m.events().len(), 1, "{topology}");
        }
    }
}

#[test]
fn a_pair_without_a_way_ends_the_run_with_the_fault_and_the_pair() {
    let chain = "nodes = 4\nranks_per_node = 1\n[topology]\nkind = \"chain\"\nswitches = 2\n";
    for (what, named) in [
        ("link = \"0-1\"", "link 0-1 cut at 5.00us: no way is left from node "),
        ("switch = 1", "switch 1 lost at 5.00us: no way is left from node "),
        ("link = \"endpoint 2\"", "link of endpoint 2 cut at 5.00us: no way is left from node "),
    ] {
        let m = machine(&(chain.to_string() + &fault(&format!("at = \"5us\"\n{what}"))));
        let error = failure(&m, |comm| {
            let other = (comm.rank() + 2) % 4;
            for _ in 0..100 {
                comm.exchange(&mut [send(other, 1, 50_000), recv(other, 1, 50_000)]);
            }
        });
        assert!(error.0.contains(named), "{what}: {error}");
        assert_eq!(m.events().len(), 1);
    }
}

#[test]
fn a_mended_cable_carries_again() {
    let chain = "nodes = 4\nranks_per_node = 1\n[topology]\nkind = \"chain\"\nswitches = 2\n";
    let text = chain.to_string()
        + &fault("at = \"2us\"\nlink = \"0-1\"")
        + &fault("at = \"3us\"\nlink = \"0-1\"\nrate = \"12.5GB/s\"");
    let m = machine(&text);
    run(&m, |comm| {
        // Nobody talks before the cable is mended.
        comm.compute(spec::Work::flops(40_000), &mut || ());
        let other = (comm.rank() + 2) % 4;
        comm.exchange(&mut [send(other, 1, 50_000), recv(other, 1, 50_000)]);
    });
    assert_eq!(m.events().len(), 2);
}

#[test]
fn what_breaks_after_the_end_neither_happens_nor_lengthens_the_run() {
    let m = machine(&(TREE.to_string() + &fault("at = \"1s\"\nswitch = 5")));
    shift(&m, 1, 1000);
    assert!(m.events().is_empty());
    assert!(m.stats().end_ps < 1_000_000_000);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for (routing, queueing) in [("adaptive", "voq"), ("minimal", "fifo"), ("adaptive", "columns")] {
        let outcome = |threads| {
            let text = format!(
                "threads = {threads}\nthreads_from = 0\n{TREE}[routing]\nkind = \"{routing}\"\n[switch]\nqueueing = \"{queueing}\"\n{}{}",
                fault("at = \"8us\"\nswitch = 5"),
                fault("at = \"30us\"\nlink = \"0-6\"")
            );
            let m = machine(&text);
            let end = shift(&m, 4, 200_000);
            (end, m.stats().log_hash, m.stats().events, m.stats().resent_packets)
        };
        assert_eq!(outcome(1), outcome(2), "{routing}");
    }
}

#[test]
fn places_that_do_not_exist_are_named() {
    let refused = |what: &str| {
        let config = Config::from_toml(&(TREE.to_string() + &fault(what)));
        match config {
            Err(e) => e.to_string(),
            Ok(config) => Simulator::new(config).err().expect("refused").to_string(),
        }
    };
    assert!(refused("switch = 8").ends_with("fault: switch 8: the machine has switches 0 to 7"));
    assert!(refused("link = \"0-1\"").ends_with("fault: link 0-1: there is no such cable"));
    assert!(refused("link = \"endpoint 16\"").contains("the machine has endpoints 0 to 15"));
    assert!(refused("link = \"switch 0 port 9\"").contains("the switch has ports 0 to 7"));
    assert!(refused("link = \"leaf0\"").contains("write `0-8`, `switch 0 port 3` or `endpoint 12`"));
    assert!(refused("at = \"1ms\"").contains("needs either `link` or `switch`"));
    assert!(refused("swich = 1").contains("did you mean `switch`"));
    assert!(refused("switch = 1\nrate = \"1GB/s\"").contains("has no `rate`"));
}
