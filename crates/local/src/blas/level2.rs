//! Matrix by vector and outer products, which move as much as they compute: one pass over A, four columns at a time.

use super::{Trans, vector};
use crate::matrix::{Mat, MatMut};
use crate::simd::multiversion;

/// `y <- alpha op(A) x + beta y`.
pub fn gemv(op: Trans, alpha: f64, a: Mat<'_>, x: Mat<'_>, beta: f64, mut y: MatMut<'_>) {
    let x = gather(x);
    // A row of a matrix is updated in a copy without gaps.
    let mut out = if beta == 0.0 { vec![0.0; vector(y.get()).0] } else { gather(y.get()) };
    if beta != 0.0 && beta != 1.0 {
        out.iter_mut().for_each(|v| *v *= beta);
    }
    match op {
        Trans::No => {
            for j in (0..a.cols()).step_by(4) {
                // Past the end any column will do: its factor is zero, and `add_columns` passes it over.
                let column = |q: usize| if j + q < a.cols() { a.col(j + q) } else { a.col(j) };
                let factor = |q: usize| if j + q < a.cols() { alpha * x[j + q] } else { 0.0 };
                let (columns, factors) = ([0, 1, 2, 3].map(column), [0, 1, 2, 3].map(factor));
                add_columns(columns, factors, &mut out);
            }
        }
        Trans::Yes => out.iter_mut().enumerate().for_each(|(j, v)| *v += alpha * super::level1::dot(a.col(j), &x)),
    }
    for (i, v) in out.into_iter().enumerate() {
        if y.cols() == 1 { y.set(i, 0, v) } else { y.set(0, i, v) }
    }
}

/// `A <- alpha x y^T + A`.
pub fn ger(alpha: f64, x: Mat<'_>, y: Mat<'_>, mut a: MatMut<'_>) {
    let (x, y) = (gather(x), gather(y));
    for (j, factor) in y.into_iter().enumerate() {
        super::level1::axpy(alpha * factor, &x, a.col(j));
    }
}

/// The elements of a row or a column.
fn gather(v: Mat<'_>) -> Vec<f64> {
    if v.cols() == 1 { v.col(0).to_vec() } else { (0..vector(v).0).map(|j| v.at(0, j)).collect() }
}

multiversion! {
    fn add_columns(a: [&[f64]; 4], x: [f64; 4], y: &mut [f64]) {
        let n = y.len();
        let (a0, a1, a2, a3) = (&a[0][..n], &a[1][..n], &a[2][..n], &a[3][..n]);
        // A factor of zero stands for a column past the end and must not bring in what that column holds.
        if x[1..].contains(&0.0) {
            for (column, factor) in a.iter().zip(x).filter(|(_, f)| *f != 0.0) {
                y.iter_mut().zip(*column).for_each(|(v, c)| *v += factor * c);
            }
            return;
        }
        for i in 0..n {
            y[i] += (x[0] * a0[i] + x[1] * a1[i]) + (x[2] * a2[i] + x[3] * a3[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Random, engines, naive};
    use super::*;

    #[test]
    fn equals_the_definition_for_rows_and_columns_on_every_engine() {
        let mut r = Random(5);
        for blas in engines() {
            for (m, n) in [(1, 1), (9, 4), (33, 7), (8, 130), (5, 0)] {
                let a = r.matrix(m + 1, n);
                let a = Mat::new(&a, m, n, m + 1);
                for op in [Trans::No, Trans::Yes] {
                    let (ny, nx) = if op == Trans::No { (m, n) } else { (n, m) };
                    let (x, y0) = (r.matrix(3, nx), r.matrix(2, ny));
                    // Strided vectors are rows of a matrix.
                    let (xr, yr) = (Mat::new(&x, 1, nx, 3), Mat::new(&y0, 1, ny, 2));
                    let want =
                        naive((Trans::No, if op == Trans::No { Trans::Yes } else { Trans::No }), 0.7, xr, a, 0.4, yr);
                    let mut y = y0.clone();
                    blas.gemv(op, 0.7, a, xr, 0.4, MatMut::new(&mut y, 1, ny, 2));
                    assert!((0..ny).all(|i| (y[2 * i] - want[i]).abs() < 1e-13), "{:?} {op:?} {m}x{n}", blas.library());
                    let packed: Vec<f64> = (0..nx).map(|i| x[3 * i]).collect();
                    let mut y = vec![f64::NAN; ny];
                    blas.gemv(
                        op,
                        0.7,
                        a,
                        Mat::new(&packed, nx, 1, nx.max(1)),
                        0.0,
                        MatMut::new(&mut y, ny, 1, ny.max(1)),
                    );
                    assert!((0..ny).all(|i| (y[i] - (want[i] - 0.4 * y0[2 * i])).abs() < 1e-13));
                }
                let (x, y) = (r.matrix(m, 1), r.matrix(3, n));
                let (x, y) = (Mat::new(&x, m, 1, m), Mat::new(&y, 1, n, 3));
                let want = naive((Trans::No, Trans::No), -0.3, x, y, 1.0, a);
                let mut b = vec![0.0; m * n];
                let mut b = MatMut::new(&mut b, m, n, m);
                b.copy_from(a);
                blas.ger(-0.3, x, y, b.own());
                assert!((0..n).all(|j| (0..m).all(|i| (b.at(i, j) - want[i + j * m]).abs() < 1e-14)));
            }
        }
    }
}
