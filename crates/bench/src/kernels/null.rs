//! A kernel that does nothing: what it measures is the harness.

use crate::kernel::{Evidence, Kernel, Pattern, Setup, Traits};
use comm::Refusal;
use record::{Metric, Verdict};
use spec::{Card, Work};

/// The harness itself.
pub const NULL: Kernel = Kernel {
    card: Card {
        name: "null",
        about: "Does nothing: measures the cost of the harness itself",
        source: "Tailback",
        params: &[],
    },
    metric: Metric::Latency,
    min_ranks: 1,
    traits: Traits { evidence: Evidence::Nothing("nothing is done"), ..Traits::PLAIN },
    start,
};

struct Null;

fn start(_: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    Ok(Box::new(Null))
}

impl Pattern for Null {
    fn arrange(&mut self, _: u64) {}
    fn step(&mut self) -> Option<Work> {
        Some(Work::messages(1, 0))
    }
    fn verify(&mut self) -> Verdict {
        Verdict::Right { checked: 0 }
    }
}
