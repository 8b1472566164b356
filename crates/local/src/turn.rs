//! Complex matrices turned over, and complex products: the moves between the short transforms of a long one.

use crate::fft::Complex;
use crate::simd::{Level, level, multiversion};

/// How the memory around a turn is treated. Only speed depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// The elements right of the block will be turned next: they are asked for meanwhile. No processor guesses that, since the
    /// rows are pages apart.
    FetchNext,
    /// The target is in the caches.
    Cached,
    /// The target is not needed soon: whole lines are written around the caches.
    WriteOnce,
}

/// A matrix in memory: its first element, and the distance of its rows.
#[derive(Clone, Copy)]
pub struct Rows<P> {
    /// Element (0, 0).
    pub at: P,
    /// Elements from row to row.
    pub stride: usize,
}

/// Writes the `rows x cols` matrix `from` as its transpose to `to`.
///
/// # Safety
/// `rows` rows of `cols` elements may be read at `from` and `cols` rows of `rows` written at `to`; they do not overlap.
pub unsafe fn turn(from: Rows<*const Complex>, to: Rows<*mut Complex>, rows: usize, cols: usize, memory: Memory) {
    let (mut r4, mut c4) = (0, 0);
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        (r4, c4) = (rows / 4 * 4, cols / 4 * 4);
        // Streaming stores take whole aligned lines: 64 bytes are four elements.
        let lines = to.at.addr().is_multiple_of(64) && to.stride.is_multiple_of(4);
        // SAFETY: the level was found on this processor; whole blocks of four by four lie in both matrices.
        unsafe {
            match memory {
                Memory::WriteOnce if lines => x86::turn::<true, false>(from, to, r4, c4),
                Memory::FetchNext => x86::turn::<false, true>(from, to, r4, c4),
                _ => x86::turn::<false, false>(from, to, r4, c4),
            }
        }
    }
    let _ = (level(), Level::Portable, memory);
    // SAFETY: what is left over lies in both matrices, by the caller's promise.
    unsafe {
        // Beside the blocks down to their last row, then all of the rows below: the corner is turned once.
        let right = Rows { at: from.at.wrapping_add(c4), ..from };
        single(right, Rows { at: to.at.wrapping_add(c4 * to.stride), ..to }, r4, cols - c4);
        let below = Rows { at: from.at.wrapping_add(r4 * from.stride), ..from };
        single(below, Rows { at: to.at.wrapping_add(r4), ..to }, rows - r4, cols);
    }
}

/// # Safety
/// As for `turn`.
unsafe fn single(from: Rows<*const Complex>, to: Rows<*mut Complex>, rows: usize, cols: usize) {
    for r in 0..rows {
        for c in 0..cols {
            // SAFETY: the caller's promise.
            unsafe { *to.at.add(c * to.stride + r) = *from.at.add(r * from.stride + c) };
        }
    }
}

/// `x[k] *= factor y[k]`, as far as the shorter one goes.
pub fn multiply(x: &mut [Complex], y: &[Complex], factor: Complex) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 && x.len() <= y.len() {
        let whole = x.len() / 4 * 4;
        let (body, tail) = x.split_at_mut(whole);
        // SAFETY: the level was found on this processor; both have as many elements, a multiple of four.
        unsafe { x86::multiply(body, &y[..whole], factor) };
        return plain(tail, &y[whole..], factor);
    }
    plain(x, y, factor);
}

multiversion! {
    fn plain(x: &mut [Complex], y: &[Complex], factor: Complex) {
        for (x, y) in x.iter_mut().zip(y) {
            let (re, im) = (y.re * factor.re - y.im * factor.im, y.re * factor.im + y.im * factor.re);
            *x = Complex::new(x.re * re - x.im * im, x.re * im + x.im * re);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Complex, Rows};
    use std::arch::x86_64::*;

    /// # Safety
    /// As for `super::turn`, with sizes that are multiples of four; to stream, the target's rows start on cache lines.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn turn<const STREAM: bool, const FETCH: bool>(
        from: Rows<*const Complex>,
        to: Rows<*mut Complex>,
        rows: usize,
        cols: usize,
    ) {
        // The long side is the outer loop, so that the short side's lines are taken together.
        if rows >= cols {
            for r in (0..rows).step_by(4) {
                for c in (0..cols).step_by(4) {
                    // SAFETY: a block of four by four inside both matrices.
                    unsafe { block::<STREAM, FETCH>(from, to, r, c, cols) };
                }
            }
        } else {
            for c in (0..cols).step_by(4) {
                for r in (0..rows).step_by(4) {
                    // SAFETY: as above.
                    unsafe { block::<STREAM, FETCH>(from, to, r, c, cols) };
                }
            }
        }
        if STREAM {
            _mm_sfence();
        }
    }

    /// # Safety
    /// The block at (r, c) lies in both matrices.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn block<const STREAM: bool, const FETCH: bool>(
        from: Rows<*const Complex>,
        to: Rows<*mut Complex>,
        r: usize,
        c: usize,
        width: usize,
    ) {
        let row = |i: usize| {
            let at = from.at.wrapping_add((r + i) * from.stride + c);
            if FETCH {
                _mm_prefetch::<_MM_HINT_T1>(at.wrapping_add(width).cast());
            }
            // SAFETY: the caller's promise.
            unsafe { _mm512_loadu_pd(at.cast()) }
        };
        let (a, b, d, e) = (row(0), row(1), row(2), row(3));
        let (ab, de) = (_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0x88>(d, e));
        let (xy, zw) = (_mm512_shuffle_f64x2::<0xdd>(a, b), _mm512_shuffle_f64x2::<0xdd>(d, e));
        let columns = [
            _mm512_shuffle_f64x2::<0x88>(ab, de),
            _mm512_shuffle_f64x2::<0x88>(xy, zw),
            _mm512_shuffle_f64x2::<0xdd>(ab, de),
            _mm512_shuffle_f64x2::<0xdd>(xy, zw),
        ];
        for (j, column) in columns.into_iter().enumerate() {
            // SAFETY: the caller's promise; with STREAM every row starts on a line and r is a multiple of four, a line.
            unsafe {
                let at = to.at.add((c + j) * to.stride + r).cast();
                if STREAM { _mm512_stream_pd(at, column) } else { _mm512_storeu_pd(at, column) }
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    fn product(x: __m512d, y: __m512d) -> __m512d {
        let (re, im) = (_mm512_movedup_pd(y), _mm512_permute_pd::<0xff>(y));
        _mm512_fmaddsub_pd(x, re, _mm512_mul_pd(_mm512_permute_pd::<0x55>(x), im))
    }

    /// # Safety
    /// Both slices have the same length, a multiple of four.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn multiply(x: &mut [Complex], y: &[Complex], factor: Complex) {
        let f = _mm512_set_pd(factor.im, factor.re, factor.im, factor.re, factor.im, factor.re, factor.im, factor.re);
        for k in (0..x.len()).step_by(4) {
            // SAFETY: k + 4 is within both.
            unsafe {
                let at = x.as_mut_ptr().add(k).cast::<f64>();
                let twist = product(_mm512_loadu_pd(y.as_ptr().add(k).cast()), f);
                _mm512_storeu_pd(at, product(_mm512_loadu_pd(at), twist));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize) -> Vec<Complex> {
        (0..n).map(|i| Complex::new(i as f64, 0.5 - i as f64)).collect()
    }

    #[test]
    fn every_element_is_turned_and_nothing_else() {
        for (rows, cols) in [(0, 3), (1, 1), (4, 4), (5, 16), (9, 7), (13, 16), (17, 13)] {
            let (fs, ts) = (cols + 2, rows + 3);
            let from = numbers(rows * fs);
            for memory in [Memory::FetchNext, Memory::Cached, Memory::WriteOnce] {
                let mut to = crate::Buffer::zeroed(cols * ts).unwrap();
                to.fill(Complex::new(-1.0, -1.0));
                let (source, target) =
                    (Rows { at: from.as_ptr(), stride: fs }, Rows { at: to.as_mut_ptr(), stride: ts });
                // SAFETY: both matrices fit with their strides.
                unsafe { turn(source, target, rows, cols, memory) };
                for c in 0..cols {
                    for r in 0..ts {
                        let want = if r < rows { from[r * fs + c] } else { Complex::new(-1.0, -1.0) };
                        assert_eq!(to[c * ts + r], want, "{rows} x {cols}");
                    }
                }
            }
        }
    }

    #[test]
    fn products_equal_the_definition() {
        let factor = Complex::new(0.25, -2.0);
        for n in [0, 1, 3, 4, 11, 32] {
            let (mut x, y) = (numbers(n), numbers(32));
            multiply(&mut x, &y, factor);
            assert!((0..n).all(|k| (x[k] - numbers(n)[k] * (y[k] * factor)).norm() <= 1e-12 * (1.0 + x[k].norm())));
        }
    }
}
