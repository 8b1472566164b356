//! Back substitution with the factored matrix, and the check of the solution against the matrix made again.

use super::super::grid::Grid;
use super::super::{EPS, incoming, pay};
use super::Matrix;
use comm::{Reduce, Vector, agree};
use local::blas::{Blas, Diag, Side, Trans, Tri, Uplo};
use local::{Mat, MatMut};
use spec::Work;

/// Solves `U x = y`, y being the column after the matrix; x lies on the ranks of each process column as its columns do.
pub(super) fn back_substitute(grid: &Grid<'_>, matrix: &mut Matrix, blas: &Blas) -> Vec<f64> {
    let (rows, cols, n, nb, ld, model) = (matrix.rows, matrix.cols, matrix.n, matrix.rows.nb, matrix.ld, matrix.model);
    let mut x = vec![0.0; if model { 0 } else { cols.below(n) }];
    // What is known of y minus U x: sums over a process row, of which each rank has its part.
    let mut y = vec![0.0; if model { 0 } else { rows.count() }];
    if cols.owner(n) == grid.col && !model {
        let at = cols.local(n) * ld;
        y.copy_from_slice(&matrix.a[at..at + rows.count()]);
    }
    for j0 in (0..n).step_by(nb).rev() {
        let jb = nb.min(n - j0);
        let (row, col) = (rows.owner(j0), cols.owner(j0));
        let (at_row, at_col) = (rows.local(j0), cols.local(j0));
        let mut block = vec![0.0; if model { 0 } else { jb }];
        if grid.row == row {
            if !model {
                block.copy_from_slice(&y[at_row..at_row + jb]);
            }
            let values = if model { Vector::Len(jb) } else { Vector::Values(&mut block) };
            grid.along_row.allreduce(values, Reduce::Sum);
        }
        // The other process columns have given their part of the sum; the block is solved without them.
        if grid.col != col {
            continue;
        }
        if grid.row == row {
            let a = &matrix.a;
            pay(&*grid.along_col, model, Work::flops((jb * jb) as u64), &mut || {
                let tri = Tri { side: Side::Left, uplo: Uplo::Upper, trans: Trans::No, diag: Diag::Stored };
                let u = Mat::new(&a[at_col * ld..], rows.count(), jb, ld).part(at_row..at_row + jb, 0..jb);
                blas.trsm(tri, 1.0, u, MatMut::new(&mut block, jb, 1, jb));
            });
        }
        grid.along_col.bcast(row, incoming(model, &mut block, jb));
        let above = rows.below(j0);
        let (a, y) = (&matrix.a, &mut y);
        pay(&*grid.along_col, model, Work::flops(2 * (above * jb) as u64), &mut || {
            x[at_col..at_col + jb].copy_from_slice(&block);
            if above > 0 {
                let u = Mat::new(&a[at_col * ld..], above, jb, ld);
                blas.gemv(
                    Trans::No,
                    -1.0,
                    u,
                    Mat::new(&block, jb, 1, jb),
                    1.0,
                    MatMut::new(&mut y[..above], above, 1, above),
                );
            }
        });
    }
    x
}

/// The norms of HPL's check.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Norms {
    /// Of A x - b, largest element.
    pub r_inf: f64,
    /// Of A, largest column sum.
    pub a_one: f64,
    /// Of A, largest row sum.
    pub a_inf: f64,
    /// Of x, sum.
    pub x_one: f64,
    /// Of x, largest element.
    pub x_inf: f64,
    /// Of b, largest element.
    pub b_inf: f64,
}

impl Norms {
    /// HPL's scaled residual.
    pub fn scaled(&self, n: usize) -> f64 {
        let scale = EPS * (self.a_inf * self.x_inf + self.b_inf) * n as f64;
        if self.r_inf == 0.0 { 0.0 } else { self.r_inf / scale }
    }
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0f64, |m, x| if x.is_nan() || m.is_nan() { f64::NAN } else { m.max(x.abs()) })
}

/// Makes A and b again in the matrix and compares. Collective over the grid.
pub(super) fn norms(grid: &Grid<'_>, matrix: &mut Matrix, blas: &Blas, x: &[f64]) -> Norms {
    matrix.fill();
    let (rows, cols, n, ld) = (matrix.rows, matrix.cols, matrix.n, matrix.ld);
    let (height, width) = (rows.count(), cols.below(n));
    // A x - b and the sums of rows, each over this rank's columns; then over the process row.
    let mut sums = vec![0.0; 2 * height];
    let (r, row_sums) = sums.split_at_mut(height);
    let mut b_inf = 0.0;
    if cols.owner(n) == grid.col {
        let at = cols.local(n) * ld;
        let b = &matrix.a[at..at + height];
        b_inf = largest(b);
        r.iter_mut().zip(b).for_each(|(r, b)| *r = -b);
    }
    let mut col_sums = vec![0.0; width];
    for (c, sum) in col_sums.iter_mut().enumerate() {
        for (total, x) in row_sums.iter_mut().zip(&matrix.a[c * ld..c * ld + height]) {
            *total += x.abs();
            *sum += x.abs();
        }
    }
    if height > 0 && width > 0 {
        let a = Mat::new(&matrix.a, height, width, ld);
        blas.gemv(Trans::No, 1.0, a, Mat::new(x, width, 1, width), 1.0, MatMut::new(r, height, 1, height));
    }
    grid.along_row.allreduce(Vector::Values(&mut sums), Reduce::Sum);
    grid.along_col.allreduce(Vector::Values(&mut col_sums), Reduce::Sum);
    // All ranks of a process column have the same part of x, so it is summed along the row only.
    let x_one = agree(&*grid.along_row, x.iter().map(|x| x.abs()).sum(), Reduce::Sum);
    // A maximum over ranks may lose a value that is no number; a sum does not.
    let lost = agree(&*grid.all, if sums.iter().chain(x).any(|v| !v.is_finite()) { 1.0 } else { 0.0 }, Reduce::Sum);
    let mut all = [largest(&sums[..height]), largest(&col_sums), largest(&sums[height..]), largest(x), b_inf];
    grid.all.allreduce(Vector::Values(&mut all), Reduce::Max);
    let [r_inf, a_one, a_inf, x_inf, b_inf] = all;
    Norms { r_inf: if lost > 0.0 { f64::NAN } else { r_inf }, a_one, a_inf, x_one, x_inf, b_inf }
}
