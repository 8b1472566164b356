//! The paper's graphs, rebuilt from its numbers, and the graphs that tell its possible readings apart.

use super::graph::{DEFAULT_BYTES, Graph};

/// A graph that is built in.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Its edges by node name.
    pub edges: &'static [(&'static str, &'static str)],
}

/// Seconds of one flow of 20 MiB alone (the paper's T_ref).
pub const T_REF: f64 = 0.010706;

/// All of them, in the order of lists.
pub const GRAPHS: &[Published] = &[
    Published { name: "g1", about: "Figure 2: three out of one", edges: &[("a", "b"), ("a", "c"), ("a", "d")] },
    Published {
        name: "g2",
        about: "Figure 2: two senders of two, one shared receiver",
        edges: &[("b", "a"), ("c", "a"), ("b", "d"), ("c", "e")],
    },
    Published {
        name: "g3",
        about: "Figure 2: three and two out, two shared receivers",
        edges: &[("a", "b"), ("a", "c"), ("a", "d"), ("d", "b"), ("d", "c")],
    },
    Published {
        name: "g4",
        about: "Figure 2: two out, each met by a single flow",
        edges: &[("a", "b"), ("a", "c"), ("d", "b"), ("e", "c")],
    },
    Published {
        name: "fig3",
        about: "Figure 3: six flows in three steps",
        edges: &[("1", "11"), ("1", "12"), ("1", "13"), ("2", "13"), ("2", "14"), ("3", "14")],
    },
    Published {
        name: "fig4a",
        about: "Figure 4 A: five flows",
        edges: &[("1", "11"), ("1", "12"), ("2", "11"), ("3", "11"), ("4", "12")],
    },
    Published {
        name: "fig4b",
        about: "Figure 4 B: five flows, four into one",
        edges: &[("1", "11"), ("1", "12"), ("2", "11"), ("3", "11"), ("4", "11")],
    },
    Published {
        name: "d1",
        about: "tells V1 (f1 = 1.5) from V2 and V3 (1.333) and ib-residual (1.286)",
        edges: &[("p", "x"), ("p", "y"), ("f1", "x"), ("f2", "y"), ("g", "y"), ("g", "z")],
    },
    Published {
        name: "d2",
        about: "tells `in <= out` (3.0) from `in = out` (3.33) in the balanced rule",
        edges: &[("p", "a"), ("p", "b"), ("p", "x"), ("q", "x"), ("q", "c"), ("q", "d")],
    },
    Published {
        name: "d3",
        about: "tells a sum over all siblings (3.5) from one without balanced ones (3.0)",
        edges: &[("p", "x"), ("p", "y"), ("q", "x"), ("r", "y"), ("r", "z")],
    },
];

/// A built-in graph with flows of 20 MiB, by its name; the message of the error lists what is known.
pub fn find(name: &str) -> Result<Graph, String> {
    let known = GRAPHS.iter().map(|g| g.name);
    let published = GRAPHS.iter().find(|g| g.name == name).ok_or_else(|| spec::near::unknown("graph", name, known))?;
    let mut nodes: Vec<&str> = Vec::new();
    let mut number = |name: &'static str| {
        nodes.iter().position(|n| *n == name).unwrap_or_else(|| {
            nodes.push(name);
            nodes.len() - 1
        })
    };
    let edges: Vec<(usize, usize)> = published.edges.iter().map(|&(s, d)| (number(s), number(d))).collect();
    let mut graph = Graph::from_edges(&edges, DEFAULT_BYTES).map_err(|e| e.to_string())?;
    graph.nodes = nodes.into_iter().map(str::to_string).collect();
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_graphs_and_unknown_ones_are_named() {
        for g in GRAPHS {
            assert_eq!(find(g.name).unwrap().flows.len(), g.edges.len());
        }
        assert!(find("fig5").unwrap_err().contains("did you mean"));
    }
}
