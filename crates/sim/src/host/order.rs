//! Order between two ranks: where routing may let messages overtake each other, they are numbered at the source and let
//! through to matching in that order.
//!
//! The numbers are kept for every pair of ranks that ever spoke: about forty bytes a pair, and none at all with routing that
//! keeps packets in order.

use crate::base::Table;
use crate::link::Head;
use std::collections::BTreeMap;

/// A pair of ranks: from, to.
type Pair = (u32, u32);

/// Numbers given out and numbers expected.
pub(crate) struct Order {
    sent: Table<u64>,
    expected: Table<u64>,
    early: BTreeMap<(Pair, u32), Head>,
}

fn key(pair: Pair) -> u64 {
    u64::from(pair.0) << 32 | u64::from(pair.1)
}

impl Order {
    pub(crate) const fn new() -> Order {
        Order { sent: Table::new(), expected: Table::new(), early: BTreeMap::new() }
    }

    /// The number of the next message of a pair, at its source.
    pub(crate) fn number(&mut self, from: u32, to: u32) -> u64 {
        let next = self.sent.counter(key((from, to)));
        *next += 1;
        u64::from(*next - 1)
    }

    /// Asks for where it is kept which message of a pair is next, at its source.
    #[inline]
    pub(crate) fn fetch_next(&self, from: u32, to: u32) {
        self.sent.fetch(key((from, to)));
    }

    /// Asks for where it is kept which is next at its destination.
    #[inline]
    pub(crate) fn fetch(&self, from: u32, to: u32) {
        self.expected.fetch(key((from, to)));
    }

    /// A message has come, with its number in `at`. If it is early it is kept; else it and those that waited for it, in order.
    pub(crate) fn arrived(&mut self, head: Head) -> Option<Head> {
        let (pair, n) = ((head.from, head.to), head.at as u32);
        let expected = self.expected.counter(key(pair));
        if n != *expected {
            self.early.insert((pair, n), head);
            return None;
        }
        *expected += 1;
        Some(head)
    }

    /// The message after the one just let through, if it is here already.
    pub(crate) fn next(&mut self, from: u32, to: u32) -> Option<Head> {
        // The usual case, without a search.
        if self.early.is_empty() {
            return None;
        }
        let expected = self.expected.counter(key((from, to)));
        let head = self.early.remove(&((from, to), *expected))?;
        *expected += 1;
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_as_they_were_numbered() {
        let mut order = Order::new();
        let mut heads: Vec<Head> =
            (0..5).map(|len| Head { from: 1, to: 2, at: order.number(1, 2), len, ..Head::default() }).collect();
        let other = Head { from: 3, to: 2, at: order.number(3, 2), len: 99, ..Head::default() };
        let mut out = Vec::new();
        for i in [2, 1, 0, 1, 0] {
            let first = order.arrived(heads.remove(i));
            let mut next = first;
            while let Some(head) = next {
                out.push(head.len);
                next = order.next(1, 2);
            }
        }
        assert_eq!(out, [0, 1, 2, 3, 4]);
        assert_eq!(order.arrived(other).unwrap().len, 99);
    }
}
