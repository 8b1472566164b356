//! Congestors only: load for other jobs to be measured under. GPCNeT's users asked for it in its issue 2.

use super::loops::Limits;
use super::roles::{BURST, CONGESTORS, REST, SLOTS, background, ground, list, pulse, without_room};
use super::{Request, Suite, SuiteError};
use record::{About, NodeOrder, Phase, Plan};
use spec::{Card, Kind, Param, Params, ReadParams};

/// The suite.
pub const CONGEST: Suite = Suite {
    card: Card {
        name: "congest",
        about: "Congestors alone, on all nodes, for a time or until stopped; steadily or in bursts",
        source: "GPCNeT's issue 2",
        params: &[
            CONGESTORS,
            SLOTS,
            Param::new("time", Kind::Time, "0", "how long; 0 for until SIGINT or SIGTERM").simulated("20ms"),
            BURST,
            REST,
            Param::new("cut", Kind::Count, "1", "divide the steps between two looks at the clock by this")
                .simulated("10"),
        ],
    },
    asks: &[],
    alone: false,
    shortcut: Some(("tailback congest --time 5m", "congestors only, for other jobs to run under")),
    tries: None,
    plan,
    tiny: &[("time", "1ms"), ("cut", "50"), ("congestors", "a2a,p2p-incast")],
};

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, seed, payload, .. } = request;
    let layout = request.site.layout;
    if layout.nodes < 2 {
        return Err(SuiteError::TooSmall(
            "congest needs at least 2 nodes (or ranks that count as nodes: --unit rank)".into(),
        ));
    }
    // What the shared rules ask for and this suite does not offer.
    let filler =
        [("share", "0%"), ("congestors-on", "other"), ("canary-nodes", ""), ("rounds", "1"), ("precision", "0")];
    let all: Params = filler.iter().map(|(k, v)| (k.to_string(), v.to_string())).chain((*params).clone()).collect();
    let mut ground = ground(&Request { params: &all, ..*request })?;
    // All nodes load: there are no canaries.
    ground.load.1 = layout.nodes;
    let limits = Limits::read(&all).pulsed(pulse(params)?);
    let congestors = list(params, "congestors")?;
    let mut jobs = background(&congestors, &[], &ground, &limits);
    for job in &mut jobs {
        job.stop.time_s = Some(params.time("time").secs()).filter(|t| *t > 0.0);
    }
    let phases = vec![Phase::new(About::Load, jobs)];
    let mut plan = Plan::new("congest", seed, NodeOrder::Shuffled, payload, phases);
    plan.missing = without_room(&congestors, &ground, |nodes| nodes);
    super::check(&plan, request.site)?;
    Ok(plan)
}
