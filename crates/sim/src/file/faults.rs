//! Faults of a machine file: cables slowed or cut and switches lost at a virtual time.
//!
//! ```toml
//! [[fault]]
//! at = "5ms"
//! link = "0-8"              # all cables between switches 0 and 8; or one: "switch 0 port 3", "endpoint 12", as in counters
//! rate = "1GB/s"            # slowed (or mended) to this rate; without it the cable is cut
//! [[fault]]
//! at = "7ms"
//! switch = 9                # lost with all its cables
//! ```
//!
//! Only what is written. What it means for a network is in `net/`.

use super::{Config, ConfigError, texts};
use crate::base::{Endpoint, Port, Switch};
use spec::{Card, Kind, Param, Rate, ReadParams, Time};
use std::fmt;

/// The card of one `[[fault]]`.
pub(crate) const FAULT: Card = Card {
    name: "fault",
    about: "a cable slowed or cut, or a switch lost, at a time; any number of `[[fault]]`",
    source: "",
    params: &[
        Param::new("at", Kind::Time, "0s", "when, in virtual time"),
        Param::new("link", Kind::Text, "", "`0-8` (switches), `switch 0 port 3` or `endpoint 12`"),
        Param::new("switch", Kind::Text, "", "a switch that is lost"),
        Param::new("rate", Kind::Rate, "1B/s", "a cable's new rate; cut unless given"),
    ],
};

/// What is hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultSite {
    /// A switch with all its cables.
    Switch(Switch),
    /// All cables between two switches.
    Between(Switch, Switch),
    /// The cable at a switch's port.
    Port(Switch, Port),
    /// The cable of an endpoint.
    Endpoint(Endpoint),
}

/// Something that breaks, or is mended, in the middle of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// Where.
    pub site: FaultSite,
    /// The new rate of a cable; `None` cuts it.
    pub rate: Option<Rate>,
}

impl fmt::Display for FaultSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultSite::Switch(s) => write!(f, "switch {s}"),
            FaultSite::Between(a, b) => write!(f, "link {a}-{b}"),
            FaultSite::Port(s, p) => write!(f, "link of switch {s} port {p}"),
            FaultSite::Endpoint(e) => write!(f, "link of endpoint {e}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.site, self.rate) {
            (FaultSite::Switch(_), _) => write!(f, "{} lost at {}", self.site, self.at),
            (_, None) => write!(f, "{} cut at {}", self.site, self.at),
            (_, Some(rate)) => write!(f, "{} set to {rate} at {}", self.site, self.at),
        }
    }
}

pub(crate) fn absurd(text: String) -> ConfigError {
    ConfigError::Absurd(text)
}

/// Reads the `[[fault]]` entries of a machine file, in the order of time.
pub(crate) fn read(value: Option<toml::Value>) -> Result<Vec<Fault>, ConfigError> {
    let list = match value {
        None => return Ok(Vec::new()),
        Some(toml::Value::Array(list)) => list,
        Some(_) => return Err(absurd("`fault` is a list; write `[[fault]]`".into())),
    };
    let mut faults = Vec::new();
    for entry in &list {
        let toml::Value::Table(table) = entry else {
            return Err(absurd("`fault` is a list of sections; write `[[fault]]`".into()));
        };
        let given = texts(table, "fault")?;
        let params = FAULT.resolve(&given)?;
        let site = match (params.word("link"), params.word("switch")) {
            (link, "") if !link.is_empty() => link_site(link)?,
            ("", switch) if !switch.is_empty() => FaultSite::Switch(number(switch, "switch")?),
            _ => return Err(absurd("a fault needs either `link` or `switch`".into())),
        };
        // Not by its value: the card's default only fills the place of a rate that is not given.
        let rate = given.contains_key("rate").then(|| params.rate("rate"));
        if rate.is_some() && matches!(site, FaultSite::Switch(_)) {
            return Err(absurd(format!("{site}: a switch is lost and has no `rate`; slow its links one by one")));
        }
        faults.push(Fault { at: params.time("at"), site, rate });
    }
    // Stable, so that faults of one moment happen in the order of the file.
    faults.sort_by_key(|f| f.at);
    Ok(faults)
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, ConfigError> {
    text.trim().parse().map_err(|_| absurd(format!("fault: `{text}` is not the number of a {what}")))
}

fn link_site(text: &str) -> Result<FaultSite, ConfigError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    match (words.as_slice(), text.split_once('-')) {
        (["endpoint", e], _) => Ok(FaultSite::Endpoint(number(e, "endpoint")?)),
        (["switch", s, "port", p], _) => Ok(FaultSite::Port(number(s, "switch")?, number(p, "port")?)),
        (_, Some((a, b))) => Ok(FaultSite::Between(number(a, "switch")?, number(b, "switch")?)),
        _ => Err(absurd(format!("fault: link `{text}`: write `0-8`, `switch 0 port 3` or `endpoint 12`"))),
    }
}

impl Config {
    /// What will happen, for the record.
    pub(crate) fn fault_facts(&self) -> Vec<(String, String)> {
        self.faults.iter().enumerate().map(|(i, f)| (format!("fault.{i}"), f.to_string())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<Fault> {
        Config::from_toml(text).unwrap().faults
    }

    #[test]
    fn faults_are_read_in_the_order_of_time() {
        let text = "[[fault]]\nat = \"5ms\"\nlink = \"0-8\"\nrate = \"1GB/s\"\n[[fault]]\nat = \"1ms\"\nswitch = 9\n\
                    [[fault]]\nat = \"7ms\"\nlink = \"switch 3 port 2\"\n[[fault]]\nat = \"9ms\"\nlink = \"endpoint 12\"\n";
        let faults = faults(text);
        let places: Vec<FaultSite> = faults.iter().map(|f| f.site).collect();
        assert_eq!(
            places,
            [FaultSite::Switch(9), FaultSite::Between(0, 8), FaultSite::Port(3, 2), FaultSite::Endpoint(12)]
        );
        assert_eq!(faults[1].rate, Some(Rate::from_bytes_per_s(1e9)));
        assert_eq!(faults[2].to_string(), "link of switch 3 port 2 cut at 7.00ms");
    }
}
