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
        skipped: None,
        ended: Ended::Count,
        elapsed_s: 0.5,
        bytes: 1_000_000_000,
        summary: Summary::new(metric, &samples, &batches, extremes),
        samples,
        batches,
        verdict: Verdict::Right { checked: 100 },
        notes: vec![],
        results: Default::default(),
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
    PhaseRecord { name: name.into(), elapsed_s: 1.0, jobs, counters }
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
        plan: Plan::new("gpcnet", seed, NodeOrder::Shuffled, Payload::Checked, vec![]),
        node_names: vec![],
        warnings: vec!["<script>alert('a warning')</script>".into()],
        phases,
    }
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
