//! Myrinet 2000: senders take turns. All maximal sets of flows that can be sent together (no shared sender, no shared
//! receiver) are enumerated; a sender's rarest flow decides. Exponential, hence the limit. The rule is told from secondary
//! descriptions of the paper, not checked against its text.

use super::super::traffic::{Reach, Traffic};
use super::local::Local;
use super::{Notes, RuleError, RuleSet, Rules};
use spec::Card;

/// The table entry.
pub const RULES: RuleSet = RuleSet {
    card: Card {
        name: "myrinet",
        about: "Myrinet 2000: maximal sets of flows that can be sent together (small graphs)",
        source: "Vienne et al. 2008",
        params: &[],
    },
    start: |_| Box::new(Myrinet),
};

/// Flows of a component beyond which the sets are too many.
// 2^20 sets are tried at most, and a set fits 32 bits.
const MOST: usize = 20;

struct Myrinet;

impl Rules for Myrinet {
    fn reach(&self) -> Reach {
        Reach::Component
    }

    fn penalties(&self, traffic: &Traffic, flows: &[u32], out: &mut [f64], notes: &mut Notes) -> Result<(), RuleError> {
        if flows.len() > MOST {
            return Err(RuleError::TooLarge { rules: RULES.card.name, flows: flows.len(), most: MOST });
        }
        let local = Local::new(traffic, flows);
        let meets = |a: usize, b: usize| local.sender[a] == local.sender[b] || local.receiver[a] == local.receiver[b];
        let conflicts: Vec<u32> = (0..flows.len())
            .map(|a| (0..flows.len()).filter(|&b| a != b && meets(a, b)).map(|b| 1 << b).sum())
            .collect();
        let mut counts = vec![0u64; flows.len()];
        let total = count(&conflicts, 0, 0, 0, &mut counts);
        for siblings in &local.out {
            let rarest = siblings.iter().map(|&f| counts[f]).min().unwrap_or(1);
            for &f in siblings {
                out[f] = total as f64 / rarest as f64;
                notes
                    .add(flows[f], "sets", out[f], || format!("{total} sets, its sender's rarest flow is in {rarest}"));
            }
        }
        Ok(())
    }
}

/// Counts the maximal sets: flow by flow in or out, with `taken` so far and `blocked` by it; a set is maximal if every flow left
/// out meets one that is in.
fn count(conflicts: &[u32], flow: usize, taken: u32, blocked: u32, counts: &mut [u64]) -> u64 {
    if flow == conflicts.len() {
        let everything = (1u64 << conflicts.len()) - 1;
        if u64::from(taken | blocked) != everything {
            return 0;
        }
        (0..conflicts.len()).filter(|f| taken >> f & 1 == 1).for_each(|f| counts[f] += 1);
        return 1;
    }
    let without = count(conflicts, flow + 1, taken, blocked, counts);
    if blocked >> flow & 1 == 1 {
        return without;
    }
    without + count(conflicts, flow + 1, taken | 1 << flow, blocked | conflicts[flow], counts)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{close, of_edges};
    use super::super::{evaluate, start};
    use crate::contention::Graph;

    #[test]
    fn simple_cases_and_the_limit() {
        assert!(close(&of_edges("myrinet", &[(0, 1), (0, 2), (0, 3)]), &[3.0; 3]));
        assert!(close(&of_edges("myrinet", &[(0, 9), (1, 9)]), &[2.0; 2]));
        let star: Vec<(usize, usize)> = (1..30).map(|d| (0, d)).collect();
        let rules = start("myrinet", &spec::Params::new()).unwrap();
        assert!(evaluate(&*rules, &Graph::from_edges(&star, 1.0).unwrap()).is_err());
    }
}
