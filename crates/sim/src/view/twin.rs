//! A machine file as a set of numbers that a fit may move, and the file with other numbers in it.
//!
//! Latencies and rates of hosts, NICs, switches and cables may be moved: what a network does shows them. Sizes, counts and kinds are
//! given, by the site or by a preset.

use crate::file::{CARDS, Config, ConfigError};
use crate::topology::TOPOLOGIES;
use spec::{Card, Kind, Param, parse_bytes, parse_rate, parse_time};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A number of a machine file that may be moved.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its section.
    pub section: String,
    /// Its name there.
    pub key: &'static str,
    /// What kind of number it is.
    pub kind: Kind,
    /// Its value in the file, or its default there, in base units.
    pub value: f64,
    /// Where a search for it may begin, if its value is zero.
    pub start: f64,
    /// Whether the file gives it.
    pub given: bool,
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.section, self.key)
    }
}

/// Numbers that messages do not show, or that have a meaning to the simulator alone.
const LEFT_OUT: [&str; 5] = ["test_cost", "flops", "memory_rate", "updates", "resend"];
/// Rates of things per second are written without a unit.
const PER_SECOND: [&str; 1] = ["message_rate"];
/// A size that shows in what is sent after a pause.
const BURST: &str = "burst";
/// Where a search for a time begins that is zero in the file.
const SMALL: f64 = 10e-9;
/// Sections whose numbers may be moved, but for those of the topology, whose names follow its kind.
const SECTIONS: [&str; 4] = ["host", "nic", "switch", "protocol"];

impl Number {
    /// A value as it is written in a file.
    pub fn written(&self, value: f64) -> String {
        match self.kind {
            // Picoseconds and bytes per second: nothing is lost in rounding.
            Kind::Time => format!("\"{}ps\"", (value * 1e12).round()),
            Kind::Rate => format!("\"{}B/s\"", value.round()),
            Kind::Size => format!("{}", value.round().max(1.0)),
            _ => format!("{value:e}"),
        }
    }

    /// A value as people read it.
    pub fn shown(&self, value: f64) -> String {
        match self.kind {
            Kind::Time | Kind::Rate | Kind::Size => self.kind.show(value),
            _ => format!("{value:.3e}"),
        }
    }
}

fn parsed(text: &str) -> Result<toml::Table, ConfigError> {
    text.parse().map_err(|e: toml::de::Error| ConfigError::Syntax(e.to_string()))
}

fn moves(param: &Param) -> bool {
    let kind = matches!(param.kind, Kind::Time | Kind::Rate) || param.name == BURST || PER_SECOND.contains(&param.name);
    kind && !LEFT_OUT.contains(&param.name)
}

fn number(section: &str, param: &'static Param, table: Option<&toml::Table>) -> Option<Number> {
    let given = table.and_then(|t| t.get(param.name)).map(|v| match v {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let text = given.clone().unwrap_or_else(|| param.default.to_string());
    let value = match param.kind {
        Kind::Time => parse_time(&text).ok()?.secs(),
        Kind::Rate => parse_rate(&text).ok()?.bytes_per_s(),
        Kind::Size => parse_bytes(&text).ok()? as f64,
        _ => text.parse().ok()?,
    };
    let start = if value > 0.0 { value } else { SMALL };
    Some(Number { section: section.into(), key: param.name, kind: param.kind, value, start, given: given.is_some() })
}

/// The numbers of a machine file that may be moved, in the order of its sections.
pub fn numbers(text: &str) -> Result<Vec<Number>, ConfigError> {
    let config = Config::from_toml(text)?;
    let file = parsed(text)?;
    let table = |name: &str| file.get(name).and_then(toml::Value::as_table);
    let cards = CARDS.iter().copied().filter(|card| SECTIONS.contains(&card.name));
    let topology = TOPOLOGIES.iter().map(|t| &t.card).filter(|card| card.name == config.topology.0);
    let named = cards.map(|card| (card.name, card)).chain(topology.map(|card| ("topology", card)));
    let of = |(section, card): (&'static str, &'static Card)| {
        let all = card.params.iter().filter(|p| moves(p));
        all.filter_map(|p| number(section, p, table(section))).collect::<Vec<_>>()
    };
    let mut found: Vec<Number> = named.flat_map(of).collect();
    // It is as the other unless it is given, and follows that; ways of messages are what most machines do without.
    found.retain(|n| n.given || (n.key != "eject_rate" && n.section != "protocol"));
    // Without bursts they say nothing.
    if config.nic.burst == 0 {
        found.retain(|n| n.key != BURST && n.key != "burst_rate");
    }
    Ok(found)
}

/// A kind that a machine file chooses by a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its section and name there.
    pub name: String,
    /// The word.
    pub word: String,
    /// All words that there are.
    pub words: &'static [&'static str],
}

/// Kinds that messages show: who moves long ones, and what shares a queue of a switch.
const SHOWN: [&str; 2] = ["long", "queueing"];

/// The kinds that messages show and that a machine file does not give.
pub fn choices(text: &str) -> Result<Vec<Choice>, ConfigError> {
    let file = parsed(text)?;
    let given = |section: &str, key: &str| {
        file.get(section).and_then(toml::Value::as_table).is_some_and(|table| table.contains_key(key))
    };
    let of = |card: &&'static Card| {
        let open = card.params.iter().filter(|p| SHOWN.contains(&p.name) && !given(card.name, p.name));
        let choice = |p: &'static Param| match p.kind {
            Kind::Choice(words) => {
                Some(Choice { name: format!("{}.{}", card.name, p.name), word: p.default.into(), words })
            }
            _ => None,
        };
        open.filter_map(choice).collect::<Vec<_>>()
    };
    Ok(CARDS.iter().flat_map(of).collect())
}

/// What is written behind a number.
pub type Remarks = BTreeMap<String, String>;

/// The file with other values, `section.key` and text, and a remark behind those that have one. Comments of the file are lost: what they
/// say need not be true of the new values.
pub fn rewritten(text: &str, values: &BTreeMap<String, String>, remarks: &Remarks) -> Result<String, ConfigError> {
    let file = parsed(text)?;
    let mut sections: BTreeMap<(usize, String), BTreeMap<String, String>> = BTreeMap::new();
    let order = |name: &str| {
        let known = ["", "host", "nic", "switch", "protocol", "topology", "routing", "control"];
        known.iter().position(|s| *s == name).unwrap_or(known.len())
    };
    let mut set = |section: &str, key: &str, value: String| {
        sections.entry((order(section), section.to_string())).or_default().insert(key.to_string(), value);
    };
    for (name, value) in &file {
        match value {
            toml::Value::Table(table) => table.iter().for_each(|(key, value)| set(name, key, value.to_string())),
            toml::Value::Array(_) => {
                return Err(ConfigError::Absurd(format!("`[[{name}]]` cannot be part of a twin; take it out")));
            }
            value => set("", name, value.to_string()),
        }
    }
    for (name, value) in values {
        let (section, key) = name.split_once('.').unwrap_or(("", name));
        set(section, key, value.clone());
    }
    let mut out = String::new();
    for ((_, section), keys) in sections {
        if !section.is_empty() {
            let _ = writeln!(out, "\n[{section}]");
        }
        let width = keys.iter().map(|(key, value)| key.len() + value.len() + 3).max().unwrap_or(0);
        for (key, value) in keys {
            let name = if section.is_empty() { key.clone() } else { format!("{section}.{key}") };
            let line = format!("{key} = {value}");
            let _ = match remarks.get(&name) {
                Some(remark) => writeln!(out, "{line:width$}  # {remark}"),
                None => writeln!(out, "{line}"),
            };
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BUILTIN;

    #[test]
    fn every_machine_survives_being_rewritten() {
        for (name, text) in BUILTIN {
            let found = numbers(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(found.len() > 8, "{name}: {found:?}");
            let same: BTreeMap<String, String> =
                found.iter().filter(|n| n.value > 0.0).map(|n| (n.to_string(), n.written(n.value))).collect();
            let again = rewritten(text, &same, &Remarks::new()).unwrap();
            let (before, after) = (Config::from_toml(text).unwrap(), Config::from_toml(&again).unwrap());
            assert_eq!((before.nodes, before.nic.mtu), (after.nodes, after.nic.mtu), "{name}");
            assert!(crate::describe(&after).is_ok(), "{name}: {again}");
            let values = |text: &str| numbers(text).unwrap().into_iter().map(|n| n.value).collect::<Vec<_>>();
            let near = values(text).iter().zip(values(&again)).all(|(a, b)| *a == b || (a / b - 1.0).abs() < 1e-3);
            assert!(near, "{name}: {again}");
        }
    }

    #[test]
    fn kinds_that_nobody_gave_are_open() {
        let names = |text: &str| choices(text).unwrap().into_iter().map(|c| (c.name, c.word)).collect::<Vec<_>>();
        let both = [("switch.queueing", "voq"), ("protocol.long", "pushed")];
        assert_eq!(names("nodes = 4\n"), both.map(|(n, w)| (n.to_string(), w.to_string())));
        let given = "nodes = 4\n[switch]\nqueueing = \"fifo\"\n[protocol]\neager = 4\n";
        assert_eq!(names(given), [("protocol.long".to_string(), "pushed".to_string())]);
    }

    #[test]
    fn values_and_remarks_are_written() {
        let values = BTreeMap::from([("nic.rate".to_string(), "\"5B/s\"".to_string())]);
        let remarks = BTreeMap::from([("nic.rate".to_string(), "measured".to_string())]);
        let text = rewritten("nodes = 4\n[nic]\nmtu = 512 # why\n", &values, &remarks).unwrap();
        assert_eq!(text, "nodes = 4\n\n[nic]\nmtu = 512\nrate = \"5B/s\"  # measured\n");
        assert!(rewritten("[[fault]]\nat = \"1ms\"\n", &values, &remarks).is_err());
    }
}
