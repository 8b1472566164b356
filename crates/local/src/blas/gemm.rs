//! The blocked product around the tile kernels: `C <- alpha op(A) op(B) + beta C`.
//!
//! ```text
//! for each NC columns of C                      B block, last-level cache
//!   for each KC of the depth       pack B
//!     for each MC rows of C        pack A       A block, second-level cache
//!       for each NR columns                     B panel, first-level cache
//!         for each MR rows                      tile, registers
//! ```
//!
//! Packing copies a block into the order in which the tile kernel reads it. When C has few columns, as in the panels of a
//! factorization, packing A would cost as much as the product, so A is read where it lies.

use super::micro::{MAX_TILE, Portable, Shape};
use super::{Scratch, Trans, with_scratch};
use crate::matrix::{Mat, MatMut};
use crate::simd::Level;
use crate::threads::{Pool, part};

/// Fewer flops than this for a thread are not worth waking it.
const FLOPS_PER_THREAD: f64 = 4e6;

/// With at most this many tiles across C, A is not packed.
const DIRECT_TILES: usize = 3;

/// The product on the threads of a pool. Sizes were checked by the caller.
#[allow(clippy::too_many_arguments, reason = "the arguments of GEMM are what they are")]
pub fn gemm(
    level: Level,
    pool: &Pool,
    (ta, tb): (Trans, Trans),
    alpha: f64,
    a: Mat<'_>,
    b: Mat<'_>,
    beta: f64,
    mut c: MatMut<'_>,
) {
    let (m, n) = (c.rows(), c.cols());
    let k = if ta == Trans::No { a.cols() } else { a.rows() };
    let (rows, cols) = grid(m, n, k, pool.free());
    if rows * cols == 1 {
        return product(level, (ta, tb), alpha, a, b, beta, c);
    }
    let (base, ld) = (crate::memory::Raw(c.ptr()), c.ld());
    pool.run(|t| {
        if t >= rows * cols {
            return;
        }
        // 24 x 8 is the largest tile and a multiple of the others, so only the last pieces have cut tiles.
        let (i, j) = (part(m, 24, t % rows, rows), part(n, 8, t / rows, cols));
        let a = if ta == Trans::No { a.part(i.clone(), 0..k) } else { a.part(0..k, i.clone()) };
        let b = if tb == Trans::No { b.part(0..k, j.clone()) } else { b.part(j.clone(), 0..k) };
        let start = base.get().wrapping_add(i.start + j.start * ld);
        // SAFETY: the parts of the threads are disjoint parts of `c`, which is borrowed until all threads have ended.
        let c = unsafe { MatMut::raw(start, i.len(), j.len(), ld) };
        product(level, (ta, tb), alpha, a, b, beta, c);
    });
}

/// How many rows and columns of threads share C: as square pieces as possible, as many threads as are worth it.
fn grid(m: usize, n: usize, k: usize, threads: usize) -> (usize, usize) {
    let useful = (2.0 * m as f64 * n as f64 * k as f64 / FLOPS_PER_THREAD) as usize;
    let threads = threads.min(useful).max(1);
    let border = |r: usize| m as f64 / r as f64 + n as f64 / (threads / r) as f64;
    let rows = (1..=threads).filter(|r| threads.is_multiple_of(*r)).min_by(|&x, &y| border(x).total_cmp(&border(y)));
    let rows = rows.unwrap_or(1);
    (rows, threads / rows)
}

/// The product on this thread.
pub fn product(level: Level, op: (Trans, Trans), alpha: f64, a: Mat<'_>, b: Mat<'_>, beta: f64, c: MatMut<'_>) {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => blocked::<super::micro::Avx512>(op, alpha, a, b, beta, c),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => blocked::<super::micro::Avx2>(op, alpha, a, b, beta, c),
        _ => blocked::<Portable>(op, alpha, a, b, beta, c),
    }
}

/// The size of blocks that cover `len` with sizes as equal as possible, at most `max`, multiples of `unit`.
fn even(len: usize, max: usize, unit: usize) -> usize {
    let blocks = len.div_ceil(max).max(1);
    (len.div_ceil(blocks).div_ceil(unit) * unit).max(unit)
}

fn blocked<S: Shape>(op: (Trans, Trans), alpha: f64, a: Mat<'_>, b: Mat<'_>, beta: f64, mut c: MatMut<'_>) {
    let (m, n) = (c.rows(), c.cols());
    let k = if op.0 == Trans::No { a.cols() } else { a.rows() };
    if m == 0 || n == 0 {
        return;
    }
    // As in the reference BLAS A and B are not read then, whatever they hold.
    if k == 0 || alpha == 0.0 {
        return scale(beta, c);
    }
    let direct = op.0 == Trans::No && n <= DIRECT_TILES * S::NR;
    let (kc, nc) = (even(k, S::KC, 1), even(n, S::NC, S::NR));
    let mc = if direct { S::MR } else { even(m, S::MC, S::MR) };
    with_scratch(|scratch: &mut Scratch| {
        let (pa, pb) = scratch.two(mc * kc, kc * nc);
        for j0 in (0..n).step_by(nc) {
            let columns = j0..n.min(j0 + nc);
            for p0 in (0..k).step_by(kc) {
                let depth = p0..k.min(p0 + kc);
                pack_b::<S>(pb, op.1, b, depth.clone(), columns.clone());
                // C is scaled once, with the first part of the depth; the others add to it.
                let beta = if p0 == 0 { beta } else { 1.0 };
                let mut block = c.own().part(0..m, columns.clone());
                let mut i0 = 0;
                while i0 < m {
                    // Read in place, A is taken a whole number of tiles at once; the last rows, less than a tile, are packed.
                    let whole = (m - i0) / S::MR * S::MR;
                    let in_place = direct && whole > 0;
                    let rows = i0..if in_place { i0 + whole } else { m.min(i0 + mc) };
                    let target = block.own().part(rows.clone(), 0..columns.len());
                    if in_place {
                        let part = a.part(rows.clone(), depth.clone());
                        // SAFETY: whole tiles of rows of A lie below each other, a leading dimension from column to column.
                        unsafe { tiles::<S>(depth.len(), alpha, part.ptr(), S::MR, part.ld(), pb, beta, target) };
                    } else {
                        pack_a::<S>(pa, op.0, a, rows.clone(), depth.clone());
                        // SAFETY: `pack_a` wrote panels of MR rows and `depth` columns, one after the other.
                        unsafe {
                            tiles::<S>(depth.len(), alpha, pa.as_ptr(), S::MR * depth.len(), S::MR, pb, beta, target)
                        };
                    }
                    i0 = rows.end;
                }
            }
        }
    });
}

/// All tiles of one block of C. The panels of A are `panel` elements apart, their columns `step`.
///
/// # Safety
/// `a` holds a panel of MR x k for each MR rows of C, the last one padded; `b` one of k x NR for each NR columns.
#[allow(clippy::too_many_arguments, reason = "the innermost loops take what they take")]
unsafe fn tiles<S: Shape>(
    k: usize,
    alpha: f64,
    a: *const f64,
    panel: usize,
    step: usize,
    b: &[f64],
    beta: f64,
    mut c: MatMut<'_>,
) {
    let (m, n, ldc) = (c.rows(), c.cols(), c.ld());
    assert!(b.len() >= n.div_ceil(S::NR) * S::NR * k, "B is packed for every tile");
    let base = c.ptr();
    for j in (0..n).step_by(S::NR) {
        // SAFETY: panel j / NR begins here.
        let pb = unsafe { b.as_ptr().add(j * k) };
        for i in (0..m).step_by(S::MR) {
            // SAFETY: panel i / MR begins here, by the caller's promise; the corner (i, j) is inside C.
            let (pa, corner) = unsafe { (a.add(i / S::MR * panel), base.add(i + j * ldc)) };
            if i + S::MR <= m && j + S::NR <= n {
                // SAFETY: a whole tile inside C; the level was found on this processor.
                unsafe { S::tile(k, alpha, pa, step, pb, beta, corner, ldc) };
                continue;
            }
            // The kernel writes whole tiles, so one that reaches beyond C goes to a buffer and its inner part is copied.
            let mut tile = [0.0; MAX_TILE];
            // SAFETY: the tile is a buffer of its own, MR apart.
            unsafe { S::tile(k, alpha, pa, step, pb, 0.0, tile.as_mut_ptr(), S::MR) };
            let mut edge = c.own().part(i..m.min(i + S::MR), j..n.min(j + S::NR));
            for q in 0..edge.cols() {
                for (out, sum) in edge.col(q).iter_mut().zip(&tile[q * S::MR..]) {
                    *out = if beta == 0.0 { *sum } else { beta * *out + sum };
                }
            }
        }
    }
}

/// `C <- beta C`.
fn scale(beta: f64, mut c: MatMut<'_>) {
    for j in 0..c.cols() {
        for x in c.col(j) {
            // Not a product: zero times a NaN in memory that was never set would stay NaN.
            *x = if beta == 0.0 { 0.0 } else { beta * *x };
        }
    }
}

/// Rows of op(A) in panels of MR, column after column; the last panel is filled up with zeros.
fn pack_a<S: Shape>(
    out: &mut [f64],
    op: Trans,
    a: Mat<'_>,
    rows: std::ops::Range<usize>,
    depth: std::ops::Range<usize>,
) {
    let k = depth.len();
    for (panel, i) in out.chunks_exact_mut(S::MR * k).zip(rows.clone().step_by(S::MR)) {
        let height = S::MR.min(rows.end - i);
        match op {
            Trans::No => panels_along(panel, S::MR, a.part(i..i + height, depth.clone())),
            Trans::Yes => panels_across(panel, S::MR, a.part(depth.clone(), i..i + height)),
        }
    }
}

/// Columns of op(B) in panels of NR, row after row; the last panel is filled up with zeros.
fn pack_b<S: Shape>(
    out: &mut [f64],
    op: Trans,
    b: Mat<'_>,
    depth: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
) {
    let k = depth.len();
    for (panel, j) in out.chunks_exact_mut(S::NR * k).zip(columns.clone().step_by(S::NR)) {
        let width = S::NR.min(columns.end - j);
        match op {
            Trans::No => panels_across(panel, S::NR, b.part(depth.clone(), j..j + width)),
            Trans::Yes => panels_along(panel, S::NR, b.part(j..j + width, depth.clone())),
        }
    }
}

/// A panel whose groups of `width` are columns of the source.
fn panels_along(panel: &mut [f64], width: usize, source: Mat<'_>) {
    for (p, group) in panel.chunks_exact_mut(width).enumerate() {
        let column = source.col(p);
        if column.len() == width {
            group.copy_from_slice(column);
        } else {
            let (some, rest) = group.split_at_mut(column.len());
            some.copy_from_slice(column);
            rest.fill(0.0);
        }
    }
}

/// A panel whose groups of `width` are rows of the source.
fn panels_across(panel: &mut [f64], width: usize, source: Mat<'_>) {
    // The full panel of B with AVX-512: eight columns are read side by side, so the panel is written in order.
    if source.cols() == width && width == 8 {
        let columns: [&[f64]; 8] = std::array::from_fn(|j| source.col(j));
        for (p, group) in panel.chunks_exact_mut(8).enumerate() {
            for (j, x) in group.iter_mut().enumerate() {
                *x = columns[j][p];
            }
        }
        return;
    }
    for j in 0..width {
        if j < source.cols() {
            for (group, &x) in panel.chunks_exact_mut(width).zip(source.col(j)) {
                group[j] = x;
            }
        } else {
            panel.chunks_exact_mut(width).for_each(|group| group[j] = 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Random, naive};
    use super::*;
    use crate::simd::levels;

    #[test]
    fn equals_the_definition_for_every_level_shape_and_transposition() {
        let mut r = Random(7);
        let pool = Pool::floating(3);
        for level in levels() {
            let shapes = [
                (1, 1, 1),
                (24, 8, 5),
                (25, 9, 400),
                (47, 15, 3),
                (100, 3, 70),
                (7, 130, 33),
                (380, 61, 390),
                (0, 3, 2),
                (3, 2, 0),
            ];
            for (m, n, k) in shapes {
                for op in
                    [(Trans::No, Trans::No), (Trans::Yes, Trans::No), (Trans::No, Trans::Yes), (Trans::Yes, Trans::Yes)]
                {
                    for (alpha, beta) in [(1.0, 0.0), (-1.0, 1.0), (0.5, -0.25), (0.0, 2.0)] {
                        let (ar, ac) = if op.0 == Trans::No { (m, k) } else { (k, m) };
                        let (br, bc) = if op.1 == Trans::No { (k, n) } else { (n, k) };
                        let (a, b, c0) = (r.matrix(ar + 3, ac), r.matrix(br + 1, bc), r.matrix(m + 2, n));
                        let (a, b) = (Mat::new(&a, ar, ac, ar + 3), Mat::new(&b, br, bc, br + 1));
                        let mut c = c0.clone();
                        if beta == 0.0 {
                            // What is not read cannot spoil the result.
                            c.fill(f64::NAN);
                        }
                        let want = naive(op, alpha, a, b, beta, Mat::new(&c0, m, n, m + 2));
                        gemm(level, &pool, op, alpha, a, b, beta, MatMut::new(&mut c, m, n, m + 2));
                        for j in 0..n {
                            for i in 0..m {
                                let (got, want) = (c[i + j * (m + 2)], want[i + j * m]);
                                let close = (got - want).abs() <= 1e-14 * (k as f64 + 2.0);
                                assert!(close, "{level:?} {m}x{n}x{k} {op:?} ({i},{j}): {got} for {want}");
                            }
                            // The rows between the columns belong to somebody else.
                            let gap = &c[m + j * (m + 2)..(j + 1) * (m + 2)];
                            assert!(beta == 0.0 || gap == &c0[m + j * (m + 2)..(j + 1) * (m + 2)]);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn threads_share_in_square_pieces() {
        assert_eq!(grid(1000, 1000, 1000, 4), (2, 2));
        assert_eq!(grid(10_000, 64, 64, 4), (4, 1));
        assert_eq!(grid(64, 10_000, 64, 4), (1, 4));
        assert_eq!(grid(8, 8, 8, 4), (1, 1));
        assert_eq!(even(3265, 384, 1), 363);
    }
}
