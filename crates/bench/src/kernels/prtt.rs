//! Parametrised round trips PRTT(n, d, s), from which LogGP's parameters follow (Hoefler et al., IPDPS 2007; netgauge's pattern).
//!
//! The leader of a pair sends n messages of s bytes one after the other and computes for d between them; its partner answers the
//! last one. The sample is the time from the first message to the answer.

use super::pair::{leads, look, partner};
use crate::Stopwatch;
use crate::kernel::{Declares, Kernel, Merge, NamedNumber, Pattern, Setup, Traits};
use crate::payload::Mail;
use comm::{Comm, Op, Refusal, Tag};
use record::{Coverage, Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Time, Work};

/// The round trip with its three parameters.
pub const PRTT: Kernel = Kernel {
    card: Card {
        name: "pair-prtt",
        about: "Messages one after the other with pauses between them, one answer; the sample is from the first to the answer",
        source: "Hoefler et al. (IPDPS 2007), netgauge",
        params: &[
            Param::new("size", Kind::Size, "8", "bytes of each message and of the answer"),
            Param::new("messages", Kind::Count, "10", "how many before the answer").up_to(MOST as f64),
            Param::new(
                "pause",
                Kind::Choice(&["none", "trip"]),
                "none",
                "between messages: `none`, or `trip`, longer than a round trip of one message",
            ),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        declares: Declares::AsCalled("the answer is not counted"),
        tiny: &[("size", "24")],
        ..Traits::PLAIN
    },
    start,
};

const DATA: Tag = 41;
const ANSWER: Tag = 42;
/// The pause is so many times the slowest of some trips: shorter than a trip it would hide a part of the overhead.
const LONGER: f64 = 1.5;
const TRIPS: u32 = 5;
/// Messages of a step at most.
const MOST: usize = 1 << 20;
/// Messages of a step that have memory of their own; those of more overwrite the first ones.
const APART: usize = 64;

struct Prtt<'c> {
    comm: &'c dyn Comm,
    stopwatch: Stopwatch<'c>,
    messages: usize,
    size: usize,
    spaced: bool,
    /// Known to the leader alone, from the first arrangement on: only it pauses.
    pause: Option<Time>,
    round: u64,
    /// The answer has lane 0 on the leader; on its partner every message has one, or as many as are kept apart.
    mail: Mail,
    lanes: usize,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let size = setup.params.size("size");
    let messages = setup.params.count("messages").max(1) as usize;
    let kept = messages.min(APART);
    let lanes = if leads(setup.comm) { 1 } else { kept };
    Ok(Box::new(Prtt {
        comm: setup.comm,
        stopwatch: setup.stopwatch,
        size,
        messages,
        spaced: setup.params.word("pause") == "trip",
        pause: None,
        round: 0,
        mail: Mail::new(setup.payload, size, (1, lanes), kept),
        lanes,
    }))
}

impl Prtt<'_> {
    /// One PRTT. The n messages before the answer are n - 1 pauses.
    fn trip(&mut self, peer: usize, messages: usize, pause: Option<Time>) {
        let comm = self.comm;
        let (out, mut into) = self.mail.step();
        if !leads(comm) {
            for i in 0..messages {
                comm.exchange(&mut [Op::Recv { from: peer, tag: DATA, into: into.lane(i % self.lanes) }]);
            }
            comm.exchange(&mut [Op::Send { to: peer, tag: ANSWER, data: out.lane(0) }]);
            self.mail.overwritten((messages - messages.min(self.lanes)) as u64);
            return;
        }
        for i in 0..messages {
            comm.exchange(&mut [Op::Send { to: peer, tag: DATA, data: out.lane(0) }]);
            if let Some(time) = pause.filter(|_| i + 1 < messages) {
                comm.pause(time);
            }
        }
        comm.exchange(&mut [Op::Recv { from: peer, tag: ANSWER, into: into.lane(0) }]);
    }

    /// How long a single message and its answer take at most, measured once.
    fn learn_pause(&mut self, peer: usize) {
        let mut longest = 0.0f64;
        for _ in 0..TRIPS {
            let lap = self.stopwatch.start();
            self.trip(peer, 1, None);
            longest = longest.max(lap.seconds());
        }
        self.pause = Some(Time::from_secs(LONGER * longest));
    }
}

impl Pattern for Prtt<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        if let Some(peer) = partner(self.comm).filter(|_| self.spaced && self.pause.is_none()) {
            self.mail.renew(self.comm.rank(), round, TRIPS);
            self.learn_pause(peer);
        }
    }

    fn renew(&mut self, steps: u32) {
        self.mail.renew(self.comm.rank(), self.round, steps);
    }

    fn step(&mut self) -> Option<Work> {
        let peer = partner(self.comm)?;
        self.trip(peer, self.messages, self.pause.filter(|_| self.spaced));
        leads(self.comm).then(|| Work::messages(1, (self.messages * self.size) as u64))
    }

    fn holds(&self) -> u32 {
        self.mail.holds()
    }

    fn verify(&mut self) -> Verdict {
        look(self.comm, &mut self.mail, true, |mail, peer| mail.verify(|_, _| (peer, 0)))
    }

    fn glance(&mut self, random: u64) -> Verdict {
        look(self.comm, &mut self.mail, true, |mail, peer| mail.glance(random, |_, _| (peer, 0)))
    }

    fn coverage(&self) -> Option<Coverage> {
        self.mail.coverage()
    }

    fn results(&mut self) -> Vec<NamedNumber> {
        let pause = self.pause.filter(|_| self.spaced && leads(self.comm));
        pause.map(|p| NamedNumber::new("pause_s", p.secs(), Merge::First)).into_iter().collect()
    }
}
