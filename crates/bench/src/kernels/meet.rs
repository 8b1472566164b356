//! Everyone meets everyone: in each block the ranks are paired anew, and all pairs exchange at once.
//!
//! The pairs of a block are a round of a tournament by the circle method: of n ranks all pairs have met after n - 1 rounds (n if n is
//! odd, and one rank looks on in each). The ranks stand in the circle in a random order, so that the first few rounds are random pairs.

use super::WINDOW;
use crate::kernel::{Kernel, Loops, Meeting, Pattern, Setup, Steps, Traits};
use crate::order::{Order, order};
use crate::payload::Mail;
use crate::stopwatch::Stopwatch;
use comm::{Comm, Op, Refusal, Tag};
use record::{Coverage, Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work, permutation};
use std::collections::BTreeMap;
use std::rc::Rc;

/// All pairs at once, another partner in each block.
pub const MEET: Kernel = Kernel {
    card: Card {
        name: "meet",
        about: "Windows of messages both ways between pairs of ranks, other pairs in each block until all have met",
        source: "a round-robin tournament, by the circle method",
        params: &[
            Param::new("size", Kind::Size, "1MiB", "bytes of one message"),
            Param::new("window", Kind::Count, "4", "messages under way at once in one direction")
                .up_to(WINDOW)
                .at_least(1.0),
        ],
    },
    metric: Metric::Bandwidth,
    min_ranks: 2,
    traits: Traits {
        measured: Loops { warmup: 1, steps: Steps::always(4), arrangements: 1, measurements: 1 },
        tiny: &[("size", "3000"), ("window", "2")],
        ..Traits::PLAIN
    },
    start,
};

const DATA: Tag = 31;

/// Rounds until all of `n` have met.
pub fn rounds(n: usize) -> usize {
    n + n % 2 - 1
}

/// Whom the one at a place of the circle meets in a round, by place; nobody if that is the empty place of an odd number.
fn opposite(n: usize, round: u64, place: usize) -> Option<usize> {
    let others = rounds(n);
    let turn = (round % others as u64) as usize;
    // The last place stands in the middle of the circle and meets whoever the round is named after.
    let other = match place {
        p if p == others => turn,
        p if p == turn => others,
        p => (2 * turn + others - p) % others,
    };
    Some(other).filter(|other| *other < n)
}

struct Meet<'c> {
    comm: &'c dyn Comm,
    /// The rank at each place of the circle.
    circle: Rc<Order>,
    place: usize,
    peer: Option<usize>,
    window: usize,
    work: Work,
    stopwatch: Stopwatch<'c>,
    round: u64,
    /// Steps since the pairs changed: the first is for connections that are made.
    steps: u32,
    met: BTreeMap<usize, Meeting>,
    mail: Mail,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (size, window) = (setup.params.size("size"), setup.params.count("window").max(1) as usize);
    let comm = setup.comm;
    let circle = order(("meet", setup.seed, 0, comm.size()), permutation);
    let place = circle.place(comm.rank());
    Ok(Box::new(Meet {
        comm,
        circle,
        place,
        peer: None,
        window,
        work: Work::messages(window as u64, window as u64 * size as u64),
        stopwatch: setup.stopwatch,
        round: 0,
        steps: 0,
        met: BTreeMap::new(),
        mail: Mail::new(setup.payload, size, (1, window), window),
    }))
}

impl Pattern for Meet<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        self.steps = 0;
        self.peer = opposite(self.circle.len(), round, self.place).map(|place| self.circle.at(place));
    }

    fn renew(&mut self, steps: u32) {
        self.mail.renew(self.comm.rank(), self.round, steps);
    }

    fn spare(&mut self, spare: bool) {
        self.mail.spare(spare);
    }

    fn step(&mut self) -> Option<Work> {
        let (peer, comm) = (self.peer?, self.comm);
        let lap = self.stopwatch.start();
        let mut ops = Vec::with_capacity(2 * self.window);
        let (out, into) = self.mail.step();
        ops.extend(into.lanes().map(|into| Op::Recv { from: peer, tag: DATA, into }));
        ops.extend((0..self.window).map(|_| Op::Send { to: peer, tag: DATA, data: out.lane(0) }));
        comm.exchange(&mut ops);
        let seconds = lap.seconds();
        self.steps += 1;
        if self.steps > 1 {
            let meeting = self.met.entry(peer).or_insert(Meeting { peer, bytes: 0.0, seconds: 0.0 });
            meeting.bytes += self.work.bytes as f64;
            meeting.seconds += seconds;
        }
        Some(self.work)
    }

    fn holds(&self) -> u32 {
        self.mail.holds()
    }

    fn verify(&mut self) -> Verdict {
        match self.peer {
            Some(peer) => self.mail.verify(|_, _| (peer, 0)),
            None => Verdict::Right { checked: 0 },
        }
    }

    fn glance(&mut self, random: u64) -> Verdict {
        match self.peer {
            Some(peer) => self.mail.glance(random, |_, _| (peer, 0)),
            None => Verdict::Right { checked: 0 },
        }
    }

    fn coverage(&self) -> Option<Coverage> {
        self.mail.coverage()
    }

    fn meetings(&mut self) -> Vec<Meeting> {
        std::mem::take(&mut self.met).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pairs_meet_once_and_nobody_meets_himself() {
        for n in 2..20 {
            let mut met = BTreeMap::new();
            for round in 0..rounds(n) as u64 {
                for place in 0..n {
                    let Some(other) = opposite(n, round, place) else { continue };
                    assert_ne!(other, place);
                    assert_eq!(opposite(n, round, other), Some(place), "{n} {round}");
                    *met.entry((place.min(other), place.max(other))).or_insert(0) += 1;
                }
            }
            assert_eq!(met.len(), n * (n - 1) / 2, "{n}");
            assert!(met.values().all(|times| *times == 2), "{n}");
        }
    }
}
