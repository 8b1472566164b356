//! Operations under way: hosts begin them and wait for them, the network says when they are over.

use super::cores::Cores;
use crate::Config;
use crate::base::{Clock, Event, NONE, Slab};

/// What an operation is, for those who wait and for messages about them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doing {
    Send,
    Receive,
    Put,
    Get,
    /// A copy of a message that waits to be fetched; its send is complete.
    Held,
}

/// One operation under way.
pub(crate) struct Request {
    pub(crate) doing: Doing,
    /// The other side, as numbered in the world; of what is held its own rank, as numbered in its part.
    pub(crate) peer: u32,
    pub(crate) tag: u16,
    pub(crate) len: u64,
    /// The rank's clock when it was posted: the loop may be behind it, and a message that comes before then waits.
    pub(crate) posted: u64,
    group: u32,
    /// The next request of the group.
    next: u32,
    complete: bool,
    /// What was received, or waits to be sent.
    pub(crate) payload: Option<Box<[u8]>>,
}

/// Whether a rank waits for a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waited {
    No,
    /// For this one.
    One,
    /// For the first of several.
    Some,
}

/// Operations that are waited for together.
struct Group {
    /// The rank, as numbered in its part and in the world.
    rank: u32,
    world: u32,
    remaining: u32,
    /// When the last of them was complete, overheads included, if the rank has nothing else to do.
    clock: u64,
    /// Overheads of receives that have come and that the rank, which does something else, has not yet paid.
    owed: u64,
    waited: Waited,
    first: u32,
    last: u32,
}

/// Operations of all ranks of a part.
pub(crate) struct Operations {
    /// What ranks do for them.
    pub(crate) cores: Cores,
    pub(crate) requests: Slab<Request>,
    groups: Slab<Group>,
    /// Whether a rank waits for the first of several groups, and none is complete yet.
    hopes: Vec<bool>,
    /// What is held for each rank, as numbered in the part.
    held: Vec<u32>,
}

impl Operations {
    pub(super) fn new(config: &Config) -> Operations {
        let (requests, groups) = (Slab::new(), Slab::new());
        Operations { cores: Cores::new(config), requests, groups, hopes: Vec::new(), held: Vec::new() }
    }

    /// A new group of operations of a rank, by its numbers in the part and in the world, whose clock is given.
    pub(crate) fn group(&mut self, (rank, world): (u32, u32), clock: u64) -> u32 {
        self.groups.insert(Group {
            rank,
            world,
            remaining: 0,
            clock,
            owed: 0,
            waited: Waited::No,
            first: NONE,
            last: NONE,
        })
    }

    /// A new operation, the last of its group, posted at a rank's clock.
    pub(crate) fn request(&mut self, doing: Doing, group: u32, peer: u32, posted: u64, tag: u16, len: u64) -> u32 {
        let request = Request { doing, peer, tag, len, posted, group, next: NONE, complete: false, payload: None };
        let r = self.requests.insert(request);
        let last = std::mem::replace(&mut self.groups[group].last, r);
        match last {
            NONE => self.groups[group].first = r,
            _ => self.requests[last].next = r,
        }
        self.groups[group].remaining += 1;
        r
    }

    /// Holds a message for a rank, as numbered in the part, until it has been fetched; unless so many are held already.
    pub(crate) fn hold(&mut self, rank: u32, len: u64, most: u32) -> Option<u32> {
        self.held.resize(self.held.len().max(rank as usize + 1), 0);
        let held = &mut self.held[rank as usize];
        (*held < most).then(|| {
            *held += 1;
            self.requests.insert(Request {
                doing: Doing::Held,
                peer: rank,
                tag: 0,
                len,
                posted: 0,
                group: NONE,
                next: NONE,
                complete: false,
                payload: None,
            })
        })
    }

    /// An operation is complete at a time, and costs its rank an overhead: then if it waits, else when it next looks.
    pub(crate) fn complete(&mut self, clock: &mut Clock, request: u32, time: u64, overhead: u64) {
        let r = &mut self.requests[request];
        if r.doing == Doing::Held {
            self.held[r.peer as usize] -= 1;
            self.requests.free(request);
            return;
        }
        r.complete = true;
        let group = &mut self.groups[r.group];
        // One after the other: an overhead begins when the one before is over and the message is there.
        let begin = group.clock.max(time);
        group.remaining -= 1;
        let waits = match group.waited {
            Waited::No => false,
            Waited::One => true,
            // Once one is complete the rank turns to that, and to the others when it next looks.
            Waited::Some => self.hopes[group.rank as usize],
        };
        if !waits {
            group.clock = begin + overhead;
            group.owed += overhead;
            return;
        }
        group.clock = self.cores.work(group.world, begin, overhead);
        if group.remaining == 0 {
            if group.waited == Waited::Some {
                self.hopes[group.rank as usize] = false;
            }
            clock.push(group.clock.max(clock.now), group.world, Event::Resume(group.rank));
        }
    }

    /// A rank turns to a group at its clock and pays for what has come. When that is done: the work, one receive after the
    /// other, cannot begin before the rank does nor end before the last of it came.
    pub(crate) fn pay(&mut self, g: u32, clock: u64) -> u64 {
        let group = &mut self.groups[g];
        let paid = self.cores.work(group.world, clock, std::mem::take(&mut group.owed));
        group.clock = group.clock.max(paid);
        paid
    }

    /// A rank whose clock is given waits for a group. False if it is complete.
    pub(crate) fn wait_for(&mut self, g: u32, clock: u64) -> bool {
        // The rank's own clock follows in `finish`.
        self.pay(g, clock);
        let group = &mut self.groups[g];
        group.waited = if group.remaining > 0 { Waited::One } else { Waited::No };
        group.waited == Waited::One
    }

    /// Whether every operation of a group has come to its end.
    pub(crate) fn has_come(&self, g: u32) -> bool {
        self.groups[g].remaining == 0
    }

    /// A rank waits for the first of several groups, of which none is complete, or no longer does.
    pub(crate) fn hope_for(&mut self, rank: u32, groups: impl Iterator<Item = u32>, hopes: bool) {
        let rank = rank as usize;
        self.hopes.resize(self.hopes.len().max(rank + 1), false);
        self.hopes[rank] = hopes;
        groups.for_each(|g| self.groups[g].waited = if hopes { Waited::Some } else { Waited::No });
    }

    /// Whether a group is complete for a rank whose clock is given.
    pub(crate) fn is_over(&self, g: u32, clock: u64) -> bool {
        let group = &self.groups[g];
        group.remaining == 0 && group.clock <= clock
    }

    /// Frees a complete group and hands each request's payload out in the order of the operations. Its rank and clock.
    pub(crate) fn finish(&mut self, g: u32, mut each: impl FnMut(Option<Box<[u8]>>)) -> (u32, u64) {
        let group = &self.groups[g];
        let (rank, clock, mut r) = (group.rank, group.clock, group.first);
        debug_assert_eq!(group.remaining, 0);
        self.groups.free(g);
        while r != NONE {
            let next = self.requests[r].next;
            each(self.requests[r].payload.take());
            self.requests.free(r);
            r = next;
        }
        (rank, clock)
    }

    /// What a group still waits for, in words.
    pub(crate) fn awaited(&self, g: u32) -> String {
        let (mut open, mut r) = (Vec::new(), self.groups[g].first);
        while r != NONE {
            let request = &self.requests[r];
            if !request.complete {
                open.push(request);
            }
            r = request.next;
        }
        let Some(r) = open.first() else { return "nothing that can happen".into() };
        let what = match r.doing {
            Doing::Send => format!("its send of {} bytes to rank {} with tag {}", r.len, r.peer, r.tag),
            Doing::Receive => format!("a message of {} bytes from rank {} with tag {}", r.len, r.peer, r.tag),
            Doing::Put => format!("its put of {} bytes to rank {}", r.len, r.peer),
            Doing::Get => format!("its get of {} bytes from rank {}", r.len, r.peer),
            Doing::Held => unreachable!("what is held belongs to no group"),
        };
        if open.len() > 1 { format!("{what}, and for {} more operations", open.len() - 1) } else { what }
    }
}
