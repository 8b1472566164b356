//! Any BLAS of the system, opened at run time, called by the Fortran interface that all of them have (32-bit integers).
//!
//! A library may misjudge the processor: OpenBLAS before 0.3.25 takes recent Xeons for a Prescott and is then several times
//! slower. So the kernels it really uses are asked for, and if they are older than the processor the library is opened again
//! with `OPENBLAS_CORETYPE` set, unless the user set it.

use super::{Diag, Library, Side, Trans, Tri, Uplo, vector};
use crate::matrix::{Mat, MatMut};
use crate::simd::{Level, level};
use std::ffi::{CStr, c_char, c_int};
use std::mem::ManuallyDrop;
use std::sync::OnceLock;

/// The names under which a BLAS is looked for, in this order.
pub const SONAMES: [&str; 12] = [
    "libopenblas.so.0",
    "libopenblas.so",
    "libopenblasp.so.0",
    "libmkl_rt.so.2",
    "libmkl_rt.so",
    "libblis.so.4",
    "libblis.so.3",
    "libblis.so",
    "libblis-mt.so",
    "libflexiblas.so.3",
    "libblas.so.3",
    "libblas.so",
];

/// Why there is no system BLAS.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file the user named.
    #[error("cannot open BLAS `{path}`: {cause}; name another file, or use the built-in kernels (--blas builtin)")]
    Open {
        /// As named.
        path: String,
        /// What the loader said.
        cause: String,
    },
    /// None of the known names.
    #[error("no system BLAS found (looked for {}); name one with --blas PATH, or use the built-in kernels", SONAMES.join(", "))]
    None,
    /// Not a BLAS.
    #[error("`{path}` has no function `{symbol}`: it is not a BLAS with the Fortran interface; name another file")]
    Symbol {
        /// The file.
        path: String,
        /// What it lacks.
        symbol: String,
    },
}

type Int = *const c_int;
type Real = *const f64;
type Char = *const c_char;
// The lengths of the character arguments follow the others, by value, as Fortran compilers pass them; C libraries ignore them.
type Dgemm =
    unsafe extern "C" fn(Char, Char, Int, Int, Int, Real, Real, Int, Real, Int, Real, *mut f64, Int, usize, usize);
type Dtrsm =
    unsafe extern "C" fn(Char, Char, Char, Char, Int, Int, Real, Real, Int, *mut f64, Int, usize, usize, usize, usize);
type Dgemv = unsafe extern "C" fn(Char, Int, Int, Real, Real, Int, Real, Int, Real, *mut f64, Int, usize);
type Dger = unsafe extern "C" fn(Int, Int, Real, Real, Int, Real, Int, *mut f64, Int);

/// The functions of an opened library.
pub struct Table {
    dgemm: Dgemm,
    dtrsm: Dtrsm,
    dgemv: Dgemv,
    dger: Dger,
    // Never closed: the next test of the run finds the library with its threads and its work memory as this one leaves it.
    _library: ManuallyDrop<libloading::Library>,
}

/// What was done to the environment, for every library opened after that.
static NOTE: OnceLock<String> = OnceLock::new();

/// Opens the library and tells it how many threads to use.
///
/// What a library reads from its environment when it is opened can be set for it only while this process has one thread: so whoever wants
/// that opens it early. It stays open, and a later opening finds it as it is.
pub fn open(path: Option<&str>, threads: usize) -> Result<(Table, Library), LoadError> {
    let (mut file, mut library) = quietly(path)?;
    let mut note = NOTE.get().cloned();
    if let (Some(core), None) = (corename(&library), std::env::var_os("OPENBLAS_CORETYPE"))
        && let Some(better) = better_core(&core, level())
    {
        let old =
            format!("uses {core} kernels, older than this processor; set OPENBLAS_CORETYPE={better} before starting");
        let mut text = old.clone();
        if with_variable("OPENBLAS_CORETYPE", better, true, || ()).is_some() {
            drop(library);
            (file, library) = quietly(path)?;
            text = match corename(&library) {
                Some(now) if now != core => format!(
                    "took the {core} kernels by itself; OPENBLAS_CORETYPE={better} was set for it and it now uses {now}"
                ),
                _ => old,
            };
        }
        note = Some(NOTE.get_or_init(|| text).clone());
    }
    let mut facts = identify(&library, &file);
    facts.threads = set_threads(&library, threads);
    facts.note = note.filter(|_| facts.name == "OpenBLAS");
    Ok((table(library, &file)?, facts))
}

/// Loads a library that starts no threads of its own, if that can be had: OpenBLAS starts one for every processor when it is loaded, in
/// every rank. How many it shall use it is told afterwards.
fn quietly(path: Option<&str>) -> Result<(String, libloading::Library), LoadError> {
    const NAME: &str = "OPENBLAS_NUM_THREADS";
    match std::env::var_os(NAME) {
        // Programs started from here choose for themselves, so it is taken back.
        None => with_variable(NAME, "1", false, || load(path)).unwrap_or_else(|| load(path)),
        Some(_) => load(path),
    }
}

/// Does something with a variable of the environment set, and leaves it there if it is to stay. Nothing, if there are other threads: they
/// might read the environment, also in C, where no lock protects it.
fn with_variable<T>(name: &str, value: &str, stays: bool, f: impl FnOnce() -> T) -> Option<T> {
    if !alone() {
        return None;
    }
    // SAFETY: this is the only thread, so nobody reads or writes the environment meanwhile.
    unsafe { std::env::set_var(name, value) };
    let done = f();
    // A library may have started threads all the same; then the variable stays.
    if !stays && alone() {
        // SAFETY: as above.
        unsafe { std::env::remove_var(name) };
    }
    Some(done)
}

/// Whether this process has one thread. Where the system does not tell, it may have more.
fn alone() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix("Threads:")).is_some_and(|n| n.trim() == "1")
}

fn load(path: Option<&str>) -> Result<(String, libloading::Library), LoadError> {
    // SAFETY: loading runs the library's initializers, which is what the user asks for by installing or naming a BLAS.
    let open = |name: &str| unsafe { libloading::Library::new(name) };
    // The error itself only says that it failed; what the loader said names the missing file.
    let cause = |e: &libloading::Error| std::error::Error::source(e).map_or_else(|| e.to_string(), |s| s.to_string());
    match path {
        Some(path) => open(path)
            .map(|l| (path.to_owned(), l))
            .map_err(|e| LoadError::Open { path: path.to_owned(), cause: cause(&e) }),
        None => SONAMES.iter().find_map(|name| Some(((*name).to_owned(), open(name).ok()?))).ok_or(LoadError::None),
    }
}

fn symbol<T: Copy>(library: &libloading::Library, name: &str) -> Option<T> {
    // SAFETY: every use below names a function together with the type its documentation gives.
    unsafe { library.get::<T>(name) }.ok().map(|s| *s)
}

fn table(library: libloading::Library, file: &str) -> Result<Table, LoadError> {
    let missing = |name: &str| LoadError::Symbol { path: file.to_owned(), symbol: name.to_owned() };
    Ok(Table {
        dgemm: symbol(&library, "dgemm_").ok_or_else(|| missing("dgemm_"))?,
        dtrsm: symbol(&library, "dtrsm_").ok_or_else(|| missing("dtrsm_"))?,
        dgemv: symbol(&library, "dgemv_").ok_or_else(|| missing("dgemv_"))?,
        dger: symbol(&library, "dger_").ok_or_else(|| missing("dger_"))?,
        _library: ManuallyDrop::new(library),
    })
}

type Text = unsafe extern "C" fn() -> *const c_char;

/// The string a C function returns.
fn text(library: &libloading::Library, name: &str) -> Option<String> {
    let f: Text = symbol(library, name)?;
    // SAFETY: the functions asked for take nothing and return a static string.
    let s = unsafe { f() };
    // SAFETY: as above; a null is none.
    (!s.is_null()).then(|| unsafe { CStr::from_ptr(s) }.to_string_lossy().trim().to_owned())
}

fn corename(library: &libloading::Library) -> Option<String> {
    text(library, "openblas_get_corename")
}

/// The core name OpenBLAS should use, if the one it chose lacks vector instructions this processor has.
fn better_core(core: &str, level: Level) -> Option<&'static str> {
    let eight = ["skylakex", "cooperlake", "sapphirerapids"];
    let four = ["haswell", "zen", "excavator"];
    let has = |list: &[&str]| list.contains(&core.to_ascii_lowercase().as_str());
    match level {
        Level::Avx512 if !has(&eight) => Some("SKYLAKEX"),
        Level::Avx2 if !has(&four) && !has(&eight) => Some("HASWELL"),
        _ => None,
    }
}

fn identify(library: &libloading::Library, file: &str) -> Library {
    let mut facts = Library {
        name: file.rsplit('/').next().unwrap_or(file).to_owned(),
        version: None,
        path: where_from(library).or_else(|| Some(file.to_owned())),
        core: None,
        threads: 1,
        note: None,
    };
    if let Some(config) = text(library, "openblas_get_config") {
        facts.name = "OpenBLAS".to_owned();
        facts.version = Some(config.strip_prefix("OpenBLAS ").unwrap_or(&config).to_owned());
        facts.core = corename(library);
    } else if let Some(version) = symbol::<unsafe extern "C" fn(*mut c_char, c_int)>(library, "MKL_Get_Version_String")
    {
        let mut buffer = [0u8; 200];
        // SAFETY: MKL writes at most the given number of characters.
        unsafe { version(buffer.as_mut_ptr().cast(), 199) };
        facts.name = "MKL".to_owned();
        facts.version = Some(String::from_utf8_lossy(&buffer).trim_matches([' ', '\0']).to_owned());
    } else if let Some(version) = text(library, "bli_info_get_version_str") {
        facts.name = "BLIS".to_owned();
        facts.version = Some(version);
        facts.core = blis_core(library);
    }
    facts
}

fn blis_core(library: &libloading::Library) -> Option<String> {
    let query: unsafe extern "C" fn() -> c_int = symbol(library, "bli_arch_query_id")?;
    let name: unsafe extern "C" fn(c_int) -> *const c_char = symbol(library, "bli_arch_string")?;
    // SAFETY: the identifier comes from the same library; the string is static.
    let s = unsafe { name(query()) };
    // SAFETY: as above; a null is none.
    (!s.is_null()).then(|| unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned())
}

/// The file the loader really took, from the map of this process: the one that holds `dgemm_`.
fn where_from(library: &libloading::Library) -> Option<String> {
    let address = symbol::<*const ()>(library, "dgemm_")?.addr();
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let (range, _) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let hex = |s| usize::from_str_radix(s, 16).ok();
        let holds = (hex(from)?..hex(to)?).contains(&address);
        holds.then(|| line.find('/').map(|at| line[at..].to_owned())).flatten()
    })
}

/// Sets the number of threads by whichever call the library has; the number it will use.
fn set_threads(library: &libloading::Library, threads: usize) -> usize {
    let wanted = c_int::try_from(threads).unwrap_or(c_int::MAX);
    for name in ["openblas_set_num_threads", "MKL_Set_Num_Threads"] {
        if let Some(f) = symbol::<unsafe extern "C" fn(c_int)>(library, name) {
            // SAFETY: both take one int by value.
            unsafe { f(wanted) };
            return threads;
        }
    }
    if let Some(f) = symbol::<unsafe extern "C" fn(i64)>(library, "bli_thread_set_num_threads") {
        // SAFETY: BLIS takes its 64-bit dimension type by value.
        unsafe { f(i64::from(wanted)) };
        return threads;
    }
    // Reference libraries have no threads.
    1
}

fn int(n: usize) -> c_int {
    c_int::try_from(n).unwrap_or_else(|_| {
        panic!("a size of {n} is more than the 32-bit integers of the system BLAS can hold; use the built-in kernels (--blas builtin)")
    })
}

fn flag(yes: bool, if_yes: &'static CStr, if_no: &'static CStr) -> Char {
    if yes { if_yes.as_ptr() } else { if_no.as_ptr() }
}

fn trans(t: Trans) -> Char {
    flag(t == Trans::Yes, c"T", c"N")
}

impl Table {
    /// `C <- alpha op(A) op(B) + beta C`; sizes were checked.
    #[allow(clippy::too_many_arguments, reason = "the arguments of GEMM are what they are")]
    pub fn gemm(&self, ta: Trans, tb: Trans, alpha: f64, a: Mat<'_>, b: Mat<'_>, beta: f64, mut c: MatMut<'_>) {
        let k = if ta == Trans::No { a.cols() } else { a.rows() };
        let (m, n, k, lda, ldb, ldc) = (int(c.rows()), int(c.cols()), int(k), int(a.ld()), int(b.ld()), int(c.ld()));
        // SAFETY: the views hold what the sizes say, C is exclusive, and all arguments outlive the call.
        unsafe {
            (self.dgemm)(
                trans(ta),
                trans(tb),
                &m,
                &n,
                &k,
                &alpha,
                a.ptr(),
                &lda,
                b.ptr(),
                &ldb,
                &beta,
                c.ptr(),
                &ldc,
                1,
                1,
            );
        }
    }

    /// A triangular system; sizes were checked.
    pub fn trsm(&self, tri: Tri, alpha: f64, t: Mat<'_>, mut b: MatMut<'_>) {
        let (m, n, ldt, ldb) = (int(b.rows()), int(b.cols()), int(t.ld()), int(b.ld()));
        let side = flag(tri.side == Side::Left, c"L", c"R");
        let uplo = flag(tri.uplo == Uplo::Lower, c"L", c"U");
        let diag = flag(tri.diag == Diag::Unit, c"U", c"N");
        // SAFETY: as in `gemm`.
        unsafe {
            (self.dtrsm)(side, uplo, trans(tri.trans), diag, &m, &n, &alpha, t.ptr(), &ldt, b.ptr(), &ldb, 1, 1, 1, 1);
        }
    }

    /// `y <- alpha op(A) x + beta y`; sizes were checked.
    pub fn gemv(&self, ta: Trans, alpha: f64, a: Mat<'_>, x: Mat<'_>, beta: f64, mut y: MatMut<'_>) {
        let (m, n, lda) = (int(a.rows()), int(a.cols()), int(a.ld()));
        let (incx, incy) = (int(vector(x).1), int(vector(y.get()).1));
        if m == 0 || n == 0 {
            // The reference returns at once here and leaves y unscaled.
            return super::level2::gemv(ta, alpha, a, x, beta, y);
        }
        // SAFETY: as in `gemm`.
        unsafe { (self.dgemv)(trans(ta), &m, &n, &alpha, a.ptr(), &lda, x.ptr(), &incx, &beta, y.ptr(), &incy, 1) };
    }

    /// `A <- alpha x y^T + A`; sizes were checked.
    pub fn ger(&self, alpha: f64, x: Mat<'_>, y: Mat<'_>, mut a: MatMut<'_>) {
        let (m, n, lda) = (int(a.rows()), int(a.cols()), int(a.ld()));
        let (incx, incy) = (int(vector(x).1), int(vector(y).1));
        // SAFETY: as in `gemm`.
        unsafe { (self.dger)(&m, &n, &alpha, x.ptr(), &incx, y.ptr(), &incy, a.ptr(), &lda) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blas::Blas;

    #[test]
    fn old_kernels_are_told_from_right_ones() {
        assert_eq!(better_core("Prescott", Level::Avx512), Some("SKYLAKEX"));
        assert_eq!(better_core("Haswell", Level::Avx512), Some("SKYLAKEX"));
        assert_eq!(better_core("Haswell", Level::Avx2), None);
        assert_eq!(better_core("Nehalem", Level::Avx2), Some("HASWELL"));
        assert_eq!(better_core("SapphireRapids", Level::Avx512), None);
        assert_eq!(better_core("Prescott", Level::Portable), None);
    }

    #[test]
    fn a_file_that_is_no_blas_is_refused() {
        let missing = Blas::system(Some("no-such-blas.so"), 1).err().expect("there is none").to_string();
        assert!(missing.contains("no-such-blas.so: cannot open shared object file"), "{missing}");
        if let Err(e) = Blas::system(Some("libc.so.6"), 1) {
            assert!(e.to_string().contains("dgemm_") || e.to_string().contains("cannot open"), "{e}");
        } else {
            panic!("the C library has no BLAS");
        }
    }

    /// Tests run on threads of their own, so there are at least two here.
    #[test]
    fn the_environment_is_left_alone_while_there_are_threads() {
        assert!(!alone());
        assert_eq!(with_variable("TAILBACK_TEST_BLAS", "1", true, || ()), None);
        let _ = Blas::system(None, 1);
        let set = ["TAILBACK_TEST_BLAS", "OPENBLAS_NUM_THREADS"].map(|name| std::env::var_os(name).is_some());
        assert!(!set[0] && (!set[1] || std::env::var("OPENBLAS_NUM_THREADS").is_ok_and(|n| n != "1")));
    }

    #[test]
    fn a_system_library_says_what_it_is() {
        // Machines without a BLAS have nothing to ask.
        if let Ok(blas) = Blas::system(None, 1) {
            let facts = blas.library();
            assert!(!facts.name.is_empty() && facts.path.is_some() && facts.threads == 1);
            assert!(facts.name != "OpenBLAS" || (facts.core.is_some() && facts.version.is_some()));
        }
    }
}
