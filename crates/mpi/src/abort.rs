//! How a job ends early: with a reason on stderr, on all ranks, never in a hang.

use std::ffi::c_int;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long MPI_Abort may take to end this process before the process ends itself; the launcher then ends the others.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same for a process that was told to end: whoever told it, mostly the launcher, waits for it, and for one after the other.
const ASKED: Duration = Duration::from_millis(300);

/// How long the launcher is given to forward the reason.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// What is needed to end the job from anywhere.
pub(crate) struct Running {
    /// Names this process in messages: `rank 3 of 8 on n1`.
    pub who: String,
    /// MPI_Abort on the world.
    pub end: Box<dyn Fn(c_int) + Send + Sync>,
}

static RUNNING: OnceLock<Running> = OnceLock::new();
/// Who is told why this process ends, before it does.
static TOLD: OnceLock<Tell> = OnceLock::new();

type Tell = Box<dyn Fn(&str) -> bool + Send + Sync>;
/// MPI is initialised and not finalised.
static LIVE: AtomicBool = AtomicBool::new(false);
/// Someone has begun to end the job.
static ENDING: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> c_int;
    fn _exit(code: c_int) -> !;
}

/// A process that exits without MPI_Finalize leaves the others waiting, or lets the launcher report success: hydra does that.
extern "C" fn left_early() {
    if LIVE.load(Ordering::SeqCst) && !ENDING.load(Ordering::SeqCst) {
        abort(1, "the process exits in the middle of the run");
    }
}

/// From now on panics and [`abort`] end the whole job. MPI starts once in a process, so this is called once.
pub(crate) fn arm(running: Running) {
    if RUNNING.set(running).is_err() {
        return;
    }
    LIVE.store(true, Ordering::SeqCst);
    // SAFETY: the function has C's calling convention, takes nothing and lives as long as the program.
    let refused = unsafe { atexit(left_early) };
    debug_assert_eq!(refused, 0, "C guarantees room for 32 exit handlers");
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if LIVE.load(Ordering::SeqCst) {
            abort(1, &describe(info));
        }
        previous(info);
    }));
}

/// MPI is about to be finalised: MPI_Abort is no longer allowed.
pub(crate) fn disarm() {
    LIVE.store(false, Ordering::SeqCst);
}

/// How long the end of MPI may take; for ever unless somebody says.
static END_WITHIN: OnceLock<Duration> = OnceLock::new();

/// From now on MPI_Finalize may take so long. It waits for all ranks and for the launcher's daemons, and a stopped one is never there.
pub fn end_within(patience: Duration) {
    let _ = END_WITHIN.set(patience);
}

/// Ends MPI by `finalize`. If that takes too long this process ends itself, since no daemon is there that MPI_Abort could reach.
pub(crate) fn end_by(finalize: impl FnOnce() -> c_int) -> c_int {
    let done = Arc::new(AtomicBool::new(false));
    if let Some(patience) = END_WITHIN.get() {
        let done = done.clone();
        #[expect(clippy::disallowed_methods, reason = "real time is meant")]
        let watchdog = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(*patience);
            if !done.load(Ordering::SeqCst) {
                let why = "MPI_Finalize has not returned: the launcher or a daemon of it may be stopped";
                give_up(&format!("after {:.0} s {why}", patience.as_secs_f64()));
            }
        });
        drop(watchdog);
    }
    let code = finalize();
    done.store(true, Ordering::SeqCst);
    code
}

/// A line on stderr, written in one piece: a launcher that gathers the lines of several ranks cuts between writes, and `eprintln!` makes
/// one for each part of its text. A closed stderr is no error, and must not keep a job alive.
pub fn say(line: impl std::fmt::Display) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Ends this process although MPI is in the middle of something.
pub(crate) fn give_up(reason: &str) -> ! {
    say_leaving(reason);
    leave_now(1)
}

/// Says why this process ends.
pub(crate) fn say_leaving(reason: &str) {
    let who = RUNNING.get().map_or(String::new(), |running| format!("{}: ", running.who));
    say(format_args!("tailback: {who}{reason}; leaving without it"));
}

/// Ends this process here and now.
pub(crate) fn leave_now(code: c_int) -> ! {
    // SAFETY: it ends the process and touches nothing of it. What runs at a usual exit would wait for MPI again.
    unsafe { _exit(code) }
}

/// Lets somebody know why this process ends the job, just before it does; whether the word got through.
pub fn tell_before_end(tell: impl Fn(&str) -> bool + Send + Sync + 'static) {
    let _ = TOLD.set(Box::new(tell));
}

/// As [`abort`] for a process that was told to end: the reason is printed only if nobody else could be told, for whoever ends a job tells
/// all its processes.
pub fn leave(code: i32, reason: &str) -> ! {
    finish(code, reason, false)
}

/// Ends the job on all ranks: prints `reason` with this process's rank on stderr and calls MPI_Abort with `code`. Without a
/// running MPI it ends this process. May be called from any thread, also while another is inside MPI: the libraries allow it
/// in practice, and if one does not return, the process ends itself after a few seconds, and with it the job.
pub fn abort(code: i32, reason: &str) -> ! {
    finish(code, reason, true)
}

fn finish(code: i32, reason: &str, print: bool) -> ! {
    if ENDING.swap(true, Ordering::SeqCst) {
        // Another thread is ending the process, or MPI_Abort itself panicked: there is nothing left to say or do here.
        #[expect(clippy::disallowed_methods, reason = "real time is meant: the process ends during this sleep")]
        std::thread::sleep(2 * PATIENCE);
        std::process::abort();
    }
    let running = RUNNING.get().filter(|_| LIVE.load(Ordering::SeqCst));
    let who = running.map_or(String::new(), |running| format!("{}: ", running.who));
    let told = TOLD.get().is_some_and(|tell| running.is_some() && tell(reason));
    if print || !told {
        say(format_args!("tailback: {who}{reason}"));
    }
    let _ = std::io::stdout().flush();
    if let Some(running) = running {
        #[expect(clippy::disallowed_methods, reason = "real time is meant")]
        let watchdog = std::thread::Builder::new().spawn(move || {
            if print {
                std::thread::sleep(PATIENCE);
                std::process::abort();
            }
            std::thread::sleep(ASKED);
            leave_now(code)
        });
        // Without threads to spare there is no watchdog, and MPI_Abort is trusted.
        drop(watchdog);
        // Launchers that hear of an abort do not always read what was written just before.
        #[expect(clippy::disallowed_methods, reason = "real time is meant")]
        std::thread::sleep(LAST_WORDS);
        (running.end)(code);
    } else if crate::begin::is_on() {
        // What runs at a usual exit would meet MPI in the middle of its start.
        leave_now(code)
    }
    std::process::exit(code)
}

/// A panic in words.
fn describe(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    match info.location() {
        Some(place) => format!("panic: {message} ({place})"),
        None => format!("panic: {message}"),
    }
}
