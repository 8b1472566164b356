//! Dense linear algebra on column-major matrices: what HPL and DGEMM need of a BLAS.
//!
//! One [`Blas`] has two possible engines: the built-in kernels, which need nothing but this crate and cannot misjudge the
//! processor, and any system library found at run time. [`pick()`] measures both and takes the faster. Sizes are checked
//! here, once, for both.

mod gemm;
pub mod level1;
mod level2;
mod micro;
mod pick;
mod system;
mod trsm;

pub use pick::{Choice, WantedBlas, peak, pick};
pub use system::{LoadError, SONAMES};

use crate::matrix::{Mat, MatMut};
use crate::memory::Buffer;
use crate::simd::{Level, level};
use crate::threads::Pool;
use std::cell::RefCell;
use std::sync::Arc;

/// Whether an operand is used as it is or transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trans {
    /// As it is.
    No,
    /// Transposed.
    Yes,
}

/// The side on which the triangular matrix stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `op(T) X = alpha B`.
    Left,
    /// `X op(T) = alpha B`.
    Right,
}

/// Which triangle is stored; the other one is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uplo {
    /// On and below the diagonal.
    Lower,
    /// On and above the diagonal.
    Upper,
}

/// What the diagonal of a triangular matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diag {
    /// Ones, not stored.
    Unit,
    /// Stored.
    Stored,
}

/// The shape of a triangular system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tri {
    /// Where the triangle stands.
    pub side: Side,
    /// Which triangle is stored.
    pub uplo: Uplo,
    /// Whether it is transposed.
    pub trans: Trans,
    /// What its diagonal is.
    pub diag: Diag,
}

/// What a record says of the library that computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Library {
    /// Its name: `built-in`, `OpenBLAS`, `MKL`, `BLIS` or the file name.
    pub name: String,
    /// Its version, if it tells.
    pub version: Option<String>,
    /// The file it was loaded from.
    pub path: Option<String>,
    /// The kernels it really uses: `avx512`, or an OpenBLAS core name such as `SkylakeX`.
    pub core: Option<String>,
    /// The threads it was told to use.
    pub threads: usize,
    /// What was done to make it use this processor's kernels, and what the user could do.
    pub note: Option<String>,
}

enum Engine {
    Builtin(Level, Arc<Pool>),
    System(system::Table),
}

/// A library of dense kernels, ready to be called from one thread at a time, or by all if it [is shared](Blas::is_shared).
pub struct Blas {
    library: Library,
    engine: Engine,
}

impl Blas {
    /// The kernels of this crate on the threads of `pool`.
    pub fn builtin(pool: Arc<Pool>) -> Self {
        Self::builtin_at(level(), pool)
    }

    pub(crate) fn builtin_at(level: Level, pool: Arc<Pool>) -> Self {
        let library = Library {
            name: "built-in".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            path: None,
            core: Some(level.name().to_owned()),
            threads: pool.threads(),
            note: None,
        };
        Self { library, engine: Engine::Builtin(level, pool) }
    }

    /// The system library at `path`, or the first of [`SONAMES`] that can be opened.
    ///
    /// While this process has one thread, it sets `OPENBLAS_CORETYPE` and, for as long as the library is opened, `OPENBLAS_NUM_THREADS`,
    /// unless the user did. So a program that wants the right kernels opens it once before it starts threads; it stays open.
    pub fn system(path: Option<&str>, threads: usize) -> Result<Self, LoadError> {
        let (table, library) = system::open(path, threads)?;
        Ok(Self { library, engine: Engine::System(table) })
    }

    /// Whether the threads of its pool may each call it for themselves at the same time.
    pub fn is_shared(&self) -> bool {
        matches!(self.engine, Engine::Builtin(..))
    }

    /// What is computing.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// `C <- alpha op(A) op(B) + beta C`. With `beta` zero C is not read.
    ///
    /// # Panics
    /// If the sizes do not match.
    #[allow(clippy::too_many_arguments, reason = "the arguments of GEMM are what they are")]
    pub fn gemm(&self, ta: Trans, tb: Trans, alpha: f64, a: Mat<'_>, b: Mat<'_>, beta: f64, c: MatMut<'_>) {
        let ((m, ka), (kb, n)) = (shape(ta, a), shape(tb, b));
        assert!(
            (m, n, ka) == (c.rows(), c.cols(), kb),
            "gemm of {m} x {ka} by {kb} x {n} into {} x {}",
            c.rows(),
            c.cols()
        );
        match &self.engine {
            Engine::Builtin(level, pool) => gemm::gemm(*level, pool, (ta, tb), alpha, a, b, beta, c),
            Engine::System(table) => table.gemm(ta, tb, alpha, a, b, beta, c),
        }
    }

    /// [`Blas::gemm`] with the arguments of the classical interface, on slices.
    ///
    /// # Panics
    /// If an operand does not fit its slice.
    #[allow(clippy::too_many_arguments, reason = "the arguments of GEMM are what they are")]
    pub fn dgemm(
        &self,
        ta: Trans,
        tb: Trans,
        (m, n, k): (usize, usize, usize),
        alpha: f64,
        (a, lda): (&[f64], usize),
        (b, ldb): (&[f64], usize),
        beta: f64,
        (c, ldc): (&mut [f64], usize),
    ) {
        let a = if ta == Trans::No { Mat::new(a, m, k, lda) } else { Mat::new(a, k, m, lda) };
        let b = if tb == Trans::No { Mat::new(b, k, n, ldb) } else { Mat::new(b, n, k, ldb) };
        self.gemm(ta, tb, alpha, a, b, beta, MatMut::new(c, m, n, ldc));
    }

    /// `B <- alpha op(T)^-1 B` or `B <- alpha B op(T)^-1`.
    ///
    /// # Panics
    /// If the sizes do not match.
    pub fn trsm(&self, tri: Tri, alpha: f64, t: Mat<'_>, b: MatMut<'_>) {
        let order = if tri.side == Side::Left { b.rows() } else { b.cols() };
        assert!(
            t.rows() == order && t.cols() == order,
            "trsm with a {} x {} triangle on the {:?} of {} x {}",
            t.rows(),
            t.cols(),
            tri.side,
            b.rows(),
            b.cols()
        );
        match &self.engine {
            Engine::Builtin(level, pool) => trsm::trsm(*level, pool, tri, alpha, t, b),
            Engine::System(table) => table.trsm(tri, alpha, t, b),
        }
    }

    /// `y <- alpha op(A) x + beta y`; a vector is a matrix of one column or of one row.
    ///
    /// # Panics
    /// If the sizes do not match.
    pub fn gemv(&self, ta: Trans, alpha: f64, a: Mat<'_>, x: Mat<'_>, beta: f64, y: MatMut<'_>) {
        let (m, n) = shape(ta, a);
        let (nx, ny) = (vector(x).0, vector(y.get()).0);
        assert!((m, n) == (ny, nx), "gemv of {m} x {n} by a vector of {nx} into one of {ny}");
        match &self.engine {
            Engine::Builtin(..) => level2::gemv(ta, alpha, a, x, beta, y),
            Engine::System(table) => table.gemv(ta, alpha, a, x, beta, y),
        }
    }

    /// `A <- alpha x y^T + A`; a vector is a matrix of one column or of one row.
    ///
    /// # Panics
    /// If the sizes do not match.
    pub fn ger(&self, alpha: f64, x: Mat<'_>, y: Mat<'_>, a: MatMut<'_>) {
        let (nx, ny) = (vector(x).0, vector(y).0);
        assert!((a.rows(), a.cols()) == (nx, ny), "ger of {nx} and {ny} into {} x {}", a.rows(), a.cols());
        match &self.engine {
            Engine::Builtin(..) => level2::ger(alpha, x, y, a),
            Engine::System(table) => table.ger(alpha, x, y, a),
        }
    }
}

/// Rows and columns of op(A).
fn shape(op: Trans, a: Mat<'_>) -> (usize, usize) {
    if op == Trans::No { (a.rows(), a.cols()) } else { (a.cols(), a.rows()) }
}

/// Length and stride of a vector.
fn vector(v: Mat<'_>) -> (usize, usize) {
    assert!(v.cols() == 1 || v.rows() == 1 || v.rows() * v.cols() == 0, "a vector has one row or one column");
    if v.cols() == 1 { (v.rows(), 1) } else { (if v.rows() == 0 { 0 } else { v.cols() }, v.ld()) }
}

/// The packing buffers of a thread, kept between calls: fresh pages cost more than small products.
#[derive(Default)]
struct Scratch(Option<Buffer<f64>>);

impl Scratch {
    /// Two arrays of these lengths; contents as they happen to be.
    fn two(&mut self, first: usize, second: usize) -> (&mut [f64], &mut [f64]) {
        // The second array starts on a cache line of its own.
        let start = first.next_multiple_of(8);
        let need = start + second;
        if self.0.as_ref().is_none_or(|b| b.len() < need) {
            // The old one is given back first, so that the two are never there together.
            self.0 = None;
            self.0 = Some(Buffer::zeroed(need).unwrap_or_else(|e| panic!("no memory to pack a matrix: {e}")));
        }
        let all = self.0.as_deref_mut().expect("made above");
        let (one, two) = all.split_at_mut(start);
        (&mut one[..first], &mut two[..second])
    }
}

fn with_scratch<R>(f: impl FnOnce(&mut Scratch) -> R) -> R {
    thread_local!(static SCRATCH: RefCell<Scratch> = RefCell::default());
    SCRATCH.with_borrow_mut(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of numbers in [-0.5, 0.5) for tests.
    pub struct Random(pub u64);

    impl Random {
        pub fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        }
        pub fn matrix(&mut self, rows: usize, cols: usize) -> Vec<f64> {
            (0..rows * cols).map(|_| self.next()).collect()
        }
    }

    /// GEMM by its definition; the result has no gaps.
    pub fn naive(op: (Trans, Trans), alpha: f64, a: Mat<'_>, b: Mat<'_>, beta: f64, c: Mat<'_>) -> Vec<f64> {
        let k = shape(op.0, a).1;
        let mut out = Vec::with_capacity(c.rows() * c.cols());
        for j in 0..c.cols() {
            for i in 0..c.rows() {
                let x = |p| if op.0 == Trans::No { a.at(i, p) } else { a.at(p, i) };
                let y = |p| if op.1 == Trans::No { b.at(p, j) } else { b.at(j, p) };
                let sum: f64 = (0..k).map(|p| x(p) * y(p)).sum();
                out.push(alpha * sum + if beta == 0.0 { 0.0 } else { beta * c.at(i, j) });
            }
        }
        out
    }

    /// Every engine that this machine has.
    pub fn engines() -> Vec<Blas> {
        let mut all: Vec<Blas> =
            crate::simd::levels().into_iter().map(|l| Blas::builtin_at(l, Arc::new(Pool::floating(2)))).collect();
        all.extend(Blas::system(None, 1));
        all
    }

    #[test]
    fn engines_agree_with_the_definition() {
        let mut r = Random(3);
        let (m, n, k) = (90, 41, 37);
        let (a, b, c0) = (r.matrix(m, k), r.matrix(n, k), r.matrix(m, n));
        let op = (Trans::No, Trans::Yes);
        let want = naive(op, 0.3, Mat::new(&a, m, k, m), Mat::new(&b, n, k, n), 0.7, Mat::new(&c0, m, n, m));
        for blas in engines() {
            let mut c = c0.clone();
            blas.dgemm(op.0, op.1, (m, n, k), 0.3, (&a, m), (&b, n), 0.7, (&mut c, m));
            let worst = c.iter().zip(&want).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-13, "{:?}: {worst}", blas.library());
        }
    }

    #[test]
    #[should_panic(expected = "gemm of 2 x 3 by 2 x 2 into 2 x 2")]
    fn sizes_that_do_not_match_are_refused() {
        let (a, mut c) = ([0.0; 6], [0.0; 4]);
        let blas = Blas::builtin(Arc::new(Pool::floating(1)));
        blas.gemm(
            Trans::No,
            Trans::No,
            1.0,
            Mat::new(&a, 2, 3, 2),
            Mat::new(&a, 2, 2, 2),
            0.0,
            MatMut::new(&mut c, 2, 2, 2),
        );
    }

    #[test]
    fn vectors_are_rows_or_columns() {
        let data = [0.0; 12];
        assert_eq!(vector(Mat::new(&data, 4, 1, 7)), (4, 1));
        assert_eq!(vector(Mat::new(&data, 1, 4, 3)), (4, 3));
        assert_eq!(vector(Mat::new(&data, 1, 1, 3)), (1, 1));
        assert_eq!(vector(Mat::new(&data, 0, 5, 1)).0, 0);
    }
}
