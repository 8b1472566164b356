//! A network that drops: everything arrives in the end, the queue never outgrows its buffer, and sources that slow down
//! lose less.

mod common;
#[path = "common/incast.rs"]
mod incast;

use comm::conformance;
use common::{machine, run};
use incast::{Roles, jain};
use spec::Time;
use tailback_sim::Simulator;

fn lossy(text: &str) -> Simulator {
    machine(&format!("ranks_per_node = 1\n{text}[switch]\nfull = \"drop\"\nbuffer = \"32KiB\"\n"))
}

#[test]
fn every_behaviour_of_comm() {
    for control in ["none", "aimd"] {
        let m = lossy(&format!(
            "nodes = 6\n[topology]\nkind = \"chain\"\nswitches = 2\n[protocol]\nresend = \"10us\"\n[control]\nkind = \"{control}\"\n"
        ));
        run(&m, |comm| conformance::run_all(comm, |_| ()));
    }
}

#[test]
fn an_incast_loses_packets_and_delivers_everything() {
    let outcome = |control: &str| {
        let m = lossy(&format!("nodes = 17\n[control]\nkind = \"{control}\"\n"));
        let roles = Roles { root: 0, victims: None, bytes: 256 << 10, duration: Time::from_us(20_000) };
        let outcome = incast::run(&m, roles);
        let stats = m.stats();
        assert_eq!(stats.injected_bytes, stats.delivered_bytes);
        assert!(stats.resent_packets > 0 && stats.peak_queue_bytes <= 32 << 10, "{control}: {stats:?}");
        let delivered = stats.delivered_bytes / 4096;
        (stats.resent_packets as f64 / delivered as f64, outcome.goodput / 12.5e9, jain(&outcome.shares))
    };
    let (none, aimd) = (outcome("none"), outcome("aimd"));
    assert!(none.0 > 4.0 * aimd.0, "sent again per packet: {none:?} without control, {aimd:?} with");
    assert!(aimd.1 > 0.8 && aimd.2 > 0.95, "{aimd:?}");
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let outcome = |threads| {
        let m = lossy(&format!(
            "threads = {threads}\nthreads_from = 0\nnodes = 12\n[topology]\nkind = \"chain\"\nswitches = 3\n[control]\nkind = \"aimd\"\n"
        ));
        let roles = Roles { root: 0, victims: Some([5, 1]), bytes: 64 << 10, duration: Time::from_us(2000) };
        let samples = incast::run(&m, roles).samples;
        (m.stats().log_hash, m.stats().resent_packets, samples)
    };
    assert_eq!(outcome(1), outcome(2));
}
