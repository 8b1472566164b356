//! Who measures and who loads: kernels as users write them, and the nodes each role gets. GPCNeT §3.2.

use super::loops::Limits;
use super::{Request, SuiteError};
use crate::kernel::{Asked, Congesting};
use crate::kernels::called;
use record::{Instances, Job, Members, Missing, NodeOrder, Pulse, Role, Unit};
use spec::{Kind, Param, Params, ReadParams};

/// Which kernels load the network.
pub(super) const CONGESTORS: Param = Param::new(
    "congestors",
    Kind::Text,
    "a2a,p2p-incast,put-incast,get-bcast",
    "kernels that load the network, as NAME[:SIZE][:PARAM=VALUE]..., separated by commas; `NAME@3` gets three times the nodes of `NAME@1`",
).known(crate::kernels::names);
/// How much of the machine does.
pub(super) const SHARE: Param = Param::new("share", Kind::Share, "80%", "share of the nodes that run congestors");
/// Where they are.
pub(super) const CONGESTORS_ON: Param = Param::new(
    "congestors-on",
    Kind::Choice(&["other", "same"]),
    "other",
    "congestors on `other` nodes than the canaries, or on the `same` nodes, in the upper half of the slots",
);
/// Which nodes they are.
pub(super) const ROLES: Param = Param::new(
    "roles",
    Kind::Choice(&["scattered", "interleaved", "contiguous", "by-switch", "by-group"]),
    "scattered",
    "nodes of a role: `scattered` at random; evenly `interleaved` with the others or `contiguous`, both from a random node on; whole switches or groups where they are known (--topology)",
);
/// The same by their names.
pub(super) const CANARY_NODES: Param = Param::new(
    "canary-nodes",
    Kind::Text,
    "",
    "nodes that measure while all others load, as Slurm writes lists, n[1-4,7]: names of hosts, or numbers from 0 on of a simulated machine's nodes",
);
/// Load that comes and goes.
pub(super) const BURST: Param =
    Param::new("burst", Kind::Time, "0", "congestors load for so long, then rest; 0 for no rest");
pub(super) const REST: Param = Param::new("rest", Kind::Time, "0", "congestors rest for so long between bursts");
/// How many ranks of a node take part.
pub(super) const SLOTS: Param =
    Param::new("slots", Kind::Count, "0", "use so many ranks of each node, or of each part with --per; 0 for all");

/// What one congestor may weigh. No machine divides its nodes finer, and sums of weights stay numbers.
const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// The bursts that congestors load in.
pub(super) fn pulse(params: &Params) -> Result<Option<Pulse>, SuiteError> {
    let (on_s, off_s) = (params.time("burst").secs(), params.time("rest").secs());
    if on_s == 0.0 && off_s > 0.0 {
        let rest = params.word("rest");
        return Err(SuiteError::Unknown(format!("rest={rest}: rest between what? give `burst`, too")));
    }
    Ok((on_s > 0.0).then_some(Pulse { on_s, off_s }))
}

/// The order of nodes in which the roles of a ground lie where they are asked for: congestors first, then canaries.
pub(super) fn order(params: &Params, ground: &RoleNodes) -> Result<NodeOrder, SuiteError> {
    let (roles, listed) = (params.word("roles"), !ground.listed.is_empty());
    let refuse = |why: &str| Err(SuiteError::Unknown(format!("roles={roles}: {why}; leave one of them out")));
    match roles {
        "scattered" if listed => Ok(NodeOrder::Listed),
        "scattered" => Ok(NodeOrder::Shuffled),
        _ if params.word("congestors-on") == "same" => refuse("with congestors-on=same every node has both"),
        _ if listed => refuse("canary-nodes says which nodes measure"),
        "contiguous" => Ok(NodeOrder::Rotated),
        "interleaved" => Ok(NodeOrder::Interleaved { first: ground.load.1 }),
        "by-switch" => Ok(NodeOrder::Units { by: Unit::Switch }),
        _ => Ok(NodeOrder::Units { by: Unit::Group }),
    }
}

/// The nodes of a list that is to measure, none if there is no list.
fn listed(params: &Params, nodes: u32) -> Result<Vec<String>, SuiteError> {
    let list = params.word("canary-nodes");
    let refuse = |why: String| SuiteError::Unknown(format!("canary-nodes={list}: {why}"));
    let names = spec::hosts::expand(list, list).map_err(refuse)?;
    let clash = [("share", SHARE.default), ("congestors-on", CONGESTORS_ON.default)];
    match clash.iter().find(|(name, usual)| params.word(name) != *usual) {
        _ if list.is_empty() => Ok(names),
        Some((name, _)) => Err(refuse(format!("all other nodes load; leave out {name}"))),
        None if names.len() < CANARIES as usize => {
            Err(refuse(format!("at least {CANARIES} nodes must measure; lists are written n[1-4] or [0-3]")))
        }
        None if names.len() as u32 > nodes.saturating_sub(2) => {
            Err(refuse(format!("{} of {nodes} nodes; leave 2 that load at least", names.len())))
        }
        None => Ok(names),
    }
}

/// What a reader must know of where and when congestors load, unless it is as usual.
pub(super) fn notes(params: &Params) -> impl Iterator<Item = String> {
    let (roles, burst, rest) = (params.word("roles"), params.word("burst"), params.word("rest"));
    let placed = (roles != "scattered").then(|| format!("roles are {roles}, not scattered over the nodes as usual"));
    let list = params.word("canary-nodes");
    let placed = placed.or_else(|| (!list.is_empty()).then(|| format!("{list} measure and all other nodes load")));
    let bursts = params.time("burst").secs() > 0.0;
    placed.into_iter().chain(bursts.then(|| format!("congestors load in bursts of {burst} with a rest of {rest}")))
}

/// The kernels of a list parameter.
pub(super) fn list(params: &Params, name: &str) -> Result<Vec<Written>, SuiteError> {
    params.names(name).iter().map(|text| written(text)).collect()
}

/// A kernel as it is written in a list.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Written {
    pub kernel: String,
    /// Parameters that are written, and those of an alias.
    pub params: Params,
    weight: f64,
    /// The text without its weight: names the job.
    pub label: String,
}

/// Reads `allreduce:6553600`, `p2p-bw:size=1M:window=4` or `a2a@2`.
pub(super) fn written(text: &str) -> Result<Written, SuiteError> {
    let (label, weight) = match text.split_once('@') {
        None => (text, 1.0),
        Some((label, weight)) => {
            let number = weight.parse::<f64>().ok().filter(|w| WEIGHTS.contains(w));
            (
                label,
                number.ok_or_else(|| {
                    SuiteError::Unknown(format!(
                        "`{text}`: the weight after @ is a number from {} to {}",
                        WEIGHTS.start(),
                        WEIGHTS.end()
                    ))
                })?,
            )
        }
    };
    let mut words = label.split(':');
    let name = words.next().unwrap_or_default();
    let found = called(name).map_err(SuiteError::Unknown)?;
    let given: Params = words
        .map(|word| word.split_once('=').unwrap_or(("size", word)))
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    // Only to find mistakes while the text is at hand: `background` and the engine resolve again.
    found.resolve(&given)?;
    Ok(Written { kernel: found.kernel.card.name.into(), params: found.with(&given), weight, label: label.into() })
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
        // Rounding up to two took too many. The sum is above twice the kinds here, so the largest has more than two.
        *counts.iter_mut().max().expect("there is one to take from") -= 1;
    }
    let left = nodes - counts.iter().sum::<u32>();
    (0..left as usize).for_each(|i| counts[i % kinds] += 1);
    counts
}

/// No machine has more nodes than this.
const MOST_NODES: u32 = 1 << 20;
/// Nodes that are left to measure, at least.
const CANARIES: u32 = 2;

/// How many nodes a share is. Truncated, not rounded: the canaries get the node that is left.
fn share_of(nodes: u32, share: f64) -> u32 {
    (share * f64::from(nodes)) as u32
}

/// How many nodes congestors get: the original's rule, with at least two canary nodes.
fn loaded_nodes(nodes: u32, share: f64) -> u32 {
    share_of(nodes, share).min(nodes.saturating_sub(CANARIES))
}

/// Whether a share of the nodes leaves enough of them to measure.
pub(crate) fn share_fits(nodes: u32, share: f64) -> bool {
    share_of(nodes, share) <= nodes.saturating_sub(CANARIES)
}

/// A share that was named is a wish: what cannot be had is refused. The default gives way on few nodes, and says so.
fn check_share(params: &Params, nodes: u32) -> Result<(), SuiteError> {
    if params.word("share") == SHARE.default || share_fits(nodes, params.share("share")) {
        return Ok(());
    }
    let most = nodes.saturating_sub(CANARIES);
    let say = format!(
        "share={}: {CANARIES} of {nodes} nodes must measure, so {most} can load: at most --share {}",
        params.word("share"),
        largest_share(nodes, most)
    );
    Err(SuiteError::Senseless(say))
}

/// The share that is `most` nodes, with as few digits as tell it.
fn largest_share(nodes: u32, most: u32) -> String {
    let exact = f64::from(most) / f64::from(nodes) * 100.0;
    let written = |digits: i32| (exact * 10f64.powi(digits)).ceil() / 10f64.powi(digits);
    let percent = (0..9).map(written).find(|p| share_of(nodes, p / 100.0) == most);
    format!("{}%", percent.unwrap_or(exact))
}

/// What the plan must say where the default share does not fit.
pub(super) fn share_note(params: &Params, ground: &RoleNodes, nodes: u32) -> Option<String> {
    let wanted = share_of(nodes, params.share("share"));
    let less = params.word("congestors-on") != "same" && ground.listed.is_empty() && ground.load.1 < wanted;
    less.then(|| {
        format!("{} of {nodes} nodes load instead of {}: the others must measure", ground.load.1, params.word("share"))
    })
}

/// The congestors of a set that find no room on its ground, with the number of nodes that would hold all of them.
pub(super) fn without_room(set: &[Written], ground: &RoleNodes, least: impl Fn(u32) -> u32) -> Vec<Missing> {
    let (loaded, kinds) = (ground.load.1, set.len() as u32);
    let enough = (2..MOST_NODES).find(|nodes| least(*nodes) >= 2 * kinds);
    let enough = enough.map_or(String::new(), |nodes| format!("{nodes} nodes hold all of them; "));
    let why =
        format!("{loaded} nodes load, and each of {kinds} congestors needs 2; {enough}or name fewer with --congestors");
    let missing = set.iter().skip((loaded / 2) as usize);
    missing.map(|w| Missing { what: format!("congestor {}", w.label), why: why.clone() }).collect()
}

/// How many of so many nodes load under these parameters.
pub(super) fn loaded_of(params: &Params) -> impl Fn(u32) -> u32 {
    let (same, share) = (params.word("congestors-on") == "same", params.share("share"));
    move |nodes| if same { nodes } else { loaded_nodes(nodes, share) }
}

/// Where the two roles are.
pub(super) struct RoleNodes {
    pub canaries: Members,
    pub canary_nodes: u32,
    /// First node, nodes, first slot and slots of the congestors.
    pub load: (u32, u32, u32, Option<u32>),
    /// The nodes that measure, if they were listed.
    pub listed: Vec<String>,
}

/// How many slots of a node take part, if not all: so many on each of its parts.
pub(super) fn slots(request: &Request<'_>) -> Result<Option<u32>, SuiteError> {
    let (asked, layout) = (request.params.count("slots"), request.site.layout);
    let used = asked.saturating_mul(layout.parts_per_node.into());
    if used > layout.max_ranks_per_node.into() {
        let parts =
            if layout.parts_per_node > 1 { format!(" on {} parts", layout.parts_per_node) } else { String::new() };
        let most = layout.max_ranks_per_node;
        let say = format!("slots={asked}{parts}: nodes have up to {most} ranks; start more, or ask for fewer");
        return Err(SuiteError::TooSmall(say));
    }
    Ok((used > 0).then_some(used as u32))
}

pub(super) fn ground(request: &Request<'_>) -> Result<RoleNodes, SuiteError> {
    let (params, layout) = (request.params, request.site.layout);
    let (slots, listed) = (slots(request)?, listed(params, layout.nodes)?);
    if params.word("congestors-on") == "same" {
        let all = slots.unwrap_or(layout.min_ranks_per_node);
        if all < 2 {
            let say = "congestors-on=same needs at least 2 ranks on every node: one measures, one loads";
            return Err(SuiteError::TooSmall(say.into()));
        }
        // Of an odd number the congestors get one more.
        let lower = all / 2;
        let canaries = Members::Block { first_node: 0, nodes: layout.nodes, first_slot: 0, slots: Some(lower) };
        return Ok(RoleNodes {
            canaries,
            canary_nodes: layout.nodes,
            load: (0, layout.nodes, lower, Some(all - lower)),
            listed,
        });
    }
    check_share(params, layout.nodes)?;
    let loaded = match listed.len() as u32 {
        0 => loaded_nodes(layout.nodes, params.share("share")),
        canaries => layout.nodes - canaries,
    };
    // Fewer than two nodes cannot load a network: they measure.
    let loaded = if loaded < 2 { 0 } else { loaded };
    let canaries = Members::Block { first_node: loaded, nodes: layout.nodes - loaded, first_slot: 0, slots };
    Ok(RoleNodes { canaries, canary_nodes: layout.nodes - loaded, load: (0, loaded, 0, slots), listed })
}

/// The background jobs of a set of congestors on their ground.
pub(super) fn background(set: &[Written], taken: &[Written], ground: &RoleNodes, limits: &Limits) -> Vec<Job> {
    let (mut first_node, nodes, first_slot, slots) = ground.load;
    let weights: Vec<f64> = set.iter().map(|w| w.weight).collect();
    let mut jobs: Vec<Job> = Vec::new();
    for (w, nodes) in set.iter().zip(divide(nodes, &weights)) {
        let members = Members::Block { first_node, nodes, first_slot, slots };
        first_node += nodes;
        // Names must differ within a phase, and the canaries of this one are in `taken`.
        let (name, kernel) = (unique(&w.label, taken, &jobs), w.kernel.clone());
        let found = called(&kernel).expect("checked when it was read");
        let all = found.resolve(&w.params).expect("checked when it was read");
        let Congesting { steps, set } =
            (found.kernel.traits.congestor)(&Asked { given: &w.params, params: &all, nodes });
        let mut params = w.params.clone();
        params.extend(set.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        let stop = limits.congestor(steps);
        jobs.push(Job { name, kernel, params, role: Role::Background, members, instances: Instances::Slot, stop });
    }
    jobs
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
    fn a_share_is_kept_or_refused_with_the_largest_that_can_be() {
        let check = |share: &str, nodes| check_share(&Params::from([("share".into(), share.into())]), nodes);
        for (nodes, most) in [(4, "50%"), (8, "75%"), (7, "72%"), (9408, "99.98%")] {
            let said = check("100%", nodes).unwrap_err().to_string();
            assert!(said.ends_with(&format!("at most --share {most}")), "{said}");
            assert_eq!(check(most, nodes), Ok(()), "{nodes}");
            let nodes_of = |text: &str| share_of(nodes, Params::from([("share".into(), text.into())]).share("share"));
            assert_eq!(nodes_of(most), nodes - 2);
        }
        assert_eq!(check("80%", 4), Ok(()), "the default gives way");
    }

    /// Congestors on so many nodes.
    fn on(nodes: u32) -> RoleNodes {
        let (canaries, load) = (Members::Places(vec![]), (0, nodes, 0, None));
        RoleNodes { canaries, canary_nodes: 2, load, listed: vec![] }
    }

    #[test]
    fn congestors_without_room_are_named_with_the_nodes_that_hold_them() {
        let set: Vec<Written> = ["a2a", "p2p-incast", "get-bcast"].map(|text| written(text).unwrap()).into();
        let params = |placement: &str| {
            [("share", "80%"), ("congestors-on", placement)].map(|(k, v)| (k.to_string(), v.to_string())).into()
        };
        assert_eq!(without_room(&set, &on(6), loaded_of(&params("other"))), []);
        let missing = without_room(&set, &on(3), loaded_of(&params("other")));
        assert_eq!(
            missing.iter().map(|m| m.what.as_str()).collect::<Vec<_>>(),
            ["congestor p2p-incast", "congestor get-bcast"]
        );
        assert!(missing[0].why.contains("8 nodes hold all"), "{}", missing[0]);
        assert!(without_room(&set, &on(3), loaded_of(&params("same")))[0].why.contains("6 nodes hold all"));
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

    /// The congestor `text` on so many nodes.
    fn congestor(text: &str, nodes: u32) -> Job {
        let given = [("time", "10s"), ("rounds", "1"), ("precision", "0"), ("cut", "1")];
        let limits = Limits::read(&given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect());
        background(&[written(text).unwrap()], &[], &on(nodes), &limits).remove(0)
    }

    #[test]
    fn congestor_loops_follow_the_original() {
        for (nodes, plain, deep) in [(32, 512, 512), (64, 256, 302), (376, 43, 147), (1880, 8, 100)] {
            let steps = ["p2p-incast", "alltoall", "allreduce:6553600"].map(|text| congestor(text, nodes).stop.steps);
            assert_eq!(steps, [plain, plain, deep], "{nodes}");
        }
        assert_eq!(congestor("p2p-incast", 20_000).stop.steps, 1);
    }

    #[test]
    fn pairs_have_few_partners_on_many_nodes_unless_told() {
        let partners = |text, nodes| {
            let job = congestor(text, nodes);
            (job.stop.steps, job.params.get("partners").cloned())
        };
        assert_eq!(partners("a2a", 64), (256, None));
        assert_eq!(partners("a2a", 65), (512, Some("8".into())));
        assert_eq!(partners("a2a:partners=0", 128), (128, Some("0".into())));
        assert_eq!(partners("alltoall", 128), (128, None));
    }

    /// The label is what a user wrote; what runs is the kernel itself.
    #[test]
    fn an_alias_is_its_kernel_with_parameters() {
        let job = congestor("a2a:8k", 4);
        assert_eq!((job.name.as_str(), job.kernel.as_str()), ("a2a:8k", "alltoall"));
        assert_eq!((job.params["by"].as_str(), job.params["size"].as_str()), ("pairs", "8k"));
        assert_eq!(written("a2a:by=collective").unwrap().params["by"], "collective");
        assert!(written("a2b").unwrap_err().to_string().contains("did you mean `a2a`"));
    }
}
