//! Natural and random rings in two codings (HPC Challenge 1.5.0, LatencyBandwidth).
//!
//! Every rank exchanges a message with each neighbour: once as two sendreceives, to the right and then to the left, and once as
//! four operations at the same time. A rank keeps the shorter time, the slowest rank counts, and of all measurements the best.

use super::OPTIMIZED;
use super::pairs::{SHORTEST, longer};
use crate::Stopwatch;
use crate::kernel::{Declares, Kernel, NamedNumber, Pattern, Setup, Traits};
use crate::order::order;
use crate::payload::{Mail, unchecked};
use comm::{Comm, Op, Reduce, Refusal, Tag, agree};
use record::{Coverage, Metric, Tells, Verdict};
use spec::{Card, Kind, Param, ReadParams, Rng, Work};

/// HPCC's natural and randomly ordered rings.
pub const RINGS: Kernel = Kernel {
    card: Card {
        name: "hpcc-rings",
        about: "Latency and bandwidth per rank of the natural ring and of random rings",
        source: "HPCC 1.5.0, LatencyBandwidth",
        params: &[
            Param::new("size", Kind::Size, "8", "message size"),
            Param::new("loops", Kind::Count, "5", "exchanges of a measurement"),
            Param::new("measurements", Kind::Count, "8", "measurements of a ring"),
            Param::new("rings", Kind::Count, "30", "random rings").up_to(1e6),
        ],
    },
    metric: Metric::Duration,
    min_ranks: 2,
    traits: Traits {
        tells: Tells::Results,
        declares: Declares::AsCalled("a step is all rings, and its results say what one exchange takes"),
        tiny: &[("size", "24"), ("loops", "2"), ("measurements", "2"), ("rings", "2")],
        ..Traits::PLAIN
    },
    start,
};

const RIGHTWARD: Tag = 370;
const LEFTWARD: Tag = 371;

struct Rings<'c> {
    comm: &'c dyn Comm,
    stopwatch: Stopwatch<'c>,
    seed: u64,
    size: usize,
    loops: u64,
    measurements: u64,
    rings: u64,
    /// Lane 0 goes left and comes from the right; lane 1 the other way.
    mail: Mail,
    verdict: Option<Verdict>,
    /// Best time of the natural ring and of each random one.
    best: Vec<f64>,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let size = setup.params.size("size");
    Ok(Box::new(Rings {
        comm: setup.comm,
        stopwatch: setup.stopwatch,
        seed: setup.seed,
        size,
        loops: setup.params.count("loops").max(1),
        measurements: setup.params.count("measurements").max(1),
        rings: setup.params.count("rings"),
        mail: Mail::new(setup.payload, size, (2, 2), 2),
        verdict: None,
        best: Vec::new(),
    }))
}

/// The order of the ranks in a random ring: as in the original each in turn takes a random slot, or the next free one.
fn drawn(rng: &mut Rng, ranks: usize) -> Vec<u32> {
    let mut slots: Vec<Option<u32>> = vec![None; ranks];
    for rank in 0..ranks {
        let wanted = rng.below(ranks as u64) as usize;
        let free = (wanted..wanted + ranks).map(|s| s % ranks).find(|s| slots[*s].is_none());
        slots[free.expect("there are as many slots as ranks")] = Some(rank as u32);
    }
    slots.into_iter().flatten().collect()
}

impl Rings<'_> {
    fn neighbours(&self, ring: u64) -> (usize, usize) {
        let (me, ranks) = (self.comm.rank(), self.comm.size());
        match ring {
            // The first is the natural one.
            0 => ((me + ranks - 1) % ranks, (me + 1) % ranks),
            _ => order(("hpcc ring", self.seed, ring, ranks), drawn).neighbours(me),
        }
    }

    fn exchange(&mut self, left: usize, right: usize, at_once: bool) {
        let comm = self.comm;
        let (out, rooms) = self.mail.step();
        let mut rooms = rooms.lanes();
        let (from_right, from_left) = (rooms.next().expect("two lanes"), rooms.next().expect("two lanes"));
        // Two tags: in a ring of two ranks left and right are the same one.
        let come_left = Op::Recv { from: left, tag: RIGHTWARD, into: from_left };
        let come_right = Op::Recv { from: right, tag: LEFTWARD, into: from_right };
        let go_right = Op::Send { to: right, tag: RIGHTWARD, data: out.lane(1) };
        let go_left = Op::Send { to: left, tag: LEFTWARD, data: out.lane(0) };
        if at_once {
            comm.exchange(&mut [come_left, come_right, go_right, go_left]);
        } else {
            comm.exchange(&mut [come_left, go_right]);
            comm.exchange(&mut [come_right, go_left]);
        }
    }

    fn timed(&mut self, round: u64, (left, right): (usize, usize), loops: u64, at_once: bool) -> f64 {
        // Written here and looked at below, outside of what is timed.
        self.mail.renew(self.comm.rank(), round, u32::try_from(loops + 1).unwrap_or(u32::MAX));
        // As in the original the first of every loop is not timed: it finds caches cold and neighbours late.
        self.exchange(left, right, at_once);
        let lap = self.stopwatch.start();
        for _ in 0..loops {
            self.exchange(left, right, at_once);
        }
        let took = lap.seconds();
        let seen = self.mail.verify(|_, lane| (if lane == 0 { right } else { left }, lane as u32));
        self.verdict = Some(match self.verdict.take() {
            Some(earlier) => earlier.and(seen),
            None => seen,
        });
        took
    }

    /// One measurement of a ring.
    fn measure(&mut self, ring: u64, round: u64) -> f64 {
        let neighbours = self.neighbours(ring);
        let mut loops = self.loops;
        let first = loop {
            let took = self.timed(round, neighbours, loops, false);
            // All ranks must agree on the loop's length, and some clock is always the slowest.
            if agree(self.comm, took, Reduce::Max) >= SHORTEST {
                break took;
            }
            loops = longer(loops);
        };
        let second = self.timed(round, neighbours, loops, true);
        agree(self.comm, first.min(second) / (2.0 * loops as f64), Reduce::Max)
    }
}

impl Pattern for Rings<'_> {
    fn arrange(&mut self, _: u64) {
        self.verdict = None;
    }

    fn step(&mut self) -> Option<Work> {
        self.best = vec![f64::INFINITY; 1 + self.rings as usize];
        for measurement in 0..self.measurements {
            for ring in 0..=self.rings {
                let time = self.measure(ring, measurement << 16 | ring);
                let best = &mut self.best[ring as usize];
                *best = best.min(time);
            }
        }
        Some(Work::messages(2, 2 * self.size as u64))
    }

    fn verify(&mut self) -> Verdict {
        self.verdict.take().unwrap_or_else(unchecked)
    }

    fn coverage(&self) -> Option<Coverage> {
        self.mail.coverage()
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        let size = self.size as f64;
        let Some((natural, random)) = self.best.split_first() else { return Vec::new() };
        let mut all =
            vec![(OPTIMIZED, 0.0), ("natural_latency_s", *natural), ("natural_bandwidth_bytes_per_s", size / natural)];
        if !random.is_empty() {
            // The geometric mean over rings, of times and so of bandwidths too.
            let mean = (random.iter().map(|t| t.ln()).sum::<f64>() / random.len() as f64).exp();
            all.extend([("random_latency_s", mean), ("random_bandwidth_bytes_per_s", size / mean)]);
        }
        all.into_iter().map(|(name, value)| NamedNumber::same(name, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ring_holds_every_rank() {
        let ring = |number| drawn(&mut Rng::new(3, "hpcc ring", number), 17);
        for number in 1..20 {
            let mut ranks = ring(number);
            ranks.sort();
            assert_eq!(ranks, (0..17).collect::<Vec<_>>());
        }
        assert_ne!(ring(1), ring(2));
    }
}
