//! A run: parts on threads, window by window, and the fibers in which ranks run.
//!
//! ```text
//! machine (threads, windows) --> part (one loop over events: net, host) --> comm (what a rank's fiber calls)
//! ```
//!
//! Not for what a packet or a message does: a part hands each event to the room it belongs to.

mod ahead;
mod barrier;
mod comm;
mod machine;
mod part;

pub use machine::Simulator;
