//! The loop of a background job: load without a gap until every measured job is done.
//!
//! Before each batch of steps the ranks start a sum of what the job's leader wants (to stop, to rest), and look at its result after the
//! batch. All ranks see the same sums, so all stop after the same batch, and nobody waits for an answer while the network could
//! be loaded. Without a measured job the leader stops at its time limit or when the user asks for it.

use super::groups::{Groups, Part};
use super::partial::Partial;
use super::recorder::Recorder;
use crate::kernel::Pattern;
use comm::{Comm, Pending};
use record::{Ended, Metric, Pulse, Stop};
use spec::Time;

/// What the leader adds to the sum.
const STOP: u32 = 1;
const REST: u32 = 2;

/// Runs one rank's part of a background job. Collective over the job's group.
pub(super) fn load(
    world: &dyn Comm,
    groups: &Groups<'_>,
    part: &Part<'_>,
    mut pattern: Option<&mut (dyn Pattern + '_)>,
    metric: Metric,
    stop: &Stop,
    asked_to_stop: &dyn Fn() -> bool,
) -> Partial {
    let mut recorder = Recorder::new(metric, stop.steps);
    let mut partial = Partial { ended: Ended::WithMeasured, ranks: 1, ..Partial::default() };
    let mut room = Vec::new();
    let told = groups.listen(world, part, &mut room);
    if let Some(pattern) = pattern.as_deref_mut() {
        pattern.arrange(0);
        for _ in 0..stop.warmup.max(1) {
            let _ = pattern.step();
        }
    }
    groups.say_warm(world, part);
    let begin = world.now();
    let mut leader = (part.group.rank() == 0).then(|| Leader { told, stop, begin, burst: begin, asked_to_stop });
    loop {
        let wish = leader.as_mut().map_or(0, |l| l.wish(world.now()));
        let sum = part.group.start_sum(f64::from(wish));
        if let Some(pattern) = pattern.as_deref_mut() {
            recorder.block(world, pattern, stop.steps);
        }
        let agreed = sum.wait() as u32;
        if agreed & STOP != 0 {
            break;
        }
        if let (true, Some(pulse)) = (agreed & REST != 0, stop.pulse) {
            world.pause(Time::from_secs(pulse.off_s));
            if let Some(leader) = &mut leader {
                leader.burst = world.now();
            }
        }
    }
    partial.elapsed = world.now().since(begin).secs();
    if let Some(told) = leader.and_then(|l| l.told) {
        told.wait();
    }
    partial.verdict = pattern.map(|p| p.verify());
    partial.take(recorder);
    partial
}

/// What the leader of a job knows that the others do not.
struct Leader<'a> {
    told: Option<Box<dyn Pending + 'a>>,
    stop: &'a Stop,
    begin: Time,
    /// Start of the present burst.
    burst: Time,
    asked_to_stop: &'a dyn Fn() -> bool,
}

impl Leader<'_> {
    fn wish(&mut self, now: Time) -> u32 {
        let over = match &mut self.told {
            Some(told) => told.test(),
            None => {
                self.stop.time_s.is_some_and(|limit| now.since(self.begin).secs() >= limit) || (self.asked_to_stop)()
            }
        };
        let tired = self.stop.pulse.is_some_and(|Pulse { on_s, .. }| now.since(self.burst).secs() >= on_s);
        if over {
            STOP
        } else if tired {
            REST
        } else {
            0
        }
    }
}
