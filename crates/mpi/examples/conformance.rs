//! Runs the conformance list on real MPI: `mpirun -n 3 conformance`. `scripts/mpi-conformance` runs it on what is installed.
//!
//! Rank 0 prints the machine's facts on stderr and one line on stdout: `N passed, 0 failed`. A check that fails panics, which
//! ends the job on all ranks.

use comm::{Machine as _, conformance};
use std::sync::atomic::{AtomicUsize, Ordering};
use tailback_mpi::{MpiError, MpiMachine, abort, find};

fn main() {
    if let Err(error) = run() {
        eprintln!("tailback: {error}");
        std::process::exit(1);
    }
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
