//! The loop of a measured job: blocks until a limit is reached, agreed by all ranks with one small all-reduce per block.
//!
//! A block cannot outlast the time limit by much: a first block of one step tells how long a step takes, and blocks are made shorter
//! when a whole one would not fit. That is what ends a test on a congested network, where one exchange may take milliseconds.

use super::Beat;
use super::heart::Heart;
use super::looks::{End, Looks};
use super::met::Met;
use super::partial::Partial;
use super::recorder::Recorder;
use super::results::Results;
use super::wire;
use crate::kernel::{LEAST_STEPS, Pattern};
use comm::{Buffer, Comm, Reduce};
use record::{Batches, Ended, Histogram, Metric, Stop, Verdict};

/// There are at least so many blocks in the time limit. More and shorter ones would end a test more sharply, but they bring the ranks
/// together more often, and ranks that never drift apart see other bandwidths.
const FEWEST_BLOCKS: u32 = 10;
/// The pilot of the tail threshold ends after so many blocks.
const PILOT: u64 = 4;
/// The quantile that precision is asked of.
// The tail of GPCNeT's tables.
const TAIL: f64 = 0.99;

/// What all ranks know after a block.
struct Agreed {
    elapsed: f64,
    best: f64,
    worst: f64,
    /// Seconds of a look at everything, on the slowest rank.
    look: f64,
}

/// Runs one rank's part of a measured job. Collective over the job's group.
pub(super) fn measure(
    group: &dyn Comm,
    mut pattern: Option<&mut (dyn Pattern + '_)>,
    metric: Metric,
    stop: &Stop,
    heart: &Heart<'_>,
    mut looks: Looks,
) -> Box<Partial> {
    let mut recorder = Recorder::new(metric, stop.steps);
    let mut partial = Box::<Partial>::default();
    let mut pace = Pace::new(stop);
    let holds = pattern.as_deref().map_or(u32::MAX, |p| p.holds());
    pattern.iter_mut().for_each(|pattern| pattern.arrange(0));
    group.settle(&mut [], Reduce::Max);
    let start = group.now();
    heart.tell(Beat::Block);
    // Only what was agreed may decide how long blocks are: clocks of ranks differ, and ranks that differ on a step count deadlock.
    let mut last = 0.0;
    if stop.time_s.is_some() {
        let agreed = block(group, pattern.as_deref_mut(), &mut looks, None, metric, (1, 0), Some(0), start);
        pace.step_took(agreed.elapsed, 1);
        last = agreed.elapsed;
        heart.tell(Beat::Block);
    }
    let begin = group.now();
    let mut done = 0;
    partial.ended = loop {
        let (warmup, steps) = pace.next();
        // After the last block there is nothing to arrange: fresh data of a large problem take as long as the problem.
        let next = (done + 1 < stop.blocks).then(|| (done + 1) % u64::from(stop.arrangements));
        let (here, counts) = (Some(&mut recorder), (warmup, steps));
        let agreed = block(group, pattern.as_deref_mut(), &mut looks, here, metric, counts, next, start);
        looks.plan(warmup + steps, holds, agreed.elapsed - last, agreed.look);
        done += 1;
        partial.extremes.add(metric, agreed.best, agreed.worst);
        pace.step_took(agreed.elapsed - last, warmup + steps);
        last = agreed.elapsed;
        heart.tell(Beat::Block);
        if done == PILOT {
            recorder.batches.threshold = Some(pilot(group, &recorder.samples, metric));
        }
        if let Some(ended) = over(stop, done, agreed.elapsed, || known_to(group, &recorder, metric)) {
            break ended;
        }
    };
    partial.elapsed = group.now().since(begin).secs();
    partial.ranks = 1;
    partial.notes = pace.notes();
    if let Some(pattern) = pattern {
        partial.coverage = looks.coverage(pattern);
        partial.notes.extend(pattern.notes());
        partial.results = Results::new(pattern.results());
        partial.met = Met::new(pattern.meetings());
    }
    // A rank whose communicator is too small has looked at nothing, and all that was right.
    partial.verdict = Some(looks.verdict().unwrap_or(Verdict::Right { checked: 0 }));
    partial.take(recorder);
    partial
}

/// Why a job is over after so many blocks, if it is. Asks how well the result is known only when that is due, for it costs messages.
fn over(stop: &Stop, done: u64, elapsed: f64, known: impl Fn() -> f64) -> Option<Ended> {
    if done >= stop.blocks {
        return Some(Ended::Count);
    }
    // Only after whole turns: else a test that is slow under load would cover fewer arrangements than alone.
    if !done.is_multiple_of(stop.arrangements.into()) {
        return None;
    }
    if done >= stop.min_blocks && stop.time_s.is_some_and(|limit| elapsed >= limit) {
        return Some(Ended::Time);
    }
    let turns = done / u64::from(stop.arrangements);
    let precise = stop.precision.is_some_and(|wanted| done >= 12 && due(turns) && known() <= wanted);
    precise.then_some(Ended::Precision)
}

/// Precision is looked at after each of the first turns and then whenever there are a fifth more.
fn due(turns: u64) -> bool {
    turns <= 12 || (1.2f64.powi((turns as f64).log(1.2) as i32)).ceil() as u64 == turns
}

/// One block, with its looks, and the next arrangement.
#[expect(clippy::too_many_arguments, reason = "one call for the pilot and one for the loop")]
fn block(
    group: &dyn Comm,
    pattern: Option<&mut (dyn Pattern + '_)>,
    looks: &mut Looks,
    recorder: Option<&mut Recorder>,
    metric: Metric,
    steps: (u32, u32),
    next: Option<u64>,
    start: spec::Time,
) -> Agreed {
    // A rank whose communicator is too small sits out, but the agreement is collective over the whole job.
    let Some(pattern) = pattern else {
        return agree_on(group, None, 0.0, metric, start);
    };
    // Checked and prepared before the agreement, so that this time counts towards the limit.
    let value = looks.block(group, pattern, steps, End::Whole, recorder);
    next.into_iter().for_each(|next| pattern.arrange(next));
    agree_on(group, value, looks.cost(), metric, start)
}

/// One all-reduce: the longest elapsed time and look, and the best and worst value of the block.
fn agree_on(group: &dyn Comm, value: Option<f64>, look: f64, metric: Metric, start: spec::Time) -> Agreed {
    // Largest of v and of -v give both ends in one reduction; a rank without a value loses both.
    let ends = value.map_or([f64::NEG_INFINITY; 2], |v| [v, -v]);
    let mut numbers = [group.now().since(start).secs(), ends[0], ends[1], look];
    group.settle(&mut numbers, Reduce::Max);
    let (highest, lowest) = (numbers[1], -numbers[2]);
    let (best, worst) = if metric.impact(lowest, highest) >= 1.0 { (lowest, highest) } else { (highest, lowest) };
    Agreed { elapsed: numbers[0], best, worst, look: numbers[3] }
}

/// The mean over ranks of each rank's own tail quantile: near enough to the common one to count what lies beyond it.
#[inline(never)]
fn pilot(group: &dyn Comm, samples: &Histogram, metric: Metric) -> f64 {
    // Ranks without samples, as the root of an incast, do not count in the mean.
    let mine = if samples.is_empty() { [0.0, 0.0] } else { [samples.quantile(metric, metric.tail(TAIL)), 1.0] };
    let mut sums = mine;
    group.settle(&mut sums, Reduce::Sum);
    sums[0] / sums[1].max(1.0)
}

/// How well the average and the tail quantile are known so far, as the larger of their relative half-widths; infinite if that cannot
/// be said.
#[inline(never)]
fn known_to(group: &dyn Comm, recorder: &Recorder, metric: Metric) -> f64 {
    let mut numbers = recorder.batches.to_numbers();
    group.settle(&mut numbers, Reduce::Sum);
    let merged = wire::fold(group, &recorder.samples, |mut all: Histogram, more| {
        all.merge(&more);
        all
    });
    // Rank 0 alone holds the merged histogram, so it answers for all; the same bits lead to the same decision everywhere.
    let mut answer = f64::INFINITY.to_le_bytes();
    if let Some(all) = merged {
        answer = uncertainty(&recorder.batches.with_numbers(&numbers), &all, metric).to_le_bytes();
    }
    group.bcast(0, Buffer::Bytes(&mut answer));
    f64::from_le_bytes(answer)
}

fn uncertainty(batches: &Batches, all: &Histogram, metric: Metric) -> f64 {
    let tail = metric.tail(TAIL);
    let of_tail = batches.quantile_interval(metric, all, tail).map(|i| i.relative(all.quantile(metric, tail)));
    let of_mean = batches.mean_interval().map(|i| i.relative(batches.mean()));
    of_tail.zip(of_mean).map_or(f64::INFINITY, |(a, b)| a.max(b))
}

/// How long blocks may be.
struct Pace<'a> {
    stop: &'a Stop,
    /// Seconds per step, as last seen.
    step: f64,
    shortest: u32,
}

impl Pace<'_> {
    fn new(stop: &Stop) -> Pace<'_> {
        Pace { stop, step: 0.0, shortest: stop.steps }
    }

    fn step_took(&mut self, seconds: f64, steps: u32) {
        self.step = seconds / f64::from(steps.max(1));
    }

    /// Warm-up and timed steps of the next block. Every rank computes it from agreed numbers.
    fn next(&mut self) -> (u32, u32) {
        let Stop { warmup, steps, time_s, .. } = *self.stop;
        let whole = f64::from(warmup + steps) * self.step;
        let blocks = f64::from(self.stop.arrangements.max(FEWEST_BLOCKS));
        let share = match time_s {
            Some(limit) if whole > limit / blocks => limit / blocks / whole,
            _ => return (warmup, steps),
        };
        // What was planned as 0, a warm-up for instance, stays 0.
        let cut = |n: u32, least: u32| ((f64::from(n) * share) as u32).clamp(least.min(n), n);
        let next = (cut(warmup, 1), cut(steps, 1));
        self.shortest = self.shortest.min(next.1);
        next
    }

    fn notes(&self) -> Vec<String> {
        let Stop { steps, .. } = *self.stop;
        // Above that a shorter block is only fewer samples.
        let spoilt = self.shortest < steps.min(LEAST_STEPS);
        let say = || {
            format!(
                "blocks were cut to {} of {steps} steps to keep the time limit: ranks that drift apart less see other numbers; give more time",
                self.shortest
            )
        };
        spoilt.then(say).into_iter().collect()
    }
}

/// Steps that a job takes, warm-ups among them, if each takes so many seconds: blocks are cut and ended as `measure` does, but for precision.
pub fn steps_taken(stop: &Stop, step: f64) -> f64 {
    let mut pace = Pace::new(stop);
    pace.step_took(step, 1);
    let (warmup, steps) = pace.next();
    let block = f64::from(warmup + steps);
    let Some(limit) = stop.time_s else { return block * stop.blocks as f64 };
    // The step before the first block, which tells how long they may be, counts towards the limit.
    let in_time = ((limit - step) / (block * step)).ceil().max(stop.min_blocks as f64).max(1.0);
    let turn = f64::from(stop.arrangements.max(1));
    1.0 + block * ((in_time / turn).ceil() * turn).min(stop.blocks as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(time_s: Option<f64>) -> Stop {
        Stop {
            warmup: 200,
            steps: 200,
            arrangements: 30,
            blocks: 100,
            min_blocks: 0,
            time_s,
            precision: None,
            pulse: None,
        }
    }

    #[test]
    fn blocks_are_cut_only_when_they_would_not_fit() {
        let slow = stop(Some(10.0));
        let mut pace = Pace::new(&slow);
        pace.step_took(1e-6, 1);
        assert_eq!(pace.next(), (200, 200));
        pace.step_took(0.012, 1);
        let (warmup, steps) = pace.next();
        assert!(f64::from(warmup + steps) * 0.012 <= 1.0 && steps >= 1, "{warmup} {steps}");
        assert!(pace.notes().is_empty(), "fewer samples are no other samples");
        pace.step_took(100.0, 1);
        assert_eq!(pace.next(), (1, 1));
        assert_eq!(pace.notes().len(), 1);
        let free = stop(None);
        let mut pace = Pace::new(&free);
        pace.step_took(100.0, 1);
        assert_eq!(pace.next(), (200, 200));
    }

    #[test]
    fn steps_follow_from_how_long_one_takes() {
        // Whole blocks, as many as there are; blocks until the time is over, in whole turns; blocks that are cut.
        for (time_s, step, expected) in [
            (None, 1.0, 40_000.0),
            (Some(10.0), 1e-6, 40_001.0),
            (Some(10.0), 0.8e-3, 1.0 + 400.0 * 60.0),
            (Some(10.0), 0.01, 1.0 + 32.0 * 60.0),
            (Some(10.0), 100.0, 1.0 + 2.0 * 30.0),
        ] {
            assert_eq!(steps_taken(&stop(time_s), step), expected, "{time_s:?} {step}");
        }
    }

    #[test]
    fn steps_are_those_of_the_loop() {
        for (time_s, arrangements, min_blocks) in
            [(None, 30, 0), (Some(0.01), 1, 0), (Some(10.0), 1, 40), (Some(10.0), 7, 0), (Some(3.0), 30, 40)]
        {
            let stop = Stop { arrangements, min_blocks, ..stop(time_s) };
            for step in [1e-6, 0.9e-3, 0.013, 0.7, 31.0] {
                // As `measure` goes, where every step takes so long.
                let (mut pace, mut taken, mut done) = (Pace::new(&stop), u64::from(time_s.is_some()), 0);
                pace.step_took(step, 1);
                while over(&stop, done, taken as f64 * step, || 1.0).is_none() || done == 0 {
                    let (warmup, steps) = pace.next();
                    pace.step_took(step * f64::from(warmup + steps), warmup + steps);
                    taken += u64::from(warmup + steps);
                    done += 1;
                }
                assert_eq!(steps_taken(&stop, step), taken as f64, "{time_s:?} {arrangements} {min_blocks} {step}");
            }
        }
    }

    /// Samples that are all alike in every block but for the level of the block: the average is what is not known.
    #[test]
    fn precision_is_of_the_average_and_of_the_tail() {
        let made = |spread: f64, slow_share: f64| {
            let (mut batches, mut all) =
                (Batches { threshold: Some(2e-6), ..Batches::default() }, Histogram::default());
            for block in 0..64u32 {
                let level = 1e-6 * (1.0 + spread * f64::from(block % 2));
                let slow = if block % 8 == 0 { (200.0 * slow_share) as u64 } else { 0 };
                (0..200u64).for_each(|i| all.record(Metric::Latency, if i < slow { 9e-6 } else { level }));
                batches.add(level, slow, 200);
            }
            uncertainty(&batches, &all, Metric::Latency)
        };
        let (steady, moving, tailed) = (made(0.0, 0.0), made(0.8, 0.0), made(0.0, 0.08));
        assert!(steady < 0.001, "{steady}");
        // Alternating levels of 1 and 1.8: the mean 1.4 has a standard error of 0.4/sqrt(64), about 7 % at 95 %.
        assert!((0.05..0.1).contains(&moving), "{moving}");
        assert!(tailed > 0.5, "a tail of 1 % that comes and goes is not known: {tailed}");
        assert_eq!(uncertainty(&Batches::default(), &Histogram::default(), Metric::Latency), f64::INFINITY);
    }

    #[test]
    fn precision_is_looked_at_ever_more_rarely() {
        let looks: Vec<u64> = (13..1000).filter(|&n| due(n)).collect();
        assert!(looks.len() > 15 && looks.len() < 40, "{looks:?}");
    }
}
