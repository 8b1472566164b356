//! The hosts: ranks, what messages mean to them, and what they decide together.
//!
//! ```text
//! a rank's call --> protocol --> net        net --> protocol --> order, matching --> the operation is complete
//!                      |
//!                   windows (memory for puts and gets)          meeting (splits and sums, beside the network)
//! ```
//!
//! Not for how messages travel (that is `net/`) nor for running a rank's code (that is `run/`).

mod ahead;
mod matching;
mod meeting;
mod order;
mod protocol;
mod windows;

pub(crate) use meeting::{Agreed, Join, Key, Meetings, Members, Word};
pub(crate) use protocol::{Access, Blocked, Host, Route};
pub(crate) use windows::WindowName;
