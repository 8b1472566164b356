//! SIGINT and SIGTERM (a walltime's end): what was measured is saved as incomplete, and the run ends on all ranks.

use crate::exit::Exit;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Calls `last_words` on every such signal. Unless it answers that the run will end by itself, the program ends with
/// "incomplete", under MPI on all ranks.
pub fn on_signal(last_words: impl Fn(&str) -> Wait + Send + 'static) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
            let reason = format!("stopped by {name}");
            if let Wait::No(reason) = last_words(&reason) {
                if mpi::launched().is_some() {
                    mpi::leave(Exit::Incomplete as i32, &reason);
                }
                end(&reason);
            }
        }
    });
}

/// Whether a run ends by itself after a signal.
pub enum Wait {
    /// It has been asked to and will.
    Yes,
    /// It must be ended, for this reason.
    No(String),
}

/// Ends the program as incomplete, on all ranks if this is an MPI job.
pub fn end(reason: &str) -> ! {
    if mpi::launched().is_some() {
        mpi::abort(Exit::Incomplete as i32, reason);
    }
    mpi::say(format_args!("tailback: {reason}"));
    std::process::exit(Exit::Incomplete as i32)
}
