//! Matching: which receive a message belongs to.
//!
//! Every receive names its source and tag, so a message and a receive meet by an exact key, and under one key either receives
//! wait for messages or messages for receives, first come, first served. One table per part serves all its ranks.

use crate::base::{Key, NONE, Slab, Table};
use crate::link::Head;

enum Waiting {
    Receive(u32),
    Message(Head, u64),
    Nothing,
}

/// Receives without a message, and messages without a receive.
pub(crate) struct Matching {
    /// The last of those who wait under a key. They form a ring, so that it leads to the first.
    last: Table,
    nodes: Slab<(Waiting, u32)>,
}

/// The key of a message from world rank `from` to the part's rank `to`.
pub(crate) fn key(to: u32, from: u32, context: u64, tag: u16) -> Key {
    // Distinct as long as both ranks are below 2^24.
    (context, u64::from(to) << 40 | u64::from(from) << 16 | u64::from(tag))
}

impl Matching {
    pub(crate) const fn new() -> Matching {
        Matching { last: Table::new(), nodes: Slab::new() }
    }

    /// A receive looks for its message: that and when it came, or the receive waits.
    pub(crate) fn receive(&mut self, key: Key, request: u32) -> Option<(Head, u64)> {
        match self.meet(key, Waiting::Receive(request)) {
            Some(Waiting::Message(head, time)) => Some((head, time)),
            _ => None,
        }
    }

    /// A message looks for its receive: that with the message, or the message waits.
    pub(crate) fn message(&mut self, key: Key, head: Head, time: u64) -> Option<(u32, Head)> {
        let last = self.last.get(key);
        if let Some(last) = last
            && let (Waiting::Receive(request), _) = self.nodes[self.nodes[last].1]
        {
            self.pop(key, last);
            return Some((request, head));
        }
        self.push(key, last, Waiting::Message(head, time));
        None
    }

    fn meet(&mut self, key: Key, one: Waiting) -> Option<Waiting> {
        let last = self.last.get(key);
        if let Some(last) = last
            && matches!(self.nodes[self.nodes[last].1].0, Waiting::Message(..))
        {
            return Some(self.pop(key, last));
        }
        self.push(key, last, one);
        None
    }

    fn push(&mut self, key: Key, last: Option<u32>, one: Waiting) {
        let node = self.nodes.insert((one, NONE));
        let first = last.map_or(node, |last| std::mem::replace(&mut self.nodes[last].1, node));
        self.nodes[node].1 = first;
        self.last.set(key, node);
    }

    /// Takes out the first of a ring.
    fn pop(&mut self, key: Key, last: u32) -> Waiting {
        let first = self.nodes[last].1;
        let (one, next) = std::mem::replace(&mut self.nodes[first], (Waiting::Nothing, NONE));
        self.nodes.free(first);
        if first == last {
            self.last.remove(key);
        } else {
            self.nodes[last].1 = next;
        }
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_come_first_served_either_way() {
        let mut m = Matching::new();
        let head = |len| Head { len, ..Head::default() };
        let k = key(1, 2, 3, 4);
        assert!(m.message(k, head(10), 5).is_none());
        assert!(m.message(k, head(11), 6).is_none());
        assert!(m.receive(key(1, 2, 3, 5), 70).is_none());
        let (h, t) = m.receive(k, 71).unwrap();
        assert_eq!((h.len, t), (10, 5));
        assert_eq!(m.receive(k, 72).unwrap().0.len, 11);
        assert!(m.receive(k, 73).is_none() && m.receive(k, 74).is_none());
        assert_eq!(m.message(k, head(12), 7).unwrap().0, 73);
        assert_eq!(m.message(k, head(13), 8).unwrap().0, 74);
        assert_eq!(m.message(key(1, 2, 3, 5), head(1), 9).unwrap().0, 70);
    }
}
