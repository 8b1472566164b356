//! Factorization of one panel by the ranks of one process column: recursive, with partial pivoting over all its rows.
//!
//! ```text
//!            jb columns
//!          +-----------+
//!   top    |    L1     |  jb rows, kept by every rank of the column in `l1` as they are finished
//!          +-----------+
//!          |    L2     |  the rows below, each on its owner
//!          +-----------+
//! ```
//!
//! Every pivot row reaches all ranks with the search for it, so the recursion's triangular solves need no more messages.

use super::super::grid::Cyclic;
use super::super::pay;
use super::pivot::{Candidate, search};
use super::{Matrix, Options, Variant};
use comm::Comm;
use local::blas::{Blas, Diag, Side, Trans, Tri, Uplo, level1};
use local::{Mat, MatMut};
use spec::{Rng, Work};
use std::ops::Range;

/// A factored panel, as it travels along the process rows.
pub(super) struct Panel {
    /// First global row and column.
    pub j0: usize,
    /// Width.
    pub jb: usize,
    /// Rows of L2 on this rank's process row.
    pub below: usize,
    /// L2 column by column, L1 column by column, the pivot rows as numbers, and the first zero pivot's column or -1.
    pub data: Vec<f64>,
    /// Pivot rows.
    pub pivots: Vec<usize>,
}

impl Panel {
    /// Numbers in a panel's message.
    pub fn len(&self) -> usize {
        self.jb * (self.below + self.jb + 1) + 1
    }
    /// The part below the diagonal block.
    pub fn l2(&self) -> Mat<'_> {
        Mat::new(&self.data[..self.below * self.jb], self.below, self.jb, self.below.max(1))
    }
    /// The diagonal block.
    pub fn l1(&self) -> Mat<'_> {
        let start = self.below * self.jb;
        Mat::new(&self.data[start..start + self.jb * self.jb], self.jb, self.jb, self.jb)
    }
    /// Reads the pivots out of the message; in a modelled run they are drawn, the same on all ranks.
    pub fn read_pivots(&mut self, model: bool, n: usize) {
        if model {
            self.pivots = (0..self.jb).map(|j| drawn(n, self.j0 + j)).collect();
            return;
        }
        let start = self.jb * (self.below + self.jb);
        self.pivots = self.data[start..start + self.jb].iter().map(|x| *x as usize).collect();
    }
    /// Column of the first zero pivot, if there was one.
    pub fn singular(&self) -> Option<usize> {
        self.data.last().filter(|x| **x >= 0.0).map(|x| *x as usize)
    }
}

/// Random matrices pivot anywhere below the diagonal.
fn drawn(n: usize, row: usize) -> usize {
    row + Rng::new(n as u64, "pivot", row as u64).below((n - row) as u64) as usize
}

/// One factorization under way.
pub(super) struct Factor<'a> {
    /// Ranks of the process column.
    pub column: &'a dyn Comm,
    /// Whether work is only paid for.
    pub model: bool,
    /// Dense kernels.
    pub blas: &'a Blas,
    /// Variants and widths.
    pub options: &'a Options,
    /// How rows are dealt.
    pub rows: Cyclic,
    /// First global row.
    pub j0: usize,
    /// Width.
    pub jb: usize,
    /// The panel's local rows from `j0` on: start, number, leading dimension; and its columns in the local matrix.
    pub first: usize,
    /// See `first`.
    pub count: usize,
    /// See `first`.
    pub ld: usize,
    /// The panel's columns, whole local height.
    pub a: &'a mut [f64],
    /// Finished rows.
    pub l1: Vec<f64>,
    /// Pivot rows so far.
    pub pivots: Vec<usize>,
    /// Column of the first zero pivot.
    pub zero: Option<usize>,
}

const UNIT_LOWER: Tri = Tri { side: Side::Left, uplo: Uplo::Lower, trans: Trans::No, diag: Diag::Unit };

impl<'a> Factor<'a> {
    /// Factors the panel that starts at column `j0` of `matrix`; the result as it will be sent.
    pub fn run(matrix: &'a mut Matrix, column: &'a dyn Comm, blas: &'a Blas, options: &'a Options, j0: usize) -> Panel {
        let (rows, model, ld) = (matrix.rows, matrix.model, matrix.ld);
        let jb = options.nb.min(matrix.n - j0);
        let at = matrix.cols.local(j0) * ld;
        let a = if model { &mut [][..] } else { &mut matrix.a[at..at + jb * ld] };
        Factor::of(a, ld, rows, (column, model), blas, options, j0)
    }

    /// Factors the panel whose columns are `a`, by the ranks of a process column, or only pays for it.
    pub fn of(
        a: &'a mut [f64],
        ld: usize,
        rows: Cyclic,
        (column, model): (&'a dyn Comm, bool),
        blas: &'a Blas,
        options: &'a Options,
        j0: usize,
    ) -> Panel {
        let jb = options.nb.min(rows.n - j0);
        let first = rows.below(j0);
        let count = rows.count() - first;
        let l1 = vec![0.0; if model { 0 } else { jb * jb }];
        let mut factor = Factor {
            column,
            model,
            blas,
            options,
            rows,
            j0,
            jb,
            first,
            count,
            ld,
            a,
            l1,
            pivots: Vec::with_capacity(jb),
            zero: None,
        };
        factor.recurse(0..jb);
        factor.finish()
    }

    fn is_top(&self) -> bool {
        self.rows.owner(self.j0) == self.rows.me
    }

    /// Local rows (counted from `first`) that are not finished once `j` columns are.
    fn active(&self, j: usize) -> Range<usize> {
        let start = if self.is_top() { j.min(self.count) } else { 0 };
        start..self.count
    }

    /// The panel's rows from `first` on.
    fn view(&mut self) -> MatMut<'_> {
        let (first, count, jb, ld) = (self.first, self.count, self.jb, self.ld);
        let len = self.a.len();
        MatMut::new(&mut self.a[first.min(len)..], count, jb, ld)
    }

    fn recurse(&mut self, cols: Range<usize>) {
        let Options { nbmin, ndiv, rfact, .. } = *self.options;
        if cols.len() <= nbmin {
            return self.base(cols);
        }
        // Sub-panels are multiples of the smallest width, as equal as that allows.
        let units = cols.len().div_ceil(nbmin);
        let width = units.div_ceil(ndiv) * nbmin;
        let mut at = cols.start;
        while at < cols.end {
            let sub = at..(at + width).min(cols.end);
            match rfact {
                Variant::Left => {
                    self.solve_rows(cols.start..at, sub.clone());
                    self.update(cols.start..at, sub.clone());
                    self.recurse(sub.clone());
                }
                Variant::Crout => {
                    self.update(cols.start..at, sub.clone());
                    self.recurse(sub.clone());
                    self.update_finished(cols.start..at, sub.clone(), sub.end..cols.end);
                    self.solve_rows(sub.clone(), sub.end..cols.end);
                }
                Variant::Right => {
                    self.recurse(sub.clone());
                    self.solve_rows(sub.clone(), sub.end..cols.end);
                    self.update(sub.clone(), sub.end..cols.end);
                }
            }
            at = sub.end;
        }
    }

    /// Finished rows `rows` of columns `cols`: multiplied by the inverse of their unit lower triangle.
    fn solve_rows(&mut self, rows: Range<usize>, cols: Range<usize>) {
        if rows.is_empty() || cols.is_empty() {
            return;
        }
        // Every rank of the process column has the finished rows and repeats this work, so no message is needed.
        let work = Work::flops((rows.len() * rows.len() * cols.len()) as u64);
        let (jb, blas, l1) = (self.jb, self.blas, &mut self.l1);
        pay(self.column, self.model, work, &mut || {
            let (left, right) = MatMut::new(l1, jb, jb, jb).split_cols(cols.start);
            let (width, height) = (cols.len(), rows.clone());
            let triangle = left.part(height.clone(), height.clone());
            blas.trsm(UNIT_LOWER, 1.0, triangle.get(), right.part(height, 0..width));
        });
    }

    /// Unfinished rows of columns `cols` minus those of columns `by` times the finished rows.
    fn update(&mut self, by: Range<usize>, cols: Range<usize>) {
        let active = self.active(by.end);
        if by.is_empty() || cols.is_empty() || active.is_empty() {
            return;
        }
        let work = Work::flops(2 * (active.len() * by.len() * cols.len()) as u64);
        let (column, model, blas, jb) = (self.column, self.model, self.blas, self.jb);
        // Taken out because the closure borrows all of `self` for the view.
        let l1 = std::mem::take(&mut self.l1);
        pay(column, model, work, &mut || {
            let u = Mat::new(&l1, jb, jb, jb).part(by.clone(), cols.clone());
            let (left, right) = self.view().split_cols(cols.start);
            let left = left.part(active.clone(), by.clone());
            let target = right.part(active.clone(), 0..cols.len());
            blas.gemm(Trans::No, Trans::No, -1.0, left.get(), u, 1.0, target);
        });
        self.l1 = l1;
    }

    /// Crout: finished rows `rows` of columns `cols` minus their own multipliers in columns `by` times rows `by`.
    fn update_finished(&mut self, by: Range<usize>, rows: Range<usize>, cols: Range<usize>) {
        if by.is_empty() || cols.is_empty() {
            return;
        }
        let work = Work::flops(2 * (rows.len() * by.len() * cols.len()) as u64);
        let (jb, blas, l1) = (self.jb, self.blas, &mut self.l1);
        pay(self.column, self.model, work, &mut || {
            let (left, right) = MatMut::new(l1, jb, jb, jb).split_cols(cols.start);
            let (upper, lower) = right.split_rows(rows.start);
            let multipliers = left.part(rows.clone(), by.clone());
            let upper = upper.part(by.clone(), 0..cols.len());
            let target = lower.part(0..rows.len(), 0..cols.len());
            blas.gemm(Trans::No, Trans::No, -1.0, multipliers.get(), upper.get(), 1.0, target);
        });
    }

    /// Column by column.
    fn base(&mut self, cols: Range<usize>) {
        for j in cols.clone() {
            let earlier = cols.start..j;
            match self.options.pfact {
                Variant::Left => {
                    self.solve_rows(earlier.clone(), j..j + 1);
                    self.update(earlier, j..j + 1);
                    self.pivot(j);
                }
                Variant::Crout => {
                    self.update(earlier.clone(), j..j + 1);
                    self.pivot(j);
                    self.update_finished(earlier, j..j + 1, j + 1..cols.end);
                }
                Variant::Right => {
                    self.pivot(j);
                    self.update(j..j + 1, j + 1..cols.end);
                }
            }
        }
    }

    /// Finds the pivot of column `j`, brings its row to the top and divides the column by it.
    fn pivot(&mut self, j: usize) {
        let active = self.active(j);
        let work = Work { bytes: 8 * active.len() as u64, ..Work::NONE };
        let mut mine = Candidate::none(self.model, self.jb);
        pay(self.column, self.model, work, &mut || self.best_row(j, active.clone(), &mut mine));
        let found = search(self.column, self.model, mine);
        if self.model {
            self.column.charge(Work::flops(active.len() as u64));
            return;
        }
        self.place(j, &found);
        let pivot = found.pivot_row()[j];
        // Not fatal here: where the residual fails its check, the verdict names this column.
        if pivot == 0.0 {
            self.zero.get_or_insert(self.j0 + j);
            return;
        }
        let rest = self.active(j + 1);
        let work = Work::flops(rest.len() as u64);
        let column = self.column;
        column.compute(work, &mut || {
            let mut view = self.view();
            let x = &mut view.col(j)[rest.clone()];
            // The reciprocal of a subnormal pivot can overflow; such columns are divided number by number.
            if pivot.abs() >= f64::MIN_POSITIVE * 4.0 {
                level1::scal(1.0 / pivot, x);
            } else {
                x.iter_mut().for_each(|x| *x /= pivot);
            }
        });
    }

    /// This rank's largest element of column `j` with its row, and the row that must make room for it.
    fn best_row(&mut self, j: usize, active: Range<usize>, mine: &mut Candidate) {
        let (rows, first, top) = (self.rows, self.first, self.is_top());
        let view = self.view();
        let view = view.get();
        if let Some(at) = level1::idamax(&view.col(j)[active.clone()]) {
            let row = active.start + at;
            mine.set_pivot(view.at(row, j), rows.global(first + row), (0..view.cols()).map(|c| view.at(row, c)));
        }
        if top && !active.is_empty() {
            mine.set_top((0..view.cols()).map(|c| view.at(active.start, c)));
        }
    }

    /// Stores the pivot row among the finished ones and the row it replaces where it was.
    fn place(&mut self, j: usize, found: &Candidate) {
        let jb = self.jb;
        for (c, x) in found.pivot_row().iter().enumerate() {
            self.l1[j + c * jb] = *x;
        }
        let row = found.row();
        self.pivots.push(row);
        if row != self.j0 + j && self.rows.owner(row) == self.rows.me {
            let at = self.rows.local(row) - self.first;
            let mut view = self.view();
            for (c, x) in found.top_row().iter().enumerate() {
                view.set(at, c, *x);
            }
        }
    }

    /// Copies the finished rows to their owner and packs the message.
    fn finish(mut self) -> Panel {
        let (jb, top) = (self.jb, self.is_top());
        let skip = if top { jb.min(self.count) } else { 0 };
        let below = self.count - skip;
        let mut panel = Panel { j0: self.j0, jb, below, data: Vec::new(), pivots: std::mem::take(&mut self.pivots) };
        if self.model {
            panel.read_pivots(true, self.rows.n);
            return panel;
        }
        let mut data = Vec::with_capacity(panel.len());
        let l1 = std::mem::take(&mut self.l1);
        let mut view = self.view();
        for c in 0..jb {
            let column = view.col(c);
            if top {
                column[..jb].copy_from_slice(&l1[c * jb..(c + 1) * jb]);
            }
            data.extend_from_slice(&column[skip..]);
        }
        data.extend_from_slice(&l1);
        // Row numbers are exact as f64 below 2^53, so one message carries them along.
        data.extend(panel.pivots.iter().map(|p| *p as f64));
        data.push(self.zero.map_or(-1.0, |c| c as f64));
        panel.data = data;
        panel
    }
}
