//! Routing: which of the ways a packet takes at a switch, and in which virtual channel.
//!
//! To add one: write `routing/x.rs` with a `pub const X: RoutingEntry` and a type that implements [`Routing`], and add one line to
//! [`ROUTINGS`]. The decision is taken once per packet and switch, when the packet's head is ready there (with FIFO input
//! queues: when it becomes the head of its queue), and sees the state of this switch's outputs only ([`Load`]), as hardware
//! does. A detour is a middle switch written into [`Trip::middle`]; the packet goes there first and then on, and the
//! topology's `vc` keeps it free of deadlock.

mod adaptive;
#[cfg(test)]
mod checks;
mod minimal;
mod random;
mod ugal;
mod valiant;

use crate::link::Load;
use crate::topology::{Endpoint, Hop, Port, Switch, Target, Topology, Ways};
use spec::{Card, Params, Rng};

/// What a routing may know and change of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Where it comes from.
    pub source: Endpoint,
    /// The number of its message at the source; with `source` it names a flow's message.
    pub message: u32,
    /// Where it goes: the endpoint and its switch.
    pub to: Target,
    /// The switch of a detour still to be visited. Set it at the first switch; it is cleared on arrival there.
    pub middle: Option<Switch>,
    /// What has been done so far.
    pub hop: Hop,
    /// Its length on the wire in bytes.
    pub bytes: u32,
}

/// The switch at which a decision is taken.
pub struct At<'a> {
    /// Its number.
    pub switch: Switch,
    /// The network's shape.
    pub topology: &'a dyn Topology,
    /// Its outputs' queues and credits.
    pub load: Load<'a>,
    /// Scratch for [`Topology::ways`], emptied before each decision.
    pub ways: &'a mut Ways,
    /// Random numbers of this part of the network.
    pub rng: &'a mut Rng,
}

impl At<'_> {
    /// The virtual channel that the topology wants for leaving by `port`.
    pub fn vc(&self, trip: &Trip, port: Port) -> u8 {
        self.topology.vc(trip.hop, self.switch, port)
    }

    /// Where a packet is to go next: its middle switch, or its destination once the detour is over.
    #[inline]
    pub(crate) fn towards(&self, trip: &mut Trip) -> Target {
        if let Some(middle) = trip.middle {
            if !self.topology.passed(self.switch, middle, trip.to.switch) {
                return Target { switch: middle, ..trip.to };
            }
            trip.middle = None;
        }
        trip.to
    }

    /// The least loaded of some of the ways and its load in bytes: what waits for it here and what is in the buffer beyond.
    /// Looks at `candidates` neighbours from a random place on, so that ties fall anywhere.
    #[inline]
    pub(crate) fn least_loaded(&mut self, candidates: usize) -> (Port, u64) {
        let n = self.ways.ports.len();
        let load = |at: &mut Self, port| at.load.queued(port) + at.load.beyond(port);
        if n == 1 {
            let port = self.ways.ports[0];
            return (port, load(self, port));
        }
        // The high half of a product is below n without a division.
        let first = ((u128::from(self.rng.bits()) * n as u128) >> 64) as usize;
        // Candidates times stride is at most n (or the stride is 1), so no port is looked at twice.
        let stride = (n / candidates.max(1)).max(1);
        let (mut best, mut least, mut i) = (0, u64::MAX, first);
        for _ in 0..candidates.min(n) {
            let port = self.ways.ports[i];
            let this = load(self, port);
            if this < least {
                (best, least) = (port, this);
            }
            i += stride;
            // Once is enough, because the stride is at most n.
            i -= if i >= n { n } else { 0 };
        }
        (best, least)
    }
}

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Output port.
    pub port: Port,
    /// Virtual channel within the packet's class.
    pub vc: u8,
}

/// How packets find their way. Stateless: one object serves all threads; what it must remember is in the packet.
pub trait Routing: Send + Sync {
    /// Chooses the next port at a switch that is neither the destination's nor the middle one. `trip.middle` may be set.
    fn step(&self, at: &mut At<'_>, trip: &mut Trip) -> Step;

    /// Whether packets may take detours: decides how many virtual channels are made.
    fn detours(&self) -> bool {
        false
    }

    /// Whether every packet takes the topology's fixed way, so that `step` need not be asked.
    fn fixed(&self) -> bool {
        false
    }

    /// Whether packets of one source and destination arrive in the order they were sent. If not, the receiver puts messages
    /// into order before it matches them.
    fn in_order(&self) -> bool;
}

/// A line of the table.
pub struct RoutingEntry {
    /// Name, one line, source, parameters.
    pub card: Card,
    /// Builds it, or says which parameter is impossible.
    pub build: fn(&Params) -> Result<Box<dyn Routing>, String>,
}

/// All routings, in the order of `list`.
pub const ROUTINGS: &[RoutingEntry] =
    &[minimal::MINIMAL, random::RANDOM, adaptive::ADAPTIVE, valiant::VALIANT, ugal::UGAL];
