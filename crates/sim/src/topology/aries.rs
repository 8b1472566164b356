//! Cray's Aries dragonfly (XC30, XC40, XC50): groups of 6 chassis of 16 switches, cabled as rows and columns.

use super::dragonfly::checked;
use super::groups::{Group, Measures};
use super::sizes::{GROUP_NODES, Sized, sized};
use super::{Cable, Hops, MOST, Reach, Topology, TopologyEntry};
use crate::Config;
use spec::{Card, Kind, Param, Params, ReadParams};

/// See the module. The counts are those of the cabling files of real systems: 15 green, 15 black and 10 blue ports.
pub const ARIES: TopologyEntry = TopologyEntry {
    card: Card {
        name: "aries",
        about: "dragonfly whose groups are chassis x slots: green cables in rows, black in columns, blue between groups",
        source: "Cray XC series network, WP-Aries01-1112",
        params: &[
            Param::new("groups", Kind::Count, "0", "groups, 0 = as many as the nodes need").up_to(MOST),
            Param::new("chassis", Kind::Count, "6", "chassis per group").up_to(MOST),
            Param::new("slots", Kind::Count, "16", "switches per chassis").up_to(MOST),
            Param::new("endpoints", Kind::Count, "4", "endpoints per switch").up_to(MOST),
            Param::new(
                "group_chassis",
                Kind::Text,
                "",
                "chassis of each group if they differ, a list like 6*14, 3; empty = as `chassis`",
            ),
            GROUP_NODES,
            Param::new("green_links", Kind::Count, "1", "cables between two of a chassis").up_to(MOST),
            Param::new("black_links", Kind::Count, "3", "cables between two of a slot").up_to(MOST),
            // Edison's number; it differs from system to system.
            Param::new("blue_links", Kind::Count, "24", "cables between two groups").up_to(MOST),
            Param::new("blue_ports", Kind::Count, "10", "most blue cables of a switch").up_to(MOST),
            // Three lanes each way: 14 Gb/s a lane for green and black, 12.5 Gb/s for blue (NeSI's page on its XC50).
            Param::new("local_rate", Kind::Rate, "5.25GB/s", "rate of green and black cables"),
            Param::new("local_latency", Kind::Time, "20ns", "flight of green and black"),
            Param::new("global_rate", Kind::Rate, "4.69GB/s", "rate of a blue cable"),
            Param::new("global_latency", Kind::Time, "100ns", "flight of a blue cable"),
        ],
    },
    build,
    hops: Hops::AtLeast("tables name the nearest way out of a group, not the nearest to the destination"),
    shapes: &[
        (9, "chassis = 2\nslots = 2\nendpoints = 1\nblue_links = 2"),
        (18, "chassis = 2\nslots = 3\nendpoints = 1\nblue_links = 1"),
        (24, "chassis = 3\nslots = 4\nendpoints = 1\nblue_links = 1"),
        (18, "chassis = 3\nslots = 2\nendpoints = 1\nblue_links = 5\nblack_links = 2"),
        (6, "chassis = 3\nslots = 2\nendpoints = 1"),
        (14, "group_chassis = \"2*2, 1, 4\"\nslots = 2\nendpoints = 1\nblue_links = 3"),
        (13, "group_chassis = \"3, 1, 2\"\nslots = 3\nendpoints = 1\nblue_links = 2\ngroup_nodes = \"8, 0, 5\""),
    ],
};

fn build(params: &Params, config: &Config) -> Result<Box<dyn Topology>, String> {
    let count = |name: &str| params.count(name) as usize;
    for name in ["chassis", "slots", "endpoints", "green_links", "black_links", "blue_links"] {
        if !(1..=1024).contains(&count(name)) {
            return Err(format!("aries: {name}={}: choose 1 to 1024", count(name)));
        }
    }
    let places = count("slots") * count("endpoints");
    let Sized { sizes, nodes } = sized("aries", (params, config), ("group_chassis", "chassis"), places)?;
    let (groups, others) = (sizes.len(), sizes.len() - 1);
    // The group with the fewest ports decides.
    let switches = sizes.iter().copied().min().unwrap_or(1) * count("slots");
    let (blue, room) = (count("blue_links") * others, count("blue_ports") * switches);
    // With one group `blue` is 0, so the division below is by 1 at least.
    if blue > room {
        return Err(format!(
            "aries: blue_links={}: {groups} groups need {blue} blue ports per group and its {switches} switches have {room}; \
             at most {} cables per pair of groups",
            count("blue_links"),
            room / others
        ));
    }
    let (rate, latency) = (params.rate("local_rate"), params.time("local_latency"));
    let local = |kind| Cable { rate, latency, reach: Reach::Local, kind };
    let (rate, latency) = (params.rate("global_rate"), params.time("global_latency"));
    let group = |(number, &chassis): (usize, &usize)| Group {
        chassis,
        slots: count("slots"),
        pair_links: if others > 0 { count("blue_links") } else { 0 },
        nodes: nodes.as_ref().map(|nodes| nodes[number]),
    };
    let m = Measures {
        groups: sizes.iter().enumerate().map(group).collect(),
        endpoints: count("endpoints"),
        row_links: count("green_links"),
        column_links: count("black_links"),
        row: local("green"),
        column: local("black"),
        global: Cable { rate, latency, reach: Reach::Global, kind: "blue" },
    };
    checked("aries", m)
}
