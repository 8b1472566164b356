//! What all dragonflies share: groups of switches, cabled densely inside and thinly between each other.
//!
//! ```text
//!            slot 0   slot 1   slot 2            A group is a grid. The switches of a chassis (a row) are all cabled to each
//! chassis 0    o--------o--------o               other, and so are the switches of a slot (a column). With one chassis the
//!              |        |        |               group is fully connected, as Slingshot's is; Aries has 6 x 16.
//! chassis 1    o--------o--------o
//! ```
//!
//! Groups may have different numbers of chassis and slots, and then switches of different groups have different ports. The
//! cables of a pair of groups are spread over the switches of both: each switch of a group has as many as any other of that
//! group, or one more.
//!
//! A minimal way goes to a nearest switch that has a cable to the destination's group (row first, then column), over that
//! cable, and then row first, then column, to the destination. Real Aries hardware does not look for the shortest way over
//! all cables of a pair of groups either: it takes those that its tables name for the group.
//!
//! A detour goes over another group, and ends as soon as it is there. Inside a group, and where there are only two groups,
//! it goes over a switch.
//!
//! Virtual channels: on any way the pairs (channel, kind of cable) grow in the order row < column < global. A packet keeps
//! its channel while the kind grows and takes the next channel when it does not, so no cycle can exist.

use super::{Cable, Hop, Port, Switch, Target, Topology, Ways, Wiring};
use spec::Rng;

/// The measures of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) chassis: usize,
    pub(super) slots: usize,
    /// Cables to each other group; two groups are joined by as many as the one with fewer has for it.
    pub(super) pair_links: usize,
    /// Nodes attached, none of which reaches into the next group. `None`: nodes take all places, group after group.
    pub(super) nodes: Option<usize>,
}

impl Group {
    pub(super) fn switches(&self) -> usize {
        self.chassis * self.slots
    }

    /// What of the machine lies in it: nodes, or switches where nothing is said of nodes.
    fn weight(&self) -> usize {
        self.nodes.unwrap_or(self.switches())
    }

    fn diameter(&self) -> u32 {
        u32::from(self.chassis > 1) + u32::from(self.slots > 1)
    }
}

/// The measures of a dragonfly.
#[derive(Clone, Debug)]
pub(super) struct Measures {
    pub(super) groups: Vec<Group>,
    /// Endpoints per switch.
    pub(super) endpoints: usize,
    /// Parallel cables between two switches of a row, of a column.
    pub(super) row_links: usize,
    pub(super) column_links: usize,
    pub(super) row: Cable,
    pub(super) column: Cable,
    pub(super) global: Cable,
}

impl Measures {
    pub(super) fn switches(&self) -> usize {
        self.groups.iter().map(Group::switches).sum()
    }

    /// Ports of the switch with the most, if global cables are spread evenly.
    pub(super) fn ports(&self) -> usize {
        let ports = |(number, group): (usize, &Group)| {
            let others = (0..self.groups.len()).filter(|&other| other != number);
            let global: usize = others.map(|other| self.pair_links(number, other)).sum();
            self.first_global(group) + global.div_ceil(group.switches())
        };
        self.groups.iter().enumerate().map(ports).max().unwrap_or(0)
    }

    /// Cables between two groups.
    fn pair_links(&self, x: usize, y: usize) -> usize {
        self.groups[x].pair_links.min(self.groups[y].pair_links)
    }

    fn first_column(&self, group: &Group) -> usize {
        self.endpoints + (group.slots - 1) * self.row_links
    }

    fn first_global(&self, group: &Group) -> usize {
        self.first_column(group) + (group.chassis - 1) * self.column_links
    }

    /// All global cables: the switches at both ends, in the order in which they are laid. The cables of a group are spread
    /// over its switches, and every switch has as many as any other, or one more.
    fn globals(&self) -> Vec<(Switch, Switch)> {
        let groups = self.groups.len();
        // The cables of a pair are those of the lesser, so no pair has more than the second of all groups.
        let mut links: Vec<usize> = self.groups.iter().map(|g| g.pair_links).collect();
        links.sort_unstable();
        let most = if groups > 1 { links[groups - 2] } else { 0 };
        let mut first = 0;
        let mut ends = Vec::with_capacity(groups);
        for (number, group) in self.groups.iter().enumerate() {
            ends.push(self.ends(number, first, most));
            first += group.switches();
        }
        let at = |group: usize, other: usize, link: usize| {
            ends[group][link * (groups - 1) + (other + groups - group - 1) % groups]
        };
        let mut cables = Vec::new();
        for link in 0..most {
            for i in 0..groups {
                for j in (i + 1..groups).filter(|&j| link < self.pair_links(i, j)) {
                    cables.push((at(i, j, link), at(j, i, link)));
                }
            }
        }
        cables
    }

    /// The switches of a group at which its global cables end: the first cable to each other group, then the second, up to the
    /// most of a pair. Where another group has no such cable, what is said in its place is not asked for.
    fn ends(&self, number: usize, first: usize, most: usize) -> Vec<Switch> {
        let (group, groups) = (&self.groups[number], self.groups.len());
        // Others are counted from the next group on, so that cables leave every group at the same places.
        let others = || (1..groups).map(|offset| self.pair_links(number, (number + offset) % groups));
        let total: usize = others().sum();
        let (mut laid, mut ends) = (0, Vec::new());
        for link in 0..most.min(group.pair_links) {
            for links in others() {
                ends.push((first + laid * group.switches() / total) as Switch);
                laid += usize::from(link < links);
            }
        }
        ends
    }
}

/// A switch's place.
#[derive(Clone, Copy)]
struct GroupPosition {
    group: u16,
    chassis: u16,
    slot: u16,
    /// The first ports of cables in its column, and between groups.
    first_column: Port,
    first_global: Port,
}

/// A dragonfly, with its tables.
pub(super) struct Groups {
    m: Measures,
    /// The first switch of each group.
    firsts: Vec<Switch>,
    places: Vec<GroupPosition>,
    /// For each switch and group: where its ports begin in `ports`, and how many cables it is to the nearest way out.
    gates: Vec<(u32, u8)>,
    /// Ports that lead to the nearest way out.
    ports: Vec<Port>,
    globals: Vec<(Switch, Switch)>,
}

const NOWHERE: u8 = u8::MAX;

impl Groups {
    pub(super) fn new(m: Measures) -> Groups {
        let (mut firsts, mut places) = (Vec::new(), Vec::new());
        for (number, group) in m.groups.iter().enumerate() {
            firsts.push(places.len() as Switch);
            // 16 bits are enough: the topologies allow at most 4096 groups, chassis, slots and ports.
            places.extend((0..group.switches()).map(|s| GroupPosition {
                group: number as u16,
                chassis: (s / group.slots) as u16,
                slot: (s % group.slots) as u16,
                first_column: m.first_column(group) as Port,
                first_global: m.first_global(group) as Port,
            }));
        }
        let globals = m.globals();
        let mut groups = Groups { firsts, places, gates: Vec::new(), ports: Vec::new(), globals, m };
        groups.find_gates();
        groups
    }

    /// Fills the table of ways out.
    fn find_gates(&mut self) {
        let (switches, g) = (self.places.len(), self.m.groups.len());
        let mut direct: Vec<Vec<(u16, Port)>> = vec![Vec::new(); switches];
        for &(x, y) in &self.globals {
            for (from, to) in [(x, y), (y, x)] {
                // The numbers that `wire` gives: it lays global cables last, in the order of `globals`.
                let port = self.places[from as usize].first_global + direct[from as usize].len() as Port;
                direct[from as usize].push((self.places[to as usize].group, port));
            }
        }
        let mut gate = vec![false; switches * g];
        for (s, list) in direct.iter().enumerate() {
            list.iter().for_each(|&(to, _)| gate[s * g + usize::from(to)] = true);
        }
        let mut ways = Ways::default();
        for (s, cables) in direct.iter().enumerate() {
            for to in 0..g {
                let first = self.ports.len() as u32;
                ways.clear();
                let away = self.gate_ways(s as Switch, to, &gate, cables, &mut ways);
                self.ports.append(&mut ways.ports);
                self.gates.push((first, away));
            }
        }
        // One entry past the last, because `ways` ends a slice at `gates[i + 1]`.
        self.gates.push((self.ports.len() as u32, NOWHERE));
    }

    /// The ports of `s` that lead to the nearest switch with a cable to group `to`, and how far that is.
    fn gate_ways(&self, s: Switch, to: usize, gate: &[bool], cables: &[(u16, Port)], out: &mut Ways) -> u8 {
        let g = self.m.groups.len();
        let at = self.places[s as usize];
        let group = &self.m.groups[usize::from(at.group)];
        if usize::from(at.group) == to {
            return NOWHERE;
        }
        if gate[s as usize * g + to] {
            out.ports.extend(cables.iter().filter(|c| usize::from(c.0) == to).map(|c| c.1));
            return 0;
        }
        let first = self.firsts[usize::from(at.group)] as usize;
        let open = |chassis: usize, slot: usize| gate[(first + chassis * group.slots + slot) * g + to];
        let (chassis, slot) = (usize::from(at.chassis), usize::from(at.slot));
        for c in 0..group.slots {
            if open(chassis, c) {
                self.row(at, c as u16, out);
            }
        }
        for r in 0..group.chassis {
            if open(r, slot) {
                self.column(at, r as u16, out);
            }
        }
        if !out.ports.is_empty() {
            return 1;
        }
        // Row first, then column: any row neighbour in whose column there is a way out.
        for c in 0..group.slots {
            if (0..group.chassis).any(|r| open(r, c)) {
                self.row(at, c as u16, out);
            }
        }
        // Never more: `build` gives each pair of groups a cable, and a grid is crossed by one row and one column.
        2
    }

    /// Cables are laid in order of the lower end, so a switch has those to lower neighbours first, and none to itself.
    fn first_in_row(&self, at: GroupPosition, slot: u16) -> usize {
        self.m.endpoints + usize::from(slot - u16::from(slot > at.slot)) * self.m.row_links
    }

    fn first_in_column(&self, at: GroupPosition, chassis: u16) -> usize {
        usize::from(at.first_column) + usize::from(chassis - u16::from(chassis > at.chassis)) * self.m.column_links
    }

    fn row(&self, at: GroupPosition, slot: u16, out: &mut Ways) {
        let first = self.first_in_row(at, slot);
        out.ports.extend((first..first + self.m.row_links).map(|p| p as Port));
    }

    fn column(&self, at: GroupPosition, chassis: u16, out: &mut Ways) {
        let first = self.first_in_column(at, chassis);
        out.ports.extend((first..first + self.m.column_links).map(|p| p as Port));
    }

    fn local_hops(a: GroupPosition, b: GroupPosition) -> u32 {
        u32::from(a.chassis != b.chassis) + u32::from(a.slot != b.slot)
    }

    /// Groups in two halves, the heaviest first and each into the half that has less so far.
    fn balanced(&self) -> Vec<Switch> {
        let weight = |g: usize| self.m.groups[g].weight();
        let mut groups: Vec<usize> = (0..self.m.groups.len()).collect();
        groups.sort_by_key(|&g| std::cmp::Reverse(weight(g)));
        let (mut halves, mut weights) = ([Vec::new(), Vec::new()], [0, 0]);
        for g in groups {
            let half = usize::from(weights[1] < weights[0]);
            weights[half] += weight(g);
            let first = self.firsts[g];
            halves[half].extend(first..first + self.m.groups[g].switches() as Switch);
        }
        halves.concat()
    }

    /// 0 for an endpoint, 1 row, 2 column, 3 global: the order in which a packet may keep its channel.
    #[inline]
    fn rank(&self, at: Switch, port: Port) -> u8 {
        let place = &self.places[at as usize];
        u8::from(usize::from(port) >= self.m.endpoints)
            + u8::from(port >= place.first_column)
            + u8::from(port >= place.first_global)
    }

    fn lay_group(&self, wiring: &mut Wiring, first: Switch, group: &Group) {
        let (chassis, slots) = (group.chassis as u32, group.slots as u32);
        for r in 0..chassis {
            for x in 0..slots {
                for y in x + 1..slots {
                    for _ in 0..self.m.row_links {
                        wiring.cable(first + r * slots + x, first + r * slots + y, self.m.row);
                    }
                }
            }
        }
        for c in 0..slots {
            for x in 0..chassis {
                for y in x + 1..chassis {
                    for _ in 0..self.m.column_links {
                        wiring.cable(first + x * slots + c, first + y * slots + c, self.m.column);
                    }
                }
            }
        }
    }
}

/// A group that is neither of two, which differ, of three or more.
pub(super) fn third_group(groups: usize, x: u16, y: u16, rng: &mut Rng) -> u16 {
    let (low, high) = (x.min(y), x.max(y));
    // One draw for all groups but two: it steps over the lower end first, then over the higher.
    let drawn = rng.below(groups as u64 - 2) as u16;
    let drawn = drawn + u16::from(drawn >= low);
    drawn + u16::from(drawn >= high)
}

impl Topology for Groups {
    fn wire(&self, wiring: &mut Wiring) {
        for (number, group) in self.m.groups.iter().enumerate() {
            for _ in 0..group.switches() {
                let switch = wiring.switch(number as u32);
                for _ in 0..self.m.endpoints {
                    wiring.attach(switch);
                }
            }
            if let Some(nodes) = group.nodes {
                wiring.end_group(nodes);
            }
        }
        for (&first, group) in self.firsts.iter().zip(&self.m.groups) {
            self.lay_group(wiring, first, group);
        }
        for &(x, y) in &self.globals {
            wiring.cable(x, y, self.m.global);
        }
    }

    #[inline]
    fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
        let (here, there) = (self.places[at as usize], self.places[to.switch as usize]);
        if here.group != there.group {
            let i = at as usize * self.m.groups.len() + usize::from(there.group);
            out.ports.extend_from_slice(&self.ports[self.gates[i].0 as usize..self.gates[i + 1].0 as usize]);
        } else if here.slot != there.slot {
            self.row(here, there.slot, out);
        } else {
            self.column(here, there.chassis, out);
        }
        out.fixed = super::pick(to.endpoint, out.ports.len());
    }

    #[inline]
    fn fixed(&self, at: Switch, to: Target, _: &mut Ways) -> Port {
        let (here, there) = (self.places[at as usize], self.places[to.switch as usize]);
        if here.group != there.group {
            let i = at as usize * self.m.groups.len() + usize::from(there.group);
            let ports = &self.ports[self.gates[i].0 as usize..self.gates[i + 1].0 as usize];
            return ports[super::pick(to.endpoint, ports.len())];
        }
        let (first, count) = if here.slot != there.slot {
            (self.first_in_row(here, there.slot), self.m.row_links)
        } else {
            (self.first_in_column(here, there.chassis), self.m.column_links)
        };
        (first + super::pick(to.endpoint, count)) as Port
    }

    fn hops(&self, from: Switch, to: Switch) -> u32 {
        let (a, b) = (self.places[from as usize], self.places[to as usize]);
        if a.group == b.group {
            return Groups::local_hops(a, b);
        }
        let (_, away) = self.gates[from as usize * self.m.groups.len() + usize::from(b.group)];
        // At which switch the global cable ends depends on the cable taken: the last part counts as the longest.
        u32::from(away) + 1 + self.m.groups[usize::from(b.group)].diameter()
    }

    /// Through all groups, by slot and by chassis: where groups are few they are joined more thickly than inside. If groups
    /// differ, also by whole groups of which each half has about as many nodes.
    fn orders(&self) -> Vec<Vec<Switch>> {
        let by = |key: fn(&GroupPosition) -> (u16, u16)| {
            let mut order: Vec<Switch> = (0..self.places.len() as Switch).collect();
            order.sort_by_key(|&s| key(&self.places[s as usize]));
            order
        };
        let mut orders = vec![by(|p| (p.slot, p.chassis)), by(|p| (p.chassis, p.slot))];
        if self.m.groups.iter().any(|group| group.weight() != self.m.groups[0].weight()) {
            orders.push(self.balanced());
        }
        orders
    }

    /// Two without detours: before and after the global cable. Four with: before, when it is turned away from the minimal
    /// way inside its first group, in the middle group, in the last.
    fn vcs(&self, detours: bool) -> u8 {
        if detours { 4 } else { 2 }
    }

    #[inline]
    fn vc(&self, hop: Hop, at: Switch, port: Port) -> u8 {
        if hop.hops == 0 {
            return 0;
        }
        hop.vc + u8::from(self.rank(at, port) <= self.rank(at, hop.came_by))
    }

    fn middle(&self, from: Switch, to: Switch, rng: &mut Rng) -> Option<Switch> {
        let groups = self.m.groups.len();
        let (x, y) = (self.places[from as usize].group, self.places[to as usize].group);
        let group = if x == y {
            x
        } else if groups == 2 {
            if rng.bits() & 1 == 0 { x } else { y }
        } else {
            // As likely as any other, however small: UGAL sees which are full.
            third_group(groups, x, y, rng)
        };
        let switches = self.m.groups[usize::from(group)].switches() as u64;
        let switch = self.firsts[usize::from(group)] + rng.below(switches) as Switch;
        (switch != from && switch != to).then_some(switch)
    }

    #[inline]
    fn passed(&self, at: Switch, middle: Switch, to: Switch) -> bool {
        let (here, there) = (self.places[at as usize].group, self.places[middle as usize].group);
        // In a group that the way visits anyway only the switch itself makes a detour.
        at == middle || (self.m.groups.len() > 2 && here == there && there != self.places[to as usize].group)
    }

    fn detour_hops(&self, from: Switch, middle: Switch, to: Switch) -> u32 {
        let over = self.hops(from, middle) + self.hops(middle, to);
        // The way need not go to the middle switch itself if that is in a third group.
        let group = self.places[middle as usize].group;
        let third = self.m.groups.len() > 2 && group != self.places[to as usize].group;
        if third { over - self.m.groups[usize::from(group)].diameter() } else { over }
    }

    /// A packet may still be turned away in its first group, before it has left its first channel.
    #[inline]
    fn may_detour(&self, at: Switch, hop: Hop) -> bool {
        hop.hops == 0 || (hop.vc == 0 && hop.hops <= 2 && self.rank(at, hop.came_by) < 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::net::Fabric;
    use crate::topology::{aries, dragonfly};

    /// Each switch of a group has as many global cables as any other of it or one more, and two groups are joined by as many as
    /// the group that has fewer for each other one.
    fn spread(groups: &[u32], globals: &[(Switch, Switch)], pairs: &[((u32, u32), usize)]) -> Result<(), String> {
        let mut each = vec![0usize; groups.len()];
        globals.iter().for_each(|&(a, b)| [a, b].into_iter().for_each(|s| each[s as usize] += 1));
        for (a, &group) in groups.iter().enumerate() {
            if let Some(b) = (0..groups.len()).find(|&b| groups[b] == group && each[a] > each[b] + 1) {
                return Err(format!("switch {a} has {} global cables and switch {b} {}", each[a], each[b]));
            }
        }
        for &((x, y), expected) in pairs {
            let joins = |&&(a, b): &&(Switch, Switch)| (groups[a as usize], groups[b as usize]) == (x, y);
            match globals.iter().filter(joins).count() {
                found if found == expected => {}
                found => return Err(format!("{found} cables join groups {x} and {y}, not {expected}")),
            }
        }
        Ok(())
    }

    /// Groups of the switches and global cables of a network.
    fn laid(text: &str) -> (Vec<u32>, Vec<(Switch, Switch)>) {
        let mut wiring = Wiring::default();
        Fabric::new(&Config::from_toml(text).unwrap()).unwrap().topology.wire(&mut wiring);
        let global = wiring.cables.iter().filter(|c| c.2.reach == super::super::Reach::Global);
        (wiring.groups.clone(), global.map(|c| (c.0.0, c.1.0)).collect())
    }

    #[test]
    fn global_cables_are_spread_over_switches() {
        for entry in [dragonfly::DRAGONFLY, aries::ARIES] {
            for (nodes, more) in entry.shapes {
                let (groups, globals) =
                    laid(&format!("nodes = {nodes}\n[topology]\nkind = \"{}\"\n{more}", entry.card.name));
                spread(&groups, &globals, &[]).unwrap_or_else(|e| panic!("{more}: {e}"));
            }
        }
        // 4 global cables of a switch for 3 other groups: 10, 5, 5 and 2 for each, and the smaller of two decides.
        let text = "nodes = 9\n[topology]\nkind = \"dragonfly\"\ngroup_switches = \"8, 4*2, 2\"\nendpoints = 1";
        let (groups, globals) = laid(text);
        let pairs = [((0, 1), 5), ((0, 2), 5), ((0, 3), 2), ((1, 2), 5), ((1, 3), 2), ((2, 3), 2)];
        spread(&groups, &globals, &pairs).unwrap();
        // Given, it holds for all pairs.
        let (groups, globals) = laid(&format!("{text}\npair_links = 3"));
        spread(&groups, &globals, &pairs.map(|(pair, _)| (pair, 3))).unwrap();
    }

    #[test]
    fn uneven_cables_are_caught() {
        let groups = [0, 0, 1, 1];
        for (globals, reason) in [
            (vec![(0, 2), (0, 3), (0, 2), (1, 3)], "switch 0 has 3 global cables and switch 1 1"),
            (vec![(0, 2), (1, 3)], "2 cables join groups 0 and 1, not 3"),
        ] {
            assert_eq!(spread(&groups, &globals, &[((0, 1), 3)]).unwrap_err(), reason);
        }
        spread(&groups, &[(0, 2), (1, 3), (0, 3)], &[((0, 1), 3)]).unwrap();
    }
}
