//! One rank's samples of one job, in bounded space.
//!
//! A step costs one look at the clock: the end of a step is the start of the next. Times wait in a small array and enter the
//! histogram after the block, outside the timed region.

use crate::kernel::Pattern;
use comm::Comm;
use record::{Batches, Histogram, Metric};
use spec::{Time, Work};

/// Clock readings kept before they are put into the histogram; a longer block is recorded in pieces.
const PIECE: usize = 1024;

/// Collects samples.
pub(super) struct Recorder {
    metric: Metric,
    /// All samples.
    pub samples: Histogram,
    /// Blocks in order of time.
    pub batches: Batches,
    /// Bytes sent in timed steps.
    pub bytes: u64,
    stamps: Vec<(Time, Option<Work>)>,
}

impl Recorder {
    pub fn new(metric: Metric, steps: u32) -> Recorder {
        let stamps = Vec::with_capacity(PIECE.min(steps as usize));
        Recorder { metric, samples: Histogram::default(), batches: Batches::default(), bytes: 0, stamps }
    }

    /// Runs and records one block; its value over all steps, if this rank measured any.
    pub fn block(&mut self, comm: &dyn Comm, pattern: &mut dyn Pattern, steps: u32) -> Option<f64> {
        let (mut work, mut time) = (None, Time::ZERO);
        let (mut beyond, before) = (0, self.samples.len());
        let mut left = steps as usize;
        while left > 0 {
            let piece = left.min(PIECE);
            left -= piece;
            let start = comm.now();
            for _ in 0..piece {
                let done = pattern.step();
                self.stamps.push((comm.now(), done));
            }
            time += self.stamps.last().map_or(Time::ZERO, |(end, _)| end.since(start));
            // The histogram is fed between two pieces; `time` holds the pieces alone, so that is not timed.
            beyond += self.empty_stamps(start, &mut work);
        }
        // A rank that only takes part, as the root of an incast, has no value to add.
        let work: Work = work?;
        // The bulk value: all work over all time; a duration has no work to divide by, so it is of the average step.
        let value =
            self.metric.value(work, time) * if self.metric == Metric::Duration { 1.0 / f64::from(steps) } else { 1.0 };
        // Before the pilot has set a threshold nothing can be beyond it, so those samples do not count.
        let counted = if self.batches.threshold.is_some() { self.samples.len() - before } else { 0 };
        self.batches.add(value, beyond, counted);
        Some(value)
    }

    /// Moves the waiting times into the histogram; how many were beyond the pilot threshold.
    fn empty_stamps(&mut self, start: Time, total: &mut Option<Work>) -> u64 {
        let mut begin = start;
        let mut beyond = 0;
        for (end, work) in self.stamps.drain(..) {
            if let Some(work) = work {
                let value = self.metric.value(work, end.since(begin));
                self.samples.record(self.metric, value);
                self.bytes += work.bytes;
                *total = Some(total.unwrap_or(Work::NONE) + work);
                beyond += u64::from(self.batches.threshold.is_some_and(|t| self.metric.impact(t, value) > 1.0));
            }
            begin = end;
        }
        beyond
    }
}
