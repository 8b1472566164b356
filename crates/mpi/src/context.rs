//! What all communicators of this process share: the library, who we are, the clock, and scratch memory.

use crate::abi::Abi;
use crate::abort::abort;
use crate::scratch::Scratch;
use crate::table::Api;
use spec::Time;
use std::cell::RefCell;
use std::ffi::c_int;
use std::time::Instant;

/// One for a process; communicators borrow it.
pub(crate) struct Context<A: Abi> {
    pub api: &'static Api<A>,
    /// The node of this process, over the whole job.
    pub node: usize,
    /// The zero of the clock.
    pub zero: Instant,
    /// What may help where windows are refused; empty or a sentence.
    pub window_hint: &'static str,
    /// For calls that are complete when they return.
    pub scratch: RefCell<Scratch<A>>,
    /// For operations that are under way; taken and given back.
    pub pool: RefCell<Vec<Scratch<A>>>,
}

impl<A: Abi> Context<A> {
    pub fn new(api: &'static Api<A>, zero: Instant, window_hint: &'static str) -> Context<A> {
        let scratch = RefCell::new(Scratch::new());
        Context { api, node: 0, zero, window_hint, scratch, pool: RefCell::new(Vec::new()) }
    }

    pub fn now(&self) -> Time {
        // Not `as_nanos`, which computes in 128 bits; 64 bits of nanoseconds last 584 years.
        let since = self.zero.elapsed();
        Time::from_ns(since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos()))
    }

    /// Ends the job if a call failed; `detail` says what it was called for.
    #[inline]
    pub fn check(&self, code: c_int, call: &str, detail: impl FnOnce() -> String) {
        if code != 0 {
            self.fail(code, call, detail());
        }
    }

    /// Ends the job with the reason of a failed call. The rank is added where the job is ended.
    #[cold]
    #[inline(never)]
    pub fn fail(&self, code: c_int, call: &str, detail: String) -> ! {
        abort(1, &format!("{call}{}{detail}: {}", if detail.is_empty() { "" } else { " " }, self.api.error_text(code)))
    }

    /// Ends the job because a library without 64-bit counts was asked for a longer message than it can take.
    #[cold]
    #[inline(never)]
    pub fn too_long(&self, call: &str, count: usize) -> ! {
        abort(
            1,
            &format!(
                "{call}: {count} elements in one call; this MPI library takes at most {} (it has no {call}_c). Use smaller \
                 messages, or a library with MPI 4's large counts",
                c_int::MAX
            ),
        )
    }
}
