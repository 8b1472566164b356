//! STREAM: Copy, Scale, Add and Triad on three long vectors (HPC Challenge 1.5.0, single and star).
//!
//! One step is one round of the four. Each of them stands between two barriers of the communicator and is timed by itself; of a
//! round the fastest rank's time counts, of all rounds the best, as the original reduces them.

use super::library::pool;
use super::{OPTIMIZED, THREADS, bounded, modelled, not_computed};
use crate::Stopwatch;
use crate::kernel::{Declares, Kernel, NamedNumber, Pattern, Room, Setup, Traits};
use comm::{Comm, Reduce, Refusal, Vector};
use local::Pool;
use local::stream::{Arrays, Kernel as Loop, Stores};
use record::{Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};
use std::sync::Arc;

/// HPCC's STREAM.
pub const STREAM: Kernel = Kernel {
    card: Card {
        name: "stream",
        about: "Memory bandwidth of Copy, Scale, Add and Triad on each rank",
        source: "HPCC 1.5.0, STREAM (McCalpin)",
        params: &[
            Param::new("n", Kind::Count, "1000000", "elements of each vector").up_to(1e12),
            Param::new(
                "stores",
                Kind::Choice(&["fastest", "plain", "streaming"]),
                "fastest",
                "streaming stores pass by the caches; the rules call that an optimized run; fastest tries both",
            ),
            THREADS,
        ],
    },
    metric: Metric::Bandwidth,
    min_ranks: 1,
    traits: Traits {
        declares: Declares::AsCalled("bytes of memory are counted, not those of the barriers"),
        beside: Some("its messages say how long it took"),
        room: |params, _| Room::each(params.count("n").saturating_mul(24)),
        tiny: &[("n", "1000")],
        ..Traits::PLAIN
    },
    start,
};

/// Rounds in which each kind of stores is tried.
const TRIALS: usize = 3;
/// Mean relative error that passes.
// The original's bound for each of the three vectors.
const TOLERANCE: f64 = 1e-13;

struct Stream<'c> {
    comm: &'c dyn Comm,
    stopwatch: Stopwatch<'c>,
    arrays: Option<Arrays>,
    n: usize,
    stores: Stores,
    pool: Arc<Pool>,
    rounds: usize,
    /// Best time of each kernel, in seconds.
    best: [f64; 4],
    deviation: f64,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let model = modelled(&setup);
    let (n, pool) = (setup.params.count("n") as usize, pool(setup.params.count("threads")));
    let arrays = || if model { Ok(None) } else { Arrays::new(n, &pool).map(Some).map_err(|e| Refusal(e.to_string())) };
    let stores = match setup.params.word("stores") {
        "plain" => Stores::Plain,
        "streaming" => Stores::Streaming,
        _ => faster(setup.comm, setup.stopwatch, arrays()?, &pool),
    };
    let arrays = arrays()?;
    let best = [f64::INFINITY; 4];
    let Setup { comm, stopwatch, .. } = setup;
    Ok(Box::new(Stream { comm, stopwatch, arrays, n, stores, pool, rounds: 0, best, deviation: 0.0 }))
}

/// The stores with which a round is faster on all ranks together, from the best of a few each. Collective.
fn faster(comm: &dyn Comm, stopwatch: Stopwatch<'_>, arrays: Option<Arrays>, pool: &Pool) -> Stores {
    let Some(mut arrays) = arrays else { return Stores::Plain };
    let mut round = |stores| {
        comm.barrier();
        let lap = stopwatch.start();
        comm.compute(Work::NONE, &mut || Loop::ALL.into_iter().for_each(|kernel| arrays.run(kernel, stores, pool)));
        lap.seconds()
    };
    let mut best = [f64::INFINITY; 2];
    for _ in 0..TRIALS {
        for (stores, best) in [Stores::Plain, Stores::Streaming].into_iter().zip(&mut best) {
            // The first round finds the caches as the other stores left them.
            round(stores);
            *best = best.min(round(stores));
        }
    }
    comm.allreduce(Vector::Values(&mut best), Reduce::Sum);
    if best[1] < best[0] { Stores::Streaming } else { Stores::Plain }
}

impl Pattern for Stream<'_> {
    /// Rounds continue from block to block: the recurrence knows how many there were.
    fn arrange(&mut self, _: u64) {}

    fn step(&mut self) -> Option<Work> {
        let mut times = [0.0; 4];
        let mut total = Work::NONE;
        for (kernel, time) in Loop::ALL.into_iter().zip(&mut times) {
            let work = Work { bytes: (kernel.bytes() * self.n) as u64, ..Work::NONE };
            self.comm.barrier();
            let lap = self.stopwatch.start();
            match &mut self.arrays {
                Some(arrays) => self.comm.compute(work, &mut || arrays.run(kernel, self.stores, &self.pool)),
                None => drop(self.comm.charge(work)),
            }
            self.comm.barrier();
            *time = lap.seconds();
            total += work;
        }
        self.comm.allreduce(Vector::Values(&mut times), Reduce::Min);
        // The first round touches pages and caches for the first time and is dropped.
        if self.rounds > 0 {
            self.best.iter_mut().zip(times).for_each(|(best, t)| *best = best.min(t));
        }
        self.rounds += 1;
        Some(total)
    }

    fn verify(&mut self) -> Verdict {
        let Some(arrays) = &self.arrays else { return not_computed() };
        let mut sum = [arrays.deviation(self.rounds)];
        self.comm.allreduce(Vector::Values(&mut sum), Reduce::Sum);
        self.deviation = sum[0] / self.comm.size() as f64;
        // The original passes at equality.
        bounded("the mean relative error", self.deviation, TOLERANCE.next_up(), 3 * self.n as u64)
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        let streaming = f64::from(u8::from(self.stores == Stores::Streaming));
        let first = [(OPTIMIZED, streaming), ("n", self.n as f64), ("deviation", self.deviation)];
        let mut all: Vec<NamedNumber> = first.map(|(name, value)| NamedNumber::same(name, value)).into();
        for ((kernel, name), time) in Loop::ALL.into_iter().zip(["copy", "scale", "add", "triad"]).zip(self.best) {
            all.push(NamedNumber::same(&format!("{name}_bytes_per_s"), (kernel.bytes() * self.n) as f64 / time));
        }
        all
    }

    fn notes(&mut self) -> Vec<String> {
        let streaming = self.stores == Stores::Streaming;
        streaming
            .then(|| "streaming stores: an optimized run in the sense of HPCC's rules".to_string())
            .into_iter()
            .collect()
    }
}
