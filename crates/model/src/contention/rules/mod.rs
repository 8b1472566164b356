//! Penalty rule sets: one file each, one line each in [`RULES`].
//!
//! A rule set computes the penalties of a *unit* of flows, all flows of one sender or, if its reach is
//! [`Reach::Component`], all flows connected with each other. The solver asks again only for units that a change can reach.

pub mod degree;
pub mod gige;
pub mod ib_residual;
pub mod local;
pub mod max_min;
pub mod myrinet;
pub mod paper_v1;
pub mod paper_v2;
pub mod paper_v3;
pub mod vienne;

use super::graph::Graph;
use super::traffic::{Reach, Traffic};
use schemars::JsonSchema;
use serde::Serialize;
use spec::{Card, Params};
use thiserror::Error;

/// All rule sets, in the order of lists and reports; the first is the default.
pub const RULES: &[RuleSet] = &[
    paper_v1::RULES,
    paper_v2::RULES,
    paper_v3::RULES,
    ib_residual::RULES,
    vienne::RULES,
    max_min::RULES,
    degree::RULES,
    myrinet::RULES,
    gige::RULES,
];

/// One rule set of the table.
#[derive(Clone, Copy)]
pub struct RuleSet {
    /// Its identity and parameters.
    pub card: Card,
    /// Makes it ready with resolved parameters.
    pub start: fn(&Params) -> Box<dyn Rules>,
}

impl std::fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuleSet").field("name", &self.card.name).finish_non_exhaustive()
    }
}

/// A rule set ready for use.
pub trait Rules {
    /// How far a change reaches; [`Reach::Component`] also makes components the unit.
    fn reach(&self) -> Reach;
    /// Writes the penalties of one unit, in the order of `flows`, and explains them in `notes`.
    fn penalties(&self, traffic: &Traffic, flows: &[u32], out: &mut [f64], notes: &mut Notes) -> Result<(), RuleError>;
}

/// Which rule gave which part of a flow's penalty.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Term {
    /// Index of the flow.
    pub flow: u32,
    /// The rule.
    pub rule: String,
    /// Its contribution: what is added to or compared for the penalty.
    pub value: f64,
    /// In words.
    pub text: String,
}

/// Where a rule set explains itself, if that is wanted.
#[derive(Debug, Default)]
pub struct Notes(Option<Vec<Term>>);

impl Notes {
    /// Adds a term if notes are wanted; the text is made only then.
    pub fn add(&mut self, flow: u32, rule: &str, value: f64, text: impl FnOnce() -> String) {
        if let Some(terms) = &mut self.0 {
            terms.push(Term { flow, rule: rule.into(), value, text: text() });
        }
    }

    /// Whether notes are wanted.
    pub fn wanted(&self) -> bool {
        self.0.is_some()
    }
}

/// A graph that a rule set cannot do.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum RuleError {
    /// No such rule set.
    #[error("{0}")]
    Unknown(String),
    /// A parameter is wrong.
    #[error("{0}")]
    Param(String),
    /// The graph is none.
    #[error("{0}")]
    Graph(String),
    /// Its cost grows exponentially.
    #[error("{rules}: a component of {flows} flows; it enumerates sets of flows and takes at most {most}")]
    TooLarge {
        /// The rule set.
        rules: &'static str,
        /// Flows of the component.
        flows: usize,
        /// Its limit.
        most: usize,
    },
}

/// A rule set by name with parameters over its defaults.
pub fn start(name: &str, given: &Params) -> Result<Box<dyn Rules>, RuleError> {
    let unknown = || RuleError::Unknown(spec::near::unknown("rule set", name, RULES.iter().map(|r| r.card.name)));
    let set = RULES.iter().find(|r| r.card.name == name).ok_or_else(unknown)?;
    Ok((set.start)(&set.card.resolve(given).map_err(|e| RuleError::Param(e.to_string()))?))
}

/// The penalties of all flows of a graph under way together.
pub fn evaluate(rules: &dyn Rules, graph: &Graph) -> Result<Vec<f64>, RuleError> {
    run(rules, graph, &mut Notes::default())
}

/// The penalties of all flows and, for each, which rule gave which term, ordered by flow.
pub fn explain(rules: &dyn Rules, graph: &Graph) -> Result<(Vec<f64>, Vec<Term>), RuleError> {
    let mut notes = Notes(Some(Vec::new()));
    let penalties = run(rules, graph, &mut notes)?;
    let mut terms = notes.0.unwrap_or_default();
    terms.sort_by_key(|t| t.flow);
    Ok((penalties, terms))
}

fn run(rules: &dyn Rules, graph: &Graph, notes: &mut Notes) -> Result<Vec<f64>, RuleError> {
    graph.check().map_err(|e| RuleError::Graph(e.1.to_string()))?;
    let mut traffic = Traffic::of(graph.nodes.len(), &graph.edges());
    let mut penalties = vec![0.0; graph.flows.len()];
    for sender in 0..graph.nodes.len() as u32 {
        let first = traffic.flows_from(sender).first().copied();
        // A component is done when its first sender comes up.
        if first.is_none_or(|f| penalties[f as usize] != 0.0) {
            continue;
        }
        let unit = match rules.reach() {
            Reach::Component => traffic.component(sender),
            _ => traffic.flows_from(sender).to_vec(),
        };
        let mut found = vec![0.0; unit.len()];
        rules.penalties(&traffic, &unit, &mut found, notes)?;
        unit.iter().zip(found).for_each(|(&f, p)| penalties[f as usize] = p);
    }
    Ok(penalties)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::published;
    use super::*;

    /// Penalties of a built-in graph by a rule set with its defaults.
    pub fn published(rules: &str, graph: &str) -> Vec<f64> {
        evaluate(&*start(rules, &Params::new()).unwrap(), &published::find(graph).unwrap()).unwrap()
    }

    /// Penalties of a graph given by edges.
    pub fn of_edges(rules: &str, edges: &[(usize, usize)]) -> Vec<f64> {
        evaluate(&*start(rules, &Params::new()).unwrap(), &Graph::from_edges(edges, 1.0).unwrap()).unwrap()
    }

    /// Equal to a few units in the last place.
    pub fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-9)
    }

    #[test]
    fn unknown_rule_sets_are_named() {
        let e = start("vienna", &Params::new()).err().unwrap();
        assert!(e.to_string().contains("did you mean `vienne`"), "{e}");
    }
}
