//! A tray: what threads leave for one of them, who empties it at times when nobody adds to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Things left by anybody. The flag spares the owner the lock when there are none, as there mostly are.
pub(crate) struct Tray<T> {
    any: AtomicBool,
    list: Mutex<Vec<T>>,
}

impl<T> Default for Tray<T> {
    fn default() -> Tray<T> {
        Tray { any: AtomicBool::new(false), list: Mutex::default() }
    }
}

impl<T> Tray<T> {
    pub(crate) fn put(&self, one: T) {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).push(one);
        self.any.store(true, Ordering::Release);
    }

    /// Moves everything behind what is in `to`.
    pub(crate) fn empty_into(&self, to: &mut Vec<T>) {
        if self.any.load(Ordering::Acquire) {
            self.any.store(false, Ordering::Relaxed);
            to.append(&mut self.list.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}
