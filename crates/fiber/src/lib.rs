//! Many coroutines on stacks cut from one memory mapping.
//!
//! ```text
//! one mapping:  |guard|red zone| stack 0 <- grows down|guard|red zone| stack 1 <- grows down| ...
//! ```
//!
//! A mapping per stack runs into `vm.max_map_count` near 32,000 stacks, so the stacks share one. The lowest page of each is a *guard
//! page*: touching it ends the process before a neighbour is damaged. Compiled Rust touches every page of a frame in order, so no
//! frame, however large, steps over it. Linux 6.13 and later mark such pages without dividing the mapping; older kernels give them to
//! the first 16,000 stacks.
//!
//! Above it is the *red zone*, which must stay as the kernel made it, all zeros. It tells overflow with a reason instead of a signal,
//! and is all there is where guard pages have run out: every [`Suspender::suspend`] looks at the stack pointer, which costs nothing,
//! and the red zone is read when a fiber ends and when the scope ends. Only touched pages take memory, so stacks may be large: the
//! address space is reserved, never committed.
//!
//! Not for: running fibers on several threads. A [`Fibers`] and all it holds stays on the thread that made it.

mod slab;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use slab::{RED_ZONE, Slab, SlabStack};
use std::any::Any;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use slab::{MAX_STACK, MIN_STACK};

/// What happened to a fiber that ran.
#[derive(Debug)]
pub enum State {
    /// It waits to be resumed.
    Suspended,
    /// Its body returned.
    Done,
    /// Its body panicked; the payload of the panic.
    Panicked(Box<dyn Any + Send>),
    /// It used more stack than it has; the run must end, since a neighbour may be damaged.
    Overflowed,
}

/// How a fiber gives up control. Lives on the fiber's own stack.
pub struct Suspender<'f> {
    yielder: &'f Yielder<(), ()>,
    limit: usize,
}

impl Suspender<'_> {
    /// Returns to whoever resumed this fiber; comes back at the next resume.
    ///
    /// # Panics
    /// If the fiber has come near the end of its stack.
    pub fn suspend(&self) {
        let here = 0u8;
        let left = (&raw const here as usize).saturating_sub(self.limit);
        assert!(left > RED_ZONE, "the stack of this fiber is used up; raise the machine's `stack` setting");
        self.yielder.suspend(());
    }
}

type Routine = Coroutine<(), (), (), SlabStack>;

/// A set of fibers that may borrow what lives as long as `'env`.
pub struct Fibers<'env> {
    // Dropped before `slab`: the coroutines stand on its memory.
    routines: Vec<Option<Routine>>,
    limits: Vec<usize>,
    slab: Slab,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `f` with room for `count` fibers of `stack` bytes each (rounded up to whole pages). Fibers that are not done when `f`
/// returns are unwound. A scope, so that no fiber can outlive what it borrows.
pub fn scope<'env, R>(count: usize, stack: usize, f: impl FnOnce(&mut Fibers<'env>) -> R) -> io::Result<R> {
    let slab = Slab::new(count, stack)?;
    let mut fibers =
        Fibers { routines: Vec::with_capacity(count), limits: Vec::with_capacity(count), slab, env: PhantomData };
    Ok(f(&mut fibers))
}

impl<'env> Fibers<'env> {
    /// Adds a fiber, which runs at its first [`Fibers::resume`], and returns its number, counted from 0.
    ///
    /// # Panics
    /// If there is no room for another.
    pub fn spawn(&mut self, body: impl FnOnce(&Suspender<'_>) + 'env) -> usize {
        let stack = self.slab.take().expect("more fibers than the scope was made for");
        let limit = stack.limit_address();
        let run = move |yielder: &Yielder<(), ()>, ()| body(&Suspender { yielder, limit });
        // SAFETY: `body` borrows for 'env, which outlives the call of `scope`. The coroutine is dropped, and so unwound, by
        // the drop of `Fibers`, which `scope` owns and only lends: nobody can forget it. The stack is a piece of a mapping
        // that `Fibers` drops after its coroutines.
        let routine = unsafe { Coroutine::with_stack_unchecked(stack, run) };
        self.routines.push(Some(routine));
        self.limits.push(limit);
        self.routines.len() - 1
    }

    /// Runs a fiber until it suspends or ends. A fiber that has ended gives its stack back.
    ///
    /// # Panics
    /// If the fiber has ended before.
    pub fn resume(&mut self, fiber: usize) -> State {
        let slot = &mut self.routines[fiber];
        let routine = slot.as_mut().expect("the fiber has ended");
        let outcome = catch_unwind(AssertUnwindSafe(|| routine.resume(())));
        if matches!(outcome, Ok(CoroutineResult::Yield(()))) {
            return State::Suspended;
        }
        let stack = slot.take().expect("just resumed").into_stack();
        let intact = self.slab.red_zone_intact(stack.limit_address());
        self.slab.give_back(stack);
        match outcome {
            _ if !intact => State::Overflowed,
            Err(payload) => State::Panicked(payload),
            Ok(_) => State::Done,
        }
    }

    /// The fibers that have not ended and have run into their red zone.
    pub fn overflowed(&self) -> Vec<usize> {
        let bad = |&i: &usize| self.routines[i].is_some() && !self.slab.red_zone_intact(self.limits[i]);
        (0..self.routines.len()).filter(bad).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    #[test]
    fn fibers_take_turns_and_borrow() {
        let log = RefCell::new(Vec::new());
        scope(3, MIN_STACK, |fibers| {
            for i in 0..3 {
                let log = &log;
                fibers.spawn(move |s| {
                    for round in 0..2 {
                        log.borrow_mut().push((round, i));
                        s.suspend();
                    }
                });
            }
            for _ in 0..2 {
                for i in 0..3 {
                    assert!(matches!(fibers.resume(i), State::Suspended));
                }
            }
            for i in 0..3 {
                assert!(matches!(fibers.resume(i), State::Done));
            }
        })
        .unwrap();
        assert_eq!(*log.borrow(), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    }

    #[test]
    fn a_panic_comes_back_as_a_value() {
        let text = scope(1, 4 * MIN_STACK, |fibers| {
            let f = fibers.spawn(|_| panic!("broken"));
            match fibers.resume(f) {
                State::Panicked(payload) => payload.downcast_ref::<&str>().map(|s| s.to_string()),
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(text.unwrap().as_deref(), Some("broken"));
    }

    #[test]
    fn unfinished_fibers_are_unwound() {
        struct Mark<'a>(&'a Cell<u32>);
        impl Drop for Mark<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let dropped = Cell::new(0);
        scope(2, MIN_STACK, |fibers| {
            for _ in 0..2 {
                let dropped = &dropped;
                let f = fibers.spawn(move |s| {
                    let _mark = Mark(dropped);
                    s.suspend();
                });
                fibers.resume(f);
            }
        })
        .unwrap();
        assert_eq!(dropped.get(), 2);
    }

    #[test]
    fn stacks_are_used_again() {
        scope(1, MIN_STACK, |fibers| {
            for _ in 0..100 {
                let f = fibers.spawn(|_| ());
                assert!(matches!(fibers.resume(f), State::Done));
            }
        })
        .unwrap();
    }

    /// Calls itself until the stack pointer is below `floor`, leaving nonzero words all the way.
    fn dig(floor: usize) -> u64 {
        let frame = std::hint::black_box([1u64; 16]);
        let below = if (&raw const frame as usize) < floor { 0 } else { dig(floor) };
        std::hint::black_box(frame).iter().sum::<u64>() + below
    }

    #[test]
    fn a_stack_that_is_used_up_is_noticed() {
        scope(2, MIN_STACK, |fibers| {
            let f = fibers.spawn(|s| {
                dig(s.limit + RED_ZONE / 2);
            });
            assert!(matches!(fibers.resume(f), State::Overflowed));
            let g = fibers.spawn(|s| {
                dig(s.limit + RED_ZONE / 2);
                s.suspend();
            });
            assert!(matches!(fibers.resume(g), State::Suspended));
            assert_eq!(fibers.overflowed(), [g]);
        })
        .unwrap();
    }

    /// What a stack that overflows would do to its neighbour: in a child of its own, which must die of it.
    #[test]
    fn a_guard_page_ends_what_the_red_zone_cannot() {
        const CHILD: &str = "TAILBACK_FIBER_OVERFLOWS";
        if let Some(kernel) = std::env::var_os(CHILD) {
            let _ = scope(2, MIN_STACK, |fibers| {
                if kernel == "old" {
                    fibers.slab.age();
                }
                let first = fibers.spawn(|s| s.suspend());
                fibers.resume(first);
                let second = fibers.spawn(|s| {
                    dig(s.limit - MIN_STACK / 2);
                });
                fibers.resume(second);
            });
            std::process::exit(0);
        }
        let own = "tests::a_guard_page_ends_what_the_red_zone_cannot";
        for kernel in ["new", "old"] {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            let done = child.args(["--exact", own]).env(CHILD, kernel).output().unwrap();
            assert_eq!(done.status.code(), None, "{kernel}: it ended as if nothing was wrong");
        }
    }

    #[test]
    fn every_stack_has_a_guard_page() {
        let mut slab = Slab::new(1_000, MIN_STACK).unwrap();
        let stacks: Vec<_> = (0..1_000).map(|_| slab.take().unwrap()).collect();
        assert!(slab.guarded() && stacks.len() == 1_000);
        // What cannot be had is not claimed.
        let mut many = Slab::new(16_001, MIN_STACK).unwrap();
        many.age();
        let _stacks: Vec<_> = (0..16_001).map(|_| many.take().unwrap()).collect();
        assert!(!many.guarded());
    }

    #[test]
    fn a_hundred_thousand_fibers_live_at_once() {
        let count = 100_000;
        let sum = Cell::new(0u64);
        scope(count, MIN_STACK, |fibers| {
            for i in 0..count as u64 {
                let sum = &sum;
                let f = fibers.spawn(move |s| {
                    s.suspend();
                    sum.set(sum.get() + i);
                });
                assert!(matches!(fibers.resume(f), State::Suspended));
            }
            assert!(fibers.overflowed().is_empty());
            (0..count).for_each(|i| assert!(matches!(fibers.resume(i), State::Done)));
        })
        .unwrap();
        assert_eq!(sum.get(), 4_999_950_000);
    }
}
