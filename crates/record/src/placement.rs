//! Several placements of roles on nodes as one result.
//!
//! Where roles fall on nodes and which ranks are neighbours in a ring decides more than chance within one placement does. So a run covers
//! several random placements, a value of the run is the geometric mean over them, and its interval comes from their spread. Ratios of
//! two such values are then the geometric mean of the ratios within the placements: what is paired stays paired.

use crate::batches::{Batch, Batches, student95};
use crate::run::{Ended, JobRecord, PhaseRecord, RunRecord};
use crate::summary::{Interval, Quantile, Summary};
use crate::verdict::{Coverage, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a job measured in one placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlacementRecord {
    /// Which placement, counted from 0.
    pub placement: u32,
    /// Why it ended.
    pub ended: Ended,
    /// Time from its first to its last timed block, in seconds.
    pub elapsed_s: f64,
    /// Bytes sent in timed steps, over all ranks.
    pub bytes: u64,
    /// The numbers people ask for; intervals are of this placement alone.
    pub summary: Summary,
}

/// Fewer placements than this say nothing about their spread.
pub const FEWEST_PLACEMENTS: usize = 3;

/// Samples that must lie beyond a quantile, in all and in each placement.
pub const BEYOND: f64 = 10.0;
const BEYOND_EACH: f64 = 1.0;

/// The geometric mean of values above 0 and its 95 % interval, from the spread of their logarithms; no interval of too few values. Where
/// a value is 0 there is no logarithm: the plain mean, without an interval.
pub fn geometric(values: &[f64]) -> (f64, Option<Interval>) {
    let n = values.len() as f64;
    if values.iter().any(|v| !(*v > 0.0 && v.is_finite())) {
        return (values.iter().sum::<f64>() / n, None);
    }
    let logs: Vec<f64> = values.iter().map(|v| v.ln()).collect();
    let mean = logs.iter().sum::<f64>() / n;
    if values.iter().all(|v| *v == values[0]) {
        // Exactly, without the last bit that a logarithm and back may cost.
        let value = values[0];
        return (value, (values.len() >= FEWEST_PLACEMENTS).then_some(Interval { low: value, high: value }));
    }
    let interval = (values.len() >= FEWEST_PLACEMENTS).then(|| {
        let variance = logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let t = student95(values.len() - 1);
        let half = t * (variance / n).sqrt();
        // Placements are lopsided: most are alike and a few far off. Towards that side the interval is longer (the modified t of Johnson,
        // 1978); on the other it keeps its length.
        let third = logs.iter().map(|x| (x - mean).powi(3)).sum::<f64>() / n;
        let skew = third / (3.0 * variance) * (0.5 / n + t * t / n);
        Interval { low: (mean - half + skew.min(0.0)).exp(), high: (mean + half + skew.max(0.0)).exp() }
    });
    (mean.exp(), interval)
}

impl Summary {
    /// Of several placements: means and quantiles are geometric means over them, counts add up, extremes are of all.
    fn over(job: &JobRecord) -> Summary {
        let parts: Vec<&Summary> = job.placements.iter().map(|p| &p.summary).filter(|s| s.samples > 0).collect();
        let Some(first) = parts.first() else { return job.summary.clone() };
        let of = |pick: &dyn Fn(&Summary) -> f64| parts.iter().map(|s| pick(s)).collect::<Vec<f64>>();
        let (mean, mean_interval) = geometric(&of(&|s| s.mean));
        let quantile = |q: &Quantile| {
            let (value, interval) = geometric(&of(&|s| s.quantile(q.q).map_or(f64::NAN, |x| x.value)));
            Quantile { q: q.q, value, interval }
        };
        let better = |a: f64, b: f64| if job.metric.impact(a, b) >= 1.0 { a } else { b };
        let worse = |a: f64, b: f64| if job.metric.impact(a, b) >= 1.0 { b } else { a };
        Summary {
            samples: parts.iter().map(|s| s.samples).sum(),
            blocks: parts.iter().map(|s| s.blocks).sum(),
            mean,
            mean_interval,
            mean_worst: geometric(&of(&|s| s.mean_worst)).0,
            best: parts.iter().map(|s| s.best).fold(first.best, better),
            worst: parts.iter().map(|s| s.worst).fold(first.worst, worse),
            quantiles: first.quantiles.iter().map(quantile).collect(),
        }
    }
}

impl JobRecord {
    /// This job as the only placement so far of several.
    fn placed(mut self, placement: u32) -> JobRecord {
        self.placements = vec![self.part(placement)];
        self.batches = self.as_batches();
        self
    }

    fn part(&self, placement: u32) -> PlacementRecord {
        let &JobRecord { ended, elapsed_s, bytes, .. } = self;
        PlacementRecord { placement, ended, elapsed_s, bytes, summary: self.summary.clone() }
    }

    /// One batch for each placement: what is nearly independent in such a run.
    fn as_batches(&self) -> Batches {
        let batch = |p: &PlacementRecord| {
            let blocks = p.summary.blocks as f64;
            Batch { sum: p.summary.mean * blocks, blocks, beyond: 0.0, samples: p.summary.samples as f64 }
        };
        let batches: Vec<Batch> = self.placements.iter().map(batch).collect();
        let longest = self.placements.iter().map(|p| p.summary.blocks).max().unwrap_or(1).max(1);
        Batches { length: longest, batches, threshold: None, filled: longest }
    }

    /// Adds what the same job measured in another placement.
    fn join(&mut self, placement: u32, other: JobRecord) {
        self.placements.push(other.part(placement));
        self.samples.merge(&other.samples);
        self.elapsed_s += other.elapsed_s;
        self.bytes += other.bytes;
        self.skipped = self.skipped.take().or(other.skipped);
        let ran = std::mem::replace(&mut self.verdict, Verdict::Right { checked: 0 });
        self.verdict = ran.and(other.verdict);
        self.coverage = Coverage::both(self.coverage, other.coverage);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let before = (self.placements.len() - 1) as f64;
        for (name, value) in other.results {
            let mean = self.results.entry(name).or_insert(value);
            *mean = (*mean * before + value) / (before + 1.0);
        }
        self.summary = Summary::over(self);
        self.batches = self.as_batches();
    }

    /// Whether enough samples lie beyond a quantile, counted from the good end, to say where it is: ten in all, and one in each
    /// placement, so that it is never the worst sample alone.
    pub fn tells_quantile(&self, q: f64) -> bool {
        // A little less than whole numbers: 1 - 0.99 is not exactly a hundredth.
        let beyond = |samples: u64| samples as f64 * (1.0 - q) + 1e-6;
        let each = self.placements.iter().map(|p| p.summary.samples).filter(|n| *n > 0);
        beyond(self.summary.samples) >= BEYOND && each.min().is_none_or(|n| beyond(n) >= BEYOND_EACH)
    }

    /// Values of two jobs in the placements that both have.
    pub fn paired<'a>(&'a self, other: &'a JobRecord) -> impl Iterator<Item = (u32, &'a Summary, &'a Summary)> {
        let full = |p: &&PlacementRecord| p.summary.samples > 0;
        self.placements.iter().filter(full).filter_map(move |mine| {
            let theirs = other.placements.iter().filter(full).find(|p| p.placement == mine.placement)?;
            Some((mine.placement, &mine.summary, &theirs.summary))
        })
    }
}

impl PhaseRecord {
    /// This phase as the only placement so far of several.
    fn placed(mut self, placement: u32) -> PhaseRecord {
        self.jobs = self.jobs.into_iter().map(|job| job.placed(placement)).collect();
        self
    }

    fn join(&mut self, placement: u32, other: PhaseRecord) {
        // The mean: counters, which are read around a phase, grow in one placement at a time.
        let before = self.jobs.iter().map(|j| j.placements.len()).max().unwrap_or(1) as f64;
        self.elapsed_s = (self.elapsed_s * before + other.elapsed_s) / (before + 1.0);
        for (mine, theirs) in self.jobs.iter_mut().zip(other.jobs) {
            mine.join(placement, theirs);
        }
        // A counter's values are of the nodes of a job, which are others in every placement.
        for theirs in other.counters {
            match self.counters.iter_mut().find(|c| c.name == theirs.name && c.job == theirs.job) {
                Some(mine) => mine.per_node.extend(theirs.per_node),
                None => self.counters.push(theirs),
            }
        }
        for (job, nodes) in other.counted {
            self.counted.entry(job).or_default().extend(nodes);
        }
    }
}

impl RunRecord {
    /// Takes in a phase, by its index in the plan, of one placement. Placements come in their order.
    pub fn take(&mut self, index: usize, placement: u32, phase: PhaseRecord) {
        match self.phases.get_mut(index) {
            Some(earlier) => earlier.join(placement, phase),
            None if self.plan.placements == 1 => self.phases.push(phase),
            None => self.phases.push(phase.placed(placement)),
        }
    }

    /// Takes in the record of a run of one placement, or of some phases of a sweep, as far as it came. Its first phase has this index in
    /// the plan.
    pub fn take_part(&mut self, first: usize, placement: u32, other: RunRecord) {
        for (index, phase) in other.phases.into_iter().enumerate() {
            self.take(first + index, placement, phase);
        }
        for warning in other.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_of_geometric_means_are_means_of_ratios() {
        let (alone, loaded) = ([1.0, 2.0, 4.0, 1.5], [2.0, 9.0, 4.1, 8.0]);
        let ratios: Vec<f64> = alone.iter().zip(&loaded).map(|(a, b)| b / a).collect();
        let expected = geometric(&loaded).0 / geometric(&alone).0;
        assert!((geometric(&ratios).0 / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_values_are_known_exactly_and_few_claim_nothing() {
        assert_eq!(geometric(&[1.1; 5]), (1.1, Some(Interval { low: 1.1, high: 1.1 })));
        assert_eq!(geometric(&[1.0, 2.0]).1, None);
        assert_eq!(geometric(&[0.0, 2.0, 4.0]), (2.0, None));
    }

    /// Placements of a log-normal machine: 95 of 100 intervals must hold its median.
    #[test]
    fn intervals_cover_the_typical_placement() {
        let mut rng = spec::Rng::new(1, "placements", 0);
        let mut normal = || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let hits = (0..1000).filter(|_| {
            let values: Vec<f64> = (0..8).map(|_| (1.0 + 0.65 * normal()).exp()).collect();
            geometric(&values).1.is_some_and(|i| i.contains(1f64.exp()))
        });
        let hits = hits.count();
        assert!((925..=975).contains(&hits), "{hits} of 1000");
    }
}
