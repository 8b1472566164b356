//! How much of messages and work happens at the same time (the paper's section 3.1): messages alone, work alone, and both at once.
//!
//! If nothing overlaps, both at once take the sum; if everything does, the longer of the two. The share of the shorter one that is
//! hidden is `(messages + work - both) / min(messages, work)`. Below zero the two disturb each other.

use crate::numeric::stats::{mean, quantile};
use record::OverlapPart;
use schemars::JsonSchema;
use serde::Serialize;
use spec::Rng;

/// Trials of the three parts, in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timed {
    messages: Vec<f64>,
    work: Vec<f64>,
    both: Vec<f64>,
}

/// What one size and number of pairs shows.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Overlapped {
    /// Seconds of the messages alone.
    pub messages_s: f64,
    /// Seconds of the work alone.
    pub work_s: f64,
    /// Seconds of both at once.
    pub both_s: f64,
    /// The share of the shorter one that is hidden behind the other.
    pub hidden: f64,
    /// Its 95 % interval over trials; none of few.
    pub hidden_between: Option<(f64, f64)>,
}

/// Fewer trials tell nothing of how far others would lie.
const FEW: usize = 5;
const TAIL: f64 = 0.025;
const SEED: u64 = 1;

impl Timed {
    /// Adds trials of a part.
    pub fn add(&mut self, part: OverlapPart, trials: impl Iterator<Item = f64>) {
        match part {
            OverlapPart::Messages => self.messages.extend(trials),
            OverlapPart::Work => self.work.extend(trials),
            OverlapPart::Both => self.both.extend(trials),
        }
    }

    /// What they show, the first trial of each left out where there are others: it pays for connections and page faults. The
    /// interval is of so many replicates. None if a part is missing.
    pub fn look(&self, replicates: usize) -> Option<Overlapped> {
        let parts =
            [&self.messages, &self.work, &self.both].map(|all| if all.len() > 1 { &all[1..] } else { &all[..] });
        let enough = parts.iter().all(|all| all.len() >= FEW);
        let drawn: Vec<f64> = (0..if enough { replicates } else { 0 })
            .filter_map(|i| {
                let mut rng = Rng::new(SEED, "overlap", i as u64);
                let mut again = |all: &[f64]| all.iter().map(|_| all[rng.below(all.len() as u64) as usize]).collect();
                let again: [Vec<f64>; 3] = parts.map(&mut again);
                Some(hidden(means([&again[0], &again[1], &again[2]])?))
            })
            .collect();
        let [messages_s, work_s, both_s] = means(parts)?;
        let hidden_between = quantile(&drawn, TAIL).zip(quantile(&drawn, 1.0 - TAIL));
        Some(Overlapped { messages_s, work_s, both_s, hidden: hidden([messages_s, work_s, both_s]), hidden_between })
    }
}

/// None if a part has no trials.
fn means([messages, work, both]: [&[f64]; 3]) -> Option<[f64; 3]> {
    Some([mean(messages)?, mean(work)?, mean(both)?])
}

fn hidden([messages, work, both]: [f64; 3]) -> f64 {
    (messages + work - both) / messages.min(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(parts: [&[f64]; 3]) -> Timed {
        let mut timed = Timed::default();
        for (part, trials) in [OverlapPart::Messages, OverlapPart::Work, OverlapPart::Both].into_iter().zip(parts) {
            timed.add(part, trials.iter().copied());
        }
        timed
    }

    #[test]
    fn all_half_and_nothing_is_hidden() {
        for (both, share) in [(10.0, 1.0), (12.0, 0.5), (14.0, 0.0), (16.0, -0.5)] {
            let seen = timed([&[99.0, 4.0], &[99.0, 10.0], &[99.0, both]]).look(100).unwrap();
            assert_eq!((seen.hidden, seen.hidden_between), (share, None), "{both}");
        }
        assert_eq!(timed([&[4.0], &[], &[10.0]]).look(100), None);
    }

    #[test]
    fn the_interval_follows_the_scatter_of_trials() {
        let around = |middle: f64, by: f64| [0.0, -1.0, 1.0, -0.5, 0.5, 0.0, 1.0, -1.0].map(|x| middle + by * x);
        let width = |by: f64| {
            let (messages, work, both) = (around(4.0, by), around(10.0, by), around(12.0, by));
            let seen = timed([&messages, &work, &both]).look(400).unwrap();
            let (low, high) = seen.hidden_between.unwrap();
            assert!(low <= seen.hidden && seen.hidden <= high, "{seen:?}");
            high - low
        };
        assert!(width(0.0) < 1e-12);
        let (narrow, wide) = (width(0.05), width(0.2));
        assert!(narrow > 0.0 && wide > 3.0 * narrow && wide < 5.0 * narrow, "{narrow} {wide}");
    }
}
