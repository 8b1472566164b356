//! Triangular systems with many right-hand sides, by halving: most of the work is a product.
//!
//! ```text
//! | T11      | | X1 |   | B1 |      X1 <- T11 \ B1
//! | T21  T22 | | X2 | = | B2 |      B2 <- B2 - T21 X1      (gemm)
//!                                   X2 <- T22 \ B2
//! ```
//!
//! All sixteen shapes are this one. A triangle on the right of X is its transpose on the left of X transposed, and an upper
//! triangle is a lower one with its rows and columns counted from the end. A block of [`BASE`] rows is solved by substitution
//! on [`LANES`] right-hand sides at once.

use super::gemm::product;
use super::{Diag, Side, Trans, Tri, Uplo};
use crate::matrix::{Mat, MatMut};
use crate::simd::{Level, multiversion};
use crate::threads::{Pool, part};

/// Order of the smallest triangles.
const BASE: usize = 16;
/// Right-hand sides in one vector of eight doubles.
const LANES: usize = 8;
/// Fewer right-hand sides than this for a thread are not worth waking it.
const SIDES_PER_THREAD: usize = 64;

type Vector = [f64; LANES];

/// Solves on the threads of a pool, which share the right-hand sides. Sizes were checked by the caller.
pub fn trsm(level: Level, pool: &Pool, tri: Tri, alpha: f64, t: Mat<'_>, mut b: MatMut<'_>) {
    let sides = if tri.side == Side::Left { b.cols() } else { b.rows() };
    let threads = pool.free().min(sides / SIDES_PER_THREAD).max(1);
    if threads == 1 {
        return solve(level, tri, alpha, t, b);
    }
    let (base, rows, cols, ld) = (crate::memory::Raw(b.ptr()), b.rows(), b.cols(), b.ld());
    pool.run(|w| {
        if w >= threads {
            return;
        }
        let own = part(sides, LANES, w, threads);
        let (start, r, c) = match tri.side {
            Side::Left => (own.start * ld, rows, own.len()),
            Side::Right => (own.start, own.len(), cols),
        };
        // SAFETY: the threads' right-hand sides are disjoint parts of `b`, which is borrowed until all threads have ended.
        let b = unsafe { MatMut::raw(base.get().wrapping_add(start), r, c, ld) };
        solve(level, tri, alpha, t, b);
    });
}

fn solve(level: Level, tri: Tri, alpha: f64, t: Mat<'_>, mut b: MatMut<'_>) {
    if alpha != 1.0 {
        for j in 0..b.cols() {
            b.col(j).iter_mut().for_each(|x| *x = if alpha == 0.0 { 0.0 } else { alpha * *x });
        }
    }
    // With alpha zero B is zero by now and the triangle is not read, as in the reference BLAS.
    if b.rows() > 0 && b.cols() > 0 && alpha != 0.0 {
        halve(level, tri, t, b);
    }
}

/// Whether the first unknowns are the first to be known.
fn forward(tri: Tri) -> bool {
    let transposed = (tri.trans == Trans::Yes) != (tri.side == Side::Right);
    (tri.uplo == Uplo::Lower) != transposed
}

fn halve(level: Level, tri: Tri, t: Mat<'_>, b: MatMut<'_>) {
    let n = t.rows();
    if n <= BASE {
        return base(tri, t, b);
    }
    // Multiples of BASE leave only the last block smaller. The tail is never empty because n is above BASE.
    let half = (n / 2).next_multiple_of(BASE);
    let (head, tail) = (t.part(0..half, 0..half), t.part(half..n, half..n));
    let corner = match tri.uplo {
        Uplo::Lower => t.part(half..n, 0..half),
        Uplo::Upper => t.part(0..half, half..n),
    };
    let (first, last) = if tri.side == Side::Left { b.split_rows(half) } else { b.split_cols(half) };
    let ((t1, mut x1), (t2, mut x2)) =
        if forward(tri) { ((head, first), (tail, last)) } else { ((tail, last), (head, first)) };
    halve(level, tri, t1, x1.own());
    match tri.side {
        Side::Left => product(level, (tri.trans, Trans::No), -1.0, corner, x1.get(), 1.0, x2.own()),
        Side::Right => product(level, (Trans::No, tri.trans), -1.0, x1.get(), corner, 1.0, x2.own()),
    }
    halve(level, tri, t2, x2);
}

/// A small triangle in the order of elimination: row i holds the factors of the unknowns known before i.
struct Lower {
    order: usize,
    factor: [[f64; BASE]; BASE],
    inverse: [f64; BASE],
}

fn lower(tri: Tri, t: Mat<'_>) -> Lower {
    let n = t.rows();
    let mut l = Lower { order: n, factor: [[0.0; BASE]; BASE], inverse: [1.0; BASE] };
    let at = |i: usize| if forward(tri) { i } else { n - 1 - i };
    let transposed = (tri.trans == Trans::Yes) != (tri.side == Side::Right);
    for i in 0..n {
        for k in 0..i {
            let (r, c) = if transposed { (at(k), at(i)) } else { (at(i), at(k)) };
            l.factor[i][k] = t.at(r, c);
        }
        if tri.diag == Diag::Stored {
            // One division for a row instead of one for each right-hand side.
            l.inverse[i] = 1.0 / t.at(at(i), at(i));
        }
    }
    l
}

fn base(tri: Tri, t: Mat<'_>, mut b: MatMut<'_>) {
    let l = lower(tri, t);
    let n = l.order;
    // Along the unknowns and along the right-hand sides; backwards the unknowns are counted from the end.
    let (ld, last) = (b.ld() as isize, n as isize - 1);
    let (mut unknown, side, sides) = match tri.side {
        Side::Left => (1, ld, b.cols()),
        Side::Right => (ld, 1, b.rows()),
    };
    let mut start = b.ptr();
    if !forward(tri) {
        start = start.wrapping_offset(last * unknown);
        unknown = -unknown;
    }
    // SAFETY: for every unknown i < n and right-hand side s < sides the element at i * unknown + s * side lies in `b`.
    unsafe { substitute(&l, start, unknown, side, sides) };
}

/// Substitution for all right-hand sides.
///
/// # Safety
/// Every element `start + i * unknown + s * side` with i below the order and s below `sides` may be read and written.
unsafe fn substitute(l: &Lower, start: *mut f64, unknown: isize, side: isize, sides: usize) {
    // Lanes beyond the last right-hand side keep what they held; they are computed with and never stored.
    let mut x = [[0.0; LANES]; BASE];
    for s0 in (0..sides).step_by(LANES) {
        let width = LANES.min(sides - s0);
        let at = |i: usize, s: usize| start.wrapping_offset(i as isize * unknown + (s0 + s) as isize * side);
        for (i, row) in x[..l.order].iter_mut().enumerate() {
            for (s, value) in row[..width].iter_mut().enumerate() {
                // SAFETY: the caller's promise.
                *value = unsafe { *at(i, s) };
            }
        }
        eliminate(l, &mut x);
        for (i, row) in x[..l.order].iter().enumerate() {
            for (s, value) in row[..width].iter().enumerate() {
                // SAFETY: the caller's promise.
                unsafe { *at(i, s) = *value };
            }
        }
    }
}

multiversion! {
    fn eliminate(l: &Lower, x: &mut [Vector; BASE]) {
        for i in 0..l.order {
            let (known, rest) = x.split_at_mut(i);
            let row = &mut rest[0];
            for (v, &f) in known.iter().zip(&l.factor[i]) {
                for s in 0..LANES {
                    row[s] -= f * v[s];
                }
            }
            for value in row.iter_mut() {
                *value *= l.inverse[i];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Random, engines, naive};
    use super::*;

    #[test]
    fn every_shape_solves_its_system_on_every_engine() {
        let mut r = Random(11);
        for blas in engines() {
            for side in [Side::Left, Side::Right] {
                for uplo in [Uplo::Lower, Uplo::Upper] {
                    for trans in [Trans::No, Trans::Yes] {
                        for diag in [Diag::Unit, Diag::Stored] {
                            for (n, sides) in [(1, 3), (16, 8), (17, 9), (64, 200), (75, 5), (0, 4), (4, 0)] {
                                check(&blas, Tri { side, uplo, trans, diag }, n, sides, &mut r);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Multiplies the solution back: op(T) X must be alpha B.
    fn check(blas: &super::super::Blas, tri: Tri, n: usize, sides: usize, r: &mut Random) {
        let mut t = r.matrix(n + 1, n);
        (0..n).for_each(|i| t[i + i * (n + 1)] = 2.0 + r.next());
        // A small triangle keeps the solution small, so that the bound on the error is a small multiple of the precision.
        for (q, x) in t.iter_mut().enumerate() {
            if q % (n + 1) != q / (n + 1) {
                *x *= 0.2;
            }
        }
        let (rows, cols) = if tri.side == Side::Left { (n, sides) } else { (sides, n) };
        let b = r.matrix(rows + 2, cols);
        let mut x = b.clone();
        let t = Mat::new(&t, n, n, n + 1);
        blas.trsm(tri, 0.5, t, MatMut::new(&mut x, rows, cols, rows + 2));
        let mut full = vec![0.0; n * n];
        for j in 0..n {
            for i in 0..n {
                full[i + j * n] = match (i == j, (i > j) == (tri.uplo == Uplo::Lower)) {
                    (true, _) if tri.diag == Diag::Unit => 1.0,
                    (true, _) | (false, true) => t.at(i, j),
                    (false, false) => 0.0,
                };
            }
        }
        let (full, zero) = (Mat::new(&full, n, n, n.max(1)), vec![0.0; rows * cols]);
        let (x, zero) = (Mat::new(&x, rows, cols, rows + 2), Mat::new(&zero, rows, cols, rows.max(1)));
        let back = match tri.side {
            Side::Left => naive((tri.trans, Trans::No), 1.0, full, x, 0.0, zero),
            Side::Right => naive((Trans::No, tri.trans), 1.0, x, full, 0.0, zero),
        };
        for j in 0..cols {
            for i in 0..rows {
                let (got, want) = (back[i + j * rows], 0.5 * b[i + j * (rows + 2)]);
                assert!((got - want).abs() < 1e-12, "{tri:?} n {n} sides {sides} ({i},{j}): {got} for {want}");
            }
        }
    }
}
