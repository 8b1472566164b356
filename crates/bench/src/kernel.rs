//! What a kernel is: a card, a metric and a way to start it on a communicator.

use comm::{Comm, Refusal};
use record::{Metric, Payload, Role, Tells, Verdict};
use serde::{Deserialize, Serialize};
use spec::{Card, Params, Work};

/// One entry of the table of kernels.
pub struct Kernel {
    /// Name, one line, source, parameters.
    pub card: Card,
    /// What its samples are.
    pub metric: Metric,
    /// Fewer ranks than this in a communicator make no sense.
    pub min_ranks: usize,
    /// What else readers and suites must know of it.
    pub traits: Traits,
    /// Makes one rank's part of it.
    pub start: Start,
}

/// What is known of a kernel beside its card. A kernel writes what differs: `Traits { incast: true, ..Traits::PLAIN }`.
#[derive(Clone, Copy)]
pub struct Traits {
    /// What it is called in the tables of the benchmark that it comes from; its name if nothing else is known.
    pub title: Option<fn(&Params, Role) -> &'static str>,
    /// Which of its numbers are the result.
    pub tells: Tells,
    /// Whether many ranks send to one.
    pub incast: bool,
}

impl Traits {
    /// A kernel that only measures what it does.
    pub const PLAIN: Traits = Traits { title: None, tells: Tells::Samples, incast: false };
}

impl Kernel {
    /// What a job of it is called in the tables of the benchmark that it comes from.
    pub fn title(&self, params: &Params, role: Role) -> &'static str {
        self.traits.title.map_or(self.card.name, |title| title(params, role))
    }
}

/// Starts a kernel on one rank. Collective over the communicator.
pub type Start = for<'c> fn(Setup<'c>) -> Result<Box<dyn Pattern + 'c>, Refusal>;

/// What a kernel is started with.
pub struct Setup<'c> {
    /// The ranks that run it together.
    pub comm: &'c dyn Comm,
    /// Every parameter of its card, checked.
    pub params: &'c Params,
    /// All that is random derives from it; the same on all ranks of the communicator.
    pub seed: u64,
    /// Whether messages carry data that is checked.
    pub payload: Payload,
    /// Told how far a long step is; nothing may depend on it.
    pub progress: &'c dyn Fn(Progress),
}

/// How far a step is, for people who wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Share of the work that is done.
    pub share: f64,
    /// Operations per second so far.
    pub flops_per_s: f64,
}

/// One rank's part of a running kernel. It does not time, print or compute rates: it says what one step did.
pub trait Pattern {
    /// Untimed preparation of a block: a new ring, fresh data. Every rank of the communicator calls it with the same number.
    fn arrange(&mut self, round: u64);
    /// One step. `None`: this rank takes part but has nothing to measure (the root of an incast).
    fn step(&mut self) -> Option<Work>;
    /// Untimed check of what the last step of a block received.
    fn verify(&mut self) -> Verdict;
    /// Named numbers beside the samples: sizes, residuals, rates of parts. Asked for once, after the last block.
    fn results(&mut self) -> Vec<NamedNumber> {
        Vec::new()
    }
    /// What a reader must know: the library that computed, an algorithm that was chosen. Asked for once, after the last block.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// One named number of one rank.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedNumber {
    /// Its name in the record, with its unit as the last word: `time_s`, `residual`.
    pub name: String,
    /// Its value on this rank, in base units.
    pub value: f64,
    /// What becomes of the values of all ranks of a job.
    pub merge: Merge,
}

/// How the ranks' values of one named number become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Merge {
    /// The lowest rank's that gives one: for numbers that are the same everywhere.
    First,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// The sum.
    Sum,
    /// The arithmetic mean.
    Mean,
}

impl NamedNumber {
    /// A number that is the same on all ranks.
    pub fn same(name: &str, value: f64) -> NamedNumber {
        NamedNumber::new(name, value, Merge::First)
    }
    /// A number to be merged.
    pub fn new(name: &str, value: f64, merge: Merge) -> NamedNumber {
        NamedNumber { name: name.into(), value, merge }
    }
}
