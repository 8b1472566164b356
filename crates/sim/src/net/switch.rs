//! Switches: input buffers with credits per virtual channel, fair round robin at each output, cut-through.
//!
//! One event per packet and hop: its head ready at the next place. All else is state that is looked at when it matters: an
//! output is busy until a time; credits on their way back wait in a small queue and are taken in when somebody wants to send;
//! a wake event exists only while somebody waits. Uncontended traffic therefore costs one event per hop. A packet that finds
//! an output busy and nobody waiting goes into the output's stage, with room for one: it is certain to be the next to leave,
//! so that it needs no wake event either. (With congestion control it waits in its queue, where the control sees it.)
//!
//! With FIFO input queues (`queueing = "fifo"`) only the first packet of an input and channel stands in a queue of an output,
//! and the input sends one packet at a time. With `queueing = "columns"` an input and channel has such a queue for each column
//! of outputs; the way decides the queue, so it is chosen when the packet comes. The state of outputs is in `output`.
//!
//! Not modelled: a crossbar's own limits. With virtual output queues an input may feed several outputs at once.

use super::faults::Survivors;
use super::{APART_CLASS, Net};
use crate::base::{Event, NONE, Port, Switch};
use crate::control::{Seen, Spot, TrafficFlow};
use crate::link::{ENDPOINT, Load, NO_LANE, Packet};
use crate::routing::{At, Trip};
use crate::topology::{Hop, Target, Topology};
use spec::Rng;

impl Net<'_> {
    /// A packet's head is ready at a switch.
    #[inline]
    pub(crate) fn arrive(&mut self, id: u32) {
        match self.outs.lanes {
            0 => self.request(id),
            1 => {
                if self.has_turn(id, 0) {
                    self.request(id);
                }
            }
            lanes => {
                if self.choose_way(id) && self.has_turn(id, u32::from(self.packets[id].out_port) % lanes) {
                    self.ask(id);
                }
            }
        }
    }

    /// Whether a packet is the first of its queue. If not, it waits there.
    fn has_turn(&mut self, id: u32, lane: u32) -> bool {
        self.packets[id].lane = lane as u8;
        let input = self.input_of(&self.packets[id]) as usize;
        let fifo = &mut self.outs.fifos[input];
        let free = std::mem::replace(&mut fifo.free, u64::MAX);
        if free <= self.clock.now {
            return true;
        }
        match std::mem::replace(&mut fifo.tail, id) {
            NONE => fifo.head = id,
            tail => self.packets[tail].next = id,
        }
        if free != u64::MAX {
            self.next_of_input(input as u32, free - 1);
        }
        false
    }

    /// The number of the input queue that a packet is in.
    pub(super) fn input_of(&self, packet: &Packet) -> u32 {
        let first = self.fabric.switches[packet.at as usize].first_link - self.outs.first;
        let channel = (first + u32::from(packet.in_port)) * self.outs.vcs as u32 + u32::from(packet.vc);
        channel * self.outs.lanes + u32::from(packet.lane)
    }

    /// A queue of an input has sent its packet: the next one asks for its output.
    pub(crate) fn input_ready(&mut self, input: u32) {
        let fifo = &mut self.outs.fifos[input as usize];
        let id = fifo.head;
        fifo.head = self.packets[id].next;
        if fifo.head == NONE {
            fifo.tail = NONE;
        }
        self.packets[id].next = NONE;
        if self.outs.lanes > 1 {
            // Its way may have been cut since it was chosen.
            if self.health.is_none() {
                return self.ask(id);
            }
            let out = self.output_of(&self.packets[id]);
            self.unroute(id, out);
        }
        self.request(id);
    }

    /// Finds a packet's output; sends it at once if nobody waits there, else queues it.
    #[inline]
    pub(super) fn request(&mut self, id: u32) {
        if self.choose_way(id) {
            self.ask(id);
        }
    }

    /// Finds a packet's output. Whether it has one: where a fault has cut all ways it is lost.
    #[inline]
    fn choose_way(&mut self, id: u32) -> bool {
        if self.health.is_some() && !self.way_out(id) {
            return false;
        }
        let (port, vc) = self.route(id);
        let packet = &mut self.packets[id];
        packet.out_port = port;
        packet.out_vc = vc;
        true
    }

    /// Forgets a packet's way by an output, as if it had not been routed yet.
    fn unroute(&mut self, id: u32, o: u32) {
        // `route` has counted a hop only if the way leads to another switch.
        self.packets[id].hops -= u8::from(self.outs.list[o as usize].to & ENDPOINT == 0);
    }

    fn output_of(&self, packet: &Packet) -> u32 {
        self.fabric.switches[packet.at as usize].first_link - self.outs.first + u32::from(packet.out_port)
    }

    /// Sends a packet at once if nobody waits for its output, else queues it there.
    #[inline]
    fn ask(&mut self, id: u32) {
        let o = self.output_of(&self.packets[id]);
        let packet = &mut self.packets[id];
        let (port, ports) = (packet.out_port, self.fabric.switches[packet.at as usize].ports);
        if let Some(start) = self.outs.may_leave(o, self.clock.now, packet)
            && (start == self.clock.now || self.guard.control.is_none())
        {
            self.transmit(o, id, start);
            return;
        }
        // Only in a network that drops: with credits there is no limit.
        if self.outs.queued(o) + u64::from(packet.wire) > self.outs.limit {
            return self.lose(id);
        }
        packet.next = NONE;
        let before = self.outs.enqueue(o, id, packet, ports, self.clock.now);
        // Told before the packet is linked into its queue: the control sees the length with it, and may mark it.
        if self.guard.control.is_some() {
            self.note_queued(o, id, port);
        }
        if before != NONE {
            self.packets[before].next = id;
        }
        self.arbitrate(o);
    }

    /// Tells the congestion control of a packet that has to wait.
    fn note_queued(&mut self, o: u32, id: u32, port: Port) {
        let packet = self.packets[id];
        if packet.class != APART_CLASS {
            let (spot, seen) = (self.spot(o, packet.at, port), seen(&packet));
            let (mut marked, mut rng) = (packet.marked, self.draw(&packet, Draw::Queued));
            self.controlled(|c, now, asks| marked |= c.queued(now, spot, seen, &mut rng, asks));
            self.packets[id].marked = marked;
        }
    }

    /// The port and the channel (of all classes) by which a packet leaves its switch.
    #[inline]
    fn route(&mut self, id: u32) -> (Port, u8) {
        let packet = &mut self.packets[id];
        let base = packet.class * self.fabric.class_vcs;
        if packet.middle == packet.at {
            packet.middle = NONE;
        }
        // A detour may pass the target's own switch on its way to the middle.
        if packet.goal == packet.at && packet.middle == NONE {
            // Any channel will do: a NIC always takes packets in, so nothing waits in a circle here.
            return (self.fabric.endpoints[packet.target as usize].port, base);
        }
        if self.fabric.fixed && self.health.is_none() {
            let to = Target { switch: packet.goal, endpoint: packet.target };
            let port = self.fabric.topology.fixed(packet.at, to, &mut self.ways);
            let hop = Hop { vc: packet.vc - base, hops: packet.hops, came_by: packet.in_port };
            packet.hops += 1;
            return (port, base + self.fabric.topology.vc(hop, packet.at, port));
        }
        let mut trip = Trip {
            source: packet.source,
            message: packet.message,
            to: Target { switch: packet.goal, endpoint: packet.target },
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
        let mut rng = draw(self.seed, self.clock.now, packet, Draw::Way);
        let mut at = At {
            switch: packet.at,
            topology: survivors.as_ref().map_or(self.fabric.topology.as_ref(), |s| s as &dyn Topology),
            load: Load {
                first: self.fabric.switches[packet.at as usize].first_link - self.outs.first,
                outs: &mut self.outs,
                class: packet.class,
                class_vcs: self.fabric.class_vcs,
                now: self.clock.now,
            },
            ways: &mut self.ways,
            rng: &mut rng,
        };
        let step = self.fabric.routing.step(&mut at, &mut trip);
        debug_assert!(step.vc < self.fabric.class_vcs, "the routing asks for a channel that does not exist");
        if !steered {
            packet.middle = trip.middle.unwrap_or(NONE);
        }
        packet.hops += 1;
        (step.port, base + step.vc)
    }

    fn spot(&self, o: u32, switch: Switch, port: Port) -> Spot {
        let out = &self.outs.list[o as usize];
        let link = &self.fabric.links[(self.outs.first + o) as usize];
        let edge = (out.to & ENDPOINT != 0).then_some(out.to & !ENDPOINT);
        Spot { switch, port, edge, queued: self.outs.queued(o), starved: out.stalled, rate: link.rate }
    }

    /// A wake event. Whether anything was sent: one that is out of date, or too early, is passed over.
    #[inline]
    pub(crate) fn wake(&mut self, o: u32) -> bool {
        let out = &mut self.outs.list[o as usize];
        if out.wake != self.clock.now {
            return false;
        }
        out.wake = u64::MAX;
        match self.outs.nic(o) {
            None => self.arbitrate(o),
            Some(nic) => self.inject(nic),
        }
    }

    /// Asks for a wake event, unless there is one as early.
    #[inline]
    pub(super) fn wake_at(&mut self, o: u32, time: u64) {
        let out = &mut self.outs.list[o as usize];
        if time < out.wake {
            // A later event that is pending stays in the queue; `wake` passes over it.
            out.wake = time;
            self.clock.push(time, self.outs.first + o, Event::Wake(o));
        }
    }

    /// Credits come back to an output at `time`.
    #[inline]
    pub(super) fn credit(&mut self, o: u32, vc: u8, bytes: u32, time: u64) {
        self.outs.give_back(o, vc, bytes, time, self.clock.now);
        let out = &self.outs.list[o as usize];
        if out.waiting != 0 && out.wake > time {
            let when = time.max(out.busy).max(self.clock.now);
            self.wake_at(o, when);
        }
    }

    /// Chooses the next packet of a switch's output: channels in turn, then inputs in turn. Whether one could be sent.
    fn arbitrate(&mut self, o: u32) -> bool {
        let out = &self.outs.list[o as usize];
        let (waiting, busy, last) = (out.waiting, out.busy, u32::from(out.last_vc));
        if waiting == 0 {
            return false;
        }
        if busy > self.clock.now {
            self.wake_at(o, busy);
            return false;
        }
        self.outs.take_returns(o, self.clock.now);
        // Channels above the last one first, then from the lowest on.
        // In 32 bits, because behind the last of 16 channels the shift is by 16.
        let above = u32::from(waiting) & (u32::MAX << (last + 1));
        for mut mask in [above, u32::from(waiting) & !above] {
            while mask != 0 {
                let vc = mask.trailing_zeros();
                mask &= mask - 1;
                let id = self.outs.first(o, vc as usize);
                let packet = &mut self.packets[id];
                // Without credits another channel has its turn; a shorter packet of the same channel does not overtake.
                if self.outs.credits(o, vc as u8) < packet.wire {
                    continue;
                }
                self.outs.dequeue(o, vc as usize, packet.wire, packet.next, self.clock.now);
                packet.next = NONE;
                self.outs.list[o as usize].last_vc = vc as u8;
                self.send_waiting(o, id);
                return true;
            }
        }
        self.stall(o);
        false
    }

    /// A packet that has waited leaves; if more do, the output wakes when it has.
    fn send_waiting(&mut self, o: u32, id: u32) {
        self.outs.end_stall(o, self.clock.now);
        if self.guard.control.is_some() {
            self.note_forwarded(o, id);
        }
        self.transmit(o, id, self.clock.now);
        let out = &self.outs.list[o as usize];
        if out.waiting != 0 {
            let busy = out.busy;
            self.wake_at(o, busy);
        }
    }

    fn note_forwarded(&mut self, o: u32, id: u32) {
        let packet = self.packets[id];
        if packet.class != APART_CLASS {
            let port = self.fabric.links[(self.outs.first + o) as usize].from_port;
            let (spot, seen) = (self.spot(o, packet.at, port), seen(&packet));
            let (mut marked, mut rng) = (packet.marked, self.draw(&packet, Draw::Forwarded));
            self.controlled(|c, now, asks| marked |= c.forwarded(now, spot, seen, &mut rng, asks));
            self.packets[id].marked = marked;
        }
    }

    /// An output that could send but for credits waits for the next that are on their way, or for the first to set out.
    pub(super) fn stall(&mut self, o: u32) {
        self.outs.begin_stall(o, self.clock.now);
        if let Some(time) = self.outs.next_return(o) {
            self.wake_at(o, time);
        }
    }

    /// Puts a packet on the cable of an output from a time on: its tail leaves when it has come in and been serialised. When that is.
    #[inline]
    pub(super) fn transmit(&mut self, o: u32, id: u32, start: u64) -> u64 {
        let packet = &mut self.packets[id];
        let (tail, latency) = self.outs.occupy(o, start, packet);
        let out = &self.outs.list[o as usize];
        let (to, home) = (out.to, out.lp_to);
        let Packet { via, vc, wire, .. } = *packet;
        // Copied before `at`, `in_port` and `vc`, which name the input, are those of the next place.
        let freed = (packet.lane != NO_LANE).then_some(*packet);
        packet.lane = NO_LANE;
        packet.via = self.outs.first + o;
        packet.vc = packet.out_vc;
        packet.at = to;
        packet.in_port = out.to_port;
        packet.span = (tail - start) as u32;
        packet.ready = start + latency;
        // A switch acts on the head, an endpoint on the tail.
        let time = packet.ready + if to & ENDPOINT == 0 { 0 } else { u64::from(packet.span) };
        self.totals.hops += 1;
        if home == self.id {
            self.clock.push(time, self.outs.first + o, Event::Arrive(id));
        } else {
            self.post_packet(home, time, id);
        }
        // A packet that leaves its own NIC holds no buffer.
        if via != NONE {
            self.release(via, vc, wire, tail);
        }
        if let Some(packet) = freed {
            self.free_input(&packet, tail);
        }
        tail
    }

    /// Hands a packet to another part.
    fn post_packet(&mut self, home: u16, time: u64, id: u32) {
        // Places and headers are numbered by part, so both travel as values.
        let packet = self.packets[id];
        self.packets.free(id);
        let head = (packet.head != NONE).then(|| self.heads.take(packet.head));
        let mail = self.mail.to(home);
        mail.heads.extend(head);
        mail.packets.push((time, packet));
    }

    /// The tail of an input's packet leaves at a time, and the next one may be sent.
    fn free_input(&mut self, packet: &Packet, time: u64) {
        let input = self.input_of(packet);
        let fifo = &mut self.outs.fifos[input as usize];
        match fifo.head {
            // Mostly there is none: then no event is needed. One that comes at this very time is behind, as its head is there before.
            NONE => fifo.free = time + 1,
            _ => self.next_of_input(input, time),
        }
    }

    /// Asks for the event at which the next packet of an input's queue takes its turn.
    fn next_of_input(&mut self, input: u32, time: u64) {
        let place = self.outs.first * self.outs.vcs as u32 * self.outs.lanes + input;
        self.clock.push(time, place, Event::InputReady(input));
    }

    /// Gives up a packet at a switch: its buffer is free, and the next of its input may go.
    pub(super) fn give_up(&mut self, id: u32) -> Packet {
        let packet = self.packets[id];
        self.release(packet.via, packet.vc, packet.wire, self.clock.now);
        if packet.lane != NO_LANE {
            self.free_input(&packet, self.clock.now);
        }
        self.packets.free(id);
        packet
    }

    /// Takes all packets out of an output's queues, as if they had not been routed yet.
    pub(super) fn evict(&mut self, o: u32) -> Vec<u32> {
        let mut evicted = Vec::new();
        self.outs.end_stall(o, self.clock.now);
        for vc in 0..self.outs.vcs {
            while self.outs.list[o as usize].waiting & (1 << vc) != 0 {
                let id = self.outs.first(o, vc);
                let packet = &mut self.packets[id];
                let next = std::mem::replace(&mut packet.next, NONE);
                let wire = packet.wire;
                self.outs.dequeue(o, vc, wire, next, self.clock.now);
                // It no longer waits here, and the control must not count it for ever.
                if self.guard.control.is_some() {
                    self.note_forwarded(o, id);
                }
                self.unroute(id, o);
                evicted.push(id);
            }
        }
        evicted
    }

    /// Frees the buffer behind a link that a packet has occupied until its tail leaves.
    #[inline]
    pub(super) fn release(&mut self, via: u32, vc: u8, wire: u32, tail: u64) {
        // The links of a part lie together: one of an earlier part wraps to a number beyond the list.
        let o = via.wrapping_sub(self.outs.first);
        if (o as usize) < self.outs.list.len() {
            let time = tail + self.outs.kind(o).credit_latency;
            self.credit(o, vc, wire, time);
        } else {
            let link = &self.fabric.links[via as usize];
            let (home, time) = (link.lp_from, tail + link.credit_latency);
            self.mail.to(home).credits.push((via, vc, wire, time));
        }
    }
}

/// What random numbers are drawn for.
#[derive(Clone, Copy)]
pub(super) enum Draw {
    Way,
    Detour,
    Queued,
    Forwarded,
}

/// Random numbers for a packet where it is now. They follow from the packet, the place and the time and from nothing that happened
/// before, so that they are the same however the network is divided into parts.
#[inline]
pub(super) fn draw(seed: u64, now: u64, packet: &Packet, what: Draw) -> Rng {
    let packet_name = u64::from(packet.source) << 32 | u64::from(packet.message);
    let here = now ^ u64::from(packet.via) << 36 ^ (what as u64) << 30;
    // Two odd multipliers, because the generator itself only adds before it mixes.
    let a = packet_name.wrapping_mul(0xd6e8_feb8_6659_fd93);
    let b = here.wrapping_mul(0xa076_1d64_78bd_642f);
    Rng::at(seed ^ a ^ b.rotate_left(32))
}

impl Net<'_> {
    fn draw(&self, packet: &Packet, what: Draw) -> Rng {
        draw(self.seed, self.clock.now, packet, what)
    }
}

/// A packet as congestion control sees it.
pub(super) fn seen(packet: &Packet) -> Seen {
    Seen { flow: TrafficFlow { from: packet.source, to: packet.target }, bytes: packet.wire, marked: packet.marked }
}
