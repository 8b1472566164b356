//! How fast the network is simulated: packet-hops per CPU second under uniform random traffic.
//!
//! `cargo run --release -p tailback-sim --example hops -- [machine file] [messages per rank] [bytes] [threads]`
//!
//! Every round is a random permutation; a pause after each brings the load to about half of the injection rate.

use comm::{Buffer, Comm, Data, Machine as _, Op};
use spec::{Rng, Work, permutation};
use tailback_sim::{Config, Machine};

fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// For each rank its partners of one round: to whom it sends, from whom it receives.
fn partners(round: u64, size: usize) -> Vec<(u32, u32)> {
    let order = permutation(&mut Rng::new(7, "hops", round), size);
    let mut pairs = vec![(0, 0); size];
    for (i, &rank) in order.iter().enumerate() {
        pairs[rank as usize] = (order[(i + 1) % size], order[(i + size - 1) % size]);
    }
    pairs
}

/// Rounds of random permutations with `bytes` each, and a pause about as long as each takes.
fn traffic(comm: &dyn Comm, rounds: &[Vec<(u32, u32)>], bytes: usize) {
    for round in rounds {
        let (to, from) = round[comm.rank()];
        let (to, from) = (to as usize, from as usize);
        let send = Op::Send { to, tag: 1, data: Data::Len(bytes) };
        let recv = Op::Recv { from, tag: 1, into: Buffer::Len(bytes) };
        comm.exchange(&mut [recv, send]);
        comm.charge(Work { bytes: bytes as u64 / 2, ..Work::NONE });
    }
}

#[allow(clippy::disallowed_methods, reason = "this measures the simulator itself")]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let config = match args.first() {
        Some(path) => Config::from_toml(&std::fs::read_to_string(path).expect("a machine file")).expect("a machine"),
        None => Config { nodes: 1056, ranks_per_node: 1, ..Config::default() },
    };
    let config = Config { threads: number(3, 1) as usize, ..config };
    let machine = Machine::new(config).expect("a machine");
    let (rounds, bytes) = (number(1, 20), number(2, 65536) as usize);
    let rounds: Vec<_> = (0..rounds).map(|r| partners(r, machine.config().ranks())).collect();
    let (start, before) = (std::time::Instant::now(), cpu());
    machine.run(&|comm| traffic(comm, &rounds, bytes)).expect("a good run");
    let (stats, cpu, wall) = (machine.stats(), cpu() - before, start.elapsed().as_secs_f64());
    let load = stats.injected_bytes as f64
        / (stats.end_ps as f64 * 1e-12)
        / (machine.config().endpoints() as f64 * machine.config().nic.rate.bytes_per_s());
    println!(
        "{} hops, {} events ({:.2} per hop), CPU {cpu:.2} s, wall {wall:.2} s: {:.2} M hops/CPU-s, {:.2} M hops/wall-s, load {load:.2}, {} threads",
        stats.packet_hops,
        stats.events,
        stats.events as f64 / stats.packet_hops as f64,
        stats.packet_hops as f64 / cpu * 1e-6,
        stats.packet_hops as f64 / wall * 1e-6,
        stats.threads
    );
}
