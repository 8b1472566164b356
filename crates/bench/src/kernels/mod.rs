//! The table of kernels. To add one: a file here with its card, and a line in [`KERNELS`].

mod allreduce;
mod alltoall;
pub mod command;
mod eager;
mod flow;
pub mod hpcc;
mod incast;
mod null;
mod pair;
mod pause;
mod prtt;
mod queue;
mod ring;
mod rma_ring;

use crate::kernel::Kernel;
use spec::near::unknown;

/// Every kernel, in the order of `tailback list` and of the documentation.
pub const KERNELS: &[Kernel] = &[
    ring::LATENCY,
    rma_ring::GET_LATENCY,
    ring::BANDWIDTH,
    rma_ring::PUT_BANDWIDTH,
    ring::BANDWIDTH_SYNC,
    allreduce::ALLREDUCE,
    alltoall::ALLTOALL,
    alltoall::PAIRWISE,
    incast::P2P_INCAST,
    incast::PUT_INCAST,
    incast::GET_BCAST,
    incast::P2P_BCAST,
    pair::PINGPONG,
    pair::STREAM,
    pair::DUPLEX,
    queue::QUEUE,
    eager::LIMIT,
    prtt::PRTT,
    flow::FLOW,
    flow::RATE,
    hpcc::hpl::HPL,
    hpcc::ptrans::PTRANS,
    hpcc::random_access::LOCAL,
    hpcc::random_access::GLOBAL,
    hpcc::fft::LOCAL,
    hpcc::fft::GLOBAL,
    hpcc::dgemm::DGEMM,
    hpcc::stream::STREAM,
    hpcc::latency::PING_PONG,
    hpcc::ring::RINGS,
    pause::PAUSE,
    command::COMMAND,
    null::NULL,
];

/// Every name that a kernel is known by.
pub fn names() -> Vec<&'static str> {
    KERNELS.iter().map(|k| k.card.name).collect()
}

/// The kernel of this name, or what to say when there is none.
pub fn kernel(name: &str) -> Result<&'static Kernel, String> {
    let found = KERNELS.iter().find(|k| k.card.name == name);
    found.ok_or_else(|| unknown("kernel", name, KERNELS.iter().map(|k| k.card.name)))
}
