//! Random choice among the shortest ways: per packet (spraying), per message, or per flow (ECMP).

use super::{At, Routing, RoutingEntry, Step, Trip};
use crate::base::place;
use spec::{Card, Kind, Param, Params, ReadParams};

/// See the module.
pub const RANDOM: RoutingEntry = RoutingEntry {
    card: Card {
        name: "random",
        about: "a random shortest way for each packet, message or flow (ECMP)",
        source: "",
        params: &[Param::new("per", Kind::Choice(&["packet", "message", "flow"]), "packet", "what keeps to one way")],
    },
    build,
};

#[derive(Clone, Copy, PartialEq)]
enum Per {
    Packet,
    Message,
    Flow,
}

struct Random(Per);

fn build(params: &Params) -> Result<Box<dyn Routing>, String> {
    Ok(Box::new(Random(match params.word("per") {
        "packet" => Per::Packet,
        "message" => Per::Message,
        _ => Per::Flow,
    })))
}

impl Routing for Random {
    fn step(&self, at: &mut At<'_>, trip: &mut Trip) -> Step {
        at.topology.ways(at.switch, trip.to, at.ways);
        let n = at.ways.ports.len();
        let i = match self.0 {
            _ if n == 1 => 0,
            Per::Packet => at.rng.below(n as u64) as usize,
            // The number of hops makes choices at successive switches independent.
            per => {
                let message = if per == Per::Message { trip.message } else { 0 };
                let bits = place([trip.source, trip.to.endpoint, message, u32::from(trip.hop.hops)]);
                ((u64::from(bits) * n as u64) >> 32) as usize
            }
        };
        let port = at.ways.ports[i];
        Step { port, vc: at.vc(trip, port) }
    }
    fn in_order(&self) -> bool {
        self.0 == Per::Flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_spread_evenly() {
        let mut counts = [0; 18];
        for source in 0..100 {
            for to in 0..180 {
                counts[((u64::from(place([source, to, 0, 0])) * 18) >> 32) as usize] += 1;
            }
        }
        assert!(counts.iter().all(|&c| (850..1150).contains(&c)), "{counts:?}");
    }
}
