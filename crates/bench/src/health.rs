//! What spoils a measurement and can be seen without measuring: hosts with more ranks than cores, ranks that wander, other programs,
//! clocks that jump, rates that no NIC carries. Facts are gathered once, by the survey of a site; every warning is a pure function of
//! them.

use crate::site::Scout;
use comm::{Comm, Reduce, Vector, agree};
use local::host;
use local::memory_limits::Memory;
use record::{Instances, JobRecord, Metric, Plan, Role, RunRecord};

/// What one rank sees of its host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vitals {
    /// Processors that it may run on.
    pub cpus: Vec<usize>,
    /// Seconds that this process computed while it was looked at.
    pub own_s: f64,
    /// Seconds that all processors of the host computed meanwhile; unknown where the system does not tell.
    pub busy_s: Option<f64>,
    /// How long that was.
    pub window_s: f64,
    /// Whether the frequency of the processors may change.
    pub unsteady: bool,
    /// What the NICs of the host can carry each way, in bytes per second, where that is known.
    pub nic: Option<f64>,
    /// What this process may use of the host's memory.
    pub memory: Memory,
}

/// What all hosts of a run have in common, or the worst of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// Ranks and cores of the host with the most ranks for each core.
    pub fullest: (u32, u32),
    /// Ranks that may run on more cores than are their share.
    pub wandering: u32,
    /// Ranks in all.
    pub ranks: u32,
    /// Hosts.
    pub hosts: u32,
    /// Cores that other programs kept busy, on the host where that was most.
    pub others: f64,
    /// Whether the frequency of some processor may change.
    pub unsteady: bool,
    /// What the NICs of every host can carry, in bytes per second.
    pub nic: Option<f64>,
    /// What the ranks of a host may use together, in bytes, where that is least.
    pub memory: Option<u64>,
}

/// Other programs that take less of the cores than this are the usual daemons.
const BUSY: f64 = 0.5;
/// A clock may be pulled by a thousandth when it is set right gradually; and so many seconds off are an uncertain reading.
const PULLED: f64 = 1e-3;
const UNCERTAIN_S: f64 = 0.02;
/// A rate this much above the NIC's is no rounding.
const ABOVE: f64 = 1.05;

/// Asks every rank and puts the answers together. Collective, and the same on every rank; nothing on a machine that has no hosts.
pub(crate) fn survey(world: &dyn Comm, scout: &dyn Scout) -> Option<Health> {
    if scout.simulated() {
        return None;
    }
    // All look at the same time: what one rank computes must not be taken for another program.
    world.barrier();
    let mine = scout.vitals();
    let here = world.split(Some(world.node() as u32), 0).expect("every rank joins its node");
    let all = together(&*here, &mine.cpus);
    let (ranks, cores) = (here.size() as u32, host::cores(&all).max(1) as u32);
    let share = cores.div_ceil(ranks) as usize;
    let wandering = ranks > 1 && ranks <= cores && host::cores(&mine.cpus) > share;
    let own = agree(&*here, mine.own_s, Reduce::Sum);
    let others = mine.busy_s.map_or(0.0, |busy| ((busy - own) / mine.window_s).max(0.0));
    let crowd = f64::from(ranks) / f64::from(cores);
    // The largest of a negative is the smallest: a host that does not know its NICs knows of none that carry anything.
    let memory = mine.memory.all(ranks.into()).map_or(f64::INFINITY, |bytes| bytes as f64);
    let mut most = [crowd, others, f64::from(u8::from(mine.unsteady)), -mine.nic.unwrap_or(0.0), -memory];
    world.settle(&mut most, Reduce::Max);
    let [crowded, others, unsteady, nic, memory] = most;
    let mut fullest = [if crowd == crowded { f64::from(ranks) } else { 0.0 }, world.node() as f64];
    world.settle(&mut fullest, Reduce::Max);
    let mut wanderers = [f64::from(u8::from(wandering))];
    world.settle(&mut wanderers, Reduce::Sum);
    Some(Health {
        fullest: (fullest[0] as u32, (fullest[0] / crowded).round() as u32),
        wandering: wanderers[0] as u32,
        ranks: world.size() as u32,
        hosts: fullest[1] as u32 + 1,
        others,
        unsteady: unsteady > 0.0,
        nic: Some(-nic).filter(|rate| *rate > 0.0),
        memory: memory.is_finite().then_some(-memory as u64),
    })
}

/// The processors that any rank of a host may run on.
fn together(here: &dyn Comm, cpus: &[usize]) -> Vec<usize> {
    let most = agree(here, cpus.iter().max().map_or(0.0, |c| *c as f64), Reduce::Max) as usize;
    let mut there = vec![0.0; most + 1];
    cpus.iter().for_each(|c| there[*c] = 1.0);
    here.allreduce(Vector::Values(&mut there), Reduce::Max);
    (0..).zip(there).filter(|(_, x)| *x > 0.0).map(|(cpu, _)| cpu).collect()
}

impl Health {
    /// What a reader must know before believing a number.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = Vec::new();
        let (ranks, cores) = self.fullest;
        if ranks > cores {
            all.push(format!(
                "a host has {ranks} ranks on {cores} cores: ranks wait for each other's cores, and times mean little; \
                 start at most {cores} there"
            ));
        }
        if self.wandering > 0 {
            all.push(format!(
                "{} of {} ranks are not bound to their share of the cores and may be moved while they measure; \
                 bind them (mpirun --bind-to core, srun --cpu-bind=cores)",
                self.wandering, self.ranks
            ));
        }
        if self.others >= BUSY {
            all.push(format!(
                "before the run other programs kept {:.1} cores of a host busy; measure when they are gone",
                self.others
            ));
        }
        if self.unsteady {
            all.push(
                "processors may change their frequency (a governor other than `performance`): rates of computing may drift"
                    .into(),
            );
        }
        all
    }
}

/// Whether the clock of the day moved against the steady one by more than it may, over so many seconds of the latter.
pub fn clock_warning(elapsed_s: f64, moved_s: f64) -> Option<String> {
    (moved_s.abs() > UNCERTAIN_S + PULLED * elapsed_s).then(|| {
        format!("a host's clock was set by {moved_s:+.3} s during the run: dates and timeouts of other programs moved with it")
    })
}

/// Jobs whose rate is above what the NICs of a host carry, so that it cannot be one: data was still on its way, or stayed in memory.
pub fn too_fast(record: &RunRecord, nic: f64) -> Vec<String> {
    let mut all = Vec::new();
    for (phase, planned) in record.phases.iter().zip(&record.plan.phases) {
        for job in &phase.jobs {
            let crosses = planned.jobs.iter().any(|p| p.name == job.name && p.instances == Instances::Slot);
            let Some(rate) = node_rate(job, &record.plan).filter(|_| crosses) else { continue };
            if rate > nic * ABOVE {
                let mib = |x: f64| x / 1_048_576.0;
                all.push(format!(
                    "{}: {:.0} MiB/s of a node are more than its NICs carry ({:.0} MiB/s): part of the data was not yet sent, or \
                     stayed in memory",
                    phase.label(&job.name),
                    mib(rate),
                    mib(nic)
                ));
            }
        }
    }
    all
}

/// The rate that one host must have carried for a job's average; nothing of jobs that have none.
fn node_rate(job: &JobRecord, plan: &Plan) -> Option<f64> {
    if job.metric != Metric::Bandwidth || job.summary.samples == 0 {
        return None;
    }
    let planned = plan.phases.iter().flat_map(|p| &p.jobs).find(|p| p.name == job.name)?;
    let record::Members::Block { nodes, .. } = planned.members else { return None };
    let slots = f64::from(job.ranks) / f64::from(nodes.max(1));
    // All senders of an incast share the NICs of one host.
    let sharing = if job.incast { f64::from(job.ranks) - slots } else { slots };
    // Of a load what it moved in its time: the mean of the rates of its steps is more, because short steps have high rates.
    if job.role == Role::Background && job.elapsed_s > 0.0 {
        let all = job.bytes as f64 / job.elapsed_s;
        return Some(if job.incast { all } else { all * slots / f64::from(job.ranks) });
    }
    Some(job.summary.mean * sharing)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with a core for each rank, bound, and nobody else.
    fn well() -> Health {
        Health { fullest: (4, 8), ranks: 8, hosts: 2, nic: Some(1e9), ..Health::default() }
    }

    #[test]
    fn each_thing_that_spoils_a_measurement_is_said() {
        assert_eq!(well().warnings(), Vec::<String>::new());
        for (health, says) in [
            (Health { fullest: (4, 2), ..well() }, "4 ranks on 2 cores"),
            (Health { wandering: 3, ..well() }, "3 of 8 ranks are not bound"),
            (Health { others: 1.26, ..well() }, "1.3 cores"),
            (Health { unsteady: true, ..well() }, "frequency"),
        ] {
            let said = health.warnings();
            assert!(said.len() == 1 && said[0].contains(says), "{said:?}");
        }
        assert_eq!(Health { others: 0.3, fullest: (8, 8), ..well() }.warnings(), Vec::<String>::new());
    }

    #[test]
    fn a_clock_may_be_pulled_and_not_set() {
        assert_eq!(
            (clock_warning(10.0, 0.025), clock_warning(3600.0, 1.5), clock_warning(1.0, 0.0)),
            (None, None, None)
        );
        assert!(clock_warning(10.0, 1.0).unwrap().contains("+1.000 s"));
        assert!(clock_warning(10.0, -3600.0).unwrap().contains("-3600.000 s"));
    }
}
