//! Signs of life of a job, for whoever looks out for ranks that hang.

use super::groups::Part;
use super::{Beat, Observer};
use record::{Phase, Role};

/// So many ranks of a job tell how it goes: one cannot report its own silence, and more would only wake more cores.
const WATCHED: comm::Rank = 2;

/// Tells the observer of a rank that its job goes on. Used between blocks, never while something is timed.
pub(super) struct Heart<'a> {
    observer: Option<&'a dyn Observer>,
    /// Seconds that other jobs of the phase may measure after this one, if that is bounded.
    others: Option<f64>,
}

impl<'a> Heart<'a> {
    /// Steps of a measured job without a time limit may last as long as they like (a solver, an application): they are not watched.
    /// Rank 0 always tells: it asks everybody when it has not heard of itself for a while.
    pub fn new(observer: &'a dyn Observer, part: &Part<'_>, phase: &Phase, first: bool) -> Heart<'a> {
        let job = &phase.jobs[part.job];
        let limited = job.role == Role::Background || job.stop.time_s.is_some();
        // Background jobs end when all measured ones have.
        let measured = |i: usize| job.role == Role::Measured && i != part.job && phase.jobs[i].role == Role::Measured;
        let mut limits = (0..phase.jobs.len()).filter(|i| measured(*i)).map(|i| phase.jobs[i].stop.time_s);
        // One job without a limit makes the wait unbounded.
        let others = limits.try_fold(0.0, |most: f64, limit| Some(most.max(limit?)));
        let watched = part.group.rank() < WATCHED || first;
        Heart { observer: (limited && watched).then_some(observer), others }
    }

    pub fn tell(&self, beat: Beat) {
        if let Some(observer) = self.observer {
            observer.heart(beat);
        }
    }

    /// The job is over; others of its phase may not be.
    pub fn over(&self) {
        self.tell(Beat::Over(self.others));
    }
}
