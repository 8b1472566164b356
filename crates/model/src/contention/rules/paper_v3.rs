//! The paper's rules, reading V3: in R3 any sender of several flows may be the one competitor, and its penalty is rounded down
//! to a whole number. Everything else is as in V1.

use super::RuleSet;
use super::paper_v1::{Paper, crowd};
use spec::Card;

/// The table entry.
pub const RULES: RuleSet = RuleSet {
    card: Card {
        name: "paper-v3",
        about: "the paper's rules, reading V3: the competitor's penalty is rounded down",
        source: "Martinasso, Mehaut 2011, section 3; specification B2, V3",
        params: &[],
    },
    // The sum is one of fractions: 1/3 three times must not come out as 2.9999.
    start: |_| {
        Box::new(Paper { single: |traffic, competitor| Some((crowd(traffic, competitor).penalty() + 1e-9).floor()) })
    },
};

#[cfg(test)]
mod tests {
    use super::super::tests::published;

    #[test]
    fn d1_tells_it_from_v1() {
        assert!((published("paper-v3", "d1")[2] - 4.0 / 3.0).abs() < 1e-12);
    }
}
