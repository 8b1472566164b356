//! Matching: which receive a message belongs to.
//!
//! Every receive names its source and tag, so a message and a receive meet by an exact key, and under one key either receives
//! wait for messages or messages for receives, first come, first served. One table per part serves all its ranks.

use crate::base::{Key, NONE, Slab, Table};
use crate::link::Head;
use crate::net::Operations;

/// A message without a receive, when it came, and the next that waits under its key.
#[derive(Default)]
struct Early {
    head: Head,
    time: u64,
    next: u32,
}

/// Receives without a message, and messages without a receive.
pub(crate) struct Matching {
    /// The last of those who wait under a key: a receive's request, or with [`MESSAGE`] a message. They form a ring, so that it leads to
    /// the first; that of receives goes through their requests, which a message that comes needs anyway.
    last: Table,
    messages: Slab<Early>,
}

/// In a table's value: messages wait, no receives.
const MESSAGE: u32 = 1 << 31;

/// The key of a message from world rank `from` to the part's rank `to`.
pub(crate) fn key(to: u32, from: u32, context: u64, tag: u16) -> Key {
    // Distinct as long as both ranks are below 2^24.
    (context, u64::from(to) << 40 | u64::from(from) << 16 | u64::from(tag))
}

impl Matching {
    pub(crate) const fn new() -> Matching {
        Matching { last: Table::new(), messages: Slab::new() }
    }

    /// Asks for the line where a key is looked for.
    #[inline]
    pub(crate) fn fetch(&self, key: Key) {
        self.last.fetch(key);
    }

    /// The receive that was the last to wait under a key; mostly it is the only one.
    #[inline]
    pub(crate) fn waiting(&self, key: Key) -> Option<u32> {
        self.last.get(key).filter(|last| last & MESSAGE == 0)
    }

    /// A receive looks for its message: that and when it came, or the receive waits.
    pub(crate) fn receive(&mut self, operations: &mut Operations, key: Key, request: u32) -> Option<(Head, u64)> {
        debug_assert!(request < MESSAGE, "more operations under way than a table can name");
        match self.last.get(key) {
            Some(last) if last & MESSAGE != 0 => return Some(self.take_first(key, last & !MESSAGE)),
            Some(last) => {
                let first = std::mem::replace(&mut operations.at(last).next, request);
                operations.at(request).next = first;
            }
            None => operations.at(request).next = request,
        }
        self.last.set(key, request);
        None
    }

    /// A message looks for its receive: that with the message, or the message waits.
    pub(crate) fn message(
        &mut self,
        operations: &mut Operations,
        key: Key,
        head: Head,
        time: u64,
    ) -> Option<(u32, Head)> {
        let last = self.last.get(key);
        if let Some(last) = last.filter(|last| last & MESSAGE == 0) {
            let first = operations.at(last).next;
            if first == last {
                self.last.remove(key);
            } else {
                operations.at(last).next = operations.at(first).next;
            }
            return Some((first, head));
        }
        let new = self.messages.insert(Early { head, time, next: NONE });
        let first = last.map_or(new, |last| std::mem::replace(&mut self.messages[last & !MESSAGE].next, new));
        self.messages[new].next = first;
        self.last.set(key, new | MESSAGE);
        None
    }

    /// Takes the first message out of a ring.
    fn take_first(&mut self, key: Key, last: u32) -> (Head, u64) {
        let first = self.messages[last].next;
        let Early { head, time, next } = self.messages.take(first);
        if first == last {
            self.last.remove(key);
        } else {
            self.messages[last].next = next;
        }
        (head, time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::net::Doing;

    #[test]
    fn first_come_first_served_either_way() {
        let mut m = Matching::new();
        let o = &mut Operations::new(&Config::default());
        let group = o.group((0, 0), 0);
        let r: Vec<u32> = (0..8).map(|_| o.request(Doing::Receive, group, 2, 0, 4, 1)).collect();
        let head = |len| Head { len, ..Head::default() };
        let k = key(1, 2, 3, 4);
        assert!(m.message(o, k, head(10), 5).is_none());
        assert!(m.message(o, k, head(11), 6).is_none());
        assert!(m.receive(o, key(1, 2, 3, 5), r[0]).is_none());
        let (h, t) = m.receive(o, k, r[1]).unwrap();
        assert_eq!((h.len, t), (10, 5));
        assert_eq!(m.receive(o, k, r[2]).unwrap().0.len, 11);
        assert!(r[3..6].iter().all(|&r| m.receive(o, k, r).is_none()));
        assert_eq!(m.waiting(k), Some(r[5]));
        for wanted in &r[3..6] {
            assert_eq!(m.message(o, k, head(12), 7).unwrap().0, *wanted);
        }
        assert_eq!(m.message(o, key(1, 2, 3, 5), head(1), 9).unwrap().0, r[0]);
        assert!(m.waiting(k).is_none() && m.message(o, k, head(13), 9).is_none());
        assert!(m.waiting(k).is_none(), "a message that waits is no receive");
    }
}
