//! Outputs of switches and NICs: when their cables are free, how much room is beyond them, and who waits.
//!
//! A hop touches two outputs, the one a packet leaves by and the one whose buffer it leaves, so an output's busy part is one
//! line of the cache; what few outputs share (latency, pace) is in a table, what is rarely needed in a record of its own, and
//! credits on their way back are lists through one slab, whose places stay warm.
//!
//! Waiting packets stand in one queue per input, output and virtual channel; the queues of one output and channel form a
//! ring that is served in turn.

use super::{Bucket, ENDPOINT, Link, Pace, Packet};
use crate::base::{NONE, Port, Room, fetch_in};
use crate::file::{Full, SwitchConfig};

/// The state of one output: of a switch, or of a NIC.
#[repr(align(64))]
pub(crate) struct Out {
    /// The link is taken until then.
    pub(crate) busy: u64,
    /// When the pending wake event is, `u64::MAX` if there is none.
    pub(crate) wake: u64,
    bytes: u64,
    packets: u32,
    /// How long before `busy` the last packet begins to leave: it may still be in the stage, behind the one on the cable.
    lead: u32,
    pub(crate) to: u32,
    /// Bytes that wait here, in all channels.
    pub(crate) queued: u32,
    /// The first and the last of the credits on their way back, in order of time.
    first_return: u32,
    last_return: u32,
    /// The NIC this is the output of. For a switch, where this output's input queues begin, [`NONE`] while nobody has waited.
    block: u32,
    /// The part at the other end.
    pub(crate) lp_to: u16,
    pub(crate) to_port: Port,
    /// Which virtual channels have waiting packets.
    pub(crate) waiting: u16,
    kind: u16,
    /// The virtual channel served last.
    pub(crate) last_vc: u8,
    is_nic: bool,
    /// It could send but for credits.
    pub(crate) stalled: bool,
}

/// What outputs with the same sort of cable share.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutKind {
    pub(crate) latency: u64,
    pub(crate) credit_latency: u64,
    pub(crate) pace: Pace,
    bucket: Option<Bucket>,
    /// The buffer at the other side.
    room: Room,
}

/// What an output is seldom asked for.
#[derive(Clone, Copy, Default)]
struct Rare {
    stalled_since: u64,
    stalled_ps: u64,
    peak_queue: u64,
    /// Bytes that waited, each times the picoseconds it did, up to a time.
    waited: u128,
    waited_until: u64,
    /// When all that was sent would have left at the rate of the bucket.
    sent_until: u64,
}

impl Rare {
    /// So many bytes have waited since the last change.
    #[inline]
    fn wait(&mut self, bytes: u32, now: u64) {
        self.waited += u128::from(bytes) * u128::from(now - self.waited_until);
        self.waited_until = now;
    }
}

/// Credits on their way back.
#[derive(Clone, Copy)]
struct Return {
    time: u64,
    bytes: u32,
    next: u32,
    vc: u8,
}

/// What a port has done since the start.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Bytes sent, headers included.
    pub bytes: u64,
    /// Packets sent; counted up to four billion.
    pub packets: u64,
    /// Picoseconds in which packets waited for credits while the cable was free.
    pub stalled_ps: u64,
    /// The most bytes that have waited for this output.
    pub peak_queue: u64,
}

#[derive(Clone, Copy)]
struct InputQueue {
    head: u32,
    tail: u32,
    /// The next queue of the ring.
    next: u32,
}

/// A queue of an input, of which one packet at a time may ask for its output.
#[derive(Clone, Copy)]
pub(crate) struct Fifo {
    pub(crate) head: u32,
    pub(crate) tail: u32,
    /// From when on nobody of this input is being sent; never, while a packet waits for its output or behind another.
    pub(crate) free: u64,
}

/// All outputs of a part.
pub(crate) struct Outs {
    pub(crate) first: u32,
    pub(crate) vcs: usize,
    pub(crate) list: Vec<Out>,
    /// The most bytes that may wait for an output: no limit where packets wait for credits instead of being dropped.
    pub(crate) limit: u64,
    nics: u32,
    /// What is left of the most that a channel may have in the buffer at the other side, by output and channel.
    credits: Vec<u32>,
    /// Whether channels share a part of some buffer.
    sharing: bool,
    /// The last of the ring of input queues that wait, by output and channel.
    rings: Vec<u32>,
    rare: Vec<Rare>,
    kinds: Vec<OutKind>,
    returns: Vec<Return>,
    free_return: u32,
    queues: Vec<InputQueue>,
    /// By input port (numbered as the output of the same port), channel and lane; empty with virtual output queues.
    pub(crate) fifos: Vec<Fifo>,
    /// How many of them an input and channel has.
    pub(crate) lanes: u32,
}

impl Outs {
    /// The outputs of a part's links, of which the first has the number `first`.
    pub(crate) fn new(first: u32, links: &[Link], vcs: usize, switch: &SwitchConfig) -> Outs {
        let lanes = switch.lanes();
        let fifos = links.len() * vcs * lanes as usize;
        let mut outs = Outs {
            first,
            vcs,
            limit: if switch.full == Full::Drop { u64::from(switch.buffer) } else { u64::MAX },
            nics: 0,
            list: Vec::with_capacity(links.len()),
            credits: Vec::with_capacity(links.len() * vcs),
            sharing: switch.shares(),
            rings: vec![NONE; links.len() * vcs],
            rare: vec![Rare::default(); links.len()],
            kinds: Vec::new(),
            returns: Vec::new(),
            free_return: NONE,
            queues: Vec::new(),
            fifos: vec![Fifo { head: NONE, tail: NONE, free: 0 }; fifos],
            lanes,
        };
        for link in links {
            let out = outs.make(switch, link);
            outs.list.push(out);
        }
        outs
    }

    fn make(&mut self, switch: &SwitchConfig, link: &Link) -> Out {
        let is_nic = link.from & ENDPOINT != 0;
        // In a network that drops these are too many to run out: there `limit` decides.
        let room = switch.room(link.reach);
        // The endpoints of a part are numbered in the order of their links.
        let nic = self.nics;
        self.nics += u32::from(is_nic);
        self.credits.extend(std::iter::repeat_n(room.most(), self.vcs));
        let kind = OutKind {
            latency: link.latency,
            credit_latency: link.credit_latency,
            pace: link.pace,
            bucket: link.bucket,
            room,
        };
        Out {
            busy: 0,
            wake: u64::MAX,
            bytes: 0,
            packets: 0,
            lead: 0,
            to: link.to,
            queued: 0,
            first_return: NONE,
            last_return: NONE,
            block: if is_nic { nic } else { NONE },
            lp_to: link.lp_to,
            to_port: link.to_port,
            waiting: 0,
            kind: self.kind_number(kind),
            last_vc: 0,
            is_nic,
            stalled: false,
        }
    }

    fn kind_number(&mut self, kind: OutKind) -> u16 {
        let known = self.kinds.iter().position(|&k| k == kind);
        let number = known.unwrap_or_else(|| {
            self.kinds.push(kind);
            self.kinds.len() - 1
        });
        u16::try_from(number).expect("cables of a few sorts, and at most as many faults")
    }

    pub(crate) fn kind(&self, o: u32) -> &OutKind {
        &self.kinds[usize::from(self.list[o as usize].kind)]
    }

    /// Changes the rate of an output's cable.
    pub(crate) fn set_pace(&mut self, o: u32, pace: Pace) {
        let before = *self.kind(o);
        let kind = match before.bucket {
            Some(bucket) => OutKind { bucket: Some(Bucket { pace, ..bucket }), ..before },
            None => OutKind { pace, ..before },
        };
        self.list[o as usize].kind = self.kind_number(kind);
    }

    /// The NIC this is the output of.
    #[inline]
    pub(crate) fn nic(&self, o: u32) -> Option<u32> {
        let out = &self.list[o as usize];
        out.is_nic.then_some(out.block)
    }

    /// Free bytes in the buffer at the other side, for a channel.
    #[inline]
    pub(crate) fn credits(&self, o: u32, vc: u8) -> u32 {
        if self.sharing {
            return self.of_shared(o, vc);
        }
        self.left(o, vc)
    }

    #[inline]
    fn left(&self, o: u32, vc: u8) -> u32 {
        self.credits[o as usize * self.vcs + usize::from(vc)]
    }

    fn of_shared(&self, o: u32, vc: u8) -> u32 {
        self.kind(o).room.free(&self.credits[o as usize * self.vcs..][..self.vcs], usize::from(vc))
    }

    /// When a packet that asks for an output now would begin to leave, if it can be told: nobody else waits, and there is
    /// room beyond. On a busy cable that is so while its stage, for one packet, is empty.
    #[inline]
    pub(crate) fn may_leave(&mut self, o: u32, now: u64, packet: &Packet) -> Option<u64> {
        let out = &self.list[o as usize];
        // The last packet begins to leave at `busy - lead`. If that is still to come it is in the stage, which has room for one.
        if out.waiting != 0 || out.busy > now + u64::from(out.lead) {
            return None;
        }
        let start = out.busy.max(now);
        // As of now, not of `start`: credits that come back in between are not counted on.
        self.take_returns(o, now);
        (self.credits(o, packet.out_vc) >= packet.wire).then_some(start)
    }

    /// Takes the cable of an output for a packet from a time on, and room beyond it. When the packet's tail has left, and the
    /// time of flight.
    #[inline]
    pub(crate) fn occupy(&mut self, o: u32, start: u64, packet: &Packet) -> (u64, u64) {
        let out = &mut self.list[o as usize];
        let kind = &self.kinds[usize::from(out.kind)];
        // Cut-through: behind a slower cable the tail cannot leave before it has come in.
        let tail = (start + kind.pace.time(packet.wire)).max(packet.ready + u64::from(packet.span));
        out.busy = tail;
        if let Some(bucket) = kind.bucket {
            let rare = &mut self.rare[o as usize];
            rare.sent_until = rare.sent_until.max(start) + bucket.pace.time(packet.wire);
            out.busy = tail.max(rare.sent_until.saturating_sub(bucket.ahead()));
        }
        // It fits: `Fabric::lay` and the faults refuse rates at which a packet takes more than 32 bits of picoseconds.
        out.lead = (out.busy - start) as u32;
        out.bytes += u64::from(packet.wire);
        out.packets = out.packets.saturating_add(1);
        self.credits[o as usize * self.vcs + usize::from(packet.out_vc)] -= packet.wire;
        (tail, kind.latency)
    }

    /// Takes in the credits that have come back by now.
    #[inline]
    pub(crate) fn take_returns(&mut self, o: u32, now: u64) {
        let out = &mut self.list[o as usize];
        while out.first_return != NONE {
            let r = out.first_return;
            let Return { time, bytes, next, vc } = self.returns[r as usize];
            if time > now {
                break;
            }
            out.first_return = next;
            self.returns[r as usize].next = self.free_return;
            self.free_return = r;
            let credits = &mut self.credits[o as usize * self.vcs + usize::from(vc)];
            *credits += bytes;
            debug_assert!(*credits <= self.kinds[usize::from(out.kind)].room.most(), "more credits than buffer");
        }
    }

    /// Sends credits on their way back to an output, where they will be at `time`.
    #[inline]
    pub(crate) fn give_back(&mut self, o: u32, vc: u8, bytes: u32, time: u64, now: u64) {
        let r = match self.free_return {
            NONE => {
                self.returns.push(Return { time, bytes, next: NONE, vc });
                self.returns.len() as u32 - 1
            }
            r => {
                self.free_return = self.returns[r as usize].next;
                self.returns[r as usize] = Return { time, bytes, next: NONE, vc };
                r
            }
        };
        let out = &mut self.list[o as usize];
        if out.first_return == NONE {
            (out.first_return, out.last_return) = (r, r);
        } else if self.returns[out.last_return as usize].time <= time {
            self.returns[out.last_return as usize].next = r;
            out.last_return = r;
        } else {
            self.insert_return(o, r, time, now);
        }
    }

    /// Packets leave an input by outputs of different speed and differ in length, so returns may overtake each other a little.
    #[cold]
    fn insert_return(&mut self, o: u32, r: u32, time: u64, now: u64) {
        // What is due is not worth searching through.
        self.take_returns(o, now);
        let out = &mut self.list[o as usize];
        let mut at = out.first_return;
        if self.returns[at as usize].time > time {
            self.returns[r as usize].next = at;
            out.first_return = r;
            return;
        }
        // The last return is later than this one, as the caller has seen, so the search ends before the list does.
        loop {
            let next = self.returns[at as usize].next;
            if self.returns[next as usize].time > time {
                self.returns[r as usize].next = next;
                self.returns[at as usize].next = r;
                return;
            }
            at = next;
        }
    }

    /// When the next credits are back.
    pub(crate) fn next_return(&self, o: u32) -> Option<u64> {
        // `NONE` is beyond the end of any list: no credits are on their way.
        self.returns.get(self.list[o as usize].first_return as usize).map(|r| r.time)
    }

    /// Bytes of a channel that are on their way back.
    fn returning(&self, o: u32, vc: u8) -> u32 {
        let mut sum = 0;
        let mut r = self.list[o as usize].first_return;
        while r != NONE {
            let Return { bytes, next, vc: of, .. } = self.returns[r as usize];
            sum += if of == vc { bytes } else { 0 };
            r = next;
        }
        sum
    }

    /// Whether nobody waits and every credit is here or on its way, as it must be when nothing is left to happen.
    pub(crate) fn at_rest(&self) -> bool {
        (0..self.list.len() as u32).all(|o| {
            let whole = |vc| self.left(o, vc) + self.returning(o, vc) == self.kind(o).room.most();
            self.list[o as usize].waiting == 0 && (0..self.vcs as u8).all(whole)
        })
    }

    /// Notes that an output could send but for credits.
    pub(crate) fn begin_stall(&mut self, o: u32, now: u64) {
        let out = &mut self.list[o as usize];
        if !out.stalled {
            out.stalled = true;
            self.rare[o as usize].stalled_since = now;
        }
    }

    #[inline]
    pub(crate) fn end_stall(&mut self, o: u32, now: u64) {
        let out = &mut self.list[o as usize];
        if out.stalled {
            out.stalled = false;
            let rare = &mut self.rare[o as usize];
            rare.stalled_ps += now - rare.stalled_since;
        }
    }

    /// Bytes sent, and picoseconds stalled until a time, with a stall that is still under way.
    pub(crate) fn so_far(&self, o: u32, at: u64) -> (u64, u64) {
        let (out, rare) = (&self.list[o as usize], &self.rare[o as usize]);
        // Saturating: a phase of a machine without look-ahead may end at a rank's clock, behind which the loop is already.
        let under_way = if out.stalled { at.saturating_sub(rare.stalled_since) } else { 0 };
        (out.bytes, rare.stalled_ps + under_way)
    }

    /// Bytes that have waited for an output, times picoseconds, until a time.
    pub(crate) fn waited(&self, o: u32, at: u64) -> u128 {
        let mut rare = self.rare[o as usize];
        rare.wait(self.list[o as usize].queued, at.max(rare.waited_until));
        rare.waited
    }

    pub(crate) fn counters(&self, o: u32) -> Counters {
        let (out, rare) = (&self.list[o as usize], &self.rare[o as usize]);
        Counters {
            bytes: out.bytes,
            packets: u64::from(out.packets),
            stalled_ps: rare.stalled_ps,
            peak_queue: rare.peak_queue,
        }
    }

    /// Puts a packet into the queue of its input, output and channel. The packet before it there, or [`NONE`].
    pub(crate) fn enqueue(&mut self, o: u32, id: u32, packet: &Packet, ports: Port, now: u64) -> u32 {
        let out = &mut self.list[o as usize];
        // Made at the first wait: an output for which nobody ever waits needs no queues.
        if out.block == NONE {
            out.block = self.queues.len() as u32;
            let size = usize::from(ports) * self.vcs;
            self.queues.resize(self.queues.len() + size, InputQueue { head: NONE, tail: NONE, next: NONE });
        }
        let vc = usize::from(packet.out_vc);
        let q = out.block + (vc * usize::from(ports)) as u32 + u32::from(packet.in_port);
        let rare = &mut self.rare[o as usize];
        rare.wait(out.queued, now);
        out.queued += packet.wire;
        rare.peak_queue = rare.peak_queue.max(u64::from(out.queued));
        out.waiting |= 1 << vc;
        let queue = &mut self.queues[q as usize];
        let before = std::mem::replace(&mut queue.tail, id);
        if queue.head != NONE {
            return before;
        }
        queue.head = id;
        // A ring is known by its last queue, whose `next` is the first: both ends are at hand.
        let last = std::mem::replace(&mut self.rings[o as usize * self.vcs + vc], q);
        if last == NONE {
            queue.next = q;
        } else {
            let first = std::mem::replace(&mut self.queues[last as usize].next, q);
            self.queues[q as usize].next = first;
        }
        NONE
    }

    /// The first packet that waits for a channel of an output.
    #[inline]
    pub(crate) fn first(&self, o: u32, vc: usize) -> u32 {
        let ring = self.rings[o as usize * self.vcs + vc];
        self.queues[self.queues[ring as usize].next as usize].head
    }

    /// Asks for the memory of an output, of its credits and of who waits there, ahead of time.
    #[inline(always)]
    pub(crate) fn fetch_waiting(&self, o: u32) {
        fetch_in(&self.list, o as usize);
        fetch_in(&self.rings, o as usize * self.vcs);
        fetch_in(&self.credits, o as usize * self.vcs);
    }

    /// Asks for the first queue that waits, of some channel.
    #[inline(always)]
    pub(crate) fn fetch_queue(&self, o: u32) {
        let waiting = self.list[o as usize].waiting;
        if waiting != 0 {
            fetch_in(&self.queues, self.rings[o as usize * self.vcs + waiting.trailing_zeros() as usize] as usize);
        }
    }

    /// The first packet that waits, of the same channel.
    #[inline(always)]
    pub(crate) fn some_first(&self, o: u32) -> Option<u32> {
        let waiting = self.list[o as usize].waiting;
        (waiting != 0).then(|| self.first(o, waiting.trailing_zeros() as usize))
    }

    /// Takes that packet out and turns the ring. `next` is the packet behind it in its queue.
    #[inline]
    pub(crate) fn dequeue(&mut self, o: u32, vc: usize, wire: u32, next: u32, now: u64) {
        let ring = &mut self.rings[o as usize * self.vcs + vc];
        let out = &mut self.list[o as usize];
        self.rare[o as usize].wait(out.queued, now);
        out.queued -= wire;
        let last = *ring;
        let q = self.queues[last as usize].next;
        let queue = &mut self.queues[q as usize];
        queue.head = next;
        if next != NONE {
            // The queue just served is now the last of the ring: so inputs take turns.
            *ring = q;
            return;
        }
        queue.tail = NONE;
        let after = queue.next;
        if q == last {
            *ring = NONE;
            out.waiting &= !(1 << vc);
        } else {
            self.queues[last as usize].next = after;
        }
    }

    pub(crate) fn queued(&self, o: u32) -> u64 {
        u64::from(self.list[o as usize].queued)
    }
}

/// What a routing decision may look at: the outputs of one switch.
pub struct Load<'a> {
    pub(crate) outs: &'a mut Outs,
    pub(crate) first: u32,
    pub(crate) class: u8,
    pub(crate) class_vcs: u8,
    pub(crate) now: u64,
}

impl Load<'_> {
    /// Bytes that wait at this switch for a port, in all channels.
    pub fn queued(&self, port: Port) -> u64 {
        self.outs.queued(self.first + u32::from(port))
    }
    /// Bytes in the buffer at the far side of a port, in the packet's class: what has been sent and not come back as credit.
    #[inline]
    pub fn beyond(&mut self, port: Port) -> u64 {
        let o = self.first + u32::from(port);
        self.outs.take_returns(o, self.now);
        let at = o as usize * self.outs.vcs + usize::from(self.class * self.class_vcs);
        let free: u64 = self.outs.credits[at..at + usize::from(self.class_vcs)].iter().map(|&c| u64::from(c)).sum();
        u64::from(self.class_vcs) * u64::from(self.outs.kind(o).room.most()) - free
    }
    /// Free bytes in the buffer at the far side of a port, for a channel of the packet's class.
    pub fn credits(&mut self, port: Port, vc: u8) -> u32 {
        let o = self.first + u32::from(port);
        self.outs.take_returns(o, self.now);
        self.outs.credits(o, self.class * self.class_vcs + vc)
    }
    /// Picoseconds until the cable of a port is free.
    pub fn busy(&self, port: Port) -> u64 {
        self.outs.list[(self.first + u32::from(port)) as usize].busy.saturating_sub(self.now)
    }
}
