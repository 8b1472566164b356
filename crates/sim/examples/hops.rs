//! How fast the network is simulated: packet-hops per CPU second under uniform random traffic.
//!
//! `cargo run --release -p tailback-sim --example hops -- NETWORK ROUTING LOAD [BYTES] [MICROSECONDS] [THREADS] [RUNS]`
//!
//! NETWORK: `dragonfly-1056` (p=4 a=8 h=4, Kim et al. 2008), `dragonfly-5256` (p=6 a=12 h=6) or a machine file with one rank
//! per node. Every node sends messages of BYTES to random others at random times (Poisson), whatever the network does, until
//! MICROSECONDS of virtual time are over; LOAD is the share of the injection rate, headers included. With 4096 bytes every
//! message is one packet, and the host's part of the work (sends, matching, receives) is paid for every packet; with 65536 it
//! is spread over sixteen. Ranks wait for their messages a chunk of time at a time, so that switching between them costs little.

use comm::{Buffer, Comm, Data, Machine as _, Op, Pending, Set, overlap};
use spec::{Rng, Time};
use std::collections::VecDeque;
use tailback_sim::{Config, Simulator};

const KIM: &str =
    "nodes = 1056\nranks_per_node = 1\n[topology]\nkind = \"dragonfly\"\nswitches = 8\nendpoints = 4\nglobal = 4\n";
const LARGE: &str =
    "nodes = 5256\nranks_per_node = 1\n[topology]\nkind = \"dragonfly\"\nswitches = 12\nendpoints = 6\nglobal = 6\n";

/// How many chunks of time a rank is behind when it waits for what it has posted.
const BEHIND: usize = 2;

/// A chunk of time, in which receives are posted together: about six messages of a node at full load.
fn chunk_us(bytes: usize) -> u64 {
    (bytes as u64 / 2048).max(2)
}

fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |i: usize| fields.get(i).and_then(|v| v.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// One node's part in one chunk of time: when it sends to whom, and from whom it receives.
#[derive(Clone, Default)]
struct Chunk {
    sends: Vec<(u64, u32)>,
    receives: Vec<u32>,
}

/// For each chunk of time all nodes' parts.
fn schedule(config: &Config, load: f64, bytes: usize, us: u64) -> Vec<Vec<Chunk>> {
    let nodes = config.nodes;
    let wire = bytes + bytes.div_ceil(config.nic.mtu as usize) * config.nic.header as usize;
    let gap = wire as f64 / (config.nic.rate.bytes_per_s() * load) * 1e12;
    let mut chunks = vec![vec![Chunk::default(); nodes]; us.div_ceil(chunk_us(bytes)) as usize];
    for node in 0..nodes {
        let mut rng = Rng::new(7, "hops", node as u64);
        let mut time = gap * rng.exponential();
        while time < us as f64 * 1e6 {
            let to = (node + 1 + rng.below(nodes as u64 - 1) as usize) % nodes;
            let chunk = &mut chunks[time as usize / (chunk_us(bytes) as usize * 1_000_000)];
            chunk[node].sends.push((time as u64, to as u32));
            chunk[to].receives.push(node as u32);
            time += gap * rng.exponential();
        }
    }
    chunks
}

fn traffic(comm: &dyn Comm, pending: &mut dyn Pending<'_>, chunks: &[Vec<Chunk>], bytes: usize) {
    let mut under_way: VecDeque<Vec<Set>> = VecDeque::new();
    for chunk in chunks {
        let mine = &chunk[comm.rank()];
        let receive = |&from: &u32| Op::Recv { from: from as usize, tag: 1, into: Buffer::Len(bytes) };
        let mut sets = vec![pending.start(mine.receives.iter().map(receive).collect())];
        for &(time, to) in &mine.sends {
            comm.pause(Time::from_ps(time.saturating_sub(comm.now().ps())));
            sets.push(pending.start(vec![Op::Send { to: to as usize, tag: 1, data: Data::Len(bytes) }]));
        }
        under_way.push_back(sets);
        if under_way.len() > BEHIND {
            under_way.pop_front().into_iter().flatten().for_each(|set| pending.wait(set));
        }
    }
}

fn config(network: &str, routing: &str, threads: usize) -> Result<Config, String> {
    let text = match network {
        "dragonfly-1056" => KIM.to_string(),
        "dragonfly-5256" => LARGE.to_string(),
        file => std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?,
    };
    let mut config = Config::from_toml(&text).map_err(|e| e.to_string())?;
    config.routing = (routing.to_string(), spec::Params::new());
    (config.threads, config.threads_from) = (threads, 0);
    config.protocol.eager = 1 << 30;
    config.host.send_overhead = Time::ZERO;
    config.host.recv_overhead = Time::ZERO;
    Ok(config)
}

#[allow(clippy::disallowed_methods, reason = "this measures the simulator itself")]
fn main() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize, default: &'static str| args.get(i).map_or(default, |a| a.as_str());
    let number = |i: usize, default: &'static str| {
        let text = word(i, default);
        text.parse::<f64>().map_err(|_| format!("`{text}` is not a number"))
    };
    let (network, routing) = (word(0, "dragonfly-1056"), word(1, "minimal"));
    let (load, bytes, us) = (number(2, "0.5")?, number(3, "65536")? as usize, number(4, "100")? as u64);
    for _ in 0..number(6, "1")? as usize {
        let machine = Simulator::new(config(network, routing, number(5, "1")? as usize)?).map_err(|e| e.to_string())?;
        let chunks = schedule(machine.config(), load, bytes, us);
        let (start, before) = (std::time::Instant::now(), cpu());
        let body = |comm: &dyn Comm| overlap(comm, |pending| traffic(comm, pending, &chunks, bytes));
        machine.run(&body).map_err(|e| e.to_string())?;
        let (s, cpu, wall) = (machine.stats(), cpu() - before, start.elapsed().as_secs_f64());
        let header = f64::from(machine.config().nic.header) / f64::from(machine.config().nic.mtu);
        let full = machine.config().nic.rate.bytes_per_s() * machine.config().nodes as f64;
        let taken = s.injected_bytes as f64 * (1.0 + header) / (s.end_ps as f64 * 1e-12) / full;
        println!(
            "{network} {routing} load {load} x {bytes} B: accepted {taken:.3}, {} hops, {:.2} events/hop, CPU {cpu:.2} s, wall {wall:.2} s, \
             {:.2} M hops/CPU-s, {:.2} M hops/wall-s, {} threads, {} parts, log {:016x}",
            s.packet_hops,
            s.events as f64 / s.packet_hops as f64,
            s.packet_hops as f64 / cpu * 1e-6,
            s.packet_hops as f64 / wall * 1e-6,
            s.threads,
            s.parts,
            s.log_hash
        );
    }
    Ok(())
}
