//! Parts of a simulated experiment, side by side: placements, or points of a sweep, on the cores of this process and, under a launcher,
//! on all its processes. Each is a simulation of its own, and what they measured is put together in their order, so the record does not
//! depend on how many there were at once.

use crate::exit::{Exit, Fail};
use crate::progress::Watch;
use bench::{Experiment, Observer, Site, wire};
use comm::{Comm, Machine};
use record::{NetworkRecord, Plan, RunRecord, Status};
use sim::Simulator;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Machines with more ranks are simulated one at a time, on all threads: several at once might not fit into the memory.
const SIDE_BY_SIDE_UP_TO: usize = 20_000;

/// What every rank of a simulation does: this plan, in this placement.
pub type Body<'b> = dyn Fn(&dyn Comm, &Simulator, Arc<Plan>, u32, &dyn Observer) -> anyhow::Result<()> + Sync + 'b;

/// What is to be simulated.
pub struct Ensemble<'e> {
    /// The machine.
    pub config: &'e sim::Config,
    /// Says what comes next, where what was measured decides.
    pub experiment: &'e dyn Experiment,
    /// What it was planned for.
    pub site: &'e Site,
    /// What each rank does.
    pub body: &'e Body<'e>,
    /// Who is told, where the record is written.
    pub watch: &'e Watch,
    /// Whether other processes run their share, so that saving waits for them.
    pub shared: bool,
}

/// Whether a plan is simulated in parts. It depends on the plan and the machine alone, so that the record does.
pub fn in_parts(plan: &Plan, config: &sim::Config) -> bool {
    // What breaks at some time breaks once, in one simulation of all phases; and a large machine takes longer to build than to use.
    let points = plan.sweep && config.faults.is_empty() && config.ranks() <= SIDE_BY_SIDE_UP_TO;
    plan.placements > 1 || points
}

/// A part of a plan: some phases in one placement.
#[derive(Clone, Copy)]
struct Part {
    placement: u32,
    first: usize,
    phases: usize,
}

/// The phases from `begun` on in parts: one for each placement, or one for each phase.
fn parts(plan: &Plan, begun: usize) -> Vec<Part> {
    let phases = plan.phases.len();
    match plan.placements {
        1 => (begun..phases).map(|first| Part { placement: 0, first, phases: 1 }).collect(),
        n => (0..n).map(|placement| Part { placement, first: 0, phases }).collect(),
    }
}

/// What is there so far.
struct Slots {
    /// With all phases that were decided on.
    plan: Plan,
    /// Of parts before those that run now.
    before: Option<RunRecord>,
    parts: Vec<Part>,
    records: Vec<Option<RunRecord>>,
    problem: Option<anyhow::Error>,
    effort: Vec<sim::Stats>,
}

impl Ensemble<'_> {
    /// Runs a plan and whatever comes next, with the other processes that a launcher started, if it did; all run the same ensemble. What
    /// the simulations of this process took.
    pub fn run(&self, plan: Plan, crew: Option<&dyn Machine>) -> anyhow::Result<Vec<sim::Stats>> {
        let slots = Mutex::new(Slots::new(plan));
        match crew {
            None => self.run_all(None, &slots),
            Some(crew) => {
                crew.run(&|world| self.run_all(Some(world), &slots)).map_err(|e| Fail::with(Exit::Failure, e.0))?;
            }
        }
        let mut slots = slots.into_inner().expect("nobody panics holding it");
        match slots.problem.take() {
            Some(error) => Err(error),
            None => Ok(slots.effort),
        }
    }

    fn run_all(&self, world: Option<&dyn Comm>, slots: &Mutex<Slots>) {
        loop {
            let all = lock(slots).parts.len();
            match world {
                None => self.simulate((0..all).collect(), slots),
                Some(world) => self.share(world, slots),
            }
            let failed = lock(slots).problem.is_some();
            if failed || !self.goes_on(world, slots) {
                return;
            }
        }
    }

    /// Asks what comes next, when all parts so far are there.
    fn goes_on(&self, world: Option<&dyn Comm>, slots: &Mutex<Slots>) -> bool {
        let leads = world.is_none_or(|world| world.rank() == 0);
        let plan = lock(slots).plan.clone();
        let mut record = if leads { lock(slots).together(false) } else { None };
        let more = bench::ask_next(self.experiment, self.site, &plan, record.as_mut(), world);
        if let Some(record) = &mut record {
            match &more {
                Ok(phases) if phases.is_empty() => {}
                Ok(phases) => {
                    record.status = Status::Incomplete { reason: "the run has not ended".into() };
                    record.plan.phases.extend(phases.iter().cloned());
                }
                Err(reason) => record.status = Status::Incomplete { reason: reason.clone() },
            }
            self.watch.save(record);
        }
        match more {
            Ok(phases) if phases.is_empty() => false,
            Ok(phases) => {
                lock(slots).extend(phases, record);
                true
            }
            Err(reason) => {
                lock(slots).problem = Some(Fail::usage(reason));
                false
            }
        }
    }

    /// One process of several: in rounds, so that rank 0 saves what all have done before the next begins.
    fn share(&self, world: &dyn Comm, slots: &Mutex<Slots>) {
        let (me, processes, all) = (world.rank(), world.size(), lock(slots).parts.len());
        let (_, side_by_side) = self.threads(all);
        let of_round = processes * side_by_side;
        for begin in (0..all).step_by(of_round) {
            let end = (begin + of_round).min(all);
            let mine: Vec<usize> = (begin..end).filter(|p| p % processes == me).collect();
            self.simulate(mine.clone(), slots);
            if let Some(error) = lock(slots).problem.take() {
                // The others would wait for this process for ever.
                mpi::abort(Exit::Failure as i32, &format!("{error:#}"));
            }
            let done: Vec<(usize, RunRecord)> = {
                let mut slots = lock(slots);
                mine.iter().filter_map(|&p| Some((p, slots.records[p].take()?))).collect()
            };
            // As text: records have tags that only a text can hold.
            let text = serde_json::to_string(&done).expect("records can be written");
            let Some(all) = wire::gather(world, Some(&text)) else { continue };
            for text in all {
                let part: Vec<(usize, RunRecord)> = serde_json::from_str(&text).expect("written by this program");
                part.into_iter().for_each(|(p, record)| lock(slots).records[p] = Some(record));
            }
            self.save(slots);
        }
    }

    /// How many simulations a plan takes, before anything is decided on by results.
    pub(crate) fn parts(&self, plan: &Plan) -> usize {
        if in_parts(plan, self.config) { parts(plan, 0).len() } else { 1 }
    }

    /// Threads of a simulation, and simulations at once, if there are so many.
    pub(crate) fn threads(&self, parts: usize) -> (usize, usize) {
        let given = self.config.threads;
        let all = match given {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            _ => given,
        };
        let side_by_side = if self.config.ranks() > SIDE_BY_SIDE_UP_TO { 1 } else { all.min(parts).max(1) };
        // Simulations share a core well; threads of one, which meet every few microseconds, do not.
        let threads = if given == 0 && all > side_by_side { sim::idle_cores() } else { all };
        ((threads / side_by_side).max(1), side_by_side)
    }

    fn simulate(&self, mine: Vec<usize>, slots: &Mutex<Slots>) {
        let (what, all) = {
            let slots = lock(slots);
            (slots.what(), slots.parts.len())
        };
        let (threads, side_by_side) = self.threads(all);
        self.watch.part(what, lock(slots).complete(), all);
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(&index) = mine.get(next.fetch_add(1, Ordering::Relaxed)) {
                if lock(slots).problem.is_some() {
                    return;
                }
                match self.one(index, threads, slots) {
                    Ok(simulator) => lock(slots).keep(index, &simulator),
                    Err(error) => drop(lock(slots).problem.get_or_insert(error)),
                }
                let done = lock(slots).complete();
                self.watch.part(what, done, all);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..side_by_side.min(mine.len()) {
                scope.spawn(work);
            }
            work();
        });
    }

    fn one(&self, index: usize, threads: usize, slots: &Mutex<Slots>) -> anyhow::Result<Simulator> {
        let (part, plan) = lock(slots).plan_of(index);
        let plan = Arc::new(plan);
        // Points of a sweep that are alike, as repeats are, must not be the same simulation.
        let seed = self.config.seed.wrapping_add(part.first as u64);
        let config = sim::Config { threads, seed, ..self.config.clone() };
        let simulator = Simulator::new(config).map_err(Fail::usage)?;
        let looks = Looker { ensemble: self, index, slots };
        let problem = Mutex::new(None);
        let body = |world: &dyn Comm| {
            if let Err(error) = (self.body)(world, &simulator, Arc::clone(&plan), part.placement, &looks) {
                *problem.lock().expect("nobody panics holding it") = Some(error);
            }
        };
        simulator.run(&body).map_err(|e| Fail::with(Exit::Incomplete, e.0))?;
        match problem.into_inner().expect("nobody panics holding it") {
            Some(error) => Err(error),
            None => Ok(simulator),
        }
    }

    /// Writes what is there, put together.
    fn save(&self, slots: &Mutex<Slots>) {
        if let Some(record) = lock(slots).together(self.experiment.decides()) {
            self.watch.save(&record);
        }
    }
}

fn lock<'s>(slots: &'s Mutex<Slots>) -> MutexGuard<'s, Slots> {
    slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Slots {
    fn new(plan: Plan) -> Slots {
        let parts = parts(&plan, 0);
        Slots { records: vec![None; parts.len()], plan, before: None, parts, problem: None, effort: Vec::new() }
    }

    /// More phases, behind those that are done.
    fn extend(&mut self, phases: Vec<record::Phase>, before: Option<RunRecord>) {
        let begun = self.plan.phases.len();
        self.plan.phases.extend(phases);
        self.parts = parts(&self.plan, begun);
        (self.records, self.before) = (vec![None; self.parts.len()], before);
    }

    /// A part and the plan of its phases alone.
    fn plan_of(&self, index: usize) -> (Part, Plan) {
        let part = self.parts[index];
        let phases = self.plan.phases[part.first..part.first + part.phases].to_vec();
        (part, self.plan.part(phases))
    }

    /// What the parts are called.
    fn what(&self) -> &'static str {
        if self.plan.placements > 1 { "placements" } else { "points" }
    }

    /// A part is done. Its network is in the film if it is the first placement; of a sweep each point is one picture.
    fn keep(&mut self, index: usize, simulator: &Simulator) {
        self.effort.push(simulator.stats());
        let sweep = self.plan.placements == 1;
        if let Some(record) = self.records[index].as_mut().filter(|_| sweep || index == 0) {
            crate::machine::complete(simulator, record);
            if sweep {
                record.network = record.network.take().map(NetworkRecord::still);
            }
        }
    }

    fn complete(&self) -> usize {
        self.records.iter().flatten().filter(|r| r.status == Status::Complete).count()
    }

    /// One record of the parts that are there, in their order. `open`: more may come when all are done.
    fn together(&self, open: bool) -> Option<RunRecord> {
        let first = self.before.as_ref().or_else(|| self.records.iter().flatten().next())?;
        let mut all = first.clone();
        if self.before.is_none() {
            (all.phases, all.network, all.events) = (Vec::new(), None, Vec::new());
            all.plan = self.plan.clone();
        }
        let (done, of) = (self.complete(), self.parts.len());
        all.status = match (done == of, open) {
            (true, false) => Status::Complete,
            (true, true) => Status::Incomplete { reason: "the run has not ended".into() },
            _ => Status::Incomplete { reason: format!("{done} of {of} {} ran to their end", self.what()) },
        };
        for (part, record) in self.parts.iter().zip(&self.records) {
            let record = record.as_ref().filter(|r| self.plan.placements > 1 || r.status == Status::Complete);
            match record {
                Some(record) => add(&mut all, *part, record.clone()),
                // Phases of a record stand in the order of the plan, without gaps.
                None if self.plan.placements == 1 => break,
                None => {}
            }
        }
        Some(all)
    }
}

fn add(all: &mut RunRecord, part: Part, mut record: RunRecord) {
    all.events.append(&mut record.events);
    match (&mut all.network, record.network.take()) {
        (Some(network), Some(next)) => network.then(next),
        (network @ None, next) => *network = next,
        (Some(_), None) => {}
    }
    all.take_part(part.first, part.placement, record);
}

/// Looks on at one part.
struct Looker<'p> {
    ensemble: &'p Ensemble<'p>,
    index: usize,
    slots: &'p Mutex<Slots>,
}

impl Observer for Looker<'_> {
    fn phase(&self, _: &Plan, _: u32, _: usize) {}

    fn save(&self, record: &RunRecord) {
        lock(self.slots).records[self.index] = Some(record.clone());
        // Other processes save in rounds; within one, what is new goes to disk now and then.
        if !self.ensemble.shared && self.ensemble.watch.may_save() {
            self.ensemble.save(self.slots);
        }
    }
}
