//! What this process sees of its host: where it may run, who else computes, what the NICs carry. From the files that Linux keeps, below
//! a root that tests may choose; what cannot be read is left out.

use crate::progress::now;
use bench::health::Vitals;
use std::fs::{read_dir, read_to_string};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

/// How long the host is looked at: ten ticks of the clock that its books are kept in.
const WINDOW: Duration = Duration::from_millis(100);
/// Ticks in a second: what Linux tells user programs, on every architecture.
const TICKS: f64 = 100.0;

/// Looks at the host for [`WINDOW`].
#[expect(clippy::disallowed_methods, reason = "a host is looked at in real time, before anything runs")]
pub fn look() -> Vitals {
    let root = Path::new("/");
    let before = (now(), own(root), busy(root));
    std::thread::sleep(WINDOW);
    let after = (now(), own(root), busy(root));
    Vitals {
        cpus: local::host::cpus(),
        own_s: after.1.zip(before.1).map_or(0.0, |(b, a)| b - a),
        busy_s: after.2.zip(before.2).map(|(b, a)| b - a),
        window_s: after.0.duration_since(before.0).as_secs_f64(),
        unsteady: unsteady(root),
        nic: nics(root),
        memory: local::memory_limits::memory(),
    }
}

/// Seconds that all processors have computed, for anybody; what a hypervisor took for others counts.
fn busy(root: &Path) -> Option<f64> {
    let text = read_to_string(root.join("proc/stat")).ok()?;
    let numbers: Vec<f64> = text.lines().next()?.split_whitespace().skip(1).filter_map(|n| n.parse().ok()).collect();
    // user, nice, system, idle, waiting, interrupts, soft interrupts, stolen
    let [user, nice, system, _, _, hard, soft, stolen] = numbers[..].first_chunk::<8>().copied()?;
    Some((user + nice + system + hard + soft + stolen) / TICKS)
}

/// Seconds that this process has computed.
fn own(root: &Path) -> Option<f64> {
    let text = read_to_string(root.join("proc/self/stat")).ok()?;
    // The name in parentheses may hold anything, so fields are counted from its end.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS)
}

/// Whether some processor is told to follow its load.
fn unsteady(root: &Path) -> bool {
    let Ok(dir) = read_dir(root.join("sys/devices/system/cpu")) else { return false };
    let governors = dir.flatten().filter_map(|e| read_to_string(e.path().join("cpufreq/scaling_governor")).ok());
    governors.into_iter().any(|g| g.trim() != "performance")
}

/// What all NICs carry each way, in bytes per second: an upper bound, since a run may use fewer. Nothing if one does not tell.
fn nics(root: &Path) -> Option<f64> {
    let mut sum = 0.0;
    for entry in read_dir(root.join("sys/class/net")).ok()?.flatten() {
        let read = |file: &str| read_to_string(entry.path().join(file)).unwrap_or_default();
        // Loopback carries nothing to another host, and what is down nothing at all.
        if entry.file_name() == "lo" || read("operstate").trim() != "up" {
            continue;
        }
        // In Mbit/s; virtual interfaces say -1 or nothing.
        let speed = read("speed").trim().parse::<f64>().ok().filter(|s| *s > 0.0)?;
        sum += speed * 1e6 / 8.0;
    }
    let devices = read_dir(root.join("sys/class/infiniband")).into_iter().flatten().flatten();
    for port in devices.flat_map(|d| read_dir(d.path().join("ports")).into_iter().flatten().flatten()) {
        // `200 Gb/sec (4X HDR)`
        let rate = read_to_string(port.path().join("rate")).ok()?;
        sum += rate.split_whitespace().next()?.parse::<f64>().ok()? * 1e9 / 8.0;
    }
    (sum > 0.0).then_some(sum)
}

/// How far the clock of the day is ahead of the steady one: the difference of two of these is how much it was set.
#[derive(Clone, Copy)]
pub struct Clocks {
    steady: Instant,
    day: SystemTime,
}

impl Clocks {
    /// Both, now.
    #[expect(clippy::disallowed_methods, reason = "the clocks of a host are what is looked at")]
    pub fn read() -> Clocks {
        Clocks { steady: Instant::now(), day: SystemTime::now() }
    }

    /// Seconds since then by the steady clock, and by how many the clock of the day was set meanwhile.
    pub fn since(self) -> (f64, f64) {
        let later = Clocks::read();
        let steady = later.steady.duration_since(self.steady).as_secs_f64();
        let day = match later.day.duration_since(self.day) {
            Ok(forward) => forward.as_secs_f64(),
            Err(back) => -back.duration().as_secs_f64(),
        };
        (steady, day - steady)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn host(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let root = std::env::temp_dir().join(format!("tailback-vitals-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_books_of_the_system_are_read() {
        let stat = "cpu  100 20 30 5000 7 1 2 40 0 0\ncpu0 1 1 1 1\n";
        let own_stat = "7 (a (b) c) R 1 1 1 0 -1 0 0 0 0 0 150 50 0 0 20 0 1 0";
        let root = host("books", &[("proc/stat", stat), ("proc/self/stat", own_stat)]);
        assert_eq!((busy(&root), own(&root)), (Some(1.93), Some(2.0)));
        assert_eq!((busy(Path::new("/nowhere")), own(Path::new("/nowhere"))), (None, None));
    }

    #[test]
    fn nics_and_governors_are_known_or_not() {
        let governor = "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor";
        let (speed, state) = ("sys/class/net/eth0/speed", "sys/class/net/eth0/operstate");
        let ib = "sys/class/infiniband/mlx5_0/ports/1/rate";
        let up = [(speed, "25000\n"), (state, "up\n"), ("sys/class/net/lo/operstate", "unknown\n")];
        let root = host("known", &[&up[..], &[(ib, "200 Gb/sec (4X HDR)\n"), (governor, "ondemand\n")]].concat());
        assert_eq!((nics(&root), unsteady(&root)), (Some((25e9 + 200e9) / 8.0), true));
        let root = host("unknown", &[(speed, "-1\n"), (state, "up\n"), (governor, "performance\n")]);
        assert_eq!((nics(&root), unsteady(&root)), (None, false));
    }

    #[test]
    fn this_host_can_be_looked_at() {
        let seen = look();
        assert!(!seen.cpus.is_empty() && seen.window_s >= WINDOW.as_secs_f64() && seen.own_s >= 0.0);
        let (steady, set) = Clocks::read().since();
        assert!(steady >= 0.0 && set.abs() < 1.0, "{steady} {set}");
    }
}
