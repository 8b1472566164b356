//! The harness measured with itself: what a step costs when it does nothing.

use super::{Request, Suite, SuiteError};
use record::{About, Instances, Job, Members, NodeOrder, Phase, Plan, Role, Stop};
use spec::{Card, Kind, Param, Params, ReadParams};

/// The suite.
pub const HARNESS: Suite = Suite {
    card: Card {
        name: "harness",
        about: "The cost of the harness itself: the null kernel on every rank",
        source: "Tailback",
        params: &[
            Param::new("steps", Kind::Count, "1000", "timed steps of a block"),
            Param::new("rounds", Kind::Count, "1000", "blocks").simulated("30"),
        ],
    },
    asks: &[],
    alone: false,
    shortcut: None,
    tries: None,
    plan,
    tiny: &[("steps", "10"), ("rounds", "3")],
};

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, seed, payload, .. } = request;
    let layout = request.site.layout;
    let stop = Stop {
        warmup: 100,
        steps: params.count("steps").min(u64::from(u32::MAX)) as u32,
        blocks: params.count("rounds"),
        ..Stop::ONCE
    };
    let job = Job {
        name: "null".into(),
        kernel: "null".into(),
        params: Params::new(),
        role: Role::Measured,
        members: Members::Block { first_node: 0, nodes: layout.nodes, first_slot: 0, slots: None },
        instances: Instances::Slot,
        stop,
    };
    let phases = vec![Phase::new(About::Alone { test: "null".into() }, vec![job])];
    let plan = Plan::new("harness", seed, NodeOrder::Natural, payload, phases);
    super::check(&plan, request.site)?;
    Ok(plan)
}
