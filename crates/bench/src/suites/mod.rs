//! Suites: each turns arguments, layout and seed into a plan. To add one: a file here and a line in [`SUITES`].

mod ambient;
mod app;
mod congest;
pub mod contention;
mod gpcnet;
mod harness;
pub mod hpcc;
mod loops;
pub mod maxrate;
mod network;
mod roles;

use record::{Layout, Plan};
use spec::near::unknown;
use spec::{Card, ParamError, Params};
use thiserror::Error;

/// One entry of the table of suites.
pub struct Suite {
    /// Name, one line, source, parameters.
    pub card: Card,
    /// Makes the plan.
    pub plan: fn(&Request<'_>) -> Result<Plan, SuiteError>,
    /// Parameters with which it runs in a moment on a simulated machine: for tests, and as an example.
    pub tiny: &'static [(&'static str, &'static str)],
}

/// What a plan is made from.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Every parameter of the suite's card, checked.
    pub params: &'a Params,
    /// The layout it will run on.
    pub layout: Layout,
    /// All that is random derives from it.
    pub seed: u64,
    /// Whether messages carry data that is checked.
    pub payload: record::Payload,
}

/// A plan that cannot be made.
#[derive(Debug, Error, PartialEq)]
pub enum SuiteError {
    /// A parameter is wrong.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// No such kernel.
    #[error("{0}")]
    Unknown(String),
    /// The layout is too small.
    #[error("{0}")]
    TooSmall(String),
    /// The plan contradicts itself or the layout.
    #[error(transparent)]
    Plan(#[from] record::PlanError),
}

/// Every suite, in the order of `tailback list`.
pub const SUITES: &[Suite] = &[
    gpcnet::GPCNET,
    network::NETWORK,
    hpcc::HPCC,
    congest::CONGEST,
    ambient::AMBIENT,
    app::APP,
    maxrate::MAXRATE,
    contention::CONTENTION,
    harness::HARNESS,
];

/// The suite of this name, or what to say when there is none.
pub fn suite(name: &str) -> Result<&'static Suite, String> {
    let found = SUITES.iter().find(|s| s.card.name == name);
    found.ok_or_else(|| unknown("suite", name, SUITES.iter().map(|s| s.card.name)))
}

/// Checks a plan, made or read, against the kernels and a layout.
pub fn check(plan: &Plan, layout: Layout) -> Result<(), SuiteError> {
    plan.check(layout.nodes, layout.max_ranks_per_node)?;
    for job in plan.phases.iter().flat_map(|p| &p.jobs) {
        crate::kernels::called(&job.kernel).map_err(SuiteError::Unknown)?.resolve(&job.params)?;
    }
    Ok(())
}
