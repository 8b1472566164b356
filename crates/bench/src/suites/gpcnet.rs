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
                about: "kernels to measure, as NAME[:SIZE][:PARAM=VALUE]..., separated by commas",
                kind: Kind::Text,
                default: "p2p-lat,p2p-bw-sync,allreduce",
            },
            Param {
                name: "congestors",
                about: "kernels that load the network, written likewise; `NAME@3` gets three times the nodes of `NAME@1`",
                kind: Kind::Text,
                default: "a2a,p2p-incast,put-incast,get-bcast",
            },
            Param { name: "share", about: "share of the nodes that run congestors", kind: Kind::Share, default: "80%" },
            Param {
                name: "sets",
                about: "which congestors load together: `all`, `each` alone on all congestor nodes, or `matrix` for both",
                kind: Kind::Choice(&["all", "each", "matrix"]),
                default: "all",
            },
            Param {
                name: "placement",
                about: "congestors on `other` nodes than the canaries, or on the `same` nodes, in the upper half of the slots",
                kind: Kind::Choice(&["other", "same"]),
                default: "other",
            },
            Param {
                name: "baselines",
                about: "measure each congestor alone, too",
                kind: Kind::Choice(&["no", "yes"]),
                default: "no",
            },
            Param {
                name: "slots",
                about: "use so many ranks of each node; 0 for all",
                kind: Kind::Count,
                default: "0",
            },
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

/// A kernel as it is written in a list.
#[derive(Clone, Debug, PartialEq)]
struct Written {
    kernel: String,
    params: Params,
    size: u64,
    weight: f64,
    /// The text without its weight: names the job.
    label: String,
}

/// Reads `allreduce:6553600`, `p2p-bw:size=1M:window=4` or `a2a@2`.
fn written(text: &str) -> Result<Written, SuiteError> {
    let (label, weight) = match text.split_once('@') {
        None => (text, 1.0),
        Some((label, weight)) => {
            let number = weight.parse::<f64>().ok().filter(|w| w.is_finite() && *w > 0.0);
            (
                label,
                number
                    .ok_or_else(|| SuiteError::Unknown(format!("`{text}`: the weight after @ is a number above 0")))?,
            )
        }
    };
    let mut words = label.split(':');
    let name = words.next().unwrap_or_default();
    let found = kernel(name).map_err(SuiteError::Unknown)?;
    let given: Params = words
        .map(|word| word.split_once('=').unwrap_or(("size", word)))
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    let resolved = found.card.resolve(&given)?;
    let size = resolved.get("size").and_then(|s| parse_bytes(s).ok()).unwrap_or(0);
    Ok(Written { kernel: name.into(), params: given, size, weight, label: label.into() })
}

/// Divides `nodes` by weights, at least two for each; the extras go to the first, as in the original. Kinds that find no room are dropped
/// from the end.
fn divide(nodes: u32, weights: &[f64]) -> Vec<u32> {
    let kinds = weights.len().min((nodes / 2) as usize);
    if kinds == 0 {
        return Vec::new();
    }
    let total: f64 = weights[..kinds].iter().sum();
    let mut counts: Vec<u32> =
        weights[..kinds].iter().map(|w| ((f64::from(nodes) * w / total) as u32).max(2)).collect();
    while counts.iter().sum::<u32>() > nodes {
        *counts.iter_mut().max().expect("there is one to take from") -= 1;
    }
    let left = nodes - counts.iter().sum::<u32>();
    (0..left as usize).for_each(|i| counts[i % kinds] += 1);
    counts
}

/// How many nodes congestors get: the original's rule, with at least two canary nodes.
fn loaded_nodes(nodes: u32, share: f64) -> u32 {
    ((share * f64::from(nodes)) as u32).min(nodes.saturating_sub(2))
}

/// Where the two roles are.
struct Ground {
    canaries: Members,
    canary_nodes: u32,
    /// First node, nodes, first slot and slots of the congestors.
    load: (u32, u32, u32, Option<u32>),
}

fn ground(request: &Request<'_>) -> Result<Ground, SuiteError> {
    let Request { params, layout, .. } = request;
    let used = params.count("slots") as u32;
    let slots = (used > 0).then_some(used);
    if used > layout.max_ranks_per_node {
        let say =
            format!("slots={used}: nodes have up to {} ranks; start more, or ask for fewer", layout.max_ranks_per_node);
        return Err(SuiteError::TooSmall(say));
    }
    if params.word("placement") == "same" {
        let all = slots.unwrap_or(layout.min_ranks_per_node);
        if all < 2 {
            let say = "placement=same needs at least 2 ranks on every node: one measures, one loads";
            return Err(SuiteError::TooSmall(say.into()));
        }
        let lower = all / 2;
        let canaries = Members::Block { first_node: 0, nodes: layout.nodes, first_slot: 0, slots: Some(lower) };
        return Ok(Ground { canaries, canary_nodes: layout.nodes, load: (0, layout.nodes, lower, Some(all - lower)) });
    }
    let loaded = loaded_nodes(layout.nodes, params.share("share"));
    // Fewer than two nodes cannot load a network: they measure.
    let loaded = if loaded < 2 { 0 } else { loaded };
    let canaries = Members::Block { first_node: loaded, nodes: layout.nodes - loaded, first_slot: 0, slots };
    Ok(Ground { canaries, canary_nodes: layout.nodes - loaded, load: (0, loaded, 0, slots) })
}

/// The background jobs of a set of congestors on their ground.
fn background(set: &[Written], taken: &[Written], ground: &Ground, limits: &Limits) -> Vec<Job> {
    let (mut first_node, nodes, first_slot, slots) = ground.load;
    let weights: Vec<f64> = set.iter().map(|w| w.weight).collect();
    let mut jobs: Vec<Job> = Vec::new();
    for (w, nodes) in set.iter().zip(divide(nodes, &weights)) {
        let members = Members::Block { first_node, nodes, first_slot, slots };
        first_node += nodes;
        let stop = limits.congestor(&w.kernel, w.size, nodes);
        let (name, kernel, params) = (unique(&w.label, taken, &jobs), w.kernel.clone(), w.params.clone());
        jobs.push(Job { name, kernel, params, role: Role::Background, members, instances: Instances::Slot, stop });
    }
    jobs
}

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let Request { params, layout, seed, payload } = request;
    if layout.nodes < 2 {
        let say = "gpcnet needs at least 2 nodes (or ranks that count as nodes: --unit rank)";
        return Err(SuiteError::TooSmall(say.into()));
    }
    let limits = Limits::read(params);
    let ground = ground(request)?;
    let list = |name| params.names(name).iter().map(|t| written(t)).collect::<Result<Vec<_>, _>>();
    let (canaries, congestors) = (list("canaries")?, list("congestors")?);
    let mut sets: Vec<(String, Vec<Job>)> = Vec::new();
    if params.word("sets") != "each" {
        sets.push(("loaded".into(), background(&congestors, &canaries, &ground, &limits)));
    }
    if params.word("sets") != "all" {
        let alone = |w: &Written| {
            let jobs = background(std::slice::from_ref(w), &canaries, &ground, &limits);
            (format!("loaded-by-{}", w.label), jobs)
        };
        sets.extend(congestors.iter().map(alone));
    }
    let canary = |w: &Written| Job {
        name: w.label.clone(),
        kernel: w.kernel.clone(),
        params: w.params.clone(),
        role: Role::Measured,
        members: ground.canaries.clone(),
        instances: Instances::Slot,
        stop: limits.canary(&w.kernel, ground.canary_nodes),
    };
    let phase = |kind: &str, w: &Written, load: &[Job]| Phase {
        name: format!("{kind}/{}", w.label),
        jobs: std::iter::once(canary(w)).chain(load.iter().cloned()).collect(),
    };
    let mut phases: Vec<Phase> = canaries.iter().map(|w| phase("isolated", w, &[])).collect();
    if params.word("baselines") == "yes" {
        for mut job in background(&congestors, &[], &ground, &limits) {
            let nodes = match job.members {
                Members::Block { nodes, .. } => nodes,
                Members::Places(_) => ground.canary_nodes,
            };
            (job.role, job.stop) = (Role::Measured, limits.canary(&job.kernel, nodes));
            phases.push(Phase { name: format!("congestor/{}", job.name), jobs: vec![job] });
        }
    }
    for (kind, load) in sets.iter().filter(|(_, load)| !load.is_empty()) {
        phases.extend(canaries.iter().map(|w| phase(kind, w, load)));
    }
    let plan = Plan { suite: "gpcnet".into(), seed: *seed, node_order: NodeOrder::Shuffled, payload: *payload, phases };
    super::check(&plan, *layout)?;
    Ok(plan)
}

/// A kernel may load the network twice, or be canary and congestor at once: the second job is `a2a-2`.
fn unique(label: &str, canaries: &[Written], jobs: &[Job]) -> String {
    let taken = |name: &str| jobs.iter().any(|j| j.name == name) || canaries.iter().any(|c| c.label == name);
    let numbered = (2..).map(|n| format!("{label}-{n}"));
    std::iter::once(label.to_string()).chain(numbered).find(|name| !taken(name)).expect("numbers do not run out")
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
            (3, 2, vec![]),
            (2, 2, vec![]),
        ] {
            let loaded = loaded_nodes(nodes, 0.8);
            assert_eq!((nodes - loaded, divide(loaded, &[1.0; 4])), (canaries, kinds), "{nodes} nodes");
        }
    }

    #[test]
    fn weights_divide_all_nodes_and_leave_nobody_alone() {
        assert_eq!(divide(40, &[3.0, 1.0]), [30, 10]);
        for nodes in 2..60 {
            for weights in [vec![1.0, 9.0], vec![1.0; 5], vec![100.0, 1.0, 1.0]] {
                let counts = divide(nodes, &weights);
                assert_eq!(counts.iter().sum::<u32>(), nodes, "{nodes} by {weights:?}");
                assert!(counts.iter().all(|c| *c >= 2), "{nodes} by {weights:?}: {counts:?}");
            }
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
        assert_eq!(names, ["p2p-lat", "a2a", "a2a-2", "allreduce:6553600"]);
    }

    #[test]
    fn everything_can_be_chosen_at_run_time() {
        let plan =
            make(20, &[("sets", "matrix"), ("congestors", "a2a@3,p2p-incast:8k"), ("canaries", "p2p-bw:1M:window=4")])
                .unwrap();
        let names: Vec<_> = plan.phases.iter().map(|p| p.name.as_str()).collect();
        let canary = "p2p-bw:1M:window=4";
        let expected =
            ["isolated", "loaded", "loaded-by-a2a", "loaded-by-p2p-incast:8k"].map(|k| format!("{k}/{canary}"));
        assert_eq!(names, expected);
        let nodes = |phase: usize, job: usize| match plan.phases[phase].jobs[job].members {
            Members::Block { nodes, .. } => nodes,
            Members::Places(_) => 0,
        };
        assert_eq!((nodes(1, 0), nodes(1, 1), nodes(1, 2), nodes(2, 1)), (4, 12, 4, 16));
        assert_eq!(plan.phases[0].jobs[0].params["window"], "4");
        let same = make(4, &[("placement", "same"), ("congestors", "a2a")]).unwrap();
        assert_eq!(
            same.phases[3].jobs[1].members,
            Members::Block { first_node: 0, nodes: 4, first_slot: 1, slots: Some(1) }
        );
        let text = |given: &[(&str, &str)]| make(10, given).unwrap_err().to_string();
        assert!(text(&[("slots", "3")]).contains("up to 2 ranks"));
        assert!(text(&[("placement", "same"), ("slots", "1")]).contains("at least 2 ranks"));
        assert!(text(&[("congestors", "a2a@none")]).contains("number above 0"));
        assert!(text(&[("canaries", "p2p-lat:sise=4")]).contains("did you mean `size`"));
    }
}
