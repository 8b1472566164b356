//! Ambient load: canaries only, repeated, as a time series beside whatever else the machine does. GPCNeT §4.2, its runs "in the wild".

use super::gpcnet::{CANARIES, CUT, PRECISION, ROUNDS};
use super::loops::Limits;
use super::roles::{SLOTS, Written, list, slots};
use super::{Request, Suite, SuiteError};
use record::{About, Instances, Job, Members, NodeOrder, Phase, Plan, Role, Stop};
use spec::{Card, Kind, Param, Params, ReadParams};

/// The suite.
pub const AMBIENT: Suite = Suite {
    card: Card {
        name: "ambient",
        about: "Canaries alone, repeated over time: what the machine's other users do to it",
        source: "GPCNeT (Chunduri et al., SC '19) §4.2",
        params: &[
            CANARIES,
            SLOTS,
            Param::new("repeat", Kind::Count, "10", "how many times").up_to(20_000.0).at_least(1.0),
            Param::new("every", Kind::Time, "10s", "rest between two repetitions"),
            Param::new("time", Kind::Time, "1s", "time limit of each canary in each repetition").simulated("20ms"),
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
    tiny: &[("repeat", "2"), ("every", "1us"), ("time", "1ms"), ("rounds", "3"), ("cut", "50")],
};

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, seed, payload, .. } = request;
    let layout = request.site.layout;
    if layout.nodes < 2 {
        return Err(SuiteError::TooSmall(
            "ambient needs at least 2 nodes (or ranks that count as nodes: --unit rank)".into(),
        ));
    }
    let limits = Limits::read(params);
    let slots = slots(request)?;
    let members = Members::Block { first_node: 0, nodes: layout.nodes, first_slot: 0, slots };
    let job = |w: &Written| Job {
        name: w.label.clone(),
        kernel: w.kernel.clone(),
        params: w.params.clone(),
        role: Role::Measured,
        members: members.clone(),
        instances: Instances::Slot,
        stop: limits.canary(&w.kernel, layout.nodes),
    };
    let canaries = list(params, "canaries")?;
    let repeat = params.count("repeat").max(1);
    // The canaries and a rest.
    Plan::may_have(&[repeat as usize, canaries.len() + 1], 1)?;
    let mut phases = Vec::new();
    for n in 1..=repeat {
        let index = u32::try_from(n).unwrap_or(u32::MAX);
        for w in &canaries {
            phases.push(Phase::new(About::Series { test: w.label.clone(), index }, vec![job(w)]));
        }
        phases.push(Phase::new(About::Rest { index }, vec![rest(params, layout.nodes)]));
    }
    // After the last repetition there is nothing to rest for.
    phases.pop();
    let plan = Plan::new("ambient", seed, NodeOrder::Shuffled, payload, phases);
    super::check(&plan, request.site)?;
    Ok(plan)
}

/// One pause of all nodes.
fn rest(params: &Params, nodes: u32) -> Job {
    Job {
        name: "pause".into(),
        kernel: "pause".into(),
        params: Params::from([("time".into(), params.word("every").into())]),
        role: Role::Measured,
        // One rank of a node is enough: the others wait for it at the end of the phase.
        members: Members::Block { first_node: 0, nodes, first_slot: 0, slots: Some(1) },
        instances: Instances::Slot,
        stop: Stop::ONCE,
    }
}
