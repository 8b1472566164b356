//! One part of the network with its nodes and ranks: all state that changes, and the loop that serves its events.
//!
//! A part (a logical process of the parallel simulation) is owned by one thread. What it does to other parts goes into its
//! outbox and is handed over between windows of time. The modules `switch`, `nic` and `protocol` add their methods to it.

use crate::config::Full;
use crate::control::{Asks, By, Control, TrafficFlow};
use crate::event::{Event, Queue};
use crate::fabric::Fabric;
use crate::faults::Health;
use crate::film::Cut;
use crate::matching::Matching;
use crate::meeting::Key as MeetingKey;
use crate::nic::Nics;
use crate::order::Order;
use crate::output::Outs;
use crate::packet::{Head, Kind, Message, Packet};
use crate::protocol::{Blocked, Hosts};
use crate::slab::{NONE, Slab};
use crate::topology::Ways;
use spec::{Rng, Time};

/// What one part does to another.
#[derive(Default)]
pub(crate) struct Mail {
    /// Packets with the time of their arrival event; heads of those that carry one, in order.
    pub(crate) packets: Vec<(u64, Packet)>,
    pub(crate) heads: Vec<Head>,
    /// Link, virtual channel, bytes, time.
    pub(crate) credits: Vec<(u32, u8, u32, u64)>,
    /// Notices by the side channel.
    pub(crate) notices: Vec<(u64, TrafficFlow, u32)>,
    /// Lost packets for their source, with the time to send them again.
    pub(crate) returned: Vec<(u64, Packet, Option<Head>)>,
}

impl Mail {
    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.credits.is_empty() && self.notices.is_empty() && self.returned.is_empty()
    }
}

/// Totals of a part; summed over parts they are the run's statistics.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Totals {
    pub(crate) events: u64,
    pub(crate) hops: u64,
    pub(crate) messages: u64,
    pub(crate) injected: u64,
    pub(crate) delivered: u64,
    /// Packets sent again.
    pub(crate) resent: u64,
    pub(crate) log: u64,
}

pub(crate) struct Lp<'f> {
    pub(crate) id: u16,
    pub(crate) fabric: &'f Fabric,
    pub(crate) now: u64,
    pub(crate) queue: Queue,
    /// What still works; none if nothing will ever break.
    pub(crate) health: Option<Health>,
    pub(crate) packets: Slab<Packet>,
    pub(crate) heads: Slab<Head>,
    pub(crate) messages: Slab<Message>,
    pub(crate) outs: Outs,
    /// Whether full buffers lose packets.
    pub(crate) drops: bool,
    pub(crate) nics: Nics,
    pub(crate) hosts: Hosts,
    pub(crate) matching: Matching,
    /// `None` if routing keeps packets in order.
    pub(crate) order: Option<Order>,
    pub(crate) control: Option<Box<dyn Control>>,
    pub(crate) asks: Asks,
    pub(crate) notices: Slab<(TrafficFlow, u32)>,
    pub(crate) rng: Rng,
    pub(crate) ways: Ways,
    pub(crate) outbox: Vec<Mail>,
    /// Whom there is mail for, in the order in which it arose.
    pub(crate) addressed: Vec<u16>,
    /// Empty mail whose memory serves again.
    pub(crate) spare: Vec<Mail>,
    pub(crate) totals: Totals,
    /// Why the run cannot go on: when, and what.
    pub(crate) failure: Option<(u64, String)>,
    /// A meeting whose last member has joined: its results wait to be handed out.
    pub(crate) met: Option<MeetingKey>,
    /// Phases that have begun or ended here since the window began.
    pub(crate) cuts: Vec<Cut>,
}

/// Why the loop stopped.
pub(crate) enum Stop {
    /// This rank is to run.
    Resume(u32),
    /// Nothing is left before the limit.
    Idle,
}

impl<'f> Lp<'f> {
    pub(crate) fn new(id: u16, fabric: &'f Fabric) -> Lp<'f> {
        let part = &fabric.parts[usize::from(id)];
        let config = &fabric.config;
        // About eight events per packet of a busy network.
        let busy = config.nic.rate.bytes_per_s() / f64::from(config.packet()) * 8.0 * part.endpoints.len() as f64;
        let mut queue = Queue::new(config.event_queue, busy);
        for (number, resolved) in fabric.faults.iter().enumerate() {
            queue.push(resolved.fault.at.ps(), Event::Fault(number as u32));
        }
        // Messages of a pair may overtake each other by routing, round a fault, by a loss, or in different classes.
        let overtaking = !fabric.routing.in_order()
            || !fabric.faults.is_empty()
            || config.small > 0
            || config.switch.full == Full::Drop;
        Lp {
            id,
            fabric,
            now: 0,
            queue,
            health: Health::new(fabric),
            packets: Slab::new(),
            heads: Slab::new(),
            messages: Slab::new(),
            outs: Outs::new(fabric, part),
            drops: config.switch.full == Full::Drop,
            nics: Nics::new(fabric, part),
            hosts: Hosts::new(fabric, part),
            matching: Matching::new(),
            order: overtaking.then(Order::new),
            control: (fabric.control)(),
            asks: Asks::default(),
            notices: Slab::new(),
            rng: Rng::new(config.seed, "network", u64::from(id)),
            ways: Ways::default(),
            outbox: (0..fabric.parts.len()).map(|_| Mail::default()).collect(),
            addressed: Vec::new(),
            spare: Vec::new(),
            totals: Totals::default(),
            failure: None,
            met: None,
            cuts: Vec::new(),
        }
    }

    /// Serves events before `limit` until a rank is to run or nothing is left.
    pub(crate) fn serve(&mut self, limit: u64) -> Stop {
        while let Some((time, event)) = self.queue.pop_before(limit) {
            debug_assert!(time >= self.now, "time runs backwards");
            let before = std::mem::replace(&mut self.now, time);
            self.totals.events += 1;
            match event {
                Event::Arrive(packet) => self.arrive(packet),
                Event::Wake(out) => self.wake(out),
                Event::Post(message) => self.post(message),
                Event::Local(head) => {
                    let head = self.heads.take(head);
                    self.deliver(head, time);
                }
                Event::Resume(rank) => return Stop::Resume(rank),
                Event::InputReady(input) => self.input_ready(input),
                Event::Unpark(flow) => self.unpark(flow),
                Event::Timer(number) => self.controlled(|c, now, _, asks| c.timer(now, number, asks)),
                Event::Notice(notice) => {
                    let (flow, value) = self.notices[notice];
                    self.notices.free(notice);
                    self.notified(flow, value);
                }
                Event::Fault(number) => {
                    // What breaks when all is over does not lengthen the run.
                    let done = self.hosts.ranks.iter().all(|r| r.blocked == Blocked::Done);
                    let idle = done && self.queue.peek().is_none();
                    self.strike(number, idle);
                    if idle {
                        self.now = before;
                    }
                }
                Event::Resend(packet) => self.resend(packet),
            }
            if self.failure.is_some() {
                break;
            }
        }
        Stop::Idle
    }

    /// Ends the run with a reason. The first reason counts.
    pub(crate) fn fail(&mut self, reason: String) {
        self.failure.get_or_insert((self.now, reason));
    }

    /// The mail for another part.
    #[inline]
    pub(crate) fn mail_to(&mut self, part: u16) -> &mut Mail {
        let mail = &mut self.outbox[usize::from(part)];
        if mail.is_empty() {
            self.addressed.push(part);
        }
        mail
    }

    /// Takes in what another part has sent.
    pub(crate) fn receive(&mut self, mut mail: Mail) {
        let mut heads = mail.heads.drain(..);
        for (time, mut packet) in mail.packets.drain(..) {
            if packet.head != NONE {
                packet.head = self.heads.insert(heads.next().expect("a header travels with its packet"));
            }
            let packet = self.packets.insert(packet);
            self.queue.push(time, Event::Arrive(packet));
        }
        drop(heads);
        for (link, vc, bytes, time) in mail.credits.drain(..) {
            self.credit(link - self.outs.first, vc, bytes, time);
        }
        for (time, flow, value) in mail.notices.drain(..) {
            let notice = self.notices.insert((flow, value));
            self.queue.push(time, Event::Notice(notice));
        }
        for (time, packet, head) in mail.returned.drain(..) {
            self.take_back(time, packet, head);
        }
        self.spare.push(mail);
    }

    /// Calls the congestion control, if there is one, and does what it asks.
    #[inline]
    pub(crate) fn controlled(&mut self, call: impl FnOnce(&mut dyn Control, Time, &mut Rng, &mut Asks)) {
        if let Some(control) = self.control.as_mut() {
            call(control.as_mut(), Time::from_ps(self.now), &mut self.rng, &mut self.asks);
            if !self.asks.notices.is_empty() || !self.asks.timers.is_empty() {
                self.answer_asks();
            }
        }
    }

    pub(crate) fn notified(&mut self, flow: TrafficFlow, value: u32) {
        self.controlled(|c, now, _, asks| c.notified(now, flow, value, asks));
    }

    fn answer_asks(&mut self) {
        let mut asks = std::mem::take(&mut self.asks);
        for (time, number) in asks.timers.drain(..) {
            self.queue.push(time.ps().max(self.now), Event::Timer(number));
        }
        for notice in asks.notices.drain(..) {
            let home = self.fabric.endpoints[notice.flow.from as usize].lp;
            match notice.by {
                By::Packet => {
                    let head = Head { kind: Kind::Notice, remote: notice.value, ..Head::default() };
                    self.send_between(head, notice.flow.to, notice.flow.from);
                }
                By::Side(delay) if home == self.id => {
                    let id = self.notices.insert((notice.flow, notice.value));
                    self.queue.push(self.now + delay.ps(), Event::Notice(id));
                }
                By::Side(delay) => {
                    let time = self.now + delay.ps().max(self.fabric.lookahead);
                    self.mail_to(home).notices.push((time, notice.flow, notice.value));
                }
            }
        }
        self.asks = asks;
    }
}
