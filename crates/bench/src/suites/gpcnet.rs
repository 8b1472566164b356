//! GPCNeT's load test: canaries alone, then each canary under all congestors.

use super::loops::Limits;
use super::{Request, Suite, SuiteError};
use crate::kernels::kernel;
use record::{Instances, Job, Members, NodeOrder, Phase, Plan, Role};
use spec::{Card, Kind, Param, Params, ReadParams, parse_bytes};

/// The suite.
pub const GPCNET: Suite = Suite {
    card: Card {
        name: "gpcnet",
        about: "Canaries measured alone and under congestors: tail latency and congestion impact",
        source: "GPCNeT (Chunduri et al., SC '19), network_load_test",
        params: &[
            Param {
                name: "canaries",
                about: "kernels to measure",
                kind: Kind::Text,
                default: "p2p-lat,p2p-bw-sync,allreduce",
            },
            Param {
                name: "congestors",
                about: "kernels that load the network, each on its share of the nodes; `allreduce:6553600` sets a size",
                kind: Kind::Text,
                default: "a2a,p2p-incast,put-incast,get-bcast",
            },
            Param { name: "share", about: "share of the nodes that run congestors", kind: Kind::Share, default: "80%" },
            TIME,
            ROUNDS,
            PRECISION,
            CUT,
        ],
    },
    plan,
};

pub(super) const TIME: Param = Param {
    name: "time",
    about: "time limit of each canary in each phase, of the machine's clock",
    kind: Kind::Time,
    default: "10s",
};
pub(super) const ROUNDS: Param = Param {
    name: "rounds",
    about: "blocks at most for each canary in each phase",
    kind: Kind::Count,
    default: "300000",
};
pub(super) const PRECISION: Param = Param {
    name: "precision",
    about: "stop a canary when its 99% quantile is known this well; 0 for never",
    kind: Kind::Share,
    default: "0",
};
pub(super) const CUT: Param = Param {
    name: "cut",
    about: "divide all loop counts by this; sizes stay as they are",
    kind: Kind::Count,
    default: "1",
};

/// A kernel's name with an optional size: `allreduce:6553600`.
fn sized(text: &str) -> Result<(String, Params, u64), SuiteError> {
    let (name, size) = text.split_once(':').unwrap_or((text, ""));
    let found = kernel(name).map_err(SuiteError::Unknown)?;
    let given: Params = if size.is_empty() { Params::new() } else { Params::from([("size".into(), size.into())]) };
    let resolved = found.card.resolve(&given)?;
    let bytes = resolved.get("size").and_then(|s| parse_bytes(s).ok()).unwrap_or(0);
    Ok((name.into(), given, bytes))
}

/// How many nodes run canaries, and how many each congestor gets.
fn shares(nodes: u32, share: f64, congestors: usize) -> (u32, Vec<u32>) {
    // The original's rule, with at least two canary nodes and at least two nodes for a congestor.
    let loaded = ((share * f64::from(nodes)) as u32).min(nodes.saturating_sub(2));
    let kinds = (congestors as u32).min(loaded / 2);
    let each = |kind: u32| loaded / kinds + u32::from(kind < loaded % kinds);
    let counts: Vec<u32> = (0..kinds).map(each).collect();
    (nodes - counts.iter().sum::<u32>(), counts)
}

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let Request { params, layout, seed, payload } = request;
    let limits = Limits::read(params);
    if layout.nodes < 2 {
        let say = "gpcnet needs at least 2 nodes (or ranks that count as nodes: --unit rank)";
        return Err(SuiteError::TooSmall(say.into()));
    }
    let (canaries, congestors) = (params.names("canaries"), params.names("congestors"));
    let (canary_nodes, counts) = shares(layout.nodes, params.share("share"), congestors.len());
    let mut background = Vec::new();
    let mut first_node = 0;
    for (text, &nodes) in congestors.iter().zip(&counts) {
        let (kernel, params, size) = sized(text)?;
        let members = Members::Block { first_node, nodes, first_slot: 0, slots: None };
        first_node += nodes;
        let stop = limits.congestor(&kernel, size, nodes);
        let name = unique(&kernel, &canaries, &background);
        background.push(Job {
            name,
            kernel,
            params,
            role: Role::Background,
            members,
            instances: Instances::Slot,
            stop,
        });
    }
    let mut isolated = Vec::new();
    let mut loaded = Vec::new();
    for text in &canaries {
        let (kernel, params, _) = sized(text)?;
        let members = Members::Block { first_node, nodes: canary_nodes, first_slot: 0, slots: None };
        let stop = limits.canary(&kernel, canary_nodes);
        let name = text.clone();
        let canary = Job { name, kernel, params, role: Role::Measured, members, instances: Instances::Slot, stop };
        isolated.push(Phase { name: format!("isolated/{text}"), jobs: vec![canary.clone()] });
        if !background.is_empty() {
            let jobs = std::iter::once(canary).chain(background.iter().cloned()).collect();
            loaded.push(Phase { name: format!("loaded/{text}"), jobs });
        }
    }
    let phases = isolated.into_iter().chain(loaded).collect();
    let plan = Plan { suite: "gpcnet".into(), seed: *seed, node_order: NodeOrder::Shuffled, payload: *payload, phases };
    super::check(&plan, *layout)?;
    Ok(plan)
}

/// A kernel may load the network twice, or be canary and congestor at once: the second job is `a2a-2`.
fn unique(kernel: &str, canaries: &[String], jobs: &[Job]) -> String {
    let taken = |name: &str| jobs.iter().any(|j| j.name == name) || canaries.iter().any(|c| c == name);
    let numbered = (2..).map(|n| format!("{kernel}-{n}"));
    std::iter::once(kernel.to_string()).chain(numbered).find(|name| !taken(name)).expect("numbers do not run out")
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Layout, Payload};

    #[test]
    fn shares_follow_the_original_and_scale_down() {
        for (nodes, canaries, kinds) in [
            (10, 2, vec![2, 2, 2, 2]),
            (28, 6, vec![6, 6, 5, 5]),
            (64, 13, vec![13, 13, 13, 12]),
            (9408, 1882, vec![1882, 1882, 1881, 1881]),
            (8, 2, vec![2, 2, 2]),
            (4, 2, vec![2]),
            (3, 3, vec![]),
            (2, 2, vec![]),
        ] {
            assert_eq!(shares(nodes, 0.8, 4), (canaries, kinds), "{nodes} nodes");
        }
    }

    fn make(nodes: u32, given: &[(&str, &str)]) -> Result<Plan, SuiteError> {
        let given: Params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let params = GPCNET.card.resolve(&given)?;
        let layout = Layout { nodes, ranks: nodes * 2, min_ranks_per_node: 2, max_ranks_per_node: 2 };
        plan(&Request { params: &params, layout, seed: 1, payload: Payload::Checked })
    }

    #[test]
    fn any_layout_gives_a_plan_that_can_run() {
        for nodes in 2..70 {
            let plan = make(nodes, &[]).unwrap();
            assert_eq!(plan.phases.len(), if nodes < 4 { 3 } else { 6 }, "{nodes}");
        }
        assert!(make(1, &[]).is_err());
    }

    #[test]
    fn names_and_sizes_are_checked() {
        assert!(make(10, &[("canaries", "p2plat")]).unwrap_err().to_string().contains("did you mean `p2p-lat`"));
        assert!(make(10, &[("congestors", "allreduce:huge")]).unwrap_err().to_string().contains("huge"));
        let plan = make(10, &[("congestors", "a2a,a2a,allreduce:6553600")]).unwrap();
        let names: Vec<_> = plan.phases[3].jobs.iter().map(|j| j.name.as_str()).collect();
        assert_eq!(names, ["p2p-lat", "a2a", "a2a-2", "allreduce-2"]);
    }
}
