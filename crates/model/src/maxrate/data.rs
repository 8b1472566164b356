//! Samples and points, and what their numbers mean.

use crate::numeric::stats::median;
use record::PairPattern;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// What was done between the two readings of the clock that make one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// A message there and one of equal length back: the time is the round trip.
    #[default]
    PingPong,
    /// Messages one after the other in one direction: the time is per message.
    Stream,
    /// Messages in both directions at once: the time is per message of one direction.
    Duplex,
}

impl Pattern {
    /// What the times of a point are, if they are times of messages.
    pub fn of(pairs: PairPattern) -> Option<Pattern> {
        match pairs {
            PairPattern::Pingpong => Some(Pattern::PingPong),
            PairPattern::Stream => Some(Pattern::Stream),
            PairPattern::Duplex => Some(Pattern::Duplex),
            PairPattern::EagerLimit
            | PairPattern::RoundTrip { .. }
            | PairPattern::Queue { .. }
            | PairPattern::Overlap { .. } => None,
        }
    }

    /// Its name as a mode of `run maxrate`.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::PingPong => "pingpong",
            Pattern::Stream => "stream",
            Pattern::Duplex => "duplex",
        }
    }

    /// What its times are, in words.
    pub fn times_are(self) -> &'static str {
        match self {
            Pattern::PingPong => "times are whole round trips; one-way values are derived and named so",
            Pattern::Stream => "times are per message, one direction in use",
            Pattern::Duplex => "times are per message of one direction, both in use",
        }
    }

    /// The one-way time of a message, from the measured time.
    pub fn one_way_seconds(self, measured: f64) -> f64 {
        match self {
            Pattern::PingPong => measured / 2.0,
            Pattern::Stream | Pattern::Duplex => measured,
        }
    }

    /// The one-way rate of a single pair, from the rate in the measured convention (bytes of one message over measured time).
    pub fn one_way_core_rate(self, measured: f64) -> f64 {
        match self {
            Pattern::PingPong => 2.0 * measured,
            Pattern::Stream | Pattern::Duplex => measured,
        }
    }

    /// What the saturated rate of the node is a rate of. Pairs that ping-pong without waiting for each other keep both
    /// directions busy, so k n / T(round trip) is already the rate of each direction; halving T would give their sum.
    pub fn node_rate_means(self) -> &'static str {
        match self {
            Pattern::PingPong | Pattern::Duplex => "per direction, both directions in use",
            Pattern::Stream => "injection, one direction in use",
        }
    }
}

/// One measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Bytes of one message, one way.
    pub bytes: u64,
    /// How many pairs communicated at once.
    pub pairs: u32,
    /// The time in seconds as [`Pattern`] says: for ping-pong the whole round trip.
    pub seconds: f64,
    /// Which repetition it was, from 0.
    pub trial: u32,
}

/// All trials of one size and number of pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Bytes of one message, one way.
    pub bytes: u64,
    /// How many pairs communicated at once.
    pub pairs: u32,
    /// The location of the trials in seconds.
    pub seconds: f64,
    /// The trials that were kept, in seconds.
    pub trials: Vec<f64>,
}

/// Which single number stands for several trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Location {
    /// The smallest: what the machine can do undisturbed.
    Minimum,
    /// The middle one: what usually happens.
    #[default]
    Median,
}

impl Location {
    /// The location of some trials.
    pub fn of(self, trials: &[f64]) -> Option<f64> {
        match self {
            Location::Minimum => trials.iter().copied().min_by(f64::total_cmp),
            Location::Median => median(trials),
        }
    }
}

/// What the residual of a point is multiplied by before it is squared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// 1/sqrt(n), the paper's: sum of (T-f)^2/n. A third of the weight lies on the largest size.
    Paper,
    /// 1/T: relative errors, the same for all sizes, and what the error tables show.
    #[default]
    Relative,
}

impl Weighting {
    /// The weight of a point's residual.
    pub fn of(self, point: &Point) -> f64 {
        match self {
            Weighting::Paper => 1.0 / (point.bytes as f64).sqrt(),
            Weighting::Relative => 1.0 / point.seconds,
        }
    }
}

/// Data that no model can be fitted to.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DataError {
    /// Nothing there.
    #[error("there are no samples; measure at least one size with one pair")]
    Empty,
    /// A time that is not a positive number.
    #[error("sample {index}: {seconds} s is not a time; times must be finite and above zero")]
    Seconds {
        /// Which sample, from 0.
        index: usize,
        /// Its time.
        seconds: f64,
    },
    /// A message of no bytes has no rate.
    #[error("sample {index}: a message of 0 bytes; sizes start at 1")]
    Bytes {
        /// Which sample, from 0.
        index: usize,
    },
    /// No pair communicated.
    #[error("sample {index}: 0 pairs; at least one pair communicates")]
    Pairs {
        /// Which sample, from 0.
        index: usize,
    },
}

/// Trials that a point needs before its first one is dropped as a warm-up.
const TRIALS_TO_DROP_ONE: usize = 3;

/// Gathers samples into points, ordered by (bytes, pairs). With `drop_first` the trial of the smallest number is left out of
/// every point that has at least three, because the first one pays for connections and page faults.
pub fn points(samples: &[Sample], location: Location, drop_first: bool) -> Result<Vec<Point>, DataError> {
    let mut groups: BTreeMap<(u64, u32), Vec<(u32, f64)>> = BTreeMap::new();
    for (index, s) in samples.iter().enumerate() {
        if !(s.seconds.is_finite() && s.seconds > 0.0) {
            return Err(DataError::Seconds { index, seconds: s.seconds });
        }
        if s.bytes == 0 {
            return Err(DataError::Bytes { index });
        }
        if s.pairs == 0 {
            return Err(DataError::Pairs { index });
        }
        groups.entry((s.bytes, s.pairs)).or_default().push((s.trial, s.seconds));
    }
    if groups.is_empty() {
        return Err(DataError::Empty);
    }
    let point = |((bytes, pairs), mut trials): ((u64, u32), Vec<(u32, f64)>)| {
        trials.sort_by_key(|&(trial, _)| trial);
        let skip = usize::from(drop_first && trials.len() >= TRIALS_TO_DROP_ONE);
        let trials: Vec<f64> = trials.into_iter().skip(skip).map(|(_, s)| s).collect();
        let seconds = location.of(&trials).expect("every group has a trial");
        Point { bytes, pairs, seconds, trials }
    };
    Ok(groups.into_iter().map(point).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(bytes: u64, pairs: u32, seconds: f64, trial: u32) -> Sample {
        Sample { bytes, pairs, seconds, trial }
    }

    #[test]
    fn trials_become_points_without_the_first() {
        let s = [sample(8, 1, 9.0, 0), sample(8, 1, 1.0, 1), sample(8, 1, 2.0, 2), sample(4, 2, 5.0, 0)];
        let p = points(&s, Location::Minimum, true).unwrap();
        assert_eq!((p[0].bytes, p[0].pairs, p[0].seconds), (4, 2, 5.0));
        assert_eq!((p[1].seconds, p[1].trials.as_slice()), (1.0, &[1.0, 2.0][..]));
        assert_eq!(points(&s, Location::Median, false).unwrap()[1].seconds, 2.0);
    }

    #[test]
    fn bad_samples_are_named() {
        for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            let e = points(&[sample(8, 1, 1.0, 0), sample(8, 1, bad, 1)], Location::Median, false).unwrap_err();
            assert!(e.to_string().starts_with("sample 1:"), "{e}");
        }
        assert_eq!(points(&[], Location::Median, true), Err(DataError::Empty));
        assert!(points(&[sample(0, 1, 1.0, 0)], Location::Median, true).is_err());
        assert!(points(&[sample(1, 0, 1.0, 0)], Location::Median, true).is_err());
    }

    #[test]
    fn one_way_is_derived() {
        assert_eq!(Pattern::PingPong.one_way_seconds(4e-6), 2e-6);
        assert_eq!(Pattern::PingPong.one_way_core_rate(3e9), 6e9);
        assert_eq!(Pattern::Stream.one_way_seconds(4e-6), 4e-6);
    }
}
