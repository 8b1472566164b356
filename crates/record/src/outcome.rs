//! What a run means. It is decided here and nowhere else: reports, pages, exit codes and comparisons ask a record.
//!
//! A run passes only if everything that was asked for ran and every check passed.

use crate::about::About;
use crate::plan::Role;
use crate::run::{JobRecord, PhaseRecord, RunRecord, Status, Tells};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Something that was asked for and did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// What it is.
    pub what: String,
    /// Why it did not run, and what would let it.
    pub why: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} did not run: {}", self.what, self.why)
    }
}

/// What a run means, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that was asked for ran, and every check passed.
    Pass,
    /// A check failed: wrong data, or a program that ended badly.
    Fail,
    /// Some of what was asked for did not run.
    Incomplete,
    /// The run came to its end and measured nothing.
    Nothing,
}

impl Outcome {
    /// The word on the last line of every report.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::Fail => "FAIL",
            Outcome::Incomplete => "INCOMPLETE",
            Outcome::Nothing => "SKIPPED",
        }
    }
}

impl JobRecord {
    /// Whether numbers came of it.
    fn measured(&self) -> bool {
        self.skipped.is_none() && (self.summary.samples > 0 || !self.results.is_empty())
    }
}

impl PhaseRecord {
    /// What a job is called in a list: by its phase if it is the one that the phase measures.
    pub fn label(&self, job: &str) -> String {
        let mut measured = self.jobs.iter().filter(|j| j.role == Role::Measured);
        match (measured.next(), measured.next()) {
            (Some(only), None) if only.name == job => self.name.clone(),
            _ => format!("{job} in {}", self.name),
        }
    }

    /// Whether a result came of it; a phase that is there to pass the time has none.
    fn has_result(&self) -> bool {
        let counts = |j: &JobRecord| match self.about {
            About::Load => true,
            _ => j.role == Role::Measured && j.tells != Tells::Nothing,
        };
        self.jobs.iter().any(|j| counts(j) && j.measured())
    }

    fn missing(&self) -> impl Iterator<Item = Missing> + '_ {
        self.jobs.iter().filter_map(|job| {
            let told = job.role == Role::Measured && job.tells != Tells::Nothing;
            let why = match &job.skipped {
                Some(why) => why.clone(),
                None if told && !job.measured() => "it ended without a sample; give it more time".into(),
                None => return None,
            };
            Some(Missing { what: self.label(&job.name), why })
        })
    }
}

impl RunRecord {
    /// Everything that was asked for and is not in the record, in the order of the plan.
    pub fn missing(&self) -> Vec<Missing> {
        let mut all = self.plan.missing.clone();
        all.extend(self.phases.iter().flat_map(PhaseRecord::missing));
        let rest = self.plan.phases.len().saturating_sub(self.phases.len());
        match &self.status {
            Status::Incomplete { reason } => {
                let what = if rest == 1 { "1 phase".into() } else { format!("{rest} phases") };
                all.extend((rest > 0).then(|| Missing { what, why: reason.clone() }));
            }
            Status::Complete => all.extend((rest > 0).then(|| Missing {
                what: format!("{rest} of {} phases", self.plan.phases.len()),
                why: "the record does not have them".into(),
            })),
        }
        all
    }

    /// What the run means.
    pub fn outcome(&self) -> Outcome {
        // Asked first: a run that saw wrong data failed, even if it also stopped early.
        if self.has_wrong_data() {
            return Outcome::Fail;
        }
        // A run that was ended is not one that found nothing to measure.
        if self.status != Status::Complete {
            return Outcome::Incomplete;
        }
        match (self.phases.iter().any(PhaseRecord::has_result), self.missing().is_empty()) {
            (false, _) => Outcome::Nothing,
            (true, false) => Outcome::Incomplete,
            (true, true) => Outcome::Pass,
        }
    }
}
