//! Calibration: the numbers of a machine from what was measured on it.
//!
//! A simulated machine is run through the plan that was measured; its numbers are moved until it gives what the machine gave. What is
//! compared are logarithms, so a latency and a rate count alike, each by how well it is known.
//!
//! | module | what it does |
//! |---|---|
//! | [`mod@seen`] | what a record says, one number for each job, and which of them are held back |
//! | [`mod@fit`] | least squares between what was seen and what a simulation gives; which numbers the data tell, and how well |
//! | `search` | the steps of a fit, by as few simulations as possible |
//! | [`closed`] | what needs no simulation: the size from which on sends wait, rates of computing; and where a search begins |
//! | [`uneven`] | nodes that are slower than the others |

pub mod closed;
pub mod fit;
mod search;
pub mod seen;
pub mod uneven;

pub use fit::{Found, Place, Twin, approach, converge, fit};
pub use search::{Given, Knob, misfit};
pub use seen::{Seen, seen};
pub use uneven::{Slow, slow};
