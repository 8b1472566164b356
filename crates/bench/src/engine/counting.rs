//! Counters around a phase: read by one rank of each node, outside every timed region, and gathered up the world's tree.
//!
//! ```text
//! barrier | read | barrier | the phase | barrier | read | barrier | names up, chosen names down, values up
//! ```
//!
//! The barriers keep the traffic of start-up and of gathering out of the counts; a few messages of the barriers themselves are in.
//! A rank sends O(log N) messages. Counters that no node saw move are dropped; a node that did not see a kept one move counts as 0.

use super::groups::Groups;
use crate::counters::{Counters, Reading, growth};
use comm::{Buffer, Comm, Reduce, Vector, collectives};
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
        self.here.allreduce(Vector::Values(&mut mine), Reduce::Max);
        let jobs = (0..).zip(mine).filter(|(_, there)| *there > 0.0).map(|(job, _)| job).collect();
        self.world.barrier();
        let readings = self.read();
        self.mark(Some(&phase.name));
        self.world.barrier();
        Start { jobs, readings }
    }

    /// Reads after a phase; all nodes' growth on world rank 0. Collective.
    pub fn end(&self, phase: &Phase, start: Start) -> Vec<CounterRecord> {
        self.mark(None);
        let readings = self.read();
        self.world.barrier();
        let mut growth = growth(&start.readings, &readings);
        growth.retain(|(_, grown)| *grown > 0);
        let counted = (self.here.rank() == 0).then_some(NodeGrowth { jobs: start.jobs, growth });
        gather(self.world, phase, counted.as_ref())
    }
}

fn gather(world: &dyn Comm, phase: &Phase, counted: Option<&NodeGrowth>) -> Vec<CounterRecord> {
    let names = choose(world, counted);
    if names.is_empty() {
        return Vec::new();
    }
    let mine = counted.map(|c| row(c, &names)).unwrap_or_default();
    let mut join = |mut a: Vec<u8>, b: Vec<u8>| {
        a.extend_from_slice(&b);
        a
    };
    match collectives::fold(world, mine, &mut join) {
        Some(rows) => records(&rows, &names, phase),
        None => Vec::new(),
    }
}

/// The names to keep, the same on every rank: those that most nodes saw move, in the order of the sources.
fn choose(world: &dyn Comm, counted: Option<&NodeGrowth>) -> Vec<String> {
    let mine: Vec<(&str, u64)> =
        counted.iter().flat_map(|c| &c.growth).map(|(name, _)| (name.as_str(), 1)).take(NAMES).collect();
    let mut merge = |a: Vec<u8>, b: Vec<u8>| {
        let mut names = read_names(&a);
        let place: BTreeMap<&str, usize> = names.iter().enumerate().map(|(i, (name, _))| (*name, i)).collect();
        let others = read_names(&b);
        let mut new = Vec::new();
        let mut more = vec![0; names.len()];
        for (name, nodes) in others {
            match place.get(name) {
                Some(i) => more[*i] += nodes,
                None => new.push((name, nodes)),
            }
        }
        names.iter_mut().zip(more).for_each(|((_, nodes), more)| *nodes += more);
        names.extend(new);
        write_names(&most(names, NAMES))
    };
    let chosen = collectives::fold(world, write_names(&mine), &mut merge);
    let chosen = chosen.map(|bytes| write_names(&most(read_names(&bytes), KEPT)));
    read_names(&tell(world, chosen)).into_iter().map(|(name, _)| name.to_string()).collect()
}

/// The `keep` entries with the largest numbers, in the order they had.
fn most(names: Vec<(&str, u64)>, keep: usize) -> Vec<(&str, u64)> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|i| (std::cmp::Reverse(names[*i].1), *i));
    order.truncate(keep);
    order.sort_unstable();
    order.into_iter().map(|i| names[i]).collect()
}

/// Rank 0's bytes reach everyone; only rank 0 knows how many they are.
fn tell(world: &dyn Comm, bytes: Option<Vec<u8>>) -> Vec<u8> {
    let mut length = bytes.as_ref().map_or(0, |b| b.len() as u64).to_le_bytes();
    world.bcast(0, Buffer::Bytes(&mut length));
    let mut bytes = bytes.unwrap_or_else(|| vec![0; u64::from_le_bytes(length) as usize]);
    if !bytes.is_empty() {
        world.bcast(0, Buffer::Bytes(&mut bytes));
    }
    bytes
}

/// Names with numbers as lines of text; the kernel's names hold no line breaks.
fn write_names(names: &[(&str, u64)]) -> Vec<u8> {
    names.iter().map(|(name, number)| format!("{number} {name}\n")).collect::<String>().into_bytes()
}

fn read_names(bytes: &[u8]) -> Vec<(&str, u64)> {
    let text = std::str::from_utf8(bytes).expect("names are text");
    let line = |line| str::split_once(line, ' ').and_then(|(number, name)| Some((name, number.parse().ok()?)));
    text.lines().map(|l| line(l).expect("written by this program")).collect()
}

/// A node's row: how many jobs, which, and one value for each name.
fn row(counted: &NodeGrowth, names: &[String]) -> Vec<u8> {
    let grown: BTreeMap<&str, u64> = counted.growth.iter().map(|(name, x)| (name.as_str(), *x)).collect();
    let jobs = std::iter::once(counted.jobs.len() as u64).chain(counted.jobs.iter().map(|j| u64::from(*j)));
    let values = names.iter().map(|name| grown.get(name.as_str()).copied().unwrap_or(0));
    jobs.chain(values).flat_map(u64::to_le_bytes).collect()
}

/// One record for each counter and set of jobs that nodes ran: `idle` for none, `a+b` for two on one node.
fn records(rows: &[u8], names: &[String], phase: &Phase) -> Vec<CounterRecord> {
    let mut numbers = rows.chunks_exact(8).map(|c| u64::from_le_bytes(c.try_into().expect("eight bytes")));
    let mut nodes: BTreeMap<Vec<u64>, Vec<Vec<u64>>> = BTreeMap::new();
    while let Some(jobs) = numbers.next() {
        let jobs: Vec<u64> = numbers.by_ref().take(jobs as usize).collect();
        let columns = nodes.entry(jobs).or_insert_with(|| vec![Vec::new(); names.len()]);
        columns.iter_mut().zip(numbers.by_ref().take(names.len())).for_each(|(column, x)| column.push(x));
    }
    let label = |jobs: &[u64]| match jobs {
        [] => "idle".to_string(),
        jobs => jobs.iter().map(|j| phase.jobs[*j as usize].name.as_str()).collect::<Vec<_>>().join("+"),
    };
    let mut records = Vec::new();
    for (i, name) in names.iter().enumerate() {
        for (jobs, columns) in &mut nodes {
            let mut per_node = std::mem::take(&mut columns[i]);
            per_node.sort_unstable();
            records.push(CounterRecord { name: name.clone(), job: label(jobs), per_node });
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_most_nodes_saw_are_kept_in_their_order() {
        let names = vec![("a", 1), ("b", 5), ("c", 2), ("d", 5)];
        assert_eq!(most(names.clone(), 2), [("b", 5), ("d", 5)]);
        assert_eq!(most(names.clone(), 3), [("b", 5), ("c", 2), ("d", 5)]);
        assert_eq!(read_names(&write_names(&names)), names);
    }
}
