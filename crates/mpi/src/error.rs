//! Why there is no MPI to run on.

use crate::Launcher;
use std::path::PathBuf;
use thiserror::Error;

/// Why the real machine could not be started. Errors after the start end the job instead: see [`crate::abort`].
#[derive(Debug, Error)]
pub enum MpiError {
    /// No library in any place.
    #[error(
        "no MPI library found; tried {tried}. Load your site's MPI module, or name the library with --mpi-lib or \
         TAILBACK_MPI_LIB=/path/to/libmpi.so.NN"
    )]
    NotFound {
        /// What was tried and what came of it.
        tried: String,
    },
    /// The library that was asked for cannot be used.
    #[error("{path} ({how}) cannot be used: {reason}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// How it was found.
        how: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// A function is missing.
    #[error("the MPI library has no symbol {symbol}; MPI 3.0 or newer is needed")]
    Symbol {
        /// The symbol.
        symbol: &'static str,
    },
    /// MPI was started in this process before, or by someone else.
    #[error("MPI is already initialised in this process; start the machine once, before anything else does")]
    Twice,
    /// MPI_Init_thread and what follows it failed.
    #[error("{call} failed with {library}: {text}")]
    Start {
        /// The MPI call.
        call: &'static str,
        /// The library.
        library: String,
        /// The library's text.
        text: String,
    },
    /// The library does not belong to the launcher, so that every process is alone.
    #[error(
        "{launcher} started {ranks} ranks ({variable}), but each is alone in the MPI library {library} ({path}, {how}): it \
         belongs to another launcher. Launch with that library's own mpirun, or name the launcher's library with --mpi-lib or \
         TAILBACK_MPI_LIB"
    )]
    WrongLibrary {
        /// Who launched.
        launcher: Launcher,
        /// How many ranks it launched.
        ranks: usize,
        /// Where the number comes from.
        variable: &'static str,
        /// The library's version.
        library: String,
        /// Its file.
        path: PathBuf,
        /// How it was found.
        how: String,
    },
}
