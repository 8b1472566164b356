//! Application impact: any command, alone and under congestors on the rest of the allocation. GPCNeT §5.3, Table 3.

use super::loops::Limits;
use super::roles::{
    BURST, CANARY_NODES, CONGESTORS, REST, ROLES, SHARE, SLOTS, background, ground, list, loaded_of, notes, order,
    pulse, share_note, without_room,
};
use super::{Request, Suite, SuiteError};
use record::{About, Instances, Job, Load, Members, Phase, Plan, Role, Stop};
use spec::{Card, Kind, Param, Params, ReadParams};

/// The suite.
pub const APP: Suite = Suite {
    card: Card {
        name: "app",
        about: "A command timed alone and under congestors on the rest of the allocation",
        source: "GPCNeT (Chunduri et al., SC '19) §5.3",
        params: &[
            Param::new("command", Kind::Command, "", "what to run, by the shell, on the first of its nodes"),
            Param::new("repeat", Kind::Count, "3", "how many times in each phase").up_to(1e6).at_least(1.0),
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
    shortcut: Some(("tailback app -- CMD", "any command alone and under congestors")),
    plan,
    tiny: &[("command", "true"), ("repeat", "2"), ("cut", "50"), ("congestors", "a2a")],
};

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, seed, payload, .. } = request;
    let layout = request.site.layout;
    let command = params.word("command").trim();
    if command.is_empty() {
        return Err(SuiteError::Unknown("app needs a command: tailback app -- CMD ARGS".into()));
    }
    if request.site.simulated {
        let say = "app: a simulated machine has no processes to run";
        return Err(SuiteError::NotHere(format!(
            "{say} `{command}`; start it under MPI: mpirun -n RANKS tailback app -- .."
        )));
    }
    if layout.nodes < 4 {
        return Err(SuiteError::TooSmall(format!(
            "app needs at least 4 nodes, two for the command and two that load, and has {} (ranks count as nodes with --unit rank)",
            layout.nodes
        )));
    }
    // What the shared rules ask for and this suite does not offer.
    let filler = [("congestors-on", "other"), ("rounds", "1"), ("precision", "0"), ("time", "1s")];
    let all: Params = filler.iter().map(|(k, v)| (k.to_string(), v.to_string())).chain((*params).clone()).collect();
    let ground = ground(&Request { params: &all, ..*request })?;
    let congestors = list(params, "congestors")?;
    let load = background(&congestors, &[], &ground, &Limits::read(&all).pulsed(pulse(params)?));
    let (first_node, nodes) = (ground.load.1, ground.canary_nodes);
    let stop = Stop { blocks: params.count("repeat").max(1), ..Stop::ONCE };
    // One rank of each of the command's nodes takes part, so that the command can be told which nodes are its own.
    let job = Job {
        name: "app".into(),
        kernel: "command".into(),
        params: Params::from([("run".into(), command.into())]),
        role: Role::Measured,
        members: Members::Block { first_node, nodes, first_slot: 0, slots: Some(1) },
        instances: Instances::Job,
        stop,
    };
    let phases = vec![
        Phase::new(About::Alone { test: "app".into() }, vec![job.clone()]),
        Phase::new(About::Loaded { test: "app".into(), by: Load::All }, std::iter::once(job).chain(load).collect()),
    ];
    let mut plan = Plan::new("app", seed, order(&all, &ground)?, payload, phases);
    plan.canary_nodes.clone_from(&ground.listed);
    plan.missing = without_room(&congestors, &ground, loaded_of(&all));
    plan.notes.extend(share_note(&all, &ground, layout.nodes));
    plan.notes.extend(notes(params));
    super::check(&plan, request.site)?;
    Ok(plan)
}
