//! How much memory this process may use: the least of what the machine has and of every limit that somebody set.
//!
//! | limit | whose | where it is read |
//! |---|---|---|
//! | physical memory | of all processes of the host | `/proc/meminfo` |
//! | control group, version 2 | of all processes in it | `memory.max` of its own group and of every group above it |
//! | control group, version 1 | of all processes in it | `memory.limit_in_bytes`, the same way |
//! | Slurm | of all processes of the job on the host | `SLURM_MEM_PER_NODE`, or `SLURM_MEM_PER_CPU` for `SLURM_CPUS_ON_NODE` |
//! | `ulimit -v`, `ulimit -d` | of this process | the system call, less what the process has mapped already |
//!
//! `ulimit -m` is not among them: Linux takes it and does nothing with it.

use rustix::process::{Resource, getrlimit};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// A number of bytes, and who set it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit {
    /// How many.
    pub bytes: u64,
    /// Who, in words.
    pub by: String,
}

/// What a process may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The least of the limits that it shares with the other processes of the host.
    pub shared: Option<Limit>,
    /// The least of its own.
    pub own: Option<Limit>,
    /// What can be had without swapping at present, at most what is shared.
    pub available: Option<u64>,
}

impl Memory {
    /// What each of `processes` may take, if all on the host take the same.
    pub fn each(&self, processes: u64) -> Option<u64> {
        let shared = self.available.or(self.shared.as_ref().map(|l| l.bytes)).map(|bytes| bytes / processes.max(1));
        let own = self.own.as_ref().map(|l| l.bytes);
        shared.into_iter().chain(own).min()
    }

    /// What `processes` on the host may take together.
    pub fn all(&self, processes: u64) -> Option<u64> {
        let shared = self.available.or(self.shared.as_ref().map(|l| l.bytes));
        let own = self.own.as_ref().map(|l| l.bytes.saturating_mul(processes));
        shared.into_iter().chain(own).min()
    }
}

/// What this process may use.
pub fn memory() -> Memory {
    let at = Place { root: Path::new("/"), environment: &|name| std::env::var(name).ok(), ulimit: &ulimit };
    at.memory()
}

/// One kind of limit on this process in bytes, if there is one.
fn ulimit(kind: Ulimit) -> Option<u64> {
    getrlimit(match kind {
        Ulimit::AddressSpace => Resource::As,
        Ulimit::Data => Resource::Data,
    })
    .current
}

/// Limits of a process that bind on Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ulimit {
    AddressSpace,
    Data,
}

/// Where things are read; tests make one up.
struct Place<'a> {
    root: &'a Path,
    environment: &'a dyn Fn(&str) -> Option<String>,
    ulimit: &'a dyn Fn(Ulimit) -> Option<u64>,
}

impl Place<'_> {
    fn memory(&self) -> Memory {
        let meminfo = self.read("proc/meminfo");
        let physical = kilobytes(&meminfo, "MemTotal").map(|bytes| Limit { bytes, by: "physical memory".into() });
        let shared = physical.into_iter().chain(self.groups()).chain(self.slurm()).min();
        // The books of the host know nothing of groups.
        let available = kilobytes(&meminfo, "MemAvailable");
        let available = available.map(|bytes| shared.as_ref().map_or(bytes, |l| bytes.min(l.bytes)));
        Memory { shared, own: self.own(), available }
    }

    fn read(&self, path: &str) -> String {
        read_to_string(self.root.join(path)).unwrap_or_default()
    }

    /// What is left of the limits of this process.
    fn own(&self) -> Option<Limit> {
        let status = self.read("proc/self/status");
        let left = |kind, used: &str, by: &str| {
            let most = (self.ulimit)(kind)?;
            Some(Limit { bytes: most.saturating_sub(kilobytes(&status, used).unwrap_or(0)), by: by.into() })
        };
        let all = [left(Ulimit::AddressSpace, "VmSize", "ulimit -v"), left(Ulimit::Data, "VmData", "ulimit -d")];
        all.into_iter().flatten().min()
    }

    /// What Slurm gave the job on this host. Nothing, or 0, is all of it.
    fn slurm(&self) -> Option<Limit> {
        let number = |name| megabytes(&(self.environment)(name)?).filter(|bytes| *bytes > 0);
        if let Some(bytes) = number("SLURM_MEM_PER_NODE") {
            return Some(Limit { bytes, by: "SLURM_MEM_PER_NODE".into() });
        }
        let cpus = (self.environment)("SLURM_CPUS_ON_NODE")?.trim().parse::<u64>().ok().filter(|cpus| *cpus > 0)?;
        let bytes = number("SLURM_MEM_PER_CPU")?.saturating_mul(cpus);
        Some(Limit { bytes, by: "SLURM_MEM_PER_CPU x SLURM_CPUS_ON_NODE".into() })
    }

    /// Limits of the control groups that this process is in, of both versions: a host may have mounted both.
    fn groups(&self) -> Vec<Limit> {
        let own = self.read("proc/self/cgroup");
        let mut all = Vec::new();
        for mount in mounts(&self.read("proc/self/mountinfo")) {
            let Some(group) = mount.group_of(&own) else { continue };
            // Up to the top: every group above limits too.
            for dir in group.ancestors() {
                let folder = self.root.join(mount.at.trim_start_matches('/')).join(dir);
                let text = read_to_string(folder.join(mount.file)).unwrap_or_default();
                // `max`, no limit, is no number; version 1 writes a number above any memory, which is never the least.
                let bytes = text.trim().parse::<u64>().ok();
                let by = || format!("control group {}", Path::new("/").join(dir).join(mount.file).display());
                all.extend(bytes.map(|bytes| Limit { bytes, by: by() }));
            }
        }
        all
    }
}

/// A mounted tree of control groups that limits memory.
struct Mount {
    /// Which group its top is.
    top: String,
    /// Where it is mounted.
    at: String,
    file: &'static str,
    version: u8,
}

impl Mount {
    /// The folder of this process's group below the mount, from its own list of groups.
    fn group_of(&self, own: &str) -> Option<PathBuf> {
        let path = own.lines().find_map(|line| {
            let mut words = line.splitn(3, ':');
            let (number, controllers, path) = (words.next()?, words.next()?, words.next()?);
            let here = match self.version {
                2 => number == "0" && controllers.is_empty(),
                _ => controllers.split(',').any(|c| c == "memory"),
            };
            here.then_some(path)
        })?;
        // A container may see a part of the tree and be told its group in the whole tree; or one outside, which it sees as the top.
        let below = path.strip_prefix(self.top.trim_end_matches('/')).unwrap_or("");
        let inside = !below.split('/').any(|word| word == "..");
        Some(PathBuf::from(if inside { below.trim_matches('/') } else { "" }))
    }
}

/// The trees in a list of mounts: `36 25 0:31 TOP AT OPTIONS - TYPE SOURCE OPTIONS`.
fn mounts(list: &str) -> Vec<Mount> {
    let one = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let (left, right): (Vec<&str>, Vec<&str>) = (left.split(' ').collect(), right.split(' ').collect());
        let (top, at) = (left.get(3)?.to_string(), left.get(4)?.to_string());
        match *right.first()? {
            "cgroup2" => Some(Mount { top, at, file: "memory.max", version: 2 }),
            "cgroup" if right.get(2)?.split(',').any(|o| o == "memory") => {
                Some(Mount { top, at, file: "memory.limit_in_bytes", version: 1 })
            }
            _ => None,
        }
    };
    list.lines().filter_map(one).collect()
}

/// The number of bytes in a line `KEY:   24 kB`.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Slurm's notation: mebibytes, or with a letter.
fn megabytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.strip_suffix(['K', 'M', 'G', 'T']) {
        Some(digits) => (digits, 10 * (1 + "KMGT".find(&text[digits.len()..])?)),
        None => (text, 20),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MIB: u64 = 1 << 20;

    /// A host of these files, this environment and these limits of the process.
    struct Made {
        root: PathBuf,
        environment: Vec<(&'static str, &'static str)>,
        ulimits: Vec<(Ulimit, u64)>,
    }

    impl Made {
        fn new(name: &str, files: &[(&str, &str)]) -> Made {
            let root = std::env::temp_dir().join(format!("tailback-memory-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&root);
            let made = Made { root, environment: Vec::new(), ulimits: Vec::new() };
            made.write("proc/meminfo", "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\n");
            files.iter().for_each(|(path, text)| made.write(path, text));
            made
        }

        fn write(&self, path: &str, text: &str) {
            let file = self.root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }

        fn memory(&self) -> Memory {
            let environment = |name: &str| {
                let mut given = self.environment.iter();
                given.find(|(n, _)| *n == name).map(|(_, value)| value.to_string())
            };
            let ulimit = |kind| self.ulimits.iter().find(|(k, _)| *k == kind).map(|(_, bytes)| *bytes);
            Place { root: &self.root, environment: &environment, ulimit: &ulimit }.memory()
        }

        fn shared(&self) -> (u64, String) {
            let limit = self.memory().shared.unwrap();
            (limit.bytes / MIB, limit.by)
        }
    }

    impl Drop for Made {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.root);
        }
    }

    const V2: (&str, &str) = ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    const V1: (&str, &str) = (
        "proc/self/mountinfo",
        "35 30 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n36 30 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
    );

    #[test]
    fn without_limits_it_is_what_the_machine_has() {
        let made = Made::new("none", &[V2, ("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/memory.max", "max\n")]);
        assert_eq!(made.shared(), (16384, "physical memory".into()));
        assert_eq!((made.memory().available, made.memory().own), (Some(8 << 30), None));
        assert_eq!((made.memory().each(4), made.memory().each(0)), (Some(2 << 30), Some(8 << 30)));
        let empty = Made::new("empty", &[("proc/meminfo", "")]);
        assert_eq!(empty.memory(), Memory::default());
    }

    #[test]
    fn the_least_of_all_groups_on_the_way_up_counts() {
        let group = ("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
        let file = |path: &'static str, mib: &'static str| (path, mib);
        let own = file("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "1073741824\n");
        let above = file("sys/fs/cgroup/slurm/job_7/memory.max", "536870912\n");
        let top = file("sys/fs/cgroup/slurm/memory.max", "max\n");
        let beside = file("sys/fs/cgroup/slurm/job_8/memory.max", "1048576\n");
        let made = Made::new("v2", &[V2, group, own, above, top, beside]);
        assert_eq!(made.shared(), (512, "control group /slurm/job_7/memory.max".into()));
        assert_eq!(made.memory().available, Some(512 * MIB), "what is free on the host is no use above the limit");
        assert_eq!(Made::new("v2-own", &[V2, group, own, top]).shared().0, 1024);
    }

    #[test]
    fn groups_of_version_1_count_too() {
        let group = ("proc/self/cgroup", "12:cpu,cpuacct:/other\n5:memory:/lxc/box\n1:name=systemd:/x\n0::/ignored\n");
        let none = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        let above = ("sys/fs/cgroup/memory/lxc/memory.limit_in_bytes", "536870912\n");
        let own = ("sys/fs/cgroup/memory/lxc/box/memory.limit_in_bytes", "9223372036854771712\n");
        let made = Made::new("v1", &[V1, group, none, above, own]);
        assert_eq!(made.shared(), (512, "control group /lxc/memory.limit_in_bytes".into()));
        assert_eq!(Made::new("v1-none", &[V1, group, none, own]).shared().1, "physical memory");
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_top() {
        let file = ("sys/fs/cgroup/memory.max", "268435456\n");
        // The mount shows the part of the tree from the container's group on, and the list names the group in the whole tree.
        let part = ("proc/self/mountinfo", "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
        for (name, group) in
            [("inside", "0::/docker/abc\n"), ("outside", "0::/../../elsewhere\n"), ("other", "0::/x\n")]
        {
            assert_eq!(Made::new(name, &[part, ("proc/self/cgroup", group), file]).shared().0, 256, "{name}");
        }
        let below = ("sys/fs/cgroup/sub/memory.max", "134217728\n");
        assert_eq!(
            Made::new("sub", &[part, ("proc/self/cgroup", "0::/docker/abc/sub\n"), file, below]).shared().0,
            128
        );
    }

    #[test]
    fn what_slurm_gave_counts() {
        let with = |environment: &[(&'static str, &'static str)]| {
            let mut made = Made::new("slurm", &[]);
            made.environment = environment.to_vec();
            made.shared()
        };
        assert_eq!(with(&[("SLURM_MEM_PER_NODE", "4096")]).0, 4096);
        assert_eq!(with(&[("SLURM_MEM_PER_NODE", "2G")]).0, 2048);
        let per_cpu = with(&[("SLURM_MEM_PER_CPU", "1000"), ("SLURM_CPUS_ON_NODE", "8")]);
        assert_eq!(per_cpu, (8000, "SLURM_MEM_PER_CPU x SLURM_CPUS_ON_NODE".into()));
        for nothing in [
            &[("SLURM_MEM_PER_NODE", "0")] as &[_],
            &[("SLURM_MEM_PER_NODE", "much")],
            &[("SLURM_MEM_PER_CPU", "1000")],
            &[("SLURM_MEM_PER_NODE", "99999999999999999999")],
            &[("SLURM_MEM_PER_CPU", "9999999999999"), ("SLURM_CPUS_ON_NODE", "9999999999")],
        ] {
            assert_eq!(with(nothing).1, "physical memory", "{nothing:?}");
        }
    }

    #[test]
    fn limits_of_the_process_are_its_own_and_what_is_mapped_is_gone() {
        let mut made = Made::new("ulimit", &[("proc/self/status", "VmSize:\t  102400 kB\nVmData:\t 51200 kB\n")]);
        made.ulimits = vec![(Ulimit::AddressSpace, 500 * MIB)];
        assert_eq!(made.memory().own, Some(Limit { bytes: 400 * MIB, by: "ulimit -v".into() }));
        made.ulimits.push((Ulimit::Data, 100 * MIB));
        assert_eq!(made.memory().own, Some(Limit { bytes: 50 * MIB, by: "ulimit -d".into() }));
        // 8 GiB are free for 4 processes, but each may have 50 MiB only; of 400 processes none gets as much.
        assert_eq!((made.memory().each(4), made.memory().each(400)), (Some(50 * MIB), Some((8 << 30) / 400)));
        assert_eq!((made.memory().all(4), made.memory().all(400)), (Some(200 * MIB), Some(8 << 30)));
        made.ulimits = vec![(Ulimit::AddressSpace, 50 * MIB)];
        assert_eq!(made.memory().own.unwrap().bytes, 0, "more is mapped than may be");
    }

    #[test]
    fn this_machine_has_memory() {
        let here = memory();
        assert!(here.shared.is_some_and(|l| l.bytes > MIB) && here.available <= memory().shared.map(|l| l.bytes));
    }
}
