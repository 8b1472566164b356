//! What ranks ask for, and what messages mean to them.
//!
//! ```text
//! eager        Eager ------------------------>            send complete when the last packet has left the NIC
//! rendezvous   Ask -->        <-- Clear        Bulk -->   for messages longer than `protocol.eager`
//! fetched      Ask -->        <-- Fetch        Fetched --> the same where `protocol.long = "fetched"`
//! put          Put -->        <-- PutDone                 complete at the target, then at the origin
//! get          Get -->        <-- GetDone                 the data come with the answer
//! ```
//!
//! A rank's clock may run ahead of the event loop: it advances by the send overhead with each operation and by the price of
//! computation, and only a wait brings rank and loop together. Messages reach the NIC at the rank's clock. The NIC answers
//! requests by itself: clear-to-send, puts and gets cost the target rank nothing.
//!
//! A rank pays the receive overhead inside its wait or its test, as MPI libraries without a progress thread do: for one
//! receive after the other, from when it waits or the message is there, whichever is later. To post a receive costs nothing,
//! even if its message is there already. So a rank's own sends go out at the same time whether a message has come a moment
//! before or will come a moment after, and every time is a continuous function of the others: a moment decides nothing.
//!
//! Between ranks of one node a message takes the copy time of its sender, which copies one at a time, and a latency.

use super::matching::{Matching, key};
use super::meeting::{Agreed, Key as MeetingKey};
use super::order::Order;
use super::windows::{WindowName, Windows};
use crate::base::Event;
use crate::file::{Full, Long};
use crate::link::{Head, Kind, Pace};
use crate::net::{Doing, Fabric, Net, PartInfo};

/// What a rank waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blocked {
    /// It runs, or will.
    No,
    /// Operations.
    Group(u32),
    /// A split or a sum.
    Meeting(MeetingKey),
    /// It has returned.
    Done,
}

/// A rank as the loop sees it: one line of memory.
#[repr(align(64))]
pub(crate) struct Rank {
    pub(crate) clock: u64,
    /// Its copies to ranks of the same node are under way until then.
    copying: u64,
    pub(crate) blocked: Blocked,
    /// It makes a turn that it has lent, which ends where it would wait.
    pub(crate) lent: bool,
    /// Meetings that are over and not yet asked for; mostly none.
    pub(crate) outcomes: Option<Box<Outcomes>>,
    /// Where what its fiber looks at first lies, when it goes on: asked for ahead of time, and for nothing else.
    pub(crate) first: usize,
}

type Outcomes = Vec<(MeetingKey, u64, Agreed)>;

impl Rank {
    /// When a meeting's outcome is there, if it is over and not yet asked for.
    pub(crate) fn came(&self, key: MeetingKey) -> Option<u64> {
        self.outcomes.iter().flat_map(|all| all.iter()).find(|o| o.0 == key).map(|o| o.1)
    }

    /// Takes out such an outcome.
    pub(crate) fn take_outcome(&mut self, key: MeetingKey) -> Option<(u64, Agreed)> {
        let all = self.outcomes.as_mut()?;
        let i = all.iter().position(|o| o.0 == key)?;
        let (_, time, outcome) = all.swap_remove(i);
        Some((time, outcome))
    }
}

const _: () = assert!(size_of::<Rank>() == 64);

/// Ranks of a part and what is theirs.
pub(crate) struct Host {
    pub(crate) ranks: Vec<Rank>,
    pub(crate) windows: Windows,
    pub(super) matching: Matching,
    /// `None` if messages of a pair of ranks cannot overtake each other.
    pub(super) order: Option<Order>,
    copy: Pace,
}

/// Who sends, to whom, in which communicator.
#[derive(Clone, Copy)]
pub(crate) struct Route {
    pub(crate) me: u32,
    /// The sender's number in its part.
    pub(crate) local: u32,
    pub(crate) peer: u32,
    pub(crate) context: u64,
    pub(crate) group: u32,
}

/// A put or a get.
pub(crate) struct Access {
    pub(crate) doing: Doing,
    /// The number of the window, and where in it.
    pub(crate) window: u32,
    pub(crate) at: u64,
    pub(crate) len: u64,
    /// Whether the bytes themselves matter, and those to be put.
    pub(crate) wants: bool,
    pub(crate) payload: Option<Box<[u8]>>,
}

impl Host {
    pub(crate) fn new(fabric: &Fabric, part: &PartInfo) -> Host {
        let config = &fabric.config;
        let count = part.nodes.len() * config.ranks_per_node;
        let rank = || Rank { clock: 0, copying: 0, blocked: Blocked::No, lent: false, outcomes: None, first: 0 };
        // Messages of a pair may overtake each other by routing, round a fault, by a loss, in different classes, or by different ways.
        let overtaking = !fabric.routing.in_order()
            || !fabric.faults.is_empty()
            || config.protocol.small > 0
            || config.protocol.is_uneven()
            || config.switch.full == Full::Drop;
        Host {
            ranks: std::iter::repeat_with(rank).take(count).collect(),
            windows: Windows::new(),
            matching: Matching::new(),
            order: overtaking.then(Order::new),
            copy: Pace::new(config.host.local_rate),
        }
    }

    /// Whether every rank has returned.
    pub(crate) fn done(&self) -> bool {
        self.ranks.iter().all(|r| r.blocked == Blocked::Done)
    }

    /// A new group of operations of a rank.
    pub(crate) fn group(&self, net: &mut Net<'_>, rank: u32, world: u32) -> u32 {
        net.operations.group((rank, world), self.ranks[rank as usize].clock)
    }

    fn request(&self, net: &mut Net<'_>, doing: Doing, route: Route, tag: u16, len: u64) -> u32 {
        let posted = self.ranks[route.local as usize].clock;
        net.operations.request(doing, route.group, route.peer, posted, tag, len)
    }

    /// Ends a complete group: moves the rank's clock and hands each request's payload out in the order of the operations.
    pub(crate) fn finish(&mut self, net: &mut Net<'_>, g: u32, each: impl FnMut(Option<Box<[u8]>>)) {
        let (rank, clock) = net.operations.finish(g, each);
        let rank = &mut self.ranks[rank as usize];
        rank.clock = rank.clock.max(clock);
        rank.blocked = Blocked::No;
    }

    /// A rank starts to send.
    pub(crate) fn start_send(
        &mut self,
        net: &mut Net<'_>,
        route: Route,
        tag: u16,
        len: u64,
        payload: Option<Box<[u8]>>,
    ) {
        let near = net.fabric.node_of(route.me) == net.fabric.node_of(route.peer);
        // Inside a node there is no rendezvous: a copy of any length is made without asking.
        let eager = near || len <= net.fabric.config.protocol.eager as u64;
        let protocol = &net.fabric.config.protocol;
        let held = !near && protocol.copies(len);
        let held = if held { net.operations.hold(route.local, len, protocol.ahead) } else { None };
        let clock = self.begin_op(net, &route, if (eager || held.is_some()) && !near { len } else { 0 });
        let request = self.request(net, Doing::Send, route, tag, len);
        if held.is_some() {
            net.operations.complete(&mut net.clock, request, clock, 0);
        }
        let request = held.unwrap_or(request);
        let mut head = Head {
            kind: if eager { Kind::Eager } else { Kind::Ask },
            tag,
            from: route.me,
            to: route.peer,
            context: route.context,
            len,
            request,
            ..Head::default()
        };
        // A rank copies one message at a time, so those inside a node cannot overtake each other.
        if !near && let Some(order) = self.order.as_mut() {
            head.at = order.number(route.me, route.peer);
        }
        if eager {
            head.payload = payload;
        } else {
            // Kept at the source until the receiver's clear-to-send comes.
            net.operations.keep(request, payload);
        }
        self.launch(net, head, clock);
    }

    /// A rank is ready to receive.
    pub(crate) fn start_receive(&mut self, net: &mut Net<'_>, route: Route, tag: u16, len: u64) {
        let request = self.request(net, Doing::Receive, route, tag, len);
        let key = key(route.local, route.peer, route.context, tag);
        if let Some((head, time)) = self.matching.receive(&mut net.operations, key, request) {
            self.matched(net, request, head, time);
        }
    }

    /// A rank starts a put or a get.
    pub(crate) fn start_access(&mut self, net: &mut Net<'_>, route: Route, access: Access) {
        let clock = self.begin_op(net, &route, 0);
        let Access { doing, window, at, len, wants, payload } = access;
        let head = Head {
            kind: if doing == Doing::Put { Kind::Put } else { Kind::Get },
            from: route.me,
            to: route.peer,
            context: route.context,
            len,
            request: self.request(net, doing, route, 0, len),
            remote: window,
            at,
            wants,
            payload,
            ..Head::default()
        };
        self.launch(net, head, clock);
    }

    /// A rank begins an operation, for which it copies so many bytes. When it has.
    fn begin_op(&mut self, net: &mut Net<'_>, route: &Route, copied: u64) -> u64 {
        let rank = &mut self.ranks[route.local as usize];
        let host = &net.fabric.config.host;
        let overhead = host.send_overhead.ps() + host.copying(copied);
        rank.clock = net.operations.cores.work(route.me, rank.clock, overhead);
        rank.clock
    }

    /// Hands a message to the network, or to the memory of the node, at a time not before now.
    fn launch(&mut self, net: &mut Net<'_>, head: Head, time: u64) {
        let fabric = net.fabric;
        if fabric.node_of(head.from) == fabric.node_of(head.to) {
            return self.copy(net, head, time);
        }
        let (source, target) = (fabric.endpoint_of(head.from), fabric.endpoint_of(head.to));
        // What a rank sends comes in the order of its program. Answers have no such order, and need a name each.
        let asked = matches!(head.kind, Kind::Eager | Kind::Ask | Kind::Put | Kind::Get);
        let place = if asked { head.from } else { head.place() };
        let sent = matches!(head.kind, Kind::Eager | Kind::Ask);
        let time = time + if sent { fabric.config.protocol.more(head.len) } else { 0 };
        let message = net.message(head, source, target);
        let event = if asked { Event::Post(message) } else { Event::Answer(message) };
        net.clock.push(time.max(net.clock.now), place, event);
    }

    /// A message inside a node.
    fn copy(&mut self, net: &mut Net<'_>, head: Head, time: u64) {
        let (_, local) = net.fabric.home(head.from);
        let rank = &mut self.ranks[local as usize];
        let mut end = rank.copying.max(time);
        // Whole packets and a rest, because a pace is exact for lengths of 32 bits.
        let carried = head.carried();
        end += (carried >> 16) * self.copy.time(1 << 16) + self.copy.time(carried as u32 & 0xffff);
        rank.copying = end;
        // Puts and gets are complete when their answers come.
        if head.kind == Kind::Eager {
            net.operations.complete(&mut net.clock, head.request, end, 0);
        }
        net.copy(head, end + net.fabric.config.host.local_latency.ps());
    }

    /// A message is complete at its destination at `time`, which is now or a little later.
    pub(crate) fn deliver(&mut self, net: &mut Net<'_>, head: Head, time: u64) {
        log(net, &head, time);
        match head.kind {
            Kind::Eager | Kind::Ask => self.arrived(net, head, time),
            Kind::Clear | Kind::Fetch => {
                let payload = net.operations.unpack(head.remote);
                let (from, to) = (head.to, head.from);
                let kind = if head.kind == Kind::Clear { Kind::Bulk } else { Kind::Fetched };
                let back = Head { kind, from, to, request: head.remote, remote: head.request, payload, ..head };
                self.launch(net, back, time);
            }
            Kind::Bulk | Kind::Fetched => {
                if head.kind == Kind::Fetched {
                    net.answered(net.fabric.endpoint_of(head.to), 0);
                }
                net.operations.keep(head.remote, head.payload);
                complete_receive(net, head.remote, time, 0);
            }
            Kind::Put => self.put(net, head, time),
            Kind::Get => self.get(net, head, time),
            Kind::PutDone | Kind::GetDone => {
                // Inside a node no NIC has counted the put or get as under way.
                if net.fabric.node_of(head.from) != net.fabric.node_of(head.to) {
                    // What a get brings has been counted packet by packet.
                    let put = if head.kind == Kind::PutDone { head.len } else { 0 };
                    net.answered(net.fabric.endpoint_of(head.to), put);
                }
                net.operations.keep(head.request, head.payload);
                net.operations.complete(&mut net.clock, head.request, time, 0);
            }
            Kind::Notice => unreachable!("the NIC keeps notices to itself"),
        }
    }

    /// A message that asks for a receive: matched in the order of its pair of ranks.
    fn arrived(&mut self, net: &mut Net<'_>, head: Head, time: u64) {
        let (from, to) = (head.from, head.to);
        if self.order.is_none() || net.fabric.node_of(from) == net.fabric.node_of(to) {
            return self.seek_receive(net, head, time);
        }
        let mut next = self.order.as_mut().and_then(|order| order.arrived(head));
        // Those that came early are matched at the time of the one they waited for.
        while let Some(head) = next {
            self.seek_receive(net, head, time);
            next = self.order.as_mut().and_then(|order| order.next(from, to));
        }
    }

    fn seek_receive(&mut self, net: &mut Net<'_>, head: Head, time: u64) {
        let (_, local) = net.fabric.home(head.to);
        let key = key(local, head.from, head.context, head.tag);
        if let Some((request, head)) = self.matching.message(&mut net.operations, key, head, time) {
            self.matched(net, request, head, time);
        }
    }

    /// A message and a receive have met.
    fn matched(&mut self, net: &mut Net<'_>, request: u32, head: Head, time: u64) {
        let receive = net.operations.at(request);
        let (expected, time) = (receive.len, time.max(receive.posted));
        if expected != head.len {
            let Head { from, to, tag, len, .. } = head;
            return net.clock.fail(format!(
                "rank {to} receives {expected} bytes from rank {from} with tag {tag}, but the message has {len}; \
                 the lengths must be equal"
            ));
        }
        if head.kind == Kind::Eager {
            net.operations.keep(request, head.payload);
            let near = net.fabric.node_of(head.from) == net.fabric.node_of(head.to);
            return complete_receive(net, request, time, if near { 0 } else { head.len });
        }
        let (from, to) = (head.to, head.from);
        let protocol = &net.fabric.config.protocol;
        let fetched = protocol.long == Long::Fetched || protocol.copies(head.len);
        let kind = if fetched { Kind::Fetch } else { Kind::Clear };
        let clear = Head { kind, from, to, request, remote: head.request, ..head };
        self.launch(net, clear, time);
    }

    fn put(&mut self, net: &mut Net<'_>, mut head: Head, time: u64) {
        if let Some(data) = head.payload.take()
            && !self.windows.write(window(net, &head), head.at as usize, &data)
        {
            return net.clock.fail(outside("put", &head));
        }
        let back = Head { kind: Kind::PutDone, from: head.to, to: head.from, payload: None, ..head };
        self.launch(net, back, time);
    }

    fn get(&mut self, net: &mut Net<'_>, head: Head, time: u64) {
        let mut payload = None;
        if head.wants {
            payload = self.windows.read(window(net, &head), head.at as usize, head.len as usize);
            if payload.is_none() {
                return net.clock.fail(outside("get", &head));
            }
        }
        let back = Head { kind: Kind::GetDone, from: head.to, to: head.from, payload, ..head };
        self.launch(net, back, time);
    }

    /// A rank waits for a group: true if it must be suspended until then.
    pub(crate) fn wait_for(&mut self, net: &mut Net<'_>, local: u32, g: u32) -> bool {
        let rank = &mut self.ranks[local as usize];
        let waits = net.operations.wait_for(g, rank.clock);
        if waits {
            rank.blocked = Blocked::Group(g);
        }
        waits
    }

    /// A rank waits for the first of several groups, of which none is complete.
    pub(crate) fn hope_for<I: Iterator<Item = u32>>(&mut self, net: &mut Net<'_>, local: u32, groups: impl Fn() -> I) {
        let rank = &mut self.ranks[local as usize];
        for g in groups() {
            rank.clock = net.operations.pay(g, rank.clock);
            rank.blocked = Blocked::Group(g);
        }
        net.operations.hope_for(local, groups(), true);
    }

    /// A rank looks whether a group is complete, and works on what has come of it.
    pub(crate) fn test(&mut self, net: &mut Net<'_>, local: u32, g: u32) -> bool {
        let rank = &mut self.ranks[local as usize];
        rank.clock = net.operations.pay(g, rank.clock);
        net.operations.is_over(g, rank.clock)
    }
}

/// A receive is complete at a time; its rank pays for it, and for so many bytes that it copies, when it waits.
fn complete_receive(net: &mut Net<'_>, request: u32, time: u64, copied: u64) {
    let host = &net.fabric.config.host;
    let overhead = host.recv_overhead.ps() + host.copying(copied);
    net.operations.complete(&mut net.clock, request, time, overhead);
}

/// Adds a delivery to the log whose hash says whether two runs were the same.
fn log(net: &mut Net<'_>, head: &Head, time: u64) {
    let word = time ^ u64::from(head.from) << 40 ^ u64::from(head.to) << 16 ^ (head.kind as u64) << 12 ^ head.len << 1;
    // The multiplier is 2^64 divided by the golden ratio. A sum, because deliveries at different places have no order.
    let mixed = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    net.totals.log = net.totals.log.wrapping_add(mixed ^ (mixed >> 29));
}

/// The window that a put or a get is for.
fn window(net: &Net<'_>, head: &Head) -> WindowName {
    let (_, rank) = net.fabric.home(head.to);
    WindowName { rank, context: head.context, number: head.remote }
}

fn outside(what: &str, head: &Head) -> String {
    let Head { from, to, at, len, .. } = head;
    format!("rank {from}: {what} of {len} bytes at {at} is outside the window of rank {to}, or that is gone")
}
