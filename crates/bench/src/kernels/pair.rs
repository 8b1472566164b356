//! Two ranks at a time: ping-pong, a stream one way, streams both ways.
//!
//! Ranks 0 and 1 of a communicator are a pair, 2 and 3 the next; an odd one left over looks on. Pairs never wait for each
//! other. The lower rank of a pair measures. What the time of a sample is, is the metric's convention, named here once: for
//! ping-pong the **whole round trip** of one message each way; for streams the time **per message of one direction**.

use crate::kernel::{Declares, Kernel, Pattern, Setup, Traits};
use crate::payload::{Lanes, Stamp};
use comm::{Buffer, Comm, Op, Refusal, Tag};
use record::{Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};

const SIZE: Param = Param::new("size", Kind::Size, "1KiB", "bytes of one message, one way");
const WINDOW: Param = Param::new("window", Kind::Count, "16", "messages under way at once in one direction");

/// The paper's blocking ping-pong; a sample is the round trip.
pub const PINGPONG: Kernel = Kernel {
    card: Card {
        name: "pair-pingpong",
        about: "A message there and one back between pairs of ranks; the sample is the whole round trip",
        source: "Gropp, Olson, Samfass (EuroMPI '16), nodecomm",
        params: &[SIZE],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        declares: Declares::AsCalled("the answer is as long, and a sample is of one message"),
        tiny: TINY,
        ..Traits::PLAIN
    },
    start: |setup| start(setup, Way::Pingpong),
};

/// One direction: what a node can inject while nothing comes back.
pub const STREAM: Kernel = Kernel {
    card: Card {
        name: "pair-stream",
        about: "Windows of messages from one rank of a pair to the other, one byte back per window; the sample is per message",
        source: "after Gropp, Olson, Samfass (EuroMPI '16)",
        params: &[SIZE, WINDOW],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits { declares: Declares::AsCalled("the byte back is not counted"), tiny: TINY, ..Traits::PLAIN },
    start: |setup| start(setup, Way::Stream),
};

/// Both directions at once.
pub const DUPLEX: Kernel = Kernel {
    card: Card {
        name: "pair-duplex",
        about: "Windows of messages both ways between the ranks of a pair; the sample is per message of one direction",
        source: "after Gropp, Olson, Samfass (EuroMPI '16)",
        params: &[SIZE, WINDOW],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits { declares: Declares::AsCalled("a sample is of one direction"), tiny: TINY, ..Traits::PLAIN },
    start: |setup| start(setup, Way::Duplex),
};

const TINY: &[(&str, &str)] = &[("size", "3000")];

const DATA: Tag = 11;
const ACK: Tag = 12;

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Pingpong,
    Stream,
    Duplex,
}

/// The other rank of this rank's pair, if there is one.
pub(super) fn partner(comm: &dyn Comm) -> Option<usize> {
    Some(comm.rank() ^ 1).filter(|p| *p < comm.size())
}

/// Whether this rank is the lower one of its pair, which measures.
pub(super) fn leads(comm: &dyn Comm) -> bool {
    comm.rank().is_multiple_of(2)
}

struct Pair<'c> {
    comm: &'c dyn Comm,
    way: Way,
    window: usize,
    work: Work,
    round: u64,
    out: Lanes,
    into: Lanes,
}

fn start(setup: Setup<'_>, way: Way) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let size = setup.params.size("size");
    let window = if way == Way::Pingpong { 1 } else { setup.params.count("window").max(1) as usize };
    // The sender of a stream receives nothing but an answer, so it needs no lanes.
    let receives = way != Way::Stream || !leads(setup.comm);
    Ok(Box::new(Pair {
        comm: setup.comm,
        way,
        window,
        work: Work::messages(window as u64, window as u64 * size as u64),
        round: 0,
        out: Lanes::new(setup.payload, 1, size),
        into: Lanes::new(setup.payload, if receives { window } else { 0 }, size),
    }))
}

impl Pair<'_> {
    fn send_one(&self, to: usize) {
        self.comm.exchange(&mut [Op::Send { to, tag: DATA, data: self.out.data(0) }]);
    }

    fn receive_one(&mut self, from: usize) {
        let into = self.into.buffers().next().expect("one lane");
        self.comm.exchange(&mut [Op::Recv { from, tag: DATA, into }]);
    }

    fn windows(&mut self, peer: usize, receives: bool, sends: bool) {
        let mut ops = Vec::with_capacity(2 * self.window);
        if receives {
            let receive = |into| Op::Recv { from: peer, tag: DATA, into };
            ops.extend(self.into.buffers().take(self.window).map(receive));
        }
        if sends {
            let send = |_| Op::Send { to: peer, tag: DATA, data: self.out.data(0) };
            ops.extend((0..self.window).map(send));
        }
        self.comm.exchange(&mut ops);
    }
}

impl Pattern for Pair<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        self.out.fill(0, Stamp { sender: self.comm.rank(), round, lane: 0 });
        self.into.clear();
    }

    fn step(&mut self) -> Option<Work> {
        let peer = partner(self.comm)?;
        let leads = leads(self.comm);
        match (self.way, leads) {
            (Way::Pingpong, true) => {
                self.send_one(peer);
                self.receive_one(peer);
            }
            (Way::Pingpong, false) => {
                self.receive_one(peer);
                self.send_one(peer);
            }
            (Way::Stream, true) => {
                self.windows(peer, false, true);
                // A send may end long before its message arrives; only the answer tells that the window is there.
                self.comm.exchange(&mut [Op::Recv { from: peer, tag: ACK, into: Buffer::Len(1) }]);
            }
            (Way::Stream, false) => {
                self.windows(peer, true, false);
                self.comm.exchange(&mut [Op::send(peer, ACK, &[1])]);
            }
            (Way::Duplex, _) => self.windows(peer, true, true),
        }
        leads.then_some(self.work)
    }

    fn verify(&mut self) -> Verdict {
        let nothing = Verdict::Right { checked: 0 };
        let Some(sender) = partner(self.comm) else { return nothing };
        if self.way == Way::Stream && leads(self.comm) {
            return nothing;
        }
        let stamp = Stamp { sender, round: self.round, lane: 0 };
        let verdicts = (0..self.window).map(|lane| self.into.check(lane, stamp));
        verdicts.reduce(Verdict::and).unwrap_or(nothing)
    }
}
