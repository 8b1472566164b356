//! What a machine file means, in numbers that people compare networks by. Nothing is simulated.

use super::bisection;
use crate::base::{Endpoint, NONE, Reach, Switch};
use crate::file::{Config, ConfigError};
use crate::link::{ENDPOINT, Link};
use crate::net::Fabric;
use spec::{Rate, Time, show_bytes};
use std::collections::BTreeMap;
use std::fmt;

/// The cables of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Cables {
    /// What they are called: `edge`, `local`, `green`, ...
    pub kind: &'static str,
    /// How far they reach.
    pub reach: Reach,
    /// How many; each carries both directions.
    pub count: usize,
    /// Rate of one direction of one cable.
    pub rate: Rate,
    /// What all of them together carry, both directions added, over what all nodes together can inject.
    pub per_injection: f64,
}

/// A machine in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Nodes, ranks and endpoints (NICs).
    pub nodes: usize,
    /// See `nodes`.
    pub ranks: usize,
    /// See `nodes`.
    pub endpoints: usize,
    /// Name of topology, routing and congestion control.
    pub names: [String; 3],
    /// Switches, and the most ports that one of them has.
    pub switches: usize,
    /// See `switches`.
    pub radix: usize,
    /// Cables by kind, those of the NICs first.
    pub cables: Vec<Cables>,
    /// Injection rate of all nodes together.
    pub injection: Rate,
    /// What the cables between two halves of the endpoints carry one way, where that is least.
    pub bisection: Rate,
    /// Bisection over the injection rate of the smaller half; above 1 the cut has room to spare.
    pub bisection_share: f64,
    /// Injection over what the cables that leave the switches with endpoints carry: 2 means a 2:1 taper at the edge.
    /// `None` where every switch has endpoints.
    pub taper: Option<f64>,
    /// Most cables between switches on a minimal way.
    pub diameter: u32,
    /// Zero-load time of 8 bytes between ranks of two nodes, overheads included: nearest pair, mean, farthest pair.
    pub nearest: Time,
    /// See `nearest`.
    pub mean: Time,
    /// See `nearest`.
    pub farthest: Time,
    /// Virtual channels of a port, all classes.
    pub channels: usize,
    /// Estimated memory of a run: the network, and the ranks with the stack they usually touch.
    pub network_bytes: u64,
    /// See `network_bytes`.
    pub rank_bytes: u64,
}

/// A rank's state and the pages of stack that kernels touch.
const BYTES_PER_RANK: u64 = 9 * 1024;
/// An output's and a link's state beside its virtual channels.
const BYTES_PER_LINK: u64 = 256;
/// A virtual channel of an output and the queues of those who wait for it.
const BYTES_PER_CHANNEL: u64 = 64;
/// Switches and endpoints from which distances are measured; more are sampled evenly.
const SAMPLED: usize = 64;

/// Describes the machine of a configuration, or says why it cannot be built.
pub fn describe(config: &Config) -> Result<Description, ConfigError> {
    let fabric = Fabric::new(config)?;
    let endpoints = fabric.endpoints.len();
    let injection = config.nic.rate.bytes_per_s() * endpoints as f64;
    let [nearest, mean, farthest] = zero_load(&fabric);
    let bisection = bisection::least(&fabric);
    let half_injection = config.nic.rate.bytes_per_s() * bisection.endpoints as f64;
    let links = fabric.links.len() as u64;
    Ok(Description {
        nodes: config.nodes,
        ranks: config.ranks(),
        endpoints,
        names: [config.topology.0.clone(), config.routing.0.clone(), config.control.0.clone()],
        switches: fabric.switches.len(),
        radix: fabric.switches.iter().map(|s| usize::from(s.ports)).max().unwrap_or(0),
        cables: cables(&fabric, injection),
        injection: Rate::from_bytes_per_s(injection),
        bisection: Rate::from_bytes_per_s(bisection.rate),
        // The smaller half is empty if one switch has all endpoints.
        bisection_share: if half_injection > 0.0 { bisection.rate / half_injection } else { 1.0 },
        taper: taper(&fabric, injection),
        diameter: diameter(&fabric),
        nearest,
        mean,
        farthest,
        channels: fabric.vcs,
        network_bytes: links * (BYTES_PER_LINK + BYTES_PER_CHANNEL * fabric.vcs as u64),
        rank_bytes: config.ranks() as u64 * BYTES_PER_RANK,
    })
}

fn cables(fabric: &Fabric, injection: f64) -> Vec<Cables> {
    let mut kinds: BTreeMap<&'static str, (usize, f64, Reach)> = BTreeMap::new();
    for link in fabric.links.iter().filter(|l| l.to != NONE) {
        let (directions, rate, _) = kinds.entry(link.kind).or_insert((0, link.rate, link.reach));
        *directions += 1;
        // A NIC's two directions are of one kind and may differ in rate: the slower one is told.
        *rate = rate.min(link.rate);
    }
    let all = kinds.into_iter().map(|(kind, (directions, rate, reach))| Cables {
        kind,
        reach,
        count: directions / 2,
        rate: Rate::from_bytes_per_s(rate),
        per_injection: directions as f64 * rate / injection,
    });
    let mut list: Vec<Cables> = all.collect();
    // Those of the NICs first; a stable sort keeps the others in the order of their names.
    list.sort_by_key(|c| c.reach != Reach::Edge);
    list
}

fn taper(fabric: &Fabric, injection: f64) -> Option<f64> {
    let ends = bisection::endpoints(fabric);
    let out = |l: &&Link| l.from & ENDPOINT == 0 && l.to & ENDPOINT == 0 && ends[l.from as usize] > 0;
    let up: f64 = fabric.links.iter().filter(out).map(|l| l.rate).sum();
    (up > 0.0 && ends.contains(&0)).then(|| injection / up)
}

fn diameter(fabric: &Fabric) -> u32 {
    let mut ends: Vec<Switch> = fabric.endpoints.iter().map(|e| e.switch).collect();
    ends.dedup();
    let step = ends.len().div_ceil(SAMPLED).max(1);
    let far = |from: Switch| ends.iter().map(|&to| fabric.topology.hops(from, to)).max().unwrap_or(0);
    ends.iter().step_by(step).map(|&from| far(from)).max().unwrap_or(0)
}

/// The least, the mean and the greatest zero-load time between NICs of different nodes.
fn zero_load(fabric: &Fabric) -> [Time; 3] {
    let (n, nics) = (fabric.endpoints.len(), fabric.config.nic.per_node);
    let host = fabric.config.host.send_overhead + fabric.config.host.recv_overhead;
    let (mut least, mut most, mut sum, mut pairs) = (u64::MAX, 0, 0, 0);
    // Fewer than for the diameter, because for every pair a route is walked.
    for from in (0..n).step_by(n.div_ceil(SAMPLED / 4).max(1)) {
        for to in (0..n).filter(|to| to / nics != from / nics) {
            let time = fabric.wire_time(from as Endpoint, to as Endpoint, 8);
            (least, most) = (least.min(time), most.max(time));
            (sum, pairs) = (sum + time, pairs + 1);
        }
    }
    // There is only one node, and so no pair.
    if most == 0 {
        let local = host + fabric.config.host.local_latency;
        return [local; 3];
    }
    [least, sum / pairs, most].map(|ps| host + Time::from_ps(ps))
}

fn rate(r: Rate) -> String {
    match r.bytes_per_s() {
        x if x >= 1e12 => format!("{:.2}TB/s", x * 1e-12),
        _ => r.to_string(),
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [topology, routing, control] = &self.names;
        writeln!(f, "nodes        {} with {} ranks and {} NICs", self.nodes, self.ranks, self.endpoints)?;
        writeln!(f, "network      {topology}, {routing} routing, congestion control {control}")?;
        writeln!(f, "switches     {}, up to {} ports, {} virtual channels", self.switches, self.radix, self.channels)?;
        for c in &self.cables {
            write!(f, "cables       {:<6} {:>7} x {}", c.kind, c.count, rate(c.rate))?;
            // Each direction of a global cable leaves one group: the ratio by which dragonflies are compared.
            match c.reach {
                Reach::Global => writeln!(f, ", {:.2} of injection", c.per_injection)?,
                _ => writeln!(f)?,
            }
        }
        writeln!(f, "injection    {} in all", rate(self.injection))?;
        let share = self.bisection_share * 100.0;
        match self.bisection.bytes_per_s() {
            0.0 => writeln!(f, "bisection    none: all nodes are on one switch")?,
            _ => writeln!(f, "bisection    {} one way, {share:.0} % of half the injection", rate(self.bisection))?,
        }
        if let Some(taper) = self.taper {
            writeln!(f, "taper        {taper:.2} : 1, injected to leaving an edge switch")?;
        }
        writeln!(f, "diameter     {} cables between switches", self.diameter)?;
        writeln!(
            f,
            "zero load    8 bytes in {} (nearest) to {} (farthest), mean {}",
            self.nearest, self.farthest, self.mean
        )?;
        let (network, ranks) = (show_bytes(self.network_bytes), show_bytes(self.rank_bytes));
        write!(f, "memory       about {network} for the network and {ranks} for the ranks")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Description {
        describe(&Config::from_toml(text).unwrap()).unwrap()
    }

    #[test]
    fn a_full_and_a_tapered_tree() {
        // Radix 16: 8 down and 8 up, 8 leaves: 32 cables cross the middle.
        let d = of("nodes = 64\n[topology]\nkind = \"fat-tree\"\nradix = 16\n");
        assert_eq!((d.switches, d.diameter, d.bisection_share, d.taper), (16, 2, 1.0, Some(1.0)));
        assert_eq!(d.bisection.bytes_per_s(), 32.0 * 12.5e9);
        let d = of("nodes = 48\n[topology]\nkind = \"fat-tree\"\ndown = 6\ntaper = 2\nradix = 9\n");
        assert_eq!((d.bisection_share, d.taper), (0.5, Some(2.0)));
        assert_eq!(d.cables.iter().map(|c| (c.kind, c.count)).collect::<Vec<_>>(), [("edge", 48), ("up", 24)]);
    }

    #[test]
    fn a_torus_and_a_single_switch() {
        // A ring of four in the last dimension is cut twice, four cables each.
        let d = of("nodes = 16\n[topology]\nkind = \"torus\"\ndims = \"4x4\"\nendpoints = 1\n");
        assert_eq!((d.bisection.bytes_per_s(), d.diameter), (8.0 * 12.5e9, 4));
        let d = of("nodes = 4\n");
        assert_eq!((d.bisection.bytes_per_s(), d.diameter, d.nearest), (0.0, 0, d.farthest));
        assert!(d.to_string().contains("all nodes are on one switch"));
    }

    #[test]
    fn one_node_has_only_itself() {
        let d = of("nodes = 1\n");
        assert_eq!(d.nearest, Time::from_ns(700));
    }
}
