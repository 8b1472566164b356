//! Figures of merit: every number that scripts, thresholds and comparisons know by name.
//!
//! The names are part of the interface: `gpcnet.p2p-lat.impact99` is the same in `FOM` lines, in `--require`, in the CSV and
//! in a history of runs. The part that names a phase comes from what the phase is about, never from its label.

use crate::known::{Known, mean};
use record::{Direction, JobRecord, PhaseRecord, Role, Tells};

/// One figure of merit.
#[derive(Clone, Debug, PartialEq)]
pub struct Merit {
    /// Its stable name.
    pub name: String,
    /// Its value in the unit shown, and how well it is known.
    pub known: Known,
    /// The unit shown.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Direction,
}

impl Merit {
    /// A value of a job's samples, in the unit of its metric.
    pub fn of_samples(name: String, job: &JobRecord, x: Known) -> Merit {
        let (scale, unit) = job.metric.shown();
        Merit { name, known: x.scaled(scale), unit, better: job.metric.direction() }
    }

    /// How many times worse something is.
    pub fn factor(name: String, known: Known) -> Merit {
        Merit { name, known, unit: "x", better: Direction::LowerIsBetter }
    }
}

/// Named numbers that are what a test was told, not what it found.
const SETTINGS: [&str; 2] = ["time_bound_s", "pause_s"];

/// The named numbers of a job whose unit tells which way is better.
pub fn named(job: &JobRecord) -> Vec<Merit> {
    let mut all = Vec::new();
    for (name, value) in &job.results {
        let (unit, better) = match name {
            // Rates end in `_s` too, so they are asked for first.
            n if n.ends_with("bytes_per_s") => ("B/s", Direction::HigherIsBetter),
            n if n.ends_with("flops_per_s") => ("flop/s", Direction::HigherIsBetter),
            n if n.ends_with("updates_per_s") => ("updates/s", Direction::HigherIsBetter),
            n if n.ends_with("_per_s") => ("/s", Direction::HigherIsBetter),
            n if SETTINGS.contains(&n.as_str()) => continue,
            n if n.ends_with("_s") => ("s", Direction::LowerIsBetter),
            _ => continue,
        };
        all.push(Merit { name: name.clone(), known: Known::bare(*value), unit, better });
    }
    all
}

/// The average of each measured job of a phase and its named numbers, as far as they are results: `SUITE.PHASE.NAME`.
pub fn of_phase(suite: &str, phase: &PhaseRecord) -> Vec<Merit> {
    let measured: Vec<&JobRecord> = phase.jobs.iter().filter(|j| j.role == Role::Measured).collect();
    let mut all = Vec::new();
    for job in measured.iter().filter(|j| j.summary.samples > 0 && j.tells != Tells::Nothing) {
        let mut place = format!("{suite}.{}", phase.about.key());
        // Several jobs of a phase need their own names; one has that of its phase.
        if measured.len() > 1 {
            place = format!("{place}.{}", job.name.replace('/', "."));
        }
        if job.tells == Tells::Samples {
            all.push(Merit::of_samples(format!("{place}.avg"), job, mean(job)));
        }
        for merit in named(job) {
            all.push(Merit { name: format!("{place}.{}", merit.name), ..merit });
        }
    }
    all
}
