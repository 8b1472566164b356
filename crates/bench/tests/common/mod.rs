#![allow(dead_code, reason = "each test program uses its part of this")]
//! A small simulated machine for tests, and a machine whose ranks have different clocks.

use comm::{Buffer, Comm, Data, Machine, Op, Pending, PendingSum, Reduce, Refusal, Vector, Window};
use record::{Host, MachineRecord, Plan, RunRecord};
use spec::{Time, Work};
use std::sync::Mutex;
use tailback_bench::{Counters, Facts, Observer};

/// `nodes` nodes with `ranks` ranks each on one switch.
pub fn machine(nodes: usize, ranks: usize) -> sim::Simulator {
    let text = format!("nodes = {nodes}\nranks_per_node = {ranks}\n[topology]\nkind = \"single-switch\"\n");
    sim::Simulator::new(sim::Config::from_toml(&text).expect("a valid file")).expect("a valid machine")
}

pub fn facts() -> Facts {
    Facts {
        command: vec![],
        created: None,
        machine: MachineRecord::Local { host: Host::default() },
        warnings: vec![],
        node_names: vec![],
        counters: Counters::Machine,
    }
}

/// Keeps every record it is told to save.
#[derive(Default)]
pub struct Kept(pub Mutex<Vec<RunRecord>>);

impl Observer for Kept {
    fn phase(&self, _: &Plan, _: usize) {}
    fn save(&self, record: &RunRecord) {
        self.0.lock().unwrap().push(record.clone());
    }
}

/// Runs `plan` on a machine and returns the last record.
pub fn run(machine: &sim::Simulator, plan: &Plan, skew: bool) -> RunRecord {
    let kept = Kept::default();
    let body = |world: &dyn Comm| {
        let skewed;
        let world: &dyn Comm = if skew {
            skewed = Skewed { inner: world, rank: world.rank() as u64 };
            &skewed
        } else {
            world
        };
        let seat = tailback_bench::Seat::find(world);
        tailback_bench::run(world, seat, plan, &facts(), &kept);
    };
    machine.run(&body).expect("the plan runs to its end");
    let mut saved = kept.0.into_inner().unwrap();
    assert_eq!(saved.len(), plan.phases.len() + 1, "saved before the first phase and after every one");
    saved.pop().expect("at least one phase")
}

/// Another rank, another clock: an offset, and a rate that is off by up to a percent.
struct Skewed<'a> {
    inner: &'a dyn Comm,
    rank: u64,
}

struct SkewedPart<'a> {
    inner: Box<dyn Comm + 'a>,
    rank: u64,
}

fn skew(time: Time, rank: u64) -> Time {
    let drift = (rank * 7919) % 100;
    Time::from_ps(time.ps() + time.ps() / 10_000 * drift) + Time::from_us(rank * 1_234)
}

macro_rules! skewed_comm {
    ($type:ty, $self:ident, $inner:expr) => {
        impl Comm for $type {
            fn rank(&$self) -> usize { $inner.rank() }
            fn size(&$self) -> usize { $inner.size() }
            fn node(&$self) -> usize { $inner.node() }
            fn now(&$self) -> Time { skew($inner.now(), $self.rank) }
            fn exchange(&$self, ops: &mut [Op<'_>]) { $inner.exchange(ops) }
            fn begin<'a>(&'a $self, ops: Vec<Op<'a>>) -> Box<dyn Pending + 'a> { $inner.begin(ops) }
            fn compute(&$self, work: Work, f: &mut dyn FnMut()) { $inner.compute(work, f) }
            fn charge(&$self, work: Work) -> bool { $inner.charge(work) }
            fn split(&$self, color: Option<u32>, key: u32) -> Option<Box<dyn Comm + '_>> {
                let inner = $inner.split(color, key)?;
                Some(Box::new(SkewedPart { inner, rank: $self.rank }))
            }
            fn window(&$self, len: usize) -> Result<Box<dyn Window + '_>, Refusal> { $inner.window(len) }
            fn start_sum(&$self, x: f64) -> Box<dyn PendingSum + '_> { $inner.start_sum(x) }
            fn barrier(&$self) { $inner.barrier() }
            fn allreduce(&$self, values: Vector<'_>, how: Reduce) { $inner.allreduce(values, how) }
            fn alltoall(&$self, send: Data<'_>, recv: Buffer<'_>) { $inner.alltoall(send, recv) }
        }
    };
}

skewed_comm!(Skewed<'_>, self, self.inner);
skewed_comm!(SkewedPart<'_>, self, self.inner);
