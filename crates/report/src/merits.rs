//! Figures of merit: every number that scripts, thresholds and comparisons know by name.
//!
//! The names are part of the interface: `gpcnet.p2p-lat.impact99` is the same in `FOM` lines, in `--require`, in the CSV and
//! in a history of runs.

use crate::view::{Canary, Known, View, mean, quantile};
use record::{Direction, JobRecord, Role};

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

/// All figures of merit of a record, in the order of its phases; only those that are numbers.
pub fn merits(view: &View<'_>) -> Vec<Merit> {
    let mut all = Vec::new();
    for canary in &view.canaries {
        of_canary(&mut all, view, canary);
    }
    // Where models stand for hundreds of points, their parameters are the figures; the CSV format has the points.
    let modelled = [crate::maxrate::merits(view), crate::contention::merits(view)].concat();
    match modelled.is_empty() {
        true => others(&mut all, view),
        false => all.extend(modelled),
    }
    all.retain(|m| m.known.value.is_finite());
    all
}

/// Tests that are no canaries (HPC Challenge's, for instance): the average, and the named numbers whose unit tells which way
/// is better. A phase `mpi/hpl` is `mpi.hpl` in the name.
fn others(all: &mut Vec<Merit>, view: &View<'_>) {
    let canary = |phase: &str| ["isolated/", "loaded/", "loaded-by-"].iter().any(|p| phase.starts_with(p));
    for phase in view.record.phases.iter().filter(|p| !canary(&p.name)) {
        let measured: Vec<&JobRecord> = phase.jobs.iter().filter(|j| j.role == Role::Measured).collect();
        for job in measured.iter().filter(|j| j.summary.samples > 0) {
            let place = format!("{}.{}", view.record.plan.suite, phase.name.replace('/', "."));
            // Several jobs of a phase need their own names; one has that of its phase.
            let place = if measured.len() > 1 { format!("{place}.{}", job.name.replace('/', ".")) } else { place };
            let (scale, unit) = job.metric.shown();
            let better = job.metric.direction();
            all.push(Merit { name: format!("{place}.avg"), known: scaled(mean(job), scale), unit, better });
            all.extend(named(job).map(|m| Merit { name: format!("{place}.{}", m.name), ..m }));
        }
    }
}

/// The named numbers of a job whose unit tells which way is better.
pub(crate) fn named(job: &JobRecord) -> impl Iterator<Item = Merit> {
    job.results.iter().filter_map(|(name, value)| {
        let (unit, better) = match name {
            n if n.ends_with("_per_s") => ("/s", Direction::HigherIsBetter),
            n if n.ends_with("_s") => ("s", Direction::LowerIsBetter),
            _ => return None,
        };
        Some(Merit { name: name.clone(), known: Known { value: *value, interval: None }, unit, better })
    })
}

/// A value in the unit shown.
fn scaled(x: Known, scale: f64) -> Known {
    let interval = x.interval.map(|i| record::Interval { low: i.low * scale, high: i.high * scale });
    Known { value: x.value * scale, interval }
}

fn factor(name: String, known: Known) -> Merit {
    Merit { name, known, unit: "x", better: Direction::LowerIsBetter }
}

fn of_job(all: &mut Vec<Merit>, name: &str, job: &JobRecord) {
    if job.summary.samples == 0 {
        return;
    }
    let (scale, unit) = job.metric.shown();
    let values = [("avg", mean(job)), ("p99", quantile(job, 0.99)), ("p99.9", quantile(job, 0.999))];
    all.extend(values.map(|(label, x)| {
        let better = job.metric.direction();
        Merit { name: format!("{name}.{label}"), known: scaled(x, scale), unit, better }
    }));
}

fn of_canary(all: &mut Vec<Merit>, view: &View<'_>, canary: &Canary<'_>) {
    let name = format!("{}.{}", view.record.plan.suite, canary.name);
    of_job(all, &format!("{name}.isolated"), canary.isolated);
    if let Some(loaded) = canary.loaded {
        of_job(all, &format!("{name}.loaded"), loaded);
    }
    if let Some(impact) = canary.impact() {
        all.push(factor(format!("{name}.impact"), impact.average));
        all.push(factor(format!("{name}.impact99"), impact.tail));
        all.push(factor(format!("{name}.impact99_over_avg"), impact.tail_over_average));
    }
    if let Some((drain, ratio)) = view.drain_ratio(canary) {
        let alone = |value| Known { value, interval: None };
        let better = Direction::LowerIsBetter;
        all.push(Merit { name: format!("{name}.drain_time"), known: alone(drain.seconds * 1e6), unit: "usec", better });
        all.push(factor(format!("{name}.drain_ratio99"), alone(ratio)));
    }
    for (congestor, job) in &canary.by {
        if let Some(impact) = canary.impact_of(job) {
            all.push(factor(format!("{name}.by.{congestor}.impact"), impact.average));
            all.push(factor(format!("{name}.by.{congestor}.impact99"), impact.tail));
        }
    }
}
