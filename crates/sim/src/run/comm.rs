//! What a simulated rank can do: [`comm::Comm`] over the event loop.
//!
//! Every call borrows the rank's part of the network, does its bookkeeping, gives the borrow back and, if it must wait,
//! suspends the fiber. Received bytes are carried by the message and copied out by the receiving fiber, so no event ever
//! holds a reference into a rank's memory.

use super::part::Part;
use crate::base::{Event, NONE};
use crate::host::{self, Agreed, Blocked, Join, Key, Meetings, Members, Route, WindowName, Word};
use crate::net::Doing;
use comm::{Access, Buffer, Comm, Data, Node, Op, Pending, PendingSum, Rank, Reduce, Refusal, Set, Window};
use fiber::Suspender;
use spec::{Time, Work};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Of so many operations that start together, memory is asked for before the first starts.
const TOGETHER: usize = 4;

/// What all communicators of a rank share.
#[derive(Clone, Copy)]
pub(super) struct Seat<'a, 'f> {
    pub(super) part: &'a RefCell<Part<'f>>,
    pub(super) suspender: &'a Suspender<'a>,
    pub(super) meetings: &'a Meetings,
    pub(super) world: u32,
    pub(super) local: u32,
}

/// A communicator of one rank.
pub(super) struct SimComm<'a, 'f> {
    seat: Seat<'a, 'f>,
    members: Arc<Members>,
    rank: u32,
    /// Splits and sums begun here, and windows made here: all ranks count alike.
    meetings: Cell<u32>,
    windows: Cell<u32>,
}

impl<'a, 'f> SimComm<'a, 'f> {
    pub(super) fn new(seat: Seat<'a, 'f>, members: Arc<Members>, rank: u32) -> SimComm<'a, 'f> {
        SimComm { seat, members, rank, meetings: Cell::new(0), windows: Cell::new(0) }
    }

    fn world_of(&self, rank: Rank) -> u32 {
        assert!(rank < self.members.size, "rank {rank} is not in a communicator of {}", self.members.size);
        self.members.list.as_ref().map_or(rank as u32, |list| list[rank])
    }

    fn route(&self, peer: Rank, group: u32) -> Route {
        let Seat { world: me, local, .. } = self.seat;
        Route { me, local, peer: self.world_of(peer), context: self.members.context, group }
    }

    fn window_name(&self, number: u32) -> WindowName {
        WindowName { rank: self.seat.local, context: self.members.context, number }
    }

    /// Starts all operations in order.
    fn start(&self, ops: &[Op<'_>]) -> u32 {
        let Part { host, net, asks, .. } = &mut *self.seat.part.borrow_mut();
        if *asks {
            for op in ops.iter().take(TOGETHER) {
                let (Op::Send { to: peer, .. } | Op::Recv { from: peer, .. }) = op;
                host.fetch_start(op, self.route(*peer, NONE));
            }
        }
        let group = host.group(net, self.seat.local, self.seat.world);
        for op in ops {
            match op {
                Op::Send { to, tag, data } => {
                    host.start_send(net, self.route(*to, group), *tag, data.len() as u64, payload(data));
                }
                Op::Recv { from, tag, into } => {
                    host.start_receive(net, self.route(*from, group), *tag, into.len() as u64);
                }
            }
        }
        group
    }

    /// Waits for a group and hands out what came with each of its operations.
    fn wait_for(&self, group: u32, each: impl FnMut(Option<Box<[u8]>>)) {
        // The borrow ends with this block: the loop needs the part while the fiber is suspended.
        let (must_wait, lent) = {
            let Part { host, net, .. } = &mut *self.seat.part.borrow_mut();
            let rank = &host.ranks[self.seat.local as usize];
            let (lent, waits) = (rank.lent, rank.blocked != Blocked::No);
            assert!(!(lent && waits), "a turn waits once, as the last thing it does");
            let waits = host.wait_for(net, self.seat.local, group);
            host.ranks[self.seat.local as usize].first = self as *const Self as usize;
            (waits, lent)
        };
        if must_wait && lent {
            return;
        }
        if must_wait {
            self.seat.suspender.suspend();
        }
        let Part { host, net, .. } = &mut *self.seat.part.borrow_mut();
        host.finish(net, group, each);
    }

    /// Makes turns until one waits. Whether one does: if not, they are over.
    fn turn(&self, turn: &mut dyn FnMut() -> bool) -> bool {
        let local = self.seat.local as usize;
        {
            let Part { host, net, .. } = &mut *self.seat.part.borrow_mut();
            // What the turn before has waited for. For a sum it asks itself.
            match host.ranks[local].blocked {
                Blocked::Group(group) => {
                    host.finish(net, group, |payload| assert!(payload.is_none(), "a message of a turn has data"));
                }
                _ => host.ranks[local].blocked = Blocked::No,
            }
            host.ranks[local].lent = true;
        }
        loop {
            let more = turn();
            let rank = &mut self.seat.part.borrow_mut().host.ranks[local];
            let waits = rank.blocked != Blocked::No;
            if waits || !more {
                rank.lent = false;
                return waits;
            }
        }
    }

    /// Waits for a group and copies out what was received.
    fn end(&self, group: u32, ops: &mut [Op<'_>]) {
        let mut ops = ops.iter_mut();
        self.wait_for(group, |payload| {
            // `next` is taken for sends too: there is one call per operation, in their order.
            if let Some(Op::Recv { into: Buffer::Bytes(into), .. }) = ops.next()
                && let Some(payload) = payload
            {
                into.copy_from_slice(&payload);
            }
        });
    }

    fn advance(&self, ps: u64) {
        self.seat.part.borrow_mut().host.ranks[self.seat.local as usize].clock += ps;
    }

    /// Time in which a core works for this rank.
    fn labour(&self, ps: u64) {
        let part = &mut *self.seat.part.borrow_mut();
        let rank = &mut part.host.ranks[self.seat.local as usize];
        rank.clock = part.net.operations.cores.work(self.seat.world, rank.clock, ps);
    }

    fn price(&self, work: Work) -> u64 {
        let part = self.seat.part.borrow();
        let host = &part.net.fabric.config.host;
        // A sum and not the greatest of the three: the model knows no overlap of arithmetic and memory.
        let seconds = work.flops as f64 / host.flops
            + work.bytes as f64 / host.memory_rate.bytes_per_s()
            + work.updates as f64 / host.updates;
        Time::from_secs(seconds).ps()
    }

    fn join(&self, word: Word) -> Key {
        let key = Key { context: self.members.context, number: self.meetings.get() };
        self.meetings.set(key.number + 1);
        let mut part = self.seat.part.borrow_mut();
        let time = part.host.ranks[self.seat.local as usize].clock;
        let join = Join { key, members: &self.members, rank: self.rank, world: self.seat.world, time, word };
        if self.seat.meetings.join(part.net.fabric, join) {
            part.met = Some(key);
        }
        key
    }

    /// Waits for the outcome of a reduction.
    fn numbers(&self, key: Key) -> Arc<[f64]> {
        match self.outcome(key) {
            Agreed::Numbers(numbers) => numbers,
            Agreed::Joined(_) => unreachable!("a reduction ends with numbers"),
        }
    }

    /// The outcome of a meeting, if it is there and not still to come for a rank at this time; if not, the turn that is made waits for it.
    fn came(&self, key: Key) -> Option<Agreed> {
        let Part { host, net, .. } = &mut *self.seat.part.borrow_mut();
        let rank = &mut host.ranks[self.seat.local as usize];
        assert!(rank.lent && rank.blocked == Blocked::No, "a turn waits once, as the last thing it does");
        rank.blocked = Blocked::Meeting(key);
        let time = rank.came(key)?;
        rank.clock = rank.clock.max(time).max(net.clock.now);
        if time > net.clock.now {
            // As in `outcome`: ranks go on when it is time, not when outcomes are handed out.
            net.clock.push(rank.clock, self.seat.world, Event::Resume(self.seat.local));
            return None;
        }
        rank.blocked = Blocked::No;
        rank.take_outcome(key).map(|o| o.1)
    }

    /// Waits for the outcome of a meeting.
    fn outcome(&self, key: Key) -> Agreed {
        let take = || {
            let mut part = self.seat.part.borrow_mut();
            let now = part.net.clock.now;
            let rank = &mut part.host.ranks[self.seat.local as usize];
            let (time, outcome) = rank.take_outcome(key)?;
            rank.clock = rank.clock.max(time).max(now);
            rank.blocked = Blocked::No;
            Some((time > now, outcome))
        };
        if let Some((early, outcome)) = take() {
            // When outcomes are handed out depends on the parts; when ranks go on may not.
            if early {
                self.seat.catch_up();
            }
            return outcome;
        }
        self.seat.part.borrow_mut().host.ranks[self.seat.local as usize].blocked = Blocked::Meeting(key);
        self.seat.suspender.suspend();
        take().expect("a meeting wakes its members with an outcome").1
    }
}

impl Seat<'_, '_> {
    /// Brings the event loop to this rank's clock.
    fn catch_up(&self) {
        let mut part = self.part.borrow_mut();
        let clock = part.host.ranks[self.local as usize].clock;
        if clock > part.net.clock.now {
            part.net.clock.push(clock, self.world, Event::Resume(self.local));
            drop(part);
            self.suspender.suspend();
        }
    }
}

fn payload(data: &Data<'_>) -> Option<Box<[u8]>> {
    match data {
        Data::Bytes(bytes) => Some((*bytes).into()),
        Data::Len(_) => None,
    }
}

impl Comm for SimComm<'_, '_> {
    fn rank(&self) -> Rank {
        self.rank as Rank
    }
    fn size(&self) -> usize {
        self.members.size
    }
    fn node(&self) -> Node {
        self.seat.part.borrow().net.fabric.node_of(self.seat.world) as Node
    }
    fn now(&self) -> Time {
        Time::from_ps(self.seat.part.borrow().host.ranks[self.seat.local as usize].clock)
    }
    fn exchange(&self, ops: &mut [Op<'_>]) {
        let group = self.start(ops);
        self.end(group, ops);
    }
    fn turns(&self, turn: &mut dyn FnMut() -> bool) -> bool {
        if self.turn(turn) {
            self.seat.suspender.lend(&mut || self.turn(turn));
        }
        true
    }
    fn overlap<'b>(&self, work: &mut dyn FnMut(&mut dyn Pending<'b>)) {
        let mut pending = SimPending { comm: self, sets: Vec::new() };
        work(&mut pending);
        // Not if `work` unwinds: the run is over then, and only these calls touch the buffers.
        (0..pending.sets.len()).for_each(|set| pending.wait(set));
    }
    fn compute(&self, work: Work, f: &mut dyn FnMut()) {
        // Really computed, in no virtual time at all; the model's price is charged instead.
        f();
        self.labour(self.price(work));
    }
    fn charge(&self, work: Work) -> bool {
        self.labour(self.price(work));
        true
    }
    fn pause(&self, time: Time) {
        self.advance(time.ps());
    }
    fn split(&self, color: Option<u32>, key: u32) -> Option<Box<dyn Comm + '_>> {
        let key = self.join(Word::Split { color, key });
        match self.outcome(key) {
            Agreed::Joined(Some((members, rank))) => Some(Box::new(SimComm::new(self.seat, members, rank))),
            _ => None,
        }
    }
    fn window(&self, len: usize) -> Result<Box<dyn Window + '_>, Refusal> {
        let number = self.windows.get();
        self.windows.set(number + 1);
        self.seat.part.borrow_mut().host.windows.open(self.window_name(number), len);
        // Nobody may reach into the window of a rank that has not opened it yet.
        self.barrier();
        Ok(Box::new(SimWindow { comm: self, number, len }))
    }
    fn start_sum(&self, x: f64) -> Box<dyn PendingSum + '_> {
        let key = self.join(Word::Numbers(vec![x], Reduce::Sum));
        Box::new(SimSum { comm: self, key })
    }
    fn settle(&self, values: &mut [f64], how: Reduce) {
        let key = self.join(Word::Numbers(values.to_vec(), how));
        values.copy_from_slice(&self.numbers(key));
    }
    fn counters(&self) -> Vec<(String, u64)> {
        // The rank may be ahead of the loop, and what its NIC does until then belongs into the counters.
        self.seat.catch_up();
        self.seat.part.borrow().net.node_counters(self.node() as u32)
    }
    fn mark(&self, phase: Option<&str>) {
        let mut part = self.seat.part.borrow_mut();
        // As late as other parts can hear of it.
        let at = part.host.ranks[self.seat.local as usize].clock + part.net.fabric.delay(0);
        part.cuts.push((at, phase.map(String::from)));
    }
}

struct SimPending<'a, 'f, 'b> {
    comm: &'a SimComm<'a, 'f>,
    /// Group and operations of each set, until it is complete.
    sets: Vec<Option<(u32, Vec<Op<'b>>)>>,
}

impl<'b> Pending<'b> for SimPending<'_, '_, 'b> {
    fn start(&mut self, ops: Vec<Op<'b>>) -> Set {
        self.sets.push(Some((self.comm.start(&ops), ops)));
        self.sets.len() - 1
    }
    fn test(&mut self, set: Set) -> bool {
        let seat = &self.comm.seat;
        let Some((group, _)) = self.sets[set] else { return true };
        self.look();
        let done = {
            let Part { host, net, .. } = &mut *seat.part.borrow_mut();
            host.test(net, seat.local, group)
        };
        if done {
            self.wait(set);
        }
        done
    }
    fn wait(&mut self, set: Set) {
        if let Some((group, mut ops)) = self.sets[set].take() {
            self.comm.end(group, &mut ops);
        }
    }
    fn test_some(&mut self, sets: &mut Vec<Set>) -> Vec<Set> {
        // Nothing to look at costs nothing.
        if !sets.is_empty() {
            self.look();
        }
        let local = self.comm.seat.local;
        self.take_some(sets, |Part { host, net, .. }, group| host.test(net, local, group))
    }
    fn wait_some(&mut self, sets: &mut Vec<Set>) -> Vec<Set> {
        let seat = &self.comm.seat;
        // What comes before the rank's clock has come.
        seat.catch_up();
        let groups = || sets.iter().filter_map(|set| self.sets[*set].as_ref()).map(|(group, _)| *group);
        let open = groups().count();
        if open == sets.len() && open > 0 && !groups().any(|g| seat.part.borrow().net.operations.has_come(g)) {
            {
                let Part { host, net, .. } = &mut *seat.part.borrow_mut();
                host.hope_for(net, seat.local, groups);
            }
            seat.suspender.suspend();
            seat.part.borrow_mut().net.operations.hope_for(seat.local, groups(), false);
        }
        self.take_some(sets, |part, group| part.net.operations.has_come(group))
    }
}

impl<'b> SimPending<'_, '_, 'b> {
    /// Lets a rank pay for a look. If one cost nothing, a rank that polls would stay at one moment of virtual time for ever.
    fn look(&self) {
        let seat = &self.comm.seat;
        let cost = seat.part.borrow().net.fabric.config.host.test_cost.ps();
        self.comm.advance(cost);
        seat.catch_up();
    }

    /// Ends those of some sets that are over, and takes them out of the list.
    fn take_some(&mut self, sets: &mut Vec<Set>, over: impl Fn(&mut Part<'_>, u32) -> bool) -> Vec<Set> {
        let is_over = |set: &mut Set| {
            self.sets[*set].as_ref().is_none_or(|(group, _)| over(&mut self.comm.seat.part.borrow_mut(), *group))
        };
        let done: Vec<Set> = sets.extract_if(.., is_over).collect();
        done.iter().for_each(|set| self.wait(*set));
        done
    }
}

struct SimSum<'a, 'f> {
    comm: &'a SimComm<'a, 'f>,
    key: Key,
}

impl PendingSum for SimSum<'_, '_> {
    fn wait(self: Box<Self>) -> f64 {
        self.comm.numbers(self.key)[0]
    }
    fn ask(&mut self) -> Option<f64> {
        match self.comm.came(self.key)? {
            Agreed::Numbers(numbers) => Some(numbers[0]),
            Agreed::Joined(_) => unreachable!("a reduction ends with numbers"),
        }
    }
}

struct SimWindow<'a, 'f> {
    comm: &'a SimComm<'a, 'f>,
    number: u32,
    len: usize,
}

impl SimWindow<'_, '_> {
    fn check(&self, what: &str, at: usize, len: usize) {
        let inside = at.checked_add(len).is_some_and(|end| end <= self.len);
        assert!(inside, "{what} of {len} bytes at {at} is outside the window of {} bytes", self.len);
    }
}

impl SimWindow<'_, '_> {
    /// Starts all accesses in order.
    fn start(&self, accesses: &[Access<'_>]) -> u32 {
        let comm = self.comm;
        let Part { host, net, .. } = &mut *comm.seat.part.borrow_mut();
        let group = host.group(net, comm.seat.local, comm.seat.world);
        for access in accesses {
            let (peer, doing, at, len, wants, payload) = match access {
                Access::Put { to, at, data } => {
                    self.check("put", *at, data.len());
                    let payload = payload(data);
                    (*to, Doing::Put, *at, data.len(), payload.is_some(), payload)
                }
                Access::Get { from, at, into } => {
                    self.check("get", *at, into.len());
                    (*from, Doing::Get, *at, into.len(), matches!(into, Buffer::Bytes(_)), None)
                }
            };
            let (at, len) = (at as u64, len as u64);
            let access = host::Access { doing, window: self.number, at, len, wants, payload };
            host.start_access(net, comm.route(peer, group), access);
        }
        group
    }
}

impl Window for SimWindow<'_, '_> {
    fn transfer(&self, accesses: &mut [Access<'_>]) {
        let comm = self.comm;
        let group = self.start(accesses);
        let mut accesses = accesses.iter_mut();
        comm.wait_for(group, |payload| {
            if let (Some(Access::Get { into: Buffer::Bytes(into), .. }), Some(payload)) = (accesses.next(), payload) {
                into.copy_from_slice(&payload);
            }
        });
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        self.check("read", at, into.len());
        // The rank may be ahead of the loop: puts that come before its clock must be there first.
        self.comm.seat.catch_up();
        let part = self.comm.seat.part.borrow();
        let bytes = part.host.windows.read(self.comm.window_name(self.number), at, into.len());
        into.copy_from_slice(&bytes.expect("checked to be inside"));
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        self.check("write", at, bytes.len());
        self.comm.seat.catch_up();
        let mut part = self.comm.seat.part.borrow_mut();
        let written = part.host.windows.write(self.comm.window_name(self.number), at, bytes);
        debug_assert!(written, "checked to be inside");
    }
}

impl Drop for SimWindow<'_, '_> {
    /// Freeing a window is collective, as in MPI: nobody's memory goes while another may still reach into it.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.comm.barrier();
            self.comm.seat.part.borrow_mut().host.windows.close(self.comm.window_name(self.number));
        }
    }
}
