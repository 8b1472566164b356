//! Vectors. They are bound by memory, so plain loops that the compiler vectorizes are as good as any library.

use crate::simd::multiversion;

/// The index of the first element of largest magnitude, none for an empty vector. A NaN is never the largest.
pub fn idamax(x: &[f64]) -> Option<usize> {
    if x.is_empty() {
        return None;
    }
    let top = largest(x);
    // Of NaNs alone the largest is zero, which none of them equals; then the first is taken.
    x.iter().position(|v| v.abs() == top).or(Some(0))
}

multiversion! {
    fn largest(x: &[f64]) -> f64 {
        let mut top = [0.0f64; 16];
        let mut chunks = x.chunks_exact(16);
        for chunk in &mut chunks {
            for (t, v) in top.iter_mut().zip(chunk) {
                // A comparison with a NaN is false, so it never replaces a number.
                *t = if v.abs() > *t { v.abs() } else { *t };
            }
        }
        top.iter().copied().chain(chunks.remainder().iter().map(|v| v.abs())).fold(0.0, f64::max)
    }
}

multiversion! {
    /// `y <- a x + y`.
    pub fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
        assert_eq!(x.len(), y.len(), "axpy of vectors of different length");
        for (v, u) in y.iter_mut().zip(x) {
            *v += a * u;
        }
    }
}

multiversion! {
    /// `x <- a x`.
    pub fn scal(a: f64, x: &mut [f64]) {
        for v in x {
            *v *= a;
        }
    }
}

multiversion! {
    /// The inner product, summed in sixteen lanes.
    pub fn dot(x: &[f64], y: &[f64]) -> f64 {
        assert_eq!(x.len(), y.len(), "inner product of vectors of different length");
        let mut sum = [0.0f64; 16];
        let (mut u, mut v) = (x.chunks_exact(16), y.chunks_exact(16));
        for (a, b) in (&mut u).zip(&mut v) {
            for q in 0..16 {
                sum[q] += a[q] * b[q];
            }
        }
        let tail: f64 = u.remainder().iter().zip(v.remainder()).map(|(a, b)| a * b).sum();
        sum.iter().sum::<f64>() + tail
    }
}

/// Exchanges two vectors.
pub fn swap(x: &mut [f64], y: &mut [f64]) {
    x.swap_with_slice(y);
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::*;

    #[test]
    fn the_first_of_equal_magnitudes_is_found() {
        assert_eq!(idamax(&[]), None);
        assert_eq!(idamax(&[0.0, -0.0]), Some(0));
        assert_eq!(idamax(&[1.0, -3.0, 3.0, 2.0]), Some(1));
        assert_eq!(idamax(&[f64::NAN, 1.0]), Some(1));
        let mut r = Random(1);
        for n in 1..100 {
            let x: Vec<f64> = (0..n).map(|_| r.next()).collect();
            let want = (0..n).rev().max_by(|&i, &j| x[i].abs().total_cmp(&x[j].abs()));
            assert_eq!(idamax(&x), want);
        }
    }

    #[test]
    fn vectors_equal_their_definitions() {
        let mut r = Random(2);
        for n in [0, 1, 15, 16, 17, 100] {
            let (x, y) = (r.matrix(n, 1), r.matrix(n, 1));
            let mut z = y.clone();
            axpy(0.5, &x, &mut z);
            assert!((0..n).all(|i| z[i] == y[i] + 0.5 * x[i]));
            scal(2.0, &mut z);
            assert!((0..n).all(|i| z[i] == 2.0 * (y[i] + 0.5 * x[i])));
            let want: f64 = (0..n).map(|i| x[i] * y[i]).sum();
            assert!((dot(&x, &y) - want).abs() < 1e-14);
            let mut u = x.clone();
            swap(&mut u, &mut z);
            assert_eq!(z, x);
        }
    }
}
