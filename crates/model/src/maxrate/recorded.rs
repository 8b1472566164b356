//! What a record of `run maxrate` holds: times, the delayed receiver's finding, parametrised round trips, many messages.

use super::data::{Pattern, Sample};
use super::loggp::Prtt;
use super::probe::EagerLimit;
use record::{About, JobRecord, PairPattern, PhaseRecord, Role, RunRecord};
use std::collections::BTreeMap;

/// All of it, by class of pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Times of messages.
    pub samples: BTreeMap<(String, Pattern), Vec<Sample>>,
    /// What the delayed receiver found.
    pub probes: BTreeMap<String, EagerLimit>,
    /// Parametrised round trips.
    pub trips: BTreeMap<String, Vec<Prtt>>,
    /// Class and order of receives: (messages, seconds).
    pub queues: BTreeMap<(String, String), Vec<(u64, f64)>>,
    /// What a reader must know before believing a number.
    pub notes: Vec<String>,
}

impl Recorded {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.probes.is_empty() && self.trips.is_empty() && self.queues.is_empty()
    }

    /// Reads a record. With `worst` a point is one value, the mean over trials of the slowest pair; else its trials are kept, each
    /// averaged over the pairs.
    pub fn read(record: &RunRecord, worst: bool) -> Recorded {
        let mut all = Recorded::default();
        for (point, job) in points(record) {
            all.add(point, job, worst);
        }
        all.notes.extend(uneven(record).filter(|_| !worst));
        all
    }

    fn add(&mut self, Point { class, pattern, bytes, pairs }: Point<'_>, job: &JobRecord, worst: bool) {
        if let Some(pattern) = Pattern::of(pattern) {
            self.samples.entry((class.into(), pattern)).or_default().extend(trials(job, bytes, pairs, worst));
        }
        let seconds = job.summary.quantile(0.5).map_or(job.summary.mean, |q| q.value);
        match pattern {
            PairPattern::Pingpong | PairPattern::Stream | PairPattern::Duplex => {}
            PairPattern::EagerLimit => {
                self.probes.insert(class.into(), EagerLimit::from_results(&job.results));
            }
            PairPattern::RoundTrip { messages, .. } => {
                let pause = job.results.get("pause_s").copied().unwrap_or(0.0);
                self.trips.entry(class.into()).or_default().push(Prtt { messages, pause, bytes, seconds });
            }
            PairPattern::Queue { messages, reverse } => {
                let order = if reverse { "reverse" } else { "same" };
                let times = self.queues.entry((class.into(), order.into())).or_default();
                times.push((u64::from(messages), seconds));
            }
        }
    }
}

/// What a phase of the sweep says of itself.
#[derive(Clone, Copy)]
struct Point<'r> {
    class: &'r str,
    pattern: PairPattern,
    bytes: u64,
    pairs: u32,
}

/// The points of a record, each with the job that measured it.
fn points(record: &RunRecord) -> impl Iterator<Item = (Point<'_>, &JobRecord)> {
    record.phases.iter().filter_map(point)
}

/// What a phase measured, if it is a point of the sweep and its job ran.
fn point(phase: &PhaseRecord) -> Option<(Point<'_>, &JobRecord)> {
    let About::Point { class, pattern, bytes, pairs } = &phase.about else { return None };
    let job = phase.jobs.iter().find(|j| j.role == Role::Measured)?;
    let measured = job.skipped.is_none() && job.summary.samples > 0;
    measured.then_some((Point { class, pattern: *pattern, bytes: *bytes, pairs: *pairs }, job))
}

fn trials(job: &JobRecord, bytes: u64, pairs: u32, worst: bool) -> Vec<Sample> {
    let sample = |(trial, seconds): (usize, f64)| Sample { bytes, pairs, seconds, trial: trial as u32 };
    if worst {
        return vec![sample((0, job.summary.mean_worst))];
    }
    let blocks = job.batches.batches.iter().filter(|b| b.blocks > 0.0).map(|b| b.sum / b.blocks);
    blocks.enumerate().map(sample).collect()
}

/// Pairs that differ from each other by more than this in a trial make its mean a matter of luck.
const UNEVEN: f64 = 0.1;

/// Says how much slower the slowest pair is than the mean, where that matters.
fn uneven(record: &RunRecord) -> Option<String> {
    let several = points(record).filter(|(point, _)| Pattern::of(point.pattern).is_some() && point.pairs > 1);
    let excess = several.map(|(_, j)| j.summary.mean_worst / j.summary.mean - 1.0).fold(0.0, f64::max);
    (excess > UNEVEN).then(|| {
        format!(
            "the slowest pair of a trial is up to {:.0} % slower than the mean of its pairs; --location worst takes it, as \
             nodecomm does, and more --loops even it out",
            100.0 * excess
        )
    })
}
