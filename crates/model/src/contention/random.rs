//! Random contention graphs by number of edges, no two alike up to the names of their nodes; and complete lists of small ones.

use super::canonical::{canonical, components};
use super::graph::{DEFAULT_BYTES, Graph};
use spec::Rng;
use std::collections::BTreeSet;
use thiserror::Error;

/// What to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawSettings {
    /// Nodes to choose from; the paper had 9.
    pub nodes: usize,
    /// Flows of each graph.
    pub edges: usize,
    /// How many graphs.
    pub graphs: usize,
    /// Largest in- and out-degree: cores per node, since a rank serves one flow.
    pub degree: usize,
    /// Whether two flows may have the same ends.
    pub parallel: bool,
    /// Whether all flows must be connected.
    pub connected: bool,
    /// Bytes of every flow.
    pub bytes: f64,
    /// Seed.
    pub seed: u64,
}

impl Default for DrawSettings {
    fn default() -> DrawSettings {
        DrawSettings {
            nodes: 9,
            edges: 5,
            graphs: 60,
            degree: 8,
            parallel: false,
            connected: false,
            bytes: DEFAULT_BYTES,
            seed: 1,
        }
    }
}

/// Graphs that cannot exist.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RandomError {
    /// Too few nodes.
    #[error("{0} nodes; flows connect two nodes")]
    Nodes(usize),
    /// Out of range.
    #[error("{edges} edges do not fit: {nodes} nodes of degree {degree} carry 1 to {most}")]
    Edges {
        /// Asked for.
        edges: usize,
        /// Nodes.
        nodes: usize,
        /// Largest degree.
        degree: usize,
        /// What fits.
        most: usize,
    },
}

/// Draws in vain after which the list is taken to be complete.
const PATIENCE: usize = 2000;

/// Draws graphs: ordered pairs of different nodes, uniformly, again if a degree is too large; a graph like an earlier one is
/// dropped. Returns fewer than asked for if there are no more, or none were found in thousands of draws.
pub fn draw(settings: &DrawSettings) -> Result<Vec<Graph>, RandomError> {
    let (n, m) = (settings.nodes, settings.edges);
    if n < 2 {
        return Err(RandomError::Nodes(n));
    }
    let by_pairs = if settings.parallel { usize::MAX } else { n.saturating_mul(n - 1) };
    let most = n.saturating_mul(settings.degree).min(by_pairs).min(super::canonical::MAX_EDGES);
    if m == 0 || m > most {
        return Err(RandomError::Edges { edges: m, nodes: n, degree: settings.degree, most });
    }
    // A stream for each number of edges: one group does not change with the others.
    let mut rng = Rng::new(settings.seed, "contention graphs", m as u64);
    let (mut seen, mut graphs, mut vain) = (BTreeSet::new(), Vec::new(), 0);
    while graphs.len() < settings.graphs && vain < PATIENCE {
        vain += 1;
        let Some(edges) = draw_one(settings, &mut rng) else { continue };
        if settings.connected && components(&edges).len() > 1 {
            continue;
        }
        let Some(form) = canonical(&edges) else { continue };
        if seen.insert(form.key) {
            graphs.push(Graph::from_edges(&edges, settings.bytes).expect("drawn edges connect two nodes"));
            vain = 0;
        }
    }
    Ok(graphs)
}

fn draw_one(settings: &DrawSettings, rng: &mut Rng) -> Option<Vec<(usize, usize)>> {
    let n = settings.nodes as u64;
    let (mut out, mut into) = (vec![0; settings.nodes], vec![0; settings.nodes]);
    let mut edges = Vec::new();
    for _ in 0..PATIENCE {
        let (s, d) = (rng.below(n) as usize, rng.below(n - 1) as usize);
        // Steps over the sender, so that all other nodes are equally likely.
        let d = if d >= s { d + 1 } else { d };
        let fits = out[s] < settings.degree && into[d] < settings.degree;
        if !fits || (!settings.parallel && edges.contains(&(s, d))) {
            continue;
        }
        out[s] += 1;
        into[d] += 1;
        edges.push((s, d));
        if edges.len() == settings.edges {
            return Some(edges);
        }
    }
    None
}

/// All connected graphs of 1 to `edges` flows, one per class, in order of size: grown edge by edge from smaller ones, which
/// misses none because every connected graph has an edge without which the rest is connected. At most 5 edges: without
/// parallels there are 1, 4, 12, 53 and 237 classes of 1 to 5 edges.
pub fn all(edges: usize, parallel: bool) -> Vec<Graph> {
    let mut level: Vec<Vec<(usize, usize)>> = vec![vec![(0, 1)]];
    let mut list = level.clone();
    for _ in 1..edges.min(5) {
        let (mut seen, mut next) = (BTreeSet::new(), Vec::new());
        for graph in &level {
            let nodes = graph.iter().map(|&(s, d)| s.max(d) + 1).max().unwrap_or(0);
            for edge in (0..=nodes).flat_map(|s| (0..=nodes).map(move |d| (s, d))) {
                let new_apart = edge.0 == nodes && edge.1 == nodes;
                if edge.0 == edge.1 || new_apart || (!parallel && graph.contains(&edge)) {
                    continue;
                }
                let grown = [graph.as_slice(), &[edge]].concat();
                if canonical(&grown).is_some_and(|form| seen.insert(form.key)) {
                    next.push(grown);
                }
            }
        }
        list.extend(next.iter().cloned());
        level = next;
    }
    let graph = |e: &Vec<(usize, usize)>| Graph::from_edges(e, DEFAULT_BYTES).expect("grown edges connect two nodes");
    list.iter().map(graph).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_different_seeded_and_within_limits() {
        let settings = DrawSettings { degree: 3, connected: true, ..DrawSettings::default() };
        let graphs = draw(&settings).unwrap();
        assert_eq!(graphs.len(), 60);
        assert_eq!(graphs, draw(&settings).unwrap());
        let keys: BTreeSet<String> = graphs.iter().map(|g| canonical(&g.edges()).unwrap().key).collect();
        assert_eq!(keys.len(), 60);
        for g in &graphs {
            let out = |n: usize| g.flows.iter().filter(|f| f.from == n).count();
            assert!((0..9).all(|n| out(n) <= 3) && components(&g.edges()).len() == 1);
        }
    }

    #[test]
    fn few_classes_end_the_search() {
        // Two edges without parallels: out of one, into one, in a row, there and back, apart.
        assert_eq!(draw(&DrawSettings { edges: 2, ..DrawSettings::default() }).unwrap().len(), 5);
        assert!(draw(&DrawSettings { edges: 0, ..DrawSettings::default() }).is_err());
        assert!(draw(&DrawSettings { edges: 100, ..DrawSettings::default() }).is_err());
        assert!(draw(&DrawSettings { nodes: 1, ..DrawSettings::default() }).is_err());
    }

    #[test]
    fn complete_lists_agree_with_brute_force() {
        // Every set of three arcs on four nodes (a connected graph of three arcs has no more nodes).
        let arcs: Vec<(usize, usize)> =
            (0..4).flat_map(|s| (0..4).map(move |d| (s, d))).filter(|&(s, d)| s != d).collect();
        let mut keys = BTreeSet::new();
        for a in &arcs {
            for b in &arcs {
                for c in &arcs {
                    let edges = [*a, *b, *c];
                    if a != b && b != c && a != c && components(&edges).len() == 1 {
                        keys.insert(canonical(&edges).unwrap().key);
                    }
                }
            }
        }
        let count = |m: usize| all(3, false).iter().filter(|g| g.flows.len() == m).count();
        assert_eq!([count(1), count(2), count(3)], [1, 4, keys.len()]);
        assert!(all(3, true).len() > all(3, false).len());
    }
}
