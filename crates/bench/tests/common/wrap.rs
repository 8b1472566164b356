//! A machine with something changed on the way to it: clocks that differ, messages that are counted or spoiled, work that is not done.

use comm::{Access, Comm, Data, Node, Op, Pending, PendingSum, Rank, Reduce, Refusal, Set, Vector, Window};
use spec::{Time, Work};
use std::cell::Cell;

/// What is changed; nothing by default.
pub trait Hook {
    /// The clock.
    fn now(&self, time: Time) -> Time {
        time
    }
    /// Operations before they start.
    fn ops(&self, _: &mut [Op<'_>]) {}
    /// Accesses before and after they are made.
    fn accesses(&self, _: &mut [Access<'_>], _done: bool) {}
    /// Whether work is done.
    fn works(&self) -> bool {
        true
    }
    /// Something that the machine does over so many ranks without operations.
    fn collective(&self, _ranks: usize) {}
    /// Whether what the harness agrees on goes the machine's own way, and not in messages that the hook sees.
    fn beside(&self) -> bool {
        false
    }
}

/// Changes nothing; but whoever is wrapped makes no turns.
pub struct Blocking;

impl Hook for Blocking {
    fn beside(&self) -> bool {
        true
    }
}

/// A communicator with a hook. Collectives are made of its own operations, so that the hook sees their messages.
pub struct Wrapped<'a> {
    inner: Inner<'a>,
    hook: &'a dyn Hook,
}

/// The world is lent, its parts are owned.
enum Inner<'a> {
    World(&'a dyn Comm),
    Part(Box<dyn Comm + 'a>),
}

impl<'a> std::ops::Deref for Inner<'a> {
    type Target = dyn Comm + 'a;
    fn deref(&self) -> &(dyn Comm + 'a) {
        match self {
            Inner::World(world) => *world,
            Inner::Part(part) => &**part,
        }
    }
}

impl<'a> Wrapped<'a> {
    pub fn new(world: &'a dyn Comm, hook: &'a dyn Hook) -> Wrapped<'a> {
        Wrapped { inner: Inner::World(world), hook }
    }
}

impl Comm for Wrapped<'_> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }
    fn size(&self) -> usize {
        self.inner.size()
    }
    fn node(&self) -> Node {
        self.inner.node()
    }
    #[expect(clippy::disallowed_methods, reason = "a clock is made of another one")]
    fn now(&self) -> Time {
        self.hook.now(self.inner.now())
    }
    fn exchange(&self, ops: &mut [Op<'_>]) {
        self.hook.ops(ops);
        self.inner.exchange(ops);
    }
    fn overlap<'b>(&self, work: &mut dyn FnMut(&mut dyn Pending<'b>)) {
        self.inner.overlap(&mut |inner| work(&mut WrappedPending { inner, hook: self.hook }));
    }
    fn compute(&self, work: Work, f: &mut dyn FnMut()) {
        if self.hook.works() { self.inner.compute(work, f) } else { self.inner.compute(work, &mut || ()) }
    }
    fn charge(&self, work: Work) -> bool {
        self.inner.charge(work)
    }
    fn pause(&self, time: Time) {
        self.inner.pause(time);
    }
    fn split(&self, color: Option<u32>, key: u32) -> Option<Box<dyn Comm + '_>> {
        self.hook.collective(self.size());
        let inner = Inner::Part(self.inner.split(color, key)?);
        Some(Box::new(Wrapped { inner, hook: self.hook }))
    }
    fn window(&self, len: usize) -> Result<Box<dyn Window + '_>, Refusal> {
        Ok(Box::new(WrappedWindow { inner: self.inner.window(len)?, hook: self.hook }))
    }
    fn start_sum(&self, x: f64) -> Box<dyn PendingSum + '_> {
        self.hook.collective(self.size());
        self.inner.start_sum(x)
    }
    fn settle(&self, values: &mut [f64], how: Reduce) {
        match values.len() {
            _ if self.hook.beside() => self.inner.settle(values, how),
            0 => self.barrier(),
            _ => self.allreduce(Vector::Values(values), how),
        }
    }
    fn counters(&self) -> Vec<(String, u64)> {
        if self.hook.beside() { self.inner.counters() } else { Vec::new() }
    }
}

struct WrappedPending<'a, 'b> {
    inner: &'a mut dyn Pending<'b>,
    hook: &'a dyn Hook,
}

impl<'b> Pending<'b> for WrappedPending<'_, 'b> {
    fn start(&mut self, mut ops: Vec<Op<'b>>) -> Set {
        self.hook.ops(&mut ops);
        self.inner.start(ops)
    }
    fn test(&mut self, set: Set) -> bool {
        self.inner.test(set)
    }
    fn wait(&mut self, set: Set) {
        self.inner.wait(set);
    }
    fn test_some(&mut self, sets: &mut Vec<Set>) -> Vec<Set> {
        self.inner.test_some(sets)
    }
    fn wait_some(&mut self, sets: &mut Vec<Set>) -> Vec<Set> {
        self.inner.wait_some(sets)
    }
}

struct WrappedWindow<'a> {
    inner: Box<dyn Window + 'a>,
    hook: &'a dyn Hook,
}

impl Window for WrappedWindow<'_> {
    fn transfer(&self, accesses: &mut [Access<'_>]) {
        self.hook.accesses(accesses, false);
        self.inner.transfer(accesses);
        self.hook.accesses(accesses, true);
    }
    fn read(&self, at: usize, into: &mut [u8]) {
        self.inner.read(at, into);
    }
    fn write(&self, at: usize, bytes: &[u8]) {
        self.inner.write(at, bytes);
    }
}

/// Another rank, another clock: an offset, and a rate that is off by up to a percent.
pub struct ClockSkew(pub u64);

impl Hook for ClockSkew {
    fn now(&self, time: Time) -> Time {
        let drift = (self.0 * 7919) % 100;
        Time::from_ps(time.ps() + time.ps() / 10_000 * drift) + Time::from_us(self.0 * 1_234)
    }
}

/// Counts what its rank sends. A split counts as an all-gather by recursive doubling, which is how MPI libraries find the new groups.
#[derive(Default)]
pub struct SendCounter(pub Cell<u64>);

impl Hook for SendCounter {
    fn ops(&self, ops: &mut [Op<'_>]) {
        let sends = ops.iter().filter(|op| matches!(op, Op::Send { .. })).count() as u64;
        self.0.set(self.0.get() + sends);
    }
    fn collective(&self, ranks: usize) {
        self.0.set(self.0.get() + u64::from(ranks.next_power_of_two().ilog2()));
    }
}

/// Spoils what a kernel does, once it is armed; counts how often.
#[derive(Default)]
pub struct Spoiler {
    /// Work is left undone.
    pub work: Cell<bool>,
    /// The last byte of so many messages that are longer than a control word arrives changed.
    pub messages: Cell<u64>,
    pub spoiled: Cell<u64>,
}

/// Words that steer a kernel are left alone: it must end before it can see anything.
const CONTROL_WORD: usize = 8;

impl Spoiler {
    fn count(&self) {
        self.spoiled.set(self.spoiled.get() + 1);
    }

    /// Whether the next message is to be spoiled, which is counted.
    fn takes(&self) -> bool {
        let left = self.messages.get();
        self.messages.set(left.saturating_sub(1));
        self.spoiled.set(self.spoiled.get() + u64::from(left > 0));
        left > 0
    }

    /// In the place of what was sent; the copy lives as long as the test.
    fn spoil(&self, data: &mut Data<'_>) {
        let Data::Bytes(bytes) = data else { return };
        if bytes.len() > CONTROL_WORD && self.takes() {
            let mut changed = bytes.to_vec();
            // Among others the exponent of a number, so that it is another number by far.
            *changed.last_mut().expect("longer than a word") ^= 0x40;
            *data = Data::Bytes(changed.leak());
        }
    }
}

impl Hook for Spoiler {
    fn ops(&self, ops: &mut [Op<'_>]) {
        for op in ops {
            if let Op::Send { data, .. } = op {
                self.spoil(data);
            }
        }
    }
    fn accesses(&self, accesses: &mut [Access<'_>], done: bool) {
        for access in accesses {
            match access {
                Access::Put { data, .. } if !done => self.spoil(data),
                Access::Get { into: comm::Buffer::Bytes(bytes), .. } if done && self.takes() => bytes[0] ^= 0x40,
                _ => (),
            }
        }
    }
    fn works(&self) -> bool {
        if self.work.get() {
            self.count();
        }
        !self.work.get()
    }
}
