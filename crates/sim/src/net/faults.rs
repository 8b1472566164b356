//! Faults in a running network: how it lives with cables that are slowed or cut and with switches that are lost.
//!
//! What is on a cable when it is cut still arrives. What waits for it chooses another way. A cable that is down, and a switch
//! from which no shortest way is left, are not offered to the routing any more; where no shortest way is left at the first
//! switch, a packet takes a detour over a middle switch if the topology has detours. A packet that stands where it cannot go
//! on (also all that was inside a lost switch) is lost, and its NIC sends it again after `protocol.resend`, as reliable
//! transports do. When a pair of nodes that talk has no way left, the run ends with a reason that names both and the fault.
//!
//! Every part of the network knows of a fault at once: the time in which a real subnet manager finds out is not modelled.

use super::switch::{Draw, draw};
use super::{Fabric, Net};
use crate::base::{Endpoint, NONE, Port, Switch, Table};
use crate::file::{ConfigError, Fault, FaultSite, absurd};
use crate::link::{ENDPOINT, Pace};
use crate::topology::{Hop, Target, Topology, Ways, Wiring};
use spec::Rng;
use std::sync::{Mutex, PoisonError};

/// Detours to try before a pair counts as cut off.
// Middles are drawn at random, so a pair may count as cut off although a rare detour is left.
const DETOURS: usize = 256;
/// Packets that are still lost so many times `protocol.resend` after the last fault will be lost for ever.
const PATIENCE: u64 = 1000;

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
    // Ports without a cable cannot break; if there is nothing else, the place is wrong.
    out.retain(|&l| fabric.links[l as usize].to != NONE);
    if out.is_empty() {
        return Err(absurd(format!("fault: {}: there is no such cable", fault.site)));
    }
    // The same limit as for new cables in `Fabric::lay`: 32 bits of picoseconds per packet.
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
        // A lock that nobody contends for: a part has one thread, but `Survivors` is a topology and so must be `Sync`.
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
        // It ends: every way is a shortest one, so each step is nearer to the target.
        let left = ways.ports.iter().any(|&port| {
            let link = first + u32::from(port);
            !self.down[link as usize] && self.search(fabric, fabric.links[link as usize].to, to, known)
        });
        known.set(key, u32::from(left));
        left
    }

    /// A middle switch by which a target can be reached, if the topology has detours.
    fn detour(&self, fabric: &Fabric, at: Switch, to: Target, rng: &mut Rng) -> Option<Switch> {
        for _ in 0..DETOURS {
            let Some(middle) = fabric.topology.middle(at, to.switch, rng) else { continue };
            if self.reaches(fabric, at, Target { switch: middle, ..to }) && self.reaches(fabric, middle, to) {
                return Some(middle);
            }
        }
        None
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
        // The list is shorter now: the number of the fixed way must still be one of those that are left.
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
    fn may_detour(&self, at: Switch, hop: Hop) -> bool {
        self.fabric.topology.may_detour(at, hop)
    }
}

impl Net<'_> {
    /// A fault happens. `idle`: nothing else is left to happen in this part.
    pub(crate) fn strike(&mut self, number: u32, idle: bool) {
        let fabric = self.fabric;
        let Resolved { fault, links } = &fabric.faults[number as usize];
        let Some(health) = self.health.as_mut() else { return };
        if !idle {
            health.happened.push(number as usize);
        }
        health.last = self.clock.now;
        health.known = Mutex::new(Table::new());
        if fault.rate.is_none() {
            health.worst = Some(number as usize);
        }
        if let FaultSite::Switch(s) = fault.site {
            health.lost[s as usize] = true;
        }
        // All are marked before anything moves: what leaves one queue must not choose another link of the same fault.
        for &link in links {
            health.down[link as usize] = fault.rate.is_none();
        }
        for &link in links {
            // Every part hears of every fault and changes its own outputs only.
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
            let mut rng = draw(self.seed, self.clock.now, packet, Draw::Detour);
            if let Some(middle) = health.detour(fabric, at, to, &mut rng) {
                packet.middle = middle;
                return true;
            }
            let (source, target) = (packet.source, packet.target);
            self.cut_off(source, target);
            return false;
        }
        if self.clock.now > health.last.saturating_add(PATIENCE * fabric.config.protocol.resend.ps()) {
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
        self.clock.fail(format!("{why}no way is left from node {} to node {}", from / nics, to / nics));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

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
        let mut net = Net::new(0, &fabric, false);
        let to = Target { switch: 3, endpoint: 12 };
        let ports = |net: &Net<'_>| {
            let mut ways = Ways::default();
            Survivors { fabric: &fabric, health: net.health.as_ref().unwrap() }.ways(0, to, &mut ways);
            ways.ports.len()
        };
        assert_eq!(ports(&net), 4);
        net.strike(0, false);
        assert_eq!(ports(&net), 3, "leaf 0 does not go up by that spine for leaf 3");
    }
}
