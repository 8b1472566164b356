//! Where this rank sits, found with a few logarithmic collectives: no rank ever holds a list of all ranks or host names.

use comm::{Comm, Reduce, Vector};
use record::{Layout, NodeOrder, Place};
use spec::{Rng, permutation};

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
        let mut extremes = [f64::from(node), f64::from(here), -f64::from(here)];
        world.allreduce(Vector::Values(&mut extremes), Reduce::Max);
        let layout = Layout {
            nodes: extremes[0] as u32 + 1,
            ranks: world.size() as u32,
            min_ranks_per_node: -extremes[2] as u32,
            max_ranks_per_node: extremes[1] as u32,
        };
        Seat { node, slot, layout }
    }

    /// Where the ranks themselves count as nodes: on a single host there is nobody else to talk to.
    pub fn each_rank_a_node(world: &dyn Comm) -> Seat {
        let ranks = world.size() as u32;
        let layout = Layout { nodes: ranks, ranks, min_ranks_per_node: 1, max_ranks_per_node: 1 };
        Seat { node: world.rank() as u32, slot: 0, layout }
    }

    /// Its place in a plan's node order.
    pub fn place(&self, order: NodeOrder, seed: u64) -> Place {
        let node = match order {
            NodeOrder::Natural => self.node,
            NodeOrder::Shuffled => {
                let order = node_order(self.layout.nodes, seed);
                order.iter().position(|n| *n == self.node).expect("an order holds every node") as u32
            }
        };
        Place { node, slot: self.slot }
    }
}

/// The shuffled order of nodes: `order[place]` is the machine's node.
pub fn node_order(nodes: u32, seed: u64) -> Vec<u32> {
    permutation(&mut Rng::new(seed, "node order", 0), nodes as usize)
}
