//! Transposition in blocks: eight by eight in registers, and those in tiles that fit the first-level cache.
//!
//! A column of the target is a row of the source: element by element one of the two jumps by a whole column for every
//! element and uses eight bytes of each line it fetches. In blocks both use whole lines.

use crate::matrix::{Mat, MatMut};
use crate::simd::{Level, level};
use crate::threads::{Pool, part};

/// Side of a register block.
const BLOCK: usize = 8;
/// Side of a tile: two of them, 64 KiB, live in the second-level cache with room to spare, and its 64 columns in the TLB.
const TILE: usize = 64;
/// Fewer elements than this for a thread are not worth waking it.
const ELEMENTS_PER_THREAD: usize = 1 << 16;

/// `C <- A^T + beta C`. With `beta` zero C is not read.
///
/// # Panics
/// If A is not as wide as C is high, or the other way round.
pub fn transpose_add(a: Mat<'_>, beta: f64, mut c: MatMut<'_>, pool: &Pool) {
    let (m, n, ld) = (c.rows(), c.cols(), c.ld());
    assert!((a.cols(), a.rows()) == (m, n), "transpose of {} x {} into {m} x {n}", a.rows(), a.cols());
    let threads = pool.threads().min(m * n / ELEMENTS_PER_THREAD).max(1);
    if threads == 1 {
        return tiles(a, beta, c);
    }
    let base = crate::memory::Raw(c.ptr());
    pool.run(|t| {
        if t >= threads {
            return;
        }
        // Whole tiles for each thread, so that none is cut between two.
        let own = part(n, TILE, t, threads);
        // SAFETY: the threads' columns are disjoint parts of `c`, which is borrowed until all threads have ended.
        let c = unsafe { MatMut::raw(base.get().wrapping_add(own.start * ld), m, own.len(), ld) };
        tiles(a.part(own, 0..m), beta, c);
    });
}

/// `C <- A^T`.
pub fn transpose(a: Mat<'_>, c: MatMut<'_>, pool: &Pool) {
    transpose_add(a, 0.0, c, pool);
}

/// `C <- B + beta C`, column by column. With `beta` zero C is not read.
///
/// # Panics
/// If the sizes differ.
pub fn add(b: Mat<'_>, beta: f64, mut c: MatMut<'_>) {
    assert!((b.rows(), b.cols()) == (c.rows(), c.cols()), "sum of matrices of different size");
    if beta == 0.0 {
        return c.copy_from(b);
    }
    for j in 0..c.cols() {
        for (x, y) in c.col(j).iter_mut().zip(b.col(j)) {
            *x = y + beta * *x;
        }
    }
}

/// Packs a block into a buffer without gaps, column after column.
pub fn pack(a: Mat<'_>, out: &mut [f64]) {
    MatMut::new(out, a.rows(), a.cols(), a.rows().max(1)).copy_from(a);
}

/// Packs the transpose of a block into a buffer without gaps, column after column.
pub fn pack_transposed(a: Mat<'_>, out: &mut [f64]) {
    tiles(a, 0.0, MatMut::new(out, a.cols(), a.rows(), a.cols().max(1)));
}

fn tiles(a: Mat<'_>, beta: f64, mut c: MatMut<'_>) {
    let (m, n) = (c.rows(), c.cols());
    for j in (0..n).step_by(TILE) {
        for i in (0..m).step_by(TILE) {
            let (rows, cols) = (i..m.min(i + TILE), j..n.min(j + TILE));
            blocks(a.part(cols.clone(), rows.clone()), beta, c.own().part(rows, cols));
        }
    }
}

/// One tile, its whole blocks by vector instructions where there are any.
fn blocks(a: Mat<'_>, beta: f64, mut c: MatMut<'_>) {
    let (m, n) = (c.rows(), c.cols());
    let kernel = kernel(level());
    let (mb, nb) = (m / BLOCK * BLOCK, n / BLOCK * BLOCK);
    let (lda, ldc, source, target) = (a.ld(), c.ld(), a.ptr(), c.ptr());
    for j in (0..nb).step_by(BLOCK) {
        for i in (0..mb).step_by(BLOCK) {
            // SAFETY: block (i, j) of C and block (j, i) of A lie inside their views.
            unsafe { kernel(source.add(j + i * lda), lda, beta, target.add(i + j * ldc), ldc) };
        }
    }
    // The first takes the corner, the second stops before it.
    single(a.part(nb..n, 0..m), beta, c.own().part(0..m, nb..n));
    single(a.part(0..nb, mb..m), beta, c.part(mb..m, 0..nb));
}

/// Element by element, for what is left over.
fn single(a: Mat<'_>, beta: f64, mut c: MatMut<'_>) {
    for j in 0..c.cols() {
        for (i, x) in c.col(j).iter_mut().enumerate() {
            *x = a.at(j, i) + if beta == 0.0 { 0.0 } else { beta * *x };
        }
    }
}

/// Transposes one block: source, its leading dimension, beta, target, its leading dimension.
type Kernel = unsafe fn(*const f64, usize, f64, *mut f64, usize);

fn kernel(level: Level) -> Kernel {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => x86::avx512,
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => x86::avx2,
        _ => portable,
    }
}

/// # Safety
/// Eight columns of eight elements may be read at `a` and written at `c`.
unsafe fn portable(a: *const f64, lda: usize, beta: f64, c: *mut f64, ldc: usize) {
    for j in 0..BLOCK {
        for i in 0..BLOCK {
            // SAFETY: the caller's promise.
            unsafe {
                let x = c.add(i + j * ldc);
                *x = *a.add(j + i * lda) + if beta == 0.0 { 0.0 } else { beta * *x };
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// # Safety
    /// Eight columns of eight elements may be read at `a` and written at `c`.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn avx512(a: *const f64, lda: usize, beta: f64, c: *mut f64, ldc: usize) {
        // SAFETY: the caller's promise.
        let r: [__m512d; 8] = std::array::from_fn(|i| unsafe { _mm512_loadu_pd(a.add(i * lda)) });
        // Pairs of elements, then pairs of pairs, then halves change places.
        let two = |i: usize| (_mm512_unpacklo_pd(r[i], r[i + 1]), _mm512_unpackhi_pd(r[i], r[i + 1]));
        let ((a0, a1), (b0, b1), (c0, c1), (d0, d1)) = (two(0), two(2), two(4), two(6));
        let four = |x, y| (_mm512_shuffle_f64x2::<0x88>(x, y), _mm512_shuffle_f64x2::<0xdd>(x, y));
        let ((p0, p2), (p1, p3)) = (four(a0, b0), four(a1, b1));
        let ((q0, q2), (q1, q3)) = (four(c0, d0), four(c1, d1));
        let low = |x, y| _mm512_shuffle_f64x2::<0x88>(x, y);
        let high = |x, y| _mm512_shuffle_f64x2::<0xdd>(x, y);
        let columns = [
            low(p0, q0),
            low(p1, q1),
            low(p2, q2),
            low(p3, q3),
            high(p0, q0),
            high(p1, q1),
            high(p2, q2),
            high(p3, q3),
        ];
        let factor = _mm512_set1_pd(beta);
        for (j, column) in columns.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe {
                let out = c.add(j * ldc);
                let sum = if beta == 0.0 { column } else { _mm512_fmadd_pd(factor, _mm512_loadu_pd(out), column) };
                _mm512_storeu_pd(out, sum);
            }
        }
    }

    /// # Safety
    /// As for `avx512`.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn avx2(a: *const f64, lda: usize, beta: f64, c: *mut f64, ldc: usize) {
        let factor = _mm256_set1_pd(beta);
        for (i, j) in [(0, 0), (4, 0), (0, 4), (4, 4)] {
            // SAFETY: the caller's promise; (i, j) is a quarter of the block.
            let r: [__m256d; 4] = std::array::from_fn(|k| unsafe { _mm256_loadu_pd(a.add(j + (i + k) * lda)) });
            let (x0, x1) = (_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpackhi_pd(r[0], r[1]));
            let (y0, y1) = (_mm256_unpacklo_pd(r[2], r[3]), _mm256_unpackhi_pd(r[2], r[3]));
            let columns = [
                _mm256_permute2f128_pd::<0x20>(x0, y0),
                _mm256_permute2f128_pd::<0x20>(x1, y1),
                _mm256_permute2f128_pd::<0x31>(x0, y0),
                _mm256_permute2f128_pd::<0x31>(x1, y1),
            ];
            for (k, column) in columns.into_iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe {
                    let out = c.add(i + (j + k) * ldc);
                    let sum = if beta == 0.0 { column } else { _mm256_fmadd_pd(factor, _mm256_loadu_pd(out), column) };
                    _mm256_storeu_pd(out, sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_definition_for_any_size_and_threads() {
        for pool in [Pool::floating(1), Pool::floating(3)] {
            for (m, n) in [(0, 5), (1, 1), (8, 8), (7, 9), (64, 65), (130, 71), (513, 600)] {
                let a: Vec<f64> = (0..(n + 1) * m).map(|i| i as f64).collect();
                let c0: Vec<f64> = (0..(m + 2) * n).map(|i| -(i as f64)).collect();
                for beta in [0.0, 1.0, 0.5] {
                    let mut c = c0.clone();
                    if beta == 0.0 {
                        c.fill(f64::NAN);
                    }
                    transpose_add(Mat::new(&a, n, m, n + 1), beta, MatMut::new(&mut c, m, n, m + 2), &pool);
                    for j in 0..n {
                        for i in 0..m {
                            let want = a[j + i * (n + 1)] + beta * c0[i + j * (m + 2)];
                            assert_eq!(c[i + j * (m + 2)], want, "{m} x {n} ({i},{j}) beta {beta}");
                        }
                        let gap = &c[m + j * (m + 2)..(j + 1) * (m + 2)];
                        assert!(beta == 0.0 || gap == &c0[m + j * (m + 2)..(j + 1) * (m + 2)]);
                    }
                }
            }
        }
    }

    #[test]
    fn every_block_kernel_equals_the_portable_one() {
        let a: Vec<f64> = (0..100).map(f64::from).collect();
        for beta in [0.0, 2.0] {
            let c0: Vec<f64> = (0..100).map(|i| f64::from(i) * 1000.0).collect();
            let mut want = c0.clone();
            // SAFETY: 8 columns of 8, 10 and 11 apart, fit 100 elements.
            unsafe { portable(a.as_ptr(), 10, beta, want.as_mut_ptr(), 11) };
            for level in crate::simd::levels() {
                let mut c = c0.clone();
                // SAFETY: as above; the level runs here.
                unsafe { kernel(level)(a.as_ptr(), 10, beta, c.as_mut_ptr(), 11) };
                assert_eq!(c, want, "{level:?}");
            }
        }
    }

    #[test]
    fn packing_and_adding_keep_every_element() {
        let a: Vec<f64> = (0..60).map(f64::from).collect();
        let a = Mat::new(&a, 9, 5, 12);
        let (mut p, mut t) = (vec![0.0; 45], vec![0.0; 45]);
        pack(a, &mut p);
        pack_transposed(a, &mut t);
        for j in 0..5 {
            for i in 0..9 {
                assert_eq!((p[i + 9 * j], t[j + 5 * i]), (a.at(i, j), a.at(i, j)));
            }
        }
        let mut c = p.clone();
        add(a, 2.0, MatMut::new(&mut c, 9, 5, 9));
        assert!(c.iter().zip(&p).all(|(x, y)| *x == 3.0 * y));
    }
}
