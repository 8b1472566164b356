//! Which part of its node a rank is on: the socket or NUMA domain of its processors, the NIC it is next to.
//!
//! Read from the files Linux keeps, below a root that tests may choose. A rank that may run on several sockets is on none of them:
//! that is refused with the remedy, because a guess would spread the slots wrongly without a word.

use std::fs;
use std::path::Path;

/// What ranks may be counted by: the value of `--per`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Packages of processors.
    Socket,
    /// Domains of memory.
    Numa,
    /// Network interfaces.
    Nic,
}

impl Per {
    /// By name; a whole node is no part.
    pub fn named(name: &str) -> Option<Per> {
        match name {
            "socket" => Some(Per::Socket),
            "numa" => Some(Per::Numa),
            "nic" => Some(Per::Nic),
            _ => None,
        }
    }

    /// What one is called.
    pub fn name(self) -> &'static str {
        match self {
            Per::Socket => "socket",
            Per::Numa => "numa",
            Per::Nic => "nic",
        }
    }
}

/// The part of this host that this process is on. NICs of its NUMA domain are dealt to the node's ranks in turn, by `slot`.
pub fn here(per: Per, slot: u32) -> Result<u16, String> {
    part(Path::new("/"), per, &local::host::cpus(), slot)
}

fn part(root: &Path, per: Per, cpus: &[usize], slot: u32) -> Result<u16, String> {
    match per {
        Per::Socket => only("sockets", "socket", cpus.iter().map(|&c| socket(root, c))),
        Per::Numa => only("NUMA domains", "numa", cpus.iter().map(|&c| numa(root, c))),
        Per::Nic => {
            let nics = nics(root);
            let near = only("NUMA domains", "numa", cpus.iter().map(|&c| numa(root, c))).ok().map(i32::from);
            let candidates: Vec<u16> = (0..nics.len() as u16).filter(|&n| near == Some(nics[n as usize].1)).collect();
            let all = (0..nics.len() as u16).collect();
            let candidates = if candidates.is_empty() { all } else { candidates };
            let turn = slot as usize % candidates.len().max(1);
            candidates.get(turn).copied().ok_or_else(|| "no NIC found in /sys/class; leave out --per nic".to_string())
        }
    }
}

/// The one part on which all processors lie.
fn only(what: &str, binding: &str, parts: impl Iterator<Item = Option<u16>>) -> Result<u16, String> {
    let mut parts: Vec<u16> = parts.flatten().collect();
    parts.sort_unstable();
    parts.dedup();
    match parts[..] {
        [one] => Ok(one),
        [] => Err(format!("/sys does not tell the {what} of this rank's processors; leave out --per")),
        _ => Err(format!(
            "a rank may run on {} {what}: bind ranks with the launcher (mpirun --bind-to {binding}, srun --cpu-bind)",
            parts.len()
        )),
    }
}

fn socket(root: &Path, cpu: usize) -> Option<u16> {
    let file = root.join(format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"));
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn numa(root: &Path, cpu: usize) -> Option<u16> {
    let folder = fs::read_dir(root.join(format!("sys/devices/system/cpu/cpu{cpu}"))).ok()?;
    folder.flatten().find_map(|e| e.file_name().to_str()?.strip_prefix("node")?.parse().ok())
}

/// Every NIC with its NUMA domain (-1 if unknown), in the order of names: those of fast networks, or else those of Ethernet that are
/// devices.
fn nics(root: &Path) -> Vec<(String, i32)> {
    for class in ["infiniband", "cxi", "net"] {
        let Ok(folder) = fs::read_dir(root.join("sys/class").join(class)) else { continue };
        let device = |e: fs::DirEntry| {
            let device = e.path().join("device");
            let domain = fs::read_to_string(device.join("numa_node")).ok().and_then(|t| t.trim().parse().ok());
            device.exists().then(|| (e.file_name().to_string_lossy().into_owned(), domain.unwrap_or(-1)))
        };
        let mut found: Vec<(String, i32)> = folder.flatten().filter_map(device).collect();
        if !found.is_empty() {
            found.sort();
            return found;
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn empty(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("tailback-parts-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        root
    }

    /// Two sockets of two NUMA domains with two processors each, and three NICs: two near domain 0, one near domain 3.
    fn host(name: &str) -> PathBuf {
        let root = empty(name);
        for cpu in 0..8 {
            let folder = root.join(format!("sys/devices/system/cpu/cpu{cpu}"));
            fs::create_dir_all(folder.join("topology")).unwrap();
            fs::create_dir_all(folder.join(format!("node{}", cpu / 2))).unwrap();
            fs::write(folder.join("topology/physical_package_id"), format!("{}\n", cpu / 4)).unwrap();
        }
        for (name, domain) in [("mlx5_0", 0), ("mlx5_1", 0), ("mlx5_2", 3)] {
            let device = root.join("sys/class/infiniband").join(name).join("device");
            fs::create_dir_all(&device).unwrap();
            fs::write(device.join("numa_node"), format!("{domain}\n")).unwrap();
        }
        root
    }

    #[test]
    fn a_bound_rank_knows_its_parts() {
        let root = host("bound");
        let of = |per, cpus: &[usize], slot| part(&root, per, cpus, slot);
        assert_eq!(of(Per::Socket, &[4, 5, 6, 7], 0), Ok(1));
        assert_eq!(of(Per::Numa, &[6, 7], 0), Ok(3));
        assert_eq!(
            [0, 1, 2].map(|slot| of(Per::Nic, &[0, 1], slot)),
            [Ok(0), Ok(1), Ok(0)],
            "two NICs near it, in turn"
        );
        assert_eq!([0, 1].map(|slot| of(Per::Nic, &[7], slot)), [Ok(2), Ok(2)], "one NIC near it");
        assert_eq!([0, 1, 2].map(|slot| of(Per::Nic, &[2], slot)), [Ok(0), Ok(1), Ok(2)], "none near it: all, in turn");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn an_unbound_rank_is_refused_with_the_remedy() {
        let root = host("unbound");
        let text = part(&root, Per::Socket, &[3, 4], 0).unwrap_err();
        assert!(text.contains("2 sockets") && text.contains("--bind-to socket"), "{text}");
        assert_eq!(part(&root, Per::Nic, &[0, 7], 2), Ok(2), "unbound ranks take all NICs in turn");
        let empty = empty("empty");
        assert!(part(&empty, Per::Nic, &[0], 0).unwrap_err().contains("no NIC"));
        assert!(part(&empty, Per::Numa, &[0], 0).unwrap_err().contains("leave out --per"));
        [root, empty].iter().for_each(|dir| fs::remove_dir_all(dir).unwrap());
    }
}
