//! Open-loop traffic over `Comm`: every node sends messages at random times whatever the network does, as the papers on
//! topologies and routing do. Used by the tests of saturation and by `examples/load_curve.rs`.
//!
//! The first rank of a node sends; the others receive, in turns. All times and destinations are drawn before the run, so that
//! a receiver knows from whom the next message is. Latency runs from the time a message is made to the end of its receive.
#![allow(dead_code, reason = "each program uses a part of it")]

use comm::{Buffer, Comm, Data, Machine as _, Op, Pending, overlap};
use spec::{Rng, Work, permutation};
use std::sync::Mutex;
use tailback_sim::{Config, Simulator, Stats};

/// Receiving ranks of a node: so many that none often waits for a message while a later one is there.
const RECEIVERS: usize = 8;
const TAG: u16 = 1;

/// Who sends to whom.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    /// To any other node.
    Uniform,
    /// To any node of the next group of so many nodes.
    NextGroup(usize),
    /// To the node so much further on.
    Shift(usize),
    /// To one node, each to another: a random permutation.
    Permutation,
}

/// How much, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    pub pattern: Pattern,
    /// Share of the injection rate, headers included.
    pub load: f64,
    /// Payload of a message.
    pub bytes: usize,
    /// Virtual time before and during which it is measured.
    pub warm_us: u64,
    pub measure_us: u64,
}

/// What came of it.
#[derive(Debug)]
pub struct Carried {
    /// What was asked for and what the network took, as shares of the injection rate.
    pub offered: f64,
    pub accepted: f64,
    /// The least that a node got in.
    pub least: f64,
    pub mean_us: f64,
    pub p99_us: f64,
    pub stats: Stats,
}

struct Schedule {
    /// For each node: when (ps), to which node, to which of its receivers.
    sends: Vec<Vec<(u64, u32, u32)>>,
    /// For each receiver: when it was sent, and by which node.
    receives: Vec<Vec<(u64, u32)>>,
}

fn schedule(config: &Config, t: &Traffic) -> Schedule {
    let nodes = config.nodes;
    let wire = t.bytes + t.bytes.div_ceil(config.nic.mtu as usize) * config.nic.header as usize;
    let gap = wire as f64 / (config.nic.rate.bytes_per_s() * t.load) * 1e12;
    let end = ((t.warm_us + t.measure_us) * 1_000_000) as f64;
    let order = permutation(&mut Rng::new(config.seed, "pattern", 0), nodes);
    let mut all = Vec::new();
    for node in 0..nodes {
        let mut rng = Rng::new(config.seed, "traffic", node as u64);
        let mut time = gap * rng.exponential();
        while time < end {
            let to = match t.pattern {
                Pattern::Uniform => (node + 1 + rng.below(nodes as u64 - 1) as usize) % nodes,
                Pattern::NextGroup(n) => ((node / n + 1) * n + rng.below(n as u64) as usize) % nodes,
                Pattern::Shift(by) => (node + by) % nodes,
                // Along one cycle through all nodes in random order, so that nobody sends to itself.
                Pattern::Permutation => {
                    let at = order.iter().position(|&n| n as usize == node).expect("all nodes are in it");
                    order[(at + 1) % nodes] as usize
                }
            };
            all.push((time as u64, node as u32, to as u32));
            time += gap * rng.exponential();
        }
    }
    all.sort_unstable();
    let mut schedule = Schedule { sends: vec![Vec::new(); nodes], receives: vec![Vec::new(); nodes * RECEIVERS] };
    let mut turn = vec![0; nodes];
    for (time, from, to) in all {
        let receiver = turn[to as usize];
        turn[to as usize] = (receiver + 1) % RECEIVERS as u32;
        schedule.sends[from as usize].push((time, to, receiver));
        schedule.receives[to as usize * RECEIVERS + receiver as usize].push((time, from));
    }
    schedule
}

/// Lets virtual time pass: a flop costs a picosecond on the machines made here.
fn until(comm: &dyn Comm, time: u64) {
    let left = time.saturating_sub(comm.now().ps());
    if left > 0 {
        comm.charge(Work::flops(left));
    }
}

/// Bytes that have left the NIC by now.
fn sent_bytes(comm: &dyn Comm) -> u64 {
    comm.counters().iter().find(|(name, _)| name == "nic0.tx_bytes").map_or(0, |c| c.1)
}

/// Sends by the schedule and returns the bytes that left the NIC while it was measured.
fn send_all(comm: &dyn Comm, pending: &mut dyn Pending<'_>, sends: &[(u64, u32, u32)], t: &Traffic) -> u64 {
    let (warm, end) = (t.warm_us * 1_000_000, (t.warm_us + t.measure_us) * 1_000_000);
    let mut before = None;
    for &(time, node, receiver) in sends {
        if time >= warm && before.is_none() {
            until(comm, warm);
            before = Some(sent_bytes(comm));
        }
        until(comm, time);
        let to = node as usize * (1 + RECEIVERS) + 1 + receiver as usize;
        pending.start(vec![Op::Send { to, tag: TAG, data: Data::Len(t.bytes) }]);
    }
    until(comm, warm.max(comm.now().ps()));
    let before = before.unwrap_or_else(|| sent_bytes(comm));
    until(comm, end);
    sent_bytes(comm) - before
}

/// Runs the traffic on a machine with free hosts.
pub fn run(config: Config, t: &Traffic) -> Carried {
    let mut config = Config { ranks_per_node: 1 + RECEIVERS, ..config };
    config.protocol.eager = 1 << 30;
    config.host.send_overhead = spec::Time::ZERO;
    config.host.recv_overhead = spec::Time::ZERO;
    config.host.flops = 1e12;
    config.host.local_latency = spec::Time::ZERO;
    config.nic.packet_overhead = spec::Time::ZERO;
    config.nic.message_gap = spec::Time::from_ps(1);
    let plan = schedule(&config, t);
    let machine = Simulator::new(config).expect("a machine");
    let (taken, latencies) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let body = |comm: &dyn Comm| {
        let (node, role) = (comm.rank() / (1 + RECEIVERS), comm.rank() % (1 + RECEIVERS));
        if role == 0 {
            let bytes = overlap(comm, |pending| send_all(comm, pending, &plan.sends[node], t));
            taken.lock().unwrap().push(bytes);
            return;
        }
        let mut mine = Vec::new();
        for &(time, from) in &plan.receives[node * RECEIVERS + role - 1] {
            let from = from as usize * (1 + RECEIVERS);
            comm.exchange(&mut [Op::Recv { from, tag: TAG, into: Buffer::Len(t.bytes) }]);
            if time >= t.warm_us * 1_000_000 {
                mine.push(comm.now().ps() - time);
            }
        }
        latencies.lock().unwrap().extend(mine);
    };
    machine.run(&body).expect("a good run");
    let full = machine.config().nic.rate.bytes_per_s() * t.measure_us as f64 * 1e-6;
    let taken = taken.into_inner().unwrap();
    let mut latencies = latencies.into_inner().unwrap();
    latencies.sort_unstable();
    let us = |ps: u64| ps as f64 * 1e-6;
    Carried {
        offered: t.load,
        accepted: taken.iter().sum::<u64>() as f64 / full / taken.len() as f64,
        least: taken.iter().copied().min().unwrap_or(0) as f64 / full,
        mean_us: us(latencies.iter().sum::<u64>()) / latencies.len().max(1) as f64,
        p99_us: latencies.get(latencies.len() * 99 / 100).map_or(0.0, |&ps| us(ps)),
        stats: machine.stats(),
    }
}
