//! The conformance list and the collectives on a machine of threads.
//!
//! Tests of what every machine must do belong in the list (`src/conformance`), not here: this tests the list itself. On a
//! machine that is right every check passes; on one that is wrong in a single way some check fails, and it is the one named.

mod machine;
mod properties;

use machine::{Fault, run, run_with};
use std::panic::catch_unwind;
use std::time::Duration;
use tailback_comm::Comm;
use tailback_comm::conformance::{ALL, Check, run_all};

fn every_check_on(size: usize) {
    run(size, &|comm| {
        let mut passed = 0;
        run_all(comm, |_| passed += 1);
        assert_eq!(passed, ALL.len());
    });
}

#[test]
fn every_check_passes_on_1_to_9_ranks() {
    for size in 1..=9 {
        every_check_on(size);
    }
}

#[test]
fn every_check_passes_on_17_ranks() {
    every_check_on(17);
}

/// Whether a machine with this fault passes a check on four ranks.
fn passes(check: &Check, fault: Fault) -> bool {
    let body = |comm: &dyn Comm| (check.run)(comm);
    catch_unwind(|| run_with(4, Some(fault), Duration::from_millis(300), &body)).is_ok()
}

/// Each fault, and the check that is there to find it.
const CATCHES: &[(Fault, &str)] = &[
    (Fault::Order, "message-order"),
    (Fault::Tags, "message-tags"),
    (Fault::FlippedByte, "message-large"),
    (Fault::LastByte, "message-large"),
    (Fault::Test, "begin-test"),
    (Fault::Drop, "begin-drop"),
    (Fault::NoColor, "split-none"),
    (Fault::Keys, "split-keys"),
    (Fault::Communicators, "split-separate"),
    (Fault::Nodes, "split-nodes"),
    (Fault::Barrier, "barrier"),
    (Fault::Bits, "allreduce-bits"),
    (Fault::Sums, "sum-pipelined"),
    (Fault::DirtyWindow, "window-zeroed"),
    (Fault::PutOffset, "window-put"),
    (Fault::Gets, "window-get"),
    (Fault::OwnWindow, "window-own"),
];

#[test]
fn each_fault_is_caught_by_the_check_that_is_there_for_it() {
    for &(fault, name) in CATCHES {
        let check = ALL.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no check is named {name}"));
        assert!(!passes(check, fault), "{name} passes on a machine with the fault {fault:?}");
    }
}

#[test]
fn faults_spare_the_checks_they_do_not_concern() {
    // Or else the test above would show only that a faulty machine fails everything.
    for (fault, name) in
        [(Fault::Sums, "message-order"), (Fault::Tags, "message-order"), (Fault::PutOffset, "allreduce")]
    {
        let check = ALL.iter().find(|check| check.name == name).expect("a check of this name");
        assert!(passes(check, fault), "{name} fails on a machine with the fault {fault:?}");
    }
}
