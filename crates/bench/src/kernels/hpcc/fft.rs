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
//! elements alone, and deals the result out again: three exchanges in which every message is one piece of memory as it lies. They are made
//! in pieces that stay in a cache from one step to the next.

use super::library::pool;
use super::{EPS, OPTIMIZED, THREADS, THRESHOLD, array, bounded, incoming, modelled, not_computed, outgoing, pay};
use crate::Stopwatch;
use crate::kernel::{Declares, Kernel, Merge, NamedNumber, Pattern, Room, Setup, Traits};
use comm::{Comm, Op, Pending, Reduce, Refusal, Tag, agree, overlap};
use local::bcnrand::Stream;
use local::fft::{Batch, Complex, Direction, Plan, Roots, is_smooth, largest_smooth};
use local::memory::floats_mut;
use local::{Buffer, Pool};
use record::{Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};
use std::ops::Range;
use std::sync::Arc;

const N: Param = Param::new("n", Kind::Count, "65536", "elements, of the form 2^a 3^b 5^c").up_to(1e15);

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
    traits: Traits {
        declares: Declares::AsCalled("operations are counted, not bytes"),
        one_step: true,
        room: |params, _| Room::each(params.count("n").saturating_mul(32)),
        tiny: &[("n", "600")],
        ..Traits::PLAIN
    },
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
    traits: Traits {
        declares: Declares::AsCalled("operations are counted, not bytes"),
        one_step: true,
        room: |params, ranks| Room::each(params.count("n").saturating_mul(32) / ranks.max(1)),
        tiny: &[("n", "600")],
        ..Traits::PLAIN
    },
    start,
};

const GIVE: Tag = 350;
const DEAL: Tag = 351;
const SPREAD: Tag = 352;

/// Elements of one piece, all ranks' together: half a megabyte stays in a second-level cache.
const AT_HAND: usize = 1 << 15;
/// Elements of a message below which pieces are not made smaller: 64 KiB, beyond which networks are at their full rate.
const MESSAGE: usize = 1 << 12;

/// One direction, prepared.
struct Way {
    /// Transforms across the ranks.
    across: Batch,
    /// Transforms of a rank's elements.
    along: Plan,
    /// Roots of order n.
    roots: Roots,
}

/// Who holds what, and when.
#[derive(Clone, Copy)]
struct Deal<'c> {
    comm: &'c dyn Comm,
    model: bool,
    /// Elements of a rank.
    m: usize,
    /// Pieces in which they travel.
    pieces: usize,
}

struct Fft<'c> {
    n: usize,
    stopwatch: Stopwatch<'c>,
    deal: Deal<'c>,
    threshold: f64,
    pool: Arc<Pool>,
    forward: Option<Way>,
    x: Buffer<Complex>,
    work: Buffer<Complex>,
    /// Pieces at hand: one that comes, one that is worked on, one that goes.
    hand: [Vec<Complex>; 3],
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
        n,
        stopwatch: setup.stopwatch,
        threshold: setup.params.real("threshold"),
        pool: pool(setup.params.count("threads")),
        forward,
        // One piece is m / pieces elements of all ranks together, and a message is one rank's share of it.
        deal: Deal { comm: setup.comm, model, m, pieces: m.div_ceil(AT_HAND).min(m / ranks / MESSAGE).max(1) },
        x: array(model, m)?,
        work: array(model, m)?,
        hand: Default::default(),
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
    /// Transforms `x` in place, natural order before and after. Collective.
    fn transform(&mut self) {
        let ranks = self.deal.comm.size();
        if ranks == 1 {
            return self.alone();
        }
        self.across();
        self.along();
        self.spread();
    }

    fn alone(&mut self) {
        let (way, pool) = (&self.forward, &self.pool);
        let (x, work) = (&mut self.x, &mut self.work);
        pay(self.deal.comm, self.deal.model, Work::flops(flops(self.n)), &mut || {
            let way = way.as_ref().expect("a real run has a plan");
            way.along.run(x, work, pool);
            // The original's interface ends with the result in the place of the input.
            x.copy_from_slice(work);
        });
    }

    /// The transforms across the ranks. Piece by piece the elements of this rank's stretch come from all ranks and the results go
    /// to theirs, where they come to lie in `x` in the place of the elements they are made of. While one piece is transformed, the
    /// one before it goes and the one after it comes.
    fn across(&mut self) {
        let deal = self.deal;
        // A piece comes in round t, is transformed in t + 1 and leaves in t + 2: hence two rounds more than pieces.
        for t in 0..deal.pieces as isize + 2 {
            let [next, now, before] = &mut self.hand;
            overlap(deal.comm, |pending| {
                deal.trade(pending, t, &mut self.x, next, before);
                let own = deal.piece(deal.comm.rank(), t - 1);
                deal.transform(now, own, &self.forward, &self.pool);
            });
            self.hand.rotate_right(1);
        }
    }

    fn along(&mut self) {
        let (way, pool) = (&self.forward, &self.pool);
        let (x, work) = (&mut self.x, &mut self.work);
        pay(self.deal.comm, self.deal.model, Work::flops(flops(self.deal.m)), &mut || {
            way.as_ref().expect("a real run has a plan").along.run(x, work, pool);
        });
    }

    /// Results to the ranks they belong to, piece by piece, and into natural order in `x`. While one piece is put into order the next
    /// one comes.
    fn spread(&mut self) {
        let deal = self.deal;
        let (me, first) = (deal.comm.rank(), deal.comm.rank() * deal.m);
        // A piece comes in round t and is put into order in t + 1: hence one round more than pieces.
        for t in 0..=deal.pieces {
            let [next, now, _] = &mut self.hand;
            let (own, x) = (&self.work, &mut self.x);
            overlap(deal.comm, |pending| {
                deal.send_results(pending, t, own, next);
                let Some(outputs) = t.checked_sub(1).map(|t| deal.outputs(me, t)) else { return };
                // A complex number has 16 bytes and is read and written.
                let moved = Work { bytes: 32 * outputs.len() as u64, ..Work::NONE };
                let place = outputs.start - first..outputs.end - first;
                pay(deal.comm, deal.model, moved, &mut || deal.interleave(own, now, &mut x[place.clone()], &outputs));
            });
            self.hand.swap(0, 1);
        }
    }
}

impl Deal<'_> {
    /// Transforms one piece across the ranks, with the factors between the two transforms.
    fn transform(&self, data: &mut [Complex], own: Range<usize>, way: &Option<Way>, pool: &Pool) {
        let (width, ranks) = (own.len(), self.comm.size());
        if width == 0 {
            return;
        }
        // The factor between the transforms is one complex product, 6 operations, for each element.
        let work = Work::flops(flops(ranks) * width as u64 + 6 * (ranks * width) as u64);
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

    /// The stretch of `0..m` that rank `r` takes.
    fn stretch(&self, r: usize) -> Range<usize> {
        let cut = |r: usize| share(self.m, r, self.comm.size());
        cut(r)..cut(r + 1)
    }

    /// Piece `t` of the stretch of rank `r`; empty before the first and after the last.
    fn piece(&self, r: usize, t: isize) -> Range<usize> {
        let stretch = self.stretch(r);
        let cut =
            |t: isize| stretch.start + share(stretch.len(), t.clamp(0, self.pieces as isize) as usize, self.pieces);
        cut(t)..cut(t + 1)
    }

    /// Piece `t` of the results that rank `r` holds at last.
    fn outputs(&self, r: usize, t: usize) -> Range<usize> {
        let cut = |t: usize| r * self.m + share(self.m, t.min(self.pieces), self.pieces);
        cut(t)..cut(t + 1)
    }

    /// Which results k of rank q are among `outputs`: those of which q + P k lies there.
    fn results_of(&self, q: usize, outputs: &Range<usize>) -> Range<usize> {
        let cut = |o: usize| o.saturating_sub(q).div_ceil(self.comm.size());
        cut(outputs.start)..cut(outputs.end)
    }

    /// Starts to fetch the elements of piece `t` and to send off the results of the one two before it.
    fn trade<'b>(
        &self,
        pending: &mut dyn Pending<'b>,
        t: isize,
        x: &'b mut [Complex],
        next: &'b mut [Complex],
        before: &'b [Complex],
    ) {
        let (model, me, ranks) = (self.model, self.comm.rank(), self.comm.size());
        let (coming, going) = (self.piece(me, t).len(), self.piece(me, t - 2).len());
        // Of each rank's stretch: what is done, the place of the results, what is under way, what leaves, the rest.
        let cuts = (0..ranks).flat_map(|r| {
            let (stretch, old, new) = (self.stretch(r), self.piece(r, t - 2), self.piece(r, t));
            [old.start - stretch.start, old.len(), new.start - old.end, new.len(), stretch.end - new.end]
        });
        let mut x = rooms(x, model, cuts).into_iter();
        let mut next = rooms(next, model, std::iter::repeat_n(coming, ranks)).into_iter();
        let (mut receives, mut sends) = (Vec::new(), Vec::new());
        for r in 0..ranks {
            let (old, new) = (self.piece(r, t - 2).len(), self.piece(r, t).len());
            let [_, place, _, leaves, _] = std::array::from_fn(|_| x.next().expect("five parts of a stretch"));
            let room = next.next().expect("a row for each rank");
            let result = if model { &[][..] } else { &before[r * going..(r + 1) * going] };
            if r == me {
                room.copy_from_slice(leaves);
                place.copy_from_slice(result);
                continue;
            }
            receives.push((coming, Op::Recv { from: r, tag: GIVE, into: incoming(model, room, coming) }));
            receives.push((old, Op::Recv { from: r, tag: DEAL, into: incoming(model, place, old) }));
            sends.push((new, Op::Send { to: r, tag: GIVE, data: outgoing(model, leaves, new) }));
            sends.push((going, Op::Send { to: r, tag: DEAL, data: outgoing(model, result, going) }));
        }
        start_all(self.comm, pending, receives, sends);
    }

    fn send_results<'b>(&self, pending: &mut dyn Pending<'b>, t: usize, own: &'b [Complex], next: &'b mut [Complex]) {
        let (model, me, ranks) = (self.model, self.comm.rank(), self.comm.size());
        let mine = self.outputs(me, t);
        let come: Vec<usize> = (0..ranks).map(|q| if q == me { 0 } else { self.results_of(q, &mine).len() }).collect();
        let rooms = rooms(next, model, come.iter().copied());
        let (mut receives, mut sends) = (Vec::new(), Vec::new());
        for (r, room) in rooms.into_iter().enumerate().filter(|(r, _)| *r != me) {
            receives.push((come[r], Op::Recv { from: r, tag: SPREAD, into: incoming(model, room, come[r]) }));
            let go = self.results_of(me, &self.outputs(r, t));
            let part = if model { &[][..] } else { &own[go.clone()] };
            sends.push((go.len(), Op::Send { to: r, tag: SPREAD, data: outgoing(model, part, go.len()) }));
        }
        start_all(self.comm, pending, receives, sends);
    }

    /// The ranks' rows become the natural order: they take turns.
    fn interleave(&self, own: &[Complex], come: &[Complex], place: &mut [Complex], outputs: &Range<usize>) {
        let (me, ranks) = (self.comm.rank(), self.comm.size());
        let mut start = 0;
        let mut rows: Vec<&[Complex]> = Vec::with_capacity(ranks);
        for q in 0..ranks {
            let results = self.results_of(q, outputs);
            if q == me {
                rows.push(&own[results]);
            } else {
                rows.push(&come[start..start + results.len()]);
                start += results.len();
            }
        }
        // Output o is result o / P of rank o mod P, so the first output tells whose turn it is.
        rows.rotate_left(outputs.start % ranks);
        if let [even, odd] = rows[..] {
            let (pairs, last) = place.as_chunks_mut::<2>();
            pairs.iter_mut().zip(even.iter().zip(odd)).for_each(|(pair, (a, b))| *pair = [*a, *b]);
            last.iter_mut().zip(even.last()).for_each(|(y, a)| *y = *a);
            return;
        }
        for (k, group) in place.chunks_mut(ranks).enumerate() {
            group.iter_mut().zip(&rows).for_each(|(y, row)| *y = row[k]);
        }
    }
}

/// `t` of `of` equal shares of `whole`.
fn share(whole: usize, t: usize, of: usize) -> usize {
    // The product of two lengths may exceed 64 bits.
    (whole as u128 * t as u128 / of as u128) as usize
}

/// Starts all operations that have a length, receives first.
fn start_all<'b>(
    comm: &dyn Comm,
    pending: &mut dyn Pending<'b>,
    receives: Vec<(usize, Op<'b>)>,
    mut sends: Vec<(usize, Op<'b>)>,
) {
    // Every rank starts with its right neighbour, so that they do not all send to the first one at once.
    let each = sends.len() / (comm.size() - 1).max(1);
    sends.rotate_left(each * comm.rank());
    let ops: Vec<Op<'b>> = receives.into_iter().chain(sends).filter(|(len, _)| *len > 0).map(|(_, op)| op).collect();
    if !ops.is_empty() {
        pending.start(ops);
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
    // w^(a + b) = w^a w^b: a group needs one root of its own and these, which all groups share.
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
        if !self.deal.model {
            // The generator counts bits: 53 for a number, two numbers for an element.
            let from = 53 * 2 * (self.deal.comm.rank() * self.deal.m) as u64;
            Stream::at(from).fill(floats_mut(&mut self.x));
            // Touched, so that the operating system does not have to find the memory while the clock runs.
            self.work.fill(Complex::default());
            let ranks = self.deal.comm.size();
            // The longest piece of the longest stretch, a row for each rank.
            let most = if ranks == 1 { 0 } else { ranks * self.deal.m.div_ceil(ranks).div_ceil(self.deal.pieces) };
            self.hand = std::array::from_fn(|_| vec![Complex::new(1.0, 1.0); most]);
        }
    }

    fn step(&mut self) -> Option<Work> {
        // No barrier before: the original has none either.
        let lap = self.stopwatch.start();
        self.transform();
        self.time = lap.seconds();
        Some(Work::flops(flops(self.n)))
    }

    /// Transforms back, as the conjugate of the transform of the conjugate, and compares with the data made again.
    fn verify(&mut self) -> Verdict {
        if self.deal.model {
            return not_computed();
        }
        self.x.iter_mut().for_each(|z| *z = z.conj());
        self.transform();
        let scale = 1.0 / self.n as f64;
        let from = 53 * 2 * (self.deal.comm.rank() * self.deal.m) as u64;
        Stream::at(from).fill(floats_mut(&mut self.work));
        let far = |(z, z0): (&Complex, &Complex)| (z.conj() * scale - z0).norm();
        // `max` drops a NaN, and a broken result would pass.
        let worst = |m: f64, d: f64| if d.is_nan() { f64::INFINITY } else { m.max(d) };
        let mine = self.x.iter().zip(self.work.iter()).map(far).fold(0.0, worst);
        self.error = agree(self.deal.comm, mine, Reduce::Max);
        // One element has logarithm 0, by which the error cannot be divided.
        let logarithm = (self.n.max(2) as f64).ln();
        bounded("the scaled error", self.error / (logarithm * EPS), self.threshold, self.deal.m as u64)
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        vec![
            NamedNumber::same(OPTIMIZED, 0.0),
            NamedNumber::same("n", self.n as f64),
            // Rank 0's own time counts, by the original's rules.
            NamedNumber::same("time_s", self.time),
            NamedNumber::same("flops_per_s", flops(self.n) as f64 / self.time.max(1e-12)),
            NamedNumber::new("max_error", self.error, Merge::Max),
            NamedNumber::same("ranks", self.deal.comm.size() as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arithmetic;
    use comm::Machine;
    use std::sync::Mutex;

    /// What all ranks hold after one transform, one part after the other.
    fn transformed(n: usize, ranks: usize, pieces: usize) -> Vec<Complex> {
        let given = [("n".to_string(), n.to_string())].into();
        let params = GLOBAL.card.resolve(&given).unwrap();
        let whole = Mutex::new(vec![Complex::default(); n]);
        let text = format!("nodes = {ranks}\nranks_per_node = 1\n[topology]\nkind = \"single-switch\"\n");
        let machine = sim::Simulator::new(sim::Config::from_toml(&text).unwrap()).unwrap();
        let body = |world: &dyn Comm| {
            let mut fft = prepare(Setup::new(world, &params, Arithmetic::Charged)).unwrap();
            fft.deal.pieces = pieces;
            fft.arrange(0);
            fft.transform();
            let (m, first) = (fft.deal.m, world.rank() * fft.deal.m);
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
                let slow = naive(n);
                for pieces in [1, 2, 5] {
                    let fast = transformed(n, ranks, pieces);
                    let far = fast.iter().zip(&slow).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
                    assert!(far < 1e-11 * n as f64, "{n} elements on {ranks} ranks in {pieces} pieces: {far:e}");
                }
            }
        }
    }
}
