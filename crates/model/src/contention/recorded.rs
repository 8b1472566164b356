//! What a record of `contention` (or of `run contention`) holds: graphs and the times or rates of their flows.
//!
//! A graph is a phase with one job per flow, its repetitions are the phases `NAME#0`, `NAME#1`, .., and `NAME#rate` has its steady rates. Graphs
//! named `alone..` are one flow alone.

use super::graph::{Flow, Graph};
use crate::numeric::stats::median;
use record::{Job, JobRecord, Members, Phase, PhaseRecord, RunRecord};

/// A graph that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredGraph {
    /// Its name in the plan.
    pub name: String,
    /// The graph, with the sizes and starts that were used.
    pub graph: Graph,
    /// For each flow its completion times in seconds over the repetitions; empty if rates were measured.
    pub times: Vec<Vec<f64>>,
    /// For each flow its rates in bytes per second over the blocks; empty if times were measured.
    pub rates: Vec<Vec<f64>>,
}

/// All of them, in the order of the record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Graphs of one flow alone.
    pub alone: Vec<MeasuredGraph>,
    /// The others.
    pub graphs: Vec<MeasuredGraph>,
}

impl Recorded {
    /// Reads a record; phases of other kinds are passed over.
    pub fn read(record: &RunRecord) -> Result<Recorded, String> {
        let mut groups: Vec<(&str, bool, &Phase, Vec<&PhaseRecord>)> = Vec::new();
        for (phase, done) in record.plan.phases.iter().zip(&record.phases) {
            let Some((name, repeat)) = phase.name.rsplit_once('#') else { continue };
            let steady = repeat == "rate";
            match groups.last_mut() {
                Some(group) if group.0 == name && group.1 == steady => group.3.push(done),
                _ if is_graph(phase) => groups.push((name, steady, phase, vec![done])),
                _ => {}
            }
        }
        let mut all = Recorded::default();
        for (name, steady, phase, repeats) in groups {
            let graph = graph(phase).map_err(|e| format!("{name}: {e}"))?;
            let values = values(&repeats);
            let (times, rates) = if steady { (Vec::new(), values) } else { (values, Vec::new()) };
            let entry = MeasuredGraph { name: name.into(), graph, times, rates };
            match name.starts_with("alone") {
                true => all.alone.push(entry),
                false => all.graphs.push(entry),
            }
        }
        Ok(all)
    }

    /// Seconds per byte of a flow alone: the middle over all that were measured.
    pub fn alpha(&self) -> Option<f64> {
        let alone = self.alone.iter().filter(|e| !e.times.is_empty());
        let each: Vec<f64> = alone.map(|e| middle(&e.times[0]) / e.graph.flows[0].bytes).collect();
        median(&each).filter(|a| a.is_finite() && *a > 0.0)
    }

    /// Bytes per second of a flow alone.
    pub fn rate(&self) -> Option<f64> {
        let alone = self.alone.iter().filter(|e| !e.rates.is_empty());
        let each: Vec<f64> = alone.map(|e| middle(&e.rates[0])).collect();
        median(&each).filter(|a| a.is_finite() && *a > 0.0)
    }
}

fn is_graph(phase: &Phase) -> bool {
    !phase.jobs.is_empty() && phase.jobs.iter().all(|j| matches!(j.kernel.as_str(), "flow" | "flow-rate"))
}

/// The graph of a phase; nodes are named by their places.
pub fn graph(phase: &Phase) -> Result<Graph, String> {
    let flow = |job: &Job| {
        let Members::Places(places) = &job.members else { return None };
        let [from, to] = places.as_slice() else { return None };
        let bytes = spec::parse_bytes(job.params.get("size")?).ok()? as f64;
        let start = job.params.get("start").map_or(Some(0.0), |t| spec::parse_time(t).ok().map(|t| t.secs()))?;
        Some(Flow { name: job.name.clone(), from: from.node as usize, to: to.node as usize, bytes, start, after: None })
    };
    let flows: Vec<Flow> = phase.jobs.iter().map(flow).collect::<Option<_>>().ok_or("its jobs are no flows")?;
    let nodes = flows.iter().map(|f| f.from.max(f.to) + 1).max().unwrap_or(0);
    let graph = Graph { nodes: (0..nodes).map(|n| n.to_string()).collect(), flows };
    graph.check().map_err(|e| e.1.to_string())?;
    Ok(graph)
}

/// The middle of repetitions; not a number if there are none.
pub fn middle(values: &[f64]) -> f64 {
    median(values).unwrap_or(f64::NAN)
}

/// Repetitions before the first of them is dropped, because it pays for connections and page faults.
const ENOUGH_TO_DROP_ONE: usize = 3;

/// For each flow its times over the repetitions of a graph, or its rates over the blocks of the one steady phase.
pub fn values(repeats: &[&PhaseRecord]) -> Vec<Vec<f64>> {
    let flows = repeats.first().map_or(0, |p| p.jobs.len());
    let of = |i: usize| {
        let jobs = repeats.iter().filter_map(|p| p.jobs.get(i));
        let mut all: Vec<f64> = jobs.flat_map(samples).collect();
        let steady = repeats[0].jobs[i].kernel == "flow-rate";
        if steady && all.len() > ENOUGH_TO_DROP_ONE {
            // When others have not begun or have ended already.
            all.pop();
        }
        if all.len() >= ENOUGH_TO_DROP_ONE {
            all.remove(0);
        }
        all
    };
    (0..flows).map(of).collect()
}

fn samples(job: &JobRecord) -> Vec<f64> {
    match job.kernel.as_str() {
        "flow-rate" => job.batches.batches.iter().filter(|b| b.blocks > 0.0).map(|b| b.sum / b.blocks).collect(),
        _ if job.summary.samples > 0 => {
            let lead = job.params.get("lead").and_then(|t| spec::parse_time(t).ok()).map_or(0.0, |t| t.secs());
            vec![job.summary.mean - lead]
        }
        _ => Vec::new(),
    }
}
