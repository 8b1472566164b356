//! Where a rank is: how far its node is from node 0, and the socket it is bound to.
//!
//! A simulated machine knows its wires; its nodes have one socket. On a real one, distances come from Slurm's topology plugin
//! (`SLURM_TOPOLOGY_ADDR`, switches from the top down to the node) and sockets from the rank's binding (`parts`).

use crate::machine::Target;
use crate::parts::{self, Per};
use crate::{slurm, vitals};
use bench::Scout;
use bench::health::Vitals;
use comm::{Buffer, Comm};

/// What ranks are asked on; unlike [`Target`] it can be shared by threads.
#[derive(Clone, Copy)]
pub enum Whereabouts<'a> {
    /// A simulated machine knows its wires.
    Simulated(&'a sim::Simulator),
    /// A real one under MPI.
    Mpi,
    /// This process alone.
    Local,
}

impl Whereabouts<'_> {
    /// A machine's.
    pub fn of(target: &Target) -> Whereabouts<'_> {
        match target {
            Target::Simulated { machine, .. } => Whereabouts::Simulated(machine),
            Target::Mpi { .. } => Whereabouts::Mpi,
            Target::Local => Whereabouts::Local,
        }
    }
}

impl Scout for Whereabouts<'_> {
    fn simulated(&self) -> bool {
        matches!(self, Whereabouts::Simulated(_))
    }

    fn alone(&self) -> bool {
        matches!(self, Whereabouts::Local)
    }

    fn distance(&self, world: &dyn Comm) -> Option<f64> {
        match self {
            Whereabouts::Simulated(_) if world.node() == 0 => Some(0.0),
            Whereabouts::Simulated(machine) => Some(machine.zero_load(0, world.rank(), 1).secs()),
            Whereabouts::Mpi | Whereabouts::Local => by_switches(world),
        }
    }

    fn socket(&self) -> Option<u32> {
        match self {
            Whereabouts::Simulated(_) => Some(0),
            Whereabouts::Mpi | Whereabouts::Local => parts::here(Per::Socket, 0).ok().map(u32::from),
        }
    }

    fn vitals(&self) -> Vitals {
        vitals::look()
    }
}

/// Longer addresses are cut; no system has so many levels of switches.
const ADDRESS: usize = 512;

/// The number of levels of switches up to the first that this node shares with rank 0's; all ranks take part.
fn by_switches(world: &dyn Comm) -> Option<f64> {
    let mine = slurm::place(&|name| std::env::var(name).ok());
    let mut first = [0u8; ADDRESS];
    let known = mine.len().min(ADDRESS);
    if world.rank() == 0 {
        first[..known].copy_from_slice(&mine.as_bytes()[..known]);
    }
    world.bcast(0, Buffer::Bytes(&mut first));
    let first = String::from_utf8_lossy(&first);
    levels(first.trim_end_matches('\0'), &mine)
}

/// Switches from the top, then the node.
fn path(place: &str) -> Option<Vec<&str>> {
    let (switches, node) = place.split_once('\t')?;
    Some(switches.split('.').chain([node]).collect())
}

/// 0 for one node, 1 for two nodes of one switch, and so on; none where there are no switches to compare.
fn levels(a: &str, b: &str) -> Option<f64> {
    let (a, b) = (path(a)?, path(b)?);
    if a.len() != b.len() {
        return None;
    }
    let shared = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    Some((a.len() - shared) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_count_switches_up_to_a_shared_one() {
        let node = |a: &str, b: &str| levels(a, b);
        assert_eq!(node("top.leaf1\tn1", "top.leaf1\tn1"), Some(0.0));
        assert_eq!(node("top.leaf1\tn1.site.org", "top.leaf1\tn2"), Some(1.0));
        assert_eq!(node("top.leaf1\tn1", "top.leaf2\tn9"), Some(2.0));
        assert_eq!(node("a.leaf1\tn1", "b.leaf1\tn1"), Some(3.0));
        assert_eq!((node("", ""), node("", "a\tn2"), node("a\tb", "a.b\tc")), (None, None, None));
    }
}
