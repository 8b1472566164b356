//! The one driver: any experiment on any machine, to a record on disk. Every command that measures ends up here, so every one of them is
//! saved after each phase, watched for silence, ended by signals and judged by the same exit codes.

use crate::cost::{self, Cost};
use crate::ensemble::{Ensemble, in_parts};
use crate::exit::{Exit, Fail};
use crate::grouping::Grouping;
use crate::machine::{Speaker, Target, effort as effort_of};
use crate::progress::{Late, Watch};
use crate::scout::Whereabouts;
use crate::vitals::Clocks;
use crate::{folder, host, options, output, signals};
use crate::{runner, show};
use bench::health::{Health, clock_warning};
use bench::suites::SuiteError;
use bench::trial::Try;
use bench::{Experiment, Facts, Observer, Seat, Site, Stage};
use clap::ArgMatches;
use comm::{Buffer, Comm, Reduce, agree};
use record::{Layout, Payload, Plan, RunRecord, Status};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// Above so many ranks a simulated machine moves lengths instead of data unless told otherwise.
const CARRY_DATA_UP_TO: usize = 512;

/// How an experiment is to be run, read and checked before any rank starts.
pub struct Order {
    seed: Option<u64>,
    grouping: Grouping,
    payload: Payload,
    out: Option<PathBuf>,
    /// Whether a result in `out` is replaced.
    force: bool,
    plan_only: bool,
    dry_run: bool,
    quiet: bool,
    /// Whether a page is written beside the record.
    page: bool,
    patience: Option<Duration>,
}

impl Order {
    /// Reads the options of every run.
    pub fn read(args: &ArgMatches, target: &Target) -> anyhow::Result<Order> {
        let text = |option: &str| args.try_get_one::<String>(option).ok().flatten().cloned();
        let lengths = target.is_simulated() && target.ranks() > CARRY_DATA_UP_TO;
        let payload = match text("payload").as_deref() {
            Some("checked") => Payload::Checked,
            Some("unchecked") => Payload::Unchecked,
            Some(_) => Payload::Lengths,
            None if lengths => Payload::Lengths,
            None => Payload::Checked,
        };
        let flag = |option: &str| args.try_get_one::<bool>(option).ok().flatten().copied().unwrap_or(false);
        let dry_run = flag("dry-run");
        if dry_run && (!target.is_simulated() || target.crew().is_some()) {
            let text = "--dry-run says what a simulation will cost: name a simulated machine with --on, and start it without a launcher; how long a real run takes is what --time says";
            return Err(Fail::usage(text));
        }
        Ok(Order {
            seed: read_seed(args)?,
            grouping: Grouping::read(args, target)?,
            payload,
            out: text("out").map(PathBuf::from),
            force: args.get_flag("force"),
            plan_only: flag("plan-only"),
            dry_run,
            quiet: args.get_flag("quiet"),
            page: !flag("no-page"),
            patience: options::patience(args)?,
        })
    }

    /// The same, with lengths instead of data on a simulated machine unless the user says otherwise: for flows whose data nobody needs.
    pub fn with_lengths(mut self, args: &ArgMatches, target: &Target) -> Order {
        if target.is_simulated() && args.get_one::<String>("payload").is_none() {
            self.payload = Payload::Lengths;
        }
        self
    }
}

/// A finished run on the process that prints.
pub struct Finished {
    /// What was measured.
    pub record: RunRecord,
    /// Why it could not be saved, if so.
    unsaved: Option<String>,
    /// Its page, where somebody wants to hear of it.
    page: Option<PathBuf>,
}

impl Finished {
    /// Prints the result. The exit code tells what the record says; a record that could not be saved is an error of its own.
    pub fn print(self, text: &str) -> anyhow::Result<Exit> {
        output::print(text)?;
        if let Some(page) = &self.page {
            let folder = page.parent().unwrap_or(page);
            mpi::say(format_args!("tailback: page {}", page.display()));
            mpi::say(format_args!("tailback: every table: tailback report --verbose {}", folder.display()));
        }
        match self.unsaved {
            Some(why) => Err(Fail::with(show::exit_of(&self.record), why)),
            None => Ok(show::exit_of(&self.record)),
        }
    }
}

/// What arguments say, or the exit code of a process that leaves speaking to rank 0: every rank reads the same arguments and would say the
/// same.
pub fn once<T>(target: &Target, read: anyhow::Result<T>) -> anyhow::Result<Result<T, Exit>> {
    match read {
        Ok(value) => Ok(Ok(value)),
        Err(error) if target.prints() => Err(error),
        Err(_) => Ok(Err(Exit::Usage)),
    }
}

/// Runs an experiment. Nothing is returned by processes that have nothing to print: those of other ranks, and all if only the plan was
/// asked for.
pub fn drive(target: &Target, order: &Order, experiment: &dyn Experiment) -> anyhow::Result<Option<Finished>> {
    let watch = Watch::new(order.quiet || !target.prints(), target.is_simulated(), order.patience);
    if !order.page {
        watch.without_page();
    }
    let last_words = watch.clone();
    signals::on_signal(move |reason| last_words.hear(reason));
    if !target.is_simulated() {
        runner::install();
    }
    let (facts, speaker, seed) = (facts(target), target.speaker(), simulated_seed(target, order.seed)?);
    let run = Run { order, experiment, facts: &facts, watch: &watch, speaker, seed, tries: OnceLock::new() };
    if order.dry_run {
        return run.foretell(target).map(|()| None);
    }
    let effort = match run.first(target) {
        Ok(Some((plan, site))) => run.ensemble(target, plan, &site),
        Ok(None) => Ok(target.simulator().map(|s| vec![s.stats()]).unwrap_or_default()),
        Err(error) => Err(error),
    };
    let (record, unsaved, page) = watch.finish();
    let effort = match effort {
        Ok(effort) => effort,
        Err(error) if target.prints() => return Err(error),
        Err(error) => return Err(Fail::silent(&error)),
    };
    if let Some(simulator) =
        target.simulator().filter(|_| run.speaker.prints && !order.quiet && !order.plan_only && !order.dry_run)
    {
        mpi::say(format_args!("tailback: {}", effort_of(simulator.config().ranks(), &effort)));
    }
    Ok(record.map(|mut record| {
        // Said in the report, too: what is not on disk did not pass.
        if let Some(reason) = unsaved.clone() {
            record.status = Status::Incomplete { reason };
        }
        Finished { record, unsaved, page: page.filter(|_| !order.quiet) }
    }))
}

/// An order under way.
struct Run<'a> {
    order: &'a Order,
    experiment: &'a dyn Experiment,
    facts: &'a Facts,
    watch: &'a Watch,
    speaker: Speaker,
    /// Of simulations: the same in all of them.
    seed: Option<u64>,
    /// What is tried before the plan is made; as the plan, the first rank of a process says it for all.
    tries: OnceLock<Vec<Try>>,
}

impl Run<'_> {
    /// Makes the plan on the machine and runs it there; or, if it has parts that are to be simulated side by side, returns it.
    fn first(&self, target: &Target) -> anyhow::Result<Option<(Arc<Plan>, Site)>> {
        let (scout, simulator, crew) = (Whereabouts::of(target), target.simulator(), target.crew().is_some());
        let (problem, later, made) = (Mutex::new(None), Mutex::new(None), OnceLock::new());
        let ended = target.run(&|world| {
            self.watch.post(world);
            let done = self.seat_rank(world, &scout).and_then(|seated| {
                let (seat, site, facts) = &*seated;
                let plan = self.plan(world, site, &made)?;
                let seat = listed(world, *seat, &plan, site, facts)?;
                if self.order.plan_only {
                    return self.print_plan(world, &plan);
                }
                if self.order.dry_run || simulator.is_some_and(|s| in_parts(&plan, s.config())) {
                    *later.lock().expect("nobody panics holding it") = Some((plan, seated.1));
                    return Ok(());
                }
                if crew {
                    let say = "this is one simulation, by one process; start it without the launcher, or ask for more --placements";
                    return Err(Fail::usage(say));
                }
                // Not before the plan is known to be good: what is refused leaves no folder behind.
                if world.rank() == 0 {
                    self.open(&plan, site.layout)?;
                }
                let stage = Stage { world, seat, facts, observer: self.watch, placement: None };
                let clocks = Clocks::read();
                bench::drive(stage, self.experiment, site, plan).map(drop).map_err(Fail::usage)?;
                if simulator.is_none() {
                    self.watch.learn(afterwards(world, clocks, site));
                }
                Ok(())
            });
            if let Err(error) = done {
                // Ranks of one process say the same, the first of them in words.
                problem.lock().expect("nobody panics holding it").get_or_insert(error);
            }
            self.watch.dismiss(world);
        });
        self.watch.complete(target, target.simulator());
        if let Some(error) = problem.into_inner().expect("nobody panics holding it") {
            return Err(error);
        }
        ended.map_err(|error| self.died(&error.0))?;
        Ok(later.into_inner().expect("nobody panics holding it"))
    }

    /// Simulates parts side by side; what each simulation took.
    fn ensemble(&self, target: &Target, plan: Arc<Plan>, site: &Site) -> anyhow::Result<Vec<sim::Stats>> {
        self.open(&plan, site.layout)?;
        let run = |all: Ensemble<'_>| all.run(Arc::unwrap_or_clone(plan), target.crew());
        let effort = self.simulations(target, site, run).inspect_err(|error| {
            self.watch.give_up(&format!("{error:#}"));
        })?;
        self.watch.complete(target, None);
        Ok(effort)
    }

    /// Prints what the simulations of the plan will cost.
    fn foretell(&self, target: &Target) -> anyhow::Result<()> {
        let known = self.with_fewer_nodes(target)?;
        let Some((plan, site)) = self.first(target)? else { return Ok(()) };
        announce(&plan, self.order.quiet);
        let cost = self.simulations(target, &site, |all| match &known[..] {
            [] => all.cost(&plan),
            known => Ok(all.cost_by(&plan, known)),
        })?;
        let also = if self.experiment.decides() { "Tests that are decided on by results come on top.\n" } else { "" };
        output::print(&format!("{cost}{also}"))
    }

    /// What the same would cost with so many nodes, from few to ever more, until that takes long to find out; nothing where all nodes can
    /// be looked at before it does. What cannot be told of a part of the steps is refused on few nodes as it would be on all.
    fn with_fewer_nodes(&self, target: &Target) -> anyhow::Result<Vec<(usize, Cost)>> {
        let mut known = Vec::new();
        let sizes = target.simulator().map_or(Vec::new(), |simulator| cost::sizes(simulator.config()));
        let Some((all, fewer)) = sizes.split_last() else { return Ok(known) };
        for &nodes in fewer {
            if !self.order.quiet {
                mpi::say(format_args!("tailback: looking at {nodes} of {all} nodes"));
            }
            let begin = cost::cpu_time();
            // A file of cables, or a plan that names nodes, may need all of them: then all are looked at.
            let Ok(target) = target.with_nodes(nodes) else { continue };
            let run = Run { tries: OnceLock::new(), ..*self };
            let Ok(Some((plan, site))) = run.first(&target) else { continue };
            known.push((nodes, run.simulations(&target, &site, |all| all.cost(&plan))?));
            if known.len() >= cost::ENOUGH_SIZES && cost::cpu_time() - begin > cost::LONG {
                return Ok(known);
            }
        }
        Ok(Vec::new())
    }

    /// Does something with all simulations of a run.
    fn simulations<T>(&self, target: &Target, site: &Site, work: impl FnOnce(Ensemble<'_>) -> T) -> T {
        let body =
            |world: &dyn Comm, machine: &sim::Simulator, plan: Arc<Plan>, placement: u32, observer: &dyn Observer| {
                let seated = self.seat_rank(world, &Whereabouts::Simulated(machine))?;
                let (seat, site, facts) = &*seated;
                let seat = listed(world, *seat, &plan, site, facts)?;
                let stage = Stage { world, seat, facts, observer, placement: Some(placement) };
                bench::drive(stage, self.experiment, site, plan).map(drop).map_err(Fail::usage)
            };
        let config = target.simulator().expect("only simulated machines run parts side by side").config();
        let (experiment, watch, shared) = (self.experiment, self.watch, target.crew().is_some());
        work(Ensemble { config, experiment, site, body: &body, watch, shared })
    }

    /// The same on every rank: find the seat, look at the site. In a box, because stacks of simulated ranks are counted in pages.
    #[inline(never)]
    fn seat_rank(&self, world: &dyn Comm, scout: &Whereabouts<'_>) -> anyhow::Result<Box<(Seat, Site, Facts)>> {
        let mut facts = if world.rank() == 0 { self.facts.clone() } else { self.facts.without_record() };
        let seat = self.order.grouping.take_seat(world, scout, &mut facts)?;
        let mut site = Site::survey(world, &seat, self.experiment.asks(), scout);
        let (seed, payload) = (self.seed.or(self.order.seed).unwrap_or(0), self.order.payload);
        let tries = self.tries.get_or_init(|| self.experiment.tries(&site, seed, payload));
        if !tries.is_empty() {
            site.trials =
                bench::trial::run(world, tries, payload).map_err(|wrong| Fail::with(Exit::WrongData, wrong))?;
        }
        facts.warnings.extend(site.health.iter().flat_map(Health::warnings));
        Ok(Box::new((seat, site, facts)))
    }

    /// The plan, which the first rank of a process makes and the others share: 100,000 simulated ranks need no plan each.
    #[inline(never)]
    fn plan(&self, world: &dyn Comm, site: &Site, made: &OnceLock<Option<Arc<Plan>>>) -> anyhow::Result<Arc<Plan>> {
        let seed = self.seed.unwrap_or_else(|| agree_on_seed(world, self.order.seed));
        let mut error = None;
        let plan = made.get_or_init(|| {
            let plan = self.experiment.plan(site, seed, self.order.payload);
            plan.map(Arc::new).map_err(|e| error = Some(refused(e))).ok()
        });
        plan.clone().ok_or_else(|| error.unwrap_or_else(|| Fail::usage("the plan was refused")))
    }

    fn print_plan(&self, world: &dyn Comm, plan: &Plan) -> anyhow::Result<()> {
        if world.rank() == 0 && self.speaker.prints {
            output::print(&(serde_json::to_string_pretty(plan)? + "\n"))?;
        }
        Ok(())
    }

    /// Makes the folder of the record and says what is known to be missing, on the process that prints.
    fn open(&self, plan: &Plan, layout: Layout) -> anyhow::Result<()> {
        if !self.speaker.prints {
            return Ok(());
        }
        let first = bench::engine::empty_record(plan, layout, self.facts);
        let slot = folder::open(self.experiment.name(), self.order.out.as_deref(), self.order.force, &first);
        let slot = slot.or_else(|error| self.speaker.end_all(error))?;
        announce(plan, self.order.quiet);
        mpi::say(format_args!("tailback: writing {}", slot.path().display()));
        self.watch.save_to(slot, first);
        Ok(())
    }

    /// The machine itself ended the run.
    fn died(&self, reason: &str) -> anyhow::Error {
        let begun = self.watch.give_up(reason);
        Fail::with(if begun { Exit::Incomplete } else { Exit::Failure }, reason)
    }
}

/// The seat in a plan that may list nodes. Names that no node of a real machine has are refused. Collective there.
#[inline(never)]
fn listed(world: &dyn Comm, seat: Seat, plan: &Plan, site: &Site, facts: &Facts) -> anyhow::Result<Seat> {
    let list = &plan.canary_nodes;
    if list.is_empty() {
        return Ok(seat);
    }
    let name = if site.simulated { seat.node.to_string() } else { host::name() };
    let seat = Seat { listed: bench::is_listed(list, &name), ..seat };
    let counts = seat.listed && seat.slot == 0;
    if site.simulated || agree(world, f64::from(u8::from(counts)), Reduce::Sum) == list.len() as f64 {
        return Ok(seat);
    }
    let is_there =
        |name: &String| facts.nodes.iter().any(|node| bench::is_listed(std::slice::from_ref(name), &node.name));
    let missing: Vec<&str> = list.iter().filter(|name| !is_there(name)).map(String::as_str).collect();
    let why = match missing[..] {
        [] => "a node has several names there, or ranks count as nodes".to_string(),
        [..] => format!("no node of this run is called {}", missing.join(", ")),
    };
    Err(Fail::usage(format!("--canary-nodes: {why}")))
}

/// What can be said of a real machine only after the run. Collective; needed on rank 0 alone.
fn afterwards(world: &dyn Comm, clocks: Clocks, site: &Site) -> Late {
    let (elapsed, set) = clocks.since();
    // The largest and the smallest: some clocks may have been set forward and others back.
    let mut ends = [set, -set];
    world.settle(&mut ends, Reduce::Max);
    let set = if ends[0] >= ends[1] { ends[0] } else { -ends[1] };
    let nodes_are_hosts = |h: &&Health| h.hosts == site.layout.nodes && h.hosts > 1;
    let nic = site.health.as_ref().filter(nodes_are_hosts).and_then(|h| h.nic);
    Late { warnings: clock_warning(elapsed, set).into_iter().collect(), nic }
}

/// What a site cannot do is no mistake of the user's, and nothing was measured.
fn refused(error: SuiteError) -> anyhow::Error {
    Fail::with(if error.is_of_the_site() { Exit::Skipped } else { Exit::Usage }, error)
}

/// Says before the run what of it is known to be missing, and how it was chosen.
fn announce(plan: &Plan, quiet: bool) {
    plan.missing.iter().for_each(|missing| mpi::say(format_args!("tailback: {missing}")));
    if !quiet {
        plan.notes.iter().for_each(|note| mpi::say(format_args!("tailback: {note}")));
    }
}

/// What the record holds besides plan and measurements.
fn facts(target: &Target) -> Facts {
    Facts {
        command: command_line(),
        created: (!target.is_simulated()).then(now),
        machine: target.record(),
        warnings: target.warnings(),
        counters: target.counters(),
        nodes: Vec::new(),
        hosts: Vec::new(),
    }
}

/// The seed of a simulated run: drawn once for all its simulations, on all processes. None on a real machine, where the ranks agree.
fn simulated_seed(target: &Target, seed: Option<u64>) -> anyhow::Result<Option<u64>> {
    if !target.is_simulated() {
        return Ok(None);
    }
    let drawn = Mutex::new(seed.unwrap_or_else(clock_seed));
    if let (None, Some(crew)) = (seed, target.crew()) {
        let agree = |world: &dyn Comm| *drawn.lock().expect("nobody panics holding it") = agree_on_seed(world, None);
        crew.run(&agree).map_err(|e| Fail::with(Exit::Failure, e.0))?;
    }
    Ok(Some(drawn.into_inner().expect("nobody panics holding it")))
}

/// A random seed is drawn by rank 0, told to all and recorded.
fn agree_on_seed(world: &dyn Comm, seed: Option<u64>) -> u64 {
    let mut bytes = seed.unwrap_or_else(clock_seed).to_le_bytes();
    if seed.is_none() {
        world.bcast(0, Buffer::Bytes(&mut bytes));
    }
    u64::from_le_bytes(bytes)
}

/// `--seed`: a number, or nothing for a random one.
pub fn read_seed(args: &ArgMatches) -> anyhow::Result<Option<u64>> {
    match args.get_one::<String>("seed").expect("it has a default").as_str() {
        "random" => Ok(None),
        number => match number.parse() {
            Ok(seed) => Ok(Some(seed)),
            Err(_) => Err(Fail::usage(format!("--seed {number}: a whole number, or `random`"))),
        },
    }
}

/// The command as it was given, without what cannot change the result.
fn command_line() -> Vec<String> {
    let mut words = std::env::args().skip(1);
    let mut line = vec!["tailback".to_string()];
    while let Some(word) = words.next() {
        match word.as_str() {
            "--threads" | "--out" => drop(words.next()),
            "--quiet" | "--force" | "--no-page" => {}
            w if w.starts_with("--threads=") || w.starts_with("--out=") => {}
            _ => line.push(word),
        }
    }
    line
}

#[expect(clippy::disallowed_methods, reason = "the program dates a record and draws a random seed")]
fn since_epoch() -> std::time::Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

fn clock_seed() -> u64 {
    since_epoch().as_nanos() as u64
}

/// Now, in UTC, as RFC 3339.
fn now() -> String {
    spec::date::rfc3339(since_epoch().as_secs() as i64)
}
