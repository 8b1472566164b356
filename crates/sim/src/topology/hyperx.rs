//! HyperX: a grid of switches in which every switch is cabled to all others of its row in each dimension.
//!
//! With one dimension it is a full mesh, with two a flattened butterfly. Dimensions may be crossed in any order, so there are
//! several shortest ways; the virtual channel is the number of cables crossed, which only grows.

use super::grid::Grid;
use super::{Cable, Hops, MOST, Port, Reach, Switch, Target, Topology, TopologyEntry, Ways, Wiring};
use crate::Config;
use spec::{Card, Kind, Param, Params, ReadParams, Rng};

/// See the module.
pub const HYPERX: TopologyEntry = TopologyEntry {
    card: Card {
        name: "hyperx",
        about: "a grid of switches, each cabled to all others of its row in every dimension",
        source: "Ahn, Binkert, Davis, McLaren, Schreiber, SC 2009",
        params: &[
            Param::new("dims", Kind::Text, "4x4", "switches in each dimension"),
            Param::new("endpoints", Kind::Count, "4", "endpoints per switch").up_to(MOST),
            Param::new("parallel", Kind::Count, "1", "cables between two switches").up_to(MOST),
            Param::new("rate", Kind::Text, "12.5GB/s", "rate of a cable, or a list, one per dimension"),
            Param::new("latency", Kind::Time, "50ns", "time of flight of a cable"),
        ],
    },
    build,
    hops: Hops::Distance,
    shapes: &[
        (9, "dims = \"3x3\"\nendpoints = 1"),
        (12, "dims = \"4x3\"\nendpoints = 1"),
        (12, "dims = \"3x2x2\"\nendpoints = 1\nparallel = 2"),
        (5, "dims = \"5\"\nendpoints = 1"),
    ],
};

/// What cables are called, by dimension; with detours each dimension costs two virtual channels, and there are eight.
const KINDS: [&str; 4] = ["x", "y", "z", "w"];

struct HyperX {
    grid: Grid,
    endpoints: usize,
    parallel: usize,
    cables: Vec<Cable>,
    /// The first port of each dimension.
    first: Vec<Port>,
}

fn build(params: &Params, config: &Config) -> Result<Box<dyn Topology>, String> {
    let grid = Grid::read("hyperx", params.word("dims"), KINDS.len())?;
    let (endpoints, parallel) = (params.count("endpoints") as usize, params.count("parallel") as usize);
    grid.fits("hyperx", config.endpoints(), endpoints)?;
    let rates = grid.rates("hyperx", params)?;
    let (latency, reach) = (params.time("latency"), Reach::Local);
    let cables = rates.iter().zip(KINDS).map(|(&rate, kind)| Cable { rate, latency, reach, kind });
    let mut first = vec![endpoints];
    for &n in &grid.sizes {
        first.push(first[first.len() - 1] + (usize::from(n) - 1) * parallel);
    }
    let ports = first.pop().expect("one more than dimensions");
    if parallel == 0 || ports > 4096 {
        return Err(format!(
            "hyperx: parallel={parallel}: a switch would have {ports} ports; choose 1 or more, and at most 4096 ports"
        ));
    }
    let first = first.into_iter().map(|p| p as Port).collect();
    Ok(Box::new(HyperX { cables: cables.collect(), grid, endpoints, parallel, first }))
}

impl Topology for HyperX {
    fn wire(&self, wiring: &mut Wiring) {
        for s in 0..self.grid.switches() as Switch {
            wiring.switch(self.grid.part(s));
            for _ in 0..self.endpoints {
                wiring.attach(s);
            }
        }
        for (d, &n) in self.grid.sizes.iter().enumerate() {
            for s in 0..self.grid.switches() as Switch {
                for to in self.grid.point(s)[d] + 1..n {
                    let other = self.grid.moved(s, d, to);
                    for _ in 0..self.parallel {
                        wiring.cable(s, other, self.cables[d]);
                    }
                }
            }
        }
    }

    #[inline]
    fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
        let (here, there) = (self.grid.point(at), self.grid.point(to.switch));
        for d in 0..here.len() {
            if here[d] != there[d] {
                // A switch has no cable to itself, so neighbours beyond it are numbered one less.
                let place = usize::from(there[d] - u16::from(there[d] > here[d]));
                let first = self.first[d] + (place * self.parallel) as Port;
                out.ports.extend(first..first + self.parallel as Port);
            }
        }
        // The fixed way takes the dimensions in order, and one of the parallel cables by destination.
        out.fixed = super::pick(to.endpoint, self.parallel);
    }

    fn hops(&self, from: Switch, to: Switch) -> u32 {
        self.grid.point(from).iter().zip(self.grid.point(to)).map(|(a, b)| u32::from(a != b)).sum()
    }

    fn orders(&self) -> Vec<Vec<Switch>> {
        self.grid.orders()
    }

    fn vcs(&self, detours: bool) -> u8 {
        // A dimension of one switch has no cable to cross.
        let hops = self.grid.sizes.iter().filter(|&&n| n > 1).count().max(1) as u8;
        if detours { 2 * hops } else { hops }
    }

    fn middle(&self, from: Switch, to: Switch, rng: &mut Rng) -> Option<Switch> {
        let switch = rng.below(self.grid.switches() as u64) as Switch;
        (switch != from && switch != to).then_some(switch)
    }
}
