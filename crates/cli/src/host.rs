//! Facts of this host, from the files Linux keeps them in; what cannot be read stays empty.

use record::Host;
use std::fs;

/// This host's name.
pub fn name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// This host.
pub fn here() -> Host {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, key: &str| {
        let line = text.lines().find(|l| l.starts_with(key))?;
        line.split_once(':').map(|(_, value)| value.trim().to_string())
    };
    let uname = rustix::system::uname();
    let memory =
        field(&read("/proc/meminfo"), "MemTotal").and_then(|m| m.trim_end_matches(" kB").trim().parse::<u64>().ok());
    Host {
        name: name(),
        kernel: uname.release().to_string_lossy().into_owned(),
        cpu: field(&read("/proc/cpuinfo"), "model name")
            .unwrap_or_else(|| uname.machine().to_string_lossy().into_owned()),
        cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
        memory_bytes: memory.unwrap_or(0) * 1024,
    }
}
