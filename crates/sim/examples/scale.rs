//! How many ranks fit: a barrier and an 8-byte all-reduce on N ranks, with time and memory.
//!
//! `cargo run --release -p tailback-sim --example scale -- 1000 30000 130000`

use comm::{Machine as _, Reduce, agree};
use spec::Time;
use std::time::Instant;
use tailback_sim::{Config, Machine};

/// A value of /proc/self/status in MiB.
fn status_mib(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix(name)).unwrap_or("");
    line.split_whitespace().next().and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// CPU seconds of this process.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

#[allow(clippy::disallowed_methods, reason = "this measures the simulator itself")]
fn main() {
    let counts: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![1_000] } else { counts };
    println!("   ranks  virtual time  wall s   CPU s  events     peak RSS MiB (of the process so far)");
    for ranks in counts {
        let per = if ranks >= 10_000 { 20 } else { 4 };
        let (start, before) = (Instant::now(), cpu());
        let config = Config { nodes: ranks / per, ranks_per_node: per, ..Config::default() };
        let machine = Machine::new(config).expect("a machine");
        let body = |comm: &dyn comm::Comm| {
            comm.barrier();
            let sum = agree(comm, 1.0, Reduce::Sum);
            assert_eq!(sum, comm.size() as f64);
        };
        machine.run(&body).expect("a good run");
        let stats = machine.stats();
        println!(
            "{ranks:8}  {:>12}  {:6.2}  {:6.2}  {:9}  {:8.0}",
            Time::from_ps(stats.end_ps).to_string(),
            start.elapsed().as_secs_f64(),
            cpu() - before,
            stats.events,
            status_mib("VmHWM:")
        );
    }
}
