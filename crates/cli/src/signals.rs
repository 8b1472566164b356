//! SIGINT and SIGTERM (a walltime's end): what was measured is saved as incomplete, and the run ends on all ranks.

use crate::exit::Exit;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Calls `last_words` on the first such signal and ends the program with "incomplete", under MPI on all ranks.
pub fn on_signal(last_words: impl Fn(&str) + Send + 'static) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
            let reason = format!("stopped by {name}");
            last_words(&reason);
            end(&reason);
        }
    });
}

/// Ends the program as incomplete, on all ranks if this is an MPI job.
pub fn end(reason: &str) -> ! {
    if mpi::launched().is_some() {
        mpi::abort(Exit::Incomplete as i32, reason);
    }
    eprintln!("tailback: {reason}");
    std::process::exit(Exit::Incomplete as i32)
}
