//! DGEMM on one rank: `C <- alpha A B + beta C` (HPC Challenge 1.5.0, single and star).

use super::library::{BLAS, Engine, engine};
use super::{EPS, OPTIMIZED, THREADS, THRESHOLD, array, bounded, modelled, not_computed, pay};
use crate::kernel::{Arithmetic, Kernel, Merge, NamedNumber, Pattern, Room, Setup, Traits};
use comm::{Comm, Refusal};
use local::blas::{Trans, peak};
use local::{Buffer, Mat, MatMut};
use record::{Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Rng, Work};

/// HPCC's DGEMM.
pub const DGEMM: Kernel = Kernel {
    card: Card {
        name: "dgemm",
        about: "Gflop/s of one product of square matrices on each rank",
        source: "HPCC 1.5.0, DGEMM",
        params: &[Param::new("n", Kind::Count, "500", "order of the matrices"), BLAS, THREADS, THRESHOLD],
    },
    metric: Metric::Flops,
    min_ranks: 1,
    traits: Traits {
        one_step: true,
        room: |params, _| Room::each(params.count("n").saturating_pow(2).saturating_mul(24)),
        tiny: &[("n", "40")],
        ..Traits::PLAIN
    },
    start,
};

/// Looks at the peak at a time, of some milliseconds each.
const PEAKS: usize = 5;

struct Dgemm<'c> {
    comm: &'c dyn Comm,
    model: bool,
    n: usize,
    threshold: f64,
    engine: Engine,
    a: Buffer<f64>,
    b: Buffer<f64>,
    c: Buffer<f64>,
    seed: u64,
    round: u64,
    residual: f64,
    /// Whether there is a peak worth knowing: a simulated machine has no processor of its own.
    real: bool,
    /// What the threads reach with multiply-adds on registers alone, flop/s, some times before and after every product: clocks differ from
    /// moment to moment, and what counts is the peak at that time.
    peaks: Vec<f64>,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let model = modelled(&setup);
    let n = setup.params.count("n") as usize;
    let square = n.checked_mul(n).ok_or_else(|| Refusal(format!("n={n}: the matrices do not fit any memory")))?;
    let matrix = || array(model, square);
    Ok(Box::new(Dgemm {
        comm: setup.comm,
        model,
        n,
        threshold: setup.params.real("threshold"),
        engine: engine(&setup)?,
        a: matrix()?,
        b: matrix()?,
        c: matrix()?,
        seed: setup.seed,
        round: 0,
        residual: 0.0,
        real: setup.arithmetic == Arithmetic::Real,
        peaks: Vec::new(),
    }))
}

/// Uniform numbers in [0, 1), one stream for each matrix and block.
fn fill(out: &mut [f64], seed: u64, what: &str, round: u64) {
    let mut rng = Rng::new(seed, what, round);
    out.iter_mut().for_each(|x| *x = rng.unit());
}

impl Dgemm<'_> {
    fn look_at_peak(&mut self) {
        if self.real {
            self.peaks.extend((0..PEAKS).map(|_| peak(&self.engine.pool)));
        }
    }

    /// The original takes its factors from the middle of the first columns.
    fn factors(&self) -> (f64, f64) {
        if self.a.is_empty() { (1.0, 1.0) } else { (self.a[self.n / 2], self.b[self.n / 2]) }
    }

    /// `y <- alpha M x + beta y`.
    fn times(&self, alpha: f64, m: &[f64], x: &[f64], beta: f64, y: &mut [f64]) {
        let n = self.n;
        let ld = n.max(1);
        self.engine.blas.gemv(
            Trans::No,
            alpha,
            Mat::new(m, n, n, ld),
            Mat::new(x, n, 1, ld),
            beta,
            MatMut::new(y, n, 1, ld),
        );
    }
}

impl Pattern for Dgemm<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        for (what, matrix) in [("dgemm a", &mut self.a), ("dgemm b", &mut self.b), ("dgemm c", &mut self.c)] {
            fill(matrix, self.seed, what, round);
        }
        self.look_at_peak();
    }

    fn step(&mut self) -> Option<Work> {
        let n = self.n;
        let work = Work::flops(2 * (n as u64).pow(3));
        let (alpha, beta) = self.factors();
        let (blas, a, b, c) = (&self.engine.blas, &self.a, &self.b, &mut self.c);
        let ld = n.max(1);
        pay(self.comm, self.model, work, &mut || {
            let (a, b) = (Mat::new(a, n, n, ld), Mat::new(b, n, n, ld));
            blas.gemm(Trans::No, Trans::No, alpha, a, b, beta, MatMut::new(c, n, n, ld));
        });
        Some(work)
    }

    /// `C x` against `alpha A (B x) + beta C0 x` for a random x, as the original; C0 is made again in the place of B.
    fn verify(&mut self) -> Verdict {
        if self.model {
            return not_computed();
        }
        self.look_at_peak();
        let n = self.n;
        let (alpha, beta) = self.factors();
        let mut x = vec![0.0; n];
        fill(&mut x, self.seed, "dgemm x", self.round);
        let (mut bx, mut y) = (vec![0.0; n], vec![0.0; n]);
        self.times(1.0, &self.b, &x, 0.0, &mut bx);
        self.times(1.0, &self.c, &x, 0.0, &mut y);
        self.times(-alpha, &self.a, &bx, 1.0, &mut y);
        // B is not needed any more, and sizes are chosen so that three matrices fill the memory.
        fill(&mut self.b, self.seed, "dgemm c", self.round);
        self.times(-beta, &self.b, &x, 1.0, &mut y);
        let mut sums = vec![0.0; n];
        for column in self.c.chunks_exact(n.max(1)) {
            sums.iter_mut().zip(column).for_each(|(s, c)| *s += c.abs());
        }
        self.residual = scaled(&y, &sums, &x);
        bounded("the scaled residual", self.residual, self.threshold, n as u64)
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        let mut all = vec![
            NamedNumber::same(OPTIMIZED, 0.0),
            NamedNumber::same("n", self.n as f64),
            NamedNumber::new("residual", self.residual, Merge::Max),
        ];
        if !self.peaks.is_empty() {
            let mean = self.peaks.iter().sum::<f64>() / self.peaks.len() as f64;
            all.push(NamedNumber::new("fma_peak_flops_per_s", mean, Merge::Mean));
        }
        all
    }
    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.engine.notes)
    }
}

/// The largest magnitude; not a number if one of them is none.
fn largest(v: &[f64]) -> f64 {
    // `max` prefers a number to none, so what was found must be kept by hand.
    v.iter().fold(0.0, |m: f64, x| if m.is_nan() || x.is_nan() { f64::NAN } else { m.max(x.abs()) })
}

/// The residual `y` over the norms of the result, given by the sums of its rows, and of the vector it was multiplied with.
fn scaled(y: &[f64], sums: &[f64], x: &[f64]) -> f64 {
    let scale = largest(sums) * largest(x) * x.len() as f64 * EPS;
    // Only a problem of nothing has no scale; one that is no number must fail.
    if scale == 0.0 { 0.0 } else { largest(y) / scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_never_right() {
        let good = [1.0, 2.0];
        assert_eq!(scaled(&[0.0, 0.0], &good, &good), 0.0);
        for bad in [[f64::NAN, 1.0], [1.0, f64::NAN]] {
            for residual in [scaled(&bad, &good, &good), scaled(&[0.0; 2], &bad, &good), scaled(&bad, &bad, &good)] {
                assert!(bounded("residual", residual, 16.0, 2).is_wrong(), "{bad:?}: {residual}");
            }
        }
    }
}
