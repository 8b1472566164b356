//! Tori of any dimensions (Gemini, BlueGene, Tofu's kind): each switch is cabled to its neighbours, with or without wrap.
//!
//! Ways follow the dimensions in order, and at a distance of exactly half a ring both directions are shortest. Virtual
//! channels: in a ring a packet changes from the even to the odd channel on the cable that wraps round (the dateline), so
//! that neither channel closes the ring; a detour's second half uses the next pair.

use super::grid::Grid;
use super::{Cable, Hop, Hops, MOST, Port, Reach, Switch, Target, Topology, TopologyEntry, Ways, Wiring};
use crate::Config;
use spec::{Card, Kind, Param, Params, ReadParams, Rng};

/// See the module.
pub const TORUS: TopologyEntry = TopologyEntry {
    card: Card {
        name: "torus",
        about: "a grid of switches, each cabled to its neighbours",
        source: "dateline channels: Dally, Seitz 1987",
        params: &[
            Param::new("dims", Kind::Text, "4x4x4", "switches in each dimension"),
            Param::new("endpoints", Kind::Count, "2", "endpoints per switch").up_to(MOST),
            Param::new("wrap", Kind::Choice(&["true", "false"]), "true", "cables round the ends"),
            Param::new("rate", Kind::Text, "12.5GB/s", "rate of a cable, or a list, one per dimension"),
            Param::new("latency", Kind::Time, "20ns", "time of flight of a cable"),
        ],
    },
    build,
    hops: Hops::Distance,
    shapes: &[
        (9, "dims = \"3x3\"\nendpoints = 1"),
        (12, "dims = \"4x3\"\nendpoints = 1"),
        (12, "dims = \"6x2\"\nendpoints = 1"),
        (16, "dims = \"4x4\"\nendpoints = 1\nwrap = false"),
        (18, "dims = \"3x2x3\"\nendpoints = 1"),
    ],
};

/// What cables are called, by dimension.
const KINDS: [&str; 6] = ["x", "y", "z", "a", "b", "c"];

struct Torus {
    grid: Grid,
    endpoints: usize,
    wrap: bool,
    cables: Vec<Cable>,
    /// For each switch, dimension and direction (down, up): the port, or [`NONE`].
    ports: Vec<Port>,
}

const NONE: Port = Port::MAX;

fn build(params: &Params, config: &Config) -> Result<Box<dyn Topology>, String> {
    let grid = Grid::read("torus", params.word("dims"), KINDS.len())?;
    let endpoints = params.count("endpoints") as usize;
    grid.fits("torus", config.endpoints(), endpoints)?;
    let rates = grid.rates("torus", params)?;
    let latency = params.time("latency");
    let cables =
        rates.iter().zip(KINDS).map(|(&rate, kind)| Cable { rate, latency, reach: Reach::Local, kind }).collect();
    let mut torus = Torus { grid, endpoints, wrap: params.word("wrap") == "true", cables, ports: Vec::new() };
    torus.find_ports();
    Ok(Box::new(torus))
}

impl Torus {
    /// All cables in the order in which they are laid: from a switch up in a dimension.
    fn cables(&self) -> Vec<(Switch, Switch, usize)> {
        let mut all = Vec::new();
        for (d, &n) in self.grid.sizes.iter().enumerate() {
            for s in 0..self.grid.switches() as Switch {
                let x = self.grid.point(s)[d];
                // A ring of two has one cable, not two.
                if x + 1 < n || (self.wrap && n > 2) {
                    all.push((s, self.grid.moved(s, d, if x + 1 < n { x + 1 } else { 0 }), d));
                }
            }
        }
        all
    }

    fn find_ports(&mut self) {
        let (d, switches) = (self.grid.sizes.len(), self.grid.switches());
        self.ports = vec![NONE; switches * d * 2];
        // The numbers that `wire` gives: endpoints first, then cables in the order of `cables`.
        let mut next = vec![self.endpoints as Port; switches];
        for (a, b, dim) in self.cables() {
            self.ports[(a as usize * d + dim) * 2 + 1] = next[a as usize];
            self.ports[(b as usize * d + dim) * 2] = next[b as usize];
            next[a as usize] += 1;
            next[b as usize] += 1;
        }
    }

    fn port(&self, s: Switch, dim: usize, up: bool) -> Port {
        self.ports[(s as usize * self.grid.sizes.len() + dim) * 2 + usize::from(up)]
    }

    /// The dimension and direction of a port.
    fn direction(&self, s: Switch, port: Port) -> (usize, bool) {
        let n = self.grid.sizes.len() * 2;
        let mine = &self.ports[s as usize * n..(s as usize + 1) * n];
        // `vc` asks for the next cable, and for the one a packet came by only after its first hop: never for an endpoint's port.
        let i = mine.iter().position(|&p| p == port).expect("a port of a cable");
        (i / 2, i % 2 == 1)
    }

    /// How far up and how far down; `None` if that way is closed.
    fn distances(&self, dim: usize, from: u16, to: u16) -> (Option<u16>, Option<u16>) {
        let n = self.grid.sizes[dim];
        if self.wrap && n > 2 {
            // From a place to itself it is 0 up and n down; callers take the smaller.
            let up = if to >= from { to - from } else { to + n - from };
            (Some(up), Some(n - up))
        } else {
            ((to >= from).then(|| to - from), (to <= from).then(|| from - to))
        }
    }
}

impl Topology for Torus {
    fn wire(&self, wiring: &mut Wiring) {
        for s in 0..self.grid.switches() as Switch {
            wiring.switch(self.grid.part(s));
            for _ in 0..self.endpoints {
                wiring.attach(s);
            }
        }
        for (a, b, dim) in self.cables() {
            wiring.cable(a, b, self.cables[dim]);
        }
    }

    #[inline]
    fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
        let (here, there) = (self.grid.point(at), self.grid.point(to.switch));
        let Some(dim) = (0..here.len()).find(|&d| here[d] != there[d]) else { return };
        let (up, down) = self.distances(dim, here[dim], there[dim]);
        // A closed way is longer than any open one, and one of the two is always open.
        let (up, down) = (up.unwrap_or(u16::MAX), down.unwrap_or(u16::MAX));
        if up <= down {
            out.ports.push(self.port(at, dim, true));
        }
        if down <= up {
            out.ports.push(self.port(at, dim, false));
        }
        out.fixed = super::pick(to.endpoint, out.ports.len());
    }

    fn hops(&self, from: Switch, to: Switch) -> u32 {
        let (a, b) = (self.grid.point(from), self.grid.point(to));
        let far = |d: usize| {
            let (up, down) = self.distances(d, a[d], b[d]);
            u32::from(up.unwrap_or(u16::MAX).min(down.unwrap_or(u16::MAX)))
        };
        (0..a.len()).map(far).sum()
    }

    fn orders(&self) -> Vec<Vec<Switch>> {
        self.grid.orders()
    }

    fn vcs(&self, detours: bool) -> u8 {
        let rings = if self.wrap { 2 } else { 1 };
        if detours { 2 * rings } else { rings }
    }

    fn vc(&self, hop: Hop, at: Switch, port: Port) -> u8 {
        let (dim, up) = self.direction(at, port);
        let (x, n) = (self.grid.point(at)[dim], self.grid.sizes[dim]);
        let rings = if self.wrap { 2 } else { 1 };
        let wraps = u8::from(self.wrap && n > 2 && x == if up { n - 1 } else { 0 });
        if hop.hops == 0 {
            return wraps;
        }
        // The port by which a packet came leads back: it travels in the opposite direction.
        let (came, back) = self.direction(at, hop.came_by);
        if dim == came && up != back {
            // On along the same ring: past the dateline a packet stays in the odd channel.
            return hop.vc | wraps;
        }
        // Dimensions only grow on a minimal way, so one that does not begins the detour's second half.
        let half = hop.vc / rings + u8::from(dim <= came);
        half * rings + wraps
    }

    fn middle(&self, from: Switch, to: Switch, rng: &mut Rng) -> Option<Switch> {
        let switch = rng.below(self.grid.switches() as u64) as Switch;
        (switch != from && switch != to).then_some(switch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Fabric;

    #[test]
    fn impossible_shapes_are_named() {
        let refused = |more: &str| {
            let text = format!("nodes = 64\n[topology]\nkind = \"torus\"\n{more}\n");
            Fabric::new(&Config::from_toml(&text).unwrap()).err().expect("refused").to_string()
        };
        assert!(refused("dims = \"4x0\"").contains("dims=4x0: not a list of sizes; write sizes like 8x8x4"));
        assert!(refused("dims = \"2x2\"").contains("have room for 8 and the machine has 64"));
        assert!(refused("rate = \"1GB/s,2GB/s\"").contains("2 rates for 3 dimensions"));
        assert!(refused("rate = \"fast\"").contains("`fast` is not a rate"));
    }
}
