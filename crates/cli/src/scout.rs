//! Where a rank is: how far its node is from node 0, and the socket it is bound to.
//!
//! A simulated machine knows its wires; its nodes have one socket. On a real one, switches come from a file of the site's
//! (`--topology`) or from Slurm's topology plugin (`SLURM_TOPOLOGY_ADDR`, switches from the top down to the node), and sockets from the
//! rank's binding (`parts`).

use crate::machine::Target;
use crate::parts::{self, Per};
use crate::vitals;
use bench::health::Vitals;
use bench::{Home, Scout};
use comm::{Buffer, Comm, Reduce};

/// What ranks are asked on; unlike [`Target`] it can be shared by threads.
#[derive(Clone, Copy)]
pub enum Whereabouts<'a> {
    /// A simulated machine knows its wires.
    Simulated(&'a sim::Simulator),
    /// A real one under MPI: the switches above this node and the node, divided by a tab, or nothing.
    Mpi(&'a str),
    /// This process alone.
    Local,
}

impl Whereabouts<'_> {
    /// A machine's.
    pub fn of(target: &Target) -> Whereabouts<'_> {
        match target {
            Target::Simulated { machine, .. } => Whereabouts::Simulated(machine),
            Target::Mpi { place, .. } => Whereabouts::Mpi(place),
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
            Whereabouts::Mpi(place) => by_switches(world, place),
            Whereabouts::Local => None,
        }
    }

    fn socket(&self) -> Option<u32> {
        match self {
            Whereabouts::Simulated(_) => Some(0),
            Whereabouts::Mpi(_) | Whereabouts::Local => parts::here(Per::Socket, 0).ok().map(u32::from),
        }
    }

    fn home(&self, world: &dyn Comm) -> Option<Home> {
        match self {
            Whereabouts::Simulated(machine) => {
                let (switch, group) = machine.home(world.node());
                Some(Home { switch, group: Some(group) })
            }
            Whereabouts::Mpi(place) => {
                let mine = home(place);
                // One rank that does not know is enough: nobody could say where its node belongs.
                let unknown = |known: bool| f64::from(u8::from(!known));
                let mut most = [unknown(mine.is_some()), unknown(mine.is_some_and(|h| h.group.is_some()))];
                world.settle(&mut most, Reduce::Max);
                mine.filter(|_| most[0] == 0.0).map(|h| Home { group: h.group.filter(|_| most[1] == 0.0), ..h })
            }
            Whereabouts::Local => None,
        }
    }

    fn vitals(&self) -> Vitals {
        vitals::look()
    }
}

/// Longer addresses are cut; no system has so many levels of switches.
const ADDRESS: usize = 512;

/// The number of levels of switches up to the first that this node shares with rank 0's; all ranks take part.
fn by_switches(world: &dyn Comm, mine: &str) -> Option<f64> {
    let mut first = [0u8; ADDRESS];
    let known = mine.len().min(ADDRESS);
    if world.rank() == 0 {
        first[..known].copy_from_slice(&mine.as_bytes()[..known]);
    }
    world.bcast(0, Buffer::Bytes(&mut first));
    let first = String::from_utf8_lossy(&first);
    levels(first.trim_end_matches('\0'), mine)
}

/// Switches from the top, then the node.
fn path(place: &str) -> Option<Vec<&str>> {
    let (switches, node) = place.split_once('\t')?;
    Some(switches.split('.').chain([node]).collect())
}

/// The switch and, where there are several levels, the group of a place.
fn home(place: &str) -> Option<Home> {
    let (switches, _) = place.split_once('\t')?;
    let group = switches.rsplit_once('.').map(|(above, _)| number(above));
    Some(Home { switch: number(switches), group })
}

/// A number for a name. By chance two of many thousand switches may have one, and count as one switch then.
fn number(name: &str) -> u32 {
    // FNV-1a.
    name.bytes().fold(0x811c_9dc5, |h: u32, byte| (h ^ u32::from(byte)).wrapping_mul(0x0100_0193))
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
    fn places_have_a_switch_and_perhaps_a_group() {
        let of = |place: &str| home(place).unwrap();
        let (a, b, c) = (of("top.leaf1\tn1"), of("top.leaf1\tn2"), of("top.leaf2\tn3"));
        assert!(a == b && a.switch != c.switch && a.group == c.group && a.group.is_some());
        assert!(of("leaf1\tn1").group.is_none() && home("").is_none());
        assert_ne!(of("other.leaf1\tn1").switch, a.switch, "names may be used again elsewhere");
    }

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
