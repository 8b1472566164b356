//! Rings with remote memory access: the neighbours need do nothing.

use super::ring::{BANDWIDTH_LOOPS, LATENCY_LOOPS, ORDER, neighbours};
use crate::kernel::{Kernel, Pattern, Setup, Traits};
use crate::payload::{Lanes, Stamp, unchecked};
use comm::{Access, Comm, Refusal, Window};
use record::{Metric, Payload, Verdict};
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
            Param::new("window", Kind::Count, "8", "puts in flight to each neighbour"),
            ORDER,
        ],
    },
    metric: Metric::Bandwidth,
    min_ranks: 2,
    traits: Traits {
        title: Some(|_, _| "RR Put BW"),
        measured: BANDWIDTH_LOOPS,
        tiny: &[("size", "3000"), ("window", "3")],
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
    fn new(setup: Setup<'c>, size: usize) -> Result<Base<'c>, Refusal> {
        let window = setup.comm.window(2 * size)?;
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
    into: Lanes,
}

fn start_get(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (size, payload) = (setup.params.size("size"), setup.payload);
    Ok(Box::new(GetRing { base: Base::new(setup, size)?, into: Lanes::new(payload, 2, size) }))
}

impl Pattern for GetRing<'_> {
    fn arrange(&mut self, round: u64) {
        self.base.arrange(round);
        self.into.clear();
        if self.base.payload == Payload::Checked {
            let (sender, size) = (self.base.comm.rank(), self.base.size);
            // Readers of the last block must be done before the memory changes, and the change must be there before they read again.
            self.base.comm.barrier();
            let mut bytes = vec![0; size];
            for lane in 0..2 {
                Stamp { sender, round, lane }.fill(&mut bytes);
                self.base.window.write(lane as usize * size, &bytes);
            }
            self.base.comm.barrier();
        }
    }

    fn step(&mut self) -> Option<Work> {
        let Base { left, right, size, .. } = self.base;
        let mut into = self.into.buffers();
        let (from_left, from_right) = (into.next().expect("two lanes"), into.next().expect("two lanes"));
        self.base.window.transfer(&mut [
            Access::Get { from: left, at: 0, into: from_left },
            Access::Get { from: right, at: size, into: from_right },
        ]);
        Some(Work::messages(2, 2 * size as u64))
    }

    fn verify(&mut self) -> Verdict {
        let Base { left, right, round, .. } = self.base;
        let from_left = self.into.check(0, Stamp { sender: left, round, lane: 0 });
        from_left.and(self.into.check(1, Stamp { sender: right, round, lane: 1 }))
    }
}

/// Half 0 of every window is written by the right neighbour, half 1 by the left one.
struct PutRing<'c> {
    base: Base<'c>,
    depth: usize,
    out: Lanes,
}

fn start_put(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (size, depth) = (setup.params.size("size"), setup.params.count("window").max(1) as usize);
    let payload = setup.payload;
    Ok(Box::new(PutRing { base: Base::new(setup, size)?, depth, out: Lanes::new(payload, 2, size) }))
}

impl Pattern for PutRing<'_> {
    fn arrange(&mut self, round: u64) {
        self.base.arrange(round);
        let sender = self.base.comm.rank();
        for lane in 0..2 {
            self.out.fill(lane, Stamp { sender, round, lane: lane as u32 });
        }
    }

    fn step(&mut self) -> Option<Work> {
        let Base { left, right, size, .. } = self.base;
        let mut accesses = Vec::with_capacity(2 * self.depth);
        for _ in 0..self.depth {
            accesses.push(Access::Put { to: left, at: 0, data: self.out.data(0) });
            accesses.push(Access::Put { to: right, at: size, data: self.out.data(1) });
        }
        self.base.window.transfer(&mut accesses);
        let puts = 2 * self.depth as u64;
        Some(Work::messages(puts, puts * size as u64))
    }

    fn verify(&mut self) -> Verdict {
        let Base { left, right, round, size, payload, .. } = self.base;
        if payload != Payload::Checked {
            return unchecked();
        }
        // Everybody's puts are complete at their targets before anybody looks, and nobody writes again before all have looked.
        self.base.comm.barrier();
        let mut bytes = vec![0; size];
        self.base.window.read(0, &mut bytes);
        let from_right = Stamp { sender: right, round, lane: 0 }.check(&bytes);
        self.base.window.read(size, &mut bytes);
        let from_left = Stamp { sender: left, round, lane: 1 }.check(&bytes);
        self.base.comm.barrier();
        from_right.and(from_left)
    }
}
