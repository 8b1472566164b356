//! Runs any plan on any machine and leaves one record.
//!
//! Every rank calls [`run`] with the same plan. For each phase the ranks are divided into jobs and the jobs into instances;
//! background jobs start and say when they are warm; measured jobs run; background jobs are told to stop; what was recorded is merged
//! up a tree to rank 0, after the phase and never during it.
#![expect(clippy::disallowed_methods, reason = "the engine is what times")]

mod background;
mod counting;
mod groups;
mod heart;
mod looks;
mod measured;
mod met;
mod partial;
mod recorder;
mod results;
pub mod wire;

use crate::counters::Counters;
use crate::experiments::Experiment;
use crate::kernel::{Arithmetic, Kernel, Progress, Setup};
use crate::kernels::called;
use crate::layout::{NodeFacts, Seat, placement_seed, places};
use crate::site::Site;
use background::Orders;
use comm::{Comm, Reduce, Refusal};
use counting::Counting;
use groups::Groups;
use heart::Heart;
use looks::Looks;
pub use measured::steps_taken;
use partial::Partial;
use record::{About, Layout, MachineRecord, NodeOrder, Payload, Phase, PhaseRecord, Plan, Role, RunRecord, Status};
use spec::{Params, Time};
use std::sync::Arc;

/// What the engine cannot know but a record must hold.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The command that repeats the run.
    pub command: Vec<String>,
    /// When it started, on a real machine.
    pub created: Option<String>,
    /// What it runs on.
    pub machine: MachineRecord,
    /// What a reader must know before believing a number.
    pub warnings: Vec<String>,
    /// Which counters are read around every phase.
    pub counters: Counters,
    /// The nodes as the machine numbers them, where nodes have names; needed on rank 0 alone.
    pub nodes: Vec<NodeFacts>,
    /// The names of the hosts, also where ranks count as nodes.
    pub hosts: Vec<String>,
}

impl Facts {
    /// What a rank needs that keeps no record: which counters to read.
    pub fn without_record(&self) -> Facts {
        let machine = MachineRecord::Local { host: Default::default() };
        let (command, created, warnings, counters) = (Vec::new(), None, Vec::new(), self.counters.clone());
        Facts { command, created, machine, warnings, counters, nodes: Vec::new(), hosts: Vec::new() }
    }
}

/// Looks on from rank 0: progress bars and files are made of this.
pub trait Observer {
    /// A phase starts, by its index in the plan, in some placement.
    fn phase(&self, plan: &Plan, placement: u32, index: usize);
    /// The record so far, before the first phase and after every one: save it now. It says "incomplete" until the last phase is in it.
    fn save(&self, record: &RunRecord);
    /// Whether the user wants load without a measurement to end. Asked on every rank that leads a job.
    fn asked_to_stop(&self) -> bool {
        false
    }
    /// How far the running step is; may come often.
    fn progress(&self, _: Progress) {}
    /// A sign of life of this rank's job, on the first ranks of every job whose blocks are bounded in time. The end of a phase is told on every rank.
    fn heart(&self, _: Beat) {}
}

/// Signs of life between the blocks of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beat {
    /// A block ended and the next begins.
    Block,
    /// The job rests: silence means nothing until the next block.
    Rest,
    /// The job is over and waits for the rest of the phase, which may measure for so many seconds more; without a number, for ever.
    Over(Option<f64>),
    /// The phase is over.
    Ended,
}

/// Where an experiment runs, and who looks on.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    /// All ranks.
    pub world: &'a dyn Comm,
    /// This rank's place.
    pub seat: Seat,
    /// What the record holds besides plan and measurements.
    pub facts: &'a Facts,
    /// Looks on.
    pub observer: &'a dyn Observer,
    /// Which placement alone is to run; all of the plan's if none is named.
    pub placement: Option<u32>,
}

/// What every rank needs to know during a run.
struct Run<'a> {
    world: &'a dyn Comm,
    seat: Seat,
    node_order: NodeOrder,
    /// Of the run and this placement of it.
    seed: u64,
    placement: u32,
    payload: Payload,
    observer: &'a dyn Observer,
    counting: Option<Counting<'a>>,
    arithmetic: Arithmetic,
    /// When the first phase could have begun.
    start: Time,
}

impl<'a> Run<'a> {
    /// Before the first phase. Collective.
    fn new(stage: Stage<'a>, plan: &Plan) -> Run<'a> {
        let Stage { world, seat, facts, observer, .. } = stage;
        let (counting, arithmetic) = (Counting::new(world, &facts.counters), Arithmetic::on(world));
        let Plan { node_order, seed, payload, .. } = *plan;
        let (placement, start) = (0, world.now());
        Run { world, seat, node_order, seed, placement, payload, observer, counting, arithmetic, start }
    }
}

/// Runs a plan. Collective over `world`. The record is returned on rank 0.
pub fn run(world: &dyn Comm, seat: Seat, plan: &Plan, facts: &Facts, observer: &dyn Observer) -> Option<RunRecord> {
    let stage = Stage { world, seat, facts, observer, placement: None };
    let done = carry_out(stage, Arc::new(plan.clone()), &mut |_| Ok(Vec::new()));
    done.expect("a plan decides nothing, so nothing can go wrong with it")
}

/// Runs an experiment that begins with this plan, which ranks of one process may share. Collective. The record is returned on rank 0; an
/// error is the same on every rank, and the observer has been given the record of what was done before it.
pub fn drive(
    stage: Stage<'_>,
    experiment: &dyn Experiment,
    site: &Site,
    plan: Arc<Plan>,
) -> Result<Option<RunRecord>, String> {
    let mut next = |record: Option<&mut RunRecord>| {
        // Whoever runs a plan in parts decides when all of them are there.
        if stage.placement.is_some() {
            return Ok(Vec::new());
        }
        ask_next(experiment, site, &plan, record, Some(stage.world))
    };
    carry_out(stage, Arc::clone(&plan), &mut next)
}

/// What comes next, given the record so far. Under several processes it is collective: the record is on rank 0 alone, and all are told.
pub fn ask_next(
    experiment: &dyn Experiment,
    site: &Site,
    plan: &Plan,
    record: Option<&mut RunRecord>,
    world: Option<&dyn Comm>,
) -> Result<Vec<Phase>, String> {
    // The same on every rank, so either all of them or none go on to the broadcast below.
    if !experiment.decides() {
        return Ok(Vec::new());
    }
    let mine = record.map(|record| experiment.next(site, record));
    // Plans are written for people, with tags that only a text can hold.
    let mut text = mine.map(|phases| serde_json::to_string(&phases).expect("phases can be written"));
    if let Some(world) = world {
        text = Some(wire::tell(world, text.as_ref()));
    }
    let told: Result<Vec<Phase>, String> =
        serde_json::from_str(&text.expect("without a world there is a record")).expect("rank 0 wrote it");
    let more = Plan { phases: told?, ..plan.clone() };
    crate::suites::check(&more, site).map_err(|e| e.to_string())?;
    Ok(more.phases)
}

/// Says what comes next, given the record so far on rank 0; the same on every rank.
type Next<'n> = &'n mut dyn FnMut(Option<&mut RunRecord>) -> Result<Vec<Phase>, String>;

fn carry_out(stage: Stage<'_>, mut plan: Arc<Plan>, next: Next<'_>) -> Result<Option<RunRecord>, String> {
    let Stage { world, seat, facts, observer, placement } = stage;
    let seed = plan.seed;
    let (first, placements) = placement.map_or((0, plan.placements), |only| (only, 1));
    let mut run = Run::new(stage, &plan);
    // In a box: every rank has a stack, and most have no record.
    let mut record = (world.rank() == 0).then(|| Box::new(empty_record(&plan, seat.layout, facts)));
    // A run that dies in its first phase leaves a record, too: what it was, and that nothing was measured.
    if let Some(record) = &record {
        observer.save(record);
    }
    let mut groups: Option<Groups> = None;
    let mut done = 0;
    loop {
        while done < plan.phases.len() * placements as usize {
            let (index, turn) = (done % plan.phases.len(), done / plan.phases.len());
            (run.placement, run.seed) = (first + turn as u32, placement_seed(seed, first + turn as u32));
            let phase = &plan.phases[index];
            if record.is_some() {
                observer.phase(&plan, run.placement, index);
            }
            // Dividing the ranks is the costly part of a phase's start, so phases with the same division share it.
            if groups.as_ref().is_none_or(|g| !g.fit(run.placement, phase)) {
                // First the old division, then the new one: two at a time would hold twice the communicators.
                drop(groups.take());
                groups = Some(Groups::divide(&run, phase));
            }
            let measured = run_phase(&run, phase, groups.as_ref().expect("just made"));
            observer.heart(Beat::Ended);
            done += 1;
            if let (Some(record), Some(measured)) = (&mut record, measured) {
                match placement {
                    // Whoever runs placements one by one puts them together.
                    Some(_) => record.phases.push(*measured),
                    None => record.take(index, run.placement, *measured),
                }
                // Also after the last planned phase: what comes next is agreed upon by all ranks, and one may die while they do.
                observer.save(record);
            }
        }
        let more = next(record.as_deref_mut());
        if let Some(record) = &mut record {
            match &more {
                Ok(phases) if phases.is_empty() => record.status = Status::Complete,
                Ok(phases) => record.plan.phases.extend(phases.iter().cloned()),
                Err(reason) => record.status = Status::Incomplete { reason: reason.clone() },
            }
            observer.save(record);
        }
        // An error leaves only now, when the record of what was done before it is saved.
        match more? {
            phases if phases.is_empty() => return Ok(record.map(|record| *record)),
            phases => Arc::make_mut(&mut plan).phases.extend(phases),
        }
    }
}

/// The record of a run in which nothing has been measured yet.
pub fn empty_record(plan: &Plan, layout: Layout, facts: &Facts) -> RunRecord {
    RunRecord {
        format: record::run::FORMAT.into(),
        version: record::run::VERSION,
        tailback: env!("CARGO_PKG_VERSION").into(),
        status: Status::Incomplete { reason: "the run has not ended".into() },
        command: facts.command.clone(),
        created: facts.created.clone(),
        machine: facts.machine.clone(),
        layout,
        plan: plan.clone(),
        node_names: names(plan, facts),
        hosts: facts.hosts.clone(),
        warnings: facts.warnings.clone(),
        events: Vec::new(),
        network: None,
        phases: Vec::new(),
    }
}

/// The names of the nodes in the plan's order.
fn names(plan: &Plan, facts: &Facts) -> Vec<String> {
    let mut ordered = vec![String::new(); facts.nodes.len()];
    let places = places(&facts.nodes, &plan.canary_nodes, plan.node_order, plan.seed);
    for (place, node) in places.into_iter().zip(&facts.nodes) {
        ordered[place as usize].clone_from(&node.name);
    }
    ordered
}

// Not inlined, as all below that is not on the way to a kernel's steps: what it needs would be part of every rank's stack for good.
#[inline(never)]
fn run_phase(run: &Run<'_>, phase: &Phase, groups: &Groups<'_>) -> Option<Box<PhaseRecord>> {
    // Counters are read before the clock starts and after it has stopped: reading takes time of its own.
    let counting = run.counting.as_ref().map(|c| (c, c.start(phase, groups)));
    run.world.barrier();
    let begin = run.world.now();
    let mine = groups.mine.as_ref().map(|part| run_job(run, phase, groups, part));
    run.world.barrier();
    // Nothing is measured any more: what is left is to hear from everyone, and not all ranks that hang kept others from getting here.
    run.observer.heart(Beat::Over(Some(0.0)));
    let elapsed = run.world.now().since(begin);
    conclude(run, phase, mine, (begin, elapsed), counting)
}

/// Puts together what all ranks have of a phase. Collective; the record is on rank 0.
#[inline(never)]
fn conclude(
    run: &Run<'_>,
    phase: &Phase,
    mine: Option<Box<Partial>>,
    (begin, elapsed): (Time, Time),
    counting: Option<(&Counting<'_>, counting::Start)>,
) -> Option<Box<PhaseRecord>> {
    let in_series = matches!(phase.about, About::Series { .. });
    let counted = counting.map(|(c, start)| c.end(phase, start)).unwrap_or_default();
    let mut merged = partial::collect(run.world, mine.as_deref())?;
    let jobs = phase.jobs.iter().enumerate().map(|(index, job)| {
        let resolved = resolve(&job.kernel, &job.params);
        Partial::into_record(merged.remove(&(index as u32)), job, resolved.0, resolved.1)
    });
    Some(Box::new(PhaseRecord {
        name: phase.name.clone(),
        about: phase.about.clone(),
        elapsed_s: elapsed.secs(),
        began_s: in_series.then(|| begin.since(run.start).secs()),
        jobs: jobs.collect(),
        counters: counted.counters,
        counted: counted.nodes,
    }))
}

/// The kernel and its parameters; both were checked before any rank started.
#[inline(never)]
fn resolve(name: &str, params: &Params) -> (&'static Kernel, Params) {
    let called = called(name).expect("checked before the run");
    (called.kernel, called.resolve(params).expect("checked before the run"))
}

#[inline(never)]
fn run_job(run: &Run<'_>, phase: &Phase, groups: &Groups<'_>, part: &groups::Part<'_>) -> Box<Partial> {
    let job = &phase.jobs[part.job];
    let (kernel, params) = resolve(&job.kernel, &job.params);
    let enough = part.instance.size() >= kernel.min_ranks;
    // Instances of a job draw different rings; all ranks of an instance have the same number.
    let seed = run.seed ^ (u64::from(part.number) << 32);
    let first = run.world.rank() == 0;
    let progress = |done: Progress| {
        if first {
            run.observer.progress(done);
        }
    };
    let setup = Setup::new(&*part.instance, &params, run.arithmetic);
    let setup = Setup { seed, payload: run.payload.carried(), progress: &progress, ..setup };
    let started = if enough { (kernel.start)(setup).map(Some) } else { Ok(None) };
    let skip = skipped(&*part.group, &job.kernel, kernel, enough, started.as_ref().err());
    let mut pattern = if skip.is_some() { None } else { started.ok().flatten() };
    let pattern = pattern.as_deref_mut();
    let heart = Heart::new(run.observer, part, phase, first);
    let mut partial = match job.role {
        Role::Measured => {
            // A job that is skipped does this, too: background jobs send it their word and wait for its own.
            groups.wait_until_loaded(run.world, part);
            let partial = match skip {
                Some(_) => Box::new(Partial::skipped()),
                None => {
                    let looks = Looks::measured(run.payload, run.arithmetic);
                    measured::measure(&*part.group, pattern, kernel.metric, &job.stop, &heart, looks)
                }
            };
            heart.over();
            groups.stop_load(run.world, part);
            partial
        }
        Role::Background => {
            let asked = || run.observer.asked_to_stop();
            let longest = background::longest_batch(phase);
            let looks = Looks::load(run.payload, run.arithmetic);
            let orders = Orders { stop: &job.stop, longest, asked_to_stop: &asked, heart: &heart };
            let partial = background::load(run.world, groups, part, pattern, kernel.metric, &orders, looks);
            heart.over();
            partial
        }
    };
    partial.job = part.job as u32;
    partial.met.settle(part.instance.rank(), run.seat.home);
    partial.skipped = skip;
    if !enough && partial.skipped.is_none() {
        partial.notes.push(format!("some of its communicators have fewer than {} ranks and sat out", kernel.min_ranks));
    }
    partial
}

/// Why a job is not run: a rank refused it, or none of its communicators has the ranks it needs.
#[inline(never)]
fn skipped(group: &dyn Comm, name: &str, kernel: &Kernel, enough: bool, refusal: Option<&Refusal>) -> Option<String> {
    let mut any = [refusal.is_some(), enough].map(|x| f64::from(u8::from(x)));
    // Other jobs may load the network already, so what this one must know first does not go through it.
    group.settle(&mut any, Reduce::Max);
    let [refused, running] = any.map(|x| x > 0.0);
    match refusal {
        Some(refusal) => Some(refusal.0.clone()),
        None if refused => Some("refused on other ranks of the job".to_string()),
        None if !running => {
            Some(format!("{name} needs {} ranks that talk to each other, one per node", kernel.min_ranks))
        }
        None => None,
    }
}
