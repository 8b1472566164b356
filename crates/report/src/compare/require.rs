//! Thresholds for acceptance tests: `gpcnet.p2p-lat.impact99 < 2`, `hpcc.*.bytes_per_s >= 10 GB/s`.

use super::limit::{EXAMPLES, Limit};
use crate::known::Known;
use crate::merit::Merit;
use crate::table::digits;
use spec::near::unknown;

/// Figures of merit and what they must be.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// The figure's name; `*` stands for any text.
    pub name: String,
    /// What must hold, all of it.
    pub bounds: Vec<Bound>,
    /// Whether the whole 95 % interval must hold it, and not the value alone.
    pub sure: bool,
    /// Why it is asked for, in its author's words.
    pub note: Option<String>,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// How the value must compare.
    pub operator: Operator,
    /// With what.
    pub limit: Limit,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It is met.
    Met,
    /// It is not.
    Missed,
    /// It had to be sure, and the interval reaches across a limit, or there is none.
    NotSure,
    /// There is nothing to hold it against: no such figure, or no such limit.
    NotThere,
}

impl Holds {
    /// As people and scripts read it.
    pub fn word(self) -> &'static str {
        match self {
            Holds::Met => "met",
            Holds::Missed => "MISSED",
            Holds::NotSure => "not sure",
            Holds::NotThere => "NOT THERE",
        }
    }
}

/// A requirement held against one figure of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// What became of it.
    pub holds: Holds,
    /// The value and its interval in the unit shown.
    pub known: Known,
    /// The value, how sure it is, and the limits as numbers of the same unit.
    pub text: String,
}

impl Requirement {
    /// Reads `NAME < LIMIT` (or `<=`, `>`, `>=`).
    pub fn parse(text: &str) -> Result<Requirement, String> {
        let shape = || {
            format!(
                "`{text}` is not a requirement; write it like 'gpcnet.p2p-lat.impact99 < 2', the limit as {EXAMPLES}"
            )
        };
        let (sign, operator) = OPERATORS.into_iter().find(|(sign, _)| text.contains(sign)).ok_or_else(shape)?;
        let (name, limit) = text.split_once(sign).ok_or_else(shape)?;
        let limit = Limit::parse(limit).map_err(|_| shape())?;
        let name = name.trim().to_string();
        if name.is_empty() || limit.is_relative() {
            // A reference is named in a file of requirements only.
            return Err(shape());
        }
        Ok(Requirement { name, bounds: vec![Bound { operator, limit }], sure: false, note: None })
    }

    /// Whether it is about the figure of this name.
    pub fn is_about(&self, name: &str) -> bool {
        matches(&self.name, name)
    }

    /// Holds it against every figure of a run that it is about. A name that the run does not have is an error, not a pass.
    pub fn check<'a>(&self, merits: &'a [Merit]) -> Result<Vec<(&'a Merit, Held)>, String> {
        let found: Vec<_> = merits.iter().filter(|m| self.is_about(&m.name)).map(|m| (m, self.hold(m, None))).collect();
        match found.is_empty() {
            true => Err(unknown("figure of merit", &self.name, merits.iter().map(|m| m.name.as_str()))),
            false => Ok(found),
        }
    }

    /// Holds it against one figure; `reference` is the same figure of the reference.
    pub fn hold(&self, merit: &Merit, reference: Option<&Merit>) -> Held {
        let known = merit.known;
        // A reference in another unit is another figure.
        let reference = reference.filter(|r| r.unit == merit.unit).map(|r| r.known.value);
        let mut limits = Vec::new();
        for bound in &self.bounds {
            match bound.limit.value(merit.unit, reference) {
                Ok(limit) => limits.push((bound.operator, limit)),
                Err(why) => return Held { holds: Holds::NotThere, known, text: why },
            }
        }
        let all = |value: f64| limits.iter().all(|(operator, limit)| operator.holds(value, *limit));
        // Both ends and the value within the same bounds: then all between them are, too.
        let (sure, says) = match known.interval {
            None => (false, ", with no interval to say how sure".to_string()),
            Some(i) => {
                let across = limits.iter().any(|(o, limit)| o.holds(i.low, *limit) != o.holds(i.high, *limit));
                let says = if across { ", but its interval reaches across the limit:" } else { ", 95 % sure:" };
                (!across, format!("{says} {} to {}", digits(i.low), digits(i.high)))
            }
        };
        let holds = match (all(known.value), sure || !self.sure) {
            (_, false) => Holds::NotSure,
            (true, true) => Holds::Met,
            (false, true) => Holds::Missed,
        };
        let limits: Vec<String> = limits.iter().map(|(o, limit)| format!("{} {}", o.sign(), digits(*limit))).collect();
        let text = format!("{} {}{says}; asked for {}", digits(known.value), merit.unit, limits.join(" and "));
        Held { holds, known, text }
    }
}

impl std::fmt::Display for Requirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bounds: Vec<String> = self.bounds.iter().map(|b| format!("{} {}", b.operator.sign(), b.limit)).collect();
        write!(f, "{} {}{}", self.name, bounds.join(" and "), if self.sure { ", surely" } else { "" })
    }
}

/// Whether a name is what a pattern says, in which `*` stands for any text. Linear in practice and never worse than the product.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let (last, middle) = parts.split_last().expect("splitting gives one part at least");
    for part in middle {
        // The earliest place leaves the most for what follows.
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Direction, Interval};

    fn merit(value: f64, low: f64, high: f64) -> Vec<Merit> {
        let known = Known { value, interval: Some(Interval { low, high }) };
        vec![Merit { name: "gpcnet.a.impact".into(), known, unit: "x", better: Direction::LowerIsBetter }]
    }

    fn held(text: &str, sure: bool) -> Held {
        let requirement = Requirement { sure, ..Requirement::parse(text).unwrap() };
        requirement.check(&merit(1.5, 1.4, 1.6)).unwrap().remove(0).1
    }

    #[test]
    fn requirements_are_read_and_held() {
        for (text, holds, sure) in [
            ("gpcnet.a.impact < 2", Holds::Met, Holds::Met),
            ("gpcnet.a.impact<=1.5", Holds::Met, Holds::NotSure),
            ("gpcnet.a.impact > 1.5", Holds::Missed, Holds::NotSure),
            ("gpcnet.a.impact>= 1.5 x", Holds::Met, Holds::NotSure),
            ("gpcnet.*.impact < 1", Holds::Missed, Holds::Missed),
            ("*impact < 1 us", Holds::NotThere, Holds::NotThere),
        ] {
            assert_eq!(held(text, false).holds, holds, "{text}");
            assert_eq!(held(text, true).holds, sure, "{text}");
        }
        assert!(held("gpcnet.a.impact < 1.55", false).text.contains("reaches across"));
    }

    #[test]
    fn without_an_interval_nothing_is_sure() {
        let bare = [Merit { known: Known::bare(1.5), ..merit(0.0, 0.0, 0.0).remove(0) }];
        let asked = Requirement { sure: true, ..Requirement::parse("*.impact < 2").unwrap() };
        assert_eq!(asked.check(&bare).unwrap()[0].1.holds, Holds::NotSure);
    }

    #[test]
    fn stars_stand_for_any_text() {
        let cases = [("a.b", "a.b", true), ("a*", "abc", true), ("*c", "abc", true), ("a*b*c", "axxbxc", true)];
        for (pattern, name, is) in cases.into_iter().chain([
            ("a*a", "a", false),
            ("a*b", "abc", false),
            ("*", "", true),
            ("a**b", "ab", true),
            ("*.impact", "x.impact99", false),
        ]) {
            assert_eq!(matches(pattern, name), is, "{pattern} {name}");
        }
    }

    #[test]
    fn nonsense_and_unknown_names_are_errors() {
        for text in ["", "x", "x = 2", "x < y", "< 2", "x < nan", "x < 2 x reference"] {
            assert!(Requirement::parse(text).unwrap_err().contains("impact99 < 2"), "{text}");
        }
        let unknown = Requirement::parse("gpcnet.b.impact < 2").unwrap();
        assert!(unknown.check(&merit(1.0, 1.0, 1.0)).unwrap_err().contains("gpcnet.a.impact"));
    }
}
