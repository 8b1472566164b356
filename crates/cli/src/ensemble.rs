//! Placements of a simulated machine, side by side: on the cores of this process and, under a launcher, on all its processes. Each is a
//! simulation of its own, and what they measured is put together in the order of placements, so the record does not depend on how many
//! there were at once.

use crate::exit::{Exit, Fail};
use crate::progress::Watch;
use bench::Observer;
use comm::{Comm, Machine, collectives};
use record::{Plan, RunRecord, Status};
use sim::Simulator;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Machines with more ranks are simulated one at a time, on all threads: several at once might not fit into the memory.
const SIDE_BY_SIDE_UP_TO: usize = 20_000;

/// What every rank of a simulation does in one placement.
pub type Body<'b> = dyn Fn(&dyn Comm, &Simulator, u32, &dyn Observer) -> anyhow::Result<()> + Sync + 'b;

/// What is to be simulated.
pub struct Ensemble<'e> {
    /// The machine.
    pub config: &'e sim::Config,
    /// How many placements.
    pub placements: u32,
    /// What each rank does.
    pub body: &'e Body<'e>,
    /// Who is told, where the record is written.
    pub watch: &'e Watch,
    /// Whether other processes run their share, so that saving waits for them.
    pub shared: bool,
}

/// Records of placements so far, and the simulator of the first one, which knows what its network did.
struct Slots {
    records: Vec<Option<RunRecord>>,
    first: Option<Simulator>,
    problem: Option<anyhow::Error>,
    effort: Vec<sim::Stats>,
}

impl Ensemble<'_> {
    /// Runs all placements, with the other processes that a launcher started, if it did; all run the same ensemble. On the process that
    /// prints: the simulator of the first placement and what all that it ran itself took.
    pub fn run(&self, crew: Option<&dyn Machine>) -> anyhow::Result<(Option<Simulator>, Vec<sim::Stats>)> {
        let records = vec![None; self.placements as usize];
        let slots = Mutex::new(Slots { records, first: None, problem: None, effort: Vec::new() });
        match crew {
            None => {
                self.simulate((0..self.placements).collect(), &slots);
                self.save(&slots);
            }
            Some(crew) => crew.run(&|world| self.share(world, &slots)).map_err(|e| Fail::with(Exit::Failure, e.0))?,
        }
        let mut slots = slots.into_inner().expect("nobody panics holding it");
        match slots.problem.take() {
            Some(error) => Err(error),
            None => Ok((slots.first, slots.effort)),
        }
    }

    /// One process of several: in rounds, so that rank 0 saves what all have done before the next begins.
    fn share(&self, world: &dyn Comm, slots: &Mutex<Slots>) {
        let (me, processes) = (world.rank(), world.size());
        let (_, side_by_side) = self.threads();
        let of_round = processes * side_by_side;
        for begin in (0..self.placements as usize).step_by(of_round) {
            let end = (begin + of_round).min(self.placements as usize);
            let mine: Vec<u32> = (begin..end).filter(|p| p % processes == me).map(|p| p as u32).collect();
            self.simulate(mine.clone(), slots);
            if let Some(error) = lock(slots).problem.take() {
                // The others would wait for this process for ever.
                mpi::abort(Exit::Failure as i32, &format!("{error:#}"));
            }
            let done: Vec<(u32, RunRecord)> = {
                let mut slots = lock(slots);
                mine.iter().filter_map(|&p| Some((p, slots.records[p as usize].take()?))).collect()
            };
            let text = serde_json::to_string(&done).expect("records can be written") + "\n";
            let mut behind = |mut a: Vec<u8>, b: Vec<u8>| {
                a.extend_from_slice(&b);
                a
            };
            let Some(all) = collectives::fold(world, text.into_bytes(), &mut behind) else { continue };
            for line in String::from_utf8_lossy(&all).lines() {
                let part: Vec<(u32, RunRecord)> = serde_json::from_str(line).expect("written by this program");
                part.into_iter().for_each(|(p, record)| lock(slots).records[p as usize] = Some(record));
            }
            self.save(slots);
        }
    }

    /// Threads of a simulation, and simulations at once.
    fn threads(&self) -> (usize, usize) {
        let all = match self.config.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            given => given,
        };
        let side_by_side = if self.config.ranks() > SIDE_BY_SIDE_UP_TO { 1 } else { all.min(self.placements as usize) };
        (all / side_by_side, side_by_side)
    }

    fn simulate(&self, placements: Vec<u32>, slots: &Mutex<Slots>) {
        let (threads, side_by_side) = self.threads();
        let next = AtomicU32::new(0);
        let work = || {
            while let Some(&placement) = placements.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                if lock(slots).problem.is_some() {
                    return;
                }
                match self.one(placement, threads, slots) {
                    Ok(simulator) => lock(slots).keep(placement, simulator),
                    Err(error) => drop(lock(slots).problem.get_or_insert(error)),
                }
                self.watch.placement(lock(slots).complete(), self.placements);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..side_by_side.min(placements.len()) {
                scope.spawn(work);
            }
            work();
        });
    }

    fn one(&self, placement: u32, threads: usize, slots: &Mutex<Slots>) -> anyhow::Result<Simulator> {
        let config = sim::Config { threads, ..self.config.clone() };
        let simulator = Simulator::new(config).map_err(Fail::usage)?;
        let part = Part { ensemble: self, placement, slots };
        let problem = Mutex::new(None);
        let body = |world: &dyn Comm| {
            if let Err(error) = (self.body)(world, &simulator, placement, &part) {
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
        if let Some(record) = together(&lock(slots).records, self.placements) {
            self.watch.save(&record);
        }
    }
}

fn lock<'s>(slots: &'s Mutex<Slots>) -> MutexGuard<'s, Slots> {
    slots.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Slots {
    fn keep(&mut self, placement: u32, simulator: Simulator) {
        self.effort.push(simulator.stats());
        if placement == 0 {
            self.first = Some(simulator);
        }
    }

    fn complete(&self) -> u32 {
        self.records.iter().flatten().filter(|r| r.status == Status::Complete).count() as u32
    }
}

/// One record of the placements that are there, in their order.
fn together(records: &[Option<RunRecord>], placements: u32) -> Option<RunRecord> {
    let first = records.iter().flatten().next()?;
    let mut all = RunRecord { phases: Vec::new(), status: Status::Complete, ..first.clone() };
    let complete = records.iter().flatten().filter(|r| r.status == Status::Complete).count() as u32;
    if complete < placements {
        all.status = Status::Incomplete { reason: format!("{complete} of {placements} placements ran to their end") };
    }
    for (placement, record) in records.iter().enumerate() {
        if let Some(record) = record {
            all.take_placement(placement as u32, record.clone());
        }
    }
    Some(all)
}

/// Looks on at one placement.
struct Part<'p> {
    ensemble: &'p Ensemble<'p>,
    placement: u32,
    slots: &'p Mutex<Slots>,
}

impl Observer for Part<'_> {
    fn phase(&self, _: &Plan, _: u32, _: usize) {}

    fn save(&self, record: &RunRecord) {
        lock(self.slots).records[self.placement as usize] = Some(record.clone());
        // Other processes save in rounds; within one, what is new goes to disk now and then.
        if !self.ensemble.shared && self.ensemble.watch.may_save() {
            self.ensemble.save(self.slots);
        }
    }
}
