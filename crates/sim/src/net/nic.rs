//! NICs: from messages to packets and back.
//!
//! Messages to one destination form a flow and are sent in order; flows of a class take turns packet by packet, classes take
//! turns too. A NIC starts at most one message per `message gap`, is busy with each packet for its serialisation plus the
//! packet overhead, keeps at most `outstanding` puts and gets and about `window` bytes of them under way, and holds back flows
//! that the congestion control paces. Where ranks have to move what they send (`movers`), each has flows of its own. At the
//! other end a NIC takes in one packet per packet overhead and frees the buffer then; it always takes packets in, whatever its
//! host does, so that no protocol can block the network.

use super::movers::Movers;
use super::switch::seen;
use super::{APART_CLASS, CLASSES, Fabric, Net, PartInfo, SMALL_CLASS};
use crate::Config;
use crate::base::{Endpoint, Event, NONE, Slab, Table, fetch_in, place};
use crate::control::TrafficFlow;
use crate::file::NicConfig;
use crate::link::{Head, Kind, Message, NO_LANE, Packet};
use spec::Time;

/// One NIC.
struct Nic {
    /// Its output, as numbered in its part.
    out: u32,
    /// For each class the last of the ring of flows that have something to send.
    rings: [u32; CLASSES],
    last_class: usize,
    /// When it may start the next message.
    next_message: u64,
    /// How many messages it has started.
    started: u32,
    /// Puts and gets under way, their bytes, and those that wait for their turn.
    outstanding: u32,
    under_way: u64,
    blocked_head: u32,
    blocked_tail: u32,
    /// Its receiving side is busy until then.
    receiving: u64,
}

impl Nic {
    /// Whether one more put or get may go.
    fn may_begin(&self, config: &NicConfig) -> bool {
        self.outstanding < config.outstanding && (config.window == 0 || self.under_way < config.window)
    }

    fn begin(&mut self, len: u64) {
        self.outstanding += 1;
        self.under_way += len;
    }
}

/// Messages from one NIC to one destination.
struct FlowState {
    nic: u32,
    class: u8,
    head: u32,
    tail: u32,
    /// The next flow of the ring.
    next: u32,
    /// Whose messages they are: the NIC's, or one rank's where ranks have to move them, as numbered in its part.
    sender: u32,
    /// Packets that may go: all, or as many as have been moved, of which one may wait behind another.
    ready: u8,
    moving: bool,
}

/// Of a flow whose packets need not be moved: always ready.
const ALL: u8 = u8::MAX;
/// Packets that are moved ahead of the cable.
const AHEAD: u8 = 2;
/// In a flow's name: the rest is a rank.
const RANK: u32 = 1 << 31;

/// A message of several packets of which some have come.
struct Partial {
    received: u64,
    head: u32,
}

/// All NICs of a part.
pub(super) struct Nics {
    list: Vec<Nic>,
    pub(super) messages: Slab<Message>,
    flows: Slab<FlowState>,
    flow_of: Table<u64>,
    partials: Slab<Partial>,
    partial_of: Table<u64>,
    pub(super) movers: Option<Movers>,
}

/// What came of an attempt to send from a class.
enum Attempt {
    Empty,
    Sent,
    NoCredits,
    NotBefore(u64),
}

impl Nics {
    pub(super) fn new(fabric: &Fabric, part: &PartInfo) -> Nics {
        let nic = |&endpoint: &Endpoint| Nic {
            out: fabric.endpoints[endpoint as usize].inject - part.first_link,
            rings: [NONE; CLASSES],
            last_class: 0,
            next_message: 0,
            started: 0,
            outstanding: 0,
            under_way: 0,
            blocked_head: NONE,
            blocked_tail: NONE,
            receiving: 0,
        };
        Nics {
            list: part.endpoints.iter().map(nic).collect(),
            messages: Slab::new(),
            flows: Slab::new(),
            flow_of: Table::new(),
            partials: Slab::new(),
            partial_of: Table::new(),
            movers: Movers::new(fabric, part),
        }
    }

    /// Asks for a NIC's memory ahead of time.
    #[inline(always)]
    pub(super) fn fetch(&self, n: u32) {
        fetch_in(&self.list, n as usize);
    }

    /// Asks for what is known of the message of a packet that comes.
    #[inline(always)]
    pub(super) fn fetch_partial(&self, packet: &Packet) {
        self.partial_of.fetch(partial_key(packet));
    }

    /// Asks for the flows of a NIC that may send next.
    #[inline(always)]
    pub(super) fn fetch_flows(&self, n: u32) {
        for ring in self.list[n as usize].rings {
            if ring != NONE {
                self.flows.fetch(self.flows[ring].next);
            }
        }
    }

    /// Asks for their messages.
    #[inline(always)]
    pub(super) fn fetch_messages(&self, n: u32) {
        for ring in self.list[n as usize].rings {
            if ring != NONE {
                self.messages.fetch(self.flows[self.flows[ring].next].head);
            }
        }
    }

    /// Adds a flow at the end of its ring. True if the ring was empty.
    fn join_ring(&mut self, f: u32) {
        let (nic, class) = (self.flows[f].nic as usize, usize::from(self.flows[f].class));
        let last = std::mem::replace(&mut self.list[nic].rings[class], f);
        if last == NONE {
            self.flows[f].next = f;
        } else {
            self.flows[f].next = self.flows[last].next;
            self.flows[last].next = f;
        }
    }

    /// Bytes and way of the first packet of a flow that has still to be moved; none if nothing more is to be sent.
    fn unmoved(&self, f: u32, mtu: u32) -> Option<(u32, u8)> {
        let flow = &self.flows[f];
        let (mut id, mut ahead) = (flow.head, u64::from(flow.ready));
        while id != NONE {
            let Message { left, next, way, .. } = self.messages[id];
            let packets = left.div_ceil(u64::from(mtu));
            if ahead < packets {
                return Some(((left - ahead * u64::from(mtu)).min(u64::from(mtu)) as u32, way));
            }
            ahead -= packets;
            id = next;
        }
        None
    }

    /// Takes the first flow out of its ring.
    fn leave_ring(&mut self, f: u32) {
        let (nic, class) = (self.flows[f].nic as usize, usize::from(self.flows[f].class));
        let last = self.list[nic].rings[class];
        debug_assert_eq!(self.flows[last].next, f);
        if last == f {
            self.list[nic].rings[class] = NONE;
        } else {
            self.flows[last].next = self.flows[f].next;
        }
    }
}

/// The class in which a message travels: small ones may have their own, by the length of the user's message, so that all
/// packets of an exchange but those that travel apart travel in one class.
fn class_of(head: &Head, config: &Config) -> u8 {
    match head {
        head if head.kind.is_apart(config.switch.apart) => APART_CLASS,
        head if config.protocol.small > 0 && head.len <= config.protocol.small => SMALL_CLASS,
        _ => 0,
    }
}

fn flow_key(sender: u32, to: Endpoint, class: u8) -> u64 {
    // Endpoints and ranks have numbers below 2^28, as all that events name.
    u64::from(sender) << 32 | u64::from(to) << 2 | u64::from(class)
}

/// The name of a message of several packets.
fn partial_key(packet: &Packet) -> u64 {
    u64::from(packet.source) << 32 | u64::from(packet.message)
}

impl Net<'_> {
    /// A new message between endpoints, to be posted.
    pub(crate) fn message(&mut self, mut head: Head, from: Endpoint, to: Endpoint) -> u32 {
        let config = &self.fabric.config;
        head.beside = match head.kind {
            Kind::Get | Kind::Fetch => config.nic.beside(config.nic.request, head.len),
            Kind::PutDone => config.nic.beside(config.nic.answer, head.len),
            _ => 0,
        };
        let way = config.protocol.way(head.len);
        let class = class_of(&head, config);
        let number = self.heads.insert(head);
        let message = Message::new((&self.heads[number], number), from, to, config.nic.mtu, (class, way));
        self.nics.messages.insert(message)
    }

    /// A message reaches its NIC.
    pub(crate) fn post(&mut self, id: u32) {
        let message = &self.nics.messages[id];
        let n = self.fabric.endpoints[message.source as usize].local as usize;
        if message.counts {
            let len = message.len;
            let nic = &mut self.nics.list[n];
            if !nic.may_begin(&self.fabric.config.nic) {
                // Held back outside the flows, so that other messages to the same destination are not held up.
                let tail = std::mem::replace(&mut nic.blocked_tail, id);
                match tail {
                    NONE => nic.blocked_head = id,
                    _ => self.nics.messages[tail].next = id,
                }
                return;
            }
            nic.begin(len);
        }
        self.enqueue_message(n as u32, id);
    }

    /// The answer to a put of so many bytes, or to a get, is complete: the next ones may go.
    pub(crate) fn answered(&mut self, endpoint: Endpoint, put: u64) {
        let n = self.fabric.endpoints[endpoint as usize].local;
        self.nics.list[n as usize].outstanding -= 1;
        self.landed(n, put);
    }

    /// So many bytes of puts and gets of a NIC are no longer under way: what waited for it may go.
    fn landed(&mut self, n: u32, bytes: u64) {
        self.nics.list[n as usize].under_way -= bytes;
        loop {
            let nic = &mut self.nics.list[n as usize];
            let id = nic.blocked_head;
            if id == NONE || !nic.may_begin(&self.fabric.config.nic) {
                return;
            }
            let message = &mut self.nics.messages[id];
            nic.begin(message.len);
            nic.blocked_head = std::mem::replace(&mut message.next, NONE);
            if nic.blocked_head == NONE {
                nic.blocked_tail = NONE;
            }
            self.enqueue_message(n, id);
        }
    }

    pub(super) fn enqueue_message(&mut self, n: u32, id: u32) {
        let message = &self.nics.messages[id];
        let (class, moves) = (message.class, self.nics.movers.is_some() && message.moves);
        let sender = if moves { RANK | self.fabric.home(self.heads[message.head].from).1 } else { message.source };
        let key = flow_key(sender, message.target, class);
        // A NIC has one cable, so there is no way round a cut of it.
        if self.health.is_some() && self.unplugged(message.source) {
            return self.cut_off(message.source, message.target);
        }
        self.totals.messages += 1;
        match self.nics.flow_of.get(key) {
            Some(f) => {
                // The flow is in its ring, or parked by the congestion control and will join it.
                let tail = std::mem::replace(&mut self.nics.flows[f].tail, id);
                self.nics.messages[tail].next = id;
                self.feed(f);
            }
            None => {
                let (ready, moving) = (if moves { 0 } else { ALL }, false);
                let flow = FlowState { nic: n, class, head: id, tail: id, next: NONE, sender, ready, moving };
                let f = self.nics.flows.insert(flow);
                self.nics.flow_of.set(key, f);
                match moves {
                    true => self.feed(f),
                    false => self.nics.join_ring(f),
                }
            }
        }
        self.inject(n);
    }

    /// Has the next packet of a flow moved, if it has one and there is room for it.
    fn feed(&mut self, f: u32) {
        loop {
            let flow = &self.nics.flows[f];
            if flow.moving || flow.ready >= AHEAD {
                return;
            }
            let Some((bytes, way)) = self.nics.unmoved(f, self.fabric.config.nic.mtu) else { return };
            let rank = flow.sender & !RANK;
            let nic = (flow.nic, self.nics.messages[flow.head].source);
            let movers = self.nics.movers.as_mut().expect("there are some where flows are fed");
            if movers.begin(&mut self.clock, nic, rank, (f, bytes, way)) {
                self.nics.flows[f].moving = true;
                return;
            }
            self.gains(f);
        }
    }

    /// A packet of a flow has been moved.
    pub(super) fn may_go(&mut self, f: u32) {
        self.nics.flows[f].moving = false;
        self.gains(f);
        self.feed(f);
    }

    fn gains(&mut self, f: u32) {
        self.nics.flows[f].ready += 1;
        // One that has had a packet before is in its ring, or held back by the congestion control with it.
        if self.nics.flows[f].ready == 1 {
            self.nics.join_ring(f);
        }
    }

    /// Source and destination of a message that a NIC has still to send.
    pub(super) fn unsent(&self, n: u32) -> Option<(Endpoint, Endpoint)> {
        let last = self.nics.list[n as usize].rings.iter().find(|&&r| r != NONE)?;
        let message = &self.nics.messages[self.nics.flows[*last].head];
        Some((message.source, message.target))
    }

    /// A flow that was held back may send again.
    pub(crate) fn unpark(&mut self, f: u32) {
        self.nics.join_ring(f);
        self.inject(self.nics.flows[f].nic);
    }

    /// Lets a NIC send its next packet if it can. Whether it could.
    pub(super) fn inject(&mut self, n: u32) -> bool {
        let o = self.nics.list[n as usize].out;
        if self.outs.list[o as usize].busy > self.clock.now {
            // A NIC's mask only says whether anything waits, which is all that `credit` looks at.
            self.outs.list[o as usize].waiting = 1;
            let busy = self.outs.list[o as usize].busy;
            self.wake_at(o, busy);
            return false;
        }
        self.outs.take_returns(o, self.clock.now);
        let last = self.nics.list[n as usize].last_class;
        let (mut starved, mut later, mut sent) = (false, u64::MAX, false);
        let classes = self.fabric.classes;
        for step in 1..=classes {
            let class = if last + step < classes { last + step } else { last + step - classes };
            match self.attempt(n, o, class) {
                Attempt::Empty => {}
                Attempt::NoCredits => starved = true,
                Attempt::NotBefore(time) => later = later.min(time),
                Attempt::Sent => {
                    self.nics.list[n as usize].last_class = class;
                    sent = true;
                    break;
                }
            }
        }
        let more = self.nics.list[n as usize].rings.iter().any(|&r| r != NONE);
        self.outs.list[o as usize].waiting = u16::from(more);
        if sent {
            self.outs.end_stall(o, self.clock.now);
            if more {
                let busy = self.outs.list[o as usize].busy;
                self.wake_at(o, busy);
            }
            return true;
        }
        if starved {
            self.stall(o);
        }
        if later != u64::MAX {
            self.wake_at(o, later);
        }
        false
    }

    /// Tries to send one packet of a class: of the first flow that may send.
    fn attempt(&mut self, n: u32, o: u32, class: usize) -> Attempt {
        loop {
            let last = self.nics.list[n as usize].rings[class];
            if last == NONE {
                return Attempt::Empty;
            }
            let f = self.nics.flows[last].next;
            let id = self.nics.flows[f].head;
            let message = &self.nics.messages[id];
            let payload = message.left.min(u64::from(self.fabric.config.nic.mtu)) as u32;
            let wire = self.fabric.config.nic.wire(payload, message.asked);
            let flow = TrafficFlow { from: message.source, to: message.target };
            let begins = !message.begun;
            // Acknowledgements, clear-to-send and the control's own notices are never held back.
            let paced = class != usize::from(APART_CLASS);
            if let Some(control) = self.guard.control.as_mut().filter(|_| paced) {
                let when = control.pace(Time::from_ps(self.clock.now), flow, wire).ps();
                if when > self.clock.now {
                    // Out of the ring, so that other flows of the class may send meanwhile.
                    self.nics.leave_ring(f);
                    self.clock.push(when, place([flow.from, flow.to, class as u32]), Event::Unpark(f));
                    continue;
                }
            }
            // The gap holds up the whole class, also flows behind this one that are in the middle of a message.
            if begins && self.nics.list[n as usize].next_message > self.clock.now {
                return Attempt::NotBefore(self.nics.list[n as usize].next_message);
            }
            let vc = class as u8 * self.fabric.class_vcs;
            if self.outs.credits(o, vc) < wire {
                return Attempt::NoCredits;
            }
            self.send_packet(n, f, payload, vc);
            if paced {
                self.controlled(|c, now, asks| c.sent(now, flow, wire, asks));
            }
            return Attempt::Sent;
        }
    }

    fn send_packet(&mut self, n: u32, f: u32, payload: u32, vc: u8) {
        let config = &self.fabric.config.nic;
        let nic = &mut self.nics.list[n as usize];
        let (o, id) = (nic.out, self.nics.flows[f].head);
        let message = &mut self.nics.messages[id];
        let head = std::mem::replace(&mut message.head, NONE);
        if !message.begun {
            message.begun = true;
            message.number = nic.started;
            // It may wrap: only messages under way at one time need different numbers.
            nic.started = nic.started.wrapping_add(1);
            nic.next_message = self.clock.now + config.message_gap.ps();
        }
        message.left -= u64::from(payload);
        self.totals.injected += u64::from(payload);
        let packet = Packet {
            ready: self.clock.now,
            // The message is in memory as a whole: the tail is as ready as the head.
            span: 0,
            wire: config.wire(payload, message.asked),
            source: message.source,
            target: message.target,
            goal: self.fabric.endpoints[message.target as usize].switch,
            message: message.number,
            head,
            next: NONE,
            via: NONE,
            at: NONE,
            middle: NONE,
            in_port: 0,
            out_port: 0,
            vc,
            out_vc: vc,
            hops: 0,
            class: self.nics.flows[f].class,
            part: message.long,
            asked: message.asked,
            marked: false,
            lane: NO_LANE,
        };
        let (last, wire) = (message.left == 0, packet.wire);
        let slot = self.packets.insert(packet);
        let tail = self.transmit(o, slot, self.clock.now);
        // The overhead follows the tail: it delays the next packet, not this one.
        let (now, both) = (self.clock.now, self.both(self.nics.list[n as usize].receiving > self.clock.now, wire));
        let out = &mut self.outs.list[o as usize];
        out.busy = (out.busy + config.packet_overhead.ps()).max(now + both);
        if last {
            self.end_message(f, id, tail);
        } else {
            self.turn_to_next(f);
        }
    }

    /// The flow that has sent becomes the last of its ring, so that flows take turns packet by packet; or it leaves it until the next
    /// packet has been moved.
    fn turn_to_next(&mut self, f: u32) {
        let FlowState { nic, class, ready, .. } = self.nics.flows[f];
        match ready {
            1 => self.nics.leave_ring(f),
            _ => self.nics.list[nic as usize].rings[usize::from(class)] = f,
        }
        if ready != ALL {
            self.nics.flows[f].ready = ready - 1;
            self.feed(f);
        }
    }

    /// The last packet of a flow's first message has left.
    fn end_message(&mut self, f: u32, id: u32, tail: u64) {
        let (next, done) = (self.nics.messages[id].next, self.nics.messages[id].done);
        let target = self.nics.messages[id].target;
        self.nics.messages.free(id);
        let flow = &mut self.nics.flows[f];
        flow.head = next;
        let (class, sender) = (flow.class, flow.sender);
        if next == NONE {
            self.nics.leave_ring(f);
            self.nics.flow_of.remove(flow_key(sender, target, class));
            self.nics.flows.free(f);
        } else {
            self.turn_to_next(f);
        }
        if done != NONE {
            self.operations.complete(&mut self.clock, done, tail, 0);
        }
    }

    /// A packet's tail has reached its destination's NIC. The message, if this is all of it and it is for a rank, and when.
    pub(crate) fn eject(&mut self, id: u32) -> Option<(Head, u64)> {
        let packet = self.packets[id];
        let n = self.fabric.endpoints[packet.target as usize].local;
        let out = self.nics.list[n as usize].out;
        let both = self.both(self.outs.list[out as usize].busy > self.clock.now, packet.wire);
        let nic = &mut self.nics.list[n as usize];
        let done = nic.receiving.max(self.clock.now) + self.fabric.config.nic.packet_overhead.ps().max(both);
        nic.receiving = done;
        self.release(packet.via, packet.vc, packet.wire, done);
        self.packets.free(id);
        if packet.class != APART_CLASS {
            self.controlled(|c, now, asks| c.ejected(now, seen(&packet), asks));
        }
        let payload = u64::from(self.fabric.config.nic.payload(packet.wire, packet.asked));
        self.totals.delivered += payload;
        if packet.asked {
            self.landed(n, payload);
        }
        let head = if packet.part { self.assemble(&packet, payload)? } else { packet.head };
        let head = self.heads.take(head);
        if head.kind == Kind::Notice {
            // A notice travels against the flow that it is about.
            self.notified(TrafficFlow { from: packet.target, to: packet.source }, head.remote);
            return None;
        }
        Some((head, done))
    }

    /// How long a packet takes at least of what both directions share: all of it, or half while the other one is busy, too.
    #[inline]
    fn both(&self, other: bool, wire: u32) -> u64 {
        self.fabric.both.time(wire) << u32::from(other)
    }

    /// Counts a packet of a long message; the header once all have come, in whatever order.
    fn assemble(&mut self, packet: &Packet, payload: u64) -> Option<u32> {
        let key = partial_key(packet);
        let p = self.nics.partial_of.get(key).unwrap_or_else(|| {
            let p = self.nics.partials.insert(Partial { received: 0, head: NONE });
            self.nics.partial_of.set(key, p);
            p
        });
        let partial = &mut self.nics.partials[p];
        partial.received += payload;
        if packet.head != NONE {
            partial.head = packet.head;
        }
        let head = partial.head;
        if head == NONE || partial.received < self.heads[head].carried() {
            return None;
        }
        self.nics.partial_of.remove(key);
        self.nics.partials.free(p);
        Some(head)
    }
}
