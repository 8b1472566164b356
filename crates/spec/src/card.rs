//! Cards: what a kernel, topology or model is called, what it is for, and which parameters it takes.
//!
//! Parameter values stay text ("128KiB", "10s") from the command line to the record, so that a plan can be read and edited
//! by hand; they are checked against the card once, before any rank starts.

use crate::near::unknown;
use crate::units::{LONGEST_S, Rate, Time, parse_bytes, parse_rate, parse_time, show_bytes};
use std::collections::BTreeMap;
use thiserror::Error;

/// The kind of value a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size in bytes, written as [`parse_bytes`] reads it.
    Size,
    /// A whole number.
    Count,
    /// A time, written as [`parse_time`] reads it.
    Time,
    /// A rate in bytes per second, written as [`parse_rate`] reads it.
    Rate,
    /// A number.
    Real,
    /// A share of a whole, written `0.2` or `20%`.
    Share,
    /// Any text, e.g. a list of names.
    Text,
    /// A command line for the shell; it may be written after `--`.
    Command,
    /// The path of a file, or nothing. Whoever reads the command line reads the file.
    File,
    /// One of a list of words.
    Choice(&'static [&'static str]),
}

impl Kind {
    /// A value in base units, as it is written.
    pub fn show(self, value: f64) -> String {
        match self {
            Kind::Size => show_bytes(value as u64),
            Kind::Time => Time::from_secs(value).to_string(),
            Kind::Rate => Rate::from_bytes_per_s(value).to_string(),
            _ => value.to_string(),
        }
    }

    /// The greatest value of a parameter of this kind that sets none of its own, in base units.
    pub const fn most(self) -> f64 {
        match self {
            // A message: longer ones are a slip of the pen. Sizes of other things say so.
            Kind::Size => (1u64 << 34) as f64,
            Kind::Count => 1e9,
            Kind::Time => LONGEST_S,
            Kind::Rate | Kind::Real => 1e18,
            Kind::Share => 1.0,
            Kind::Text | Kind::Command | Kind::File | Kind::Choice(_) => f64::INFINITY,
        }
    }
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name on the command line, in plans and in records.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Its value when nothing is said.
    pub default: &'static str,
    /// Its value when nothing is said and the machine is simulated, where that differs: ten seconds of a network are a second of a
    /// cluster's time and an hour of a simulator's.
    pub simulated: Option<&'static str>,
    /// Its greatest value, in base units: bytes, seconds, bytes per second. Checked before anything is made of the value.
    pub most: f64,
    /// Its least value, in base units.
    pub least: f64,
    /// Words that it may hold, where it is no single choice: for completion by the shell.
    pub known: Option<fn() -> Vec<&'static str>>,
}

impl Param {
    /// One with the same default on every machine.
    pub const fn new(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Param {
        Param { name, about, kind, default, simulated: None, most: kind.most(), least: f64::NEG_INFINITY, known: None }
    }

    /// The same with another greatest value than its kind's, in base units.
    pub const fn up_to(mut self, most: f64) -> Param {
        self.most = most;
        self
    }

    /// The same with a least value, in base units: 0 of these would be a question without an answer.
    pub const fn at_least(mut self, least: f64) -> Param {
        self.least = least;
        self
    }

    /// The same with another default on a simulated machine.
    pub const fn simulated(mut self, default: &'static str) -> Param {
        self.simulated = Some(default);
        self
    }

    /// The same with words that the shell completes.
    pub const fn known(mut self, words: fn() -> Vec<&'static str>) -> Param {
        self.known = Some(words);
        self
    }

    /// Its defaults and, where it has one of its own, its greatest value, as help and lists show them; nothing if there is none.
    pub fn defaults(&self) -> String {
        let mut words = Vec::new();
        if !self.default.is_empty() || self.simulated.is_some() {
            words.push(format!("default: {}", self.default));
        }
        words.extend(self.simulated.map(|simulated| format!("simulated: {simulated}")));
        if self.most != self.kind.most() && self.most.is_finite() {
            words.push(format!("at most {}", self.kind.show(self.most)));
        }
        if words.is_empty() { String::new() } else { format!(" [{}]", words.join("; ")) }
    }

    /// Its value when nothing is said.
    pub fn default_on(&self, simulated: bool) -> &'static str {
        self.simulated.filter(|_| simulated).unwrap_or(self.default)
    }
}

/// Identity of a thing in a table.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// Kebab-case name.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Where it is described, e.g. "GPCNeT §3.1.1".
    pub source: &'static str,
    /// What can be set.
    pub params: &'static [Param],
}

/// Parameter values by name.
pub type Params = BTreeMap<String, String>;

/// A parameter that does not fit its card.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParamError {
    /// No such parameter.
    #[error("{0}")]
    Unknown(String),
    /// The value is not of the parameter's kind.
    #[error("{owner}: {param}={value}: {reason}")]
    Value {
        /// Whose card it is.
        owner: &'static str,
        /// Which parameter.
        param: &'static str,
        /// The refused value.
        value: String,
        /// Why, and how to write it.
        reason: String,
    },
}

impl Param {
    fn check(&self, value: &str) -> Result<(), String> {
        let number = match self.kind {
            Kind::Size => parse_bytes(value).map_err(|e| e.to_string())? as f64,
            Kind::Time => parse_time(value).map_err(|e| e.to_string())?.secs(),
            Kind::Rate => parse_rate(value).map_err(|e| e.to_string())?.bytes_per_s(),
            Kind::Count => value.parse::<u64>().map_err(|_| self.no_count(value))? as f64,
            Kind::Real => match value.parse::<f64>() {
                Ok(x) if x.is_finite() => x,
                _ => return Err("not a number".into()),
            },
            Kind::Share => match parse_share(value) {
                Some(share) => share,
                None => return Err("not a share between 0 and 1; write it like `0.2` or `20%`".into()),
            },
            Kind::Text | Kind::Command | Kind::File => return Ok(()),
            Kind::Choice(words) if words.contains(&value) => return Ok(()),
            Kind::Choice(words) => return Err(format!("not one of {}", words.join(", "))),
        };
        match number {
            n if n < self.least => Err(format!("at least {}", self.kind.show(self.least))),
            n if n.abs() <= self.most => Ok(()),
            _ => Err(format!("at most {}", self.kind.show(self.most))),
        }
    }

    /// Why a text is no count: too many digits are a large number still, and `1e9` is one that is written otherwise.
    fn no_count(&self, value: &str) -> String {
        match value.parse::<f64>() {
            Ok(x) if x > self.most => format!("at most {}", self.kind.show(self.most)),
            _ => "not a whole number; write it in digits".into(),
        }
    }
}

impl Card {
    /// The parameter of this name, which the card must have.
    pub fn param(&self, name: &str) -> &Param {
        self.params.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("parameter `{name}` is not on the card"))
    }

    /// All parameters with their values: `given` over the defaults. Unknown names and bad values are refused.
    pub fn resolve(&self, given: &Params) -> Result<Params, ParamError> {
        self.resolve_on(given, false)
    }

    /// The same, with the defaults of a simulated machine or of a real one.
    pub fn resolve_on(&self, given: &Params, simulated: bool) -> Result<Params, ParamError> {
        for (name, value) in given {
            let Some(param) = self.params.iter().find(|p| p.name == name) else {
                let what = format!("parameter of {}", self.name);
                return Err(ParamError::Unknown(unknown(&what, name, self.params.iter().map(|p| p.name))));
            };
            let bad = |reason| ParamError::Value { owner: self.name, param: param.name, value: value.clone(), reason };
            param.check(value).map_err(bad)?;
        }
        let value = |p: &Param| given.get(p.name).cloned().unwrap_or_else(|| p.default_on(simulated).to_string());
        Ok(self.params.iter().map(|p| (p.name.to_string(), value(p))).collect())
    }
}

/// Reads `0.2` or `20%`.
pub fn parse_share(text: &str) -> Option<f64> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(percent) => (percent.trim(), 0.01),
        None => (text.trim(), 1.0),
    };
    let share = number.parse::<f64>().ok()? * scale;
    (0.0..=1.0).contains(&share).then_some(share)
}

/// Typed reading of resolved parameters. A missing or malformed one is a bug: [`Card::resolve`] has checked them all.
pub trait ReadParams {
    /// A size in bytes.
    fn size(&self, name: &str) -> usize;
    /// A whole number.
    fn count(&self, name: &str) -> u64;
    /// A time.
    fn time(&self, name: &str) -> Time;
    /// A rate.
    fn rate(&self, name: &str) -> Rate;
    /// A number.
    fn real(&self, name: &str) -> f64;
    /// A share between 0 and 1.
    fn share(&self, name: &str) -> f64;
    /// The names of a list separated by commas.
    fn names(&self, name: &str) -> Vec<String>;
    /// A word.
    fn word(&self, name: &str) -> &str;
}

impl ReadParams for Params {
    fn size(&self, name: &str) -> usize {
        parse_bytes(self.word(name)).expect("checked by its card") as usize
    }
    fn count(&self, name: &str) -> u64 {
        self.word(name).parse().expect("checked by its card")
    }
    fn time(&self, name: &str) -> Time {
        parse_time(self.word(name)).expect("checked by its card")
    }
    fn rate(&self, name: &str) -> Rate {
        parse_rate(self.word(name)).expect("checked by its card")
    }
    fn real(&self, name: &str) -> f64 {
        self.word(name).parse().expect("checked by its card")
    }
    fn share(&self, name: &str) -> f64 {
        parse_share(self.word(name)).expect("checked by its card")
    }
    fn names(&self, name: &str) -> Vec<String> {
        self.word(name).split(',').map(|n| n.trim().to_string()).filter(|n| !n.is_empty()).collect()
    }
    fn word(&self, name: &str) -> &str {
        self.get(name).unwrap_or_else(|| panic!("parameter `{name}` is not on the card"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARD: Card = Card {
        name: "ring",
        about: "a test card",
        source: "nowhere",
        params: &[
            Param::new("size", Kind::Size, "8", "message size"),
            Param::new("order", Kind::Choice(&["random", "natural"]), "random", "ring order"),
        ],
    };

    fn given(name: &str, value: &str) -> Params {
        Params::from([(name.to_string(), value.to_string())])
    }

    #[test]
    fn defaults_and_overrides() {
        let params = CARD.resolve(&given("size", "4k")).unwrap();
        assert_eq!((params.size("size"), params.word("order")), (4096, "random"));
    }

    #[test]
    fn a_simulated_machine_has_defaults_of_its_own() {
        let params = [Param::new("time", Kind::Time, "10s", "how long").simulated("20ms"), CARD.params[0]];
        let card = Card { params: Box::leak(Box::new(params)), ..CARD };
        let at = |simulated| card.resolve_on(&Params::new(), simulated).unwrap();
        assert_eq!((at(false).word("time"), at(true).word("time"), at(true).word("size")), ("10s", "20ms", "8"));
        assert_eq!(card.resolve_on(&given("time", "3s"), true).unwrap().word("time"), "3s");
    }

    #[test]
    fn the_greatest_value_is_the_kinds_unless_it_is_set() {
        let of = |kind, most: Option<f64>, value: &str| {
            let param = Param::new("x", kind, "1", "");
            most.map_or(param, |most| param.up_to(most)).check(value)
        };
        // Kind, limit of its own, the largest that passes, the first that does not, and what is said of it.
        let cases = [
            (Kind::Size, None, "16GiB", "17179869185", "at most 16GiB"),
            (Kind::Size, Some(1024.0), "1k", "1TB", "at most 1KiB"),
            (Kind::Count, None, "1000000000", "1000000001", "at most 1000000000"),
            (Kind::Count, Some(64.0), "64", "99999999999999999999999", "at most 64"),
            (Kind::Time, None, "10000000s", "1e308", "the largest time is 10000000s, 116 days"),
            (Kind::Time, Some(60.0), "1m", "61s", "at most 60.0s"),
            (Kind::Rate, Some(1e9), "1GB/s", "1.1GB/s", "at most 1GB/s"),
            (Kind::Rate, None, "1000TB/s", "1e308GB/s", "the largest rate is"),
            (Kind::Real, None, "-1e18", "-1e300", "at most 1000000000000000000"),
            (Kind::Share, None, "100%", "1e308", "not a share"),
        ];
        for (kind, most, good, bad, said) in cases {
            assert_eq!(of(kind, most, good), Ok(()), "{kind:?} {good}");
            let text = of(kind, most, bad).unwrap_err();
            assert!(text.contains(said), "{kind:?} {bad}: {text}");
        }
        assert_eq!(of(Kind::Count, None, "1e3"), Err("not a whole number; write it in digits".into()));
        let help = |param: Param| param.defaults();
        let count = || Param::new("x", Kind::Count, "1", "");
        assert_eq!(help(count()), " [default: 1]");
        assert_eq!(help(count().simulated("2").up_to(64.0)), " [default: 1; simulated: 2; at most 64]");
        assert_eq!(help(Param::new("x", Kind::Text, "", "")), "");
    }

    #[test]
    fn mistakes_are_named() {
        let text = |name, value| CARD.resolve(&given(name, value)).unwrap_err().to_string();
        assert_eq!(text("sise", "1"), "unknown parameter of ring `sise`; did you mean `size`?");
        assert_eq!(text("order", "odd"), "ring: order=odd: not one of random, natural");
        assert!(text("size", "big").starts_with("ring: size=big: `big` is not a size"));
    }
}
