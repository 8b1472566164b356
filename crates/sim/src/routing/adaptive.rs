//! Adaptive routing among the shortest ways: each packet takes the least loaded of some candidates.

use super::{At, Routing, RoutingEntry, Step, Trip};
use spec::{Card, Kind, Param, Params, ReadParams};

/// See the module.
pub const ADAPTIVE: RoutingEntry = RoutingEntry {
    card: Card {
        name: "adaptive",
        about: "the least loaded of some shortest ways, for each packet",
        source: "",
        params: &[Param::new("candidates", Kind::Count, "4", "ways to look at, drawn at random; 0 = all")],
    },
    build,
};

struct Adaptive {
    candidates: usize,
}

fn build(params: &Params) -> Result<Box<dyn Routing>, String> {
    let candidates = match params.count("candidates") {
        0 => usize::MAX,
        n => n.min(4096) as usize,
    };
    Ok(Box::new(Adaptive { candidates }))
}

impl Routing for Adaptive {
    fn step(&self, at: &mut At<'_>, trip: &mut Trip) -> Step {
        at.topology.ways(at.switch, trip.to, at.ways);
        let (port, _) = at.least_loaded(self.candidates);
        Step { port, vc: at.vc(trip, port) }
    }
    fn in_order(&self) -> bool {
        false
    }
}
