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
//! A fiber that would wait again and again for one thing after the other can lend what it does in between ([`Suspender::lend`]): that
//! then runs on the stack of whoever resumes it, and the fiber's own stack, which is in no cache by then, is left alone.
//!
//! Not for: running fibers on several threads. A [`Fibers`] and all it holds stays on the thread that made it.

mod slab;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use slab::{RED_ZONE, Slab, SlabStack};
use std::any::Any;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

pub use slab::{MAX_STACK, MIN_STACK};

/// Asks the processor for the line of memory at an address, which will be read soon. Any address will do: nothing is read.
#[inline(always)]
pub fn fetch(address: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint. It never faults and changes nothing that a program can see.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address as *const i8);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

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
    yielder: &'f Yielder<(), Left>,
    /// The ends of the fiber's stack.
    limit: usize,
    base: usize,
}

/// What a fiber does between two waits, where it has lent that. Whether it waits again.
type Turn = dyn FnMut() -> bool;
type Lent = Option<NonNull<Turn>>;
/// What a fiber leaves when it gives up control: where its stack ends, and a turn.
type Left = (usize, Lent);

impl Suspender<'_> {
    /// Returns to whoever resumed this fiber; comes back at the next resume.
    ///
    /// # Panics
    /// If the fiber has come near the end of its stack, or in a turn that it has lent, which is on another one.
    pub fn suspend(&self) {
        self.give_up(None);
    }

    /// As a loop of `suspend`, until a turn says that it does not wait again: but each resume makes a turn on the stack of whoever resumes,
    /// and this fiber comes back when they are over.
    ///
    /// # Panics
    /// As `suspend`.
    pub fn lend<'t>(&self, turn: &'t mut (dyn FnMut() -> bool + 't)) {
        let turn: NonNull<dyn FnMut() -> bool + 't> = NonNull::from(turn);
        // SAFETY: the same pointer without its lifetime. `Fibers` calls it only while this fiber is suspended here, which is inside 't:
        // it forgets the pointer before it lets the fiber go on, and drops it together with the fiber.
        let turn: NonNull<Turn> = unsafe { std::mem::transmute(turn) };
        self.give_up(Some(turn));
    }

    fn give_up(&self, lent: Lent) {
        let here = 0u8;
        let here = &raw const here as usize;
        // Whoever is not on this stack must not switch from it: a lent turn that wants to wait otherwise.
        assert!(here < self.base, "a turn that a fiber has lent can only say that it waits");
        let left = here.saturating_sub(self.limit);
        assert!(left > RED_ZONE, "the stack of this fiber is used up; raise the machine's `stack` setting");
        self.yielder.suspend((here, lent));
    }
}

type Routine = Coroutine<(), Left, (), SlabStack>;

/// What is looked at when a fiber is resumed: one line of memory, as far as it fits.
#[repr(align(64))]
struct Fiber {
    routine: Option<Routine>,
    /// The turn of a fiber that is suspended and has lent one.
    lent: Lent,
    /// Where its stack ended when it was suspended.
    top: usize,
}

const _: () = assert!(size_of::<Fiber>() == 64);

/// How much of a stack is asked for ahead of time: what lies below the frame that suspends, and the frames that called it.
const BELOW: usize = 256;
const ABOVE: usize = 640;

/// A set of fibers that may borrow what lives as long as `'env`.
pub struct Fibers<'env> {
    // Dropped before `slab`: the coroutines stand on its memory.
    list: Vec<Fiber>,
    limits: Vec<usize>,
    slab: Slab,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `f` with room for `count` fibers of `stack` bytes each (rounded up to whole pages). Fibers that are not done when `f`
/// returns are unwound. A scope, so that no fiber can outlive what it borrows.
pub fn scope<'env, R>(count: usize, stack: usize, f: impl FnOnce(&mut Fibers<'env>) -> R) -> io::Result<R> {
    let slab = Slab::new(count, stack)?;
    let mut fibers =
        Fibers { list: Vec::with_capacity(count), limits: Vec::with_capacity(count), slab, env: PhantomData };
    Ok(f(&mut fibers))
}

impl<'env> Fibers<'env> {
    /// Adds a fiber, which runs at its first [`Fibers::resume`], and returns its number, counted from 0.
    ///
    /// # Panics
    /// If there is no room for another.
    pub fn spawn(&mut self, body: impl FnOnce(&Suspender<'_>) + 'env) -> usize {
        let stack = self.slab.take().expect("more fibers than the scope was made for");
        let (limit, base) = (stack.limit_address(), stack.base_address());
        let run = move |yielder: &Yielder<(), Left>, ()| body(&Suspender { yielder, limit, base });
        // SAFETY: `body` borrows for 'env, which outlives the call of `scope`. The coroutine is dropped, and so unwound, by
        // the drop of `Fibers`, which `scope` owns and only lends: nobody can forget it. The stack is a piece of a mapping
        // that `Fibers` drops after its coroutines.
        let routine = unsafe { Coroutine::with_stack_unchecked(stack, run) };
        self.list.push(Fiber { routine: Some(routine), lent: None, top: 0 });
        self.limits.push(limit);
        self.list.len() - 1
    }

    /// Runs a fiber until it suspends or ends, or makes a turn that it has lent. A fiber that has ended gives its stack back.
    ///
    /// # Panics
    /// If the fiber has ended before.
    pub fn resume(&mut self, fiber: usize) -> State {
        let Fiber { routine: slot, lent, top } = &mut self.list[fiber];
        if let Some(mut turn) = *lent {
            // SAFETY: the fiber is suspended in the call of `lend` that borrows this turn, and does not run meanwhile; nobody else has it.
            match catch_unwind(AssertUnwindSafe(|| unsafe { turn.as_mut()() })) {
                Ok(true) => return State::Suspended,
                Ok(false) => *lent = None,
                Err(payload) => return State::Panicked(payload),
            }
        }
        let routine = slot.as_mut().expect("the fiber has ended");
        let outcome = catch_unwind(AssertUnwindSafe(|| routine.resume(())));
        if let Ok(CoroutineResult::Yield((here, turn))) = outcome {
            *top = here;
            if turn.is_some() {
                *lent = turn;
            }
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

    /// Asks for what is looked at first when a fiber is resumed, ahead of time.
    #[inline(always)]
    pub fn fetch(&self, fiber: usize) {
        fetch(self.list.as_ptr().wrapping_add(fiber) as usize);
    }

    /// Asks for the hot end of the stack of a fiber that is suspended, ahead of time.
    #[inline(always)]
    pub fn fetch_stack(&self, fiber: usize) {
        let top = self.list[fiber].top;
        for line in 0..(BELOW + ABOVE) / 64 {
            fetch((top + line * 64).wrapping_sub(BELOW));
        }
    }

    /// The fibers that have not ended and have run into their red zone.
    pub fn overflowed(&self) -> Vec<usize> {
        let bad = |&i: &usize| self.list[i].routine.is_some() && !self.slab.red_zone_intact(self.limits[i]);
        (0..self.list.len()).filter(bad).collect()
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
    fn asking_for_memory_changes_nothing() {
        [0, 1, usize::MAX, usize::MAX / 2].into_iter().for_each(fetch);
        scope(2, MIN_STACK, |fibers| {
            let f = fibers.spawn(|s| s.suspend());
            // One that has not run yet, and none at all.
            fibers.fetch_stack(f);
            fibers.fetch(usize::MAX);
            assert!(matches!(fibers.resume(f), State::Suspended));
            fibers.fetch(f);
            fibers.fetch_stack(f);
            assert!(matches!(fibers.resume(f), State::Done));
        })
        .unwrap();
    }

    #[test]
    fn lent_turns_are_made_on_the_stack_of_whoever_resumes() {
        let log = RefCell::new(Vec::new());
        let near = |x: &u8| &raw const *x as usize;
        scope(1, MIN_STACK, |fibers| {
            let own = 0u8;
            let log = &log;
            let own = near(&own);
            let f = fibers.spawn(move |s| {
                let mine = 0u8;
                for round in 0..2 {
                    let mut left = 2;
                    s.lend(&mut || {
                        let here = 0u8;
                        let elsewhere = near(&here).abs_diff(near(&mine)) > near(&here).abs_diff(own);
                        log.borrow_mut().push((round, left, elsewhere));
                        left -= 1;
                        left > 0
                    });
                    s.suspend();
                }
            });
            for _ in 0..6 {
                assert!(matches!(fibers.resume(f), State::Suspended));
            }
            assert!(matches!(fibers.resume(f), State::Done));
        })
        .unwrap();
        assert_eq!(*log.borrow(), [(0, 2, true), (0, 1, true), (1, 2, true), (1, 1, true)]);
    }

    #[test]
    fn a_lent_turn_that_breaks_or_waits_otherwise_is_told() {
        scope(2, MIN_STACK, |fibers| {
            let f = fibers.spawn(|s| s.lend(&mut || panic!("broken")));
            let g = fibers.spawn(|s| {
                s.lend(&mut || {
                    s.suspend();
                    true
                })
            });
            for (fiber, says) in [(f, "broken"), (g, "can only say that it waits")] {
                assert!(matches!(fibers.resume(fiber), State::Suspended));
                match fibers.resume(fiber) {
                    State::Panicked(payload) => {
                        assert!(payload.downcast_ref::<&str>().is_some_and(|text| text.contains(says)))
                    }
                    other => panic!("{other:?}"),
                }
            }
        })
        .unwrap();
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
