//! Gigabit Ethernet: a sender's flows to the busiest receivers are slowed more than its others, and the mirror image at the
//! receiver. Told from secondary descriptions of the paper, not checked against its text.

use super::super::traffic::{Reach, Traffic};
use super::{Notes, RuleError, RuleSet, Rules};
use spec::{Card, Kind, Param, ReadParams};

/// The table entry.
pub const RULES: RuleSet = RuleSet {
    card: Card {
        name: "gige",
        about: "Gigabit Ethernet: flows to the busiest receivers lose most",
        source: "Vienne et al. 2008",
        params: &[
            Param::new("b", Kind::Real, "0.75", "share of a busy end"),
            Param::new("go", Kind::Real, "0.115", "unfairness among a sender's flows"),
            Param::new("gi", Kind::Real, "0.036", "unfairness among a receiver's flows"),
        ],
    },
    start: |p| Box::new(Gige { b: p.real("b"), go: p.real("go"), gi: p.real("gi") }),
};

struct Gige {
    b: f64,
    go: f64,
    gi: f64,
}

impl Gige {
    /// One end's part: `rivals` are the opposite degrees of all flows at this end, `own` the one of this flow.
    fn part(&self, rivals: &[usize], own: usize, g: f64) -> f64 {
        let degree = rivals.len() as f64;
        let most = rivals.iter().copied().max().unwrap_or(own);
        let strongest = rivals.iter().filter(|&&r| r == most).count() as f64;
        match rivals.len() {
            1 => 1.0,
            _ if own == most => degree * self.b * (1.0 + g * (degree - strongest)),
            _ => degree * self.b * (1.0 - g / strongest),
        }
    }
}

impl Rules for Gige {
    fn reach(&self) -> Reach {
        Reach::Siblings
    }

    fn penalties(&self, traffic: &Traffic, flows: &[u32], out: &mut [f64], notes: &mut Notes) -> Result<(), RuleError> {
        let arriving: Vec<usize> = flows.iter().map(|&f| traffic.in_degree(traffic.receiver_of(f))).collect();
        for ((&f, rho), &own) in flows.iter().zip(out).zip(&arriving) {
            let into = traffic.flows_into(traffic.receiver_of(f));
            let leaving: Vec<usize> = into.iter().map(|&o| traffic.out_degree(traffic.sender(o))).collect();
            let sending = self.part(&arriving, own, self.go);
            let receiving = self.part(&leaving, flows.len(), self.gi);
            *rho = sending.max(receiving).max(1.0);
            notes.add(f, "out", sending, || format!("{} flows of its sender", flows.len()));
            notes.add(f, "in", receiving, || format!("{} flows at its receiver", into.len()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{close, of_edges};

    #[test]
    fn simple_cases() {
        assert!(close(&of_edges("gige", &[(0, 1), (0, 2)]), &[1.5, 1.5]));
        // Of three out flows the one into the busier receiver is slowed by 1 + 0.115 * 2, the others sped up by 1 - 0.115.
        let p = of_edges("gige", &[(0, 1), (0, 2), (0, 3), (4, 3)]);
        assert!((p[2] - 2.25 * 1.23).abs() < 1e-9 && (p[0] - 2.25 * 0.885).abs() < 1e-9, "{p:?}");
    }
}
