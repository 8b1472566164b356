//! What a kernel is: a card, a metric and a way to start it on a communicator.

use crate::stopwatch::Stopwatch;
use comm::{Comm, Refusal};
use record::{Coverage, Metric, Payload, Role, Tells, Verdict};
use serde::{Deserialize, Serialize};
use spec::{Card, Params, ReadParams, Time, Work};

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
    /// Other names of it, each with parameters that go with the name.
    pub aliases: &'static [Alias],
    /// Which of its numbers are the result.
    pub tells: Tells,
    /// Whether many ranks send to one.
    pub incast: bool,
    /// How often it runs when it is measured.
    pub measured: Loops,
    /// How it runs as a congestor.
    pub congestor: fn(&Asked<'_>) -> Congesting,
    /// What the bytes of its `Work` are.
    pub declares: Declares,
    /// What its verdict rests on.
    pub evidence: Evidence,
    /// What of its messages no check rests on: where a result is checked, not what every message brought.
    pub beside: Option<&'static str>,
    /// Whether its check holds for blocks of one step only: each step works on what the last one left.
    pub one_step: bool,
    /// What its buffers take, as far as that can be told before they are made.
    pub room: fn(&Params, u64) -> Room,
    /// Parameters with which it runs in a moment and every message is longer than a control word: for tests.
    pub tiny: &'static [(&'static str, &'static str)],
}

impl Traits {
    /// A kernel that only measures what it does, as often as GPCNeT does by default.
    pub const PLAIN: Traits = Traits {
        title: None,
        aliases: &[],
        tells: Tells::Samples,
        incast: false,
        measured: Loops::USUAL,
        congestor: |asked| Congesting { steps: CONGESTOR_STEPS.on(asked.nodes), set: &[] },
        declares: Declares::Exact,
        evidence: Evidence::Data,
        beside: None,
        one_step: false,
        room: |params, _| Room::each(Room::messages(params)),
        tiny: &[],
    };
}

/// Bytes that the buffers of a communicator take at least, on each of its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// On rank 0.
    pub first: u64,
    /// On every other rank.
    pub others: u64,
}

impl Room {
    /// The same on every rank.
    pub fn each(bytes: u64) -> Room {
        Room { first: bytes, others: bytes }
    }

    /// All messages that are under way at once, by the names that parameters of kernels have.
    pub fn messages(params: &Params) -> u64 {
        let size = if params.contains_key("size") { params.size("size") as u64 } else { 0 };
        let window = if params.contains_key("window") { params.count("window").max(1) } else { 1 };
        size.saturating_mul(window)
    }
}

/// Another name of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Alias {
    /// The name.
    pub name: &'static str,
    /// One line.
    pub about: &'static str,
    /// Parameters that it stands for; those that a user gives go first.
    pub params: &'static [(&'static str, &'static str)],
}

/// What the bytes of a kernel's `Work` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declares {
    /// Exactly those that it moves over the network.
    Exact,
    /// Those of the call or of the operation that a sample is of, and why they are not the network's.
    AsCalled(&'static str),
}

/// What a kernel's verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Data that it received or computed: a wrong value is seen.
    Data,
    /// Something else, which is said here: spoiled data change nothing.
    Other(&'static str),
    /// There is nothing to check, and why.
    Nothing(&'static str),
}

/// How often a measured kernel runs. GPCNeT counts a measurement as all its arrangements; a block here is one of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loops {
    /// Untimed steps at the start of a block.
    pub warmup: u32,
    /// Timed steps of a block.
    pub steps: Steps,
    /// Different arrangements (rings) that blocks cycle through.
    pub arrangements: u32,
    /// Blocks of each arrangement at most.
    pub measurements: u64,
}

impl Loops {
    /// GPCNeT 1.3: what a test without rings does.
    pub const USUAL: Loops = Loops { warmup: 1, steps: Steps::always(200), arrangements: 1, measurements: 100_000 };
    /// What its all-to-all does: a step has a message for every peer.
    pub const ALL_PEERS: Loops = Loops { steps: Steps::up_to(64, 64), measurements: 10_000, ..Loops::USUAL };
}

/// A cut leaves blocks of at least so many steps, or as many as they have: ranks drift apart within a block, and a bandwidth measured
/// over fewer windows than the original's 8 is another number.
pub(crate) const LEAST_STEPS: u32 = 8;

/// A number of steps, scaled down in proportion above a number of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    count: u32,
    up_to: u32,
}

impl Steps {
    /// The same on any number of nodes.
    pub const fn always(count: u32) -> Steps {
        Steps { count, up_to: u32::MAX }
    }
    /// So many on up to `up_to` nodes.
    pub const fn up_to(up_to: u32, count: u32) -> Steps {
        Steps { count, up_to }
    }
    /// How many on `nodes` nodes: at least one.
    pub fn on(self, nodes: u32) -> u32 {
        // Truncated as in GPCNeT 1.3, whose incast does nothing on more than 16,384 nodes; here one step is left.
        let Steps { count, up_to } = self;
        if nodes <= up_to { count } else { (f64::from(count) * f64::from(up_to) / f64::from(nodes)).max(1.0) as u32 }
    }
}

/// Steps between two looks at the stop signal of a congestor. GPCNeT 1.3.
pub const CONGESTOR_STEPS: Steps = Steps::up_to(32, 512);

/// What a kernel is told when it is asked how it runs as a congestor.
pub struct Asked<'a> {
    /// Parameters that a user or an alias set.
    pub given: &'a Params,
    /// All parameters.
    pub params: &'a Params,
    /// Nodes of the job.
    pub nodes: u32,
}

/// How a kernel runs as a congestor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Congesting {
    /// Steps between two looks at the stop signal.
    pub steps: u32,
    /// Parameters that differ from what they are in other roles.
    pub set: &'static [(&'static str, &'static str)],
}

impl Kernel {
    /// What a job of it is called in the tables of the benchmark that it comes from.
    pub fn title(&self, params: &Params, role: Role) -> &'static str {
        self.traits.title.map_or(self.card.name, |title| title(params, role))
    }

    /// Every name of it with the parameters that go with the name: its own, then its aliases.
    pub fn names(&self) -> impl Iterator<Item = (&'static str, &'static [(&'static str, &'static str)])> + use<> {
        let own: (_, &'static [_]) = (self.card.name, &[]);
        std::iter::once(own).chain(self.traits.aliases.iter().map(|a| (a.name, a.params)))
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
    /// Who does the arithmetic.
    pub arithmetic: Arithmetic,
    /// For tests whose rules say which part of a step counts.
    pub stopwatch: Stopwatch<'c>,
    /// Told how far a long step is; nothing may depend on it.
    pub progress: &'c dyn Fn(Progress),
}

impl<'c> Setup<'c> {
    /// With data that are checked and nobody who waits for it.
    pub fn new(comm: &'c dyn Comm, params: &'c Params, arithmetic: Arithmetic) -> Setup<'c> {
        let stopwatch = Stopwatch::new(comm);
        Setup { comm, params, seed: 0, payload: Payload::Checked, arithmetic, stopwatch, progress: &|_| () }
    }
}

/// Who does the arithmetic of a run: found once, when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// The processors of the machine that is measured.
    Real,
    /// Some host: what it takes on the machine is charged, and where nobody looks at its result it is not done at all.
    Charged,
}

impl Arithmetic {
    /// Asks the machine.
    pub fn on(world: &dyn Comm) -> Arithmetic {
        if world.charge(Work::NONE) { Arithmetic::Charged } else { Arithmetic::Real }
    }
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
    /// Untimed preparation of a block: a new ring, a new problem. Every rank of the communicator calls it with the same number.
    fn arrange(&mut self, round: u64);
    /// Untimed: fresh data for the next `steps` steps, which a look will follow. Comes after `arrange`, and again within a block where data
    /// will be looked at whole; every rank of the communicator calls it before the same steps.
    fn renew(&mut self, _steps: u32) {}
    /// Whether the next steps may carry lengths instead of data, because nobody will look at them: where that changes nothing but the work
    /// of a simulated machine's host. Every rank of the communicator is told the same before the same steps.
    fn spare(&mut self, _spare: bool) {}
    /// One step. `None`: this rank takes part but has nothing to measure (the root of an incast).
    fn step(&mut self) -> Option<Work>;
    /// Whether the next steps can be made in turns: no message of theirs has data.
    fn in_turns(&self) -> bool {
        false
    }
    /// A part of a step, where steps are made in turns: it waits for one exchange or transfer at most, as the last thing it does. A step
    /// that is nothing else is its only turn.
    fn turn(&mut self) -> Turn {
        Turn::Last(self.step())
    }
    /// How long every step waits before what is measured begins: taken off its sample.
    fn waits(&self) -> Time {
        Time::ZERO
    }
    /// How many steps can pass until data that arrived are overwritten; the same on all ranks of the communicator. By default there is one
    /// look, at the end of a block: for checks of a result, and where a look between two steps would be seen in the time of the second.
    fn holds(&self) -> u32 {
        u32::MAX
    }
    /// Untimed look at everything that arrived since the last one and is still there.
    fn verify(&mut self) -> Verdict;
    /// The same at a random part of it, or at nothing, for when all of it would take too long. By default, where a result is checked, at all.
    fn glance(&mut self, _random: u64) -> Verdict {
        self.verify()
    }
    /// How much arrived in messages and was looked at since the start, where messages are compared.
    fn coverage(&self) -> Option<Coverage> {
        None
    }
    /// Named numbers beside the samples: sizes, residuals, rates of parts. Asked for once, after the last block.
    fn results(&mut self) -> Vec<NamedNumber> {
        Vec::new()
    }
    /// What this rank reached with each other rank of the communicator, where a test is about pairs. Asked for once, after the last block.
    fn meetings(&mut self) -> Vec<Meeting> {
        Vec::new()
    }
    /// What a reader must know: the library that computed, an algorithm that was chosen. Asked for once, after the last block.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// What a turn of a step was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn {
    /// The step goes on with the next turn.
    More,
    /// The step's last one: what it did.
    Last(Option<Work>),
}

/// Makes so many steps and tells what each did when it is over: in turns, where the machine has a way of its own for that and the pattern
/// can, which gives the same to the bit; else as calls that wait.
pub fn make_steps(comm: &dyn Comm, pattern: &mut (dyn Pattern + '_), count: u32, mut told: impl FnMut(Option<Work>)) {
    let (mut left, mut done) = (count, None);
    let in_turns = count > 0
        && pattern.in_turns()
        && comm.turns(&mut || {
            // What the last turn has started is complete by now.
            if let Some(work) = done.take() {
                told(work);
            }
            if left == 0 {
                return false;
            }
            if let Turn::Last(work) = pattern.turn() {
                left -= 1;
                done = Some(work);
            }
            true
        });
    if !in_turns {
        (0..count).for_each(|_| told(pattern.step()));
    }
}

/// What one rank sent to another while it received as much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Meeting {
    /// The other, by its number in the communicator.
    pub peer: usize,
    /// Bytes in all.
    pub bytes: f64,
    /// How long that took.
    pub seconds: f64,
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
