//! Valiant's routing: every packet goes over a random middle, which turns any traffic into uniform traffic at twice the load.

use super::{At, Routing, RoutingEntry, Step, Trip};
use spec::{Card, Params};

/// See the module.
pub const VALIANT: RoutingEntry = RoutingEntry {
    card: Card {
        name: "valiant",
        about: "each packet over a random middle switch or group",
        source: "Valiant, SIAM J. Computing 11 (1982)",
        params: &[],
    },
    build,
};

struct Valiant;

fn build(_: &Params) -> Result<Box<dyn Routing>, String> {
    Ok(Box::new(Valiant))
}

impl Routing for Valiant {
    fn step(&self, at: &mut At<'_>, trip: &mut Trip) -> Step {
        if trip.hop.hops == 0 && trip.middle.is_none() {
            // A draw that hits either end, or a topology without detours, leaves the packet on a shortest way.
            trip.middle = at.topology.middle(at.switch, trip.to.switch, at.rng);
        }
        let to = at.towards(trip);
        at.topology.ways(at.switch, to, at.ways);
        let port = at.ways.ports[at.rng.below(at.ways.ports.len() as u64) as usize];
        Step { port, vc: at.vc(trip, port) }
    }
    fn detours(&self) -> bool {
        true
    }
    fn in_order(&self) -> bool {
        false
    }
}
