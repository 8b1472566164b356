//! The buffer behind a cable: what each channel has for itself, and what all share.
//!
//! Whoever sends knows all that is in the buffer and on its way there, because nobody else sends into it: so what the channels share
//! needs no word from the other side, and is counted here. What a channel has for itself holds a packet at least. It is what keeps the
//! channels apart: a channel whose packets cannot go on never takes all of the buffer.

/// The sizes of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    /// Of each channel.
    pub(crate) own: u32,
    /// Of all channels together, beside that.
    pub(crate) shared: u32,
}

impl Room {
    /// What a channel may have in it at most.
    pub(crate) fn most(self) -> u32 {
        self.own + self.shared
    }

    /// What is free for a channel, by what each has left of the most that it may have.
    #[inline]
    pub(crate) fn free(self, left: &[u32], channel: usize) -> u32 {
        if self.shared == 0 {
            return left[channel];
        }
        let lent: u32 = left.iter().map(|&left| self.shared.saturating_sub(left)).sum();
        left[channel].saturating_sub(self.shared) + (self.shared - lent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_takes_what_is_shared_and_leaves_the_others_their_own() {
        let room = Room { own: 10, shared: 20 };
        let mut left = [room.most(); 3];
        assert_eq!(room.free(&left, 0), 30);
        left[0] -= 25;
        assert_eq!((room.free(&left, 0), room.free(&left, 1)), (5, 15), "15 of what is shared are taken");
        left[1] -= 15;
        assert_eq!([0, 1, 2].map(|c| room.free(&left, c)), [0, 0, 10]);
        left[0] += 8;
        assert_eq!([0, 1, 2].map(|c| room.free(&left, c)), [8, 8, 18], "what comes back is everybody's");
    }

    /// Against a buffer that is counted byte by byte.
    #[test]
    fn nothing_is_lent_twice() {
        let mut rng = spec::Rng::new(1, "room", 0);
        for (own, shared) in [(1, 0), (7, 3), (10, 100), (40, 40)] {
            let room = Room { own, shared };
            let (mut left, mut held, mut full) = ([room.most(); 4], [0u32; 4], 0);
            for _ in 0..5_000 {
                let (channel, bytes) = (rng.below(4) as usize, rng.below(30) as u32);
                if rng.below(5) < 3 {
                    match room.free(&left, channel) >= bytes {
                        true => (left[channel], held[channel]) = (left[channel] - bytes, held[channel] + bytes),
                        false => full += 1,
                    }
                } else {
                    let bytes = bytes.min(held[channel]);
                    (left[channel], held[channel]) = (left[channel] + bytes, held[channel] - bytes);
                }
                let lent: u32 = held.iter().map(|h| h.saturating_sub(own)).sum();
                assert!(lent <= shared, "{lent} of {shared}");
                for (c, held) in held.iter().enumerate() {
                    assert_eq!(room.free(&left, c), own.saturating_sub(*held) + shared - lent);
                }
            }
            assert!(full > 100, "it was full {full} times only");
        }
    }
}
