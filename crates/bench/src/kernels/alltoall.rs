//! All-to-all: the machine's own collective as a canary, and the pairwise exchange that GPCNeT uses as a congestor.

use crate::kernel::{Kernel, Pattern, Setup, Traits};
use crate::payload::{Lanes, Stamp};
use comm::{Comm, Op, Refusal, Tag};
use record::{Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};

const SIZE: Param = Param::new("size", Kind::Size, "4KiB", "bytes for each peer");

const PARTNERS: Param = Param::new(
    "partners",
    Kind::Count,
    "0",
    "partners of a step; the next step goes on with the next ones, and 0 is all of them",
);

/// GPCNeT's "Multiple Alltoall".
pub const ALLTOALL: Kernel = Kernel {
    card: Card {
        name: "alltoall",
        about: "Bandwidth of the machine's all-to-all collective, 4 KiB per peer",
        source: "GPCNeT §3.1.1",
        params: &[SIZE],
    },
    metric: Metric::Bandwidth,
    min_ranks: 2,
    traits: Traits { title: Some(|_, _| "Multiple Alltoall"), ..Traits::PLAIN },
    start: start_collective,
};

/// GPCNeT's "Alltoall" congestor.
pub const PAIRWISE: Kernel = Kernel {
    card: Card {
        name: "a2a",
        about: "All-to-all by pairwise exchanges of 4 KiB, one partner at a time",
        source: "GPCNeT §3.1.2",
        params: &[SIZE, PARTNERS],
    },
    metric: Metric::Bandwidth,
    min_ranks: 2,
    traits: Traits { title: Some(|_, _| "Alltoall"), ..Traits::PLAIN },
    start: start_pairwise,
};

struct Collective<'c> {
    comm: &'c dyn Comm,
    size: usize,
    round: u64,
    out: Lanes,
    into: Lanes,
}

fn start_collective(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (n, size) = (setup.comm.size(), setup.params.size("size"));
    let lanes = || Lanes::new(setup.payload, n, size);
    Ok(Box::new(Collective { comm: setup.comm, size, round: 0, out: lanes(), into: lanes() }))
}

/// Bytes that leave this rank: its own block stays.
fn sent(n: usize, size: usize) -> Work {
    Work::messages(n as u64 - 1, (n as u64 - 1) * size as u64)
}

impl Pattern for Collective<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        let sender = self.comm.rank();
        (0..self.comm.size()).for_each(|lane| self.out.fill(lane, Stamp { sender, round, lane: lane as u32 }));
        self.into.clear();
    }

    fn step(&mut self) -> Option<Work> {
        let n = self.comm.size();
        self.comm.alltoall(self.out.all(n), self.into.all_mut(n));
        Some(sent(n, self.size))
    }

    fn verify(&mut self) -> Verdict {
        let lane = self.comm.rank() as u32;
        let check = |sender| self.into.check(sender, Stamp { sender, round: self.round, lane });
        (0..self.comm.size()).map(check).reduce(Verdict::and).expect("at least one rank")
    }
}

/// Tag of the pairwise exchange.
const TAG: Tag = 987;

/// One message at a time in each direction, so two buffers do for any number of peers.
struct Pairwise<'c> {
    comm: &'c dyn Comm,
    size: usize,
    /// Partners of a step.
    each: usize,
    /// The exchange that was last, 1 to n - 1 in turn.
    last: usize,
    round: u64,
    out: Lanes,
    into: Lanes,
}

fn start_pairwise(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let size = setup.params.size("size");
    let lane = || Lanes::new(setup.payload, 1, size);
    let all = setup.comm.size() - 1;
    let each = match setup.params.count("partners") as usize {
        0 => all,
        n => n.min(all),
    };
    Ok(Box::new(Pairwise { comm: setup.comm, size, each, last: all, round: 0, out: lane(), into: lane() }))
}

impl Pairwise<'_> {
    /// Whom exchange `i` sends to and receives from.
    fn partners(&self, i: usize) -> (usize, usize) {
        let (me, n) = (self.comm.rank(), self.comm.size());
        if n.is_power_of_two() { (me ^ i, me ^ i) } else { ((me + i) % n, (me + n - i) % n) }
    }
}

impl Pattern for Pairwise<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        self.out.fill(0, Stamp { sender: self.comm.rank(), round, lane: 0 });
        self.into.clear();
    }

    fn step(&mut self) -> Option<Work> {
        for _ in 0..self.each {
            self.last = self.last % (self.comm.size() - 1) + 1;
            let (to, from) = self.partners(self.last);
            let into = self.into.buffers().next().expect("one lane");
            let data = self.out.data(0);
            self.comm.exchange(&mut [Op::Recv { from, tag: TAG, into }, Op::Send { to, tag: TAG, data }]);
        }
        Some(sent(self.each + 1, self.size))
    }

    fn verify(&mut self) -> Verdict {
        let (_, sender) = self.partners(self.last);
        self.into.check(0, Stamp { sender, round: self.round, lane: 0 })
    }
}
