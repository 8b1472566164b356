//! Tests by message size, alone and under load: the tables that people know from OSU's benchmarks, with a loaded column.

use super::gpcnet::{self, CUT, PLACEMENTS, PRECISION, ROUNDS};
use super::roles::{BURST, CANARY_NODES, CONGESTORS, CONGESTORS_ON, REST, ROLES, SHARE, SLOTS};
use super::{Request, Suite, SuiteError};
use record::Plan;
use spec::{Card, Kind, Param, Params, ReadParams};

/// The suite.
pub const SWEEP: Suite = Suite {
    card: Card {
        name: "sweep",
        about: "Latency and bandwidth by message size, alone and under congestors",
        source: "the sizes of the OSU micro-benchmarks; alone and loaded as GPCNeT (Chunduri et al., SC '19) §3",
        params: &[
            Param::new(
                "patterns",
                Kind::Text,
                "p2p-lat,p2p-bw",
                "kernels to measure at every size, as NAME[:PARAM=VALUE]..., separated by commas",
            )
            .known(crate::kernels::names),
            Param::new("from", Kind::Size, "1", "the smallest message"),
            Param::new("to", Kind::Size, "4MiB", "the largest message").up_to((1u64 << 30) as f64),
            Param::new("factor", Kind::Count, "4", "each size is so many times the one before").up_to(1e9),
            CONGESTORS,
            SHARE,
            CONGESTORS_ON,
            ROLES,
            CANARY_NODES,
            BURST,
            REST,
            PLACEMENTS,
            SLOTS,
            Param::new(
                "time",
                Kind::Time,
                "1s",
                "time limit of each size in each phase, over all placements, of the machine's clock",
            ),
            ROUNDS,
            PRECISION,
            CUT,
        ],
    },
    asks: &[],
    alone: false,
    shortcut: None,
    tries: None,
    plan,
    tiny: &[
        ("from", "8"),
        ("to", "512"),
        ("factor", "64"),
        ("placements", "2"),
        ("rounds", "2"),
        ("cut", "50"),
        ("time", "10ms"),
        ("congestors", "a2a"),
    ],
};

/// The sizes of a sweep; the last is the largest even if the factor passes it.
fn sizes(params: &Params) -> Result<Vec<usize>, SuiteError> {
    let (from, to, factor) = (params.size("from").max(1), params.size("to"), params.count("factor"));
    if to < from || factor < 2 {
        let (from, to) = (params.word("from"), params.word("to"));
        let say = format!(
            "sweep: from={from} to={to} factor={factor}: sizes grow from the first to the last by a factor of 2 or more"
        );
        return Err(SuiteError::Senseless(say));
    }
    let next = |size: &usize| size.checked_mul(factor as usize).filter(|s| *s < to);
    let below = std::iter::successors(Some(from).filter(|s| *s < to), next);
    Ok(below.chain([to]).collect())
}

/// Whether a pattern is written with a size of its own.
fn sized(pattern: &str) -> bool {
    pattern.split(':').skip(1).any(|word| word.starts_with("size=") || !word.contains('='))
}

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let params = request.params;
    let (sizes, patterns) = (sizes(params)?, params.names("patterns"));
    if let Some(pattern) = patterns.iter().find(|p| sized(p) || p.contains('@')) {
        let say = format!("patterns={pattern}: a sweep chooses the sizes, and all patterns have the same nodes");
        return Err(SuiteError::Senseless(say));
    }
    let canaries: Vec<String> =
        patterns.iter().flat_map(|pattern| sizes.iter().map(move |size| format!("{pattern}:{size}"))).collect();
    // What the load test asks for and this suite does not offer.
    let filler = [
        ("canaries", canaries.join(",")),
        ("sets", "all".into()),
        ("baselines", "no".into()),
        ("ejection", String::new()),
    ];
    let all: Params = filler.into_iter().map(|(k, v)| (k.to_string(), v)).chain((*params).clone()).collect();
    let plan = gpcnet::plan(&Request { params: &all, ..*request })?;
    Ok(Plan { suite: SWEEP.card.name.into(), ..plan })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Site;
    use record::{Layout, Payload};

    fn make(given: &[(&str, &str)]) -> Result<Plan, SuiteError> {
        let given: Params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        SWEEP.plan_on(&given, &Site::new(Layout::even(20, 2), true), 1, Payload::Checked)
    }

    #[test]
    fn every_pattern_runs_at_every_size_alone_and_loaded() {
        let plan = make(&[("from", "1"), ("to", "100"), ("factor", "8")]).unwrap();
        let sizes: Vec<&str> = plan.phases.iter().take(8).map(|p| p.jobs[0].params["size"].as_str()).collect();
        assert_eq!(sizes, ["1", "8", "64", "100", "1", "8", "64", "100"]);
        assert_eq!((plan.phases.len(), plan.suite.as_str()), (16, "sweep"));
        assert_eq!(make(&[("from", "64"), ("to", "64")]).unwrap().phases.len(), 4);
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        for (given, says) in [
            (&[("from", "2k"), ("to", "1k")][..], "sizes grow"),
            (&[("factor", "1")], "factor of 2 or more"),
            (&[("patterns", "p2p-lat:size=8")], "a sweep chooses the sizes"),
            (&[("patterns", "p2p-lat:8")], "a sweep chooses the sizes"),
            (&[("patterns", "p2plat")], "did you mean `p2p-lat`"),
        ] {
            assert!(make(given).unwrap_err().to_string().contains(says), "{given:?}");
        }
    }
}
