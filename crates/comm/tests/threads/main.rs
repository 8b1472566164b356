//! The conformance list and the collectives on a machine of threads.
//!
//! Tests of what every machine must do belong in the list (`src/conformance`), not here: this tests the list itself. On a
//! machine that is right every check passes; on one that is wrong in a single way some check fails, and it is the one named.

mod machine;
mod properties;
mod traffic;

use machine::{Fault, STUCK, ThreadMachine};
use tailback_comm::conformance::{ALL, Check, run_all};

fn every_check_on(machine: ThreadMachine) {
    let size = machine.size;
    let run = machine.run(&|comm| {
        let mut passed = 0;
        run_all(comm, |_| passed += 1);
        assert_eq!(passed, ALL.len());
    });
    if let Err(reason) = run {
        panic!("on {size} ranks: {reason}");
    }
}

#[test]
fn every_check_passes_on_1_to_9_ranks() {
    (1..=9).for_each(|size| every_check_on(ThreadMachine::new(size)));
}

#[test]
fn every_check_passes_on_17_ranks() {
    every_check_on(ThreadMachine::new(17));
}

#[test]
fn every_check_passes_where_a_send_waits_for_its_receive() {
    (1..=9).for_each(|size| every_check_on(ThreadMachine { synchronous: true, ..ThreadMachine::new(size) }));
}

#[test]
fn every_check_passes_where_windows_are_refused() {
    every_check_on(ThreadMachine { windows: false, ..ThreadMachine::new(3) });
}

/// The check of this name, on four ranks of a machine with this fault.
fn run_check(name: &str, fault: Fault) -> Result<(), String> {
    let check: &Check = ALL.iter().find(|check| check.name == name).expect("a check of this name");
    let machine = ThreadMachine { fault: Some(fault), ..ThreadMachine::new(4) };
    machine.run(&|comm| (check.run)(comm)).map(drop)
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
        let reason = run_check(name, fault).expect_err(&format!("{name} passes on a machine with the fault {fault:?}"));
        // A check that hangs on a wrong machine has not found the fault.
        assert_ne!(reason, STUCK, "{name} on a machine with the fault {fault:?}");
    }
}

#[test]
fn faults_spare_the_checks_they_do_not_concern() {
    // Or else the test above would show only that a faulty machine fails everything.
    for (fault, name) in
        [(Fault::Sums, "message-order"), (Fault::Tags, "message-order"), (Fault::PutOffset, "allreduce")]
    {
        run_check(name, fault).unwrap_or_else(|reason| panic!("{name} with the fault {fault:?}: {reason}"));
    }
}
