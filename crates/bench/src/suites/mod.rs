//! Suites: each turns arguments, layout and seed into a plan. To add one: a file here and a line in [`SUITES`].

mod ambient;
mod app;
mod beside;
pub mod characterize;
mod congest;
pub mod contention;
pub mod gpcnet;
mod harness;
pub mod hpcc;
mod loops;
pub mod maxrate;
mod network;
mod pairs;
mod replay;
mod roles;
mod room;
mod sweep;

use crate::site::{Ask, Site};
use crate::trial::Try;
use record::{NodeOrder, Payload, Phase, Plan, Unit};
pub(crate) use roles::share_fits;
use spec::near::unknown;
use spec::{Card, ParamError, Params};
use std::collections::BTreeMap;
use thiserror::Error;

/// One entry of the table of suites.
pub struct Suite {
    /// Name, one line, source, parameters.
    pub card: Card,
    /// What it must know of the site.
    pub asks: &'static [Ask],
    /// Whether it is worth running on one process without a network.
    pub alone: bool,
    /// How it is called and what for, if it has a command of its own: `tailback NAME` for `tailback run NAME`.
    pub shortcut: Option<(&'static str, &'static str)>,
    /// Which small problems are tried before the plan is made, so that it can say how long it will take.
    pub tries: Option<Tries>,
    /// Makes the plan.
    pub plan: fn(&Request<'_>) -> Result<Plan, SuiteError>,
    /// Parameters with which it runs in a moment on a simulated machine: for tests, and as an example.
    pub tiny: &'static [(&'static str, &'static str)],
}

/// Names small problems.
pub type Tries = fn(&Request<'_>) -> Vec<Try>;

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Every parameter of the suite's card, checked.
    pub params: &'a Params,
    /// What stands in the files that parameters name, by parameter.
    pub files: &'a BTreeMap<String, String>,
    /// What is known of where it will run.
    pub site: &'a Site,
    /// All that is random derives from it.
    pub seed: u64,
    /// Whether messages carry data that is checked.
    pub payload: Payload,
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
    /// The site has not what it needs.
    #[error("{0}")]
    NotHere(String),
    /// It makes no sense.
    #[error("{0}")]
    Senseless(String),
    /// The plan contradicts itself or the layout.
    #[error(transparent)]
    Plan(#[from] record::PlanError),
}

impl SuiteError {
    /// Whether nothing is wrong with what was asked for, and it cannot be done at this site.
    pub fn is_of_the_site(&self) -> bool {
        matches!(self, SuiteError::TooSmall(_) | SuiteError::NotHere(_))
    }
}

impl From<String> for SuiteError {
    fn from(why: String) -> SuiteError {
        SuiteError::Senseless(why)
    }
}

impl Suite {
    /// The plan of some parameters, the rest at their defaults; for whoever has no files to name.
    pub fn plan_on(&self, given: &Params, site: &Site, seed: u64, payload: Payload) -> Result<Plan, SuiteError> {
        let params = self.card.resolve_on(given, site.simulated)?;
        (self.plan)(&Request { params: &params, files: &BTreeMap::new(), site, seed, payload })
    }
}

/// Every suite, in the order of `tailback list`.
pub const SUITES: &[Suite] = &[
    gpcnet::GPCNET,
    sweep::SWEEP,
    network::NETWORK,
    pairs::PAIRS,
    hpcc::HPCC,
    congest::CONGEST,
    ambient::AMBIENT,
    app::APP,
    replay::REPLAY,
    maxrate::MAXRATE,
    contention::CONTENTION,
    characterize::CHARACTERIZE,
    harness::HARNESS,
];

/// The suite of this name, or what to say when there is none.
pub fn suite(name: &str) -> Result<&'static Suite, String> {
    let found = SUITES.iter().find(|s| s.card.name == name);
    found.ok_or_else(|| unknown("suite", name, SUITES.iter().map(|s| s.card.name)))
}

/// Checks a plan, made or read, against the kernels and a site.
pub fn check(plan: &Plan, site: &Site) -> Result<(), SuiteError> {
    plan.check(site.layout.nodes, site.layout.max_ranks_per_node)?;
    check_order(plan, site)?;
    plan.phases.iter().try_for_each(|phase| check_phase(phase, room::Memory::new(plan, site)))
}

/// Whether nodes can be put into the plan's order here.
fn check_order(plan: &Plan, site: &Site) -> Result<(), SuiteError> {
    let known = match plan.node_order {
        NodeOrder::Units { by: Unit::Switch } => site.switches,
        NodeOrder::Units { by: Unit::Group } => site.groups,
        _ => true,
    };
    if !known {
        return Err(SuiteError::NotHere(
            "which nodes share a switch or a group is not known here: give --topology FILE (Slurm's topology.conf, the output of \
             ibnetdiscover, or lines like `nodes n[1-18] leaf1` and `group g1 leaf[1-4]`)"
                .into(),
        ));
    }
    let number = |name: &str| name.parse::<u32>().is_ok_and(|n| n < site.layout.nodes && n.to_string() == name);
    match plan.canary_nodes.iter().find(|name| site.simulated && !number(name)) {
        Some(name) => Err(SuiteError::Unknown(format!(
            "canary-nodes: `{}`: nodes of a simulated machine have the numbers 0 to {}",
            name.escape_default(),
            site.layout.nodes - 1
        ))),
        None => Ok(()),
    }
}

fn check_phase(phase: &Phase, mut memory: room::Memory<'_>) -> Result<(), SuiteError> {
    for job in &phase.jobs {
        let called = crate::kernels::called(&job.kernel).map_err(SuiteError::Unknown)?;
        let params = called.resolve(&job.params)?;
        memory.take(phase, job, called.kernel, &params)?;
        if called.kernel.traits.one_step && job.stop.steps > 1 {
            let say = format!(
                "job `{}`: `steps` is {}, but {} checks one step of a block",
                job.name, job.stop.steps, job.kernel
            );
            return Err(SuiteError::Senseless(say));
        }
    }
    Ok(())
}
