//! How many ranks fit: a barrier and an 8-byte all-reduce on N ranks, with time and memory.
//!
//! `cargo run --release -p tailback-sim --example scale -- 1000 30000 130000`
//! `cargo run --release -p tailback-sim --example scale -- idle NODES`: two nodes talk and the others do nothing.

use comm::{Machine as _, Reduce, agree};
use spec::Time;
use std::time::Instant;
use tailback_sim::{Config, Simulator};

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

/// What nodes cost that do nothing: a dragonfly on which two nodes exchange a thousand messages.
fn idle(nodes: usize) {
    let text = format!(
        "nodes = {nodes}\nranks_per_node = 1\nthreads = 1\n[topology]\nkind = \"dragonfly\"\nswitches = 32\nendpoints = 16\nglobal = 16\n"
    );
    let before = status_mib("VmRSS:");
    let machine = Simulator::new(Config::from_toml(&text).expect("a machine file")).expect("a machine");
    let built = status_mib("VmRSS:");
    let body = |comm: &dyn comm::Comm| {
        let (me, rounds) = (comm.rank(), if comm.rank() < 2 { 1000 } else { 0 });
        for _ in 0..rounds {
            let send = comm::Op::Send { to: 1 - me, tag: 1, data: comm::Data::Len(8) };
            comm.exchange(&mut [comm::Op::Recv { from: 1 - me, tag: 1, into: comm::Buffer::Len(8) }, send]);
        }
    };
    machine.run(&body).expect("a good run");
    let (peak, stats) = (status_mib("VmHWM:"), machine.stats());
    println!(
        "{nodes} nodes: {:.0} bytes per node to build, {:.0} in all at the peak, {} events",
        (built - before) * 1048576.0 / nodes as f64,
        (peak - before) * 1048576.0 / nodes as f64,
        stats.events
    );
}

#[allow(clippy::disallowed_methods, reason = "this measures the simulator itself")]
fn main() {
    if std::env::args().nth(1).is_some_and(|a| a == "idle") {
        return idle(std::env::args().nth(2).and_then(|a| a.parse().ok()).unwrap_or(10_000));
    }
    let counts: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![1_000] } else { counts };
    println!("   ranks  virtual time  wall s   CPU s  events     peak RSS MiB (of the process so far)");
    for ranks in counts {
        let per = if ranks >= 10_000 { 20 } else { 4 };
        let (start, before) = (Instant::now(), cpu());
        let config = Config { nodes: ranks / per, ranks_per_node: per, ..Config::default() };
        let machine = Simulator::new(config).expect("a machine");
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
