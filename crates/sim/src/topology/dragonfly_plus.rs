//! Dragonfly+: groups of leaves and spines, and cables between the spines of every two groups.
//!
//! ```text
//!   group x     spine 0   spine 1 ======= spine 1   spine 0     group y      cable i of a pair joins spine to spine of one number
//!                 |    \ /    |             |    \ /    |
//!                 |    / \    |             |    / \    |                    every leaf to every spine of its group
//!               leaf 0    leaf 1          leaf 0    leaf 1
//!                | | |                                                       endpoints
//! ```
//!
//! A minimal way goes up to a spine with a cable to the destination's group, over it, and down. A detour goes over a third group, and
//! ends as soon as it is there; a spine without the cable that is needed sends down to a leaf, which knows one that has it.
//!
//! Virtual channels: on any way the pairs (channel, direction) grow in the order up < across < down. A packet keeps its channel while
//! the direction grows and takes the next when it does not, so no cycle can exist.

use super::dragonfly::groups_for;
use super::groups::third_group;
use super::{Cable, Hop, Hops, MOST, Port, Reach, Switch, Target, Topology, TopologyEntry, Ways, Wiring, pick};
use crate::Config;
use spec::{Card, Kind, Param, Params, ReadParams, Rng};

/// See the module.
pub const DRAGONFLY_PLUS: TopologyEntry = TopologyEntry {
    card: Card {
        name: "dragonfly-plus",
        about: "groups of leaves and spines (two-level trees), spines of every two groups joined by cables",
        source: "Shpiner, Haramaty, Eliad, Zdornov, Gafni, Zahavi, HiPINEB 2017",
        params: &[
            Param::new("groups", Kind::Count, "0", "groups, 0 = as many as the nodes need").up_to(MOST),
            Param::new("leaves", Kind::Count, "4", "leaves per group").up_to(MOST),
            Param::new("spines", Kind::Count, "4", "spines per group").up_to(MOST),
            Param::new("endpoints", Kind::Count, "4", "endpoints per leaf").up_to(MOST),
            Param::new("parallel", Kind::Count, "1", "cables between a leaf and a spine").up_to(MOST),
            Param::new("pair_links", Kind::Count, "0", "cables between two groups, 0 = one per spine").up_to(MOST),
            Param::new("local_rate", Kind::Rate, "12.5GB/s", "rate of a cable between leaf and spine"),
            Param::new("local_latency", Kind::Time, "20ns", "its time of flight"),
            Param::new("global_rate", Kind::Rate, "12.5GB/s", "rate of a cable between groups"),
            Param::new("global_latency", Kind::Time, "150ns", "its time of flight"),
        ],
    },
    build,
    hops: Hops::Distance,
    shapes: &[
        (9, "leaves = 2\nspines = 2\nendpoints = 1\npair_links = 1"),
        (12, "leaves = 2\nspines = 3\nendpoints = 1\npair_links = 2"),
        (12, "leaves = 1\nspines = 1\nendpoints = 4\nparallel = 2\npair_links = 3"),
        (8, "leaves = 2\nspines = 2\nendpoints = 2"),
        (4, "leaves = 2\nspines = 2\nendpoints = 2"),
    ],
};

struct DragonflyPlus {
    groups: usize,
    leaves: usize,
    spines: usize,
    endpoints: usize,
    parallel: usize,
    local: Cable,
    global: Cable,
    /// Each switch's group and number there: leaves first, then spines.
    places: Vec<(u16, u16)>,
    /// Cables between spines, in the order in which they are laid.
    globals: Vec<(Switch, Switch)>,
    /// The ports by which each switch leaves for each group, and where the list of the next begins.
    ports: Vec<Port>,
    gates: Vec<u32>,
}

fn build(params: &Params, config: &Config) -> Result<Box<dyn Topology>, String> {
    let count = |name: &str| params.count(name) as usize;
    for name in ["leaves", "spines", "endpoints", "parallel"] {
        if !(1..=1024).contains(&count(name)) {
            return Err(format!("dragonfly-plus: {name}={}: choose 1 to 1024", count(name)));
        }
    }
    let (leaves, spines, endpoints) = (count("leaves"), count("spines"), count("endpoints"));
    let groups = groups_for("dragonfly-plus", count("groups"), leaves * endpoints, config.endpoints())?;
    let pair_links = if count("pair_links") == 0 { spines } else { count("pair_links") };
    if groups > 4096 || groups * (leaves + spines) > 1 << 20 {
        let each = leaves + spines;
        return Err(format!("dragonfly-plus: {groups} groups of {each} switches are too many; at most 4096 groups"));
    }
    // In 64 bits none of these can overflow: all are a million at most.
    let across = ((groups - 1) * pair_links).div_ceil(spines);
    let ports = (endpoints + spines * count("parallel")).max(leaves * count("parallel") + across);
    if ports > 4096 {
        return Err(format!("dragonfly-plus: a switch would have {ports} ports; at most 4096 can be simulated"));
    }
    let cable =
        |rate, latency, reach, kind| Cable { rate: params.rate(rate), latency: params.time(latency), reach, kind };
    let local = cable("local_rate", "local_latency", Reach::Local, "local");
    let global = cable("global_rate", "global_latency", Reach::Global, "global");
    if let Some(c) = [local, global].iter().find(|c| c.rate.bytes_per_s() < 1e6) {
        return Err(format!("dragonfly-plus: the rate of a {} cable, {}, is too low; at least 1MB/s", c.kind, c.rate));
    }
    let mut made = DragonflyPlus {
        groups,
        leaves,
        spines,
        endpoints,
        parallel: count("parallel"),
        local,
        global,
        places: vec![],
        globals: vec![],
        ports: vec![],
        gates: vec![],
    };
    made.number(pair_links);
    Ok(Box::new(made))
}

/// The direction of a cable, in the order in which a packet may keep its channel.
const UP: u8 = 0;
const ACROSS: u8 = 1;
const DOWN: u8 = 2;

impl DragonflyPlus {
    fn each(&self) -> usize {
        self.leaves + self.spines
    }

    fn spine(&self, group: usize, number: usize) -> Switch {
        (group * self.each() + self.leaves + number) as Switch
    }

    fn is_leaf(&self, at: Switch) -> bool {
        usize::from(self.places[at as usize].1) < self.leaves
    }

    /// Places, cables between groups, and tables of ways out.
    fn number(&mut self, pair_links: usize) {
        let each = self.each();
        self.places = (0..self.groups * each).map(|s| ((s / each) as u16, (s % each) as u16)).collect();
        let mut across: Vec<Vec<(usize, Port)>> = vec![Vec::new(); self.places.len()];
        for x in 0..self.groups {
            for y in x + 1..self.groups {
                for i in 0..pair_links {
                    // Pairs of a group begin at different spines, so that all have the same number of cables, or nearly: sums
                    // modulo the groups differ for all pairs of a group, as in a tournament.
                    let number = ((x + y) % self.groups * pair_links + i) % self.spines;
                    let (a, b) = (self.spine(x, number), self.spine(y, number));
                    self.globals.push((a, b));
                    for (from, to) in [(a, y), (b, x)] {
                        // The number that `wire` gives it: it lays these last, in this order.
                        let port = self.leaves * self.parallel + across[from as usize].len();
                        across[from as usize].push((to, port as Port));
                    }
                }
            }
        }
        self.gates.push(0);
        for at in 0..self.places.len() {
            for to in 0..self.groups {
                self.ways_out(at, to, &across);
                self.gates.push(self.ports.len() as u32);
            }
        }
    }

    /// The ports by which a switch leaves for another group.
    fn ways_out(&mut self, at: usize, to: usize, across: &[Vec<(usize, Port)>]) {
        let (group, number) = (usize::from(self.places[at].0), usize::from(self.places[at].1));
        if group == to {
            return;
        }
        let open = |s: Switch| across[s as usize].iter().any(|&(g, _)| g == to);
        if number < self.leaves {
            let spines: Vec<usize> = (0..self.spines).filter(|&spine| open(self.spine(group, spine))).collect();
            for spine in spines {
                let first = self.endpoints + spine * self.parallel;
                self.ports.extend((first..first + self.parallel).map(|p| p as Port));
            }
        } else if open(at as Switch) {
            self.ports.extend(across[at].iter().filter(|&&(g, _)| g == to).map(|&(_, port)| port));
        } else {
            self.ports.extend((0..self.leaves * self.parallel).map(|p| p as Port));
        }
    }

    fn gate(&self, at: Switch, to: u16) -> &[Port] {
        let i = at as usize * self.groups + usize::from(to);
        &self.ports[self.gates[i] as usize..self.gates[i + 1] as usize]
    }

    /// The ports of a switch that lead to a leaf of its own group: all up, or those down to it.
    fn inside(&self, at: Switch, to: Switch) -> (usize, usize) {
        match self.is_leaf(at) {
            true => (self.endpoints, self.spines * self.parallel),
            false => (usize::from(self.places[to as usize].1) * self.parallel, self.parallel),
        }
    }

    /// The direction in which a packet goes that leaves a switch by a port.
    fn direction(&self, at: Switch, port: Port) -> u8 {
        match (self.is_leaf(at), usize::from(port) < self.leaves * self.parallel) {
            (true, _) => UP,
            (false, true) => DOWN,
            (false, false) => ACROSS,
        }
    }
}

impl Topology for DragonflyPlus {
    fn wire(&self, wiring: &mut Wiring) {
        for (at, place) in self.places.iter().enumerate() {
            let switch = wiring.switch(u32::from(place.0));
            if self.is_leaf(at as Switch) {
                (0..self.endpoints).for_each(|_| {
                    wiring.attach(switch);
                });
            }
        }
        // `ways` counts on this order: a leaf has its cables by spine, and a spine by leaf.
        for group in 0..self.groups {
            for leaf in 0..self.leaves {
                for spine in 0..self.spines {
                    for _ in 0..self.parallel {
                        let leaf = (group * self.each() + leaf) as Switch;
                        wiring.cable(leaf, self.spine(group, spine), self.local);
                    }
                }
            }
        }
        for &(a, b) in &self.globals {
            wiring.cable(a, b, self.global);
        }
    }

    #[inline]
    fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
        let (here, there) = (self.places[at as usize].0, self.places[to.switch as usize].0);
        if here == there {
            let (first, count) = self.inside(at, to.switch);
            out.ports.extend((first..first + count).map(|p| p as Port));
        } else {
            out.ports.extend_from_slice(self.gate(at, there));
        }
        out.fixed = pick(to.endpoint, out.ports.len());
    }

    /// Defined from every switch to a leaf.
    fn hops(&self, from: Switch, to: Switch) -> u32 {
        let (here, there) = (self.places[from as usize].0, self.places[to as usize].0);
        match (self.is_leaf(from), here == there) {
            _ if from == to => 0,
            (true, true) => 2,
            (true, false) => 3,
            (false, true) => 1,
            // Over its own cable and down, or down first.
            (false, false) => match self.gate(from, there).first() {
                Some(&port) if self.direction(from, port) == ACROSS => 2,
                _ => 4,
            },
        }
    }

    /// By the pairs that meet at a spine: with fewer cables than spines, groups are joined by some spines more than by others.
    fn orders(&self) -> Vec<Vec<Switch>> {
        let by = |step: usize| {
            let mut order: Vec<Switch> = (0..self.places.len() as Switch).collect();
            order.sort_by_key(|&s| usize::from(self.places[s as usize].0) * step % self.groups);
            order
        };
        // A few are enough, and a larger number is one of these backwards.
        (2..=(self.groups / 2).min(4)).map(by).collect()
    }

    /// Three with detours: until it is turned away at its first spine, on the way to the middle group, and from there on.
    fn vcs(&self, detours: bool) -> u8 {
        if detours { 3 } else { 1 }
    }

    #[inline]
    fn vc(&self, hop: Hop, at: Switch, port: Port) -> u8 {
        if hop.hops == 0 {
            return 0;
        }
        // The direction in which it came is that of the cable seen from here, the other way round.
        let came = DOWN - self.direction(at, hop.came_by);
        hop.vc + u8::from(self.direction(at, port) <= came)
    }

    fn middle(&self, from: Switch, to: Switch, rng: &mut Rng) -> Option<Switch> {
        let (x, y) = (self.places[from as usize].0, self.places[to as usize].0);
        // Inside a group every spine is a way already, and two groups have no third.
        if x == y || self.groups == 2 {
            return None;
        }
        Some(u32::from(third_group(self.groups, x, y, rng)) * self.each() as u32)
    }

    #[inline]
    fn passed(&self, at: Switch, middle: Switch, _: Switch) -> bool {
        self.places[at as usize].0 == self.places[middle as usize].0
    }

    fn detour_hops(&self, from: Switch, middle: Switch, to: Switch) -> u32 {
        // The way goes on from the middle group's spine, and so does without its last step down and without the first up after it.
        (self.hops(from, middle) + self.hops(middle, to)).saturating_sub(2)
    }

    /// A packet may still be turned away at the first spine.
    #[inline]
    fn may_detour(&self, _: Switch, hop: Hop) -> bool {
        hop.hops <= 1
    }
}
