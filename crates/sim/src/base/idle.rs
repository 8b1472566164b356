//! How many cores have nothing to do: threads of one simulation meet every few microseconds, and one that shares a core with other work
//! makes all others wait.

use std::fs::read_to_string;
use std::time::Duration;

/// What wants a core is counted so often, because some of it is gone a moment later.
const LOOKS: usize = 9;
const APART: Duration = Duration::from_millis(2);

/// Cores that this process may use and that nobody else wants, at least one. Where Linux does not say who wants them, all it may use.
#[expect(clippy::disallowed_methods, reason = "this is of the real computer, before virtual time begins")]
pub fn idle_cores() -> usize {
    let allowed = std::thread::available_parallelism().map_or(1, |n| n.get());
    if allowed == 1 {
        return 1;
    }
    let mut seen = Vec::new();
    for _ in 0..LOOKS {
        std::thread::sleep(APART);
        seen.extend(read_to_string("/proc/loadavg").ok().as_deref().and_then(wanting));
    }
    seen.sort_unstable();
    let cores = read_to_string("/proc/stat").map_or(0, |text| cores(&text));
    // The thread that looks wants a core, too.
    seen.get(seen.len() / 2).map_or(allowed, |&n| left(cores.max(allowed), n.saturating_sub(1), allowed))
}

/// Threads that run or want to, of all processes.
fn wanting(loadavg: &str) -> Option<usize> {
    loadavg.split_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

/// The cores of the machine, which may be more than this process may use.
fn cores(stat: &str) -> usize {
    let numbered =
        |line: &&str| line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    stat.lines().filter(numbered).count()
}

fn left(cores: usize, others: usize, allowed: usize) -> usize {
    cores.saturating_sub(others).clamp(1, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_want_is_left_to_them() {
        // Cores, others, allowed, left: a container that may use two of many cores has both while there are two without work.
        for (all, others, allowed, idle) in
            [(2, 0, 2, 2), (2, 1, 2, 1), (2, 2, 2, 1), (2, 70, 2, 1), (64, 40, 2, 2), (64, 63, 2, 1), (8, 3, 8, 5)]
        {
            assert_eq!(left(all, others, allowed), idle, "{others} others on {all} cores, {allowed} allowed");
        }
    }

    #[test]
    fn linux_says_it_so() {
        assert_eq!(wanting("0.97 2.13 2.15 3/161 21973\n"), Some(3));
        assert_eq!(wanting("0.97 2.13 2.15\n"), None);
        assert_eq!(cores("cpu  1 2 3\ncpu0 1 2 3\ncpu1 1 2 3\nintr 7\ncpufreq 1\n"), 2);
    }

    #[test]
    fn threads_that_never_wait_leave_one_core() {
        use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
        let read = |path: &str| read_to_string(path).unwrap_or_default();
        let allowed = std::thread::available_parallelism().map_or(1, |n| n.get());
        let over = AtomicBool::new(false);
        let idle = std::thread::scope(|scope| {
            for _ in 0..allowed {
                scope.spawn(|| {
                    while !over.load(Relaxed) {
                        std::hint::spin_loop()
                    }
                });
            }
            let idle = idle_cores();
            over.store(true, Relaxed);
            idle
        });
        // Where a process may use a part of the machine only, the rest may have nothing to do.
        let all = wanting(&read("/proc/loadavg")).is_some() && cores(&read("/proc/stat")) == allowed;
        assert!(idle == 1 || !all && idle <= allowed, "{idle} of {allowed} cores");
    }
}
