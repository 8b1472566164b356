//! Memory for the data of several steps, so that each of them can be looked at when they are over.
//!
//! Small messages of many steps fit the nearest cache beside each other, and nothing is done on the timed path but to go on to the next
//! place. Large ones use the same memory in every step, as the original's do: more memory would be slower memory.

use std::ops::Range;

/// Bytes of all slots together, unless one step has more: a processor's first cache holds them.
const ROOM: usize = 32 << 10;

/// Which slot a step uses and which slots hold data that nobody has looked at.
#[derive(Debug)]
pub struct Slots {
    most: usize,
    used: usize,
    next: usize,
    renewed: u64,
    steps: u64,
    unseen: u64,
    /// Steps carry nothing now; how many did so since the last look.
    spared: bool,
    passed: u64,
}

impl Slots {
    /// For steps of so many bytes, the same on all ranks that exchange them.
    pub fn new(step_bytes: usize) -> Slots {
        Slots {
            most: (ROOM / step_bytes.max(1)).max(1),
            used: 1,
            next: 0,
            renewed: 0,
            steps: 0,
            unseen: 0,
            spared: false,
            passed: 0,
        }
    }

    /// How many steps have a slot of their own at most.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Other data from now on, for so many steps; how many slots are to be filled.
    pub fn renew(&mut self, steps: u32) -> usize {
        self.used = (steps as usize).clamp(1, self.most);
        self.renewed += 1;
        (self.next, self.steps, self.unseen) = (0, 0, 0);
        self.used
    }

    /// Whether steps need no memory from now on, because they carry no data.
    pub fn spare(&mut self, spare: bool) {
        self.spared = spare;
    }

    /// Whether the step that begins carries no data.
    pub fn spared(&self) -> bool {
        self.spared
    }

    /// The slot of the step that begins; any, if it carries no data.
    pub fn begin(&mut self) -> usize {
        if self.spared {
            self.passed += 1;
            return 0;
        }
        // On the timed path, so without a division.
        let slot = self.next;
        self.next = if slot + 1 == self.used { 0 } else { slot + 1 };
        self.steps += 1;
        self.unseen += 1;
        slot
    }

    /// The last steps, from 0 for the last one backwards, whose data are there and were not looked at.
    pub fn kept(&self) -> Range<u64> {
        0..self.unseen.min(self.used as u64)
    }

    /// The slot of a step of [`kept`](Slots::kept).
    pub fn of(&self, ago: u64) -> usize {
        ((self.steps - 1 - ago) % self.used as u64) as usize
    }

    /// How many steps nobody has looked at whose data are gone, or that had none.
    pub fn lost(&self) -> u64 {
        self.passed + self.unseen - self.kept().end
    }

    /// Everything has been looked at.
    pub fn looked(&mut self) {
        (self.unseen, self.passed) = (0, 0);
    }

    /// What the data of a slot are stamped with.
    pub fn stamp(&self, slot: usize) -> u64 {
        self.renewed << 32 | slot as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_steps_are_kept_and_the_others_counted() {
        let mut slots = Slots::new(ROOM / 3);
        assert_eq!((slots.most(), slots.renew(8)), (3, 3));
        assert_eq!([(); 5].map(|()| slots.begin()), [0, 1, 2, 0, 1]);
        assert_eq!((slots.kept().map(|ago| slots.of(ago)).collect::<Vec<_>>(), slots.lost()), (vec![1, 0, 2], 2));
        slots.looked();
        assert_eq!((slots.begin(), slots.kept(), slots.of(0), slots.lost()), (2, 0..1, 2, 0));
        let before = slots.stamp(1);
        assert_eq!(slots.renew(2), 2);
        assert_ne!(slots.stamp(1), before);
        assert_eq!((slots.kept(), slots.begin()), (0..0, 0));
        assert_eq!(Slots::new(10 * ROOM).most(), 1);
    }

    #[test]
    fn steps_without_data_take_no_slot_and_are_counted() {
        let mut slots = Slots::new(ROOM / 3);
        slots.renew(3);
        for spare in [false, true, true, false, true] {
            slots.spare(spare);
            slots.begin();
        }
        assert_eq!((slots.kept().map(|ago| slots.of(ago)).collect::<Vec<_>>(), slots.lost()), (vec![1, 0], 3));
        slots.looked();
        assert_eq!((slots.kept(), slots.lost()), (0..0, 0));
    }
}
