//! The fabric: everything about the machine that does not change during a run, numbered for speed and shared by all threads.
//!
//! Directed links are numbered so that those which leave one part of the network (an LP, simulated by one thread at a time)
//! lie together, and those of one switch follow each other by port: an output's state is at `link - first link of the part`.

use super::faults::{self, Resolved};
use crate::Config;
use crate::base::{Endpoint, NONE, Port, Reach, Switch};
use crate::control::{CONTROLS, ControlEntry, Maker};
use crate::file::{Allocation, ConfigError, NO_LIMIT, NicConfig};
use crate::link::{Bucket, ENDPOINT, Link, Pace};
use crate::routing::{ROUTINGS, Routing, RoutingEntry};
use crate::topology::{Cable, TOPOLOGIES, Target, Topology, TopologyEntry, Ways, Wiring};
use spec::{Card, Params, Rate, near};

/// Classes of traffic at most, each with its own virtual channels: data and requests; what travels apart; small messages, if the
/// machine has a class for them.
pub(crate) const CLASSES: usize = 3;
/// The class of what travels apart, which congestion control leaves alone: acknowledgements, clear-to-send and notices; or answers.
pub(crate) const APART_CLASS: u8 = 1;
/// The class of messages up to `protocol.small`.
pub(crate) const SMALL_CLASS: u8 = 2;
/// Virtual channels of a port at most: the width of a port's mask of those that wait.
const MAX_VCS: usize = 16;
/// A part has about so many endpoints: small ones spend their time on mail to each other, large ones do not fit into a processor's cache.
const PART_ENDPOINTS: usize = 256;
/// With several threads each has so many parts at least, because parts are not all as busy.
const THREAD_PARTS: usize = 4;
/// Topologies of so many groups are divided between groups only, where cables are longest; others between any two switches.
const GROUPS: usize = 32;
pub(crate) struct SwitchInfo {
    /// The link that leaves by port 0.
    pub(crate) first_link: u32,
    pub(crate) ports: Port,
    /// The topology's group.
    pub(crate) group: u32,
}

pub(crate) struct EndpointInfo {
    pub(crate) switch: Switch,
    pub(crate) port: Port,
    /// The link by which it injects.
    pub(crate) inject: u32,
    /// Its number among the endpoints of its part.
    pub(crate) local: u32,
    pub(crate) lp: u16,
}

#[derive(Clone, Copy)]
pub(crate) struct NodeInfo {
    pub(crate) lp: u16,
    /// Its number among the nodes of its part.
    pub(crate) local: u32,
}

/// What belongs to one part of the network.
#[derive(Default)]
pub(crate) struct PartInfo {
    pub(crate) first_link: u32,
    pub(crate) links: u32,
    pub(crate) nodes: Vec<u32>,
    pub(crate) endpoints: Vec<Endpoint>,
}

/// The machine as built.
pub(crate) struct Fabric {
    pub(crate) config: Config,
    /// Everything that defines the machine, by name.
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) topology: Box<dyn Topology>,
    pub(crate) routing: Box<dyn Routing>,
    /// Whether the routing always takes the topology's fixed way.
    pub(crate) fixed: bool,
    pub(crate) control: Maker,
    pub(crate) links: Vec<Link>,
    pub(crate) switches: Vec<SwitchInfo>,
    pub(crate) endpoints: Vec<EndpointInfo>,
    pub(crate) nodes: Vec<NodeInfo>,
    pub(crate) parts: Vec<PartInfo>,
    /// What both directions of a NIC share.
    pub(crate) both: Pace,
    /// What will break, in the order of time.
    pub(crate) faults: Vec<Resolved>,
    /// Virtual channels per class, and in all.
    pub(crate) class_vcs: u8,
    /// Classes of traffic that this machine has.
    pub(crate) classes: usize,
    pub(crate) vcs: usize,
    /// No effect of a unit (what parts are made of) on another is sooner than this; `u64::MAX` with one unit. It follows from the
    /// machine and not from the parts, because what has no speed of its own takes this long.
    pub(crate) lookahead: u64,
    /// Modelled time of one step of a tree over all ranks, for what the machine resolves centrally.
    pub(crate) tree_step: u64,
}

/// The lines of the tables that a machine is made of.
#[derive(Clone, Copy)]
pub(crate) struct Chosen<'t> {
    pub(crate) topology: &'t TopologyEntry,
    pub(crate) routing: &'t RoutingEntry,
    pub(crate) control: &'t ControlEntry,
}

impl Chosen<'_> {
    /// Those that a configuration names.
    pub(crate) fn by(config: &Config) -> Result<Chosen<'static>, ConfigError> {
        Ok(Chosen {
            topology: named("topology", TOPOLOGIES, |e| &e.card, &config.topology.0)?,
            routing: named("routing", ROUTINGS, |e| &e.card, &config.routing.0)?,
            control: named("congestion control", CONTROLS, |e| &e.card, &config.control.0)?,
        })
    }
}

/// The line of a table by its name.
fn named<E>(what: &str, table: &'static [E], card: fn(&E) -> &Card, name: &str) -> Result<&'static E, ConfigError> {
    let unknown = || ConfigError::Unknown(near::unknown(what, name, table.iter().map(|e| card(e).name)));
    table.iter().find(|e| card(e).name == name).ok_or_else(unknown)
}

/// Everything that defines a machine, by name: its knobs, its lines of the tables with their parameters, its faults.
fn facts(config: &Config, params: [(&Card, &str, &Params); 3]) -> Vec<(String, String)> {
    let mut facts = config.facts();
    let names = [&config.topology.0, &config.routing.0, &config.control.0];
    for ((card, section, params), name) in params.into_iter().zip(names) {
        facts.push((section.into(), name.clone()));
        // A list that is empty unless given says nothing when it is empty.
        let said = params.iter().filter(|(k, v)| !v.is_empty() || !card.param(k).default.is_empty());
        facts.extend(said.map(|(k, v)| (format!("{section}.{k}"), v.clone())));
    }
    facts.extend(config.fault_facts());
    facts
}

impl Fabric {
    pub(crate) fn new(config: &Config) -> Result<Fabric, ConfigError> {
        Fabric::of(config, Chosen::by(config)?)
    }

    /// Builds a machine of chosen lines of the tables, which need not be in them.
    pub(crate) fn of(config: &Config, chosen: Chosen<'_>) -> Result<Fabric, ConfigError> {
        let mut fabric = Fabric::laid(config, chosen)?;
        fabric.faults = faults::resolve(&fabric)?;
        fabric.tree_step = fabric.small_message();
        Ok(fabric)
    }

    /// Lays all cables. Nothing has gone along them yet, so that a topology which leads nowhere can still be looked at.
    pub(crate) fn laid(config: &Config, chosen: Chosen<'_>) -> Result<Fabric, ConfigError> {
        config.check()?;
        let config = config.clone();
        let t = chosen.topology.card.resolve(&config.topology.1)?;
        let r = chosen.routing.card.resolve(&config.routing.1)?;
        let c = chosen.control.card.resolve(&config.control.1)?;
        let cards = [&chosen.topology.card, &chosen.routing.card, &chosen.control.card];
        let facts = facts(&config, [(cards[0], "topology", &t), (cards[1], "routing", &r), (cards[2], "control", &c)]);
        let topology = (chosen.topology.build)(&t, &config).map_err(ConfigError::Absurd)?;
        let routing = (chosen.routing.build)(&r).map_err(ConfigError::Absurd)?;
        let control = (chosen.control.build)(&c, &config).map_err(ConfigError::Absurd)?;
        let wiring = wired(topology.as_ref(), &config)?;
        // Round a cut there may be no way but a detour.
        let cuts = config.faults.iter().any(|f| f.rate.is_none());
        let class_vcs = topology.vcs(routing.detours() || cuts);
        let classes = if config.protocol.small > 0 { CLASSES } else { CLASSES - 1 };
        if usize::from(class_vcs) * classes > MAX_VCS {
            return Err(ConfigError::Absurd(format!(
                "{classes} classes of {class_vcs} virtual channels are more than {MAX_VCS}; set protocol.small = 0, choose \
                 a routing without detours or a smaller network"
            )));
        }
        let mut fabric = Fabric {
            lookahead: u64::MAX,
            tree_step: 0,
            class_vcs,
            classes,
            vcs: usize::from(class_vcs) * classes,
            links: Vec::new(),
            switches: Vec::new(),
            endpoints: Vec::new(),
            nodes: Vec::new(),
            parts: Vec::new(),
            faults: Vec::new(),
            both: both(&config.nic),
            config,
            facts,
            topology,
            fixed: routing.fixed(),
            routing,
            control,
        };
        fabric.lay(&wiring)?;
        Ok(fabric)
    }

    /// Numbers everything. Units without look-ahead cannot run in parallel, so then there are fewer, or one.
    fn lay(&mut self, wiring: &Wiring) -> Result<(), ConfigError> {
        let groups = count(&wiring.groups);
        let switches = || (0..wiring.groups.len() as u32).collect();
        let finest = if groups < GROUPS { switches() } else { wiring.groups.clone() };
        for units in [finest, wiring.groups.clone(), vec![0; wiring.groups.len()]] {
            let homes = self.homes(wiring, &units);
            self.number(wiring, &units, &homes);
            self.lookahead = self.least_crossing(&units);
            if self.lookahead > 0 {
                break;
            }
        }
        let packet = self.config.packet();
        // `Packet::span` and `Out::lead` keep this time in 32 bits of picoseconds.
        if let Some(slow) =
            self.links.iter().find(|l| Pace::new(Rate::from_bytes_per_s(l.rate)).time(packet) > u64::from(u32::MAX))
        {
            return Err(ConfigError::Absurd(format!(
                "a cable of {} takes longer than 4 ms for a packet of {packet} bytes; raise its rate or lower nic.mtu",
                Rate::from_bytes_per_s(slow.rate)
            )));
        }
        Ok(())
    }

    /// The part of each unit. Neighbouring units share a part, and parts have about as many ports.
    fn homes(&self, wiring: &Wiring, units: &[u32]) -> Vec<u16> {
        let mut weights = vec![0usize; count(units)];
        units.iter().zip(&wiring.ports).for_each(|(&unit, &ports)| weights[unit as usize] += usize::from(ports));
        let threads = match self.config.workers() {
            1 => 1,
            several => several * THREAD_PARTS,
        };
        let by_size = self.config.endpoints() / PART_ENDPOINTS;
        // Parts are numbered in 16 bits. Ranks that share cores are in one.
        let most = if self.config.host.shares_all() { 1 } else { usize::from(u16::MAX) };
        let parts = by_size.max(threads).clamp(1, weights.len().min(most));
        let all: usize = weights.iter().sum();
        let (mut before, mut homes, mut last) = (0, Vec::with_capacity(weights.len()), 0);
        for (unit, weight) in weights.iter().enumerate() {
            // By where its middle lies; but no part is left out, and there is a unit for each that is still to come.
            let home = (before + weight / 2) * parts / all.max(1);
            let left = parts.saturating_sub(weights.len() - unit);
            last = home.max(left).min(if unit == 0 { 0 } else { last + 1 });
            homes.push(last as u16);
            before += weight;
        }
        homes
    }

    /// The least time from one unit to another: packets cross one way, their credits the other.
    fn least_crossing(&self, units: &[u32]) -> u64 {
        let unit = |place: u32| match place & ENDPOINT {
            0 => units[place as usize],
            _ => units[self.home_switch(place & !ENDPOINT) as usize],
        };
        let crossing = self.links.iter().filter(|l| l.to != NONE && unit(l.from) != unit(l.to));
        crossing.map(|l| l.latency.min(l.credit_latency)).min().unwrap_or(u64::MAX)
    }

    /// The switch whose unit a node belongs to: that of its first NIC, also if its other NICs are at other switches.
    fn home_switch(&self, endpoint: Endpoint) -> Switch {
        let nics = self.config.nic.per_node as u32;
        self.endpoints[(endpoint - endpoint % nics) as usize].switch
    }

    /// What takes a time of its own, but not less than the look-ahead: nothing reaches another part sooner.
    pub(crate) fn delay(&self, time: u64) -> u64 {
        if self.lookahead == u64::MAX { time } else { time.max(self.lookahead) }
    }

    /// Numbers the nodes and their endpoints, with the parts they belong to, unit by unit. The nodes in that order.
    fn number_endpoints(&mut self, wiring: &Wiring, units: &[u32], homes: &[u16]) -> Vec<u32> {
        let nics = self.config.nic.per_node;
        let attached = wiring.attached.iter().take(self.config.endpoints());
        let endpoint = |&(switch, port): &(Switch, Port)| EndpointInfo { switch, port, inject: NONE, local: 0, lp: 0 };
        self.endpoints = attached.map(endpoint).collect();
        self.nodes = vec![NodeInfo { lp: 0, local: 0 }; self.config.nodes];
        self.parts = (0..homes.last().map_or(1, |&h| h + 1)).map(|_| PartInfo::default()).collect();
        let unit = |node: u32| units[wiring.attached[node as usize * nics].0 as usize];
        let mut order: Vec<u32> = (0..self.config.nodes as u32).collect();
        order.sort_by_key(|&node| unit(node));
        for &node in &order {
            let lp = homes[unit(node) as usize];
            let part = &mut self.parts[usize::from(lp)];
            self.nodes[node as usize] = NodeInfo { lp, local: part.nodes.len() as u32 };
            part.nodes.push(node);
            for e in node as usize * nics..(node as usize + 1) * nics {
                (self.endpoints[e].lp, self.endpoints[e].local) = (lp, part.endpoints.len() as u32);
                part.endpoints.push(e as Endpoint);
            }
        }
        order
    }

    /// A switch's ports in order: what is at the other end, and the cable.
    fn ports(&self, wiring: &Wiring) -> Vec<Vec<(u32, Port, Cable)>> {
        let nic = &self.config.nic;
        let mut ports: Vec<Vec<_>> =
            wiring.ports.iter().map(|&n| vec![(NONE, 0, edge(nic, nic.eject_rate)); usize::from(n)]).collect();
        // The topology may have room for more endpoints than the machine has.
        for (e, &(switch, port)) in wiring.attached.iter().enumerate().take(self.config.endpoints()) {
            ports[switch as usize][usize::from(port)].0 = ENDPOINT | e as u32;
        }
        for &((a, pa), (b, pb), cable) in &wiring.cables {
            ports[a as usize][usize::from(pa)] = (b, pb, cable);
            ports[b as usize][usize::from(pb)] = (a, pa, cable);
        }
        ports
    }

    /// Numbers the cables: unit by unit those that leave its switches and its nodes, so that the numbers do not depend on the parts.
    fn number(&mut self, wiring: &Wiring, units: &[u32], homes: &[u16]) {
        let nodes = self.number_endpoints(wiring, units, homes);
        let mut nodes = nodes.into_iter().peekable();
        let part_of = |switch: u32| homes[units[switch as usize] as usize];
        let nic = &self.config.nic.clone();
        let (nics, router) = (nic.per_node as u32, self.config.switch.latency.ps());
        let ports = self.ports(wiring);
        self.links = Vec::new();
        self.switches = ports
            .iter()
            .zip(&wiring.groups)
            .map(|(p, &group)| SwitchInfo { first_link: 0, ports: p.len() as Port, group })
            .collect();
        let mut order: Vec<usize> = (0..ports.len()).collect();
        order.sort_by_key(|&s| units[s]);
        let mut order = order.into_iter().peekable();
        for (unit, &lp) in homes.iter().enumerate() {
            let first_link = self.links.len() as u32;
            if unit == 0 || homes[unit - 1] != lp {
                self.parts[usize::from(lp)].first_link = first_link;
            }
            while let Some(s) = order.next_if(|&s| units[s] as usize == unit) {
                self.switches[s].first_link = self.links.len() as u32;
                for (port, &(to, to_port, cable)) in ports[s].iter().enumerate() {
                    // `NONE` first: it has the bit of endpoints too.
                    let lp_to = match to {
                        NONE => lp,
                        e if e & ENDPOINT != 0 => self.endpoints[(e & !ENDPOINT) as usize].lp,
                        s => part_of(s),
                    };
                    let flight = cable.latency.ps();
                    let latency = flight + if to & ENDPOINT == 0 { router } else { 0 };
                    self.links.push(Link {
                        from: s as u32,
                        to,
                        to_port,
                        from_port: port as Port,
                        lp_from: lp,
                        lp_to,
                        latency,
                        credit_latency: flight + router,
                        pace: pace(nic, cable),
                        bucket: bucket(nic, cable),
                        rate: cable.rate.bytes_per_s(),
                        reach: cable.reach,
                        kind: cable.kind,
                    });
                }
            }
            while let Some(node) = nodes.next_if(|&node| units[self.home_switch(node * nics) as usize] as usize == unit)
            {
                (node * nics..(node + 1) * nics).for_each(|e| self.number_injection(e, part_of, router));
            }
            self.parts[usize::from(lp)].links += self.links.len() as u32 - first_link;
        }
    }

    fn number_injection(&mut self, e: Endpoint, part_of: impl Fn(Switch) -> u16, router: u64) {
        let cable = edge(&self.config.nic, self.config.nic.rate);
        let end = &mut self.endpoints[e as usize];
        end.inject = self.links.len() as u32;
        self.links.push(Link {
            from: ENDPOINT | e,
            to: end.switch,
            to_port: end.port,
            from_port: 0,
            lp_from: end.lp,
            lp_to: part_of(end.switch),
            latency: cable.latency.ps() + router,
            // A credit comes back to a NIC, which has no switch latency to add.
            credit_latency: cable.latency.ps(),
            pace: pace(&self.config.nic, cable),
            bucket: bucket(&self.config.nic, cable),
            rate: cable.rate.bytes_per_s(),
            reach: cable.reach,
            kind: cable.kind,
        });
    }

    pub(crate) fn node_of(&self, rank: u32) -> u32 {
        rank / self.config.ranks_per_node as u32
    }

    /// The part that simulates a rank, and the rank's number there.
    pub(crate) fn home(&self, rank: u32) -> (u16, u32) {
        let per = self.config.ranks_per_node as u32;
        let node = self.nodes[(rank / per) as usize];
        (node.lp, node.local * per + rank % per)
    }

    /// The NIC that a rank uses: the ranks of a node take its NICs in turn.
    pub(crate) fn endpoint_of(&self, rank: u32) -> Endpoint {
        let (per, nics) = (self.config.ranks_per_node as u32, self.config.nic.per_node as u32);
        (rank / per) * nics + (rank % per) % nics
    }

    /// The switch behind a port, if it is one.
    #[cfg(test)]
    pub(crate) fn neighbour(&self, at: Switch, port: Port) -> Option<Switch> {
        let to = self.links[(self.switches[at as usize].first_link + u32::from(port)) as usize].to;
        (to & ENDPOINT == 0).then_some(to)
    }

    /// The links of the fixed route between two endpoints, injection and ejection included.
    pub(crate) fn path(&self, from: Endpoint, to: Endpoint) -> Vec<&Link> {
        let (a, b) = (&self.endpoints[from as usize], &self.endpoints[to as usize]);
        let mut path = vec![&self.links[a.inject as usize]];
        let (mut at, mut ways) = (a.switch, Ways::default());
        while at != b.switch {
            ways.clear();
            self.topology.ways(at, Target { switch: b.switch, endpoint: to }, &mut ways);
            let port = ways.ports[ways.fixed];
            let link = &self.links[(self.switches[at as usize].first_link + u32::from(port)) as usize];
            path.push(link);
            at = link.to;
        }
        path.push(&self.links[(self.switches[b.switch as usize].first_link + u32::from(b.port)) as usize]);
        path
    }

    /// The zero-load time of a small message across the machine, overheads included.
    fn small_message(&self) -> u64 {
        let host = self.config.host.send_overhead.ps() + self.config.host.recv_overhead.ps();
        match self.endpoints.len() {
            0 | 1 => host + self.config.host.local_latency.ps(),
            n => host + self.wire_time(0, n as u32 - 1, 8),
        }
    }

    /// The closed form of the zero-load time from a message's arrival at the source NIC to its end at the destination's NIC:
    ///
    /// T = sum over links of (time of flight + switch latency) + the injection of all packets but the last, each with the
    /// NIC's packet overhead + the last packet once on the slowest link + the receiving NIC's packet overhead.
    ///
    /// It holds for the fixed route when the injection link is the slowest, as in every network without oversubscribed cables.
    pub(crate) fn wire_time(&self, from: Endpoint, to: Endpoint, bytes: u64) -> u64 {
        let (nic, mtu) = (&self.config.nic, u64::from(self.config.nic.mtu));
        let overhead = self.config.nic.packet_overhead.ps();
        let path = self.path(from, to);
        // All packets but the last: there always is a last one, also of a message without bytes.
        let full = bytes.saturating_sub(1) / mtu;
        let rest = (bytes - full * mtu) as u32;
        let last = nic.wire(rest, false);
        let latency: u64 = path.iter().map(|l| l.latency).sum();
        let each = path[0].pace.time(nic.wire(nic.mtu, false)) + overhead;
        let before = self.moving(full, rest, each);
        let slowest = path.iter().map(|l| l.pace.time(last)).max().unwrap_or(0);
        latency + before + slowest + overhead
    }
}

impl Fabric {
    /// When the last packet of a lone message may leave, with full ones before it of which each takes so long: they have left, and it has
    /// been moved.
    fn moving(&self, full: u64, last: u32, each: u64) -> u64 {
        let mtu = u64::from(self.config.nic.mtu);
        let (before, bytes) = (full * each, full * mtu + u64::from(last));
        let protocol = &self.config.protocol;
        let (rate, _) = protocol.rates()[usize::from(protocol.way(bytes))];
        if rate >= NO_LIMIT {
            return before;
        }
        let time = |bytes: u64| (1e12 * bytes as f64 / rate).ceil() as u64;
        // Behind the one that is moved last, all of them, or the last of them.
        let behind = if full > 0 { time(full * mtu) + each } else { 0 };
        time(bytes).max(time(bytes.min(mtu)) + before).max(behind)
    }
}

/// How many numbers from 0 on there are.
fn count(numbers: &[u32]) -> usize {
    numbers.iter().max().map_or(1, |&last| last as usize + 1)
}

/// What a topology makes for a machine, if that fits in.
fn wired(topology: &dyn Topology, config: &Config) -> Result<Wiring, ConfigError> {
    let mut wiring = Wiring::default();
    topology.wire(&mut wiring);
    let (nics, switches) = (config.nic.per_node, config.nic.switches);
    if !nics.is_multiple_of(switches) {
        let text = format!("nic.switches = {switches}: must divide the {nics} NICs of a node (nic.per_node)");
        return Err(ConfigError::Absurd(text));
    }
    wiring.deal(nics, switches);
    if config.allocation == Allocation::Scattered {
        wiring.scatter(nics, config.nodes, config.seed);
    }
    if wiring.room() < config.endpoints() {
        return Err(ConfigError::Absurd(format!(
            "the topology has room for {} endpoints and the machine has {} (nodes x nic.per_node)",
            wiring.room(),
            config.endpoints()
        )));
    }
    Ok(wiring)
}

/// The rate at which a packet leaves, which is that of a burst where there are some.
fn pace(nic: &NicConfig, cable: Cable) -> Pace {
    Pace::new(if has_bursts(nic, cable) { nic.burst_rate } else { cable.rate })
}

/// What both directions of a NIC share: nothing if the limit is as high as can be.
fn both(nic: &NicConfig) -> Pace {
    if nic.both_rate.bytes_per_s() < NO_LIMIT { Pace::new(nic.both_rate) } else { Pace::NONE }
}

fn bucket(nic: &NicConfig, cable: Cable) -> Option<Bucket> {
    has_bursts(nic, cable).then(|| Bucket { pace: Pace::new(cable.rate), bytes: nic.burst })
}

fn has_bursts(nic: &NicConfig, cable: Cable) -> bool {
    nic.burst > 0 && cable.reach == Reach::Edge && nic.burst_rate.bytes_per_s() > cable.rate.bytes_per_s()
}

fn edge(nic: &NicConfig, rate: Rate) -> Cable {
    Cable { rate, latency: nic.latency, reach: Reach::Edge, kind: "edge" }
}
