//! What one rank has of a job, and how parts of all ranks become one: up a binomial tree, after the phase.

use super::recorder::Recorder;
use super::results::Results;
use crate::kernel::Kernel;
use comm::{Comm, collectives};
use record::summary::Extremes;
use record::{Batches, Ended, Histogram, Job, JobRecord, Summary, Verdict};
use spec::Params;
use std::collections::BTreeMap;

/// Part of a job's record.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Partial {
    pub job: u32,
    pub ranks: u32,
    pub skipped: Option<String>,
    pub ended: Ended,
    pub elapsed: f64,
    pub bytes: u64,
    pub verdict: Option<Verdict>,
    pub extremes: Extremes,
    pub notes: Vec<String>,
    pub samples: Histogram,
    pub batches: Batches,
    pub results: Results,
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
            extremes: Extremes::default(),
            notes: Vec::new(),
            samples: Histogram::default(),
            batches: Batches::default(),
            results: Results::default(),
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

    fn merge(&mut self, other: Partial) {
        self.ranks += other.ranks;
        self.bytes += other.bytes;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.skipped = self.skipped.take().or(other.skipped);
        self.verdict = match (self.verdict.take(), other.verdict) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        };
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.samples.merge(&other.samples);
        self.batches.merge(&other.batches);
        self.results.merge(other.results);
    }

    /// The record of a job from the parts of all its ranks; a job without any rank was skipped.
    pub fn into_record(merged: Option<Partial>, job: &Job, kernel: &Kernel, params: Params) -> JobRecord {
        let nobody = Partial { skipped: Some("no rank of the layout takes part".into()), ..Partial::default() };
        let part = merged.unwrap_or(nobody);
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
            notes: part.notes,
            results: part.results.finish(),
        }
    }
}

/// Merges the parts of all ranks on world rank 0, by job. Collective.
pub(super) fn collect(world: &dyn Comm, mine: Option<&Partial>) -> Option<BTreeMap<u32, Partial>> {
    let mine = mine.map(|part| wire::encode(std::slice::from_ref(part))).unwrap_or_default();
    let mut merge = |a: Vec<u8>, b: Vec<u8>| match (a.is_empty(), b.is_empty()) {
        (true, _) => b,
        (_, true) => a,
        _ => {
            let mut jobs = by_job(&a);
            for part in wire::decode(&b) {
                match jobs.get_mut(&part.job) {
                    Some(mine) => mine.merge(part),
                    None => drop(jobs.insert(part.job, part)),
                }
            }
            wire::encode(&jobs.into_values().collect::<Vec<_>>())
        }
    };
    collectives::fold(world, mine, &mut merge).map(|bytes| by_job(&bytes))
}

fn by_job(bytes: &[u8]) -> BTreeMap<u32, Partial> {
    wire::decode(bytes).into_iter().map(|part| (part.job, part)).collect()
}

/// Parts as bytes between ranks of one program: no version, no checks, only the same code at both ends.
mod wire {
    use super::*;

    struct Out(Vec<u8>);

    impl Out {
        fn number(&mut self, x: u64) {
            self.0.extend_from_slice(&x.to_le_bytes());
        }
        fn real(&mut self, x: f64) {
            self.number(x.to_bits());
        }
        fn bytes(&mut self, bytes: &[u8]) {
            self.number(bytes.len() as u64);
            self.0.extend_from_slice(bytes);
        }
        fn text(&mut self, text: Option<&str>) {
            self.number(u64::from(text.is_some()));
            self.bytes(text.unwrap_or_default().as_bytes());
        }
    }

    struct In<'a>(&'a [u8]);

    impl<'a> In<'a> {
        fn take(&mut self, n: usize) -> &'a [u8] {
            let (head, tail) = self.0.split_at(n);
            self.0 = tail;
            head
        }
        fn number(&mut self) -> u64 {
            u64::from_le_bytes(self.take(8).try_into().expect("eight bytes"))
        }
        fn real(&mut self) -> f64 {
            f64::from_bits(self.number())
        }
        fn bytes(&mut self) -> &'a [u8] {
            let n = self.number() as usize;
            self.take(n)
        }
        fn text(&mut self) -> Option<String> {
            let some = self.number() == 1;
            let text = String::from_utf8(self.bytes().to_vec()).expect("text was sent");
            some.then_some(text)
        }
    }

    const ENDINGS: [Ended; 5] = [Ended::Count, Ended::Time, Ended::Precision, Ended::WithMeasured, Ended::Skipped];

    pub fn encode(parts: &[Partial]) -> Vec<u8> {
        let mut out = Out(Vec::new());
        for part in parts {
            out.number(u64::from(part.job));
            out.number(u64::from(part.ranks));
            out.text(part.skipped.as_deref());
            out.number(ENDINGS.iter().position(|e| *e == part.ended).expect("every ending is listed") as u64);
            out.real(part.elapsed);
            out.number(part.bytes);
            verdict(&mut out, part.verdict.as_ref());
            let Extremes { rounds, worst_sum, best, worst } = part.extremes;
            out.number(rounds);
            [worst_sum, best, worst].into_iter().for_each(|x| out.real(x));
            out.number(part.notes.len() as u64);
            part.notes.iter().for_each(|n| out.text(Some(n)));
            out.bytes(&if part.samples.is_empty() { Vec::new() } else { part.samples.to_bytes() });
            batches(&mut out, &part.batches);
            out.bytes(&part.results.to_bytes());
        }
        out.0
    }

    fn verdict(out: &mut Out, verdict: Option<&Verdict>) {
        let (kind, checked, wrong, text) = match verdict {
            None => (0, 0, 0, None),
            Some(Verdict::Right { checked }) => (1, *checked, 0, None),
            Some(Verdict::Unchecked { reason }) => (2, 0, 0, Some(reason.as_str())),
            Some(Verdict::Wrong { checked, wrong, first }) => (3, *checked, *wrong, Some(first.as_str())),
        };
        [kind, checked, wrong].into_iter().for_each(|x| out.number(x));
        out.text(text);
    }

    fn batches(out: &mut Out, batches: &Batches) {
        out.number(batches.length);
        out.real(batches.threshold.unwrap_or(f64::NAN));
        out.number(batches.batches.len() as u64);
        for b in &batches.batches {
            [b.sum, b.blocks, b.beyond, b.samples].into_iter().for_each(|x| out.real(x));
        }
    }

    pub fn decode(bytes: &[u8]) -> Vec<Partial> {
        let mut input = In(bytes);
        let mut parts = Vec::new();
        while !input.0.is_empty() {
            parts.push(decode_one(&mut input));
        }
        parts
    }

    fn decode_one(input: &mut In<'_>) -> Partial {
        Partial {
            job: input.number() as u32,
            ranks: input.number() as u32,
            skipped: input.text(),
            ended: ENDINGS[input.number() as usize],
            elapsed: input.real(),
            bytes: input.number(),
            verdict: decode_verdict(input),
            extremes: Extremes {
                rounds: input.number(),
                worst_sum: input.real(),
                best: input.real(),
                worst: input.real(),
            },
            notes: (0..input.number()).filter_map(|_| input.text()).collect(),
            samples: match input.bytes() {
                [] => Histogram::default(),
                bytes => Histogram::from_bytes(bytes).expect("written by this program"),
            },
            batches: decode_batches(input),
            results: Results::from_bytes(input.bytes()),
        }
    }

    fn decode_verdict(input: &mut In<'_>) -> Option<Verdict> {
        let (kind, checked, wrong, text) = (input.number(), input.number(), input.number(), input.text());
        let text = text.unwrap_or_default();
        match kind {
            0 => None,
            1 => Some(Verdict::Right { checked }),
            2 => Some(Verdict::Unchecked { reason: text }),
            _ => Some(Verdict::Wrong { checked, wrong, first: text }),
        }
    }

    fn decode_batches(input: &mut In<'_>) -> Batches {
        let mut batches = Batches { length: input.number(), ..Batches::default() };
        batches.threshold = Some(input.real()).filter(|t| !t.is_nan());
        batches.batches = (0..input.number())
            .map(|_| record::batches::Batch {
                sum: input.real(),
                blocks: input.real(),
                beyond: input.real(),
                samples: input.real(),
            })
            .collect();
        batches
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use record::Metric;

        #[test]
        fn what_is_sent_arrives() {
            let mut part =
                Partial { job: 3, ranks: 2, elapsed: 1.5, bytes: 77, ended: Ended::Time, ..Partial::default() };
            part.skipped = Some("why".into());
            part.notes = vec!["a".into(), "b".into()];
            part.verdict = Some(Verdict::Wrong { checked: 9, wrong: 1, first: "x".into() });
            part.extremes.add(Metric::Latency, 1.0, 2.0);
            (1..50).for_each(|i| part.samples.record(Metric::Latency, f64::from(i) * 1e-6));
            part.batches.threshold = Some(0.5);
            part.batches.add(1.0, 2, 3);
            let back = decode(&encode(&[part.clone(), Partial::default()]));
            assert_eq!(back.len(), 2);
            assert_eq!(back[0].samples.buckets(Metric::Latency), part.samples.buckets(Metric::Latency));
            assert_eq!((&back[0].batches.batches, back[0].batches.threshold), (&part.batches.batches, Some(0.5)));
            assert_eq!((&back[0].verdict, &back[0].notes, back[0].ended), (&part.verdict, &part.notes, Ended::Time));
            assert_eq!(back[1].samples.len(), 0);
        }
    }
}
