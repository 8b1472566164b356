//! The event set: what happens next, in the order (time, sequence).
//!
//! A calendar: a ring of buckets, each a short span of time, each bucket a list through one slab. The bucket that time has
//! reached is sorted into a small stack and served from there; events beyond the ring's horizon wait in a heap. With one or
//! two events in a bucket a push and a pop cost about the same for a thousand pending events and for a million. A plain
//! binary heap does the same job for comparison: both must give the same order, and a test holds them to it.
//!
//! An event is sixteen bytes: its time, its place in the order of all pushes, and what happens to which object.

use crate::base::NONE;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Bits of an event that name the object it happens to.
// The other four bits are for the kind of event.
pub(crate) const INDEX_BITS: u32 = 28;
const INDEX: u32 = (1 << INDEX_BITS) - 1;

/// Names each event's number in the order of the list, and both ways between an event and its 32 bits.
macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What happens. The number names the object it happens to.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Event {
            $($(#[$doc])* $name(u32),)*
        }

        impl Event {
            #[inline]
            fn pack(self) -> u32 {
                match self {
                    $(Event::$name(i) => $number << INDEX_BITS | i,)*
                }
            }

            #[inline]
            fn unpack(bits: u32) -> Event {
                match bits >> INDEX_BITS {
                    $($number => Event::$name(bits & INDEX),)*
                    _ => unreachable!("made by pack"),
                }
            }
        }
    };
}

events! {
    /// A packet's head is ready at a switch, or its tail is at an endpoint.
    Arrive = 0,
    /// An output may be able to send again.
    Wake = 1,
    /// A message reaches its NIC.
    Post = 2,
    /// A message between ranks of one node is there.
    Local = 3,
    /// A rank goes on.
    Resume = 4,
    /// The head of an input FIFO has left; the next may ask for its output.
    InputReady = 5,
    /// A flow held back by congestion control may send again.
    Unpark = 6,
    /// A timer of the congestion control.
    Timer = 7,
    /// A notice that travels outside the data path reaches its source.
    Notice = 8,
    /// Something breaks or is mended.
    Fault = 9,
    /// A lost packet is sent again.
    Resend = 10,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Due {
    time: u64,
    sequence: u32,
    event: u32,
}

impl Ord for Due {
    /// By time, then by the order of pushes. Numbers of pushes may wrap: of two events of one time that are both pending the
    /// later push is the one ahead on the shorter way round.
    #[inline]
    fn cmp(&self, other: &Due) -> Ordering {
        let pushes = (self.sequence.wrapping_sub(other.sequence) as i32).cmp(&0);
        self.time.cmp(&other.time).then(pushes)
    }
}

impl PartialOrd for Due {
    #[inline]
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Which implementation keeps the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueKind {
    /// The ring of buckets.
    Calendar,
    /// A binary heap, to check the other.
    Heap,
}

#[derive(Clone, Copy)]
struct Node {
    entry: Due,
    next: u32,
}

/// Pending events.
pub(crate) struct Queue {
    sequence: u32,
    /// Events in the ring.
    ringed: usize,
    shift: u32,
    /// The current bucket's number, counted from time zero.
    bucket: u64,
    /// The current bucket's events, latest first.
    current: Vec<Due>,
    /// Events added to the current bucket since it became current. A heap, because ranks in step make thousands of them.
    late: BinaryHeap<Reverse<Due>>,
    /// How many buckets after the current one are in the ring.
    reach: u64,
    heads: Vec<u32>,
    occupied: Vec<u64>,
    nodes: Vec<Node>,
    free: u32,
    far: BinaryHeap<Reverse<Due>>,
}

/// The ring's reach: link and switch latencies lie well inside it, compute times and timers beyond.
// About 2.1 us. A power of two, because a bucket's slot is found by a mask.
const HORIZON_PS: u64 = 1 << 21;

/// Buckets of up to so many events are sorted by insertion.
const FEW: usize = 12;

impl Queue {
    /// A queue for about `per_second` events per second of virtual time.
    pub(crate) fn new(kind: QueueKind, per_second: f64) -> Queue {
        // The upper limit leaves 128 buckets, so that the words of `occupied` are a power of two as well.
        let width = (12e12 / per_second.max(1.0)).clamp(64.0, 16384.0);
        // Rounded down to a power of two, so that a time's bucket is a shift and no division.
        let shift = width.log2() as u32;
        let buckets = match kind {
            QueueKind::Calendar => (HORIZON_PS >> shift) as usize,
            QueueKind::Heap => 0,
        };
        Queue {
            sequence: 0,
            ringed: 0,
            shift,
            bucket: 0,
            current: Vec::new(),
            late: BinaryHeap::new(),
            reach: (buckets as u64).saturating_sub(1),
            heads: vec![NONE; buckets],
            occupied: vec![0; buckets.div_ceil(64)],
            nodes: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
        }
    }

    /// Adds an event. Events of one time happen in the order they were added.
    #[inline(always)]
    pub(crate) fn push(&mut self, time: u64, event: Event) {
        let entry = Due { time, sequence: self.sequence, event: event.pack() };
        self.sequence = self.sequence.wrapping_add(1);
        let ahead = (time >> self.shift).wrapping_sub(self.bucket);
        // The current bucket itself is not in the ring.
        if ahead.wrapping_sub(1) < self.reach {
            self.link(entry);
        } else {
            self.push_aside(entry, ahead);
        }
    }

    /// Adds an event that does not belong into the ring.
    fn push_aside(&mut self, entry: Due, ahead: u64) {
        // A huge difference has wrapped: the queue has looked ahead to a later bucket before this event, as from mail, came.
        let late = ahead == 0 || ahead > u64::MAX / 2;
        let heap = if late && !self.heads.is_empty() { &mut self.late } else { &mut self.far };
        heap.push(Reverse(entry));
    }

    #[inline(always)]
    fn link(&mut self, entry: Due) {
        // `reach` is one less than the number of buckets and so their mask too.
        let slot = (entry.time >> self.shift) as usize & self.reach as usize;
        let head = &mut self.heads[slot];
        let node = Node { entry, next: *head };
        if self.free == NONE {
            self.nodes.push(node);
            *head = self.nodes.len() as u32 - 1;
        } else {
            let place = &mut self.nodes[self.free as usize];
            *head = std::mem::replace(&mut self.free, place.next);
            *place = node;
        }
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.ringed += 1;
    }

    /// The time of the next event.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u64> {
        if self.heads.is_empty() {
            return self.far.peek().map(|e| e.0.time);
        }
        if self.current.is_empty() && self.late.is_empty() && !self.advance() {
            return None;
        }
        match (self.current.last(), self.late.peek()) {
            (Some(a), None) => Some(a.time),
            (None, Some(b)) => Some(b.0.time),
            (a, b) => a.map(|a| a.time).min(b.map(|b| b.0.time)),
        }
    }

    /// Takes the next event if it is before `limit`.
    #[inline]
    pub(crate) fn pop_before(&mut self, limit: u64) -> Option<(u64, Event)> {
        if self.late.is_empty() {
            if self.current.is_empty() && !self.advance() {
                return None;
            }
            if let Some(&entry) = self.current.last() {
                if entry.time >= limit {
                    return None;
                }
                self.current.pop();
                return Some((entry.time, Event::unpack(entry.event)));
            }
        }
        self.pop_late(limit)
    }

    /// As `pop_before`, while there are late events.
    fn pop_late(&mut self, limit: u64) -> Option<(u64, Event)> {
        // Without buckets every event is in `far`.
        let heap = if self.heads.is_empty() { &mut self.far } else { &mut self.late };
        let &Reverse(late) = heap.peek()?;
        let sorted = self.current.last().copied().filter(|e| *e < late);
        let entry = sorted.unwrap_or(late);
        if entry.time >= limit {
            return None;
        }
        match sorted {
            Some(_) => self.current.pop(),
            None => heap.pop().map(|e| e.0),
        };
        Some((entry.time, Event::unpack(entry.event)))
    }

    /// Makes the next bucket that holds an event the current one; false if there is none, or if there are no buckets but
    /// an event in the heap.
    fn advance(&mut self) -> bool {
        if self.heads.is_empty() {
            return !self.far.is_empty();
        }
        let far = self.far.peek().map(|e| e.0.time >> self.shift);
        let next = if self.ringed > 0 { self.next_occupied() } else { None };
        self.bucket = match (next, far) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => return false,
        };
        // Before the slot is read: the heap's first event may belong into the bucket that is now current.
        if far.is_some() {
            self.fetch_far();
        }
        let slot = self.bucket as usize & (self.heads.len() - 1);
        let mut node = std::mem::replace(&mut self.heads[slot], NONE);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        while node != NONE {
            let place = &mut self.nodes[node as usize];
            self.current.push(place.entry);
            let next = std::mem::replace(&mut place.next, self.free);
            self.free = std::mem::replace(&mut node, next);
        }
        self.ringed -= self.current.len();
        self.sort();
        true
    }

    /// Moves events from the heap that have come inside the horizon into the ring.
    fn fetch_far(&mut self) {
        let end = self.bucket + self.heads.len() as u64;
        while self.far.peek().is_some_and(|e| (e.0.time >> self.shift) < end) {
            let Reverse(entry) = self.far.pop().expect("just seen");
            self.link(entry);
        }
    }

    /// Sorts the current bucket, latest first. A list is the reverse of its pushes, so a bucket of few is nearly in order.
    fn sort(&mut self) {
        let list = &mut self.current;
        if list.len() > FEW {
            return list.sort_unstable_by(|a, b| b.cmp(a));
        }
        for i in 1..list.len() {
            let entry = list[i];
            let mut at = i;
            while at > 0 && list[at - 1] < entry {
                list[at] = list[at - 1];
                at -= 1;
            }
            list[at] = entry;
        }
    }

    /// The first bucket after the current one that holds an event.
    fn next_occupied(&self) -> Option<u64> {
        let mask = self.heads.len() - 1;
        let start = (self.bucket as usize + 1) & mask;
        let words = self.occupied.len();
        let found = |slot: usize| self.bucket + 1 + ((slot.wrapping_sub(start)) & mask) as u64;
        let first = self.occupied[start / 64] >> (start % 64);
        if first != 0 {
            return Some(found(start + first.trailing_zeros() as usize));
        }
        // The first word comes once more at the end, for its bits below `start`.
        (1..=words).find_map(|k| {
            let word = (start / 64 + k) & (words - 1);
            let bits = self.occupied[word];
            (bits != 0).then(|| found(word * 64 + bits.trailing_zeros() as usize))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both queues under the same random mixture of near, equal and far times.
    #[test]
    fn calendar_and_heap_give_one_order() {
        for density in [1e6, 1e9, 1e12] {
            let mut a = Queue::new(QueueKind::Calendar, density);
            let mut b = Queue::new(QueueKind::Heap, density);
            let mut rng = spec::Rng::new(3, "queue", 0);
            let mut now = 0;
            for i in 0..100_000u32 {
                if rng.below(5) < 3 {
                    let ahead = match rng.below(4) {
                        0 => 0,
                        1 => rng.below(1_000),
                        2 => rng.below(1_000_000),
                        _ => rng.below(1_000_000_000),
                    };
                    a.push(now + ahead, Event::Wake(i));
                    b.push(now + ahead, Event::Wake(i));
                } else {
                    let limit = now + rng.below(100_000_000);
                    assert_eq!(a.peek(), b.peek());
                    let (x, y) = (a.pop_before(limit), b.pop_before(limit));
                    assert_eq!(x, y);
                    now = x.map_or(now, |x| x.0);
                }
            }
            while let Some(x) = a.pop_before(u64::MAX) {
                assert_eq!(Some(x), b.pop_before(u64::MAX));
            }
            assert_eq!(b.pop_before(u64::MAX), None);
        }
    }
}
