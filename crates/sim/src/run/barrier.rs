//! A barrier for threads that meet every few microseconds: it spins a while and then sleeps.
//!
//! A thread that yields instead goes on using up its share of a core that it has not to itself, and when it is its turn it has to wait for
//! others' slices of milliseconds. One that has slept is put first.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Spins before the processor is left to others: longer than a meeting takes on idle cores, short on busy ones.
const SPINS: u32 = 4096;
/// So long a thread sleeps before it looks whether another has panicked.
const NAP: Duration = Duration::from_millis(1);

pub(crate) struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    generation: AtomicUsize,
    broken: AtomicBool,
    asleep: AtomicUsize,
    door: Mutex<()>,
    bell: Condvar,
}

/// Another thread has panicked: nobody will come.
#[derive(Debug)]
pub(crate) struct Broken;

impl Barrier {
    pub(crate) fn new(threads: usize) -> Barrier {
        Barrier {
            threads,
            arrived: AtomicUsize::new(0),
            generation: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            door: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// Waits until all threads are here. What they did before is visible after.
    pub(crate) fn wait(&self) -> Result<(), Broken> {
        if self.threads == 1 {
            return Ok(());
        }
        // Read before arriving: after that the last thread may end this generation at any moment.
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            // Nobody arrives again before seeing the new generation, and its release makes this visible too.
            self.arrived.store(0, Ordering::Relaxed);
            self.generation.store(generation.wrapping_add(1), Ordering::SeqCst);
            // In one order with what `sleep` does: either it sees the new generation, or it is seen here.
            if self.asleep.load(Ordering::SeqCst) > 0 {
                // Who holds the door has looked, and waits before it is free again.
                drop(self.door.lock());
                self.bell.notify_all();
            }
        }
        let mut spins = 0;
        while self.generation.load(Ordering::Acquire) == generation {
            if self.broken.load(Ordering::Relaxed) {
                return Err(Broken);
            }
            spins += 1;
            if spins < SPINS { std::hint::spin_loop() } else { self.sleep(generation) }
        }
        Ok(())
    }

    /// Sleeps until a generation is over, or a while.
    #[cold]
    fn sleep(&self, generation: usize) {
        let door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, Ordering::SeqCst);
        if self.generation.load(Ordering::SeqCst) == generation {
            drop(self.bell.wait_timeout(door, NAP));
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }

    /// Frees those who wait, for good.
    pub(crate) fn break_up(&self) {
        // Relaxed is enough: those who see it leave, and read nothing on the strength of it.
        self.broken.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_early() {
        let (barrier, count) = (Barrier::new(3), AtomicUsize::new(0));
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    for round in 0..1000 {
                        count.fetch_add(1, Ordering::Relaxed);
                        barrier.wait().unwrap();
                        assert_eq!(count.load(Ordering::Relaxed), 3 * (round + 1));
                        barrier.wait().unwrap();
                    }
                });
            }
        });
    }
}
