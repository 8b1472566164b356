//! Complex matrices turned over, and complex products: the moves between the short transforms of a long one.

use crate::fft::Complex;
use crate::simd::{Level, level, multiversion};

/// Writes the `rows x cols` matrix at `from` (row after row, `from_stride` elements a row) as its transpose to `to`.
///
/// # Safety
/// `rows` rows of `cols` elements may be read at `from` and `cols` rows of `rows` written at `to`; they do not overlap.
pub unsafe fn turn(
    from: *const Complex,
    from_stride: usize,
    to: *mut Complex,
    to_stride: usize,
    rows: usize,
    cols: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        let (r4, c4) = (rows / 4 * 4, cols / 4 * 4);
        // SAFETY: the level was found on this processor; whole blocks of four by four lie in both matrices.
        unsafe { x86::turn(from, from_stride, to, to_stride, r4, c4) };
        // SAFETY: what is left over lies in both matrices, by the caller's promise.
        unsafe {
            single(from.add(c4), from_stride, to.add(c4 * to_stride), to_stride, r4, cols - c4);
            single(from.wrapping_add(r4 * from_stride), from_stride, to.add(r4), to_stride, rows - r4, cols);
        }
        return;
    }
    let _ = level() == Level::Portable;
    // SAFETY: the caller's promise.
    unsafe { single(from, from_stride, to, to_stride, rows, cols) };
}

/// # Safety
/// As for `turn`.
unsafe fn single(
    from: *const Complex,
    from_stride: usize,
    to: *mut Complex,
    to_stride: usize,
    rows: usize,
    cols: usize,
) {
    for r in 0..rows {
        for c in 0..cols {
            // SAFETY: the caller's promise.
            unsafe { *to.add(c * to_stride + r) = *from.add(r * from_stride + c) };
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
    use super::Complex;
    use std::arch::x86_64::*;

    /// # Safety
    /// As for `super::turn`, with sizes that are multiples of four.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn turn(
        from: *const Complex,
        from_stride: usize,
        to: *mut Complex,
        to_stride: usize,
        rows: usize,
        cols: usize,
    ) {
        for r in (0..rows).step_by(4) {
            for c in (0..cols).step_by(4) {
                // SAFETY: a block of four by four inside both matrices.
                unsafe {
                    let row = |i: usize| _mm512_loadu_pd(from.add((r + i) * from_stride + c).cast());
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
                        _mm512_storeu_pd(to.add((c + j) * to_stride + r).cast(), column);
                    }
                }
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
        for (rows, cols) in [(0, 3), (1, 1), (4, 4), (5, 16), (9, 7), (16, 13)] {
            let (fs, ts) = (cols + 2, rows + 3);
            let from = numbers(rows * fs);
            let mut to = vec![Complex::new(-1.0, -1.0); cols * ts];
            // SAFETY: both matrices fit with their strides.
            unsafe { turn(from.as_ptr(), fs, to.as_mut_ptr(), ts, rows, cols) };
            for c in 0..cols {
                for r in 0..ts {
                    let want = if r < rows { from[r * fs + c] } else { Complex::new(-1.0, -1.0) };
                    assert_eq!(to[c * ts + r], want, "{rows} x {cols}");
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
