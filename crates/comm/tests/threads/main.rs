//! The conformance list and the collectives on a machine of threads.
//!
//! Tests of what every machine must do belong in the list (`src/conformance`), not here: this tests the list itself. On a
//! machine that is right every check passes; on one that is wrong in a single way it fails. A new check needs no line here if it fails
//! where data arrive wrong; else it needs one in `CATCHES`, with the fault that it is there to find.

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

/// A check on four ranks of a machine with this fault.
fn run_check(check: &Check, fault: Fault) -> Result<(), String> {
    let machine = ThreadMachine { fault: Some(fault), ..ThreadMachine::new(4) };
    machine.run(&|comm| (check.run)(comm)).map(drop)
}

fn find(name: &str) -> &'static Check {
    ALL.iter().find(|check| check.name == name).expect("a check of this name")
}

/// A check that hangs on a wrong machine has not found the fault, nor has one that passes.
fn catches(check: &Check, fault: Fault) -> Result<(), String> {
    match run_check(check, fault) {
        Err(reason) if reason != STUCK => Ok(()),
        Err(_) => Err(format!("{} hangs on a machine with the fault {fault:?}", check.name)),
        Ok(()) => Err(format!("{} passes on a machine with the fault {fault:?}", check.name)),
    }
}

/// Each fault, and the check that is there to find it.
const CATCHES: &[(Fault, &str)] = &[
    (Fault::Order, "message-order"),
    (Fault::Tags, "message-tags"),
    (Fault::FlippedByte, "message-large"),
    (Fault::LastByte, "message-large"),
    (Fault::Test, "overlap-test"),
    (Fault::Some, "overlap-some"),
    (Fault::End, "overlap-end"),
    (Fault::Clock, "clock"),
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
        catches(find(name), fault).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// A check that cannot fail checks nothing.
fn can_fail(check: &Check) -> Result<(), String> {
    let fault = CATCHES.iter().find(|(_, name)| *name == check.name).map_or(Fault::Garbled, |(fault, _)| *fault);
    catches(check, fault)
}

#[test]
fn every_check_fails_on_a_wrong_machine() {
    for check in ALL {
        can_fail(check).unwrap_or_else(|e| panic!("{e}; give CATCHES the fault that it finds"));
    }
    let blind = Check { name: "blind", about: "Looks at nothing that arrives.", run: |comm| comm.barrier() };
    assert!(can_fail(&blind).is_err());
}

#[test]
fn faults_spare_the_checks_they_do_not_concern() {
    // Or else the test above would show only that a faulty machine fails everything.
    for (fault, name) in
        [(Fault::Sums, "message-order"), (Fault::Tags, "message-order"), (Fault::PutOffset, "allreduce")]
    {
        run_check(find(name), fault).unwrap_or_else(|reason| panic!("{name} with the fault {fault:?}: {reason}"));
    }
}
