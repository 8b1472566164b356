//! What is in a message.
//!
//! Word `i` of a message is `key + i * STRIDE`, so a loop needs one addition per word, and several words at a time fit the registers of
//! any processor. Keys of two stamps that differ in one field differ, and then so does every word.

/// What identifies a message's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Who sends it.
    pub sender: usize,
    /// Block it belongs to.
    pub round: u64,
    /// Step of the block, as far as its data differ from those of other steps.
    pub step: u64,
    /// Which of the sender's buffers.
    pub lane: u32,
}

const WORD: usize = 8;
/// Words that are compared side by side: two registers of 32 bytes, or four of 16.
const WIDE: usize = 8;
const GROUP: usize = WIDE * WORD;
/// Odd, so that no two positions of a message are alike.
const STRIDE: u64 = 0xd134_2543_de82_ef95;

impl Stamp {
    fn key(self) -> u64 {
        // Each stage is a bijection of what came before and of what is added, so one field that differs is enough.
        let mix = |a: u64, b: u64| {
            let x = (a ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x ^ (x >> 29)
        };
        [self.round, self.step, u64::from(self.lane)].into_iter().fold(mix(0x5bd1_e995, self.sender as u64), mix)
    }

    fn word(self, index: usize) -> u64 {
        self.key().wrapping_add((index as u64).wrapping_mul(STRIDE))
    }

    /// The words of the first group of a part that begins at word `first`.
    fn group(self, first: usize) -> [u64; WIDE] {
        let begin = self.word(first);
        std::array::from_fn(|i| begin.wrapping_add((i as u64).wrapping_mul(STRIDE)))
    }

    /// Writes the pattern.
    pub fn fill(self, bytes: &mut [u8]) {
        if bytes.len() == WORD {
            return bytes.copy_from_slice(&self.key().to_le_bytes());
        }
        let mut words = self.group(0);
        let mut groups = bytes.chunks_exact_mut(GROUP);
        for group in &mut groups {
            for (chunk, word) in group.chunks_exact_mut(WORD).zip(&mut words) {
                chunk.copy_from_slice(&word.to_le_bytes());
                *word = word.wrapping_add(STRIDE.wrapping_mul(WIDE as u64));
            }
        }
        for (chunk, word) in groups.into_remainder().chunks_mut(WORD).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
        }
    }

    /// Whether a part of a message that begins at word `first` is as sent.
    pub fn matches(self, bytes: &[u8], first: usize) -> bool {
        // Most messages that are measured for their latency have one word.
        if let Ok(only) = <[u8; WORD]>::try_from(bytes) {
            return self.word(first) == u64::from_le_bytes(only);
        }
        let mut words = self.group(first);
        let mut differ = [0u64; WIDE];
        let groups = bytes.chunks_exact(GROUP);
        let rest = groups.remainder();
        // Differences are only collected here: a branch for each word would cost more than the memory does.
        for group in groups {
            for i in 0..WIDE {
                let word = &group[WORD * i..WORD * (i + 1)];
                differ[i] |= words[i] ^ u64::from_le_bytes(word.try_into().expect("eight bytes"));
                words[i] = words[i].wrapping_add(STRIDE.wrapping_mul(WIDE as u64));
            }
        }
        let same = |(chunk, word): (&[u8], u64)| *chunk == word.to_le_bytes()[..chunk.len()];
        differ.iter().all(|d| *d == 0) && rest.chunks(WORD).zip(words).all(same)
    }

    /// How many words of a part that begins at word `first` are wrong, and the first of them.
    pub fn faults(self, bytes: &[u8], first: usize) -> Option<(u64, String)> {
        let wrong = |(i, chunk): &(usize, &[u8])| **chunk != self.word(first + *i).to_le_bytes()[..chunk.len()];
        let all = || bytes.chunks(WORD).enumerate().filter(wrong);
        let (i, chunk) = all().next()?;
        let Stamp { sender, round, .. } = self;
        let text = format!("word {} of a message from rank {sender} in block {round}: {chunk:02x?}", first + i);
        Some((all().count() as u64, text))
    }

    /// One byte of the pattern.
    pub fn byte(self, at: usize) -> u8 {
        self.word(at / WORD).to_le_bytes()[at % WORD]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { sender: 3, round: 5, step: 2, lane: 1 };

    #[test]
    fn other_senders_rounds_steps_lanes_and_shifts_are_seen() {
        let mut bytes = vec![0; 1000];
        STAMP.fill(&mut bytes);
        assert!(STAMP.matches(&bytes, 0) && STAMP.faults(&bytes, 0).is_none());
        let others = [
            Stamp { sender: 4, ..STAMP },
            Stamp { round: 6, ..STAMP },
            Stamp { step: 3, ..STAMP },
            Stamp { lane: 0, ..STAMP },
        ];
        for other in others {
            assert!(!other.matches(&bytes, 0), "{other:?}");
            assert_eq!(other.faults(&bytes, 0).unwrap().0, 125, "every word differs");
        }
        for by in [1, 8, 64, 512] {
            bytes.rotate_left(by);
            assert!(!STAMP.matches(&bytes, 0), "shifted by {by}");
            bytes.rotate_right(by);
        }
    }

    #[test]
    fn every_flipped_bit_of_messages_of_any_length_is_seen() {
        for length in [1, 7, 8, 9, 63, 64, 65, 71, 72, 127, 129, 200, 515] {
            let mut bytes = vec![0; length];
            STAMP.fill(&mut bytes);
            for bit in 0..8 * length {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(!STAMP.matches(&bytes, 0), "bit {bit} of {length} bytes");
                let (count, text) = STAMP.faults(&bytes, 0).unwrap();
                assert!(count == 1 && text.starts_with(&format!("word {} ", bit / 64)), "{count} {text}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            assert!(STAMP.matches(&bytes, 0));
        }
    }

    #[test]
    fn parts_of_a_message_are_compared_where_they_are() {
        let mut bytes = vec![0; 515];
        STAMP.fill(&mut bytes);
        for first in 0..64 {
            assert!(STAMP.matches(&bytes[8 * first..], first));
            assert!(!STAMP.matches(&bytes[8 * first..], first + 1));
        }
        assert!((0..515).all(|at| STAMP.byte(at) == bytes[at]));
    }
}
