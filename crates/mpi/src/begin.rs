//! The start of a job: all ranks wait for each other, and nobody can tell by MPI which of them is not there.

use crate::abort::{give_up, leave_now, say_leaving};
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// How often it is looked whether the start is over. Counted rather than timed: who is held up is more patient.
const LOOK: Duration = Duration::from_millis(500);
/// A library may take so many times the usual patience to start: it loads files, and waits for whoever does so slowly.
const LIBRARY: u32 = 10;
/// What follows is a few messages.
const MESSAGES: u32 = 2;
/// The more ranks, the longer both take.
const FOR_EACH: Duration = Duration::from_millis(20);
/// So many ranks speak one after the other if they have something to say: the launcher ends the others when the first has.
const SPEAKERS: usize = 8;

/// How a start is watched.
pub struct Start {
    /// After so long a silence somebody is missed.
    pub patience: Duration,
    /// Ranks that were launched.
    pub ranks: usize,
    /// Who is seen to be unable to come.
    pub stopped: fn() -> Option<String>,
    /// Ends those of them that are ranks.
    pub end_stopped: fn(),
}

static START: OnceLock<Start> = OnceLock::new();
/// How far this rank has come: it only grows.
static STAGE: AtomicU8 = AtomicU8::new(BEFORE);
const BEFORE: u8 = 0;
/// In MPI_Init.
const IN_LIBRARY: u8 = 1;
/// MPI has started here.
const STARTED: u8 = 2;
/// All have found each other.
const TOGETHER: u8 = 3;

/// The start is watched from MPI_Init to [`begun`]; not at all unless somebody says how.
pub fn watch_start(start: Start) {
    let _ = START.set(start);
}

/// The ranks have found each other, and somebody else watches them from now on.
pub fn begun() {
    STAGE.store(TOGETHER, Ordering::SeqCst);
}

/// Whether MPI is being started.
pub(crate) fn is_on() -> bool {
    STAGE.load(Ordering::SeqCst) == IN_LIBRARY
}

/// Starts MPI by `init`. If that or what follows takes too long this process ends itself, and with it the job.
pub(crate) fn begin_by(init: impl FnOnce() -> c_int) -> c_int {
    if let Some(start) = START.get() {
        // Without threads to spare nobody watches.
        let _ = std::thread::Builder::new().spawn(|| watch(start));
    }
    STAGE.store(IN_LIBRARY, Ordering::SeqCst);
    let code = init();
    STAGE.store(STARTED, Ordering::SeqCst);
    code
}

#[expect(clippy::disallowed_methods, reason = "real time is meant")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

fn watch(start: &Start) {
    let turn = crate::rank().unwrap_or(0).min(SPEAKERS) as u32;
    let often = (start.patience.as_millis() / LOOK.as_millis()).max(1) as u32;
    let limit = |times: u32| times * start.patience + FOR_EACH * start.ranks as u32 + turn * LOOK;
    let (mut looks, mut since, mut suspect) = (0u32, 0u32, None);
    loop {
        pause(LOOK);
        let stage = STAGE.load(Ordering::SeqCst);
        if stage == TOGETHER {
            return;
        }
        looks += 1;
        since += u32::from(stage == STARTED);
        if suspect.is_some() || looks % often == turn % often && looks >= often {
            let seen = (start.stopped)();
            // A job that was stopped as a whole goes on one by one, so a second look follows.
            if let Some(who) = seen.as_ref().filter(|_| seen == suspect) {
                say_leaving(&format!("{who} is stopped, and the ranks have not found each other"));
                // The launcher hears of it, and ends the job.
                (start.end_stopped)();
                pause(2 * LOOK);
                leave_now(1)
            }
            suspect = seen;
        }
        if LOOK * looks > limit(LIBRARY) || LOOK * since > limit(MESSAGES) {
            let waited = (LOOK * looks).as_secs_f64();
            let why = "the ranks have not found each other: one may be stopped or not started (--hang-after)";
            give_up(&format!("after {waited:.0} s {why}"));
        }
    }
}
