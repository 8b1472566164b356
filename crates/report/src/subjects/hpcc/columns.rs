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
    /// Whether it is a rank's, and all ranks' together are shown.
    all: bool,
}

const fn column(name: &'static str, test: TestAt, result: &'static str, scale: f64, unit: &'static str) -> Column {
    Column { name, test, result: Some(result), scale, unit, lower: false, all: false }
}

const fn lower(name: &'static str, test: TestAt, result: &'static str) -> Column {
    Column { name, test, result: Some(result), scale: 1e6, unit: "usec", lower: true, all: false }
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
pub const COLUMNS: [Column; 9] = [
    column("G-HPL", HPL, "flops_per_s", 1e-12, "Tflop/s"),
    column("G-PTRANS", PTRANS, "bytes_per_s", 1e-9, "GB/s"),
    column("G-RandomAccess", RANDOM_ACCESS, "updates_per_s", 1e-9, "GUP/s"),
    column("G-FFT", FFT, "flops_per_s", 1e-9, "Gflop/s"),
    Column { all: true, ..column("EP-STREAM Sys", STREAM, "triad_bytes_per_s", 1e-9, "GB/s") },
    column("EP-STREAM Triad", STREAM, "triad_bytes_per_s", 1e-9, "GB/s/rank"),
    Column { name: "EP-DGEMM", test: DGEMM, result: None, scale: 1e-9, unit: "Gflop/s/rank", lower: false, all: false },
    column("RandomRing bandwidth", RING_BANDWIDTH, "random_bandwidth_bytes_per_s", 1e-9, "GB/s/rank"),
    lower("RandomRing latency", RING_LATENCY, "random_latency_s"),
];

/// What else its latency and bandwidth test gives.
pub const MORE: [Column; 6] = [
    column("NaturalRing bandwidth", RING_BANDWIDTH, "natural_bandwidth_bytes_per_s", 1e-9, "GB/s/rank"),
    lower("NaturalRing latency", RING_LATENCY, "natural_latency_s"),
    column("PingPong bandwidth, avg", PING_PONG_BANDWIDTH, "bandwidth_avg_bytes_per_s", 1e-9, "GB/s"),
    lower("PingPong latency, avg", PING_PONG_LATENCY, "latency_avg_s"),
    // These two are the paper's results (its section 5 and Table 1); averages came with later versions.
    column("PingPong bandwidth, min", PING_PONG_BANDWIDTH, "bandwidth_min_bytes_per_s", 1e-9, "GB/s"),
    lower("PingPong latency, max", PING_PONG_LATENCY, "latency_max_s"),
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
    let value = match column.result {
        Some(name) => result(view, column.test, name),
        None => jobs(view, column.test).map(|j| j.summary.mean).reduce(f64::max),
    };
    let times = if column.all { f64::from(view.record.layout.ranks) } else { 1.0 };
    value.map(|v| v * times)
}

/// The class of a test in the sense of the rules, by the word of the results page; nothing in records of programs that did not say it.
pub fn class(job: &JobRecord) -> Option<&'static str> {
    job.results.get("optimized").map(|x| if *x > 0.0 { "opt" } else { "base" })
}

/// A balance ratio of a run.
pub struct Ratio {
    pub name: &'static str,
    pub unit: &'static str,
    pub value: Option<f64>,
}

/// How many ratios there are.
pub const RATIOS: usize = 12;

/// What memory and network offer for each floating-point operation, and what a ring leaves of a ping-pong: by the paper's definitions,
/// which take the least bandwidth and the largest latency of all ping-pongs (its Figure 2), and over averages.
pub fn balance(view: &View<'_>) -> [Ratio; RATIOS] {
    // STREAM and the rings give rates of one rank, HPL and PTRANS of all: the first are multiplied by the ranks.
    let ranks = f64::from(view.record.layout.ranks);
    let hpl = result(view, HPL, "flops_per_s");
    let [random, natural] =
        ["random", "natural"].map(|ring| result(view, RING_BANDWIDTH, &format!("{ring}_bandwidth_bytes_per_s")));
    let [least, average] =
        ["min", "avg"].map(|which| result(view, PING_PONG_BANDWIDTH, &format!("bandwidth_{which}_bytes_per_s")));
    let [random_s, natural_s] =
        ["random", "natural"].map(|ring| result(view, RING_LATENCY, &format!("{ring}_latency_s")));
    let [largest_s, average_s] =
        ["max", "avg"].map(|which| result(view, PING_PONG_LATENCY, &format!("latency_{which}_s")));
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
        ratio("random ring of all ranks / HPL", random.map(|r| 1e3 * r * ranks), hpl, "B/kflop"),
        ratio("EP-DGEMM / peak of multiply-adds on registers", dgemm, peak, ""),
        ratio("random ring / least ping-pong bandwidth", random, least, ""),
        ratio("natural ring / least ping-pong bandwidth", natural, least, ""),
        ratio("random / natural ring bandwidth", random, natural, ""),
        ratio("largest ping-pong / random ring latency", largest_s, random_s, ""),
        ratio("largest ping-pong / natural ring latency", largest_s, natural_s, ""),
        ratio("natural / random ring latency", natural_s, random_s, ""),
        ratio("random ring / average ping-pong bandwidth", random, average, ""),
        ratio("random ring / average ping-pong latency", random_s, average_s, ""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::hpcc_systems::published;

    /// Its Table 1: random rings have 0.043 (IBM's Colony) to 0.966 (NEC's SX-6) of the least ping-pong's bandwidth, and no ping-pong takes
    /// longer than a ring, which whole microseconds let come to 1.
    #[test]
    fn ratios_of_the_paper_s_table_stay_within_its_text() {
        let rows = published().iter().filter(|s| s.source.contains(" Table 1 row "));
        let rows: Vec<[Ratio; RATIOS]> = rows.map(|s| balance(&View::new(&s.record()))).collect();
        let of = |name: &str| {
            let at = rows[0].iter().position(|r| r.name == name).unwrap();
            let values: Vec<f64> = rows.iter().filter_map(|r| r[at].value).collect();
            (values.len(), values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(0.0, f64::max))
        };
        let (count, least, most) = of("random ring / least ping-pong bandwidth");
        assert!(
            count == 15 && (least - 0.0426).abs() < 1e-4 && (most - 0.9656).abs() < 1e-4,
            "{count}: {least} to {most}"
        );
        let (count, least, most) = of("largest ping-pong / random ring latency");
        assert!(count >= 13 && (least - 87.0 / 374.0).abs() < 1e-4 && most <= 1.0, "{count}: {least} to {most}");
    }
}
