//! What an idle machine does: latency and bandwidth between two ranks, all-reduce over some. All in one run, one after the
//! other, so that a machine is built once.
#![allow(dead_code, reason = "each test program uses a part of it")]

use crate::common::{recv, send};
use comm::{
    Comm, Machine as _, Node, Op, Pending, PendingSum, Rank, Reduce, Refusal, Vector, Window, collectives, overlap,
};
use spec::{Time, Work};
use std::sync::Mutex;
use tailback_sim::{Config, Simulator};

/// Steps of a measurement, after as many that are not timed: what the barrier before it left behind has died away then.
const STEPS: usize = 6;
/// As many where packets take detours at random, and one step takes some per cent longer than the next.
const DRAWN: usize = 30;
/// Messages of a window of the bandwidth test.
const WINDOW: usize = 8;
/// All-reduces run over so many ranks, spread evenly over the machine.
pub const RANKS: [usize; 4] = [2, 4, 8, 32];
/// A short message, and one that asks first.
pub const SHORT: usize = 8;
pub const LONG: usize = 128 << 10;

/// A result: what it is called, its seconds (of the bandwidth: per window), and their standard error.
pub type Isolated = (String, f64, f64);

/// When a rank takes messages that are there before it asks for them.
#[derive(Clone, Copy, PartialEq)]
pub enum Host {
    /// As the machine does.
    Asked,
    /// Before it does anything else: see [`TakesFirst`].
    First,
}

/// Measures all on a machine with at least 32 ranks.
pub fn measure(config: Config, host: Host) -> Vec<Isolated> {
    // Without a bias detours are looked at in an idle network, too.
    let steps = if config.routing.1.get("bias").is_some_and(|bias| bias == "0") { DRAWN } else { STEPS };
    let machine = Simulator::new(config).expect("a machine");
    let results = Mutex::new(Vec::new());
    let body = |comm: &dyn Comm| {
        let other = TakesFirst(comm);
        let comm: &dyn Comm = if host == Host::First { &other } else { comm };
        let last = comm.size() - 1;
        let note = |name: String, (seconds, error): (f64, f64)| {
            if comm.rank() == 0 {
                results.lock().unwrap().push((name, seconds, error));
            }
        };
        for bytes in [SHORT, LONG] {
            let (seconds, error) = timed(comm, steps, &|| ping_pong(comm, last, bytes));
            note(format!("p2p of {bytes} B"), (seconds / 2.0, error / 2.0));
        }
        note(format!("window of {WINDOW} x {LONG} B"), timed(comm, steps, &|| window(comm, last)));
        for ranks in RANKS {
            let among = comm.rank().is_multiple_of(comm.size() / ranks);
            if let Some(some) = comm.split(among.then_some(0), 0) {
                let other = TakesFirst(&*some);
                let some: &dyn Comm = if host == Host::First { &other } else { &*some };
                let seconds = timed(some, steps, &|| collectives::allreduce(some, Vector::Len(1), Reduce::Sum));
                note(format!("all-reduce of {ranks}"), seconds);
            }
        }
    };
    machine.run(&body).expect("a good run");
    results.into_inner().unwrap()
}

/// The mean time of a step, and its standard error.
fn timed(comm: &dyn Comm, steps: usize, step: &dyn Fn()) -> (f64, f64) {
    comm.barrier();
    (0..steps).for_each(|_| step());
    let begin = comm.now();
    let ends: Vec<f64> = (0..steps).map(|_| (step(), comm.now().since(begin).secs()).1).collect();
    let (n, mean) = (steps as f64, ends[steps - 1] / steps as f64);
    let times = ends.iter().enumerate().map(|(i, end)| end - if i > 0 { ends[i - 1] } else { 0.0 });
    let squares: f64 = times.map(|t| (t - mean).powi(2)).sum();
    (mean, (squares / (n * (n - 1.0))).sqrt())
}

fn ping_pong(comm: &dyn Comm, other: usize, bytes: usize) {
    if comm.rank() == 0 {
        comm.exchange(&mut [send(other, 1, bytes)]);
        comm.exchange(&mut [recv(other, 1, bytes)]);
    } else if comm.rank() == other {
        comm.exchange(&mut [recv(0, 1, bytes)]);
        comm.exchange(&mut [send(0, 1, bytes)]);
    }
}

/// A window of long messages, and a short one back.
fn window(comm: &dyn Comm, other: usize) {
    if comm.rank() == 0 {
        comm.exchange(&mut [0; WINDOW].map(|_| send(other, 1, LONG)));
        comm.exchange(&mut [recv(other, 2, SHORT)]);
    } else if comm.rank() == other {
        comm.exchange(&mut [0; WINDOW].map(|_| recv(0, 1, LONG)));
        comm.exchange(&mut [send(0, 2, SHORT)]);
    }
}

/// A host as it must not be: messages that are there are taken, at their full cost, before the rank's own sends go out. One
/// that comes a moment later is taken after them, so a moment decides about a whole overhead.
struct TakesFirst<'a>(&'a dyn Comm);

impl Comm for TakesFirst<'_> {
    fn exchange(&self, ops: &mut [Op<'_>]) {
        let (mut receives, mut sends) = (Vec::new(), Vec::new());
        for op in ops {
            match op {
                Op::Recv { from, tag, into } => receives.push(recv(*from, *tag, into.len())),
                Op::Send { to, tag, data } => sends.push(send(*to, *tag, data.len())),
            }
        }
        overlap(self.0, |pending| {
            let receiving = pending.start(receives);
            pending.test(receiving);
            pending.start(sends);
        });
    }
    fn rank(&self) -> Rank {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn node(&self) -> Node {
        self.0.node()
    }
    fn now(&self) -> Time {
        self.0.now()
    }
    fn overlap<'b>(&self, work: &mut dyn FnMut(&mut dyn Pending<'b>)) {
        self.0.overlap(work);
    }
    fn compute(&self, work: Work, f: &mut dyn FnMut()) {
        self.0.compute(work, f);
    }
    fn charge(&self, work: Work) -> bool {
        self.0.charge(work)
    }
    fn split(&self, color: Option<u32>, key: u32) -> Option<Box<dyn Comm + '_>> {
        self.0.split(color, key)
    }
    fn window(&self, len: usize) -> Result<Box<dyn Window + '_>, Refusal> {
        self.0.window(len)
    }
    fn start_sum(&self, x: f64) -> Box<dyn PendingSum + '_> {
        self.0.start_sum(x)
    }
}
