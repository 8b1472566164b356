//! A small pool of threads, each on its own core of those the launcher left to this process.
//!
//! Work is handed out by index, not by queue: thread `t` of every call is the same thread on the same core, so an array
//! touched first in one call is near its user in the next. Between calls the threads spin for a moment and then sleep.

use crate::host;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;

/// Rounds of spinning before a thread sleeps: some tens of microseconds, the gap between two updates of a factorization.
const SPINS: u32 = 5_000;

type Job = *const (dyn Fn(usize) + Sync);

struct Inner {
    /// Raised by one for every job.
    round: AtomicU64,
    pending: AtomicUsize,
    stop: AtomicBool,
    job: Mutex<Slot>,
    wake: Condvar,
    done: Condvar,
}

struct Slot {
    job: Option<Job>,
    panic: Option<Box<dyn Any + Send>>,
}

// SAFETY: the pointer is only followed between the start and the end of `run`, which keeps the closure alive, and the closure
// may be called from any thread.
unsafe impl Send for Slot {}

thread_local! {
    /// Whether this thread is inside a job; a job that starts another runs it alone instead of waiting for itself.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Threads that wait for work. The caller is thread 0.
pub struct Pool {
    inner: Arc<Inner>,
    workers: Vec<JoinHandle<()>>,
    /// Where thread t runs; empty if the scheduler decides.
    cpus: Vec<usize>,
    /// One job at a time.
    turn: Mutex<()>,
}

impl Pool {
    /// `threads` threads on the first cores of those allowed to this process, one thread a core; left to the scheduler if there are
    /// more threads than processors. For processes that share their processors use [`Pool::on`] or [`Pool::floating`].
    pub fn new(threads: usize) -> Self {
        let allowed = host::cpus();
        if threads > allowed.len() {
            Self::floating(threads)
        } else {
            Self::start(threads, allowed[..threads].to_vec())
        }
    }

    /// One thread on each of these processors.
    pub fn on(cpus: &[usize]) -> Self {
        Self::start(cpus.len(), cpus.to_vec())
    }

    /// Threads that the scheduler may move.
    pub fn floating(threads: usize) -> Self {
        Self::start(threads, Vec::new())
    }

    fn start(threads: usize, cpus: Vec<usize>) -> Self {
        assert!(threads > 0, "a pool needs at least one thread");
        let inner = Arc::new(Inner {
            round: AtomicU64::new(0),
            pending: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            job: Mutex::new(Slot { job: None, panic: None }),
            wake: Condvar::new(),
            done: Condvar::new(),
        });
        let worker = |t: usize| {
            let (inner, cpu) = (Arc::clone(&inner), cpus.get(t).copied());
            std::thread::Builder::new().name(format!("local-{t}")).spawn(move || {
                if let Some(cpu) = cpu {
                    bind(cpu);
                }
                inner.serve(t);
            })
        };
        let workers = (1..threads).map(|t| worker(t).expect("the system starts threads")).collect();
        Self { inner, workers, cpus, turn: Mutex::new(()) }
    }

    /// How many threads there are, the caller included.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// How many of them would share what this thread starts now: one inside a job.
    pub fn free(&self) -> usize {
        if INSIDE.get() { 1 } else { self.threads() }
    }

    /// The processors the threads are bound to; empty if they float.
    pub fn cpus(&self) -> &[usize] {
        &self.cpus
    }

    /// Calls `f(t)` on every thread t and waits for all. The caller is bound to its core only for the time of the call, so what it
    /// starts later is free. A panic in any thread is passed on when all have ended.
    pub fn run(&self, f: impl Fn(usize) + Sync) {
        self.beside(|| (), f);
    }

    /// As [`Pool::run`], but the caller first does what only it may do, as who talks to others does, while the other threads begin.
    pub fn beside<R>(&self, own: impl FnOnce() -> R, f: impl Fn(usize) + Sync) -> R {
        if self.workers.is_empty() || INSIDE.get() {
            let result = own();
            // All parts, one after the other: callers divide their work by index and need each to be called.
            (0..self.threads()).for_each(f);
            return result;
        }
        let _turn = lock(&self.turn);
        let _bound = self.cpus.first().map(|&cpu| Bound::to(cpu));
        let f: &(dyn Fn(usize) + Sync) = &f;
        // SAFETY: only the lifetime is erased; this function returns after every worker has left the closure.
        let job: Job = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), Job>(f) };
        {
            let mut slot = lock(&self.inner.job);
            slot.job = Some(job);
            // Relaxed: workers see it by the release of `round` that follows, and by the lock.
            self.inner.pending.store(self.workers.len(), Ordering::Relaxed);
            // Under the lock: a worker holds it from its last look at the round until it sleeps, so no call is missed.
            self.inner.round.fetch_add(1, Ordering::Release);
            self.inner.wake.notify_all();
        }
        INSIDE.set(true);
        // A panic is held back until all workers have left the closure, which borrows from the caller.
        let own = catch_unwind(AssertUnwindSafe(|| {
            let result = own();
            f(0);
            result
        }));
        INSIDE.set(false);
        let theirs = self.inner.wait_done();
        let result = own.unwrap_or_else(|panic| resume_unwind(panic));
        if let Some(panic) = theirs {
            resume_unwind(panic);
        }
        result
    }

    /// The part of `0..len` that thread `t` works on; borders are multiples of `grain`.
    pub fn part(&self, len: usize, grain: usize, t: usize) -> std::ops::Range<usize> {
        part(len, grain, t, self.threads())
    }
}

/// The part `t` of `of` of `0..len`, borders at multiples of `grain`, sizes as equal as that allows.
pub fn part(len: usize, grain: usize, t: usize, of: usize) -> std::ops::Range<usize> {
    let grains = len.div_ceil(grain);
    // In 128 bits the product cannot overflow.
    let cut = |t: usize| ((grains as u128 * t as u128 / of as u128) as usize * grain).min(len);
    cut(t)..cut(t + 1)
}

impl Drop for Pool {
    fn drop(&mut self) {
        {
            let _slot = lock(&self.inner.job);
            self.inner.stop.store(true, Ordering::Release);
            self.inner.wake.notify_all();
        }
        for worker in self.workers.drain(..) {
            // A worker catches every panic of a job, so it ends normally.
            let _ = worker.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic that is passed on poisons `turn`, which guards no data; the pool lives on.
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Inner {
    fn serve(&self, t: usize) {
        INSIDE.set(true);
        let mut seen = 0;
        while let Some(job) = self.next(&mut seen) {
            // SAFETY: `run` waits for `pending` to reach zero before its closure ends, and this thread counts until below.
            let f = unsafe { &*job };
            let ended = catch_unwind(AssertUnwindSafe(|| f(t)));
            if let Err(panic) = ended {
                lock(&self.job).panic = Some(panic);
            }
            // The release hands what the job wrote to the caller. The lock is taken to wake it, because between its look at
            // `pending` and its sleep the caller holds it.
            if self.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                let _slot = lock(&self.job);
                self.done.notify_all();
            }
        }
    }

    /// The next job, or none when the pool ends.
    fn next(&self, seen: &mut u64) -> Option<Job> {
        for _ in 0..SPINS {
            if self.round.load(Ordering::Acquire) != *seen || self.stop.load(Ordering::Acquire) {
                break;
            }
            std::hint::spin_loop();
        }
        let mut slot = lock(&self.job);
        loop {
            let round = self.round.load(Ordering::Acquire);
            if round != *seen {
                *seen = round;
                return slot.job;
            }
            if self.stop.load(Ordering::Acquire) {
                return None;
            }
            slot = self.wake.wait(slot).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn wait_done(&self) -> Option<Box<dyn Any + Send>> {
        for _ in 0..SPINS {
            if self.pending.load(Ordering::Acquire) == 0 {
                break;
            }
            std::hint::spin_loop();
        }
        let mut slot = lock(&self.job);
        while self.pending.load(Ordering::Acquire) != 0 {
            slot = self.done.wait(slot).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        slot.job = None;
        slot.panic.take()
    }
}

/// Binds the calling thread to one processor. A refusal costs speed, not correctness, and leaves the thread where it may run.
fn bind(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

/// The caller's binding for the time of one job.
struct Bound(Option<CpuSet>);

impl Bound {
    fn to(cpu: usize) -> Self {
        let before = sched_getaffinity(None).ok();
        // A binding that cannot be read could not be restored, so it is left alone.
        if before.is_some() {
            bind(cpu);
        }
        Self(before)
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        if let Some(set) = &self.0 {
            let _ = sched_setaffinity(None, set);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_runs_every_job_once() {
        for pool in [Pool::new(1), Pool::floating(3), Pool::new(host::cpus().len())] {
            for _ in 0..200 {
                let hits: Vec<AtomicUsize> = (0..pool.threads()).map(|_| AtomicUsize::new(0)).collect();
                pool.run(|t| {
                    hits[t].fetch_add(1, Ordering::Relaxed);
                });
                assert!(hits.iter().all(|h| h.load(Ordering::Relaxed) == 1));
            }
        }
    }

    #[test]
    fn a_panic_of_a_worker_reaches_the_caller_and_the_pool_lives_on() {
        let pool = Pool::floating(3);
        for bad in 0..3 {
            let e = catch_unwind(AssertUnwindSafe(|| pool.run(|t| assert_ne!(t, bad, "thread {t} fails"))));
            assert!(e.is_err());
        }
        let sum = AtomicUsize::new(0);
        pool.run(|t| {
            sum.fetch_add(t, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 3);
    }

    #[test]
    fn a_job_within_a_job_does_not_wait_for_itself() {
        let pool = Pool::floating(2);
        let sum = AtomicUsize::new(0);
        pool.run(|_| {
            pool.run(|t| {
                sum.fetch_add(t + 1, Ordering::Relaxed);
            })
        });
        assert_eq!(sum.into_inner(), 6);
    }

    #[test]
    fn the_caller_keeps_its_binding() {
        let before = host::cpus();
        let pool = Pool::on(&[before[0], before[before.len() - 1]]);
        pool.run(|t| {
            let now = sched_getaffinity(None).unwrap();
            assert!(now.is_set(pool.cpus()[t]) && now.count() == 1);
        });
        assert_eq!(host::cpus(), before);
    }

    #[test]
    fn parts_cover_everything_once() {
        for (len, grain, of) in [(0, 8, 3), (1, 8, 3), (1000, 8, 3), (1003, 7, 16), (5, 1, 8)] {
            let mut next = 0;
            for t in 0..of {
                let p = part(len, grain, t, of);
                assert_eq!(p.start, next);
                assert!(p.end == len || p.end.is_multiple_of(grain));
                next = p.end;
            }
            assert_eq!(next, len);
        }
    }
}
