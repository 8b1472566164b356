//! An experiment as data: phases; a phase is a set of jobs that run at the same time; a job is a kernel on a group of ranks.
//!
//! A plan is a pure function of arguments, layout and seed, so every rank computes the same one without a message; it can be
//! printed, edited and run again.

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

    /// The highest node place and slot named.
    fn reach(&self) -> (u32, u32) {
        match self {
            Members::Block { first_node, nodes, first_slot, slots } => {
                // All slots that there are cannot be out of reach, so only the first must exist.
                // An empty block is refused in `Job::check`.
                ((first_node + nodes).saturating_sub(1), (first_slot + slots.unwrap_or(1)).saturating_sub(1))
            }
            Members::Places(places) => {
                places.iter().fold((0, 0), |(node, slot), p| (node.max(p.node), slot.max(p.slot)))
            }
        }
    }

    fn count(&self) -> u32 {
        match self {
            // Only asked whether it is 0, so one slot stands for all.
            Members::Block { nodes, slots, .. } => nodes * slots.unwrap_or(1),
            Members::Places(places) => places.len() as u32,
        }
    }

    fn overlaps(&self, other: &Members, slots_per_node: u32) -> Option<RankAt> {
        let inside =
            |places: &[RankAt], m: &Members| places.iter().copied().find(|p| m.position(*p, slots_per_node).is_some());
        match (self, other) {
            (Members::Places(places), m) | (m, Members::Places(places)) => inside(places, m),
            (
                Members::Block { first_node: a, nodes: n, first_slot: s, slots: k },
                Members::Block { first_node: b, nodes: m, first_slot: t, slots: l },
            ) => {
                // The first place that both can claim.
                let (node, slot) = (*a.max(b), *s.max(t));
                let nodes_meet = node < (a + n).min(b + m);
                let slots_meet = slot < k.map_or(slots_per_node, |k| s + k).min(l.map_or(slots_per_node, |l| t + l));
                (nodes_meet && slots_meet).then_some(RankAt { node, slot })
            }
        }
    }
}

/// A plan that cannot be run.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum PlanError {
    /// Not even once.
    #[error("`placements` is 0; there is at least one")]
    NoPlacement,
    /// Nothing to do.
    #[error("phase `{0}` has no measured job; give one job the role `measured`")]
    NothingMeasured(String),
    /// Two things with one name.
    #[error("{0} is named twice; names must be unique")]
    Twice(String),
    /// More than there is.
    #[error(
        "job `{job}` of phase `{phase}` reaches node {node} slot {slot}, but there are {nodes} nodes with up to {slots} ranks"
    )]
    OutOfReach {
        /// Phase.
        phase: String,
        /// Job.
        job: String,
        /// Highest node named.
        node: u32,
        /// Highest slot named.
        slot: u32,
        /// Nodes there are.
        nodes: u32,
        /// Slots there are.
        slots: u32,
    },
    /// A rank in two jobs.
    #[error(
        "jobs `{a}` and `{b}` of phase `{phase}` both claim node {node} slot {slot}; a rank runs one job at a time"
    )]
    Overlap {
        /// Phase.
        phase: String,
        /// One job.
        a: String,
        /// The other.
        b: String,
        /// Shared node.
        node: u32,
        /// Shared slot.
        slot: u32,
    },
    /// A number that makes no sense.
    #[error("job `{job}` of phase `{phase}`: {what}")]
    Senseless {
        /// Phase.
        phase: String,
        /// Job.
        job: String,
        /// What is wrong and how to mend it.
        what: String,
    },
}

impl Plan {
    /// Phases on nodes in some order.
    pub fn new(suite: &str, seed: u64, node_order: NodeOrder, payload: Payload, phases: Vec<Phase>) -> Plan {
        let (notes, missing) = (Vec::new(), Vec::new());
        let suite = suite.into();
        Plan { suite, seed, node_order, payload, phases, placements: 1, sweep: false, ejection: None, notes, missing }
    }

    /// Checks everything that can be checked without a kernel table, against a layout of `nodes` with at most `slots` ranks each.
    pub fn check(&self, nodes: u32, slots: u32) -> Result<(), PlanError> {
        if self.placements == 0 {
            return Err(PlanError::NoPlacement);
        }
        for (i, phase) in self.phases.iter().enumerate() {
            if self.phases[..i].iter().any(|p| p.name == phase.name) {
                return Err(PlanError::Twice(format!("phase `{}`", phase.name)));
            }
            // Load without a measurement is a phase of its own kind; everywhere else it is a mistake.
            if phase.about.measures() && !phase.jobs.iter().any(|j| j.role == Role::Measured) {
                return Err(PlanError::NothingMeasured(phase.name.clone()));
            }
            for (k, job) in phase.jobs.iter().enumerate() {
                job.check(&phase.name, nodes, slots)?;
                for other in &phase.jobs[..k] {
                    if other.name == job.name {
                        return Err(PlanError::Twice(format!("job `{}` of phase `{}`", job.name, phase.name)));
                    }
                    if let Some(RankAt { node, slot }) = job.members.overlaps(&other.members, slots) {
                        let (a, b) = (other.name.clone(), job.name.clone());
                        return Err(PlanError::Overlap { phase: phase.name.clone(), a, b, node, slot });
                    }
                }
            }
        }
        Ok(())
    }
}

impl Job {
    fn check(&self, phase: &str, nodes: u32, slots: u32) -> Result<(), PlanError> {
        let (phase, job) = (phase.to_string(), self.name.clone());
        let (node, slot) = self.members.reach();
        if node >= nodes || slot >= slots {
            return Err(PlanError::OutOfReach { phase, job, node, slot, nodes, slots });
        }
        let what = match &self.stop {
            _ if self.members.count() == 0 => "it has no members",
            Stop { steps: 0, .. } => "`steps` is 0; a block needs at least one timed step",
            Stop { blocks: 0, .. } => "`blocks` is 0; at least one block must run",
            Stop { arrangements: 0, .. } => "`arrangements` is 0; there is at least one",
            Stop { time_s: Some(t), .. } if t.is_nan() || *t <= 0.0 => "`time_s` must be above 0",
            Stop { precision: Some(p), .. } if p.is_nan() || *p <= 0.0 || *p >= 1.0 => {
                "`precision` must be between 0 and 1, e.g. 0.05 for 5 %"
            }
            Stop { pulse: Some(p), .. }
                if !(p.on_s > 0.0 && p.off_s >= 0.0 && p.on_s.is_finite() && p.off_s.is_finite()) =>
            {
                "`pulse` needs an `on_s` above 0 and an `off_s` of at least 0"
            }
            _ => return Ok(()),
        };
        Err(PlanError::Senseless { phase, job, what: what.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(first_node: u32, nodes: u32) -> Members {
        Members::Block { first_node, nodes, first_slot: 0, slots: None }
    }

    fn job(name: &str, role: Role, members: Members) -> Job {
        Job {
            name: name.into(),
            kernel: "null".into(),
            params: Params::new(),
            role,
            members,
            instances: Instances::Slot,
            stop: Stop::ONCE,
        }
    }

    fn plan(jobs: Vec<Job>) -> Plan {
        let phases = vec![Phase::new(About::Alone { test: "one".into() }, jobs)];
        Plan::new("test", 1, NodeOrder::Shuffled, Payload::Checked, phases)
    }

    #[test]
    fn members_are_ordered_by_node_then_slot() {
        let m = Members::Block { first_node: 2, nodes: 2, first_slot: 1, slots: Some(1) };
        assert_eq!(m.position(RankAt { node: 3, slot: 1 }, 4), Some(4));
        assert_eq!(m.position(RankAt { node: 3, slot: 2 }, 4), None);
        assert_eq!(m.position(RankAt { node: 4, slot: 1 }, 4), None);
    }

    #[test]
    fn impossible_plans_are_refused_by_name() {
        let text = |jobs| plan(jobs).check(4, 2).unwrap_err().to_string();
        let measured = || job("a", Role::Measured, block(0, 2));
        assert_eq!(plan(vec![measured(), job("b", Role::Background, block(2, 2))]).check(4, 2), Ok(()));
        assert!(text(vec![job("b", Role::Background, block(2, 2))]).contains("no measured job"));
        assert!(text(vec![measured(), job("b", Role::Background, block(1, 2))]).contains("both claim node 1 slot 0"));
        assert!(text(vec![job("a", Role::Measured, block(0, 5))]).contains("reaches node 4"));
        assert!(text(vec![measured(), job("a", Role::Background, block(2, 2))]).contains("named twice"));
        let mut zero = measured();
        zero.stop.steps = 0;
        assert!(text(vec![zero]).contains("`steps` is 0"));
        let split = |first_slot| Members::Block { first_node: 0, nodes: 4, first_slot, slots: Some(1) };
        assert_eq!(
            plan(vec![job("a", Role::Measured, split(0)), job("b", Role::Background, split(1))]).check(4, 2),
            Ok(())
        );
    }
}
