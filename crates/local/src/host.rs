//! Facts of this machine: processors, caches, memory. Read from the system's files; what cannot be read is `None`.

use crate::memory_limits::{self, Memory};
use rustix::thread::{CpuSet, sched_getaffinity};
use std::fs::read_to_string;

/// What a record says of the processor and the memory below a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The processor's own name.
    pub model: Option<String>,
    /// Processors this process may use.
    pub cpus: Vec<usize>,
    /// Cores among them; two processors of one core are one.
    pub cores: usize,
    /// Processors of the whole machine.
    pub machine_cpus: usize,
    /// First-level data cache of a core, bytes.
    pub l1: Option<u64>,
    /// Second-level cache of a core, bytes.
    pub l2: Option<u64>,
    /// Last-level cache, bytes, shared by the processors of a package.
    pub l3: Option<u64>,
    /// What this process may use.
    pub memory: Memory,
    /// Vector instructions the built-in kernels use.
    pub simd: &'static str,
    /// The processor's feature flags of interest to dense arithmetic, in the system's spelling.
    pub flags: Vec<String>,
    /// The system's setting for transparent huge pages: always, madvise or never.
    pub huge_pages: Option<String>,
}

/// Reads the facts.
pub fn facts() -> Facts {
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpus = cpus();
    Facts {
        // x86 has a name, ARM the number of a part only.
        model: field(&cpuinfo, "model name").or_else(|| field(&cpuinfo, "CPU part")),
        cores: cores(&cpus),
        machine_cpus: std::fs::read_dir("/sys/devices/system/cpu").map_or(cpus.len(), |d| {
            d.flatten().filter(|e| number(&e.file_name().to_string_lossy(), "cpu").is_some()).count()
        }),
        l1: cache(1),
        l2: cache(2),
        l3: cache(3),
        memory: memory_limits::memory(),
        simd: crate::simd::level().name(),
        flags: flags(&cpuinfo),
        huge_pages: read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").ok().and_then(|s| chosen(&s)),
        cpus,
    }
}

/// The processors allowed to this thread, one of each core first, so that the first `n` are on `n` cores if there are as many.
pub fn cpus() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return vec![0] };
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&c| set.is_set(c)).collect();
    let (mut first, rest): (Vec<usize>, Vec<usize>) = allowed.iter().partition(|&&c| first_of_core(c, &allowed));
    first.extend(rest);
    first
}

/// Cores among these processors, at most as many as the control group's quota lets compute at once.
pub fn cores(cpus: &[usize]) -> usize {
    let all = cpus.iter().filter(|&&c| first_of_core(c, cpus)).count();
    let quota = read_to_string("/sys/fs/cgroup/cpu.max").ok().and_then(|text| quota(&text));
    quota.map_or(all, |cores| all.min(cores))
}

/// `200000 100000` are two cores' worth of time; `max 100000` is no limit.
fn quota(text: &str) -> Option<usize> {
    let (time, period) = text.trim().split_once(' ')?;
    let (time, period) = (time.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
    Some(((time / period).ceil() as usize).max(1))
}

/// Whether no allowed processor with a smaller number is on the same core.
fn first_of_core(cpu: usize, allowed: &[usize]) -> bool {
    let siblings = read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"));
    let list = siblings.map(|s| numbers(&s)).unwrap_or_default();
    // Where the system names no siblings, every processor counts as a core.
    list.iter().filter(|s| allowed.contains(s)).min().is_none_or(|&m| m == cpu)
}

/// `0-2,8` as 0, 1, 2, 8.
fn numbers(list: &str) -> Vec<usize> {
    let ends = |part: &str| {
        let (a, b) = part.split_once('-').unwrap_or((part, part));
        Some(a.parse::<usize>().ok()?..=b.parse().ok()?)
    };
    list.trim().split(',').filter_map(ends).flatten().collect()
}

fn number(name: &str, prefix: &str) -> Option<usize> {
    name.strip_prefix(prefix)?.parse().ok()
}

fn field(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|l| l.split(':').next().is_some_and(|k| k.trim() == key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn flags(cpuinfo: &str) -> Vec<String> {
    const OF_INTEREST: [&str; 9] =
        ["sse4_2", "avx", "fma", "avx2", "avx512f", "avx512dq", "avx512vl", "amx_tile", "asimd"];
    // The first is the name on x86, the second on ARM.
    let all = field(cpuinfo, "flags").or_else(|| field(cpuinfo, "Features")).unwrap_or_default();
    all.split_whitespace().filter(|f| OF_INTEREST.contains(f)).map(str::to_owned).collect()
}

/// `always [madvise] never` as `madvise`.
fn chosen(setting: &str) -> Option<String> {
    Some(setting.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// The data or unified cache of this level, of processor 0.
fn cache(level: u8) -> Option<u64> {
    (0..8).find_map(|index| {
        let file = |name: &str| {
            read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}"))
                .map(|s| s.trim().to_owned())
        };
        let right = file("level").ok()? == level.to_string() && file("type").ok()? != "Instruction";
        if right { size(&file("size").ok()?) } else { None }
    })
}

/// `48K` as 49152.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, text.as_bytes()[text.len() - 1]),
        None => (text, b'B'),
    };
    let shift = match unit {
        b'K' => 10,
        b'M' => 20,
        b'G' => 30,
        _ => 0,
    };
    Some(digits.parse::<u64>().ok()? << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_system_are_understood() {
        assert_eq!(numbers("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(numbers("3"), [3]);
        assert_eq!(numbers("x,-"), Vec::<usize>::new());
        assert_eq!((size("48K"), size("300M"), size("64"), size("K")), (Some(49152), Some(300 << 20), Some(64), None));
        assert_eq!(chosen("always [madvise] never\n").as_deref(), Some("madvise"));
        assert_eq!(field("model\t: 207\nmodel name\t: A: B\n", "model name").as_deref(), Some("A: B"));
        assert_eq!(flags("flags : fpu avx2 avx512f\n"), ["avx2", "avx512f"]);
    }

    #[test]
    fn this_machine_has_processors() {
        let f = facts();
        assert!(!f.cpus.is_empty() && f.cores >= 1 && f.cores <= f.cpus.len());
    }
}
