//! Counters around a phase: read by one rank of each node, outside every timed region, and gathered up the world's tree.
//!
//! ```text
//! barrier | read | barrier | the phase | barrier | read | barrier | names up, chosen names down, values up
//! ```
//!
//! The barriers keep the traffic of start-up and of gathering out of the counts; a few messages of the barriers themselves are in.
//! A rank sends O(log N) messages. Counters that no node saw move are dropped; a node that did not see a kept one move counts as 0.

use super::groups::Groups;
use super::wire;
use crate::counters::{Counters, Reading, growth};
use comm::{Comm, Reduce, Vector};
use record::{CounterRecord, Phase};
use std::collections::BTreeMap;

/// So many counters are kept for a phase: those that most nodes saw move.
const KEPT: usize = 200;
/// So many names travel while they are counted. Nodes of one system share nearly all names, so this is not reached in practice.
const NAMES: usize = 4096;

/// Who reads, decided once.
pub(super) struct Counting<'w> {
    counters: &'w Counters,
    world: &'w dyn Comm,
    /// The ranks of this node; the first one reads.
    here: Box<dyn Comm + 'w>,
}

/// What one node knew at the start of a phase.
pub(super) struct Start {
    /// The jobs of the phase that this node takes part in, by index.
    jobs: Vec<u32>,
    readings: Vec<Reading>,
}

/// What one node counted in a phase.
struct NodeGrowth {
    /// The node, as the machine numbers them.
    node: u32,
    jobs: Vec<u32>,
    growth: Vec<(String, u64)>,
}

impl<'w> Counting<'w> {
    /// Finds the ranks of each node, whatever counts as a node in the plan. Collective; nothing without counters.
    pub fn new(world: &'w dyn Comm, counters: &'w Counters) -> Option<Counting<'w>> {
        if *counters == Counters::Off {
            return None;
        }
        let here = world.split(Some(world.node() as u32), world.rank() as u32).expect("every rank is on a node");
        Some(Counting { counters, world, here })
    }

    fn read(&self) -> Vec<Reading> {
        if self.here.rank() == 0 { self.counters.read(self.world) } else { Vec::new() }
    }

    fn mark(&self, phase: Option<&str>) {
        if self.world.rank() == 0 {
            self.world.mark(phase);
        }
    }

    /// Reads before a phase. Collective.
    pub fn start(&self, phase: &Phase, groups: &Groups<'_>) -> Start {
        let mut mine = vec![0.0; phase.jobs.len()];
        if let Some(part) = &groups.mine {
            mine[part.job] = 1.0;
        }
        // Before the barrier, so that this traffic is over when the counters are read.
        self.here.allreduce(Vector::Values(&mut mine), Reduce::Max);
        let jobs = (0..).zip(mine).filter(|(_, there)| *there > 0.0).map(|(job, _)| job).collect();
        self.world.barrier();
        let readings = self.read();
        self.mark(Some(&phase.name));
        self.world.barrier();
        Start { jobs, readings }
    }

    /// Reads after a phase; all nodes' growth on world rank 0. Collective.
    pub fn end(&self, phase: &Phase, start: Start) -> Counted {
        // The barrier before this reading is the one that ends the phase.
        self.mark(None);
        let readings = self.read();
        self.world.barrier();
        let mut growth = growth(&start.readings, &readings);
        // What did not move here does not travel; `row` fills it in as 0.
        growth.retain(|(_, grown)| *grown > 0);
        let counted =
            (self.here.rank() == 0).then_some(NodeGrowth { node: self.world.node() as u32, jobs: start.jobs, growth });
        gather(self.world, phase, counted.as_ref())
    }
}

/// Which nodes ran each job, and how their counters grew.
#[derive(Default)]
pub(super) struct Counted {
    pub nodes: BTreeMap<String, Vec<u32>>,
    pub counters: Vec<CounterRecord>,
}

/// A node, the jobs it took part in, and its values of the chosen names.
type Row = (u32, Vec<u32>, Vec<u64>);

fn gather(world: &dyn Comm, phase: &Phase, counted: Option<&NodeGrowth>) -> Counted {
    let names = choose(world, counted);
    // Every rank has been told the same names, so all of them leave here or none.
    if names.is_empty() {
        return Counted::default();
    }
    let rows = wire::gather(world, counted.map(|c| row(c, &names)).as_ref());
    rows.map(|rows| records(rows, &names, phase)).unwrap_or_default()
}

/// The names to keep, the same on every rank: those that most nodes saw move, in the order of the sources.
fn choose(world: &dyn Comm, counted: Option<&NodeGrowth>) -> Vec<String> {
    let mine: Vec<(&str, u64)> =
        counted.iter().flat_map(|c| &c.growth).map(|(name, _)| (name.as_str(), 1)).take(NAMES).collect();
    // Cut at every merge: messages near the root of the tree are bounded, too.
    let all = wire::fold(world, &mine, |all, more| most(add(all, more), NAMES));
    let chosen = all.map(|all| most(all, KEPT).into_iter().map(|(name, _)| name).collect());
    wire::tell(world, chosen.as_ref())
}

/// Both counts together, new names after the known ones.
fn add(mut all: Vec<(String, u64)>, more: Vec<(String, u64)>) -> Vec<(String, u64)> {
    let place: BTreeMap<&str, usize> = all.iter().enumerate().map(|(i, (name, _))| (name.as_str(), i)).collect();
    let (mut grown, mut new) = (vec![0; all.len()], Vec::new());
    for (name, nodes) in more {
        match place.get(name.as_str()) {
            Some(i) => grown[*i] += nodes,
            None => new.push((name, nodes)),
        }
    }
    all.iter_mut().zip(grown).for_each(|((_, nodes), more)| *nodes += more);
    all.extend(new);
    all
}

/// The `keep` entries with the largest numbers, in the order they had.
fn most(mut names: Vec<(String, u64)>, keep: usize) -> Vec<(String, u64)> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    // The position breaks ties, so the earlier source wins.
    order.sort_by_key(|i| (std::cmp::Reverse(names[*i].1), *i));
    order.truncate(keep);
    order.sort_unstable();
    order.into_iter().map(|i| std::mem::take(&mut names[i])).collect()
}

fn row(counted: &NodeGrowth, names: &[String]) -> Row {
    let grown: BTreeMap<&str, u64> = counted.growth.iter().map(|(name, x)| (name.as_str(), *x)).collect();
    (
        counted.node,
        counted.jobs.clone(),
        names.iter().map(|name| grown.get(name.as_str()).copied().unwrap_or(0)).collect(),
    )
}

/// Nodes that ran the same jobs, and their values of each name.
type Columns = (Vec<u32>, Vec<Vec<u64>>);

/// One record for each counter and set of jobs that nodes ran: `idle` for none, `a+b` for two on one node.
fn records(mut rows: Vec<Row>, names: &[String], phase: &Phase) -> Counted {
    // The order in which they came depends on the tree.
    rows.sort_unstable();
    let mut sets: BTreeMap<Vec<u32>, Columns> = BTreeMap::new();
    for (node, jobs, values) in rows {
        let (nodes, columns) = sets.entry(jobs).or_insert_with(|| (Vec::new(), vec![Vec::new(); names.len()]));
        nodes.push(node);
        columns.iter_mut().zip(values).for_each(|(column, x)| column.push(x));
    }
    let label = |jobs: &[u32]| match jobs {
        [] => "idle".to_string(),
        jobs => jobs.iter().map(|j| phase.jobs[*j as usize].name.as_str()).collect::<Vec<_>>().join("+"),
    };
    let mut counted = Counted::default();
    for (i, name) in names.iter().enumerate() {
        for (jobs, (_, columns)) in &mut sets {
            let per_node = std::mem::take(&mut columns[i]);
            counted.counters.push(CounterRecord { name: name.clone(), job: label(jobs), per_node });
        }
    }
    counted.nodes = sets.into_iter().map(|(jobs, (nodes, _))| (label(&jobs), nodes)).collect();
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[(&str, u64)]) -> Vec<(String, u64)> {
        list.iter().map(|(name, nodes)| (name.to_string(), *nodes)).collect()
    }

    /// Whatever the order in which they come.
    #[test]
    fn every_value_keeps_its_node() {
        let job = |name: &str| record::Job {
            name: name.into(),
            kernel: "null".into(),
            params: spec::Params::new(),
            role: record::Role::Measured,
            members: record::Members::Places(Vec::new()),
            instances: record::Instances::Job,
            stop: record::Stop::ONCE,
        };
        let phase = Phase::new(record::About::Load, vec![job("a"), job("b")]);
        let rows = vec![(7, vec![0], vec![5]), (2, vec![1], vec![1]), (3, vec![0], vec![9]), (4, vec![], vec![0])];
        let counted = records(rows, &["x".to_string()], &phase);
        let nodes = |job: &str| counted.nodes[job].clone();
        assert_eq!((nodes("a"), nodes("b"), nodes("idle")), (vec![3, 7], vec![2], vec![4]));
        assert_eq!(counted.counters.iter().find(|c| c.job == "a").unwrap().per_node, [9, 5]);
    }

    #[test]
    fn names_that_most_nodes_saw_are_kept_in_their_order() {
        let all = names(&[("a", 1), ("b", 5), ("c", 2), ("d", 5)]);
        assert_eq!(most(all.clone(), 2), names(&[("b", 5), ("d", 5)]));
        assert_eq!(most(all.clone(), 3), names(&[("b", 5), ("c", 2), ("d", 5)]));
        assert_eq!(add(all, names(&[("e", 1), ("c", 4)])), names(&[("a", 1), ("b", 5), ("c", 6), ("d", 5), ("e", 1)]));
    }
}
