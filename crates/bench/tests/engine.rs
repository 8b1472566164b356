//! The engine on the simulated machine: plans, roles, stop rules, clocks that differ, and records that repeat.

mod common;

use common::plan;
use record::{Ended, Job, Plan, Role, Status, Verdict};
use tailback_bench::Stage;

const QUICK: &[(&str, &str)] = &[("rounds", "6"), ("cut", "50"), ("time", "10ms"), ("placements", "2")];

#[test]
fn gpcnet_measures_canaries_alone_and_under_load() {
    let record = common::run(&common::machine(10, 2), &plan("gpcnet", 10, 2, QUICK), false);
    assert_eq!(record.status, Status::Complete);
    assert_eq!(record.phases.len(), 6);
    for phase in &record.phases {
        let loaded = phase.name.starts_with("loaded/");
        assert_eq!(phase.jobs.len(), if loaded { 5 } else { 1 }, "{}", phase.name);
        for job in &phase.jobs {
            assert_eq!(job.skipped, None);
            assert_eq!(job.ranks, 4, "{} in {}: two nodes of two ranks", job.name, phase.name);
            assert!(job.summary.samples > 0 && job.summary.mean > 0.0, "{} in {}", job.name, phase.name);
            assert!(matches!(job.verdict, Verdict::Right { .. }), "{:?}", job.verdict);
            let ended = if job.role == Role::Background { Ended::WithMeasured } else { Ended::Count };
            assert_eq!(job.ended, ended, "{} in {}", job.name, phase.name);
        }
    }
}

/// Congestors load the network from before the first sample to after the last.
#[test]
fn background_jobs_outlast_the_measured_one() {
    let record = common::run(&common::machine(10, 1), &plan("gpcnet", 10, 1, QUICK), false);
    for phase in record.phases.iter().filter(|p| p.name.starts_with("loaded/")) {
        let measured = phase.jobs.iter().find(|j| j.role == Role::Measured).unwrap();
        for load in phase.jobs.iter().filter(|j| j.role == Role::Background) {
            assert!(load.elapsed_s >= measured.elapsed_s, "{} in {}", load.name, phase.name);
        }
    }
}

/// Ranks whose clocks differ must still agree on every step count: a disagreement deadlocks, and the simulator says so.
#[test]
fn clocks_that_differ_change_nothing_that_is_agreed() {
    let mut plan = plan("gpcnet", 10, 2, QUICK);
    for job in plan.phases.iter_mut().flat_map(|p| &mut p.jobs).filter(|j| j.role == Role::Measured) {
        // A tight time limit makes every block depend on the clock.
        job.stop = record::Stop { warmup: 20, steps: 100, blocks: 1000, time_s: Some(2e-4), ..job.stop.clone() };
    }
    let record = common::run(&common::machine(10, 2), &plan, true);
    assert_eq!(record.status, Status::Complete);
    assert!(record.phases.iter().flat_map(|p| &p.jobs).any(|j| j.ended == Ended::Time));
    assert!(record.phases.iter().flat_map(|p| &p.jobs).any(|j| !j.notes.is_empty()), "some block was cut");
}

#[test]
fn precision_stops_a_canary_that_is_known_well_enough() {
    let given = [
        ("rounds", "5000"),
        ("cut", "50"),
        ("time", "1s"),
        ("precision", "5%"),
        ("canaries", "p2p-lat"),
        ("placements", "1"),
    ];
    let record = common::run(&common::machine(4, 1), &plan("gpcnet", 4, 1, &given), false);
    let alone = &record.phases[0].jobs[0];
    assert_eq!(alone.ended, Ended::Precision);
    let tail = alone.summary.quantile(0.99).unwrap();
    assert!(tail.interval.unwrap().relative(tail.value) <= 0.05);
    assert!(alone.batches.batches.iter().map(|b| b.blocks).sum::<f64>() < 5000.0);
}

#[test]
fn one_seed_one_record() {
    let plan = plan("gpcnet", 10, 2, QUICK);
    let bytes = |p: &Plan| serde_json::to_vec(&common::run(&common::machine(10, 2), p, false)).unwrap();
    let first = bytes(&plan);
    assert_eq!(first, bytes(&plan));
    let other = Plan { seed: 4, ..plan };
    assert_ne!(first, bytes(&other));
}

/// A test covers the same nodes and the same rings alone and under load, in every placement; so where the load is nothing, so is its effect.
#[test]
fn placements_are_paired() {
    let given = [QUICK, &[("placements", "4"), ("rounds", "12"), ("congestors", "null")]].concat();
    let record = common::run(&common::machine(10, 2), &plan("gpcnet", 10, 2, &given), false);
    let (alone, loaded) = record.phases.split_at(3);
    for (a, b) in alone.iter().zip(loaded) {
        let (a, b) = (&a.jobs[0], &b.jobs[0]);
        assert_eq!(a.placements.len(), 4);
        let blocks: Vec<u64> = a.placements.iter().map(|p| p.summary.blocks / u64::from(a.ranks)).collect();
        assert_eq!(blocks, [3; 4], "{}", a.name);
        for (placement, a, b) in a.paired(b) {
            assert_eq!((a.mean, &a.quantiles), (b.mean, &b.quantiles), "placement {placement}");
        }
    }
}

/// Placements that ran one by one, each on a machine of its own, are put together to the same kind of record.
#[test]
fn placements_of_several_machines_make_one_record() {
    let plan = plan("gpcnet", 10, 2, QUICK);
    let one = |placement: u32| {
        let kept = common::Kept::default();
        let body = |world: &dyn comm::Comm| {
            let (seat, facts) = (tailback_bench::Seat::find(world), common::facts());
            let stage = Stage { world, seat, facts: &facts, observer: &kept, placement: Some(placement) };
            let site = tailback_bench::Site::new(seat.layout, true);
            tailback_bench::drive(stage, &plan, &site, plan.clone().into()).unwrap();
        };
        comm::Machine::run(&common::machine(10, 2), &body).unwrap();
        kept.0.into_inner().unwrap().pop().unwrap()
    };
    let mut all = record::RunRecord { phases: Vec::new(), ..one(0) };
    all.take_part(0, 0, one(0));
    all.take_part(0, 1, one(1));
    let together = common::run(&common::machine(10, 2), &plan, false);
    for (a, b) in all.phases.iter().zip(&together.phases) {
        let (a, b) = (&a.jobs[0], &b.jobs[0]);
        assert_eq!((a.placements.len(), a.summary.samples), (b.placements.len(), b.summary.samples), "{}", a.name);
        assert_eq!(a.samples.len(), a.summary.samples);
    }
    // Placements that are all alike would be one.
    assert_ne!(one(0).phases[0].counted, one(1).phases[0].counted, "the nodes of the roles");
}

/// A plan may put jobs anywhere; a job without a single rank on this layout is reported, not waited for.
#[test]
fn a_job_that_is_too_small_is_skipped_with_a_reason() {
    let mut plan = plan("network", 4, 1, &QUICK[..3]);
    plan.phases.truncate(1);
    let lone =
        |job: &mut Job| job.members = record::Members::Block { first_node: 0, nodes: 1, first_slot: 0, slots: None };
    lone(&mut plan.phases[0].jobs[0]);
    let record = common::run(&common::machine(4, 1), &plan, false);
    let job = &record.phases[0].jobs[0];
    assert_eq!(job.ended, Ended::Skipped);
    assert!(job.skipped.as_ref().unwrap().contains("needs 2 ranks"), "{:?}", job.skipped);
}
