//! The innermost kernels of GEMM: one small tile of C held in registers while k runs.
//!
//! ```text
//! C tile (MR x NR)  +=  A panel (MR x k, one column after another)  *  B panel (k x NR, one row after another)
//! ```
//!
//! A tile must fill the registers and no more: with 32 registers of eight doubles 24 x 8, with 16 of four 12 x 4. Then k fused
//! multiply-adds per element need only (MR + NR) loads per step, which the load ports keep up with.

/// One level's tile, and the blocks around it that fit the caches.
pub trait Shape {
    /// Rows of a tile.
    const MR: usize;
    /// Columns of a tile.
    const NR: usize;
    /// Depth of a block: a panel of B (KC x NR) stays in the first-level cache.
    const KC: usize;
    /// Rows of a block: a block of A (MC x KC) stays in the second-level cache.
    const MC: usize;
    /// Columns of a block: a block of B (KC x NC) stays in the last-level cache.
    const NC: usize;

    /// `C <- beta C + alpha A B` for one tile. With `beta` zero C is not read.
    ///
    /// # Safety
    /// The processor has this level. `a` holds k columns of MR elements, `step` apart; `b` k rows of NR; `c` NR columns of MR,
    /// `ldc` apart.
    #[allow(clippy::too_many_arguments, reason = "the innermost loop takes what it takes")]
    unsafe fn tile(k: usize, alpha: f64, a: *const f64, step: usize, b: *const f64, beta: f64, c: *mut f64, ldc: usize);
}

/// The largest tile, for buffers.
pub const MAX_TILE: usize = 24 * 8;

/// Plain arrays; the compiler vectorizes them for whatever it was told to assume.
pub struct Portable;

impl Shape for Portable {
    const MR: usize = 4;
    const NR: usize = 4;
    const KC: usize = 256;
    const MC: usize = 128;
    const NC: usize = 2048;

    unsafe fn tile(
        k: usize,
        alpha: f64,
        a: *const f64,
        step: usize,
        b: *const f64,
        beta: f64,
        c: *mut f64,
        ldc: usize,
    ) {
        let mut acc = [[0.0f64; 4]; 4];
        for p in 0..k {
            // SAFETY: the caller promises k columns of four and k rows of four.
            let (x, y) = unsafe { (&*a.add(p * step).cast::<[f64; 4]>(), &*b.add(p * 4).cast::<[f64; 4]>()) };
            for j in 0..4 {
                for i in 0..4 {
                    acc[j][i] += x[i] * y[j];
                }
            }
        }
        for (j, column) in acc.iter().enumerate() {
            // SAFETY: the caller promises four columns of four, ldc apart; the tile is this thread's own.
            let out = unsafe { &mut *c.add(j * ldc).cast::<[f64; 4]>() };
            for i in 0..4 {
                let old = if beta == 0.0 { 0.0 } else { beta * out[i] };
                out[i] = old + alpha * column[i];
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Shape;
    use std::arch::x86_64::*;

    /// Sixteen registers of four doubles.
    pub struct Avx2;

    impl Shape for Avx2 {
        const MR: usize = 12;
        const NR: usize = 4;
        // A panel of B is 8 KiB, a block of A 384 KiB, a block of B 4 MiB.
        const KC: usize = 256;
        const MC: usize = 192;
        const NC: usize = 2048;

        #[target_feature(enable = "avx2,fma")]
        unsafe fn tile(
            k: usize,
            alpha: f64,
            a: *const f64,
            step: usize,
            b: *const f64,
            beta: f64,
            c: *mut f64,
            ldc: usize,
        ) {
            let mut acc = [[_mm256_setzero_pd(); 3]; 4];
            let (mut a, mut b) = (a, b);
            for _ in 0..k {
                // SAFETY: k columns of 12 and k rows of 4 are the caller's promise; prefetching any address is harmless.
                unsafe {
                    _mm_prefetch::<_MM_HINT_T0>(a.wrapping_add(8 * step).cast());
                    let x = [_mm256_loadu_pd(a), _mm256_loadu_pd(a.add(4)), _mm256_loadu_pd(a.add(8))];
                    for (j, column) in acc.iter_mut().enumerate() {
                        let y = _mm256_broadcast_sd(&*b.add(j));
                        for i in 0..3 {
                            column[i] = _mm256_fmadd_pd(x[i], y, column[i]);
                        }
                    }
                }
                a = a.wrapping_add(step);
                b = b.wrapping_add(4);
            }
            let (valpha, vbeta) = (_mm256_set1_pd(alpha), _mm256_set1_pd(beta));
            for (j, column) in acc.iter().enumerate() {
                for (i, &sum) in column.iter().enumerate() {
                    // SAFETY: four columns of 12, ldc apart, are the caller's promise.
                    unsafe {
                        let out = c.add(j * ldc + 4 * i);
                        let old =
                            if beta == 0.0 { _mm256_setzero_pd() } else { _mm256_mul_pd(vbeta, _mm256_loadu_pd(out)) };
                        _mm256_storeu_pd(out, _mm256_fmadd_pd(valpha, sum, old));
                    }
                }
            }
        }
    }

    /// Thirty-two registers of eight doubles.
    pub struct Avx512;

    impl Shape for Avx512 {
        const MR: usize = 24;
        const NR: usize = 8;
        const KC: usize = 384;
        const MC: usize = 360;
        const NC: usize = 3072;

        #[target_feature(enable = "avx512f")]
        unsafe fn tile(
            k: usize,
            alpha: f64,
            a: *const f64,
            step: usize,
            b: *const f64,
            beta: f64,
            c: *mut f64,
            ldc: usize,
        ) {
            let mut acc = [[_mm512_setzero_pd(); 3]; 8];
            for j in 0..8 {
                // The tile of C is needed only after the sums: fetch it meanwhile. Any address may be prefetched.
                let column = c.wrapping_add(j * ldc);
                for line in [0, 8, 16, 23] {
                    _mm_prefetch::<_MM_HINT_T0>(column.wrapping_add(line).cast());
                }
            }
            let (mut a, mut b) = (a, b);
            for _ in 0..k {
                // SAFETY: k columns of 24 and k rows of 8 are the caller's promise; prefetching any address is harmless.
                unsafe {
                    let ahead = a.wrapping_add(8 * step);
                    _mm_prefetch::<_MM_HINT_T0>(ahead.cast());
                    _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(8).cast());
                    _mm_prefetch::<_MM_HINT_T0>(ahead.wrapping_add(16).cast());
                    let x = [_mm512_loadu_pd(a), _mm512_loadu_pd(a.add(8)), _mm512_loadu_pd(a.add(16))];
                    for (j, column) in acc.iter_mut().enumerate() {
                        let y = _mm512_set1_pd(*b.add(j));
                        for i in 0..3 {
                            column[i] = _mm512_fmadd_pd(x[i], y, column[i]);
                        }
                    }
                }
                a = a.wrapping_add(step);
                b = b.wrapping_add(8);
            }
            let (valpha, vbeta) = (_mm512_set1_pd(alpha), _mm512_set1_pd(beta));
            for (j, column) in acc.iter().enumerate() {
                for (i, &sum) in column.iter().enumerate() {
                    // SAFETY: eight columns of 24, ldc apart, are the caller's promise.
                    unsafe {
                        let out = c.add(j * ldc + 8 * i);
                        let old =
                            if beta == 0.0 { _mm512_setzero_pd() } else { _mm512_mul_pd(vbeta, _mm512_loadu_pd(out)) };
                        _mm512_storeu_pd(out, _mm512_fmadd_pd(valpha, sum, old));
                    }
                }
            }
        }
    }
}
