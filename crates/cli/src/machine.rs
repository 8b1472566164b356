//! Which machine a run uses, and how that is decided.

use crate::exit::{Exit, Fail};
use crate::{host, options, sentinel, slurm};
use anyhow::Context;
use clap::ArgMatches;
use comm::{Comm, MachineError, Reduce, agree};
use record::{BoxRecord, BundleRecord, Layout, MachineRecord, NetworkRecord, RunRecord, Series, SliceRecord};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A machine, chosen.
pub enum Target {
    /// Real ranks under MPI.
    Mpi {
        /// The machine itself.
        machine: Box<mpi::MpiMachine>,
        /// Where this rank's node is: the switches above it and the node, divided by a tab; empty if that is not known.
        place: String,
        /// The switches with their nodes, where they are known; on rank 0.
        switches: Option<String>,
    },
    /// This process alone, on all its cores.
    Local,
    /// The built-in network.
    Simulated {
        /// Its name.
        name: String,
        /// Its file.
        file: String,
        /// The machine itself.
        machine: Box<sim::Simulator>,
        /// The processes that simulate placements side by side, if a launcher started several.
        crew: Option<Box<mpi::MpiMachine>>,
    },
}

impl Target {
    /// By `--on`, or by whether an MPI launcher started us; `alone` says that a suite is worth running without a network.
    pub fn choose(args: &ArgMatches, alone: bool) -> anyhow::Result<Target> {
        Target::choose_for(args, alone, None)
    }

    /// The same; a simulated machine gets at least so many nodes and ranks per node, unless the arguments say otherwise.
    pub fn choose_for(args: &ArgMatches, alone: bool, least: Option<(u32, u32)>) -> anyhow::Result<Target> {
        let on = args.get_one::<String>("on").map(String::as_str);
        match (on, mpi::launched()) {
            (Some("mpi"), launch) | (None, launch @ Some(_)) => {
                // A time that is none is refused when all options are read.
                if let Ok(Some(patience)) = options::patience(args) {
                    let ranks = launch.and_then(|l| l.ranks).unwrap_or(1);
                    let (stopped, end_stopped) = (sentinel::stopped_here, sentinel::end_stopped);
                    mpi::watch_start(mpi::Start { patience, ranks, stopped, end_stopped });
                }
                Target::start_mpi(args)
            }
            (Some("local"), _) => Ok(Target::Local),
            (None, None) if alone => Ok(Target::Local),
            (Some(name), _) => Target::simulate(name, args, least),
            (None, None) => Target::simulate("default", args, least),
        }
    }

    /// MPI by its library alone.
    pub fn start_library(library: Option<&PathBuf>) -> anyhow::Result<Box<mpi::MpiMachine>> {
        let found = mpi::find(library.map(PathBuf::as_path)).context("no MPI library (tailback doctor explains)")?;
        Ok(Box::new(mpi::MpiMachine::start(&found)?))
    }

    fn start_mpi(args: &ArgMatches) -> anyhow::Result<Target> {
        let machine = Target::start_library(args.get_one::<PathBuf>("mpi-lib"))?;
        let file = args.try_get_one::<PathBuf>("topology").ok().flatten();
        let place = match file {
            Some(file) => place_in(file, &host::name()),
            None => Ok(slurm::place(&environment)),
        };
        let known = place.as_deref().unwrap_or_default();
        // The first rank that could not find its node, and the switches.
        let found = Mutex::new((f64::INFINITY, None));
        let ask = |world: &dyn Comm| {
            let mine = if place.is_err() { world.rank() as f64 } else { f64::INFINITY };
            let wrong = if file.is_some() { agree(world, mine, Reduce::Min) } else { mine };
            *found.lock().expect("nobody panics holding it") = (wrong, slurm::topology(world, known));
        };
        comm::Machine::run(&*machine, &ask).map_err(|e| Fail::with(Exit::Failure, e.0))?;
        let (wrong, switches) = found.into_inner().expect("nobody panics holding it");
        match place {
            Ok(place) if wrong.is_infinite() => Ok(Target::Mpi { machine, place, switches }),
            // One rank's refusal is everybody's, or the others would wait for it; and it speaks alone.
            Err(error) if wrong == machine.facts().rank as f64 => Err(error),
            Ok(_) | Err(_) => Err(Fail::silent(&Fail::usage(""))),
        }
    }

    fn simulate(name: &str, args: &ArgMatches, least: Option<(u32, u32)>) -> anyhow::Result<Target> {
        let (name, file, mut config) = read(name)?;
        if let Some((nodes, ranks)) = least {
            config.nodes = config.nodes.max(nodes as usize);
            config.ranks_per_node = config.ranks_per_node.max(ranks as usize);
        }
        let number = |option: &str| args.get_one::<u32>(option).map(|n| *n as usize);
        if let Some(nodes) = number("nodes") {
            config.nodes = nodes;
        }
        if let Some(ranks) = number("ranks-per-node") {
            config.ranks_per_node = ranks;
        }
        match args.try_get_one::<String>("allocation").ok().flatten().map(String::as_str) {
            Some("scattered") => config.allocation = sim::file::Allocation::Scattered,
            Some(_) => config.allocation = sim::file::Allocation::Contiguous,
            None => {}
        }
        if let Some(threads) = number("threads") {
            config.threads = threads;
        }
        let (asked, cores) = (config.threads, std::thread::available_parallelism().map_or(1, usize::from));
        // Threads of a simulation meet every few microseconds; one that has no core makes all others wait.
        config.threads = asked.min(cores);
        let machine = sim::Simulator::new(config).map_err(|e| Fail::usage(format!("machine {name}: {e}")))?;
        let crew = match mpi::launched().and_then(|l| l.ranks).is_some_and(|n| n > 1) {
            true => Some(Target::start_library(args.get_one::<PathBuf>("mpi-lib"))?),
            false => None,
        };
        let target = Target::Simulated { name, file, machine: Box::new(machine), crew };
        if asked > cores && target.prints() {
            mpi::say(format_args!(
                "tailback: {asked} threads on {cores} cores would be slower than {cores}: {cores} are used"
            ));
        }
        Ok(target)
    }

    /// The same simulated machine with so many of its nodes, for this process alone.
    pub fn with_nodes(&self, nodes: usize) -> anyhow::Result<Target> {
        let Target::Simulated { name, file, machine, .. } = self else {
            return Err(Fail::usage("only a simulated machine has as many nodes as one likes"));
        };
        let machine = sim::Simulator::new(sim::Config { nodes, ..machine.config().clone() }).map_err(Fail::usage)?;
        Ok(Target::Simulated { name: name.clone(), file: file.clone(), machine: Box::new(machine), crew: None })
    }

    /// Whether time is virtual.
    pub fn is_simulated(&self) -> bool {
        matches!(self, Target::Simulated { .. })
    }

    /// NICs of each node of a simulated machine.
    pub fn nics(&self) -> Option<usize> {
        match self {
            Target::Simulated { machine, .. } => Some(machine.config().nic.per_node),
            Target::Mpi { .. } | Target::Local => None,
        }
    }

    /// What the NICs of a simulated node carry each way, in bytes per second; nothing if its ranks count as nodes.
    pub fn nic_rate(&self, layout: Layout) -> Option<f64> {
        let Target::Simulated { machine, .. } = self else { return None };
        let (nic, nodes) = (&machine.config().nic, machine.config().nodes);
        let rate = nic.rate.bytes_per_s().max(nic.eject_rate.bytes_per_s());
        (layout.nodes as usize == nodes).then_some(rate * nic.per_node as f64)
    }

    /// Whether this process is the one that prints: rank 0.
    pub fn prints(&self) -> bool {
        match self {
            Target::Mpi { machine, .. } => machine.facts().rank == 0,
            Target::Simulated { crew, .. } => crew.as_ref().is_none_or(|crew| crew.facts().rank == 0),
            Target::Local => true,
        }
    }

    /// What this process may say and to whom.
    pub fn speaker(&self) -> Speaker {
        let others = match self {
            Target::Mpi { machine, .. } => machine.facts().ranks > 1,
            Target::Simulated { crew, .. } => crew.is_some(),
            Target::Local => false,
        };
        Speaker { prints: self.prints(), others }
    }

    /// Ranks in all.
    pub fn ranks(&self) -> usize {
        match self {
            Target::Mpi { machine, .. } => machine.facts().ranks,
            Target::Local => 1,
            Target::Simulated { machine, .. } => machine.config().ranks(),
        }
    }

    /// What the record says of it.
    pub fn record(&self) -> MachineRecord {
        match self {
            Target::Mpi { machine, switches, .. } => {
                let mut facts = mpi_facts(machine.facts());
                facts.extend(slurm::facts(&environment).into_iter().map(|(name, value)| (name.to_string(), value)));
                facts.extend(switches.iter().map(|text| ("switches".to_string(), text.clone())));
                MachineRecord::Mpi { facts, host: host::here() }
            }
            Target::Local => MachineRecord::Local { host: host::here() },
            Target::Simulated { name, file, machine, .. } => MachineRecord::Simulated {
                name: name.clone(),
                file: file.clone(),
                facts: machine.facts().into_iter().collect(),
            },
        }
    }

    /// The simulator, if it is one.
    pub fn simulator(&self) -> Option<&sim::Simulator> {
        match self {
            Target::Simulated { machine, .. } => Some(machine),
            Target::Mpi { .. } | Target::Local => None,
        }
    }

    /// The processes that simulate side by side.
    pub fn crew(&self) -> Option<&dyn comm::Machine> {
        match self {
            Target::Simulated { crew, .. } => crew.as_ref().map(|crew| &**crew as &dyn comm::Machine),
            Target::Mpi { .. } | Target::Local => None,
        }
    }

    /// What a reader must know of it.
    pub fn warnings(&self) -> Vec<String> {
        match self {
            Target::Mpi { machine, .. } => machine.facts().warnings.clone(),
            Target::Local => vec!["one rank without MPI: global tests had nobody to talk to".into()],
            Target::Simulated { .. } => Vec::new(),
        }
    }

    /// Where the counters around phases come from: a simulated machine keeps its own.
    pub fn counters(&self) -> bench::Counters {
        match self {
            Target::Mpi { .. } | Target::Local => bench::Counters::Host(PathBuf::from("/")),
            Target::Simulated { .. } => bench::Counters::Machine,
        }
    }

    /// Runs a body on every rank.
    pub fn run(&self, body: &(dyn Fn(&dyn Comm) + Sync)) -> Result<(), MachineError> {
        match self {
            Target::Mpi { machine, .. } => comm::Machine::run(&**machine, body),
            Target::Local => comm::Machine::run(&comm::solo::Solo::new(clock()), body),
            Target::Simulated { machine, .. } => comm::Machine::run(&**machine, body),
        }
    }
}

/// Whether this process prints, and whether other processes would wait for it if it left.
#[derive(Clone, Copy, Debug)]
pub struct Speaker {
    /// It is rank 0.
    pub prints: bool,
    others: bool,
}

impl Speaker {
    /// An error of rank 0 that the other ranks cannot know: under MPI it ends them all, else they would wait for ever.
    pub fn end_all<T>(self, error: anyhow::Error) -> anyhow::Result<T> {
        match self.others {
            true => mpi::abort(Exit::Failure as i32, &format!("{error:#}")),
            false => Err(error),
        }
    }
}

/// Where a host is by a file of the site's: the switches above it, the topmost first, and the host, divided by a tab.
fn place_in(file: &Path, host: &str) -> anyhow::Result<String> {
    let shown = file.display();
    let text =
        std::fs::read_to_string(file).map_err(|e| Fail::usage(format!("--topology: cannot read {shown}: {e}")))?;
    let found = sim::file::import(&text).map_err(|e| Fail::usage(format!("--topology: {shown}: {e}")))?;
    match found.home(host) {
        Some((switch, Some(group))) => Ok(format!("{group}.{switch}\t{host}")),
        Some((switch, None)) => Ok(format!("{switch}\t{host}")),
        None => Err(Fail::usage(format!("--topology: {shown} has no node {host}; add it, or leave the file out"))),
    }
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The process's own clock, from zero.
#[expect(clippy::disallowed_methods, reason = "a real machine has a real clock")]
fn clock() -> impl Fn() -> spec::Time + Sync {
    let start = std::time::Instant::now();
    move || spec::Time::from_ns(start.elapsed().as_nanos() as u64)
}

/// A simulated machine by its name or file: its name, its text and what it says.
pub fn read(name: &str) -> anyhow::Result<(String, String, sim::Config)> {
    let (name, file) = match sim::builtin(name) {
        Some(text) => (name.to_string(), text.to_string()),
        None => machine_file(name)?,
    };
    let config = sim::Config::from_toml(&file).map_err(|e| Fail::usage(format!("machine {name}: {e}")))?;
    Ok((name, file, config))
}

/// Reads a machine file, or says which machines there are.
fn machine_file(name: &str) -> anyhow::Result<(String, String)> {
    let path = Path::new(name);
    if ["mpi", "local"].contains(&name) {
        return Err(Fail::usage(format!(
            "`{name}` is a real machine; this needs a simulated one: a built-in name or a file"
        )));
    }
    if !path.exists() {
        let known = sim::BUILTIN.iter().map(|(name, _)| *name).chain(["mpi", "local"]);
        let text = spec::near::unknown("machine", name, known);
        return Err(Fail::usage(format!("{text} It is no file either.")));
    }
    let text =
        std::fs::read_to_string(path).map_err(|e| Fail::with(Exit::Failure, format!("cannot read {name}: {e}")))?;
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        // Every default of a machine would do, and a slip in a script would go unnoticed.
        return Err(Fail::usage(format!(
            "the machine file {name} says nothing; one begins with [topology], see `tailback list machines`"
        )));
    }
    let stem = path.file_stem().map_or_else(|| name.to_string(), |s| s.to_string_lossy().into_owned());
    Ok((stem, text))
}

/// Adds to a record what a simulated machine knows after the run: what broke, and what its network did.
pub fn complete(machine: &sim::Simulator, record: &mut RunRecord) {
    record.events = machine.events();
    record.network = network(machine.film());
}

/// What simulations of so many ranks took, in words.
pub fn effort(ranks: usize, runs: &[sim::Stats]) -> String {
    let sum = |pick: fn(&sim::Stats) -> u64| runs.iter().map(pick).sum::<u64>();
    let million = |pick| sum(pick) as f64 * 1e-6;
    format!(
        "simulated {} of {ranks} ranks: {:.1} M messages, {:.1} M packet-hops, {:.1} M events, {} threads",
        spec::Time::from_ps(sum(|s| s.end_ps)),
        million(|s| s.messages),
        million(|s| s.packet_hops),
        million(|s| s.events),
        runs.iter().map(|s| s.threads).max().unwrap_or(1)
    )
}

/// The film of a run as records hold it; none if no phase was filmed.
fn network(film: sim::Film) -> Option<NetworkRecord> {
    let boxes = film.boxes.into_iter().map(|b| BoxRecord {
        name: b.name,
        // A tenth of a unit is more than a picture shows.
        x: (b.at.0 * 10.0).round() / 10.0,
        y: (b.at.1 * 10.0).round() / 10.0,
        level: b.level,
        switches: b.switches as u32,
        nics: b.endpoints as u32,
    });
    let seconds = |ps: u64| spec::Time::from_ps(ps).secs();
    let slices = film.slices.into_iter();
    let slices = slices.map(|s| SliceRecord { phase: s.phase, from_s: seconds(s.from), to_s: seconds(s.to) });
    let bundles = film.bundles.into_iter().map(|b| BundleRecord {
        from: b.from as u32,
        to: b.to as u32,
        kind: b.kind.into(),
        cables: b.cables as u32,
        rate_bytes_per_s: b.rate,
        bytes: Series(b.bytes),
        stalled_ns: Series(b.stalled.into_iter().map(|ps| (ps + 500) / 1000).collect()),
    });
    let network = NetworkRecord {
        size: film.size,
        grouped: film.grouped,
        boxes: boxes.collect(),
        slices: slices.collect(),
        bundles: bundles.collect(),
        others: Series(film.others.into_iter().flat_map(|(a, b)| [u64::from(a), u64::from(b)]).collect()),
    };
    (!network.slices.is_empty()).then_some(network)
}

/// What is known of the MPI library, by name.
pub fn mpi_facts(facts: &mpi::Facts) -> BTreeMap<String, String> {
    let launcher =
        facts.launch.as_ref().map_or_else(|| "none".into(), |l| format!("{:?} ({})", l.launcher, l.variable));
    [
        ("library", facts.library.lines().next().unwrap_or_default().trim().to_string()),
        ("standard", format!("{}.{}", facts.standard.0, facts.standard.1)),
        ("abi", facts.abi.to_string()),
        ("path", facts.path.display().to_string()),
        ("found", facts.how.clone()),
        ("launcher", launcher),
        ("threads", facts.threads.to_string()),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_string(), value))
    .collect()
}
