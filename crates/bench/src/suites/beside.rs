//! One job alone, then with congestors on the nodes that it leaves: what congestion does to a program.

use super::loops::Limits;
use super::roles::{RoleNodes, background, ground, list, loaded_of, notes, order, pulse, share_note, without_room};
use super::{Request, SuiteError};
use record::{About, Job, Load, Phase, Plan};
use spec::Params;

/// The plan of a job, which is made for the nodes that it gets. The suite's parameters are those of roles and `cut`; `who` says what the
/// two nodes at least are for that do not load.
pub(super) fn plan(
    request: &Request<'_>,
    suite: &str,
    who: &str,
    job: impl FnOnce(&Request<'_>, &RoleNodes) -> Result<Job, SuiteError>,
) -> Result<Plan, SuiteError> {
    let layout = request.site.layout;
    if layout.nodes < 4 {
        return Err(SuiteError::TooSmall(format!(
            "{suite} needs at least 4 nodes, two {who} and two that load, and has {} (ranks count as nodes with --unit rank)",
            layout.nodes
        )));
    }
    // What the shared rules ask for and these suites do not offer.
    let filler = [("congestors-on", "other"), ("rounds", "1"), ("precision", "0"), ("time", "1s")];
    let filler = filler.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let params: Params = filler.chain(request.params.clone()).collect();
    let request = &Request { params: &params, ..*request };
    let ground = ground(request)?;
    let job = job(request, &ground)?;
    let congestors = list(&params, "congestors")?;
    let load = background(&congestors, &[], &ground, &Limits::read(&params).pulsed(pulse(&params)?));
    let test = || suite.to_string();
    let phases = vec![
        Phase::new(About::Alone { test: test() }, vec![job.clone()]),
        Phase::new(About::Loaded { test: test(), by: Load::All }, std::iter::once(job).chain(load).collect()),
    ];
    let mut plan = Plan::new(suite, request.seed, order(&params, &ground)?, request.payload, phases);
    plan.canary_nodes.clone_from(&ground.listed);
    plan.missing = without_room(&congestors, &ground, loaded_of(&params));
    plan.notes.extend(share_note(&params, &ground, layout.nodes));
    plan.notes.extend(notes(&params));
    super::check(&plan, request.site)?;
    Ok(plan)
}
