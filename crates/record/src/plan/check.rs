//! Whether a plan can be run: what can be told without a table of kernels. Linear in the plan but for sorting, and no number in a plan,
//! whatever it is, makes it panic: plans come from files.

use super::{Job, Members, NodeOrder, Phase, Plan, RankAt, Role, Stop};
use spec::units::LONGEST_S;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Placements of a plan at most: each has a record of its own.
pub const MOST_PLACEMENTS: u32 = 100_000;

/// Phases of a plan at most, and jobs of all of them. Whoever makes a plan counts first: see [`Plan::may_have`].
pub const MOST_PHASES: usize = 200_000;
const MOST_JOBS: usize = 2_000_000;

/// A plan that cannot be run.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum PlanError {
    /// Not even once, or for ever.
    #[error("`placements` is {0}; choose 1 to {MOST_PLACEMENTS}")]
    Placements(u32),
    /// More than anyone waits for.
    #[error(
        "{0} phases are too many for a plan; at most {MOST_PHASES}: ask for fewer repetitions, sizes or combinations"
    )]
    Phases(u64),
    /// The same of all phases together.
    #[error("{0} jobs in all phases are too many for a plan; at most {MOST_JOBS}: ask for fewer repetitions or flows")]
    Jobs(u64),
    /// An order by a list needs one, and a list the order.
    #[error(
        "`canary_nodes` has {0} names and the node order is {1}; a list goes with the order `listed`, and that with a list of some nodes"
    )]
    Listed(usize, &'static str),
    /// A rate that is none.
    #[error("`ejection` is {0}; it is a rate in bytes per second, above 0")]
    Ejection(f64),
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
        node: u64,
        /// Highest slot named.
        slot: u64,
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
        node: u64,
        /// Shared slot.
        slot: u64,
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
    /// Whether a plan may have so many phases, as factors, of so many jobs each.
    pub fn may_have(phases: &[usize], jobs: usize) -> Result<(), PlanError> {
        let phases = phases.iter().fold(1u64, |product, factor| product.saturating_mul(*factor as u64));
        match phases.saturating_mul(jobs as u64) {
            _ if phases > MOST_PHASES as u64 => Err(PlanError::Phases(phases)),
            all if all > MOST_JOBS as u64 => Err(PlanError::Jobs(all)),
            _ => Ok(()),
        }
    }

    /// Checks everything that can be checked without a kernel table, against a layout of `nodes` with at most `slots` ranks each.
    pub fn check(&self, nodes: u32, slots: u32) -> Result<(), PlanError> {
        if !(1..=MOST_PLACEMENTS).contains(&self.placements) {
            return Err(PlanError::Placements(self.placements));
        }
        Plan::may_have(&[self.phases.len()], 1)?;
        Plan::may_have(&[1], self.phases.iter().map(|p| p.jobs.len()).sum())?;
        let (listed, names) = (self.node_order == NodeOrder::Listed, self.canary_nodes.len());
        if listed != (names > 0) || names > nodes as usize {
            return Err(PlanError::Listed(names, if listed { "`listed`" } else { "another" }));
        }
        if let Some(name) = twice(self.canary_nodes.iter()) {
            return Err(PlanError::Twice(format!("node `{name}` in `canary_nodes`")));
        }
        if let Some(rate) = self.ejection.filter(|r| !(r.is_finite() && *r > 0.0)) {
            return Err(PlanError::Ejection(rate));
        }
        if let Some(name) = twice(self.phases.iter().map(|p| &p.name)) {
            return Err(PlanError::Twice(format!("phase `{name}`")));
        }
        self.phases.iter().try_for_each(|phase| phase.check(nodes, slots))
    }
}

/// The first name that was there before.
fn twice<'a>(mut names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = BTreeSet::new();
    names.find(|name| !seen.insert(*name))
}

impl Phase {
    fn check(&self, nodes: u32, slots: u32) -> Result<(), PlanError> {
        // Load without a measurement is a phase of its own kind; everywhere else it is a mistake.
        if self.about.measures() && !self.jobs.iter().any(|j| j.role == Role::Measured) {
            return Err(PlanError::NothingMeasured(self.name.clone()));
        }
        if let Some(name) = twice(self.jobs.iter().map(|j| &j.name)) {
            return Err(PlanError::Twice(format!("job `{name}` of phase `{}`", self.name)));
        }
        self.jobs.iter().try_for_each(|job| job.check(&self.name, nodes, slots))?;
        let Some((a, b, node, slot)) = clash(&self.jobs, slots) else { return Ok(()) };
        let (phase, name) = (self.name.clone(), |job: usize| self.jobs[job].name.clone());
        match a == b {
            true => {
                let what = format!("`places` names node {node} slot {slot} twice; each rank once");
                Err(PlanError::Senseless { phase, job: name(a), what })
            }
            false => Err(PlanError::Overlap { phase, a: name(a.min(b)), b: name(a.max(b)), node, slot }),
        }
    }
}

/// Ranks of one job: all slots of a range on all nodes of a range. In 64 bits, so that no end wraps.
struct Claim {
    job: usize,
    nodes: Range<u64>,
    slots: Range<u64>,
}

impl Members {
    /// What job number `job` claims with these members.
    fn claims(&self, job: usize, slots_per_node: u32) -> Vec<Claim> {
        let from = |first: u32, count: u32| u64::from(first)..u64::from(first) + u64::from(count);
        match self {
            Members::Block { first_node, nodes, first_slot, slots } => {
                let slots = slots.unwrap_or(slots_per_node.saturating_sub(*first_slot));
                vec![Claim { job, nodes: from(*first_node, *nodes), slots: from(*first_slot, slots) }]
            }
            Members::Places(places) => {
                let one = |p: &RankAt| Claim { job, nodes: from(p.node, 1), slots: from(p.slot, 1) };
                places.iter().map(one).collect()
            }
        }
    }

    /// The highest node place and slot named; none if there are no members.
    fn reach(&self) -> Option<(u64, u64)> {
        match self {
            Members::Block { nodes: 0, .. } | Members::Block { slots: Some(0), .. } => None,
            // All slots that there are cannot be out of reach, so only the first must exist.
            Members::Block { first_node, nodes, first_slot, slots } => {
                let last = |first: u32, count: u32| u64::from(first) + u64::from(count) - 1;
                Some((last(*first_node, *nodes), last(*first_slot, slots.unwrap_or(1))))
            }
            Members::Places(places) => {
                let (node, slot) = (places.iter().map(|p| p.node).max(), places.iter().map(|p| p.slot).max());
                Some((node?.into(), slot?.into()))
            }
        }
    }
}

/// A rank that two jobs claim, or one twice: the jobs, its node and slot. Goes through the nodes in order and keeps the claims that hold
/// there by their slots; as long as none clash, a new one can only clash with its neighbours.
fn clash(jobs: &[Job], slots_per_node: u32) -> Option<(usize, usize, u64, u64)> {
    let of = |(k, job): (usize, &Job)| job.members.claims(k, slots_per_node);
    let claims: Vec<Claim> = jobs.iter().enumerate().flat_map(of).collect();
    // Ends sort before starts at one node, because a range excludes its end.
    let mut events: Vec<(u64, bool, usize)> = Vec::with_capacity(2 * claims.len());
    for (i, claim) in claims.iter().enumerate().filter(|(_, c)| !c.nodes.is_empty() && !c.slots.is_empty()) {
        events.extend([(claim.nodes.start, true, i), (claim.nodes.end, false, i)]);
    }
    events.sort_unstable();
    let mut here: BTreeMap<u64, usize> = BTreeMap::new();
    for (node, starts, i) in events {
        let Claim { job, slots, .. } = &claims[i];
        if !starts {
            here.remove(&slots.start);
            continue;
        }
        // The last that starts before this one's end is the only one that can reach into it.
        if let Some((_, &other)) = here.range(..slots.end).next_back()
            && claims[other].slots.end > slots.start
        {
            return Some((claims[other].job, *job, node, slots.start.max(claims[other].slots.start)));
        }
        here.insert(slots.start, i);
    }
    None
}

impl Job {
    fn check(&self, phase: &str, nodes: u32, slots: u32) -> Result<(), PlanError> {
        let (phase, job) = (phase.to_string(), self.name.clone());
        match self.members.reach() {
            Some((node, slot)) if node >= nodes.into() || slot >= slots.into() => {
                Err(PlanError::OutOfReach { phase, job, node, slot, nodes, slots })
            }
            Some(_) => self.stop.check().map_err(|what| PlanError::Senseless { phase, job, what }),
            None => Err(PlanError::Senseless { phase, job, what: "it has no members".into() }),
        }
    }
}

impl Stop {
    /// What is wrong with it, with the field, its value and the limit.
    fn check(&self) -> Result<(), String> {
        let time = |name: &str, value: f64, least: f64| match value >= least && value <= LONGEST_S {
            true => Ok(()),
            false => Err(format!("`{name}` is {value:?}; choose {least} to {LONGEST_S} seconds")),
        };
        match self {
            Stop { steps: 0, .. } => return Err("`steps` is 0; a block needs at least one timed step".into()),
            Stop { blocks: 0, .. } => return Err("`blocks` is 0; at least one block must run".into()),
            Stop { arrangements: 0, .. } => return Err("`arrangements` is 0; there is at least one".into()),
            Stop { precision: Some(p), .. } if !(*p > 0.0 && *p < 1.0) => {
                return Err(format!("`precision` is {p:?}; choose one between 0 and 1, e.g. 0.05 for 5 %"));
            }
            _ => {}
        }
        // A picosecond is the clock's unit: less would be none.
        self.time_s.map_or(Ok(()), |t| time("time_s", t, 1e-12))?;
        self.pulse.map_or(Ok(()), |p| time("pulse.on_s", p.on_s, 1e-12).and(time("pulse.off_s", p.off_s, 0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{About, Instances, NodeOrder, Payload, Pulse};
    use proptest::prelude::*;
    use spec::Params;

    fn block(first_node: u32, nodes: u32) -> Members {
        Members::Block { first_node, nodes, first_slot: 0, slots: None }
    }

    fn job(name: impl Into<String>, role: Role, members: Members) -> Job {
        let (name, kernel, stop) = (name.into(), "null".into(), Stop::ONCE);
        Job { name, kernel, params: Params::new(), role, members, instances: Instances::Slot, stop }
    }

    fn phase(name: String, jobs: Vec<Job>) -> Phase {
        Phase { name, ..Phase::new(About::Alone { test: "one".into() }, jobs) }
    }

    fn plan(jobs: Vec<Job>) -> Plan {
        Plan::new("test", 1, NodeOrder::Shuffled, Payload::Checked, vec![phase("one".into(), jobs)])
    }

    fn measured(members: Members) -> Job {
        job("a", Role::Measured, members)
    }

    fn refused(jobs: Vec<Job>) -> String {
        plan(jobs).check(4, 2).unwrap_err().to_string()
    }

    #[test]
    fn impossible_plans_are_refused_by_name() {
        let a = || measured(block(0, 2));
        assert_eq!(plan(vec![a(), job("b", Role::Background, block(2, 2))]).check(4, 2), Ok(()));
        assert!(refused(vec![job("b", Role::Background, block(2, 2))]).contains("no measured job"));
        assert!(refused(vec![a(), job("b", Role::Background, block(1, 2))]).contains("both claim node 1 slot 0"));
        assert!(refused(vec![measured(block(0, 5))]).contains("reaches node 4"));
        assert!(refused(vec![a(), job("a", Role::Background, block(2, 2))]).contains("named twice"));
        let split = |first_slot| Members::Block { first_node: 0, nodes: 4, first_slot, slots: Some(1) };
        assert_eq!(plan(vec![measured(split(0)), job("b", Role::Background, split(1))]).check(4, 2), Ok(()));
        let places =
            |list: &[(u32, u32)]| Members::Places(list.iter().map(|&(node, slot)| RankAt { node, slot }).collect());
        assert!(refused(vec![measured(places(&[(1, 1), (0, 0), (1, 1)]))]).contains("names node 1 slot 1 twice"));
        let both = refused(vec![measured(split(1)), job("b", Role::Background, places(&[(3, 0), (2, 1)]))]);
        assert_eq!(both, "jobs `a` and `b` of phase `one` both claim node 2 slot 1; a rank runs one job at a time");
        assert!(refused(vec![measured(places(&[]))]).contains("no members"));
    }

    #[test]
    fn ends_do_not_wrap() {
        assert!(refused(vec![measured(block(u32::MAX, 2))]).contains("reaches node 4294967296 slot 0"));
        let slots = Members::Block { first_node: 0, nodes: 1, first_slot: u32::MAX, slots: Some(u32::MAX) };
        assert!(refused(vec![measured(slots)]).contains("slot 8589934589"));
        let empty = Members::Block { first_node: 0, nodes: 1 << 16, first_slot: 0, slots: Some(0) };
        assert!(refused(vec![measured(empty)]).contains("no members"));
    }

    /// Each number, what is said of it, and a good one.
    #[test]
    fn numbers_are_refused_with_their_field_and_their_value() {
        let with = |change: &dyn Fn(&mut Stop)| {
            let mut a = measured(block(0, 2));
            change(&mut a.stop);
            plan(vec![a]).check(4, 2).map_err(|e| e.to_string())
        };
        let starts = |text: &str| format!("job `a` of phase `one`: {text}");
        type Change = fn(&mut Stop, f64);
        let cases: [(Change, &str, &[f64], f64); 7] = [
            (|s, x| s.steps = x as u32, "`steps` is 0;", &[0.0], 4e9),
            (|s, x| s.blocks = x as u64, "`blocks` is 0;", &[0.0], 1e19),
            (|s, x| s.arrangements = x as u32, "`arrangements` is 0;", &[0.0], 1.0),
            (|s, x| s.time_s = Some(x), "`time_s` is ", &[1e308, f64::NAN, -1.0, 0.0, f64::INFINITY, 1e-300], 1e7),
            (|s, x| s.precision = Some(x), "`precision` is ", &[0.0, 1.0, f64::NAN, -0.1], 0.05),
            (|s, x| s.pulse = Some(Pulse { on_s: x, off_s: 0.0 }), "`pulse.on_s` is ", &[0.0, 1e308, f64::NAN], 1.0),
            (|s, x| s.pulse = Some(Pulse { on_s: 1.0, off_s: x }), "`pulse.off_s` is ", &[-1.0, 1e308, f64::NAN], 0.0),
        ];
        for (change, text, bad, good) in cases {
            assert_eq!(with(&|s| change(s, good)), Ok(()), "{text}");
            for x in bad {
                let said = with(&|s| change(s, *x)).unwrap_err();
                assert!(said.starts_with(&starts(text)), "{said}");
                assert!(said.contains(&format!("is {x:?};")) || said.contains("is 0;"), "{said}");
            }
        }
        let of = |placements| Plan { placements, ..plan(vec![measured(block(0, 2))]) }.check(4, 2);
        assert_eq!(of(MOST_PLACEMENTS), Ok(()));
        for placements in [0, MOST_PLACEMENTS + 1, u32::MAX] {
            assert_eq!(of(placements), Err(PlanError::Placements(placements)));
        }
        let of = |rate| Plan { ejection: Some(rate), ..plan(vec![measured(block(0, 2))]) }.check(4, 2);
        assert_eq!(of(1e9), Ok(()));
        assert_eq!([0.0, -1.0, f64::INFINITY].map(|r| of(r).is_err()), [true; 3]);
    }

    /// Quadratic, either of these would take minutes.
    #[test]
    fn long_plans_are_checked_in_one_pass() {
        let many = MOST_PHASES as u32;
        let one = |i: u32| phase(format!("phase {i}"), vec![measured(block(0, 2))]);
        let mut long = plan(vec![]);
        long.phases = (0..many).map(one).collect();
        assert_eq!(long.check(4, 2), Ok(()));
        long.phases[many as usize - 1].name = "phase 0".into();
        assert_eq!(long.check(4, 2), Err(PlanError::Twice("phase `phase 0`".into())));
        long.phases.push(one(many));
        assert_eq!(long.check(4, 2), Err(PlanError::Phases(MOST_PHASES as u64 + 1)));
        assert_eq!(Plan::may_have(&[2, MOST_PHASES / 2], 10), Ok(()));
        assert_eq!(Plan::may_have(&[3, MOST_PHASES / 2], 1), Err(PlanError::Phases(300_000)));
        assert_eq!(Plan::may_have(&[2, MOST_PHASES / 2], 11), Err(PlanError::Jobs(2_200_000)));
        assert_eq!(Plan::may_have(&[usize::MAX, 2], usize::MAX), Err(PlanError::Phases(u64::MAX)));
        let jobs = |last: u32| {
            let node = move |i: u32| if i + 1 == many { last } else { i };
            (0..many).map(move |i| job(format!("job {i}"), Role::Measured, block(node(i), 1)))
        };
        assert_eq!(plan(jobs(many - 1).collect()).check(many, 1), Ok(()));
        assert!(matches!(plan(jobs(7).collect()).check(many, 1), Err(PlanError::Overlap { node: 7, .. })));
        let places = Members::Places((0..many).map(|node| RankAt { node, slot: 0 }).collect());
        assert_eq!(plan(vec![measured(places)]).check(many, 1), Ok(()));
    }

    fn numbers() -> impl Strategy<Value = u32> {
        prop_oneof![0..5u32, any::<u32>(), Just(u32::MAX), Just(u32::MAX - 1)]
    }

    fn members() -> impl Strategy<Value = Members> {
        let block = (numbers(), numbers(), numbers(), proptest::option::of(numbers()));
        let block = block.prop_map(|(first_node, nodes, first_slot, slots)| Members::Block {
            first_node,
            nodes,
            first_slot,
            slots,
        });
        let places = proptest::collection::vec((numbers(), numbers()), 0..4);
        let places = places
            .prop_map(|list| Members::Places(list.into_iter().map(|(node, slot)| RankAt { node, slot }).collect()));
        prop_oneof![block, places]
    }

    proptest! {
        #[test]
        fn no_number_makes_it_panic(
            jobs in proptest::collection::vec((members(), numbers(), numbers(), any::<u64>(), any::<f64>(), any::<f64>()), 0..5),
            (placements, nodes, slots) in (numbers(), numbers(), numbers()),
            rate in proptest::option::of(any::<f64>()),
        ) {
            let make = |(i, (members, steps, arrangements, blocks, x, y)): (usize, (Members, u32, u32, u64, f64, f64))| {
                let pulse = Some(Pulse { on_s: x, off_s: y });
                let stop = Stop { steps, arrangements, blocks, time_s: Some(x), precision: Some(y), pulse, ..Stop::ONCE };
                Job { stop, ..job(format!("{i}"), Role::Measured, members) }
            };
            let made = plan(jobs.into_iter().enumerate().map(make).collect());
            let _ = Plan { placements, ejection: rate, ..made }.check(nodes, slots);
        }

        /// The sweep finds a shared rank if and only if asking every rank of every job does.
        #[test]
        fn a_shared_rank_is_found(
            list in proptest::collection::vec((0..4u32, 1..4u32, 0..4u32, proptest::option::of(1..4u32), any::<bool>()), 1..5),
        ) {
            let make = |(i, &(node, nodes, slot, slots, as_places)): (usize, &(u32, u32, u32, Option<u32>, bool))| {
                let block = Members::Block { first_node: node, nodes, first_slot: slot, slots };
                let all = (0..8).flat_map(|node| (0..8).map(move |slot| RankAt { node, slot }));
                let places = Members::Places(all.filter(|p| block.position(*p, 8).is_some()).collect());
                job(format!("{i}"), Role::Measured, if as_places { places } else { block })
            };
            let jobs: Vec<Job> = list.iter().enumerate().map(make).collect();
            let claimed = |place: RankAt| jobs.iter().filter(|j| j.members.position(place, 8).is_some()).count();
            let shared = (0..8).flat_map(|node| (0..8).map(move |slot| RankAt { node, slot })).any(|p| claimed(p) > 1);
            prop_assert_eq!(plan(jobs).check(8, 8).is_err(), shared);
        }
    }
}
