//! What a start costs: messages per rank grow with the logarithm of the job, and only rank 0 hears host names.

mod common;

use comm::{Comm, Machine as _};
use common::wrap::{SendCounter, Wrapped};
use record::{Payload, Phase, Plan, RunRecord};
use spec::Params;
use std::sync::Mutex;
use tailback_bench::{Home, NodeFacts, Observer, Seat};

struct Nobody;

impl Observer for Nobody {
    fn phase(&self, _: &Plan, _: u32, _: usize) {}
    fn save(&self, _: &RunRecord) {}
}

/// The groups of `run gpcnet` with kernels that send nothing: what is left is what starting, dividing and collecting cost.
fn silent(nodes: u32, ranks: u32) -> Plan {
    let plan = common::plan("gpcnet", nodes, ranks, &[("cut", "1000"), ("placements", "1")]);
    let quiet = |mut phase: Phase| {
        for job in &mut phase.jobs {
            (job.kernel, job.params) = ("pause".into(), Params::from([("time".into(), "1us".into())]));
            (job.stop.blocks, job.stop.steps, job.stop.warmup, job.stop.time_s) = (1, 1, 0, None);
        }
        phase
    };
    let phases = [0, 3].map(|index| quiet(plan.phases[index].clone()));
    Plan { phases: phases.into(), payload: Payload::Lengths, ..plan }
}

/// The most messages that a rank sends from its start to the end of a run that measures nothing, and how many nodes' names each heard.
fn cost(nodes: u32, ranks: u32) -> (u64, Vec<usize>) {
    let plan = silent(nodes, ranks);
    let (most, names) = (Mutex::new(0), Mutex::new(vec![0; (nodes * ranks) as usize]));
    let body = |world: &dyn Comm| {
        let sent = SendCounter::default();
        let counted = Wrapped::new(world, &sent);
        let seat = Seat::find(&counted);
        let home = |node: u32| Some(Home { switch: node / 3, group: (node != 1).then_some(node / 9) });
        let seat = Seat { home: home(seat.node), ..seat };
        let heard = seat.nodes(&counted, &format!("node-{}", seat.node));
        let right = |(n, node): (u32, &NodeFacts)| node.name == format!("node-{n}") && node.home == home(n);
        assert!((0..).zip(&heard).all(right), "{heard:?}");
        names.lock().unwrap()[world.rank()] = heard.len();
        tailback_bench::run(&counted, seat, &plan, &common::facts(), &Nobody);
        let mut most = most.lock().unwrap();
        *most = sent.0.get().max(*most);
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
