//! Thresholds for acceptance tests: `gpcnet.p2p-lat.impact99 < 2`.

use crate::merit::Merit;
use spec::near::unknown;

/// A figure of merit and what it must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// The figure of merit's name.
    pub name: String,
    /// How it must compare.
    pub operator: Operator,
    /// With what, in the unit shown.
    pub limit: f64,
}

/// How a value must compare with its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// Longer signs first, so that `<=` is not read as `<`.
const OPERATORS: [(&str, Operator); 4] =
    [("<=", Operator::AtMost), (">=", Operator::AtLeast), ("<", Operator::Below), (">", Operator::Above)];

impl Operator {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Operator::Below => value < limit,
            Operator::AtMost => value <= limit,
            Operator::Above => value > limit,
            Operator::AtLeast => value >= limit,
        }
    }

    fn sign(self) -> &'static str {
        OPERATORS.iter().find(|o| o.1 == self).expect("every operator has a sign").0
    }
}

/// What became of a requirement.
#[derive(Clone, Debug, PartialEq)]
pub struct RequirementCheck {
    /// Whether it is met.
    pub met: bool,
    /// The value, the limit, and how sure that is.
    pub text: String,
}

impl Requirement {
    /// Reads `NAME < NUMBER` (or `<=`, `>`, `>=`).
    pub fn parse(text: &str) -> Result<Requirement, String> {
        let shape = || format!("`{text}` is not a requirement; write it like 'gpcnet.p2p-lat.impact99 < 2'");
        let (sign, operator) = OPERATORS.into_iter().find(|(sign, _)| text.contains(sign)).ok_or_else(shape)?;
        let (name, limit) = text.split_once(sign).ok_or_else(shape)?;
        let limit: f64 = limit.trim().parse().map_err(|_| shape())?;
        let name = name.trim().to_string();
        if name.is_empty() || !limit.is_finite() {
            return Err(shape());
        }
        Ok(Requirement { name, operator, limit })
    }

    /// Holds it against the figures of merit of a run. A name that the run does not have is an error, not a pass.
    pub fn check(&self, merits: &[Merit]) -> Result<RequirementCheck, String> {
        let found = merits.iter().find(|m| m.name == self.name);
        let merit =
            found.ok_or_else(|| unknown("figure of merit", &self.name, merits.iter().map(|m| m.name.as_str())))?;
        // The value decides; an interval across the limit is said, but does not turn the answer round.
        let met = self.operator.holds(merit.known.value, self.limit);
        let sure = match merit.known.interval {
            None => ", with no interval to say how sure".to_string(),
            Some(i) if self.operator.holds(i.low, self.limit) == self.operator.holds(i.high, self.limit) => {
                format!(", 95 % sure: {:.4} to {:.4}", i.low, i.high)
            }
            Some(i) => format!(", but its interval, {:.4} to {:.4}, reaches across the limit", i.low, i.high),
        };
        let (word, sign) = (if met { "met" } else { "MISSED" }, self.operator.sign());
        let text =
            format!("{word}: {} {sign} {}: it is {:.4} {}{sure}", self.name, self.limit, merit.known.value, merit.unit);
        Ok(RequirementCheck { met, text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::Known;
    use record::{Direction, Interval};

    fn merit(value: f64, low: f64, high: f64) -> Vec<Merit> {
        let known = Known { value, interval: Some(Interval { low, high }) };
        vec![Merit { name: "gpcnet.a.impact".into(), known, unit: "x", better: Direction::LowerIsBetter }]
    }

    #[test]
    fn requirements_are_read_and_held() {
        let check = |text: &str| Requirement::parse(text).unwrap().check(&merit(1.5, 1.4, 1.6)).unwrap();
        assert!(check("gpcnet.a.impact < 2").met && check("gpcnet.a.impact<=1.5").met);
        assert!(!check("gpcnet.a.impact > 1.5").met && check("gpcnet.a.impact>= 1.5").met);
        assert!(check("gpcnet.a.impact < 1.55").text.contains("reaches across"));
        assert!(check("gpcnet.a.impact < 1").text.starts_with("MISSED"));
    }

    #[test]
    fn nonsense_and_unknown_names_are_errors() {
        for text in ["", "x", "x = 2", "x < y", "< 2", "x < nan"] {
            assert!(Requirement::parse(text).unwrap_err().contains("impact99 < 2"), "{text}");
        }
        let unknown = Requirement::parse("gpcnet.b.impact < 2").unwrap();
        assert!(unknown.check(&merit(1.0, 1.0, 1.0)).unwrap_err().contains("gpcnet.a.impact"));
    }
}
