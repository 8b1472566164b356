//! What all dragonflies share: groups of switches, cabled densely inside and thinly between each other.
//!
//! ```text
//!            slot 0   slot 1   slot 2            A group is a grid. The switches of a chassis (a row) are all cabled to each
//! chassis 0    o--------o--------o               other, and so are the switches of a slot (a column). With one chassis the
//!              |        |        |               group is fully connected, as Slingshot's is; Aries has 6 x 16.
//! chassis 1    o--------o--------o
//! ```
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

use super::{Cable, Endpoint, Hop, Port, Switch, Target, Topology, Ways, Wiring};
use spec::Rng;

/// The measures of a dragonfly.
#[derive(Clone, Debug)]
pub(super) struct Measures {
    pub(super) groups: usize,
    pub(super) chassis: usize,
    pub(super) slots: usize,
    /// Endpoints per switch.
    pub(super) endpoints: usize,
    /// Parallel cables between two switches of a row, of a column.
    pub(super) row_links: usize,
    pub(super) column_links: usize,
    /// Cables between two groups.
    pub(super) pair_links: usize,
    pub(super) row: Cable,
    pub(super) column: Cable,
    pub(super) global: Cable,
}

impl Measures {
    pub(super) fn switches(&self) -> usize {
        self.chassis * self.slots
    }

    /// Ports of the switch with the most, if global cables are spread evenly.
    pub(super) fn ports(&self) -> usize {
        let global = (self.pair_links * (self.groups - 1)).div_ceil(self.switches());
        self.first_global() + global
    }

    fn first_column(&self) -> usize {
        self.endpoints + (self.slots - 1) * self.row_links
    }

    fn first_global(&self) -> usize {
        self.first_column() + (self.chassis - 1) * self.column_links
    }

    /// All global cables: the switches at both ends, in the order in which they are laid. The cables of a pair of groups
    /// are spread over the switches of both, and every switch has as many as any other, or one more.
    fn globals(&self) -> Vec<(Switch, Switch)> {
        let (a, others, total) = (self.switches(), self.groups - 1, self.pair_links * (self.groups - 1));
        let at = |group: usize, other: usize, link: usize| {
            // Others are counted from the next group on, so that cables leave every group at the same places.
            let offset = (other + self.groups - group - 1) % self.groups;
            (group * a + (link * others + offset) * a / total) as Switch
        };
        let mut cables = Vec::new();
        for link in 0..self.pair_links {
            for i in 0..self.groups {
                cables.extend((i + 1..self.groups).map(|j| (at(i, j, link), at(j, i, link))));
            }
        }
        cables
    }
}

/// A switch's place.
#[derive(Clone, Copy)]
struct GroupPosition {
    group: u16,
    chassis: u16,
    slot: u16,
}

/// A dragonfly, with its tables.
pub(super) struct Groups {
    m: Measures,
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
        let a = m.switches();
        // 16 bits are enough: the topologies allow at most 4096 groups, chassis and slots.
        let place = |s: usize| GroupPosition {
            group: (s / a) as u16,
            chassis: (s % a / m.slots) as u16,
            slot: (s % a % m.slots) as u16,
        };
        let globals = m.globals();
        let mut groups =
            Groups { places: (0..m.groups * a).map(place).collect(), gates: Vec::new(), ports: Vec::new(), globals, m };
        groups.find_gates();
        groups
    }

    /// Fills the table of ways out.
    fn find_gates(&mut self) {
        let (switches, g) = (self.places.len(), self.m.groups);
        let mut direct: Vec<Vec<(u16, Port)>> = vec![Vec::new(); switches];
        for &(x, y) in &self.globals {
            for (from, to) in [(x, y), (y, x)] {
                // The numbers that `wire` gives: it lays global cables last, in the order of `globals`.
                let port = self.m.first_global() + direct[from as usize].len();
                direct[from as usize].push((self.places[to as usize].group, port as Port));
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
        let g = self.m.groups;
        let at = self.places[s as usize];
        if usize::from(at.group) == to {
            return NOWHERE;
        }
        if gate[s as usize * g + to] {
            out.ports.extend(cables.iter().filter(|c| usize::from(c.0) == to).map(|c| c.1));
            return 0;
        }
        let first = s as usize - (usize::from(at.chassis) * self.m.slots + usize::from(at.slot));
        let open = |chassis: usize, slot: usize| gate[(first + chassis * self.m.slots + slot) * g + to];
        let (chassis, slot) = (usize::from(at.chassis), usize::from(at.slot));
        for c in 0..self.m.slots {
            if open(chassis, c) {
                self.row(at, c as u16, out);
            }
        }
        for r in 0..self.m.chassis {
            if open(r, slot) {
                self.column(at, r as u16, out);
            }
        }
        if !out.ports.is_empty() {
            return 1;
        }
        // Row first, then column: any row neighbour in whose column there is a way out.
        for c in 0..self.m.slots {
            if (0..self.m.chassis).any(|r| open(r, c)) {
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
        self.m.first_column() + usize::from(chassis - u16::from(chassis > at.chassis)) * self.m.column_links
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

    fn local_diameter(&self) -> u32 {
        u32::from(self.m.chassis > 1) + u32::from(self.m.slots > 1)
    }

    /// 0 for an endpoint, 1 row, 2 column, 3 global: the order in which a packet may keep its channel.
    fn rank(&self, port: Port) -> u8 {
        let port = usize::from(port);
        u8::from(port >= self.m.endpoints)
            + u8::from(port >= self.m.first_column())
            + u8::from(port >= self.m.first_global())
    }

    fn lay_group(&self, wiring: &mut Wiring, first: Switch) {
        let (chassis, slots) = (self.m.chassis as u32, self.m.slots as u32);
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
        let a = self.m.switches() as u32;
        for place in &self.places {
            let switch = wiring.switch(u32::from(place.group));
            for _ in 0..self.m.endpoints {
                wiring.attach(switch);
            }
        }
        (0..self.m.groups as u32).for_each(|g| self.lay_group(wiring, g * a));
        for &(x, y) in &self.globals {
            wiring.cable(x, y, self.m.global);
        }
    }

    #[inline]
    fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
        let (here, there) = (self.places[at as usize], self.places[to.switch as usize]);
        if here.group != there.group {
            let i = at as usize * self.m.groups + usize::from(there.group);
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
            let i = at as usize * self.m.groups + usize::from(there.group);
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
        let (_, away) = self.gates[from as usize * self.m.groups + usize::from(b.group)];
        // At which switch the global cable ends depends on the cable taken: the last part counts as the longest.
        u32::from(away) + 1 + self.local_diameter()
    }

    /// Through all groups, by slot and by chassis: where groups are few they are joined more thickly than inside.
    fn orders(&self) -> Vec<Vec<Switch>> {
        let by = |key: fn(&GroupPosition) -> (u16, u16)| {
            let mut order: Vec<Switch> = (0..self.places.len() as Switch).collect();
            order.sort_by_key(|&s| key(&self.places[s as usize]));
            order
        };
        vec![by(|p| (p.slot, p.chassis)), by(|p| (p.chassis, p.slot))]
    }

    /// Two without detours: before and after the global cable. Four with: before, when it is turned away from the minimal
    /// way inside its first group, in the middle group, in the last.
    fn vcs(&self, detours: bool) -> u8 {
        if detours { 4 } else { 2 }
    }

    #[inline]
    fn vc(&self, hop: Hop, _: Switch, port: Port) -> u8 {
        if hop.hops == 0 {
            return 0;
        }
        hop.vc + u8::from(self.rank(port) <= self.rank(hop.came_by))
    }

    fn middle(&self, from: Switch, to: Switch, rng: &mut Rng) -> Option<Switch> {
        let a = self.m.switches() as u64;
        let (x, y) = (self.places[from as usize].group, self.places[to as usize].group);
        let group = if x == y {
            x
        } else if self.m.groups == 2 {
            if rng.bits() & 1 == 0 { x } else { y }
        } else {
            third_group(self.m.groups, x, y, rng)
        };
        let switch = u32::from(group) * a as u32 + rng.below(a) as u32;
        (switch != from && switch != to).then_some(switch)
    }

    #[inline]
    fn passed(&self, at: Switch, middle: Switch, to: Switch) -> bool {
        let (here, there) = (self.places[at as usize].group, self.places[middle as usize].group);
        // In a group that the way visits anyway only the switch itself makes a detour.
        at == middle || (self.m.groups > 2 && here == there && there != self.places[to as usize].group)
    }

    fn detour_hops(&self, from: Switch, middle: Switch, to: Switch) -> u32 {
        let over = self.hops(from, middle) + self.hops(middle, to);
        // The way need not go to the middle switch itself if that is in a third group.
        let third = self.m.groups > 2 && self.places[middle as usize].group != self.places[to as usize].group;
        if third { over - self.local_diameter() } else { over }
    }

    /// A packet may still be turned away in its first group, before it has left its first channel.
    #[inline]
    fn may_detour(&self, _: Endpoint, hop: Hop) -> bool {
        hop.hops == 0 || (hop.vc == 0 && hop.hops <= 2 && self.rank(hop.came_by) < 3)
    }
}
