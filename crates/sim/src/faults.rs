//! Faults: cables slowed or cut and switches lost at a virtual time, and how the machine lives with them.
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
//! What is on a cable when it is cut still arrives. What waits for it chooses another way. A cable that is down, and a switch
//! from which no shortest way is left, are not offered to the routing any more; where no shortest way is left at the first
//! switch, a packet takes a detour over a middle switch if the topology has detours. A packet that stands where it cannot go
//! on (also all that was inside a lost switch) is lost, and its NIC sends it again after `protocol.resend`, as reliable
//! transports do. When a pair of nodes that talk has no way left, the run ends with a reason that names both and the fault.
//!
//! Every part of the network knows of a fault at once: the time in which a real subnet manager finds out is not modelled.

use crate::Config;
use crate::config::{ConfigError, texts};
use crate::fabric::{ENDPOINT, Fabric, Pace};
use crate::lp::Lp;
use crate::slab::NONE;
use crate::table::Table;
use crate::topology::{Endpoint, Hop, Port, Switch, Target, Topology, Ways, Wiring};
use spec::{Card, Kind, Param, Rate, ReadParams, Rng, Time};
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The card of one `[[fault]]`.
pub(crate) const FAULT: Card = Card {
    name: "fault",
    about: "a cable slowed or cut, or a switch lost, at a time; any number of `[[fault]]`",
    source: "",
    params: &[
        Param { name: "at", about: "when, in virtual time", kind: Kind::Time, default: "0s" },
        Param {
            name: "link",
            about: "`0-8` (switches), `switch 0 port 3` or `endpoint 12`",
            kind: Kind::Text,
            default: "",
        },
        Param { name: "switch", about: "a switch that is lost", kind: Kind::Text, default: "" },
        Param { name: "rate", about: "a cable's new rate; cut unless given", kind: Kind::Rate, default: "1B/s" },
    ],
};

/// Detours to try before a pair counts as cut off.
const DETOURS: usize = 256;
/// Packets that are still lost so many times `protocol.resend` after the last fault will be lost for ever.
const PATIENCE: u64 = 1000;

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

fn absurd(text: String) -> ConfigError {
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
        let rate = given.contains_key("rate").then(|| params.rate("rate"));
        if rate.is_some() && matches!(site, FaultSite::Switch(_)) {
            return Err(absurd(format!("{site}: a switch is lost and has no `rate`; slow its links one by one")));
        }
        faults.push(Fault { at: params.time("at"), site, rate });
    }
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

/// A fault with the numbers of the fabric.
pub(crate) struct Resolved {
    pub(crate) fault: Fault,
    /// Directed links, both directions of each cable.
    links: Vec<u32>,
}

/// Finds the links of every fault, or says which place does not exist.
pub(crate) fn resolve(fabric: &Fabric) -> Result<Vec<Resolved>, ConfigError> {
    fabric.config.faults.iter().map(|fault| resolve_one(fabric, *fault)).collect()
}

fn resolve_one(fabric: &Fabric, fault: Fault) -> Result<Resolved, ConfigError> {
    let switches = fabric.switches.len();
    let known = |s: Switch| match (s as usize) < switches {
        true => Ok(&fabric.switches[s as usize]),
        false => Err(absurd(format!("fault: {}: the machine has switches 0 to {}", fault.site, switches - 1))),
    };
    let mut out: Vec<u32> = Vec::new();
    match fault.site {
        FaultSite::Endpoint(e) => match fabric.endpoints.get(e as usize) {
            Some(end) => out.push(end.inject),
            None => {
                let last = fabric.endpoints.len() - 1;
                return Err(absurd(format!("fault: {}: the machine has endpoints 0 to {last}", fault.site)));
            }
        },
        FaultSite::Switch(s) => {
            let info = known(s)?;
            out.extend(info.first_link..info.first_link + u32::from(info.ports));
        }
        FaultSite::Port(s, p) => {
            let info = known(s)?;
            if p >= info.ports {
                return Err(absurd(format!("fault: {}: the switch has ports 0 to {}", fault.site, info.ports - 1)));
            }
            out.push(info.first_link + u32::from(p));
        }
        FaultSite::Between(a, b) => {
            let info = known(a)?;
            known(b)?;
            let all = info.first_link..info.first_link + u32::from(info.ports);
            out.extend(all.filter(|&l| fabric.links[l as usize].to == b));
        }
    }
    out.retain(|&l| fabric.links[l as usize].to != NONE);
    if out.is_empty() {
        return Err(absurd(format!("fault: {}: there is no such cable", fault.site)));
    }
    if let Some(rate) = fault.rate
        && Pace::new(rate).time(fabric.config.packet()) > u64::from(u32::MAX)
    {
        return Err(absurd(format!("fault: {}: {rate} is too slow for a packet; cut the link instead", fault.site)));
    }
    let back = |&l: &u32| reverse(fabric, l);
    let links = out.iter().map(back).chain(out.iter().copied()).collect();
    Ok(Resolved { fault, links })
}

/// The other direction of a cable.
fn reverse(fabric: &Fabric, link: u32) -> u32 {
    let link = &fabric.links[link as usize];
    match link.to & ENDPOINT {
        0 => fabric.switches[link.to as usize].first_link + u32::from(link.to_port),
        _ => fabric.endpoints[(link.to & !ENDPOINT) as usize].inject,
    }
}

/// What still works, as one part of the network knows it.
pub(crate) struct Health {
    down: Vec<bool>,
    lost: Vec<bool>,
    /// Faults that have happened, by number, while anything else did.
    pub(crate) happened: Vec<usize>,
    /// The last fault that took something away, and when the last of any kind was.
    worst: Option<usize>,
    last: u64,
    /// Whether a shortest way is left, by switch and target switch; forgotten at each fault.
    known: Mutex<Table>,
}

impl Health {
    pub(crate) fn new(fabric: &Fabric) -> Option<Health> {
        (!fabric.faults.is_empty()).then(|| Health {
            down: vec![false; fabric.links.len()],
            lost: vec![false; fabric.switches.len()],
            happened: Vec::new(),
            worst: None,
            last: 0,
            known: Mutex::new(Table::new()),
        })
    }

    /// Whether anything is down.
    pub(crate) fn hurt(&self) -> bool {
        self.worst.is_some()
    }

    /// Whether a shortest way is left from a switch to another.
    fn reaches(&self, fabric: &Fabric, at: Switch, to: Target) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.search(fabric, at, to, &mut known)
    }

    fn search(&self, fabric: &Fabric, at: Switch, to: Target, known: &mut Table) -> bool {
        if self.lost[at as usize] || self.lost[to.switch as usize] {
            return false;
        }
        if at == to.switch {
            return true;
        }
        let key = (u64::from(at), u64::from(to.switch));
        if let Some(answer) = known.get(key) {
            return answer == 1;
        }
        let mut ways = Ways::default();
        fabric.topology.ways(at, to, &mut ways);
        let first = fabric.switches[at as usize].first_link;
        let left = ways.ports.iter().any(|&port| {
            let link = first + u32::from(port);
            !self.down[link as usize] && self.search(fabric, fabric.links[link as usize].to, to, known)
        });
        known.set(key, u32::from(left));
        left
    }

    /// A middle switch by which a target can be reached, if the topology has detours.
    fn detour(&self, fabric: &Fabric, at: Switch, to: Target, rng: &mut Rng) -> Option<Switch> {
        (0..DETOURS).filter_map(|_| fabric.topology.middle(at, to.switch, rng)).find(|&middle| {
            self.reaches(fabric, at, Target { switch: middle, ..to }) && self.reaches(fabric, middle, to)
        })
    }
}

/// The topology as far as it still works: what the routing sees.
pub(crate) struct Survivors<'a> {
    pub(crate) fabric: &'a Fabric,
    pub(crate) health: &'a Health,
}

impl Topology for Survivors<'_> {
    fn wire(&self, wiring: &mut Wiring) {
        self.fabric.topology.wire(wiring)
    }
    fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
        self.fabric.topology.ways(at, to, out);
        let first = self.fabric.switches[at as usize].first_link;
        out.ports.retain(|&port| {
            let link = first + u32::from(port);
            let next = self.fabric.links[link as usize].to;
            !self.health.down[link as usize] && self.health.reaches(self.fabric, next, to)
        });
        out.fixed %= out.ports.len().max(1);
    }
    fn hops(&self, from: Switch, to: Switch) -> u32 {
        self.fabric.topology.hops(from, to)
    }
    fn vcs(&self, detours: bool) -> u8 {
        self.fabric.topology.vcs(detours)
    }
    fn vc(&self, hop: Hop, at: Switch, port: Port) -> u8 {
        self.fabric.topology.vc(hop, at, port)
    }
    fn middle(&self, from: Switch, to: Switch, rng: &mut Rng) -> Option<Switch> {
        let middle = self.fabric.topology.middle(from, to, rng)?;
        let legs = [(from, middle), (middle, to)];
        let whole = |(a, b)| self.health.reaches(self.fabric, a, Target { switch: b, endpoint: 0 });
        legs.into_iter().all(whole).then_some(middle)
    }
    fn passed(&self, at: Switch, middle: Switch, to: Switch) -> bool {
        self.fabric.topology.passed(at, middle, to)
    }
    fn detour_hops(&self, from: Switch, middle: Switch, to: Switch) -> u32 {
        self.fabric.topology.detour_hops(from, middle, to)
    }
    fn may_detour(&self, source: Endpoint, hop: Hop) -> bool {
        self.fabric.topology.may_detour(source, hop)
    }
}

impl Lp<'_> {
    /// A fault happens. `idle`: nothing else is left to happen in this part.
    pub(crate) fn strike(&mut self, number: u32, idle: bool) {
        let fabric = self.fabric;
        let Resolved { fault, links } = &fabric.faults[number as usize];
        let Some(health) = self.health.as_mut() else { return };
        if !idle {
            health.happened.push(number as usize);
        }
        health.last = self.now;
        health.known = Mutex::new(Table::new());
        if fault.rate.is_none() {
            health.worst = Some(number as usize);
        }
        if let FaultSite::Switch(s) = fault.site {
            health.lost[s as usize] = true;
        }
        for &link in links {
            health.down[link as usize] = fault.rate.is_none();
        }
        for &link in links {
            let o = link.wrapping_sub(self.outs.first);
            if o as usize >= self.outs.list.len() {
                continue;
            }
            if let Some(rate) = fault.rate {
                self.outs.set_pace(o, Pace::new(rate));
                continue;
            }
            match self.outs.nic(o) {
                None => self.evict(o).into_iter().for_each(|id| self.request(id)),
                Some(nic) => {
                    if let Some((from, to)) = self.unsent(nic) {
                        self.cut_off(from, to);
                    }
                }
            }
        }
    }

    /// Whether a packet can go on from where it is. If not, it is lost and will be sent again, or the run ends.
    pub(crate) fn way_out(&mut self, id: u32) -> bool {
        let fabric = self.fabric;
        let packet = &mut self.packets[id];
        let Some(health) = self.health.as_ref().filter(|h| h.hurt()) else { return true };
        let end = &fabric.endpoints[packet.target as usize];
        let (at, to) = (packet.at, Target { switch: end.switch, endpoint: packet.target });
        let over = |middle| middle == at || fabric.topology.passed(at, middle, to.switch);
        if packet.middle != NONE && over(packet.middle) {
            packet.middle = NONE;
        }
        let eject = fabric.switches[end.switch as usize].first_link + u32::from(end.port);
        if health.down[eject as usize] || health.lost[end.switch as usize] {
            let (source, target) = (packet.source, packet.target);
            self.cut_off(source, target);
            return false;
        }
        if packet.middle != NONE && !health.reaches(fabric, at, Target { switch: packet.middle, ..to }) {
            packet.middle = NONE;
        }
        if packet.middle != NONE || health.reaches(fabric, at, to) {
            return true;
        }
        if packet.hops == 0 && !health.lost[at as usize] {
            if let Some(middle) = health.detour(fabric, at, to, &mut self.rng) {
                packet.middle = middle;
                return true;
            }
            let (source, target) = (packet.source, packet.target);
            self.cut_off(source, target);
            return false;
        }
        if self.now > health.last.saturating_add(PATIENCE * fabric.config.resend.ps()) {
            let (source, target) = (packet.source, packet.target);
            self.cut_off(source, target);
            return false;
        }
        self.lose(id);
        false
    }

    /// Whether an endpoint's own cable is cut.
    pub(crate) fn unplugged(&self, endpoint: Endpoint) -> bool {
        let link = self.fabric.endpoints[endpoint as usize].inject;
        self.health.as_ref().is_some_and(|h| h.down[link as usize])
    }

    /// Ends the run: two endpoints that talk have no way left.
    pub(crate) fn cut_off(&mut self, from: Endpoint, to: Endpoint) {
        let nics = self.fabric.config.nic.per_node as u32;
        let worst = self.health.as_ref().and_then(|h| h.worst);
        let why = worst.map_or(String::new(), |n| format!("{}: ", self.fabric.faults[n].fault));
        self.fail(format!("{why}no way is left from node {} to node {}", from / nics, to / nics));
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

    #[test]
    fn both_directions_of_a_cable_are_found() {
        let chain = "nodes = 4\n[topology]\nkind = \"chain\"\nswitches = 2\n[[fault]]\nlink = \"1-0\"\n";
        let fabric = Fabric::new(&Config::from_toml(chain).unwrap()).unwrap();
        let links = &fabric.faults[0].links;
        assert_eq!(links.len(), 2);
        for &link in links {
            assert_eq!(reverse(&fabric, reverse(&fabric, link)), link);
        }
    }

    #[test]
    fn ways_that_lead_into_a_cut_are_not_offered() {
        // Leaves 0 to 3, spines above them; the cable from one spine down to leaf 3 is cut.
        let tree = "nodes = 16\n[topology]\nkind = \"fat-tree\"\nradix = 8\n[[fault]]\nlink = \"3-5\"\n";
        let fabric = Fabric::new(&Config::from_toml(tree).unwrap()).unwrap();
        let mut lp = Lp::new(0, &fabric);
        let to = Target { switch: 3, endpoint: 12 };
        let ports = |lp: &Lp<'_>| {
            let mut ways = Ways::default();
            Survivors { fabric: &fabric, health: lp.health.as_ref().unwrap() }.ways(0, to, &mut ways);
            ways.ports.len()
        };
        assert_eq!(ports(&lp), 4);
        lp.strike(0, false);
        assert_eq!(ports(&lp), 3, "leaf 0 does not go up by that spine for leaf 3");
    }
}
