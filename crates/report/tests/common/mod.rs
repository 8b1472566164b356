//! A record made up from a seed, with everything a report can show, and the comparison with committed files.
#![allow(dead_code, reason = "each test file uses a part of it")]

use record::summary::Extremes;
use record::*;
use spec::{Params, Rng};
use std::path::PathBuf;

/// One kernel of the made-up run: name, metric, size, typical value in base units.
const CANARIES: [(&str, Metric, &str, f64); 3] = [
    ("p2p-lat", Metric::Latency, "8B", 1.8e-6),
    ("p2p-bw-sync", Metric::Bandwidth, "128KiB", 2.4e9),
    ("allreduce", Metric::Latency, "8B", 2.2e-5),
];
const CONGESTORS: [&str; 2] = ["a2a", "put-incast"];

/// Samples around `typical`, `factor` times worse, with a heavy tail.
pub fn job(name: &str, metric: Metric, role: Role, typical: f64, factor: f64, seed: u64) -> JobRecord {
    let mut rng = Rng::new(seed, name, 0);
    let (mut samples, mut batches, mut extremes) = (Histogram::default(), Batches::default(), Extremes::default());
    let worse =
        |times: f64| if metric.direction() == Direction::LowerIsBetter { typical * times } else { typical / times };
    let threshold = worse(2.2 * factor);
    batches.threshold = Some(threshold);
    for _ in 0..60 {
        let block: Vec<f64> = (0..50).map(|_| worse(factor * (1.0 + 0.3 * rng.exponential()))).collect();
        let beyond = block.iter().filter(|&&v| metric.impact(threshold, v) > 1.0).count();
        block.iter().for_each(|&v| samples.record(metric, v));
        let mean = block.iter().sum::<f64>() / block.len() as f64;
        batches.add(mean, beyond as u64, block.len() as u64);
        extremes.add(metric, mean, mean);
    }
    JobRecord {
        name: name.into(),
        kernel: name.into(),
        params: Params::new(),
        role,
        ranks: 8,
        metric,
        title: title(name).into(),
        tells: if ["ping-pong", "ring"].iter().any(|test| name.starts_with(test)) {
            Tells::Results
        } else {
            Tells::Samples
        },
        incast: name.ends_with("-incast"),
        skipped: None,
        ended: Ended::Count,
        elapsed_s: 0.5,
        bytes: 1_000_000_000,
        summary: Summary::new(metric, &samples, &batches, extremes),
        samples,
        batches,
        verdict: Verdict::Right { checked: 100 },
        coverage: None,
        notes: vec![],
        results: Default::default(),
        pairs: None,
        placements: Vec::new(),
    }
}

/// GPCNeT's names of the kernels above.
fn title(kernel: &str) -> &str {
    match kernel {
        "p2p-lat" => "RR Two-sided Lat",
        "p2p-bw-sync" => "RR Two-sided BW+Sync",
        "allreduce" => "Multiple Allreduce",
        "a2a" => "Alltoall",
        "put-incast" => "Put Incast",
        other => other,
    }
}

/// What the phases of the made-up runs are about, by the labels that they are written with here.
pub fn about(label: &str) -> About {
    let (first, test) = label.split_once('/').unwrap_or(("", label));
    let test = test.to_string();
    let mode = TestMode::ALL.into_iter().find(|m| m.word() == first);
    match first {
        "isolated" => About::Alone { test },
        "loaded" => About::Loaded { test, by: Load::All },
        "congestor" => About::Baseline { congestor: test },
        _ => match first.strip_prefix("loaded-by-") {
            Some(congestor) => About::Loaded { test, by: Load::Only(congestor.into()) },
            None => About::Test { mode, test, variant: None },
        },
    }
}

fn phase(name: &str, jobs: Vec<JobRecord>) -> PhaseRecord {
    let counters = jobs
        .iter()
        .enumerate()
        .map(|(i, job)| CounterRecord {
            name: "sim.stalled_ns".into(),
            job: job.name.clone(),
            per_node: (0..8).map(|n| n * n * 1000 * (i as u64 + 1)).collect(),
        })
        .collect();
    PhaseRecord {
        name: name.into(),
        about: about(name),
        elapsed_s: 1.0,
        began_s: None,
        jobs,
        counters,
        counted: Default::default(),
    }
}

/// GPCNeT with every set of phases; loads are `severity` times as harmful as usual.
pub fn gpcnet(severity: f64, seed: u64) -> RunRecord {
    let mut phases = Vec::new();
    let canary = |(name, metric, size, typical): (&str, Metric, &str, f64), factor: f64, salt: u64| {
        let mut job = job(name, metric, Role::Measured, typical, factor, seed + salt);
        job.params.insert("size".into(), size.into());
        job
    };
    let load = |name: &str| {
        let mut job = job(name, Metric::Bandwidth, Role::Background, 1e9, 1.0, seed);
        job.params.insert("size".into(), "4KiB".into());
        job
    };
    for c in CANARIES {
        phases.push(phase(&format!("isolated/{}", c.0), vec![canary(c, 1.0, 0)]));
    }
    for (i, congestor) in CONGESTORS.into_iter().enumerate() {
        for c in CANARIES {
            let jobs = vec![canary(c, 1.0 + severity * (i as f64 + 1.0), 1), load(congestor)];
            phases.push(phase(&format!("loaded-by-{congestor}/{}", c.0), jobs));
        }
    }
    for c in CANARIES {
        let jobs = std::iter::once(canary(c, 1.0 + 12.0 * severity, 2)).chain(CONGESTORS.map(load)).collect();
        phases.push(phase(&format!("loaded/{}", c.0), jobs));
    }
    RunRecord {
        format: record::run::FORMAT.into(),
        version: record::run::VERSION,
        tailback: "0.0.0".into(),
        status: Status::Complete,
        command: ["tailback", "run", "gpcnet", "--on", "a <b> & 'c'.toml"].map(String::from).into(),
        created: None,
        machine: MachineRecord::Simulated {
            name: "made-up".into(),
            file: "# A machine.\nnodes = 8\n".into(),
            facts: [("topology".to_string(), "fat tree".to_string())].into(),
        },
        layout: Layout::even(8, 2),
        plan: Plan::new("gpcnet", seed, NodeOrder::Shuffled, Payload::Checked, vec![incast()]),
        node_names: vec![],
        hosts: vec![],
        warnings: vec!["<script>alert('a warning')</script>".into()],
        events: vec!["link 0-1 set to 1.25GB/s at 800us".into()],
        network: Some(network()),
        phases,
    }
}

/// Two switches, three slices of two phases, and a cable that stalls in the second.
fn network() -> NetworkRecord {
    let one = |name: &str, x: f64| BoxRecord { name: name.into(), x, y: 300.0, level: 0, switches: 1, nics: 4 };
    let bundle = |from, to, kind: &str, bytes: [u64; 3], stalled: [u64; 3]| BundleRecord {
        from,
        to,
        kind: kind.into(),
        cables: 2,
        rate_bytes_per_s: 25e9,
        bytes: Series(bytes.into()),
        stalled_ns: Series(stalled.into()),
    };
    let slice = |phase: &str, from_s: f64| SliceRecord { phase: phase.into(), from_s, to_s: from_s + 1e-6 };
    NetworkRecord {
        size: (960.0, 640.0),
        grouped: false,
        boxes: vec![one("switch 0", 200.0), one("switch 1", 700.0)],
        slices: vec![slice("isolated/p2p-lat", 0.0), slice("loaded/p2p-lat", 5e-6), slice("loaded/p2p-lat", 6e-6)],
        bundles: vec![
            bundle(0, 1, "up", [100, 9000, 8000], [0, 1500, 300]),
            bundle(0, 0, "inject", [100, 9000, 8000], [0, 300, 0]),
            bundle(1, 1, "eject", [100, 9000, 8000], [0, 0, 0]),
        ],
        others: Series::default(),
    }
}

/// A phase of the plan with the incast on three nodes: reports ask the plan how many nodes drain it.
fn incast() -> Phase {
    let members = Members::Block { first_node: 2, nodes: 3, first_slot: 0, slots: None };
    let (name, kernel) = ("put-incast".to_string(), "put-incast".to_string());
    let role = Role::Background;
    let job = Job { name, kernel, params: Params::new(), role, members, instances: Instances::Slot, stop: Stop::ONCE };
    Phase::new(about("loaded/p2p-lat"), vec![job])
}

/// HPC Challenge with one case of each test: phase, metric, typical value, named numbers.
type Test = (&'static str, Metric, f64, &'static [(&'static str, f64)]);
const HPCC: [Test; 9] = [
    (
        "mpi/random-access",
        Metric::Updates,
        2e7,
        &[("optimized", 0.0), ("updates_per_s", 4e7), ("time_s", 0.4), ("n", 4194304.0), ("updates", 16777216.0)],
    ),
    (
        "mpi/ptrans",
        Metric::Bandwidth,
        1e9,
        &[("optimized", 0.0), ("bytes_per_s", 2e9), ("time_s", 0.06), ("residual", 0.0)],
    ),
    ("star/dgemm", Metric::Flops, 4e10, &[("optimized", 0.0), ("n", 3265.0), ("residual", 0.01)]),
    (
        "star/stream",
        Metric::Bandwidth,
        1e10,
        &[("optimized", 1.0), ("triad_bytes_per_s", 1.2e10), ("copy_bytes_per_s", 1e10)],
    ),
    (
        "mpi/fft",
        Metric::Flops,
        2e9,
        &[("optimized", 0.0), ("flops_per_s", 4e9), ("n", 4194304.0), ("max_error", 1e-15)],
    ),
    (
        "mpi/ping-pong-latency",
        Metric::Latency,
        1e-6,
        &[("optimized", 0.0), ("latency_avg_s", 1e-6), ("latency_min_s", 9e-7), ("latency_max_s", 2e-6)],
    ),
    (
        "mpi/ping-pong-bandwidth",
        Metric::Bandwidth,
        9e9,
        &[("optimized", 0.0), ("bandwidth_avg_bytes_per_s", 9e9), ("bandwidth_min_bytes_per_s", 8e9)],
    ),
    (
        "mpi/ring-bandwidth",
        Metric::Bandwidth,
        3e9,
        &[("optimized", 0.0), ("random_bandwidth_bytes_per_s", 3e9), ("natural_bandwidth_bytes_per_s", 5e9)],
    ),
    (
        "mpi/hpl",
        Metric::Flops,
        4e10,
        &[("optimized", 0.0), ("flops_per_s", 8e10), ("time_s", 4.2), ("residual", 0.003), ("n", 8000.0)],
    ),
];

/// A run of HPC Challenge, `speed` times as fast as usual.
pub fn hpcc(speed: f64, seed: u64) -> RunRecord {
    let test = |(name, metric, typical, results): &Test| {
        let faster = |x: f64, slow: bool| if slow { x / speed } else { x * speed };
        let slow = |metric: &Metric| metric.direction() == Direction::LowerIsBetter;
        let kernel = name.rsplit('/').next().unwrap();
        let mut job = job(kernel, *metric, Role::Measured, faster(*typical, slow(metric)), 1.0, seed);
        let named = |(name, x): &(&str, f64)| match name.ends_with("_per_s") || name.ends_with("_s") {
            true => (name.to_string(), faster(*x, !name.ends_with("_per_s"))),
            false => (name.to_string(), *x),
        };
        job.results = results.iter().map(named).collect();
        if kernel == "hpl" {
            let given = [
                ("n", "8000"),
                ("nb", "192"),
                ("pfact", "crout"),
                ("rfact", "right"),
                ("bcast", "long"),
                ("mapping", "column"),
            ];
            job.params = given.map(|(name, value)| (name.to_string(), value.to_string())).into();
        }
        PhaseRecord {
            name: name.to_string(),
            about: about(name),
            elapsed_s: 1.0,
            began_s: None,
            jobs: vec![job],
            counters: vec![],
            counted: Default::default(),
        }
    };
    let mut record = gpcnet(1.0, seed);
    record.command = ["tailback", "run", "hpcc"].map(String::from).into();
    record.plan.suite = "hpcc".into();
    record.plan.phases.clear();
    record.warnings.clear();
    record.phases = HPCC.iter().map(test).collect();
    record
}

/// Records of 0.1.0, one of every kind of run, with the figures of merit that it printed of them.
pub fn of_0_1_0() -> Vec<(String, RunRecord, String)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../record/tests/v1");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
    paths.sort();
    assert!(paths.len() >= 12, "records are missing: {paths:?}");
    let mut all = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let record = record::read(&path).unwrap_or_else(|e| panic!("{e}"));
        let printed = std::fs::read_to_string(path.with_extension("fom")).unwrap();
        all.push((name, record, printed));
    }
    all
}

/// Every record that tests have: those of 0.1.0 and those made up here.
pub fn every_record() -> Vec<(String, RunRecord)> {
    let mut all: Vec<(String, RunRecord)> = of_0_1_0().into_iter().map(|(name, record, _)| (name, record)).collect();
    all.push(("made-up gpcnet".into(), gpcnet(1.0, 1)));
    all.push(("made-up hpcc".into(), hpcc(1.0, 1)));
    let mut interrupted = gpcnet(1.0, 1);
    interrupted.status = Status::Incomplete { reason: "interrupted".into() };
    (interrupted.phases, interrupted.network) = (Vec::new(), None);
    all.push(("interrupted".into(), interrupted));
    all.push(("made-up pairs".into(), pairs()));
    all
}

/// All pairs of eight nodes on two switches, of which one node is slow; one value is of a node that is not there.
pub fn pairs() -> RunRecord {
    let mut record = gpcnet(1.0, 1);
    record.plan.suite = "pairs".into();
    let nodes = (0..8).map(|n| PairNode { switch: Some(n / 4), group: None }).collect();
    let slow = |a: u32, b: u32| if a == 5 || b == 5 { 3.0 } else { 1.0 };
    let of = |a: u32| (a + 1..8).map(move |b| PairValue { nodes: [a, b], bytes_per_s: 1e9 / slow(a, b) });
    let values = (0..8).flat_map(of).chain([PairValue { nodes: [1, 99], bytes_per_s: 1.0 }]).collect();
    record.phases.truncate(1);
    record.phases[0].jobs[0].pairs = Some(PairsRecord { nodes, values });
    record
}

/// Compares with the committed file; `UPDATE=1` rewrites it after a deliberate change.
pub fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let line = committed.lines().zip(text.lines()).position(|(a, b)| a != b);
    assert!(
        committed == text,
        "tests/golden/{name} differs, first in line {:?}; run with UPDATE=1 if the change is meant",
        line.map(|l| l + 1)
    );
}
