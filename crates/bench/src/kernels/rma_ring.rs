//! Rings with remote memory access: the neighbours need do nothing.

use super::WINDOW;
use super::ring::{BANDWIDTH_LOOPS, LATENCY_LOOPS, ORDER, neighbours};
use crate::kernel::{Kernel, Pattern, Setup, Traits};
use crate::payload::{Mail, Slots, Stamp, Tally, unchecked};
use comm::{Access, Comm, Refusal, Window};
use record::{Coverage, Metric, Payload, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};

/// GPCNeT's "RR Get Lat".
pub const GET_LATENCY: Kernel = Kernel {
    card: Card {
        name: "get-lat",
        about: "Latency of 8-byte gets from both neighbours of a random ring",
        source: "GPCNeT §3.1.1",
        params: &[Param::new("size", Kind::Size, "8", "bytes per get"), ORDER],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        title: Some(|_, _| "RR Get Lat"),
        measured: LATENCY_LOOPS,
        tiny: &[("size", "24")],
        ..Traits::PLAIN
    },
    start: start_get,
};

/// GPCNeT's "RR Put BW".
pub const PUT_BANDWIDTH: Kernel = Kernel {
    card: Card {
        name: "put-bw",
        about: "Bandwidth of windows of 128 KiB puts to both neighbours of a random ring",
        source: "GPCNeT §3.1.1",
        params: &[
            Param::new("size", Kind::Size, "128KiB", "bytes per put"),
            Param::new("window", Kind::Count, "8", "puts in flight to each neighbour").up_to(WINDOW).at_least(1.0),
            ORDER,
        ],
    },
    metric: Metric::Bandwidth,
    min_ranks: 2,
    traits: Traits {
        title: Some(|_, _| "RR Put BW"),
        measured: BANDWIDTH_LOOPS,
        tiny: &[("size", "1000"), ("window", "3")],
        ..Traits::PLAIN
    },
    start: start_put,
};

/// What both have in common: where the neighbours are and what is checked.
struct Base<'c> {
    comm: &'c dyn Comm,
    window: Box<dyn Window + 'c>,
    order: String,
    seed: u64,
    payload: Payload,
    size: usize,
    round: u64,
    left: usize,
    right: usize,
}

impl<'c> Base<'c> {
    fn new(setup: Setup<'c>, size: usize, window: usize) -> Result<Base<'c>, Refusal> {
        let window = setup.comm.window(window)?;
        let order = setup.params.word("order").to_string();
        let Setup { comm, seed, payload, .. } = setup;
        Ok(Base { comm, window, order, seed, payload, size, round: 0, left: 0, right: 0 })
    }

    fn arrange(&mut self, round: u64) {
        self.round = round;
        (self.left, self.right) = neighbours(self.comm, &self.order, self.seed, round);
    }
}

/// Half 0 of every window is read by the right neighbour, half 1 by the left one.
struct GetRing<'c> {
    base: Base<'c>,
    /// Whether the window holds the data of the round.
    written: bool,
    mail: Mail,
}

fn start_get(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (size, payload) = (setup.params.size("size"), setup.payload);
    let base = Base::new(setup, size, 2 * size)?;
    Ok(Box::new(GetRing { base, written: false, mail: Mail::reading(payload, size, 2) }))
}

impl GetRing<'_> {
    /// Who wrote what is in a lane, and in which half.
    fn sender(&self) -> impl Fn(u64, usize) -> (usize, u32) + use<> {
        let Base { left, right, .. } = self.base;
        move |_, lane| if lane == 0 { (left, 0) } else { (right, 1) }
    }
}

impl Pattern for GetRing<'_> {
    fn arrange(&mut self, round: u64) {
        self.base.arrange(round);
        self.written = false;
    }

    fn renew(&mut self, steps: u32) {
        let (sender, round, size) = (self.base.comm.rank(), self.base.round, self.base.size);
        self.mail.renew(sender, round, steps);
        if self.base.payload != Payload::Checked || self.written {
            return;
        }
        self.written = true;
        // Readers of the last block must be done before the memory changes, and the change must be there before they read again.
        self.base.comm.barrier();
        let mut bytes = vec![0; size];
        for lane in 0..2 {
            Stamp { sender, round, step: 0, lane }.fill(&mut bytes);
            self.base.window.write(lane as usize * size, &bytes);
        }
        self.base.comm.barrier();
    }

    fn step(&mut self) -> Option<Work> {
        let Base { left, right, size, .. } = self.base;
        let (_, into) = self.mail.step();
        let mut into = into.lanes();
        let (from_left, from_right) = (into.next().expect("two lanes"), into.next().expect("two lanes"));
        self.base.window.transfer(&mut [
            Access::Get { from: left, at: 0, into: from_left },
            Access::Get { from: right, at: size, into: from_right },
        ]);
        Some(Work::messages(2, 2 * size as u64))
    }

    crate::payload::looks_at_mail!();
}

/// Every put of a step has a place of its own, in the window of its target: those that the right neighbour writes, then the left one's.
struct PutRing<'c> {
    base: Base<'c>,
    depth: usize,
    /// Of the window; `mail` has as many.
    slots: Slots,
    mail: Mail,
    tally: Tally,
}

fn start_put(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (size, depth) = (setup.params.size("size"), setup.params.count("window").max(1) as usize);
    let (payload, slots) = (setup.payload, Slots::new(2 * depth * size));
    let base = Base::new(setup, size, slots.most() * 2 * depth * size)?;
    let mail = Mail::new(payload, size, (2, 0), 2 * depth);
    Ok(Box::new(PutRing { base, depth, slots, mail, tally: Tally::default() }))
}

/// Read from the own window at a time, at least: a message of a few bytes each would take a call each.
const PIECE: usize = 64 << 10;

impl PutRing<'_> {
    fn look(&mut self) {
        let Base { left, right, round, size, .. } = self.base;
        let (depth, each) = (self.depth, 2 * self.depth);
        if size == 0 {
            return;
        }
        let mut bytes = vec![0; (PIECE / size).max(1) * size];
        let messages = self.slots.kept().end as usize * each;
        let mut done = 0;
        while done < messages {
            // Steps that are kept are in slots from the first on, in any order.
            let piece = (bytes.len() / size).min(messages - done);
            self.base.window.read(done * size, &mut bytes[..piece * size]);
            for (i, message) in (done..done + piece).zip(bytes.chunks_exact(size)) {
                let (sender, lane) = if i % each < depth { (right, 0) } else { (left, 1) };
                self.tally.whole(Stamp { sender, round, step: self.slots.stamp(i / each), lane }, message);
            }
            done += piece;
        }
        self.tally.missed(self.slots.lost() * each as u64, size);
    }
}

impl Pattern for PutRing<'_> {
    fn arrange(&mut self, round: u64) {
        self.base.arrange(round);
    }

    fn renew(&mut self, steps: u32) {
        self.slots.renew(steps);
        self.mail.renew(self.base.comm.rank(), self.base.round, steps);
    }

    fn spare(&mut self, spare: bool) {
        self.slots.spare(spare);
        self.mail.spare(spare);
    }

    fn step(&mut self) -> Option<Work> {
        let Base { left, right, size, .. } = self.base;
        let first = self.slots.begin() * 2 * self.depth;
        let (out, _) = self.mail.step();
        let mut accesses = Vec::with_capacity(2 * self.depth);
        for i in first..first + self.depth {
            accesses.push(Access::Put { to: left, at: i * size, data: out.lane(0) });
            accesses.push(Access::Put { to: right, at: (i + self.depth) * size, data: out.lane(1) });
        }
        self.base.window.transfer(&mut accesses);
        let puts = 2 * self.depth as u64;
        Some(Work::messages(puts, puts * size as u64))
    }

    // Looked at when the block is over: a look needs barriers, and ranks that meet between two steps see other bandwidths.
    fn verify(&mut self) -> Verdict {
        if self.base.payload != Payload::Checked {
            return unchecked();
        }
        // Everybody's puts are complete at their targets before anybody looks, and nobody writes again before all have looked.
        self.base.comm.barrier();
        self.look();
        self.slots.looked();
        self.base.comm.barrier();
        self.tally.verdict()
    }

    // A look at a part would need the barriers, too, and they are most of what a look costs.
    fn glance(&mut self, _: u64) -> Verdict {
        if self.base.payload != Payload::Checked {
            return unchecked();
        }
        self.tally.missed((self.slots.kept().end + self.slots.lost()) * 2 * self.depth as u64, self.base.size);
        self.slots.looked();
        self.tally.verdict()
    }

    fn coverage(&self) -> Option<Coverage> {
        (self.base.payload == Payload::Checked).then_some(self.tally.coverage)
    }
}
