//! How sure a difference between two runs is.
//!
//! **Averages: a bootstrap over batches.** Samples of one block resemble each other, so resampling samples would promise far
//! too much. Batches of blocks are what is nearly independent in a run (see `record::batches`), and both records hold them:
//! they are drawn again with replacement, on both sides, [`RESAMPLES`] times, and the middle 95 % of the ratios is the
//! interval. It needs no assumption on the shape of the distribution.
//!
//! **99 % values: the intervals of both runs, added in the logarithm.** Batches hold no histograms, so a quantile cannot be
//! drawn again from them. Each record has an interval of its quantile that already pays for correlated samples; the two runs
//! are independent, so relative half-widths add in quadrature.
//!
//! **The chance that a sample is worse** is the statistic of the rank-sum test (Mann and Whitney 1947) on the histograms. It
//! is shown because it says something about the whole distribution, but no verdict rests on it: the test's error assumes
//! independent samples.
//!
//! **Runs of several placements** know how much those differ, and both averages and 99 % values are compared by their intervals over
//! placements. Of runs of one placement, none of this knows how one *run* differs from the next (other jobs on the machine, another placement): for that, make
//! several runs and look at `tailback history`.

use crate::known::Known;
use record::batches::{Batch, FEWEST};
use record::{Batches, Direction, Histogram, Interval, Metric};
use spec::Rng;

/// So many resamples place the ends of a 95 % interval to about a tenth of its width.
pub const RESAMPLES: usize = 2000;

fn mean(batches: &[Batch]) -> f64 {
    let (sum, blocks) = batches.iter().fold((0.0, 0.0), |(s, n), b| (s + b.sum, n + b.blocks));
    sum / blocks
}

/// How many times worse the mean of `b` is than that of `a`, with its interval by bootstrap if there are enough batches. The
/// draws come from a fixed seed: the same records give the same answer.
pub fn mean_ratio(metric: Metric, a: &Batches, b: &Batches) -> Known {
    let value = metric.impact(a.mean(), b.mean());
    let some = |batches: &Batches| batches.batches.iter().copied().filter(|b| b.blocks > 0.0).collect::<Vec<Batch>>();
    let (a, b) = (some(a), some(b));
    if a.len().min(b.len()) < FEWEST || !value.is_finite() {
        return Known { value, interval: None };
    }
    let mut rng = Rng::new(0, "compare", 0);
    let mut draw = |from: &[Batch]| {
        let again: Vec<Batch> = from.iter().map(|_| from[rng.below(from.len() as u64) as usize]).collect();
        mean(&again)
    };
    let mut ratios: Vec<f64> = (0..RESAMPLES).map(|_| metric.impact(draw(&a), draw(&b))).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[(share * (RESAMPLES - 1) as f64).round() as usize];
    Known { value, interval: Some(Interval { low: at(0.025), high: at(0.975) }) }
}

/// How many times worse a value `b` is than `a`, from their own intervals.
pub fn quantile_ratio(metric: Metric, a: Known, b: Known) -> Known {
    let value = metric.impact(a.value, b.value);
    let half = |x: Known| {
        let i = x.interval.filter(|i| i.low > 0.0 && i.high.is_finite())?;
        // The wider side counts: intervals of tails are lopsided.
        Some((i.high / x.value).ln().max((x.value / i.low).ln()))
    };
    let interval = half(a).zip(half(b)).map(|(p, q)| {
        let spread = p.hypot(q).exp();
        Interval { low: value / spread, high: value * spread }
    });
    Known { value, interval }
}

/// The chance that a sample of `b` is worse than one of `a`, a tie counting half.
pub fn chance_worse(metric: Metric, a: &Histogram, b: &Histogram) -> f64 {
    let (a, b) = (a.buckets(metric), b.buckets(metric));
    let total = |x: &[(f64, f64, u64)]| x.iter().map(|v| v.2 as f64).sum::<f64>();
    let (all, mut below, mut i, mut larger) = (total(&a), 0.0, 0, 0.0);
    for &(low, _, count) in &b {
        while i < a.len() && a[i].0 < low {
            below += a[i].2 as f64;
            i += 1;
        }
        // Buckets of one metric have the same edges in every histogram, so a tie is an equal edge.
        let ties = if i < a.len() && a[i].0 == low { a[i].2 as f64 } else { 0.0 };
        larger += count as f64 * (below + ties / 2.0);
    }
    let chance = larger / (all * total(&b));
    if metric.direction() == Direction::LowerIsBetter { chance } else { 1.0 - chance }
}

#[cfg(test)]
mod tests {
    use super::*;

    const L: Metric = Metric::Latency;

    fn batches(seed: u64, typical: f64) -> Batches {
        let (mut rng, mut batches) = (Rng::new(seed, "batches", 0), Batches::default());
        (0..64).for_each(|_| batches.add(typical * (0.5 + rng.exponential()), 0, 10));
        batches
    }

    /// Two runs of the same machine: about 95 of 100 intervals must hold 1. Sixteen fewer would be four standard deviations.
    #[test]
    fn the_bootstrap_covers() {
        let holds =
            |i: u64| mean_ratio(L, &batches(2 * i, 1.0), &batches(2 * i + 1, 1.0)).interval.unwrap().contains(1.0);
        let hits = (0..200).filter(|&i| holds(i)).count();
        assert!((175..=200).contains(&hits), "{hits} of 200");
        let worse = mean_ratio(L, &batches(1, 1.0), &batches(2, 2.0));
        assert!(worse.interval.unwrap().low > 1.0, "{worse:?}");
        let rate = mean_ratio(Metric::Bandwidth, &batches(1, 1.0), &batches(2, 2.0));
        assert!(rate.interval.unwrap().high < 1.0, "a higher rate is better: {rate:?}");
    }

    #[test]
    fn few_batches_claim_nothing() {
        let mut few = Batches::default();
        few.add(1.0, 0, 1);
        assert_eq!(mean_ratio(L, &few, &batches(1, 1.0)).interval, None);
        let bare = Known { value: 1.0, interval: None };
        assert_eq!(quantile_ratio(L, bare, bare).interval, None);
    }

    #[test]
    fn chances_are_those_of_pairs() {
        let of = |values: &[f64]| {
            let mut h = Histogram::default();
            values.iter().for_each(|&v| h.record(L, v * 1e-6));
            h
        };
        // Pairs (1,2) (1,3) (3,2) (3,3): worse, worse, better, tie.
        assert_eq!(chance_worse(L, &of(&[1.0, 3.0]), &of(&[2.0, 3.0])), 2.5 / 4.0);
        assert_eq!(chance_worse(L, &of(&[1.0]), &of(&[1.0])), 0.5);
    }
}
