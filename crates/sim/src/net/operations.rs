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
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) doing: Doing,
    complete: bool,
    pub(crate) tag: u16,
    /// The other side, as numbered in the world; of what is held its own rank, as numbered in its part.
    pub(crate) peer: u32,
    pub(crate) len: u64,
    /// The rank's clock when it was posted: the loop may be behind it, and a message that comes before then waits.
    pub(crate) posted: u64,
    /// What was received, or waits to be sent: its number among the payloads, or [`NONE`].
    payload: u32,
    /// The next of those that wait for a message under the same key.
    pub(crate) next: u32,
}

impl Request {
    fn new(doing: Doing, peer: u32, posted: u64, tag: u16, len: u64) -> Request {
        Request { doing, complete: false, tag, peer, len, posted, payload: NONE, next: NONE }
    }
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

/// Requests of a block.
const WIDTH: u32 = 2;

/// Operations that are waited for together: what is known of the group, and its first requests. What comes of one of them touches two
/// lines of memory that lie side by side; further requests are in further blocks.
#[repr(align(128))]
struct Block {
    requests: [Request; WIDTH as usize],
    /// How many of them there are.
    used: u32,
    /// The first block of the group.
    group: u32,
    /// The group's next block.
    next: u32,
    // What follows is of the first block alone.
    /// The group's last block.
    last: u32,
    /// The rank, as numbered in its part and in the world.
    rank: u32,
    world: u32,
    remaining: u32,
    waited: Waited,
    /// When the last of them was complete, overheads included, if the rank has nothing else to do.
    clock: u64,
    /// Overheads of receives that have come and that the rank, which does something else, has not yet paid.
    owed: u64,
}

// Two lines: one of requests, one of the rest.
const _: () = assert!(size_of::<Block>() == 128);

impl Block {
    fn new((rank, world): (u32, u32), clock: u64) -> Block {
        Block {
            requests: [Request::new(Doing::Send, 0, 0, 0, 0); WIDTH as usize],
            used: 0,
            group: NONE,
            next: NONE,
            last: NONE,
            rank,
            world,
            remaining: 0,
            waited: Waited::No,
            clock,
            owed: 0,
        }
    }
}

/// Operations of all ranks of a part.
pub(crate) struct Operations {
    /// What ranks do for them.
    pub(crate) cores: Cores,
    blocks: Slab<Block>,
    /// What came, or waits to be sent, where bytes matter.
    payloads: Slab<Option<Box<[u8]>>>,
    /// Whether a rank waits for the first of several groups, and none is complete yet.
    hopes: Vec<bool>,
    /// What is held for each rank, as numbered in the part.
    held: Vec<u32>,
}

impl Operations {
    pub(crate) fn new(config: &Config) -> Operations {
        let (blocks, payloads) = (Slab::new(), Slab::new());
        Operations { cores: Cores::new(config), blocks, payloads, hopes: Vec::new(), held: Vec::new() }
    }

    /// A new group of operations of a rank, by its numbers in the part and in the world, whose clock is given.
    pub(crate) fn group(&mut self, rank: (u32, u32), clock: u64) -> u32 {
        let g = self.blocks.insert(Block::new(rank, clock));
        (self.blocks[g].group, self.blocks[g].last) = (g, g);
        g
    }

    /// A new operation, the last of its group, posted at a rank's clock.
    pub(crate) fn request(&mut self, doing: Doing, g: u32, peer: u32, posted: u64, tag: u16, len: u64) -> u32 {
        let group = &mut self.blocks[g];
        group.remaining += 1;
        let mut last = group.last;
        if self.blocks[last].used == WIDTH {
            let more = self.blocks.insert(Block { group: g, ..Block::new((0, 0), 0) });
            self.blocks[last].next = more;
            self.blocks[g].last = more;
            last = more;
        }
        let block = &mut self.blocks[last];
        block.requests[block.used as usize] = Request::new(doing, peer, posted, tag, len);
        block.used += 1;
        last * WIDTH + block.used - 1
    }

    /// Holds a message for a rank, as numbered in the part, until it has been fetched; unless so many are held already.
    pub(crate) fn hold(&mut self, rank: u32, len: u64, most: u32) -> Option<u32> {
        self.held.resize(self.held.len().max(rank as usize + 1), 0);
        let held = &mut self.held[rank as usize];
        (*held < most).then(|| {
            *held += 1;
            let mut block = Block::new((0, 0), 0);
            block.requests[0] = Request::new(Doing::Held, rank, 0, 0, len);
            self.blocks.insert(block) * WIDTH
        })
    }

    /// An operation by its number.
    #[inline]
    pub(crate) fn at(&mut self, request: u32) -> &mut Request {
        &mut self.blocks[request / WIDTH].requests[(request % WIDTH) as usize]
    }

    /// Gives an operation what was received, or waits to be sent.
    #[inline]
    pub(crate) fn keep(&mut self, request: u32, payload: Option<Box<[u8]>>) {
        if payload.is_some() {
            self.at(request).payload = self.payloads.insert(payload);
        }
    }

    /// Takes out what an operation was given.
    pub(crate) fn unpack(&mut self, request: u32) -> Option<Box<[u8]>> {
        match std::mem::replace(&mut self.at(request).payload, NONE) {
            NONE => None,
            p => self.payloads.take(p),
        }
    }

    /// Asks for the memory of an operation and its group ahead of time.
    #[inline(always)]
    pub(crate) fn fetch(&self, request: u32) {
        self.blocks.fetch(request / WIDTH);
    }

    /// Asks for the memory of a group ahead of time.
    #[inline(always)]
    pub(crate) fn fetch_group(&self, g: u32) {
        self.blocks.fetch(g);
    }

    /// An operation is complete at a time, and costs its rank an overhead: then if it waits, else when it next looks.
    pub(crate) fn complete(&mut self, clock: &mut Clock, request: u32, time: u64, overhead: u64) {
        let r = self.at(request);
        if r.doing == Doing::Held {
            let rank = r.peer as usize;
            self.held[rank] -= 1;
            self.blocks.free(request / WIDTH);
            return;
        }
        r.complete = true;
        let group = self.blocks[request / WIDTH].group;
        let group = &mut self.blocks[group];
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
        let group = &mut self.blocks[g];
        let paid = self.cores.work(group.world, clock, std::mem::take(&mut group.owed));
        group.clock = group.clock.max(paid);
        paid
    }

    /// A rank whose clock is given waits for a group. False if it is complete.
    pub(crate) fn wait_for(&mut self, g: u32, clock: u64) -> bool {
        // The rank's own clock follows in `finish`.
        self.pay(g, clock);
        let group = &mut self.blocks[g];
        group.waited = if group.remaining > 0 { Waited::One } else { Waited::No };
        group.waited == Waited::One
    }

    /// Whether every operation of a group has come to its end.
    pub(crate) fn has_come(&self, g: u32) -> bool {
        self.blocks[g].remaining == 0
    }

    /// A rank waits for the first of several groups, of which none is complete, or no longer does.
    pub(crate) fn hope_for(&mut self, rank: u32, groups: impl Iterator<Item = u32>, hopes: bool) {
        let rank = rank as usize;
        self.hopes.resize(self.hopes.len().max(rank + 1), false);
        self.hopes[rank] = hopes;
        groups.for_each(|g| self.blocks[g].waited = if hopes { Waited::Some } else { Waited::No });
    }

    /// Whether a group is complete for a rank whose clock is given.
    pub(crate) fn is_over(&self, g: u32, clock: u64) -> bool {
        let group = &self.blocks[g];
        group.remaining == 0 && group.clock <= clock
    }

    /// Frees a complete group and hands each request's payload out in the order of the operations. Its rank and clock.
    pub(crate) fn finish(&mut self, g: u32, mut each: impl FnMut(Option<Box<[u8]>>)) -> (u32, u64) {
        let group = &self.blocks[g];
        let (rank, clock) = (group.rank, group.clock);
        debug_assert_eq!(group.remaining, 0);
        let mut b = g;
        while b != NONE {
            for i in 0..self.blocks[b].used {
                each(self.unpack(b * WIDTH + i));
            }
            // It stays as it is until its place is used again.
            self.blocks.free(b);
            b = self.blocks[b].next;
        }
        (rank, clock)
    }

    /// What a group still waits for, in words.
    pub(crate) fn awaited(&self, g: u32) -> String {
        let (mut open, mut b): (Vec<&Request>, u32) = (Vec::new(), g);
        while b != NONE {
            let block = &self.blocks[b];
            open.extend(block.requests[..block.used as usize].iter().filter(|r| !r.complete));
            b = block.next;
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
