//! Every topology of the table, in several shapes: every port has its cable, ways lead nearer, and the virtual channels are
//! free of cycles, with detours and without. A wrong topology for each check shows that the check finds it.

use super::*;
use crate::control::CONTROLS;
use crate::net::{Chosen, Fabric};
use crate::routing::ROUTINGS;
use std::collections::BTreeSet;

/// What must hold of a topology as built.
type Check = fn(&TopologyEntry, &Fabric) -> Result<(), String>;
const CHECKS: [Check; 4] = [whole, nearer, far, free_of_cycles];

/// Every check on a topology with its defaults and in every shape.
fn check(entry: &TopologyEntry) -> Result<(), String> {
    for &(nodes, more) in [(12, "")].iter().chain(entry.shapes) {
        let name = entry.card.name;
        let text = format!("nodes = {nodes}\nranks_per_node = 1\n[topology]\nkind = \"{name}\"\n{more}\n");
        let what = |e: String| format!("{name} {}: {e}", more.replace('\n', " "));
        let config = Config::from_toml(&text).map_err(|e| what(e.to_string()))?;
        let chosen = Chosen { topology: entry, routing: &ROUTINGS[0], control: &CONTROLS[0] };
        let fabric = Fabric::laid(&config, chosen).map_err(|e| what(e.to_string()))?;
        for check in CHECKS {
            check(entry, &fabric).map_err(what)?;
        }
    }
    Ok(())
}

/// NICs of a node are dealt to as many switches as asked for, every place is used once, and what fills no node comes last.
#[test]
fn nics_are_dealt_to_switches() {
    for (endpoints, nics, switches, expected) in [
        (4, 2, 2, vec![0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3]),
        (4, 4, 2, vec![0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3]),
        (3, 4, 2, vec![0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 2, 3]),
        (2, 3, 3, vec![0, 1, 2, 0, 1, 2, 3, 3]),
        (2, 4, 1, vec![0, 0, 1, 1, 2, 2, 3, 3]),
    ] {
        let mut wiring = Wiring::default();
        for group in 0..4 {
            let switch = wiring.switch(group);
            (0..endpoints).for_each(|_| {
                wiring.attach(switch);
            });
        }
        let before: BTreeSet<Plug> = wiring.attached.iter().copied().collect();
        wiring.deal(nics, switches);
        assert_eq!(wiring.attached.iter().map(|p| p.0).collect::<Vec<_>>(), expected, "{nics} over {switches}");
        assert_eq!(wiring.attached.iter().copied().collect::<BTreeSet<_>>(), before);
    }
}

/// Groups of so many places at each switch, how many nodes they have at most, and the switches that are nodes' in their order.
type Ended = (&'static [(&'static [usize], usize)], usize, usize, &'static [&'static [Switch]]);

/// No node lies in two groups that end, none has more than it may, and the other places are nobody's.
#[test]
fn nodes_stay_in_their_group() {
    const MANY: usize = 99;
    let table: [Ended; 6] = [
        // The third place of each is nobody's.
        (&[(&[3], MANY), (&[3], MANY)], 2, 1, &[&[0, 0], &[1, 1]]),
        (&[(&[2, 2], 1), (&[2, 2], 2)], 2, 1, &[&[0, 0], &[2, 2], &[3, 3]]),
        (&[(&[2, 2], 0), (&[2, 2], 1)], 2, 2, &[&[2, 3]]),
        // A third switch is dealt with none of the next group.
        (&[(&[2, 2, 2], MANY), (&[2, 2], MANY)], 2, 2, &[&[0, 1], &[0, 1], &[2, 2], &[3, 4], &[3, 4]]),
        (&[(&[2, 2, 2], 2), (&[2, 2], 1)], 4, 2, &[&[0, 1, 0, 1], &[3, 4, 3, 4]]),
        (&[(&[1, 1, 1], MANY)], 2, 2, &[&[0, 1]]),
    ];
    for (groups, nics, switches, expected) in table {
        let mut wiring = Wiring::default();
        for (group, (each, nodes)) in groups.iter().enumerate() {
            for &places in *each {
                let switch = wiring.switch(group as u32);
                (0..places).for_each(|_| {
                    wiring.attach(switch);
                });
            }
            wiring.end_group(*nodes);
        }
        let before: BTreeSet<Plug> = wiring.attached.iter().copied().collect();
        wiring.deal(nics, switches);
        let nodes = |wiring: &Wiring| -> Vec<Vec<Switch>> {
            let room = &wiring.attached[..wiring.room()];
            room.chunks(nics).map(|node| node.iter().map(|p| p.0).collect()).collect()
        };
        assert_eq!(nodes(&wiring), expected, "{groups:?} {nics} {switches}");
        assert_eq!(wiring.attached.iter().copied().collect::<BTreeSet<_>>(), before);
        // Scattered, nodes take the same places in some order.
        wiring.scatter(nics, 1, 7);
        let sorted = |mut nodes: Vec<Vec<Switch>>| {
            nodes.sort();
            nodes
        };
        assert_eq!(sorted(nodes(&wiring)), sorted(expected.iter().map(|n| n.to_vec()).collect()));
    }
}

#[test]
fn nodes_are_scattered_over_the_places() {
    let lay = |seed| {
        let mut wiring = Wiring::default();
        for group in 0..20 {
            let switch = wiring.switch(group);
            (0..5).for_each(|_| {
                wiring.attach(switch);
            });
        }
        let before: BTreeSet<Plug> = wiring.attached.iter().copied().collect();
        wiring.scatter(2, 10, seed);
        assert_eq!(wiring.attached.iter().copied().collect::<BTreeSet<_>>(), before);
        wiring.attached[..20].to_vec()
    };
    let (one, other) = (lay(1), lay(2));
    assert!(one.is_sorted() && other.is_sorted() && one != other, "{one:?}");
    let switches: BTreeSet<Switch> = one.iter().map(|p| p.0).collect();
    assert!(switches.len() > 5 && one[19].0 > 12, "{switches:?}");
}

#[test]
fn every_topology_is_right() {
    for entry in TOPOLOGIES {
        check(entry).unwrap();
        assert_eq!(entry.shapes[0].0, 9, "{}: the first shape is for nine nodes", entry.card.name);
    }
}

fn must(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Every port has one cable or one endpoint, and a cable's reach fits what it joins.
fn whole(_: &TopologyEntry, fabric: &Fabric) -> Result<(), String> {
    let mut wiring = Wiring::default();
    fabric.topology.wire(&mut wiring);
    let mut plugs = wiring.attached.clone();
    for &(a, b, cable) in &wiring.cables {
        plugs.extend([a, b]);
        must(cable.reach != Reach::Edge, || format!("the cable at {a:?} is not one of a NIC"))?;
        let apart = wiring.groups[a.0 as usize] != wiring.groups[b.0 as usize];
        must(apart || cable.reach != Reach::Global, || format!("the global cable at {a:?} stays in its group"))?;
    }
    plugs.sort_unstable();
    let mut all = Vec::new();
    for (switch, &ports) in wiring.ports.iter().enumerate() {
        all.extend((0..ports).map(|port| (switch as Switch, port)));
    }
    must(plugs == all, || "a port has no cable, or two".into())
}

/// Every way from every switch brings `hops` down, and the fixed way is one of them.
fn nearer(_: &TopologyEntry, fabric: &Fabric) -> Result<(), String> {
    let t = fabric.topology.as_ref();
    let (mut ways, mut scratch) = (Ways::default(), Ways::default());
    for (e, end) in fabric.endpoints.iter().enumerate() {
        let to = Target { switch: end.switch, endpoint: e as u32 };
        for at in 0..fabric.switches.len() as Switch {
            if at == to.switch {
                must(t.hops(at, at) == 0, || format!("switch {at} is {} from itself", t.hops(at, at)))?;
                continue;
            }
            ways.clear();
            t.ways(at, to, &mut ways);
            must(ways.fixed < ways.ports.len(), || format!("no way from {at} to {}", to.switch))?;
            let fixed = t.fixed(at, to, &mut scratch);
            must(fixed == ways.ports[ways.fixed], || format!("two fixed ways from {at} to {}", to.switch))?;
            for &port in &ways.ports {
                let next = fabric.neighbour(at, port).ok_or(format!("port {port} of {at} leads to no switch"))?;
                let falls = t.hops(next, to.switch) < t.hops(at, to.switch);
                must(falls, || format!("{next} is no nearer to {} than {at}", to.switch))?;
            }
        }
    }
    Ok(())
}

/// `hops` is the distance in the graph of cables, or not less where the entry says why.
fn far(entry: &TopologyEntry, fabric: &Fabric) -> Result<(), String> {
    let ends: BTreeSet<Switch> = fabric.endpoints.iter().map(|e| e.switch).collect();
    for &to in &ends {
        let far = distances(fabric, to);
        for &from in &ends {
            let (hops, shortest) = (fabric.topology.hops(from, to), far[from as usize]);
            let right = match entry.hops {
                Hops::Distance => hops == shortest,
                Hops::AtLeast(_) => hops >= shortest,
            };
            must(right, || format!("{from} is {shortest} from {to}, and hops says {hops}"))?;
        }
    }
    Ok(())
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

/// The graph of which channel waits for which has no cycle: no deadlock on any route (Dally, Seitz 1987).
fn free_of_cycles(_: &TopologyEntry, fabric: &Fabric) -> Result<(), String> {
    for detours in [false, true] {
        let vcs = fabric.topology.vcs(detours);
        must(vcs <= 8, || format!("{vcs} channels per class; the switch has a bit set of 16"))?;
        let edges = vec![BTreeSet::new(); fabric.links.len() * usize::from(vcs)];
        let mut d = Dependencies { fabric, detours, vcs, edges };
        for source in 0..fabric.endpoints.len() as Endpoint {
            for (e, end) in fabric.endpoints.iter().enumerate() {
                d.walk(source, Target { switch: end.switch, endpoint: e as Endpoint })?;
            }
        }
        must(d.cycles() == 0, || format!("{} channels wait in circles, detours: {detours}", d.cycles()))?;
    }
    Ok(())
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
    fn walk(&mut self, source: Endpoint, to: Target) -> Result<(), String> {
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
            if self.detours && middle.is_none() && self.fabric.topology.may_detour(at, hop) {
                middles.extend((0..60).map(|_| self.fabric.topology.middle(at, to.switch, &mut rng)));
                middles.sort_unstable();
                middles.dedup();
            }
            for middle in middles {
                self.step(&mut open, (at, hop, held), to, middle)?;
            }
        }
        Ok(())
    }

    fn step(
        &mut self,
        open: &mut Vec<State>,
        from: (Switch, Hop, Option<Channel>),
        to: Target,
        middle: Option<Switch>,
    ) -> Result<(), String> {
        let ((at, hop, held), t) = (from, self.fabric.topology.as_ref());
        let mut ways = Ways::default();
        t.ways(at, Target { switch: middle.unwrap_or(to.switch), ..to }, &mut ways);
        for &port in &ways.ports {
            let vc = t.vc(hop, at, port);
            if vc >= self.vcs {
                return Err(format!("channel {vc} of {} at switch {at} on the way to {}", self.vcs, to.switch));
            }
            let link = self.fabric.switches[at as usize].first_link + u32::from(port);
            let channel = link * u32::from(self.vcs) + u32::from(vc);
            if let Some(held) = held {
                self.edges[held as usize].insert(channel);
            }
            let next = &self.fabric.links[link as usize];
            open.push((next.to, (vc, hop.hops + 1, next.to_port), middle, Some(channel)));
        }
        Ok(())
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

/// What is wrong with a ring of five switches.
#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    /// A port without a cable.
    Unplugged,
    /// Cables to the next switch that claim to be a NIC's.
    Edges,
    /// No way at all.
    Nowhere,
    /// Every way leads back.
    Back,
    /// The fixed way is none of the ways.
    OtherFixed,
    /// Everything is far away.
    Farther,
    /// No dateline: one channel all round.
    OneChannel,
    /// More channels are used than asked for.
    TooFewChannels,
}

struct Wrong(Box<dyn Topology>, Flaw);

fn ring(config: &Config, flaw: Flaw) -> Result<Box<dyn Topology>, String> {
    let given = [("dims", "5"), ("endpoints", "3")].map(|(k, v)| (k.to_string(), v.to_string()));
    let params = torus::TORUS.card.resolve(&given.into()).map_err(|e| e.to_string())?;
    Ok(Box::new(Wrong((torus::TORUS.build)(&params, config)?, flaw)))
}

impl Topology for Wrong {
    fn wire(&self, wiring: &mut Wiring) {
        self.0.wire(wiring);
        match self.1 {
            Flaw::Unplugged => drop(wiring.cables.pop()),
            Flaw::Edges => wiring.cables.iter_mut().for_each(|c| c.2.reach = Reach::Edge),
            _ => {}
        }
    }
    fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
        self.0.ways(at, to, out);
        match self.1 {
            Flaw::Nowhere => out.clear(),
            // A switch has three endpoints and then its two cables, at ports 3 and 4.
            Flaw::Back => out.ports.iter_mut().for_each(|port| *port = 7 - *port),
            _ => {}
        }
    }
    fn fixed(&self, at: Switch, to: Target, scratch: &mut Ways) -> Port {
        scratch.clear();
        self.ways(at, to, scratch);
        let port = scratch.ports[scratch.fixed];
        if self.1 == Flaw::OtherFixed { 7 - port } else { port }
    }
    fn hops(&self, from: Switch, to: Switch) -> u32 {
        self.0.hops(from, to) * if self.1 == Flaw::Farther { 2 } else { 1 }
    }
    fn vcs(&self, detours: bool) -> u8 {
        if matches!(self.1, Flaw::OneChannel | Flaw::TooFewChannels) { 1 } else { self.0.vcs(detours) }
    }
    fn vc(&self, hop: Hop, at: Switch, port: Port) -> u8 {
        if self.1 == Flaw::OneChannel { 0 } else { self.0.vc(hop, at, port) }
    }
}

#[test]
fn wrong_topologies_are_caught() {
    let table: [(Build, &str); 8] = [
        (|_, c| ring(c, Flaw::Unplugged), "a port has no cable"),
        (|_, c| ring(c, Flaw::Edges), "is not one of a NIC"),
        (|_, c| ring(c, Flaw::Nowhere), "no way from 1 to 0"),
        (|_, c| ring(c, Flaw::Back), "is no nearer to"),
        (|_, c| ring(c, Flaw::OtherFixed), "two fixed ways"),
        (|_, c| ring(c, Flaw::Farther), "and hops says 2"),
        (|_, c| ring(c, Flaw::OneChannel), "10 channels wait in circles"),
        (|_, c| ring(c, Flaw::TooFewChannels), "channel 1 of 1"),
    ];
    for (build, reason) in table {
        let card = Card { name: "wrong", about: "", source: "", params: &[] };
        let wrong = TopologyEntry { card, build, hops: Hops::Distance, shapes: &[(15, "")] };
        let error = check(&wrong).expect_err(reason);
        assert!(error.contains(reason), "{error}, not {reason}");
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
