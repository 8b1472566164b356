//! What a twin of a machine needs: one plan whose points together tell the numbers of a machine file, for `tailback calibrate`.
//!
//! It is put together from the plans of other suites, so that whatever reads those reads these: ping-pong, streams and the delayed
//! receiver (max-rate), steady flows that meet (contention graphs), GPCNeT's kernels on all nodes without load, and incasts alone.

use super::contention::{self, Mode, PlannedFlow};
use super::gpcnet::GPCNET;
use super::hpcc::HPCC;
use super::maxrate::MAXRATE;
use super::network::NETWORK;
use super::pairs::PAIRS;
use super::{Request, Suite, SuiteError};
use crate::site::Ask;
use record::{About, Members, NodeOrder, Phase, Plan, Purpose};
use spec::{Card, Kind, Param, Params, ReadParams, Rng};

/// The suite.
pub const CHARACTERIZE: Suite = Suite {
    card: Card {
        name: "characterize",
        about: "What a twin of this machine needs, for `tailback calibrate`: latencies, rates, thresholds, flows that meet, quiet canaries",
        source: "Tailback; its parts are of max-rate, contention graphs and GPCNeT",
        params: &[
            Param::new("budget", Kind::Time, "5m", "time in all, of the machine's clock, shared by all points")
                .at_least(1e-3)
                .simulated("1s"),
            Param::new(
                "pair",
                Kind::Text,
                "",
                "distances to measure, as in maxrate; if not given, all that the machine tells of, and inside a node",
            ),
            Param::new(
                "sizes",
                Kind::Text,
                "8,512,4KiB,16KiB,64KiB,1MiB",
                "messages between two nodes, separated by commas",
            ),
            Param::new("trials", Kind::Count, "11", "repetitions of each point between two nodes")
                .at_least(1.0)
                .up_to(100.0)
                .simulated("3"),
            Param::new(
                "compute",
                Kind::Choice(&["no", "yes"]),
                "no",
                "also what one rank computes: DGEMM, STREAM and RandomAccess of HPC Challenge",
            ),
        ],
    },
    asks: &[Ask::Memory, Ask::Distances, Ask::Sockets],
    alone: false,
    shortcut: None,
    tries: None,
    plan,
    tiny: &[("sizes", "8,16KiB"), ("trials", "1"), ("budget", "40ms")],
};

/// Bytes of a message of flows that meet: long enough that only rates count.
const FLOW: u64 = 1 << 20;
/// Flows that meet, by name: where they leave together, arrive together, or pass each other.
const GRAPHS: [(&str, &[(u32, u32)]); 5] = [
    ("alone", &[(0, 1)]),
    ("out-2", &[(0, 1), (0, 2)]),
    ("in-2", &[(1, 0), (2, 0)]),
    ("in-out", &[(0, 1), (2, 0)]),
    ("in-3", &[(1, 0), (2, 0), (3, 0)]),
];
/// What fills a node's way in, alone on all nodes.
const INCASTS: [&str; 2] = ["p2p-incast", "put-incast"];

fn given(list: &[(&str, &str)]) -> Params {
    list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, site, seed, payload, .. } = request;
    let layout = site.layout;
    if layout.nodes < 2 {
        let say = "characterize needs at least 2 nodes (or ranks that count as nodes: --unit rank)";
        return Err(SuiteError::TooSmall(say.into()));
    }
    let of = |suite: &Suite, list: &[(&str, &str)]| -> Result<Vec<Phase>, SuiteError> {
        Ok(suite.plan_on(&given(list), site, seed, payload)?.phases)
    };
    let mut phases: Vec<Phase> = of_pairs(request)?;
    let (sizes, trials) = (params.word("sizes"), params.word("trials"));
    let classes = classes(request);
    let between = classes.iter().find(|c| *c != "inside").map_or("near", String::as_str);
    let counts = counts(layout.min_ranks_per_node);
    phases.extend(of(
        &MAXRATE,
        &[("modes", "stream,duplex"), ("pair", between), ("pairs", &counts), ("sizes", sizes), ("trials", trials)],
    )?);
    phases.extend(graphs(request));
    phases.extend(of(&NETWORK, &[])?);
    phases.extend(incasts(request)?);
    // A node that is not like the others would pass for the machine.
    if layout.nodes >= super::pairs::FEWEST {
        phases.extend(of(&PAIRS, &[])?);
    }
    if params.word("compute") == "yes" {
        phases.extend(of(&HPCC, &[("only", "single/dgemm,single/stream,single/random-access")])?);
    }
    share(&mut phases, params.time("budget").secs());
    // In random order, as the points of max-rate: a drift of the machine is not to pass for an effect.
    Rng::new(seed, "characterize order", 0).shuffle(&mut phases);
    let plan = Plan { sweep: true, ..Plan::new("characterize", seed, NodeOrder::Natural, payload, phases) };
    super::check(&plan, site)?;
    Ok(plan)
}

/// The distances that are measured.
fn classes(request: &Request<'_>) -> Vec<String> {
    let (params, site) = (request.params, request.site);
    let asked = params.names("pair");
    if !asked.is_empty() {
        return asked;
    }
    let mut found: Vec<&str> = match site.distances {
        Some(d) => {
            let known = [("same-switch", d.switch), ("same-group", d.group), ("far", d.far)];
            known.into_iter().filter(|(_, node)| node.is_some()).map(|(name, _)| name).collect()
        }
        None => Vec::new(),
    };
    if found.is_empty() {
        found.push("near");
        // The last of several nodes may be farther than the second.
        found.extend((site.layout.nodes > 2).then_some("far"));
    }
    found.extend((site.layout.min_ranks_per_node >= 2).then_some("inside"));
    found.into_iter().map(String::from).collect()
}

/// Numbers of pairs at once: doubles, and all.
fn counts(most: u32) -> String {
    let mut all: Vec<u32> = std::iter::successors(Some(1u32), |k| k.checked_mul(2)).take_while(|k| *k < most).collect();
    all.push(most);
    all.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// One pair at every distance: all sizes there and back, the size from which on sends wait, and trains of messages.
fn of_pairs(request: &Request<'_>) -> Result<Vec<Phase>, SuiteError> {
    let (params, site) = (request.params, request.site);
    let mut phases = Vec::new();
    for (i, class) in classes(request).iter().enumerate() {
        // Thresholds and overheads belong to a host, not to a distance.
        let host = if i == 0 { "yes" } else { "no" };
        let list = [
            ("modes", "pingpong"),
            ("pair", class),
            ("pairs", "1"),
            ("sizes", params.word("sizes")),
            ("trials", params.word("trials")),
            ("probe", host),
            ("loggp", host),
        ];
        phases.extend(MAXRATE.plan_on(&given(&list), site, request.seed, request.payload)?.phases);
    }
    Ok(phases)
}

/// The graphs that find room.
fn graphs(request: &Request<'_>) -> Vec<Phase> {
    let layout = request.site.layout;
    let mode = Mode::Rates { seconds: request.params.time("budget").secs(), window: contention::WINDOW };
    let flows = |ends: &[(u32, u32)]| -> Vec<PlannedFlow> {
        let flow = |(i, (from, to)): (usize, &(u32, u32))| PlannedFlow {
            name: format!("f{i}"),
            from: *from,
            to: *to,
            bytes: FLOW,
            start_ps: 0,
        };
        ends.iter().enumerate().map(flow).collect()
    };
    let fits = |list: &[PlannedFlow]| {
        let (nodes, ranks) = contention::needs(list);
        nodes <= layout.nodes && ranks <= layout.min_ranks_per_node
    };
    let all = GRAPHS.iter().map(|(name, ends)| (*name, flows(ends))).filter(|(_, list)| fits(list));
    all.flat_map(|(name, list)| {
        let purpose = if name == "alone" { Purpose::Alone } else { Purpose::Score };
        contention::phases((name, purpose), &list, mode)
    })
    .collect()
}

/// Each incast alone, on all nodes.
fn incasts(request: &Request<'_>) -> Result<Vec<Phase>, SuiteError> {
    let Request { site, seed, payload, .. } = *request;
    // Fewer have no nodes for a load beside those that measure; flows that meet tell as much of them.
    if site.layout.nodes < 4 {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for incast in INCASTS {
        let list = [("baselines", "yes"), ("congestors", incast), ("placements", "1"), ("share", "50%")];
        let made = GPCNET.plan_on(&given(&list), site, seed, payload)?.phases;
        found.extend(made.into_iter().filter(|p| matches!(p.about, About::Baseline { .. })));
    }
    for job in found.iter_mut().flat_map(|p| &mut p.jobs) {
        job.members = Members::Block { first_node: 0, nodes: site.layout.nodes, first_slot: 0, slots: None };
    }
    Ok(found)
}

/// Gives every point its share of the time. What runs once takes what it takes.
fn share(phases: &mut [Phase], budget: f64) {
    let each = budget / phases.len().max(1) as f64;
    for job in phases.iter_mut().flat_map(|p| &mut p.jobs).filter(|j| j.stop.blocks > 1) {
        job.stop.time_s = Some(each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::{Distances, Site};
    use record::{Layout, PairPattern, Payload};

    fn make(site: &Site, list: &[(&str, &str)]) -> Result<Plan, SuiteError> {
        CHARACTERIZE.plan_on(&given(list), site, 1, Payload::Lengths)
    }

    #[test]
    fn two_nodes_are_enough_and_more_tell_more() {
        for (nodes, ranks) in [(2, 1), (2, 4), (3, 2), (4, 1), (16, 4)] {
            let plan = make(&Site::new(Layout::even(nodes, ranks), true), &[]).unwrap();
            let graphs = plan.phases.iter().filter(|p| matches!(p.about, About::Graph { .. })).count();
            let expected = match (nodes, ranks) {
                (2, _) | (_, 1) => 1,
                (3, _) => 4,
                _ => 5,
            };
            assert_eq!(graphs, expected, "{nodes} nodes, {ranks} ranks");
            let incasts = plan.phases.iter().filter(|p| matches!(p.about, About::Baseline { .. })).count();
            assert_eq!(incasts, if nodes < 4 { 0 } else { INCASTS.len() }, "{nodes} nodes");
        }
        assert!(make(&Site::new(Layout::even(1, 4), true), &[]).is_err());
    }

    #[test]
    fn distances_are_those_that_are_known() {
        let classes_of = |site: &Site| {
            let plan = make(site, &[]).unwrap();
            let class = |p: &Phase| match &p.about {
                About::Point { class, pattern: PairPattern::Pingpong, .. } => Some(class.clone()),
                _ => None,
            };
            let mut found: Vec<String> = plan.phases.iter().filter_map(class).collect();
            found.sort();
            found.dedup();
            found
        };
        let mut site = Site::new(Layout::even(8, 1), true);
        assert_eq!(classes_of(&site), ["far", "near"]);
        site.distances = Some(Distances { switch: Some(1), group: None, far: Some(7) });
        assert_eq!(classes_of(&site), ["far", "same-switch"]);
        site.layout = Layout::even(8, 2);
        assert_eq!(classes_of(&site), ["far", "inside", "same-switch"]);
    }

    #[test]
    fn the_time_is_shared() {
        let plan = make(&Site::new(Layout::even(4, 2), false), &[("budget", "60s")]).unwrap();
        let limited: Vec<f64> =
            plan.phases.iter().map(|p| p.jobs.iter().filter_map(|j| j.stop.time_s).fold(0.0, f64::max)).collect();
        assert!(limited.iter().sum::<f64>() <= 60.0 + 1e-9);
        assert!(limited.iter().filter(|t| **t > 0.0).count() > plan.phases.len() * 3 / 4);
    }
}
