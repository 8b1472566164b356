//! A machine for tests: one thread per rank, one lock, messages copied at once.
//!
//! It is the simplest implementation of `Comm` that can be right, and it can be told to be wrong in one way ([`Fault`]). It
//! never hangs: a rank that waits too long fails the run, and so does any rank that panics. It keeps a list of all messages.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use spec::{Time, Work};
use tailback_comm::{
    Access, Buffer, Comm, Data, Node, Op, Pending, PendingSum, Rank, Reduce, Refusal, Set, Tag, Vector, Window,
    collectives,
};

/// One way to be wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The first byte of whatever arrives is wrong: of every message and of what is read from a window. Sums are one too large.
    Garbled,
    /// The clock runs backwards.
    Clock,
    /// Two messages of one pair and tag that are both there are taken in the wrong order.
    Order,
    /// One byte of every message over a kilobyte is wrong.
    FlippedByte,
    /// The last byte of every message over a mebibyte is lost.
    LastByte,
    /// Tags are not compared.
    Tags,
    /// Messages of different communicators between the same two ranks mix.
    Communicators,
    /// A part is ordered by rank alone.
    Keys,
    /// Ranks without a color form a part of their own.
    NoColor,
    /// Each communicator counts nodes anew.
    Nodes,
    /// Puts land at the start of the window.
    PutOffset,
    /// Of several gets only the first is done.
    Gets,
    /// A window begins with other bytes than zeros.
    DirtyWindow,
    /// A rank writes its own window to its neighbour.
    OwnWindow,
    /// A started sum is that of the one before.
    Sums,
    /// An overlap does not wait for the receives that are left at its end.
    End,
    /// A set is complete before its messages are there.
    Test,
    /// When one of some sets is complete, all are said to be.
    Some,
    /// A barrier waits for nobody.
    Barrier,
    /// An all-reduce begins its sums with the rank's own value.
    Bits,
}

/// How long a rank waits for news of any kind before it gives up: far beyond any pause of a busy computer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a rank says that waits in vain; never the reason of a run that failed by a check.
pub const STUCK: &str = "waiting for something that never came";

/// A communicator's number.
type Id = u64;
/// Color and key of each rank.
type Choices = BTreeMap<Rank, (Option<u32>, u32)>;
/// Who sends to whom: world ranks, then communicator and tag.
type Lane = (Rank, Rank, Id, Tag);

enum Payload {
    Bytes(Vec<u8>),
    Len(usize),
}

/// What one pair has sent and asked for. Message n goes to receive n: that is the rule of order.
#[derive(Default)]
struct Queue {
    sent: u64,
    posted: u64,
    waiting: BTreeMap<u64, Payload>,
}

#[derive(Default)]
struct State {
    /// Why the first rank failed, if one did.
    failed: Option<String>,
    sent: Vec<Message>,
    queues: BTreeMap<Lane, Queue>,
    /// Per communicator and number of split.
    splits: BTreeMap<(Id, u64), Choices>,
    parts: BTreeMap<(Id, u64, Option<u32>), Id>,
    sums: BTreeMap<(Id, u64), BTreeMap<Rank, f64>>,
    windows: BTreeMap<(Id, u64, Rank), Vec<u8>>,
}

/// A message that was sent: from, to (world ranks), tag and length.
pub type Message = (Rank, Rank, Tag, usize);

/// What machine to build.
#[derive(Clone, Copy)]
pub struct ThreadMachine {
    /// Number of ranks.
    pub size: usize,
    /// In what way it is wrong, if it is.
    pub fault: Option<Fault>,
    /// Whether a send waits until its receive is there, as long messages do on real machines.
    pub synchronous: bool,
    /// Whether it offers windows.
    pub windows: bool,
}

impl ThreadMachine {
    /// A machine that is right, buffers sends and has windows.
    pub fn new(size: usize) -> ThreadMachine {
        ThreadMachine { size, fault: None, synchronous: false, windows: true }
    }

    /// Runs `body` on every rank. Gives every message sent, those of one pair in order; or why the first rank failed.
    pub fn run(self, body: &(dyn Fn(&dyn Comm) + Sync)) -> Result<Vec<Message>, String> {
        let world = World { machine: self, state: Mutex::default(), news: Condvar::new() };
        std::thread::scope(|scope| {
            for rank in 0..self.size {
                let world = &world;
                scope.spawn(move || {
                    let comm = Threads::new(world, 0, (0..self.size).collect(), rank);
                    if let Err(reason) = catch_unwind(AssertUnwindSafe(|| body(&comm))) {
                        let text = reason.downcast_ref::<String>().cloned();
                        let text = text.or_else(|| reason.downcast_ref::<&str>().map(|text| text.to_string()));
                        world.fail(&text.unwrap_or_default());
                    }
                });
            }
        });
        let state = world.state.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(reason) = state.failed {
            return Err(reason);
        }
        let mut sent = state.sent;
        sent.sort_by_key(|&(from, to, ..)| (from, to));
        Ok(sent)
    }
}

struct World {
    machine: ThreadMachine,
    state: Mutex<State>,
    news: Condvar,
}

impl World {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until `ready` finds what it needs.
    fn until<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut state = self.lock();
        loop {
            if let Some(found) = ready(&mut state) {
                return found;
            }
            let mut stuck = state.failed.is_some();
            if !stuck {
                let waited = self.news.wait_timeout(state, PATIENCE);
                let (next, timeout) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
                (state, stuck) = (next, timeout.timed_out());
            }
            if stuck {
                // Without the lock, which the others need to learn of it.
                drop(state);
                panic!("{STUCK}");
            }
        }
    }

    /// Ends the run: every rank that waits fails too. The first reason is the one that counts.
    fn fail(&self, reason: &str) {
        self.lock().failed.get_or_insert_with(|| reason.to_string());
        self.news.notify_all();
    }

    fn has(&self, fault: Fault) -> bool {
        self.machine.fault == Some(fault)
    }
}

/// One rank's view of one communicator.
struct Threads<'w> {
    world: &'w World,
    id: Id,
    /// World ranks of the members.
    members: Vec<Rank>,
    rank: Rank,
    splits: Cell<u64>,
    sums: Cell<u64>,
    windows: Cell<u64>,
    clock: Cell<u64>,
}

/// An operation that was started: the n-th send or receive of its lane.
type Ticket = (Lane, u64);

fn next(counter: &Cell<u64>) -> u64 {
    counter.replace(counter.get() + 1)
}

impl<'w> Threads<'w> {
    fn new(world: &'w World, id: Id, members: Vec<Rank>, rank: Rank) -> Threads<'w> {
        let zero = || Cell::new(0);
        Threads { world, id, members, rank, splits: zero(), sums: zero(), windows: zero(), clock: zero() }
    }

    fn lane(&self, from: Rank, to: Rank, tag: Tag) -> Lane {
        let id = if self.world.has(Fault::Communicators) { 0 } else { self.id };
        let tag = if self.world.has(Fault::Tags) { 0 } else { tag };
        (self.members[from], self.members[to], id, tag)
    }

    /// Starts all operations; each gets a ticket.
    fn start(&self, ops: &[Op<'_>]) -> Vec<Option<Ticket>> {
        let mut state = self.world.lock();
        let mut tickets = Vec::new();
        for op in ops {
            tickets.push(match op {
                Op::Send { to, tag, data } => {
                    let lane = self.lane(self.rank, *to, *tag);
                    state.sent.push((lane.0, lane.1, *tag, data.len()));
                    let queue = state.queues.entry(lane).or_default();
                    queue.waiting.insert(queue.sent, self.payload(data));
                    queue.sent += 1;
                    Some((lane, queue.sent - 1))
                }
                Op::Recv { from, tag, .. } => {
                    let lane = self.lane(*from, self.rank, *tag);
                    let queue = state.queues.entry(lane).or_default();
                    queue.posted += 1;
                    Some((lane, queue.posted - 1))
                }
            });
        }
        drop(state);
        self.world.news.notify_all();
        tickets
    }

    /// Completes an operation if it can be.
    fn complete(&self, state: &mut State, op: &mut Op<'_>, (lane, nth): Ticket) -> Option<()> {
        let Op::Recv { from, tag, into } = op else {
            let received = state.queues[&lane].posted > nth;
            return (received || !self.world.machine.synchronous).then_some(());
        };
        let payload = self.take(state, (lane, nth))?;
        let len = match &payload {
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Len(len) => *len,
        };
        assert_eq!(len, into.len(), "length of the message from rank {from} with tag {tag}");
        if let (Payload::Bytes(bytes), Buffer::Bytes(into)) = (payload, into) {
            into.copy_from_slice(&bytes);
        }
        Some(())
    }

    /// Waits for all operations that still have a ticket.
    fn finish(&self, ops: &mut [Op<'_>], tickets: &mut [Option<Ticket>]) {
        for (op, ticket) in ops.iter_mut().zip(tickets) {
            if let Some(ticket) = ticket.take() {
                self.world.until(|state| self.complete(state, op, ticket));
            }
        }
    }

    fn payload(&self, data: &Data<'_>) -> Payload {
        let mut bytes = match data {
            Data::Bytes(bytes) => bytes.to_vec(),
            Data::Len(len) => return Payload::Len(*len),
        };
        self.garble(&mut bytes);
        if self.world.has(Fault::FlippedByte) && bytes.len() > 1 << 10 {
            bytes[1000] ^= 1;
        }
        if self.world.has(Fault::LastByte) && bytes.len() > 1 << 20 {
            *bytes.last_mut().unwrap() = 0;
        }
        Payload::Bytes(bytes)
    }

    fn garble(&self, bytes: &mut [u8]) {
        if let (true, Some(first)) = (self.world.has(Fault::Garbled), bytes.first_mut()) {
            *first ^= 1;
        }
    }

    /// An all-reduce that adds in another order on each rank.
    fn gather_and_add(&self, values: &mut [f64], how: Reduce) {
        let mine: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut all = vec![0; mine.len() * self.size()];
        self.gather(0, &mine, &mut all);
        self.bcast(0, Buffer::Bytes(&mut all));
        let term = |rank: Rank, i: usize| {
            let at = rank * mine.len() + 8 * i;
            f64::from_le_bytes(all[at..at + 8].try_into().unwrap())
        };
        for (i, value) in values.iter_mut().enumerate() {
            for step in 1..self.size() {
                *value = how.apply(*value, term((self.rank + step) % self.size(), i));
            }
        }
    }

    /// The message of a ticket, if it is there.
    fn take(&self, state: &mut State, (lane, ticket): Ticket) -> Option<Payload> {
        let waiting = &mut state.queues.get_mut(&lane)?.waiting;
        if self.world.has(Fault::Order) && waiting.contains_key(&(ticket + 1)) {
            let wrong = waiting.remove(&(ticket + 1))?;
            let right = waiting.remove(&ticket)?;
            waiting.insert(ticket + 1, right);
            return Some(wrong);
        }
        waiting.remove(&ticket)
    }
}

impl Comm for Threads<'_> {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn size(&self) -> usize {
        self.members.len()
    }
    fn node(&self) -> Node {
        if self.world.has(Fault::Nodes) { self.rank / 2 } else { self.members[self.rank] / 2 }
    }
    fn now(&self) -> Time {
        let ticks = next(&self.clock);
        Time::from_ns(if self.world.has(Fault::Clock) { u64::from(u32::MAX) - ticks } else { ticks })
    }
    fn exchange(&self, ops: &mut [Op<'_>]) {
        let mut tickets = self.start(ops);
        self.finish(ops, &mut tickets);
    }
    fn overlap<'b>(&self, work: &mut dyn FnMut(&mut dyn Pending<'b>)) {
        let mut begun = Begun { comm: self, sets: Vec::new() };
        work(&mut begun);
        if !self.world.has(Fault::End) {
            (0..begun.sets.len()).for_each(|set| begun.wait(set));
        }
    }
    fn compute(&self, _work: Work, f: &mut dyn FnMut()) {
        f()
    }
    fn charge(&self, _work: Work) -> bool {
        false
    }
    fn split(&self, color: Option<u32>, key: u32) -> Option<Box<dyn Comm + '_>> {
        let nth = next(&self.splits);
        self.world.lock().splits.entry((self.id, nth)).or_default().insert(self.rank, (color, key));
        self.world.news.notify_all();
        let choices = self.world.until(|state| {
            let choices = &state.splits[&(self.id, nth)];
            (choices.len() == self.size()).then(|| choices.clone())
        });
        if color.is_none() && !self.world.has(Fault::NoColor) {
            return None;
        }
        let mut order: Vec<(u32, Rank)> =
            choices.iter().filter(|(_, choice)| choice.0 == color).map(|(&rank, choice)| (choice.1, rank)).collect();
        if self.world.has(Fault::Keys) {
            order.sort_by_key(|&(_, rank)| rank);
        } else {
            order.sort();
        }
        let id = {
            let mut state = self.world.lock();
            let fresh = state.parts.len() as Id + 1;
            *state.parts.entry((self.id, nth, color)).or_insert(fresh)
        };
        let rank = order.iter().position(|&(_, rank)| rank == self.rank)?;
        let members = order.iter().map(|&(_, rank)| self.members[rank]).collect();
        Some(Box::new(Threads::new(self.world, id, members, rank)))
    }
    fn window(&self, len: usize) -> Result<Box<dyn Window + '_>, Refusal> {
        if !self.world.machine.windows {
            return Err(Refusal("built without windows".into()));
        }
        let nth = next(&self.windows);
        let fill = if self.world.has(Fault::DirtyWindow) { 1 } else { 0 };
        self.world.lock().windows.insert((self.id, nth, self.rank), vec![fill; len]);
        collectives::barrier(self);
        Ok(Box::new(Memory { comm: self, nth }))
    }
    fn start_sum(&self, x: f64) -> Box<dyn PendingSum + '_> {
        let nth = next(&self.sums);
        self.world.lock().sums.entry((self.id, nth)).or_default().insert(self.rank, x);
        self.world.news.notify_all();
        Box::new(Sum { comm: self, nth })
    }
    fn barrier(&self) {
        if !self.world.has(Fault::Barrier) {
            collectives::barrier(self);
        }
    }
    fn allreduce(&self, values: Vector<'_>, how: Reduce) {
        match values {
            Vector::Values(values) if self.world.has(Fault::Bits) => self.gather_and_add(values, how),
            values => collectives::allreduce(self, values, how),
        }
    }
}

struct Begun<'a, 'b> {
    comm: &'a Threads<'a>,
    sets: Vec<(Vec<Op<'b>>, Vec<Option<Ticket>>)>,
}

impl<'b> Pending<'b> for Begun<'_, 'b> {
    fn start(&mut self, ops: Vec<Op<'b>>) -> Set {
        let tickets = self.comm.start(&ops);
        self.sets.push((ops, tickets));
        self.sets.len() - 1
    }
    fn test(&mut self, set: Set) -> bool {
        if self.comm.world.has(Fault::Test) {
            return true;
        }
        let mut state = self.comm.world.lock();
        let failed = state.failed.is_some();
        let (ops, tickets) = &mut self.sets[set];
        for (op, ticket) in ops.iter_mut().zip(&mut *tickets) {
            if ticket.is_some_and(|ticket| self.comm.complete(&mut state, op, ticket).is_some()) {
                *ticket = None;
            }
        }
        drop(state);
        let done = tickets.iter().all(Option::is_none);
        assert!(done || !failed, "{STUCK}");
        if !done {
            std::thread::yield_now();
        }
        done
    }
    fn wait(&mut self, set: Set) {
        let (ops, tickets) = &mut self.sets[set];
        self.comm.finish(ops, tickets);
    }
    fn wait_some(&mut self, sets: &mut Vec<Set>) -> Vec<Set> {
        loop {
            let done = self.test_some(sets);
            if !done.is_empty() && self.comm.world.has(Fault::Some) {
                return [done, std::mem::take(sets)].concat();
            }
            if !done.is_empty() || sets.is_empty() {
                return done;
            }
        }
    }
}

struct Sum<'a> {
    comm: &'a Threads<'a>,
    nth: u64,
}

impl PendingSum for Sum<'_> {
    fn wait(self: Box<Self>) -> f64 {
        let stale = u64::from(self.comm.world.has(Fault::Sums));
        let more = f64::from(u8::from(self.comm.world.has(Fault::Garbled)));
        self.comm.world.until(|state| {
            let terms = &state.sums[&(self.comm.id, self.nth.saturating_sub(stale))];
            (terms.len() == self.comm.size()).then(|| terms.values().sum::<f64>() + more)
        })
    }
}

struct Memory<'a> {
    comm: &'a Threads<'a>,
    nth: u64,
}

impl Memory<'_> {
    fn with<T>(&self, rank: Rank, f: impl FnOnce(&mut [u8]) -> T) -> T {
        let mut state = self.comm.world.lock();
        f(state.windows.get_mut(&(self.comm.id, self.nth, rank)).expect("the window of every rank"))
    }
}

impl Window for Memory<'_> {
    fn transfer(&self, accesses: &mut [Access<'_>]) {
        let mut gets = 0;
        for access in accesses {
            match access {
                Access::Put { to, at, data: Data::Bytes(bytes) } => {
                    let at = if self.comm.world.has(Fault::PutOffset) { 0 } else { *at };
                    self.with(*to, |memory| memory[at..at + bytes.len()].copy_from_slice(bytes));
                }
                Access::Get { from, at, into: Buffer::Bytes(into) } => {
                    gets += 1;
                    if gets == 1 || !self.comm.world.has(Fault::Gets) {
                        self.with(*from, |memory| into.copy_from_slice(&memory[*at..*at + into.len()]));
                        self.comm.garble(into);
                    }
                }
                Access::Put { to, at, data: Data::Len(len) } => {
                    self.with(*to, |memory| assert!(*at + *len <= memory.len()))
                }
                Access::Get { from, at, into: Buffer::Len(len) } => {
                    self.with(*from, |memory| assert!(*at + *len <= memory.len()))
                }
            }
        }
    }
    fn read(&self, at: usize, into: &mut [u8]) {
        self.with(self.comm.rank, |memory| into.copy_from_slice(&memory[at..at + into.len()]));
        self.comm.garble(into);
    }
    fn write(&self, at: usize, bytes: &[u8]) {
        let whose = if self.comm.world.has(Fault::OwnWindow) {
            (self.comm.rank + 1) % self.comm.size()
        } else {
            self.comm.rank
        };
        self.with(whose, |memory| memory[at..at + bytes.len()].copy_from_slice(bytes));
    }
}
