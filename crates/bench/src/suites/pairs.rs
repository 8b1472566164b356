//! Every pair of nodes, all at once in rounds: which node, switch or group is slow? `report` ranks the suspects.

use super::{Request, Suite, SuiteError};
use crate::kernels::meet::rounds;
use record::{About, Instances, Job, Members, NodeOrder, Phase, Plan, Role, Stop};
use spec::{Card, Kind, Param, Params, ReadParams};

/// The suite.
pub const PAIRS: Suite = Suite {
    card: Card {
        name: "all-pairs",
        about: "Every pair of nodes under the load of all others: finds the slow node, cable or switch",
        source: "Tailback",
        params: &[
            Param::new("size", Kind::Size, "1MiB", "bytes of one message").simulated("256KiB"),
            Param::new("window", Kind::Count, "4", "messages under way at once in one direction")
                .simulated("2")
                .up_to(crate::kernels::WINDOW)
                .at_least(1.0),
            Param::new("slots", Kind::Count, "1", "ranks of each node that take part").up_to(4096.0).at_least(1.0),
            Param::new(
                "rounds",
                Kind::Count,
                "0",
                "rounds in which nodes are paired; 0 for all pairs, or 64 rounds of more than 128 nodes",
            )
            .up_to(1e6),
            Param::new("repeat", Kind::Count, "3", "how often each round").simulated("1").up_to(10_000.0).at_least(1.0),
            Param::new("steps", Kind::Count, "4", "timed windows of each meeting")
                .simulated("2")
                .up_to(1e6)
                .at_least(1.0),
        ],
    },
    asks: &[],
    alone: false,
    shortcut: None,
    tries: None,
    plan,
    tiny: &[("size", "4KiB"), ("window", "1")],
};

/// Of fewer nodes none can be told from the others.
pub const FEWEST: u32 = 4;
/// Above so many nodes not all pairs meet unless that is asked for: each node then meets a random choice.
const ALL: u32 = 128;
const SOME: u64 = 64;

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, seed, payload, .. } = request;
    let layout = request.site.layout;
    if layout.nodes < FEWEST {
        let say = "all-pairs needs at least 4 nodes to tell which is slow (or ranks that count as nodes: --unit rank)";
        return Err(SuiteError::TooSmall(say.into()));
    }
    let slots = params.count("slots") as u32;
    if slots > layout.min_ranks_per_node {
        let most = layout.min_ranks_per_node;
        return Err(SuiteError::Senseless(format!("slots={slots}: some node has no more than {most} ranks")));
    }
    let all = rounds(layout.nodes as usize) as u64;
    let rounds = match params.count("rounds") {
        0 if layout.nodes > ALL => SOME,
        0 => all,
        n => n.min(all),
    };
    let own = |name: &str| (name.to_string(), params.word(name).to_string());
    let job = Job {
        name: "all-pairs".into(),
        kernel: "meet".into(),
        params: Params::from([own("size"), own("window")]),
        role: Role::Measured,
        members: Members::Block { first_node: 0, nodes: layout.nodes, first_slot: 0, slots: Some(slots) },
        instances: Instances::Slot,
        stop: Stop {
            warmup: 1,
            steps: params.count("steps") as u32,
            arrangements: rounds as u32,
            blocks: rounds * params.count("repeat"),
            ..Stop::ONCE
        },
    };
    let about = About::Test { mode: None, test: "all-pairs".into(), variant: None };
    // Natural order: a node's number in the plan is its number on the machine.
    let mut plan = Plan::new("all-pairs", seed, NodeOrder::Natural, payload, vec![Phase::new(about, vec![job])]);
    if rounds < all {
        plan.notes.push(format!("{rounds} of {all} rounds: each node meets so many of the others, chosen at random"));
    }
    super::check(&plan, request.site)?;
    Ok(plan)
}
