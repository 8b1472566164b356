//! What one step of a kernel did. The engine divides it by time; the simulator charges for it.

use std::ops::{Add, AddAssign};

/// Amounts, not rates. A kernel says what it did and never how long it took.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Work {
    /// Bytes sent by this rank, or bytes of memory moved by a local computation.
    pub bytes: u64,
    /// Messages that a latency is divided by.
    pub exchanges: u64,
    /// Random table updates.
    pub updates: u64,
    /// Floating-point operations.
    pub flops: u64,
    /// Ranks that sent the bytes, where one rank tells of what several sent; else 0 or 1.
    pub senders: u64,
}

impl Work {
    /// Nothing was done.
    pub const NONE: Work = Work { bytes: 0, exchanges: 0, updates: 0, flops: 0, senders: 0 };

    /// `exchanges` messages with `bytes` sent in all.
    pub const fn messages(exchanges: u64, bytes: u64) -> Work {
        Work { bytes, exchanges, ..Work::NONE }
    }
    /// `n` floating-point operations.
    pub const fn flops(n: u64) -> Work {
        Work { flops: n, ..Work::NONE }
    }
}

impl Add for Work {
    type Output = Work;
    fn add(self, o: Work) -> Work {
        Work {
            bytes: self.bytes + o.bytes,
            exchanges: self.exchanges + o.exchanges,
            updates: self.updates + o.updates,
            flops: self.flops + o.flops,
            // The same ranks in every step.
            senders: self.senders.max(o.senders),
        }
    }
}
impl AddAssign for Work {
    fn add_assign(&mut self, o: Work) {
        *self = *self + o;
    }
}
