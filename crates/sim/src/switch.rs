//! Switches: input buffers with credits per virtual channel, fair round robin at each output, cut-through.
//!
//! One event per packet and hop: its head ready at the next place. All else is state that is looked at when it matters: an
//! output is busy until a time; credits on their way back wait in a small queue and are taken in when somebody wants to send;
//! a wake event exists only while somebody waits. Uncontended traffic therefore costs one event per hop.
//!
//! Waiting packets stand in one queue per input, output and virtual channel; the queues of one output and channel form a
//! ring that is served in turn. With FIFO input queues (`queueing = "fifo"`) only the first packet of an input and channel
//! stands there, and the input sends one packet at a time.
//!
//! Not modelled: a crossbar's own limits. With virtual output queues an input may feed several outputs at once.

use crate::config::{Full, Queueing};
use crate::control::{Flow, Seen, Spot};
use crate::event::Event;
use crate::fabric::{CONTROL_CLASS, ENDPOINT, Fabric, Pace, Part};
use crate::faults::Survivors;
use crate::lp::Lp;
use crate::packet::Packet;
use crate::routing::{At, Trip};
use crate::slab::NONE;
use crate::topology::{Hop, Port, Switch, Target, Topology};
use std::collections::VecDeque;

/// The state of one output: of a switch, or of a NIC.
pub(crate) struct Out {
    /// The link is taken until then.
    pub(crate) busy: u64,
    /// When the pending wake event is, `u64::MAX` if there is none.
    pub(crate) wake: u64,
    pub(crate) latency: u64,
    credit_latency: u64,
    pub(crate) pace: Pace,
    pub(crate) to: u32,
    /// The NIC this is the output of, [`NONE`] for a switch.
    pub(crate) nic: u32,
    /// Where this output's input queues begin, [`NONE`] while nobody has waited yet.
    block: u32,
    /// Bytes that wait here, in all channels.
    queued: u32,
    /// The part at the other end.
    lp_to: u16,
    pub(crate) to_port: Port,
    /// Which virtual channels have waiting packets.
    pub(crate) waiting: u16,
    /// The virtual channel served last.
    pub(crate) last_vc: u8,
    /// Credits on their way back: time, bytes, channel; in order of time.
    pub(crate) returns: VecDeque<(u64, u32, u8)>,
    /// Since when it could send but for credits, `u64::MAX` if it is not so.
    stalled_since: u64,
    pub(crate) counters: Counters,
}

/// What a port has done since the start.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Bytes sent, headers included.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Picoseconds in which packets waited for credits while the cable was free.
    pub stalled_ps: u64,
    /// The most bytes that have waited for this output.
    pub peak_queue: u64,
}

/// One output's virtual channel.
#[derive(Clone, Copy)]
pub(crate) struct Channel {
    /// Free bytes in the buffer at the other side.
    pub(crate) credits: u32,
    /// Bytes that wait here.
    queued: u32,
    /// The last of the ring of input queues that wait.
    ring: u32,
}

#[derive(Clone, Copy)]
struct InputQueue {
    head: u32,
    tail: u32,
    /// The next queue of the ring.
    next: u32,
}

/// An input's one queue, with FIFO queueing.
#[derive(Clone, Copy)]
struct Fifo {
    head: u32,
    tail: u32,
    /// A packet of this input is being sent or waits for its output.
    active: bool,
}

/// All outputs of a part.
pub(crate) struct Outs {
    pub(crate) first: u32,
    pub(crate) vcs: usize,
    pub(crate) list: Vec<Out>,
    pub(crate) channels: Vec<Channel>,
    queues: Vec<InputQueue>,
    /// By input port (numbered as the output of the same port) and channel; empty with virtual output queues.
    fifos: Vec<Fifo>,
    buffer: u32,
}

impl Outs {
    pub(crate) fn new(fabric: &Fabric, part: &Part) -> Outs {
        let first = part.first_link as usize;
        let links = &fabric.links[first..first + part.links as usize];
        let out = |link: &crate::fabric::Link| Out {
            busy: 0,
            wake: u64::MAX,
            latency: link.latency,
            credit_latency: link.credit_latency,
            pace: link.pace,
            to: link.to,
            queued: 0,
            lp_to: link.lp_to,
            nic: if link.from & ENDPOINT == 0 {
                NONE
            } else {
                fabric.endpoints[(link.from & !ENDPOINT) as usize].local
            },
            block: NONE,
            to_port: link.to_port,
            waiting: 0,
            last_vc: 0,
            returns: VecDeque::new(),
            stalled_since: u64::MAX,
            counters: Counters::default(),
        };
        let buffer = fabric.config.switch.credits();
        let vcs = fabric.vcs;
        let fifos = if fabric.config.switch.queueing == Queueing::Fifo { links.len() * vcs } else { 0 };
        Outs {
            first: part.first_link,
            vcs,
            list: links.iter().map(out).collect(),
            channels: vec![Channel { credits: buffer, queued: 0, ring: NONE }; links.len() * vcs],
            queues: Vec::new(),
            fifos: vec![Fifo { head: NONE, tail: NONE, active: false }; fifos],
            buffer,
        }
    }

    /// Takes in the credits that have come back by now.
    #[inline]
    pub(crate) fn take_returns(&mut self, o: u32, now: u64) {
        let out = &mut self.list[o as usize];
        while let Some(&(time, bytes, vc)) = out.returns.front() {
            if time > now {
                break;
            }
            out.returns.pop_front();
            let credits = &mut self.channels[o as usize * self.vcs + usize::from(vc)].credits;
            *credits += bytes;
            debug_assert!(*credits <= self.buffer, "more credits than buffer");
        }
    }

    /// Puts a packet's queue into the ring of its output and channel.
    fn enqueue(&mut self, o: u32, id: u32, packet: &Packet, ports: Port) -> (u32, u32) {
        let out = &mut self.list[o as usize];
        if out.block == NONE {
            out.block = self.queues.len() as u32;
            let size = usize::from(ports) * self.vcs;
            self.queues.resize(self.queues.len() + size, InputQueue { head: NONE, tail: NONE, next: NONE });
        }
        let vc = usize::from(packet.out_vc);
        let q = out.block + (vc * usize::from(ports)) as u32 + u32::from(packet.in_port);
        let channel = &mut self.channels[o as usize * self.vcs + vc];
        channel.queued += packet.wire;
        out.queued += packet.wire;
        out.counters.peak_queue = out.counters.peak_queue.max(u64::from(out.queued));
        out.waiting |= 1 << vc;
        let queue = &mut self.queues[q as usize];
        let before = queue.tail;
        queue.tail = id;
        if queue.head == NONE {
            queue.head = id;
            if channel.ring == NONE {
                queue.next = q;
            } else {
                let first = self.queues[channel.ring as usize].next;
                self.queues[q as usize].next = first;
                self.queues[channel.ring as usize].next = q;
            }
            channel.ring = q;
            return (q, NONE);
        }
        (q, before)
    }

    /// The first packet that waits for a channel of an output.
    fn first(&self, o: u32, vc: usize) -> u32 {
        let ring = self.channels[o as usize * self.vcs + vc].ring;
        self.queues[self.queues[ring as usize].next as usize].head
    }

    /// Takes that packet out and turns the ring. `next` is the packet behind it in its queue.
    fn dequeue(&mut self, o: u32, vc: usize, wire: u32, next: u32) {
        let channel = &mut self.channels[o as usize * self.vcs + vc];
        channel.queued -= wire;
        self.list[o as usize].queued -= wire;
        let last = channel.ring;
        let q = self.queues[last as usize].next;
        let queue = &mut self.queues[q as usize];
        queue.head = next;
        if next != NONE {
            channel.ring = q;
            return;
        }
        queue.tail = NONE;
        let after = queue.next;
        if q == last {
            channel.ring = NONE;
            self.list[o as usize].waiting &= !(1 << vc);
        } else {
            self.queues[last as usize].next = after;
        }
    }

    fn queued(&self, o: u32) -> u64 {
        u64::from(self.list[o as usize].queued)
    }
}

/// What a routing decision may look at: the outputs of one switch.
#[derive(Clone, Copy)]
pub struct Load<'a> {
    outs: &'a Outs,
    first: u32,
    class: u8,
    class_vcs: u8,
    now: u64,
}

impl Load<'_> {
    /// Bytes that wait at this switch for a port, in all channels.
    pub fn queued(&self, port: Port) -> u64 {
        self.outs.queued(self.first + u32::from(port))
    }
    /// Bytes in the buffer at the far side of a port, in the packet's class: what has been sent and not come back as credit.
    pub fn beyond(&self, port: Port) -> u64 {
        (0..self.class_vcs).map(|vc| u64::from(self.outs.buffer - self.credits(port, vc))).sum()
    }
    /// Free bytes in the buffer at the far side of a port, for a channel of the packet's class.
    pub fn credits(&self, port: Port, vc: u8) -> u32 {
        let o = (self.first + u32::from(port)) as usize;
        let vc = self.class * self.class_vcs + vc;
        let back = self.outs.list[o].returns.iter().filter(|r| r.0 <= self.now && r.2 == vc).map(|r| r.1).sum::<u32>();
        self.outs.channels[o * self.outs.vcs + usize::from(vc)].credits + back
    }
    /// Picoseconds until the cable of a port is free.
    pub fn busy(&self, port: Port) -> u64 {
        self.outs.list[(self.first + u32::from(port)) as usize].busy.saturating_sub(self.now)
    }
}

impl Lp<'_> {
    /// A packet is at a switch or at an endpoint.
    pub(crate) fn arrive(&mut self, id: u32) {
        let packet = self.packets[id];
        if packet.at & ENDPOINT != 0 {
            return self.eject(id, packet);
        }
        if !self.outs.fifos.is_empty() {
            let first = self.fabric.switches[packet.at as usize].first_link - self.outs.first;
            let input = (first + u32::from(packet.in_port)) as usize * self.outs.vcs + usize::from(packet.vc);
            let fifo = &mut self.outs.fifos[input];
            if fifo.active {
                let tail = std::mem::replace(&mut fifo.tail, id);
                match tail {
                    NONE => fifo.head = id,
                    _ => self.packets[tail].next = id,
                }
                return;
            }
            fifo.active = true;
        }
        self.request(id, packet);
    }

    /// The input of a FIFO switch has sent its packet: the next one asks for its output.
    pub(crate) fn input_ready(&mut self, input: u32) {
        let fifo = &mut self.outs.fifos[input as usize];
        let id = fifo.head;
        if id == NONE {
            fifo.active = false;
            return;
        }
        fifo.head = self.packets[id].next;
        if fifo.head == NONE {
            fifo.tail = NONE;
        }
        self.packets[id].next = NONE;
        let packet = self.packets[id];
        self.request(id, packet);
    }

    /// Finds a packet's output; sends it at once if nobody waits there, else queues it.
    pub(crate) fn request(&mut self, id: u32, mut packet: Packet) {
        if self.health.is_some() && !self.way_out(id, &mut packet) {
            return;
        }
        let (port, vc) = self.route(&mut packet);
        let switch = &self.fabric.switches[packet.at as usize];
        let (o, ports) = (switch.first_link - self.outs.first + u32::from(port), switch.ports);
        packet.out_vc = vc;
        let out = &self.outs.list[o as usize];
        if out.waiting == 0 && out.busy <= self.now {
            self.outs.take_returns(o, self.now);
            if self.outs.channels[o as usize * self.outs.vcs + usize::from(vc)].credits >= packet.wire {
                return self.transmit(o, id, packet);
            }
        }
        let room = u64::from(self.fabric.config.switch.buffer);
        if self.fabric.config.switch.full == Full::Drop && self.outs.queued(o) + u64::from(packet.wire) > room {
            return self.lose(id, packet);
        }
        let (_, before) = self.outs.enqueue(o, id, &packet, ports);
        if before != NONE {
            self.packets[before].next = id;
        }
        packet.next = NONE;
        if self.control.is_some() && packet.class != CONTROL_CLASS {
            let (spot, seen) = (self.spot(o, packet.at, port, self.outs.queued(o)), seen(&packet));
            let mut marked = packet.marked;
            self.controlled(|c, now, rng, asks| marked |= c.queued(now, spot, seen, rng, asks));
            packet.marked = marked;
        }
        self.packets[id] = packet;
        self.arbitrate(o);
    }

    /// The port and the channel (of all classes) by which a packet leaves its switch.
    #[inline]
    fn route(&mut self, packet: &mut Packet) -> (Port, u8) {
        let end = &self.fabric.endpoints[packet.target as usize];
        let base = packet.class * self.fabric.class_vcs;
        if packet.middle == packet.at {
            packet.middle = NONE;
        }
        if end.switch == packet.at && packet.middle == NONE {
            return (end.port, base);
        }
        let mut trip = Trip {
            source: packet.source,
            message: packet.message,
            to: Target { switch: end.switch, endpoint: packet.target },
            middle: (packet.middle != NONE).then_some(packet.middle),
            hop: Hop { vc: packet.vc - base, hops: packet.hops, came_by: packet.in_port },
            bytes: packet.wire,
        };
        let hurt = self.health.as_ref().filter(|h| h.hurt());
        let survivors = hurt.map(|health| Survivors { fabric: self.fabric, health });
        // A routing without detours of its own takes the middle of one round a fault for the destination.
        let steered = survivors.is_some() && packet.middle != NONE && !self.fabric.routing.detours();
        if steered {
            trip.to.switch = packet.middle;
            trip.middle = None;
        }
        self.ways.clear();
        let mut at = At {
            switch: packet.at,
            topology: survivors.as_ref().map_or(self.fabric.topology.as_ref(), |s| s as &dyn Topology),
            load: Load {
                outs: &self.outs,
                first: self.fabric.switches[packet.at as usize].first_link - self.outs.first,
                class: packet.class,
                class_vcs: self.fabric.class_vcs,
                now: self.now,
            },
            ways: &mut self.ways,
            rng: &mut self.rng,
        };
        let step = self.fabric.routing.step(&mut at, &mut trip);
        debug_assert!(step.vc < self.fabric.class_vcs, "the routing asks for a channel that does not exist");
        if !steered {
            packet.middle = trip.middle.unwrap_or(NONE);
        }
        packet.hops += 1;
        (step.port, base + step.vc)
    }

    fn spot(&self, o: u32, switch: Switch, port: Port, queued: u64) -> Spot {
        let out = &self.outs.list[o as usize];
        let link = &self.fabric.links[(self.outs.first + o) as usize];
        let edge = (out.to & ENDPOINT != 0).then_some(out.to & !ENDPOINT);
        Spot { switch, port, edge, queued, starved: out.stalled_since != u64::MAX, rate: link.rate }
    }

    /// A wake event. One that is out of date is passed over.
    pub(crate) fn wake(&mut self, o: u32) {
        let out = &mut self.outs.list[o as usize];
        if out.wake != self.now {
            return;
        }
        out.wake = u64::MAX;
        self.pump(o);
    }

    /// Lets an output send if it can.
    fn pump(&mut self, o: u32) {
        match self.outs.list[o as usize].nic {
            NONE => self.arbitrate(o),
            nic => self.inject(nic),
        }
    }

    /// Asks for a wake event, unless there is one as early.
    #[inline]
    pub(crate) fn wake_at(&mut self, o: u32, time: u64) {
        let out = &mut self.outs.list[o as usize];
        if time < out.wake {
            out.wake = time;
            self.queue.push(time, Event::Wake(o));
        }
    }

    /// Credits come back to an output at `time`.
    pub(crate) fn credit(&mut self, link: u32, vc: u8, bytes: u32, time: u64) {
        let o = link - self.outs.first;
        let out = &mut self.outs.list[o as usize];
        // Packets leave an input by outputs of different speed, so returns may overtake each other a little.
        if out.returns.back().is_none_or(|r| r.0 <= time) {
            out.returns.push_back((time, bytes, vc));
        } else {
            let at = out.returns.iter().rposition(|r| r.0 <= time).map_or(0, |i| i + 1);
            out.returns.insert(at, (time, bytes, vc));
        }
        if out.waiting != 0 && out.wake > time {
            let when = time.max(out.busy).max(self.now);
            self.wake_at(o, when);
        }
    }

    /// Chooses the next packet of a switch's output: channels in turn, then inputs in turn.
    fn arbitrate(&mut self, o: u32) {
        let out = &self.outs.list[o as usize];
        if out.waiting == 0 {
            return;
        }
        if out.busy > self.now {
            let busy = out.busy;
            return self.wake_at(o, busy);
        }
        self.outs.take_returns(o, self.now);
        let (waiting, vcs) = (self.outs.list[o as usize].waiting, self.outs.vcs);
        let last = usize::from(self.outs.list[o as usize].last_vc);
        for step in 1..=vcs {
            let vc = (last + step) % vcs;
            if waiting & (1 << vc) == 0 {
                continue;
            }
            let id = self.outs.first(o, vc);
            let mut packet = self.packets[id];
            if self.outs.channels[o as usize * vcs + vc].credits < packet.wire {
                continue;
            }
            self.outs.dequeue(o, vc, packet.wire, packet.next);
            packet.next = NONE;
            self.outs.list[o as usize].last_vc = vc as u8;
            self.end_stall(o);
            self.forwarded(o, &mut packet);
            self.transmit(o, id, packet);
            if self.outs.list[o as usize].waiting != 0 {
                let busy = self.outs.list[o as usize].busy;
                self.wake_at(o, busy);
            }
            return;
        }
        self.stall(o);
    }

    fn forwarded(&mut self, o: u32, packet: &mut Packet) {
        if self.control.is_some() && packet.class != CONTROL_CLASS {
            let port = self.fabric.links[(self.outs.first + o) as usize].from_port;
            let (spot, seen) = (self.spot(o, packet.at, port, self.outs.queued(o)), seen(packet));
            self.controlled(|c, now, rng, asks| packet.marked |= c.forwarded(now, spot, seen, rng, asks));
        }
    }

    /// An output that could send but for credits waits for the next that are on their way, or for the first to set out.
    pub(crate) fn stall(&mut self, o: u32) {
        let out = &mut self.outs.list[o as usize];
        out.stalled_since = out.stalled_since.min(self.now);
        if let Some(&(time, ..)) = out.returns.front() {
            self.wake_at(o, time);
        }
    }

    pub(crate) fn end_stall(&mut self, o: u32) {
        let out = &mut self.outs.list[o as usize];
        if out.stalled_since != u64::MAX {
            out.counters.stalled_ps += self.now - out.stalled_since;
            out.stalled_since = u64::MAX;
        }
    }

    /// Puts a packet on the cable of an output: its tail leaves when it has come in and been serialised.
    pub(crate) fn transmit(&mut self, o: u32, id: u32, mut packet: Packet) {
        let vcs = self.outs.vcs;
        let first = self.outs.first;
        let out = &mut self.outs.list[o as usize];
        let tail = (self.now + out.pace.time(packet.wire)).max(packet.ready + u64::from(packet.span));
        out.busy = tail;
        out.counters.bytes += u64::from(packet.wire);
        out.counters.packets += 1;
        self.outs.channels[o as usize * vcs + usize::from(packet.out_vc)].credits -= packet.wire;
        let (to, to_port, latency, home) = (out.to, out.to_port, out.latency, out.lp_to);
        if packet.via != NONE {
            self.release(&packet, tail);
            if !self.outs.fifos.is_empty() {
                self.free_input(&packet, tail);
            }
        }
        packet.via = first + o;
        packet.vc = packet.out_vc;
        packet.at = to;
        packet.in_port = to_port;
        packet.span = (tail - self.now) as u32;
        packet.ready = self.now + latency;
        // A switch acts on the head, an endpoint on the tail.
        let time = packet.ready + if to & ENDPOINT == 0 { 0 } else { u64::from(packet.span) };
        self.totals.hops += 1;
        if home == self.id {
            self.packets[id] = packet;
            self.queue.push(time, Event::Arrive(id));
        } else {
            self.packets.free(id);
            let head = (packet.head != NONE).then(|| self.heads.take(packet.head));
            let mail = self.mail_to(home);
            mail.heads.extend(head);
            mail.packets.push((time, packet));
        }
    }

    /// The input of a FIFO switch may send its next packet from a time on.
    fn free_input(&mut self, packet: &Packet, time: u64) {
        let base = self.fabric.switches[packet.at as usize].first_link - self.outs.first;
        let input = (base + u32::from(packet.in_port)) * self.outs.vcs as u32 + u32::from(packet.vc);
        self.queue.push(time, Event::InputReady(input));
    }

    /// Gives up a packet at a switch: its buffer is free, and the next of its input may go.
    pub(crate) fn give_up(&mut self, id: u32, packet: &Packet) {
        self.release(packet, self.now);
        if !self.outs.fifos.is_empty() {
            self.free_input(packet, self.now);
        }
        self.packets.free(id);
    }

    /// Takes all packets out of an output's queues, as if they had not been routed yet.
    pub(crate) fn evict(&mut self, o: u32) -> Vec<u32> {
        let mut evicted = Vec::new();
        let onward = self.outs.list[o as usize].to & ENDPOINT == 0;
        self.end_stall(o);
        for vc in 0..self.outs.vcs {
            while self.outs.list[o as usize].waiting & (1 << vc) != 0 {
                let id = self.outs.first(o, vc);
                let packet = &mut self.packets[id];
                let next = std::mem::replace(&mut packet.next, NONE);
                packet.hops -= u8::from(onward);
                let wire = packet.wire;
                self.outs.dequeue(o, vc, wire, next);
                evicted.push(id);
            }
        }
        evicted
    }

    /// Frees the buffer a packet has occupied from the time its tail leaves.
    pub(crate) fn release(&mut self, packet: &Packet, tail: u64) {
        let o = packet.via.wrapping_sub(self.outs.first) as usize;
        if let Some(out) = self.outs.list.get(o) {
            let time = tail + out.credit_latency;
            self.credit(packet.via, packet.vc, packet.wire, time);
        } else {
            let link = &self.fabric.links[packet.via as usize];
            let (home, time) = (link.lp_from, tail + link.credit_latency);
            self.mail_to(home).credits.push((packet.via, packet.vc, packet.wire, time));
        }
    }
}

/// A packet as congestion control sees it.
pub(crate) fn seen(packet: &Packet) -> Seen {
    Seen { flow: Flow { from: packet.source, to: packet.target }, bytes: packet.wire, marked: packet.marked }
}
