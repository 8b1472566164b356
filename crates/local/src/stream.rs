//! STREAM: Copy, Scale, Add, Triad on three long vectors (HPC Challenge 1.5.0, McCalpin's kernels).
//!
//! Two classes of stores, never mixed in one result. *Plain* stores first read the line they overwrite; *streaming* stores do
//! not, which saves a third to a half of the traffic that the benchmark does not count. The rules call the second an
//! optimized run, to be disclosed.

use crate::memory::{Buffer, MemoryError, Shared};
use crate::simd::{Level, level};
use crate::threads::Pool;

/// The factor of Scale and Triad in HPC Challenge.
pub const SCALAR: f64 = 0.42;

/// Doubles in a page, so that threads never share one.
const GRAIN: usize = 512;

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Ordinary ones, as the original's loops.
    Plain,
    /// Around the caches, where the processor has such stores.
    Streaming,
}

/// The four kernels, in the order of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// `c = a`.
    Copy,
    /// `b = s c`.
    Scale,
    /// `c = a + b`.
    Add,
    /// `a = b + s c`.
    Triad,
}

impl Kernel {
    /// All of them, in the order of a round.
    pub const ALL: [Kernel; 4] = [Kernel::Copy, Kernel::Scale, Kernel::Add, Kernel::Triad];

    /// The bytes the benchmark counts for each element: what is read and written once.
    pub fn bytes(self) -> usize {
        match self {
            Kernel::Copy | Kernel::Scale => 16,
            Kernel::Add | Kernel::Triad => 24,
        }
    }
}

/// The three vectors.
pub struct Arrays {
    /// Source of Copy, target of Triad.
    pub a: Buffer<f64>,
    /// Target of Scale.
    pub b: Buffer<f64>,
    /// Target of Copy and Add.
    pub c: Buffer<f64>,
}

impl Arrays {
    /// Vectors of `n` elements with a = 2, b = 2, c = 0, the state after the original's start, each part touched first by the thread
    /// that will use it.
    pub fn new(n: usize, pool: &Pool) -> Result<Self, MemoryError> {
        let mut arrays = Self { a: Buffer::zeroed(n)?, b: Buffer::zeroed(n)?, c: Buffer::zeroed(n)? };
        let [a, b, c] = [&mut arrays.a, &mut arrays.b, &mut arrays.c].map(|v| Shared::new(v));
        pool.run(|t| {
            let own = pool.part(n, GRAIN, t);
            // SAFETY: the parts of the threads are disjoint, and the arrays outlive the run.
            let (a, b, c) = unsafe { (a.part(own.clone()), b.part(own.clone()), c.part(own)) };
            a.fill(2.0);
            b.fill(2.0);
            c.fill(0.0);
        });
        Ok(arrays)
    }

    /// Runs one kernel once.
    pub fn run(&mut self, kernel: Kernel, stores: Stores, pool: &Pool) {
        let n = self.a.len();
        let [a, b, c] = [&mut self.a, &mut self.b, &mut self.c].map(|v| Shared::new(v));
        pool.run(|t| {
            let own = pool.part(n, GRAIN, t);
            // SAFETY: the parts of the threads are disjoint, and the arrays outlive the run.
            let (a, b, c) = unsafe { (a.part(own.clone()), b.part(own.clone()), c.part(own)) };
            match kernel {
                Kernel::Copy => pass::<0>(stores, a, a, c),
                Kernel::Scale => pass::<1>(stores, c, c, b),
                Kernel::Add => pass::<2>(stores, a, b, c),
                Kernel::Triad => pass::<3>(stores, b, c, a),
            }
        });
    }

    /// The largest relative deviation of the mean of an array from its value after `rounds` rounds, as the original checks.
    ///
    /// # Panics
    /// Without a round there is nothing to check.
    pub fn deviation(&self, rounds: usize) -> f64 {
        assert!(rounds > 0, "STREAM is checked after at least one round");
        let (mut a, mut b, mut c) = (2.0f64, 2.0f64, 0.0f64);
        for _ in 0..rounds {
            c = a;
            b = SCALAR * c;
            c = a + b;
            a = b + SCALAR * c;
        }
        let mean =
            |x: &[f64], want: f64| x.iter().map(|v| (v - want).abs()).sum::<f64>() / x.len().max(1) as f64 / want.abs();
        // `f64::max` would drop a NaN, which is the worst of all.
        let worst = |x: f64, y: f64| if y.is_nan() || y > x { y } else { x };
        [mean(&self.a, a), mean(&self.b, b), mean(&self.c, c)].into_iter().fold(0.0, worst)
    }
}

/// One kernel on one thread's part: `out = f(x, y)`. Copy and Scale give their source twice.
fn pass<const KERNEL: u8>(stores: Stores, x: &[f64], y: &[f64], out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if stores == Stores::Streaming && level() != Level::Portable {
        // Streaming stores go to aligned whole lines; what is before the first and after the last is stored plainly.
        let head = out.as_ptr().align_offset(64).min(out.len());
        let body = (out.len() - head) / 8 * 8;
        plain::<KERNEL>(&x[..head], &y[..head], &mut out[..head]);
        let end = head + body;
        plain::<KERNEL>(&x[end..], &y[end..], &mut out[end..]);
        let (x, y, out) = (&x[head..end], &y[head..end], &mut out[head..end]);
        match level() {
            // SAFETY: the level was found on this processor; `out` starts on a line and is a multiple of eight long, as x and y are.
            Level::Avx512 => unsafe { x86::avx512::<KERNEL>(x, y, out) },
            // SAFETY: as above.
            _ => unsafe { x86::avx2::<KERNEL>(x, y, out) },
        }
        return;
    }
    let _ = (stores, level());
    plain::<KERNEL>(x, y, out);
}

fn plain<const KERNEL: u8>(x: &[f64], y: &[f64], out: &mut [f64]) {
    match KERNEL {
        // What compilers make of the original's loop, too: the C library's copy.
        0 => out.copy_from_slice(x),
        1 => each(out, x, y, |x, _| SCALAR * x),
        2 => each(out, x, y, |x, y| x + y),
        _ => each(out, x, y, |x, y| x + SCALAR * y),
    }
}

#[inline(always)]
fn each(out: &mut [f64], x: &[f64], y: &[f64], f: impl Fn(f64, f64) -> f64) {
    for ((o, x), y) in out.iter_mut().zip(x).zip(y) {
        *o = f(*x, *y);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::SCALAR;
    use std::arch::x86_64::*;

    /// # Safety
    /// The three slices have the same length, a multiple of eight; `out` is aligned to 64 bytes.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn avx512<const KERNEL: u8>(x: &[f64], y: &[f64], out: &mut [f64]) {
        let s = _mm512_set1_pd(SCALAR);
        for i in (0..out.len()).step_by(8) {
            // SAFETY: i + 8 is within all three by the caller's promise, and i keeps the alignment.
            unsafe {
                let u = _mm512_loadu_pd(x.as_ptr().add(i));
                let value = match KERNEL {
                    0 => u,
                    1 => _mm512_mul_pd(s, u),
                    2 => _mm512_add_pd(u, _mm512_loadu_pd(y.as_ptr().add(i))),
                    _ => _mm512_add_pd(u, _mm512_mul_pd(s, _mm512_loadu_pd(y.as_ptr().add(i)))),
                };
                _mm512_stream_pd(out.as_mut_ptr().add(i), value);
            }
        }
        _mm_sfence();
    }

    /// # Safety
    /// As for `avx512`.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn avx2<const KERNEL: u8>(x: &[f64], y: &[f64], out: &mut [f64]) {
        let s = _mm256_set1_pd(SCALAR);
        for i in (0..out.len()).step_by(4) {
            // SAFETY: as in `avx512`.
            unsafe {
                let u = _mm256_loadu_pd(x.as_ptr().add(i));
                let value = match KERNEL {
                    0 => u,
                    1 => _mm256_mul_pd(s, u),
                    2 => _mm256_add_pd(u, _mm256_loadu_pd(y.as_ptr().add(i))),
                    _ => _mm256_add_pd(u, _mm256_mul_pd(s, _mm256_loadu_pd(y.as_ptr().add(i)))),
                };
                _mm256_stream_pd(out.as_mut_ptr().add(i), value);
            }
        }
        _mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_give_the_recurrence_exactly_with_either_store() {
        for n in [0, 1, 7, 8, 513, 100_003] {
            for threads in [1, 3] {
                let pool = Pool::floating(threads);
                for stores in [Stores::Plain, Stores::Streaming] {
                    let mut v = Arrays::new(n, &pool).unwrap();
                    for _ in 0..3 {
                        for kernel in Kernel::ALL {
                            v.run(kernel, stores, &pool);
                        }
                    }
                    assert!(v.deviation(3) < 1e-15, "{n} {threads} {stores:?}: {}", v.deviation(3));
                    assert!(n == 0 || v.deviation(2) > 1e-3);
                }
            }
        }
    }

    #[test]
    fn one_wrong_element_and_nan_are_seen() {
        let pool = Pool::floating(1);
        let mut v = Arrays::new(1000, &pool).unwrap();
        Kernel::ALL.into_iter().for_each(|k| v.run(k, Stores::Streaming, &pool));
        assert!(v.deviation(1) < 1e-15);
        v.b[500] += 1e-6;
        assert!(v.deviation(1) > 1e-13);
        v.b[500] = f64::NAN;
        assert!(v.deviation(1).is_nan());
    }

    #[test]
    fn unaligned_parts_are_done_to_the_last_element() {
        let x: Vec<f64> = (0..200).map(f64::from).collect();
        let y: Vec<f64> = (0..200).map(|i| f64::from(i) * 0.5).collect();
        let mut out = vec![-1.0; 200];
        for start in 0..9 {
            for end in [start, start + 1, start + 50, 199] {
                out.fill(-1.0);
                pass::<3>(Stores::Streaming, &x[start..end], &y[start..end], &mut out[start..end]);
                for i in 0..200 {
                    let want = if (start..end).contains(&i) { x[i] + SCALAR * y[i] } else { -1.0 };
                    assert_eq!(out[i], want);
                }
            }
        }
    }
}
