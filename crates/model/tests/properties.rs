//! What holds for any input: readers never panic, work is conserved, names do not matter.

use proptest::prelude::*;
use spec::Params;
use tailback_model::contention::rules::{self, RULES, evaluate};
use tailback_model::contention::{Flow, Graph, Options, parse, solve};
use tailback_model::maxrate::{self, Location, nodecomm};

/// A graph of up to 9 nodes and 12 flows of different sizes and starts.
fn graphs() -> impl Strategy<Value = Graph> {
    let flow = (0usize..9, 0usize..8, 0u32..5, 0u32..4);
    prop::collection::vec(flow, 1..12).prop_map(|flows| {
        let flow = |(i, (from, to, size, start)): (usize, (usize, usize, u32, u32))| Flow {
            name: format!("f{i}"),
            from,
            to: if to >= from { to + 1 } else { to },
            bytes: f64::from(size) * 250.0,
            start: f64::from(start) * 0.3,
            after: (i > 0 && size == 3 && start == 3).then(|| i - 1),
        };
        let flows = flows.into_iter().enumerate().map(flow).collect();
        Graph { nodes: (0..9).map(|n| n.to_string()).collect(), flows }
    })
}

/// Text that looks like the notation, to get past the first check.
fn nearly(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|w| w.join(""))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn graph_readers_never_panic(text in any::<String>()) {
        let _ = parse::read(&text);
        let _ = parse::read_toml(&text);
    }

    #[test]
    fn graph_readers_never_accept_what_the_solver_refuses(
        text in nearly(&["a", "b", ":", " -> ", "\n", " ", "4k", "-1", "nan", "@", "2s", " after ", "[[flow]]\n", "from = 1\n",
            "to = 2\n", "size = ", "#", "1e400"])
    ) {
        if let Ok(graph) = parse::read(&text) {
            prop_assert!(graph.check().is_ok());
            let again = parse::read(&parse::write(&graph)).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(again, graph);
        }
    }

    #[test]
    fn nodecomm_reader_never_panics(text in any::<String>(), near in nearly(&["1", "2", "\t", "4e-6", "\n", "nan", "-", "master: ", ",", "inf"])) {
        for text in [text, near] {
            for block in nodecomm::read(&text).unwrap_or_default() {
                let points = maxrate::points(&block.samples, Location::Median, true).unwrap();
                let options = maxrate::Options { replicates: 0, ..maxrate::Options::default() };
                if let Ok(report) = maxrate::analyse(&points, &options) {
                    prop_assert!(report.phases.iter().flat_map(|p| &p.fits).all(|f| f.theta.iter().all(|t| t.is_finite())));
                }
            }
        }
    }

    #[test]
    fn every_step_has_the_penalties_of_its_flows_and_all_bytes_are_sent(graph in graphs()) {
        for set in RULES {
            let rules = rules::start(set.card.name, &Params::new()).unwrap();
            let options = Options { steps: true, ..Options::rate(1000.0) };
            let solution = solve(&graph, &*rules, &options).unwrap();
            let mut sent = vec![0.0; graph.flows.len()];
            for step in &solution.steps {
                // What the solver updates piece by piece equals what the rules say of the whole.
                let active: Vec<usize> = step.flows.iter().map(|f| f.flow).collect();
                let fresh = evaluate(&*rules, &graph.part(&active)).unwrap();
                for (f, rho) in step.flows.iter().zip(fresh) {
                    prop_assert!((f.penalty - rho).abs() < 1e-9, "{}: {} {rho}", set.card.name, f.penalty);
                    prop_assert!(f.penalty >= 1.0);
                    sent[f.flow] += (step.to_s - step.from_s) * 1000.0 / f.penalty;
                }
            }
            for ((f, sent), end) in graph.flows.iter().zip(sent).zip(&solution.end_s) {
                prop_assert!((sent - f.bytes).abs() <= 1e-6 * f.bytes.max(1.0), "{}: {sent} of {}", set.card.name, f.bytes);
                prop_assert!(end.is_finite());
            }
        }
    }

    #[test]
    fn names_and_order_do_not_matter(graph in graphs(), seed in any::<u64>()) {
        let mut rng = spec::Rng::new(seed, "relabel", 0);
        let nodes = spec::permutation(&mut rng, 9);
        let order = spec::permutation(&mut rng, graph.flows.len());
        let mut other = graph.part(&order.iter().map(|&i| i as usize).collect::<Vec<usize>>());
        for f in &mut other.flows {
            f.from = nodes[f.from] as usize;
            f.to = nodes[f.to] as usize;
        }
        for set in RULES {
            let rules = rules::start(set.card.name, &Params::new()).unwrap();
            let (a, b) = (evaluate(&*rules, &graph).unwrap(), evaluate(&*rules, &other).unwrap());
            for (i, &place) in order.iter().enumerate() {
                prop_assert!((a[place as usize] - b[i]).abs() < 1e-9, "{}", set.card.name);
            }
        }
    }

    #[test]
    fn residual_never_overloads_a_receiver(graph in graphs()) {
        let rules = rules::start("ib-residual", &Params::new()).unwrap();
        let rho = evaluate(&*rules, &graph).unwrap();
        for node in 0..9 {
            let load: f64 = graph.flows.iter().zip(&rho).filter(|(f, _)| f.to == node).map(|(_, r)| 1.0 / r).sum();
            prop_assert!(load <= 1.0 + 1e-6, "{load}");
        }
    }
}
