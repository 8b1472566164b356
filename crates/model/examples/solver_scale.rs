//! How long the contention solver takes for many flows: `cargo run --release -p tailback-model --example solver_scale [FLOWS] [NODES]`.
//!
//! Two graphs with random sizes and starts: flows between random nodes (one component of nearly everything) and flows inside
//! groups of ten nodes (many small components, the only kind that rule sets of whole components do quickly).

use spec::{Params, Rng};
use std::time::Instant;
use tailback_model::contention::rules::start;
use tailback_model::contention::{Flow, Graph, Options, solve};

fn graph(flows: usize, nodes: usize, group: usize) -> Graph {
    let mut rng = Rng::new(1, "scale", group as u64);
    let flow = |i: usize| {
        let from = rng.below(nodes as u64) as usize;
        let first = from / group * group;
        let size = group.min(nodes - first) as u64;
        let to = first + (from - first + 1 + rng.below(size - 1) as usize) % size as usize;
        let bytes = 1e6 * (1.0 + 19.0 * rng.unit());
        Flow { name: i.to_string(), from, to, bytes, start: 1e-3 * rng.unit(), after: None }
    };
    let flows = (0..flows).map(flow).collect();
    Graph { nodes: (0..nodes).map(|n| n.to_string()).collect(), flows }
}

#[expect(clippy::disallowed_methods, reason = "this example measures real time")]
fn main() {
    let number = |i: usize, default: usize| std::env::args().nth(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (flows, nodes) = (number(1, 100_000).max(1), number(2, 10_000).max(20) / 10 * 10);
    for (shape, group, names) in [
        ("random", nodes, &["paper", "paper-v2", "vienne", "degree"][..]),
        ("groups of 10", 10, &["paper", "ib-residual", "max-min"][..]),
    ] {
        let graph = graph(flows, nodes, group);
        for name in names {
            let rules = start(name, &Params::new()).expect("a rule set of the table");
            let begin = Instant::now();
            let solution = solve(&graph, &*rules, &Options::rate(1.82e9)).expect("a valid graph");
            let seconds = begin.elapsed().as_secs_f64();
            let last = solution.end_s.iter().copied().fold(0.0, f64::max);
            println!(
                "{shape:>12} {name:>12}: {flows} flows, {nodes} nodes, {} events in {seconds:.2} s (last end at {last:.3} s)",
                solution.events
            );
        }
    }
}
