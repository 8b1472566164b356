//! The time of a part of a step, for tests whose rules say which part counts and on whose clock.
//!
//! A kernel does not read clocks: the engine times its steps and lends it this where that is not enough.
#![expect(clippy::disallowed_methods, reason = "this is how the engine lets a kernel read its machine's clock")]

use comm::Comm;
use spec::Time;

/// Starts as many times as needed.
#[derive(Clone, Copy)]
pub struct Stopwatch<'c>(&'c dyn Comm);

/// A stopwatch that runs.
pub struct Lap<'c> {
    comm: &'c dyn Comm,
    begin: Time,
}

impl<'c> Stopwatch<'c> {
    /// On the clock of this rank.
    pub fn new(comm: &'c dyn Comm) -> Stopwatch<'c> {
        Stopwatch(comm)
    }
    /// From now on.
    pub fn start(self) -> Lap<'c> {
        Lap { comm: self.0, begin: self.0.now() }
    }
}

impl Lap<'_> {
    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.comm.now().since(self.begin).secs()
    }
}
