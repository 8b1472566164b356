//! Signals that come while a run goes on.

use crate::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What the handlers and the runs share. Handlers stay for the life of the process, because taking one away leaves the
/// signal without effect; while no run goes on they do what the system does by default.
struct Watch {
    /// No run goes on.
    idle: Arc<AtomicBool>,
    /// The last signal that came, 0 if none.
    came: Arc<AtomicUsize>,
    /// How many runs go on.
    runs: Mutex<usize>,
}

static WATCH: OnceLock<Watch> = OnceLock::new();
/// Held while the handlers are set up, so that it happens once.
static SETUP: Mutex<()> = Mutex::new(());

/// Catches signals while it lives.
pub(super) struct Signals {
    watch: &'static Watch,
}

impl Signals {
    pub fn catch() -> Result<Signals, Error> {
        let watch = watch()?;
        let mut runs = watch.runs.lock().unwrap_or_else(PoisonError::into_inner);
        // A second run beside the first resets nothing: a signal is meant for both. The old signal is forgotten before new ones
        // are caught, so that none of those is lost.
        if *runs == 0 {
            watch.came.store(0, Ordering::SeqCst);
            watch.idle.store(false, Ordering::SeqCst);
        }
        *runs += 1;
        Ok(Signals { watch })
    }

    /// The signal that came, if one did.
    pub fn any(&self) -> Option<i32> {
        i32::try_from(self.watch.came.load(Ordering::SeqCst)).ok().filter(|&signal| signal != 0)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let mut runs = self.watch.runs.lock().unwrap_or_else(PoisonError::into_inner);
        *runs -= 1;
        self.watch.idle.store(*runs == 0, Ordering::SeqCst);
    }
}

fn watch() -> Result<&'static Watch, Error> {
    let _setup = SETUP.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(watch) = WATCH.get() {
        return Ok(watch);
    }
    let (idle, came) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    // The default action is registered first: while no run goes on, the process ends there as if nothing were caught.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_default(signal, idle.clone())
            .and_then(|_| signal_hook::flag::register_usize(signal, came.clone(), signal as usize))
            .map_err(|source| Error::Io { what: format!("catching signal {signal}"), source })?;
    }
    Ok(WATCH.get_or_init(|| Watch { idle, came, runs: Mutex::new(0) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_caught_by_all_runs_and_forgotten_by_the_next() {
        let (a, b) = (Signals::catch().unwrap(), Signals::catch().unwrap());
        assert_eq!(a.any(), None);
        signal_hook::low_level::raise(SIGTERM).unwrap();
        assert_eq!((a.any(), b.any()), (Some(SIGTERM), Some(SIGTERM)));
        drop(a);
        assert!(!b.watch.idle.load(Ordering::SeqCst));
        drop(b);
        assert!(WATCH.get().unwrap().idle.load(Ordering::SeqCst));
        assert_eq!(Signals::catch().unwrap().any(), None);
    }
}
