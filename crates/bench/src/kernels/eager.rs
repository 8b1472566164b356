//! From which size on does a send wait for its receiver? Gropp's `buflimit` with milliseconds where it waits two seconds.
//!
//! For one size the leader of a pair times two sends: to a receiver that waits for the message, and to one that is late by a
//! delay. A send "blocks" if the late receiver costs it more than half of the delay and more than twice the prompt time. Sizes
//! double until one blocks; then the limit is bisected. Only the leader decides, and it tells its partner every size.

use super::pair::{leads, partner};
use crate::Stopwatch;
use crate::kernel::{Declares, Kernel, Merge, NamedNumber, Pattern, Room, Setup, Traits};
use crate::payload::{Stamp, Tally, unchecked};
use comm::{Buffer, Comm, Data, Op, Refusal, Tag};
use record::{Coverage, Metric, Payload, Verdict};
use spec::{Card, Kind, Param, ReadParams, Time, Work};

/// The search; its numbers are `passes_to_bytes`, `blocks_from_bytes` (0: none) and `split_votes`.
pub const LIMIT: Kernel = Kernel {
    card: Card {
        name: "eager-limit",
        about: "The largest message that a send does not wait with for its receiver, by doubling and bisection",
        source: "after Gropp's buflimit",
        params: &[
            Param::new("first", Kind::Size, "64", "the first size"),
            Param::new("most", Kind::Size, "1MiB", "sizes above are not tried"),
            Param::new("grain", Kind::Count, "4", "the limit is found to so many bytes"),
            Param::new("delay", Kind::Time, "10ms", "how much later the receiver comes"),
            Param::new("votes", Kind::Count, "3", "tries of a size, of which the majority decides; odd").up_to(99.0),
        ],
    },
    metric: Metric::Duration,
    min_ranks: 2,
    traits: Traits {
        declares: Declares::AsCalled("words that announce a message are not counted"),
        room: |params, _| Room::each(params.size("first").max(params.size("most")) as u64),
        tiny: &[("most", "1KiB"), ("votes", "1")],
        ..Traits::PLAIN
    },
    start,
};

const WORD: Tag = 31;
const MESSAGE: Tag = 32;
/// A control word that ends the search.
// No word is 0 otherwise: sizes are at least 1.
const END: u64 = 0;

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SearchPlan {
    first: u64,
    most: u64,
    grain: u64,
    delay: f64,
    votes: u32,
}

/// Whether a send of `prompt` seconds that took `late` with its receiver late by `delay` waited for it.
fn blocks(prompt: f64, late: f64, delay: f64) -> bool {
    // buflimit's two conditions, the first with half of the delay where it has 1.5 of 2 s.
    late > 0.5 * delay && late > 2.0 * prompt
}

/// The state of the search: decisions only.
#[derive(Clone, Debug)]
struct Search {
    settings: SearchPlan,
    /// Largest size known not to block.
    passes: Option<u64>,
    /// Smallest size known to block.
    blocks: Option<u64>,
    /// The size to try; none at the end.
    size: Option<u64>,
    votes: (u32, u32),
    split_votes: u32,
}

impl Search {
    /// At its beginning. Sizes and votes of zero are taken as one.
    fn new(settings: SearchPlan) -> Search {
        let first = settings.first.max(1);
        let settings = SearchPlan {
            first,
            most: settings.most.max(first),
            grain: settings.grain.max(1),
            // An even number of votes could end in a tie.
            votes: settings.votes.max(1) | 1,
            ..settings
        };
        Search { settings, passes: None, blocks: None, size: Some(first), votes: (0, 0), split_votes: 0 }
    }

    /// The times in seconds that a send of the present size took to a prompt and to a late receiver.
    fn answer(&mut self, prompt: f64, late: f64) {
        let Some(size) = self.size else { return };
        match blocks(prompt, late, self.settings.delay) {
            true => self.votes.0 += 1,
            false => self.votes.1 += 1,
        }
        let majority = self.settings.votes / 2 + 1;
        if self.votes.0 == majority || self.votes.1 == majority {
            self.decide(size, self.votes.0 == majority);
        }
    }

    /// Takes the verdict on the present size and moves to the next one.
    fn decide(&mut self, size: u64, blocked: bool) {
        self.split_votes += u32::from(self.votes.0.min(self.votes.1) > 0);
        self.votes = (0, 0);
        if blocked {
            self.blocks = Some(size);
        } else {
            self.passes = Some(size);
        }
        self.size = match (self.passes, self.blocks) {
            (Some(below), Some(from)) => {
                Some(below + (from - below) / 2).filter(|_| from - below > self.settings.grain)
            }
            (Some(bytes), None) => Some(bytes.saturating_mul(2).min(self.settings.most)).filter(|s| *s > bytes),
            // The first size blocks already: the limit is below what was asked for.
            _ => None,
        };
    }
}

struct Limit<'c> {
    comm: &'c dyn Comm,
    stopwatch: Stopwatch<'c>,
    settings: SearchPlan,
    delay: Time,
    carried: bool,
    bytes: Vec<u8>,
    round: u64,
    tally: Tally,
    found: Option<Search>,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let p = setup.params;
    let settings = SearchPlan {
        first: p.size("first") as u64,
        most: p.size("most") as u64,
        grain: p.count("grain"),
        delay: p.time("delay").secs(),
        votes: p.count("votes").max(1) as u32,
    };
    if settings.delay <= 0.0 {
        return Err(Refusal("eager-limit: delay=0s: a late receiver needs a delay".into()));
    }
    let carried = setup.payload == Payload::Checked;
    let room = if carried { settings.most.max(settings.first) as usize } else { 0 };
    Ok(Box::new(Limit {
        comm: setup.comm,
        stopwatch: setup.stopwatch,
        settings,
        delay: p.time("delay"),
        carried,
        bytes: vec![0; room],
        round: 0,
        tally: Tally::default(),
        found: None,
    }))
}

impl Limit<'_> {
    fn tell(&self, peer: usize, size: u64, late: bool) {
        let word = (size << 1 | u64::from(late)).to_le_bytes();
        self.comm.exchange(&mut [Op::send(peer, WORD, &word)]);
    }

    /// The leader's send of one size; its time in seconds.
    fn send(&mut self, peer: usize, size: u64, late: bool) -> f64 {
        let stamp = Stamp { sender: self.comm.rank(), round: self.round, step: 0, lane: 0 };
        if self.carried {
            stamp.fill(&mut self.bytes[..size as usize]);
        }
        self.tell(peer, size, late);
        // The partner has read the word, so a prompt one is about to receive when the clock starts.
        self.comm.exchange(&mut [Op::recv(peer, WORD, &mut [0; 8])]);
        let data = if self.carried { Data::Bytes(&self.bytes[..size as usize]) } else { Data::Len(size as usize) };
        let lap = self.stopwatch.start();
        self.comm.exchange(&mut [Op::Send { to: peer, tag: MESSAGE, data }]);
        let took = lap.seconds();
        // The next word must not overtake a message that is still to be received.
        self.comm.exchange(&mut [Op::recv(peer, WORD, &mut [0; 8])]);
        took
    }

    fn lead(&mut self, peer: usize) -> Work {
        let mut search = Search::new(self.settings);
        let mut work = Work::messages(1, 0);
        while let Some(size) = search.size {
            let prompt = self.send(peer, size, false);
            let late = self.send(peer, size, true);
            work.bytes += 2 * size;
            search.answer(prompt, late);
        }
        self.tell(peer, END, false);
        self.found = Some(search);
        work
    }

    fn follow(&mut self, peer: usize) {
        loop {
            let mut word = [0; 8];
            self.comm.exchange(&mut [Op::recv(peer, WORD, &mut word)]);
            let word = u64::from_le_bytes(word);
            let (size, late) = ((word >> 1) as usize, word & 1 == 1);
            if word == END {
                return;
            }
            self.comm.exchange(&mut [Op::send(peer, WORD, &[0; 8])]);
            if late {
                self.comm.pause(self.delay);
            }
            let into = if self.carried { Buffer::Bytes(&mut self.bytes[..size]) } else { Buffer::Len(size) };
            self.comm.exchange(&mut [Op::Recv { from: peer, tag: MESSAGE, into }]);
            if self.carried {
                let stamp = Stamp { sender: peer, round: self.round, step: 0, lane: 0 };
                self.tally.whole(stamp, &self.bytes[..size]);
                // Or the next message of this size could be missing and would still look right.
                self.bytes[..size].fill(0);
            }
            self.comm.exchange(&mut [Op::send(peer, WORD, &[0; 8])]);
        }
    }
}

impl Pattern for Limit<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
    }

    fn step(&mut self) -> Option<Work> {
        let peer = partner(self.comm)?;
        if leads(self.comm) {
            return Some(self.lead(peer));
        }
        self.follow(peer);
        None
    }

    fn verify(&mut self) -> Verdict {
        match partner(self.comm) {
            Some(_) if !leads(self.comm) && !self.carried => unchecked(),
            _ => self.tally.verdict(),
        }
    }

    fn coverage(&self) -> Option<Coverage> {
        self.carried.then_some(self.tally.coverage)
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        let Some(found) = &self.found else { return Vec::new() };
        // Of several pairs the first one's search is reported: limits belong to the library, not to a pair.
        let number = |name: &str, x: u64| NamedNumber::new(name, x as f64, Merge::First);
        vec![
            number("passes_to_bytes", found.passes.unwrap_or(0)),
            number("blocks_from_bytes", found.blocks.unwrap_or(0)),
            number("split_votes", found.split_votes.into()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: SearchPlan = SearchPlan { first: 1024, most: 16 << 20, grain: 4, delay: 10e-3, votes: 3 };

    /// Drives a search against a machine with this eager limit; counts the tries.
    fn drive(limit: u64, settings: SearchPlan) -> (Search, u32) {
        let mut search = Search::new(settings);
        let mut tries = 0;
        while let Some(bytes) = search.size {
            tries += 1;
            search.answer(5e-6, if bytes > limit { settings.delay + 5e-6 } else { 6e-6 });
        }
        (search, tries)
    }

    #[test]
    fn finds_the_paper_s_limit_to_four_bytes() {
        // Gropp's buflimit on Cisco hardware: 25548 B.
        let (found, tries) = drive(25548, USUAL);
        let (below, from) = (found.passes.unwrap(), found.blocks.unwrap());
        assert!(below <= 25548 && from > 25548 && from - below <= 4 && found.split_votes == 0);
        assert!(tries < 60, "{tries}");
    }

    #[test]
    fn limits_outside_the_range_are_said() {
        let (always, _) = drive(10, USUAL);
        assert_eq!((always.passes, always.blocks), (None, Some(1024)));
        let (never, _) = drive(u64::MAX, USUAL);
        assert_eq!((never.passes, never.blocks), (Some(16 << 20), None));
    }

    #[test]
    fn one_stray_answer_is_outvoted_and_counted() {
        let mut search = Search::new(SearchPlan { first: 8, most: 16, grain: 2, ..USUAL });
        for late in [20e-3, 1e-6, 1e-6, 20e-3, 20e-3, 20e-3, 20e-3] {
            search.answer(1e-6, late);
        }
        assert_eq!(search.size, Some(10));
        search.answer(1e-6, 20e-3);
        search.answer(1e-6, 20e-3);
        assert_eq!((search.passes, search.blocks, search.size, search.split_votes), (Some(8), Some(10), None, 1));
    }
}
