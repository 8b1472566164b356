//! The columns of HPC Challenge's results page and the ratios between them, found in a record.

use crate::view::View;
use record::{About, JobRecord, TestMode};

/// Which test, and who takes part in it.
pub type TestAt = (TestMode, &'static str);

/// A column of the results page: its name, the test, the named number (or the mean of the samples), what a base unit is multiplied
/// by, the unit, and whether less is better.
pub struct Column {
    pub name: &'static str,
    pub test: TestAt,
    result: Option<&'static str>,
    pub scale: f64,
    pub unit: &'static str,
    pub lower: bool,
}

const fn column(name: &'static str, test: TestAt, result: &'static str, scale: f64, unit: &'static str) -> Column {
    Column { name, test, result: Some(result), scale, unit, lower: false }
}

const fn lower(name: &'static str, test: TestAt, result: &'static str) -> Column {
    Column { name, test, result: Some(result), scale: 1e6, unit: "usec", lower: true }
}

pub const HPL: TestAt = (TestMode::Mpi, "hpl");
pub const PTRANS: TestAt = (TestMode::Mpi, "ptrans");
pub const RANDOM_ACCESS: TestAt = (TestMode::Mpi, "random-access");
pub const FFT: TestAt = (TestMode::Mpi, "fft");
pub const STREAM: TestAt = (TestMode::Star, "stream");
pub const DGEMM: TestAt = (TestMode::Star, "dgemm");
pub const RING_BANDWIDTH: TestAt = (TestMode::Mpi, "ring-bandwidth");
pub const RING_LATENCY: TestAt = (TestMode::Mpi, "ring-latency");
pub const PING_PONG_BANDWIDTH: TestAt = (TestMode::Mpi, "ping-pong-bandwidth");
pub const PING_PONG_LATENCY: TestAt = (TestMode::Mpi, "ping-pong-latency");

/// In the order of the results page of hpcchallenge.org.
pub const COLUMNS: [Column; 8] = [
    column("G-HPL", HPL, "flops_per_s", 1e-12, "Tflop/s"),
    column("G-PTRANS", PTRANS, "bytes_per_s", 1e-9, "GB/s"),
    column("G-RandomAccess", RANDOM_ACCESS, "updates_per_s", 1e-9, "GUP/s"),
    column("G-FFT", FFT, "flops_per_s", 1e-9, "Gflop/s"),
    column("EP-STREAM Triad", STREAM, "triad_bytes_per_s", 1e-9, "GB/s/rank"),
    Column { name: "EP-DGEMM", test: DGEMM, result: None, scale: 1e-9, unit: "Gflop/s/rank", lower: false },
    column("RandomRing bandwidth", RING_BANDWIDTH, "random_bandwidth_bytes_per_s", 1e-9, "GB/s/rank"),
    lower("RandomRing latency", RING_LATENCY, "random_latency_s"),
];

/// What else its latency and bandwidth test gives.
pub const MORE: [Column; 6] = [
    column("NaturalRing bandwidth", RING_BANDWIDTH, "natural_bandwidth_bytes_per_s", 1e-9, "GB/s/rank"),
    lower("NaturalRing latency", RING_LATENCY, "natural_latency_s"),
    column("PingPong bandwidth, average", PING_PONG_BANDWIDTH, "bandwidth_avg_bytes_per_s", 1e-9, "GB/s"),
    lower("PingPong latency, average", PING_PONG_LATENCY, "latency_avg_s"),
    // These two are the paper's results (its section 5 and Table 1); averages came with later versions.
    column("PingPong bandwidth, least", PING_PONG_BANDWIDTH, "bandwidth_min_bytes_per_s", 1e-9, "GB/s"),
    lower("PingPong latency, largest", PING_PONG_LATENCY, "latency_max_s"),
];

/// The runs among some that have tests in the modes of HPC Challenge.
pub fn runs<'v, 'r>(views: &'v [View<'r>]) -> Vec<&'v View<'r>> {
    let has = |v: &&View<'_>| v.record.phases.iter().any(|p| matches!(p.about, About::Test { mode: Some(_), .. }));
    views.iter().filter(has).collect()
}

/// The jobs of a test, in all its variants.
pub fn jobs<'a>(view: &View<'a>, wanted: TestAt) -> impl Iterator<Item = &'a JobRecord> + use<'a> {
    let phases = view.record.phases.iter().filter(
        move |p| matches!(&p.about, About::Test { mode: Some(mode), test, .. } if (*mode, test.as_str()) == wanted),
    );
    phases.flat_map(|p| &p.jobs).filter(|j| j.summary.samples > 0)
}

/// A named number of a test, in base units; of several variants the largest, as the original's summary does.
pub fn result(view: &View<'_>, test: TestAt, name: &str) -> Option<f64> {
    let values = jobs(view, test).filter_map(|j| j.results.get(name).copied());
    values.filter(|v| v.is_finite() && *v > 0.0).reduce(f64::max)
}

/// A column's value, in base units.
pub fn value(view: &View<'_>, column: &Column) -> Option<f64> {
    match column.result {
        Some(name) => result(view, column.test, name),
        None => jobs(view, column.test).map(|j| j.summary.mean).reduce(f64::max),
    }
}

/// A balance ratio of a run.
pub struct Ratio {
    pub name: &'static str,
    pub unit: &'static str,
    pub value: Option<f64>,
}

/// What memory and network offer for each floating-point operation, and what a ring leaves of a ping-pong.
pub fn balance(view: &View<'_>) -> [Ratio; 6] {
    // STREAM and the rings give rates of one rank, HPL and PTRANS of all: the first are multiplied by the ranks.
    let ranks = f64::from(view.record.layout.ranks);
    let hpl = result(view, HPL, "flops_per_s");
    let ring = result(view, RING_BANDWIDTH, "random_bandwidth_bytes_per_s");
    let ping = result(view, PING_PONG_BANDWIDTH, "bandwidth_avg_bytes_per_s");
    let near = result(view, RING_LATENCY, "random_latency_s");
    let far = result(view, PING_PONG_LATENCY, "latency_avg_s");
    let triad = result(view, STREAM, "triad_bytes_per_s").map(|t| t * ranks);
    let peak = result(view, DGEMM, "fma_peak_flops_per_s");
    let dgemm = jobs(view, DGEMM).map(|j| j.summary.mean).reduce(f64::max);
    let ratio = |name, over: Option<f64>, under, unit| {
        let value = over.zip(under).map(|(over, under): (f64, f64)| over / under);
        Ratio { name, unit, value }
    };
    [
        ratio("STREAM Triad of all ranks / HPL", triad, hpl, "B/flop"),
        ratio("PTRANS / HPL", result(view, PTRANS, "bytes_per_s"), hpl, "B/flop"),
        ratio("random ring of all ranks / HPL", ring.map(|r| 1e3 * r * ranks), hpl, "B/kflop"),
        ratio("EP-DGEMM / peak of multiply-adds on registers", dgemm, peak, ""),
        ratio("random ring / average ping-pong bandwidth", ring, ping, ""),
        ratio("random ring / average ping-pong latency", near, far, ""),
    ]
}
