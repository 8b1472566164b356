//! Messages that carry a pattern which the receiver can compute for itself, or nothing but a length.
//!
//! ```text
//! stamp   what is in a message: a pattern of sender, block, step, lane and position, written and compared at memory speed
//! slots   which steps have memory of their own, so that each of them can be looked at when the block is over
//! mail    the buffers of a kernel that sends and receives
//! tally   what was looked at, and what was wrong
//! ```

mod mail;
mod slots;
mod stamp;
mod tally;

pub use mail::Mail;
pub use slots::Slots;
pub use stamp::Stamp;
pub use tally::Tally;

use record::Verdict;

/// The verdict of messages that carry lengths alone.
pub fn unchecked() -> Verdict {
    Verdict::Unchecked { reason: "messages carry lengths, not data".into() }
}
