//! The paper's rules in the reading that reproduces all of its numbers and changes the printed formula least.
//!
//! out(v), in(v): numbers of flows. S(e): flows of e's sender. X(e): flows into e's receiver from other senders. The first rule that
//! matches gives k(e):
//! - R1: X(e) is empty: k = 0.
//! - R2: all senders in X(e) have the out-degree of s, and in(d) <= out(s): k = 0 (balanced).
//! - R3: out(s) = 1, X(e) = {e'} with out(s') >= 2, and everything that competes with any flow of s' comes alone from its sender:
//!   k = 1/(rho(e') - 1), the share that s' leaves.
//! - R4: otherwise k = sum over e1 in S(e), e2 in X(e1) of 1/out(src(e2)).
//!
//! rho(e) = out(s) + max over S(e) of k. Single flows of R3 refer only to senders of two flows or more, which are never R3, so
//! nothing is circular. The two other readings differ in R3 and share this file's computation.

use super::super::traffic::{Reach, Traffic};
use super::{Notes, RuleError, RuleSet, Rules};
use spec::Card;

/// The table entry.
pub const RULES: RuleSet = RuleSet {
    card: Card {
        name: "paper",
        about: "the paper's rules, reading V1: a single flow takes what its one competitor leaves",
        source: "Martinasso, Mehaut 2011, section 3; specification B2, V1",
        params: &[],
    },
    start: |_| Box::new(Paper { single }),
};

/// A reading of the paper: R1, R2, R4 and some R3.
pub struct Paper {
    /// R3: the penalty that counts for a single flow's one competitor, a sender of several flows; none if R3 does not apply.
    pub single: fn(&Traffic, competitor: u32) -> Option<f64>,
}

/// V1: the competitor's own penalty, if nobody but single flows competes with any of its flows.
fn single(traffic: &Traffic, competitor: u32) -> Option<f64> {
    let alone = |&f: &u32| {
        let others = traffic.flows_into(traffic.receiver_of(f)).iter().map(|&o| traffic.sender(o));
        others.filter(|&s| s != competitor).all(|s| traffic.out_degree(s) == 1)
    };
    traffic.flows_from(competitor).iter().all(alone).then(|| crowd(traffic, competitor).penalty())
}

/// A sender's R4: its out-degree and the sum over its flows and their competitors of 1/out.
#[derive(Clone, Copy, Debug)]
pub struct Crowd {
    out: usize,
    sum: f64,
}

impl Crowd {
    /// rho = out + k.
    pub fn penalty(self) -> f64 {
        self.out as f64 + self.sum
    }
}

/// Computes R4 for a sender.
pub fn crowd(traffic: &Traffic, sender: u32) -> Crowd {
    let flows = traffic.flows_from(sender);
    let mut sum = 0.0;
    for run in flows.chunk_by(|&a, &b| traffic.receiver_of(a) == traffic.receiver_of(b)) {
        let receiver = traffic.receiver_of(run[0]);
        if traffic.in_degree(receiver) > run.len() {
            // The weight counts all flows that arrive; the own ones are taken off, and each of them meets all others.
            let own = run.len() as f64;
            sum += own * (traffic.receiver(receiver).weight - own / flows.len() as f64);
        }
    }
    Crowd { out: flows.len(), sum }
}

impl Rules for Paper {
    fn reach(&self) -> Reach {
        Reach::Nested
    }

    fn penalties(&self, traffic: &Traffic, flows: &[u32], out: &mut [f64], notes: &mut Notes) -> Result<(), RuleError> {
        let sender = traffic.sender(flows[0]);
        let degree = flows.len();
        let mut most: f64 = 0.0;
        for run in flows.chunk_by(|&a, &b| traffic.receiver_of(a) == traffic.receiver_of(b)) {
            let receiver = traffic.receiver_of(run[0]);
            let summary = traffic.receiver(receiver);
            let arriving = traffic.in_degree(receiver);
            let others = arriving - run.len();
            // The sender is among those summed up, so equal out-degrees are equal to its own.
            let balanced = summary.least_out == summary.most_out && arriving <= degree;
            let (rule, k, text): (_, f64, &dyn Fn() -> String) = if others == 0 {
                ("R1", 0.0, &|| "nobody else sends to its receiver".into())
            } else if balanced {
                ("R2", 0.0, &|| format!("balanced: {arriving} flows arrive, all from senders of {degree}"))
            } else if let Some(rho) = (degree == 1 && others == 1).then(|| self.competitor(traffic, run[0])).flatten() {
                ("R3", 1.0 / (rho - 1.0), &move || format!("takes what its one competitor of penalty {rho} leaves"))
            } else {
                ("R4", crowd(traffic, sender).sum, &|| {
                    "sum over its sender's flows and their competitors of 1/out".into()
                })
            };
            most = most.max(k);
            run.iter().for_each(|&f| notes.add(f, rule, k, text));
        }
        let rho = degree as f64 + most;
        out.fill(rho);
        let text = || format!("out-degree {degree} + largest k of its sender {most}");
        flows.iter().for_each(|&f| notes.add(f, "rho", rho, text));
        Ok(())
    }
}

impl Paper {
    /// R3 for a single flow with one competing flow: the penalty that counts, if the rule applies.
    fn competitor(&self, traffic: &Traffic, flow: u32) -> Option<f64> {
        let own = traffic.sender(flow);
        let mut senders = traffic.flows_into(traffic.receiver_of(flow)).iter().map(|&f| traffic.sender(f));
        let other = senders.find(|&s| s != own)?;
        // A sender of two or more has a penalty of at least 2, so 1/(rho - 1) is finite.
        (traffic.out_degree(other) >= 2).then(|| (self.single)(traffic, other)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{close, of_edges, published};

    #[test]
    fn figure_2() {
        assert!(close(&published("paper", "g1"), &[3.0; 3]));
        assert!(close(&published("paper", "g2"), &[2.0; 4]));
        assert!(close(&published("paper", "g3"), &[4.0, 4.0, 4.0, 2.0 + 2.0 / 3.0, 2.0 + 2.0 / 3.0]));
        assert!(close(&published("paper", "g4"), &[4.0, 4.0, 4.0 / 3.0, 4.0 / 3.0]));
    }

    #[test]
    fn edge_cases_of_the_specification() {
        assert!(close(&of_edges("paper", &[(0, 9), (1, 9), (2, 9)]), &[3.0; 3]));
        assert!(close(&of_edges("paper", &[(0, 9), (0, 9), (1, 9)]), &[4.0, 4.0, 2.0]));
        // Not monotone: without b -> d the flows of c in g2 go from 2 to 3 and b -> a to 1.5.
        assert!(close(&of_edges("paper", &[(1, 0), (2, 0), (2, 4)]), &[1.5, 3.0, 3.0]));
    }
}
