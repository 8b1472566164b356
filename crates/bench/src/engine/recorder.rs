//! One rank's samples of one job, in bounded space.
//!
//! A step costs one look at the clock: the end of a step is the start of the next. Times wait in a small array and enter the
//! histogram after the block, outside the timed region.

use crate::kernel::{Pattern, make_steps};
use comm::Comm;
use record::{Batches, Histogram, Metric};
use spec::{Time, Work};

/// Clock readings kept before they are put into the histogram; a longer block is recorded in pieces.
pub(super) const PIECE: u32 = 1024;

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
    /// Of the present block: what was done in which time, how many samples, and how many beyond the pilot threshold.
    work: Option<Work>,
    time: Time,
    counted: u64,
    beyond: u64,
}

impl Recorder {
    pub fn new(metric: Metric, steps: u32) -> Recorder {
        let stamps = Vec::with_capacity(PIECE.min(steps) as usize);
        Recorder {
            metric,
            samples: Histogram::default(),
            batches: Batches::default(),
            bytes: 0,
            stamps,
            work: None,
            time: Time::ZERO,
            counted: 0,
            beyond: 0,
        }
    }

    /// Runs some timed steps of a block.
    pub fn piece(&mut self, comm: &dyn Comm, pattern: &mut dyn Pattern, steps: u32) {
        if steps == 0 {
            return;
        }
        let waits = pattern.waits();
        let start = comm.now();
        make_steps(comm, pattern, steps, |done| {
            self.stamp(comm.now(), done);
        });
        self.close(start, waits);
    }

    /// A timed step is over. Whether the piece has to be closed before the next.
    #[inline]
    pub fn stamp(&mut self, now: Time, done: Option<Work>) -> bool {
        self.stamps.push((now, done));
        self.stamps.len() == PIECE as usize
    }

    /// Ends a piece of a block that began at a time.
    pub fn close(&mut self, start: Time, waits: Time) {
        let began = start + waits * self.stamps.len() as u64;
        self.time += self.stamps.last().map_or(Time::ZERO, |(end, _)| end.since(began));
        // The histogram is fed between two pieces; `time` holds the pieces alone, so that is not timed.
        self.empty_stamps(start, waits);
    }

    /// Ends a block of so many steps; its value over all of them, if this rank measured any.
    pub fn end(&mut self, steps: u32) -> Option<f64> {
        let (work, time) = (self.work.take(), std::mem::take(&mut self.time));
        let (beyond, counted) = (std::mem::take(&mut self.beyond), std::mem::take(&mut self.counted));
        // A rank that only takes part, as the root of an incast, has no value to add.
        let work = work?;
        // The bulk value: all work over all time; a duration has no work to divide by, so it is of the average step.
        let value =
            self.metric.value(work, time) * if self.metric == Metric::Duration { 1.0 / f64::from(steps) } else { 1.0 };
        // Before the pilot has set a threshold nothing can be beyond it, so those samples do not count.
        let counted = if self.batches.threshold.is_some() { counted } else { 0 };
        self.batches.add(value, beyond, counted);
        Some(value)
    }

    /// Moves the waiting times into the histogram.
    fn empty_stamps(&mut self, start: Time, waits: Time) {
        let mut begin = start;
        for (end, work) in self.stamps.drain(..) {
            if let Some(work) = work {
                let value = self.metric.value(work, end.since(begin + waits));
                self.samples.record(self.metric, value);
                self.bytes += work.bytes;
                self.work = Some(self.work.unwrap_or(Work::NONE) + work);
                self.counted += 1;
                self.beyond += u64::from(self.batches.threshold.is_some_and(|t| self.metric.impact(t, value) > 1.0));
            }
            begin = end;
        }
    }
}
