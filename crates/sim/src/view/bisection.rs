//! The least bisection: how much passes between two halves of a network, where that is least.
//!
//! To find the least of all halves is hard in general. A topology knows where it is thin: along a dimension, between groups
//! (`Topology::orders`). Each such order, and that of numbers, is cut where its endpoints are halved. Where switches have no
//! endpoints they may be on either side: then a maximum flow finds the least cut between the two halves. Last, switches of
//! the best cut change sides as long as that makes it less (Kernighan and Lin 1970).
//!
//! Tests hold the result against closed forms, and on small networks against all halves there are.

use crate::base::Switch;
use crate::link::ENDPOINT;
use crate::net::Fabric;
use std::collections::{BTreeMap, VecDeque};

/// A cut between two halves of the endpoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bisection {
    /// What it carries one way, in bytes per second.
    pub(super) rate: f64,
    /// Endpoints of the smaller half: a switch is not divided, so the halves may differ.
    pub(super) endpoints: usize,
}

impl Bisection {
    /// What an endpoint of the smaller half gets.
    fn per_endpoint(&self) -> f64 {
        self.rate / self.endpoints.max(1) as f64
    }
}

/// How many endpoints each switch has.
pub(super) fn endpoints(fabric: &Fabric) -> Vec<usize> {
    let mut ends = vec![0; fabric.switches.len()];
    fabric.endpoints.iter().for_each(|e| ends[e.switch as usize] += 1);
    ends
}

/// The least bisection: the one that leaves an endpoint least.
pub(super) fn least(fabric: &Fabric) -> Bisection {
    let (ends, joined) = (endpoints(fabric), cables(fabric));
    let numbers = (0..fabric.switches.len() as Switch).collect();
    let mut least: Option<Cut> = None;
    for order in std::iter::once(numbers).chain(fabric.topology.orders()) {
        for halves in halved(&order, &ends) {
            let found = cut(&joined, &ends, halves);
            if least.as_ref().is_none_or(|l| found.is_less(l)) {
                least = Some(found);
            }
        }
    }
    let mut least = least.expect("there is always the order of numbers");
    while let Some(less) = exchanged(&joined, &ends, &least) {
        least = less;
    }
    least.bisection
}

/// What two switches exchange one way.
type Joined = BTreeMap<(Switch, Switch), u64>;

fn cables(fabric: &Fabric) -> Joined {
    let mut joined = Joined::new();
    for link in fabric.links.iter().filter(|l| l.from & ENDPOINT == 0 && l.to & ENDPOINT == 0) {
        *joined.entry((link.from, link.to)).or_default() += link.rate as u64;
    }
    joined
}

/// In which half a switch is; those without endpoints are in neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    First,
    Second,
    Neither,
}

/// A cut, and who is where.
struct Cut {
    bisection: Bisection,
    halves: Vec<Half>,
    /// Whether a switch is on the first side, also if it has no endpoints.
    first: Vec<bool>,
}

impl Cut {
    fn is_less(&self, other: &Cut) -> bool {
        self.bisection.per_endpoint() < other.bisection.per_endpoint()
    }
}

/// Cuts an order of switches in the middle of its endpoints; a switch that lies across it may belong to either half.
fn halved(order: &[Switch], ends: &[usize]) -> Vec<Vec<Half>> {
    let all: usize = ends.iter().sum();
    let (mut before, mut across) = (0, None);
    let mut halves = vec![Half::Neither; ends.len()];
    for &s in order.iter().filter(|&&s| ends[s as usize] > 0) {
        let after = before + ends[s as usize];
        halves[s as usize] = if 2 * before >= all { Half::Second } else { Half::First };
        if 2 * before < all && 2 * after > all {
            across = Some(s);
        }
        before = after;
    }
    let mut other = halves.clone();
    match across {
        Some(s) => other[s as usize] = Half::Second,
        None => return vec![halves],
    }
    // One switch alone cannot be divided: then one side is empty, and nothing is cut.
    let whole = |h: &Vec<Half>| h.contains(&Half::First) && h.contains(&Half::Second);
    let both = vec![halves, other];
    if both.iter().any(whole) { both.into_iter().filter(whole).collect() } else { both }
}

/// The cut between two halves.
fn cut(joined: &Joined, ends: &[usize], halves: Vec<Half>) -> Cut {
    let count = |half| ends.iter().zip(&halves).filter(|(_, h)| **h == half).map(|(n, _)| n).sum::<usize>();
    let endpoints = count(Half::First).min(count(Half::Second));
    let first = if halves.contains(&Half::Neither) {
        min_cut(joined, &halves)
    } else {
        halves.iter().map(|&h| h == Half::First).collect()
    };
    let across = |&(a, b): &(Switch, Switch)| first[a as usize] && !first[b as usize];
    let rate: u64 = joined.iter().filter(|(pair, _)| across(pair)).map(|(_, rate)| rate).sum();
    Cut { bisection: Bisection { rate: rate as f64, endpoints }, halves, first }
}

/// Networks of more switches are cut along the orders of their topology only.
// The time of a pass grows with the square of their number.
const MOST_SWITCHES: usize = 2048;

/// A pass of Kernighan and Lin: pairs of switches with equally many endpoints change sides, the best first and each switch
/// once, also if a pair makes the cut worse for the time being. The cut after the best pair, if it is less than before.
fn exchanged(joined: &Joined, ends: &[usize], from: &Cut) -> Option<Cut> {
    if ends.len() > MOST_SWITCHES {
        return None;
    }
    let mut near: Vec<Vec<(usize, i64)>> = vec![Vec::new(); ends.len()];
    for (&(a, b), &rate) in joined {
        near[a as usize].push((b as usize, rate as i64));
    }
    let mut first = from.first.clone();
    let mut open: Vec<bool> = from.halves.iter().map(|&h| h != Half::Neither).collect();
    // What a switch that changes sides takes out of the cut.
    let gain = |s: usize, first: &[bool]| -> i64 {
        near[s].iter().map(|&(t, rate)| if first[t] == first[s] { -rate } else { rate }).sum()
    };
    let mut gains: Vec<i64> = (0..ends.len()).map(|s| gain(s, &first)).collect();
    let (mut total, mut best, mut pairs) = (0, (0, 0), Vec::new());
    loop {
        let side = |is_first: bool| (0..ends.len()).filter(|&s| open[s] && first[s] == is_first).collect::<Vec<_>>();
        let Some(a) = side(true).into_iter().max_by_key(|&s| (gains[s], std::cmp::Reverse(s))) else { break };
        let joint = |b: usize| near[a].iter().filter(|n| n.0 == b).map(|n| n.1).sum::<i64>();
        let partners = side(false).into_iter().filter(|&b| ends[b] == ends[a]);
        open[a] = false;
        // Without a partner of its size a switch stays where it is for this pass.
        let Some(b) = partners.max_by_key(|&b| (gains[b] - 2 * joint(b), std::cmp::Reverse(b))) else { continue };
        open[b] = false;
        total += gains[a] + gains[b] - 2 * joint(b);
        (first[a], first[b]) = (false, true);
        for &(t, _) in near[a].iter().chain(&near[b]) {
            gains[t] = gain(t, &first);
        }
        pairs.push((a, b));
        best = best.max((total, pairs.len()));
    }
    let mut halves = from.halves.clone();
    for &(a, b) in &pairs[..best.1] {
        (halves[a], halves[b]) = (Half::Second, Half::First);
    }
    Some(cut(joined, ends, halves)).filter(|less| less.is_less(from))
}

/// The first side of the minimum cut between the two halves (Ford and Fulkerson's theorem; Dinic's algorithm).
fn min_cut(joined: &Joined, halves: &[Half]) -> Vec<bool> {
    let n = halves.len();
    let mut flow = MaxFlow::new(n + 2);
    for (&(a, b), &rate) in joined {
        flow.edge(a as usize, b as usize, rate);
    }
    for (s, half) in halves.iter().enumerate() {
        match half {
            // More than all cables together, and far enough from the top that no sum overflows.
            Half::First => flow.edge(n, s, u64::MAX / 4),
            Half::Second => flow.edge(s, n + 1, u64::MAX / 4),
            Half::Neither => {}
        }
    }
    let reached = flow.fill(n, n + 1);
    reached[..n].to_vec()
}

/// A network of flows: each edge and its reverse lie together.
struct MaxFlow {
    to: Vec<u32>,
    room: Vec<u64>,
    out: Vec<Vec<u32>>,
}

impl MaxFlow {
    fn new(n: usize) -> MaxFlow {
        MaxFlow { to: Vec::new(), room: Vec::new(), out: vec![Vec::new(); n] }
    }

    fn edge(&mut self, a: usize, b: usize, room: u64) {
        for (from, to, room) in [(a, b, room), (b, a, 0)] {
            self.out[from].push(self.to.len() as u32);
            self.to.push(to as u32);
            self.room.push(room);
        }
    }

    fn levels(&self, from: usize) -> Vec<u32> {
        let mut level = vec![u32::MAX; self.out.len()];
        level[from] = 0;
        let mut queue = VecDeque::from([from]);
        while let Some(v) = queue.pop_front() {
            for &e in &self.out[v] {
                let w = self.to[e as usize] as usize;
                if self.room[e as usize] > 0 && level[w] == u32::MAX {
                    level[w] = level[v] + 1;
                    queue.push_back(w);
                }
            }
        }
        level
    }

    /// Sends along edges that lead one level on, as much as goes.
    fn push(&mut self, v: usize, end: usize, most: u64, level: &[u32], next: &mut [usize]) -> u64 {
        if v == end {
            return most;
        }
        let mut sent = 0;
        while next[v] < self.out[v].len() && sent < most {
            let e = self.out[v][next[v]] as usize;
            let w = self.to[e] as usize;
            if self.room[e] > 0 && level[w] == level[v] + 1 {
                let part = self.push(w, end, self.room[e].min(most - sent), level, next);
                self.room[e] -= part;
                self.room[e ^ 1] += part;
                sent += part;
                if sent == most {
                    break;
                }
            }
            next[v] += 1;
        }
        sent
    }

    /// Sends as much as goes, and says what is then still reached from the source.
    fn fill(&mut self, from: usize, to: usize) -> Vec<bool> {
        loop {
            let level = self.levels(from);
            if level[to] == u32::MAX {
                return level.iter().map(|&l| l != u32::MAX).collect();
            }
            self.push(from, to, u64::MAX / 4, &level, &mut vec![0; self.out.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::topology::TOPOLOGIES;

    fn fabric(kind: &str, nodes: usize, more: &str) -> Fabric {
        let text = format!("nodes = {nodes}\n[topology]\nkind = \"{kind}\"\n{more}\n");
        Fabric::new(&Config::from_toml(&text).unwrap()).unwrap()
    }

    /// Topology, nodes, parameters, and how many cables are cut; all carry 12.5 GB/s.
    const CLOSED: &[(&str, usize, &str, u64)] = &[
        ("single-switch", 8, "", 0),
        ("chain", 8, "switches = 4", 1),
        ("chain", 9, "switches = 3", 1),
        // Half of the cables up: leaves / 2 x up. The tapered one has 8 leaves with 3 cables up.
        ("fat-tree", 64, "radix = 16", 32),
        ("fat-tree", 48, "radix = 9\ntaper = 2\ndown = 6", 12),
        // Pods / 2 x aggregation switches x cables up, unless the leaves of half of the pods have fewer.
        ("fat-tree", 16, "levels = 3\nradix = 4", 8),
        ("fat-tree", 72, "levels = 3\nradix = 9\ntaper = 2\npod = 3\nagg_up = 2", 12),
        ("fat-tree", 72, "levels = 3\nradix = 9\ntaper = 2\npod = 3\nagg_up = 4", 18),
        // (Groups / 2)^2 x cables of a pair; if these are many, every group is halved: groups x (switches / 2)^2.
        ("dragonfly", 64, "groups = 8\nswitches = 4\nendpoints = 2\npair_links = 1", 16),
        ("dragonfly", 8, "groups = 2\nswitches = 4\nendpoints = 1\npair_links = 16", 8),
        // As a dragonfly; or half of the leaves, each with its cables up, if that is less.
        ("dragonfly-plus", 16, "groups = 4\nleaves = 2\nspines = 2\nendpoints = 2\npair_links = 1", 4),
        ("dragonfly-plus", 16, "groups = 4\nleaves = 2\nspines = 2\nendpoints = 2\npair_links = 4", 8),
        ("cables", 8, "switches = \"a:2 b:2 c:2 d:2\"\ncables = \"a b; b c; c d\"", 1),
        // The same; halved by slots: groups x chassis x (slots / 2)^2, by chassis: groups x slots x (chassis / 2)^2 x black.
        ("aries", 16, "groups = 2\nchassis = 2\nslots = 4\nendpoints = 1\nblue_links = 8", 8),
        ("aries", 16, "groups = 2\nchassis = 2\nslots = 4\nendpoints = 1\nblue_links = 64", 16),
        ("aries", 16, "groups = 2\nchassis = 4\nslots = 2\nendpoints = 1\nblue_links = 64\ngreen_links = 5", 40),
        ("aries", 16, "groups = 2\nchassis = 2\nslots = 4\nendpoints = 1\nblue_links = 64\nblack_links = 1", 8),
        // Across the longest dimension, twice if it is a ring: 2 x switches / longest.
        ("torus", 64, "dims = \"16x2x2\"\nendpoints = 1", 8),
        ("torus", 64, "dims = \"2x16x2\"\nendpoints = 1", 8),
        ("torus", 64, "dims = \"2x2x16\"\nendpoints = 1", 8),
        ("torus", 128, "dims = \"8x4x4\"\nendpoints = 1", 32),
        ("torus", 128, "dims = \"4x8x4\"\nendpoints = 1", 32),
        ("torus", 128, "dims = \"4x4x8\"\nendpoints = 1", 32),
        ("torus", 32, "dims = \"8x4\"\nendpoints = 1\nwrap = false", 4),
        ("torus", 32, "dims = \"4x8\"\nendpoints = 1\nwrap = false", 4),
        ("torus", 16, "dims = \"4x4\"\nendpoints = 1\nrate = \"12.5GB/s,37.5GB/s\"", 8),
        ("torus", 16, "dims = \"4x4\"\nendpoints = 1\nrate = \"37.5GB/s,12.5GB/s\"", 8),
        ("torus", 64, "dims = \"2x2x2x2x4\"\nendpoints = 1", 32),
        // Across the dimension in which that costs least: (n / 2)^2 x switches / n.
        ("hyperx", 32, "dims = \"4x8\"\nendpoints = 1", 32),
        ("hyperx", 32, "dims = \"8x4\"\nendpoints = 1", 32),
        ("hyperx", 24, "dims = \"4x3x2\"\nendpoints = 1\nparallel = 2", 24),
        ("hyperx", 24, "dims = \"2x3x4\"\nendpoints = 1\nparallel = 2", 24),
    ];

    #[test]
    fn closed_forms() {
        for &(kind, nodes, more, cables) in CLOSED {
            // Cables of aries are told apart by their rates; here they are alike.
            let alike = if kind == "aries" { "\nlocal_rate = \"12.5GB/s\"\nglobal_rate = \"12.5GB/s\"" } else { "" };
            let found = least(&fabric(kind, nodes, &format!("{more}{alike}")));
            assert_eq!(found.rate, cables as f64 * 12.5e9, "{kind} {more}");
        }
        for entry in TOPOLOGIES {
            assert!(CLOSED.iter().any(|c| c.0 == entry.card.name), "{} has no closed form", entry.card.name);
        }
    }

    /// The least that an endpoint gets, of all cuts that halve the endpoints at least as evenly as `found` does.
    fn by_trial(fabric: &Fabric, found: Bisection) -> f64 {
        let (ends, joined) = (endpoints(fabric), cables(fabric));
        let with: Vec<usize> = (0..ends.len()).filter(|&s| ends[s] > 0).collect();
        let mut least = f64::INFINITY;
        for set in 0u32..1 << (with.len() - 1) {
            let mut halves = vec![Half::Neither; ends.len()];
            for (bit, &s) in with.iter().enumerate() {
                halves[s] = if set >> bit & 1 == 1 { Half::First } else { Half::Second };
            }
            let first: usize = with.iter().filter(|&&s| halves[s] == Half::First).map(|&s| ends[s]).sum();
            if first.min(fabric.endpoints.len() - first) >= found.endpoints {
                least = least.min(cut(&joined, &ends, halves).bisection.per_endpoint());
            }
        }
        least
    }

    /// Switches with endpoints of which all halves can be tried.
    const FEW: usize = 12;

    #[test]
    fn no_halves_of_a_small_network_are_joined_by_less() {
        let mut tried = 0;
        for entry in TOPOLOGIES {
            for &(nodes, more) in [(12, "")].iter().chain(entry.shapes) {
                let fabric = fabric(entry.card.name, nodes, more);
                if endpoints(&fabric).iter().filter(|&&n| n > 0).count() <= FEW {
                    let found = least(&fabric);
                    let (name, least) = (entry.card.name, by_trial(&fabric, found));
                    assert_eq!(found.per_endpoint(), least, "{name} {more}");
                    tried += 1;
                }
            }
        }
        assert!(tried > 2 * TOPOLOGIES.len(), "{tried} shapes are small enough");
    }
}
