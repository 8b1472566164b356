//! The network: what is built once ([`Fabric`]), and the state of one part of it while a run lasts ([`Net`]).
//!
//! ```text
//! host --post--> nic --transmit--> switch --request, arbitrate, transmit--> ... --> nic --eject--> host
//!                 |                  |                                               |
//!                 +-------- guard (congestion control), faults, loss ----------------+
//! ```
//!
//! One struct per part, because a hop touches most of it: the file `switch` moves packets over its outputs, `nic` makes them
//! of messages, `guard` asks the congestion control, `faults` and `loss` say what becomes of those that cannot go on.
//!
//! Not for ranks and what they mean by a message: the network knows operations ([`Operations`]) and tells when they are over.
//! What a packet may be told to do next is in `routing/`, its shape in `topology/`.

mod ahead;
mod cores;
mod counters;
mod fabric;
mod faults;
mod guard;
mod loss;
mod mail;
mod movers;
mod nic;
mod operations;
mod switch;

pub(crate) use counters::Totals;
pub use counters::{PortCounters, Stats};
#[cfg(test)]
pub(crate) use fabric::Chosen;
pub(crate) use fabric::{APART_CLASS, CLASSES, Fabric, PartInfo, SMALL_CLASS};
pub(crate) use mail::Mail;
pub(crate) use operations::{Doing, Operations};

use crate::base::{Clock, Event, NONE, Slab};
use crate::link::{Head, Outs, Packet};
use crate::topology::Ways;
use faults::Health;
use guard::Guard;
use mail::Outbox;
use nic::Nics;
use spec::Rng;

/// Events per packet of a busy network, about: how fine the clock's buckets are.
const EVENTS_PER_PACKET: f64 = 8.0;
/// The same where memory is asked for ahead of events: coarser, so that there are enough of them to ask for together.
const FEWER_BUCKETS: f64 = 2.0;

/// One part of the network while a run lasts.
pub(crate) struct Net<'f> {
    pub(crate) id: u16,
    pub(crate) fabric: &'f Fabric,
    pub(crate) clock: Clock,
    packets: Slab<Packet>,
    heads: Slab<Head>,
    pub(crate) outs: Outs,
    nics: Nics,
    /// What hosts wait for.
    pub(crate) operations: Operations,
    guard: Guard,
    /// What still works; none if nothing will ever break.
    health: Option<Health>,
    /// Of the random numbers for routing, marking and detours.
    seed: u64,
    /// Scratch of routing decisions.
    ways: Ways,
    pub(crate) mail: Outbox,
    pub(crate) totals: Totals,
}

impl<'f> Net<'f> {
    /// Whether memory is asked for ahead of events decides how many of them are in a bucket.
    pub(crate) fn new(id: u16, fabric: &'f Fabric, asks: bool) -> Net<'f> {
        let (part, config) = (&fabric.parts[usize::from(id)], &fabric.config);
        let packets = config.nic.rate.bytes_per_s() / f64::from(config.packet());
        let events = if asks { FEWER_BUCKETS } else { EVENTS_PER_PACKET };
        let mut clock = Clock::new(config.event_queue, packets * events * part.endpoints.len() as f64);
        for (number, resolved) in fabric.faults.iter().enumerate() {
            clock.push(resolved.fault.at.ps(), number as u32, Event::Fault(number as u32));
        }
        let links = &fabric.links[part.first_link as usize..][..part.links as usize];
        Net {
            id,
            fabric,
            clock,
            packets: Slab::new(),
            heads: Slab::new(),
            outs: Outs::new(part.first_link, links, fabric.vcs, &config.switch),
            nics: Nics::new(fabric, part),
            operations: Operations::new(config),
            guard: Guard::new((fabric.control)()),
            health: Health::new(fabric),
            seed: Rng::new(config.seed, "network", 0).bits(),
            ways: Ways::default(),
            mail: Outbox::new(fabric.parts.len()),
            totals: Totals::default(),
        }
    }

    /// An event did nothing: it has not happened, because how many of those there are depends on the parts.
    #[inline]
    pub(crate) fn forget(&mut self, before: u64) {
        self.totals.events -= 1;
        self.clock.now = before;
    }

    /// Sends a message inside a node, where it will be at a time.
    pub(crate) fn copy(&mut self, head: Head, time: u64) {
        let carried = head.carried();
        self.totals.messages += 1;
        // Both at once: nothing is lost inside a node, and the two must agree at the end of a run.
        self.totals.injected += carried;
        self.totals.delivered += carried;
        let place = head.place();
        let head = self.heads.insert(head);
        self.clock.push(time.max(self.clock.now), place, Event::Local(head));
    }

    /// A message inside a node has arrived.
    pub(crate) fn copied(&mut self, head: u32) -> Head {
        self.heads.take(head)
    }

    /// Whether a packet is at its destination's NIC.
    #[inline]
    pub(crate) fn at_endpoint(&self, id: u32) -> bool {
        self.packets[id].at & crate::link::ENDPOINT != 0
    }

    /// What broke or was mended here, by the number of the fault.
    pub(crate) fn happened(&mut self) -> Vec<usize> {
        self.health.take().map_or(Vec::new(), |h| h.happened)
    }
}
