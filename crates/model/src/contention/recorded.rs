//! What a record of `contention` (or of `run contention`) holds: graphs and the times or rates of their flows.
//!
//! A graph is a phase with one measured job per flow. The phase says which graph it is, what it is for and whether times or rates were
//! measured ([`About::Graph`]); each repetition of times is a phase of its own.

use super::graph::{Flow, Graph};
use crate::numeric::stats::median;
use record::{About, FlowMeasure, Job, JobRecord, Members, Phase, PhaseRecord, Purpose, Role, RunRecord};

/// A graph that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredGraph {
    /// Its name in the plan.
    pub name: String,
    /// What it was measured for.
    pub purpose: Purpose,
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

/// The phases of one graph, before their values are read.
struct Repeats<'r> {
    name: &'r str,
    purpose: Purpose,
    steady: bool,
    planned: &'r Phase,
    done: Vec<&'r PhaseRecord>,
}

impl Recorded {
    /// Reads a record; phases of other kinds are passed over.
    pub fn read(record: &RunRecord) -> Result<Recorded, String> {
        let mut all = Recorded::default();
        for Repeats { name, purpose, steady, planned, done } in repeats(record) {
            let graph = graph(planned).map_err(|e| format!("{name}: {e}"))?;
            let values = values(&done);
            let (times, rates) = if steady { (Vec::new(), values) } else { (values, Vec::new()) };
            let list = if purpose == Purpose::Alone { &mut all.alone } else { &mut all.graphs };
            list.push(MeasuredGraph { name: name.into(), purpose, graph, times, rates });
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

/// The phases of graphs, repetitions together. Repetitions follow each other: the same name later on is another measurement, perhaps of
/// other sizes.
fn repeats(record: &RunRecord) -> Vec<Repeats<'_>> {
    let mut all: Vec<Repeats<'_>> = Vec::new();
    for (planned, phase) in record.plan.phases.iter().zip(&record.phases) {
        let About::Graph { graph, purpose, flows } = &planned.about else { continue };
        let (name, purpose, steady) = (graph.as_str(), *purpose, *flows == FlowMeasure::Rates);
        match all.last_mut() {
            Some(last) if (last.name, last.purpose, last.steady) == (name, purpose, steady) => last.done.push(phase),
            _ => all.push(Repeats { name, purpose, steady, planned, done: vec![phase] }),
        }
    }
    all
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
    let measured = phase.jobs.iter().filter(|j| j.role == Role::Measured);
    let flows: Vec<Flow> = measured.map(flow).collect::<Option<_>>().ok_or("its jobs are no flows")?;
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
    let mut flows: Vec<Vec<f64>> = Vec::new();
    for phase in repeats {
        let steady = matches!(phase.about, About::Graph { flows: FlowMeasure::Rates, .. });
        for (i, job) in phase.jobs.iter().filter(|j| j.role == Role::Measured).enumerate() {
            if i == flows.len() {
                flows.push(Vec::new());
            }
            flows[i].extend(if steady { rates(job) } else { times(job) });
        }
    }
    for values in &mut flows {
        if values.len() >= ENOUGH_TO_DROP_ONE {
            values.remove(0);
        }
    }
    flows
}

/// The rate of each block but the last of many, which goes on when other flows have ended.
fn rates(job: &JobRecord) -> Vec<f64> {
    let blocks = job.batches.batches.iter().filter(|b| b.blocks > 0.0);
    let mut rates: Vec<f64> = blocks.map(|b| b.sum / b.blocks).collect();
    if rates.len() > ENOUGH_TO_DROP_ONE {
        rates.pop();
    }
    rates
}

/// The time of the flow without the wait before it; none if it did not run.
fn times(job: &JobRecord) -> Vec<f64> {
    if job.summary.samples == 0 {
        return Vec::new();
    }
    // Programs before this one left it in the samples.
    let lead = job.params.get("lead").and_then(|t| spec::parse_time(t).ok()).map_or(0.0, |t| t.secs());
    vec![job.summary.mean - lead]
}
