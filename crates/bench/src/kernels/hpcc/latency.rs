//! Ping-pong over pairs of ranks, one pair at a time (HPC Challenge 1.5.0, LatencyBandwidth).
//!
//! A token passes from client to client; a client plays with all servers, the other ranks wait. Of a pair the shortest
//! measurement counts; of all pairs the smallest, the largest and the mean.

use super::OPTIMIZED;
use super::pairs::{SHORTEST, clients, longer, servers, stride};
use crate::Stopwatch;
use crate::kernel::{Declares, Kernel, NamedNumber, Pattern, Setup, Traits};
use crate::payload::{Slots, Stamp, Tally, unchecked};
use comm::{Buffer, Comm, Data, Op, Reduce, Refusal, Tag, Vector, agree};
use record::{Coverage, Metric, Payload, Tells, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};

/// HPCC's ping-pong.
pub const PING_PONG: Kernel = Kernel {
    card: Card {
        name: "ping-pong",
        about: "Latency and bandwidth of ping-pong over pairs of ranks, as many as the time allows",
        source: "HPCC 1.5.0, LatencyBandwidth",
        params: &[
            Param::new("size", Kind::Size, "8", "message size"),
            Param::new("loops", Kind::Count, "8", "round trips of a measurement"),
            Param::new("measurements", Kind::Count, "5", "measurements of a pair"),
            Param::new("budget", Kind::Time, "10s", "time for all pairs"),
        ],
    },
    metric: Metric::Duration,
    min_ranks: 2,
    traits: Traits {
        tells: Tells::Results,
        declares: Declares::AsCalled("a step is a whole tour, and its results say what one message takes"),
        tiny: &[("size", "24"), ("loops", "2"), ("measurements", "2")],
        ..Traits::PLAIN
    },
    start,
};

const BALL: Tag = 360;
const CONTROL: Tag = 361;
const TOKEN: Tag = 362;
/// A control word holds the number of trips in its low bits, and the number of the measurement above.
const LOOPS_BITS: u32 = 40;
const BALLS: u64 = 1 << (u64::BITS - LOOPS_BITS);

/// What tells the messages of a measurement from those of others.
#[derive(Clone, Copy)]
struct Ball {
    client: usize,
    number: u64,
}

impl Ball {
    fn stamp(self, sender: usize, slot: usize) -> Stamp {
        Stamp { sender, round: (self.client as u64) << 24 | self.number, step: slot as u64, lane: 0 }
    }
}

struct PingPong<'c> {
    comm: &'c dyn Comm,
    stopwatch: Stopwatch<'c>,
    carried: bool,
    size: usize,
    loops: u64,
    measurements: u64,
    budget: f64,
    /// Measurements that this rank has led, for their balls differ.
    led: u64,
    slots: Slots,
    out: Vec<u8>,
    into: Vec<u8>,
    tally: Tally,
    /// Shortest and longest one-way time, sums of times and of bandwidths, pairs.
    found: [f64; 5],
    stride: usize,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let size = setup.params.size("size");
    let carried = setup.payload == Payload::Checked && size > 0;
    Ok(Box::new(PingPong {
        comm: setup.comm,
        stopwatch: setup.stopwatch,
        carried,
        size,
        loops: setup.params.count("loops").max(1),
        measurements: setup.params.count("measurements").max(1),
        budget: setup.params.time("budget").secs(),
        led: 0,
        slots: Slots::new(size),
        out: Vec::new(),
        into: Vec::new(),
        tally: Tally::default(),
        found: [f64::INFINITY, 0.0, 0.0, 0.0, 0.0],
        stride: 1,
    }))
}

impl PingPong<'_> {
    /// Fresh balls for a measurement of so many trips, before its first. The original's are never written but at their ends, which makes
    /// them faster to send within a node than any that carry something.
    fn prepare(&mut self, ball: Ball, trips: u64) {
        let slots = self.slots.renew(u32::try_from(trips).unwrap_or(u32::MAX));
        if !self.carried {
            return;
        }
        let room = self.out.len().max(slots * self.size);
        self.out.resize(room, 0);
        self.into.resize(room, 0);
        for (slot, out) in self.out.chunks_exact_mut(self.size).take(slots).enumerate() {
            ball.stamp(self.comm.rank(), slot).fill(out);
        }
    }

    fn throw(&mut self, to: usize, slot: usize) {
        let at = slot * self.size..(slot + 1) * self.size;
        let data = if self.carried { Data::Bytes(&self.out[at]) } else { Data::Len(self.size) };
        self.comm.exchange(&mut [Op::Send { to, tag: BALL, data }]);
    }
    fn catch(&mut self, from: usize, slot: usize) {
        let at = slot * self.size..(slot + 1) * self.size;
        let into = if self.carried { Buffer::Bytes(&mut self.into[at]) } else { Buffer::Len(self.size) };
        self.comm.exchange(&mut [Op::Recv { from, tag: BALL, into }]);
    }

    /// Looks at the balls of the other side when a measurement is over.
    fn look(&mut self, ball: Ball, thrower: usize) {
        if self.carried {
            for slot in self.slots.kept().map(|ago| self.slots.of(ago)) {
                self.tally.whole(ball.stamp(thrower, slot), &self.into[slot * self.size..(slot + 1) * self.size]);
            }
            self.tally.missed(self.slots.lost(), self.size);
        }
        self.slots.looked();
    }

    /// Tells the server how many round trips come, of which balls, and waits until it is ready.
    fn announce(&self, server: usize, ball: Ball, loops: u64) {
        let (number, mut ready) = ((ball.number << LOOPS_BITS | loops).to_le_bytes(), [0; 8]);
        self.comm.exchange(&mut [Op::send(server, CONTROL, &number)]);
        self.comm.exchange(&mut [Op::recv(server, CONTROL, &mut ready)]);
    }

    /// The one-way time of a pair, seen by its client.
    fn play(&mut self, server: usize) -> f64 {
        let mut loops = self.loops;
        let mut best = f64::INFINITY;
        let mut done = 0;
        while done < self.measurements {
            self.led = (self.led + 1) % BALLS;
            let ball = Ball { client: self.comm.rank(), number: self.led };
            self.prepare(ball, loops + 1);
            // As in the original the first trip of every measurement is not timed.
            self.announce(server, ball, loops + 1);
            self.trips(server, 1);
            let lap = self.stopwatch.start();
            self.trips(server, loops);
            let took = lap.seconds();
            self.look(ball, server);
            // Too short for the clock: done again with a longer loop, and not counted.
            if took < SHORTEST {
                loops = longer(loops);
                continue;
            }
            best = best.min(took / (2.0 * loops as f64));
            done += 1;
        }
        // No more trips: the server goes on to its next client.
        self.announce(server, Ball { client: self.comm.rank(), number: 0 }, 0);
        best
    }

    fn trips(&mut self, server: usize, loops: u64) {
        for _ in 0..loops {
            let slot = self.slots.begin();
            self.throw(server, slot);
            self.catch(server, slot);
        }
    }

    /// The server's part until the client has enough.
    fn serve(&mut self, client: usize) {
        loop {
            let mut number = [0; 8];
            self.comm.exchange(&mut [Op::recv(client, CONTROL, &mut number)]);
            let word = u64::from_le_bytes(number);
            let (ball, loops) = (Ball { client, number: word >> LOOPS_BITS }, word & ((1 << LOOPS_BITS) - 1));
            self.prepare(ball, loops);
            self.comm.exchange(&mut [Op::send(client, CONTROL, &number)]);
            if loops == 0 {
                return;
            }
            for _ in 0..loops {
                let slot = self.slots.begin();
                self.catch(client, slot);
                self.throw(client, slot);
            }
            self.look(ball, client);
        }
    }

    /// All pairs, one at a time; this client's values.
    fn tour(&mut self) -> Vec<f64> {
        let (me, ranks) = (self.comm.rank(), self.comm.size());
        let (clients, servers) = (clients(ranks, self.stride), servers(ranks, self.stride));
        let mut values = Vec::new();
        let mut before = None;
        for client in clients.clone() {
            if me == client {
                if let Some(from) = before {
                    self.comm.exchange(&mut [Op::recv(from, TOKEN, &mut [0])]);
                }
                for server in servers.clone().filter(|s| *s != me) {
                    values.push(self.play(server));
                }
                if let Some(to) = clients.clone().find(|c| *c > me) {
                    self.comm.exchange(&mut [Op::send(to, TOKEN, &[0])]);
                }
            } else if servers.clone().any(|s| s == me) {
                self.serve(client);
            }
            before = Some(client);
        }
        values
    }
}

impl Pattern for PingPong<'_> {
    fn arrange(&mut self, _: u64) {}

    fn step(&mut self) -> Option<Work> {
        let (me, ranks) = (self.comm.rank(), self.comm.size());
        let mut probe = 0.0;
        if me == 0 {
            probe = self.play(ranks - 1);
        } else if me == ranks - 1 {
            self.serve(0);
        }
        let probe = agree(self.comm, probe, Reduce::Max);
        self.stride = stride(ranks, probe, self.loops, self.measurements, self.budget);
        let values = self.tour();
        let size = self.size as f64;
        let mut sums = [values.iter().sum(), values.iter().map(|t| size / t).sum(), values.len() as f64];
        // Ranks that are no clients have no values and must not win either maximum.
        let worst = |v: &[f64]| v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The smallest as the largest of the negatives, so that one reduction finds both ends.
        let mut ends = [worst(&values), worst(&values.iter().map(|t| -t).collect::<Vec<_>>())];
        self.comm.allreduce(Vector::Values(&mut sums), Reduce::Sum);
        self.comm.allreduce(Vector::Values(&mut ends), Reduce::Max);
        self.found = [-ends[1], ends[0], sums[0], sums[1], sums[2]];
        Some(Work::messages(values.len() as u64, 0))
    }

    fn verify(&mut self) -> Verdict {
        if self.carried { self.tally.verdict() } else { unchecked() }
    }

    fn coverage(&self) -> Option<Coverage> {
        self.carried.then_some(self.tally.coverage)
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        let [shortest, longest, times, rates, pairs] = self.found;
        let size = self.size as f64;
        [
            (OPTIMIZED, 0.0),
            ("pairs", pairs),
            ("stride", self.stride as f64),
            ("latency_min_s", shortest),
            ("latency_avg_s", times / pairs),
            ("latency_max_s", longest),
            ("bandwidth_min_bytes_per_s", size / longest),
            ("bandwidth_avg_bytes_per_s", rates / pairs),
            ("bandwidth_max_bytes_per_s", size / shortest),
        ]
        .map(|(name, value)| NamedNumber::same(name, value))
        .into()
    }
}
