//! Where this rank sits, found with a few logarithmic collectives: no rank ever holds a list of all ranks or host names.

use comm::{Comm, Reduce, Vector, agree};
use record::{Layout, NodeOrder, RankAt};
use spec::{Rng, permutation};

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
        let node = match order {
            NodeOrder::Natural => self.node,
            NodeOrder::Shuffled => {
                let order = node_order(self.layout.nodes, seed);
                order.iter().position(|n| *n == self.node).expect("an order holds every node") as u32
            }
        };
        RankAt { node, slot: self.slot }
    }
}

/// What is random in one placement derives from this; the first has the seed of the run itself.
pub fn placement_seed(seed: u64, placement: u32) -> u64 {
    match placement {
        0 => seed,
        n => Rng::new(seed, "placement", n.into()).below(u64::MAX),
    }
}

/// The shuffled order of nodes: `order[place]` is the machine's node.
pub fn node_order(nodes: u32, seed: u64) -> Vec<u32> {
    permutation(&mut Rng::new(seed, "node order", 0), nodes as usize)
}
