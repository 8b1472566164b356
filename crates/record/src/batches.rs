//! How well a mean or a tail quantile is known, in bounded space and without pretending that samples are independent.
//!
//! Samples of one block (one ring, one window of time) resemble each other, so an interval computed as if they were
//! independent is far too narrow. The method of batch means (Law and Kelton, Simulation Modeling and Analysis, §9.5.3) sees that: consecutive
//! blocks are collected into at most [`MOST`] batches, and the spread *between* batches gives the interval. When the batches
//! are full, neighbours are merged and batches become twice as long, so a run may be of any length.
//!
//! For a tail quantile the same is done with the share of samples beyond a pilot estimate of it: the spread of that share
//! between batches, compared with what independent samples would show, is the design effect `d`; `n / d` is the number of
//! independent samples the run is worth, and the interval is read off the merged histogram at the quantiles
//! `q ± t sqrt(q (1-q) d / n)`.

use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::summary::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// At most so many batches are kept.
// Even, so that no batch is left without a neighbour in `halve`.
pub const MOST: usize = 64;
/// Fewer batches than this say nothing about their spread.
pub const FEWEST: usize = 5;
/// Numbers per batch in [`Batches::to_numbers`].
const FIELDS: usize = 4;

/// One batch of blocks, summed over ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Sum of the block values (one value per rank and block).
    pub sum: f64,
    /// How many block values.
    pub blocks: f64,
    /// Samples beyond the pilot threshold.
    pub beyond: f64,
    /// Samples in all.
    pub samples: f64,
}

/// All batches of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batches {
    /// Blocks per batch; doubles when the batches are full.
    pub length: u64,
    /// The batches in order of time.
    pub batches: Vec<Batch>,
    /// Pilot estimate of the tail quantile, in base units; set once, after the first blocks.
    pub threshold: Option<f64>,
    /// Blocks in the last batch so far.
    #[serde(default)]
    pub filled: u64,
}

impl Default for Batches {
    fn default() -> Batches {
        Batches { length: 1, batches: Vec::new(), threshold: None, filled: 0 }
    }
}

impl Batches {
    /// Adds one block of this rank.
    pub fn add(&mut self, value: f64, beyond: u64, samples: u64) {
        if self.filled == self.length || self.batches.is_empty() {
            if self.batches.len() == MOST {
                self.halve();
            }
            if self.filled == self.length || self.batches.is_empty() {
                self.batches.push(Batch::default());
                self.filled = 0;
            }
        }
        let last = self.batches.last_mut().expect("one was just made");
        last.sum += value;
        last.blocks += 1.0;
        last.beyond += beyond as f64;
        last.samples += samples as f64;
        self.filled += 1;
    }

    /// Merges neighbours: half as many batches, twice as long.
    fn halve(&mut self) {
        self.batches = self.batches.chunks(2).map(|pair| pair.iter().fold(Batch::default(), plus)).collect();
        self.length *= 2;
        // Only full batches are merged, so the last one is full at the new length too.
        self.filled = self.length;
    }

    /// Adds another rank's batches of the same run.
    pub fn merge(&mut self, other: &Batches) {
        self.batches.resize(self.batches.len().max(other.batches.len()), Batch::default());
        // Batch i holds the same blocks on every rank, because how many blocks run is agreed by all.
        for (mine, theirs) in self.batches.iter_mut().zip(&other.batches) {
            *mine = plus(*mine, theirs);
        }
        self.length = self.length.max(other.length);
        self.threshold = self.threshold.or(other.threshold);
    }

    /// As plain numbers, so that ranks can add them up with one all-reduce; always the same length.
    pub fn to_numbers(&self) -> Vec<f64> {
        let mut numbers: Vec<f64> = self.batches.iter().flat_map(|b| [b.sum, b.blocks, b.beyond, b.samples]).collect();
        numbers.resize(MOST * FIELDS, 0.0);
        numbers
    }

    /// These batches with the numbers of all ranks in place of this rank's.
    pub fn with_numbers(&self, numbers: &[f64]) -> Batches {
        let batch = |n: &[f64]| Batch { sum: n[0], blocks: n[1], beyond: n[2], samples: n[3] };
        let batches = numbers.chunks(FIELDS).take(self.batches.len()).map(batch).collect();
        Batches { batches, ..self.clone() }
    }

    /// Mean of all block values; 0 without any.
    pub fn mean(&self) -> f64 {
        let all = self.batches.iter().fold(Batch::default(), plus);
        if all.blocks > 0.0 { all.sum / all.blocks } else { 0.0 }
    }

    /// The full batches: a last one that is still short would weigh too much.
    fn full(&self) -> Vec<Batch> {
        let longest = self.batches.iter().map(|b| b.blocks).fold(0.0, f64::max);
        self.batches.iter().copied().filter(|b| b.blocks >= 0.75 * longest && b.blocks > 0.0).collect()
    }

    /// 95 % interval of the mean, or none from too few batches.
    pub fn mean_interval(&self) -> Option<Interval> {
        let means: Vec<f64> = self.full().iter().map(|b| b.sum / b.blocks).collect();
        if means.len() < FEWEST {
            return None;
        }
        let (mean, variance) = moments(&means);
        let half = student95(means.len() - 1) * (variance / means.len() as f64).sqrt();
        // The interval surrounds the mean of all blocks, the short last batch included.
        let shift = self.mean() - mean;
        Some(Interval { low: mean + shift - half, high: mean + shift + half })
    }

    /// How many times more samples the run needed than independent ones would, for the share beyond the threshold; at least 1.
    fn design_effect(&self) -> Option<(f64, usize)> {
        self.threshold?;
        let full: Vec<Batch> = self.full().into_iter().filter(|b| b.samples > 0.0).collect();
        if full.len() < FEWEST {
            return None;
        }
        let shares: Vec<f64> = full.iter().map(|b| b.beyond / b.samples).collect();
        let (share, variance) = moments(&shares);
        let per_batch = full.iter().map(|b| b.samples).sum::<f64>() / full.len() as f64;
        let independent = share * (1.0 - share) / per_batch;
        // Batches may agree by chance better than independent samples would; that earns no narrower interval.
        // With no sample beyond the threshold both variances are 0, and the effect is 1.
        Some(((variance / independent.max(f64::MIN_POSITIVE)).max(1.0), full.len()))
    }

    /// 95 % interval of quantile `q` of the merged histogram, or none from too few batches.
    pub fn quantile_interval(&self, metric: Metric, all: &Histogram, q: f64) -> Option<Interval> {
        let (effect, batches) = self.design_effect()?;
        let half = student95(batches - 1) * (q * (1.0 - q) * effect / all.len().max(1) as f64).sqrt();
        let at = |q: f64| all.quantile(metric, q.clamp(0.0, 1.0));
        Some(Interval { low: at(q - half), high: at(q + half) })
    }
}

fn plus(a: Batch, b: &Batch) -> Batch {
    Batch {
        sum: a.sum + b.sum,
        blocks: a.blocks + b.blocks,
        beyond: a.beyond + b.beyond,
        samples: a.samples + b.samples,
    }
}

/// Mean and unbiased variance.
fn moments(values: &[f64]) -> (f64, f64) {
    // Callers have at least FEWEST values, so n - 1 is not 0.
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// Student's t for a two-sided 95 % interval; exact to three digits up to 4 degrees, within 1 % above (Cornish-Fisher expansion).
pub(crate) fn student95(degrees: usize) -> f64 {
    match degrees {
        0 => f64::INFINITY,
        1 => 12.706,
        2 => 4.303,
        3 => 3.182,
        4 => 2.776,
        _ => {
            // The 97.5 % quantile of the normal distribution, the limit for many degrees.
            let (z, n) = (1.959964f64, degrees as f64);
            z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Rng;

    #[test]
    fn any_number_of_blocks_fits_and_the_mean_is_kept() {
        for blocks in [1u64, 5, 63, 64, 65, 128, 129, 1000, 100_000] {
            let mut b = Batches::default();
            (0..blocks).for_each(|i| b.add(i as f64, 1, 10));
            assert!(b.batches.len() <= MOST);
            assert_eq!(b.batches.iter().map(|b| b.blocks).sum::<f64>(), blocks as f64);
            assert!((b.mean() - (blocks - 1) as f64 / 2.0).abs() < 1e-6 * blocks as f64);
        }
    }

    #[test]
    fn ranks_add_up() {
        let mut ranks = [Batches::default(), Batches::default()];
        for block in 0..100 {
            ranks[0].add(f64::from(block), 0, 1);
            ranks[1].add(f64::from(block) + 1.0, 1, 1);
        }
        let sum: Vec<f64> = ranks[0].to_numbers().iter().zip(ranks[1].to_numbers()).map(|(a, b)| a + b).collect();
        let by_numbers = ranks[0].with_numbers(&sum);
        let mut by_merge = ranks[0].clone();
        by_merge.merge(&ranks[1]);
        assert_eq!(by_numbers, by_merge);
        assert_eq!(by_merge.mean(), 50.0);
    }

    #[test]
    fn student_matches_the_tables() {
        for (degrees, t) in [(5, 2.571), (10, 2.228), (30, 2.042), (63, 1.998)] {
            assert!((student95(degrees) / t - 1.0).abs() < 1e-2, "{degrees}: {}", student95(degrees));
        }
    }

    /// Blocks of 20 equal samples: independent-sample intervals would be sqrt(20) too narrow; these must cover.
    #[test]
    fn intervals_cover_the_truth_when_samples_are_correlated() {
        let (runs, q) = (200, 0.9);
        let (mut mean_hits, mut tail_hits) = (0, 0);
        for run in 0..runs {
            let mut rng = Rng::new(run, "coverage", 0);
            let (mut batches, mut all) = (Batches::default(), Histogram::default());
            batches.threshold = Some(1e-6 * -(0.1f64.ln()));
            for _ in 0..400 {
                let v = 1e-6 * rng.exponential();
                (0..20).for_each(|_| all.record(Metric::Latency, v));
                batches.add(v, if v > batches.threshold.unwrap() { 20 } else { 0 }, 20);
            }
            mean_hits += u32::from(batches.mean_interval().unwrap().contains(1e-6));
            tail_hits +=
                u32::from(batches.quantile_interval(Metric::Latency, &all, q).unwrap().contains(-1e-6 * 0.1f64.ln()));
        }
        // 95 % of 200 is 190; seven fewer is three standard deviations.
        assert!(mean_hits >= 180 && tail_hits >= 180, "{mean_hits} {tail_hits}");
    }

    #[test]
    fn few_batches_claim_nothing() {
        let mut b = Batches::default();
        b.add(1.0, 0, 1);
        assert_eq!(b.mean_interval(), None);
        assert_eq!(b.quantile_interval(Metric::Latency, &Histogram::default(), 0.99), None);
    }
}
