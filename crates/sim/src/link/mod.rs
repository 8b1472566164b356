//! Cables and what moves on them: links, packets, and the outputs at which packets wait.
//!
//! Not for who chooses an output (that is `routing/`) nor for what happens when: nothing here makes an event.

mod output;
mod packet;

pub(crate) use output::Outs;
pub use output::{Counters, Load};
pub(crate) use packet::{Head, Kind, Message, NO_LANE, Packet};

use crate::base::{Port, Reach};
use spec::Rate;

/// In [`Link::to`]: the rest is an endpoint, not a switch.
pub(crate) const ENDPOINT: u32 = 1 << 31;

/// Picoseconds per byte with 20 binary places, so that serialisation is a multiplication and a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pace(u64);

impl Pace {
    pub(crate) fn new(rate: Rate) -> Pace {
        Pace((1e12 / rate.bytes_per_s() * (1u64 << 20) as f64).round() as u64)
    }
    /// No time at all.
    pub(crate) const NONE: Pace = Pace(0);
    /// How long `bytes` of one packet take, rounded up.
    #[inline]
    pub(crate) fn time(self, bytes: u32) -> u64 {
        (u64::from(bytes) * self.0 + (1 << 20) - 1) >> 20
    }
    /// How long many bytes take.
    fn of(self, bytes: u64) -> u64 {
        ((u128::from(bytes) * u128::from(self.0)) >> 20) as u64
    }
}

/// A cable that is faster than its rate after a pause, until so much is sent ahead of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// What the cable keeps to in the long run.
    pub(crate) pace: Pace,
    pub(crate) bytes: u64,
}

impl Bucket {
    /// How far ahead of its rate the cable may be.
    #[inline]
    pub(crate) fn ahead(self) -> u64 {
        self.pace.of(self.bytes)
    }
}

/// One direction of a cable.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// Switch, or endpoint with [`ENDPOINT`].
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Port number at the receiving switch.
    pub(crate) to_port: Port,
    pub(crate) from_port: Port,
    pub(crate) lp_from: u16,
    pub(crate) lp_to: u16,
    /// From the head leaving to the head ready at the other side, the switch's own latency included.
    pub(crate) latency: u64,
    /// From a buffer freed at the other side to the credit usable here.
    pub(crate) credit_latency: u64,
    /// Of a packet that leaves.
    pub(crate) pace: Pace,
    pub(crate) bucket: Option<Bucket>,
    pub(crate) rate: f64,
    pub(crate) reach: Reach,
    /// What it is called.
    pub(crate) kind: &'static str,
}
