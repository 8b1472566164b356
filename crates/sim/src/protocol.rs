//! The host side: requests of ranks, and what messages mean.
//!
//! ```text
//! eager        Eager ------------------------>            send complete when the last packet has left the NIC
//! rendezvous   Ask -->        <-- Clear        Bulk -->   for messages longer than `protocol.eager`
//! put          Put -->        <-- PutDone                 complete at the target, then at the origin
//! get          Get -->        <-- GetDone                 the data come with the answer
//! ```
//!
//! A rank's clock may run ahead of the event loop: it advances by the send overhead with each operation and by the price of
//! computation, and only a wait brings rank and loop together. Messages reach the NIC at the rank's clock. The receive
//! overhead is charged when a message completes a receive, one after the other, also when the rank computes meanwhile (as
//! with a progress thread). The NIC answers requests by itself: clear-to-send, puts and gets cost the target rank nothing.
//!
//! Between ranks of one node a message takes the copy time of its sender, which copies one at a time, and a latency.

use crate::event::Event;
use crate::fabric::{Fabric, Pace, Part};
use crate::lp::Lp;
use crate::matching::key;
use crate::meeting::{Agreed, Key as MeetingKey};
use crate::packet::{Head, Kind, Message};
use crate::slab::{NONE, Slab};
use crate::table::Table;

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

/// A rank as the loop sees it.
pub(crate) struct Rank {
    pub(crate) clock: u64,
    /// Its copies to ranks of the same node are under way until then.
    copying: u64,
    pub(crate) blocked: Blocked,
    /// Meetings that are over and not yet asked for.
    pub(crate) outcomes: Vec<(MeetingKey, u64, Agreed)>,
}

/// What an operation is, for those who wait and for messages about them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doing {
    Send,
    Receive,
    Put,
    Get,
}

/// One operation under way.
pub(crate) struct Request {
    pub(crate) doing: Doing,
    /// The other side, as numbered in the world.
    pub(crate) peer: u32,
    pub(crate) tag: u16,
    pub(crate) len: u64,
    /// The rank's clock when it was posted: the loop may be behind it, and a message that comes before then waits.
    posted: u64,
    group: u32,
    /// The next request of the group.
    next: u32,
    pub(crate) complete: bool,
    /// What was received, or waits to be sent.
    pub(crate) payload: Option<Box<[u8]>>,
}

/// Operations that are waited for together.
pub(crate) struct Group {
    rank: u32,
    pub(crate) remaining: u32,
    /// When the last of them was complete, overheads included.
    pub(crate) clock: u64,
    waited_for: bool,
    first: u32,
    last: u32,
}

/// A rank's window: its length, and its bytes once any mattered.
struct WindowMemory {
    len: usize,
    bytes: Vec<u8>,
}

/// Ranks of a part and what they have under way.
pub(crate) struct Hosts {
    pub(crate) ranks: Vec<Rank>,
    pub(crate) requests: Slab<Request>,
    pub(crate) groups: Slab<Group>,
    windows: Slab<WindowMemory>,
    window_of: Table,
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

impl Hosts {
    pub(crate) fn new(fabric: &Fabric, part: &Part) -> Hosts {
        let count = part.nodes.len() * fabric.config.ranks_per_node;
        let rank = || Rank { clock: 0, copying: 0, blocked: Blocked::No, outcomes: Vec::new() };
        Hosts {
            ranks: std::iter::repeat_with(rank).take(count).collect(),
            requests: Slab::new(),
            groups: Slab::new(),
            windows: Slab::new(),
            window_of: Table::new(),
            copy: Pace::new(fabric.config.host.local_rate),
        }
    }

    /// A new group of operations of a rank.
    pub(crate) fn group(&mut self, rank: u32) -> u32 {
        let clock = self.ranks[rank as usize].clock;
        self.groups.insert(Group { rank, remaining: 0, clock, waited_for: false, first: NONE, last: NONE })
    }

    fn request(&mut self, doing: Doing, route: Route, tag: u16, len: u64) -> u32 {
        let (peer, group) = (route.peer, route.group);
        let posted = self.ranks[route.local as usize].clock;
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

    /// Ends a complete group: moves the rank's clock and hands each request's payload out in the order of the operations.
    pub(crate) fn finish(&mut self, g: u32, mut each: impl FnMut(Option<Box<[u8]>>)) {
        let group = &self.groups[g];
        let (rank, clock, mut r) = (group.rank, group.clock, group.first);
        debug_assert_eq!(group.remaining, 0);
        self.groups.free(g);
        let rank = &mut self.ranks[rank as usize];
        rank.clock = rank.clock.max(clock);
        rank.blocked = Blocked::No;
        while r != NONE {
            let next = self.requests[r].next;
            each(self.requests[r].payload.take());
            self.requests.free(r);
            r = next;
        }
    }

    /// The requests of a group that are not complete.
    pub(crate) fn open(&self, g: u32) -> Vec<&Request> {
        let mut list = Vec::new();
        let mut r = self.groups[g].first;
        while r != NONE {
            let request = &self.requests[r];
            if !request.complete {
                list.push(request);
            }
            r = request.next;
        }
        list
    }

    /// Makes a window of a rank.
    pub(crate) fn open_window(&mut self, rank: u32, context: u64, number: u32, len: usize) {
        let w = self.windows.insert(WindowMemory { len, bytes: Vec::new() });
        self.window_of.set(window_key(rank, context, number), w);
    }

    pub(crate) fn close_window(&mut self, rank: u32, context: u64, number: u32) {
        if let Some(w) = self.window_of.remove(window_key(rank, context, number)) {
            self.windows[w].bytes = Vec::new();
            self.windows.free(w);
        }
    }

    /// Writes into a rank's window; false if it has none or the range is not inside.
    pub(crate) fn write(&mut self, rank: u32, context: u64, number: u32, at: usize, data: &[u8]) -> bool {
        let Some(w) = self.window_of.get(window_key(rank, context, number)) else { return false };
        let memory = &mut self.windows[w];
        if memory.bytes.is_empty() {
            memory.bytes.resize(memory.len, 0);
        }
        let range = at..at.saturating_add(data.len());
        memory.bytes.get_mut(range).map(|place| place.copy_from_slice(data)).is_some()
    }

    /// Reads from a rank's window; `None` if it has none or the range is not inside.
    pub(crate) fn read(&self, rank: u32, context: u64, number: u32, at: usize, len: usize) -> Option<Box<[u8]>> {
        let memory = &self.windows[self.window_of.get(window_key(rank, context, number))?];
        let end = at.checked_add(len).filter(|&end| end <= memory.len)?;
        Some(if memory.bytes.is_empty() { vec![0; len].into() } else { memory.bytes[at..end].into() })
    }
}

fn window_key(rank: u32, context: u64, number: u32) -> (u64, u64) {
    (context, u64::from(rank) << 32 | u64::from(number))
}

impl Lp<'_> {
    /// A rank starts to send.
    pub(crate) fn start_send(&mut self, route: Route, tag: u16, len: u64, payload: Option<Box<[u8]>>) {
        let clock = self.begin_op(route.local);
        let request = self.hosts.request(Doing::Send, route, tag, len);
        let near = self.fabric.node_of(route.me) == self.fabric.node_of(route.peer);
        let eager = near || len <= self.fabric.config.eager as u64;
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
        if !near && let Some(order) = self.order.as_mut() {
            head.at = order.number(route.me, route.peer);
        }
        if eager {
            head.payload = payload;
        } else {
            self.hosts.requests[request].payload = payload;
        }
        self.launch(head, clock);
    }

    /// A rank is ready to receive.
    pub(crate) fn start_receive(&mut self, route: Route, tag: u16, len: u64) {
        let request = self.hosts.request(Doing::Receive, route, tag, len);
        let key = key(route.local, route.peer, route.context, tag);
        if let Some((head, time)) = self.matching.receive(key, request) {
            let rank = &mut self.hosts.ranks[route.local as usize];
            let time = time.max(rank.clock);
            if head.kind == Kind::Eager {
                // The message is here: the rank takes it before it goes on.
                rank.clock = time + self.fabric.config.host.recv_overhead.ps();
            }
            self.matched(request, head, time);
        }
    }

    /// A rank starts a put or a get.
    pub(crate) fn start_access(&mut self, route: Route, doing: Doing, window: u32, at: u64, len: u64, data: Access) {
        let clock = self.begin_op(route.local);
        let request = self.hosts.request(doing, route, 0, len);
        let kind = if doing == Doing::Put { Kind::Put } else { Kind::Get };
        let (wants, payload) = match data {
            Access::Bytes(payload) => (true, payload),
            Access::None => (false, None),
        };
        let head = Head {
            kind,
            from: route.me,
            to: route.peer,
            context: route.context,
            len,
            request,
            remote: window,
            at,
            wants,
            payload,
            ..Head::default()
        };
        self.launch(head, clock);
    }

    fn begin_op(&mut self, local: u32) -> u64 {
        let rank = &mut self.hosts.ranks[local as usize];
        rank.clock += self.fabric.config.host.send_overhead.ps();
        rank.clock
    }

    /// Hands a message to the network, or to the memory of the node, at a time not before now.
    fn launch(&mut self, head: Head, time: u64) {
        let fabric = self.fabric;
        if fabric.node_of(head.from) == fabric.node_of(head.to) {
            return self.copy(head, time);
        }
        let (source, target) = (fabric.endpoint_of(head.from), fabric.endpoint_of(head.to));
        let message = self.messages.insert(Message::new(head, source, target, fabric.config.nic.mtu));
        self.queue.push(time.max(self.now), Event::Post(message));
    }

    /// A message inside a node.
    fn copy(&mut self, head: Head, time: u64) {
        let (_, local) = self.fabric.home(head.from);
        let rank = &mut self.hosts.ranks[local as usize];
        let mut end = rank.copying.max(time);
        // Whole packets and a rest, because a pace is exact for lengths of 32 bits.
        let carried = head.carried();
        end += (carried >> 16) * self.hosts.copy.time(1 << 16) + self.hosts.copy.time(carried as u32 & 0xffff);
        rank.copying = end;
        self.totals.messages += 1;
        self.totals.injected += carried;
        self.totals.delivered += carried;
        if head.kind == Kind::Eager {
            self.complete(head.request, end, false);
        }
        let head = self.heads.insert(head);
        self.queue.push((end + self.fabric.config.host.local_latency.ps()).max(self.now), Event::Local(head));
    }

    /// A message is complete at its destination at `time`, which is now or a little later.
    pub(crate) fn deliver(&mut self, head: Head, time: u64) {
        self.log(&head, time);
        match head.kind {
            Kind::Eager | Kind::Ask => self.arrived(head, time),
            Kind::Clear => {
                let payload = self.hosts.requests[head.remote].payload.take();
                let (from, to) = (head.to, head.from);
                let back =
                    Head { kind: Kind::Bulk, from, to, request: head.remote, remote: head.request, payload, ..head };
                self.launch(back, time);
            }
            Kind::Bulk => {
                self.hosts.requests[head.remote].payload = head.payload;
                self.complete(head.remote, time, true);
            }
            Kind::Put => self.put(head, time),
            Kind::Get => self.get(head, time),
            Kind::PutDone | Kind::GetDone => {
                if self.fabric.node_of(head.from) != self.fabric.node_of(head.to) {
                    self.answered(self.fabric.endpoint_of(head.to));
                }
                self.hosts.requests[head.request].payload = head.payload;
                self.complete(head.request, time, false);
            }
            Kind::Notice => unreachable!("the NIC keeps notices to itself"),
        }
    }

    /// A message that asks for a receive: matched in the order of its pair of ranks.
    fn arrived(&mut self, head: Head, time: u64) {
        let (from, to) = (head.from, head.to);
        if self.order.is_none() || self.fabric.node_of(from) == self.fabric.node_of(to) {
            return self.seek_receive(head, time);
        }
        let mut next = self.order.as_mut().and_then(|order| order.arrived(head));
        while let Some(head) = next {
            self.seek_receive(head, time);
            next = self.order.as_mut().and_then(|order| order.next(from, to));
        }
    }

    fn seek_receive(&mut self, head: Head, time: u64) {
        let (_, local) = self.fabric.home(head.to);
        let key = key(local, head.from, head.context, head.tag);
        if let Some((request, head)) = self.matching.message(key, head, time) {
            self.matched(request, head, time);
        }
    }

    /// A message and a receive have met.
    fn matched(&mut self, request: u32, head: Head, time: u64) {
        let Request { len: expected, posted, .. } = self.hosts.requests[request];
        let time = time.max(posted);
        if expected != head.len {
            let Head { from, to, tag, len, .. } = head;
            return self.fail(format!(
                "rank {to} receives {expected} bytes from rank {from} with tag {tag}, but the message has {len}; \
                 the lengths must be equal"
            ));
        }
        if head.kind == Kind::Eager {
            self.hosts.requests[request].payload = head.payload;
            return self.complete(request, time, true);
        }
        let (from, to) = (head.to, head.from);
        let clear = Head { kind: Kind::Clear, from, to, request, remote: head.request, ..head };
        self.launch(clear, time);
    }

    fn put(&mut self, mut head: Head, time: u64) {
        let (_, local) = self.fabric.home(head.to);
        if let Some(data) = head.payload.take()
            && !self.hosts.write(local, head.context, head.remote, head.at as usize, &data)
        {
            return self.fail(outside("put", &head));
        }
        let back = Head { kind: Kind::PutDone, from: head.to, to: head.from, payload: None, ..head };
        self.launch(back, time);
    }

    fn get(&mut self, head: Head, time: u64) {
        let (_, local) = self.fabric.home(head.to);
        let mut payload = None;
        if head.wants {
            payload = self.hosts.read(local, head.context, head.remote, head.at as usize, head.len as usize);
            if payload.is_none() {
                return self.fail(outside("get", &head));
            }
        }
        let back = Head { kind: Kind::GetDone, from: head.to, to: head.from, payload, ..head };
        self.launch(back, time);
    }

    /// An operation is complete at a time.
    pub(crate) fn complete(&mut self, request: u32, time: u64, receive: bool) {
        let r = &mut self.hosts.requests[request];
        r.complete = true;
        let group = &mut self.hosts.groups[r.group];
        group.clock = group.clock.max(time);
        if receive {
            group.clock += self.fabric.config.host.recv_overhead.ps();
        }
        group.remaining -= 1;
        if group.remaining == 0 && group.waited_for {
            self.queue.push(group.clock.max(self.now), Event::Resume(group.rank));
        }
    }

    /// A rank waits for a group: true if it must be suspended until then.
    pub(crate) fn wait_for(&mut self, g: u32) -> bool {
        let group = &mut self.hosts.groups[g];
        if group.remaining == 0 {
            return false;
        }
        group.waited_for = true;
        let rank = &mut self.hosts.ranks[group.rank as usize];
        group.clock = group.clock.max(rank.clock);
        rank.blocked = Blocked::Group(g);
        true
    }

    /// Folds a delivery into the log whose hash says whether two runs were the same.
    fn log(&mut self, head: &Head, time: u64) {
        let word =
            time ^ u64::from(head.from) << 40 ^ u64::from(head.to) << 16 ^ (head.kind as u64) << 12 ^ head.len << 1;
        let mixed = (self.totals.log ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.totals.log = mixed ^ (mixed >> 29);
    }
}

/// What an access carries: bytes to put or to bring back, or nothing that matters.
pub(crate) enum Access {
    Bytes(Option<Box<[u8]>>),
    None,
}

fn outside(what: &str, head: &Head) -> String {
    let Head { from, to, at, len, .. } = head;
    format!("rank {from}: {what} of {len} bytes at {at} is outside the window of rank {to}, or that is gone")
}
