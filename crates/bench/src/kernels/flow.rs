//! One flow of a contention graph: rank 0 sends, rank 1 receives and measures.
//!
//! A graph is a phase with one job per flow, so the phase starts all flows together. `flow` sends one message and its sample is
//! the completion time seen by the receiver; `flow-rate` sends windows without end and its sample is the rate.
//!
//! Two ranks leave a barrier up to microseconds apart, and have no clock in common. So the receiver of a `flow` calls for the message,
//! and what a call takes (half of the shortest of some round trips, before anything is timed) is taken off the sample.

use crate::Stopwatch;
use crate::kernel::{Kernel, Pattern, Setup, Traits};
use crate::payload::Mail;
use comm::{Buffer, Comm, Data, Op, Refusal, Tag};
use record::{Coverage, Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Time, Work};

/// One message; when is it there?
pub const FLOW: Kernel = Kernel {
    card: Card {
        name: "flow",
        about: "One message from rank 0 to rank 1; the sample is the time until it is received",
        source: "Martinasso, Mehaut (Euro-Par 2011)",
        params: &[
            Param::new("size", Kind::Size, "20MiB", "bytes of the message"),
            Param::new("start", Kind::Time, "0s", "how long the sender waits first"),
            Param::new(
                "calm",
                Kind::Time,
                "0s",
                "wait before that, in which barriers of other flows end; no part of the sample",
            ),
        ],
    },
    metric: Metric::Duration,
    min_ranks: 2,
    traits: Traits { tiny: &[("size", "3000")], ..Traits::PLAIN },
    start: |setup| start(setup, false),
};

/// Messages without end; at which rate do they come?
pub const RATE: Kernel = Kernel {
    card: Card {
        name: "flow-rate",
        about: "Windows of messages from rank 0 to rank 1 without end; the sample is the receiver's rate",
        source: "after Martinasso, Mehaut (Euro-Par 2011)",
        params: &[
            Param::new("size", Kind::Size, "1MiB", "bytes of one message"),
            Param::new("window", Kind::Count, "8", "messages under way at once").up_to(super::WINDOW),
        ],
    },
    metric: Metric::Bandwidth,
    min_ranks: 2,
    traits: Traits { tiny: &[("size", "3000"), ("window", "2")], ..Traits::PLAIN },
    start: |setup| start(setup, true),
};

const TAG: Tag = 21;
const CALL: Tag = 22;
/// Round trips of which the shortest says what a call takes; the first ones set up connections.
const CALLS: u32 = 12;
const SENDER: usize = 0;
const RECEIVER: usize = 1;

struct FlowEnd<'c> {
    comm: &'c dyn Comm,
    start: Time,
    calm: Time,
    /// What a call takes, where the sender waits for one.
    call: Option<Time>,
    window: usize,
    work: Work,
    round: u64,
    mail: Mail,
}

fn start(setup: Setup<'_>, steady: bool) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let params = setup.params;
    let size = params.size("size");
    let window = if steady { params.count("window").max(1) as usize } else { 1 };
    let lanes = match setup.comm.rank() {
        SENDER => (1, 0),
        RECEIVER => (0, window),
        _ => (0, 0),
    };
    Ok(Box::new(FlowEnd {
        comm: setup.comm,
        start: if steady { Time::ZERO } else { params.time("start") },
        calm: if steady { Time::ZERO } else { params.time("calm") },
        call: (!steady).then_some(Time::ZERO),
        window,
        work: Work::messages(window as u64, window as u64 * size as u64),
        round: 0,
        mail: Mail::new(setup.payload, size, lanes, window),
    }))
}

fn call(comm: &dyn Comm, to: usize) {
    comm.exchange(&mut [Op::Send { to, tag: CALL, data: Data::Len(0) }]);
}

fn hear(comm: &dyn Comm, from: usize) {
    comm.exchange(&mut [Op::Recv { from, tag: CALL, into: Buffer::Len(0) }]);
}

impl FlowEnd<'_> {
    /// What a call takes, by both ranks.
    fn try_calls(&self) -> Time {
        let (watch, mut shortest) = (Stopwatch::new(self.comm), f64::INFINITY);
        for _ in 0..CALLS {
            let lap = watch.start();
            if self.comm.rank() == RECEIVER {
                call(self.comm, SENDER);
                hear(self.comm, SENDER);
            } else {
                hear(self.comm, RECEIVER);
                call(self.comm, RECEIVER);
            }
            shortest = lap.seconds().min(shortest);
        }
        Time::from_secs(shortest / 2.0)
    }
}

impl Pattern for FlowEnd<'_> {
    fn arrange(&mut self, round: u64) {
        self.round = round;
        if self.call.is_some() && self.comm.rank() <= RECEIVER {
            self.call = Some(self.try_calls());
        }
    }

    fn renew(&mut self, steps: u32) {
        self.mail.renew(self.comm.rank(), self.round, steps);
    }

    fn spare(&mut self, spare: bool) {
        self.mail.spare(spare);
    }

    fn step(&mut self) -> Option<Work> {
        let (out, into) = self.mail.step();
        match self.comm.rank() {
            SENDER => {
                if self.call.is_some() {
                    hear(self.comm, RECEIVER);
                }
                self.comm.pause(self.calm + self.start);
                let send = |_| Op::Send { to: RECEIVER, tag: TAG, data: out.lane(0) };
                self.comm.exchange(&mut (0..self.window).map(send).collect::<Vec<_>>());
                None
            }
            RECEIVER => {
                if self.call.is_some() {
                    call(self.comm, SENDER);
                }
                let receive = |into| Op::Recv { from: SENDER, tag: TAG, into };
                self.comm.exchange(&mut into.lanes().map(receive).collect::<Vec<_>>());
                Some(self.work)
            }
            _ => None,
        }
    }

    // Looked at when the block is over: the sender does not wait, so what came during a look would come in no time.
    fn verify(&mut self) -> Verdict {
        self.mail.verify(|_, _| (SENDER, 0))
    }

    fn waits(&self) -> Time {
        self.calm + self.call.unwrap_or(Time::ZERO)
    }

    fn coverage(&self) -> Option<Coverage> {
        self.mail.coverage()
    }
}
