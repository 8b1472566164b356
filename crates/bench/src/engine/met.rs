//! What pairs of nodes reached, on its way from the ranks to the record.

use crate::kernel::Meeting;
use crate::layout::Home;
use record::{PairNode, PairValue, PairsRecord};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Meetings of some ranks. A rank's number in its communicator is its node's: tests of pairs run on all nodes, one rank of each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Met {
    /// Where nodes are: switch and group.
    homes: BTreeMap<u32, (Option<u32>, Option<u32>)>,
    /// Bytes and seconds of each pair, the lower node first.
    sums: BTreeMap<(u32, u32), (f64, f64)>,
    /// Those of one rank, before it is known which node it is on.
    mine: Vec<(u32, f64, f64)>,
}

impl Met {
    /// Of one rank.
    pub fn new(meetings: Vec<Meeting>) -> Met {
        let mine = meetings.into_iter().map(|m| (m.peer as u32, m.bytes, m.seconds)).collect();
        Met { mine, ..Met::default() }
    }

    /// Says which node the rank is on and where that is. Nothing of ranks that met nobody.
    pub fn settle(&mut self, node: usize, home: Option<Home>) {
        let node = node as u32;
        if self.mine.is_empty() {
            return;
        }
        self.homes.insert(node, (home.map(|h| h.switch), home.and_then(|h| h.group)));
        for (peer, bytes, seconds) in std::mem::take(&mut self.mine) {
            self.add((node.min(peer), node.max(peer)), (bytes, seconds));
        }
    }

    fn add(&mut self, pair: (u32, u32), (bytes, seconds): (f64, f64)) {
        let sum = self.sums.entry(pair).or_default();
        *sum = (sum.0 + bytes, sum.1 + seconds);
    }

    /// Adds those of other ranks.
    pub fn merge(&mut self, other: Met) {
        self.homes.extend(other.homes);
        other.sums.into_iter().for_each(|(pair, sum)| self.add(pair, sum));
    }

    /// For the record; nothing if nobody met.
    pub fn finish(self) -> Option<PairsRecord> {
        let nodes = self.homes.keys().last()? + 1;
        let at = |node: u32| self.homes.get(&node).copied().unwrap_or_default();
        let nodes = (0..nodes).map(at).map(|(switch, group)| PairNode { switch, group }).collect();
        let values = self.sums.iter().filter(|(_, sum)| sum.1 > 0.0);
        let value =
            |(pair, sum): (&(u32, u32), &(f64, f64))| PairValue { nodes: [pair.0, pair.1], bytes_per_s: sum.0 / sum.1 };
        Some(PairsRecord { nodes, values: values.map(value).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_pair_count() {
        let meeting = |peer, seconds| Meeting { peer, bytes: 100.0, seconds };
        let mut all = Met::new(vec![meeting(1, 1.0)]);
        all.settle(0, Some(Home { switch: 7, group: None }));
        let mut other = Met::new(vec![meeting(0, 3.0)]);
        other.settle(1, None);
        all.merge(other);
        let found = all.finish().unwrap();
        assert_eq!(found.values, [PairValue { nodes: [0, 1], bytes_per_s: 50.0 }]);
        assert_eq!(found.nodes[0], PairNode { switch: Some(7), group: None });
        assert_eq!(Met::default().finish(), None);
    }
}
