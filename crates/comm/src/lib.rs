//! What a rank can do, and nothing about where it runs.
//!
//! A kernel is ordinary blocking code against [`Comm`]. Two machines implement it: `sim` (virtual time) and `mpi` (the real
//! thing). [`collectives`] are portable implementations over [`Comm::exchange`]; [`conformance`] is the list of behaviours
//! that every implementation is tested against.
//!
//! A call cannot fail: no kernel can repair a broken machine, so a machine ends the run with a reason. The exception is
//! [`Comm::window`], because libraries without remote memory access exist and a run without it is still worth something.

pub mod collectives;
pub mod conformance;
pub mod solo;

use spec::{Time, Work};

/// A rank's number in its communicator, from 0.
pub type Rank = usize;
/// A node's number in the whole job, from 0.
pub type Node = usize;
/// A message's tag, below [`FIRST_RESERVED_TAG`] for kernels.
pub type Tag = u16;

/// Tags from here on belong to the collectives and the engine. MPI guarantees tags up to 32767.
pub const FIRST_RESERVED_TAG: Tag = 32000;

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub enum Data<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// So many bytes whose values do not matter; the simulator copies nothing.
    Len(usize),
}

/// Where something is received.
#[derive(Debug)]
pub enum Buffer<'a> {
    /// Here; the message must have exactly this length.
    Bytes(&'a mut [u8]),
    /// Nowhere: so many bytes whose values do not matter.
    Len(usize),
}

impl Data<'_> {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Data::Bytes(b) => b.len(),
            Data::Len(n) => *n,
        }
    }
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Buffer<'_> {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Buffer::Bytes(b) => b.len(),
            Buffer::Len(n) => *n,
        }
    }
    /// Whether there is no room in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One half of a message. Messages between two ranks with one tag arrive in the order they were started.
#[derive(Debug)]
pub enum Op<'a> {
    /// Send to a rank.
    Send {
        /// Destination.
        to: Rank,
        /// Tag to match.
        tag: Tag,
        /// Payload.
        data: Data<'a>,
    },
    /// Receive from a rank.
    Recv {
        /// Source.
        from: Rank,
        /// Tag to match.
        tag: Tag,
        /// Where to.
        into: Buffer<'a>,
    },
}

impl<'a> Op<'a> {
    /// Send bytes.
    pub fn send(to: Rank, tag: Tag, bytes: &'a [u8]) -> Op<'a> {
        Op::Send { to, tag, data: Data::Bytes(bytes) }
    }
    /// Receive bytes.
    pub fn recv(from: Rank, tag: Tag, bytes: &'a mut [u8]) -> Op<'a> {
        Op::Recv { from, tag, into: Buffer::Bytes(bytes) }
    }
}

/// One access to a remote window.
#[derive(Debug)]
pub enum Access<'a> {
    /// Write to `to`'s window at byte offset `at`.
    Put {
        /// Target rank.
        to: Rank,
        /// Byte offset in the target's window.
        at: usize,
        /// What to write.
        data: Data<'a>,
    },
    /// Read from `from`'s window at byte offset `at`.
    Get {
        /// Target rank.
        from: Rank,
        /// Byte offset in the target's window.
        at: usize,
        /// Where to.
        into: Buffer<'a>,
    },
}

/// A vector of numbers to reduce.
#[derive(Debug)]
pub enum Vector<'a> {
    /// These values; the result replaces them.
    Values(&'a mut [f64]),
    /// So many values that do not matter.
    Len(usize),
}

impl Vector<'_> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Vector::Values(v) => v.len(),
            Vector::Len(n) => *n,
        }
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How values are combined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reduce {
    /// Sum.
    Sum,
    /// Smallest.
    Min,
    /// Largest.
    Max,
}

impl Reduce {
    /// Combines two values.
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Reduce::Sum => a + b,
            Reduce::Min => a.min(b),
            Reduce::Max => a.max(b),
        }
    }
}

/// The number of a set of operations that were started together, from 0 in each [`Comm::overlap`].
pub type Set = usize;

/// Operations under way beside work. It is only lent: whoever waits for them in the end is [`Comm::overlap`], so nobody can leak them.
pub trait Pending<'b> {
    /// Starts all operations in order.
    fn start(&mut self, ops: Vec<Op<'b>>) -> Set;
    /// Whether a set is complete; never waits. On a simulated machine a look costs virtual time, so a loop that only looks ends.
    fn test(&mut self, set: Set) -> bool;
    /// Waits until a set is complete.
    fn wait(&mut self, set: Set);
    /// Takes those that are complete out of a list and returns them in its order; never waits. One look.
    fn test_some(&mut self, sets: &mut Vec<Set>) -> Vec<Set> {
        sets.extract_if(.., |set| self.test(*set)).collect()
    }
    /// Waits until at least one of some sets is complete, and takes all that are out of the list as [`Pending::test_some`] does; none
    /// of an empty list. A machine that can sleep until then does better than to look again and again.
    fn wait_some(&mut self, sets: &mut Vec<Set>) -> Vec<Set> {
        loop {
            let done = self.test_some(sets);
            if !done.is_empty() || sets.is_empty() {
                return done;
            }
        }
    }
}

/// A sum over a communicator under way.
pub trait PendingSum {
    /// Waits for it; every rank gets the same value.
    fn wait(self: Box<Self>) -> f64;
    /// Its value for a turn (see [`Comm::turns`]), if it is there; if not, that is what the turn waits for, and the next one asks again. On
    /// a machine without turns nobody asks.
    fn ask(&mut self) -> Option<f64> {
        None
    }
}

/// Memory that the other ranks of a communicator can read and write.
pub trait Window {
    /// Starts all accesses, then waits until each is complete at its target. The targets need do nothing.
    fn transfer(&self, accesses: &mut [Access<'_>]);
    /// Copies from this rank's own window.
    fn read(&self, at: usize, into: &mut [u8]);
    /// Copies into this rank's own window.
    fn write(&self, at: usize, bytes: &[u8]);
}

/// Why a machine offers no window: recorded, never a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

/// What a rank can do. Object safe, so tables of kernels are plain data.
pub trait Comm {
    /// This rank's number here.
    fn rank(&self) -> Rank;
    /// How many ranks are here.
    fn size(&self) -> usize;
    /// The node this rank runs on, numbered over the whole job.
    fn node(&self) -> Node;
    /// The time, virtual or real, since the start of the job. Clocks of different ranks need not agree.
    fn now(&self) -> Time;
    /// Starts all operations in order and waits for all.
    fn exchange(&self, ops: &mut [Op<'_>]);
    /// Calls `turn` until it returns false, if this machine has a better way for that than a loop; if not, returns false and calls nothing.
    ///
    /// Each call waits for at most one exchange, transfer or sum, as the last thing it does, and none of its messages has data: so nothing
    /// of a rank is in the middle of anything between two calls, and a machine of many ranks can make their turns without their stacks.
    /// What it waits for is complete when the next call begins.
    fn turns(&self, _turn: &mut dyn FnMut() -> bool) -> bool {
        false
    }
    /// Calls `work` once, which may start operations and do something else beside them; then waits for those that are left, in the order
    /// of their start. [`overlap`] calls it for any closure.
    ///
    /// No buffer is touched once this has returned or unwound. A real machine reads and writes buffers until their operations are
    /// complete, so it must wait for them also when `work` panics.
    fn overlap<'b>(&self, work: &mut dyn FnMut(&mut dyn Pending<'b>));
    /// Local work: a real machine runs `f`; a simulated one runs it too and charges its price in virtual time.
    fn compute(&self, work: Work, f: &mut dyn FnMut());
    /// Local work by its price alone: a simulated machine charges `work` and returns true; a real one returns false, and the
    /// caller must do the work. Lets a kernel skip arithmetic whose result nobody looks at.
    fn charge(&self, work: Work) -> bool;
    /// Lets time pass without loading the network; a simulated machine lets virtual time pass.
    fn pause(&self, time: Time) {
        let end = self.now() + time;
        while self.now() < end {
            std::thread::yield_now();
        }
    }
    /// Divides the ranks by color; within a color they are ordered by (key, rank). `None` joins no part. Collective.
    fn split(&self, color: Option<u32>, key: u32) -> Option<Box<dyn Comm + '_>>;
    /// A window of `len` zeroed bytes on every rank, the same length on all. Collective; every rank is refused or none.
    fn window(&self, len: usize) -> Result<Box<dyn Window + '_>, Refusal>;
    /// Starts a sum over all ranks: how background jobs agree to stop without stopping to ask. Collective, in order.
    fn start_sum(&self, x: f64) -> Box<dyn PendingSum + '_>;

    /// Counters that the machine itself keeps for this rank's node (name, value), growing since the start; none by default.
    fn counters(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
    /// A phase of this name begins, or the present one ends: for machines that keep a film of themselves. Said by rank 0 of the
    /// world alone; it takes no time and changes nothing.
    fn mark(&self, _phase: Option<&str>) {}
    /// Waits until every rank is here.
    fn barrier(&self) {
        collectives::barrier(self)
    }
    /// Combines vectors element by element; every rank gets the same bits.
    fn allreduce(&self, values: Vector<'_>, how: Reduce) {
        collectives::allreduce(self, values, how)
    }
    /// As `allreduce`, for what whoever measures must know between two measurements; no values are a barrier. A simulated machine
    /// settles it beside its network, as over one for management: the load under test does not delay it and need not last for it.
    fn settle(&self, values: &mut [f64], how: Reduce) {
        match values.len() {
            0 => self.barrier(),
            _ => self.allreduce(Vector::Values(values), how),
        }
    }
    /// Block `i` of `send` goes to rank `i`; block `j` of `recv` comes from rank `j`. Both are `size()` equal blocks.
    fn alltoall(&self, send: Data<'_>, recv: Buffer<'_>) {
        collectives::alltoall(self, send, recv)
    }
    /// The root's bytes reach everyone.
    fn bcast(&self, root: Rank, buffer: Buffer<'_>) {
        collectives::bcast(self, root, buffer)
    }
    /// Every rank's equal block reaches the root, in rank order; `all` is looked at on the root alone.
    fn gather(&self, root: Rank, mine: &[u8], all: &mut [u8]) {
        collectives::gather(self, root, mine, all)
    }
}

/// The largest, smallest or summed value over all ranks.
pub fn agree<C: Comm + ?Sized>(comm: &C, x: f64, how: Reduce) -> f64 {
    let mut value = [x];
    comm.allreduce(Vector::Values(&mut value), how);
    value[0]
}

/// Runs `work` with operations under way; those that it starts are complete when this returns.
///
/// ```
/// # use tailback_comm::{Machine, Op, overlap, solo::Solo};
/// # let body = |comm: &dyn tailback_comm::Comm| {
/// let mut got = [0];
/// overlap(comm, |pending| {
///     pending.start(vec![Op::recv(0, 1, &mut got)]);
///     comm.exchange(&mut [Op::send(0, 1, &[7])]);
/// });
/// assert_eq!(got, [7]);
/// # };
/// # Solo::new(|| spec::Time::ZERO).run(&body).unwrap();
/// ```
///
/// Buffers must outlive the call, so the compiler refuses one that ends with the work:
///
/// ```compile_fail,E0597
/// # use tailback_comm::{Machine, Op, overlap, solo::Solo};
/// # let body = |comm: &dyn tailback_comm::Comm| {
/// overlap(comm, |pending| {
///     let mut got = [0];
///     pending.start(vec![Op::recv(0, 1, &mut got)]);
///     comm.exchange(&mut [Op::send(0, 1, &[7])]);
/// });
/// # };
/// # Solo::new(|| spec::Time::ZERO).run(&body).unwrap();
/// ```
pub fn overlap<'b, C: Comm + ?Sized, R>(comm: &C, work: impl FnOnce(&mut dyn Pending<'b>) -> R) -> R {
    // An object-safe call can neither take a closure by value nor return what it returns.
    let (mut work, mut result) = (Some(work), None);
    comm.overlap(&mut |pending| {
        let work = work.take().expect("a machine calls the work once");
        result = Some(work(pending));
    });
    result.expect("a machine calls the work")
}

/// Something that runs the same body on many ranks.
pub trait Machine {
    /// Runs `body` once per rank, each with its own world communicator, and returns when all have.
    fn run(&self, body: &(dyn Fn(&dyn Comm) + Sync)) -> Result<(), MachineError>;
}

/// Why a machine could not finish a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError(pub String);

impl std::fmt::Display for MachineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for MachineError {}
