//! Runs the conformance list on real MPI: `mpirun -n 3 conformance`. `scripts/mpi-conformance` runs it on what is installed.
//!
//! Before the list it checks what only a machine whose library writes into buffers by itself must do.
//!
//! Rank 0 prints the machine's facts on stderr and one line on stdout: `N passed, 0 failed`. A check that fails panics, which
//! ends the job on all ranks.

use comm::{Comm, Machine as _, Op, conformance, overlap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use tailback_mpi::{MpiError, MpiMachine, abort, find};

fn main() {
    if let Err(error) = run() {
        tailback_mpi::say(format_args!("tailback: {error}"));
        std::process::exit(1);
    }
}

/// Operations are waited for also when the work beside them unwinds: their buffers are gone soon after.
fn unwinding_waits(comm: &dyn Comm) {
    // Far more than any library sends before the receiver asks for it.
    const LONG: usize = 16 << 20;
    let (me, size) = (comm.rank(), comm.size());
    let (next, previous) = ((me + 1) % size, (me + size - 1) % size);
    let sent = vec![me as u8 + 1; LONG];
    let mut got = vec![0; LONG];
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        overlap(comm, |pending| {
            pending.start(vec![Op::recv(previous, 1, &mut got), Op::send(next, 1, &sent)]);
            // Not a panic, which would end the job before anything is unwound.
            resume_unwind(Box::new(()));
        });
    }));
    assert!(unwound.is_err(), "rank {me}: the work's end was swallowed");
    assert!(got.iter().all(|&byte| byte == previous as u8 + 1), "rank {me}: a receive was left under way");
}

fn run() -> Result<(), MpiError> {
    let machine = MpiMachine::start(&find(None)?)?;
    let facts = machine.facts().clone();
    if facts.rank == 0 {
        eprintln!("{facts:#?}");
    }
    let passed = AtomicUsize::new(0);
    let done = machine.run(&|comm| {
        // The list passes over windows where there are none, so say whether there are.
        if let Err(refusal) = comm.window(8).map(drop)
            && comm.rank() == 0
        {
            eprintln!("no windows: {}", refusal.0);
        }
        unwinding_waits(comm);
        conformance::run_all(comm, |check| {
            passed.fetch_add(1, Ordering::Relaxed);
            if comm.rank() == 0 {
                eprintln!("ok {} ({})", check.name, check.about);
            }
        });
    });
    if let Err(error) = done {
        abort(1, &error.to_string());
    }
    drop(machine);
    let (passed, all) = (passed.into_inner(), conformance::ALL.len());
    if facts.rank == 0 {
        println!(
            "{passed} passed, {} failed: {} ranks of {} ({})",
            all - passed,
            facts.ranks,
            facts.library,
            facts.abi
        );
    }
    if passed < all {
        std::process::exit(1);
    }
    Ok(())
}
