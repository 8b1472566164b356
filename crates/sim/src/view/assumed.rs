//! Which numbers of a machine file are uncertain, and the file with one of them moved.
//!
//! A machine file says behind each number where it is from. Where that comment has the word "assumed", nobody knows; where it has the ends
//! of a 95 % interval, as in the file of a twin, it is known so well. What either does to an answer is worth a look.

use crate::control::CONTROLS;
use crate::file::CARDS;
use crate::routing::ROUTINGS;
use crate::topology::TOPOLOGIES;
use spec::{Kind, Param, parse_bytes, parse_rate, parse_time};

/// A number of a machine file that is uncertain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncertain {
    /// Its section; empty for the top level.
    pub section: String,
    /// Its name there.
    pub key: String,
    /// As it is written.
    pub value: String,
    /// Both ends of its interval as they are written; none if it is assumed.
    pub interval: Option<[String; 2]>,
    line: usize,
}

impl std::fmt::Display for Uncertain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dot = if self.section.is_empty() { "" } else { "." };
        write!(f, "{}{dot}{}", self.section, self.key)
    }
}

/// A line `key = value # comment` in its parts.
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let (key, rest) = line.split_once('=')?;
    let (value, comment) = rest.split_once('#')?;
    Some((key.trim(), value.trim().trim_matches('"'), comment.trim()))
}

/// The ends of the interval that a comment tells.
fn interval(comment: &str) -> Option<[String; 2]> {
    let (low, rest) = comment.split_once("95 %: ")?.1.split_once(" to ")?;
    let high = rest.split(',').next()?;
    Some([low.trim().to_string(), high.trim().to_string()])
}

/// The numbers of a machine file whose comment says that they are assumed, or known within an interval, in the order of the file.
pub fn uncertain(text: &str) -> Vec<Uncertain> {
    let mut section = String::new();
    let mut found = Vec::new();
    for (line, content) in text.lines().enumerate() {
        let content = content.trim();
        if let Some(name) = content.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = name.trim_matches('[').to_string();
            continue;
        }
        if content.starts_with('#') {
            continue;
        }
        let Some((key, value, comment)) = parts(content) else { continue };
        let interval = interval(comment);
        if interval.is_some() || comment.contains("assumed") {
            let (section, key, value) = (section.clone(), key.to_string(), value.to_string());
            found.push(Uncertain { section, key, value, interval, line });
        }
    }
    found
}

/// Those of them that are assumed.
pub fn assumed(text: &str) -> Vec<Uncertain> {
    uncertain(text).into_iter().filter(|u| u.interval.is_none()).collect()
}

/// The parameter that a name of a section means in a file.
fn param(text: &str, wanted: &Uncertain) -> Option<&'static Param> {
    let kind = || {
        let mut here = false;
        text.lines().map(str::trim).find_map(|line| {
            if line.starts_with('[') {
                here = line.trim_matches(['[', ']']) == wanted.section;
            }
            let value = line.strip_prefix("kind").filter(|_| here)?.trim_start().strip_prefix('=')?;
            value.split('"').nth(1).map(str::to_string)
        })
    };
    let cards: Vec<&spec::Card> = match wanted.section.as_str() {
        "" => vec![CARDS[0]],
        "topology" => TOPOLOGIES.iter().map(|t| &t.card).filter(|c| Some(c.name) == kind().as_deref()).collect(),
        "routing" => ROUTINGS.iter().map(|r| &r.card).filter(|c| Some(c.name) == kind().as_deref()).collect(),
        "control" => CONTROLS.iter().map(|r| &r.card).filter(|c| Some(c.name) == kind().as_deref()).collect(),
        name => CARDS[1..].iter().copied().filter(|card| card.name == name).collect(),
    };
    cards.into_iter().flat_map(|card| card.params).find(|p| p.name == wanted.key)
}

/// A value times a factor, in whole units where it counts something; nothing if it is no number.
fn times(kind: Kind, value: &str, factor: f64) -> Option<String> {
    let moved = match kind {
        Kind::Time => format!("{}ps", (parse_time(value).ok()?.ps() as f64 * factor).round()),
        Kind::Rate => format!("{}B/s", parse_rate(value).ok()?.bytes_per_s() * factor),
        Kind::Size => format!("{}", (parse_bytes(value).ok()? as f64 * factor).round()),
        Kind::Count => format!("{}", (value.parse::<f64>().ok()? * factor).round()),
        Kind::Real | Kind::Share => format!("{}", value.parse::<f64>().ok()? * factor),
        Kind::Text | Kind::Command | Kind::File | Kind::Choice(_) => return None,
    };
    (moved != "0").then_some(moved)
}

/// One of two other words of a choice, if there are as many.
fn other(choices: &[&str], value: &str, second: bool) -> Option<String> {
    choices.iter().filter(|c| **c != value).nth(usize::from(second)).map(|c| c.to_string())
}

/// The file with less or more of an uncertain number, and that number: an end of its interval, or, if it is assumed, divided or multiplied
/// by a factor. Of an assumed word, two others. Nothing where it cannot be moved.
pub fn moved(text: &str, which: &Uncertain, more: bool, factor: f64) -> Option<(String, String)> {
    let kind = param(text, which)?.kind;
    let value = match (&which.interval, kind) {
        (None, Kind::Choice(choices)) => other(choices, &which.value, more)?,
        (Some(ends), _) => times(kind, &ends[usize::from(more)], 1.0)?,
        (None, _) => {
            times(kind, &which.value, if more { factor } else { 1.0 / factor }).filter(|v| *v != which.value)?
        }
    };
    let lines = text.lines().enumerate().map(|(line, content)| match line == which.line {
        true => format!("{} = \"{value}\"\n", which.key),
        false => format!("{content}\n"),
    });
    Some((lines.collect(), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BUILTIN, Config};

    const FILE: &str = "nodes = 8  # assumed: few\n[switch]\nqueueing = \"voq\" # assumed\n[nic]\nrate = \"10GB/s\"   # measured\nlatency = \"50ns\" # assumed\n# assumed\nmtu = 512\n\
        [topology]\nkind = \"fat-tree\" # assumed\ntaper = 1 # assumed: none\n[control]\nkind = \"none\"\n";

    #[test]
    fn what_is_assumed_is_found_and_moved() {
        let names: Vec<String> = assumed(FILE).iter().map(|a| a.to_string()).collect();
        assert_eq!(names, ["nodes", "switch.queueing", "nic.latency", "topology.kind", "topology.taper"]);
        let all = assumed(FILE);
        let at =
            |i: usize, more| moved(FILE, &all[i], more, 2.0).map(|(text, value)| (Config::from_toml(&text), value));
        let (config, value) = at(0, true).unwrap();
        assert_eq!((config.unwrap().nodes, value.as_str()), (16, "16"));
        let words = [false, true].map(|more| at(1, more).map(|(config, value)| (config.is_ok(), value)).unwrap());
        assert_eq!(words, [(true, "fifo".to_string()), (true, "columns".to_string())]);
        let (config, value) = at(2, false).unwrap();
        assert_eq!((config.unwrap().nic.latency.ps(), value.as_str()), (25_000, "25000ps"));
        assert_eq!(at(3, true), None, "a kind has parameters of its own");
        assert_eq!(at(4, true).unwrap().0.unwrap().topology.1["taper"], "2");
    }

    #[test]
    fn what_is_known_within_an_interval_goes_to_its_ends() {
        let file = "[host]\nsend_overhead = \"412000ps\" # fitted, 95 %: 400 ns to 425 ns, with nic.latency as kept: only together do they show\n\
            [nic]\nrate = \"10GB/s\" # fitted, 95 %: 9.5 GB/s to 10.5 GB/s\nmessage_rate = 2e7 # fitted, 95 %: 19000000 to 21000000\nlatency = \"50ns\" # assumed\n";
        let all = uncertain(file);
        assert_eq!((all.len(), assumed(file).len()), (4, 1));
        let ends = |i: usize| [false, true].map(|more| moved(file, &all[i], more, 2.0).unwrap());
        let values = |i: usize| ends(i).map(|(_, value)| value);
        assert_eq!(values(0), ["400000ps", "425000ps"]);
        assert_eq!(values(1), ["9500000000B/s", "10500000000B/s"]);
        assert_eq!(values(2), ["19000000", "21000000"]);
        assert_eq!(values(3), ["25000ps", "100000ps"]);
        for (text, _) in (0..4).flat_map(ends) {
            Config::from_toml(&text).unwrap();
        }
    }

    /// A comment that a person reads as "assumed" and this does not would hide a number.
    #[test]
    fn every_assumed_number_of_every_machine_can_be_moved() {
        for (name, text) in BUILTIN {
            for which in assumed(text).iter().filter(|a| a.key != "kind") {
                let (file, _) =
                    moved(text, which, true, 2.0).unwrap_or_else(|| panic!("{name}: {which} = {}", which.value));
                Config::from_toml(&file).unwrap_or_else(|e| panic!("{name}: {which}: {e}"));
            }
        }
    }
}
