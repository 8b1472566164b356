//! What is known of the place where an experiment runs. It is found out once, before a plan is made, and then passed on: a suite asks
//! no machine, so that its plan is a pure function of what it is given.

use crate::health::{self, Health, Vitals};
use crate::layout::{Home, Seat};
use crate::trial::Trial;
use comm::{Comm, Reduce, agree};
use record::Layout;
use std::sync::OnceLock;

/// What a suite may ask for beyond the layout. Finding it out costs messages, so nothing is found that nobody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Memory and cores of a rank.
    Memory,
    /// Which nodes are near node 0 and which are far.
    Distances,
    /// The sockets that the ranks of node 0 are bound to.
    Sockets,
}

/// A site, the same on every rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// How ranks lie on nodes.
    pub layout: Layout,
    /// Whether the machine is simulated: then its hosts are not this one, and its time is virtual.
    pub simulated: bool,
    /// Whether it is one process that no launcher started: somebody's own machine, on which other work goes on.
    pub alone: bool,
    /// The least memory that a rank can have for itself, in bytes; unknown on a simulated machine.
    pub memory: Option<u64>,
    /// The least memory of a node that its ranks have for buffers, or on a simulated machine that of this process.
    pub room: Option<u64>,
    /// The fewest cores that a rank can have for itself.
    pub cores: Option<u32>,
    /// Nodes by their distance; unknown where the machine does not tell.
    pub distances: Option<Distances>,
    /// Whether nodes know their switches.
    pub switches: bool,
    /// And their groups.
    pub groups: bool,
    /// For each slot of node 0 the socket that its rank is bound to, if it is bound to one.
    pub sockets: Vec<Option<u32>>,
    /// What may spoil a measurement there; unknown on a simulated machine.
    pub health: Option<Health>,
    /// What small problems took there, of kernels that somebody wanted tried.
    pub trials: Vec<Trial>,
}

/// The first node at some distances from node 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Distances {
    /// At the smallest one: behind the same switch.
    pub switch: Option<u32>,
    /// At the next larger one, if it is not the largest: in the same group.
    pub group: Option<u32>,
    /// At the largest one.
    pub far: Option<u32>,
}

/// What one rank knows of where it is. The program that starts ranks answers; this crate sees no machine.
pub trait Scout: Sync {
    /// Whether the machine is simulated.
    fn simulated(&self) -> bool;
    /// Whether it is one process that no launcher started.
    fn alone(&self) -> bool {
        false
    }
    /// How far this rank's node is from that of rank 0, in any unit. Collective.
    fn distance(&self, world: &dyn Comm) -> Option<f64>;
    /// The socket that this rank is bound to.
    fn socket(&self) -> Option<u32>;
    /// Where this rank's node is in the network, if all ranks know that of theirs. Collective.
    fn home(&self, _: &dyn Comm) -> Option<Home> {
        None
    }
    /// What this rank sees of its host. Asked on real machines alone, of all ranks at the same time.
    fn vitals(&self) -> Vitals;
}

/// Distances from node 0 that differ by less than this share are equal.
const EQUAL: f64 = 1.02;

impl Site {
    /// A site of which only this is known.
    pub fn new(layout: Layout, simulated: bool) -> Site {
        let (memory, room, cores, distances, health) = (None, None, None, None, None);
        let (alone, switches, groups, sockets, trials) = (false, false, false, Vec::new(), Vec::new());
        Site { layout, simulated, alone, memory, room, cores, distances, switches, groups, sockets, health, trials }
    }

    /// Finds out what is asked for. Collective, and the same on every rank.
    pub fn survey(world: &dyn Comm, seat: &Seat, asks: &[Ask], scout: &dyn Scout) -> Site {
        let mut site = Site { alone: scout.alone(), ..Site::new(seat.layout, scout.simulated()) };
        (site.switches, site.groups) = (seat.home.is_some(), seat.home.is_some_and(|h| h.group.is_some()));
        site.health = health::survey(world, scout);
        site.room = match &site.health {
            Some(health) => health.memory,
            None => process_memory(),
        };
        if asks.contains(&Ask::Memory) && !site.simulated {
            (site.memory, site.cores) = memory_and_cores(world);
        }
        if asks.contains(&Ask::Distances) {
            site.distances = distances(world, seat, scout.distance(world));
        }
        if asks.contains(&Ask::Sockets) {
            site.sockets = sockets(world, seat, scout.socket());
        }
        site
    }
}

/// What this process may use. Asked once: all ranks of a simulated machine are in it.
fn process_memory() -> Option<u64> {
    static HERE: OnceLock<Option<u64>> = OnceLock::new();
    *HERE.get_or_init(|| local::memory_limits::memory().each(1))
}

/// What each rank can have of its node if all of them take the same.
fn memory_and_cores(world: &dyn Comm) -> (Option<u64>, Option<u32>) {
    let here = world.split(Some(world.node() as u32), 0).expect("every rank joins its node");
    let facts = local::host::facts();
    let memory = facts.memory.each(here.size() as u64).map_or(f64::INFINITY, |m| m as f64);
    // A launcher that binds gives each rank its own processors; one that does not gives all of them to all.
    let shared = facts.cpus.len() == facts.machine_cpus;
    let cores = if shared { facts.cores / here.size() } else { facts.cores };
    let memory = agree(world, memory, Reduce::Min);
    let cores = agree(world, cores as f64, Reduce::Min);
    (memory.is_finite().then_some(memory as u64), Some((cores as u32).max(1)))
}

fn distances(world: &dyn Comm, seat: &Seat, distance: Option<f64>) -> Option<Distances> {
    let unknown = f64::from(u8::from(distance.is_none()));
    // Node 0 is where distances are taken from; its ranks only join the reductions.
    let distance = distance.filter(|_| seat.node != 0);
    let mut most = [unknown, distance.unwrap_or(0.0)];
    world.settle(&mut most, Reduce::Max);
    let [unknown, far] = most;
    // One rank that does not know is enough: the nearest node might be its own.
    if unknown > 0.0 {
        return None;
    }
    let least_above = |limit: f64| {
        let mut least = [distance.filter(|d| *d > limit).unwrap_or(f64::INFINITY)];
        world.settle(&mut least, Reduce::Min);
        least[0]
    };
    let near = least_above(0.0);
    let next = least_above(near * EQUAL);
    let wanted =
        [Some(near).filter(|d| d.is_finite()), Some(next).filter(|d| *d * EQUAL < far), Some(far).filter(|d| *d > 0.0)];
    let mut nodes = wanted.map(|wanted| {
        let mine = distance.zip(wanted).is_some_and(|(d, w)| d <= w * EQUAL && d * EQUAL >= w);
        if mine { f64::from(seat.node) } else { f64::INFINITY }
    });
    world.settle(&mut nodes, Reduce::Min);
    let [switch, group, far] = nodes.map(|node| node.is_finite().then_some(node as u32));
    Some(Distances { switch, group, far })
}

fn sockets(world: &dyn Comm, seat: &Seat, socket: Option<u32>) -> Vec<Option<u32>> {
    // 0: not there, or not bound to one socket; 1 + s: on socket s.
    let mut found = vec![0.0; seat.layout.max_ranks_per_node as usize];
    if let (0, Some(socket)) = (seat.node, socket) {
        found[seat.slot as usize] = 1.0 + f64::from(socket);
    }
    world.settle(&mut found, Reduce::Max);
    // Classes of pairs may use only slots that every node has.
    found.truncate(seat.layout.min_ranks_per_node as usize);
    found.into_iter().map(|x| (x > 0.0).then(|| x as u32 - 1)).collect()
}
