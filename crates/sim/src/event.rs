//! The event set: what happens next, in the order (time, sequence).
//!
//! A calendar: a ring of buckets, each a short span of time, each bucket a list through one slab. The bucket that time has
//! reached is sorted into a small stack and served from there; events beyond the ring's horizon wait in a heap. With one or
//! two events in a bucket a push and a pop cost about the same for a thousand pending events and for a million. A plain
//! binary heap does the same job for comparison: both must give the same order, and a test holds them to it.

use crate::slab::NONE;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What happens. The number names the object it happens to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Event {
    /// A packet's head is ready at a switch, or its tail is at an endpoint.
    Arrive(u32),
    /// An output may be able to send again.
    Wake(u32),
    /// A message reaches its NIC.
    Post(u32),
    /// A message between ranks of one node is there.
    Local(u32),
    /// A rank goes on.
    Resume(u32),
    /// The head of an input FIFO has left; the next may ask for its output.
    InputReady(u32),
    /// A flow held back by congestion control may send again.
    Unpark(u32),
    /// A timer of the congestion control.
    Timer(u32),
    /// A notice that travels outside the data path reaches its source.
    Notice(u32),
    /// Something breaks or is mended.
    Fault(u32),
    /// A lost packet is sent again.
    Resend(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    time: u64,
    sequence: u64,
    event: Event,
    next: u32,
}

/// Which implementation keeps the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueKind {
    /// The ring of buckets.
    Calendar,
    /// A binary heap, to check the other.
    Heap,
}

/// Pending events.
pub(crate) struct Queue {
    sequence: u64,
    len: usize,
    shift: u32,
    /// The current bucket's number, counted from time zero.
    bucket: u64,
    /// The current bucket's events, latest first.
    current: Vec<Entry>,
    /// Events added to the current bucket since it became current. A heap, because ranks in step make thousands of them.
    late: BinaryHeap<Reverse<Entry>>,
    heads: Vec<u32>,
    occupied: Vec<u64>,
    nodes: Vec<Entry>,
    free: u32,
    far: BinaryHeap<Reverse<Entry>>,
}

/// The ring's reach: link and switch latencies lie well inside it, compute times and timers beyond.
const HORIZON_PS: u64 = 1 << 22;

impl Queue {
    /// A queue for about `per_second` events per second of virtual time.
    pub(crate) fn new(kind: QueueKind, per_second: f64) -> Queue {
        let width = (1.5e12 / per_second.max(1.0)).clamp(64.0, 16384.0);
        let shift = width.log2() as u32;
        let buckets = match kind {
            QueueKind::Calendar => (HORIZON_PS >> shift) as usize,
            QueueKind::Heap => 0,
        };
        Queue {
            sequence: 0,
            len: 0,
            shift,
            bucket: 0,
            current: Vec::new(),
            late: BinaryHeap::new(),
            heads: vec![NONE; buckets],
            occupied: vec![0; buckets.div_ceil(64)],
            nodes: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
        }
    }

    /// Adds an event. Events of one time happen in the order they were added.
    #[inline]
    pub(crate) fn push(&mut self, time: u64, event: Event) {
        let entry = Entry { time, sequence: self.sequence, event, next: NONE };
        self.sequence += 1;
        self.len += 1;
        if self.heads.is_empty() {
            self.far.push(Reverse(entry));
            return;
        }
        let bucket = time >> self.shift;
        if bucket <= self.bucket {
            self.late.push(Reverse(entry));
        } else if bucket - self.bucket < self.heads.len() as u64 {
            self.link(bucket, entry);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    #[inline]
    fn link(&mut self, bucket: u64, mut entry: Entry) {
        let slot = bucket as usize & (self.heads.len() - 1);
        entry.next = self.heads[slot];
        self.heads[slot] = if self.free == NONE {
            self.nodes.push(entry);
            self.nodes.len() as u32 - 1
        } else {
            let node = self.free;
            self.free = self.nodes[node as usize].next;
            self.nodes[node as usize] = entry;
            node
        };
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// The time of the next event.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u64> {
        if self.len == 0 {
            return None;
        }
        if self.heads.is_empty() {
            return self.far.peek().map(|e| e.0.time);
        }
        if self.current.is_empty() && self.late.is_empty() {
            self.advance();
        }
        Some(self.front().0)
    }

    /// The time of the next event of the current bucket, and whether it is one of the late ones.
    #[inline]
    fn front(&self) -> (u64, bool) {
        match (self.current.last(), self.late.peek()) {
            (Some(a), None) => (a.time, false),
            (Some(a), Some(Reverse(b))) if (a.time, a.sequence) < (b.time, b.sequence) => (a.time, false),
            (_, Some(Reverse(b))) => (b.time, true),
            (None, None) => unreachable!("an event is pending"),
        }
    }

    /// Takes the next event if it is before `limit`.
    #[inline]
    pub(crate) fn pop_before(&mut self, limit: u64) -> Option<(u64, Event)> {
        if self.peek()? >= limit {
            return None;
        }
        self.len -= 1;
        let entry = if self.heads.is_empty() {
            self.far.pop()?.0
        } else if self.front().1 {
            self.late.pop()?.0
        } else {
            self.current.pop()?
        };
        Some((entry.time, entry.event))
    }

    /// Makes the next bucket that holds an event the current one. There is an event in the ring or in the heap.
    fn advance(&mut self) {
        let next = self.next_occupied();
        let far = self.far.peek().map(|e| e.0.time >> self.shift);
        self.bucket = match (next, far) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).expect("an event is pending"),
        };
        let end = self.bucket + self.heads.len() as u64;
        while self.far.peek().is_some_and(|e| (e.0.time >> self.shift) < end) {
            let Reverse(entry) = self.far.pop().expect("just seen");
            self.link(entry.time >> self.shift, entry);
        }
        let slot = self.bucket as usize & (self.heads.len() - 1);
        let mut node = std::mem::replace(&mut self.heads[slot], NONE);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        while node != NONE {
            let entry = self.nodes[node as usize];
            self.nodes[node as usize].next = self.free;
            self.free = node;
            self.current.push(entry);
            node = entry.next;
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by_key(|e| Reverse((e.time, e.sequence)));
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
        (1..=words).find_map(|k| {
            let word = (start / 64 + k) % words;
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
