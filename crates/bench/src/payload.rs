//! Buffers that carry a pattern which the receiver can compute for itself, or nothing but a length.
//!
//! A pattern depends on sender, round and position, so data from the wrong rank, the wrong block or the wrong place is seen.

use comm::{Buffer, Data};
use record::{Payload, Verdict};

/// What identifies a message's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Who sends it.
    pub sender: usize,
    /// Block it belongs to.
    pub round: u64,
    /// Which of the sender's buffers.
    pub lane: u32,
}

impl Stamp {
    fn word(self, index: usize) -> u64 {
        // Keys differ for up to 2^8 lanes, 2^32 rounds and 2^24 senders.
        let key = (self.sender as u64) << 40 ^ self.round << 8 ^ u64::from(self.lane);
        // One multiply per word keeps filling cheap; the odd constants spread neighbouring keys and positions.
        (key ^ 0x5bd1_e995)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add((index as u64).wrapping_mul(0xd134_2543_de82_ef95))
    }

    /// Writes the pattern.
    pub fn fill(self, bytes: &mut [u8]) {
        for (i, chunk) in bytes.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&self.word(i).to_le_bytes()[..chunk.len()]);
        }
    }

    /// Compares with the pattern.
    pub fn check(self, bytes: &[u8]) -> Verdict {
        let wrong = |(i, chunk): &(usize, &[u8])| **chunk != self.word(*i).to_le_bytes()[..chunk.len()];
        let words = bytes.len().div_ceil(8) as u64;
        let count = bytes.chunks(8).enumerate().filter(wrong).count() as u64;
        match bytes.chunks(8).enumerate().find(wrong) {
            None => Verdict::Right { checked: words },
            Some((i, chunk)) => Verdict::Wrong {
                checked: words,
                wrong: count,
                first: format!("word {i} of a message from rank {} in block {}: {chunk:02x?}", self.sender, self.round),
            },
        }
    }
}

/// A buffer of messages of one size.
#[derive(Debug)]
pub struct Lanes {
    bytes: Vec<u8>,
    size: usize,
    /// Only the first and the last eight bytes of a message carry the pattern; the rest is never written.
    ends: bool,
}

/// Bytes of a pattern at each end of a message of which only the ends are written.
const END: usize = 8;

/// Both ends of a message as one piece.
fn ends(message: &[u8]) -> Vec<u8> {
    [&message[..END], &message[message.len() - END..]].concat()
}

impl Lanes {
    /// Room for `lanes` messages of `size` bytes, or none if data is not carried.
    pub fn new(payload: Payload, lanes: usize, size: usize) -> Lanes {
        let room = if payload == Payload::Checked { lanes * size } else { 0 };
        Lanes { bytes: vec![0; room], size, ends: false }
    }

    /// As `new`, for messages of which only the ends carry a pattern. Memory that was never written is one page of zeros to the operating
    /// system and always in the cache: HPC Challenge sends such memory, and within a node that makes a difference.
    pub fn with_ends(payload: Payload, lanes: usize, size: usize) -> Lanes {
        Lanes { ends: size > 2 * END, ..Lanes::new(payload, lanes, size) }
    }

    fn carried(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// One message to send.
    pub fn data(&self, lane: usize) -> Data<'_> {
        if self.carried() {
            Data::Bytes(&self.bytes[lane * self.size..(lane + 1) * self.size])
        } else {
            Data::Len(self.size)
        }
    }

    /// All messages as one piece to send.
    pub fn all(&self, lanes: usize) -> Data<'_> {
        if self.carried() { Data::Bytes(&self.bytes) } else { Data::Len(lanes * self.size) }
    }

    /// All messages as one piece to receive.
    pub fn all_mut(&mut self, lanes: usize) -> Buffer<'_> {
        if self.carried() { Buffer::Bytes(&mut self.bytes) } else { Buffer::Len(lanes * self.size) }
    }

    /// Places to receive, one per lane, without end where data is not carried.
    pub fn buffers(&mut self) -> impl Iterator<Item = Buffer<'_>> {
        let size = self.size;
        let lengths =
            std::iter::repeat_with(move || Buffer::Len(size)).take(if self.carried() { 0 } else { usize::MAX });
        // Chunks of 0 bytes are not allowed; without data there are none anyway.
        self.bytes.chunks_exact_mut(size.max(1)).map(Buffer::Bytes).chain(lengths)
    }

    /// Writes a pattern into a lane.
    pub fn fill(&mut self, lane: usize, stamp: Stamp) {
        if !self.carried() {
            return;
        }
        let message = &mut self.bytes[lane * self.size..(lane + 1) * self.size];
        if !self.ends {
            return stamp.fill(message);
        }
        let mut pattern = [0; 2 * END];
        stamp.fill(&mut pattern);
        message[..END].copy_from_slice(&pattern[..END]);
        message[self.size - END..].copy_from_slice(&pattern[END..]);
    }

    /// Forgets what was received, so that data which never arrives is seen.
    pub fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// Checks a lane against the pattern that should be in it.
    pub fn check(&self, lane: usize, stamp: Stamp) -> Verdict {
        if !self.carried() {
            return unchecked();
        }
        let message = &self.bytes[lane * self.size..(lane + 1) * self.size];
        if self.ends { stamp.check(&ends(message)) } else { stamp.check(message) }
    }
}

/// The verdict of messages that carry lengths alone.
pub fn unchecked() -> Verdict {
    Verdict::Unchecked { reason: "messages carry lengths, not data".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_senders_rounds_lanes_and_shifts_are_seen() {
        let stamp = Stamp { sender: 3, round: 5, lane: 1 };
        let mut bytes = vec![0; 100];
        stamp.fill(&mut bytes);
        assert_eq!(stamp.check(&bytes), Verdict::Right { checked: 13 });
        for other in [Stamp { sender: 4, ..stamp }, Stamp { round: 6, ..stamp }, Stamp { lane: 0, ..stamp }] {
            assert!(other.check(&bytes).is_wrong(), "{other:?}");
        }
        bytes.rotate_left(8);
        assert!(stamp.check(&bytes).is_wrong());
        bytes.rotate_right(8);
        bytes[99] ^= 1;
        assert!(matches!(stamp.check(&bytes), Verdict::Wrong { wrong: 1, .. }));
    }

    #[test]
    fn only_the_ends_are_written_and_seen() {
        let stamp = Stamp { sender: 1, round: 2, lane: 1 };
        let mut lanes = Lanes::with_ends(Payload::Checked, 2, 100);
        lanes.fill(1, stamp);
        assert_eq!(lanes.check(1, stamp), Verdict::Right { checked: 2 });
        assert!(lanes.check(0, stamp).is_wrong() && lanes.check(1, Stamp { round: 3, ..stamp }).is_wrong());
        assert!(lanes.bytes[..100].iter().chain(&lanes.bytes[108..192]).all(|b| *b == 0));
        lanes.bytes[199] ^= 1;
        assert!(lanes.check(1, stamp).is_wrong());
        // Short messages have no middle.
        let mut short = Lanes::with_ends(Payload::Checked, 1, 9);
        short.fill(0, stamp);
        assert_eq!(short.check(0, stamp), Verdict::Right { checked: 2 });
    }
}
