//! Rings: every rank exchanges with its two neighbours in a random or natural order of the ranks.
//!
//! The latency is half the time of a simultaneous exchange with two neighbours, as GPCNeT defines it; it is not a ping-pong.
//! The ring of a block is a pure function of (seed, block), so no rank needs to be told.

use super::WINDOW;
use crate::kernel::{Kernel, Loops, Pattern, Setup, Steps, Traits, Turn};
use crate::order::order;
use crate::payload::Mail;
use comm::{Comm, Op, Refusal, Tag, collectives};
use record::Metric;

use spec::{Card, Kind, Param, ReadParams, Work, permutation};

pub(super) const ORDER: Param =
    Param::new("order", Kind::Choice(&["random", "natural"]), "random", "order of the ranks in the ring");
const fn size(default: &'static str) -> Param {
    Param::new("size", Kind::Size, default, "message size")
}
const fn window(default: &'static str) -> Param {
    Param::new("window", Kind::Count, default, "messages in flight to each neighbour").up_to(WINDOW).at_least(1.0)
}

/// GPCNeT 1.3: tests of latency, and tests of bandwidth, on 30 rings.
pub(super) const LATENCY_LOOPS: Loops =
    Loops { warmup: 200, steps: Steps::always(200), arrangements: 30, measurements: 10_000 };
pub(super) const BANDWIDTH_LOOPS: Loops =
    Loops { warmup: 1, steps: Steps::always(8), arrangements: 30, measurements: 10_000 };

/// GPCNeT's "RR Two-sided Lat".
pub const LATENCY: Kernel = Kernel {
    card: Card {
        name: "p2p-lat",
        about: "Latency of 8-byte exchanges with both neighbours of a random ring",
        source: "GPCNeT §3.1.1",
        params: &[size("8"), window("1"), ORDER],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        title: Some(|_, _| "RR Two-sided Lat"),
        measured: LATENCY_LOOPS,
        tiny: &[("size", "24")],
        ..Traits::PLAIN
    },
    start: |setup| start(setup, false),
};

/// GPCNeT's "RR Two-sided BW" and, in natural order, "Nat Two-sided BW".
pub const BANDWIDTH: Kernel = Kernel {
    card: Card {
        name: "p2p-bw",
        about: "Bandwidth of windows of 128 KiB messages to both neighbours of a ring",
        source: "GPCNeT §3.1.1",
        params: &[size("128KiB"), window("8"), ORDER],
    },
    metric: Metric::Bandwidth,
    min_ranks: 2,
    traits: Traits {
        title: Some(|params, _| if params.word("order") == "natural" { "Nat Two-sided BW" } else { "RR Two-sided BW" }),
        measured: BANDWIDTH_LOOPS,
        tiny: TINY,
        ..Traits::PLAIN
    },
    start: |setup| start(setup, false),
};

/// GPCNeT's "RR Two-sided BW+Sync".
pub const BANDWIDTH_SYNC: Kernel = Kernel {
    card: Card {
        name: "p2p-bw-sync",
        about: "Ring bandwidth with a barrier inside the timed step",
        source: "GPCNeT §3.1.1",
        params: &[size("128KiB"), window("8"), ORDER],
    },
    metric: Metric::Bandwidth,
    min_ranks: 2,
    traits: Traits {
        title: Some(|_, _| "RR Two-sided BW+Sync"),
        measured: BANDWIDTH_LOOPS,
        tiny: TINY,
        ..Traits::PLAIN
    },
    start: |setup| start(setup, true),
};

const TINY: &[(&str, &str)] = &[("size", "3000"), ("window", "3")];

/// Tags of messages that travel to the left and to the right: in a ring of two both neighbours are one rank.
// The numbers are GPCNeT's.
const LEFTWARD: Tag = 82;
const RIGHTWARD: Tag = 81;

/// This rank's neighbours in the ring of a round.
pub(super) fn neighbours(comm: &dyn Comm, which: &str, seed: u64, round: u64) -> (usize, usize) {
    let (me, n) = (comm.rank(), comm.size());
    if which == "natural" {
        return ((me + n - 1) % n, (me + 1) % n);
    }
    order(("ring", seed, round, n), permutation).neighbours(me)
}

struct Ring<'c> {
    comm: &'c dyn Comm,
    order: String,
    seed: u64,
    window: usize,
    sync: bool,
    work: Work,
    round: u64,
    left: usize,
    right: usize,
    /// Turns that have been made of a step.
    turns: u32,
    /// Lane 0 goes left, lane 1 goes right. Lanes `2 i` come from the left, `2 i + 1` from the right.
    mail: Mail,
}

fn start(setup: Setup<'_>, sync: bool) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (size, window) = (setup.params.size("size"), setup.params.count("window").max(1) as usize);
    let sent = 2 * window as u64;
    Ok(Box::new(Ring {
        comm: setup.comm,
        order: setup.params.word("order").to_string(),
        seed: setup.seed,
        window,
        sync,
        work: Work::messages(sent, sent * size as u64),
        round: 0,
        left: 0,
        right: 0,
        turns: 0,
        mail: Mail::new(setup.payload, size, (2, 2 * window), 2 * window),
    }))
}

impl Ring<'_> {
    /// One message each way: no allocation on the path that measures latency.
    fn exchange_one(&mut self) {
        let (left, right, comm) = (self.left, self.right, self.comm);
        let (out, into) = self.mail.step();
        let mut into = into.lanes();
        let (from_left, from_right) = (into.next().expect("two lanes"), into.next().expect("two lanes"));
        comm.exchange(&mut [
            Op::Recv { from: left, tag: RIGHTWARD, into: from_left },
            Op::Recv { from: right, tag: LEFTWARD, into: from_right },
            Op::Send { to: left, tag: LEFTWARD, data: out.lane(0) },
            Op::Send { to: right, tag: RIGHTWARD, data: out.lane(1) },
        ]);
    }

    fn exchange_window(&mut self) {
        let (left, right, comm) = (self.left, self.right, self.comm);
        let mut ops = Vec::with_capacity(4 * self.window);
        let (out, into) = self.mail.step();
        // Every receive has a lane of its own; those of one side share a buffer in the original, which MPI does not allow.
        let sides = [(left, RIGHTWARD), (right, LEFTWARD)].into_iter().cycle();
        for ((from, tag), into) in sides.zip(into.lanes()) {
            ops.push(Op::Recv { from, tag, into });
        }
        for _ in 0..self.window {
            ops.push(Op::Send { to: left, tag: LEFTWARD, data: out.lane(0) });
            ops.push(Op::Send { to: right, tag: RIGHTWARD, data: out.lane(1) });
        }
        comm.exchange(&mut ops);
    }

    /// Who sent what is in a lane, and in which of its own.
    fn sender(&self) -> impl Fn(u64, usize) -> (usize, u32) + use<> {
        let (left, right) = (self.left, self.right);
        move |_, lane| if lane % 2 == 0 { (left, 1) } else { (right, 0) }
    }
}

impl Pattern for Ring<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        (self.left, self.right) = neighbours(self.comm, &self.order, self.seed, round);
    }

    fn renew(&mut self, steps: u32) {
        self.mail.renew(self.comm.rank(), self.round, steps);
    }

    fn step(&mut self) -> Option<Work> {
        if self.window == 1 {
            self.exchange_one()
        } else {
            self.exchange_window()
        }
        // Inside the step and so inside its time: that is what this test is about.
        if self.sync {
            self.comm.barrier();
        }
        Some(self.work)
    }

    fn in_turns(&self) -> bool {
        self.mail.is_empty()
    }

    fn turn(&mut self) -> Turn {
        let rounds = if self.sync { collectives::barrier_rounds(self.comm.size()) } else { 0 };
        match self.turns {
            0 if self.window == 1 => self.exchange_one(),
            0 => self.exchange_window(),
            turn => collectives::barrier_round(self.comm, turn - 1),
        }
        self.turns += 1;
        if self.turns <= rounds {
            return Turn::More;
        }
        self.turns = 0;
        Turn::Last(Some(self.work))
    }

    // All ranks look at as many bytes after the same step, so a look keeps nobody waiting for long.
    crate::payload::looks_at_mail!();
}
