//! Every behaviour of `Comm` on the simulated machine: 1 to 9 ranks, several layouts, topologies, protocols and threads.

mod common;

use comm::{Comm, Node, Op, Pending, PendingSum, Rank, Refusal, Window, conformance};
use common::{failure, machine, run};
use spec::{Time, Work};

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
    conforms(
        "nodes = 3\nranks_per_node = 2\n[nic]\nmtu = 256\n[protocol]\nshort = 8\neager = 512\nmedium_time = \"1us\"\n\
         short_rate = \"2GB/s\"\nmedium_rate = \"1GB/s\"\nlong_rate = \"2GB/s\"\n",
    );
    conforms("nodes = 4\nranks_per_node = 1\n[switch]\nbuffer = 4136\n[protocol]\neager = \"64MiB\"\n");
    for limit in ["outstanding = 1", "window = 1", "window = 3000"] {
        conforms(&format!(
            "nodes = 4\nranks_per_node = 2\n[nic]\n{limit}\nmtu = 512\n[switch]\napart = \"answers\"\nqueueing = \"fifo\"\n\
             [protocol]\neager = 8\nlong = \"fetched\"\n"
        ));
    }
    for full in ["wait", "drop"] {
        conforms(&format!(
            "nodes = 4\nranks_per_node = 1\n[nic]\nmtu = 512\nheader = 20\nunit = 64\nasked_header = 8\nrequest = 18\n\
             answer = 6\n[switch]\nfull = \"{full}\"\nbuffer = 8192\n[protocol]\neager = 8\nlong = \"fetched\"\n"
        ));
    }
    for ahead in [1, 64] {
        let protocol = format!("[protocol]\neager = 8\ncopied = 4096\nahead = {ahead}\n");
        conforms(&format!("nodes = 4\nranks_per_node = 2\n[nic]\noutstanding = 2\n{protocol}"));
        conforms(&format!("nodes = 4\nranks_per_node = 1\n[switch]\nfull = \"drop\"\nbuffer = 8192\n{protocol}"));
    }
}

#[test]
fn queues_of_inputs() {
    for queueing in ["fifo", "columns"] {
        conforms(&format!("nodes = 5\nranks_per_node = 1\n[switch]\nqueueing = \"{queueing}\"\ncolumns = 2\n"));
    }
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
    conforms(&format!("threads = 2\nthreads_from = 0\nnodes = 3\nranks_per_node = 1\n{CHAIN}"));
}

/// A rank that forgets the last byte of what it is sent.
struct Forgetful<'a>(&'a dyn Comm);

impl Comm for Forgetful<'_> {
    fn rank(&self) -> Rank {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn node(&self) -> Node {
        self.0.node()
    }
    fn now(&self) -> Time {
        self.0.now()
    }
    fn exchange(&self, ops: &mut [Op<'_>]) {
        self.0.exchange(ops);
        for op in ops {
            if let Op::Recv { into: comm::Buffer::Bytes(bytes), .. } = op
                && let Some(last) = bytes.last_mut()
            {
                *last ^= 1;
            }
        }
    }
    fn overlap<'b>(&self, work: &mut dyn FnMut(&mut dyn Pending<'b>)) {
        self.0.overlap(work);
    }
    fn compute(&self, work: Work, f: &mut dyn FnMut()) {
        self.0.compute(work, f);
    }
    fn charge(&self, work: Work) -> bool {
        self.0.charge(work)
    }
    fn split(&self, color: Option<u32>, key: u32) -> Option<Box<dyn Comm + '_>> {
        self.0.split(color, key)
    }
    fn window(&self, len: usize) -> Result<Box<dyn Window + '_>, Refusal> {
        self.0.window(len)
    }
    fn start_sum(&self, x: f64) -> Box<dyn PendingSum + '_> {
        self.0.start_sum(x)
    }
}

#[test]
fn a_wrong_rank_is_caught() {
    let error = failure(&machine("nodes = 3\n"), |comm| conformance::run_all(&Forgetful(comm), |_| ()));
    assert!(error.0.contains("rank"), "{error}");
}
