//! Who runs which job with whom, and how measured and background jobs signal each other.

use super::Run;
use comm::collectives::FIRST_FREE_TAG;
use comm::{Comm, Op, Pending, Rank, Reduce, Set, Tag, Vector};
use record::{Instances, Members, Phase, Role};

/// "My job is warm": from the leader of each background job to the leader of each measured one.
const WARM: Tag = FIRST_FREE_TAG;
/// "I have measured": the other way round.
const STOP: Tag = FIRST_FREE_TAG + 1;

/// The ranks of a phase, divided.
pub(super) struct Groups<'w> {
    placement: u32,
    key: Vec<(Members, Instances, Role)>,
    /// What this rank takes part in, if anything.
    pub mine: Option<Part<'w>>,
    /// World rank of each job's leader, where the job has any member.
    leaders: Vec<Option<Rank>>,
    roles: Vec<Role>,
}

/// One rank's part in a phase.
pub(super) struct Part<'w> {
    /// Index of the job in the phase.
    pub job: usize,
    /// All ranks of the job.
    pub group: Box<dyn Comm + 'w>,
    /// The ranks that run the kernel together.
    pub instance: Box<dyn Comm + 'w>,
    /// Number of the instance in the job.
    pub number: u32,
}

impl Part<'_> {
    /// Whether this rank speaks for its job.
    pub fn leads(&self) -> bool {
        leads(&*self.group)
    }
}

/// The last rank of a job leads it: the first is the one that everybody sends to in an incast, where a word to stop would be long on its way.
fn leads(group: &dyn Comm) -> bool {
    group.rank() + 1 == group.size()
}

fn key(phase: &Phase) -> Vec<(Members, Instances, Role)> {
    phase.jobs.iter().map(|j| (j.members.clone(), j.instances, j.role)).collect()
}

impl<'w> Groups<'w> {
    /// Divides the world for a phase. Collective.
    pub fn divide(run: &Run<'w>, phase: &Phase) -> Groups<'w> {
        let slots = run.seat.layout.max_ranks_per_node;
        let place = run.seat.place(run.world, run.node_order, run.seed);
        // The first is the only one: a plan with a rank in two jobs is refused.
        let found =
            phase.jobs.iter().enumerate().find_map(|(i, job)| job.members.position(place, slots).map(|p| (i, p)));
        let position = found.map_or(0, |(_, p)| p);
        let group = run.world.split(found.map(|(job, _)| job as u32), position);
        let number = found.map(|(job, position)| match phase.jobs[job].instances {
            Instances::Slot => place.slot,
            Instances::Job => 0,
            Instances::Rank => position,
        });
        // Instances of different jobs must differ in color: jobs are few, so the remainder identifies the job.
        let color = found.zip(number).map(|((job, _), number)| number * phase.jobs.len() as u32 + job as u32);
        let instance = run.world.split(color, position);
        let leads = group.as_ref().is_some_and(|g| leads(&**g));
        // Every rank is larger than -1, so the largest is the leader, or nobody where a job has no member.
        let mut leaders = vec![-1.0; phase.jobs.len()];
        if let (Some((job, _)), true) = (found, leads) {
            leaders[job] = run.world.rank() as f64;
        }
        run.world.allreduce(Vector::Values(&mut leaders), Reduce::Max);
        let mine = match (found, group, instance, number) {
            (Some((job, _)), Some(group), Some(instance), Some(number)) => Some(Part { job, group, instance, number }),
            _ => None,
        };
        let leaders = leaders.into_iter().map(|r| (r >= 0.0).then_some(r as Rank)).collect();
        Groups {
            placement: run.placement,
            key: key(phase),
            mine,
            leaders,
            roles: phase.jobs.iter().map(|j| j.role).collect(),
        }
    }

    /// Whether another phase has the same division.
    pub fn fit(&self, placement: u32, phase: &Phase) -> bool {
        self.placement == placement && self.key == key(phase)
    }

    fn leaders(&self, role: Role) -> impl Iterator<Item = Rank> + '_ {
        self.leaders.iter().zip(&self.roles).filter(move |(_, r)| **r == role).filter_map(|(leader, _)| *leader)
    }

    /// A measured job waits here until every background job is warm.
    pub fn wait_until_loaded(&self, world: &dyn Comm, part: &Part<'_>) {
        if part.leads() {
            for from in self.leaders(Role::Background) {
                world.exchange(&mut [Op::recv(from, WARM, &mut [0])]);
            }
        }
        part.group.settle(&mut [], Reduce::Max);
    }

    /// A background job says that it is warm.
    pub fn say_warm(&self, world: &dyn Comm, part: &Part<'_>) {
        if part.leads() {
            for to in self.leaders(Role::Measured) {
                world.exchange(&mut [Op::send(to, WARM, &[1])]);
            }
        }
    }

    /// A measured job says that it has measured.
    pub fn stop_load(&self, world: &dyn Comm, part: &Part<'_>) {
        if part.leads() {
            for to in self.leaders(Role::Background) {
                world.exchange(&mut [Op::send(to, STOP, &[1])]);
            }
        }
    }

    /// On the leader of a background job: receives the stop signals of all measured jobs, one place in `room` for each. None without any.
    /// `pending` is the world's.
    pub fn listen<'b>(&self, pending: &mut dyn Pending<'b>, part: &Part<'_>, room: &'b mut Vec<u8>) -> Option<Set> {
        let from: Vec<Rank> = self.leaders(Role::Measured).collect();
        if !part.leads() || from.is_empty() {
            return None;
        }
        room.resize(from.len(), 0);
        let ops = from.into_iter().zip(room.chunks_mut(1)).map(|(from, byte)| Op::recv(from, STOP, byte)).collect();
        Some(pending.start(ops))
    }
}
