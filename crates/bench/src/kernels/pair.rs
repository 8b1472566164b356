//! Two ranks at a time: ping-pong, a stream one way, streams both ways.
//!
//! Ranks 0 and 1 of a communicator are a pair, 2 and 3 the next; an odd one left over looks on. Pairs never wait for each
//! other. The lower rank of a pair measures. What the time of a sample is, is the metric's convention, named here once: for
//! ping-pong the **whole round trip** of one message each way; for streams the time **per message of one direction**.

use crate::kernel::{Declares, Kernel, Pattern, Setup, Traits};
use crate::payload::Mail;
use comm::{Buffer, Comm, Op, Refusal, Tag};
use record::{Coverage, Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};

const SIZE: Param = Param::new("size", Kind::Size, "1KiB", "bytes of one message, one way");
const WINDOW: Param =
    Param::new("window", Kind::Count, "16", "messages under way at once in one direction").up_to(super::WINDOW);

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
const MEET: Tag = 13;

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
    mail: Mail,
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
        mail: Mail::new(setup.payload, size, (1, if receives { window } else { 0 }), window),
    }))
}

/// Looks at what the partner sent, if there is one, and then waits for it if asked to.
pub(super) fn look(
    comm: &dyn Comm,
    mail: &mut Mail,
    meets: bool,
    at: impl FnOnce(&mut Mail, usize) -> Verdict,
) -> Verdict {
    let Some(peer) = partner(comm) else { return Verdict::Right { checked: 0 } };
    let verdict = at(mail, peer);
    if meets {
        meet(comm, mail);
    }
    verdict
}

/// Waits until the partner is as far: a look is not to be seen in the time of the step that follows it.
fn meet(comm: &dyn Comm, mail: &Mail) {
    // Where there are no data a look takes no time.
    if let Some(peer) = partner(comm).filter(|_| mail.coverage().is_some()) {
        comm.exchange(&mut [Op::recv(peer, MEET, &mut [0]), Op::send(peer, MEET, &[1])]);
    }
}

impl Pair<'_> {
    fn windows(&mut self, peer: usize, receives: bool, sends: bool) {
        let mut ops = Vec::with_capacity(2 * self.window);
        let (out, into) = self.mail.step();
        if receives {
            let receive = |into| Op::Recv { from: peer, tag: DATA, into };
            ops.extend(into.lanes().map(receive));
        }
        if sends {
            let send = |_| Op::Send { to: peer, tag: DATA, data: out.lane(0) };
            ops.extend((0..self.window).map(send));
        }
        self.comm.exchange(&mut ops);
    }

    fn pingpong(&mut self, peer: usize, leads: bool) {
        let (out, mut into) = self.mail.step();
        let send = || self.comm.exchange(&mut [Op::Send { to: peer, tag: DATA, data: out.lane(0) }]);
        if leads {
            send();
        }
        self.comm.exchange(&mut [Op::Recv { from: peer, tag: DATA, into: into.lane(0) }]);
        if !leads {
            send();
        }
    }
}

impl Pattern for Pair<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
    }

    fn renew(&mut self, steps: u32) {
        self.mail.renew(self.comm.rank(), self.round, steps);
    }

    fn spare(&mut self, spare: bool) {
        self.mail.spare(spare);
    }

    fn step(&mut self) -> Option<Work> {
        let peer = partner(self.comm)?;
        let leads = leads(self.comm);
        match (self.way, leads) {
            (Way::Pingpong, _) => self.pingpong(peer, leads),
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

    fn holds(&self) -> u32 {
        self.mail.holds()
    }

    fn verify(&mut self) -> Verdict {
        look(self.comm, &mut self.mail, true, |mail, peer| mail.verify(|_, _| (peer, 0)))
    }

    fn glance(&mut self, random: u64) -> Verdict {
        // Of a stream only one side has something to look at.
        let meets = self.way == Way::Stream;
        look(self.comm, &mut self.mail, meets, |mail, peer| mail.glance(random, |_, _| (peer, 0)))
    }

    fn coverage(&self) -> Option<Coverage> {
        self.mail.coverage()
    }
}
