//! All-gather round a ring: what a rank receives from its left it passes on to its right, until everybody has everything.

use crate::kernel::{Kernel, Loops, Pattern, Room, Setup, Traits, Turn};
use crate::payload::Mail;
use comm::{Buffer, Comm, Data, Op, Refusal, Tag};
use record::Metric;
use spec::{Card, Kind, Param, Params, ReadParams, Work};

/// As measured under load on LUMI and Leonardo, where the size of the whole result is given: that is ranks times `size`.
pub const ALLGATHER: Kernel = Kernel {
    card: Card {
        name: "allgather",
        about: "All-gather of 4 KiB from each rank, round a ring of neighbours; the time of it",
        source: "HLC-Lab/CRAB (LUMI, Leonardo); Thakur, Rabenseifner, Gropp 2005 §3.1",
        params: &[Param::new("size", Kind::Size, "4KiB", "bytes of each rank")],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        title: Some(|_, _| "Ring Allgather"),
        measured: Loops::ALL_PEERS,
        room,
        tiny: &[("size", "300")],
        ..Traits::PLAIN
    },
    start,
};

fn room(params: &Params, ranks: u64) -> Room {
    Room::each((params.size("size") as u64).saturating_mul(ranks))
}

const TAG: Tag = 991;

struct Allgather<'c> {
    comm: &'c dyn Comm,
    size: usize,
    round: u64,
    /// Exchanges of a step that is made in turns.
    turns: usize,
    mail: Mail,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (size, others) = (setup.params.size("size"), setup.comm.size() - 1);
    let mail = Mail::new(setup.payload, size, (1, others), others);
    Ok(Box::new(Allgather { comm: setup.comm, size, round: 0, turns: 0, mail }))
}

impl Allgather<'_> {
    /// What a step does.
    fn done(&self) -> Work {
        let sent = self.comm.size() as u64 - 1;
        Work::messages(sent, sent * self.size as u64)
    }

    /// Who sent first what is in a lane.
    fn sender(&self) -> impl Fn(u64, usize) -> (usize, u32) + use<> {
        let (me, n) = (self.comm.rank(), self.comm.size());
        move |_, lane| ((me + n - 1 - lane) % n, 0)
    }
}

impl Pattern for Allgather<'_> {
    fn step(&mut self) -> Option<Work> {
        let (me, n) = (self.comm.rank(), self.comm.size());
        let (right, left) = ((me + 1) % n, (me + n - 1) % n);
        let (out, into) = self.mail.step();
        let mut data = out.lane(0);
        for into in into.lanes() {
            let mut ops = [Op::Recv { from: left, tag: TAG, into }, Op::Send { to: right, tag: TAG, data }];
            self.comm.exchange(&mut ops);
            let [Op::Recv { into, .. }, _] = ops else { unreachable!("they are as they were written") };
            data = match into {
                Buffer::Bytes(bytes) => Data::Bytes(bytes),
                Buffer::Len(len) => Data::Len(len),
            };
        }
        Some(self.done())
    }

    fn in_turns(&self) -> bool {
        self.mail.is_empty()
    }

    fn turn(&mut self) -> Turn {
        let (me, n) = (self.comm.rank(), self.comm.size());
        let (right, left) = ((me + 1) % n, (me + n - 1) % n);
        if self.turns == 0 {
            let _ = self.mail.step();
        }
        let (into, data) = (Buffer::Len(self.size), Data::Len(self.size));
        self.comm.exchange(&mut [Op::Recv { from: left, tag: TAG, into }, Op::Send { to: right, tag: TAG, data }]);
        self.turns += 1;
        if self.turns < n - 1 {
            return Turn::More;
        }
        self.turns = 0;
        Turn::Last(Some(self.done()))
    }

    crate::payload::looks_at_mail!(by round);
}
