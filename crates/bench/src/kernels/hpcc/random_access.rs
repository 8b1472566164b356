//! RandomAccess: exclusive-or of random numbers into random words of a table, alone and over all ranks (HPC Challenge 1.5.0).

use super::library::pool;
use super::route::{Run, Split, Stream};
use super::{OPTIMIZED, THREADS, array, modelled, not_computed};
use crate::Stopwatch;
use crate::kernel::{Declares, Kernel, Merge, NamedNumber, Pattern, Room, Setup, Traits};
use comm::{Comm, Reduce, Refusal, agree};
use local::random_access::{Generator, Method, Table, UPDATES_PER_WORD};
use local::{Buffer, Pool};
use record::{Metric, Verdict};
use spec::{Card, Kind, Param, Params, ReadParams, Time, Work};
use std::sync::Arc;

const BITS: Param = Param::new("bits", Kind::Count, "16", "logarithm of the number of words of the table").up_to(50.0);
const GENERATOR: Param = Param::new(
    "generator",
    Kind::Choice(&["poly", "lcg"]),
    "poly",
    "random stream: the polynomial one, or the linear congruential one (`_LCG`)",
);
const UPDATES: Param = Param::new(
    "updates",
    Kind::Count,
    "0",
    "updates of the table at most, if that is fewer than the four for each word that the rules ask for; 0 for those",
);

/// HPCC's SingleRandomAccess and StarRandomAccess.
pub const LOCAL: Kernel = Kernel {
    card: Card {
        name: "random-access",
        about: "Updates per second of a random table on each rank",
        source: "HPCC 1.5.0, RandomAccess",
        params: &[
            BITS,
            GENERATOR,
            UPDATES,
            Param::new(
                "method",
                Kind::Choice(&["ahead", "direct"]),
                "ahead",
                "updates at once as the original's loop, or with the lines fetched ahead",
            ),
            THREADS,
        ],
    },
    metric: Metric::Updates,
    min_ranks: 1,
    traits: Traits {
        one_step: true,
        room: |params, _| Room::each(8 << params.count("bits")),
        tiny: &[("bits", "10")],
        ..Traits::PLAIN
    },
    start: start_local,
};

/// HPCC's MPIRandomAccess.
pub const GLOBAL: Kernel = Kernel {
    card: Card {
        name: "random-access-mpi",
        about: "Updates per second of one random table over all ranks",
        source: "HPCC 1.5.0, MPIRandomAccess",
        params: &[
            BITS,
            GENERATOR,
            UPDATES,
            Param::new(
                "algorithm",
                Kind::Choice(&["auto", "bucket", "hypercube"]),
                "auto",
                "how updates travel: one message to each rank, or bit by bit; auto takes buckets up to 16 ranks",
            ),
            Param::new(
                "time-bound",
                Kind::Time,
                "60s",
                "fewer updates if they would take longer than this; 0s for never",
            ),
        ],
    },
    metric: Metric::Updates,
    min_ranks: 1,
    traits: Traits {
        declares: Declares::AsCalled("updates are counted, not bytes"),
        beside: Some("messages have room for more updates than come"),
        one_step: true,
        room: |params, ranks| Room::each((8 << params.count("bits")) / ranks.max(1)),
        tiny: &[("bits", "11")],
        ..Traits::PLAIN
    },
    start: start_global,
};

/// Share of wrong words that passes where threads race for the words of a table.
// HPCC's rules allow races that lose updates, up to 1 % of the table.
const RACES: f64 = 0.01;
/// Words of a table for each thread at least. How many words a race spoils does not depend on the table: two threads on two busy cores
/// spoil 80 to 500, so on 8,192 words they may pass the allowance, and here they stay a factor of ten below it.
const THREAD_WORDS: u64 = 1 << 18;
/// Over all ranks each word has one owner: there are no races, so an update that is lost or changed was lost or changed on its way.
const NO_RACES: f64 = 0.0;
/// One part in so many is run beforehand to see how long all would take.
// The original's RA_SAMPLE_FACTOR.
const SAMPLE: u64 = 100;
/// Ranks up to which every rank sends to every other.
const BUCKETS_UP_TO: usize = 16;
/// A table may have at most so many words.
const MAX_BITS: u64 = 48;

fn generator(params: &Params) -> Generator {
    if params.word("generator") == "poly" { Generator::Poly } else { Generator::Lcg }
}

/// Updates of a table of so many bits at most.
fn at_most(params: &Params, bits: u32) -> u64 {
    let (all, asked) = (UPDATES_PER_WORD << bits, params.count("updates"));
    if asked == 0 { all } else { all.min(asked) }
}

fn bits(params: &Params) -> Result<u32, Refusal> {
    let bits = params.count("bits");
    if bits > MAX_BITS {
        return Err(Refusal(format!(
            "bits={bits}: a table of 2^{bits} words does not fit any memory; at most {MAX_BITS}"
        )));
    }
    Ok(bits as u32)
}

fn judge(errors: u64, words: u64, allowance: f64) -> Verdict {
    if errors as f64 <= allowance * words as f64 {
        return Verdict::Right { checked: words };
    }
    let first = format!("{errors} of {words} words of the table are wrong, more than {} %", 100.0 * allowance);
    Verdict::Wrong { checked: words, wrong: errors, first }
}

struct Alone<'c> {
    comm: &'c dyn Comm,
    table: Option<Table>,
    bits: u32,
    updates: u64,
    generator: Generator,
    method: Method,
    pool: Arc<Pool>,
    /// Threads that a table of this size does without.
    idle: u64,
    errors: u64,
}

fn start_local(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let bits = bits(setup.params)?;
    let (asked, fit) = (setup.params.count("threads"), ((1 << bits) / THREAD_WORDS).max(1));
    let pool = pool(asked.min(fit));
    let most = at_most(setup.params, bits);
    let table = if modelled(&setup) {
        None
    } else {
        Some(Table::new(bits, &pool).map_err(|e| Refusal(e.to_string()))?.at_most(most))
    };
    let updates = table.as_ref().map_or(most, Table::updates);
    let method = if setup.params.word("method") == "ahead" { Method::Ahead } else { Method::Direct };
    let generator = generator(setup.params);
    let idle = asked.saturating_sub(fit);
    Ok(Box::new(Alone { comm: setup.comm, table, bits, updates, generator, method, pool, idle, errors: 0 }))
}

impl Pattern for Alone<'_> {
    fn arrange(&mut self, _: u64) {
        if let Some(table) = &mut self.table {
            table.reset(&self.pool);
        }
    }

    fn step(&mut self) -> Option<Work> {
        let work = Work { updates: self.updates, ..Work::NONE };
        match &mut self.table {
            Some(table) => self.comm.compute(work, &mut || table.update(self.generator, self.method, &self.pool)),
            None => drop(self.comm.charge(work)),
        }
        Some(work)
    }

    fn verify(&mut self) -> Verdict {
        let Some(table) = &mut self.table else { return not_computed() };
        self.errors = table.verify(self.generator);
        judge(self.errors, 1 << self.bits, RACES)
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        let words = (1u64 << self.bits) as f64;
        let ahead = f64::from(u8::from(matches!(self.method, Method::Ahead)));
        let errors = NamedNumber::new("errors", self.errors as f64, Merge::Max);
        vec![NamedNumber::same(OPTIMIZED, ahead), NamedNumber::same("n", words), errors]
    }

    fn notes(&mut self) -> Vec<String> {
        let mut notes = Vec::new();
        if matches!(self.method, Method::Ahead) {
            notes.push("updates are looked ahead within the 1024 of the rules: an optimized run".to_string());
        }
        notes.extend(fewer(self.updates, self.bits, "as asked"));
        if self.idle > 0 && self.table.is_some() {
            notes.push(format!("{} threads fewer: on 2^{} words they would race for too many", self.idle, self.bits));
        }
        if self.errors > 0 {
            notes.push(format!("{} of {} words of the table are wrong", self.errors, 1u64 << self.bits));
        }
        notes
    }
}

/// What is said of a run that does not make all updates.
fn fewer(updates: u64, bits: u32, why: &str) -> Option<String> {
    let all = UPDATES_PER_WORD << bits;
    (updates < all).then(|| format!("{updates} of {all} updates are made, {why}"))
}

/// How updates travel; the last is for the check.
enum Way {
    Bucket,
    Hypercube,
    Plainly,
}

struct Together<'c> {
    comm: &'c dyn Comm,
    stopwatch: Stopwatch<'c>,
    model: bool,
    split: Split,
    generator: Generator,
    hypercube: bool,
    bound: Time,
    table: Buffer<u64>,
    /// Updates of each rank at most, if time is short.
    limit: u64,
    sampled: bool,
    /// Not all that was asked for fits the bound.
    late: bool,
    time: f64,
    check_time: f64,
    errors: f64,
}

fn start_global(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let model = modelled(&setup);
    let (bits, ranks) = (bits(setup.params)?, setup.comm.size());
    if (1u64 << bits) < ranks as u64 {
        return Err(Refusal(format!("bits={bits}: a table of 2^{bits} words cannot be split over {ranks} ranks")));
    }
    let split = Split::new(bits, ranks);
    let hypercube = match setup.params.word("algorithm") {
        "auto" => ranks > BUCKETS_UP_TO,
        word => word == "hypercube",
    };
    Ok(Box::new(Together {
        comm: setup.comm,
        stopwatch: setup.stopwatch,
        model,
        split,
        generator: generator(setup.params),
        hypercube,
        bound: setup.params.time("time-bound"),
        table: array(model, split.range(setup.comm.rank()).len())?,
        limit: limit(setup.params, bits, ranks as u64),
        sampled: false,
        late: false,
        time: 0.0,
        check_time: 0.0,
        errors: 0.0,
    }))
}

/// Updates of each rank at most, or all there are.
fn limit(params: &Params, bits: u32, ranks: u64) -> u64 {
    let most = at_most(params, bits);
    if most < UPDATES_PER_WORD << bits { (most / ranks).max(1) } else { u64::MAX }
}

impl Together<'_> {
    fn reset(&mut self) {
        let first = self.split.range(self.comm.rank()).start;
        self.table.iter_mut().zip(first as u64..).for_each(|(word, i)| *word = i);
    }

    /// Updates of a rank, at most `limit`.
    fn updates(&self, rank: usize, limit: u64) -> u64 {
        (UPDATES_PER_WORD * self.split.range(rank).len() as u64).min(limit)
    }

    fn total(&self) -> u64 {
        let ranks = self.comm.size() as u64;
        // Without a limit the parts add up; with one, all ranks have at least that many or all their own.
        if self.limit == u64::MAX {
            return UPDATES_PER_WORD << self.split.bits;
        }
        (0..ranks as usize).map(|r| self.updates(r, self.limit)).sum()
    }

    fn run(&mut self, limit: u64, way: Way) {
        let me = self.comm.rank();
        let from = UPDATES_PER_WORD * self.split.range(me).start as u64;
        let stream = Stream::new(self.generator, from, self.updates(me, limit));
        // Rank 0 has the longest part.
        let longest = self.updates(0, limit);
        let Together { comm, model, generator, split, .. } = *self;
        let mut run = Run { comm, model, generator, split, table: &mut self.table };
        match way {
            Way::Bucket => run.bucket(stream, longest),
            Way::Hypercube => run.hypercube(stream, longest),
            Way::Plainly => run.plainly(stream, longest),
        }
    }

    fn way(&self) -> Way {
        if self.hypercube { Way::Hypercube } else { Way::Bucket }
    }

    /// A hundredth of the updates beforehand: how many fit the bound.
    fn sample(&mut self) {
        let few = (self.updates(0, self.limit) / SAMPLE).max(1);
        self.comm.barrier();
        let lap = self.stopwatch.start();
        self.run(few, self.way());
        let took = agree(self.comm, lap.seconds(), Reduce::Max);
        let fit = self.bound.secs() / (took / few as f64).max(1e-15);
        if fit < self.updates(0, self.limit) as f64 {
            self.limit = (fit as u64).max(few);
            self.late = true;
        }
    }
}

impl Pattern for Together<'_> {
    fn arrange(&mut self, _: u64) {
        if self.bound > Time::ZERO && !self.sampled && !self.model {
            self.sampled = true;
            self.reset();
            self.sample();
        }
        // Again after a sample, which has changed the table.
        self.reset();
    }

    fn step(&mut self) -> Option<Work> {
        self.comm.barrier();
        let lap = self.stopwatch.start();
        self.run(self.limit, self.way());
        self.comm.barrier();
        self.time = lap.seconds();
        Some(Work { updates: self.total(), ..Work::NONE })
    }

    fn verify(&mut self) -> Verdict {
        if self.model {
            return not_computed();
        }
        let lap = self.stopwatch.start();
        // Exclusive-or undoes itself: the same updates once more leave every word at its own index.
        self.run(self.limit, Way::Plainly);
        let first = self.split.range(self.comm.rank()).start as u64;
        let wrong = self.table.iter().zip(first..).filter(|(word, i)| **word != *i).count();
        self.errors = agree(self.comm, wrong as f64, Reduce::Sum);
        self.check_time = lap.seconds();
        // One verdict for the whole table: the allowance is a share of all of it.
        if self.comm.rank() == 0 {
            judge(self.errors as u64, 1 << self.split.bits, NO_RACES)
        } else {
            Verdict::Right { checked: 0 }
        }
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        let words = (1u64 << self.split.bits) as f64;
        let updates = self.total() as f64;
        [
            (OPTIMIZED, 0.0),
            ("n", words),
            ("time_s", self.time),
            ("check_time_s", self.check_time),
            ("errors", self.errors),
            ("errors_share", self.errors / words),
            ("updates", updates),
            ("updates_per_s", updates / self.time.max(1e-12)),
            ("time_bound_s", if self.bound > Time::ZERO { self.bound.secs() } else { -1.0 }),
            ("algorithm", if self.hypercube { 1.0 } else { 0.0 }),
        ]
        .map(|(name, value)| NamedNumber::same(name, value))
        .into()
    }

    fn notes(&mut self) -> Vec<String> {
        let way =
            if self.hypercube { "bit by bit through the ranks (hypercube)" } else { "by one message to each rank" };
        let mut notes = vec![format!("updates travel {way}, at most 1024 stored on a rank")];
        let why = if self.late { "to keep the time bound" } else { "as asked" };
        notes.extend(fewer(self.total(), self.split.bits, why));
        notes
    }
}
