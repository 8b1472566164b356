//! Chooses between the built-in kernels and a system library by measuring both, and measures what the cores could do at most.
//!
//! The one file of this crate that reads a clock: what is measured here decides which code runs, and is reported beside the
//! results, never as one.

use super::{Blas, Library, LoadError, Trans};
use crate::memory::Buffer;
use crate::simd::{Level, level};
use crate::threads::Pool;
use crate::{Mat, MatMut};
use std::sync::Arc;
use std::time::Instant;

/// Rates below this part of the peak are worth a warning: a good library on large matrices reaches 0.75 to 0.95.
const POOR: f64 = 0.6;
/// Each candidate is timed so often, in turn, and its best counts.
const ROUNDS: usize = 3;
/// Order of the test product for one thread.
const ORDER: f64 = 960.0;

/// What the user wants to compute with.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum WantedBlas {
    /// The faster of the built-in kernels and the system's library.
    #[default]
    Fastest,
    /// The built-in kernels.
    Builtin,
    /// The system's library, or the one in this file.
    System(Option<String>),
}

/// The library chosen, and why.
pub struct Choice {
    /// To compute with.
    pub blas: Blas,
    /// Every library measured and its rate in flop/s, the chosen one first.
    pub rates: Vec<(Library, f64)>,
    /// The most the threads reach together with fused multiply-adds on registers alone, flop/s.
    pub peak: f64,
    /// Set if the chosen library is far below the peak, with what to do.
    pub warning: Option<String>,
}

/// Measures what is wanted on the threads of `pool` and takes the fastest; some tenths of a second.
pub fn pick(wanted: &WantedBlas, pool: &Arc<Pool>) -> Result<Choice, LoadError> {
    let threads = pool.threads();
    let mut candidates = Vec::new();
    if !matches!(wanted, WantedBlas::System(_)) {
        candidates.push(Blas::builtin(Arc::clone(pool)));
    }
    match wanted {
        WantedBlas::Builtin => {}
        WantedBlas::System(path) => candidates.push(Blas::system(path.as_deref(), threads)?),
        // A machine without a library of its own is no error here: the built-in kernels are measured alone.
        WantedBlas::Fastest => candidates.extend(Blas::system(None, threads)),
    }
    // So each thread has as many elements of C as one alone. At most three matrices of 128 MiB.
    let order = (ORDER * (threads as f64).sqrt()).min(4096.0) as usize;
    let mut rates = vec![0.0f64; candidates.len()];
    let mut top = 0.0f64;
    for _ in 0..ROUNDS {
        top = top.max(peak(pool));
        for (rate, blas) in rates.iter_mut().zip(&candidates) {
            *rate = rate.max(measure(blas, order));
        }
    }
    let mut ranked: Vec<(Blas, f64)> = candidates.into_iter().zip(rates).collect();
    ranked.sort_by(|x, y| y.1.total_cmp(&x.1));
    let rates: Vec<(Library, f64)> = ranked.iter().map(|(b, r)| (b.library().clone(), *r)).collect();
    let warning = warning(&rates[0].0, rates[0].1, top);
    Ok(Choice { blas: ranked.swap_remove(0).0, rates, peak: top, warning })
}

fn warning(library: &Library, rate: f64, peak: f64) -> Option<String> {
    let part = rate / peak;
    (part < POOR).then(|| {
        let core = library.core.as_ref().map(|c| format!(" with {c} kernels")).unwrap_or_default();
        format!(
            "{}{core} reaches {:.1} of {:.1} Gflop/s ({:.0} %): the library does not use this processor's vector units, or the cores are busy; \
             try --blas builtin, another BLAS, or OPENBLAS_CORETYPE",
            library.name,
            rate / 1e9,
            peak / 1e9,
            100.0 * part
        )
    })
}

#[allow(clippy::disallowed_methods, reason = "chooses between libraries; the measured time is no result")]
fn seconds(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64()
}

/// Flop/s of one square product, after a small one that starts threads and buffers.
fn measure(blas: &Blas, n: usize) -> f64 {
    let mut data = Buffer::<f64>::zeroed(3 * n * n).unwrap_or_else(|e| panic!("no memory for a test product: {e}"));
    data.iter_mut().enumerate().for_each(|(i, x)| *x = (i % 7) as f64);
    let (ab, c) = data.split_at_mut(2 * n * n);
    let (a, b) = ab.split_at(n * n);
    let mut product = |n: usize| {
        let (a, b, c) = (Mat::new(a, n, n, n), Mat::new(b, n, n, n), MatMut::new(c, n, n, n));
        seconds(|| blas.gemm(Trans::No, Trans::No, 1.0, a, b, 0.0, c))
    };
    product(n / 2);
    // A clock too coarse to see the product must not make the rate infinite.
    2.0 * (n as f64).powi(3) / product(n).max(1e-9)
}

/// Flop/s of all threads together when nothing but registers is used.
pub fn peak(pool: &Pool) -> f64 {
    // Some 4 ms at 3 GHz: the twelve chains on two units take six cycles a step.
    const STEPS: usize = 2_000_000;
    let spin = |steps| {
        pool.run(|_| {
            std::hint::black_box(multiply_add(level(), steps));
        });
    };
    spin(STEPS / 10);
    let flops = flops_per_step(level()) * STEPS as f64 * pool.threads() as f64;
    flops / seconds(|| spin(STEPS)).max(1e-9)
}

/// Independent chains: two units with a latency of four or five cycles need ten.
const CHAINS: usize = 12;

fn flops_per_step(level: Level) -> f64 {
    let lanes = match level {
        Level::Avx512 => 8,
        Level::Avx2 => 4,
        Level::Portable => 4,
    };
    2.0 * (lanes * CHAINS) as f64
}

fn multiply_add(level: Level, steps: usize) -> f64 {
    match level {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level was found on this processor.
        Level::Avx512 => unsafe { x86::avx512(steps) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Level::Avx2 => unsafe { x86::avx2(steps) },
        _ => portable(steps),
    }
}

fn portable(steps: usize) -> f64 {
    // 1 is the fixed point of v x + y, so values neither grow nor become denormal, which would be slow.
    let (x, y) = (std::hint::black_box(0.999_999), std::hint::black_box(1e-6));
    let mut acc = [[1.0f64; 4]; CHAINS];
    for _ in 0..steps {
        for chain in &mut acc {
            for v in chain {
                *v = *v * x + y;
            }
        }
    }
    acc.iter().flatten().sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::CHAINS;
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f")]
    pub fn avx512(steps: usize) -> f64 {
        let (x, y) = (_mm512_set1_pd(std::hint::black_box(0.999_999)), _mm512_set1_pd(std::hint::black_box(1e-6)));
        let mut acc = [_mm512_set1_pd(1.0); CHAINS];
        for _ in 0..steps {
            for v in &mut acc {
                *v = _mm512_fmadd_pd(*v, x, y);
            }
        }
        acc.into_iter().map(|v| _mm512_reduce_add_pd(v)).sum()
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn avx2(steps: usize) -> f64 {
        let (x, y) = (_mm256_set1_pd(std::hint::black_box(0.999_999)), _mm256_set1_pd(std::hint::black_box(1e-6)));
        let mut acc = [_mm256_set1_pd(1.0); CHAINS];
        for _ in 0..steps {
            for v in &mut acc {
                *v = _mm256_fmadd_pd(*v, x, y);
            }
        }
        let mut total = _mm256_setzero_pd();
        for v in acc {
            total = _mm256_add_pd(total, v);
        }
        _mm256_cvtsd_f64(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_comes_first_and_computes() {
        let pool = Arc::new(Pool::floating(1));
        let choice = pick(&WantedBlas::Fastest, &pool).unwrap();
        assert!(choice.rates.is_sorted_by(|x, y| x.1 >= y.1));
        assert_eq!(&choice.rates[0].0, choice.blas.library());
        assert!(choice.peak > 0.0 && choice.rates.iter().all(|r| r.1 > 0.0));
        let only = pick(&WantedBlas::Builtin, &pool).unwrap();
        assert_eq!((only.rates.len(), only.blas.library().name.as_str()), (1, "built-in"));
        assert!(pick(&WantedBlas::System(Some("no-such-blas.so".into())), &pool).is_err());
    }

    #[test]
    fn a_slow_library_is_named_with_its_kernels() {
        let mut library = Blas::builtin(Arc::new(Pool::floating(1))).library().clone();
        library.core = Some("Prescott".into());
        assert_eq!(warning(&library, 70e9, 80e9), None);
        let text = warning(&library, 10e9, 80e9).unwrap();
        assert!(
            text.contains("Prescott") && text.contains("10.0 of 80.0") && text.contains("OPENBLAS_CORETYPE"),
            "{text}"
        );
    }
}
