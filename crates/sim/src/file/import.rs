//! A machine file from what a site already has: Slurm's topology, `ibnetdiscover`, or a list of cables.
//!
//! Names of nodes and switches come from elsewhere, so only those that can stand in a machine file are taken. What these files do not say
//! (latencies, buffers, how many cables Slurm's trees have) is left at the defaults, and the machine file says so.

use spec::hosts::{expand, name};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Lines of a file at most.
const MOST: usize = 1 << 20;

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Imported {
    /// Nodes by their switch, in the order of the file.
    pub nodes: Vec<(String, Vec<String>)>,
    /// Two switches, how many cables, and their rate in bytes per second if it is known.
    pub cables: Vec<Joined>,
    /// The group of a switch, where there are groups.
    pub groups: BTreeMap<String, String>,
    /// What was assumed, in sentences.
    pub assumed: Vec<String>,
}

/// Cables of one kind between two switches.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// How many.
    pub count: usize,
    /// What follows in a list of cables: a rate, a time of flight.
    pub more: String,
}

/// Reads any of the formats, which are told apart by what they begin with.
pub fn import(text: &str) -> Result<Imported, String> {
    let first = lines(text).next().unwrap_or("");
    if text.lines().nth(MOST).is_some() {
        return Err(format!("more than {MOST} lines"));
    }
    let found = if first.to_ascii_lowercase().starts_with("switchname=") {
        slurm(text)?
    } else if ["vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "Switch\t", "Switch ", "Ca\t", "Ca "]
        .iter()
        .any(|word| first.starts_with(word))
    {
        discovered(text)?
    } else {
        listed(text)?
    };
    if found.nodes.iter().all(|(_, nodes)| nodes.is_empty()) {
        return Err(
            "no node was found; write Slurm's `SwitchName=leaf1 Nodes=n[1-18]`, the output of ibnetdiscover, or \
                    lines like `nodes n[1-18] leaf1` and `leaf1 spine1 x3 25GB/s`"
                .into(),
        );
    }
    Ok(found)
}

/// The lines of a file without comments and without those that are empty then.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split('#').next().unwrap_or("").trim()).filter(|line| !line.is_empty())
}

/// `scontrol show topology` and `topology.conf`.
fn slurm(text: &str) -> Result<Imported, String> {
    let mut found = Imported::default();
    for line in lines(text) {
        let mut given: BTreeMap<String, &str> = BTreeMap::new();
        for word in line.split_whitespace() {
            if let Some((key, value)) = word.split_once('=') {
                given.insert(key.to_ascii_lowercase(), value);
            }
        }
        let Some(switch) = given.get("switchname") else {
            return Err(format!("`{}`: a line of Slurm's topology begins with SwitchName=", line.escape_default()));
        };
        let switch = name(switch, line)?;
        // A switch above others names all nodes below it as well.
        let nodes = match (given.get("switches"), given.get("nodes")) {
            (Some(switches), _) => {
                for below in expand(switches, line)? {
                    found.cables.push(Joined { a: below, b: switch.clone(), count: 1, more: String::new() });
                }
                Vec::new()
            }
            (None, Some(nodes)) => expand(nodes, line)?,
            (None, None) => Vec::new(),
        };
        found.nodes.push((switch, nodes));
    }
    found.group_by_parents();
    found
        .assumed
        .push("Slurm does not know how many cables join two switches: one each; write `x18` behind them".into());
    Ok(found)
}

/// A list of cables: `leaf1 spine1 x3 25GB/s`, `nodes n[1-18] leaf1`, `group g1 leaf[1-4]`.
fn listed(text: &str) -> Result<Imported, String> {
    let mut found = Imported::default();
    for line in lines(text) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["nodes", nodes, switch] => found.nodes.push((name(switch, line)?, expand(nodes, line)?)),
            ["group", group, switches] => {
                let group = name(group, line)?;
                found.groups.extend(expand(switches, line)?.into_iter().map(|switch| (switch, group.clone())));
            }
            [a, b, ..] => {
                // Rates and times are read with the machine file, which names what it cannot read.
                let (a, b) = (name(a, line)?, name(b, line)?);
                let more = words[2..].iter().map(|w| name(w, line)).collect::<Result<Vec<_>, _>>()?.join(" ");
                found.cables.push(Joined { a, b, count: 1, more });
            }
            _ => return Err(format!("`{}`: write two switches, e.g. leaf1 spine1 x3 25GB/s", line.escape_default())),
        }
    }
    Ok(found)
}

/// Gigabits per second of a lane by its InfiniBand speed, data alone (8b/10b taken off where it is used).
const LANES: [(&str, f64); 8] = [
    ("SDR", 2.0),
    ("DDR", 4.0),
    ("QDR", 8.0),
    ("FDR10", 10.0),
    ("FDR", 13.64),
    ("EDR", 25.0),
    ("HDR", 50.0),
    ("NDR", 100.0),
];

/// What is between the first two quotes.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once('"')?;
    rest.split_once('"')
}

/// The output of `ibnetdiscover`.
fn discovered(text: &str) -> Result<Imported, String> {
    let mut found = Imported::default();
    let mut here: Option<usize> = None;
    let mut joined: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for line in text.lines() {
        if line.starts_with("Switch") {
            let (id, _) = quoted(line).ok_or_else(|| format!("`{}`: no name", line.escape_default()))?;
            here = Some(found.nodes.len());
            found.nodes.push((name(id, line)?, Vec::new()));
        } else if !line.starts_with('[') {
            // A channel adapter's own list says the same cables again, from the other end.
            here = if line.trim().is_empty() { here } else { None };
        } else if let (Some(at), Some((peer, rest))) = (here, quoted(line)) {
            let switch = found.nodes[at].0.clone();
            let rate = rate(rest);
            if peer.starts_with("S-") {
                *joined.entry((switch, name(peer, line)?, rate)).or_default() += 1;
            } else {
                // The comment names the host; a node with several adapters on a switch is there as often.
                let host = quoted(rest).and_then(|(host, _)| host.split_whitespace().next()).unwrap_or(peer);
                found.nodes[at].1.push(name(host, line).or_else(|_| name(peer, line))?);
            }
        }
    }
    for ((a, b, more), count) in joined {
        // Both ends list it; one that only one end lists is taken from there.
        if a < b || !found.nodes.iter().any(|(switch, _)| *switch == b) {
            found.cables.push(Joined { a, b, count, more });
        }
    }
    Ok(found)
}

/// The rate of a cable by its width and speed: `4xHDR`.
fn rate(rest: &str) -> String {
    let speed = rest.split_whitespace().rev().find_map(|word| word.split_once('x'));
    let lanes = speed.and_then(|(width, lane)| {
        let lane = LANES.iter().find(|(name, _)| *name == lane)?.1;
        Some(width.parse::<f64>().ok().filter(|w| (1.0..=12.0).contains(w))? * lane)
    });
    lanes.map_or(String::new(), |gigabits| format!("{}Gb/s", gigabits))
}

impl Imported {
    /// In a tree, the switches below one that is next to switches with nodes are a group, and so is every switch further up.
    fn group_by_parents(&mut self) {
        let leaf = |switch: &str| self.nodes.iter().any(|(name, nodes)| name == switch && !nodes.is_empty());
        let below: BTreeMap<&str, &str> =
            self.cables.iter().filter(|c| leaf(&c.a)).map(|c| (c.a.as_str(), c.b.as_str())).collect();
        if below.is_empty() {
            return;
        }
        let group = |(switch, _): &(String, Vec<String>)| {
            (switch.clone(), below.get(switch.as_str()).map_or_else(|| switch.clone(), |up| up.to_string()))
        };
        self.groups = self.nodes.iter().map(group).collect();
    }

    /// The switch and, if it is known, the group of a node, which may have a domain behind its name here or there.
    pub fn home(&self, node: &str) -> Option<(&str, Option<&str>)> {
        let short = |name: &str| name.split('.').next().unwrap_or(name).to_string();
        let wanted = short(node);
        let (switch, _) = self.nodes.iter().find(|(_, nodes)| nodes.iter().any(|n| n == node || short(n) == wanted))?;
        Some((switch, self.groups.get(switch).map(String::as_str)))
    }

    /// All nodes, each once, in the order of the switches.
    pub fn node_names(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.nodes.iter().flat_map(|(_, nodes)| nodes).map(String::as_str).filter(|n| seen.insert(*n)).collect()
    }

    /// How a machine file says the group of a switch.
    fn group_of(&self, switch: &str) -> String {
        self.groups.get(switch).map_or(String::new(), |group| format!(":{group}"))
    }

    /// The machine file.
    pub fn machine(&self, source: &str) -> String {
        // Switches that only cables name, without nodes.
        let named: BTreeSet<&str> = self.nodes.iter().map(|(switch, _)| switch.as_str()).collect();
        let mut others: Vec<&str> = self.cables.iter().flat_map(|c| [c.a.as_str(), c.b.as_str()]).collect();
        others.retain(|s| !named.contains(s));
        others.sort_unstable();
        others.dedup();
        let mut text = String::new();
        let source: String = source.chars().filter(|c| !c.is_control()).collect();
        let places: usize = self.nodes.iter().map(|(_, nodes)| nodes.len()).sum();
        let nodes = self.node_names().len();
        let _ = writeln!(text, "# Made by `tailback machine import` from {source}.");
        let _ = writeln!(
            text,
            "# Rates of NICs, latencies, buffers, protocol, routing and control are the defaults: assumed."
        );
        self.assumed.iter().for_each(|sentence| {
            let _ = writeln!(text, "# {sentence}.");
        });
        let _ = writeln!(text, "nodes = {nodes}\nranks_per_node = 1\n");
        if nodes > 0 && places > nodes && places.is_multiple_of(nodes) {
            let _ = writeln!(text, "[nic]\nper_node = {}\n", places / nodes);
        }
        let _ = writeln!(text, "[topology]\nkind = \"cables\"\nswitches = \"\"\"");
        for (switch, nodes) in &self.nodes {
            let _ = writeln!(text, "{switch}:{}{}", nodes.len(), self.group_of(switch));
        }
        others.iter().for_each(|switch| {
            let _ = writeln!(text, "{switch}:0{}", self.group_of(switch));
        });
        let _ = writeln!(text, "\"\"\"\ncables = \"\"\"");
        for Joined { a, b, count, more } in &self.cables {
            let count = if *count == 1 { String::new() } else { format!(" x{count}") };
            let more = if more.is_empty() { String::new() } else { format!(" {more}") };
            let _ = writeln!(text, "{a} {b}{count}{more}");
        }
        let _ = writeln!(text, "\"\"\"\n\n[routing]\nkind = \"adaptive\"");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::net::Fabric;

    const SCONTROL: &str = "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[00-03]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[04-06,09]\n\
                            SwitchName=top Level=1 LinkSpeed=1 Nodes=n[00-06,09] Switches=s[0-1]\n";
    const CONF: &str =
        "# ours\nSwitchName=s0 Nodes=n[00-03]\nSwitchName=s1 Nodes=n[04-06,09]\nSwitchName=top Switches=s[0-1]\n";
    const IB: &str = "vendid=0x2c9\nswitchguid=0x10\nSwitch\t36 \"S-10\"\t# \"leaf;one\" enhanced port 0 lid 6\n\
        [1]\t\"H-a\"[1](a)\t# \"n1 HCA-1\" lid 4 4xEDR\n[2]\t\"H-b\"[1](b)\t# \"n2 mlx5_0\" lid 5 4xEDR\n\
        [19]\t\"S-20\"[1]\t# \"spine\" lid 9 4xEDR\n[20]\t\"S-20\"[2]\t# \"spine\" lid 9 4xEDR\n\n\
        vendid=0x2c9\nSwitch\t36 \"S-20\"\t# \"spine\" enhanced port 0 lid 9\n[1]\t\"S-10\"[19]\t# \"leaf;one\" lid 6 4xEDR\n\
        [2]\t\"S-10\"[20]\t# \"leaf;one\" lid 6 4xEDR\n[3]\t\"H-c\"[1](c)\t# \"n3 HCA-1\" lid 7 4xHDR\n\n\
        vendid=0x2c9\nCa\t1 \"H-a\"\t# \"n1 HCA-1\"\n[1](a)\t\"S-10\"[1]\t# lid 4 lmc 0 \"leaf;one\" lid 6 4xEDR\n";
    const LIST: &str =
        "nodes n[1-2] leaf1  # the first\nnodes n3 leaf2\nleaf1 spine x2 25GB/s\nleaf2 spine x2 25GB/s 100ns\n";

    fn fabric(text: &str) -> Fabric {
        let machine = import(text).unwrap().machine("a test");
        Fabric::new(&Config::from_toml(&machine).unwrap()).unwrap_or_else(|e| panic!("{e}\n{machine}"))
    }

    #[test]
    fn every_format_gives_a_machine_that_runs() {
        for (text, nodes, switches, cables) in [(SCONTROL, 8, 3, 2), (CONF, 8, 3, 2), (IB, 3, 2, 2), (LIST, 3, 3, 4)] {
            let built = fabric(text);
            let between = built.links.iter().filter(|l| l.kind != "edge").count() / 2;
            assert_eq!((built.endpoints.len(), built.switches.len(), between), (nodes, switches, cables), "{text}");
        }
        assert_eq!(import(SCONTROL).unwrap().nodes[..2], import(CONF).unwrap().nodes[..2]);
        assert_eq!(import(CONF).unwrap().node_names()[6..], ["n06", "n09"]);
        assert_eq!(import(IB).unwrap().node_names(), ["n1", "n2", "n3"]);
        let fast = fabric(IB);
        let cable = fast.links.iter().find(|l| l.kind == "local").unwrap();
        assert_eq!(cable.rate, 12.5e9);
    }

    #[test]
    fn a_node_has_a_switch_and_perhaps_a_group() {
        let tree = "SwitchName=l0 Nodes=a[0-1]\nSwitchName=l1 Nodes=a[2-3]\nSwitchName=l2 Nodes=b0\nSwitchName=m0 Switches=l[0-1]\n\
                    SwitchName=m1 Switches=l2\nSwitchName=top Switches=m[0-1]\n";
        let found = import(tree).unwrap();
        for (node, home) in [
            ("a1", Some(("l0", Some("m0")))),
            ("a3.site.org", Some(("l1", Some("m0")))),
            ("b0", Some(("l2", Some("m1")))),
            ("c", None),
        ] {
            assert_eq!(found.home(node), home, "{node}");
        }
        let built = fabric(tree);
        let group = |switch: usize| built.switches[switch].group;
        assert!(group(0) == group(1) && group(0) == group(3) && group(0) != group(2) && group(5) != group(3));
        let listed = import("nodes n1 a\nnodes n2 b\na b\ngroup g a\n").unwrap();
        assert_eq!((listed.home("n1"), listed.home("n2")), (Some(("a", Some("g"))), Some(("b", None))));
        assert_eq!(import(IB).unwrap().home("n3"), Some(("S-20", None)));
    }

    #[test]
    fn a_node_with_two_adapters_has_two_nics() {
        let twice = "nodes n[1-2] a\nnodes n[1-2] b\na b x4\n";
        assert!(import(twice).unwrap().machine("x").contains("nodes = 2\nranks_per_node = 1\n\n[nic]\nper_node = 2\n"));
    }

    #[test]
    fn what_is_none_of_them_is_refused() {
        for (text, expected) in [
            ("", "no node was found"),
            ("a b\n", "no node was found"),
            ("alone\n", "write two switches"),
            ("SwitchName=s0 Nodes=n[1-99999999999]\n", "too many names"),
            ("SwitchName=s0 Nodes=n[1-\n", "is not closed"),
            ("SwitchName=s0 Nodes=n[a-b]\n", "no range of numbers"),
            ("SwitchName=s0 Nodes=n\u{1b}[1]\n", "names have 1 to 64 letters"),
            ("SwitchName=s0 Nodes=n1\nNodes=n2\n", "begins with SwitchName="),
            ("nodes n[1-2] \"\"\"\n", "names have 1 to 64 letters"),
        ] {
            let said = import(text).unwrap_err();
            assert!(said.contains(expected), "{text:?}: {said}");
        }
    }
}
