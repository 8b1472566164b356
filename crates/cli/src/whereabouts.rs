//! Where a rank is: how far its node is from node 0, and the socket it is bound to.
//!
//! A simulated machine knows its wires; its nodes have one socket. On a real one, distances come from Slurm's topology plugin
//! (`SLURM_TOPOLOGY_ADDR`, switches from the top down to the node) and sockets from the files that Linux keeps them in.

use crate::machine::Machine;
use bench::suites::maxrate::Whereabouts;
use comm::{Buffer, Comm};
use std::fs;
use std::path::Path;

/// What a rank is asked on; unlike [`Machine`] it can be shared by threads.
#[derive(Clone, Copy)]
pub enum Ground<'a> {
    /// A simulated machine knows its wires.
    Simulated(&'a sim::Machine),
    /// A real one, under MPI or alone.
    Real,
}

impl Ground<'_> {
    /// A machine's.
    pub fn of(machine: &Machine) -> Ground<'_> {
        match machine {
            Machine::Simulated { machine, .. } => Ground::Simulated(machine),
            Machine::Mpi(_) | Machine::Local => Ground::Real,
        }
    }

    /// This rank's whereabouts. Collective.
    pub fn find(self, world: &dyn Comm) -> Whereabouts {
        match self {
            Ground::Simulated(machine) => {
                let far = |rank: usize| if world.node() == 0 { 0.0 } else { machine.zero_load(0, rank, 1).secs() };
                Whereabouts { distance: Some(far(world.rank())), socket: Some(0) }
            }
            Ground::Real => Whereabouts { distance: by_switches(world), socket: socket(Path::new("/")) },
        }
    }
}

/// Longer addresses are cut; no system has so many levels of switches.
const ADDRESS: usize = 512;

/// The number of levels of switches up to the first that this node shares with rank 0's; all ranks take part.
fn by_switches(world: &dyn Comm) -> Option<f64> {
    let mine = std::env::var("SLURM_TOPOLOGY_ADDR").unwrap_or_default();
    let mut first = [0u8; ADDRESS];
    let known = mine.len().min(ADDRESS);
    if world.rank() == 0 {
        first[..known].copy_from_slice(&mine.as_bytes()[..known]);
    }
    world.bcast(0, Buffer::Bytes(&mut first));
    let first = String::from_utf8_lossy(&first);
    levels(first.trim_end_matches('\0'), &mine)
}

/// 0 for one node, 1 for two nodes of one switch, and so on; none where there are no switches to compare.
fn levels(a: &str, b: &str) -> Option<f64> {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('.').collect(), b.split('.').collect());
    if a.len() != b.len() || a.len() < 2 {
        return None;
    }
    let shared = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    Some((a.len() - shared) as f64)
}

/// The socket that all processors of this process belong to; none if it may run on several.
fn socket(root: &Path) -> Option<u32> {
    let status = fs::read_to_string(root.join("proc/self/status")).ok()?;
    let list = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:"))?;
    let package = |cpu: u32| {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id");
        fs::read_to_string(root.join(file)).ok()?.trim().parse::<u32>().ok()
    };
    let mut found = cpus(list.trim())?.into_iter().map(package);
    let first = found.next()??;
    found.all(|p| p == Some(first)).then_some(first)
}

/// Reads `0-3,8,10-11`.
fn cpus(list: &str) -> Option<Vec<u32>> {
    let mut all = Vec::new();
    for part in list.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (low.trim().parse::<u32>().ok()?, high.trim().parse::<u32>().ok()?);
        all.extend(low..=high.min(low.saturating_add(1 << 16)));
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_count_switches_up_to_a_shared_one() {
        let node = |a: &str, b: &str| levels(a, b);
        assert_eq!(node("top.leaf1.n1", "top.leaf1.n1"), Some(0.0));
        assert_eq!(node("top.leaf1.n1", "top.leaf1.n2"), Some(1.0));
        assert_eq!(node("top.leaf1.n1", "top.leaf2.n9"), Some(2.0));
        assert_eq!(node("a.leaf1.n1", "b.leaf1.n1"), Some(3.0));
        assert_eq!((node("", ""), node("n1", "n2"), node("a.b", "a.b.c")), (None, None, None));
    }

    #[test]
    fn sockets_come_from_the_processors_a_rank_may_use() {
        assert_eq!(cpus("0-2,8"), Some(vec![0, 1, 2, 8]));
        assert_eq!(cpus("x"), None);
        let root = std::env::temp_dir().join(format!("tailback-sockets-{}", std::process::id()));
        for (cpu, package) in [(0, 0), (1, 0), (2, 1)] {
            let folder = root.join(format!("sys/devices/system/cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("physical_package_id"), format!("{package}\n")).unwrap();
        }
        fs::create_dir_all(root.join("proc/self")).unwrap();
        for (list, found) in [("0-1", Some(0)), ("2", Some(1)), ("0-2", None), ("7", None)] {
            fs::write(root.join("proc/self/status"), format!("Name:\tx\nCpus_allowed_list:\t{list}\n")).unwrap();
            assert_eq!(socket(&root), found, "{list}");
        }
        fs::remove_dir_all(&root).unwrap();
    }
}
