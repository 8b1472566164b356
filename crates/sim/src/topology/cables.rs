//! Any network, from a list of its switches and cables: what a site's own files say, or nobody has a name for.
//!
//! Ways are shortest ways by number of cables, all of them; a detour goes over any switch that has endpoints. Virtual channels count
//! hops, which is free of cycles in any network, so that a network may not be wider than there are channels.

use super::{Cable, Hop, Hops, Port, Reach, Switch, Target, Topology, TopologyEntry, Ways, Wiring, pick};
use crate::Config;
use spec::{Card, Kind, Param, Params, ReadParams, Rng, parse_rate, parse_time};
use std::collections::{BTreeMap, VecDeque};

/// See the module.
pub const CABLES: TopologyEntry = TopologyEntry {
    card: Card {
        name: "cables",
        about: "any network: a list of its switches and cables, as `tailback machine import` writes it",
        source: "",
        params: &[
            Param::new(
                "switches",
                Kind::Text,
                "a:20 b:20 c:20",
                "NAME:ENDPOINTS or NAME:ENDPOINTS:GROUP, by spaces or lines",
            ),
            Param::new(
                "cables",
                Kind::Text,
                "a b; b c; c a",
                "`A B`, `A B x3`, `A B x3 25GB/s 150ns`; by semicolons or lines",
            ),
            Param::new("rate", Kind::Rate, "12.5GB/s", "of cables without a rate of their own"),
            Param::new("latency", Kind::Time, "50ns", "time of flight of cables without one of their own"),
        ],
    },
    build,
    hops: Hops::Distance,
    shapes: &[
        (9, "switches = \"l0:3 l1:3 l2:3 s0:0 s1:0\"\ncables = \"l0 s0; l1 s0; l2 s0 x2; l0 s1; l1 s1; l2 s1\""),
        (8, "switches = \"a:2:x b:2:x c:2:y d:2:y\"\ncables = \"a b; c d x2 1GB/s; b c x3 2GB/s 200ns\""),
        (6, "switches = \"only:6\"\ncables = \"\""),
    ],
};

/// Distances are kept for every two switches.
const MOST_SWITCHES: usize = 8192;
/// Cables on a shortest way at most: the channels of two classes fit a port's mask.
const WIDEST: u8 = 8;

struct Cables {
    /// Of each switch.
    endpoints: Vec<usize>,
    groups: Vec<u32>,
    /// In the order in which they are laid.
    list: Vec<(Switch, Switch, Cable)>,
    /// What is at the other end of each switch's cables.
    neighbours: Vec<Vec<Switch>>,
    /// Cables between every two switches.
    far: Vec<u8>,
    /// The most between two that have endpoints, and who has them.
    diameter: u8,
    ends: Vec<Switch>,
}

fn build(params: &Params, config: &Config) -> Result<Box<dyn Topology>, String> {
    let (names, endpoints, groups) = switches(params.word("switches"))?;
    let list = cables(params, &names, &groups)?;
    let mut neighbours: Vec<Vec<Switch>> = vec![Vec::new(); endpoints.len()];
    for &(a, b, _) in &list {
        neighbours[a as usize].push(b);
        neighbours[b as usize].push(a);
    }
    if let Some(s) = (0..endpoints.len()).find(|&s| endpoints[s] + neighbours[s].len() > 4096) {
        return Err(format!("cables: switch {s} would have more than 4096 ports"));
    }
    let room: usize = endpoints.iter().sum();
    if room < config.endpoints() {
        return Err(format!("cables: the switches have {room} endpoints and the machine has {}", config.endpoints()));
    }
    let n = endpoints.len();
    let far: Vec<u8> = (0..n).flat_map(|from| distances(from, &neighbours)).collect();
    let ends: Vec<Switch> = (0..n as Switch).filter(|&s| endpoints[s as usize] > 0).collect();
    let pairs = || ends.iter().flat_map(|&a| ends.iter().map(move |&b| (a, b)));
    let between = |&(a, b): &(Switch, Switch)| far[a as usize * n + b as usize];
    let diameter = pairs().map(|p| between(&p)).max().unwrap_or(0);
    if diameter > WIDEST {
        let (a, b) = pairs().find(|p| between(p) == diameter).expect("it is of one of them");
        let name = |s: Switch| names.iter().find(|(_, number)| **number == s).map_or("", |(name, _)| name);
        let (a, b) = (name(a), name(b));
        return Err(match diameter {
            u8::MAX => format!("cables: no way leads from switch `{a}` to `{b}`; add the cable that is missing"),
            far => format!("cables: {far} cables lie between `{a}` and `{b}`; at most {WIDEST} can be simulated"),
        });
    }
    Ok(Box::new(Cables { endpoints, groups, list, neighbours, far, diameter, ends }))
}

/// Cables from a switch to each other one; 255 where no way leads.
fn distances(from: usize, neighbours: &[Vec<Switch>]) -> Vec<u8> {
    let mut far = vec![u8::MAX; neighbours.len()];
    far[from] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for &next in &neighbours[at] {
            if far[next as usize] == u8::MAX && far[at] < u8::MAX - 1 {
                far[next as usize] = far[at] + 1;
                queue.push_back(next as usize);
            }
        }
    }
    far
}

/// Numbers of switches by their names, their endpoints and their groups.
type Switches = (BTreeMap<String, Switch>, Vec<usize>, Vec<u32>);

fn switches(text: &str) -> Result<Switches, String> {
    let (mut names, mut endpoints, mut groups) = (BTreeMap::new(), Vec::new(), Vec::new());
    let mut known: BTreeMap<&str, u32> = BTreeMap::new();
    for entry in text.split_whitespace() {
        let mut words = entry.split(':');
        let (name, count, group) = (words.next().unwrap_or(""), words.next(), words.next().unwrap_or(""));
        let count = count.and_then(|c| c.parse::<usize>().ok()).filter(|c| *c <= 4096 && words.next().is_none());
        let Some(count) = count.filter(|_| !name.is_empty()) else {
            return Err(format!(
                "cables: switches: `{entry}`: write NAME:ENDPOINTS or NAME:ENDPOINTS:GROUP, e.g. leaf1:18"
            ));
        };
        if names.insert(name.to_string(), endpoints.len() as Switch).is_some() {
            return Err(format!("cables: switches: `{name}` is named twice"));
        }
        endpoints.push(count);
        let number = known.len() as u32;
        groups.push(*known.entry(group).or_insert(number));
    }
    match endpoints.len() {
        0 => Err("cables: switches: there is none; write NAME:ENDPOINTS, e.g. leaf1:18 leaf2:18".into()),
        n if n > MOST_SWITCHES => Err(format!("cables: {n} switches are too many; at most {MOST_SWITCHES}")),
        _ => Ok((names, endpoints, groups)),
    }
}

fn cables(
    params: &Params,
    names: &BTreeMap<String, Switch>,
    groups: &[u32],
) -> Result<Vec<(Switch, Switch, Cable)>, String> {
    let mut list = Vec::new();
    for entry in params.word("cables").split([';', '\n']).map(str::trim).filter(|e| !e.is_empty()) {
        let words: Vec<&str> = entry.split_whitespace().collect();
        let find = |name: &str| {
            let number = names.get(name).copied();
            number.ok_or_else(|| format!("cables: `{entry}`: there is no switch `{name}`"))
        };
        let (a, b) = match words[..] {
            [a, b, ..] => (find(a)?, find(b)?),
            _ => {
                return Err(format!("cables: `{entry}`: write the names of two switches, e.g. leaf1 spine1 x3 25GB/s"));
            }
        };
        if a == b {
            return Err(format!("cables: `{entry}`: a cable joins two switches"));
        }
        let (mut count, mut rate, mut latency) = (1, params.rate("rate"), params.time("latency"));
        for word in &words[2..] {
            let times = word.strip_prefix('x').and_then(|n| n.parse::<usize>().ok()).filter(|n| (1..=1024).contains(n));
            match (times, parse_rate(word), parse_time(word)) {
                (Some(n), ..) => count = n,
                (None, Ok(r), _) => rate = r,
                (None, _, Ok(t)) => latency = t,
                _ => return Err(format!("cables: `{entry}`: `{word}` is neither a number like x3, a rate nor a time")),
            }
        }
        if rate.bytes_per_s() < 1e6 {
            return Err(format!("cables: `{entry}`: the rate {rate} is too low; at least 1MB/s"));
        }
        let apart = groups[a as usize] != groups[b as usize];
        let (reach, kind) = if apart { (Reach::Global, "global") } else { (Reach::Local, "local") };
        list.extend(std::iter::repeat_n((a, b, Cable { rate, latency, reach, kind }), count));
    }
    Ok(list)
}

impl Cables {
    fn between(&self, a: Switch, b: Switch) -> u8 {
        self.far[a as usize * self.endpoints.len() + b as usize]
    }
}

impl Topology for Cables {
    fn wire(&self, wiring: &mut Wiring) {
        for (&endpoints, &group) in self.endpoints.iter().zip(&self.groups) {
            let switch = wiring.switch(group);
            (0..endpoints).for_each(|_| {
                wiring.attach(switch);
            });
        }
        // Endpoints have the first ports, and cables follow in the order of the list: `ways` counts on it.
        for &(a, b, cable) in &self.list {
            wiring.cable(a, b, cable);
        }
    }

    fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
        let here = self.between(at, to.switch);
        let first = self.endpoints[at as usize];
        for (i, &next) in self.neighbours[at as usize].iter().enumerate() {
            if self.between(next, to.switch) < here {
                out.ports.push((first + i) as Port);
            }
        }
        out.fixed = pick(to.endpoint, out.ports.len());
    }

    fn hops(&self, from: Switch, to: Switch) -> u32 {
        self.between(from, to).into()
    }

    /// One for each hop.
    fn vcs(&self, detours: bool) -> u8 {
        (self.diameter * if detours { 2 } else { 1 }).max(1)
    }

    fn vc(&self, hop: Hop, _: Switch, _: Port) -> u8 {
        hop.hops
    }

    fn middle(&self, from: Switch, to: Switch, rng: &mut Rng) -> Option<Switch> {
        let middle = self.ends[rng.below(self.ends.len() as u64) as usize];
        (middle != from && middle != to).then_some(middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Fabric;

    fn refused(topology: &str) -> String {
        let text = format!("nodes = 4\nranks_per_node = 1\n[topology]\nkind = \"cables\"\n{topology}\n");
        Fabric::new(&Config::from_toml(&text).unwrap()).err().expect("refused").to_string()
    }

    #[test]
    fn what_cannot_be_laid_is_named() {
        for (topology, expected) in [
            ("switches = \"\"", "there is none"),
            ("switches = \"a\"", "`a`: write NAME:ENDPOINTS"),
            ("switches = \"a:2:x:y\"", "`a:2:x:y`: write NAME:ENDPOINTS"),
            ("switches = \"a:9999\"", "`a:9999`: write"),
            ("switches = \"a:2 a:2\"", "`a` is named twice"),
            ("switches = \"a:1 b:1\"\ncables = \"a b\"", "have 2 endpoints and the machine has 4"),
            ("switches = \"a:2 b:2\"\ncables = \"\"", "no way leads from switch `a` to `b`"),
            ("switches = \"a:2 b:2\"\ncables = \"a c\"", "`a c`: there is no switch `c`"),
            ("switches = \"a:2 b:2\"\ncables = \"a a\"", "`a a`: a cable joins two"),
            ("switches = \"a:2 b:2\"\ncables = \"a\"", "write the names of two switches"),
            ("switches = \"a:2 b:2\"\ncables = \"a b fast\"", "`fast` is neither"),
            ("switches = \"a:2 b:2\"\ncables = \"a b x0\"", "`x0` is neither"),
            ("switches = \"a:2 b:2\"\ncables = \"a b 1kB/s\"", "is too low"),
        ] {
            let text = refused(topology);
            assert!(text.contains(expected), "{topology}: {text}");
        }
        let switches: String = (0..10).map(|i| format!("s{i}:1 ")).collect();
        let cables: String = (1..10).map(|i| format!("s{} s{i};", i - 1)).collect();
        let text = refused(&format!("switches = \"{switches}\"\ncables = \"{cables}\""));
        assert!(text.contains("9 cables lie between"), "{text}");
    }

    #[test]
    fn a_tree_by_its_cables_is_the_tree() {
        let tree = "nodes = 8\nranks_per_node = 1\n[topology]\n";
        let by_name = "kind = \"fat-tree\"\nradix = 8\ndown = 4\nup = 2\nlatency = \"50ns\"\n";
        let by_cables = "kind = \"cables\"\nswitches = \"a:4 b:4 s:0 t:0\"\ncables = \"a s; a t; b s; b t\"\n";
        let [one, other] = [by_name, by_cables].map(|more| {
            let fabric = Fabric::new(&Config::from_toml(&format!("{tree}{more}")).unwrap()).unwrap();
            let times: Vec<u64> = (1..8).map(|to| fabric.wire_time(0, to, 4096)).collect();
            (fabric.switches.len(), fabric.links.len(), times)
        });
        assert_eq!(one, other);
    }
}
