//! What a record tells of a machine without a simulation.

use crate::maxrate::probe::EagerLimit;
use record::{About, PairPattern, RunRecord};

/// The longest message that is sent without asking: what the delayed receiver found, and the roundest number that fits it, because
/// thresholds are chosen by people.
pub fn eager(record: &RunRecord) -> Option<(u64, EagerLimit)> {
    let probed = |about: &About| matches!(about, About::Point { pattern: PairPattern::EagerLimit, .. });
    let job = record.phases.iter().find(|p| probed(&p.about))?.jobs.first()?;
    let limit = EagerLimit::from_results(&job.results);
    match limit {
        EagerLimit::Blocks { from, below, .. } => Some((roundest(below, from), limit)),
        EagerLimit::Always { .. } => Some((0, limit)),
        // Above the largest that was tried nothing is known.
        EagerLimit::Never { bytes } => Some((bytes, limit)),
        EagerLimit::Invalid => None,
    }
}

/// The number from `low` to below `end` with the most zeros at its end, in twos.
fn roundest(low: u64, end: u64) -> u64 {
    (low..end.min(low + (1 << 16))).max_by_key(|n| (n.trailing_zeros(), std::cmp::Reverse(*n))).unwrap_or(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_round() {
        assert_eq!(roundest(8190, 8194), 8192);
        assert_eq!(roundest(8192, 8196), 8192);
        assert_eq!(roundest(4000, 4004), 4000);
        assert_eq!(roundest(4001, 4002), 4001);
        assert_eq!(roundest(0, 4), 0);
    }
}
