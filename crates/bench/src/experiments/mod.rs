//! An experiment is what comes next, given the site and the record so far.
//!
//! Most are a plan and nothing else. Some decide by what they have measured: a derivation of penalties asks for the sub-graphs that it
//! lacks, a search tries what lies near the best. One engine runs them all, so each is saved, watched and ended in the same way.

pub mod contention;
mod distance;
mod search;
pub mod tune;

use crate::site::{Ask, Site};
use crate::suites::{self, Request, Suite, SuiteError, Tries};
use crate::trial::Try;
use record::{Payload, Phase, Plan, RunRecord};
use spec::Params;
use std::collections::BTreeMap;

/// Something to run. Every rank holds the same one.
pub trait Experiment: Sync {
    /// What the record's folder is named after.
    fn name(&self) -> &str;
    /// What must be known of the site.
    fn asks(&self) -> &[Ask] {
        &[]
    }
    /// What is to be tried before it is planned, at a site of which only [`Experiment::asks`] is known.
    fn tries(&self, _site: &Site, _seed: u64, _payload: Payload) -> Vec<Try> {
        Vec::new()
    }
    /// How it begins: the same on every rank, without a message.
    fn plan(&self, site: &Site, seed: u64, payload: Payload) -> Result<Plan, SuiteError>;
    /// Whether what was measured decides what comes next. If not, [`Experiment::next`] is never asked.
    fn decides(&self) -> bool {
        false
    }
    /// The phases that come next; none end it. Asked on rank 0 alone, whenever all phases so far are done; the others are told. Numbers
    /// that it derives from a phase may go into the record.
    fn next(&self, _site: &Site, _record: &mut RunRecord) -> Result<Vec<Phase>, String> {
        Ok(Vec::new())
    }
}

/// A suite with its parameters.
pub struct SuiteRun {
    /// Which.
    pub suite: &'static Suite,
    /// Every parameter of its card, checked.
    pub params: Params,
    /// What stands in the files that parameters name, by parameter.
    pub files: BTreeMap<String, String>,
}

impl Experiment for SuiteRun {
    fn name(&self) -> &str {
        self.suite.card.name
    }

    fn asks(&self) -> &[Ask] {
        self.suite.asks
    }

    fn tries(&self, site: &Site, seed: u64, payload: Payload) -> Vec<Try> {
        let tries = |tries: Tries| tries(&Request { params: &self.params, files: &self.files, site, seed, payload });
        self.suite.tries.map_or_else(Vec::new, tries)
    }

    fn plan(&self, site: &Site, seed: u64, payload: Payload) -> Result<Plan, SuiteError> {
        (self.suite.plan)(&Request { params: &self.params, files: &self.files, site, seed, payload })
    }
}

/// A plan that was written down.
impl Experiment for Plan {
    fn name(&self) -> &str {
        &self.suite
    }

    fn plan(&self, site: &Site, _: u64, _: Payload) -> Result<Plan, SuiteError> {
        suites::check(self, site)?;
        Ok(self.clone())
    }
}
