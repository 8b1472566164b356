//! What a record of `run maxrate` holds: times, the delayed receiver's finding, parametrised round trips, many messages.

use super::data::{Pattern, Sample};
use super::loggp::Prtt;
use super::overlap::Timed;
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
    /// Messages beside work, by class, bytes and pairs.
    pub overlaps: BTreeMap<(String, u64, u32), Timed>,
    /// What a reader must know before believing a number.
    pub notes: Vec<String>,
}

impl Recorded {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        let pairs = self.samples.is_empty() && self.overlaps.is_empty();
        pairs && self.probes.is_empty() && self.trips.is_empty() && self.queues.is_empty()
    }

    /// Reads a record. With `worst` a point is one value, the mean over trials of the slowest pair; else its trials are kept, each
    /// averaged over the pairs.
    pub fn read(record: &RunRecord, worst: bool) -> Recorded {
        let mut all = Recorded::default();
        for phase in &record.phases {
            if let Some(job) = measured(phase) {
                all.add(&phase.about, job, worst);
            }
        }
        all.notes.extend(uneven(record).filter(|_| !worst));
        all
    }

    fn add(&mut self, about: &About, job: &JobRecord, worst: bool) {
        let &About::Point { ref class, pattern, bytes, pairs } = about else { return };
        if let Some(pattern) = Pattern::of(pattern) {
            self.samples.entry((class.clone(), pattern)).or_default().extend(trials(job, bytes, pairs, worst));
        }
        let seconds = job.summary.quantile(0.5).map_or(job.summary.mean, |q| q.value);
        match pattern {
            PairPattern::Pingpong | PairPattern::Stream | PairPattern::Duplex => {}
            PairPattern::EagerLimit => {
                self.probes.insert(class.clone(), EagerLimit::from_results(&job.results));
            }
            PairPattern::RoundTrip { messages, .. } => {
                let pause = job.results.get("pause_s").copied().unwrap_or(0.0);
                self.trips.entry(class.clone()).or_default().push(Prtt { messages, pause, bytes, seconds });
            }
            PairPattern::Queue { messages, reverse } => {
                let order = if reverse { "reverse" } else { "same" };
                let times = self.queues.entry((class.clone(), order.into())).or_default();
                times.push((u64::from(messages), seconds));
            }
            PairPattern::Overlap { part } => {
                let times = self.overlaps.entry((class.clone(), bytes, pairs)).or_default();
                times.add(part, trials(job, bytes, pairs, worst).iter().map(|s| s.seconds));
            }
        }
    }
}

/// The job that a phase measured, if it ran.
fn measured(phase: &PhaseRecord) -> Option<&JobRecord> {
    let job = phase.jobs.iter().find(|j| j.role == Role::Measured)?;
    (job.skipped.is_none() && job.summary.samples > 0).then_some(job)
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
    let mut excess: f64 = 0.0;
    for phase in &record.phases {
        let About::Point { pattern, pairs: 2.., .. } = phase.about else { continue };
        if let (Some(_), Some(job)) = (Pattern::of(pattern), measured(phase)) {
            excess = excess.max(job.summary.mean_worst / job.summary.mean - 1.0);
        }
    }
    (excess > UNEVEN).then(|| {
        format!(
            "the slowest pair of a trial is up to {:.0} % slower than the mean of its pairs; --location worst takes it, as \
             nodecomm does, and more --loops even it out",
            100.0 * excess
        )
    })
}
