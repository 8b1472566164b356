//! HPC Challenge by its own rules: the columns of its results page with their verification, and balance ratios.

use crate::grid::{Grid, exact};
use crate::html::verdict;
use crate::section::Section;
use crate::table::digits;
use crate::view::View;
use record::hpcc_systems::{System, published};
use record::{JobRecord, RunRecord};

/// A column of the results page: its name, the phase, the named number (or the mean of the samples), what a base unit is
/// multiplied by, the unit, and whether less is better.
pub(crate) struct Column {
    pub name: &'static str,
    phase: &'static str,
    result: Option<&'static str>,
    scale: f64,
    unit: &'static str,
    lower: bool,
}

const fn column(
    name: &'static str,
    phase: &'static str,
    result: &'static str,
    scale: f64,
    unit: &'static str,
) -> Column {
    Column { name, phase, result: Some(result), scale, unit, lower: false }
}

const fn lower(name: &'static str, phase: &'static str, result: &'static str) -> Column {
    Column { name, phase, result: Some(result), scale: 1e6, unit: "usec", lower: true }
}

/// In the order of the results page of hpcchallenge.org.
pub(crate) const COLUMNS: [Column; 8] = [
    column("G-HPL", "mpi/hpl", "flops_per_s", 1e-12, "Tflop/s"),
    column("G-PTRANS", "mpi/ptrans", "bytes_per_s", 1e-9, "GB/s"),
    column("G-RandomAccess", "mpi/random-access", "updates_per_s", 1e-9, "GUP/s"),
    column("G-FFT", "mpi/fft", "flops_per_s", 1e-9, "Gflop/s"),
    column("EP-STREAM Triad", "star/stream", "triad_bytes_per_s", 1e-9, "GB/s/rank"),
    Column { name: "EP-DGEMM", phase: "star/dgemm", result: None, scale: 1e-9, unit: "Gflop/s/rank", lower: false },
    column("RandomRing bandwidth", "mpi/ring-bandwidth", "random_bandwidth_bytes_per_s", 1e-9, "GB/s/rank"),
    lower("RandomRing latency", "mpi/ring-latency", "random_latency_s"),
];

/// What else its latency and bandwidth test gives.
const MORE: [Column; 4] = [
    column("NaturalRing bandwidth", "mpi/ring-bandwidth", "natural_bandwidth_bytes_per_s", 1e-9, "GB/s/rank"),
    lower("NaturalRing latency", "mpi/ring-latency", "natural_latency_s"),
    column("PingPong bandwidth, average", "mpi/ping-pong-bandwidth", "bandwidth_avg_bytes_per_s", 1e-9, "GB/s"),
    lower("PingPong latency, average", "mpi/ping-pong-latency", "latency_avg_s"),
];

/// Whether a job's samples only tell how long the test took: its results are the named numbers, by rules of its own.
pub(crate) fn timed_only(job: &JobRecord) -> bool {
    matches!(job.kernel.as_str(), "ping-pong" | "hpcc-rings") && !job.results.is_empty()
}

/// The runs of this suite among some.
pub(crate) fn runs<'v, 'r>(views: &'v [View<'r>]) -> Vec<&'v View<'r>> {
    views.iter().filter(|v| v.record.plan.suite == "hpcc").collect()
}

/// Both tables of one run, for formats without pictures; nothing of other suites.
pub(crate) fn section(view: &View<'_>) -> Option<Section> {
    if view.record.plan.suite != "hpcc" {
        return None;
    }
    let mut section = Section::new("HPC Challenge");
    for mut grid in [results(&[view]), ratios(&[view])] {
        grid.header.remove(1);
        grid.rows.iter_mut().for_each(|row| drop(row.remove(1)));
        section.table(grid);
    }
    Some(section)
}

/// The jobs of a test; one that ran in several variants has several phases with its name as first part.
fn jobs<'a>(view: &View<'a>, phase: &'a str) -> impl Iterator<Item = &'a JobRecord> {
    let of =
        move |name: &str| name == phase || name.strip_prefix(phase).is_some_and(|rest| rest.starts_with(['/', '#']));
    view.record.phases.iter().filter(move |p| of(&p.name)).flat_map(|p| &p.jobs).filter(|j| j.summary.samples > 0)
}

/// A named number of a test, in base units; of several variants the largest, as the original's summary does.
pub(crate) fn result(view: &View<'_>, phase: &str, name: &str) -> Option<f64> {
    let values = jobs(view, phase).filter_map(|j| j.results.get(name).copied());
    values.filter(|v| v.is_finite() && *v > 0.0).reduce(f64::max)
}

fn value(view: &View<'_>, column: &Column) -> Option<f64> {
    match column.result {
        Some(name) => result(view, column.phase, name),
        None => jobs(view, column.phase).map(|j| j.summary.mean).reduce(f64::max),
    }
}

pub(crate) fn results(runs: &[&View<'_>]) -> Grid {
    let mut grid = Grid::new("The columns of the results page", &["Test", "run", "value", "unit", "verification"]);
    // A test that no run has is no row.
    let ran = |column: &&Column| runs.iter().any(|view| jobs(view, column.phase).next().is_some());
    for column in COLUMNS.iter().chain(&MORE).filter(ran) {
        for (i, view) in runs.iter().enumerate() {
            let shown = value(view, column).map_or("-".into(), |v| exact(v * column.scale));
            // Of several variants a wrong one must show.
            let job = jobs(view, column.phase).max_by_key(|j| j.verdict.is_wrong());
            let checked = job.map_or("did not run".into(), |j| verdict(&j.verdict));
            grid.row([column.name.into(), (i + 1).to_string(), shown, column.unit.into(), checked]);
        }
    }
    grid
}

/// A balance ratio of a run.
pub(crate) struct Ratio {
    pub name: &'static str,
    pub unit: &'static str,
    pub value: Option<f64>,
}

/// What memory and network offer for each floating-point operation, and what a ring leaves of a ping-pong.
pub(crate) fn balance(view: &View<'_>) -> [Ratio; 6] {
    let ranks = f64::from(view.record.layout.ranks);
    let hpl = result(view, "mpi/hpl", "flops_per_s");
    let ring = result(view, "mpi/ring-bandwidth", "random_bandwidth_bytes_per_s");
    let ping = result(view, "mpi/ping-pong-bandwidth", "bandwidth_avg_bytes_per_s");
    let near = result(view, "mpi/ring-latency", "random_latency_s");
    let far = result(view, "mpi/ping-pong-latency", "latency_avg_s");
    let triad = result(view, "star/stream", "triad_bytes_per_s").map(|t| t * ranks);
    let peak = result(view, "star/dgemm", "fma_peak_flops_per_s");
    let dgemm = jobs(view, "star/dgemm").map(|j| j.summary.mean).reduce(f64::max);
    let ratio = |name, over: Option<f64>, under, unit| {
        let value = over.zip(under).map(|(over, under): (f64, f64)| over / under);
        Ratio { name, unit, value }
    };
    [
        ratio("STREAM Triad of all ranks / HPL", triad, hpl, "B/flop"),
        ratio("PTRANS / HPL", result(view, "mpi/ptrans", "bytes_per_s"), hpl, "B/flop"),
        ratio("random ring of all ranks / HPL", ring.map(|r| 1e3 * r * ranks), hpl, "B/kflop"),
        ratio("EP-DGEMM / peak of multiply-adds on registers", dgemm, peak, ""),
        ratio("random ring / average ping-pong bandwidth", ring, ping, ""),
        ratio("random ring / average ping-pong latency", near, far, ""),
    ]
}

/// A run among others: its number and how large it was.
pub(crate) fn name(i: usize, view: &View<'_>) -> String {
    let layout = &view.record.layout;
    format!("run {} {} x {}", i + 1, layout.nodes, layout.max_ranks_per_node)
}

pub(crate) fn ratios(runs: &[&View<'_>]) -> Grid {
    let mut grid = Grid::new("Balance ratios", &["Ratio", "run", "value", "unit", "published systems"]);
    let theirs: Vec<[Ratio; 6]> = published().iter().map(|s| balance(&View::new(&s.record()))).collect();
    for (i, view) in runs.iter().enumerate() {
        for (at, ratio) in balance(view).into_iter().enumerate() {
            let Some(value) = ratio.value else { continue };
            let theirs: Vec<f64> = theirs.iter().filter_map(|all| all[at].value).collect();
            let range = match theirs.iter().copied().reduce(f64::min).zip(theirs.iter().copied().reduce(f64::max)) {
                Some((low, high)) => format!("{} to {} in {} runs", digits(low), digits(high), theirs.len()),
                None => "-".into(),
            };
            grid.row([ratio.name.into(), (i + 1).to_string(), exact(value), ratio.unit.into(), range]);
        }
    }
    grid
}

/// Runs beside others: the columns of the results page and the balance ratios of each, where any of the others has them.
pub fn beside(runs: &[&View<'_>], systems: &[System]) -> Grid {
    let records: Vec<RunRecord> = systems.iter().map(System::record).collect();
    let others: Vec<View<'_>> = records.iter().map(View::new).collect();
    let mut grid = Grid::new("Beside published systems, rounded as printed", &["Result", "unit"]);
    grid.header.extend((1..=runs.len()).map(|i| if runs.len() == 1 { "this run".into() } else { format!("run {i}") }));
    grid.header.extend(systems.iter().map(System::label));
    let mut add = |name: &str, unit: &str, scale: f64, of: &dyn Fn(&View<'_>) -> Option<f64>| {
        if others.iter().any(|v| of(v).is_some()) {
            let all = runs.iter().copied().chain(&others).map(of);
            let shown = all.map(|x| x.map_or("-".into(), |x| digits(x * scale)));
            grid.row([name.to_string(), unit.to_string()].into_iter().chain(shown));
        }
    };
    for column in COLUMNS.iter().chain(&MORE) {
        add(column.name, column.unit, column.scale, &|v| value(v, column));
    }
    for (at, ratio) in runs.first().into_iter().flat_map(|v| balance(v)).enumerate() {
        add(ratio.name, ratio.unit, 1.0, &|v| balance(v)[at].value);
    }
    grid
}

/// Each run's share of the best on each axis; 0 where a test did not run.
pub(crate) fn shares(runs: &[&View<'_>]) -> Vec<Vec<f64>> {
    let goodness = |view: &View<'_>, c: &Column| value(view, c).map_or(0.0, |v| if c.lower { 1.0 / v } else { v });
    let best: Vec<f64> =
        COLUMNS.iter().map(|c| runs.iter().map(|v| goodness(v, c)).fold(f64::MIN_POSITIVE, f64::max)).collect();
    runs.iter().map(|v| COLUMNS.iter().zip(&best).map(|(c, b)| goodness(v, c) / b).collect()).collect()
}
