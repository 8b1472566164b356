//! GPCNeT's load test: canaries alone, then each canary under all congestors.

use super::loops::Limits;
use super::roles::{
    BURST, CANARY_NODES, CONGESTORS, CONGESTORS_ON, REST, ROLES, RoleNodes, SHARE, SLOTS, Written, background, ground,
    list, loaded_of, notes, order, pulse, share_note, without_room,
};
use super::{Request, Suite, SuiteError};
use record::{About, Instances, Job, Load, Members, Missing, Phase, Plan, Role};
use spec::{Card, Kind, Param, Params, ReadParams};

/// The suite.
pub const GPCNET: Suite = Suite {
    card: Card {
        name: "gpcnet",
        about: "Canaries measured alone and under congestors: tail latency and congestion impact",
        source: "GPCNeT (Chunduri et al., SC '19), network_load_test",
        params: &[
            CANARIES,
            CONGESTORS,
            SHARE,
            Param::new(
                "sets",
                Kind::Choice(&["all", "each", "matrix"]),
                "all",
                "which congestors load together: `all`, `each` alone on all congestor nodes, or `matrix` for both",
            ),
            CONGESTORS_ON,
            ROLES,
            CANARY_NODES,
            BURST,
            REST,
            PLACEMENTS,
            Param::new("baselines", Kind::Choice(&["no", "yes"]), "no", "measure each congestor alone, too"),
            Param::new(
                "ejection",
                Kind::Rate,
                "",
                "rate at which a node takes what is sent to it, for the drain time; measured by the incast if not given",
            ),
            SLOTS,
            TIME,
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
    tiny: &[("placements", "2"), ("rounds", "6"), ("cut", "50"), ("time", "10ms"), ("congestors", "a2a")],
};

/// Which kernels are measured.
pub(super) const CANARIES: Param = Param::new(
    "canaries",
    Kind::Text,
    "p2p-lat,p2p-bw-sync,allreduce",
    "kernels to measure, as NAME[:SIZE][:PARAM=VALUE]..., separated by commas",
)
.known(crate::kernels::names);
/// How many times roles are dealt out to nodes.
pub(super) const PLACEMENTS: Param = Param::new(
    "placements",
    Kind::Count,
    "0",
    "random placements of roles on nodes that share time and rounds; 0 for as many as they hold, but 5 at least",
)
.up_to(record::MOST_PLACEMENTS as f64);
// The limit of GPCNeT 1.3.
pub(super) const TIME: Param = Param::new(
    "time",
    Kind::Time,
    "10s",
    "time limit of each canary in each phase, over all placements, of the machine's clock",
)
.simulated("10s");
// 10,000 measurements of 30 rings, the most that GPCNeT 1.3 does.
pub(super) const ROUNDS: Param =
    Param::new("rounds", Kind::Count, "300000", "blocks at most for each canary in each phase, over all placements")
        .simulated("10")
        .at_least(1.0);
pub(super) const PRECISION: Param = Param::new(
    "precision",
    Kind::Share,
    "0",
    "stop a canary when its average and its 99% quantile are known this well; 0 for never",
);
pub(super) const CUT: Param =
    Param::new("cut", Kind::Count, "1", "divide all loop counts by this; sizes stay as they are")
        .simulated("10")
        .at_least(1.0);

pub(super) fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, seed, payload, .. } = request;
    let layout = request.site.layout;
    if layout.nodes < 2 {
        let say = "gpcnet needs at least 2 nodes (or ranks that count as nodes: --unit rank)";
        return Err(SuiteError::TooSmall(say.into()));
    }
    let placements = placements(request);
    let limits = Limits::read(params).shared(placements).pulsed(pulse(params)?);
    let ground = ground(request)?;
    let (canaries, congestors) = (list(params, "canaries")?, list(params, "congestors")?);
    let mut sets: Vec<(Load, Vec<Job>)> = Vec::new();
    if params.word("sets") != "each" {
        sets.push((Load::All, background(&congestors, &canaries, &ground, &limits)));
    }
    if params.word("sets") != "all" {
        let alone = |w: &Written| {
            let jobs = background(std::slice::from_ref(w), &canaries, &ground, &limits);
            (Load::Only(w.label.clone()), jobs)
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
    let mut phases = Vec::new();
    for w in &canaries {
        phases.push(Phase::new(About::Alone { test: w.label.clone() }, vec![canary(w)]));
    }
    if params.word("baselines") == "yes" {
        phases.extend(baselines(&congestors, &ground, &limits));
    }
    // With few nodes no congestor may find room: the run is then of the canaries alone, and the plan says what is missing.
    for (by, load) in sets.iter().filter(|(_, load)| !load.is_empty()) {
        for w in &canaries {
            let jobs = std::iter::once(canary(w)).chain(load.iter().cloned()).collect();
            phases.push(Phase::new(About::Loaded { test: w.label.clone(), by: by.clone() }, jobs));
        }
    }
    // Roles are contiguous in the plan's order; unless told, that is shuffled as in the original, so they spread over the machine.
    let mut plan = Plan::new("gpcnet", seed, order(params, &ground)?, payload, phases);
    plan.placements = placements;
    plan.canary_nodes.clone_from(&ground.listed);
    plan.notes.extend(limits.note());
    plan.ejection = (!params.word("ejection").is_empty()).then(|| params.rate("ejection").bytes_per_s());
    plan.missing = missing(params, &congestors, &ground);
    plan.notes.extend(share_note(params, &ground, layout.nodes));
    plan.notes.extend(notes(params));
    super::check(&plan, request.site)?;
    Ok(plan)
}

/// Each congestor measured alone, where it loads later.
fn baselines(congestors: &[Written], ground: &RoleNodes, limits: &Limits) -> Vec<Phase> {
    let phase = |mut job: Job| {
        let nodes = match job.members {
            Members::Block { nodes, .. } => nodes,
            Members::Places(_) => ground.canary_nodes,
        };
        (job.role, job.stop) = (Role::Measured, limits.canary(&job.kernel, nodes));
        Phase::new(About::Baseline { congestor: job.name.clone() }, vec![job])
    };
    // No canary runs beside these, so no name is taken.
    background(congestors, &[], ground, limits).into_iter().map(phase).collect()
}

/// Fewer placements say too little about their spread.
const FEWEST: u32 = 5;
/// More than the original's 30 rings would leave placements without a ring.
const MOST: u32 = 30;
/// A simulated machine of so many ranks gets [`SIMULATED`] placements, one of more ranks fewer and one of fewer ranks more: a placement
/// costs as much as its ranks.
const SIMULATED_RANKS: u32 = 96;
const SIMULATED: u32 = 10;

/// How many placements there are. They differ far more than samples of one do, so the interval of a result is narrowest with as many as
/// the time holds, each as short as it can be and still show a tail: half a second, and 10 us for every rank that has to join new groups.
fn placements(request: &Request<'_>) -> u32 {
    let (params, site) = (request.params, request.site);
    let ranks = site.layout.ranks;
    match params.count("placements") {
        0 if site.simulated => (SIMULATED * SIMULATED_RANKS / ranks.max(1)).clamp(FEWEST, MOST),
        0 => ((params.time("time").secs() / (0.5 + 1e-5 * f64::from(ranks))) as u32).clamp(FEWEST, MOST),
        asked => asked.min(u32::MAX.into()) as u32,
    }
}

/// The congestors that find no room in any set.
fn missing(params: &Params, congestors: &[Written], ground: &RoleNodes) -> Vec<Missing> {
    // Alone, each finds room wherever two nodes load.
    let fit = params.word("sets") == "each" && ground.load.1 >= 2;
    if fit { Vec::new() } else { without_room(congestors, ground, loaded_of(params)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Site;
    use record::{Layout, Payload};

    fn make(nodes: u32, given: &[(&str, &str)]) -> Result<Plan, SuiteError> {
        let given: Params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        GPCNET.plan_on(&given, &Site::new(Layout::even(nodes, 2), false), 1, Payload::Checked)
    }

    #[test]
    fn any_layout_gives_a_plan_that_can_run() {
        for nodes in 2..70 {
            let plan = make(nodes, &[]).unwrap();
            assert_eq!(plan.phases.len(), if nodes < 4 { 3 } else { 6 }, "{nodes}");
            // Ten nodes hold the four congestors of the default; what finds no room is said.
            let missing = [4, 4, 3, 3, 2, 2, 1, 1].get(nodes as usize - 2).copied().unwrap_or(0);
            assert_eq!(plan.missing.len(), missing, "{nodes}: {:?}", plan.missing);
        }
        assert!(make(1, &[]).is_err());
    }

    #[test]
    fn time_goes_into_placements() {
        let count = |simulated: bool, ranks: u32, given: &[(&str, &str)]| {
            let given: Params = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            let site = Site::new(Layout::even(ranks / 2, 2), simulated);
            GPCNET.plan_on(&given, &site, 1, Payload::Checked).unwrap().placements
        };
        assert_eq!(count(false, 20, &[]), 19);
        assert_eq!(count(false, 100_000, &[]), 6);
        assert_eq!(count(false, 20, &[("time", "500ms")]), FEWEST);
        assert_eq!(count(false, 20, &[("time", "1h")]), MOST);
        assert_eq!((count(true, 96, &[]), count(true, 40, &[]), count(true, 8, &[])), (SIMULATED, 24, MOST));
        assert_eq!(count(true, 27_000, &[]), FEWEST);
        assert_eq!(count(true, 40, &[("placements", "1")]), 1);
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
        let same = make(4, &[("congestors-on", "same"), ("congestors", "a2a")]).unwrap();
        assert_eq!(
            same.phases[3].jobs[1].members,
            Members::Block { first_node: 0, nodes: 4, first_slot: 1, slots: Some(1) }
        );
        let text = |given: &[(&str, &str)]| make(10, given).unwrap_err().to_string();
        assert!(text(&[("slots", "3")]).contains("up to 2 ranks"));
        assert!(text(&[("congestors-on", "same"), ("slots", "1")]).contains("at least 2 ranks"));
        assert!(text(&[("congestors", "a2a@none")]).contains("a number from 0.000001 to 1000000"));
        assert!(text(&[("canaries", "p2p-lat:sise=4")]).contains("did you mean `size`"));
    }

    #[test]
    fn load_comes_in_bursts_and_where_it_is_asked_for() {
        let plan = make(20, &[("burst", "1ms"), ("rest", "10us"), ("roles", "interleaved")]).unwrap();
        let pulses: Vec<_> = plan.phases.iter().flat_map(|p| &p.jobs).map(|j| (j.role, j.stop.pulse)).collect();
        let near = |p: record::Pulse| (p.on_s / 1e-3 - 1.0).abs() < 1e-9 && (p.off_s / 1e-5 - 1.0).abs() < 1e-9;
        assert!(pulses.iter().all(|(role, p)| p.is_some_and(near) == (*role == Role::Background)), "{pulses:?}");
        assert!(pulses.iter().any(|(_, p)| p.is_some()) && pulses.iter().any(|(_, p)| p.is_none()));
        assert_eq!(plan.node_order, record::NodeOrder::Interleaved { first: 16 });
        assert_eq!(plan.notes.len(), 2, "{:?}", plan.notes);
        assert_eq!(make(20, &[("roles", "contiguous")]).unwrap().node_order, record::NodeOrder::Rotated);
        assert_eq!(make(20, &[]).unwrap().node_order, record::NodeOrder::Shuffled);
        let text = |given: &[(&str, &str)]| make(10, given).unwrap_err().to_string();
        assert!(text(&[("rest", "1ms")]).contains("give `burst`"));
        assert!(text(&[("roles", "contiguous"), ("congestors-on", "same")]).contains("every node has both"));
    }
}
