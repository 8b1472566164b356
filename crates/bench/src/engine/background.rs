//! The loop of a background job: load without a gap until every measured job is done.
//!
//! Before each batch of steps the ranks start a sum of "have I been told to stop", and look at its result after the batch. All
//! ranks see the same sums, so all stop after the same batch, and nobody waits for an answer while the network could be loaded.

use super::groups::{Groups, Part};
use super::partial::Partial;
use super::recorder::Recorder;
use crate::kernel::Pattern;
use comm::Comm;
use record::{Ended, Metric, Stop};

/// Runs one rank's part of a background job. Collective over the job's group.
pub(super) fn load(
    world: &dyn Comm,
    groups: &Groups<'_>,
    part: &Part<'_>,
    mut pattern: Option<&mut (dyn Pattern + '_)>,
    metric: Metric,
    stop: &Stop,
) -> Partial {
    let mut recorder = Recorder::new(metric, stop.steps);
    let mut partial = Partial { ended: Ended::WithMeasured, ranks: 1, ..Partial::default() };
    let mut room = Vec::new();
    let mut told = groups.listen(world, part, &mut room);
    if let Some(pattern) = pattern.as_deref_mut() {
        pattern.arrange(0);
        for _ in 0..stop.warmup.max(1) {
            let _ = pattern.step();
        }
    }
    groups.say_warm(world, part);
    let begin = world.now();
    loop {
        let stopped = told.as_mut().is_some_and(|t| t.test());
        let sum = part.group.start_sum(if stopped { 1.0 } else { 0.0 });
        if let Some(pattern) = pattern.as_deref_mut() {
            recorder.block(world, pattern, stop.steps);
        }
        if sum.wait() > 0.0 {
            break;
        }
    }
    partial.elapsed = world.now().since(begin).secs();
    if let Some(told) = told {
        told.wait();
    }
    partial.verdict = pattern.map(|p| p.verify());
    partial.take(recorder);
    partial
}
