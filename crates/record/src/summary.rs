//! The numbers of a distribution that people ask for, with how well each is known.

use crate::batches::Batches;
use crate::histogram::Histogram;
use crate::metric::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A 95 % confidence interval, in base units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether a value lies in it.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
    /// Half its width relative to `value`: the "5 %" of "known to 5 %".
    pub fn relative(&self, value: f64) -> f64 {
        (self.high - self.low) / 2.0 / value.abs()
    }
}

/// One quantile, counted from the good end: 0.99 is what 99 % of the samples are no worse than.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantile {
    /// Which one.
    pub q: f64,
    /// Its value, in base units.
    pub value: f64,
    /// How well it is known.
    pub interval: Option<Interval>,
}

/// The quantiles that every summary has.
pub const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// A distribution in a few numbers, in base units (s, B/s, ...). GPCNeT's table columns, each with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Samples: steps times ranks.
    pub samples: u64,
    /// Blocks times ranks.
    pub blocks: u64,
    /// Mean over blocks of the mean over ranks of the block's value (GPCNeT "Avg").
    pub mean: f64,
    /// How well the mean is known.
    pub mean_interval: Option<Interval>,
    /// Mean over blocks of the worst rank's block value (GPCNeT "Avg(Worst)").
    pub mean_worst: f64,
    /// Best block value of any rank (GPCNeT "Min" of a latency, "Max" of a rate).
    pub best: f64,
    /// Worst block value of any rank.
    pub worst: f64,
    /// Quantiles of the samples, counted from the good end.
    pub quantiles: Vec<Quantile>,
}

impl Summary {
    /// From what was recorded.
    pub fn new(metric: Metric, samples: &Histogram, batches: &Batches, extremes: Extremes) -> Summary {
        let quantile = |q| {
            let tail = metric.tail(q);
            let interval = batches.quantile_interval(metric, samples, tail);
            Quantile { q, value: samples.quantile(metric, tail), interval }
        };
        Summary {
            samples: samples.len(),
            blocks: batches.batches.iter().map(|b| b.blocks).sum::<f64>() as u64,
            mean: batches.mean(),
            mean_interval: batches.mean_interval(),
            mean_worst: if extremes.rounds > 0 { extremes.worst_sum / extremes.rounds as f64 } else { 0.0 },
            best: extremes.best,
            worst: extremes.worst,
            quantiles: QUANTILES.map(quantile).to_vec(),
        }
    }

    /// The quantile `q`, which must be one of [`QUANTILES`].
    pub fn quantile(&self, q: f64) -> Option<&Quantile> {
        // Equality of floats is meant: both sides are copies of one constant.
        self.quantiles.iter().find(|x| x.q == q)
    }
}

/// Best and worst block values, followed during the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extremes {
    /// Rounds seen.
    pub rounds: u64,
    /// Sum over rounds of the worst rank's value.
    pub worst_sum: f64,
    /// Best of all.
    pub best: f64,
    /// Worst of all.
    pub worst: f64,
}

impl Default for Extremes {
    fn default() -> Extremes {
        Extremes { rounds: 0, worst_sum: 0.0, best: 0.0, worst: 0.0 }
    }
}

impl Extremes {
    /// Adds a round whose best and worst rank had these values.
    pub fn add(&mut self, metric: Metric, best: f64, worst: f64) {
        use crate::metric::Direction::*;
        // The zeros of `default` are no values, so the first round replaces them.
        let first = self.rounds == 0;
        type Pick = fn(f64, f64) -> f64;
        let (better, worse): (Pick, Pick) = match metric.direction() {
            LowerIsBetter => (f64::min, f64::max),
            HigherIsBetter => (f64::max, f64::min),
        };
        self.best = if first { best } else { better(self.best, best) };
        self.worst = if first { worst } else { worse(self.worst, worst) };
        self.worst_sum += worst;
        self.rounds += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_rank_is_averaged_over_rounds() {
        for (metric, rounds, said) in [
            (Metric::Latency, [(1.0, 3.0), (2.0, 5.0)], (4.0, 1.0, 5.0)),
            (Metric::Bandwidth, [(3.0, 1.0), (5.0, 2.0)], (1.5, 5.0, 1.0)),
        ] {
            let (mut samples, mut batches, mut extremes) =
                (Histogram::default(), Batches::default(), Extremes::default());
            for (round, (best, worst)) in (0..).zip(rounds) {
                samples.record(metric, best);
                batches.add(best, round, 1);
                extremes.add(metric, best, worst);
            }
            let summary = Summary::new(metric, &samples, &batches, extremes);
            assert_eq!((summary.mean_worst, summary.best, summary.worst), said, "{metric:?}");
        }
    }
}
