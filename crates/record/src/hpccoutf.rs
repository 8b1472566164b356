//! What the original HPC Challenge wrote (`hpccoutf.txt`), as a record: its numbers then stand beside ours in every table and picture.
//!
//! Its summary has one number for each test, so there is one sample of each and no confidence.

use crate::about::{About, TestMode};
use crate::batches::Batches;
use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::plan::{NodeOrder, Payload, Plan, Role};
use crate::run::{
    Ended, FORMAT, Host, IMPORTED, JobRecord, Layout, MachineRecord, PhaseRecord, RunRecord, Status, Tells, VERSION,
};
use crate::summary::{Extremes, Summary};
use crate::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a message of the bandwidth tests.
// b_eff's long message has 2,000,000 bytes, not 2 MiB.
const MESSAGE: f64 = 2e6;
const BEGIN: &str = "Begin of Summary section.";

/// One test of the summary.
struct Test {
    mode: TestMode,
    test: String,
    kernel: &'static str,
    metric: Metric,
    /// Key of its rate, and what that is in base units.
    rate: (String, f64),
    /// Named numbers with their keys and scales.
    named: Vec<(&'static str, String, f64)>,
    /// Parameters with their keys: what a test must agree in to be compared with one of ours.
    params: Vec<(&'static str, String)>,
}

const MODES: [(TestMode, &str); 2] = [(TestMode::Star, "Star"), (TestMode::Single, "Single")];

impl Test {
    fn new((mode, test): (TestMode, &str), kernel: &'static str, metric: Metric, key: String, scale: f64) -> Test {
        let test = test.into();
        Test { mode, test, kernel, metric, rate: (key, scale), named: Vec::new(), params: Vec::new() }
    }
    /// Adds named numbers whose keys begin alike.
    fn named(mut self, prefix: &str, all: &[(&'static str, &str, f64)]) -> Test {
        self.named.extend(all.iter().map(|(name, key, scale)| (*name, format!("{prefix}{key}"), *scale)));
        self
    }
    /// Adds parameters whose keys begin alike.
    fn params(mut self, prefix: &str, all: &[(&'static str, &str)]) -> Test {
        self.params.extend(all.iter().map(|(name, key)| (*name, format!("{prefix}{key}"))));
        self
    }
}

/// The same local test on all ranks and on one; its length is a number and a parameter.
fn local(test: &str, kernel: &'static str, metric: Metric, key: &str, length: (&'static str, &str)) -> [Test; 2] {
    MODES.map(|(mode, word)| {
        let test = Test::new((mode, test), kernel, metric, format!("{word}{key}"), 1e9);
        test.named("", &[("n", length.1, 1.0)]).params("", &[length])
    })
}

/// All tests, in the order of the original.
fn tests() -> Vec<Test> {
    let mut all = Vec::new();
    for (suffix, test) in [("", "random-access"), ("_LCG", "random-access-lcg")] {
        let prefix = format!("MPIRandomAccess{suffix}_");
        let rate = format!("{prefix}GUPs");
        let named = [("n", "N", 1.0), ("updates_per_s", "GUPs", 1e9), ("updates", "ExeUpdates", 1.0)];
        let global = Test::new((TestMode::Mpi, test), "random-access-mpi", Metric::Updates, rate, 1e9);
        let global =
            global.named(&prefix, &named).named(&prefix, &[("errors", "Errors", 1.0), ("time_s", "time", 1.0)]);
        all.push(global.params(&prefix, &[("bits", "N")]));
        let (key, length) = (format!("RandomAccess{suffix}_GUPs"), format!("RandomAccess{suffix}_N"));
        all.extend(local(test, "random-access", Metric::Updates, &key, ("bits", &length)));
    }
    let ptrans = Test::new((TestMode::Mpi, "ptrans"), "ptrans", Metric::Bandwidth, "PTRANS_GBs".into(), 1e9);
    let ptrans =
        ptrans.named("PTRANS_", &[("n", "n", 1.0), ("nb", "nb", 1.0), ("p", "nprow", 1.0), ("q", "npcol", 1.0)]);
    let ptrans =
        ptrans.named("PTRANS_", &[("bytes_per_s", "GBs", 1e9), ("time_s", "time", 1.0), ("residual", "residual", 1.0)]);
    all.push(ptrans.params("PTRANS_", &[("n", "n"), ("nb", "nb")]));
    all.extend(local("dgemm", "dgemm", Metric::Flops, "DGEMM_Gflops", ("n", "DGEMM_N")));
    let stream = local("stream", "stream", Metric::Bandwidth, "STREAM_Triad", ("n", "STREAM_VectorSize"));
    all.extend(stream.into_iter().zip(MODES).map(|(test, (_, word))| {
        let loops = [("copy_bytes_per_s", "Copy", 1e9), ("scale_bytes_per_s", "Scale", 1e9)];
        let more = [("add_bytes_per_s", "Add", 1e9), ("triad_bytes_per_s", "Triad", 1e9)];
        let prefix = format!("{word}STREAM_");
        test.named(&prefix, &loops).named(&prefix, &more)
    }));
    let fft = Test::new((TestMode::Mpi, "fft"), "fft-mpi", Metric::Flops, "MPIFFT_Gflops".into(), 1e9);
    let fft = fft.named("MPIFFT_", &[("n", "N", 1.0), ("flops_per_s", "Gflops", 1e9), ("max_error", "maxErr", 1.0)]);
    all.push(fft.named("MPIFFT_", &[("ranks", "Procs", 1.0)]).params("MPIFFT_", &[("n", "N")]));
    all.extend(local("fft", "fft", Metric::Flops, "FFT_Gflops", ("n", "FFT_N")));
    all.extend(network());
    let hpl = Test::new((TestMode::Mpi, "hpl"), "hpl", Metric::Flops, "HPL_Tflops".into(), 1e12);
    let hpl = hpl.named("HPL_", &[("flops_per_s", "Tflops", 1e12), ("time_s", "time", 1.0), ("p", "nprow", 1.0)]);
    let hpl = hpl.named("HPL_", &[("q", "npcol", 1.0), ("rnorm_inf", "RnormI", 1.0)]);
    all.push(
        hpl.params("HPL_", &[("n", "N"), ("nb", "NB"), ("depth", "depth"), ("ndiv", "nbdiv"), ("nbmin", "nbmin")]),
    );
    all
}

/// Ping-pong and rings, each for latency and for bandwidth. Their samples are times.
fn network() -> [Test; 4] {
    let (us, gb) = (("Latency_usec", 1e-6), ("Bandwidth_GBytes", 1e9));
    let test = |name: &str, kernel, which: &str, (unit, scale): (&str, f64), all: &[(&'static str, &str)]| {
        let mut test = Test::new((TestMode::Mpi, name), kernel, Metric::Duration, format!("{which}{unit}"), scale);
        test.named.extend(all.iter().map(|(name, word)| (*name, format!("{word}{unit}"), scale)));
        test
    };
    let pairs = ["MinPingPong", "AvgPingPong", "MaxPingPong"];
    let rings = ["NaturallyOrderedRing", "RandomlyOrderedRing"];
    let with = |names: &[&'static str], words: &[&'static str]| -> Vec<(&'static str, &'static str)> {
        names.iter().copied().zip(words.iter().copied()).collect()
    };
    let late = with(&["latency_min_s", "latency_avg_s", "latency_max_s"], &pairs);
    let wide = with(&["bandwidth_min_bytes_per_s", "bandwidth_avg_bytes_per_s", "bandwidth_max_bytes_per_s"], &pairs);
    let ring_late = with(&["natural_latency_s", "random_latency_s"], &rings);
    let ring_wide = with(&["natural_bandwidth_bytes_per_s", "random_bandwidth_bytes_per_s"], &rings);
    [
        test("ping-pong-latency", "ping-pong", pairs[1], us, &late),
        test("ping-pong-bandwidth", "ping-pong", pairs[1], gb, &wide),
        test("ring-latency", "hpcc-rings", rings[1], us, &ring_late),
        test("ring-bandwidth", "hpcc-rings", rings[1], gb, &ring_wide),
    ]
}

/// Whether a file is what the original wrote.
pub fn is_one(text: &str) -> bool {
    text.contains(BEGIN)
}

/// Where the numbers of a summary come from.
pub(crate) struct Origin {
    /// The host or the system.
    pub name: String,
    /// What is said in the place of an MPI library.
    pub library: String,
    pub status: Status,
    pub layout: Layout,
    pub warnings: Vec<String>,
    /// Who checked the data.
    pub checked: &'static str,
}

/// All keys of a summary that have a place in a record.
pub(crate) fn keys() -> BTreeSet<String> {
    let all = tests().into_iter();
    all.flat_map(|t| {
        let named = t.named.into_iter().map(|(_, key, _)| key);
        named.chain(t.params.into_iter().map(|(_, key)| key)).chain([t.rate.0]).collect::<Vec<_>>()
    })
    .collect()
}

/// The record of its last summary: the original appends to the file, run after run.
pub fn read(text: &str) -> Result<RunRecord, String> {
    let (before, summary) = text.rsplit_once(BEGIN).ok_or("it has no summary section")?;
    let summary = summary.split("End of Summary section.").next().unwrap_or_default();
    let keys: BTreeMap<&str, &str> = summary.lines().filter_map(|l| l.trim().split_once('=')).collect();
    let ranks = keys.get("CommWorldProcs").and_then(|x| x.parse().ok()).filter(|r| *r > 0);
    let ranks: u32 = ranks.ok_or("its summary has no CommWorldProcs, the number of ranks")?;
    let success = keys.get("Success").copied() == Some("1");
    // The last host before the last summary: those before it belong to earlier runs.
    let host = before.rsplit_once("Hostname: '").and_then(|(_, rest)| rest.split('\'').next()).unwrap_or("unknown");
    let version = |key| keys.get(key).copied().unwrap_or("?");
    let named =
        format!("HPC Challenge {}.{}.{}", version("VersionMajor"), version("VersionMinor"), version("VersionMicro"));
    let failed = "its summary does not say Success=1: a check failed or a test did not run";
    let origin = Origin {
        name: host.into(),
        library: format!("{named}, its MPI unknown"),
        status: if success { Status::Complete } else { Status::Incomplete { reason: failed.into() } },
        layout: Layout { nodes: 1, ranks, min_ranks_per_node: ranks, max_ranks_per_node: ranks, parts_per_node: 1 },
        warnings: vec![
            "read from the original's output: one number for each test, no confidence".into(),
            "its output does not say on how many nodes it ran: they are counted as one".into(),
        ],
        checked: "the original checked it; see its Success",
    };
    Ok(record(&keys, origin))
}

/// A record of the numbers of a summary.
pub(crate) fn record(keys: &BTreeMap<&str, &str>, origin: Origin) -> RunRecord {
    let Origin { name, library, status, layout, warnings, checked } = origin;
    RunRecord {
        format: FORMAT.into(),
        version: VERSION,
        tailback: IMPORTED.into(),
        status,
        command: vec!["hpcc".into()],
        created: None,
        machine: MachineRecord::Mpi {
            facts: [("library".to_string(), library)].into(),
            host: Host { cpu: format!("host {name}"), name, kernel: "unknown".into(), ..Host::default() },
        },
        phases: tests().into_iter().filter_map(|test| phase(keys, test, layout.ranks, checked)).collect(),
        layout,
        plan: Plan::new("hpcc", 0, NodeOrder::Natural, Payload::Checked, Vec::new()),
        node_names: Vec::new(),
        hosts: Vec::new(),
        warnings,
        events: Vec::new(),
        network: None,
    }
}

/// A number of the summary; -1 is the original's word for a test that did not run.
fn number(keys: &BTreeMap<&str, &str>, key: &str) -> Option<f64> {
    keys.get(key).and_then(|x| x.parse::<f64>().ok()).filter(|x| x.is_finite() && *x >= 0.0)
}

/// A parameter as ours has it: the length of a table is given by its logarithm.
fn parameter(name: &str, value: &str) -> Option<String> {
    match name {
        "bits" => value.parse::<u64>().ok()?.checked_ilog2().map(|bits| bits.to_string()),
        _ => Some(value.to_string()),
    }
}

fn phase(keys: &BTreeMap<&str, &str>, test: Test, ranks: u32, checked: &str) -> Option<PhaseRecord> {
    let Test { mode, test, kernel, metric, rate: (key, scale), named, params } = test;
    let about = About::Test { mode: Some(mode), test, variant: None };
    let name = about.to_string();
    // A table may print the least or the largest of a ping-pong and not its average: a test with any of its numbers was run.
    let printed = || named.iter().filter(|_| metric == Metric::Duration).find_map(|(_, key, _)| number(keys, key));
    let value = number(keys, &key).or_else(printed).filter(|x| *x > 0.0)? * scale;
    // The samples of a bandwidth test are times, here that of one message.
    let rate = match metric {
        Metric::Duration if scale > 1.0 => MESSAGE / value,
        // Bandwidths are per rank; PTRANS' is of all.
        Metric::Bandwidth if mode == TestMode::Mpi => value / f64::from(ranks),
        _ => value,
    };
    let (mut samples, mut batches, mut extremes) = (Histogram::default(), Batches::default(), Extremes::default());
    samples.record(metric, rate);
    batches.add(rate, 0, 1);
    extremes.add(metric, rate, rate);
    let results = named.iter().filter_map(|(name, key, scale)| Some((name.to_string(), number(keys, key)? * scale)));
    let params = params
        .iter()
        .filter_map(|(name, key)| Some((name.to_string(), parameter(name, keys.get(key.as_str())?)?)))
        .collect();
    let job = JobRecord {
        name: name.clone(),
        kernel: kernel.into(),
        params,
        role: Role::Measured,
        ranks: if mode == TestMode::Single { 1 } else { ranks },
        metric,
        title: kernel.into(),
        // The samples of its latency and bandwidth tests are how long a message took; their results are the named numbers.
        tells: if metric == Metric::Duration { Tells::Results } else { Tells::Samples },
        incast: false,
        skipped: None,
        ended: Ended::Count,
        elapsed_s: 0.0,
        bytes: 0,
        summary: Summary::new(metric, &samples, &batches, extremes),
        samples,
        batches,
        verdict: Verdict::Unchecked { reason: checked.into() },
        coverage: None,
        notes: Vec::new(),
        results: results.collect(),
        pairs: None,
        placements: Vec::new(),
    };
    Some(PhaseRecord {
        name,
        about,
        elapsed_s: 0.0,
        began_s: None,
        jobs: vec![job],
        counters: Vec::new(),
        counted: BTreeMap::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWICE: &str = "Hostname: 'ares'\nBegin of Summary section.\nCommWorldProcs=2\nSuccess=1\nHPL_Tflops=9\nEnd of Summary section.\n\
        Hostname: 'zeus'\nBegin of Summary section.\nVersionMajor=1\nVersionMinor=5\nVersionMicro=0\nCommWorldProcs=64\nSuccess=1\n\
        HPL_Tflops=0.5\nHPL_N=8000\nHPL_depth=1\nMPIFFT_Gflops=-1\nStarSTREAM_Triad=4\nSingleSTREAM_Triad=8\nRandomlyOrderedRingLatency_usec=2.5\n\
        Garbage\nEnd of Summary section.\n";

    #[test]
    fn the_last_summary_counts_and_a_test_that_did_not_run_is_left_out() {
        let record = read(TWICE).unwrap();
        let names: Vec<&str> = record.phases.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["star/stream", "single/stream", "mpi/ring-latency", "mpi/hpl"]);
        let result = |phase: &str, name: &str| record.phase(phase).unwrap().jobs[0].results[name];
        assert_eq!(result("mpi/hpl", "flops_per_s"), 5e11);
        assert_eq!(result("star/stream", "triad_bytes_per_s"), 4e9);
        assert!((result("mpi/ring-latency", "random_latency_s") - 2.5e-6).abs() < 1e-18);
        assert_eq!(record.phase("mpi/hpl").unwrap().jobs[0].params["n"], "8000");
        assert_eq!((record.layout.ranks, record.phase("single/stream").unwrap().jobs[0].ranks), (64, 1));
        assert!(matches!(&record.machine, MachineRecord::Mpi { host, .. } if host.name == "zeus"));
        assert_eq!(record.status, Status::Complete);
    }

    #[test]
    fn a_failure_and_a_broken_file_are_not_hidden() {
        let failed = TWICE.replace("Success=1", "Success=0");
        assert!(matches!(read(&failed).unwrap().status, Status::Incomplete { .. }));
        assert!(read("Begin of Summary section.\nHPL_Tflops=1\n").unwrap_err().contains("CommWorldProcs"));
        assert!(!is_one("{}") && read("{}").is_err());
    }
}
