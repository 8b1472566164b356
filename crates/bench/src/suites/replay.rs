//! A schedule of communication, alone and under congestors on the rest of the nodes: what congestion does to an application of which only
//! the messages are known.

use super::beside;
use super::roles::{BURST, CANARY_NODES, CONGESTORS, REST, ROLES, SHARE, SLOTS, slots};
use super::{Request, Suite, SuiteError};
use crate::goal::{Goal, Ready, install, installed, parse};
use record::{Instances, Job, Plan, Role, Stop};
use spec::{Card, Kind, Param, Params, ReadParams};
use std::collections::BTreeMap;

/// The suite.
pub const REPLAY: Suite = Suite {
    card: Card {
        name: "replay",
        about: "A schedule of sends, receives and computing (GOAL), alone and under congestors on the rest of the nodes",
        source: "GPCNeT (Chunduri et al., SC '19) §5.3; GOAL: Hoefler, Siebert, Lumsdaine 2009",
        params: &[
            Param::new(
                "schedule",
                Kind::File,
                "",
                "the schedule, a file of GOAL; without one, a broadcast over a binomial tree of all ranks that measure",
            ),
            Param::new("repeat", Kind::Count, "10", "how many times in each phase").up_to(1e6).at_least(1.0),
            Param::new("compute", Kind::Real, "1", "computing takes so many times as long as the schedule says")
                .at_least(0.0)
                .up_to(1e6),
            CONGESTORS,
            SHARE,
            ROLES,
            CANARY_NODES,
            BURST,
            REST,
            SLOTS,
            Param::new("cut", Kind::Count, "1", "divide the congestors' loop counts by this").simulated("10"),
        ],
    },
    asks: &[],
    alone: false,
    shortcut: Some(("tailback replay FILE.goal", "the messages of an application, alone and under congestors")),
    tries: None,
    plan,
    tiny: &[("repeat", "2"), ("cut", "50"), ("congestors", "a2a")],
};

const SCHEDULE: &str = "schedule";

/// The schedule that parameters name, read once in a process: it is too large for a plan.
fn named(files: &BTreeMap<String, String>) -> Result<Option<&'static Goal>, SuiteError> {
    let Some(text) = files.get(SCHEDULE) else { return Ok(None) };
    if installed().is_none() {
        let ready = parse(text).and_then(Ready::new);
        install(ready.map_err(|why| SuiteError::Unknown(format!("{SCHEDULE}: {why}")))?);
    }
    Ok(installed().map(|ready| &ready.goal))
}

/// What is replayed, in words; nothing of what is built in.
fn label(goal: Option<&Goal>) -> String {
    goal.map_or_else(String::new, |goal| format!("{} ranks, {} operations", goal.ranks.len(), goal.operations()))
}

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let goal = named(request.files)?;
    beside::plan(request, REPLAY.card.name, "that replay", |request, ground| {
        let (params, layout) = (request.params, request.site.layout);
        let slots = slots(request)?.unwrap_or(layout.min_ranks_per_node);
        let ranks = u64::from(ground.canary_nodes) * u64::from(slots);
        let wanted = goal.map_or(2, |goal| goal.ranks.len());
        if ranks < wanted as u64 {
            return Err(SuiteError::TooSmall(format!(
                "the schedule has {wanted} ranks, and {ranks} measure on {} of {} nodes; more nodes, more ranks of each, or a smaller --share",
                ground.canary_nodes, layout.nodes
            )));
        }
        Ok(Job {
            name: "replay".into(),
            kernel: crate::kernels::SCHEDULED.into(),
            params: Params::from([(SCHEDULE.into(), label(goal)), ("compute".into(), params.word("compute").into())]),
            role: Role::Measured,
            members: ground.canaries.clone(),
            instances: Instances::Job,
            stop: Stop { blocks: params.count("repeat"), ..Stop::ONCE },
        })
    })
}
