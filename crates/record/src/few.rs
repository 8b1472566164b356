//! Values of which few differ: each with how often it came.
//!
//! A rank of a large machine takes some thousand samples of some hundred different values, and there are a hundred thousand ranks: a
//! table of all values that could come would take ten to a hundred times as much.

use std::borrow::Cow;
use std::cmp::Ordering;

/// So many different values are kept.
// Chosen: 16 KiB, a small part of a table that reaches from a nanosecond to a millisecond.
pub(crate) const DIFFERENT: usize = 1024;
/// So many values wait to be counted: to sort them costs each a few comparisons.
const FRESH: usize = 256;

/// The values, in their buckets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Few {
    /// In rising order, each once.
    counted: Vec<(u64, u64)>,
    fresh: Vec<u64>,
}

impl Few {
    /// Of values in rising order, each once, with how often it came.
    pub(crate) fn of(counted: Vec<(u64, u64)>) -> Few {
        Few { counted, fresh: Vec::new() }
    }

    /// Adds a value. Whether there is still room.
    pub(crate) fn add(&mut self, value: u64) -> bool {
        self.fresh.push(value);
        if self.fresh.len() == FRESH {
            self.count();
        }
        self.counted.len() <= DIFFERENT
    }

    /// Adds all values of another. Whether there is still room.
    pub(crate) fn merge(&mut self, other: &Few) -> bool {
        self.counted = merged(&self.counted, &other.counted);
        self.fresh.extend_from_slice(&other.fresh);
        self.count();
        self.counted.len() <= DIFFERENT
    }

    /// Counts those that wait.
    fn count(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        self.fresh.sort_unstable();
        let runs = self.fresh.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64));
        self.counted = merged(&self.counted, &runs.collect::<Vec<_>>());
        self.fresh.clear();
    }

    /// Values with how often they came, in no order; a value may come more than once.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counted.iter().copied().chain(self.fresh.iter().map(|&value| (value, 1)))
    }

    /// Values in rising order, each once, with how often it came.
    pub(crate) fn counted(&self) -> Cow<'_, [(u64, u64)]> {
        if self.fresh.is_empty() {
            return Cow::Borrowed(&self.counted);
        }
        let mut all = self.clone();
        all.count();
        Cow::Owned(all.counted)
    }

    /// How many values.
    pub(crate) fn len(&self) -> u64 {
        self.iter().map(|(_, times)| times).sum()
    }
}

/// Two lists in rising order as one.
fn merged(a: &[(u64, u64)], b: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let (mut all, mut i, mut j) = (Vec::with_capacity(a.len() + b.len()), 0, 0);
    while i < a.len() && j < b.len() {
        let (left, right) = (a[i], b[j]);
        all.push(match left.0.cmp(&right.0) {
            Ordering::Less => left,
            Ordering::Greater => right,
            Ordering::Equal => (left.0, left.1 + right.1),
        });
        i += usize::from(left.0 <= right.0);
        j += usize::from(right.0 <= left.0);
    }
    all.extend_from_slice(&a[i..]);
    all.extend_from_slice(&b[j..]);
    // Most of two lists that are merged often is the same, and the room for what is not would stay.
    all.shrink_to_fit();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn tally(values: impl Iterator<Item = (u64, u64)>) -> BTreeMap<u64, u64> {
        let mut all = BTreeMap::new();
        values.for_each(|(value, times)| *all.entry(value).or_insert(0) += times);
        all
    }

    proptest! {
        #[test]
        fn every_value_is_counted_once(a in proptest::collection::vec(0..300u64, 0..900), b in proptest::collection::vec(0..300u64, 0..900)) {
            let (mut few, mut other) = (Few::default(), Few::default());
            a.iter().for_each(|&v| assert!(few.add(v)));
            b.iter().for_each(|&v| assert!(other.add(v)));
            prop_assert!(few.merge(&other));
            prop_assert_eq!(tally(few.iter()), tally(a.iter().chain(&b).map(|&v| (v, 1))));
            prop_assert_eq!(few.len() as usize, a.len() + b.len());
            prop_assert!(few.counted.is_sorted_by(|a, b| a.0 < b.0));
            few.add(150);
            prop_assert!(few.counted().is_sorted_by(|a, b| a.0 < b.0));
            prop_assert_eq!(tally(few.counted().iter().copied()), tally(few.iter()));
        }
    }

    #[test]
    fn it_says_when_too_many_differ() {
        let mut few = Few::default();
        let room = (0..).map(|value| few.add(value)).take_while(|&room| room).count();
        assert!((DIFFERENT..=DIFFERENT + FRESH).contains(&room), "{room}");
        let mut half = Few::default();
        (0..DIFFERENT as u64).for_each(|value| assert!(half.add(value)));
        let mut twice = half.clone();
        assert!(twice.merge(&half));
        (0..FRESH as u64).for_each(|value| {
            twice.add(10_000 + value);
        });
        assert!(!twice.merge(&half));
    }
}
