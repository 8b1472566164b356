//! A contention graph: named nodes and the flows between them.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// More flows than this are refused: a file with more is a mistake or an attack, and the solver's memory is bounded.
pub const MAX_FLOWS: usize = 1_000_000;
/// Bytes of a flow that says nothing: 20 MiB, the paper's.
pub const DEFAULT_BYTES: f64 = 20_971_520.0;

/// One message from a node to another.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Flow {
    /// Its name, unique in the graph.
    pub name: String,
    /// Index of the sending node.
    pub from: usize,
    /// Index of the receiving node.
    pub to: usize,
    /// Its size in bytes; need not be whole.
    pub bytes: f64,
    /// Seconds after the start of everything, or after the end of `after`.
    pub start: f64,
    /// Index of a flow that must end first.
    pub after: Option<usize>,
}

/// Nodes and flows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Graph {
    /// Names of the nodes.
    pub nodes: Vec<String>,
    /// The flows.
    pub flows: Vec<Flow>,
}

/// A graph that is none. The flow's place in its file is added by the reader.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum GraphError {
    /// From a node to itself.
    #[error("flow `{flow}` goes from node `{node}` to itself; a flow connects two nodes")]
    SelfLoop {
        /// The flow.
        flow: String,
        /// The node.
        node: String,
    },
    /// Two flows of one name.
    #[error("flow name `{0}` is used twice; names tell flows apart")]
    Duplicate(String),
    /// A size that is none.
    #[error("flow `{flow}`: {bytes} is not a size; sizes are finite and not negative")]
    Bytes {
        /// The flow.
        flow: String,
        /// The refused value.
        bytes: f64,
    },
    /// A start that is none.
    #[error("flow `{flow}`: {start} is not a start time; starts are finite and not negative")]
    Start {
        /// The flow.
        flow: String,
        /// The refused value.
        start: f64,
    },
    /// An end of a flow that is not a node.
    #[error("flow `{flow}`: there is no node number {node}")]
    Node {
        /// The flow.
        flow: String,
        /// The refused value.
        node: usize,
    },
    /// Flows that wait for each other.
    #[error("flow `{0}` waits for itself through `after`; start times form a cycle")]
    Cycle(String),
    /// `after` names nothing.
    #[error("flow `{flow}` starts after `{after}`, which is not a flow")]
    After {
        /// The flow.
        flow: String,
        /// The name or number.
        after: String,
    },
    /// Too many.
    #[error("more than {MAX_FLOWS} flows; divide the graph into its components")]
    TooMany,
    /// None.
    #[error("a graph needs at least one flow")]
    Empty,
}

impl Graph {
    /// A graph of flows of equal size that start together, named a, b, c, ...; nodes are named by their numbers.
    pub fn from_edges(edges: &[(usize, usize)], bytes: f64) -> Result<Graph, GraphError> {
        let nodes = edges.iter().map(|&(s, d)| s.max(d) + 1).max().unwrap_or(0);
        // A wild node number must not become an allocation.
        if edges.len() > MAX_FLOWS || nodes > 2 * MAX_FLOWS {
            return Err(GraphError::TooMany);
        }
        let flow = |(i, &(from, to))| Flow { name: letters(i), from, to, bytes, start: 0.0, after: None };
        let flows = edges.iter().enumerate().map(flow).collect();
        let graph = Graph { nodes: (0..nodes).map(|n| n.to_string()).collect(), flows };
        graph.check().map_err(|e| e.1)?;
        Ok(graph)
    }

    /// The edges as node numbers.
    pub fn edges(&self) -> Vec<(usize, usize)> {
        self.flows.iter().map(|f| (f.from, f.to)).collect()
    }

    /// The graph of some of its flows, with the same nodes.
    pub fn part(&self, flows: &[usize]) -> Graph {
        // The flow it waits for may not be among them.
        let flows = flows.iter().map(|&i| Flow { after: None, ..self.flows[i].clone() }).collect();
        Graph { nodes: self.nodes.clone(), flows }
    }

    /// Refuses what no solver could use; says which flow is at fault.
    pub fn check(&self) -> Result<(), (usize, GraphError)> {
        match self.flows.len() {
            0 => return Err((0, GraphError::Empty)),
            n if n > MAX_FLOWS => return Err((MAX_FLOWS, GraphError::TooMany)),
            _ => {}
        }
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, f) in self.flows.iter().enumerate() {
            self.check_flow(f).map_err(|e| (i, e))?;
            if names.insert(&f.name, i).is_some() {
                return Err((i, GraphError::Duplicate(f.name.clone())));
            }
        }
        self.check_cycles()
    }

    fn check_flow(&self, f: &Flow) -> Result<(), GraphError> {
        let flow = || f.name.clone();
        if let Some(&node) = [f.from, f.to].iter().find(|&&n| n >= self.nodes.len()) {
            return Err(GraphError::Node { flow: flow(), node });
        }
        if f.from == f.to {
            return Err(GraphError::SelfLoop { flow: flow(), node: self.nodes[f.from].clone() });
        }
        if !(f.bytes.is_finite() && f.bytes >= 0.0) {
            return Err(GraphError::Bytes { flow: flow(), bytes: f.bytes });
        }
        if !(f.start.is_finite() && f.start >= 0.0) {
            return Err(GraphError::Start { flow: flow(), start: f.start });
        }
        match f.after {
            Some(a) if a >= self.flows.len() => Err(GraphError::After { flow: flow(), after: a.to_string() }),
            _ => Ok(()),
        }
    }

    /// Each flow waits for at most one other, so following `after` either ends or comes back.
    fn check_cycles(&self) -> Result<(), (usize, GraphError)> {
        // 0 unseen, 1 on the present path, 2 known to end.
        let mut state = vec![0u8; self.flows.len()];
        for i in 0..self.flows.len() {
            let mut path = Vec::new();
            let mut at = Some(i);
            while let Some(f) = at.filter(|&f| state[f] == 0) {
                state[f] = 1;
                path.push(f);
                at = self.flows[f].after;
            }
            if let Some(f) = at.filter(|&f| state[f] == 1) {
                return Err((f, GraphError::Cycle(self.flows[f].name.clone())));
            }
            path.into_iter().for_each(|f| state[f] = 2);
        }
        Ok(())
    }
}

/// a, b, .., z, aa, ab, ...
pub fn letters(mut i: usize) -> String {
    let mut name = Vec::new();
    loop {
        name.push(b'a' + (i % 26) as u8);
        if i < 26 {
            break;
        }
        // There is no digit zero: z is followed by aa, not ba.
        i = i / 26 - 1;
    }
    name.reverse();
    String::from_utf8(name).expect("letters are text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_in_letters() {
        assert_eq!([0, 25, 26, 27, 701, 702].map(letters), ["a", "z", "aa", "ab", "zz", "aaa"]);
    }

    #[test]
    fn bad_graphs_are_refused() {
        assert!(matches!(Graph::from_edges(&[(1, 1)], 1.0), Err(GraphError::SelfLoop { .. })));
        assert_eq!(Graph::from_edges(&[], 1.0), Err(GraphError::Empty));
        assert_eq!(Graph::from_edges(&[(0, usize::MAX - 1)], 1.0), Err(GraphError::TooMany));
        for bytes in [f64::NAN, -1.0, f64::INFINITY] {
            assert!(matches!(Graph::from_edges(&[(0, 1)], bytes), Err(GraphError::Bytes { .. })));
        }
        let mut g = Graph::from_edges(&[(0, 1), (1, 2), (2, 3)], 1.0).unwrap();
        g.flows[0].after = Some(1);
        g.flows[1].after = Some(2);
        assert!(g.check().is_ok());
        g.flows[2].after = Some(0);
        assert!(matches!(g.check(), Err((_, GraphError::Cycle(_)))));
        g.flows[2].after = Some(9);
        assert!(matches!(g.check(), Err((2, GraphError::After { .. }))));
        g.flows[2] = Flow { after: None, name: "a".into(), ..g.flows[2].clone() };
        assert_eq!(g.check(), Err((2, GraphError::Duplicate("a".into()))));
    }
}
