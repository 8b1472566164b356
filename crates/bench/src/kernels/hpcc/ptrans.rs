//! PTRANS: `C <- A^T + C` of matrices dealt in blocks to a P x Q grid (HPC Challenge 1.5.0).
//!
//! With g = gcd(P, Q) a rank exchanges blocks with (P / g)(Q / g) ranks, one stage after the other, in pieces that fit a cache:
//! while one piece travels, the one before it is added, the one after it is packed, and blocks that stay on the rank are done.
//!
//! Each block of the measurement puts the ranks on the grid in another random order, as the original does five times; the
//! slowest of them is the result.

use super::grid::{Cyclic, Shape};
use super::hpl::{MAPPING, P, Q};
use super::library::pool;
use super::{EPS, OPTIMIZED, THREADS, THRESHOLD, array, bounded, incoming, modelled, not_computed, outgoing, pay};
use crate::Stopwatch;
use crate::kernel::{Declares, Kernel, NamedNumber, Pattern, Room, Setup, Traits};
use crate::order::{Order, order};
use comm::{Comm, Op, Reduce, Refusal, Tag, agree, overlap};
use local::lcg::Source;
use local::transpose::transpose_add;
use local::{Buffer, Mat, MatMut, Pool};
use record::{Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work, permutation};
use std::rc::Rc;
use std::sync::Arc;

/// HPCC's PTRANS.
pub const PTRANS: Kernel = Kernel {
    card: Card {
        name: "ptrans",
        about: "Rate of transposing and adding a matrix on all ranks, per rank",
        source: "HPCC 1.5.0, PTRANS",
        params: &[
            Param::new("n", Kind::Count, "500", "order of the matrix"),
            Param::new("nb", Kind::Count, "80", "block size"),
            P,
            Q,
            MAPPING,
            THREADS,
            THRESHOLD,
        ],
    },
    metric: Metric::Bandwidth,
    min_ranks: 1,
    traits: Traits {
        declares: Declares::AsCalled("bytes of the matrix: blocks that stay where they are count, too"),
        one_step: true,
        // Two matrices.
        room: |params, ranks| Room::each(params.count("n").saturating_pow(2).saturating_mul(16) / ranks.max(1)),
        tiny: &[("n", "50"), ("nb", "4")],
        ..Traits::PLAIN
    },
    start,
};

const TAG: Tag = 330;
/// Numbers in a piece: a megabyte, between what a second-level cache holds and what is worth a meeting of two ranks.
const PIECE: usize = 1 << 17;
/// Rows of a piece. As many columns make it square: A is read along its columns and C written along its own, which are A's rows.
const ROWS: usize = 1 << 8;

/// Rows and columns of blocks of A that go from one place of the grid to another, as many as fit a piece.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    /// The other rank's position on the grid.
    other: usize,
    /// Block rows of A.
    is: Arc<[usize]>,
    /// Block columns of A.
    js: Arc<[usize]>,
    /// Numbers in it.
    len: usize,
}

/// One step of the schedule: what leaves and what comes at the same time.
#[derive(Clone, Debug, Default, PartialEq)]
struct Step {
    out: Option<Piece>,
    into: Option<Piece>,
}

/// The matrix and the grid; everything that two ranks must compute alike.
#[derive(Clone, Copy, Debug)]
struct Deal {
    shape: Shape,
    n: usize,
    nb: usize,
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Deal {
    fn height(&self, block: usize) -> usize {
        self.nb.min(self.n - block * self.nb)
    }
    fn rows(&self, me: usize) -> Cyclic {
        Cyclic { n: self.n, nb: self.nb, procs: self.shape.p, me }
    }
    fn cols(&self, me: usize) -> Cyclic {
        Cyclic { n: self.n, nb: self.nb, procs: self.shape.q, me }
    }

    /// The pieces that place (p, q) sends to (to_p, to_q); `other` is left to the caller.
    fn pieces(&self, (p, q): (usize, usize), (to_p, to_q): (usize, usize), other: usize) -> Vec<Piece> {
        let Shape { p: height, q: width, .. } = self.shape;
        let blocks = self.n.div_ceil(self.nb);
        // Block (i, j) of A is added to block (j, i) of C, which lies at (j mod P, i mod Q).
        let is: Vec<usize> = (p..blocks).step_by(height).filter(|i| i % width == to_q).collect();
        let js: Vec<usize> = (q..blocks).step_by(width).filter(|j| j % height == to_p).collect();
        let tall = (ROWS / self.nb).max(1);
        let wide = (PIECE / tall.saturating_mul(self.nb).saturating_mul(self.nb)).max(1);
        let total = |blocks: &[usize]| blocks.iter().map(|b| self.height(*b)).sum::<usize>();
        let mut pieces = Vec::with_capacity(js.len().div_ceil(wide) * is.len().div_ceil(tall));
        for js in js.chunks(wide).map(Arc::<[usize]>::from) {
            pieces.extend(is.chunks(tall).map(|is| Piece {
                other,
                is: is.into(),
                js: js.clone(),
                len: total(is) * total(&js),
            }));
        }
        pieces
    }

    /// The schedule of place (p, q): pieces that travel, and those that stay.
    fn schedule(&self, (p, q): (usize, usize)) -> (Vec<Step>, Vec<Piece>) {
        let Shape { p: height, q: width, .. } = self.shape;
        if (height, width) == (1, 1) {
            // Nothing travels, so nothing has to be done in between: all at once, for all threads.
            let all: Arc<[usize]> = (0..self.n.div_ceil(self.nb)).collect();
            return (Vec::new(), vec![Piece { other: 0, is: all.clone(), js: all, len: self.n * self.n }]);
        }
        let g = gcd(height, width);
        let (mut steps, mut stay) = (Vec::new(), Vec::new());
        for a in 0..height / g {
            for b in 0..width / g {
                // The ranks of one residue class are visited in turn; the partners of a stage agree on it.
                let to = (q % g + (p / g + a) % (height / g) * g, p % g + (q / g + b) % (width / g) * g);
                let from = (
                    q % g + (p / g + height / g - a) % (height / g) * g,
                    p % g + (q / g + width / g - b) % (width / g) * g,
                );
                let position = |(p, q)| self.shape.rank(p, q);
                let out = self.pieces((p, q), to, position(to));
                if to == (p, q) {
                    stay.extend(out);
                    continue;
                }
                let into = self.pieces(from, (p, q), position(from));
                // Where blocks do not divide evenly, one direction has more pieces than the other.
                for t in 0..out.len().max(into.len()) {
                    steps.push(Step { out: out.get(t).cloned(), into: into.get(t).cloned() });
                }
            }
        }
        (steps, stay)
    }
}

/// A row and a column, or a height and a width.
type Pair = (usize, usize);

struct Ptrans<'c> {
    comm: &'c dyn Comm,
    stopwatch: Stopwatch<'c>,
    model: bool,
    deal: Deal,
    pool: Arc<Pool>,
    seed: u64,
    threshold: f64,
    a: Buffer<f64>,
    c: Buffer<f64>,
    /// Rank of each position.
    ranks: Rc<Order>,
    /// This rank's place in this block's order.
    place: Option<(usize, usize)>,
    steps: Vec<Step>,
    stay: Vec<Piece>,
    /// Room for four pieces: those that leave and those that come, the present one and another. In one array, so that it is large
    /// enough for huge pages: a message within a node is copied by the kernel, page by page.
    rooms: Buffer<f64>,
    time: f64,
    slowest: f64,
    residual: f64,
}

/// The ranks on the places of the grid in a block.
fn placed(comm: &dyn Comm, seed: u64, round: u64) -> Rc<Order> {
    order(("ptrans", seed, round, comm.size()), permutation)
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let model = modelled(&setup);
    let shape = Shape::read(setup.params, setup.comm.size())?;
    let n = setup.params.count("n") as usize;
    let nb = (setup.params.count("nb") as usize).clamp(1, n.max(1));
    let deal = Deal { shape, n, nb };
    // The first place has the most rows and columns, and any rank may come to stand there.
    let most = deal.rows(0).count().checked_mul(deal.cols(0).count());
    let most = most.ok_or_else(|| Refusal(format!("n={n}: the matrices do not fit any memory")))?;
    Ok(Box::new(Ptrans {
        comm: setup.comm,
        stopwatch: setup.stopwatch,
        model,
        deal,
        pool: pool(setup.params.count("threads")),
        seed: setup.seed,
        threshold: setup.params.real("threshold"),
        a: array(model, most)?,
        c: array(model, most)?,
        ranks: placed(setup.comm, setup.seed, 0),
        place: None,
        steps: Vec::new(),
        stay: Vec::new(),
        // Blocks are never cut, so a piece has room for at least one. A rank alone sends nothing.
        rooms: array(model || setup.comm.size() == 1, PIECE.max(nb.saturating_mul(nb)).min(most).saturating_mul(4))?,
        time: 0.0,
        slowest: 0.0,
        residual: 0.0,
    }))
}

/// What a rank works on during a step.
struct Local<'a> {
    deal: Deal,
    rows: Cyclic,
    cols: Cyclic,
    ld: usize,
    a: &'a [f64],
    c: &'a mut [f64],
    pool: &'a Pool,
}

impl Local<'_> {
    /// Packs a piece of A, column by column.
    fn pack(&self, piece: &Piece, mut out: &mut [f64]) {
        for &j in piece.js.iter() {
            let first = self.cols.local(j * self.deal.nb);
            for c in first..first + self.deal.height(j) {
                let column = &self.a[c * self.ld..];
                for &i in piece.is.iter() {
                    let at = self.rows.local(i * self.deal.nb);
                    let (block, rest) = out.split_at_mut(self.deal.height(i));
                    block.copy_from_slice(&column[at..at + block.len()]);
                    out = rest;
                }
            }
        }
    }

    /// Adds the transpose of a packed piece to C.
    fn add(&mut self, piece: &Piece, packed: &[f64]) {
        let rows: usize = piece.is.iter().map(|i| self.deal.height(*i)).sum();
        let packed = Mat::new(packed, rows, piece.len / rows, rows);
        let is = self.runs(&piece.is, &[self.cols]);
        let mut right = 0;
        for (j, width) in self.runs(&piece.js, &[self.rows]) {
            let mut down = 0;
            for &(i, height) in &is {
                self.add_blocks(packed.part(down..down + height, right..right + width), i, j);
                down += height;
            }
            right += width;
        }
    }

    /// Adds the transposes of blocks that stay.
    fn add_own(&mut self, piece: &Piece) {
        let a: &[f64] = self.a;
        let whole = Mat::new(a, self.rows.count(), self.cols.count(), self.ld);
        let both = [self.rows, self.cols];
        let is = self.runs(&piece.is, &both);
        for (j, width) in self.runs(&piece.js, &both) {
            let right = self.cols.local(j * self.deal.nb);
            for &(i, height) in &is {
                let down = self.rows.local(i * self.deal.nb);
                self.add_blocks(whole.part(down..down + height, right..right + width), i, j);
            }
        }
    }

    /// Blocks that follow one another on this rank by all of `by`, as the first of them and how long they are together: the larger a
    /// part of the matrix, the more threads can share it.
    fn runs(&self, blocks: &[usize], by: &[Cyclic]) -> Vec<(usize, usize)> {
        let at = |axis: &Cyclic, block: usize| axis.local(block * self.deal.nb);
        let mut runs: Vec<(usize, usize)> = Vec::with_capacity(blocks.len());
        for &block in blocks {
            let follows =
                |(first, len): &(usize, usize)| by.iter().all(|axis| at(axis, block) == at(axis, *first) + len);
            match runs.last_mut().filter(|last| follows(last)) {
                Some((_, len)) => *len += self.deal.height(block),
                None => runs.push((block, self.deal.height(block))),
            }
        }
        runs
    }

    /// What begins with block (i, j) of A is added to what begins with block (j, i) of C.
    fn add_blocks(&mut self, blocks: Mat<'_>, i: usize, j: usize) {
        let (down, right) = (self.rows.local(j * self.deal.nb), self.cols.local(i * self.deal.nb));
        let target = MatMut::new(self.c, self.rows.count(), self.cols.count(), self.ld);
        transpose_add(blocks, 1.0, target.part(down..down + blocks.cols(), right..right + blocks.rows()), self.pool);
    }
}

fn halves(rooms: &mut [f64]) -> (&mut [f64], &mut [f64]) {
    rooms.split_at_mut(rooms.len() / 2)
}

/// The first is to be used now, the other before or after.
fn two<T>(pair: &mut [T; 2], turn: usize) -> (&mut T, &mut T) {
    let [even, odd] = pair;
    if turn.is_multiple_of(2) { (even, odd) } else { (odd, even) }
}

impl Ptrans<'_> {
    fn transpose(&mut self, place: (usize, usize)) {
        let (rows, cols) = (self.deal.rows(place.0), self.deal.cols(place.1));
        let (comm, model) = (self.comm, self.model);
        let mut local = Local {
            deal: self.deal,
            rows,
            cols,
            ld: rows.count().max(1),
            a: &self.a,
            c: &mut self.c,
            pool: &self.pool,
        };
        let (steps, stay, ranks) = (&self.steps, &self.stay, &self.ranks);
        let (leave, come) = halves(&mut self.rooms);
        let (mut out, mut into) = (<[_; 2]>::from(halves(leave)), <[_; 2]>::from(halves(come)));
        // A copy touches 8 bytes twice, an addition three times: the piece and C are read, C is written.
        let moved = |piece: &Piece, times: u64| Work { bytes: times * 8 * piece.len as u64, ..Work::NONE };
        if let Some(first) = steps.first().and_then(|s| s.out.as_ref()) {
            pay(comm, model, moved(first, 2), &mut || local.pack(first, out[0]));
        }
        let mut own = stay.iter();
        // Dealt evenly over the steps, so that every one of them has work to hide its messages behind.
        let share = stay.len().div_ceil(steps.len().max(1));
        for (t, step) in steps.iter().enumerate() {
            let (now, next) = two(&mut out, t);
            let (room, before) = two(&mut into, t);
            let mut ops = Vec::with_capacity(2);
            if let Some(piece) = &step.into {
                ops.push(Op::Recv { from: ranks.at(piece.other), tag: TAG, into: incoming(model, room, piece.len) });
            }
            if let Some(piece) = &step.out {
                ops.push(Op::Send { to: ranks.at(piece.other), tag: TAG, data: outgoing(model, now, piece.len) });
            }
            overlap(comm, |pending| {
                pending.start(ops);
                if let Some(piece) = t.checked_sub(1).and_then(|t| steps[t].into.as_ref()) {
                    pay(comm, model, moved(piece, 3), &mut || local.add(piece, &before[..piece.len]));
                }
                if let Some(piece) = steps.get(t + 1).and_then(|s| s.out.as_ref()) {
                    pay(comm, model, moved(piece, 2), &mut || local.pack(piece, next));
                }
                for piece in own.by_ref().take(share) {
                    pay(comm, model, moved(piece, 3), &mut || local.add_own(piece));
                }
            });
        }
        if let Some(piece) = steps.last().and_then(|s| s.into.as_ref()) {
            let last = &into[(steps.len() - 1) % 2];
            pay(comm, model, moved(piece, 3), &mut || local.add(piece, &last[..piece.len]));
        }
        for piece in own {
            pay(comm, model, moved(piece, 3), &mut || local.add_own(piece));
        }
    }

    /// Calls `f` with the local position and the global corner of each block of this rank.
    fn each_block(deal: Deal, place: (usize, usize), f: &mut dyn FnMut(Pair, Pair, Pair)) {
        let (rows, cols) = (deal.rows(place.0), deal.cols(place.1));
        for c in (0..cols.count()).step_by(deal.nb) {
            for r in (0..rows.count()).step_by(deal.nb) {
                let size = (deal.nb.min(rows.count() - r), deal.nb.min(cols.count() - c));
                f((r, c), (rows.global(r), cols.global(c)), size);
            }
        }
    }

    fn fill(&mut self, place: (usize, usize)) {
        let (deal, ld) = (self.deal, self.deal.rows(place.0).count().max(1));
        let n = deal.n as u64;
        let (a, c) = (&mut self.a, &mut self.c);
        Self::each_block(deal, place, &mut |(r, col), (i, j), (height, width)| {
            let at = col * ld + r;
            Source::ptrans_a(n).fill(i as u64, j as u64, MatMut::new(&mut a[at..], height, width, ld));
            Source::ptrans_c(n).fill(i as u64, j as u64, MatMut::new(&mut c[at..], height, width, ld));
        });
    }

    /// Largest difference from the expected result, and the largest expected element.
    fn compare(&self, place: (usize, usize)) -> (f64, f64) {
        let (deal, ld) = (self.deal, self.deal.rows(place.0).count().max(1));
        let (n, nb) = (deal.n as u64, deal.nb);
        let (mut a, mut c) = (vec![0.0; nb * nb], vec![0.0; nb * nb]);
        let (mut worst, mut largest) = (0.0f64, 0.0f64);
        Self::each_block(deal, place, &mut |(r, col), (i, j), (height, width)| {
            Source::ptrans_a(n).fill(j as u64, i as u64, MatMut::new(&mut a, width, height, width));
            Source::ptrans_c(n).fill(i as u64, j as u64, MatMut::new(&mut c, height, width, height));
            for y in 0..width {
                for x in 0..height {
                    let want = a[y + x * width] + c[x + y * height];
                    let difference = (self.c[(col + y) * ld + r + x] - want).abs();
                    // `max` drops a NaN, and a broken result would pass.
                    worst = if difference.is_nan() { f64::INFINITY } else { worst.max(difference) };
                    largest = largest.max(want.abs());
                }
            }
        });
        (worst, largest)
    }
}

impl Pattern for Ptrans<'_> {
    fn arrange(&mut self, round: u64) {
        self.ranks = placed(self.comm, self.seed, round);
        self.place = self.deal.shape.place(self.ranks.place(self.comm.rank()));
        (self.steps, self.stay) = self.place.map(|place| self.deal.schedule(place)).unwrap_or_default();
        if let Some(place) = self.place.filter(|_| !self.model) {
            self.fill(place);
            // The operating system must not have to find this memory while the clock runs.
            self.rooms.fill(1.0);
        }
    }

    fn step(&mut self) -> Option<Work> {
        self.comm.barrier();
        let lap = self.stopwatch.start();
        if let Some(place) = self.place {
            self.transpose(place);
        }
        self.time = lap.seconds();
        let Shape { p, q, .. } = self.deal.shape;
        // The matrix counts once, as in the original, though it is read, sent and added.
        let bytes = 8 * (self.deal.n as u64).pow(2) / (p * q) as u64;
        self.place.map(|_| Work { bytes, ..Work::NONE })
    }

    fn verify(&mut self) -> Verdict {
        self.time = agree(self.comm, self.time, Reduce::Max);
        self.slowest = self.slowest.max(self.time);
        if self.model {
            return not_computed();
        }
        let (worst, largest) = self.place.map_or((0.0, 0.0), |place| self.compare(place));
        let (worst, largest) = (agree(self.comm, worst, Reduce::Max), agree(self.comm, largest, Reduce::Max));
        let resid = if largest > 0.0 { worst / largest } else { worst };
        self.residual = self.residual.max(resid);
        let scaled = resid / (EPS * self.deal.n.max(1) as f64);
        let checked = self.place.map_or(0, |p| self.deal.rows(p.0).count() * self.deal.cols(p.1).count());
        bounded("the scaled residual", scaled, self.threshold.next_up(), checked as u64)
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        let n = self.deal.n as f64;
        let Shape { p, q, .. } = self.deal.shape;
        [
            (OPTIMIZED, 0.0),
            ("n", n),
            ("nb", self.deal.nb as f64),
            ("p", p as f64),
            ("q", q as f64),
            ("bytes_per_s", 8.0 * n * n / self.slowest.max(1e-12)),
            ("time_s", self.time),
            ("residual", self.residual),
        ]
        .map(|(name, value)| NamedNumber::same(name, value))
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::hpcc::grid::Mapping;

    /// Every block of A leaves from where it is for where it belongs, once, in pieces that both sides know.
    #[test]
    fn schedules_of_all_places_fit_together() {
        for (p, q, n, nb) in
            [(1, 1, 10, 3), (1, 2, 40, 4), (2, 3, 50, 4), (2, 4, 33, 2), (3, 3, 20, 7), (4, 6, 61, 2), (5, 2, 9, 4)]
        {
            let deal = Deal { shape: Shape { p, q, mapping: Mapping::Column }, n, nb };
            let blocks = n.div_ceil(nb);
            let mut seen = vec![0; blocks * blocks];
            let plans: Vec<_> = (0..p * q).map(|r| deal.schedule(deal.shape.place(r).unwrap())).collect();
            for (rank, (steps, stay)) in plans.iter().enumerate() {
                let out = |to: usize| steps.iter().filter_map(|s| s.out.clone()).filter(move |x| x.other == to);
                for (to, (their, _)) in plans.iter().enumerate() {
                    let into = their.iter().filter_map(|s| s.into.clone()).filter(|x| x.other == rank);
                    let same = out(to).map(|x| (x.is, x.js)).eq(into.map(|x| (x.is, x.js)));
                    assert!(same, "{p}x{q}: {rank} to {to}");
                }
                for piece in stay.iter().cloned().chain((0..p * q).flat_map(out)) {
                    piece.is.iter().for_each(|i| piece.js.iter().for_each(|j| seen[i * blocks + j] += 1));
                }
            }
            assert!(seen.iter().all(|s| *s == 1), "{p}x{q} {n} {nb}");
        }
    }
}
