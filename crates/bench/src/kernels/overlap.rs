//! Messages beside computation: whether a machine moves data while its processor is busy with something else.

use super::pair::{leads, look, partner};
use crate::kernel::{Arithmetic, Declares, Kernel, Pattern, Room, Setup, Traits};
use crate::payload::Mail;
use comm::{Comm, Op, Refusal, Tag, overlap};
use record::{Coverage, Metric, OverlapPart, Verdict};
use spec::{Card, Kind, Param, Params, ReadParams, Work};

/// The paper's three times: messages, work, and both at once.
pub const OVERLAP: Kernel = Kernel {
    card: Card {
        name: "pair-overlap",
        about: "A message each way between pairs of ranks, work on an array, or one beside the other; the sample is the time of what was asked for",
        source: "Gropp, Olson, Samfass (EuroMPI '16), section 3.1; nodecomm -o",
        params: &[
            Param::new("size", Kind::Size, "1KiB", "bytes of one message"),
            Param::new("doubles", Kind::Count, "2560", "numbers of the array that is worked on").up_to(1e9),
            Param::new(
                "part",
                Kind::Choice(&["both", "messages", "work"]),
                "both",
                "both at once, or one of them alone",
            ),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        declares: Declares::AsCalled("a sample is of one message, and the work moves none"),
        room: |params, _| Room::each(Room::messages(params).saturating_add(8 * doubles(params))),
        tiny: &[("size", "3000"), ("doubles", "100")],
        ..Traits::PLAIN
    },
    start,
};

const DATA: Tag = 14;

fn doubles(params: &Params) -> u64 {
    params.count("doubles")
}

struct Overlap<'c> {
    comm: &'c dyn Comm,
    part: OverlapPart,
    work: Work,
    array: Vec<f64>,
    sample: Work,
    round: u64,
    mail: Mail,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (size, doubles) = (setup.params.size("size"), doubles(setup.params));
    let word = setup.params.word("part");
    let part = OverlapPart::ALL.into_iter().find(|part| part.word() == word).expect("checked by its card");
    // A machine that charges for work does not do it. Elsewhere the array is written now: no page is made while the clock runs.
    let bare = part == OverlapPart::Messages || setup.arithmetic != Arithmetic::Real;
    Ok(Box::new(Overlap {
        comm: setup.comm,
        part,
        // A multiplication and an addition a number, which is read and written.
        work: Work { flops: 2 * doubles, bytes: 16 * doubles, ..Work::NONE },
        array: if bare { Vec::new() } else { vec![1.0; doubles as usize] },
        sample: Work::messages(1, size as u64),
        round: 0,
        mail: Mail::new(setup.payload, size, (1, 1), 1),
    }))
}

/// Work that needs all of the array, and whose result stays finite however often it is done.
fn work(comm: &dyn Comm, work: Work, array: &mut [f64]) {
    if !comm.charge(work) {
        for x in std::hint::black_box(&mut *array) {
            *x = 0.5 * *x + 1.0;
        }
        std::hint::black_box(array);
    }
}

impl Pattern for Overlap<'_> {
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
        let comm = self.comm;
        if self.part == OverlapPart::Work {
            work(comm, self.work, &mut self.array);
        } else {
            let (out, mut into) = self.mail.step();
            let (into, data) = (into.lane(0), out.lane(0));
            let mut ops = vec![Op::Recv { from: peer, tag: DATA, into }, Op::Send { to: peer, tag: DATA, data }];
            match self.part {
                OverlapPart::Messages => comm.exchange(&mut ops),
                _ => overlap(comm, |pending| {
                    pending.start(ops);
                    work(comm, self.work, &mut self.array);
                }),
            }
        }
        leads(comm).then_some(self.sample)
    }

    fn holds(&self) -> u32 {
        self.mail.holds()
    }

    fn verify(&mut self) -> Verdict {
        // Nothing was sent that could be wrong.
        if self.part == OverlapPart::Work {
            return Verdict::Right { checked: 0 };
        }
        look(self.comm, &mut self.mail, true, |mail, peer| mail.verify(|_, _| (peer, 0)))
    }

    fn glance(&mut self, random: u64) -> Verdict {
        if self.part == OverlapPart::Work {
            return Verdict::Right { checked: 0 };
        }
        look(self.comm, &mut self.mail, false, |mail, peer| mail.glance(random, |_, _| (peer, 0)))
    }

    fn coverage(&self) -> Option<Coverage> {
        self.mail.coverage().filter(|_| self.part != OverlapPart::Work)
    }
}
