//! The clock of one part: what time it is, what will happen, and whether the part can go on.

use super::{Event, Queue, QueueKind};
use std::ops::Range;

pub(crate) struct Clock {
    pub(crate) now: u64,
    queue: Queue,
    /// Why the run cannot go on: when, and what.
    pub(crate) failure: Option<(u64, String)>,
}

impl Clock {
    /// A clock for about `per_second` events per second of virtual time.
    pub(crate) fn new(kind: QueueKind, per_second: f64) -> Clock {
        Clock { now: 0, queue: Queue::new(kind, per_second), failure: None }
    }

    /// Lets something happen at a time, which is not before now, and at a place: see [`Queue`].
    #[inline(always)]
    pub(crate) fn push(&mut self, time: u64, place: u32, event: Event) {
        self.queue.push(time, place, event);
    }

    /// The time of the next event.
    pub(crate) fn peek(&mut self) -> Option<u64> {
        self.queue.peek()
    }

    /// Goes on to the next event if it is before `limit`. What it is, and what time it was.
    #[inline(always)]
    pub(crate) fn advance(&mut self, limit: u64) -> Option<(Event, u64)> {
        let (time, event) = self.queue.pop_before(limit)?;
        debug_assert!(time >= self.now, "time runs backwards");
        Some((event, std::mem::replace(&mut self.now, time)))
    }

    /// The places of the next events that have to be foreseen now: see [`Queue::unforeseen`].
    #[inline(always)]
    pub(crate) fn unforeseen(&mut self) -> Range<usize> {
        self.queue.unforeseen()
    }

    /// The event of such a place.
    #[inline(always)]
    pub(crate) fn coming(&self, place: usize) -> Event {
        self.queue.coming(place)
    }

    /// Ends the run with a reason. The earliest counts, and the first by its words of those of one time.
    pub(crate) fn fail(&mut self, reason: String) {
        let known = self.failure.take();
        self.failure = known.into_iter().chain([(self.now, reason)]).min();
    }
}
