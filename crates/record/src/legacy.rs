//! Version 1 of records and plans, as Tailback 0.1.0 wrote them: what a phase is about stood in its name, and what is known of a
//! kernel stood in its reader. This is the one place that still reads those names; what it finds goes into the types of today.
//!
//! The tables here are closed: they describe 0.1.0 and nothing that came after it.

use crate::about::{About, FlowMeasure, Load, PairPattern, Purpose, TestMode};
use serde_json::{Map, Value, json};

/// Brings a record of version 1 up to date.
pub(crate) fn record(record: &mut Value) {
    plan(&mut record["plan"]);
    let mut found = Vec::new();
    for phase in list(record, "phases") {
        let said = json!(about(phase));
        for job in list(phase, "jobs") {
            job_record(job);
        }
        phase["about"] = said.clone();
        found.push(said);
    }
    // What ran has all its parameters; a plan has only those that were given.
    for (planned, said) in list(&mut record["plan"], "phases").zip(found) {
        planned["about"] = said;
    }
    // Not `VERSION`: this file leads from 1 to 2, whatever comes after.
    record["version"] = json!(2);
}

/// Brings a plan of 0.1.0 up to date; phases that say what they are about stay as they are.
pub(crate) fn plan(plan: &mut Value) {
    for phase in list(plan, "phases") {
        if phase.get("about").is_some() {
            continue;
        }
        phase["about"] = json!(about(phase));
        for job in list(phase, "jobs") {
            rename_kernel(job);
        }
    }
}

/// The objects of a list. What else stands there is left for the reader of today to refuse.
fn list<'v>(value: &'v mut Value, name: &str) -> impl Iterator<Item = &'v mut Value> {
    value.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten().filter(|v| v.is_object())
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The exchange in pairs is a way to do an all-to-all, no longer a kernel of its own.
fn rename_kernel(job: &mut Value) {
    let by = match text(job, "kernel") {
        "a2a" => "pairs",
        "alltoall" => "collective",
        _ => return,
    };
    job["kernel"] = json!("alltoall");
    if let Some(params) = job.get_mut("params").and_then(Value::as_object_mut) {
        params.entry("by").or_insert_with(|| json!(by));
        if by == "collective" {
            params.entry("partners").or_insert_with(|| json!("0"));
        }
    }
}

fn job_record(job: &mut Value) {
    // The name of 0.1.0: once renamed, the two all-to-alls are alike, and their titles are not.
    let kernel = text(job, "kernel").to_string();
    let named = job.get("results").and_then(Value::as_object).is_some_and(|r| !r.is_empty());
    let tells = match kernel.as_str() {
        "pause" => "nothing",
        "ping-pong" | "hpcc-rings" if named => "results",
        _ => "samples",
    };
    let title = title(&kernel, job);
    job["title"] = json!(title);
    job["tells"] = json!(tells);
    if matches!(kernel.as_str(), "p2p-incast" | "put-incast") {
        job["incast"] = json!(true);
    }
    rename_kernel(job);
}

/// GPCNeT's name of a canary or congestor; others are called by their kernel.
fn title(kernel: &str, job: &Value) -> String {
    let natural = job.get("params").is_some_and(|p| text(p, "order") == "natural");
    let measured = text(job, "role") == "measured";
    let title = match kernel {
        "p2p-lat" => "RR Two-sided Lat",
        "get-lat" => "RR Get Lat",
        "p2p-bw" if natural => "Nat Two-sided BW",
        "p2p-bw" => "RR Two-sided BW",
        "put-bw" => "RR Put BW",
        "p2p-bw-sync" => "RR Two-sided BW+Sync",
        "allreduce" if measured => "Multiple Allreduce",
        "allreduce" => "Allreduce",
        "alltoall" => "Multiple Alltoall",
        "a2a" => "Alltoall",
        "p2p-incast" => "Two-sided Incast",
        "put-incast" => "Put Incast",
        "get-bcast" => "Get Bcast",
        "p2p-bcast" => "Two-sided Bcast",
        other => other,
    };
    title.into()
}

/// What a phase of 0.1.0 is about, by its name and its jobs. A name that follows no rule of 0.1.0 was written by hand: it is a test.
fn about(phase: &Value) -> About {
    let name = text(phase, "name");
    let jobs = phase.get("jobs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let measured = jobs.iter().find(|j| text(j, "role") == "measured");
    let own = || About::Test { mode: None, test: name.into(), variant: None };
    if let Some(test) = name.strip_prefix("isolated/") {
        return About::Alone { test: test.into() };
    }
    if let Some(test) = name.strip_prefix("loaded/") {
        return About::Loaded { test: test.into(), by: Load::All };
    }
    if let Some(congestor) = name.strip_prefix("congestor/") {
        return About::Baseline { congestor: congestor.into() };
    }
    // In every other kind of phase something is measured (see `About::measures`).
    let Some(job) = measured else { return About::Load };
    if let Some(rest) = name.strip_prefix("loaded-by-") {
        // Both parts may hold a slash; the canary's job has its name.
        let congestor = rest.strip_suffix(text(job, "name")).and_then(|r| r.strip_suffix('/'));
        return congestor
            .map_or_else(own, |c| About::Loaded { test: text(job, "name").into(), by: Load::Only(c.into()) });
    }
    if let Some(n) = numbered(name, "candidate-") {
        return About::Loaded { test: text(job, "name").into(), by: Load::Candidate(n) };
    }
    if let Some(index) = numbered(name, "rest-") {
        return About::Rest { index };
    }
    if let Some((index, test)) = name.split_once('/').and_then(|(a, b)| Some((numbered(a, "ambient-")?, b))) {
        return About::Series { test: test.into(), index };
    }
    // Those told by their kernels come first: a graph or a class may have any name, also one that begins like a mode.
    graph(name, jobs).or_else(|| point(name, job)).or_else(|| of_mode(name)).unwrap_or_else(own)
}

fn numbered(name: &str, prefix: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.parse().ok()
}

/// `NAME#0`, `NAME#1`, .. and `NAME#rate` were the phases of a graph.
fn graph(name: &str, jobs: &[Value]) -> Option<About> {
    if !jobs.iter().all(|j| matches!(text(j, "kernel"), "flow" | "flow-rate")) {
        return None;
    }
    let (graph, repeat) = name.rsplit_once('#')?;
    let flows = match repeat {
        "rate" => FlowMeasure::Rates,
        number => FlowMeasure::Times { repeat: number.parse().ok()? },
    };
    let purpose = match graph {
        g if g.starts_with("alone") => Purpose::Alone,
        g if g.starts_with("learn-") => Purpose::Learn,
        "calibrate-out" | "calibrate-in" | "calibrate-block" => Purpose::Calibrate,
        _ => Purpose::Score,
    };
    Some(About::Graph { graph: graph.into(), purpose, flows })
}

/// `CLASS/MODE/n=N/k=K` was a point of max-rate; kernels tell the others.
fn point(name: &str, job: &Value) -> Option<About> {
    let empty = Map::new();
    let params = job.get("params").and_then(Value::as_object).unwrap_or(&empty);
    let param = |name: &str| params.get(name).and_then(Value::as_str).unwrap_or_default();
    let messages = param("messages").parse().unwrap_or(1);
    let pattern = match text(job, "kernel") {
        "pair-pingpong" => PairPattern::Pingpong,
        "pair-stream" => PairPattern::Stream,
        "pair-duplex" => PairPattern::Duplex,
        "eager-limit" => PairPattern::EagerLimit,
        "pair-prtt" => PairPattern::RoundTrip { messages, spaced: param("pause") == "trip" },
        "pair-queue" => PairPattern::Queue { messages, reverse: param("order") == "reverse" },
        _ => return None,
    };
    let class = name.split('/').next().unwrap_or_default().to_string();
    let size = if pattern == PairPattern::EagerLimit { "most" } else { "size" };
    let bytes = spec::parse_bytes(param(size)).unwrap_or(0);
    let places = job.get("members").and_then(|m| m.get("places")).and_then(Value::as_array).map(|p| p.len() as u64);
    // A record says how many ranks ran, a plan only where they are.
    let ranks = job.get("ranks").and_then(Value::as_u64).or(places).unwrap_or(2);
    Some(About::Point { class, pattern, bytes, pairs: (ranks / 2) as u32 })
}

/// `MODE/TEST` or `MODE/TEST/NUMBER` was a test of HPC Challenge.
fn of_mode(name: &str) -> Option<About> {
    let (mode, rest) = name.split_once('/')?;
    let mode = TestMode::ALL.into_iter().find(|m| m.word() == mode)?;
    let (test, variant) = match rest.split_once('/') {
        Some((test, n)) => (test, Some(n.parse().ok()?)),
        None => (rest, None),
    };
    Some(About::Test { mode: Some(mode), test: test.into(), variant })
}
