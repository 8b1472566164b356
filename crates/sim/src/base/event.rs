//! The event set: what happens next, in the order (time, kind, place).
//!
//! What happens at one time at different places is unrelated, because nothing goes from place to place in no time. What happens at
//! one time at one place needs an order, and it must not depend on how the network is divided into parts: so it follows from what
//! happens (a rank, a cable, a flow) and not from when it was pushed. The order of places is another one at every time, or a port
//! with a low number would always be served first; so flows in step are not kept in step by the order of a list.
//!
//! A calendar: a ring of buckets, each a short span of time, each bucket a list through one slab. The bucket that time has
//! reached is sorted into a small stack and served from there; events beyond the ring's horizon wait in a heap. With one or
//! two events in a bucket a push and a pop cost about the same for a thousand pending events and for a million. A plain
//! binary heap does the same job for comparison: both must give the same order, and a test holds them to it.
//!
//! An event is sixteen bytes: its time, its place in the order of that time, and what happens to which object.

use crate::base::NONE;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

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

// The order of the list is that of one moment: whoever chooses among those who wait chooses last, when all who come are there.
events! {
    /// Something breaks or is mended.
    Fault = 0,
    /// A timer of the congestion control.
    Timer = 1,
    /// A notice that travels outside the data path reaches its source.
    Notice = 2,
    /// A packet's head is ready at a switch, or its tail is at an endpoint.
    Arrive = 3,
    /// A message between ranks of one node is there.
    Local = 4,
    /// A rank goes on.
    Resume = 5,
    /// A message reaches its NIC.
    Post = 6,
    /// An answer of a NIC, which its rank has not asked for, reaches it: a message as with `Post`.
    Answer = 7,
    /// A lost packet is sent again.
    Resend = 8,
    /// A flow held back by congestion control may send again.
    Unpark = 9,
    /// A rank may have moved a packet to its NIC.
    Moved = 10,
    /// The first packet of an input's queue has left; the next may ask for its output.
    InputReady = 11,
    /// An output may be able to send again.
    Wake = 12,
}

/// One word for what several words name together.
pub(crate) fn place<const N: usize>(words: [u32; N]) -> u32 {
    let fold = |h: u64, w: u32| {
        // 2^64 over the golden ratio, odd.
        let h = (h ^ u64::from(w)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^ (h >> 32)
    };
    // Fraction bits of pi: from 0, words of 0 would leave it at 0.
    (words.into_iter().fold(0x243f_6a88, fold) >> 8) as u32
}

/// The turn of a place among all places at a time: another number for each place, and another order at each time.
#[inline]
fn turn(place: u32, time: u64) -> u32 {
    // The high half depends on all bits: times are often multiples of something, and their low bits always the same.
    let moment = (time.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
    // Both steps can be undone, so no two places have one turn.
    (place ^ moment).wrapping_mul(0x85eb_ca6b)
}

#[derive(Clone, Copy, Debug)]
struct Due {
    time: u64,
    turn: u32,
    event: u32,
}

impl Due {
    /// Different for all that happens at one time at one place, but for a few that may come in the order of pushes.
    #[inline]
    fn order(&self) -> (u64, u64) {
        (self.time, u64::from(self.event >> INDEX_BITS) << 32 | u64::from(self.turn))
    }
}

/// An event in a heap, which does not keep the order of pushes by itself.
#[derive(Clone, Copy)]
struct Heaped {
    due: Due,
    push: u32,
}

impl Ord for Heaped {
    /// Numbers of pushes may wrap: of two events that are both pending the later push is the one ahead on the shorter way round.
    #[inline]
    fn cmp(&self, other: &Heaped) -> Ordering {
        let pushes = (self.push.wrapping_sub(other.push) as i32).cmp(&0);
        self.due.order().cmp(&other.due.order()).then(pushes)
    }
}

impl PartialOrd for Heaped {
    #[inline]
    fn partial_cmp(&self, other: &Heaped) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Heaped {
    fn eq(&self, other: &Heaped) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Heaped {}

/// Which implementation keeps the events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueKind {
    /// The ring of buckets.
    Calendar,
    /// A binary heap, to check the other.
    Heap,
}

/// Events of a bucket in the order of their pushes: one line of memory.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    due: [Due; LINE],
    used: u32,
    /// The line before it in its bucket, or the next free one.
    next: u32,
}

const LINE: usize = 3;
const _: () = assert!(size_of::<Line>() == 64);

/// Pending events.
pub(crate) struct Queue {
    /// Pushes into heaps so far.
    pushes: u32,
    /// Events in the ring.
    ringed: usize,
    shift: u32,
    /// The current bucket's number, counted from time zero.
    bucket: u64,
    /// The current bucket's events, latest first.
    current: Vec<Due>,
    /// How many of them are left when the next ones are to be foreseen.
    unseen: usize,
    /// Events added to the current bucket since it became current. A heap, because ranks in step make thousands of them.
    late: BinaryHeap<Reverse<Heaped>>,
    /// How many buckets after the current one are in the ring.
    reach: u64,
    /// The last line of each bucket.
    heads: Vec<u32>,
    occupied: Vec<u64>,
    lines: Vec<Line>,
    free: u32,
    far: BinaryHeap<Reverse<Heaped>>,
}

/// The ring's reach: link and switch latencies lie well inside it, compute times and timers beyond.
// About 2.1 us. A power of two, because a bucket's slot is found by a mask.
const HORIZON_PS: u64 = 1 << 21;

/// How many events are foreseen at once.
pub(crate) const FORESEEN: usize = 32;

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
            pushes: 0,
            ringed: 0,
            shift,
            bucket: 0,
            current: Vec::new(),
            unseen: 0,
            late: BinaryHeap::new(),
            reach: (buckets as u64).saturating_sub(1),
            heads: vec![NONE; buckets],
            occupied: vec![0; buckets.div_ceil(64)],
            lines: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
        }
    }

    /// Adds an event at a place. Those of one kind, time and place happen in the order they were added.
    #[inline(always)]
    pub(crate) fn push(&mut self, time: u64, place: u32, event: Event) {
        // Faults keep the order of the machine file.
        let turn = if matches!(event, Event::Fault(_)) { place } else { turn(place, time) };
        let entry = Due { time, turn, event: event.pack() };
        let ahead = (time >> self.shift).wrapping_sub(self.bucket);
        // The current bucket itself is not in the ring.
        if ahead.wrapping_sub(1) < self.reach {
            self.link(entry);
        } else {
            self.push_aside(entry, ahead);
        }
    }

    /// The places of those of the next events that have to be foreseen now, the last the first to come. Each is given once.
    #[inline(always)]
    pub(crate) fn unforeseen(&mut self) -> Range<usize> {
        let left = self.current.len();
        if left > self.unseen {
            return 0..0;
        }
        self.unseen = left.saturating_sub(FORESEEN);
        self.unseen..left
    }

    /// The event of a place that is to be foreseen.
    #[inline(always)]
    pub(crate) fn coming(&self, place: usize) -> Event {
        Event::unpack(self.current[place].event)
    }

    /// Adds an event that does not belong into the ring.
    fn push_aside(&mut self, entry: Due, ahead: u64) {
        // A huge difference has wrapped: the queue has looked ahead to a later bucket before this event, as from mail, came.
        let late = ahead == 0 || ahead > u64::MAX / 2;
        let heap = if late && !self.heads.is_empty() { &mut self.late } else { &mut self.far };
        heap.push(Reverse(Heaped { due: entry, push: self.pushes }));
        self.pushes = self.pushes.wrapping_add(1);
    }

    #[inline(always)]
    fn link(&mut self, entry: Due) {
        // `reach` is one less than the number of buckets and so their mask too.
        let slot = (entry.time >> self.shift) as usize & self.reach as usize;
        let head = &mut self.heads[slot];
        let line = match *head {
            NONE => None,
            last => self.lines.get_mut(last as usize).filter(|line| line.used < LINE as u32),
        };
        if let Some(line) = line {
            line.due[line.used as usize] = entry;
            line.used += 1;
        } else {
            let new = Line { due: [entry; LINE], used: 1, next: *head };
            if self.free == NONE {
                self.lines.push(new);
                *head = self.lines.len() as u32 - 1;
            } else {
                let place = &mut self.lines[self.free as usize];
                *head = std::mem::replace(&mut self.free, place.next);
                *place = new;
            }
        }
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.ringed += 1;
    }

    /// The time of the next event.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u64> {
        if self.heads.is_empty() {
            return self.far.peek().map(|e| e.0.due.time);
        }
        if self.current.is_empty() && self.late.is_empty() && !self.advance() {
            return None;
        }
        match (self.current.last(), self.late.peek()) {
            (Some(a), None) => Some(a.time),
            (None, Some(b)) => Some(b.0.due.time),
            (a, b) => a.map(|a| a.time).min(b.map(|b| b.0.due.time)),
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
        let &Reverse(Heaped { due: late, .. }) = heap.peek()?;
        // What is sorted was pushed before what is late.
        let sorted = self.current.last().copied().filter(|e| e.order() <= late.order());
        let entry = sorted.unwrap_or(late);
        if entry.time >= limit {
            return None;
        }
        match sorted {
            Some(_) => self.current.pop(),
            None => heap.pop().map(|e| e.0.due),
        };
        Some((entry.time, Event::unpack(entry.event)))
    }

    /// Makes the next bucket that holds an event the current one; false if there is none, or if there are no buckets but
    /// an event in the heap.
    fn advance(&mut self) -> bool {
        if self.heads.is_empty() {
            return !self.far.is_empty();
        }
        let far = self.far.peek().map(|e| e.0.due.time >> self.shift);
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
        let mut line = std::mem::replace(&mut self.heads[slot], NONE);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        while line != NONE {
            let place = &mut self.lines[line as usize];
            self.current.extend(place.due[..place.used as usize].iter().rev());
            let next = std::mem::replace(&mut place.next, self.free);
            self.free = std::mem::replace(&mut line, next);
        }
        self.unseen = self.current.len();
        self.ringed -= self.current.len();
        self.sort();
        true
    }

    /// Moves events from the heap that have come inside the horizon into the ring.
    fn fetch_far(&mut self) {
        let end = self.bucket + self.heads.len() as u64;
        while self.far.peek().is_some_and(|e| (e.0.due.time >> self.shift) < end) {
            let Reverse(entry) = self.far.pop().expect("just seen");
            self.link(entry.due);
        }
    }

    /// Sorts the current bucket, latest first. Its events are in the reverse order of their pushes, and equal ones stay so.
    fn sort(&mut self) {
        let list = &mut self.current;
        if list.len() > FEW {
            return list.sort_by_key(|e| Reverse(e.order()));
        }
        for i in 1..list.len() {
            let entry = list[i];
            let mut at = i;
            while at > 0 && list[at - 1].order() < entry.order() {
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

    /// All of a bucket but the first are foreseen once each, before their turn and in their order, however many they are.
    #[test]
    fn what_is_near_is_foreseen_once() {
        for count in [1, 2, 3, FORESEEN as u32, 5 * FORESEEN as u32 + 7] {
            let mut queue = Queue::new(QueueKind::Calendar, 1e9);
            (0..count).for_each(|i| queue.push(50_000 + u64::from(i * 7 % count), i, Event::Resume(i)));
            let (mut happened, mut foreseen) = (Vec::new(), Vec::new());
            while let Some((_, event)) = queue.pop_before(u64::MAX) {
                happened.push(event);
                let near = queue.unforeseen();
                foreseen.extend(near.rev().map(|place| queue.coming(place)));
                assert!(foreseen.len() >= happened.len().min(count as usize - 1));
            }
            assert_eq!(happened.len(), count as usize);
            assert_eq!(foreseen, happened[1..]);
        }
    }

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
                    a.push(now + ahead, i, Event::Wake(i));
                    b.push(now + ahead, i, Event::Wake(i));
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

    /// The order in which places are served at a time, by the order in which they were pushed.
    fn served(kind: QueueKind, time: u64, places: &[u32]) -> Vec<u32> {
        let mut queue = Queue::new(kind, 1e9);
        for &place in places {
            queue.push(time, place, Event::Wake(place));
        }
        queue.push(time, 7, Event::Fault(99));
        let mut order = Vec::new();
        while let Some((_, event)) = queue.pop_before(u64::MAX) {
            order.push(match event {
                Event::Wake(i) | Event::Fault(i) => i,
                other => panic!("{other:?} was not pushed"),
            });
        }
        order
    }

    #[test]
    fn one_time_is_served_by_place_and_not_by_push() {
        let (up, down): (Vec<u32>, Vec<u32>) = ((0..30).collect(), (0..30).rev().collect());
        let mut orders = Vec::new();
        for time in [0, 5_000, 5_001, 9_000_000] {
            for kind in [QueueKind::Calendar, QueueKind::Heap] {
                let order = served(kind, time, &up);
                assert_eq!(order, served(kind, time, &down), "at {time}");
                assert_eq!(order[0], 99, "a fault comes first");
                orders.push(order);
            }
        }
        orders.dedup();
        assert_eq!(orders.len(), 4, "the same order in both queues, another one at each time");
    }
}
