//! Counters around phases, on the simulated machine and from a made-up host.

mod common;

use record::{Plan, Role};
use tailback_bench::{Counters, Seat};

fn plan(nodes: u32, ranks: u32, given: &[(&str, &str)]) -> Plan {
    let quick = [("rounds", "6"), ("cut", "50"), ("time", "10ms"), ("canaries", "p2p-lat"), ("placements", "1")];
    common::plan("gpcnet", nodes, ranks, &[&quick, given].concat())
}

#[test]
fn every_node_counts_for_the_job_it_ran() {
    let record = common::run(&common::machine(12, 2), &plan(12, 2, &[]), false);
    let [isolated, loaded] = &record.phases[..] else { panic!("two phases") };
    let nodes = |phase: &record::PhaseRecord, job: &str| {
        let of_job = phase.counters.iter().find(|c| c.job == job && c.name == "machine.nic0.tx_bytes");
        of_job.map(|c| c.per_node.len())
    };
    assert_eq!((nodes(isolated, "p2p-lat"), nodes(isolated, "idle")), (Some(3), Some(9)));
    assert_eq!(nodes(loaded, "idle"), None);
    for job in &loaded.jobs {
        let sent = loaded.counters.iter().find(|c| c.job == job.name && c.name == "machine.nic0.tx_bytes").unwrap();
        assert_eq!(sent.per_node.len() as u32 * 2, job.ranks, "{}", job.name);
        assert_eq!(loaded.counted[&sent.job].len(), sent.per_node.len(), "every value has its node");
        assert!(loaded.counted[&sent.job].is_sorted());
        // A get-bcast's bytes are sent by one node; every job's timed bytes have left its nodes.
        let total: u64 = sent.per_node.iter().sum();
        assert!(total >= job.bytes, "{}: {total} of {}", job.name, job.bytes);
        if job.role == Role::Background {
            assert!(total > 0);
        }
    }
    // Idle nodes sent nothing but the messages of barriers.
    let idle = isolated.counters.iter().find(|c| c.job == "idle" && c.name == "machine.nic0.tx_bytes").unwrap();
    assert!(idle.per_node.iter().all(|b| *b < 10_000), "{idle:?}");
}

#[test]
fn a_node_that_runs_two_jobs_is_counted_for_both() {
    let given = [("congestors-on", "same"), ("congestors", "a2a")];
    let record = common::run(&common::machine(4, 2), &plan(4, 2, &given), false);
    let loaded = record.phases.last().unwrap();
    assert!(!loaded.counters.is_empty());
    assert!(loaded.counters.iter().all(|c| c.job == "p2p-lat+a2a" && c.per_node.len() == 4), "{:?}", loaded.counters);
}

/// Ranks that count as nodes still share their node's counters: each node is read once.
#[test]
fn nodes_are_read_once_whatever_counts_as_a_node() {
    let (machine, plan) = (common::machine(2, 2), plan(4, 1, &[]));
    let kept = common::Kept::default();
    let body = |world: &dyn comm::Comm| {
        let seat = Seat::each_rank_a_node(world);
        tailback_bench::run(world, seat, &plan, &common::facts(), &kept);
    };
    comm::Machine::run(&machine, &body).unwrap();
    let record = kept.0.into_inner().unwrap().pop().unwrap();
    for phase in &record.phases {
        let of_one = phase.counters.iter().filter(|c| c.name == "machine.nic0.tx_bytes");
        assert_eq!(of_one.map(|c| c.per_node.len()).sum::<usize>(), 2, "{}", phase.name);
    }
}

#[test]
fn counters_that_do_not_move_are_not_recorded() {
    let root = std::env::temp_dir().join(format!("tailback-still-{}", std::process::id()));
    let folder = root.join("sys/class/net/eth0/statistics");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("tx_bytes"), "12\n").unwrap();
    let facts = tailback_bench::Facts { counters: Counters::Host(root.clone()), ..common::facts() };
    let (machine, plan, kept) = (common::machine(4, 1), plan(4, 1, &[]), common::Kept::default());
    let body = |world: &dyn comm::Comm| {
        drop(tailback_bench::run(world, Seat::find(world), &plan, &facts, &kept));
    };
    comm::Machine::run(&machine, &body).unwrap();
    std::fs::remove_dir_all(&root).unwrap();
    let record = kept.0.into_inner().unwrap().pop().unwrap();
    assert!(record.phases.iter().all(|p| p.counters.is_empty()));
}
