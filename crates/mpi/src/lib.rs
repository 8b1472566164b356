//! The real machine: [`comm::Comm`] over the site's own MPI library, which is found and opened when the program runs.
//!
//! Nothing of MPI is needed to build this, and one program runs on every MPI of a site. [`find()`] finds the library and
//! says how; [`MpiMachine::start`] starts it. The layers, from below:
//!
//! ```text
//! abi           handle types and constants of the three binary interfaces
//! table         typed functions, looked up in the loaded library; generic over the interface
//! communicator  Comm: messages and collectives         pending, window: operations under way, remote memory
//! machine       start, facts, end                      begin, abort: who watches the start, and the early end
//! ```
//!
//! Calls do not fail: an error of MPI's is printed with the call and the rank, and ends the job on all ranks, as does a
//! panic on one of them. The exception is a window, which may be refused.
//!
//! This crate contains unsafe code, because it calls C. Not for use from several threads: MPI is started for one thread
//! (MPI_THREAD_SINGLE, as by the benchmarks that results are compared with); only [`abort()`] may come from another.

mod abi;
mod abort;
mod begin;
mod communicator;
mod context;
mod error;
mod find;
mod launch;
mod machine;
mod node;
mod pending;
mod scratch;
mod table;
mod window;
mod yardstick;

pub use abi::Kind;
pub use abort::{abort, end_within, leave, say, tell_before_end};
pub use begin::{Start, begun, watch_start};
pub use error::MpiError;
pub use find::{Found, find};
pub use launch::{Launch, Launcher, launched, rank, rank_in};
pub use machine::{Facts, MpiMachine};
