//! Max-min fair sharing of unit send and receive capacities by progressive filling: the baseline of flow-level simulators.

use super::super::traffic::{Reach, Traffic};
use super::local::Local;
use super::{Notes, RuleError, RuleSet, Rules};
use spec::Card;

/// The table entry.
pub const RULES: RuleSet = RuleSet {
    card: Card {
        name: "max-min",
        about: "max-min fair shares of each node's sending and receiving rate",
        source: "Bertsekas, Gallager 1992, section 6.5",
        params: &[],
    },
    start: |_| Box::new(MaxMin),
};

struct MaxMin;

impl Rules for MaxMin {
    fn reach(&self) -> Reach {
        Reach::Component
    }

    fn penalties(&self, traffic: &Traffic, flows: &[u32], out: &mut [f64], notes: &mut Notes) -> Result<(), RuleError> {
        let local = Local::new(traffic, flows);
        let ports: Vec<&Vec<usize>> = local.out.iter().chain(&local.into).collect();
        let mut left: Vec<f64> = vec![1.0; ports.len()];
        let mut open: Vec<usize> = ports.iter().map(|p| p.len()).collect();
        let mut fixed = vec![false; flows.len()];
        // Each round fills the narrowest port, so there are at most as many rounds as ports.
        while let Some(port) = (0..ports.len())
            .filter(|&p| open[p] > 0)
            .min_by(|&a, &b| (left[a] / open[a] as f64).total_cmp(&(left[b] / open[b] as f64)))
        {
            let share = left[port] / open[port] as f64;
            let role = if port < local.out.len() { "sender" } else { "receiver" };
            for &f in ports[port] {
                if std::mem::replace(&mut fixed[f], true) {
                    continue;
                }
                out[f] = (1.0 / share).max(1.0);
                notes.add(flows[f], role, out[f], || format!("its {role} is the first to be full"));
                for p in [local.sender[f], local.out.len() + local.receiver[f]] {
                    // Rounding could leave a full port a little below zero.
                    left[p] = (left[p] - share).max(0.0);
                    open[p] -= 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{close, of_edges, published};

    #[test]
    fn fair_shares() {
        assert!(close(&published("max-min", "g4"), &[2.0; 4]));
        // The sender of two is held to 1/3 at the crowded receiver and uses the rest elsewhere.
        assert!(close(&of_edges("max-min", &[(0, 9), (0, 8), (1, 9), (2, 9)]), &[3.0, 1.5, 3.0, 3.0]));
    }
}
