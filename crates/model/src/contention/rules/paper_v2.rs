//! The paper's rules, reading V2: in R3 any sender of several flows may be the one competitor, and its penalty counts only its
//! conflicts with single flows. Everything else is as in V1.

use super::super::traffic::Traffic;
use super::RuleSet;
use super::paper_v1::Paper;
use spec::Card;

/// The table entry.
pub const RULES: RuleSet = RuleSet {
    card: Card {
        name: "paper-v2",
        about: "the paper's rules, reading V2: the competitor's penalty counts single flows only",
        source: "Martinasso, Mehaut 2011, section 3; specification B2, V2",
        params: &[],
    },
    start: |_| Box::new(Paper { single }),
};

fn single(traffic: &Traffic, competitor: u32) -> Option<f64> {
    let singles = |&f: &u32| {
        let arriving = traffic.flows_into(traffic.receiver_of(f)).iter();
        arriving.filter(|&&o| traffic.out_degree(traffic.sender(o)) == 1).count() as f64
    };
    let flows = traffic.flows_from(competitor);
    Some(flows.len() as f64 + flows.iter().map(singles).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::super::tests::published;

    #[test]
    fn d1_tells_it_from_v1() {
        assert!((published("paper-v2", "d1")[2] - 4.0 / 3.0).abs() < 1e-12);
        assert!((published("paper", "d1")[2] - 1.5).abs() < 1e-12);
    }
}
