//! The buffers of a kernel that sends and receives messages of one size.

use super::{Slots, Stamp, Tally, unchecked};
use comm::{Buffer, Data};
use record::{Coverage, Payload, Verdict};

/// A glance looks at one message for so many bytes that arrived, and at one at least: three lines of them take a hundredth of the time
/// that the bytes take on any network.
const GLANCE: usize = 64 << 10;

/// Messages of some steps on both sides. The ranks that exchange them renew and look in the same steps.
#[derive(Debug)]
pub struct Mail {
    carried: bool,
    size: usize,
    /// Messages of a step that have memory of their own.
    sends: usize,
    receives: usize,
    out: Vec<u8>,
    into: Vec<u8>,
    /// Received data are read from memory that stays as it is during a block.
    read: bool,
    slots: Slots,
    round: u64,
    tally: Tally,
}

/// What one step sends.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    bytes: Option<&'a [u8]>,
    size: usize,
    lanes: usize,
}

/// What one step receives.
pub struct Incoming<'a> {
    bytes: Option<&'a mut [u8]>,
    size: usize,
    lanes: usize,
}

impl<'a> Outgoing<'a> {
    /// One message.
    pub fn lane(&self, lane: usize) -> Data<'a> {
        let Outgoing { bytes, size, .. } = *self;
        bytes.map_or(Data::Len(size), |bytes| Data::Bytes(&bytes[lane * size..(lane + 1) * size]))
    }
    /// All messages as one piece.
    pub fn all(&self) -> Data<'a> {
        self.bytes.map_or(Data::Len(self.lanes * self.size), Data::Bytes)
    }
}

impl<'a> Incoming<'a> {
    /// Room for one message.
    pub fn lane(&mut self, lane: usize) -> Buffer<'_> {
        let size = self.size;
        match &mut self.bytes {
            Some(bytes) => Buffer::Bytes(&mut bytes[lane * size..(lane + 1) * size]),
            None => Buffer::Len(size),
        }
    }
    /// Room for all messages as one piece.
    pub fn all(self) -> Buffer<'a> {
        let length = self.lanes * self.size;
        self.bytes.map_or(Buffer::Len(length), Buffer::Bytes)
    }
    /// The same for a moment: what comes next may be received there again.
    pub fn each(&mut self) -> impl Iterator<Item = Buffer<'_>> {
        Incoming { bytes: self.bytes.as_deref_mut(), size: self.size, lanes: self.lanes }.lanes()
    }
    /// Room for one message after the other.
    pub fn lanes(self) -> impl Iterator<Item = Buffer<'a>> {
        let (size, lanes) = (self.size, self.lanes);
        let lengths = if self.bytes.is_some() { 0 } else { lanes };
        let lengths = std::iter::repeat_with(move || Buffer::Len(size)).take(lengths);
        // Chunks of 0 bytes are not allowed, and there are none of them.
        let bytes = self.bytes.unwrap_or_default().chunks_exact_mut(size.max(1)).map(Buffer::Bytes);
        bytes.chain(lengths)
    }
}

impl Mail {
    /// For steps that send and receive so many messages of `size` bytes here. `widest` is the number that any rank sends or receives, so
    /// that all ranks have the same number of slots.
    pub fn new(payload: Payload, size: usize, (sends, receives): (usize, usize), widest: usize) -> Mail {
        Mail {
            // A message without bytes has nothing to compare.
            carried: payload == Payload::Checked && size > 0,
            size,
            sends,
            receives,
            out: Vec::new(),
            into: Vec::new(),
            read: false,
            slots: Slots::new(size * widest),
            round: 0,
            tally: Tally::default(),
        }
    }

    /// For messages that are read from another rank's memory, which stays as it is during a block: their stamps have no step.
    pub fn reading(payload: Payload, size: usize, receives: usize) -> Mail {
        // At least one, so that a rank that reads nothing has as many slots as one that reads one message.
        Mail { read: true, ..Mail::new(payload, size, (0, receives), receives.max(1)) }
    }

    /// How many steps can pass before a look; any number where nothing is carried.
    pub fn holds(&self) -> u32 {
        if self.carried { self.slots.most() as u32 } else { u32::MAX }
    }

    /// Fresh data of `sender` for the next steps: none of them can be taken for data of a step before.
    pub fn renew(&mut self, sender: usize, round: u64, steps: u32) {
        self.round = round;
        let slots = self.slots.renew(steps);
        if !self.carried {
            return;
        }
        let Mail { size, sends, receives, .. } = *self;
        for (room, lanes) in [(&mut self.out, sends), (&mut self.into, receives)] {
            if room.len() < slots * lanes * size {
                // Written, not only reserved: memory that nobody has touched would be found on the timed path.
                room.resize(slots * lanes * size, 0);
            }
        }
        if self.read {
            // Their data do not differ from step to step, so what does not arrive is seen only where nothing is left of a step before.
            self.into[..slots * receives * size].fill(0);
        }
        for (i, message) in self.out.chunks_exact_mut(size).take(slots * sends).enumerate() {
            Stamp { sender, round, step: self.slots.stamp(i / sends), lane: (i % sends) as u32 }.fill(message);
        }
    }

    fn stamp(&self, slot: usize, sender: usize, lane: u32) -> Stamp {
        Stamp { sender, round: self.round, step: if self.read { 0 } else { self.slots.stamp(slot) }, lane }
    }

    /// Whether the next steps may carry lengths alone: on all ranks that exchange them alike.
    pub fn spare(&mut self, spare: bool) {
        self.slots.spare(spare);
    }

    /// Whether the next steps carry nothing.
    pub fn is_empty(&self) -> bool {
        !self.carried || self.slots.spared()
    }

    /// The buffers of the step that begins.
    pub fn step(&mut self) -> (Outgoing<'_>, Incoming<'_>) {
        let Mail { size, sends, receives, .. } = *self;
        let carried = self.carried && !self.slots.spared();
        let slot = self.slots.begin();
        let out = carried.then(|| &self.out[slot * sends * size..(slot + 1) * sends * size]);
        let into = carried.then(|| &mut self.into[slot * receives * size..(slot + 1) * receives * size]);
        (Outgoing { bytes: out, size, lanes: sends }, Incoming { bytes: into, size, lanes: receives })
    }

    /// Looks at everything that arrived since the last look and is still there. `from` says who sent what a lane received so many steps ago,
    /// and in which of its lanes.
    pub fn verify(&mut self, from: impl Fn(u64, usize) -> (usize, u32)) -> Verdict {
        if !self.carried {
            return unchecked();
        }
        for ago in self.slots.kept() {
            let slot = self.slots.of(ago);
            for lane in 0..self.receives {
                let ((sender, its), at) = (from(ago, lane), (slot * self.receives + lane) * self.size);
                let stamp = self.stamp(slot, sender, its);
                self.tally.whole(stamp, &self.into[at..at + self.size]);
            }
        }
        self.tally.missed(self.slots.lost() * self.receives as u64, self.size);
        self.slots.looked();
        self.tally.verdict()
    }

    /// As `verify`, but at the ends and one line of some of the messages, which `random` chooses.
    pub fn glance(&mut self, random: u64, from: impl Fn(u64, usize) -> (usize, u32)) -> Verdict {
        if !self.carried {
            return unchecked();
        }
        let (kept, lanes) = (self.slots.kept().end as usize, self.receives);
        let all = kept * lanes;
        let some = (all * self.size / GLANCE).clamp(all.min(1), all);
        for i in 0..some {
            // Neighbouring messages from a random one on.
            let n = (random as usize % all + i) % all;
            let (ago, lane) = ((n / lanes) as u64, n % lanes);
            let slot = self.slots.of(ago);
            let ((sender, its), at) = (from(ago, lane), (slot * lanes + lane) * self.size);
            let stamp = self.stamp(slot, sender, its);
            let message = &mut self.into[at..at + self.size];
            self.tally.glance(stamp, message, random.rotate_left(32));
            // The next step may bring the same data: what does not arrive then must not look as if it had.
            message[0] = !message[0];
            message[self.size - 1] = !stamp.byte(self.size - 1);
        }
        self.tally.missed((all - some) as u64 + self.slots.lost() * lanes as u64, self.size);
        self.slots.looked();
        self.tally.verdict()
    }

    /// Looks at everything, or with `random` at some of it: for kernels with several of these.
    pub fn look(&mut self, random: Option<u64>, from: impl Fn(u64, usize) -> (usize, u32)) -> Verdict {
        match random {
            Some(random) => self.glance(random, from),
            None => self.verify(from),
        }
    }

    /// Messages of a step that have no memory of their own and were overwritten in it.
    pub fn overwritten(&mut self, messages: u64) {
        if self.carried {
            self.tally.missed(messages, self.size);
        }
    }

    /// What arrived and how much of it was looked at, if anything can be.
    pub fn coverage(&self) -> Option<Coverage> {
        self.carried.then_some(self.tally.coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a rank sends to itself.
    fn deliver(mail: &mut Mail, lanes: usize) {
        let (out, mut into) = mail.step();
        for lane in 0..lanes {
            match (out.lane(lane), into.lane(lane)) {
                (Data::Bytes(from), Buffer::Bytes(to)) => to.copy_from_slice(from),
                (Data::Len(from), Buffer::Len(to)) => assert_eq!(from, to),
                _ => panic!("data and lengths mixed"),
            }
        }
    }

    fn same(_: u64, lane: usize) -> (usize, u32) {
        (5, lane as u32)
    }

    #[test]
    fn every_message_of_every_kept_step_is_seen() {
        for size in [1, 8, 100, 3000, 100_000] {
            let mut mail = Mail::new(Payload::Checked, size, (2, 2), 2);
            let steps = mail.holds().min(7);
            for spoiled in 0..=steps {
                mail.renew(5, 9, steps);
                for step in 0..steps {
                    deliver(&mut mail, 2);
                    if step == spoiled {
                        let at = mail.slots.of(0) * 2 * size + size;
                        mail.into[at] ^= 0x10;
                    }
                }
                assert_eq!(mail.verify(same).is_wrong(), spoiled < steps, "step {spoiled} of {steps}, {size} bytes");
            }
            let Coverage { messages, whole, bytes, seen_bytes } = mail.coverage().unwrap();
            assert_eq!((whole, seen_bytes, messages), (messages, bytes, u64::from(2 * steps * (steps + 1))));
        }
    }

    #[test]
    fn a_message_that_never_came_is_seen_after_a_glance_and_after_fresh_data() {
        let mut mail = Mail::new(Payload::Checked, 100_000, (1, 1), 1);
        mail.renew(5, 0, 1);
        deliver(&mut mail, 1);
        assert!(!mail.glance(3, same).is_wrong());
        let _ = mail.step();
        assert!(mail.glance(4, same).is_wrong());
        deliver(&mut mail, 1);
        assert!(!mail.verify(same).is_wrong());
        mail.renew(5, 0, 1);
        let _ = mail.step();
        assert!(mail.verify(same).is_wrong());
        assert_eq!(mail.coverage().unwrap().whole, 2);
    }

    #[test]
    fn steps_without_data_are_counted_and_hide_nothing() {
        let mut mail = Mail::new(Payload::Checked, 100_000, (1, 1), 1);
        for spoiled in [false, true] {
            mail.renew(5, 0, 1);
            for spare in [true, false, true] {
                mail.spare(spare);
                deliver(&mut mail, 1);
                mail.into[77] ^= u8::from(spoiled && !spare);
            }
            assert_eq!(mail.verify(same).is_wrong(), spoiled);
            let Coverage { messages, whole, .. } = mail.coverage().unwrap();
            assert_eq!(messages, 3 * whole);
        }
    }

    #[test]
    fn lengths_are_never_called_checked() {
        let mut mail = Mail::new(Payload::Lengths, 64, (2, 2), 2);
        mail.renew(1, 1, 3);
        deliver(&mut mail, 2);
        assert!(mail.out.is_empty() && mail.into.is_empty() && mail.coverage().is_none());
        assert_eq!((mail.verify(same), mail.holds()), (unchecked(), u32::MAX));
        let (out, into) = mail.step();
        assert!(matches!((out.all(), into.lanes().count()), (Data::Len(128), 2)));
    }
}
