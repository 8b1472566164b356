//! Many to one and one to many: all ranks of a communicator against its rank 0.
//!
//! A message that has left its sender may wait in a buffer, so a two-sided incast is timed by its root, which tells of what all
//! others sent; the other kernels are timed by the others, whose step ends when the data is where it belongs. Left out on purpose: the original's exchange of a rank with itself.

use crate::kernel::{Kernel, Pattern, Setup, Traits};
use crate::payload::{Lanes, Stamp, unchecked};
use comm::{Access, Comm, Op, Refusal, Tag, Window};
use record::{Metric, Payload, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};

const SIZE: Param = Param::new("size", Kind::Size, "4KiB", "bytes per message");

const fn kernel(name: &'static str, about: &'static str, traits: Traits, start: crate::kernel::Start) -> Kernel {
    let card = Card { name, about, source: "GPCNeT §3.1.2", params: &[SIZE] };
    let traits = Traits { tiny: &[("size", "3000")], ..traits };
    Kernel { card, metric: Metric::Bandwidth, min_ranks: 2, traits, start }
}

/// GPCNeT's "Two-sided Incast".
pub const P2P_INCAST: Kernel = kernel(
    "p2p-incast",
    "Every rank sends 4 KiB to rank 0, which receives all",
    Traits { title: Some(|_, _| "Two-sided Incast"), incast: true, ..Traits::PLAIN },
    start_incast,
);
/// GPCNeT's "Put Incast".
pub const PUT_INCAST: Kernel = kernel(
    "put-incast",
    "Every rank puts 4 KiB into rank 0's memory and flushes",
    Traits { title: Some(|_, _| "Put Incast"), incast: true, ..Traits::PLAIN },
    start_put,
);
/// GPCNeT's "Get Bcast": an incast of requests and a fan-out of data.
pub const GET_BCAST: Kernel = kernel(
    "get-bcast",
    "Every rank gets the same 4 KiB from rank 0's memory",
    Traits { title: Some(|_, _| "Get Bcast"), ..Traits::PLAIN },
    start_get,
);
/// GPCNeT's "Two-sided Bcast".
pub const P2P_BCAST: Kernel = kernel(
    "p2p-bcast",
    "Rank 0 sends 4 KiB to every rank, one message each",
    Traits { title: Some(|_, _| "Two-sided Bcast"), ..Traits::PLAIN },
    start_bcast,
);

const TAG: Tag = 77;
const ROOT: usize = 0;

/// Two-sided, either way.
struct TwoSided<'c> {
    comm: &'c dyn Comm,
    size: usize,
    /// Whether the root receives.
    inward: bool,
    round: u64,
    out: Lanes,
    into: Lanes,
}

fn start_incast(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    Ok(Box::new(two_sided(setup, true)))
}

fn start_bcast(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    Ok(Box::new(two_sided(setup, false)))
}

fn two_sided(setup: Setup<'_>, inward: bool) -> TwoSided<'_> {
    let (comm, size) = (setup.comm, setup.params.size("size"));
    let receives = match (comm.rank() == ROOT, inward) {
        (true, true) => comm.size() - 1,
        (false, false) => 1,
        _ => 0,
    };
    let out = Lanes::new(setup.payload, 1, size);
    TwoSided { comm, size, inward, round: 0, out, into: Lanes::new(setup.payload, receives, size) }
}

impl Pattern for TwoSided<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        self.out.fill(0, Stamp { sender: self.comm.rank(), round, lane: 0 });
        self.into.clear();
    }

    fn step(&mut self) -> Option<Work> {
        let n = self.comm.size();
        match (self.comm.rank() == ROOT, self.inward) {
            (true, true) => {
                let receive = |(from, into)| Op::Recv { from, tag: TAG, into };
                let mut ops: Vec<Op> = (1..n).zip(self.into.buffers()).map(receive).collect();
                self.comm.exchange(&mut ops);
                let senders = n as u64 - 1;
                Some(Work { senders, ..Work::messages(senders, senders * self.size as u64) })
            }
            (true, false) => {
                let mut ops: Vec<Op> = (1..n).map(|to| Op::Send { to, tag: TAG, data: self.out.data(0) }).collect();
                self.comm.exchange(&mut ops);
                None
            }
            (false, true) => {
                self.comm.exchange(&mut [Op::Send { to: ROOT, tag: TAG, data: self.out.data(0) }]);
                None
            }
            (false, false) => {
                let into = self.into.buffers().next().expect("one lane");
                self.comm.exchange(&mut [Op::Recv { from: ROOT, tag: TAG, into }]);
                Some(Work::messages(1, self.size as u64))
            }
        }
    }

    fn verify(&mut self) -> Verdict {
        let round = self.round;
        match (self.comm.rank() == ROOT, self.inward) {
            (true, true) => {
                let check = |sender: usize| self.into.check(sender - 1, Stamp { sender, round, lane: 0 });
                (1..self.comm.size()).map(check).reduce(Verdict::and).unwrap_or_else(unchecked)
            }
            (false, false) => self.into.check(0, Stamp { sender: ROOT, round, lane: 0 }),
            _ => Verdict::Right { checked: 0 },
        }
    }
}

/// One-sided, either way.
struct OneSided<'c> {
    comm: &'c dyn Comm,
    window: Box<dyn Window + 'c>,
    size: usize,
    put: bool,
    payload: Payload,
    round: u64,
    lane: Lanes,
}

fn start_put(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    one_sided(setup, true)
}

fn start_get(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    one_sided(setup, false)
}

fn one_sided(setup: Setup<'_>, put: bool) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (comm, size, payload) = (setup.comm, setup.params.size("size"), setup.payload);
    // Only the root's memory is used, and untouched pages cost nothing.
    let slots = if put { comm.size() } else { 1 };
    let window = comm.window(slots * size)?;
    Ok(Box::new(OneSided { comm, window, size, put, payload, round: 0, lane: Lanes::new(payload, 1, size) }))
}

impl Pattern for OneSided<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        let me = self.comm.rank();
        // No barrier here: where data is checked, `verify` ends with one after the root has read.
        if self.put {
            self.lane.fill(0, Stamp { sender: me, round, lane: 0 });
            return;
        }
        self.lane.clear();
        if self.payload == Payload::Checked {
            // Nobody reads the old data any more when the root writes, and nobody reads before it has written.
            self.comm.barrier();
            if me == ROOT {
                let mut bytes = vec![0; self.size];
                Stamp { sender: ROOT, round, lane: 0 }.fill(&mut bytes);
                self.window.write(0, &bytes);
            }
            self.comm.barrier();
        }
    }

    fn step(&mut self) -> Option<Work> {
        if self.comm.rank() == ROOT {
            return None;
        }
        let access = if self.put {
            // A place of its own for every rank, so that each message can be checked.
            Access::Put { to: ROOT, at: self.comm.rank() * self.size, data: self.lane.data(0) }
        } else {
            Access::Get { from: ROOT, at: 0, into: self.lane.buffers().next().expect("one lane") }
        };
        self.window.transfer(&mut [access]);
        Some(Work::messages(1, self.size as u64))
    }

    fn verify(&mut self) -> Verdict {
        let (round, size) = (self.round, self.size);
        if self.payload != Payload::Checked {
            return unchecked();
        }
        if !self.put {
            return match self.comm.rank() {
                ROOT => Verdict::Right { checked: 0 },
                _ => self.lane.check(0, Stamp { sender: ROOT, round, lane: 0 }),
            };
        }
        // All puts are complete before the root looks, and nobody puts again before it has looked.
        self.comm.barrier();
        let mut verdict = Verdict::Right { checked: 0 };
        if self.comm.rank() == ROOT {
            let mut bytes = vec![0; size];
            for sender in 1..self.comm.size() {
                self.window.read(sender * size, &mut bytes);
                verdict = verdict.and(Stamp { sender, round, lane: 0 }.check(&bytes));
            }
        }
        self.comm.barrier();
        verdict
    }
}
