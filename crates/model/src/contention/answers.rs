//! What commands say of a graph: predicted, measured, or inverted.

use super::derive::Derived;
use super::graph::Graph;
use super::recorded::middle;
use super::rules::Term;
use super::solver::Solution;
use schemars::JsonSchema;
use serde::Serialize;

/// What a rule set says of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Prediction {
    /// The graph's name.
    pub graph_name: String,
    /// The rule set.
    pub rules: String,
    /// The graph.
    pub graph: Graph,
    /// The penalty of each flow with all flows under way.
    pub penalties: Vec<f64>,
    /// Which rule gave which term, if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<Term>,
    /// When each flow starts and ends.
    pub solution: Solution,
}

/// What was measured of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measurement {
    /// The graph's name.
    pub graph_name: String,
    /// The graph.
    pub graph: Graph,
    /// Whether values are bytes per second, not seconds.
    pub rates: bool,
    /// The value of a flow alone.
    pub alone: f64,
    /// For each flow its repetitions.
    pub values: Vec<Vec<f64>>,
    /// The middle of each flow over that of a flow alone, above 1 if slower.
    pub slowdown: Vec<f64>,
}

impl Measurement {
    /// Compares the values of a graph's flows with that of a flow alone.
    pub fn new(graph_name: &str, graph: &Graph, rates: bool, alone: f64, values: Vec<Vec<f64>>) -> Measurement {
        let slowdown = |v: &Vec<f64>| if rates { alone / middle(v) } else { middle(v) / alone };
        let slowdown = values.iter().map(slowdown).collect();
        Measurement { graph_name: graph_name.into(), graph: graph.clone(), rates, alone, values, slowdown }
    }
}

/// Penalties derived from measurements of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Derivation {
    /// The graph's name.
    pub graph_name: String,
    /// The graph.
    pub graph: Graph,
    /// The penalty of each flow with all flows under way.
    pub penalties: Vec<Derived>,
    /// The graphs that were measured for it.
    pub measured: Vec<String>,
}
