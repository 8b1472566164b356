//! Complex transforms of length 2^a 3^b 5^c, and the pieces of which a distributed one is built.
//!
//! A long transform does not fit the caches, so it is split: n = n1 n2, the input seen as n1 rows of n2,
//!
//! ```text
//! X[k1 + n1 k2] = sum over j2 of  w_n2^(j2 k2)  w_n^(j2 k1)  sum over j1 of  w_n1^(j1 k1)  x[j1 n2 + j2]
//!                 ------- rows --------------  --twiddle---  ------- columns ----------------------
//! ```
//!
//! First all columns, some at a time so that whole cache lines are used, then all rows, written out transposed: every element
//! passes through the caches twice, however long the transform. The short transforms are `rustfft`'s. The result of an inverse
//! transform is not scaled.

use crate::memory::Raw;
use crate::threads::{Pool, part};
use crate::turn::{Memory, Rows, multiply, turn};
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

/// A complex number of two doubles.
pub type Complex = rustfft::num_complex::Complex<f64>;

/// Columns or rows taken at a time: four cache lines.
const BATCH: usize = 16;
/// Elements between the rows of the work buffer beyond their length, so that they do not all meet in one set of the cache.
// Two cache lines of four elements.
const PAD: usize = 8;
/// Up to this length a transform runs in the second-level cache and is not split.
// 2^15 elements of 16 bytes are 512 KiB.
const WHOLE: usize = 1 << 15;
/// Twiddle factors of one column are made in groups of this length.
const GROUP: usize = 32;

/// And those of one row in groups of this.
const ROW_GROUP: usize = 64;

/// Which way to transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// With exp(-2 pi i j k / n).
    Forward,
    /// With exp(+2 pi i j k / n), not scaled by 1 / n.
    Inverse,
}

/// A length that cannot be transformed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a transform of length {0} is not of the form 2^a 3^b 5^c; the next smaller such length is {1}")]
pub struct LengthError(pub usize, pub usize);

/// Whether `n` is 2^a 3^b 5^c.
pub fn is_smooth(n: usize) -> bool {
    let mut rest = n;
    for p in [2, 3, 5] {
        // Zero is a multiple of everything and would never end.
        while rest > 0 && rest.is_multiple_of(p) {
            rest /= p;
        }
    }
    rest == 1
}

/// The largest 2^a 3^b 5^c that is at most `limit`; zero if there is none.
pub fn largest_smooth(limit: usize) -> usize {
    let mut best = 0;
    // Limits reach up to the largest integer: a product that overflows is above any of them.
    let powers =
        |p: usize, from: usize| std::iter::successors(Some(from), move |&x| x.checked_mul(p).filter(|&y| y <= limit));
    // The first power, 1, is not compared with the limit above; it is too large for limit 0 only.
    for five in powers(5, 1).filter(|&x| x <= limit) {
        for three in powers(3, five) {
            best = best.max(powers(2, three).last().unwrap_or(0));
        }
    }
    best
}

/// The n-th roots of unity, to full precision from two short tables.
pub struct Roots {
    n: usize,
    shift: u32,
    coarse: Vec<Complex>,
    fine: Vec<Complex>,
}

impl Roots {
    /// The powers of exp(-2 pi i / n), or of its conjugate for the inverse.
    pub fn new(n: usize, direction: Direction) -> Self {
        assert!(n > 0, "there are no zeroth roots");
        // Two tables of about sqrt(n) roots each instead of one of n.
        let shift = n.ilog2() / 2;
        let root = |q: usize| match direction {
            Direction::Forward => unit(q, n).conj(),
            Direction::Inverse => unit(q, n),
        };
        let fine = (0..1usize << shift).map(root).collect();
        let coarse = (0..=(n - 1) >> shift).map(|h| root(h << shift)).collect();
        Self { n, shift, coarse, fine }
    }

    /// The q-th power.
    #[inline]
    pub fn at(&self, q: usize) -> Complex {
        // The exponents of `twist` are reduced already; the comparison spares them the division.
        let q = if q < self.n { q } else { q % self.n };
        self.coarse[q >> self.shift] * self.fine[q & (self.fine.len() - 1)]
    }

    /// Multiplies element k of `column` by the (k times `index`)-th power.
    fn twist(&self, index: usize, column: &mut [Complex]) {
        let index = index % self.n;
        // Exponents are added up modulo n: a division for each would cost more than the transform.
        let step = |q: usize, by: usize| if q >= self.n - by { q - (self.n - by) } else { q + by };
        let (mut group, mut q) = ([Complex::default(); GROUP], 0);
        for root in &mut group {
            *root = self.at(q);
            q = step(q, index);
        }
        let (leap, mut q) = (q, 0);
        for chunk in column.chunks_mut(GROUP) {
            multiply(chunk, &group, self.at(q));
            q = step(q, leap);
        }
    }

    /// Multiplies element j of `row` by the (`first` + j)-th power of the `index`-th root: what [`Roots::twist`] does to element `index`
    /// of the columns from `first` on, all at once.
    fn twist_row(&self, index: usize, first: usize, row: &mut [Complex]) {
        let power = |j: usize| self.at((index as u128 * j as u128 % self.n as u128) as usize);
        let fine: [Complex; ROW_GROUP] = std::array::from_fn(power);
        for (g, chunk) in row.chunks_mut(ROW_GROUP).enumerate() {
            multiply(chunk, &fine, power(first + g * ROW_GROUP));
        }
    }
}

/// exp(2 pi i q / n), reduced to an eighth of the circle so that sine and cosine are exact to the last bit or two.
fn unit(q: usize, n: usize) -> Complex {
    // In 128 bits four times the exponent fits for every length.
    let (q, n) = (q as u128 % n as u128, n as u128);
    let quarter = 4 * q / n;
    let rest = 4 * q - quarter * n;
    let angle = |r: u128| std::f64::consts::FRAC_PI_2 * (r as f64 / n as f64);
    // Beyond an eighth of the circle the angle is taken from the other axis, and sine and cosine exchange.
    let (re, im) = if 2 * rest > n {
        let (s, c) = angle(n - rest).sin_cos();
        (s, c)
    } else {
        let (s, c) = angle(rest).sin_cos();
        (c, s)
    };
    match quarter {
        0 => Complex::new(re, im),
        1 => Complex::new(-im, re),
        2 => Complex::new(-re, -im),
        _ => Complex::new(im, -re),
    }
}

/// Many transforms of one length.
pub struct Batch {
    fft: Arc<dyn Fft<f64>>,
}

impl Batch {
    /// Prepares transforms of length `len`.
    pub fn new(len: usize, direction: Direction) -> Result<Self, LengthError> {
        if !is_smooth(len) {
            return Err(LengthError(len, largest_smooth(len)));
        }
        let mut planner = FftPlanner::new();
        let fft = match direction {
            Direction::Forward => planner.plan_fft_forward(len),
            Direction::Inverse => planner.plan_fft_inverse(len),
        };
        Ok(Self { fft })
    }

    /// The length of one transform.
    pub fn length(&self) -> usize {
        self.fft.len()
    }

    /// Transforms each row of `rows`, which follow one another without gaps.
    ///
    /// # Panics
    /// If the data is not a whole number of rows.
    pub fn rows(&self, rows: &mut [Complex], pool: &Pool) {
        let count = self.whole_rows(rows.len());
        let (len, base) = (self.length(), Raw(rows.as_mut_ptr()));
        pool.run(|t| {
            let own = pool.part(count, 1, t);
            // SAFETY: the threads' rows are disjoint parts of `rows`, which is borrowed until all threads have ended.
            let rows = unsafe { std::slice::from_raw_parts_mut(base.get().add(own.start * len), own.len() * len) };
            let mut scratch = vec![Complex::default(); self.fft.get_inplace_scratch_len()];
            self.fft.process_with_scratch(rows, &mut scratch);
        });
    }

    fn whole_rows(&self, elements: usize) -> usize {
        let len = self.length();
        assert!(elements.is_multiple_of(len), "{elements} elements are not a whole number of rows of {len}");
        elements / len
    }

    /// Transforms each of the first `width` columns of a matrix stored row after row, `stride` elements a row, as many rows as
    /// the transform is long. With roots of order n, element k of column j is then multiplied by their k (first + j)-th power.
    ///
    /// # Panics
    /// If the matrix does not fit `data`.
    pub fn columns(
        &self,
        data: &mut [Complex],
        stride: usize,
        width: usize,
        twist: Option<(&Roots, usize)>,
        pool: &Pool,
    ) {
        let len = self.length();
        assert!(
            width <= stride && data.len() + stride >= len * stride + width,
            "{len} rows of {stride} do not fit the data"
        );
        let base = Raw(data.as_mut_ptr());
        // Columns shorter than a group would make more roots than they need; rows share theirs.
        let (by_rows, by_columns) = if len < GROUP { (twist, None) } else { (None, twist) };
        pool.run(|t| {
            let mut work = Work::new(self);
            let own = part(width, BATCH, t, pool.threads());
            for j0 in own.clone().step_by(BATCH) {
                let count = BATCH.min(own.end - j0);
                // SAFETY: the columns j0..j0 + count are inside the matrix and this thread's own.
                unsafe { work.gather(base.get().add(j0), stride, count) };
                for j in 0..count {
                    let row = work.transform(self, j);
                    if let Some((roots, first)) = by_columns {
                        roots.twist(first + j0 + j, row);
                    }
                }
                // SAFETY: as above.
                unsafe { work.scatter(base.get().add(j0), stride, count, Memory::Cached) };
            }
            for (k, (roots, first)) in (1..len).zip(by_rows.into_iter().cycle()) {
                // SAFETY: this thread's own columns, in one of the rows.
                let row = unsafe { std::slice::from_raw_parts_mut(base.get().add(k * stride + own.start), own.len()) };
                roots.twist_row(k, first + own.start, row);
            }
        });
    }

    /// Transforms each row and writes row r as column `r` of `out`, which is stored row after row, `stride` elements a row. The rows
    /// are used up.
    ///
    /// # Panics
    /// If the data is not a whole number of rows, or their columns do not fit `out`.
    pub fn rows_to_columns(&self, rows: &mut [Complex], out: &mut [Complex], stride: usize, pool: &Pool) {
        let (len, count) = (self.length(), self.whole_rows(rows.len()));
        assert!(
            count <= stride && out.len() + stride >= len * stride + count,
            "{count} columns of {len} do not fit the output"
        );
        let (source, target) = (Raw(rows.as_mut_ptr()), Raw(out.as_mut_ptr()));
        pool.run(|t| {
            let mut work = Work::new(self);
            let own = part(count, BATCH, t, pool.threads());
            for r0 in own.clone().step_by(BATCH) {
                let n = BATCH.min(own.end - r0);
                for r in 0..n {
                    // SAFETY: a row inside `rows`, this thread's own.
                    let row = unsafe { std::slice::from_raw_parts(source.get().add((r0 + r) * len), len) };
                    work.row(r).copy_from_slice(row);
                    work.transform(self, r);
                }
                // SAFETY: the columns r0..r0 + n are inside `out` and this thread's own.
                unsafe { work.scatter(target.get().add(r0), stride, n, Memory::WriteOnce) };
            }
        });
    }
}

/// Some transforms in the cache, one a row.
struct Work {
    len: usize,
    rows: Vec<Complex>,
    scratch: Vec<Complex>,
}

impl Work {
    fn new(batch: &Batch) -> Self {
        let len = batch.length();
        let zeros = |n| vec![Complex::default(); n];
        Self { len, rows: zeros(BATCH * (len + PAD)), scratch: zeros(batch.fft.get_inplace_scratch_len()) }
    }

    fn row(&mut self, r: usize) -> &mut [Complex] {
        let start = r * (self.len + PAD);
        &mut self.rows[start..start + self.len]
    }

    fn transform(&mut self, batch: &Batch, r: usize) -> &mut [Complex] {
        let start = r * (self.len + PAD);
        let row = &mut self.rows[start..start + self.len];
        batch.fft.process_with_scratch(row, &mut self.scratch);
        row
    }

    /// Copies `count` columns that start at `from`, `stride` elements a row, into rows.
    ///
    /// # Safety
    /// `len` rows of `count` elements may be read.
    unsafe fn gather(&mut self, from: *const Complex, stride: usize, count: usize) {
        assert!(count <= BATCH);
        // SAFETY: the caller's promise; the rows of the buffer are this long and so many.
        unsafe {
            let rows = Rows { at: self.rows.as_mut_ptr(), stride: self.len + PAD };
            turn(Rows { at: from, stride }, rows, self.len, count, Memory::FetchNext);
        }
    }

    /// Copies `count` rows into columns that start at `to`, `stride` elements a row.
    ///
    /// # Safety
    /// `len` rows of `count` elements may be written.
    unsafe fn scatter(&self, to: *mut Complex, stride: usize, count: usize, memory: Memory) {
        assert!(count <= BATCH);
        // SAFETY: the caller's promise; the rows of the buffer are this long and so many.
        unsafe {
            let rows = Rows { at: self.rows.as_ptr(), stride: self.len + PAD };
            turn(rows, Rows { at: to, stride }, count, self.len, memory);
        }
    }
}

/// One transform of any length, prepared once.
pub struct Plan {
    n: usize,
    way: Way,
}

enum Way {
    Whole(Batch),
    Split { columns: Batch, rows: Batch, roots: Roots },
}

impl Plan {
    /// Prepares a transform of length `n`.
    pub fn new(n: usize, direction: Direction) -> Result<Self, LengthError> {
        Self::split_above(n, direction, WHOLE)
    }

    fn split_above(n: usize, direction: Direction, whole: usize) -> Result<Self, LengthError> {
        // A prime length has no split either; if it is above 5, `Batch::new` refuses it.
        let n1 = if n <= whole { 1 } else { divisor_near_root(n) };
        let way = if n1 == 1 {
            Way::Whole(Batch::new(n, direction)?)
        } else {
            Way::Split {
                columns: Batch::new(n1, direction)?,
                rows: Batch::new(n / n1, direction)?,
                roots: Roots::new(n, direction),
            }
        };
        Ok(Self { n, way })
    }

    /// The length.
    pub fn length(&self) -> usize {
        self.n
    }

    /// Transforms `input` into `output`, both in natural order. The input is used up.
    ///
    /// # Panics
    /// If a slice has another length than the plan.
    pub fn run(&self, input: &mut [Complex], output: &mut [Complex], pool: &Pool) {
        let n = self.n;
        assert!(
            input.len() == n && output.len() == n,
            "a plan for {n} elements got {} and {}",
            input.len(),
            output.len()
        );
        match &self.way {
            Way::Whole(batch) => {
                let mut scratch = vec![Complex::default(); batch.fft.get_outofplace_scratch_len()];
                batch.fft.process_outofplace_with_scratch(input, output, &mut scratch);
            }
            Way::Split { columns, rows, roots } => {
                let (n1, n2) = (columns.length(), rows.length());
                columns.columns(input, n2, n2, Some((roots, 0)), pool);
                rows.rows_to_columns(input, output, n1, pool);
            }
        }
    }
}

/// The divisor of n that is nearest to its square root.
fn divisor_near_root(n: usize) -> usize {
    (1..=n.isqrt()).rev().find(|d| n.is_multiple_of(*d)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bcnrand::Stream;
    use crate::memory::floats_mut;

    fn input(n: usize) -> Vec<Complex> {
        let mut x = vec![Complex::default(); n];
        Stream::at(0).fill(floats_mut(&mut x));
        x
    }

    /// The definition, for some of the outputs.
    fn naive(x: &[Complex], k: usize, sign: f64) -> Complex {
        let n = x.len();
        let term = |(j, x): (usize, &Complex)| {
            x * Complex::cis(sign * std::f64::consts::TAU * ((j * k) % n) as f64 / n as f64)
        };
        x.iter().enumerate().map(term).sum()
    }

    fn far(a: &[Complex], b: &[Complex]) -> f64 {
        a.iter().zip(b).map(|(x, y)| (x - y).norm()).fold(0.0, f64::max)
    }

    #[test]
    fn every_length_equals_the_definition_split_or_whole() {
        let pool = Pool::floating(2);
        for n in [1, 2, 30, 64, 225, 1024, 1080, 2187, 3125, 6000] {
            for (direction, sign) in [(Direction::Forward, -1.0), (Direction::Inverse, 1.0)] {
                let x = input(n);
                let want: Vec<Complex> = (0..n).step_by(7).map(|k| naive(&x, k, sign)).collect();
                for whole in [0, WHOLE] {
                    let plan = Plan::split_above(n, direction, whole).unwrap();
                    let (mut a, mut b) = (x.clone(), vec![Complex::default(); n]);
                    plan.run(&mut a, &mut b, &pool);
                    let got: Vec<Complex> = b.iter().copied().step_by(7).collect();
                    assert!(far(&got, &want) < 1e-11, "{n} {direction:?} {whole}: {}", far(&got, &want));
                }
            }
        }
    }

    #[test]
    fn there_and_back_again_within_the_original_s_bound() {
        let pool = Pool::floating(1);
        for n in [1 << 16, 1 << 18, 3 * 5 * 5 * (1 << 11), 1 << 20] {
            let x = input(n);
            let (mut a, mut b) = (x.clone(), vec![Complex::default(); n]);
            Plan::new(n, Direction::Forward).unwrap().run(&mut a, &mut b, &pool);
            Plan::new(n, Direction::Inverse).unwrap().run(&mut b, &mut a, &pool);
            a.iter_mut().for_each(|z| *z /= n as f64);
            let scaled = far(&a, &x) / ((n as f64).ln() * f64::EPSILON / 2.0);
            assert!(scaled < 16.0, "{n}: {scaled}");
        }
    }

    #[test]
    fn rows_are_twisted_as_their_elements_in_columns_are() {
        let (n, height, width, first) = (5 * 400, 5, 130, 77);
        let roots = Roots::new(n, Direction::Forward);
        let one = |j: usize, k: usize| {
            let mut column = vec![Complex::new(1.0, j as f64); height];
            roots.twist(first + j, &mut column);
            column[k]
        };
        for k in 0..height {
            let mut row: Vec<Complex> = (0..width).map(|j| Complex::new(1.0, j as f64)).collect();
            roots.twist_row(k, first, &mut row);
            let far = row.iter().enumerate().map(|(j, x)| (x - one(j, k)).norm()).fold(0.0, f64::max);
            assert!(far < 1e-12, "row {k}: {far:e}");
        }
    }

    #[test]
    fn columns_are_twisted_by_their_number() {
        let (len, stride, width, first, n) = (12, 20, 17, 5, 12 * 60);
        let x = input(len * stride);
        let roots = Roots::new(n, Direction::Forward);
        let batch = Batch::new(len, Direction::Forward).unwrap();
        let mut y = x.clone();
        batch.columns(&mut y, stride, width, Some((&roots, first)), &Pool::floating(3));
        for j in 0..stride {
            let column: Vec<Complex> = (0..len).map(|k| x[k * stride + j]).collect();
            for k in 0..len {
                let angle = -std::f64::consts::TAU * (k * (first + j)) as f64 / n as f64;
                let want = if j < width { naive(&column, k, -1.0) * Complex::cis(angle) } else { column[k] };
                assert!((y[k * stride + j] - want).norm() < 1e-13);
            }
        }
    }

    #[test]
    fn rows_are_transformed_where_they_lie() {
        let x = input(5 * 9);
        let mut y = x.clone();
        Batch::new(9, Direction::Forward).unwrap().rows(&mut y, &Pool::floating(2));
        for r in 0..5 {
            for k in 0..9 {
                assert!((y[r * 9 + k] - naive(&x[r * 9..r * 9 + 9], k, -1.0)).norm() < 1e-13);
            }
        }
    }

    #[test]
    fn roots_are_exact() {
        for n in [1, 3, 8, 1000, 1 << 20, 3 << 30] {
            let roots = Roots::new(n.min(1 << 20), Direction::Forward);
            for q in [0, 1, n / 8, n / 3, n / 2, n - 1] {
                let z = unit(q, n);
                assert!((z.norm() - 1.0).abs() < 3e-16);
                if n <= 1 << 20 {
                    assert!((roots.at(q) - z.conj()).norm() < 4e-16, "{q} of {n}");
                }
            }
            assert_eq!(unit(n / 2 * 2 / 2, n).im.abs() < 1e-15, n % 2 == 0 || n == 1);
        }
    }

    #[test]
    fn lengths_are_checked() {
        assert_eq!(Batch::new(14, Direction::Forward).err(), Some(LengthError(14, 12)));
        assert!(Plan::new(0, Direction::Forward).is_err());
        assert_eq!(
            (largest_smooth(0), largest_smooth(1), largest_smooth(7), largest_smooth(1 << 30)),
            (0, 1, 6, 1 << 30)
        );
        assert!((1..2000).all(|n| largest_smooth(n) == (1..=n).rev().find(|&m| is_smooth(m)).unwrap()));
        assert_eq!(divisor_near_root(1 << 21), 1 << 10);
    }
}
