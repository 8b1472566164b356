//! Every topology of the table, in several shapes: ways lead nearer, cables are laid where ways expect them, and the virtual
//! channels are free of cycles, with detours and without.

use super::*;
use crate::net::Fabric;
use std::collections::BTreeSet;

/// Shapes beyond the defaults: small, uneven, and with every feature.
const SHAPES: &[(&str, usize, &str)] = &[
    ("chain", 9, "switches = 5"),
    ("fat-tree", 12, "radix = 6"),
    ("fat-tree", 30, "radix = 12\ntaper = 2\nparallel = 2"),
    ("fat-tree", 25, "radix = 6\nlevels = 3"),
    ("fat-tree", 25, "radix = 9\ntaper = 2\nlevels = 3\npod = 3\nagg_up = 4"),
    ("dragonfly", 18, "switches = 3\nendpoints = 1\nglobal = 2"),
    ("dragonfly", 14, "switches = 2\nendpoints = 1\npair_links = 1\ngroups = 7"),
    ("dragonfly", 12, "switches = 4\nendpoints = 1\npair_links = 3\nlocal_links = 2"),
    ("dragonfly", 8, "switches = 4\nendpoints = 1\npair_links = 3"),
    ("aries", 18, "chassis = 2\nslots = 3\nendpoints = 1\nblue_links = 1"),
    ("aries", 24, "chassis = 3\nslots = 4\nendpoints = 1\nblue_links = 1"),
    ("aries", 18, "chassis = 3\nslots = 2\nendpoints = 1\nblue_links = 5\nblack_links = 2"),
    ("aries", 6, "chassis = 3\nslots = 2\nendpoints = 1"),
    ("torus", 12, "dims = \"4x3\"\nendpoints = 1"),
    ("torus", 12, "dims = \"6x2\"\nendpoints = 1"),
    ("torus", 16, "dims = \"4x4\"\nendpoints = 1\nwrap = false"),
    ("torus", 18, "dims = \"3x2x3\"\nendpoints = 1"),
    ("hyperx", 12, "dims = \"4x3\"\nendpoints = 1"),
    ("hyperx", 12, "dims = \"3x2x2\"\nendpoints = 1\nparallel = 2"),
    ("hyperx", 5, "dims = \"5\"\nendpoints = 1"),
];

/// A fabric for every line of the table with its defaults, and for every shape.
fn fabrics(each: impl Fn(&str, &Fabric)) {
    let defaults = TOPOLOGIES.iter().map(|e| (e.card.name, 12, ""));
    for (name, nodes, more) in defaults.chain(SHAPES.iter().copied()) {
        let text = format!("nodes = {nodes}\nranks_per_node = 1\n[topology]\nkind = \"{name}\"\n{more}\n");
        let what = format!("{name} {}", more.replace('\n', " "));
        let fabric = Fabric::new(&Config::from_toml(&text).unwrap()).unwrap_or_else(|e| panic!("{what}: {e}"));
        each(&what, &fabric);
    }
}

#[test]
fn every_topology_has_a_shape_of_its_own() {
    for entry in TOPOLOGIES.iter().filter(|e| e.card.name != "single-switch") {
        assert!(SHAPES.iter().any(|s| s.0 == entry.card.name), "add a small shape of {} to SHAPES", entry.card.name);
    }
}

/// Walks every pair of switches along every way, by which `hops` must fall.
#[test]
fn every_way_leads_nearer() {
    fabrics(|name, fabric| {
        let t = fabric.topology.as_ref();
        let mut ways = Ways::default();
        for (e, end) in fabric.endpoints.iter().enumerate() {
            let to = Target { switch: end.switch, endpoint: e as u32 };
            for at in 0..fabric.switches.len() as Switch {
                if at == to.switch {
                    assert_eq!(t.hops(at, to.switch), 0);
                    continue;
                }
                ways.clear();
                t.ways(at, to, &mut ways);
                assert!(ways.fixed < ways.ports.len(), "{name}: {at} -> {}", to.switch);
                for &port in &ways.ports {
                    let next = fabric.neighbour(at, port).expect("a way leads to a switch");
                    assert!(t.hops(next, to.switch) < t.hops(at, to.switch), "{name}: {at} {next} {}", to.switch);
                }
            }
        }
    });
}

/// Shortest ways are all found where the topology has no tables to leave some out: `hops` is the distance in the graph.
#[test]
fn hops_are_the_distance() {
    fabrics(|name, fabric| {
        let exact = !name.starts_with("dragonfly") && !name.starts_with("aries");
        let ends: BTreeSet<Switch> = fabric.endpoints.iter().map(|e| e.switch).collect();
        for &to in &ends {
            let far = distances(fabric, to);
            for &from in &ends {
                let (hops, shortest) = (fabric.topology.hops(from, to), far[from as usize]);
                assert!(if exact { hops == shortest } else { hops >= shortest }, "{name}: {from} -> {to}: {hops}");
            }
        }
    });
}

fn distances(fabric: &Fabric, from: Switch) -> Vec<u32> {
    let mut far = vec![u32::MAX; fabric.switches.len()];
    far[from as usize] = 0;
    let mut queue = std::collections::VecDeque::from([from]);
    while let Some(s) = queue.pop_front() {
        for port in 0..fabric.switches[s as usize].ports {
            if let Some(next) = fabric.neighbour(s, port).filter(|&n| far.get(n as usize) == Some(&u32::MAX)) {
                far[next as usize] = far[s as usize] + 1;
                queue.push_back(next);
            }
        }
    }
    far
}

/// A link and a virtual channel.
type Channel = u32;

/// A packet's state on its way to a target: where, how far, and the middle switch still to be visited.
type State = (Switch, (u8, u8, Port), Option<Switch>, Option<Channel>);

/// All channels that a packet may hold while it asks for another, over all routes.
struct Dependencies<'f> {
    fabric: &'f Fabric,
    detours: bool,
    vcs: u8,
    edges: Vec<BTreeSet<Channel>>,
}

impl Dependencies<'_> {
    fn walk(&mut self, source: Endpoint, to: Target) {
        let mut rng = Rng::new(1, "checks", u64::from(source) << 32 | u64::from(to.endpoint));
        let start = self.fabric.endpoints[source as usize].switch;
        let mut seen: BTreeSet<State> = BTreeSet::new();
        let mut open: Vec<State> = vec![(start, (0, 0, 0), None, None)];
        while let Some(state) = open.pop() {
            let (at, (vc, hops, came_by), middle, held) = state;
            let middle = middle.filter(|&m| !self.fabric.topology.passed(at, m, to.switch));
            if !seen.insert((at, state.1, middle, held)) || (at == to.switch && middle.is_none()) {
                continue;
            }
            let hop = Hop { vc, hops, came_by };
            let mut middles = vec![middle];
            if self.detours && middle.is_none() && self.fabric.topology.may_detour(source, hop) {
                middles.extend((0..60).map(|_| self.fabric.topology.middle(at, to.switch, &mut rng)));
                middles.sort_unstable();
                middles.dedup();
            }
            for middle in middles {
                self.step(&mut open, (at, hop, held), to, middle);
            }
        }
    }

    fn step(
        &mut self,
        open: &mut Vec<State>,
        from: (Switch, Hop, Option<Channel>),
        to: Target,
        middle: Option<Switch>,
    ) {
        let ((at, hop, held), t) = (from, self.fabric.topology.as_ref());
        let mut ways = Ways::default();
        t.ways(at, Target { switch: middle.unwrap_or(to.switch), ..to }, &mut ways);
        for &port in &ways.ports {
            let vc = t.vc(hop, at, port);
            assert!(vc < self.vcs, "channel {vc} of {} at switch {at} on the way to {}", self.vcs, to.switch);
            let link = self.fabric.switches[at as usize].first_link + u32::from(port);
            let channel = link * u32::from(self.vcs) + u32::from(vc);
            if let Some(held) = held {
                self.edges[held as usize].insert(channel);
            }
            let next = &self.fabric.links[link as usize];
            open.push((next.to, (vc, hop.hops + 1, next.to_port), middle, Some(channel)));
        }
    }

    /// Takes away channels nobody waits on, until none or only cycles are left.
    fn cycles(&self) -> usize {
        let mut waits: Vec<usize> = vec![0; self.edges.len()];
        self.edges.iter().flatten().for_each(|&c| waits[c as usize] += 1);
        let mut free: Vec<usize> = (0..waits.len()).filter(|&c| waits[c] == 0).collect();
        let mut left = waits.len();
        while let Some(c) = free.pop() {
            left -= 1;
            for &next in &self.edges[c] {
                waits[next as usize] -= 1;
                if waits[next as usize] == 0 {
                    free.push(next as usize);
                }
            }
        }
        left
    }
}

fn dependencies<'f>(fabric: &'f Fabric, detours: bool, vcs: u8) -> Dependencies<'f> {
    let edges = vec![BTreeSet::new(); fabric.links.len() * usize::from(vcs)];
    let mut d = Dependencies { fabric, detours, vcs, edges };
    for source in 0..fabric.endpoints.len() as Endpoint {
        for (e, end) in fabric.endpoints.iter().enumerate() {
            d.walk(source, Target { switch: end.switch, endpoint: e as Endpoint });
        }
    }
    d
}

/// The graph of which channel waits for which has no cycle: no deadlock on any route (Dally, Seitz 1987).
#[test]
fn channels_have_no_cycle() {
    fabrics(|name, fabric| {
        for detours in [false, true] {
            let vcs = fabric.topology.vcs(detours);
            assert!(vcs <= 8, "{name}: {vcs} channels per class; the switch has a bit set of 16");
            assert_eq!(dependencies(fabric, detours, vcs).cycles(), 0, "{name}, detours: {detours}");
        }
    });
}

/// The check itself finds a cycle where there is one: a ring without a dateline.
#[test]
fn a_ring_with_one_channel_has_a_cycle() {
    struct OneChannel(Box<dyn Topology>);
    impl Topology for OneChannel {
        fn wire(&self, wiring: &mut Wiring) {
            self.0.wire(wiring);
        }
        fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
            self.0.ways(at, to, out);
        }
        fn hops(&self, from: Switch, to: Switch) -> u32 {
            self.0.hops(from, to)
        }
        fn vcs(&self, _: bool) -> u8 {
            1
        }
        fn vc(&self, _: Hop, _: Switch, _: Port) -> u8 {
            0
        }
    }
    let text = "nodes = 5\n[topology]\nkind = \"torus\"\ndims = \"5\"\nendpoints = 1";
    let mut fabric = Fabric::new(&Config::from_toml(text).unwrap()).unwrap();
    let ring = std::mem::replace(&mut fabric.topology, Box::new(OneChannel(Box::new(Nothing))));
    fabric.topology = Box::new(OneChannel(ring));
    assert_eq!(dependencies(&fabric, false, 1).cycles(), 10);
}

/// Stands in for a moment.
struct Nothing;
impl Topology for Nothing {
    fn wire(&self, _: &mut Wiring) {}
    fn ways(&self, _: Switch, _: Target, _: &mut Ways) {}
    fn hops(&self, _: Switch, _: Switch) -> u32 {
        0
    }
    fn vcs(&self, _: bool) -> u8 {
        1
    }
}

#[test]
fn impossible_dragonflies_are_named() {
    let refused = |text: &str| Fabric::new(&Config::from_toml(text).unwrap()).err().expect("refused").to_string();
    let text = refused("nodes = 999\n[topology]\nkind = \"dragonfly\"\nglobal = 1");
    assert!(text.contains("global=1: 8 switches") && text.contains("reach 8 other groups, and there are 31"), "{text}");
    let text = refused("nodes = 99\n[topology]\nkind = \"dragonfly\"\ngroups = 2");
    assert!(
        text.contains("groups=2: 2 groups have room for 64 endpoints and the machine has 99; 4 groups do"),
        "{text}"
    );
    let text = refused("nodes = 769\n[topology]\nkind = \"aries\"\nblue_links = 900");
    assert!(text.contains("blue_links=900") && text.contains("at most 480 cables per pair"), "{text}");
    let text = refused("nodes = 9\n[topology]\nkind = \"aries\"\nslots = 0");
    assert!(text.contains("slots=0: choose 1 to 1024"), "{text}");
}
