//! The loop of a background job: load without a gap until every measured job is done.
//!
//! Before each batch of steps the ranks start a sum of what the job's leader wants (to stop, to rest, so many steps next), and look at
//! its result after the batch. All ranks see the same sums, so all stop after the same batch, and nobody waits for an answer while the
//! network could be loaded. Batches are as long as planned, or shorter where the network is so slow that the load would outlast what it is
//! there for. Without a measured job the leader stops at its time limit or when the user asks for it.

use super::Beat;
use super::groups::{Groups, Part};
use super::heart::Heart;
use super::looks::{End, Looks};
use super::partial::Partial;
use super::recorder::Recorder;
use crate::kernel::{Pattern, Turn};
use comm::{Comm, Pending, PendingSum, Set, overlap};
use record::{Ended, Metric, Phase, Pulse, Role, Stop};
use spec::Time;

/// What the leader adds to the sum: one of these, and the steps of the next batch times [`STEP`].
const STOP: u64 = 1;
const REST: u64 = 2;
// With 32 bits of steps the sum stays far below 2^53, so it is exact as the floating-point number that travels.
const STEP: u64 = 4;
/// A batch should not last longer than this many seconds, nor than this share of what is measured meanwhile.
const LONGEST_BATCH: f64 = 0.1;
const LARGEST_SHARE: f64 = 1.0 / 20.0;

/// How many seconds a batch of a phase may last.
pub(super) fn longest_batch(phase: &Phase) -> f64 {
    let measured = phase.jobs.iter().filter(|j| j.role == Role::Measured);
    measured.filter_map(|j| j.stop.time_s).fold(LONGEST_BATCH, |longest, limit| longest.min(limit * LARGEST_SHARE))
}

/// What a background job is told besides its pattern.
pub(super) struct Orders<'a> {
    pub stop: &'a Stop,
    /// Seconds that a batch should not exceed.
    pub longest: f64,
    /// Whether the user wants the load to end.
    pub asked_to_stop: &'a dyn Fn() -> bool,
    pub heart: &'a Heart<'a>,
}

/// Rests for the off time of a pulse.
fn rest(world: &dyn Comm, heart: &Heart<'_>, pulse: Pulse) {
    heart.tell(Beat::Rest);
    world.pause(Time::from_secs(pulse.off_s));
    heart.tell(Beat::Block);
}

/// Runs one rank's part of a background job. Collective over the job's group.
pub(super) fn load(
    world: &dyn Comm,
    groups: &Groups<'_>,
    part: &Part<'_>,
    mut pattern: Option<&mut (dyn Pattern + '_)>,
    metric: Metric,
    orders: &Orders<'_>,
    mut looks: Looks,
) -> Box<Partial> {
    let mut recorder = Recorder::new(metric, orders.stop.steps);
    let mut partial = Box::new(Partial { ended: Ended::WithMeasured, ranks: 1, ..Partial::default() });
    let mut room = Vec::new();
    overlap(world, |pending| {
        // Listens before it says that it is warm: a measured job without work sends its stop right after that.
        let told = groups.listen(pending, part, &mut room);
        if let Some(pattern) = pattern.as_deref_mut() {
            pattern.arrange(0);
            // At least one: "warm" means that a step went through the network.
            looks.block(world, pattern, (orders.stop.warmup.max(1), 0), End::Open, None);
        }
        groups.say_warm(world, part);
        orders.heart.tell(Beat::Block);
        let begin = world.now();
        let leader = part.leads().then_some(Leader { told, pending, orders, begin, burst: begin, step_s: None });
        let group = &*part.group;
        // The first step tells how long steps take.
        let (looks, recorder) = (&mut looks, &mut recorder);
        Batches { world, group, leader, orders, looks, recorder, steps: 1, start: begin }.run(pattern.as_deref_mut());
        partial.elapsed = world.now().since(begin).secs();
    });
    if let Some(pattern) = pattern {
        looks.finish(world, pattern);
        partial.coverage = looks.coverage(pattern);
    }
    partial.verdict = looks.verdict();
    partial.take(recorder);
    partial
}

/// Batch after batch, until the leader has said to stop.
struct Batches<'a, 'b, 'c> {
    world: &'a dyn Comm,
    group: &'a dyn Comm,
    leader: Option<Leader<'b, 'c>>,
    orders: &'a Orders<'a>,
    looks: &'a mut Looks,
    recorder: &'a mut Recorder,
    /// Of the present batch.
    steps: u32,
    start: Time,
}

impl<'a> Batches<'a, '_, '_> {
    fn run(&mut self, pattern: Option<&mut (dyn Pattern + '_)>) {
        match pattern {
            // Who leads looks whether it is told to stop, which may take it a while.
            Some(pattern) if self.leader.is_none() && self.looks.rest(pattern) && pattern.in_turns() => {
                if !self.in_turns(pattern) {
                    self.one_by_one(Some(pattern));
                }
            }
            pattern => self.one_by_one(pattern),
        }
    }

    fn one_by_one(&mut self, mut pattern: Option<&mut (dyn Pattern + '_)>) {
        loop {
            let sum = self.begin();
            if let Some(pattern) = pattern.as_deref_mut() {
                let (counts, recorder) = ((0, self.steps), Some(&mut *self.recorder));
                self.looks.block(self.world, pattern, counts, End::Open, recorder);
            }
            if !self.end(sum.wait() as u64) {
                return;
            }
        }
    }

    /// The same in turns, if the machine makes any: where nobody looks at data, a block is its steps and nothing else.
    fn in_turns(&mut self, pattern: &mut (dyn Pattern + '_)) -> bool {
        let (waits, world) = (pattern.waits(), self.world);
        let mut sum: Option<Box<dyn PendingSum + 'a>> = None;
        let (mut left, mut since, mut done) = (0, Time::ZERO, None);
        world.turns(&mut || {
            loop {
                if let Some(work) = done.take()
                    && (self.recorder.stamp(world.now(), work) || left == 0)
                {
                    self.recorder.close(since, waits);
                    since = world.now();
                }
                if left > 0 {
                    if let Turn::Last(work) = pattern.turn() {
                        left -= 1;
                        done = Some(work);
                    }
                    return true;
                }
                if let Some(under_way) = &mut sum {
                    let Some(agreed) = under_way.ask() else { return true };
                    self.recorder.end(self.steps);
                    if !self.end(agreed as u64) {
                        return false;
                    }
                }
                sum = Some(self.begin());
                (left, since) = (self.steps, world.now());
            }
        })
    }

    /// A batch begins: the sum of what the leader wants is under way.
    fn begin(&mut self) -> Box<dyn PendingSum + 'a> {
        self.start = self.world.now();
        let wish = self.leader.as_mut().map_or(0, |l| l.wish(self.start));
        self.group.start_sum(wish as f64)
    }

    /// A batch is over, and this is what the leader wants. Whether there is another one.
    fn end(&mut self, agreed: u64) -> bool {
        let (world, heart) = (self.world, self.orders.heart);
        heart.tell(Beat::Block);
        let step_s = world.now().since(self.start).secs() / f64::from(self.steps);
        self.leader.iter_mut().for_each(|leader| leader.step_s = Some(step_s));
        self.steps = (agreed / STEP) as u32;
        if agreed & STOP != 0 {
            return false;
        }
        if let (true, Some(pulse)) = (agreed & REST != 0, self.orders.stop.pulse) {
            rest(world, heart, pulse);
            self.leader.iter_mut().for_each(|leader| leader.burst = world.now());
        }
        true
    }
}

/// What the leader of a job knows that the others do not.
struct Leader<'a, 'b> {
    /// The stop signals of the measured jobs, if there are any.
    told: Option<Set>,
    pending: &'a mut dyn Pending<'b>,
    orders: &'a Orders<'a>,
    begin: Time,
    /// Start of the present burst.
    burst: Time,
    /// Seconds of a step in the last batch.
    step_s: Option<f64>,
}

impl Leader<'_, '_> {
    fn wish(&mut self, now: Time) -> u64 {
        let stop = self.orders.stop;
        let over = match self.told {
            Some(told) => self.pending.test(told),
            None => {
                stop.time_s.is_some_and(|limit| now.since(self.begin).secs() >= limit) || (self.orders.asked_to_stop)()
            }
        };
        let tired = stop.pulse.is_some_and(|Pulse { on_s, .. }| now.since(self.burst).secs() >= on_s);
        let wish = if over {
            STOP
        } else if tired {
            REST
        } else {
            0
        };
        wish + STEP * u64::from(self.steps())
    }

    /// Steps of the batch after the one that starts now.
    fn steps(&self) -> u32 {
        // A step that took no time must not divide by 0; the cast below saturates.
        let longest = self.orders.stop.pulse.map_or(self.orders.longest, |p| self.orders.longest.min(p.on_s));
        let fit = self.step_s.map_or(1.0, |step| longest / step.max(f64::MIN_POSITIVE));
        (fit as u32).clamp(1, self.orders.stop.steps.max(1))
    }
}
