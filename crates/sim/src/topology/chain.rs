//! Switches in a line, endpoints spread evenly over them: the "parking lot" in which per-hop fairness is unfair end to end.

use super::{Cable, Hop, Hops, MOST, Port, Reach, Switch, Target, Topology, TopologyEntry, Ways, Wiring};
use crate::Config;
use spec::{Card, Kind, Param, Params, ReadParams};

/// See the module.
pub const CHAIN: TopologyEntry = TopologyEntry {
    card: Card {
        name: "chain",
        about: "switches in a line, for tests of fairness and of parallel simulation",
        source: "",
        params: &[
            Param::new("switches", Kind::Count, "4", "length of the line").up_to(MOST),
            Param::new("rate", Kind::Rate, "12.5GB/s", "rate of a cable"),
            Param::new("latency", Kind::Time, "100ns", "time of flight of a cable"),
        ],
    },
    build,
    hops: Hops::Distance,
    shapes: &[(9, "switches = 3"), (9, "switches = 5")],
};

struct Chain {
    endpoints: usize,
    switches: usize,
    cable: Cable,
}

fn build(params: &Params, config: &Config) -> Result<Box<dyn Topology>, String> {
    let (endpoints, switches) = (config.endpoints(), params.count("switches") as usize);
    // A packet's hops are counted in eight bits (`Hop::hops`).
    if switches == 0 || switches > 250 {
        return Err(format!("chain: switches={switches}: choose 1 to 250"));
    }
    let cable =
        Cable { rate: params.rate("rate"), latency: params.time("latency"), reach: Reach::Local, kind: "local" };
    Ok(Box::new(Chain { endpoints, switches, cable }))
}

impl Chain {
    /// Endpoints on a switch: blocks of equal size, the first ones longer by one where it does not divide.
    fn attached(&self, switch: usize) -> usize {
        self.endpoints / self.switches + usize::from(switch < self.endpoints % self.switches)
    }
}

impl Topology for Chain {
    fn wire(&self, wiring: &mut Wiring) {
        for s in 0..self.switches {
            let switch = wiring.switch(s as u32);
            for _ in 0..self.attached(s) {
                wiring.attach(switch);
            }
        }
        for s in 1..self.switches as u32 {
            wiring.cable(s - 1, s, self.cable);
        }
    }

    fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
        // Cables are laid from left to right, so a switch has its left cable first, except the leftmost, which has none.
        let first = self.attached(at as usize) as Port;
        let right = to.switch > at;
        out.ports.push(first + Port::from(right && at > 0));
    }

    fn hops(&self, from: Switch, to: Switch) -> u32 {
        from.abs_diff(to)
    }

    fn vcs(&self, _: bool) -> u8 {
        1
    }

    /// A packet never turns round on a line, so one channel has no cycle.
    fn vc(&self, _: Hop, _: Switch, _: Port) -> u8 {
        0
    }
}
