//! What one rank has of a job, and how parts of all ranks become one: up a binomial tree, after the phase.

use super::met::Met;
use super::recorder::Recorder;
use super::results::Results;
use super::wire;
use crate::kernel::Kernel;
use comm::Comm;
use record::summary::Extremes;
use record::{Batches, Coverage, Ended, Histogram, Job, JobRecord, Summary, Verdict};
use serde::{Deserialize, Serialize};
use spec::Params;
use std::collections::BTreeMap;

/// Part of a job's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Partial {
    pub job: u32,
    pub ranks: u32,
    pub skipped: Option<String>,
    pub ended: Ended,
    pub elapsed: f64,
    pub bytes: u64,
    #[serde(with = "verdict")]
    pub verdict: Option<Verdict>,
    pub coverage: Option<Coverage>,
    pub extremes: Extremes,
    pub notes: Vec<String>,
    pub samples: Histogram,
    pub batches: Batches,
    pub results: Results,
    pub met: Met,
}

impl Default for Partial {
    fn default() -> Partial {
        Partial {
            job: 0,
            ranks: 0,
            skipped: None,
            ended: Ended::Skipped,
            elapsed: 0.0,
            bytes: 0,
            verdict: None,
            coverage: None,
            extremes: Extremes::default(),
            notes: Vec::new(),
            samples: Histogram::default(),
            batches: Batches::default(),
            results: Results::default(),
            met: Met::default(),
        }
    }
}

impl Partial {
    /// A job that did not run.
    pub fn skipped() -> Partial {
        Partial { ranks: 1, ..Partial::default() }
    }

    /// Takes over what was recorded.
    pub fn take(&mut self, recorder: Recorder) {
        self.samples = recorder.samples;
        self.batches = recorder.batches;
        self.bytes = recorder.bytes;
    }

    fn merge(&mut self, other: Box<Partial>) {
        // `ended` and `extremes` are left as they are: they come from what was agreed, so every rank has the same.
        self.ranks += other.ranks;
        self.bytes += other.bytes;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.skipped = self.skipped.take().or(other.skipped);
        self.verdict = match (self.verdict.take(), other.verdict) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        };
        self.coverage = Coverage::both(self.coverage, other.coverage);
        // Ranks say the same in the same words; the record says it once.
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.samples.merge(&other.samples);
        self.batches.merge(&other.batches);
        self.results.merge(other.results);
        self.met.merge(other.met);
    }

    /// The record of a job from the parts of all its ranks; a job without any rank was skipped.
    pub fn into_record(merged: Option<Box<Partial>>, job: &Job, kernel: &Kernel, params: Params) -> JobRecord {
        let skipped = || Some("no rank of the layout takes part".into());
        let part = merged.unwrap_or_else(|| Box::new(Partial { skipped: skipped(), ..Partial::default() }));
        let metric = kernel.metric;
        let mut extremes = part.extremes;
        if extremes.rounds == 0 && !part.samples.is_empty() {
            // Background jobs agree on nothing per block: their extremes are those of the samples.
            extremes.add(
                metric,
                part.samples.quantile(metric, metric.tail(0.0)),
                part.samples.quantile(metric, metric.tail(1.0)),
            );
        }
        JobRecord {
            name: job.name.clone(),
            kernel: kernel.card.name.into(),
            title: kernel.title(&params, job.role).into(),
            tells: kernel.traits.tells,
            incast: kernel.traits.incast,
            params,
            role: job.role,
            ranks: part.ranks,
            metric,
            ended: if part.skipped.is_some() { Ended::Skipped } else { part.ended },
            skipped: part.skipped,
            elapsed_s: part.elapsed,
            bytes: part.bytes,
            summary: Summary::new(metric, &part.samples, &part.batches, extremes),
            samples: part.samples,
            batches: part.batches,
            verdict: part.verdict.unwrap_or(Verdict::Unchecked { reason: "it did not run".into() }),
            coverage: part.coverage,
            notes: part.notes,
            results: part.results.finish(),
            pairs: part.met.finish(),
            placements: Vec::new(),
        }
    }
}

/// Merges the parts of all ranks on world rank 0, by job. Collective.
// Boxes, because every rank merges on its own stack.
#[inline(never)]
pub(super) fn collect(world: &dyn Comm, mine: Option<&Partial>) -> Option<BTreeMap<u32, Box<Partial>>> {
    let mine: BTreeMap<u32, &Partial> = mine.into_iter().map(|part| (part.job, part)).collect();
    wire::fold(world, &mine, |mut all: BTreeMap<u32, Box<Partial>>, others| {
        for (job, part) in others {
            match all.get_mut(&job) {
                Some(mine) => mine.merge(part),
                None => drop(all.insert(job, part)),
            }
        }
        all
    })
}

/// A verdict between ranks. In a record its kind is a word among its fields, which only a format with names can carry.
mod verdict {
    use record::Verdict;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(remote = "Verdict")]
    enum Parts {
        Right { checked: u64 },
        Unchecked { reason: String },
        Wrong { checked: u64, wrong: u64, first: String },
    }

    #[derive(Serialize, Deserialize)]
    struct Sent(#[serde(with = "Parts")] Verdict);

    pub fn serialize<S: Serializer>(verdict: &Option<Verdict>, out: S) -> Result<S::Ok, S::Error> {
        verdict.clone().map(Sent).serialize(out)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Verdict>, D::Error> {
        Ok(Option::<Sent>::deserialize(input)?.map(|sent| sent.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Merge, NamedNumber};
    use record::Metric;

    /// A rank's part after some blocks of 200 steps.
    fn typical(blocks: u32) -> Partial {
        let mut part =
            Partial { job: 3, ranks: 2, elapsed: 1.5, bytes: 77 << 20, ended: Ended::Time, ..Partial::default() };
        part.verdict = Some(Verdict::Right { checked: 1 << 20 });
        part.coverage = Some(Coverage { messages: 1 << 18, whole: 1 << 17, bytes: 1 << 21, seen_bytes: 1 << 20 });
        part.batches.threshold = Some(2e-6);
        for block in 0..blocks {
            for step in 0..200 {
                part.samples.record(Metric::Latency, 1e-6 * (1.0 + f64::from((step * 7 + block * 13) % 97) / 97.0));
            }
            part.batches.add(1.5e-6, 2, 200);
            part.extremes.add(Metric::Latency, 1.2e-6, 1.9e-6);
        }
        part
    }

    #[test]
    fn what_is_sent_arrives() {
        let mut part = typical(3);
        part.skipped = Some("why".into());
        part.notes = vec!["a".into(), "b".into()];
        let numbers = [f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MIN_POSITIVE];
        let named = |(i, x): (usize, &f64)| NamedNumber::new(&format!("x{i}"), *x, Merge::Max);
        part.results = Results::new(numbers.iter().enumerate().map(named).collect());
        (part.extremes.best, part.extremes.worst) = (f64::INFINITY, f64::NEG_INFINITY);
        let unchecked = Verdict::Unchecked { reason: "why".into() };
        let wrong = Verdict::Wrong { checked: 9, wrong: 1, first: "x".into() };
        for verdict in [None, Some(Verdict::Right { checked: 4 }), Some(unchecked), Some(wrong)] {
            part.verdict = verdict;
            assert_eq!(wire::decode::<Partial>(&wire::encode(&part)), part);
        }
        assert_eq!(wire::decode::<Partial>(&wire::encode(&Partial::default())), Partial::default());
        part.elapsed = f64::NAN;
        assert!(wire::decode::<Partial>(&wire::encode(&part)).elapsed.is_nan());
    }

    /// A hundred thousand ranks send one of these: what is not samples or batches must stay small.
    #[test]
    fn a_part_is_little_more_than_its_samples_and_batches() {
        for blocks in [0, 1, 30, 300] {
            let part = typical(blocks);
            let samples = wire::encode(&part.samples).len();
            let length = wire::encode(&part).len();
            println!("{blocks} blocks: {length} bytes, {samples} of them samples");
            assert!(length <= samples + 32 * part.batches.batches.len() + 100, "{blocks} blocks: {length} bytes");
        }
    }
}
