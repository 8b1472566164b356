//! A checkpoint: everybody writes what it holds to one of a few collectors.

use super::stencil::{TRAITS, step_of};
use crate::kernel::{Declares, Kernel, Pattern, Room, Setup, Traits};
use crate::payload::Mail;
use comm::{Comm, Op, Refusal, Tag};
use record::Metric;
use spec::{Card, Kind, Param, Params, ReadParams, Work};

/// The kernel.
pub const CHECKPOINT: Kernel = Kernel {
    card: Card {
        name: "checkpoint",
        about: "Every rank sends 64 MiB in pieces to the collector that it shares with its neighbours; the time until the collector has all",
        source: "Tailback; one collector for 64 nodes is chosen",
        params: &[
            Param::new("size", Kind::Size, "1MiB", "bytes of a piece").at_least(1.0),
            Param::new("pieces", Kind::Count, "64", "pieces of a rank").at_least(1.0).up_to(1e6),
            Param::new("share", Kind::Count, "64", "ranks that share a collector, itself among them")
                .at_least(2.0)
                .up_to(1e6),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        incast: true,
        declares: Declares::Exact,
        beside: Some("the pieces of a rank go through the same memory, of which the last is looked at"),
        room,
        tiny: &[("size", "300"), ("pieces", "2"), ("share", "3")],
        ..TRAITS
    },
    start,
};

fn room(params: &Params, ranks: u64) -> Room {
    let (size, share) = (params.size("size") as u64, params.count("share").min(ranks));
    Room { first: size.saturating_mul(share), others: size }
}

const TAG: Tag = 1320;

struct Collect<'c> {
    comm: &'c dyn Comm,
    size: usize,
    pieces: u64,
    /// The first of those that share a collector is the collector.
    collector: usize,
    clients: Vec<usize>,
    round: u64,
    mail: Mail,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (comm, params) = (setup.comm, setup.params);
    let (size, share) = (params.size("size"), (params.count("share") as usize).min(comm.size()));
    let collector = comm.rank() / share * share;
    let clients: Vec<usize> = (collector + 1..(collector + share).min(comm.size())).collect();
    let collects = comm.rank() == collector;
    let receives = if collects { clients.len() } else { 0 };
    let mail = Mail::new(setup.payload, size, (usize::from(!collects), receives), share - 1);
    Ok(Box::new(Collect { comm, size, pieces: params.count("pieces"), collector, clients, round: 0, mail }))
}

impl Collect<'_> {
    fn sender(&self) -> impl Fn(u64, usize) -> (usize, u32) + use<> {
        let first = self.collector + 1;
        move |_, lane| (first + lane, 0)
    }
}

impl Pattern for Collect<'_> {
    fn step(&mut self) -> Option<Work> {
        let (out, mut into) = self.mail.step();
        if self.comm.rank() != self.collector {
            for _ in 0..self.pieces {
                self.comm.exchange(&mut [Op::Send { to: self.collector, tag: TAG, data: out.lane(0) }]);
            }
            return None;
        }
        let clients = self.clients.len() as u64;
        for _ in 0..self.pieces {
            let mut ops: Vec<Op<'_>> =
                into.each().zip(&self.clients).map(|(into, from)| Op::Recv { from: *from, tag: TAG, into }).collect();
            self.comm.exchange(&mut ops);
        }
        self.mail.overwritten((self.pieces - 1) * clients);
        // A collector that nobody shares has nothing to tell.
        (clients > 0).then(|| Work { senders: clients, ..step_of(self.pieces * clients * self.size as u64) })
    }

    crate::payload::looks_at_mail!(by round);
}
