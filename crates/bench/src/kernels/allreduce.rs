//! All-reduce of doubles: 8 bytes as a canary, 6.5 MB as the gradient exchange of deep learning.

use crate::kernel::{Asked, Congesting, Declares, Kernel, Pattern, Setup, Traits};
use crate::payload::unchecked;
use comm::{Comm, Reduce, Refusal, Vector};
use record::{Metric, Payload, Role, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};

/// GPCNeT's "Multiple Allreduce"; with `size=6553600` its deep-learning congestor.
pub const ALLREDUCE: Kernel = Kernel {
    card: Card {
        name: "allreduce",
        about: "Sum of doubles over all ranks; 8 bytes by default, 6553600 as the deep-learning congestor",
        source: "GPCNeT §3.1.1",
        params: &[Param::new("size", Kind::Size, "8", "bytes to reduce, a multiple of 8")],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        title: Some(|_, role| if role == Role::Measured { "Multiple Allreduce" } else { "Allreduce" }),
        congestor,
        declares: Declares::AsCalled("how often a value travels is the machine's to choose"),
        tiny: &[("size", "800")],
        ..Traits::PLAIN
    },
    start,
};

/// Reductions longer than this follow the rule of GPCNeT's deep-learning congestor: fewer steps by the logarithm of the nodes.
// Chosen: between GPCNeT's canary of 8 bytes and that congestor's 6,553,600.
const LONG: usize = 1 << 20;

fn congestor(asked: &Asked<'_>) -> Congesting {
    let usual = (Traits::PLAIN.congestor)(asked);
    // GPCNeT 1.3: 512 steps on up to 32 nodes, 512 / (1 + ln(n / 32)) on n.
    let times = f64::from(asked.nodes) / 32.0;
    if asked.params.size("size") <= LONG || times <= 1.0 {
        return usual;
    }
    Congesting { steps: (512.0 / (1.0 + times.ln())) as u32, ..usual }
}

struct Allreduce<'c> {
    comm: &'c dyn Comm,
    elements: usize,
    /// Empty if data is not carried.
    values: Vec<f64>,
    round: u64,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let elements = setup.params.size("size").div_ceil(8).max(1);
    let values = if setup.payload == Payload::Checked { vec![0.0; elements] } else { Vec::new() };
    Ok(Box::new(Allreduce { comm: setup.comm, elements, values, round: 0 }))
}

impl Allreduce<'_> {
    /// Small whole numbers: their sums are exact in any order.
    fn value(rank: usize, index: usize, round: u64) -> f64 {
        ((rank * 31 + index * 7 + round as usize) % 1000) as f64
    }

    fn fill(&mut self) {
        let (rank, round) = (self.comm.rank(), self.round);
        self.values.iter_mut().enumerate().for_each(|(i, v)| *v = Self::value(rank, i, round));
    }
}

impl Pattern for Allreduce<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
    }

    fn step(&mut self) -> Option<Work> {
        // The values of the last step are the input of this one: sums that grow are as good as any, and nothing is refilled on the timed path.
        match self.values.as_mut_slice() {
            [] => self.comm.allreduce(Vector::Len(self.elements), Reduce::Sum),
            values => self.comm.allreduce(Vector::Values(values), Reduce::Sum),
        }
        Some(Work::messages(1, 8 * self.elements as u64))
    }

    fn verify(&mut self) -> Verdict {
        if self.values.is_empty() {
            return unchecked();
        }
        self.fill();
        self.comm.allreduce(Vector::Values(&mut self.values), Reduce::Sum);
        let expected = |i| (0..self.comm.size()).map(|rank| Self::value(rank, i, self.round)).sum::<f64>();
        // Checking every sum costs ranks x elements; a thousand spread over the vector see any wrong block.
        let stride = self.elements.div_ceil(1000);
        let checked: Vec<usize> = (0..self.elements).step_by(stride).collect();
        let wrong: Vec<usize> = checked.iter().copied().filter(|&i| self.values[i] != expected(i)).collect();
        // The next steps go on from small numbers again, not from sums of sums.
        self.fill();
        match wrong.first() {
            None => Verdict::Right { checked: checked.len() as u64 },
            Some(i) => Verdict::Wrong {
                checked: checked.len() as u64,
                wrong: wrong.len() as u64,
                first: format!("element {i} of the sum in block {}", self.round),
            },
        }
    }
}
