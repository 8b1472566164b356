//! What the original HPC Challenge wrote (`hpccoutf.txt`), as a record: its numbers then stand beside ours in every table and picture.
//!
//! Its summary has one number for each test, so there is one sample of each and no confidence.

use crate::batches::Batches;
use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::plan::{NodeOrder, Payload, Plan, Role};
use crate::run::{
    Ended, FORMAT, Host, IMPORTED, JobRecord, Layout, MachineRecord, PhaseRecord, RunRecord, Status, VERSION,
};
use crate::summary::{Extremes, Summary};
use crate::verdict::Verdict;
use std::collections::BTreeMap;

/// Bytes of a message of the bandwidth tests.
const MESSAGE: f64 = 2e6;
const BEGIN: &str = "Begin of Summary section.";

/// One test: its phase, kernel and metric, the key and scale of its rate, and the named numbers with theirs.
type Test = (&'static str, &'static str, Metric, (&'static str, f64), &'static [(&'static str, &'static str, f64)]);

const TESTS: [Test; 19] = [
    ("mpi/random-access", "random-access-mpi", Metric::Updates, ("MPIRandomAccess_GUPs", 1e9), &GLOBAL_UPDATES),
    ("star/random-access", "random-access", Metric::Updates, ("StarRandomAccess_GUPs", 1e9), &[UPDATES]),
    ("single/random-access", "random-access", Metric::Updates, ("SingleRandomAccess_GUPs", 1e9), &[UPDATES]),
    (
        "mpi/random-access-lcg",
        "random-access-mpi",
        Metric::Updates,
        ("MPIRandomAccess_LCG_GUPs", 1e9),
        &GLOBAL_UPDATES_LCG,
    ),
    ("star/random-access-lcg", "random-access", Metric::Updates, ("StarRandomAccess_LCG_GUPs", 1e9), &[UPDATES_LCG]),
    (
        "single/random-access-lcg",
        "random-access",
        Metric::Updates,
        ("SingleRandomAccess_LCG_GUPs", 1e9),
        &[UPDATES_LCG],
    ),
    ("mpi/ptrans", "ptrans", Metric::Bandwidth, ("PTRANS_GBs", 1e9), &PTRANS),
    ("star/dgemm", "dgemm", Metric::Flops, ("StarDGEMM_Gflops", 1e9), &[("n", "DGEMM_N", 1.0)]),
    ("single/dgemm", "dgemm", Metric::Flops, ("SingleDGEMM_Gflops", 1e9), &[("n", "DGEMM_N", 1.0)]),
    ("star/stream", "stream", Metric::Bandwidth, ("StarSTREAM_Triad", 1e9), &STAR_STREAM),
    ("single/stream", "stream", Metric::Bandwidth, ("SingleSTREAM_Triad", 1e9), &SINGLE_STREAM),
    ("mpi/fft", "fft-mpi", Metric::Flops, ("MPIFFT_Gflops", 1e9), &GLOBAL_FFT),
    ("star/fft", "fft", Metric::Flops, ("StarFFT_Gflops", 1e9), &[("n", "FFT_N", 1.0)]),
    ("single/fft", "fft", Metric::Flops, ("SingleFFT_Gflops", 1e9), &[("n", "FFT_N", 1.0)]),
    ("mpi/ping-pong-latency", "ping-pong", Metric::Duration, ("AvgPingPongLatency_usec", 1e-6), &PING_PONG_LATENCY),
    (
        "mpi/ping-pong-bandwidth",
        "ping-pong",
        Metric::Duration,
        ("AvgPingPongBandwidth_GBytes", 1e9),
        &PING_PONG_BANDWIDTH,
    ),
    ("mpi/ring-latency", "hpcc-rings", Metric::Duration, ("RandomlyOrderedRingLatency_usec", 1e-6), &RING_LATENCY),
    (
        "mpi/ring-bandwidth",
        "hpcc-rings",
        Metric::Duration,
        ("RandomlyOrderedRingBandwidth_GBytes", 1e9),
        &RING_BANDWIDTH,
    ),
    ("mpi/hpl", "hpl", Metric::Flops, ("HPL_Tflops", 1e12), &HPL),
];

const UPDATES: (&str, &str, f64) = ("n", "RandomAccess_N", 1.0);
const UPDATES_LCG: (&str, &str, f64) = ("n", "RandomAccess_LCG_N", 1.0);
const GLOBAL_UPDATES: [(&str, &str, f64); 5] = [
    ("n", "MPIRandomAccess_N", 1.0),
    ("updates_per_s", "MPIRandomAccess_GUPs", 1e9),
    ("updates", "MPIRandomAccess_ExeUpdates", 1.0),
    ("errors", "MPIRandomAccess_Errors", 1.0),
    ("time_s", "MPIRandomAccess_time", 1.0),
];
const GLOBAL_UPDATES_LCG: [(&str, &str, f64); 5] = [
    ("n", "MPIRandomAccess_LCG_N", 1.0),
    ("updates_per_s", "MPIRandomAccess_LCG_GUPs", 1e9),
    ("updates", "MPIRandomAccess_LCG_ExeUpdates", 1.0),
    ("errors", "MPIRandomAccess_LCG_Errors", 1.0),
    ("time_s", "MPIRandomAccess_LCG_time", 1.0),
];
const PTRANS: [(&str, &str, f64); 7] = [
    ("n", "PTRANS_n", 1.0),
    ("nb", "PTRANS_nb", 1.0),
    ("p", "PTRANS_nprow", 1.0),
    ("q", "PTRANS_npcol", 1.0),
    ("bytes_per_s", "PTRANS_GBs", 1e9),
    ("time_s", "PTRANS_time", 1.0),
    ("residual", "PTRANS_residual", 1.0),
];
const STAR_STREAM: [(&str, &str, f64); 5] = [
    ("n", "STREAM_VectorSize", 1.0),
    ("copy_bytes_per_s", "StarSTREAM_Copy", 1e9),
    ("scale_bytes_per_s", "StarSTREAM_Scale", 1e9),
    ("add_bytes_per_s", "StarSTREAM_Add", 1e9),
    ("triad_bytes_per_s", "StarSTREAM_Triad", 1e9),
];
const SINGLE_STREAM: [(&str, &str, f64); 5] = [
    ("n", "STREAM_VectorSize", 1.0),
    ("copy_bytes_per_s", "SingleSTREAM_Copy", 1e9),
    ("scale_bytes_per_s", "SingleSTREAM_Scale", 1e9),
    ("add_bytes_per_s", "SingleSTREAM_Add", 1e9),
    ("triad_bytes_per_s", "SingleSTREAM_Triad", 1e9),
];
const GLOBAL_FFT: [(&str, &str, f64); 4] = [
    ("n", "MPIFFT_N", 1.0),
    ("flops_per_s", "MPIFFT_Gflops", 1e9),
    ("max_error", "MPIFFT_maxErr", 1.0),
    ("ranks", "MPIFFT_Procs", 1.0),
];
const PING_PONG_LATENCY: [(&str, &str, f64); 3] = [
    ("latency_min_s", "MinPingPongLatency_usec", 1e-6),
    ("latency_avg_s", "AvgPingPongLatency_usec", 1e-6),
    ("latency_max_s", "MaxPingPongLatency_usec", 1e-6),
];
const PING_PONG_BANDWIDTH: [(&str, &str, f64); 3] = [
    ("bandwidth_min_bytes_per_s", "MinPingPongBandwidth_GBytes", 1e9),
    ("bandwidth_avg_bytes_per_s", "AvgPingPongBandwidth_GBytes", 1e9),
    ("bandwidth_max_bytes_per_s", "MaxPingPongBandwidth_GBytes", 1e9),
];
const RING_LATENCY: [(&str, &str, f64); 2] = [
    ("natural_latency_s", "NaturallyOrderedRingLatency_usec", 1e-6),
    ("random_latency_s", "RandomlyOrderedRingLatency_usec", 1e-6),
];
const RING_BANDWIDTH: [(&str, &str, f64); 2] = [
    ("natural_bandwidth_bytes_per_s", "NaturallyOrderedRingBandwidth_GBytes", 1e9),
    ("random_bandwidth_bytes_per_s", "RandomlyOrderedRingBandwidth_GBytes", 1e9),
];
const HPL: [(&str, &str, f64); 5] = [
    ("flops_per_s", "HPL_Tflops", 1e12),
    ("time_s", "HPL_time", 1.0),
    ("p", "HPL_nprow", 1.0),
    ("q", "HPL_npcol", 1.0),
    ("rnorm_inf", "HPL_RnormI", 1.0),
];

/// Parameters by kernel or phase: what a test must agree in to be compared with one of ours.
const PARAMS: [(&str, &str, &str); 17] = [
    ("hpl", "n", "HPL_N"),
    ("hpl", "nb", "HPL_NB"),
    ("hpl", "depth", "HPL_depth"),
    ("hpl", "ndiv", "HPL_nbdiv"),
    ("hpl", "nbmin", "HPL_nbmin"),
    ("ptrans", "n", "PTRANS_n"),
    ("ptrans", "nb", "PTRANS_nb"),
    ("dgemm", "n", "DGEMM_N"),
    ("stream", "n", "STREAM_VectorSize"),
    ("fft", "n", "FFT_N"),
    ("fft-mpi", "n", "MPIFFT_N"),
    ("mpi/random-access", "bits", "MPIRandomAccess_N"),
    ("mpi/random-access-lcg", "bits", "MPIRandomAccess_LCG_N"),
    ("star/random-access", "bits", "RandomAccess_N"),
    ("star/random-access-lcg", "bits", "RandomAccess_LCG_N"),
    ("single/random-access", "bits", "RandomAccess_N"),
    ("single/random-access-lcg", "bits", "RandomAccess_LCG_N"),
];

/// Whether a file is what the original wrote.
pub fn is_one(text: &str) -> bool {
    text.contains(BEGIN)
}

/// The record of its last summary: the original appends to the file, run after run.
pub fn read(text: &str) -> Result<RunRecord, String> {
    let (before, summary) = text.rsplit_once(BEGIN).ok_or("it has no summary section")?;
    let summary = summary.split("End of Summary section.").next().unwrap_or_default();
    let keys: BTreeMap<&str, &str> = summary.lines().filter_map(|l| l.trim().split_once('=')).collect();
    let ranks = keys.get("CommWorldProcs").and_then(|x| x.parse().ok()).filter(|r| *r > 0);
    let ranks: u32 = ranks.ok_or("its summary has no CommWorldProcs, the number of ranks")?;
    let success = keys.get("Success").copied() == Some("1");
    let host = before.rsplit_once("Hostname: '").and_then(|(_, rest)| rest.split('\'').next()).unwrap_or("unknown");
    let version = |key| keys.get(key).copied().unwrap_or("?");
    let named =
        format!("HPC Challenge {}.{}.{}", version("VersionMajor"), version("VersionMinor"), version("VersionMicro"));
    let one_node = Layout { nodes: 1, ranks, min_ranks_per_node: ranks, max_ranks_per_node: ranks, parts_per_node: 1 };
    Ok(RunRecord {
        format: FORMAT.into(),
        version: VERSION,
        tailback: IMPORTED.into(),
        status: if success {
            Status::Complete
        } else {
            Status::Incomplete {
                reason: "its summary does not say Success=1: a check failed or a test did not run".into(),
            }
        },
        command: vec!["hpcc".into()],
        created: None,
        machine: MachineRecord::Mpi {
            facts: [("library".to_string(), format!("{named}, its MPI unknown"))].into(),
            host: Host { name: host.into(), cpu: format!("host {host}"), kernel: "unknown".into(), ..Host::default() },
        },
        layout: one_node,
        plan: Plan {
            suite: "hpcc".into(),
            seed: 0,
            node_order: NodeOrder::Natural,
            payload: Payload::Checked,
            phases: Vec::new(),
            ejection: None,
            notes: Vec::new(),
        },
        node_names: Vec::new(),
        warnings: vec![
            "read from the original's output: one number for each test, no confidence".into(),
            "its output does not say on how many nodes it ran: they are counted as one".into(),
        ],
        events: Vec::new(),
        phases: TESTS.iter().filter_map(|test| phase(&keys, test, ranks)).collect(),
        network: None,
    })
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

fn phase(keys: &BTreeMap<&str, &str>, test: &Test, ranks: u32) -> Option<PhaseRecord> {
    let (name, kernel, metric, (key, scale), named) = *test;
    let value = number(keys, key).filter(|x| *x > 0.0)? * scale;
    // The samples of a bandwidth test are times, here that of one message.
    let rate = match metric {
        Metric::Duration if scale > 1.0 => MESSAGE / value,
        // Bandwidths are per rank; PTRANS' is of all.
        Metric::Bandwidth if name.starts_with("mpi/") => value / f64::from(ranks),
        _ => value,
    };
    let (mut samples, mut batches, mut extremes) = (Histogram::default(), Batches::default(), Extremes::default());
    samples.record(metric, rate);
    batches.add(rate, 0, 1);
    extremes.add(metric, rate, rate);
    let results = named.iter().filter_map(|(name, key, scale)| Some((name.to_string(), number(keys, key)? * scale)));
    let known = PARAMS.iter().filter(|(test, ..)| *test == kernel || *test == name);
    let params =
        known.filter_map(|(_, name, key)| Some((name.to_string(), parameter(name, keys.get(key)?)?))).collect();
    let job = JobRecord {
        name: name.into(),
        kernel: kernel.into(),
        params,
        role: Role::Measured,
        ranks: if name.starts_with("single/") { 1 } else { ranks },
        metric,
        skipped: None,
        ended: Ended::Count,
        elapsed_s: 0.0,
        bytes: 0,
        summary: Summary::new(metric, &samples, &batches, extremes),
        samples,
        batches,
        verdict: Verdict::Unchecked { reason: "the original checked it; see its Success".into() },
        notes: Vec::new(),
        results: results.collect(),
    };
    Some(PhaseRecord { name: name.into(), elapsed_s: 0.0, jobs: vec![job], counters: Vec::new() })
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
