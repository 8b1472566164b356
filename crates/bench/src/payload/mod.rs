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

use record::{Coverage, Verdict};

/// What several of a kernel's parts looked at.
pub fn together(each: impl Iterator<Item = Coverage>) -> Option<Coverage> {
    each.reduce(|mut all, more| {
        all += more;
        all
    })
}

/// The verdict of messages that carry lengths alone.
pub fn unchecked() -> Verdict {
    Verdict::Unchecked { reason: "messages carry lengths, not data".into() }
}

/// The looks of a [`Pattern`](crate::Pattern) at its field `mail`; its method `sender` says who sent what a lane received.
macro_rules! looks_at_mail {
    // Also what is new in a round, where nothing but the data is.
    (by round) => {
        fn arrange(&mut self, round: u64) {
            self.round = round;
        }

        fn renew(&mut self, steps: u32) {
            self.mail.renew(self.comm.rank(), self.round, steps);
        }

        crate::payload::looks_at_mail!();
    };
    () => {
        fn spare(&mut self, spare: bool) {
            self.mail.spare(spare);
        }

        fn holds(&self) -> u32 {
            self.mail.holds()
        }

        fn verify(&mut self) -> ::record::Verdict {
            let sender = self.sender();
            self.mail.verify(sender)
        }

        fn glance(&mut self, random: u64) -> ::record::Verdict {
            let sender = self.sender();
            self.mail.glance(random, sender)
        }

        fn coverage(&self) -> Option<::record::Coverage> {
            self.mail.coverage()
        }
    };
}
pub(crate) use looks_at_mail;
