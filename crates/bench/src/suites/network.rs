//! GPCNeT's network test: eight kernels on all nodes, one after the other, without congestors.

use super::gpcnet::{CUT, PRECISION, ROUNDS, TIME};
use super::loops::Limits;
use super::roles::{self, SLOTS};
use super::{Request, Suite, SuiteError};
use record::{About, Instances, Job, Members, NodeOrder, Phase, Plan, Role};
use spec::{Card, Params};

/// The suite.
pub const NETWORK: Suite = Suite {
    card: Card {
        name: "network",
        about: "Ring latency and bandwidth, all-reduce and all-to-all on all nodes, without congestors",
        source: "GPCNeT (Chunduri et al., SC '19), network_test",
        params: &[SLOTS, TIME, ROUNDS.simulated("3"), PRECISION, CUT],
    },
    asks: &[],
    alone: false,
    shortcut: None,
    tries: None,
    plan,
    tiny: &[("rounds", "6"), ("cut", "50"), ("time", "10ms")],
};

/// Job name, kernel and ring order, in the order of the original's table.
const TESTS: [(&str, &str, &str); 8] = [
    ("p2p-lat", "p2p-lat", ""),
    ("get-lat", "get-lat", ""),
    ("p2p-bw", "p2p-bw", ""),
    ("put-bw", "put-bw", ""),
    ("p2p-bw-sync", "p2p-bw-sync", ""),
    ("p2p-bw-nat", "p2p-bw", "natural"),
    ("allreduce", "allreduce", ""),
    ("alltoall", "alltoall", ""),
];

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, seed, payload, .. } = request;
    let layout = request.site.layout;
    if layout.nodes < 2 {
        let say = "network needs at least 2 nodes (or ranks that count as nodes: --unit rank)";
        return Err(SuiteError::TooSmall(say.into()));
    }
    let (limits, slots) = (Limits::read(params), roles::slots(request)?);
    let phase = |(name, kernel, order): (&str, &str, &str)| {
        let job = Job {
            name: name.into(),
            kernel: kernel.into(),
            params: if order.is_empty() { Params::new() } else { Params::from([("order".into(), order.into())]) },
            role: Role::Measured,
            members: Members::Block { first_node: 0, nodes: layout.nodes, first_slot: 0, slots },
            instances: Instances::Slot,
            stop: limits.canary(kernel, layout.nodes),
        };
        Phase::new(About::Alone { test: name.into() }, vec![job])
    };
    let phases = TESTS.into_iter().map(phase).collect();
    let plan = Plan::new("network", seed, NodeOrder::Natural, payload, phases);
    super::check(&plan, request.site)?;
    Ok(plan)
}
