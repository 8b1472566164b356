//! Every kernel whose steps can be made in turns gives the same to the bit as its blocking steps.

mod common;

use comm::{Comm, Machine, Op};
use common::wrap::{Blocking, Wrapped};
use record::{Layout, Metric, Payload, RunRecord, Verdict};
use sim::{PortCounters, Stats};
use spec::{Card, Params, Time, Work};
use std::sync::Mutex;
use tailback_bench::kernel::{Traits, Turn, make_steps};
use tailback_bench::{Arithmetic, KERNELS, Kernel, Pattern, Seat, Setup, Site, called, suite};

const STEPS: u32 = 5;

/// When each step of a rank was over, and what it did.
type Stamps = Vec<(Time, Option<Work>)>;

/// What every rank did; what the network did.
#[derive(Debug, PartialEq)]
struct Ran {
    steps: Vec<(usize, Stamps)>,
    stats: Stats,
    ports: Vec<PortCounters>,
}

/// Two blocks of a kernel without data, on nodes of three ranks. Whether they could be made in turns, and what came of them; none if it
/// refuses to run.
fn ran(kernel: &Kernel, params: &Params, ranks: usize, in_turns: bool) -> Result<Option<(bool, Ran)>, String> {
    let machine = common::machine(ranks.div_ceil(3), 3.min(ranks));
    let (kept, turns) = (Mutex::new(Vec::new()), Mutex::new(true));
    let body = |world: &dyn Comm| {
        let blocking = Wrapped::new(world, &Blocking);
        let here: &dyn Comm = if in_turns { world } else { &blocking };
        let setup = Setup { seed: 7, payload: Payload::Lengths, ..Setup::new(here, params, Arithmetic::on(here)) };
        let Ok(mut pattern) = (kernel.start)(setup) else { return };
        let mut stamps = Vec::new();
        for round in 0..2 {
            pattern.arrange(round);
            pattern.renew(STEPS);
            *turns.lock().unwrap() &= pattern.in_turns();
            #[expect(clippy::disallowed_methods, reason = "when a step is over is what is compared")]
            make_steps(here, &mut *pattern, STEPS, |done| stamps.push((world.now(), done)));
        }
        drop(pattern);
        kept.lock().unwrap().push((world.rank(), stamps));
    };
    machine.run(&body).map_err(|e| e.to_string())?;
    let mut steps = kept.into_inner().unwrap();
    steps.sort_by_key(|(rank, _)| *rank);
    let ran = Ran { steps, stats: machine.stats(), ports: machine.ports() };
    Ok((!ran.steps.is_empty()).then(|| (turns.into_inner().unwrap(), ran)))
}

/// Whether a kernel's steps can be made in turns; an error if that changes anything.
fn check(kernel: &Kernel, given: &[(&str, &str)]) -> Result<bool, String> {
    let params = kernel.card.resolve(&common::params(given)).map_err(|e| e.to_string())?;
    let mut all = true;
    for ranks in [2, 3, 6, 9, 12] {
        let Some((true, turns)) = ran(kernel, &params, ranks, true)? else {
            all = false;
            continue;
        };
        let (_, calls) = ran(kernel, &params, ranks, false)?.ok_or("refuses to run")?;
        if turns != calls {
            let first = turns.steps.iter().zip(&calls.steps).find(|(a, b)| a != b);
            return Err(format!("{ranks} ranks in turns differ from those that wait, first in {first:?}"));
        }
    }
    Ok(all)
}

#[test]
fn every_kernel_is_the_same_in_turns() {
    common::install_shell();
    let mut in_turns = Vec::new();
    for kernel in KERNELS {
        for (name, preset) in kernel.names() {
            match check(kernel, &[kernel.traits.tiny, preset].concat()) {
                Ok(true) => in_turns.push(name),
                Ok(false) => (),
                Err(why) => panic!("{name}: {why}"),
            }
        }
    }
    // Whatever GPCNeT runs by default, or most of its time would be spent on stacks.
    for name in ["p2p-lat", "p2p-bw-sync", "allreduce", "a2a", "p2p-incast", "put-incast", "get-bcast"] {
        assert!(in_turns.contains(&name), "{name} is not among {in_turns:?}");
    }
}

/// A whole run without data: canaries alone and beside loads in bursts, on a machine whose ranks are in turns or not.
fn whole(in_turns: bool) -> (RunRecord, Stats) {
    let given = [
        ("canaries", "p2p-lat,p2p-bw-sync:32KiB,allreduce"),
        ("congestors", "a2a,p2p-incast,put-incast,get-bcast"),
        ("burst", "200us"),
        ("rest", "50us"),
        ("time", "2ms"),
        ("placements", "1"),
    ];
    let (nodes, ranks) = (15, 2);
    let site = Site::new(Layout::even(nodes, ranks), false);
    let suite = suite("gpcnet").expect("it is in the table");
    let plan = suite.plan_on(&common::params(&given), &site, 3, Payload::Lengths).expect("it can be planned");
    let machine = common::machine(nodes as usize, ranks as usize);
    let kept = common::Kept::default();
    let body = |world: &dyn Comm| {
        let blocking = Wrapped::new(world, &Blocking);
        let here: &dyn Comm = if in_turns { world } else { &blocking };
        tailback_bench::run(here, Seat::find(here), &plan, &common::facts(), &kept);
    };
    machine.run(&body).expect("the plan runs to its end");
    (kept.0.into_inner().unwrap().pop().expect("at least one phase"), machine.stats())
}

#[test]
fn a_whole_run_is_the_same_in_turns() {
    let ((turns, after), (calls, then)) = (whole(true), whole(false));
    assert_eq!(after, then);
    assert_eq!(serde_json::to_string(&turns).unwrap(), serde_json::to_string(&calls).unwrap());
    let loaded = |p: &record::PhaseRecord| p.jobs.iter().filter(|j| j.role == record::Role::Background).count();
    assert!(turns.phases.iter().any(|p| loaded(p) == 4), "nothing was loaded");
}

/// A kernel that says that its steps can be made in turns, and what each turn does.
struct Claims<'c> {
    comm: &'c dyn Comm,
    turn: fn(&dyn Comm),
}

impl Pattern for Claims<'_> {
    fn arrange(&mut self, _: u64) {}
    fn step(&mut self) -> Option<Work> {
        (self.turn)(self.comm);
        Some(Work::messages(1, 24))
    }
    fn in_turns(&self) -> bool {
        true
    }
    fn turn(&mut self) -> Turn {
        Turn::Last(self.step())
    }
    fn verify(&mut self) -> Verdict {
        Verdict::Right { checked: 0 }
    }
}

fn entry(name: &'static str, start: tailback_bench::kernel::Start) -> Kernel {
    let card = Card { name, ..called("p2p-lat").expect("it is in the table").kernel.card };
    Kernel { card, metric: Metric::Latency, min_ranks: 2, traits: Traits::PLAIN, start }
}

/// An exchange with both neighbours.
fn exchange(comm: &dyn Comm) {
    let (me, n) = (comm.rank(), comm.size());
    let into = comm::Buffer::Len(24);
    let data = comm::Data::Len(24);
    comm.exchange(&mut [
        Op::Recv { from: (me + n - 1) % n, tag: 1, into },
        Op::Send { to: (me + 1) % n, tag: 1, data },
    ]);
}

/// A kernel whose steps are turns that do this.
macro_rules! claims {
    ($name:literal, $turn:expr) => {
        entry($name, |setup| Ok(Box::new(Claims { comm: setup.comm, turn: $turn })))
    };
}

#[test]
fn kernels_that_only_claim_it_are_caught() {
    assert_eq!(check(&claims!("sound", exchange), &[]), Ok(true));
    let wrong = [
        (
            "differ",
            claims!("busy", |comm| {
                exchange(comm);
                comm.charge(Work::flops(1_000 * (1 + comm.rank() as u64)));
            }),
        ),
        ("a turn waits once", claims!("hasty", |comm| (0..2).for_each(|_| exchange(comm)))),
        (
            "can only say that it waits",
            claims!("social", |comm| {
                comm.start_sum(1.0).wait();
                exchange(comm);
            }),
        ),
        (
            "a message of a turn has data",
            claims!("heavy", |comm| {
                let (me, n) = (comm.rank(), comm.size());
                let mut into = [0; 24];
                let (from, to) = ((me + n - 1) % n, (me + 1) % n);
                comm.exchange(&mut [Op::recv(from, 1, &mut into), Op::send(to, 1, &[1; 24])]);
            }),
        ),
    ];
    for (what, kernel) in wrong {
        let said = check(&kernel, &[]).expect_err(what);
        assert!(said.contains(what), "{}: {said}", kernel.card.name);
    }
}
