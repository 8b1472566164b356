//! What holds for any input: readers never panic, and accept nothing that the solver refuses.

use proptest::prelude::*;
use tailback_model::contention::parse;
use tailback_model::maxrate::{self, Location, nodecomm};

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
}
