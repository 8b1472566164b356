//! Many messages between two ranks: what it costs to find the receive that a message belongs to.

use super::pair::{leads, partner};
use crate::kernel::{Declares, Kernel, Pattern, Room, Setup, Traits};
use crate::payload::Mail;
use comm::{Comm, FIRST_RESERVED_TAG, Op, Refusal, Tag, overlap};
use record::{Coverage, Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Work};

/// Many receives posted in the order of the messages or against it.
pub const QUEUE: Kernel = Kernel {
    card: Card {
        name: "pair-queue",
        about: "Many messages to receives posted before, in the same order or the reverse; the sample is the time of all",
        source: "Bienz, Gropp, Olson (2018), queue search",
        params: &[
            Param::new("size", Kind::Size, "8", "bytes of one message"),
            Param::new("messages", Kind::Count, "100", "how many at once; each needs a tag of its own")
                .up_to(MOST as f64),
            Param::new("order", Kind::Choice(&["same", "reverse"]), "same", "order of the receives"),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        declares: Declares::AsCalled("the sample is of the whole queue, and only the word to go is counted"),
        room: |params, _| {
            let size = params.size("size") as u64;
            Room { first: size.saturating_mul(params.count("messages")), others: size }
        },
        tiny: &[("size", "24"), ("messages", "7")],
        ..Traits::PLAIN
    },
    start: start_queue,
};

// MPI guarantees tags up to 32,767, and those from 32,000 on are reserved.
const MOST: usize = 30_000;
const FIRST: Tag = 1;
const GO: Tag = MOST as Tag + FIRST;
const _: () = assert!(GO < FIRST_RESERVED_TAG, "tags above belong to the engine");

struct Queue<'c> {
    comm: &'c dyn Comm,
    messages: usize,
    reverse: bool,
    round: u64,
    mail: Mail,
}

fn start_queue(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (size, messages) = (setup.params.size("size"), setup.params.count("messages").max(1) as usize);
    let lanes = if leads(setup.comm) { messages } else { 0 };
    Ok(Box::new(Queue {
        comm: setup.comm,
        messages,
        reverse: setup.params.word("order") == "reverse",
        round: 0,
        mail: Mail::new(setup.payload, size, (1, lanes), messages),
    }))
}

impl Pattern for Queue<'_> {
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
        let (comm, n, reverse) = (self.comm, self.messages, self.reverse);
        let (out, into) = self.mail.step();
        if leads(comm) {
            let tag = |i: usize| FIRST + if reverse { n - 1 - i } else { i } as Tag;
            let receive = |(i, into)| Op::Recv { from: peer, tag: tag(i), into };
            let ops = into.lanes().enumerate().map(receive).collect();
            overlap(comm, |pending| {
                pending.start(ops);
                // Only now are all receives posted.
                comm.exchange(&mut [Op::send(peer, GO, &[1])]);
            });
            return Some(Work::messages(1, 1));
        }
        comm.exchange(&mut [Op::recv(peer, GO, &mut [0])]);
        let mut ops: Vec<Op> =
            (0..n).map(|i| Op::Send { to: peer, tag: FIRST + i as Tag, data: out.lane(0) }).collect();
        comm.exchange(&mut ops);
        None
    }

    // The leader alone looks, before it says go: nobody is timed meanwhile.
    fn holds(&self) -> u32 {
        self.mail.holds()
    }

    fn verify(&mut self) -> Verdict {
        let Some(peer) = partner(self.comm) else { return Verdict::Right { checked: 0 } };
        self.mail.verify(|_, _| (peer, 0))
    }

    fn glance(&mut self, random: u64) -> Verdict {
        let Some(peer) = partner(self.comm) else { return Verdict::Right { checked: 0 } };
        self.mail.glance(random, |_, _| (peer, 0))
    }

    fn coverage(&self) -> Option<Coverage> {
        self.mail.coverage()
    }
}
