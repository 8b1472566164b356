//! Every behaviour of `Comm` on the simulated machine: 1 to 9 ranks, several layouts, topologies, protocols and threads.

mod common;

use comm::conformance;
use common::{machine, run};

fn conforms(text: &str) {
    run(&machine(text), |comm| conformance::run_all(comm, |_| ()));
}

#[test]
fn one_rank_per_node() {
    for nodes in 1..=9 {
        conforms(&format!("nodes = {nodes}\nranks_per_node = 1\n"));
    }
}

#[test]
fn several_ranks_per_node() {
    for (nodes, per) in [(1, 2), (1, 5), (2, 2), (2, 3), (3, 3), (2, 4)] {
        conforms(&format!("nodes = {nodes}\nranks_per_node = {per}\n"));
    }
}

#[test]
fn two_nics_and_narrow_protocols() {
    conforms("nodes = 3\nranks_per_node = 2\n[nic]\nper_node = 2\noutstanding = 1\nmtu = 256\n[protocol]\neager = 0\n");
    conforms("nodes = 4\nranks_per_node = 1\n[switch]\nbuffer = 4136\n[protocol]\neager = \"64MiB\"\n");
}

#[test]
fn input_fifos() {
    conforms("nodes = 5\nranks_per_node = 1\n[switch]\nqueueing = \"fifo\"\n");
}

const CHAIN: &str = "[topology]\nkind = \"chain\"\nswitches = 3\n";

#[test]
fn several_parts() {
    for (nodes, per) in [(2, 1), (3, 2), (4, 2), (9, 1)] {
        conforms(&format!("threads = 1\nnodes = {nodes}\nranks_per_node = {per}\n{CHAIN}"));
    }
}

#[test]
fn two_threads() {
    conforms(&format!("threads = 2\nnodes = 3\nranks_per_node = 1\n{CHAIN}"));
}
