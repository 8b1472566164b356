//! Training in parallel over data: gradients are summed round a ring, bucket by bucket, while the next bucket is computed.

use super::stencil::{TRAITS, step_of};
use crate::kernel::{Declares, Kernel, Pattern, Room, Setup, Traits};
use crate::payload::Mail;
use comm::{Comm, Op, Refusal, Tag, overlap};
use record::Metric;
use spec::{Card, Kind, Param, ReadParams, Time, Work};

/// The kernel.
pub const GRADIENT: Kernel = Kernel {
    card: Card {
        name: "gradient",
        about: "Ring all-reduces of buckets of gradients, each beside the computing of the next: a step of training in parallel over data",
        source: "PyTorch's DistributedDataParallel (buckets of 25 MB), recalled; Patarasuk, Yuan 2009 (rings)",
        params: &[
            Param::new("size", Kind::Size, "25MB", "bytes of a bucket").at_least(1.0),
            Param::new("buckets", Kind::Count, "4", "how many in a step; a model of 2.5 GB has 100")
                .at_least(1.0)
                .up_to(1e6),
            Param::new("compute", Kind::Time, "1ms", "computing beside a bucket"),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        declares: Declares::Exact,
        beside: Some("the messages of a step go through the same memory, of which the last is looked at"),
        room: |params, ranks| Room::each(2 * (params.size("size") as u64).div_ceil(ranks.max(1))),
        tiny: &[("size", "900"), ("buckets", "2"), ("compute", "1us")],
        ..TRAITS
    },
    start,
};

const TAG: Tag = 1310;

struct Gradient<'c> {
    comm: &'c dyn Comm,
    /// A bucket has a chunk for every rank.
    chunk: usize,
    buckets: u64,
    /// Computing beside one message.
    compute: Time,
    round: u64,
    mail: Mail,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (comm, params) = (setup.comm, setup.params);
    let chunk = params.size("size").div_ceil(comm.size());
    let compute = Time::from_ps(params.time("compute").ps() / hops(comm.size()));
    let mail = Mail::new(setup.payload, chunk, (1, 1), 1);
    Ok(Box::new(Gradient { comm, chunk, buckets: params.count("buckets"), compute, round: 0, mail }))
}

/// Messages of a rank for a bucket: once round to add up, once more to hand out.
fn hops(ranks: usize) -> u64 {
    2 * (ranks as u64 - 1)
}

impl Gradient<'_> {
    fn sender(&self) -> impl Fn(u64, usize) -> (usize, u32) + use<> {
        let (me, n) = (self.comm.rank(), self.comm.size());
        move |_, lane| ((me + n - 1) % n, lane as u32)
    }
}

impl Pattern for Gradient<'_> {
    fn step(&mut self) -> Option<Work> {
        let (comm, n) = (self.comm, self.comm.size());
        let (right, left) = ((comm.rank() + 1) % n, (comm.rank() + n - 1) % n);
        let messages = self.buckets * hops(n);
        let (out, mut into) = self.mail.step();
        for _ in 0..messages {
            let (data, into) = (out.lane(0), into.lane(0));
            overlap(comm, |pending| {
                let set = pending
                    .start(vec![Op::Recv { from: left, tag: TAG, into }, Op::Send { to: right, tag: TAG, data }]);
                if self.compute > Time::ZERO {
                    comm.pause(self.compute);
                }
                pending.wait(set);
            });
        }
        self.mail.overwritten(messages - 1);
        Some(step_of(messages * self.chunk as u64))
    }

    crate::payload::looks_at_mail!(by round);
}
