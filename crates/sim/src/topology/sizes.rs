//! Groups of different size: what a machine file says of each group of a dragonfly, and whether that can be.
//!
//! A size is one number for all groups, or a list with one for each: `32*14, 16*12` are 14 groups of 32 and 12 of 16, and `32*1`
//! is one group.

use super::dragonfly::groups_for;
use crate::Config;
use spec::{Kind, Param, Params, ReadParams};

/// Groups are numbered in 16 bits, and tables have a line for every switch and group.
const MOST_GROUPS: usize = 4096;

/// Switches of a group, or chassis, at most: they are numbered in 16 bits, too.
const MOST_SIZE: usize = 4096;

/// As many as a machine may have.
const MOST_NODES: usize = 1_000_000;

/// A parameter of all topologies whose groups may be partly filled.
pub(super) const GROUP_NODES: Param = Param::new(
    "group_nodes",
    Kind::Text,
    "",
    "nodes attached to each group, none of which reaches into the next: 124, or a list like 124*23, 126; empty = all there is room for",
);

/// What is said of groups by one parameter.
struct Sizes {
    numbers: Vec<usize>,
    /// One number was given, for all groups, however many.
    alike: bool,
    /// `dragonfly: group_nodes=124`, to begin an error with.
    said: String,
}

impl Sizes {
    /// Reads a parameter; nothing if it is empty.
    fn read(kind: &str, params: &Params, name: &str, least: usize, most: usize) -> Result<Option<Sizes>, String> {
        let text = params.word(name).trim();
        if text.is_empty() {
            return Ok(None);
        }
        let said = format!("{kind}: {name}={text}");
        let mut numbers = Vec::new();
        for item in text.split(',').map(str::trim) {
            let (size, times) = item.split_once('*').unwrap_or((item, "1"));
            let (Ok(size), Ok(times)) = (size.trim().parse::<usize>(), times.trim().parse::<usize>()) else {
                return Err(format!(
                    "{said}: `{item}` is no size; write one number for all groups, or a list like 32*14, 16*12 (14 groups of 32 \
                     and 12 of 16)"
                ));
            };
            if !(least..=most).contains(&size) {
                return Err(format!("{said}: a size of {size}: choose {least} to {most}"));
            }
            if times == 0 || times > MOST_GROUPS - numbers.len() {
                return Err(format!("{said}: `{item}`: choose 1 to {MOST_GROUPS} groups in all"));
            }
            numbers.extend(std::iter::repeat_n(size, times));
        }
        Ok(Some(Sizes { numbers, alike: text.parse::<usize>().is_ok(), said }))
    }

    fn of(&self, group: usize) -> usize {
        if self.alike { self.numbers[0] } else { self.numbers[group] }
    }
}

/// The groups of a machine.
pub(super) struct Sized {
    /// Of each group: its switches, or what else they are counted in.
    pub(super) sizes: Vec<usize>,
    /// Nodes attached to each; `None` if nothing is said of groups.
    pub(super) nodes: Option<Vec<usize>>,
}

/// What a machine file says of its groups: `groups` of them, or as many as lists have or nodes need. Their sizes are those of the
/// parameter `each`, or else all that of `alike`; a size of 1 has `places` for endpoints.
pub(super) fn sized(
    kind: &str,
    (params, config): (&Params, &Config),
    (each, alike): (&str, &str),
    places: usize,
) -> Result<Sized, String> {
    let (all, given, nics) = (params.count(alike) as usize, params.count("groups") as usize, config.nic.per_node);
    let sizes = Sizes::read(kind, params, each, 1, MOST_SIZE)?;
    let nodes = Sizes::read(kind, params, GROUP_NODES.name, 0, MOST_NODES)?;
    let size = |group: usize| sizes.as_ref().map_or(all, |s| s.of(group));
    let room = |group: usize| size(group) * places / nics;
    let attached = |group: usize| nodes.as_ref().map_or(room(group), |n| n.of(group));
    // Groups of which nothing is said share their places: a node may lie in two of them.
    let Some(said) = nodes.as_ref().or(sizes.as_ref()).map(|s| &s.said) else {
        let groups = few(kind, groups_for(kind, given, all * places, config.endpoints())?)?;
        return Ok(Sized { sizes: vec![all; groups], nodes: None });
    };
    let groups = match listed(given, [&sizes, &nodes])? {
        Some(groups) => groups,
        None if attached(0) == 0 => {
            return Err(format!(
                "{said}: a group has {} places and no node of {nics} NICs; raise it",
                size(0) * places
            ));
        }
        None => groups_for(kind, given, attached(0) * nics, config.endpoints())?,
    };
    let groups = few(kind, groups)?;
    if let Some(group) = (0..groups).find(|&g| attached(g) > room(g)) {
        return Err(format!(
            "{said}: group {group} has {} places, which are room for {} nodes of {nics} NICs, not for {}; lower it",
            size(group) * places,
            room(group),
            attached(group)
        ));
    }
    let nodes: Vec<usize> = (0..groups).map(attached).collect();
    let hold: usize = nodes.iter().sum();
    if hold < config.nodes {
        return Err(format!(
            "{said}: {groups} groups hold {hold} nodes of {nics} NICs, and the machine has {}; raise it, or lower `nodes`",
            config.nodes
        ));
    }
    Ok(Sized { sizes: (0..groups).map(size).collect(), nodes: Some(nodes) })
}

/// The groups that lists speak of, all of as many; `None` if there is no list.
fn listed(given: usize, sizes: [&Option<Sizes>; 2]) -> Result<Option<usize>, String> {
    let mut groups = None;
    for list in sizes.into_iter().flatten().filter(|s| !s.alike) {
        let (said, listed) = (&list.said, list.numbers.len());
        if given != 0 && given != listed {
            return Err(format!(
                "{said}: a list of {listed} groups, and groups={given}; leave out `groups`, or make the list fit"
            ));
        }
        if let Some(other) = groups.filter(|&other| other != listed) {
            return Err(format!(
                "{said}: a list of {listed} groups, and the other list has {other}; give both as many"
            ));
        }
        groups = Some(listed);
    }
    Ok(groups)
}

fn few(kind: &str, groups: usize) -> Result<usize, String> {
    match groups {
        0..=MOST_GROUPS => Ok(groups),
        _ => Err(format!("{kind}: {groups} groups are too many; at most {MOST_GROUPS}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Fabric;

    fn built(nodes: usize, more: &str) -> Result<Fabric, String> {
        let text = format!("nodes = {nodes}\n[nic]\nper_node = 2\n[topology]\nkind = {more}\n");
        Fabric::new(&Config::from_toml(&text).unwrap()).map_err(|e| e.to_string())
    }

    #[test]
    fn lists_say_how_many_groups_there_are() {
        for (nodes, more, switches) in [
            (9, "\"dragonfly\"\ngroup_switches = \"3*2,2\"", 8),
            (9, "\"dragonfly\"\ngroup_switches = \" 3 * 2 , 2 \"\ngroups = 3", 8),
            // One number is said of all groups, of which there are as many as nodes need.
            (9, "\"dragonfly\"\ngroup_switches = 2", 6),
            (9, "\"dragonfly\"\ngroup_nodes = 2\nswitches = 3", 15),
            (9, "\"dragonfly\"\ngroup_nodes = 2\ngroups = 6\nswitches = 3", 18),
            (9, "\"dragonfly\"\ngroup_nodes = \"2*4, 1\"\nswitches = 3", 15),
            (9, "\"aries\"\nslots = 2\ngroup_chassis = \"3, 2\"", 10),
        ] {
            let fabric = built(nodes, more).unwrap_or_else(|e| panic!("{more}: {e}"));
            assert_eq!(fabric.switches.len(), switches, "{more}");
        }
    }

    #[test]
    fn impossible_groups_are_named() {
        for (more, reason) in [
            ("\"dragonfly\"\ngroup_switches = \"8*x\"", "group_switches=8*x: `8*x` is no size; write one number"),
            ("\"dragonfly\"\ngroup_switches = \"8,,4\"", "group_switches=8,,4: `` is no size"),
            ("\"dragonfly\"\ngroup_switches = \"8*-1\"", "`8*-1` is no size"),
            ("\"dragonfly\"\ngroup_switches = \"8, 0\"", "group_switches=8, 0: a size of 0: choose 1 to 4096"),
            ("\"dragonfly\"\ngroup_switches = \"8*0\"", "`8*0`: choose 1 to 4096 groups in all"),
            ("\"dragonfly\"\ngroup_switches = \"1*4096, 1\"", "`1`: choose 1 to 4096 groups in all"),
            (
                "\"dragonfly\"\ngroup_switches = \"8*3\"\ngroups = 4",
                "a list of 3 groups, and groups=4; leave out `groups`",
            ),
            (
                "\"dragonfly\"\ngroup_switches = \"8*3\"\ngroup_nodes = \"16*4\"",
                "group_nodes=16*4: a list of 4 groups, and the other list has 3; give both as many",
            ),
            (
                "\"dragonfly\"\ngroup_switches = \"8, 4\"\ngroup_nodes = \"16, 9\"",
                "group_nodes=16, 9: group 1 has 16 places, which are room for 8 nodes of 2 NICs, not for 9; lower it",
            ),
            ("\"dragonfly\"\ngroup_nodes = 17", "group 0 has 32 places, which are room for 16 nodes"),
            ("\"dragonfly\"\ngroup_nodes = 0", "group_nodes=0: a group has 32 places and no node of 2 NICs; raise it"),
            (
                "\"dragonfly\"\ngroup_nodes = \"16, 12\"",
                "group_nodes=16, 12: 2 groups hold 28 nodes of 2 NICs, and the machine has 40; raise it, or lower `nodes`",
            ),
            ("\"dragonfly\"\ngroup_nodes = 8\ngroups = 4", "groups=4: 4 groups have room for 64 endpoints"),
            // 5 endpoints of a group are two nodes, and not two and a half.
            ("\"dragonfly\"\ngroup_switches = \"1*16\"\nendpoints = 5\nglobal = 15", "hold 32 nodes of 2 NICs"),
            ("\"dragonfly\"\ngroup_switches = \"32*3, 2\"\nglobal = 1", "global=1: 2 switches with so many"),
            ("\"aries\"\ngroup_chassis = \"6, 1\"\nblue_links = 200", "its 16 switches have 160; at most 160 cables"),
        ] {
            let said = built(40, more).err().unwrap_or_else(|| panic!("{more}: built"));
            assert!(said.contains(reason), "{more}: {said}, not {reason}");
        }
    }
}
