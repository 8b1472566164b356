//! Vienne's InfiniBand rules, as in SimGrid's network model "IB", with their three constants and how to calibrate them.
//!
//! Out: 1 if out(s) = 1, else out(s) Bs, times g where in(d) > 2; the largest over the sender's flows counts. In: 1 if in(d) = 1, else
//! (flows s to d) Be (distinct senders into d). rho is the larger.

use super::super::traffic::{Reach, Traffic};
use super::{Notes, RuleError, RuleSet, Rules};
use spec::{Card, Kind, Param, Params, ReadParams};

/// The table entry; defaults are SimGrid's, measured on Stampede.
pub const RULES: RuleSet = RuleSet {
    card: Card {
        name: "vienne",
        about: "Vienne's InfiniBand rules as in SimGrid, three constants",
        source: "Vienne 2010; SimGrid network model IB",
        params: &[
            Param::new("be", Kind::Real, "0.965", "share lost at a busy receiver"),
            Param::new("bs", Kind::Real, "0.925", "share lost at a busy sender"),
            Param::new("g", Kind::Real, "1.35", "blocking by receivers of more than two"),
        ],
    },
    start: |p| Box::new(Vienne::from_params(p)),
};

/// The three constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vienne {
    /// Be.
    pub be: f64,
    /// Bs.
    pub bs: f64,
    /// Gamma.
    pub g: f64,
}

impl Vienne {
    fn from_params(p: &Params) -> Vienne {
        Vienne { be: p.real("be"), bs: p.real("bs"), g: p.real("g") }
    }

    /// The constants from four times of equal messages: one flow alone, two out of one node, two into one node, and, where a sender of two
    /// has one receiver to itself and shares the other with two more senders, the flow to the free receiver. By the rules that flow takes
    /// 2 Bs g, and it ends before its sibling, so its time shows g alone. None if a time is not positive.
    pub fn calibrate(alone: f64, two_out: f64, two_in: f64, beside_three: f64) -> Option<Vienne> {
        let good = [alone, two_out, two_in, beside_three].iter().all(|t| t.is_finite() && *t > 0.0);
        let (be, bs) = (two_in / (2.0 * alone), two_out / (2.0 * alone));
        good.then(|| Vienne { be, bs, g: beside_three / (2.0 * bs * alone) })
    }

    /// As parameters of the card.
    pub fn params(self) -> Params {
        [("be", self.be), ("bs", self.bs), ("g", self.g)].map(|(n, v)| (n.to_string(), v.to_string())).into()
    }

    fn out_part(self, degree: usize, arriving: usize) -> f64 {
        match degree {
            1 => 1.0,
            _ => degree as f64 * self.bs * if arriving > 2 { self.g } else { 1.0 },
        }
    }
}

impl Rules for Vienne {
    fn reach(&self) -> Reach {
        Reach::Receiver
    }

    fn penalties(&self, traffic: &Traffic, flows: &[u32], out: &mut [f64], notes: &mut Notes) -> Result<(), RuleError> {
        let arriving = |f: u32| traffic.in_degree(traffic.receiver_of(f));
        let sending = flows.iter().map(|&f| self.out_part(flows.len(), arriving(f))).fold(1.0, f64::max);
        let mut place = 0;
        for run in flows.chunk_by(|&a, &b| traffic.receiver_of(a) == traffic.receiver_of(b)) {
            let into = traffic.flows_into(traffic.receiver_of(run[0]));
            let senders = into.chunk_by(|&a, &b| traffic.sender(a) == traffic.sender(b)).count();
            let receiving = if into.len() == 1 { 1.0 } else { run.len() as f64 * self.be * senders as f64 };
            // Small constants would make a busy flow faster than a lone one.
            let rho = sending.max(receiving).max(1.0);
            for &f in run {
                out[place] = rho;
                place += 1;
                notes.add(f, "out", sending, || format!("{} flows of its sender", flows.len()));
                notes.add(f, "in", receiving, || format!("{senders} senders at its receiver"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{close, of_edges};
    use super::*;

    #[test]
    fn constants_come_back_from_their_own_times() {
        let truth = Vienne { be: 0.9, bs: 0.95, g: 1.2 };
        let v = Vienne::calibrate(1.0, 2.0 * truth.bs, 2.0 * truth.be, 2.0 * truth.bs * truth.g).unwrap();
        assert!((v.be - truth.be).abs() < 1e-12 && (v.bs - truth.bs).abs() < 1e-12 && (v.g - truth.g).abs() < 1e-12);
        assert_eq!(Vienne::calibrate(0.0, 1.0, 1.0, 1.0), None);
        assert!(RULES.card.resolve(&v.params()).is_ok());
    }

    #[test]
    fn simple_cases() {
        assert!(close(&of_edges("vienne", &[(0, 1), (0, 2)]), &[1.85, 1.85]));
        assert!(close(&of_edges("vienne", &[(0, 9), (1, 9)]), &[1.93, 1.93]));
        assert!(close(&of_edges("vienne", &[(0, 9), (0, 8), (1, 9), (2, 9)]), &[2.895, 2.4975, 2.895, 2.895]));
    }
}
