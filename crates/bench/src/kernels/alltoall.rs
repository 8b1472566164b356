//! All-to-all: the machine's own collective as a canary, the pairwise exchange that GPCNeT uses as a congestor, and all messages at once.

use crate::kernel::{Alias, Asked, Congesting, Kernel, Loops, Pattern, Room, Setup, Traits, Turn};
use crate::payload::Mail;
use comm::{Buffer, Comm, Data, Op, Refusal, Tag};
use record::{Coverage, Metric, Verdict};
use spec::{Card, Kind, Param, Params, ReadParams, Work};

/// GPCNeT's "Multiple Alltoall" and, in pairs, its congestor "Alltoall".
pub const ALLTOALL: Kernel = Kernel {
    card: Card {
        name: "alltoall",
        about: "All-to-all of 4 KiB per peer: by the machine's collective, or by pairwise exchanges, one partner at a time",
        source: "GPCNeT §3.1.1, §3.1.2",
        params: &[
            Param::new("size", Kind::Size, "4KiB", "bytes for each peer"),
            Param::new("by", Kind::Choice(&["collective", "pairs"]), "collective", "who exchanges with whom, and when"),
            Param::new(
                "partners",
                Kind::Count,
                "0",
                "with `by=pairs`, partners of a step; the next step goes on with the next ones, and 0 is all of them",
            ),
        ],
    },
    metric: Metric::Bandwidth,
    min_ranks: 2,
    traits: Traits {
        title: Some(|params, _| if in_pairs(params) { "Alltoall" } else { "Multiple Alltoall" }),
        aliases: &[Alias { name: "a2a", about: "`alltoall` by pairs: GPCNeT's congestor", params: &[("by", "pairs")] }],
        measured: Loops::ALL_PEERS,
        congestor,
        room,
        tiny: &[("size", "300")],
        ..Traits::PLAIN
    },
    start: |setup| if in_pairs(setup.params) { start_pairwise(setup) } else { start_collective(setup) },
};

/// As measured under load on LUMI and Leonardo: it tells a time, as people know it of all-to-alls of any size.
pub const POSTED: Kernel = Kernel {
    card: Card {
        name: "a2a-posted",
        about: "All-to-all of 4 KiB per peer, all sends and receives posted at once; the time of it",
        source: "HLC-Lab/CRAB (LUMI, Leonardo)",
        params: &[Param::new("size", Kind::Size, "4KiB", "bytes for each peer")],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        title: Some(|_, _| "Posted Alltoall"),
        measured: Loops::ALL_PEERS,
        room: |params, ranks| Room::each((params.size("size") as u64).saturating_mul(2 * ranks)),
        tiny: &[("size", "300")],
        ..Traits::PLAIN
    },
    start: start_posted,
};

fn in_pairs(params: &Params) -> bool {
    params.word("by") == "pairs"
}

/// As a congestor on more than so many nodes, pairs exchange with so many partners in a step, not with all: with thousands of nodes under
/// load a whole exchange outlasts the measurement many times, and a step must be over before the canaries start, and another when they are done.
const MANY_NODES: u32 = 64;
const FEW_PARTNERS: (u32, &str) = (8, "8");

fn congestor(asked: &Asked<'_>) -> Congesting {
    let usual = Traits::PLAIN.congestor;
    if !in_pairs(asked.params) || asked.nodes <= MANY_NODES || asked.given.contains_key("partners") {
        return usual(asked);
    }
    // A step has the messages of so many nodes, so there are as many steps as on so many.
    let nodes = FEW_PARTNERS.0;
    Congesting { set: &[("partners", FEW_PARTNERS.1)], ..usual(&Asked { nodes, ..*asked }) }
}

fn room(params: &Params, ranks: u64) -> Room {
    let peers = if in_pairs(params) { 1 } else { ranks };
    Room::each((params.size("size") as u64).saturating_mul(2 * peers))
}

struct Collective<'c> {
    comm: &'c dyn Comm,
    size: usize,
    round: u64,
    mail: Mail,
}

fn start_collective(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (n, size, partners) = (setup.comm.size(), setup.params.size("size"), setup.params.count("partners"));
    if partners > 0 {
        return Err(Refusal(format!("alltoall: partners={partners}: a collective has all of them; write by=pairs")));
    }
    Ok(Box::new(Collective { comm: setup.comm, size, round: 0, mail: Mail::new(setup.payload, size, (n, n), n) }))
}

/// Bytes that leave this rank: its own block stays.
fn sent(n: usize, size: usize) -> Work {
    Work::messages(n as u64 - 1, (n as u64 - 1) * size as u64)
}

impl Pattern for Collective<'_> {
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
        let (out, into) = self.mail.step();
        self.comm.alltoall(out.all(), into.all());
        Some(sent(self.comm.size(), self.size))
    }

    fn holds(&self) -> u32 {
        self.mail.holds()
    }

    fn verify(&mut self) -> Verdict {
        let me = self.comm.rank() as u32;
        self.mail.verify(|_, sender| (sender, me))
    }

    fn glance(&mut self, random: u64) -> Verdict {
        let me = self.comm.rank() as u32;
        self.mail.glance(random, |_, sender| (sender, me))
    }

    fn coverage(&self) -> Option<Coverage> {
        self.mail.coverage()
    }
}

/// Tag of the pairwise exchange.
// The number is GPCNeT's.
const TAG: Tag = 987;
/// Partners of a step whose messages have memory of their own; those of more overwrite the first ones.
// Chosen: a congestor of a large machine has 8, and 64 messages of 4 KiB are little for a rank.
const APART: usize = 64;

/// One message at a time in each direction, so one buffer to send from does for any number of peers.
struct Pairwise<'c> {
    comm: &'c dyn Comm,
    size: usize,
    /// Partners of a step.
    each: usize,
    /// The exchange that was last, 1 to n - 1 in turn.
    last: usize,
    /// Exchanges of a step that is made in turns.
    turns: usize,
    round: u64,
    /// Lanes that the partners of a step take in turn.
    lanes: usize,
    mail: Mail,
}

fn start_pairwise(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let size = setup.params.size("size");
    let all = setup.comm.size() - 1;
    let each = match setup.params.count("partners") as usize {
        0 => all,
        n => n.min(all),
    };
    let lanes = each.min(APART);
    let mail = Mail::new(setup.payload, size, (1, lanes), lanes);
    Ok(Box::new(Pairwise { comm: setup.comm, size, each, last: all, turns: 0, round: 0, lanes, mail }))
}

/// Whom exchange `i` of rank `me` of `n` sends to and receives from.
fn partners(me: usize, n: usize, i: usize) -> (usize, usize) {
    // With a power of two both partners of an exchange are one rank, as in the original.
    if n.is_power_of_two() { (me ^ i, me ^ i) } else { ((me + i) % n, (me + n - i) % n) }
}

/// The exchange after one, of 1 to n - 1: exchange 0, which the original has, would be of a rank with itself.
fn after(last: usize, n: usize) -> usize {
    last % (n - 1) + 1
}

impl Pairwise<'_> {
    /// Goes on to the next exchange: whom it sends to and receives from.
    fn advance(&mut self) -> (usize, usize) {
        self.last = after(self.last, self.comm.size());
        partners(self.comm.rank(), self.comm.size(), self.last)
    }

    /// What a step does.
    fn done(&self) -> Work {
        // `sent` takes a number of ranks and leaves one out: the rank itself.
        sent(self.each + 1, self.size)
    }

    /// Who sent what is in a lane.
    fn sender(&self) -> impl Fn(u64, usize) -> (usize, u32) + use<> {
        let (me, n, each, last, lanes) = (self.comm.rank(), self.comm.size(), self.each, self.last, self.lanes);
        move |ago, lane| {
            // The last exchange of a step that used the lane, and how many came after it.
            let at = lane + (each - 1 - lane) / lanes * lanes;
            let after = (each - 1 - at + ago as usize * each) % (n - 1);
            (partners(me, n, (last + n - 2 - after) % (n - 1) + 1).1, 0)
        }
    }
}

impl Pattern for Pairwise<'_> {
    fn step(&mut self) -> Option<Work> {
        let (me, n) = (self.comm.rank(), self.comm.size());
        let (out, mut into) = self.mail.step();
        for i in 0..self.each {
            self.last = after(self.last, n);
            let (to, from) = partners(me, n, self.last);
            let receive = Op::Recv { from, tag: TAG, into: into.lane(i % self.lanes) };
            self.comm.exchange(&mut [receive, Op::Send { to, tag: TAG, data: out.lane(0) }]);
        }
        self.mail.overwritten((self.each - self.lanes) as u64);
        Some(self.done())
    }

    fn in_turns(&self) -> bool {
        self.mail.is_empty()
    }

    fn turn(&mut self) -> Turn {
        if self.turns == 0 {
            let _ = self.mail.step();
        }
        let (to, from) = self.advance();
        let (into, data) = (Buffer::Len(self.size), Data::Len(self.size));
        self.comm.exchange(&mut [Op::Recv { from, tag: TAG, into }, Op::Send { to, tag: TAG, data }]);
        self.turns += 1;
        if self.turns < self.each {
            return Turn::More;
        }
        self.turns = 0;
        self.mail.overwritten((self.each - self.lanes) as u64);
        Turn::Last(Some(self.done()))
    }

    crate::payload::looks_at_mail!(by round);
}

/// All messages at once, to and from the ranks one, two, three... further on.
struct Posted<'c> {
    comm: &'c dyn Comm,
    size: usize,
    round: u64,
    mail: Mail,
}

fn start_posted(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (others, size) = (setup.comm.size() - 1, setup.params.size("size"));
    let mail = Mail::new(setup.payload, size, (others, others), others);
    Ok(Box::new(Posted { comm: setup.comm, size, round: 0, mail }))
}

impl Posted<'_> {
    /// Who sent what is in a lane: lane 0 is from the rank before, which sent it in its lane 0.
    fn sender(&self) -> impl Fn(u64, usize) -> (usize, u32) + use<> {
        let (me, n) = (self.comm.rank(), self.comm.size());
        move |_, lane| ((me + n - 1 - lane) % n, lane as u32)
    }
}

impl Pattern for Posted<'_> {
    fn in_turns(&self) -> bool {
        self.mail.is_empty()
    }

    fn step(&mut self) -> Option<Work> {
        let (me, n) = (self.comm.rank(), self.comm.size());
        let (out, into) = self.mail.step();
        let receive = |(lane, into)| Op::Recv { from: (me + n - 1 - lane) % n, tag: TAG, into };
        let send = |lane| Op::Send { to: (me + 1 + lane) % n, tag: TAG, data: out.lane(lane) };
        let mut ops: Vec<Op> = into.lanes().enumerate().map(receive).chain((0..n - 1).map(send)).collect();
        self.comm.exchange(&mut ops);
        Some(sent(n, self.size))
    }

    crate::payload::looks_at_mail!(by round);
}
