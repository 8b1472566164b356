//! Application impact: any command, alone and under congestors on the rest of the allocation. GPCNeT §5.3, Table 3.

use super::beside;
use super::roles::{BURST, CANARY_NODES, CONGESTORS, REST, ROLES, SHARE, SLOTS};
use super::{Request, Suite, SuiteError};
use record::{Instances, Job, Members, Plan, Role, Stop};
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
    tries: None,
    plan,
    tiny: &[("command", "true"), ("repeat", "2"), ("cut", "50"), ("congestors", "a2a")],
};

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let params = request.params;
    let command = params.word("command").trim();
    if command.is_empty() {
        return Err(SuiteError::Unknown("app needs a command: tailback app -- CMD ARGS".into()));
    }
    if request.site.simulated {
        let say = "app: a simulated machine has no processes to run";
        return Err(SuiteError::NotHere(format!(
            "{say} `{command}`; start it under MPI (mpirun -n RANKS tailback app -- ..), replay its messages (tailback replay \
             FILE.goal), or measure a skeleton (tailback run gpcnet --canaries lulesh)"
        )));
    }
    beside::plan(request, APP.card.name, "for the command", |_, ground| {
        // One rank of each of the command's nodes takes part, so that the command can be told which nodes are its own.
        let (first_node, nodes) = (ground.load.1, ground.canary_nodes);
        Ok(Job {
            name: "app".into(),
            kernel: "command".into(),
            params: Params::from([("run".into(), command.into())]),
            role: Role::Measured,
            members: Members::Block { first_node, nodes, first_slot: 0, slots: Some(1) },
            instances: Instances::Job,
            stop: Stop { blocks: params.count("repeat"), ..Stop::ONCE },
        })
    })
}
