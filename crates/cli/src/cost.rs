//! `--dry-run`: what a simulated run will cost, before it is paid.
//!
//! How long steps take under load cannot be told without simulating some. So ever larger shares of the first placements' steps are simulated
//! for a few seconds: what a phase does grows with its steps, after something that it does anyway, and two points give both. Processor time
//! follows from what is done, by the messages of the largest share: times of two small shares differ by what caches hold and not by steps.
//!
//! A machine of many ranks is not looked at itself, but with fewer of its nodes: see [`sizes()`].
//!
//! Shares have no time limit, or they would be cut to as few steps as another and tell nothing of what a step takes. What the limit leaves
//! of the whole run follows from how long a step took.

mod sizes;

pub use sizes::{ENOUGH_SIZES, LONG, sizes};

use crate::ensemble::Ensemble;
use crate::exit::{Exit, Fail};
use bench::Observer;
use comm::{Comm, Machine};
use record::{Phase, Plan, Role, RunRecord, Stop};
use rustix::time::{ClockId, clock_gettime};
use sim::Simulator;
use spec::about_seconds;
use std::sync::{Arc, Mutex};

/// Shares of the steps that are simulated, one after the other.
const SHARES: [f64; 5] = [1.0 / 128.0, 1.0 / 64.0, 1.0 / 32.0, 1.0 / 16.0, 1.0 / 8.0];
/// After so many seconds for a share, but two, the next is not simulated: it would take twice as long.
const ENOUGH: f64 = 5.0;
/// A phase of which more would have to be simulated is not looked at.
const MOST: f64 = 0.5;
/// At most so many blocks in the first share, and twice as many in each further one: where time ends a test their number says nothing.
const BLOCKS: u64 = 4;

/// What a run will cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Simulations, of which so many run at once.
    simulations: usize,
    at_once: usize,
    /// How often each phase is simulated.
    placements: f64,
    phases: Vec<PhaseCost>,
    /// Processor time of building the machine and starting its ranks.
    start_s: f64,
    /// Of those that run at once.
    memory: u64,
    /// Phases that were not looked at.
    left_out: Vec<String>,
    /// How many nodes the machines had that were looked at instead of all.
    looked_at: Vec<usize>,
}

/// What a phase takes in one placement.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct PhaseCost {
    messages: f64,
    packet_hops: f64,
    virtual_s: f64,
    cpu_s: f64,
    /// A step of what is measured, and all of them, in virtual time; 0 of a load alone.
    step_s: f64,
    steps_s: f64,
}

impl Cost {
    /// A quantity of all phases in all placements.
    fn all(&self, of: fn(&PhaseCost) -> f64) -> f64 {
        self.placements * self.phases.iter().map(of).sum::<f64>()
    }
}

/// What a simulation of some of a phase's steps took.
#[derive(Clone, Copy, Default)]
struct Taken {
    messages: f64,
    packet_hops: f64,
    virtual_s: f64,
    cpu_s: f64,
    /// What is measured, from its first block to its last, in virtual time.
    measured_s: f64,
    /// Building the machine and starting its ranks.
    start_s: f64,
}

/// Seconds of processor time of this thread.
pub fn cpu_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// A part of something, and how much of it that is.
type Part<T> = (T, f64);

/// All steps of a job, with warm-ups.
fn steps_of(stop: &Stop) -> f64 {
    f64::from(stop.warmup + stop.steps) * stop.blocks as f64
}

/// A part of a job's steps: in at most so many blocks, and at least so many of each.
fn cut(stop: &Stop, share: f64, most: u64, least: u32) -> Part<Stop> {
    let blocks = ((stop.blocks as f64 * share) as u64).clamp(1, most);
    // Blocks stay whole where there are enough of them.
    let within = if blocks == 1 { (share * stop.blocks as f64).min(1.0) } else { 1.0 };
    let some = |n: u32| (f64::from(n) * within).ceil() as u32;
    let (warmup, steps) = (some(stop.warmup), some(stop.steps).max(least).min(stop.steps));
    let short = Stop {
        warmup,
        steps,
        blocks,
        arrangements: u64::from(stop.arrangements).min(blocks) as u32,
        min_blocks: stop.min_blocks.min(blocks),
        time_s: None,
        precision: None,
        ..*stop
    };
    let left = steps_of(&short) / steps_of(stop);
    (short, left)
}

/// What is measured for the most steps.
fn leader(phase: &Phase) -> Option<&Stop> {
    let measured = phase.jobs.iter().filter(|j| j.role == Role::Measured).map(|j| &j.stop);
    measured.max_by(|a, b| steps_of(a).total_cmp(&steps_of(b)))
}

/// The part of a phase that is simulated in a turn.
fn cut_phase(phase: &Phase, turn: usize) -> Part<Phase> {
    let measures = phase.jobs.iter().any(|j| j.role == Role::Measured);
    // The second part has a step more than the first at least, or two points would be one.
    let (share, least) = (SHARES[turn], 1 + turn.min(1) as u32);
    let (mut phase, mut left) = (phase.clone(), 0.0f64);
    for job in &mut phase.jobs {
        if job.role == Role::Measured {
            let (stop, of) = cut(&job.stop, share, BLOCKS << turn, least);
            (job.stop, left) = (stop, left.max(of));
            continue;
        }
        // Or a load would send a whole batch for a single step of what is measured.
        let some = |n: u32| (f64::from(n) * share).ceil() as u32;
        (job.stop.warmup, job.stop.steps) = (some(job.stop.warmup), some(job.stop.steps));
        if !measures {
            // A load alone ends by its time.
            job.stop.time_s = job.stop.time_s.map(|t| t * share);
            left = share;
        }
    }
    (phase, left)
}

/// What all takes, by what parts of it took (share, taken): the last one, and the one before that was smaller.
fn extend(points: &[(f64, f64)]) -> f64 {
    let Some(&(share, taken)) = points.last() else { return 0.0 };
    match points.iter().rev().find(|p| p.0 < share) {
        Some(before) => taken + (taken - before.1).max(0.0) / (share - before.0) * (1.0 - share),
        None => taken / share,
    }
}

/// How long a step takes that comes after those of the parts, in virtual time.
fn step_time(stop: &Stop, parts: &[Part<Taken>]) -> f64 {
    let took: Vec<_> = parts.iter().map(|(taken, share)| (*share, taken.measured_s)).collect();
    let &(share, part) = took.last().expect("one turn at least");
    ((extend(&took) - part) / (steps_of(stop) * (1.0 - share))).max(f64::MIN_POSITIVE)
}

/// What a phase takes, by parts of it: of its steps, or of the time of a load alone.
fn whole(stop: Option<&Stop>, parts: &[Part<Taken>]) -> PhaseCost {
    let (mut step_s, mut steps_s, mut left) = (0.0, 0.0, 1.0);
    if let Some(stop) = stop {
        step_s = step_time(stop, parts);
        let steps = bench::steps_taken(stop, step_s);
        // The shares are of all steps; a time limit leaves some of those.
        (steps_s, left) = (steps * step_s, steps / steps_of(stop));
    }
    let all = |of: fn(&Taken) -> f64| {
        let points: Vec<_> = parts.iter().map(|(taken, share)| (share / left, of(taken))).collect();
        extend(&points)
    };
    let messages = all(|t| t.messages);
    let largest = parts.last().expect("one turn at least").0;
    PhaseCost {
        messages,
        packet_hops: all(|t| t.packet_hops),
        virtual_s: all(|t| t.virtual_s),
        cpu_s: largest.cpu_s / largest.messages.max(1.0) * messages.max(1.0),
        step_s,
        steps_s,
    }
}

/// Notes when phases begin.
struct Clock(Mutex<(Vec<f64>, Option<RunRecord>)>);

impl Observer for Clock {
    fn phase(&self, _: &Plan, _: u32, _: usize) {
        self.0.lock().expect("nobody panics holding it").0.push(cpu_time());
    }
    fn save(&self, record: &RunRecord) {
        self.0.lock().expect("nobody panics holding it").1 = Some(record.clone());
    }
}

impl Ensemble<'_> {
    /// What the run of a plan will cost.
    pub fn cost(&self, plan: &Plan) -> anyhow::Result<Cost> {
        let last = SHARES.len() - 1;
        let (phases, left_out): (Vec<_>, Vec<_>) = plan.phases.iter().partition(|p| cut_phase(p, last).1 < MOST);
        if phases.is_empty() {
            let text = "--dry-run: these tests have too few steps to simulate a part of them; it would take as long as the run";
            return Err(Fail::usage(text));
        }
        let parts = self.parts(plan);
        let (_, at_once) = self.threads(parts);
        // As many at once as in the run: they share caches, and some cores are halves of one.
        let sampled = at_once.min(plan.placements as usize).max(1);
        let mut samples: Vec<Vec<Part<Taken>>> = Vec::new();
        for turn in 0..SHARES.len() {
            let mut taken = Vec::new();
            // Each for itself, because the simulator counts by run.
            for phase in &phases {
                let (some, share) = cut_phase(phase, turn);
                taken.push((self.side_by_side(plan, &some, sampled)?, share));
            }
            let long = taken.iter().map(|(t, _)| t.cpu_s).sum::<f64>() > ENOUGH;
            samples.push(taken);
            if long && turn > 0 {
                break;
            }
        }
        let start_s = samples.iter().flatten().map(|(t, _)| t.start_s).fold(0.0, f64::max);
        let parts_of = |p: usize| samples.iter().map(|s| s[p]).collect::<Vec<_>>();
        Ok(Cost {
            simulations: parts,
            at_once,
            placements: f64::from(plan.placements),
            phases: phases.iter().enumerate().map(|(p, phase)| whole(leader(phase), &parts_of(p))).collect(),
            start_s,
            memory: peak_memory() / sampled as u64 * at_once as u64,
            left_out: left_out.into_iter().map(|phase| phase.name.clone()).collect(),
            looked_at: Vec::new(),
        })
    }

    /// The same of a machine that is too large to look at, by what it would cost with so many nodes instead.
    pub fn cost_by(&self, plan: &Plan, known: &[(usize, Cost)]) -> Cost {
        let parts = self.parts(plan);
        let (_, at_once) = self.threads(parts);
        let whole = Cost { simulations: parts, at_once, placements: f64::from(plan.placements), ..Cost::default() };
        let left_out = known.last().map_or(&[][..], |k| &k.1.left_out);
        let looked_at = plan.phases.iter().filter(|phase| !left_out.contains(&phase.name));
        let stops: Vec<Option<&Stop>> = looked_at.map(leader).collect();
        whole.extended(&stops, known, self.config.nodes)
    }

    /// Simulates some of the steps of a phase in the first placements, as many at once. What they took on average.
    fn side_by_side(&self, plan: &Plan, phase: &Phase, placements: usize) -> anyhow::Result<Taken> {
        let sample = |placement: usize| self.sample(plan, phase.clone(), placement as u32);
        let taken: Vec<anyhow::Result<Taken>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..placements).map(|p| scope.spawn(move || sample(p))).collect();
            let first = sample(0);
            let rest = others.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            std::iter::once(first).chain(rest).collect()
        });
        let taken = taken.into_iter().collect::<anyhow::Result<Vec<Taken>>>()?;
        let mean = |of: fn(&Taken) -> f64| taken.iter().map(of).sum::<f64>() / taken.len() as f64;
        Ok(Taken {
            messages: mean(|t| t.messages),
            packet_hops: mean(|t| t.packet_hops),
            virtual_s: mean(|t| t.virtual_s),
            cpu_s: mean(|t| t.cpu_s),
            measured_s: mean(|t| t.measured_s),
            start_s: mean(|t| t.start_s),
        })
    }

    /// Simulates some of the steps of a phase in a placement, in this thread alone.
    fn sample(&self, plan: &Plan, phase: Phase, placement: u32) -> anyhow::Result<Taken> {
        let (begin, clock) = (cpu_time(), Clock(Mutex::default()));
        let plan = Arc::new(plan.part(vec![phase]));
        let simulator = Simulator::new(sim::Config { threads: 1, ..self.config.clone() }).map_err(Fail::usage)?;
        let problem = Mutex::new(None);
        let body = |world: &dyn Comm| {
            if let Err(error) = (self.body)(world, &simulator, Arc::clone(&plan), placement, &clock) {
                *problem.lock().expect("nobody panics holding it") = Some(error);
            }
        };
        simulator.run(&body).map_err(|e| Fail::with(Exit::Failure, e.0))?;
        if let Some(error) = problem.into_inner().expect("nobody panics holding it") {
            return Err(error);
        }
        let (times, record) = clock.0.into_inner().expect("nobody panics holding it");
        let started = times.first().copied().unwrap_or(begin);
        let stats = simulator.stats();
        let jobs = record.iter().flat_map(|r| &r.phases).flat_map(|p| &p.jobs);
        Ok(Taken {
            messages: stats.messages as f64,
            packet_hops: stats.packet_hops as f64,
            virtual_s: record.iter().flat_map(|r| &r.phases).map(|p| p.elapsed_s).sum(),
            cpu_s: cpu_time() - started,
            measured_s: jobs.filter(|j| j.role == Role::Measured).map(|j| j.elapsed_s).fold(0.0, f64::max),
            start_s: started - begin,
        })
    }
}

/// The most memory that this process ever used, in bytes; 0 where the system does not say.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}

/// A count that is known to one or two digits.
fn about(n: f64) -> String {
    match n {
        n if n < 1e3 => format!("{n:.0}"),
        n if n < 1e6 => format!("{:.2} thousand", n / 1e3),
        n if n < 1e9 => format!("{:.2} million", n / 1e6),
        n => format!("{:.2} billion", n / 1e9),
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (simulations, at_once) = (self.simulations, self.at_once);
        // One start more: the plan is made on the machine, too.
        let cpu_s = self.all(|p| p.cpu_s) + (simulations as f64 + 1.0) * self.start_s;
        writeln!(f, "Simulations   {simulations}, {at_once} at once")?;
        writeln!(f, "Messages      about {}", about(self.all(|p| p.messages)))?;
        writeln!(f, "Packet-hops   about {}", about(self.all(|p| p.packet_hops)))?;
        writeln!(f, "Virtual time  about {}", about_seconds(self.all(|p| p.virtual_s)))?;
        write!(f, "CPU time      about {}", about_seconds(cpu_s))?;
        match at_once {
            1 => writeln!(f)?,
            n => writeln!(f, ", which takes {}", about_seconds(cpu_s / n as f64))?,
        }
        writeln!(f, "Memory        about {}", spec::show_bytes(self.memory >> 20 << 20))?;
        writeln!(f)?;
        write!(f, "Nothing was run: this is extended from a part of the first placements' steps")?;
        match &self.looked_at[..] {
            [] => writeln!(f, ".")?,
            [.., most] => writeln!(f, ",\non this machine with up to {most} of its nodes.")?,
        }
        if !self.left_out.is_empty() {
            writeln!(f, "Not in it, because they have too few steps: {}.", self.left_out.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(warmup: u32, steps: u32, blocks: u64) -> Stop {
        Stop { warmup, steps, arrangements: 2, blocks, min_blocks: 2, time_s: Some(8.0), precision: None, pulse: None }
    }

    #[test]
    fn a_part_of_the_steps_is_what_it_says() {
        for (given, share, least, expected, left) in [
            (stop(20, 20, 64), 1.0 / 16.0, 1, (20, 20, 4), 1.0 / 16.0),
            (stop(20, 20, 640), 1.0 / 16.0, 1, (20, 20, 16), 1.0 / 40.0),
            (stop(20, 20, 2), 1.0 / 8.0, 2, (5, 5, 1), 1.0 / 8.0),
            (stop(1, 8, 1), 1.0 / 16.0, 1, (1, 1, 1), 2.0 / 9.0),
            (stop(1, 8, 1), 1.0 / 8.0, 2, (1, 2, 1), 3.0 / 9.0),
            (stop(0, 1, 1), 1.0 / 8.0, 2, (0, 1, 1), 1.0),
        ] {
            let (short, of) = cut(&given, share, 16, least);
            assert_eq!((short.warmup, short.steps, short.blocks), expected, "{given:?}");
            assert!((of - left).abs() < 1e-12 && short.time_s.is_none(), "{of} {short:?}");
            assert!(short.min_blocks <= short.blocks && u64::from(short.arrangements) <= short.blocks);
        }
    }

    /// Steps of 2 ms after a start of 1 ms, of which 640 would take 1.28 s: 8 s do not end them, 160 ms leave 81 and of each a message.
    #[test]
    fn a_time_limit_leaves_some_of_the_steps() {
        let part = |steps: f64| {
            let taken = Taken { measured_s: 1e-3 + steps * 2e-3, messages: steps, cpu_s: steps, ..Taken::default() };
            (taken, steps / 640.0)
        };
        for (limit, expected) in [(8.0, 640.0), (0.16, 81.0)] {
            let stop = Stop { time_s: Some(limit), ..stop(0, 10, 64) };
            let whole = whole(Some(&stop), &[part(20.0), part(40.0)]);
            let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.02;
            assert!(close(whole.messages, expected) && close(whole.steps_s, expected * 2e-3), "{limit}: {whole:?}");
        }
    }

    #[test]
    fn two_points_give_what_is_taken_anyway_and_by_steps() {
        assert_eq!(extend(&[(0.25, 3.0), (0.5, 4.0)]), 6.0);
        assert_eq!(extend(&[(0.1, 9.0), (0.25, 3.0), (0.5, 4.0), (0.5, 4.0)]), 6.0, "the last two that differ");
        assert_eq!(extend(&[(0.25, 3.0), (0.5, 2.9)]), 2.9, "noise is no gain");
        assert_eq!(extend(&[(0.5, 3.0)]), 6.0);
    }
}
