//! UGAL with local information: each packet goes the shortest way, or a detour if the shortest way is crowded.
//!
//! At its first switch, and as long as the topology lets it be turned away (progressive: in a dragonfly in its whole first
//! group), a packet looks at some minimal ways and at some detours and takes the one with the least product of load and
//! length. The load of a port is what waits for it here and what is in the buffer beyond it, as known by credits: with the
//! queue at the first switch alone, UGAL does not see the crowded global cable one switch further on and reaches only half
//! of Valiant's throughput on adversarial traffic.

use super::{At, Routing, RoutingEntry, Step, Trip};
use crate::topology::{Port, Switch};
use spec::{Card, Kind, Param, Params, ReadParams};

/// See the module. Two and two candidates are what Aries looks at.
pub const UGAL: RoutingEntry = RoutingEntry {
    card: Card {
        name: "ugal",
        about: "the shortest way or a detour, by load and length, for each packet (UGAL-L, progressive)",
        source: "Singh 2005; Jiang, Kim, Dally, ISCA 2009 (progressive adaptive routing)",
        params: &[
            Param::new("minimal", Kind::Count, "2", "minimal ways to look at"),
            Param::new("detours", Kind::Count, "2", "detours to look at"),
            Param::new(
                "by_length",
                Kind::Choice(&["true", "false"]),
                "true",
                "whether loads are multiplied with lengths of ways before they are compared",
            ),
            Param::new("bias", Kind::Size, "32KiB", "bytes by which a detour must be better"),
            Param::new(
                "progressive",
                Kind::Choice(&["true", "false"]),
                "true",
                "whether a packet may be turned away after its first switch",
            ),
        ],
    },
    build,
};

struct Ugal {
    minimal: usize,
    detours: usize,
    by_length: bool,
    bias: u64,
    progressive: bool,
}

fn build(params: &Params) -> Result<Box<dyn Routing>, String> {
    for name in ["minimal", "detours"] {
        if !(1..=64).contains(&params.count(name)) {
            return Err(format!("ugal: {name}={}: choose 1 to 64 candidates", params.count(name)));
        }
    }
    Ok(Box::new(Ugal {
        minimal: params.count("minimal") as usize,
        detours: params.count("detours") as usize,
        by_length: params.word("by_length") == "true",
        bias: params.size("bias") as u64,
        progressive: params.word("progressive") == "true",
    }))
}

impl Ugal {
    fn cost(&self, load: u64, hops: u32) -> u64 {
        if self.by_length { load * u64::from(hops) } else { load }
    }

    /// The best detour: its port, load times length, and middle.
    fn detour(&self, at: &mut At<'_>, trip: &Trip, better_than: u64) -> Option<(Port, Switch)> {
        let mut best = None;
        let mut least = better_than;
        for _ in 0..self.detours {
            // A draw that hits either end of the way is a candidate less; it is not repeated.
            let Some(middle) = at.topology.middle(at.switch, trip.to.switch, at.rng) else { continue };
            at.ways.clear();
            at.topology.ways(at.switch, super::Target { switch: middle, ..trip.to }, at.ways);
            // One random way to each middle: `detours` is the number of ports looked at.
            let (port, load) = at.least_loaded(1);
            let cost = self.cost(load, at.topology.detour_hops(at.switch, middle, trip.to.switch)) + self.bias;
            if cost < least {
                (least, best) = (cost, Some((port, middle)));
            }
        }
        best
    }
}

impl Routing for Ugal {
    fn step(&self, at: &mut At<'_>, trip: &mut Trip) -> Step {
        let to = at.towards(trip);
        at.topology.ways(at.switch, to, at.ways);
        let (mut port, load) = at.least_loaded(self.minimal);
        let may = trip.hop.hops == 0 || (self.progressive && at.topology.may_detour(at.switch, trip.hop));
        if may && trip.middle.is_none() {
            let cost = self.cost(load, at.topology.hops(at.switch, trip.to.switch));
            // A detour costs at least the bias, so that an idle network is never asked.
            if cost > self.bias
                && let Some((away, middle)) = self.detour(at, trip, cost)
            {
                port = away;
                trip.middle = Some(middle);
            }
        }
        Step { port, vc: at.vc(trip, port) }
    }
    fn detours(&self) -> bool {
        true
    }
    fn in_order(&self) -> bool {
        false
    }
}
