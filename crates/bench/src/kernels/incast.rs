//! Many to one and one to many: all ranks of a communicator against its rank 0.
//!
//! A message that has left its sender may wait in a buffer, so a two-sided incast is timed by its root, which tells of what all
//! others sent; the other kernels are timed by the others, whose step ends when the data is where it belongs. Left out on purpose: the original's exchange of a rank with itself.

use crate::kernel::{Kernel, Pattern, Room, Setup, Traits};
use crate::payload::{Mail, Slots, Stamp, Tally, unchecked};
use comm::{Access, Comm, Op, Refusal, Tag, Window};
use record::{Coverage, Metric, Payload, Verdict};
use spec::{Card, Kind, Param, Params, ReadParams, Work};

const SIZE: Param = Param::new("size", Kind::Size, "4KiB", "bytes per message");

const fn kernel(name: &'static str, about: &'static str, traits: Traits, start: crate::kernel::Start) -> Kernel {
    let card = Card { name, about, source: "GPCNeT §3.1.2", params: &[SIZE] };
    let traits = Traits { tiny: &[("size", "3000")], ..traits };
    Kernel { card, metric: Metric::Bandwidth, min_ranks: 2, traits, start }
}

/// The root has a place for the message of every other rank.
fn at_the_root(params: &Params, ranks: u64) -> Room {
    let size = params.size("size") as u64;
    Room { first: size.saturating_mul(ranks.saturating_sub(1)), others: size }
}

/// GPCNeT's "Two-sided Incast".
pub const P2P_INCAST: Kernel = kernel(
    "p2p-incast",
    "Every rank sends 4 KiB to rank 0, which receives all",
    Traits { title: Some(|_, _| "Two-sided Incast"), incast: true, room: at_the_root, ..Traits::PLAIN },
    start_incast,
);
/// GPCNeT's "Put Incast".
pub const PUT_INCAST: Kernel = kernel(
    "put-incast",
    "Every rank puts 4 KiB into rank 0's memory and flushes",
    Traits { title: Some(|_, _| "Put Incast"), incast: true, room: at_the_root, ..Traits::PLAIN },
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
    mail: Mail,
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
    let widest = if inward { comm.size() - 1 } else { 1 };
    TwoSided { comm, size, inward, round: 0, mail: Mail::new(setup.payload, size, (1, receives), widest) }
}

impl Pattern for TwoSided<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
    }

    fn renew(&mut self, steps: u32) {
        self.mail.renew(self.comm.rank(), self.round, steps);
    }

    fn spare(&mut self, spare: bool) {
        self.mail.spare(spare);
    }

    fn in_turns(&self) -> bool {
        self.mail.is_empty()
    }

    fn step(&mut self) -> Option<Work> {
        let n = self.comm.size();
        let (out, mut into) = self.mail.step();
        match (self.comm.rank() == ROOT, self.inward) {
            (true, true) => {
                let receive = |(from, into)| Op::Recv { from, tag: TAG, into };
                let mut ops: Vec<Op> = (1..n).zip(into.lanes()).map(receive).collect();
                self.comm.exchange(&mut ops);
                let senders = n as u64 - 1;
                Some(Work { senders, ..Work::messages(senders, senders * self.size as u64) })
            }
            (true, false) => {
                let mut ops: Vec<Op> = (1..n).map(|to| Op::Send { to, tag: TAG, data: out.lane(0) }).collect();
                self.comm.exchange(&mut ops);
                None
            }
            (false, true) => {
                self.comm.exchange(&mut [Op::Send { to: ROOT, tag: TAG, data: out.lane(0) }]);
                None
            }
            (false, false) => {
                self.comm.exchange(&mut [Op::Recv { from: ROOT, tag: TAG, into: into.lane(0) }]);
                Some(Work::messages(1, self.size as u64))
            }
        }
    }

    // Looked at when the block is over: a root that looks between two steps would keep the others waiting in theirs.
    fn verify(&mut self) -> Verdict {
        let inward = self.inward;
        self.mail.verify(|_, lane| (if inward { lane + 1 } else { ROOT }, 0))
    }

    fn coverage(&self) -> Option<Coverage> {
        self.mail.coverage()
    }
}

/// Every rank puts into a place of its own, so that each message can be checked.
struct Put<'c> {
    comm: &'c dyn Comm,
    window: Box<dyn Window + 'c>,
    size: usize,
    payload: Payload,
    round: u64,
    /// Of the root's window; `mail` has as many.
    slots: Slots,
    mail: Mail,
    tally: Tally,
}

fn start_put(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (comm, size, payload) = (setup.comm, setup.params.size("size"), setup.payload);
    let (n, slots) = (comm.size(), Slots::new(setup.comm.size() * size));
    // Only the root's memory is used, and untouched pages cost nothing.
    let window = comm.window(slots.most() * n * size)?;
    let mail = Mail::new(payload, size, (1, 0), n);
    Ok(Box::new(Put { comm, window, size, payload, round: 0, slots, mail, tally: Tally::default() }))
}

impl Put<'_> {
    /// The root looks at what is in its window.
    fn look(&mut self) {
        let (n, size) = (self.comm.size(), self.size);
        let mut bytes = vec![0; n * size];
        for slot in self.slots.kept().map(|ago| self.slots.of(ago)) {
            self.window.read(slot * n * size, &mut bytes);
            for sender in 1..n {
                let stamp = Stamp { sender, round: self.round, step: self.slots.stamp(slot), lane: 0 };
                self.tally.whole(stamp, &bytes[sender * size..(sender + 1) * size]);
            }
        }
        self.tally.missed(self.slots.lost() * (n as u64 - 1), size);
    }
}

impl Pattern for Put<'_> {
    // No barrier here: where data is checked, `verify` ends with one after the root has read.
    fn arrange(&mut self, round: u64) {
        self.round = round;
    }

    fn renew(&mut self, steps: u32) {
        self.slots.renew(steps);
        self.mail.renew(self.comm.rank(), self.round, steps);
    }

    fn spare(&mut self, spare: bool) {
        self.slots.spare(spare);
        self.mail.spare(spare);
    }

    fn in_turns(&self) -> bool {
        self.mail.is_empty()
    }

    fn step(&mut self) -> Option<Work> {
        let (slot, me) = (self.slots.begin(), self.comm.rank());
        let (out, _) = self.mail.step();
        if me == ROOT {
            return None;
        }
        let at = (slot * self.comm.size() + me) * self.size;
        self.window.transfer(&mut [Access::Put { to: ROOT, at, data: out.lane(0) }]);
        Some(Work::messages(1, self.size as u64))
    }

    fn verify(&mut self) -> Verdict {
        if self.payload != Payload::Checked {
            return unchecked();
        }
        // All puts are complete before the root looks, and nobody puts again before it has looked.
        self.comm.barrier();
        if self.comm.rank() == ROOT {
            self.look();
        }
        self.slots.looked();
        self.comm.barrier();
        self.tally.verdict()
    }

    fn coverage(&self) -> Option<Coverage> {
        (self.payload == Payload::Checked).then_some(self.tally.coverage)
    }
}

/// Every rank reads what the root has written.
struct Get<'c> {
    comm: &'c dyn Comm,
    window: Box<dyn Window + 'c>,
    size: usize,
    payload: Payload,
    round: u64,
    /// Whether the root has written the data of the round.
    written: bool,
    mail: Mail,
}

fn start_get(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (comm, size, payload) = (setup.comm, setup.params.size("size"), setup.payload);
    let receives = usize::from(comm.rank() != ROOT);
    let window = comm.window(size)?;
    let mail = Mail::reading(payload, size, receives);
    Ok(Box::new(Get { comm, window, size, payload, round: 0, written: false, mail }))
}

impl Pattern for Get<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        self.written = false;
    }

    fn renew(&mut self, steps: u32) {
        self.mail.renew(self.comm.rank(), self.round, steps);
        if self.payload != Payload::Checked || self.written {
            return;
        }
        self.written = true;
        // Nobody reads the old data any more when the root writes, and nobody reads before it has written.
        self.comm.barrier();
        if self.comm.rank() == ROOT {
            let mut bytes = vec![0; self.size];
            Stamp { sender: ROOT, round: self.round, step: 0, lane: 0 }.fill(&mut bytes);
            self.window.write(0, &bytes);
        }
        self.comm.barrier();
    }

    fn spare(&mut self, spare: bool) {
        self.mail.spare(spare);
    }

    fn in_turns(&self) -> bool {
        self.mail.is_empty()
    }

    fn step(&mut self) -> Option<Work> {
        let (_, mut into) = self.mail.step();
        if self.comm.rank() == ROOT {
            return None;
        }
        self.window.transfer(&mut [Access::Get { from: ROOT, at: 0, into: into.lane(0) }]);
        Some(Work::messages(1, self.size as u64))
    }

    fn holds(&self) -> u32 {
        self.mail.holds()
    }

    fn verify(&mut self) -> Verdict {
        self.mail.verify(|_, _| (ROOT, 0))
    }

    fn glance(&mut self, random: u64) -> Verdict {
        self.mail.glance(random, |_, _| (ROOT, 0))
    }

    fn coverage(&self) -> Option<Coverage> {
        self.mail.coverage()
    }
}
