//! The delayed-receiver probe: from which size on does a send wait for its receiver?
//!
//! Decisions only. The driver asks [`Probe::next`] what to try, sends one message of that size with the receiver waiting and
//! one with the receiver late by the delay, and hands both times to [`Probe::answer`]. A send "blocks" if the late receiver
//! costs it more than half of the delay and more than twice the prompt time. Sizes double until one blocks; then the limit is
//! bisected to 4 bytes, as Gropp's `buflimit` does with a delay of 2 s where milliseconds do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The first size, in bytes.
    pub first: u64,
    /// Sizes above this are not tried.
    pub most: u64,
    /// The limit is found to so many bytes.
    pub grain: u64,
    /// By how many seconds the late receiver is late.
    pub delay: f64,
    /// Each size is tried so often and the majority decides; odd.
    pub votes: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { first: 1024, most: 16 << 20, grain: 4, delay: 10e-3, votes: 3 }
    }
}

/// What the driver does next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ask {
    /// Send a message of so many bytes, prompt and late.
    Probe {
        /// Message size.
        bytes: u64,
    },
    /// Nothing more.
    Done(Outcome),
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Sends of `from` bytes and more wait for the receiver; those of `below` and less do not.
    Blocks {
        /// The smallest size known to block.
        from: u64,
        /// The largest size known not to block.
        below: u64,
        /// Sizes whose votes were not unanimous: the machine was noisy or the limit is a matter of credits.
        split_votes: u32,
    },
    /// Even the smallest size blocks.
    Always {
        /// That size.
        bytes: u64,
    },
    /// Not even the largest size blocks.
    Never {
        /// That size.
        bytes: u64,
    },
    /// An answer was not a time; the driver measured nothing.
    Invalid,
}

/// Whether a send of `prompt` seconds that took `late` with its receiver late by `delay` waited for it.
pub fn blocks(prompt: f64, late: f64, delay: f64) -> bool {
    late > 0.5 * delay && late > 2.0 * prompt
}

/// The state of a probe.
#[derive(Clone, Debug)]
pub struct Probe {
    settings: Settings,
    /// Largest size known not to block.
    passes: Option<u64>,
    /// Smallest size known to block.
    blocks: Option<u64>,
    size: u64,
    votes: (u32, u32),
    split_votes: u32,
    outcome: Option<Outcome>,
}

impl Probe {
    /// A probe at its beginning. Sizes and votes of zero are taken as one.
    pub fn new(settings: Settings) -> Probe {
        let first = settings.first.max(1);
        let settings = Settings {
            first,
            most: settings.most.max(first),
            grain: settings.grain.max(1),
            votes: settings.votes.max(1) | 1,
            ..settings
        };
        Probe { settings, passes: None, blocks: None, size: first, votes: (0, 0), split_votes: 0, outcome: None }
    }

    /// What to do next; the same until an answer is given.
    pub fn next(&self) -> Ask {
        self.outcome.map_or(Ask::Probe { bytes: self.size }, Ask::Done)
    }

    /// The times in seconds that the send took with a prompt and with a late receiver.
    pub fn answer(&mut self, prompt: f64, late: f64) {
        if self.outcome.is_some() {
            return;
        }
        if !(prompt.is_finite() && late.is_finite() && prompt >= 0.0 && late >= 0.0) {
            self.outcome = Some(Outcome::Invalid);
            return;
        }
        let blocked = blocks(prompt, late, self.settings.delay);
        if blocked {
            self.votes.0 += 1;
        } else {
            self.votes.1 += 1;
        }
        let majority = self.settings.votes / 2 + 1;
        if self.votes.0 == majority || self.votes.1 == majority {
            self.decide(self.votes.0 == majority);
        }
    }

    /// Takes the verdict on the present size and moves to the next one.
    fn decide(&mut self, blocked: bool) {
        self.split_votes += u32::from(self.votes.0.min(self.votes.1) > 0);
        self.votes = (0, 0);
        if blocked {
            self.blocks = Some(self.size);
        } else {
            self.passes = Some(self.size);
        }
        match (self.passes, self.blocks) {
            (None, Some(bytes)) => self.outcome = Some(Outcome::Always { bytes }),
            (Some(bytes), None) if bytes >= self.settings.most => self.outcome = Some(Outcome::Never { bytes }),
            (Some(bytes), None) => self.size = bytes.saturating_mul(2).min(self.settings.most),
            (Some(below), Some(from)) if from - below <= self.settings.grain => {
                self.outcome = Some(Outcome::Blocks { from, below, split_votes: self.split_votes });
            }
            (Some(below), Some(from)) => self.size = below + (from - below) / 2,
            (None, None) => unreachable!("a verdict sets one of them"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drives a probe against a machine with this eager limit; counts the probes.
    fn drive(limit: u64, settings: Settings) -> (Outcome, u32) {
        let mut probe = Probe::new(settings);
        for count in 0.. {
            match probe.next() {
                Ask::Done(outcome) => return (outcome, count),
                Ask::Probe { bytes } if bytes > limit => probe.answer(5e-6, settings.delay + 5e-6),
                Ask::Probe { .. } => probe.answer(5e-6, 6e-6),
            }
        }
        unreachable!()
    }

    #[test]
    fn finds_the_paper_s_limit_to_four_bytes() {
        // Gropp's buflimit on Cisco hardware: 25548 B.
        let (outcome, probes) = drive(25548, Settings::default());
        let Outcome::Blocks { from, below, split_votes: 0 } = outcome else { panic!("{outcome:?}") };
        assert!(below <= 25548 && from > 25548 && from - below <= 4);
        assert!(probes < 60, "{probes}");
    }

    #[test]
    fn limits_outside_the_range_are_said() {
        assert_eq!(drive(10, Settings::default()).0, Outcome::Always { bytes: 1024 });
        assert_eq!(drive(u64::MAX, Settings::default()).0, Outcome::Never { bytes: 16 << 20 });
        let mut probe = Probe::new(Settings::default());
        probe.answer(f64::NAN, 1.0);
        assert_eq!(probe.next(), Ask::Done(Outcome::Invalid));
    }

    #[test]
    fn one_stray_answer_is_outvoted_and_counted() {
        let mut probe = Probe::new(Settings { first: 8, most: 16, grain: 2, ..Settings::default() });
        for late in [20e-3, 1e-6, 1e-6, 20e-3, 20e-3, 20e-3, 20e-3] {
            probe.answer(1e-6, late);
        }
        assert_eq!(probe.next(), Ask::Probe { bytes: 10 });
        probe.answer(1e-6, 20e-3);
        probe.answer(1e-6, 20e-3);
        assert_eq!(probe.next(), Ask::Done(Outcome::Blocks { from: 10, below: 8, split_votes: 1 }));
    }
}
