//! All-reduce of doubles: 8 bytes as a canary, 6.5 MB as the gradient exchange of deep learning.

use crate::kernel::{Asked, Congesting, Declares, Kernel, Pattern, Setup, Traits, Turn};
use crate::payload::{Slots, Tally, unchecked};
use comm::{Comm, Reduce, Refusal, Vector, collectives};
use record::{Coverage, Metric, Payload, Role, Verdict};
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
    carried: bool,
    elements: usize,
    round: u64,
    /// Rounds of a step that is made in turns.
    turns: u32,
    slots: Slots,
    /// The elements of each slot; empty if data is not carried. The result of a step replaces its input.
    values: Vec<f64>,
    /// Which elements of the only slot were fresh before the step, where there is but one.
    fresh: Every,
    tally: Tally,
}

/// Every `stride`th element from `first` on.
#[derive(Clone, Copy)]
struct Every {
    first: usize,
    stride: usize,
}

const ALL: Every = Every { first: 0, stride: 1 };
/// A glance looks at so many elements.
const FEW: usize = 64;

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let elements = setup.params.size("size").div_ceil(8).max(1);
    Ok(Box::new(Allreduce {
        comm: setup.comm,
        carried: setup.payload == Payload::Checked,
        elements,
        round: 0,
        turns: 0,
        slots: Slots::new(8 * elements),
        values: Vec::new(),
        fresh: ALL,
        tally: Tally::default(),
    }))
}

/// What the ranks add up: `base + rank * slope`. Small whole numbers, so that their sums are exact in any order, and sums that need no loop
/// over the ranks.
#[derive(Clone, Copy)]
struct Terms(u64);

impl Terms {
    fn new(round: u64, step: u64) -> Terms {
        Terms((round ^ step.rotate_left(24)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
    fn at(self, index: usize) -> (u64, u64) {
        let x = self.0.wrapping_add((index as u64).wrapping_mul(0xd134_2543_de82_ef95));
        // Never 0: a rank that is left out changes every sum.
        (1 + (x >> 50), 1 + (x >> 40 & 7))
    }
    fn of(self, rank: usize, index: usize) -> f64 {
        let (base, slope) = self.at(index);
        (base + rank as u64 * slope) as f64
    }
    fn sum(self, ranks: usize, index: usize) -> f64 {
        let ((base, slope), n) = (self.at(index), ranks as u64);
        (n * base + slope * (n * (n - 1) / 2)) as f64
    }
}

impl Allreduce<'_> {
    fn fill(&mut self, slot: usize, every: Every) {
        let (rank, terms) = (self.comm.rank(), Terms::new(self.round, self.slots.stamp(slot)));
        let values = &mut self.values[slot * self.elements..(slot + 1) * self.elements];
        for (i, value) in values.iter_mut().enumerate().skip(every.first).step_by(every.stride) {
            *value = terms.of(rank, i);
        }
    }

    /// Looks at the steps that are kept, at those elements that were fresh before.
    fn look(&mut self) {
        let (ranks, size) = (self.comm.size(), 8 * self.elements as u64);
        let Every { first, stride } = self.fresh;
        for slot in self.slots.kept().map(|ago| self.slots.of(ago)) {
            let terms = Terms::new(self.round, self.slots.stamp(slot));
            let values = &self.values[slot * self.elements..(slot + 1) * self.elements];
            let (mut checked, mut wrong, mut at) = (0, 0, 0);
            for (i, value) in values.iter().enumerate().skip(first).step_by(stride) {
                checked += 1;
                if *value != terms.sum(ranks, i) {
                    wrong += 1;
                    at = if wrong == 1 { i } else { at };
                }
            }
            let round = self.round;
            self.tally.values(checked, wrong, || format!("element {at} of the sum in block {round}"));
            let whole = u64::from(stride == 1);
            self.tally.coverage += Coverage { messages: 1, whole, bytes: size, seen_bytes: 8 * checked };
        }
        self.tally.missed(self.slots.lost(), size as usize);
        self.slots.looked();
    }

    /// A long vector is not filled again for a step of which a part is looked at: the rest of it are sums of sums, as good as any.
    fn refresh(&mut self, random: u64) {
        if self.slots.most() == 1 {
            let stride = self.elements.div_ceil(FEW);
            self.fresh = Every { first: random as usize % stride, stride };
            self.fill(0, self.fresh);
        }
    }
}

impl Pattern for Allreduce<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
    }

    fn renew(&mut self, steps: u32) {
        let slots = self.slots.renew(steps);
        if self.carried {
            self.values.resize(self.values.len().max(slots * self.elements), 0.0);
            self.fresh = ALL;
            (0..slots).for_each(|slot| self.fill(slot, ALL));
        }
    }

    fn spare(&mut self, spare: bool) {
        self.slots.spare(spare);
    }

    fn step(&mut self) -> Option<Work> {
        let (spared, slot, elements) = (self.slots.spared(), self.slots.begin(), self.elements);
        let values = self.values.get_mut(slot * elements..(slot + 1) * elements);
        match values.filter(|_| !spared) {
            None => self.comm.allreduce(Vector::Len(elements), Reduce::Sum),
            Some(values) => self.comm.allreduce(Vector::Values(values), Reduce::Sum),
        }
        Some(Work::messages(1, 8 * elements as u64))
    }

    fn in_turns(&self) -> bool {
        (!self.carried || self.slots.spared()) && collectives::has_rounds(self.comm.size(), self.elements)
    }

    fn turn(&mut self) -> Turn {
        if self.turns == 0 {
            self.slots.begin();
        }
        if collectives::allreduce_round(self.comm, self.elements, self.turns) {
            self.turns += 1;
            return Turn::More;
        }
        self.turns = 0;
        Turn::Last(Some(Work::messages(1, 8 * self.elements as u64)))
    }

    fn holds(&self) -> u32 {
        if self.carried { self.slots.most() as u32 } else { u32::MAX }
    }

    fn verify(&mut self) -> Verdict {
        if !self.carried {
            return unchecked();
        }
        self.look();
        self.refresh(self.tally.coverage.messages);
        self.tally.verdict()
    }

    fn glance(&mut self, random: u64) -> Verdict {
        self.look();
        self.refresh(random);
        self.tally.verdict()
    }

    fn coverage(&self) -> Option<Coverage> {
        self.carried.then_some(self.tally.coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_and_miss_nobody() {
        for (round, step) in [(0, 0), (3, 1 << 32), (7, 5 << 32 | 9)] {
            let terms = Terms::new(round, step);
            for index in [0, 1, 999] {
                for ranks in 1..50 {
                    let all: f64 = (0..ranks).map(|rank| terms.of(rank, index)).sum();
                    assert_eq!(all, terms.sum(ranks, index));
                    assert!((0..ranks).all(|rank| terms.of(rank, index) > 0.0));
                }
            }
        }
        assert!(Terms::new(1, 1).sum(1 << 20, 0) < (1u64 << 53) as f64);
    }
}
