//! Topologies: which switches there are, how they are cabled, and which ways lead nearer to a destination.
//!
//! To add one: write `topology/x.rs` with a `pub const X: TopologyEntry` (card, `build`, small shapes for the tests) and a
//! type that implements [`Topology`], name the file below, and add one line to [`TOPOLOGIES`]. `build` refuses impossible
//! parameters by name. A cable is laid with its [`Reach`], from which its buffers follow.
//!
//! The tests iterate the table in every shape. Every port must have its cable, each step of `ways` must bring `hops` down,
//! and the virtual channels must be free of cycles.
//!
//! A topology does not choose among ways (that is `routing/`) and knows nothing of buffers, packets or time.

mod aries;
mod cables;
mod chain;
#[cfg(test)]
mod checks;
mod dragonfly;
mod dragonfly_plus;
mod fat_tree;
mod grid;
mod groups;
mod hyperx;
mod single;
mod sizes;
mod torus;

use crate::Config;
pub use crate::base::{Endpoint, Port, Reach, Switch};
use spec::{Card, Params, Rate, Rng, Time, permutation};

/// Where a packet is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The switch to reach: the destination's, or an intermediate one of a detour.
    pub switch: Switch,
    /// The endpoint the packet is for in the end; fixed routes may depend on it.
    pub endpoint: Endpoint,
}

/// How far a packet has come; what a virtual channel may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The virtual channel (within its class) in which it came, 0 from the NIC.
    pub vc: u8,
    /// Cables between switches that it has crossed.
    pub hops: u8,
    /// The port by which it came into this switch.
    pub came_by: Port,
}

/// Ports that lead nearer, in a fixed order, and which of them a fixed route takes.
#[derive(Default, Debug)]
pub struct Ways {
    /// Candidate ports.
    pub ports: Vec<Port>,
    /// The index in `ports` that deterministic routing takes (d-mod-k and its like).
    pub fixed: usize,
}

impl Ways {
    /// Empties the list.
    pub fn clear(&mut self) {
        self.ports.clear();
        self.fixed = 0;
    }
}

/// A network's shape. Pure: all methods are functions of their arguments.
pub trait Topology: Send + Sync {
    /// Makes switches, attaches endpoints `0..endpoints` and lays cables.
    fn wire(&self, wiring: &mut Wiring);

    /// Adds all ports of `at` that lie on a shortest way to `to.switch`, which is not `at`.
    fn ways(&self, at: Switch, to: Target, out: &mut Ways);

    /// The port that deterministic routing takes; `scratch` may be used.
    fn fixed(&self, at: Switch, to: Target, scratch: &mut Ways) -> Port {
        scratch.clear();
        self.ways(at, to, scratch);
        scratch.ports[scratch.fixed]
    }

    /// Cables on a minimal way between two switches; if minimal ways differ in length, on the longest.
    fn hops(&self, from: Switch, to: Switch) -> u32;

    /// Virtual channels (per class) that keep routes free of deadlock, with or without detours over a middle switch.
    fn vcs(&self, detours: bool) -> u8;

    /// The virtual channel for the next cable, by `port`. The default counts hops, which is always free of cycles if there
    /// are as many channels as hops; trees and tori need fewer and say so.
    fn vc(&self, hop: Hop, _at: Switch, _port: Port) -> u8 {
        hop.hops
    }

    /// A switch to detour over (Valiant), or `None` if a detour makes no sense here.
    fn middle(&self, _from: Switch, _to: Switch, _rng: &mut Rng) -> Option<Switch> {
        None
    }

    /// Whether a detour over `middle` on the way to `to` may end at `at`: where a group is as good as the switch itself.
    fn passed(&self, at: Switch, middle: Switch, _to: Switch) -> bool {
        at == middle
    }

    /// Cables on a way over a middle switch.
    fn detour_hops(&self, from: Switch, middle: Switch, to: Switch) -> u32 {
        self.hops(from, middle) + self.hops(middle, to)
    }

    /// Orders of the switches beside that of their numbers in which few cables may lie between the first and the second half:
    /// along a dimension, or through all groups. See `machine check`'s bisection.
    fn orders(&self) -> Vec<Vec<Switch>> {
        Vec::new()
    }

    /// Whether a packet that has come as far as `at` may still be sent on a detour (progressive routing): the virtual channels
    /// must last. At its first switch it always may.
    fn may_detour(&self, _at: Switch, hop: Hop) -> bool {
        hop.hops == 0
    }
}

/// Builds a topology for a machine, or says which parameter is impossible and what would do.
pub type Build = fn(&Params, &Config) -> Result<Box<dyn Topology>, String>;

/// A line of the table: what it is called and how it is made.
pub struct TopologyEntry {
    /// Name, one line, source, parameters.
    pub card: Card,
    /// How it is made.
    pub build: Build,
    /// What `hops` is.
    pub hops: Hops,
    /// Small machines for the tests: nodes, and parameters. The first has nine nodes and ways over every kind of cable.
    pub shapes: &'static [(usize, &'static str)],
}

/// How [`Topology::hops`] relates to the graph of cables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hops {
    /// It is the distance.
    Distance,
    /// It may be more, for this reason.
    AtLeast(&'static str),
}

/// Of anything that a topology counts at most: products of three of them are counted still. What fits, each says by itself.
const MOST: f64 = 1e6;

/// All topologies, in the order of `list`.
pub const TOPOLOGIES: &[TopologyEntry] = &[
    single::SINGLE,
    chain::CHAIN,
    fat_tree::FAT_TREE,
    dragonfly::DRAGONFLY,
    dragonfly_plus::DRAGONFLY_PLUS,
    aries::ARIES,
    torus::TORUS,
    hyperx::HYPERX,
    cables::CABLES,
];

/// A number below `n` that spreads destinations evenly without a division.
#[inline]
pub(crate) fn pick(endpoint: Endpoint, n: usize) -> usize {
    // A prime next to 2^32 over the golden ratio (Knuth's multiplicative hash) scatters neighbours.
    ((u64::from(endpoint.wrapping_mul(0x9e37_79b1)) * n as u64) >> 32) as usize
}

/// One cable: both directions alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cable {
    /// Rate of each direction.
    pub rate: Rate,
    /// Time of flight.
    pub latency: Time,
    /// How far it reaches: buffers follow from it.
    pub reach: Reach,
    /// What it is called in counters and pictures, for people only: `local`, `green`, `x`.
    pub kind: &'static str,
}

/// One end of a cable.
pub(crate) type Plug = (Switch, Port);

/// What a topology makes: collected here, checked and numbered by the fabric.
#[derive(Default, Debug)]
pub struct Wiring {
    /// Each switch's group: switches of one group are simulated together, and groups in parallel.
    pub(crate) groups: Vec<u32>,
    pub(crate) ports: Vec<Port>,
    /// Each endpoint's switch and port. [`Wiring::deal`] puts them in the order in which nodes take them.
    pub(crate) attached: Vec<Plug>,
    /// Places among these, the last ones, that no node can take.
    pub(crate) unused: usize,
    /// Where groups end in `attached` that no node reaches beyond, and how many nodes each has at most.
    ends: Vec<(usize, usize)>,
    pub(crate) cables: Vec<(Plug, Plug, Cable)>,
}

impl Wiring {
    /// Adds a switch to a group and returns its number. Groups are numbered from 0; put into one group what is near.
    pub fn switch(&mut self, group: u32) -> Switch {
        self.groups.push(group);
        self.ports.push(0);
        self.groups.len() as Switch - 1
    }

    /// Attaches the next endpoint to a switch and returns the port.
    pub fn attach(&mut self, to: Switch) -> Port {
        let port = self.port(to);
        self.attached.push((to, port));
        port
    }

    /// Ends a group: of the places attached since the last one ended so many nodes take theirs, and none takes some of them and
    /// some of the next group. Without ends nodes take all places one after another.
    pub fn end_group(&mut self, nodes: usize) {
        self.ends.push((self.attached.len(), nodes));
    }

    /// Lays a cable and returns the port at either end.
    pub fn cable(&mut self, a: Switch, b: Switch, cable: Cable) -> (Port, Port) {
        let (pa, pb) = (self.port(a), self.port(b));
        self.cables.push(((a, pa), (b, pb), cable));
        (pa, pb)
    }

    /// Puts the places in the order in which nodes take them: group by group, and the NICs of each node at so many neighbouring
    /// switches in turn, instead of all at one.
    pub(crate) fn deal(&mut self, nics: usize, switches: usize) {
        let all = std::mem::take(&mut self.attached);
        let (mut rest, mut first) = (Vec::new(), 0);
        // What lies behind the last end is one group without a limit.
        for &(end, nodes) in self.ends.iter().chain([&(all.len(), usize::MAX)]) {
            let places = dealt(&all[first..end], nics, switches);
            let used = (places.len() / nics).min(nodes) * nics;
            self.attached.extend_from_slice(&places[..used]);
            rest.extend_from_slice(&places[used..]);
            first = end;
        }
        self.unused = rest.len();
        self.attached.append(&mut rest);
    }

    /// Gives so many nodes random places, in the order of the places.
    pub(crate) fn scatter(&mut self, nics: usize, nodes: usize, seed: u64) {
        let room = self.room();
        let places: Vec<&[Plug]> = self.attached[..room].chunks_exact(nics).collect();
        let mut taken = permutation(&mut Rng::new(seed, "allocation", 0), places.len());
        taken.truncate(nodes);
        taken.sort_unstable();
        let mut free = vec![true; places.len()];
        taken.iter().for_each(|&place| free[place as usize] = false);
        let chosen = taken.iter().map(|&place| places[place as usize]);
        let others = places.iter().zip(&free).filter(|(_, free)| **free).map(|(place, _)| *place);
        let rest = &self.attached[places.len() * nics..];
        self.attached = chosen.chain(others).chain([rest]).flatten().copied().collect();
    }

    /// Places that nodes can take.
    pub(crate) fn room(&self) -> usize {
        self.attached.len() - self.unused
    }

    fn port(&mut self, of: Switch) -> Port {
        let port = self.ports[of as usize];
        self.ports[of as usize] = port + 1;
        port
    }
}

/// The places of a group, which are listed switch by switch, in the order in which nodes take them.
fn dealt(attached: &[Plug], nics: usize, switches: usize) -> Vec<Plug> {
    if switches == 1 {
        return attached.to_vec();
    }
    let own: Vec<&[Plug]> = attached.chunk_by(|a, b| a.0 == b.0).collect();
    let (mut dealt, mut rest) = (Vec::with_capacity(attached.len()), Vec::new());
    for set in own.chunks(switches) {
        // Places of a node at each switch; what fills no node is left for the end, and so is a set that is not whole.
        let each = nics / switches;
        let nodes = if set.len() < switches { 0 } else { set.iter().map(|s| s.len() / each).min().unwrap_or(0) };
        for node in 0..nodes {
            dealt.extend((0..nics).map(|nic| set[nic % switches][node * each + nic / switches]));
        }
        set.iter().for_each(|own| rest.extend_from_slice(&own[nodes * each..]));
    }
    dealt.append(&mut rest);
    dealt
}
