//! A schedule of communication, replayed: every rank does its operations as soon as what they wait for has begun or ended.
//!
//! Messages are under way beside everything else. Calculations of one processor take turns; between them the rank looks for messages that
//! have come, as a process whose one thread drives its messages does. A step is over when all ranks are.

use crate::goal::{Does, Graph, Moment, Schedule, installed};
use crate::kernel::{Evidence, Kernel, Loops, Pattern, Room, Setup, Steps, Traits};
use comm::{Buffer, Comm, Data, Op, Pending, Reduce, Refusal, Set, Tag, overlap};
use record::{Metric, Verdict};
use spec::{Card, Kind, Param, ReadParams, Time, Work};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

/// Its name, for the suite that has it replay a file.
pub(crate) const SCHEDULED: &str = "goal";

/// The kernel.
pub const GOAL: Kernel = Kernel {
    card: Card {
        name: SCHEDULED,
        about: "A schedule of sends, receives and computing, replayed; the time until all ranks are done",
        source: "GOAL: Hoefler, Siebert, Lumsdaine 2009; LogGOPSim, ATLAHS",
        params: &[
            Param::new(
                "schedule",
                Kind::Text,
                "",
                "which one, as `run replay` names it; nothing for a broadcast over a binomial tree",
            ),
            Param::new("size", Kind::Size, "4KiB", "bytes of that broadcast's messages"),
            Param::new("compute", Kind::Real, "1", "computing takes so many times as long as the schedule says")
                .at_least(0.0)
                .up_to(1e6),
        ],
    },
    metric: Metric::Latency,
    min_ranks: 2,
    traits: Traits {
        measured: Loops { warmup: 1, steps: Steps::always(1), arrangements: 1, measurements: 10_000 },
        evidence: Evidence::Nothing("a schedule has sizes and no data"),
        room: |_, _| Room::each(0),
        tiny: &[("size", "300")],
        ..Traits::PLAIN
    },
    start,
};

struct Replay<'c> {
    comm: &'c dyn Comm,
    schedule: Cow<'static, Schedule>,
    graph: Cow<'static, Graph>,
    /// Bytes that this rank sends in a step.
    sends: u64,
    compute: f64,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    let (comm, params) = (setup.comm, setup.params);
    let (schedule, graph) = if params.word("schedule").is_empty() {
        own(Schedule::binomial(comm.rank(), comm.size(), params.size("size") as u64))?
    } else {
        let none = || Refusal("a plan does not hold its schedule: tailback replay FILE.goal".into());
        let ready = installed().ok_or_else(none)?;
        let (ranks, rank) = (ready.goal.ranks.len(), comm.rank());
        if ranks > comm.size() {
            return Err(Refusal(format!("the schedule has {ranks} ranks, and {} are here", comm.size())));
        }
        match ready.goal.ranks.get(rank) {
            Some(schedule) => (Cow::Borrowed(schedule), Cow::Borrowed(&ready.graphs[rank])),
            None => own(Schedule::default())?,
        }
    };
    let sends = schedule.sends();
    Ok(Box::new(Replay { comm, schedule, graph, sends, compute: params.real("compute") }))
}

/// A schedule that stands in no file.
fn own(schedule: Schedule) -> Result<(Cow<'static, Schedule>, Cow<'static, Graph>), Refusal> {
    let graph = Graph::new(&schedule).map_err(Refusal)?;
    Ok((Cow::Owned(schedule), Cow::Owned(graph)))
}

/// A calculation under way.
struct Calculation {
    cpu: u16,
    left: Time,
    operation: u32,
}

/// What is going on in a step.
struct State<'a> {
    replay: &'a Replay<'a>,
    /// What each operation still waits for.
    left: Vec<u32>,
    ready: VecDeque<u32>,
    /// Calculations that wait for their processor, by its number.
    queues: BTreeMap<u16, VecDeque<u32>>,
    running: Vec<Calculation>,
    /// Messages under way, and the operation of each that ever was.
    messages: Vec<Set>,
    operations: Vec<u32>,
}

impl Replay<'_> {
    fn op(&self, operation: u32) -> Option<Op<'static>> {
        match self.schedule.operations[operation as usize].does {
            Does::Send { bytes, to, tag } => {
                Some(Op::Send { to: to as usize, tag: tag as Tag, data: Data::Len(bytes as usize) })
            }
            Does::Recv { bytes, from, tag } => {
                Some(Op::Recv { from: from as usize, tag: tag as Tag, into: Buffer::Len(bytes as usize) })
            }
            Does::Calc { .. } => None,
        }
    }

    fn time(&self, operation: u32) -> Time {
        match self.schedule.operations[operation as usize].does {
            Does::Calc { ns } => Time::from_secs(ns as f64 * 1e-9 * self.compute),
            _ => Time::ZERO,
        }
    }
}

impl<'a> State<'a> {
    fn new(replay: &'a Replay<'a>) -> State<'a> {
        let (left, ready) = (replay.graph.waits.clone(), replay.graph.first.clone().into());
        let (queues, running) = (BTreeMap::new(), Vec::new());
        State { replay, left, ready, queues, running, messages: Vec::new(), operations: Vec::new() }
    }

    fn tell(&mut self, operation: u32, moment: Moment) {
        let State { replay, left, ready, .. } = self;
        replay.graph.after(operation, moment, left, &mut |next| ready.push_back(next));
    }

    /// Starts what waits for nothing any more: messages at once, a calculation when its processor has nothing else to do.
    fn start(&mut self, pending: &mut dyn Pending<'static>) {
        loop {
            while let Some(operation) = self.ready.pop_front() {
                let Some(op) = self.replay.op(operation) else {
                    let cpu = self.replay.schedule.operations[operation as usize].cpu;
                    self.queues.entry(cpu).or_default().push_back(operation);
                    continue;
                };
                let set = pending.start(vec![op]);
                assert_eq!(set, self.operations.len(), "sets are numbered in the order of their start");
                self.operations.push(operation);
                self.messages.push(set);
                self.tell(operation, Moment::Begun);
            }
            let idle = |cpu: &u16| self.running.iter().all(|c| c.cpu != *cpu);
            let next =
                self.queues.iter_mut().filter(|(cpu, _)| idle(cpu)).find_map(|(cpu, q)| Some((*cpu, q.pop_front()?)));
            let Some((cpu, operation)) = next else { return };
            self.running.push(Calculation { cpu, left: self.replay.time(operation), operation });
            self.tell(operation, Moment::Begun);
        }
    }

    fn ended(&mut self, sets: &[Set]) {
        sets.iter().for_each(|set| self.tell(self.operations[*set], Moment::Ended));
    }

    /// Computes until the first calculation ends.
    fn compute(&mut self) {
        let least = self.running.iter().map(|c| c.left).min().unwrap_or(Time::ZERO);
        if least > Time::ZERO {
            self.replay.comm.pause(least);
        }
        self.running.iter_mut().for_each(|c| c.left = c.left - least);
        let ended: Vec<u32> = self.running.extract_if(.., |c| c.left == Time::ZERO).map(|c| c.operation).collect();
        ended.iter().for_each(|operation| self.tell(*operation, Moment::Ended));
    }

    fn run(&mut self, pending: &mut dyn Pending<'static>) {
        loop {
            self.start(pending);
            let come = if !self.running.is_empty() {
                self.compute();
                pending.test_some(&mut self.messages)
            } else if self.messages.is_empty() {
                return;
            } else {
                pending.wait_some(&mut self.messages)
            };
            self.ended(&come);
        }
    }
}

impl Pattern for Replay<'_> {
    fn arrange(&mut self, _: u64) {}

    fn step(&mut self) -> Option<Work> {
        let replay = &*self;
        overlap(replay.comm, |pending| State::new(replay).run(pending));
        // Nobody is done before all are, and a barrier's own messages would hide how long a short schedule takes.
        self.comm.settle(&mut [], Reduce::Max);
        Some(Work::messages(1, self.sends))
    }

    fn verify(&mut self) -> Verdict {
        Verdict::Right { checked: 0 }
    }
}
