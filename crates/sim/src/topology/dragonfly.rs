//! Dragonfly with fully connected groups: Kim et al.'s, and Slingshot's.

use super::groups::{Group, Groups, Measures};
use super::sizes::{GROUP_NODES, Sized, sized};
use super::{Cable, Hops, MOST, Reach, Topology, TopologyEntry};
use crate::Config;
use spec::{Card, Kind, Param, Params, ReadParams};

/// See the module.
pub const DRAGONFLY: TopologyEntry = TopologyEntry {
    card: Card {
        name: "dragonfly",
        about: "groups of fully connected switches, every two groups joined by cables",
        source: "Kim, Dally, Scott, Abts, ISCA 2008",
        params: &[
            Param::new("groups", Kind::Count, "0", "groups, 0 = as many as the nodes need").up_to(MOST),
            Param::new("switches", Kind::Count, "8", "switches per group (a)").up_to(MOST),
            Param::new("endpoints", Kind::Count, "4", "endpoints per switch (p)").up_to(MOST),
            Param::new(
                "group_switches",
                Kind::Text,
                "",
                "switches of each group if they differ, a list like 32*14, 16*12; empty = as `switches`",
            ),
            GROUP_NODES,
            Param::new("global", Kind::Count, "4", "global cables per switch (h)").up_to(MOST),
            Param::new(
                "pair_links",
                Kind::Count,
                "0",
                "global cables between two groups, 0 = as many as h of the smaller allows",
            )
            .up_to(MOST),
            Param::new("local_links", Kind::Count, "1", "parallel local cables").up_to(MOST),
            Param::new("local_rate", Kind::Rate, "12.5GB/s", "rate of a local cable"),
            Param::new("local_latency", Kind::Time, "20ns", "flight of a local cable"),
            Param::new("global_rate", Kind::Rate, "12.5GB/s", "rate of a global cable"),
            Param::new("global_latency", Kind::Time, "150ns", "flight of a global cable"),
        ],
    },
    build,
    hops: Hops::AtLeast("tables name the nearest way out of a group, not the nearest to the destination"),
    shapes: &[
        (9, "switches = 2\nendpoints = 1\nglobal = 2"),
        (18, "switches = 3\nendpoints = 1\nglobal = 2"),
        (14, "switches = 2\nendpoints = 1\npair_links = 1\ngroups = 7"),
        (12, "switches = 4\nendpoints = 1\npair_links = 3\nlocal_links = 2"),
        (8, "switches = 4\nendpoints = 1\npair_links = 3"),
        (13, "group_switches = \"4*2, 2, 3, 1\"\nendpoints = 1\nglobal = 5"),
        (13, "group_switches = \"3, 2, 4*2\"\nendpoints = 1\npair_links = 2\nlocal_links = 2"),
        (13, "group_switches = \"3, 5\"\nendpoints = 2\npair_links = 4\ngroup_nodes = \"4, 9\""),
        (14, "groups = 5\nswitches = 2\nendpoints = 2\nglobal = 3\ngroup_nodes = 3"),
        (9, "switches = 2\nendpoints = 2\nglobal = 4\ngroup_nodes = \"0, 4, 1, 4*2\""),
    ],
};

fn build(params: &Params, config: &Config) -> Result<Box<dyn Topology>, String> {
    let count = |name: &str| params.count(name) as usize;
    let (a, p, links) = (count("switches"), count("endpoints"), count("local_links"));
    for (name, value) in [("switches", a), ("endpoints", p), ("local_links", links)] {
        if value == 0 || value > 4096 {
            return Err(format!("dragonfly: {name}={value}: choose 1 to 4096"));
        }
    }
    let Sized { sizes, nodes } = sized("dragonfly", (params, config), ("group_switches", "switches"), p)?;
    let others = sizes.len() - 1;
    let pair_links = |switches: usize| match (count("pair_links"), others) {
        (_, 0) => 0,
        // Rounded down: cables that cannot be dealt evenly to all pairs are not laid.
        (0, _) => switches * count("global") / others,
        (given, _) => given,
    };
    let least = sizes.iter().copied().min().unwrap_or(a);
    if others > 0 && pair_links(least) == 0 {
        return Err(format!(
            "dragonfly: global={}: {least} switches with so many global cables reach {} other groups, and there are {others}; raise \
             `global` or `switches`, or lower `groups`",
            count("global"),
            least * count("global"),
        ));
    }
    let local = Cable {
        rate: params.rate("local_rate"),
        latency: params.time("local_latency"),
        reach: Reach::Local,
        kind: "local",
    };
    let (rate, latency) = (params.rate("global_rate"), params.time("global_latency"));
    let group = |(number, &slots): (usize, &usize)| Group {
        chassis: 1,
        slots,
        pair_links: pair_links(slots),
        nodes: nodes.as_ref().map(|nodes| nodes[number]),
    };
    let m = Measures {
        groups: sizes.iter().enumerate().map(group).collect(),
        endpoints: p,
        row_links: links,
        // One chassis has no columns: this number and their cable are never used.
        column_links: 1,
        row: local,
        column: local,
        global: Cable { rate, latency, reach: Reach::Global, kind: "global" },
    };
    checked("dragonfly", m)
}

/// The number of groups: as given, if the machine fits in, or as many as it needs.
pub(super) fn groups_for(name: &str, given: usize, per_group: usize, endpoints: usize) -> Result<usize, String> {
    let needed = endpoints.div_ceil(per_group).max(1);
    match given {
        0 => Ok(needed),
        g if g < needed => Err(format!(
            "{name}: groups={g}: {g} groups have room for {} endpoints and the machine has {endpoints}; {needed} groups do",
            g * per_group
        )),
        g => Ok(g),
    }
}

/// Refuses what cannot be numbered, else builds the tables.
pub(super) fn checked(name: &str, m: Measures) -> Result<Box<dyn Topology>, String> {
    if m.switches() > 1 << 20 {
        return Err(format!("{name}: {} switches are too many; at most {}", m.switches(), 1 << 20));
    }
    if m.ports() > 4096 {
        return Err(format!("{name}: a switch would have {} ports; at most 4096 can be simulated", m.ports()));
    }
    if let Some(c) = [m.row, m.column, m.global].iter().find(|c| c.rate.bytes_per_s() < 1e6) {
        return Err(format!("{name}: the rate of a {} cable, {}, is too low; at least 1MB/s", c.kind, c.rate));
    }
    Ok(Box::new(Groups::new(m)))
}
