//! One-dimensional complex transforms, alone and over all ranks (HPC Challenge 1.5.0).
//!
//! Over P ranks, with m = n / P elements each in natural order before and after:
//!
//! ```text
//! X[q + P k] = sum over j < m of  w_m^(j k)  w_n^(j q)  sum over r < P of  w_P^(r q)  x[r m + j]
//!              ---- local, m -----------  ---------- P elements, one of each rank ----------
//! ```
//!
//! Every rank takes a stretch of j, gets it from all ranks, transforms across them, sends result q to rank q, transforms m
//! elements alone, and deals the result out again: three exchanges in which every message is one piece of memory as it lies.

use super::library::pool;
use super::{EPS, THREADS, THRESHOLD, array, bounded, incoming, modelled, not_computed, outgoing, pay};
use crate::kernel::{Kernel, Merge, Outcome, Pattern, Setup};
use comm::{Comm, Op, Reduce, Refusal, Tag, agree};
use local::bcnrand::Stream;
use local::fft::{Batch, Complex, Direction, Plan, Roots, is_smooth, largest_smooth};
use local::memory::floats_mut;
use local::{Buffer, Pool};
use record::{Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};
use std::ops::Range;
use std::sync::Arc;

const N: Param = Param { name: "n", about: "elements, of the form 2^a 3^b 5^c", kind: Kind::Count, default: "65536" };

/// HPCC's SingleFFT and StarFFT.
pub const LOCAL: Kernel = Kernel {
    card: Card {
        name: "fft",
        about: "Gflop/s of one complex transform on each rank",
        source: "HPCC 1.5.0, FFT",
        params: &[N, THREADS, THRESHOLD],
    },
    metric: Metric::Flops,
    min_ranks: 1,
    start,
};

/// HPCC's MPIFFT. The communicator of one rank of it is the local test with the same checks.
pub const GLOBAL: Kernel = Kernel {
    card: Card {
        name: "fft-mpi",
        about: "Gflop/s of one complex transform over all ranks, whose number must divide it",
        source: "HPCC 1.5.0, MPIFFT",
        params: &[N, THREADS, THRESHOLD],
    },
    metric: Metric::Flops,
    min_ranks: 1,
    start,
};

const GIVE: Tag = 350;
const DEAL: Tag = 351;
const SPREAD: Tag = 352;

/// One direction, prepared.
struct Way {
    /// Transforms across the ranks.
    across: Batch,
    /// Transforms of a rank's elements.
    along: Plan,
    /// Roots of order n.
    roots: Roots,
}

struct Fft<'c> {
    comm: &'c dyn Comm,
    model: bool,
    n: usize,
    /// Elements of a rank.
    m: usize,
    threshold: f64,
    pool: Arc<Pool>,
    forward: Option<Way>,
    x: Buffer<Complex>,
    work: Buffer<Complex>,
    time: f64,
    error: f64,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    Ok(Box::new(prepare(setup)?))
}

fn prepare(setup: Setup<'_>) -> Result<Fft<'_>, Refusal> {
    let model = modelled(&setup);
    let (n, ranks) = (setup.params.count("n") as usize, setup.comm.size());
    if n == 0 || !is_smooth(n) {
        return Err(Refusal(format!(
            "n={n} is not of the form 2^a 3^b 5^c; the next smaller is {}",
            largest_smooth(n)
        )));
    }
    if !n.is_multiple_of(ranks) {
        return Err(Refusal(format!("n={n} cannot be dealt to {ranks} ranks; choose a multiple of {ranks}")));
    }
    let m = n / ranks;
    let forward = if model { None } else { Some(Way::new(n, ranks).map_err(|e| Refusal(e.to_string()))?) };
    Ok(Fft {
        comm: setup.comm,
        model,
        n,
        m,
        threshold: setup.params.real("threshold"),
        pool: pool(setup.params),
        forward,
        // A stretch may be one longer than the others, and it is gathered from all ranks.
        x: array(model, ranks * m.div_ceil(ranks))?,
        work: array(model, ranks * m.div_ceil(ranks))?,
        time: 0.0,
        error: 0.0,
    })
}

impl Way {
    fn new(n: usize, ranks: usize) -> Result<Way, local::fft::LengthError> {
        Ok(Way {
            across: Batch::new(ranks, Direction::Forward)?,
            along: Plan::new(n / ranks, Direction::Forward)?,
            roots: Roots::new(n, Direction::Forward),
        })
    }
}

/// Operations that count: `5 n log2 n`.
fn flops(n: usize) -> u64 {
    (5.0 * n as f64 * (n as f64).log2()) as u64
}

impl Fft<'_> {
    /// The stretch of `0..m` that rank `r` takes.
    fn stretch(&self, r: usize) -> Range<usize> {
        let ranks = self.comm.size();
        let cut = |r: usize| (self.m as u128 * r as u128 / ranks as u128) as usize;
        cut(r)..cut(r + 1)
    }

    /// Transforms `x` in place, natural order before and after. Collective.
    fn transform(&mut self) {
        let ranks = self.comm.size();
        if ranks == 1 {
            return self.alone();
        }
        self.gather_stretch();
        self.across();
        self.deal_results();
        self.along();
        self.spread();
        self.interleave();
    }

    fn alone(&mut self) {
        let (way, pool) = (&self.forward, &self.pool);
        let (x, work) = (&mut self.x, &mut self.work);
        pay(self.comm, self.model, Work::flops(flops(self.n)), &mut || {
            let way = way.as_ref().expect("a real run has a plan");
            way.along.run(x, work, pool);
            // The original's interface ends with the result in the place of the input.
            x.copy_from_slice(work);
        });
    }

    /// From every rank its elements of this rank's stretch; they follow one another in `work`.
    fn gather_stretch(&mut self) {
        let (comm, model, me) = (self.comm, self.model, self.comm.rank());
        let stretches: Vec<Range<usize>> = (0..comm.size()).map(|r| self.stretch(r)).collect();
        let width = stretches[me].len();
        let mut ops = Vec::new();
        let mut rooms = rooms(&mut self.work, model, std::iter::repeat_n(width, comm.size()));
        for (from, room) in rooms.drain(..).enumerate() {
            if from == me {
                room.copy_from_slice(if model { &[] } else { &self.x[stretches[me].clone()] });
            } else if width > 0 {
                ops.push(Op::Recv { from, tag: GIVE, into: incoming(model, room, width) });
            }
        }
        for to in (1..comm.size()).map(|d| (me + d) % comm.size()).filter(|to| !stretches[*to].is_empty()) {
            let part = if model { &[][..] } else { &self.x[stretches[to].clone()] };
            ops.push(Op::Send { to, tag: GIVE, data: outgoing(model, part, stretches[to].len()) });
        }
        comm.exchange(&mut ops);
    }

    /// Transforms across the ranks, with the factors between the two transforms.
    fn across(&mut self) {
        let own = self.stretch(self.comm.rank());
        let (width, ranks) = (own.len(), self.comm.size());
        if width == 0 {
            return;
        }
        let work = Work::flops(flops(ranks) * width as u64 + 6 * (ranks * width) as u64);
        let (way, pool, data) = (&self.forward, &self.pool, &mut self.work);
        pay(self.comm, self.model, work, &mut || {
            let way = way.as_ref().expect("a real run has a plan");
            let data = &mut data[..ranks * width];
            if ranks == 2 {
                butterfly(data, width, &way.roots, own.start);
            } else {
                way.across.columns(data, width, width, Some((&way.roots, own.start)), pool);
            }
        });
    }

    /// Result q of this rank's stretch to rank q; what comes is put together in `x`.
    fn deal_results(&mut self) {
        let (comm, model, me) = (self.comm, self.model, self.comm.rank());
        let stretches: Vec<Range<usize>> = (0..comm.size()).map(|r| self.stretch(r)).collect();
        let width = stretches[me].len();
        let mut ops = Vec::new();
        let mut rooms = rooms(&mut self.x, model, stretches.iter().map(|s| s.len()));
        for (from, room) in rooms.drain(..).enumerate() {
            let length = stretches[from].len();
            if from == me {
                room.copy_from_slice(if model { &[] } else { &self.work[me * width..(me + 1) * width] });
            } else if length > 0 {
                ops.push(Op::Recv { from, tag: DEAL, into: incoming(model, room, length) });
            }
        }
        for to in (1..comm.size()).map(|d| (me + d) % comm.size()).filter(|_| width > 0) {
            let part = if model { &[][..] } else { &self.work[to * width..(to + 1) * width] };
            ops.push(Op::Send { to, tag: DEAL, data: outgoing(model, part, width) });
        }
        comm.exchange(&mut ops);
    }

    fn along(&mut self) {
        let (way, pool) = (&self.forward, &self.pool);
        let (x, work, m) = (&mut self.x, &mut self.work, self.m);
        pay(self.comm, self.model, Work::flops(flops(self.m)), &mut || {
            way.as_ref().expect("a real run has a plan").along.run(&mut x[..m], &mut work[..m], pool);
        });
    }

    /// Which results k of rank q belong to rank t: those of which q + P k lies in its part.
    fn results_of(&self, q: usize, t: usize) -> Range<usize> {
        let ranks = self.comm.size();
        let cut = |t: usize| (t * self.m).saturating_sub(q).div_ceil(ranks);
        cut(t)..cut(t + 1)
    }

    /// Results of this rank to the ranks they belong to; what comes lies in `x`, one row for each rank.
    fn spread(&mut self) {
        let (comm, model, me) = (self.comm, self.model, self.comm.rank());
        let come: Vec<usize> = (0..comm.size()).map(|q| self.results_of(q, me).len()).collect();
        let go: Vec<Range<usize>> = (0..comm.size()).map(|t| self.results_of(me, t)).collect();
        let mut ops = Vec::new();
        let mut rooms = rooms(&mut self.x, model, come.iter().copied());
        for (from, room) in rooms.drain(..).enumerate() {
            if from == me {
                room.copy_from_slice(if model { &[] } else { &self.work[go[me].clone()] });
            } else if come[from] > 0 {
                ops.push(Op::Recv { from, tag: SPREAD, into: incoming(model, room, come[from]) });
            }
        }
        for to in (1..comm.size()).map(|d| (me + d) % comm.size()).filter(|to| !go[*to].is_empty()) {
            let part = if model { &[][..] } else { &self.work[go[to].clone()] };
            ops.push(Op::Send { to, tag: SPREAD, data: outgoing(model, part, go[to].len()) });
        }
        comm.exchange(&mut ops);
    }

    /// Rows of ranks become the natural order.
    fn interleave(&mut self) {
        let (ranks, first) = (self.comm.size(), self.comm.rank() * self.m);
        let rows: Vec<Range<usize>> = (0..ranks).map(|q| self.results_of(q, self.comm.rank())).collect();
        let moved = Work { bytes: 32 * self.m as u64, ..Work::NONE };
        let (x, work, m) = (&mut self.x, &mut self.work, self.m);
        pay(self.comm, self.model, moved, &mut || {
            // Where the next element of each rank lies; they take turns.
            let mut next: Vec<usize> = Vec::with_capacity(ranks);
            let mut start = 0;
            for row in &rows {
                next.push(start);
                start += row.len();
            }
            next.rotate_left(first % ranks);
            for group in work[..m].chunks_mut(ranks) {
                for (y, at) in group.iter_mut().zip(&mut next) {
                    *y = x[*at];
                    *at += 1;
                }
            }
            std::mem::swap(x, work);
        });
    }
}

/// Consecutive parts of an array; empty ones where nothing is stored.
fn rooms(data: &mut [Complex], model: bool, lengths: impl Iterator<Item = usize>) -> Vec<&mut [Complex]> {
    let mut rest = data;
    lengths
        .map(|length| {
            let (part, tail) = std::mem::take(&mut rest).split_at_mut(if model { 0 } else { length });
            rest = tail;
            part
        })
        .collect()
}

/// The transform across two ranks: sum, and difference times the j-th root.
fn butterfly(data: &mut [Complex], width: usize, roots: &Roots, first: usize) {
    const GROUP: usize = 64;
    let (low, high) = data.split_at_mut(width);
    let fine: [Complex; GROUP] = std::array::from_fn(|k| roots.at(k));
    for (g, (low, high)) in low.chunks_mut(GROUP).zip(high.chunks_mut(GROUP)).enumerate() {
        let factor = roots.at(first + g * GROUP);
        for ((a, b), w) in low.iter_mut().zip(high).zip(&fine) {
            let (sum, difference) = (*a + *b, *a - *b);
            *a = sum;
            *b = difference * (w * factor);
        }
    }
}

impl Pattern for Fft<'_> {
    fn arrange(&mut self, _: u64) {
        if !self.model {
            let from = 53 * 2 * (self.comm.rank() * self.m) as u64;
            Stream::at(from).fill(floats_mut(&mut self.x[..self.m]));
        }
    }

    fn step(&mut self) -> Option<Work> {
        let begin = self.comm.now();
        self.transform();
        self.time = self.comm.now().since(begin).secs();
        Some(Work::flops(flops(self.n)))
    }

    /// Transforms back, as the conjugate of the transform of the conjugate, and compares with the data made again.
    fn verify(&mut self) -> Verdict {
        if self.model {
            return not_computed();
        }
        self.x[..self.m].iter_mut().for_each(|z| *z = z.conj());
        self.transform();
        let scale = 1.0 / self.n as f64;
        let from = 53 * 2 * (self.comm.rank() * self.m) as u64;
        Stream::at(from).fill(floats_mut(&mut self.work[..self.m]));
        let far = |(z, z0): (&Complex, &Complex)| (z.conj() * scale - z0).norm();
        let worst = |m: f64, d: f64| if d.is_nan() { f64::INFINITY } else { m.max(d) };
        let mine = self.x[..self.m].iter().zip(&self.work[..self.m]).map(far).fold(0.0, worst);
        self.error = agree(self.comm, mine, Reduce::Max);
        let logarithm = (self.n.max(2) as f64).ln();
        bounded("the scaled error", self.error / (logarithm * EPS), self.threshold, self.m as u64)
    }

    fn results(&mut self) -> Vec<Outcome> {
        vec![
            Outcome::same("n", self.n as f64),
            // Rank 0's own time counts, by the original's rules.
            Outcome::same("time_s", self.time),
            Outcome::same("flops_per_s", flops(self.n) as f64 / self.time.max(1e-12)),
            Outcome::new("max_error", self.error, Merge::Max),
            Outcome::same("ranks", self.comm.size() as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use comm::Machine;
    use record::Payload;
    use std::sync::Mutex;

    /// What all ranks hold after one transform, one part after the other.
    fn transformed(n: usize, ranks: usize) -> Vec<Complex> {
        let given = [("n".to_string(), n.to_string())].into();
        let params = GLOBAL.card.resolve(&given).unwrap();
        let whole = Mutex::new(vec![Complex::default(); n]);
        let text = format!("nodes = {ranks}\nranks_per_node = 1\n[topology]\nkind = \"single-switch\"\n");
        let machine = sim::Machine::new(sim::Config::from_toml(&text).unwrap()).unwrap();
        let body = |world: &dyn Comm| {
            let mut fft =
                prepare(Setup { comm: world, params: &params, seed: 1, payload: Payload::Checked, progress: &|_| () })
                    .unwrap();
            fft.arrange(0);
            fft.transform();
            let (m, first) = (fft.m, world.rank() * fft.m);
            whole.lock().unwrap()[first..first + m].copy_from_slice(&fft.x[..m]);
        };
        machine.run(&body).unwrap();
        whole.into_inner().unwrap()
    }

    /// The definition, with every root from its own angle.
    fn naive(n: usize) -> Vec<Complex> {
        let mut x = vec![Complex::default(); n];
        Stream::at(0).fill(floats_mut(&mut x));
        let root = |k: usize| {
            let angle = -2.0 * std::f64::consts::PI * k as f64 / n as f64;
            Complex::new(angle.cos(), angle.sin())
        };
        (0..n).map(|k| x.iter().enumerate().map(|(j, z)| z * root(j * k % n)).sum()).collect()
    }

    #[test]
    fn results_are_those_of_the_definition_in_natural_order() {
        for ranks in [1, 2, 3, 4, 6, 8] {
            for n in [ranks, 5 * ranks, 30 * ranks, 64 * ranks] {
                let (fast, slow) = (transformed(n, ranks), naive(n));
                let far = fast.iter().zip(&slow).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
                assert!(far < 1e-11 * n as f64, "{n} elements on {ranks} ranks: {far:e}");
            }
        }
    }
}
