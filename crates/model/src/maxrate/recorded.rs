//! What a record of `run maxrate` holds: times, the delayed receiver's finding, parametrised round trips, many messages.

use super::data::{Pattern, Sample};
use super::loggp::Prtt;
use super::probe::EagerLimit;
use record::{JobRecord, RunRecord};
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
        for phase in &record.phases {
            let class = phase.name.split('/').next().unwrap_or_default();
            for job in phase.jobs.iter().filter(|j| j.skipped.is_none() && j.summary.samples > 0) {
                all.add(class, job, worst);
            }
        }
        all.notes.extend(uneven(record).filter(|_| !worst));
        all
    }

    fn add(&mut self, class: &str, job: &JobRecord, worst: bool) {
        let bytes = job.params.get("size").and_then(|s| spec::parse_bytes(s).ok()).unwrap_or(0);
        let messages = job.params.get("messages").and_then(|m| m.parse().ok()).unwrap_or(0u64);
        let middle = job.summary.quantile(0.5).map_or(job.summary.mean, |q| q.value);
        if let Some(pattern) = Pattern::of_kernel(&job.kernel) {
            self.samples.entry((class.into(), pattern)).or_default().extend(trials(job, bytes, worst));
            return;
        }
        match job.kernel.as_str() {
            "eager-limit" => {
                self.probes.insert(class.into(), EagerLimit::from_results(&job.results));
            }
            "pair-prtt" => {
                let pause = job.results.get("pause_s").copied().unwrap_or(0.0);
                let one = Prtt { messages: messages as u32, pause, bytes, seconds: middle };
                self.trips.entry(class.into()).or_default().push(one);
            }
            "pair-queue" => {
                let order = job.params.get("order").cloned().unwrap_or_default();
                self.queues.entry((class.into(), order)).or_default().push((messages, middle));
            }
            _ => {}
        }
    }
}

fn trials(job: &JobRecord, bytes: u64, worst: bool) -> Vec<Sample> {
    let sample = |(trial, seconds): (usize, f64)| Sample { bytes, pairs: job.ranks / 2, seconds, trial: trial as u32 };
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
    let timed = |j: &&JobRecord| Pattern::of_kernel(&j.kernel).is_some() && j.ranks > 2;
    let jobs = record.phases.iter().flat_map(|p| &p.jobs).filter(timed);
    let excess = jobs.map(|j| j.summary.mean_worst / j.summary.mean - 1.0).fold(0.0, f64::max);
    (excess > UNEVEN).then(|| {
        format!(
            "the slowest pair of a trial is up to {:.0} % slower than the mean of its pairs; --location worst takes it, as \
             nodecomm does, and more --loops even it out",
            100.0 * excess
        )
    })
}
