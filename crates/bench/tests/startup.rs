//! What a start costs: messages per rank grow with the logarithm of the job, and only rank 0 hears host names.

mod common;

use comm::{Comm, Machine as _, Node, Op, Pending, PendingSum, Rank, Refusal, Window};
use record::{Layout, Payload, Phase, Plan, RunRecord};
use spec::{Params, Time, Work};
use std::cell::Cell;
use std::sync::Mutex;
use tailback_bench::{Observer, Seat, Site, suite};

/// A communicator that counts what its rank sends. A split counts as an all-gather by recursive doubling, which is how MPI
/// libraries find the new groups.
struct Counted<'a> {
    inner: Inner<'a>,
    sent: &'a Cell<u64>,
}

/// The world is lent, its parts are owned.
enum Inner<'a> {
    World(&'a dyn Comm),
    Part(Box<dyn Comm + 'a>),
}

impl<'a> std::ops::Deref for Inner<'a> {
    type Target = dyn Comm + 'a;
    fn deref(&self) -> &(dyn Comm + 'a) {
        match self {
            Inner::World(world) => *world,
            Inner::Part(part) => &**part,
        }
    }
}

impl Counted<'_> {
    fn count(&self, ops: &[Op<'_>]) {
        let sends = ops.iter().filter(|op| matches!(op, Op::Send { .. })).count() as u64;
        self.sent.set(self.sent.get() + sends);
    }
    fn rounds(&self) -> u64 {
        u64::from(self.inner.size().next_power_of_two().ilog2())
    }
}

impl Comm for Counted<'_> {
    fn rank(&self) -> Rank {
        self.inner.rank()
    }
    fn size(&self) -> usize {
        self.inner.size()
    }
    fn node(&self) -> Node {
        self.inner.node()
    }
    fn now(&self) -> Time {
        self.inner.now()
    }
    fn exchange(&self, ops: &mut [Op<'_>]) {
        self.count(ops);
        self.inner.exchange(ops);
    }
    fn begin<'a>(&'a self, ops: Vec<Op<'a>>) -> Box<dyn Pending + 'a> {
        self.count(&ops);
        self.inner.begin(ops)
    }
    fn compute(&self, work: Work, f: &mut dyn FnMut()) {
        self.inner.compute(work, f);
    }
    fn charge(&self, work: Work) -> bool {
        self.inner.charge(work)
    }
    fn pause(&self, time: Time) {
        self.inner.pause(time);
    }
    fn split(&self, color: Option<u32>, key: u32) -> Option<Box<dyn Comm + '_>> {
        self.sent.set(self.sent.get() + self.rounds());
        let inner = Inner::Part(self.inner.split(color, key)?);
        Some(Box::new(Counted { inner, sent: self.sent }))
    }
    fn window(&self, len: usize) -> Result<Box<dyn Window + '_>, Refusal> {
        self.inner.window(len)
    }
    fn start_sum(&self, x: f64) -> Box<dyn PendingSum + '_> {
        self.sent.set(self.sent.get() + self.rounds());
        self.inner.start_sum(x)
    }
}

struct Nobody;

impl Observer for Nobody {
    fn phase(&self, _: &Plan, _: usize) {}
    fn save(&self, _: &RunRecord) {}
}

/// The groups of `run gpcnet` with kernels that send nothing: what is left is what starting, dividing and collecting cost.
fn silent(nodes: u32, ranks: u32) -> Plan {
    let suite = suite("gpcnet").unwrap();
    let params = suite.card.resolve(&Params::from([("cut".into(), "1000".into())])).unwrap();
    let layout = Layout::even(nodes, ranks);
    let plan = suite.plan_on(&params, &Site::new(layout, false), 1, Payload::Lengths).unwrap();
    let quiet = |mut phase: Phase| {
        for job in &mut phase.jobs {
            (job.kernel, job.params) = ("pause".into(), Params::from([("time".into(), "1us".into())]));
            (job.stop.blocks, job.stop.steps, job.stop.warmup, job.stop.time_s) = (1, 1, 0, None);
        }
        phase
    };
    let phases = [0, 3].map(|index| quiet(plan.phases[index].clone()));
    Plan { phases: phases.into(), ..plan }
}

/// The most messages that a rank sends from its start to the end of a run that measures nothing, and how many nodes' names each heard.
fn cost(nodes: u32, ranks: u32) -> (u64, Vec<usize>) {
    let plan = silent(nodes, ranks);
    let (most, names) = (Mutex::new(0), Mutex::new(vec![0; (nodes * ranks) as usize]));
    let body = |world: &dyn Comm| {
        let sent = Cell::new(0);
        let counted = Counted { inner: Inner::World(world), sent: &sent };
        let seat = Seat::find(&counted);
        let heard = seat.names(&counted, &format!("node-{}", seat.node));
        assert!(heard.iter().enumerate().all(|(node, name)| *name == format!("node-{node}")), "{heard:?}");
        names.lock().unwrap()[world.rank()] = heard.len();
        tailback_bench::run(&counted, seat, &plan, &common::facts(), &Nobody);
        let mut most = most.lock().unwrap();
        *most = sent.get().max(*most);
    };
    common::machine(nodes as usize, ranks as usize).run(&body).expect("it runs to its end");
    (most.into_inner().unwrap(), names.into_inner().unwrap())
}

#[test]
fn a_start_costs_each_rank_messages_by_the_logarithm_of_the_job() {
    let costs = [(250, 2), (1000, 2), (4000, 2)].map(|(nodes, ranks)| cost(nodes, ranks).0);
    println!("most messages of a rank on 250, 1000 and 4000 nodes of 2 ranks: {costs:?}");
    // Four times the nodes are two more rounds of every collective: the same few messages more at each step, not four times as many.
    let steps = [costs[1] - costs[0], costs[2] - costs[1]];
    assert!(steps[1] <= steps[0] + steps[0] / 2 && costs[2] < costs[0] * 3 / 2, "{costs:?}");
}

#[test]
fn host_names_reach_the_first_rank_alone() {
    let (_, heard) = cost(40, 3);
    assert_eq!((heard[0], heard[1..].iter().sum::<usize>()), (40, 0));
}

#[test]
fn slots_are_dealt_over_the_parts_of_a_node() {
    let slots = Mutex::new(vec![(0, 0); 12]);
    let body = |world: &dyn Comm| {
        // Of six ranks of a node, the first four are on part 7 and the others on part 2; node 1 has all on one part.
        let seat = Seat::find(world);
        let part = if seat.node == 1 || seat.slot < 4 { 7 } else { 2 };
        let (seat, most) = seat.spread(world, part);
        assert_eq!((seat.layout.parts_per_node, most), (1, 2));
        slots.lock().unwrap()[world.rank()] = (seat.node, seat.slot);
    };
    common::machine(2, 6).run(&body).unwrap();
    let slots = slots.into_inner().unwrap();
    assert_eq!(slots[..6], [(0, 1), (0, 3), (0, 4), (0, 5), (0, 0), (0, 2)]);
    assert_eq!(slots[6..], [(1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5)]);
}
