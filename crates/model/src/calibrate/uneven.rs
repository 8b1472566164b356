//! Nodes that differ from the others: which, and what was measured with them.

use super::seen::what;
use crate::suspects::{Found, Part};
use record::{Members, RunRecord};
use std::collections::BTreeSet;

/// A node that is slower than the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Slow {
    /// Its number.
    pub node: u32,
    /// What it is called.
    pub name: String,
    /// How many times as long its pairs take as is usual at their distance.
    pub times: f64,
}

/// The slow nodes of a record in which all pairs met; none of others, which cannot tell.
pub fn slow(record: &RunRecord) -> Vec<Slow> {
    let suspects = record.pairs().map(|p| Found::new(p).suspects).unwrap_or_default();
    let slow = suspects.into_iter().filter_map(|s| match s.part {
        Part::Node(n) => Some(Slow { node: n as u32, name: record.node_name(n), times: s.times }),
        Part::Switch(_) | Part::Group(_) => None,
    });
    slow.collect()
}

/// What a record says of jobs in which one of these nodes took part, by its name in [`super::Seen`].
pub fn with_them(record: &RunRecord, slow: &[Slow]) -> BTreeSet<String> {
    let of_phase = |p: &record::Phase| {
        let touched = p.jobs.iter().filter(|j| slow.iter().any(|s| takes_part(&j.members, s.node)));
        touched.map(|j| what(&p.name, &j.name)).collect::<Vec<_>>()
    };
    record.plan.phases.iter().flat_map(of_phase).collect()
}

fn takes_part(members: &Members, node: u32) -> bool {
    match members {
        Members::Block { first_node, nodes, .. } => (*first_node..first_node.saturating_add(*nodes)).contains(&node),
        Members::Places(list) => list.iter().any(|at| at.node == node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::RankAt;

    #[test]
    fn who_takes_part_is_known_of_blocks_and_of_places() {
        let block = Members::Block { first_node: 2, nodes: 3, first_slot: 0, slots: None };
        let places = Members::Places(vec![RankAt { node: 0, slot: 1 }, RankAt { node: 7, slot: 0 }]);
        let of = |members: &Members| (0..9).filter(|n| takes_part(members, *n)).collect::<Vec<u32>>();
        assert_eq!(of(&block), [2, 3, 4]);
        assert_eq!(of(&places), [0, 7]);
    }
}
