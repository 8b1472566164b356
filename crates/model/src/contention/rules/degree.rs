//! 1/degree: the bandwidth of the busier end divided by the number of its flows (Kim and Lee 2001).

use super::super::traffic::{Reach, Traffic};
use super::{Notes, RuleError, RuleSet, Rules};
use spec::Card;

/// The table entry.
pub const RULES: RuleSet = RuleSet {
    card: Card {
        name: "degree",
        about: "the busier end divided by the number of its flows",
        source: "Kim, Lee 2001",
        params: &[],
    },
    start: |_| Box::new(Degree),
};

struct Degree;

impl Rules for Degree {
    fn reach(&self) -> Reach {
        Reach::Receiver
    }

    fn penalties(&self, traffic: &Traffic, flows: &[u32], out: &mut [f64], notes: &mut Notes) -> Result<(), RuleError> {
        for (&f, rho) in flows.iter().zip(out) {
            let arriving = traffic.in_degree(traffic.receiver_of(f));
            *rho = flows.len().max(arriving) as f64;
            notes.add(f, "degree", *rho, || format!("{} leave, {arriving} arrive", flows.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{close, published};

    #[test]
    fn degrees() {
        assert!(close(&published("degree", "g3"), &[3.0, 3.0, 3.0, 2.0, 2.0]));
    }
}
