//! The table of kernels. To add one: a file here with its card, and a line in [`KERNELS`].

mod allgather;
mod allreduce;
mod alltoall;
pub mod command;
mod eager;
mod flow;
mod goal;
pub mod hpcc;
mod incast;
pub mod meet;
mod null;
mod overlap;
mod pair;
mod pause;
mod prtt;
mod queue;
mod ring;
mod rma_ring;
mod skeleton;

use crate::kernel::Kernel;
pub(crate) use goal::SCHEDULED;
use spec::near::unknown;
use spec::{ParamError, Params};

/// Messages under way at once at most: each is a request of the machine.
pub(crate) const WINDOW: f64 = (1 << 20) as f64;

/// Every kernel, in the order of `tailback list` and of the documentation.
pub const KERNELS: &[Kernel] = &[
    ring::LATENCY,
    rma_ring::GET_LATENCY,
    ring::BANDWIDTH,
    rma_ring::PUT_BANDWIDTH,
    ring::BANDWIDTH_SYNC,
    allreduce::ALLREDUCE,
    alltoall::ALLTOALL,
    alltoall::POSTED,
    allgather::ALLGATHER,
    incast::P2P_INCAST,
    incast::PUT_INCAST,
    incast::GET_BCAST,
    incast::P2P_BCAST,
    pair::PINGPONG,
    pair::STREAM,
    pair::DUPLEX,
    meet::MEET,
    queue::QUEUE,
    overlap::OVERLAP,
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
    skeleton::stencil::LULESH,
    skeleton::stencil::HALO3D,
    skeleton::stencil::CG,
    skeleton::wave::SWEEP3D,
    skeleton::pencils::FFT3D,
    skeleton::gradient::GRADIENT,
    skeleton::collect::CHECKPOINT,
    goal::GOAL,
    pause::PAUSE,
    command::COMMAND,
    null::NULL,
];

/// Every name that a kernel is known by, aliases too.
pub fn names() -> Vec<&'static str> {
    KERNELS.iter().flat_map(|kernel| kernel.names().map(|(name, _)| name)).collect()
}

/// A kernel as it is named in a list, a plan or a suite.
pub struct Called {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Parameters that go with the name.
    preset: &'static [(&'static str, &'static str)],
}

impl Called {
    /// Parameters that were given beside the name, and those that go with it: what is given goes first.
    pub fn with(&self, given: &Params) -> Params {
        let preset = self.preset.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        preset.chain(given.clone()).collect()
    }

    /// Every parameter of the kernel.
    pub fn resolve(&self, given: &Params) -> Result<Params, ParamError> {
        self.kernel.card.resolve(&self.with(given))
    }
}

/// The kernel of this name or alias, or what to say when there is none.
pub fn called(name: &str) -> Result<Called, String> {
    let all = || KERNELS.iter().flat_map(|kernel| kernel.names().map(move |(name, preset)| (name, kernel, preset)));
    let found = all().find(|(known, ..)| *known == name);
    let (_, kernel, preset) = found.ok_or_else(|| unknown("kernel", name, all().map(|(name, ..)| name)))?;
    Ok(Called { kernel, preset })
}
