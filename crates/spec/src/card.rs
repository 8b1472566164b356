//! Cards: what a kernel, topology or model is called, what it is for, and which parameters it takes.
//!
//! Parameter values stay text ("128KiB", "10s") from the command line to the record, so that a plan can be read and edited
//! by hand; they are checked against the card once, before any rank starts.

use crate::near::unknown;
use crate::units::{Rate, Time, parse_bytes, parse_rate, parse_time};
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
    /// Words that it may hold, where it is no single choice: for completion by the shell.
    pub known: Option<fn() -> Vec<&'static str>>,
}

impl Param {
    /// One with the same default on every machine.
    pub const fn new(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Param {
        Param { name, about, kind, default, simulated: None, known: None }
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

    /// Its defaults as help and lists show them; nothing if there is none.
    pub fn defaults(&self) -> String {
        match (self.default, self.simulated) {
            ("", None) => String::new(),
            (default, None) => format!(" [default: {default}]"),
            (default, Some(simulated)) => format!(" [default: {default}; simulated: {simulated}]"),
        }
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
        match self.kind {
            Kind::Size => parse_bytes(value).map(drop).map_err(|e| e.to_string()),
            Kind::Time => parse_time(value).map(drop).map_err(|e| e.to_string()),
            Kind::Rate => parse_rate(value).map(drop).map_err(|e| e.to_string()),
            Kind::Count => value.parse::<u64>().map(drop).map_err(|_| "not a whole number".into()),
            Kind::Real => match value.parse::<f64>() {
                Ok(x) if x.is_finite() => Ok(()),
                _ => Err("not a number".into()),
            },
            Kind::Share => match parse_share(value) {
                Some(_) => Ok(()),
                None => Err("not a share between 0 and 1; write it like `0.2` or `20%`".into()),
            },
            Kind::Text | Kind::Command | Kind::File => Ok(()),
            Kind::Choice(words) if words.contains(&value) => Ok(()),
            Kind::Choice(words) => Err(format!("not one of {}", words.join(", "))),
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
    fn mistakes_are_named() {
        let text = |name, value| CARD.resolve(&given(name, value)).unwrap_err().to_string();
        assert_eq!(text("sise", "1"), "unknown parameter of ring `sise`; did you mean `size`?");
        assert_eq!(text("order", "odd"), "ring: order=odd: not one of random, natural");
        assert!(text("size", "big").starts_with("ring: size=big: `big` is not a size"));
    }
}
