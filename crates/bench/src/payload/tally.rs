//! What was looked at of the data that arrived, and what was wrong.

use super::Stamp;
use record::{Coverage, Verdict};

/// Bytes of a line, the least that memory gives: what a glance compares at a time.
const LINE: usize = 64;

/// Counts over a whole job, and what was found since the last verdict.
#[derive(Debug, Default)]
pub struct Tally {
    /// What arrived since the start and how much of it was looked at.
    pub coverage: Coverage,
    words: u64,
    wrong: u64,
    first: Option<String>,
}

impl Tally {
    /// Compares a whole message.
    pub fn whole(&mut self, stamp: Stamp, message: &[u8]) {
        let size = message.len() as u64;
        self.coverage += Coverage { messages: 1, whole: 1, bytes: size, seen_bytes: size };
        self.part(stamp, message, 0);
    }

    /// Compares both ends of a message and a line between them that `random` chooses.
    pub fn glance(&mut self, stamp: Stamp, message: &[u8], random: u64) {
        let size = message.len();
        if size <= 4 * LINE {
            return self.whole(stamp, message);
        }
        let last = (size - LINE) / 8 * 8;
        let between = LINE * (1 + random as usize % (last.div_ceil(LINE) - 1));
        self.coverage += Coverage { messages: 1, bytes: size as u64, ..Coverage::default() };
        for at in [0, between, last] {
            // The last one begins at a whole word, so it is up to seven bytes longer.
            let line = &message[at..if at == last { size } else { at + LINE }];
            self.coverage.seen_bytes += line.len() as u64;
            self.part(stamp, line, at / 8);
        }
    }

    /// Messages that nobody looked at.
    pub fn missed(&mut self, messages: u64, size: usize) {
        self.coverage += Coverage { messages, bytes: messages * size as u64, ..Coverage::default() };
    }

    fn part(&mut self, stamp: Stamp, bytes: &[u8], first: usize) {
        self.words += bytes.len().div_ceil(8) as u64;
        if !stamp.matches(bytes, first) {
            self.fault(stamp, bytes, first);
        }
    }

    #[cold]
    fn fault(&mut self, stamp: Stamp, bytes: &[u8], first: usize) {
        let (count, text) = stamp.faults(bytes, first).expect("it does not match");
        self.wrong += count;
        self.first.get_or_insert(text);
    }

    /// Values that are no message: so many were checked, so many were wrong.
    pub fn values(&mut self, checked: u64, wrong: u64, first: impl FnOnce() -> String) {
        self.words += checked;
        self.wrong += wrong;
        if wrong > 0 {
            self.first.get_or_insert_with(first);
        }
    }

    /// What was found since the last time.
    pub fn verdict(&mut self) -> Verdict {
        let (checked, wrong) = (std::mem::take(&mut self.words), std::mem::take(&mut self.wrong));
        match self.first.take() {
            None => Verdict::Right { checked },
            Some(first) => Verdict::Wrong { checked, wrong, first },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { sender: 1, round: 2, step: 3, lane: 0 };

    #[test]
    fn a_glance_sees_both_ends_and_any_line_in_time() {
        for size in [257, 320, 1000, 4096, 4099] {
            let mut message = vec![0; size];
            STAMP.fill(&mut message);
            let looks = |message: &[u8]| {
                let mut tally = Tally::default();
                (0..size as u64).for_each(|random| tally.glance(STAMP, message, random));
                let Coverage { messages, whole, bytes, seen_bytes } = tally.coverage;
                assert_eq!((messages, whole, bytes), (size as u64, 0, (size * size) as u64));
                assert!(seen_bytes < bytes && seen_bytes >= 3 * 64 * messages);
                tally.verdict()
            };
            assert!(!looks(&message).is_wrong());
            for at in 0..size {
                message[at] ^= 1;
                let mut once = Tally::default();
                once.glance(STAMP, &message, 0);
                assert!(looks(&message).is_wrong(), "byte {at} of {size}");
                assert!((64..size - 64).contains(&at) || once.verdict().is_wrong(), "byte {at} of {size}");
                message[at] ^= 1;
            }
        }
    }

    #[test]
    fn a_verdict_is_of_what_came_since_the_last_one() {
        let mut tally = Tally::default();
        let mut message = [0; 20];
        STAMP.fill(&mut message);
        tally.glance(STAMP, &message, 7);
        assert_eq!(tally.verdict(), Verdict::Right { checked: 3 });
        tally.whole(Stamp { step: 4, ..STAMP }, &message);
        tally.missed(2, 20);
        assert!(matches!(tally.verdict(), Verdict::Wrong { checked: 3, wrong: 3, .. }));
        assert_eq!(tally.verdict(), Verdict::Right { checked: 0 });
        assert_eq!(tally.coverage, Coverage { messages: 4, whole: 2, bytes: 80, seen_bytes: 40 });
    }
}
