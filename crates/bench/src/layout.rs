//! Where this rank sits, found with a few logarithmic collectives: no rank ever holds a list of all ranks or host names.

use crate::order::order;
use comm::{Buffer, Comm, Reduce, Vector, agree};
use record::{Layout, NodeOrder, RankAt, Unit};
use spec::{Rng, permutation};

/// Host names are kept up to here: the limit of Linux.
const NAME_ROOM: usize = 64;

/// What a node tells of itself: its name and two numbers.
const PIECE: usize = NAME_ROOM + 16;

fn node_facts(piece: &[u8]) -> NodeFacts {
    let (name, numbers) = piece.split_at(NAME_ROOM);
    let mut numbers = numbers.chunks(8).map(|word| {
        let word = word.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
        u32::try_from(word).ok()
    });
    let (switch, group) = (numbers.next().flatten(), numbers.next().flatten());
    let name = String::from_utf8_lossy(name).trim_end_matches('\0').to_string();
    NodeFacts { name, home: switch.map(|switch| Home { switch, group }) }
}

/// One rank's place in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its node, as the machine numbers them.
    pub node: u32,
    /// Its position among the ranks of its node.
    pub slot: u32,
    /// The job's layout.
    pub layout: Layout,
    /// Where its node is in the network, if that is known.
    pub home: Option<Home>,
    /// Whether the plan lists its node.
    pub listed: bool,
}

/// Numbers of the switch and, where there are groups, of the group that a node is in: alike on all nodes of one switch or group, and on
/// no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Home {
    /// Of the switch.
    pub switch: u32,
    /// Of the group.
    pub group: Option<u32>,
}

impl Home {
    /// The number of the unit that is asked for.
    pub fn unit(self, by: Unit) -> Option<u32> {
        match by {
            Unit::Switch => Some(self.switch),
            Unit::Group => self.group,
        }
    }
}

/// What is known of a node on rank 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub home: Option<Home>,
}

impl Seat {
    /// Finds it. Collective.
    pub fn find(world: &dyn Comm) -> Seat {
        let node = world.node() as u32;
        let (slot, here) = {
            let here = world.split(Some(node), world.rank() as u32).expect("every rank joins its node");
            (here.rank() as u32, here.size() as u32)
        };
        // The largest of a negative is the smallest: one reduction finds all three.
        let mut extremes = [f64::from(node), f64::from(here), -f64::from(here)];
        world.allreduce(Vector::Values(&mut extremes), Reduce::Max);
        let layout = Layout {
            nodes: extremes[0] as u32 + 1,
            ranks: world.size() as u32,
            min_ranks_per_node: -extremes[2] as u32,
            max_ranks_per_node: extremes[1] as u32,
            parts_per_node: 1,
        };
        Seat { node, slot, layout, home: None, listed: false }
    }

    /// Where the ranks themselves count as nodes: on a single host there is nobody else to talk to.
    pub fn each_rank_a_node(world: &dyn Comm) -> Seat {
        let layout = Layout::even(world.size() as u32, 1);
        Seat { node: world.rank() as u32, slot: 0, layout, home: None, listed: false }
    }

    /// Deals the slots of every node over its parts in turn, where `part` is the one this rank is on: the first so many slots are then
    /// spread over sockets, NUMA domains or NICs. Also the most parts found on a node. Collective.
    pub fn spread(self, world: &dyn Comm, part: u16) -> (Seat, u32) {
        let here = world.split(Some(self.node), self.slot).expect("every rank joins its node");
        let index = here.split(Some(part.into()), self.slot).expect("every rank is on a part").rank() as u32;
        let parts = agree(&*here, f64::from(u8::from(index == 0)), Reduce::Sum);
        // First the first rank of each part, then the second of each; a part has 16 bits.
        let turn = here.split(Some(0), index << 16 | u32::from(part)).expect("every rank joins its node").rank();
        let mut extremes = [parts, -parts];
        world.allreduce(Vector::Values(&mut extremes), Reduce::Max);
        // Plans may count only on parts that every node has.
        let layout = Layout { parts_per_node: -extremes[1] as u32, ..self.layout };
        (Seat { slot: turn as u32, layout, ..self }, extremes[0] as u32)
    }

    /// What all nodes know of themselves, as the machine numbers them, on rank 0 alone. Collective.
    pub fn nodes(&self, world: &dyn Comm, name: &str) -> Vec<NodeFacts> {
        let first = world.split(Some(self.node), world.rank() as u32).expect("every rank joins its node").rank() == 0;
        let Some(leaders) = world.split(first.then_some(0), self.node) else { return Vec::new() };
        // A gather takes pieces of one length, so names are filled up with zeros.
        let mut mine = [0; PIECE];
        let length = name.len().min(NAME_ROOM);
        mine[..length].copy_from_slice(&name.as_bytes()[..length]);
        // A number above all units says that there is none.
        let numbers =
            [self.home.map(|h| h.switch), self.home.and_then(|h| h.group)].map(|n| n.map_or(u64::MAX, u64::from));
        let words = mine[NAME_ROOM..].chunks_mut(8).zip(numbers);
        words.for_each(|(word, number)| word.copy_from_slice(&number.to_le_bytes()));
        let mut all = vec![0; if leaders.rank() == 0 { PIECE * leaders.size() } else { 0 }];
        leaders.gather(0, &mine, &mut all);
        all.chunks(PIECE).map(node_facts).collect()
    }

    /// Its place in a plan's node order. Collective where the order is of something that other nodes do not know.
    pub fn place(&self, world: &dyn Comm, order: NodeOrder, seed: u64) -> RankAt {
        let node = match sorted_by(order, self.home, self.listed, seed) {
            Some(key) => self.sorted(world, key, seed),
            None => place_of(self.node, self.layout.nodes, order, seed),
        };
        RankAt { node, slot: self.slot }
    }

    /// The place of its node among all of them, by a key that each knows of itself alone, and in a random order where keys are equal.
    fn sorted(&self, world: &dyn Comm, key: u32, seed: u64) -> u32 {
        let here = world.split(Some(self.node), self.slot).expect("every rank joins its node");
        let random = shuffled(self.node, self.layout.nodes, seed);
        let mut place = [0; 4];
        // One rank of each node, in a random order; then by their keys, which leaves equal ones in that order.
        if let Some(nodes) = world.split((here.rank() == 0).then_some(0), random) {
            let sorted = nodes.split(Some(0), key).expect("every node joins");
            place = (sorted.rank() as u32).to_le_bytes();
        }
        here.bcast(0, Buffer::Bytes(&mut place));
        u32::from_le_bytes(place)
    }
}

/// Whether a list names a node. One may have a domain behind its name where the other has not.
pub fn is_listed(list: &[String], name: &str) -> bool {
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_string();
    list.iter().any(|n| n == name || (n.contains('.') != name.contains('.') && short(n) == short(name)))
}

/// What nodes are sorted by in an order that depends on where they are or whether they are listed; none in the others.
fn sorted_by(order: NodeOrder, home: Option<Home>, listed: bool, seed: u64) -> Option<u32> {
    match order {
        NodeOrder::Units { by } => {
            let unit = home.and_then(|h| h.unit(by)).expect("checked with the plan");
            // Another order of units for each seed, in which no two have one place: each step can be undone.
            let salt = Rng::new(seed, "units", 0).bits();
            let mixed = (unit ^ salt as u32).wrapping_mul(0x85eb_ca6b);
            Some((mixed ^ mixed >> 16).wrapping_mul(salt as u32 >> 7 | 1))
        }
        NodeOrder::Listed => Some(listed.into()),
        NodeOrder::Natural | NodeOrder::Shuffled | NodeOrder::Rotated | NodeOrder::Interleaved { .. } => None,
    }
}

/// The places of all nodes in an order, where all is known of them; the same as each of them finds by itself.
pub fn places(nodes: &[NodeFacts], list: &[String], order: NodeOrder, seed: u64) -> Vec<u32> {
    let count = nodes.len() as u32;
    let key = |node: &NodeFacts| sorted_by(order, node.home, is_listed(list, &node.name), seed);
    let keys: Option<Vec<u32>> = nodes.iter().map(key).collect();
    let Some(keys) = keys else { return (0..count).map(|node| place_of(node, count, order, seed)).collect() };
    let mut by_key: Vec<u32> = (0..count).collect();
    by_key.sort_by_key(|&node| (keys[node as usize], shuffled(node, count, seed)));
    let mut places = vec![0; nodes.len()];
    (0..).zip(by_key).for_each(|(place, node)| places[node as usize] = place);
    places
}

/// What is random in one placement derives from this; the first has the seed of the run itself.
pub fn placement_seed(seed: u64, placement: u32) -> u64 {
    match placement {
        0 => seed,
        n => Rng::new(seed, "placement", n.into()).below(u64::MAX),
    }
}

/// The place of the machine's node `node` of `nodes` in an order that follows from these numbers alone.
fn place_of(node: u32, nodes: u32, order: NodeOrder, seed: u64) -> u32 {
    let rotated = || {
        let first = Rng::new(seed, "node order", 0).below(nodes.into()) as u32;
        (node + nodes - first) % nodes
    };
    match order {
        NodeOrder::Natural => node,
        // The last two begin with this one and are sorted then.
        NodeOrder::Shuffled | NodeOrder::Units { .. } | NodeOrder::Listed => shuffled(node, nodes, seed),
        NodeOrder::Rotated => rotated(),
        NodeOrder::Interleaved { first } => {
            // Of the first places, so many are at nodes before this one.
            let (n, k, node) = (u64::from(nodes), u64::from(first.min(nodes)), u64::from(rotated()));
            let before = |node: u64| (node * k).div_ceil(n);
            let place = if before(node + 1) > before(node) { before(node) } else { k + node - before(node) };
            place as u32
        }
    }
}

fn shuffled(node: u32, nodes: u32, seed: u64) -> u32 {
    order(("node order", seed, 0, nodes as usize), permutation).place(node as usize) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_gives_every_node_a_place_of_its_own() {
        for nodes in [1, 2, 7, 32, 61] {
            let mut orders = vec![NodeOrder::Natural, NodeOrder::Shuffled, NodeOrder::Rotated];
            orders.extend([0, 1, nodes / 2, nodes, nodes + 3].map(|first| NodeOrder::Interleaved { first }));
            for (order, seed) in orders.into_iter().flat_map(|order| [(order, 1), (order, 2)]) {
                let mut places: Vec<u32> = (0..nodes).map(|node| place_of(node, nodes, order, seed)).collect();
                places.sort_unstable();
                assert_eq!(places, Vec::from_iter(0..nodes), "{order:?} of {nodes}");
            }
        }
    }

    /// Twelve nodes behind four switches in two groups, and names.
    fn known() -> Vec<NodeFacts> {
        let node = |n: u32| NodeFacts {
            name: format!("n{n}.site"),
            home: Some(Home { switch: n / 3 + 7, group: Some(n / 6) }),
        };
        (0..12).map(node).collect()
    }

    #[test]
    fn switches_and_groups_stay_together_in_any_order() {
        for (by, size) in [(Unit::Switch, 3), (Unit::Group, 6)] {
            let mut firsts = Vec::new();
            for seed in 0..20 {
                let places = places(&known(), &[], NodeOrder::Units { by }, seed);
                let mut nodes: Vec<u32> = (0..12).collect();
                nodes.sort_by_key(|&n| places[n as usize]);
                let units: Vec<u32> = nodes.iter().map(|n| n / size).collect();
                let changes = units.windows(2).filter(|w| w[0] != w[1]).count() as u32;
                assert_eq!(changes + 1, 12 / size, "{by:?} {nodes:?}");
                firsts.push(nodes[0]);
            }
            firsts.sort_unstable();
            firsts.dedup();
            assert!(firsts.len() > 4, "{by:?}: units and nodes within them change places: {firsts:?}");
        }
    }

    #[test]
    fn listed_nodes_come_last() {
        let list = ["n3", "n11.site", "n5.other"].map(String::from);
        let places = places(&known(), &list, NodeOrder::Listed, 1);
        assert!(places[3] >= 10 && places[11] >= 10 && places[5] < 10, "{places:?}");
    }

    #[test]
    fn roles_are_contiguous_or_evenly_mixed_and_begin_anywhere() {
        let starts = |order: NodeOrder| -> Vec<Vec<bool>> {
            (0..8).map(|seed| (0..12).map(|node| place_of(node, 12, order, seed) < 4).collect()).collect()
        };
        for roles in starts(NodeOrder::Rotated) {
            let changes = (0..12).filter(|&i| roles[i] != roles[(i + 1) % 12]).count();
            assert_eq!(changes, 2, "{roles:?}");
        }
        for roles in starts(NodeOrder::Interleaved { first: 4 }) {
            let first = roles.iter().position(|r| *r).unwrap();
            assert!((0..12).all(|i| roles[(first + i) % 12] == i.is_multiple_of(3)), "{roles:?}");
        }
        for order in [NodeOrder::Rotated, NodeOrder::Interleaved { first: 4 }] {
            let mut all = starts(order);
            all.sort_unstable();
            all.dedup();
            assert!(all.len() > 1, "{order:?} always begins at one node");
        }
    }
}
