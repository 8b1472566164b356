//! An experiment as data: phases; a phase is a set of jobs that run at the same time; a job is a kernel on a group of ranks.
//!
//! A plan is a pure function of arguments, layout and seed, so every rank computes the same one without a message; it can be
//! printed, edited and run again.

mod check;

pub use check::{MOST_PLACEMENTS, PlanError};

use crate::about::About;
use crate::outcome::Missing;
use crate::run::{is_false, is_one, one};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::Params;

/// A whole experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Which suite made it.
    pub suite: String,
    /// All that is random derives from it.
    pub seed: u64,
    /// In which order `Members` count nodes.
    pub node_order: NodeOrder,
    /// Whether messages carry data that is checked.
    pub payload: Payload,
    /// What runs, in order.
    pub phases: Vec<Phase>,
    /// So many times, each with other nodes for the roles and other rings, drawn from the seed.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub placements: u32,
    /// Whether phases are points of a sweep, none of which depends on another: each may be simulated on a machine of its own.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sweep: bool,
    /// The rate at which a node takes what is sent to it, in bytes per second, where it is given: drain times use it instead of what an
    /// incast measures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ejection: Option<f64>,
    /// How the plan was chosen, where a reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// With [`NodeOrder::Listed`], the nodes that come last: names of hosts, or numbers of a simulated machine's nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub canary_nodes: Vec<String>,
    /// What was asked for and finds no room in the layout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// How nodes are numbered in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeOrder {
    /// As the machine numbers them.
    Natural,
    /// In a random order drawn from the seed, so that jobs do not follow cabinets (GPCNeT §3.2).
    Shuffled,
    /// As the machine numbers them, from a random one on: jobs are as contiguous as the numbers are.
    Rotated,
    /// The first so many places are evenly among the others, from a random node on.
    Interleaved {
        /// How many places.
        first: u32,
    },
    /// Whole switches or groups one after the other, in a random order and each with its nodes in a random order.
    Units {
        /// What stays together.
        by: Unit,
    },
    /// Those that the plan lists last, in a random order otherwise.
    Listed,
}

/// Nodes that are close to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Behind one switch.
    Switch,
    /// In one group of switches: of a dragonfly, or a part of a tree.
    Group,
}

/// What messages carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Payload {
    /// A pattern, verified outside the timed region.
    Checked,
    /// The same pattern, which nobody looks at: to measure what looking costs.
    Unchecked,
    /// Nothing that is looked at; a simulated machine then moves lengths only.
    Lengths,
}

impl Payload {
    /// What a kernel makes of it: it need not know that nobody will look.
    pub fn carried(self) -> Payload {
        if self == Payload::Unchecked { Payload::Checked } else { self }
    }
}

/// Jobs that run at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// A label for people, unique in the plan; nothing is read from it.
    pub name: String,
    /// What it is about.
    pub about: About,
    /// At most one job per rank.
    pub jobs: Vec<Job>,
}

/// A kernel on a group of ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Unique in the phase.
    pub name: String,
    /// A kernel's name.
    pub kernel: String,
    /// Parameters that differ from the kernel's card.
    #[serde(default)]
    pub params: Params,
    /// What it is for.
    pub role: Role,
    /// Who takes part.
    pub members: Members,
    /// How they are divided into communicators.
    pub instances: Instances,
    /// When it ends.
    pub stop: Stop,
}

/// What a job is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Its samples are the result; the phase ends with it.
    Measured,
    /// It loads the machine from before the first sample of the measured jobs to after their last.
    Background,
}

/// Which ranks take part. A node's place is its position in the plan's node order; a slot is a rank's position on its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Members {
    /// Consecutive nodes, consecutive slots.
    Block {
        /// First node's place.
        first_node: u32,
        /// How many nodes.
        nodes: u32,
        /// First slot.
        #[serde(default)]
        first_slot: u32,
        /// How many slots; all if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        slots: Option<u32>,
    },
    /// Named ranks, in this order.
    Places(Vec<RankAt>),
}

/// One rank, by where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RankAt {
    /// Node's place in the plan's order.
    pub node: u32,
    /// Rank's position on the node.
    pub slot: u32,
}

/// How a job's ranks are divided into communicators, each running the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Instances {
    /// One per slot: one rank per node, so that no message stays inside a node (GPCNeT §3.2).
    Slot,
    /// One for all.
    Job,
    /// One per rank, alone (HPCC's "star").
    Rank,
}

/// When a job ends: at the first of its limits. Background jobs end with the measured ones, whatever is written here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Untimed steps at the start of a block.
    pub warmup: u32,
    /// Timed steps of a block.
    pub steps: u32,
    /// Different arrangements (rings) that blocks cycle through.
    pub arrangements: u32,
    /// Blocks at most.
    pub blocks: u64,
    /// Blocks at least, time permitting.
    #[serde(default)]
    pub min_blocks: u64,
    /// Time limit in seconds, of the machine's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_s: Option<f64>,
    /// Stop when the average and the 99 % quantile are known to this relative half-width (0.05 is 5 %).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// A background job loads for a while, rests for a while, and so on; without it, it never rests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pulse: Option<Pulse>,
}

impl Stop {
    /// One step, once. Other limits are written as what they add: `Stop { blocks: 3, ..Stop::ONCE }`.
    pub const ONCE: Stop = Stop {
        warmup: 0,
        steps: 1,
        arrangements: 1,
        blocks: 1,
        min_blocks: 0,
        time_s: None,
        precision: None,
        pulse: None,
    };
}

/// A duty cycle, in seconds of the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pulse {
    /// How long it loads.
    pub on_s: f64,
    /// How long it rests.
    pub off_s: f64,
}

impl Phase {
    /// A phase with the label that follows from what it is about.
    pub fn new(about: About, jobs: Vec<Job>) -> Phase {
        Phase { name: about.to_string(), about, jobs }
    }
}

impl Members {
    /// Whether the rank at this place takes part, and its order among the members (by node, then slot, or as listed).
    pub fn position(&self, place: RankAt, slots_per_node: u32) -> Option<u32> {
        match self {
            Members::Block { first_node, nodes, first_slot, slots } => {
                let node = place.node.checked_sub(*first_node).filter(|n| n < nodes)?;
                let slot = place.slot.checked_sub(*first_slot).filter(|s| slots.is_none_or(|n| *s < n))?;
                // An order, no dense count: where a block leaves out slots, so do its positions.
                Some(node * slots_per_node + slot)
            }
            Members::Places(places) => places.iter().position(|p| *p == place).map(|i| i as u32),
        }
    }
}

impl Plan {
    /// Phases on nodes in some order.
    pub fn new(suite: &str, seed: u64, node_order: NodeOrder, payload: Payload, phases: Vec<Phase>) -> Plan {
        let (notes, missing, canary_nodes, suite) = (Vec::new(), Vec::new(), Vec::new(), suite.into());
        let (placements, sweep, ejection) = (1, false, None);
        Plan { suite, seed, node_order, payload, phases, placements, sweep, ejection, notes, canary_nodes, missing }
    }

    /// Some of its phases as a plan of their own, without copies of what only the whole plan is asked for.
    pub fn part(&self, phases: Vec<Phase>) -> Plan {
        let Plan { seed, node_order, payload, placements, .. } = *self;
        let canary_nodes = self.canary_nodes.clone();
        Plan { placements, canary_nodes, ..Plan::new(&self.suite, seed, node_order, payload, phases) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_ordered_by_node_then_slot() {
        let m = Members::Block { first_node: 2, nodes: 2, first_slot: 1, slots: Some(1) };
        assert_eq!(m.position(RankAt { node: 3, slot: 1 }, 4), Some(4));
        assert_eq!(m.position(RankAt { node: 3, slot: 2 }, 4), None);
        assert_eq!(m.position(RankAt { node: 4, slot: 1 }, 4), None);
    }
}
