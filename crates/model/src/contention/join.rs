//! Max-rate and contention joined: R_N becomes the capacity that flows compete for, R_C the most that one flow can use.
//!
//! With alpha = 1/R_N a penalty is at least R_N/R_C: rho = max(rule, R_N/R_C). So flows that a node can carry side by side do not slow
//! each other, and crowded ones share R_N as the rules say.

use super::solver::Options;
use crate::maxrate::analysis::Report;
use crate::maxrate::models::Limit;
use crate::maxrate::{self, Pattern};
use record::{About, Members, Phase, RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// Capacities in bytes per second, one way.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Capacities {
    /// What a node sends or receives at most in one direction.
    pub node: f64,
    /// What one flow uses at most.
    pub flow: f64,
    /// What they rest on.
    pub notes: Vec<String>,
}

/// No capacities in this fit.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum JoinError {
    /// Model (3) is missing or has no rates.
    #[error("model m3 gives no rates for large messages: {0}; measure more sizes or pairs")]
    NoRates(String),
    /// Not rates.
    #[error("capacities must be finite and above zero")]
    Value,
}

impl Capacities {
    /// Given capacities.
    pub fn new(node: f64, flow: f64) -> Result<Capacities, JoinError> {
        let good = [node, flow].iter().all(|r| r.is_finite() && *r > 0.0);
        if good { Ok(Capacities { node, flow, notes: Vec::new() }) } else { Err(JoinError::Value) }
    }

    /// From model (3) of the phase of the largest messages, converted to one-way rates. A node's rate that was not reached is
    /// taken at its lower bound, and said so.
    pub fn from_report(report: &Report) -> Result<Capacities, JoinError> {
        let missing = |why: &str| JoinError::NoRates(why.into());
        // The largest messages: flows of contention graphs have megabytes.
        let phase = report.phases.last().ok_or_else(|| missing("there are no phases"))?;
        let fit = phase.fit("m3").ok_or_else(|| missing("it was not fitted"))?;
        let flow = fit.value("rate_core").ok_or_else(|| missing("no point comes near R_C"))?;
        let node = fit.bound("rate_node").ok_or_else(|| missing("times do not grow with size"))?;
        let mut notes = vec![format!("node rate: {}", report.pattern.node_rate_means())];
        notes.extend(fit.limits.iter().map(Limit::to_string));
        Ok(Capacities { notes, ..Capacities::new(node, report.pattern.one_way_core_rate(flow))? })
    }

    /// From the max-rate measurements in a record: streams, where there are some, since a flow is one; else duplex, else ping-pong. Pairs
    /// across nodes come before pairs inside one.
    pub fn from_record(record: &RunRecord) -> Result<Capacities, String> {
        let mean = maxrate::Recorded::read(record, false);
        // Where pairs end one after the other their mean is too early, and the slowest one stands for a trial.
        let uneven = !mean.notes.is_empty();
        let data = if uneven { maxrate::Recorded::read(record, true) } else { mean };
        let place = |class: &str, pattern: Pattern| {
            let order = [Pattern::Stream, Pattern::Duplex, Pattern::PingPong].iter().position(|p| *p == pattern);
            // false comes before true: pairs on two nodes are preferred to pairs within one.
            (stays_inside(record, class), order)
        };
        let best = data.samples.iter().min_by_key(|((class, pattern), _)| place(class, *pattern));
        let ((class, pattern), samples) = best.ok_or("there are no max-rate measurements in it")?;
        let at = format!("{class}/{}", pattern.name());
        let options = maxrate::Options { pattern: *pattern, replicates: 0, ..maxrate::Options::default() };
        let points = maxrate::points(samples, options.location, true).map_err(|e| format!("{at}: {e}"))?;
        let report = maxrate::analyse(&points, &options).map_err(|e| format!("{at}: {e}"))?;
        let mut found = Capacities::from_report(&report).map_err(|e| format!("{at}: {e}"))?;
        found.notes.insert(0, format!("from {at}{}", if uneven { ", the slowest pair of a trial" } else { "" }));
        Ok(found)
    }

    /// How the solver uses them.
    pub fn options(&self) -> Options {
        Options { floor: (self.node / self.flow).max(1.0), ..Options::rate(self.node) }
    }
}

/// Whether the pairs of a class are inside one node, by the ranks that the plan gives them.
fn stays_inside(record: &RunRecord, class: &str) -> bool {
    let of_class = |p: &&Phase| matches!(&p.about, About::Point { class: c, .. } if c == class);
    let mut jobs = record.plan.phases.iter().filter(of_class).flat_map(|p| &p.jobs);
    jobs.any(|job| match &job.members {
        Members::Places(places) => places.iter().all(|p| p.node == places[0].node),
        Members::Block { nodes, .. } => *nodes == 1,
    })
}

#[cfg(test)]
mod tests {
    use super::super::rules::start;
    use super::super::{Graph, solve};
    use super::*;
    use crate::maxrate::Point;

    #[test]
    fn a_node_of_three_lanes_carries_three_flows_side_by_side() {
        let mut points = Vec::new();
        for j in 10..20 {
            for pairs in 1..=8u32 {
                // Streams: 1 GB/s each, 3 GB/s together.
                let seconds = 1e-5 + f64::from(1u32 << j) / 1e9 * (f64::from(pairs) / 3.0).max(1.0);
                points.push(Point { bytes: 1 << j, pairs, seconds, trials: vec![seconds] });
            }
        }
        let options =
            maxrate::Options { replicates: 0, pattern: maxrate::Pattern::Stream, ..maxrate::Options::default() };
        let capacities = Capacities::from_report(&maxrate::analyse(&points, &options).unwrap()).unwrap();
        assert!((capacities.node / 3e9 - 1.0).abs() < 1e-6 && (capacities.flow / 1e9 - 1.0).abs() < 1e-6);
        let rules = start("paper", &spec::Params::new()).unwrap();
        let time = |flows: usize| {
            let edges: Vec<(usize, usize)> = (1..=flows).map(|d| (0, d)).collect();
            let graph = Graph::from_edges(&edges, 1e9).unwrap();
            solve(&graph, &*rules, &capacities.options()).unwrap().end_s[0]
        };
        assert!((time(1) - 1.0).abs() < 1e-6 && (time(3) - 1.0).abs() < 1e-6 && (time(6) - 2.0).abs() < 1e-6);
    }

    #[test]
    fn bad_capacities_are_refused() {
        assert_eq!(Capacities::new(0.0, 1.0), Err(JoinError::Value));
        assert_eq!(Capacities::new(1.0, f64::NAN), Err(JoinError::Value));
    }
}
