//! Where this rank sits, found with a few logarithmic collectives: no rank ever holds a list of all ranks or host names.

use comm::{Comm, Reduce, Vector, agree};
use record::{Layout, NodeOrder, RankAt};
use spec::{Rng, permutation};
use std::cell::RefCell;

/// Host names are kept up to here: the limit of Linux.
const NAME_ROOM: usize = 64;

/// One rank's place in the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its node, as the machine numbers them.
    pub node: u32,
    /// Its position among the ranks of its node.
    pub slot: u32,
    /// The job's layout.
    pub layout: Layout,
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
        Seat { node, slot, layout }
    }

    /// Where the ranks themselves count as nodes: on a single host there is nobody else to talk to.
    pub fn each_rank_a_node(world: &dyn Comm) -> Seat {
        Seat { node: world.rank() as u32, slot: 0, layout: Layout::even(world.size() as u32, 1) }
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

    /// The names of all nodes as the machine numbers them, on rank 0 alone. Collective.
    pub fn names(&self, world: &dyn Comm, name: &str) -> Vec<String> {
        let first = world.split(Some(self.node), world.rank() as u32).expect("every rank joins its node").rank() == 0;
        let Some(leaders) = world.split(first.then_some(0), self.node) else { return Vec::new() };
        // A gather takes pieces of one length, so names are filled up with zeros.
        let mut mine = [0; NAME_ROOM];
        let length = name.len().min(NAME_ROOM);
        mine[..length].copy_from_slice(&name.as_bytes()[..length]);
        let mut all = vec![0; if leaders.rank() == 0 { NAME_ROOM * leaders.size() } else { 0 }];
        leaders.gather(0, &mine, &mut all);
        let text = |name: &[u8]| String::from_utf8_lossy(name).trim_end_matches('\0').to_string();
        all.chunks(NAME_ROOM).map(text).collect()
    }

    /// Its place in a plan's node order.
    pub fn place(&self, order: NodeOrder, seed: u64) -> RankAt {
        RankAt { node: place_of(self.node, self.layout.nodes, order, seed), slot: self.slot }
    }
}

/// What is random in one placement derives from this; the first has the seed of the run itself.
pub fn placement_seed(seed: u64, placement: u32) -> u64 {
    match placement {
        0 => seed,
        n => Rng::new(seed, "placement", n.into()).below(u64::MAX),
    }
}

/// The place of the machine's node `node` of `nodes` in an order.
pub fn place_of(node: u32, nodes: u32, order: NodeOrder, seed: u64) -> u32 {
    let rotated = || {
        let first = Rng::new(seed, "node order", 0).below(nodes.into()) as u32;
        (node + nodes - first) % nodes
    };
    match order {
        NodeOrder::Natural => node,
        NodeOrder::Shuffled => shuffled(node, nodes, seed),
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

thread_local! {
    /// The order that was asked for last, which all ranks of a simulated machine ask for: nodes, seed, and the place of each node.
    static SHUFFLED: RefCell<(u32, u64, Vec<u32>)> = const { RefCell::new((0, 0, Vec::new())) };
}

fn shuffled(node: u32, nodes: u32, seed: u64) -> u32 {
    SHUFFLED.with_borrow_mut(|(of, by, places)| {
        if (*of, *by) != (nodes, seed) {
            (*of, *by) = (nodes, seed);
            places.resize(nodes as usize, 0);
            let order = permutation(&mut Rng::new(seed, "node order", 0), nodes as usize);
            (0..).zip(order).for_each(|(place, node)| places[node as usize] = place);
        }
        places[node as usize]
    })
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
