//! What a simulated rank can do: [`comm::Comm`] over the event loop.
//!
//! Every call borrows the rank's part of the network, does its bookkeeping, gives the borrow back and, if it must wait,
//! suspends the fiber. Received bytes are carried by the message and copied out by the receiving fiber, so no event ever
//! holds a reference into a rank's memory.

use crate::event::Event;
use crate::lp::Lp;
use crate::meeting::{Agreed, Join, Key, Meetings, Members, Word};
use crate::protocol::{self, Blocked, Doing, Route};
use comm::{Access, Buffer, Comm, Data, Node, Op, Pending, PendingSum, Rank, Reduce, Refusal, Window};
use fiber::Suspender;
use spec::{Time, Work};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// What all communicators of a rank share.
#[derive(Clone, Copy)]
pub(crate) struct Seat<'a, 'f> {
    pub(crate) lp: &'a RefCell<Lp<'f>>,
    pub(crate) suspender: &'a Suspender<'a>,
    pub(crate) meetings: &'a Meetings,
    pub(crate) world: u32,
    pub(crate) local: u32,
}

/// A communicator of one rank.
pub(crate) struct SimComm<'a, 'f> {
    seat: Seat<'a, 'f>,
    members: Arc<Members>,
    rank: u32,
    /// Splits and sums begun here, and windows made here: all ranks count alike.
    meetings: Cell<u32>,
    windows: Cell<u32>,
}

impl<'a, 'f> SimComm<'a, 'f> {
    pub(crate) fn new(seat: Seat<'a, 'f>, members: Arc<Members>, rank: u32) -> SimComm<'a, 'f> {
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

    /// Starts all operations in order.
    fn start(&self, ops: &[Op<'_>]) -> u32 {
        let mut lp = self.seat.lp.borrow_mut();
        let group = lp.hosts.group(self.seat.local);
        for op in ops {
            match op {
                Op::Send { to, tag, data } => {
                    let route = self.route(*to, group);
                    lp.start_send(route, *tag, data.len() as u64, payload(data));
                }
                Op::Recv { from, tag, into } => {
                    let route = self.route(*from, group);
                    lp.start_receive(route, *tag, into.len() as u64);
                }
            }
        }
        group
    }

    /// Waits for a group and copies out what was received.
    fn end(&self, group: u32, ops: &mut [Op<'_>]) {
        if self.seat.lp.borrow_mut().wait_for(group) {
            self.seat.suspender.suspend();
        }
        let mut ops = ops.iter_mut();
        self.seat.lp.borrow_mut().hosts.finish(group, |payload| {
            if let Some(Op::Recv { into: Buffer::Bytes(into), .. }) = ops.next()
                && let Some(payload) = payload
            {
                into.copy_from_slice(&payload);
            }
        });
    }

    fn advance(&self, ps: u64) {
        self.seat.lp.borrow_mut().hosts.ranks[self.seat.local as usize].clock += ps;
    }

    fn price(&self, work: Work) -> u64 {
        let lp = self.seat.lp.borrow();
        let host = &lp.fabric.config.host;
        let seconds = work.flops as f64 / host.flops
            + work.bytes as f64 / host.memory_rate.bytes_per_s()
            + work.updates as f64 / host.updates;
        Time::from_secs(seconds).ps()
    }

    fn join(&self, word: Word) -> Key {
        let key = Key { context: self.members.context, number: self.meetings.get() };
        self.meetings.set(key.number + 1);
        let mut lp = self.seat.lp.borrow_mut();
        let time = lp.hosts.ranks[self.seat.local as usize].clock;
        let join = Join { key, members: &self.members, rank: self.rank, world: self.seat.world, time, word };
        if self.seat.meetings.join(lp.fabric, join) {
            lp.met = Some(key);
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

    /// Waits for the outcome of a meeting.
    fn outcome(&self, key: Key) -> Agreed {
        let take = || {
            let mut lp = self.seat.lp.borrow_mut();
            let now = lp.now;
            let rank = &mut lp.hosts.ranks[self.seat.local as usize];
            let i = rank.outcomes.iter().position(|o| o.0 == key)?;
            let (_, time, outcome) = rank.outcomes.swap_remove(i);
            rank.clock = rank.clock.max(time).max(now);
            rank.blocked = Blocked::No;
            Some(outcome)
        };
        if let Some(outcome) = take() {
            return outcome;
        }
        self.seat.lp.borrow_mut().hosts.ranks[self.seat.local as usize].blocked = Blocked::Meeting(key);
        self.seat.suspender.suspend();
        take().expect("a meeting wakes its members with an outcome")
    }
}

impl Seat<'_, '_> {
    /// Brings the event loop to this rank's clock.
    fn catch_up(&self) {
        let mut lp = self.lp.borrow_mut();
        let clock = lp.hosts.ranks[self.local as usize].clock;
        if clock > lp.now {
            lp.queue.push(clock, Event::Resume(self.local));
            drop(lp);
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
        self.seat.lp.borrow().fabric.node_of(self.seat.world) as Node
    }
    fn now(&self) -> Time {
        Time::from_ps(self.seat.lp.borrow().hosts.ranks[self.seat.local as usize].clock)
    }
    fn exchange(&self, ops: &mut [Op<'_>]) {
        let group = self.start(ops);
        self.end(group, ops);
    }
    fn begin<'b>(&'b self, ops: Vec<Op<'b>>) -> Box<dyn Pending + 'b> {
        let group = self.start(&ops);
        Box::new(SimPending { comm: self, ops, group: Some(group) })
    }
    fn compute(&self, work: Work, f: &mut dyn FnMut()) {
        f();
        self.advance(self.price(work));
    }
    fn charge(&self, work: Work) -> bool {
        self.advance(self.price(work));
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
        self.seat.lp.borrow_mut().hosts.open_window(self.seat.local, self.members.context, number, len);
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
        self.seat.catch_up();
        self.seat.lp.borrow().node_counters(self.node() as u32)
    }
    fn mark(&self, phase: Option<&str>) {
        let at = self.now().ps();
        self.seat.lp.borrow_mut().cuts.push((at, phase.map(String::from)));
    }
}

struct SimPending<'a, 'f> {
    comm: &'a SimComm<'a, 'f>,
    ops: Vec<Op<'a>>,
    group: Option<u32>,
}

impl Pending for SimPending<'_, '_> {
    fn test(&mut self) -> bool {
        let seat = &self.comm.seat;
        let Some(group) = self.group else { return true };
        let cost = seat.lp.borrow().fabric.config.host.test_cost.ps();
        self.comm.advance(cost);
        seat.catch_up();
        let done = {
            let lp = seat.lp.borrow();
            let group = &lp.hosts.groups[group];
            group.remaining == 0 && group.clock <= lp.hosts.ranks[seat.local as usize].clock
        };
        if done {
            self.group = None;
            self.comm.end(group, &mut self.ops);
        }
        done
    }
    fn wait(mut self: Box<Self>) {
        if let Some(group) = self.group.take() {
            self.comm.end(group, &mut self.ops);
        }
    }
}

impl Drop for SimPending<'_, '_> {
    fn drop(&mut self) {
        // A fiber that is being unwound must not wait: the run is over.
        if let Some(group) = self.group.take()
            && !std::thread::panicking()
        {
            self.comm.end(group, &mut self.ops);
        }
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

impl Window for SimWindow<'_, '_> {
    fn transfer(&self, accesses: &mut [Access<'_>]) {
        let comm = self.comm;
        let mut lp = comm.seat.lp.borrow_mut();
        let group = lp.hosts.group(comm.seat.local);
        for access in accesses.iter() {
            match access {
                Access::Put { to, at, data } => {
                    self.check("put", *at, data.len());
                    let carried = match payload(data) {
                        Some(bytes) => protocol::Access::Bytes(Some(bytes)),
                        None => protocol::Access::None,
                    };
                    let route = comm.route(*to, group);
                    lp.start_access(route, Doing::Put, self.number, *at as u64, data.len() as u64, carried);
                }
                Access::Get { from, at, into } => {
                    self.check("get", *at, into.len());
                    let wanted = match into {
                        Buffer::Bytes(_) => protocol::Access::Bytes(None),
                        Buffer::Len(_) => protocol::Access::None,
                    };
                    let route = comm.route(*from, group);
                    lp.start_access(route, Doing::Get, self.number, *at as u64, into.len() as u64, wanted);
                }
            }
        }
        let must_wait = lp.wait_for(group);
        drop(lp);
        if must_wait {
            comm.seat.suspender.suspend();
        }
        let mut accesses = accesses.iter_mut();
        comm.seat.lp.borrow_mut().hosts.finish(group, |payload| {
            if let (Some(Access::Get { into: Buffer::Bytes(into), .. }), Some(payload)) = (accesses.next(), payload) {
                into.copy_from_slice(&payload);
            }
        });
    }

    fn read(&self, at: usize, into: &mut [u8]) {
        self.check("read", at, into.len());
        self.comm.seat.catch_up();
        let lp = self.comm.seat.lp.borrow();
        let (local, context) = (self.comm.seat.local, self.comm.members.context);
        let bytes = lp.hosts.read(local, context, self.number, at, into.len());
        into.copy_from_slice(&bytes.expect("checked to be inside"));
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        self.check("write", at, bytes.len());
        self.comm.seat.catch_up();
        let mut lp = self.comm.seat.lp.borrow_mut();
        let (local, context) = (self.comm.seat.local, self.comm.members.context);
        let written = lp.hosts.write(local, context, self.number, at, bytes);
        debug_assert!(written, "checked to be inside");
    }
}

impl Drop for SimWindow<'_, '_> {
    /// Freeing a window is collective, as in MPI: nobody's memory goes while another may still reach into it.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.comm.barrier();
            let (local, context) = (self.comm.seat.local, self.comm.members.context);
            self.comm.seat.lp.borrow_mut().hosts.close_window(local, context, self.number);
        }
    }
}
