//! The matrices of HPL and PTRANS: linear congruential streams of which any block can be made without the rest.
//!
//! Element (i, j) is a fixed number of steps from the seed, whatever the grid. k steps of `x <- m x + a` are again such a step, found
//! by squaring (`HPL` and `PTRANS` of HPC Challenge 1.5.0).

use crate::matrix::MatMut;
use crate::simd::multiversion;

/// The map `x <- mul x + add` modulo 2^64; smaller powers of two are its low bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The factor.
    pub mul: u64,
    /// The summand.
    pub add: u64,
}

impl Affine {
    /// The map that changes nothing.
    pub const IDENTITY: Self = Self { mul: 1, add: 0 };

    /// Applies the map.
    #[inline(always)]
    pub fn apply(self, x: u64) -> u64 {
        self.mul.wrapping_mul(x).wrapping_add(self.add)
    }

    /// First this map, then `next`.
    pub fn then(self, next: Self) -> Self {
        Self { mul: next.mul.wrapping_mul(self.mul), add: next.apply(self.add) }
    }

    /// This map `k` times, by squaring.
    pub fn power(self, mut k: u64) -> Self {
        let (mut result, mut square) = (Self::IDENTITY, self);
        while k > 0 {
            if k & 1 == 1 {
                result = result.then(square);
            }
            square = square.then(square);
            k >>= 1;
        }
        result
    }
}

/// HPL's 64-bit generator, also the LCG variant of RandomAccess.
pub const HPL_STEP: Affine = Affine { mul: 6_364_136_223_846_793_005, add: 1 };
/// PTRANS's generator, modulo 2^31.
const PTRANS_STEP: Affine = Affine { mul: 1_103_515_245, add: 12_345 };

/// How a state becomes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// `0.5 - x / 2^64`.
    Hpl,
    /// `1 - 2 x / 2^31` of the low 31 bits.
    Ptrans,
}

/// A matrix given by a stream: element (i, j) comes `1 + i down + j right` steps after the seed.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    step: Affine,
    seed: u64,
    value: Value,
    down: u64,
    right: u64,
}

impl Source {
    /// HPL's `[A | b]` of order `n`: column `n` is the right-hand side. The original's seed is 100.
    pub fn hpl(n: u64, seed: u64) -> Self {
        Self { step: HPL_STEP, seed, value: Value::Hpl, down: 1, right: n }
    }

    /// The matrix PTRANS transposes: column after column from seed 100.
    pub fn ptrans_a(n: u64) -> Self {
        Self { step: PTRANS_STEP, seed: 100, value: Value::Ptrans, down: 1, right: n }
    }

    /// The matrix PTRANS adds to: row after row from seed 200.
    pub fn ptrans_c(n: u64) -> Self {
        Self { step: PTRANS_STEP, seed: 200, value: Value::Ptrans, down: n, right: 1 }
    }

    /// Element (i, j).
    pub fn at(&self, i: u64, j: u64) -> f64 {
        let mut one = [0.0];
        self.fill(i, j, MatMut::new(&mut one, 1, 1, 1));
        one[0]
    }

    /// The block whose corner is element (i, j).
    pub fn fill(&self, i: u64, j: u64, mut out: MatMut<'_>) {
        let (down, right) = (self.step.power(self.down), self.step.power(self.right));
        // Offsets may wrap at 2^64, which is the period of the maps.
        let offset = 1 + i.wrapping_mul(self.down).wrapping_add(j.wrapping_mul(self.right));
        let mut x = self.step.power(offset).apply(self.seed);
        for q in 0..out.cols() {
            match self.value {
                Value::Hpl => column_hpl(x, down, out.col(q)),
                Value::Ptrans => column_ptrans(x, down, out.col(q)),
            }
            x = right.apply(x);
        }
    }
}

/// States made side by side.
const LANES: usize = 8;

/// The states of a column, eight at a time: lane l starts l steps on, and all go eight steps.
#[inline(always)]
fn column(x: u64, step: Affine, out: &mut [f64], value: impl Fn(u64) -> f64) {
    let mut lanes = [x; LANES];
    for l in 1..LANES {
        lanes[l] = step.apply(lanes[l - 1]);
    }
    // Three doublings are the eight steps of all lanes.
    let leap = step.then(step);
    let leap = leap.then(leap);
    let leap = leap.then(leap);
    for chunk in out.chunks_mut(LANES) {
        for (v, lane) in chunk.iter_mut().zip(&lanes) {
            *v = value(*lane);
        }
        for lane in &mut lanes {
            *lane = leap.apply(*lane);
        }
    }
}

multiversion! {
    fn column_hpl(x: u64, step: Affine, out: &mut [f64]) {
        // 2^-64: the product is exact, so only the conversion and the difference round, as in the original.
        const SCALE: f64 = 1.0 / 18_446_744_073_709_551_616.0;
        column(x, step, out, |x| 0.5 - x as f64 * SCALE);
    }
}

multiversion! {
    fn column_ptrans(x: u64, step: Affine, out: &mut [f64]) {
        const MASK: u64 = (1 << 31) - 1;
        // 2 x / 2^31 in one exact division, so the last bit is the original's.
        column(x, step, out, |x| 1.0 - (x & MASK) as f64 / (1u64 << 30) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stream by single steps, with its own arithmetic.
    fn stepped(modulus: u128, mul: u128, add: u128, seed: u128, k: u64) -> u128 {
        (0..k).fold(seed, |x, _| (mul * x + add) % modulus)
    }

    #[test]
    fn blocks_equal_single_steps() {
        let n = 37u64;
        for (source, seed) in [(Source::hpl(n, 100), 100), (Source::ptrans_a(n), 100), (Source::ptrans_c(n), 200)] {
            let mut block = vec![0.0; 25 * 11];
            source.fill(9, 21, MatMut::new(&mut block, 20, 11, 25));
            for j in 0..11u64 {
                for i in 0..20u64 {
                    let (r, c) = (9 + i, 21 + j);
                    let want = match source.value {
                        Value::Hpl => {
                            let x = stepped(1 << 64, 6364136223846793005, 1, seed, 1 + r + c * n);
                            0.5 - x as f64 / 2f64.powi(64)
                        }
                        Value::Ptrans => {
                            let k = if source.down == 1 { 1 + r + c * n } else { 1 + c + r * n };
                            1.0 - 2.0 * (stepped(1 << 31, 1103515245, 12345, seed, k) as f64 / 2f64.powi(31))
                        }
                    };
                    assert_eq!(block[(i + 25 * j) as usize].to_bits(), want.to_bits(), "{source:?} ({r},{c})");
                }
                assert!(
                    block[(20 + 25 * j) as usize..((25 + 25 * j) as usize).min(block.len())].iter().all(|&x| x == 0.0)
                );
            }
        }
    }

    #[test]
    fn norms_equal_those_the_original_prints() {
        // HPCC 1.5.0, one rank, N = 500: HPL_Anorm1, HPL_AnormI and HPL_BnormI of its summary, six digits.
        let n = 500;
        let mut data = vec![0.0; n * (n + 1)];
        Source::hpl(n as u64, 100).fill(0, 0, MatMut::new(&mut data, n, n + 1, n));
        let (a, b) = data.split_at(n * n);
        let column = |j: usize| a[j * n..(j + 1) * n].iter().map(|x| x.abs()).sum::<f64>();
        let row = |i: usize| a.iter().skip(i).step_by(n).map(|x| x.abs()).sum::<f64>();
        let one = (0..n).map(column).fold(0.0, f64::max);
        let infinity = (0..n).map(row).fold(0.0, f64::max);
        let right = b.iter().map(|x| x.abs()).fold(0.0, f64::max);
        assert!((one - 134.8).abs() < 5e-4 && (infinity - 136.012).abs() < 5e-4, "{one} {infinity}");
        assert!((right - 0.49989).abs() < 5e-7, "{right}");
    }

    #[test]
    fn far_offsets_equal_two_independent_ways() {
        // The closed form of k steps by a geometric sum modulo 2^64, computed with division-free 128-bit halving.
        fn geometric(k: u64) -> (u64, u64) {
            if k == 0 {
                return (1, 0);
            }
            let (p, s) = geometric(k / 2);
            let (p2, s2) = (p.wrapping_mul(p), s.wrapping_mul(p.wrapping_add(1)));
            if k.is_multiple_of(2) {
                (p2, s2)
            } else {
                (p2.wrapping_mul(HPL_STEP.mul), s2.wrapping_mul(HPL_STEP.mul).wrapping_add(1))
            }
        }
        for k in [0, 1, 2, 12_345, 1 << 33, 4_000_000_000_000_000, u64::MAX] {
            let (p, s) = geometric(k);
            assert_eq!(HPL_STEP.power(k), Affine { mul: p, add: s });
        }
        // A million single steps from a far start land where the jump does.
        let far = 77_777_777_777_777u64;
        let mut x = HPL_STEP.power(far).apply(100);
        (0..1_000_000).for_each(|_| x = HPL_STEP.apply(x));
        assert_eq!(x, HPL_STEP.power(far + 1_000_000).apply(100));
    }
}
