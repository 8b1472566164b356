//! Deterministic minimal routing: always the topology's fixed way, so packets of a flow stay in order.

use super::{At, Routing, RoutingEntry, Step, Trip};
use spec::{Card, Params};

/// See the module.
pub const MINIMAL: RoutingEntry = RoutingEntry {
    card: Card { name: "minimal", about: "the one fixed shortest way (d-mod-k on trees)", source: "", params: &[] },
    build,
};

struct Minimal;

fn build(_: &Params) -> Result<Box<dyn Routing>, String> {
    Ok(Box::new(Minimal))
}

impl Routing for Minimal {
    fn step(&self, at: &mut At<'_>, trip: &mut Trip) -> Step {
        let port = at.topology.fixed(at.switch, trip.to, at.ways);
        Step { port, vc: at.vc(trip, port) }
    }
    fn fixed(&self) -> bool {
        true
    }
    fn in_order(&self) -> bool {
        true
    }
}
