//! Notices that a job of a real machine has fallen silent: one of its ranks hangs, or the network under it does.

use bench::Beat;
use std::time::{Duration, Instant};

/// Silence is no alarm until it has lasted so many times as long as the longest block so far.
const TIMES_LONGEST: f64 = 4.0;

/// The signs of life of one rank's job.
#[derive(Default)]
pub struct Pulse {
    /// When the present block or wait began; nothing while the job rests or there is none.
    since: Option<Instant>,
    /// The longest block so far, in seconds: until there is one, nobody can say what is long.
    longest: Option<f64>,
    /// What may come on top while this job waits for others.
    others: f64,
}

impl Pulse {
    /// Takes in a sign of life.
    pub fn beat(&mut self, beat: Beat, now: Instant) {
        match beat {
            Beat::Block => {
                let took = self.since.map(|since| (now - since).as_secs_f64());
                self.longest = took.map_or(self.longest, |took| Some(self.longest.unwrap_or(0.0).max(took)));
                self.since = Some(now);
            }
            Beat::Rest => self.since = None,
            Beat::Over(others) => {
                let longest = self.longest.or(Some(0.0));
                *self = Pulse { since: others.map(|_| now), longest, others: others.unwrap_or(0.0) };
            }
            Beat::Ended => *self = Pulse::default(),
        }
    }

    /// How many seconds the job has been silent, if that is longer than `patience` and than its own blocks and other jobs explain.
    pub fn silent(&self, now: Instant, patience: Duration) -> Option<f64> {
        let silence = (now - self.since?).as_secs_f64();
        (silence > self.others + patience.as_secs_f64().max(self.longest? * TIMES_LONGEST)).then_some(silence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, tenths: u64) -> Instant {
        start + Duration::from_millis(100 * tenths)
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any instant will do")]
    fn silence_is_judged_by_patience_and_by_the_longest_block() {
        let (start, patience) = (Instant::now(), Duration::from_secs(1));
        let mut pulse = Pulse::default();
        assert_eq!(pulse.silent(at(start, 100), patience), None, "no job, no alarm");
        pulse.beat(Beat::Block, start);
        assert_eq!(pulse.silent(at(start, 100), patience), None, "the first block may last");
        pulse.beat(Beat::Block, at(start, 1));
        assert_eq!(pulse.silent(at(start, 10), patience), None);
        assert_eq!(pulse.silent(at(start, 12), patience), Some(1.1));
        pulse.beat(Beat::Block, at(start, 6));
        assert_eq!(pulse.silent(at(start, 25), patience), None, "blocks of half a second may last two");
        assert!(pulse.silent(at(start, 27), patience).is_some());
        pulse.beat(Beat::Rest, at(start, 7));
        assert_eq!(pulse.silent(at(start, 900), patience), None, "a rest is not silence");
        pulse.beat(Beat::Block, at(start, 900));
        assert!(pulse.silent(at(start, 930), patience).is_some(), "nor is it a long block");
        pulse.beat(Beat::Over(Some(5.0)), at(start, 1000));
        assert_eq!(pulse.silent(at(start, 1065), patience), None, "others may measure for five seconds more");
        assert!(pulse.silent(at(start, 1075), patience).is_some());
        pulse.beat(Beat::Over(None), at(start, 1000));
        assert_eq!(pulse.silent(at(start, 9000), patience), None, "others have no limit");
        pulse.beat(Beat::Ended, at(start, 1001));
        assert_eq!(pulse.silent(at(start, 9000), patience), None);
        pulse.beat(Beat::Over(Some(0.0)), at(start, 9000));
        assert!(pulse.silent(at(start, 9011), patience).is_some(), "who had no job waits for the others all the same");
    }
}
