//! Which rule set is right for a network: every rule set predicts measured graphs, and the paper's Figure 5 metrics are taken
//! per number of edges. err = (T_p - T_m)/T_m.

use super::graph::Graph;
use super::rules::Rules;
use super::solver::{Options, solve};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// A graph and when each of its flows ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// The graph, with the sizes and starts that were used.
    pub graph: Graph,
    /// When each flow ended, in seconds since the common start.
    pub end_s: Vec<f64>,
}

/// Errors over graphs of one number of edges, or over all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Errors {
    /// Graphs.
    pub graphs: usize,
    /// Flows.
    pub flows: usize,
    /// Mean over all flows of |err|.
    pub mean: f64,
    /// Largest over the graphs of the mean |err| of a graph (Figure 5).
    pub max_graph_mean: f64,
    /// Largest over all flows of |err| (Figure 5).
    pub max_flow: f64,
}

/// How one rule set did.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Score {
    /// The rule set.
    pub rules: String,
    /// Over all graphs.
    pub all: Errors,
    /// By number of edges.
    pub by_edges: BTreeMap<usize, Errors>,
    /// Why graphs were left out, if some were; such a rule set cannot be the best.
    pub refused: Vec<String>,
}

/// How all did.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Validation {
    /// One score per rule set, in the order given.
    pub scores: Vec<Score>,
    /// The rule set of the smallest mean |err| among those that could do all graphs.
    pub best: Option<String>,
}

/// Measurements that cannot be compared with anything.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ValidateError {
    /// Nothing was measured.
    #[error("there are no measured graphs")]
    Empty,
    /// Times that are none.
    #[error("graph {graph}: {found} ends for {flows} flows; each flow needs a finite end after its start")]
    Ends {
        /// Which, from 0.
        graph: usize,
        /// Good ends.
        found: usize,
        /// Flows.
        flows: usize,
    },
}

/// Scores rule sets against measurements. `options.alpha` is the measured seconds per byte of a flow alone.
pub fn validate(
    measured: &[Measured],
    options: &Options,
    candidates: &[(&str, &dyn Rules)],
) -> Result<Validation, ValidateError> {
    if measured.is_empty() {
        return Err(ValidateError::Empty);
    }
    for (graph, m) in measured.iter().enumerate() {
        let flows = m.graph.flows.len();
        let found = m.end_s.iter().filter(|e| e.is_finite() && **e > 0.0).count();
        if found != flows || m.end_s.len() != flows {
            return Err(ValidateError::Ends { graph, found, flows });
        }
    }
    let scores: Vec<Score> = candidates.iter().map(|(name, rules)| score(measured, options, name, *rules)).collect();
    // A rule set that refuses the hard graphs must not win by the easy ones.
    let able = scores.iter().filter(|s| s.refused.is_empty());
    let best = able.min_by(|a, b| a.all.mean.total_cmp(&b.all.mean)).map(|s| s.rules.clone());
    Ok(Validation { scores, best })
}

fn score(measured: &[Measured], options: &Options, name: &str, rules: &dyn Rules) -> Score {
    let mut score =
        Score { rules: name.into(), all: Errors::default(), by_edges: BTreeMap::new(), refused: Vec::new() };
    for (i, m) in measured.iter().enumerate() {
        match solve(&m.graph, rules, options) {
            Ok(predicted) => {
                let error = |(p, t): (&f64, &f64)| ((p - t) / t).abs();
                let errors: Vec<f64> = predicted.end_s.iter().zip(&m.end_s).map(error).collect();
                score.all.add(&errors);
                score.by_edges.entry(errors.len()).or_default().add(&errors);
            }
            Err(e) => score.refused.push(format!("graph {i}: {e}")),
        }
    }
    score
}

impl Errors {
    /// Adds the errors of the flows of one graph.
    fn add(&mut self, errors: &[f64]) {
        let sum: f64 = errors.iter().sum();
        let total = self.mean * self.flows as f64 + sum;
        self.graphs += 1;
        self.flows += errors.len();
        self.mean = total / self.flows as f64;
        self.max_graph_mean = self.max_graph_mean.max(sum / errors.len() as f64);
        self.max_flow = errors.iter().copied().fold(self.max_flow, f64::max);
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{DrawSettings, draw};
    use super::super::rules::{RULES, start};
    use super::*;
    use spec::Params;

    #[test]
    fn the_rule_set_that_made_the_data_wins_without_error() {
        let sets: Vec<(&str, Box<dyn Rules>)> =
            RULES.iter().map(|r| (r.card.name, start(r.card.name, &Params::new()).unwrap())).collect();
        let candidates: Vec<(&str, &dyn Rules)> = sets.iter().map(|(n, r)| (*n, &**r)).collect();
        let options = Options::rate(1e9);
        let mut graphs = Vec::new();
        for edges in [4, 6, 8] {
            graphs.extend(draw(&DrawSettings { edges, graphs: 12, ..DrawSettings::default() }).unwrap());
        }
        for (truth, rules) in &sets {
            let solved = |g: &Graph| solve(g, &**rules, &options).unwrap().end_s;
            let measured: Vec<Measured> =
                graphs.iter().map(|g| Measured { end_s: solved(g), graph: g.clone() }).collect();
            let v = validate(&measured, &options, &candidates).unwrap();
            let own = v.scores.iter().find(|s| s.rules == *truth).unwrap();
            assert!(own.all.max_flow < 1e-12 && own.by_edges.len() == 3 && own.all.graphs == 36, "{own:?}");
            let best = v.scores.iter().find(|s| Some(&s.rules) == v.best.as_ref()).unwrap();
            assert!(best.all.mean < 1e-12, "{truth}: {best:?}");
        }
    }

    #[test]
    fn bad_measurements_are_refused() {
        let graph = Graph::from_edges(&[(0, 1)], 1.0).unwrap();
        let options = Options::rate(1.0);
        assert_eq!(validate(&[], &options, &[]), Err(ValidateError::Empty));
        for end_s in [vec![], vec![f64::NAN], vec![1.0, 2.0]] {
            assert!(validate(&[Measured { graph: graph.clone(), end_s }], &options, &[]).is_err());
        }
    }
}
