//! Views of column-major matrices with a leading dimension.
//!
//! Row and column parts of one array interleave in memory, so two of them cannot be two slices; as views they can, and the
//! borrow checker keeps a factorization from writing what it reads. Sizes are checked when a view is made or cut, so that the
//! kernels need not.

use std::marker::PhantomData;
use std::ops::Range;

/// A matrix to read: `rows x cols`, element (i, j) at `i + j * ld`.
#[derive(Clone, Copy)]
pub struct Mat<'a> {
    ptr: *const f64,
    rows: usize,
    cols: usize,
    ld: usize,
    life: PhantomData<&'a [f64]>,
}

/// A matrix to write; no other view overlaps it while it lives.
pub struct MatMut<'a> {
    ptr: *mut f64,
    rows: usize,
    cols: usize,
    ld: usize,
    life: PhantomData<&'a mut [f64]>,
}

// SAFETY: a shared view is a shared slice with gaps.
unsafe impl Send for Mat<'_> {}
// SAFETY: as above.
unsafe impl Sync for Mat<'_> {}
// SAFETY: a mutable view is an exclusive slice with gaps.
unsafe impl Send for MatMut<'_> {}
// SAFETY: as above.
unsafe impl Sync for MatMut<'_> {}

fn check(len: usize, rows: usize, cols: usize, ld: usize) {
    assert!(ld >= rows.max(1), "leading dimension {ld} is smaller than the {rows} rows of the matrix");
    // The last column needs its rows only, not a whole leading dimension. Sizes whose product overflows do not fit either.
    let need =
        if rows == 0 || cols == 0 { Some(0) } else { ld.checked_mul(cols - 1).and_then(|x| x.checked_add(rows)) };
    assert!(
        need.is_some_and(|n| n <= len),
        "a {rows} x {cols} matrix with leading dimension {ld} does not fit {len} elements"
    );
}

impl<'a> Mat<'a> {
    /// The matrix in `data`.
    ///
    /// # Panics
    /// If it does not fit.
    pub fn new(data: &'a [f64], rows: usize, cols: usize, ld: usize) -> Self {
        check(data.len(), rows, cols, ld);
        Self { ptr: data.as_ptr(), rows, cols, ld, life: PhantomData }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Columns.
    pub fn cols(&self) -> usize {
        self.cols
    }
    /// The distance of two columns.
    pub fn ld(&self) -> usize {
        self.ld
    }
    /// The address of element (0, 0).
    pub(crate) fn ptr(&self) -> *const f64 {
        self.ptr
    }

    /// Element (i, j).
    pub fn at(&self, i: usize, j: usize) -> f64 {
        assert!(i < self.rows && j < self.cols, "element ({i}, {j}) is outside a {} x {} matrix", self.rows, self.cols);
        // SAFETY: inside the view.
        unsafe { *self.ptr.add(i + j * self.ld) }
    }

    /// Column `j`.
    pub fn col(&self, j: usize) -> &'a [f64] {
        assert!(j < self.cols, "column {j} is outside a {} x {} matrix", self.rows, self.cols);
        // SAFETY: a column of the view, which borrows for 'a.
        unsafe { std::slice::from_raw_parts(self.ptr.add(j * self.ld), self.rows) }
    }

    /// The part in these rows and columns.
    pub fn part(&self, rows: Range<usize>, cols: Range<usize>) -> Mat<'a> {
        let (r, c) = inside(self.rows, self.cols, &rows, &cols);
        // An empty part may start past the end, where no address may be formed; it is never read.
        Mat {
            ptr: self.ptr.wrapping_add(rows.start + cols.start * self.ld),
            rows: r,
            cols: c,
            ld: self.ld,
            life: PhantomData,
        }
    }
}

fn inside(rows: usize, cols: usize, r: &Range<usize>, c: &Range<usize>) -> (usize, usize) {
    assert!(
        r.start <= r.end && r.end <= rows && c.start <= c.end && c.end <= cols,
        "rows {r:?}, columns {c:?} are outside a {rows} x {cols} matrix"
    );
    (r.len(), c.len())
}

impl<'a> MatMut<'a> {
    /// The matrix in `data`.
    ///
    /// # Panics
    /// If it does not fit.
    pub fn new(data: &'a mut [f64], rows: usize, cols: usize, ld: usize) -> Self {
        check(data.len(), rows, cols, ld);
        Self { ptr: data.as_mut_ptr(), rows, cols, ld, life: PhantomData }
    }

    /// A view of raw memory, for the threads of one kernel.
    ///
    /// # Safety
    /// The memory is that of a live mutable view, and no other view in use overlaps this one.
    pub(crate) unsafe fn raw(ptr: *mut f64, rows: usize, cols: usize, ld: usize) -> Self {
        Self { ptr, rows, cols, ld, life: PhantomData }
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Columns.
    pub fn cols(&self) -> usize {
        self.cols
    }
    /// The distance of two columns.
    pub fn ld(&self) -> usize {
        self.ld
    }
    /// The address of element (0, 0).
    pub(crate) fn ptr(&mut self) -> *mut f64 {
        self.ptr
    }

    /// The same matrix to read.
    pub fn get(&self) -> Mat<'_> {
        Mat { ptr: self.ptr, rows: self.rows, cols: self.cols, ld: self.ld, life: PhantomData }
    }

    /// The same matrix for a shorter time.
    pub fn own(&mut self) -> MatMut<'_> {
        MatMut { ptr: self.ptr, rows: self.rows, cols: self.cols, ld: self.ld, life: PhantomData }
    }

    /// Element (i, j).
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.get().at(i, j)
    }

    /// Writes element (i, j).
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        assert!(i < self.rows && j < self.cols, "element ({i}, {j}) is outside a {} x {} matrix", self.rows, self.cols);
        // SAFETY: inside the view, which is exclusive.
        unsafe { *self.ptr.add(i + j * self.ld) = value }
    }

    /// Column `j`.
    pub fn col(&mut self, j: usize) -> &mut [f64] {
        assert!(j < self.cols, "column {j} is outside a {} x {} matrix", self.rows, self.cols);
        // SAFETY: a column of the view, which is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(j * self.ld), self.rows) }
    }

    /// The part in these rows and columns.
    pub fn part(self, rows: Range<usize>, cols: Range<usize>) -> MatMut<'a> {
        let (r, c) = inside(self.rows, self.cols, &rows, &cols);
        let ptr = self.ptr.wrapping_add(rows.start + cols.start * self.ld);
        MatMut { ptr, rows: r, cols: c, ld: self.ld, life: PhantomData }
    }

    /// The rows above `at`, and the rest.
    pub fn split_rows(self, at: usize) -> (MatMut<'a>, MatMut<'a>) {
        let (rows, cols) = (self.rows, self.cols);
        let other = MatMut { ptr: self.ptr, rows, cols, ld: self.ld, life: PhantomData };
        (self.part(0..at, 0..cols), other.part(at..rows, 0..cols))
    }

    /// The columns left of `at`, and the rest.
    pub fn split_cols(self, at: usize) -> (MatMut<'a>, MatMut<'a>) {
        let (rows, cols) = (self.rows, self.cols);
        let other = MatMut { ptr: self.ptr, rows, cols, ld: self.ld, life: PhantomData };
        (self.part(0..rows, 0..at), other.part(0..rows, at..cols))
    }

    /// The four parts that meet at (row, col): top left, top right, bottom left, bottom right.
    pub fn quarters(self, row: usize, col: usize) -> [MatMut<'a>; 4] {
        let (left, right) = self.split_cols(col);
        let (tl, bl) = left.split_rows(row);
        let (tr, br) = right.split_rows(row);
        [tl, tr, bl, br]
    }

    /// Copies a matrix of the same size.
    pub fn copy_from(&mut self, a: Mat<'_>) {
        assert_eq!((self.rows, self.cols), (a.rows, a.cols), "copy between matrices of different size");
        for j in 0..self.cols {
            self.col(j).copy_from_slice(a.col(j));
        }
    }

    /// Exchanges rows `i` and `k`.
    pub fn swap_rows(&mut self, i: usize, k: usize) {
        assert!(i < self.rows && k < self.rows, "row {i} or {k} is outside a matrix of {} rows", self.rows);
        if i != k {
            for j in 0..self.cols {
                self.col(j).swap(i, k);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_and_meet() {
        let mut data: Vec<f64> = (0..5 * 4).map(f64::from).collect();
        let a = MatMut::new(&mut data, 4, 4, 5);
        let [mut tl, tr, mut bl, br] = a.quarters(1, 2);
        assert_eq!((tl.rows(), tl.cols(), tr.cols(), bl.rows(), br.rows()), (1, 2, 2, 3, 3));
        assert_eq!((tr.at(0, 1), br.at(0, 0), br.at(2, 1)), (15.0, 11.0, 18.0));
        tl.set(0, 1, -1.0);
        bl.swap_rows(0, 2);
        assert_eq!(&data[..10], [0.0, 3.0, 2.0, 1.0, 4.0, -1.0, 8.0, 7.0, 6.0, 9.0]);
    }

    #[test]
    fn the_last_column_needs_no_padding() {
        let data = [1.0; 11];
        assert_eq!(Mat::new(&data, 3, 3, 4).col(2), [1.0; 3]);
        assert_eq!(Mat::new(&[], 0, 7, 1).cols(), 7);
        assert_eq!(Mat::new(&data, 3, 3, 4).part(3..3, 3..3).rows(), 0);
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn a_matrix_longer_than_its_data_is_refused() {
        let data = [0.0; 10];
        let _ = Mat::new(&data, 3, 3, 4);
    }

    #[test]
    #[should_panic(expected = "outside")]
    fn a_part_outside_is_refused() {
        let data = [0.0; 12];
        let _ = Mat::new(&data, 3, 3, 4).part(0..4, 0..1);
    }
}
