//! The real clock, in one place: a testbed lives in real time.

use std::time::{Duration, Instant};

/// How often waiting looks again.
const TICK: Duration = Duration::from_millis(10);

/// This instant.
#[allow(clippy::disallowed_methods, reason = "timeouts of real processes need the real clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Waits one tick.
#[allow(clippy::disallowed_methods, reason = "real processes are waited for in real time")]
pub(crate) fn pause() {
    std::thread::sleep(TICK);
}
