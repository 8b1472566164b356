//! `tailback calibrate`: a machine file that behaves like the machine that was measured.
//!
//! What needs no simulation is taken from the records; the other numbers are moved until a simulated machine, run through the same plans
//! by this very program, gives what was measured. What was measured under load is held back, and tests what came of it.

mod find;
mod forecast;
mod kinds;
mod nodecomm;
mod runs;
mod verdict;

use super::entry::CommandEntry;
use crate::children::Children;
use crate::exit::{Exit, Fail};
use crate::machine::Target;
use crate::options::{flag, machines, mpi_lib, number, possible, records, value};
use crate::{machine, output, show};
use clap::{ArgMatches, Command, ValueHint, value_parser};
use comm::Comm;
use find::Outcome;
use kinds::Kinds;
use model::calibrate::{Found, Knob, Slow, Twin, closed};
use record::RunRecord;
use report::plain::line;
use runs::{Measured, Runs};
use sim::{Number, Remarks, numbers, rewritten};
use spec::Kind;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use verdict::Verdict;

/// Its line in the table of commands.
pub const CALIBRATE: CommandEntry = CommandEntry {
    line: command,
    run: calibrate,
    welcome: Some(("tailback calibrate RUN.json --out ours.toml", "a simulated twin of the machine that was measured")),
};

const HELP: &str = "\
Measure with `tailback run characterize`; runs of gpcnet, maxrate and others may be added.
Every number of the file says behind it how it was found, with its 95 % interval, or that these data do not tell it.
Exit codes: 0 the twin repeats what was measured, 3 it does not: the table says where.";

fn command() -> Command {
    Command::new("calibrate")
        .about("Make a machine file that behaves like a machine that was measured")
        .arg(records().help("Runs on that machine: `run characterize`, and others; or what nodecomm printed there"))
        .arg(
            possible(
                value(
                    "like",
                    "MACHINE",
                    "Where kinds, sizes and what the data do not tell come from [default: one switch]",
                ),
                machines(),
            )
            .value_hint(ValueHint::FilePath),
        )
        .arg(
            value("topology", "FILE", "The network as `machine import` reads it, instead")
                .value_parser(value_parser!(PathBuf))
                .value_hint(ValueHint::FilePath)
                .conflicts_with("like"),
        )
        .arg(
            value("out", "FILE", "The machine file to write")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .value_hint(ValueHint::FilePath),
        )
        .arg(flag("force", "Replace the file that is there already"))
        .arg(flag("use-loaded", "Fit to what was measured under load, too; nothing is then held back"))
        .arg(
            value("uneven", "HOW", "What becomes of nodes that are slower than the others: they are only reported, what was measured with them is left out, or they are slow in the twin")
                .default_value("report")
                .value_parser(["report", "leave-out", "model"]),
        )
        .arg(number("threads", 1024, "Simulations side by side [default: one for each core; under a launcher one for each process]"))
        .arg(mpi_lib())
        .arg(value("seed", "N", "Of all simulations [default: 1]").value_parser(value_parser!(u64)))
        .arg(
            value("format", "FORMAT", "How what came of it is written to stdout: tables, a page, or what programs read")
                .default_value("text")
                .value_parser(["text", "markdown", "html", "json"]),
        )
        .after_help(HELP)
}

/// What both directions of a NIC have together.
const BOTH: &str = "both_rate";

/// Where the twin begins: its text, what it is said to be from, and the nodes that are to be slow.
#[derive(Clone)]
struct Base {
    text: String,
    from: String,
    slow: Vec<Slow>,
}

impl Base {
    fn of(&self, kinds: &Kinds) -> Base {
        Base { text: kinds.written(&self.text), ..self.clone() }
    }
}

fn base(args: &ArgMatches) -> anyhow::Result<Base> {
    if let Some(file) = args.get_one::<PathBuf>("topology") {
        let shown = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|e| Fail::usage(format!("cannot read {shown}: {e}")))?;
        let found = sim::file::import(&text).map_err(|e| Fail::usage(format!("{shown}: {e}")))?;
        return Ok(Base { text: found.machine(&shown), from: shown, slow: Vec::new() });
    }
    match args.get_one::<String>("like") {
        Some(name) => {
            let (name, text, _) = machine::read(name)?;
            Ok(Base { text, from: name, slow: Vec::new() })
        }
        None => {
            let text = "[topology]\nkind = \"single-switch\"\n".into();
            Ok(Base { text, from: "one switch".into(), slow: Vec::new() })
        }
    }
}

/// Everything that is needed to make a twin.
struct Task<'a> {
    args: &'a ArgMatches,
    out: &'a Path,
    children: Children,
    paths: Vec<&'a PathBuf>,
    base: Base,
    measured: Measured,
    /// What is written behind numbers that need no simulation.
    remarks: Remarks,
    numbers: Vec<Number>,
    /// Where the search begins, as far as closed forms tell.
    starts: BTreeMap<&'static str, f64>,
}

/// The processes that a launcher started share the simulations, and all find the same twin; rank 0 writes it.
fn calibrate(args: &ArgMatches) -> anyhow::Result<Exit> {
    let speaks = mpi::rank().unwrap_or(0) == 0;
    // All read the same, so all are refused alike, and one says why.
    let task = Task::read(args).map_err(|error| if speaks { error } else { Fail::silent(&error) })?;
    if mpi::launched().and_then(|l| l.ranks).is_none_or(|n| n == 1) {
        return task.make(None);
    }
    let crew = Target::start_library(args.get_one::<PathBuf>("mpi-lib"))?;
    let end = Mutex::new(Exit::Good);
    let body = |world: &dyn Comm| match task.make(Some(world)) {
        Ok(exit) => *end.lock().expect("nobody panics holding it") = exit,
        // The others would wait for this process for ever.
        Err(error) => mpi::abort(Exit::Failure as i32, &format!("{error:#}")),
    };
    comm::Machine::run(&*crew, &body).map_err(|e| Fail::with(Exit::Failure, e.0))?;
    Ok(end.into_inner().expect("nobody panics holding it"))
}

impl<'a> Task<'a> {
    fn read(args: &'a ArgMatches) -> anyhow::Result<Task<'a>> {
        let out = args.get_one::<PathBuf>("out").expect("it is required");
        if out.exists() && !args.get_flag("force") {
            return Err(Fail::usage(format!("{} is there already; give --force to replace it", out.display())));
        }
        let paths: Vec<&PathBuf> = args.get_many("records").expect("they are required").collect();
        let mut base = base(args)?;
        let children = Children::new()?;
        let open = |path: &&PathBuf| open(path, &base, &children, out);
        let all: Vec<RunRecord> = paths.iter().map(open).collect::<anyhow::Result<_>>()?;
        let mut measured = Measured::new(&paths, all, args.get_flag("use-loaded")).map_err(Fail::usage)?;
        uneven(args, &mut measured, &mut base)?;
        let mut remarks = Remarks::new();
        told(&measured, &mut base, &mut remarks)?;
        let mut numbers = numbers(&base.text).map_err(|e| Fail::usage(format!("{}: {e}", base.from)))?;
        let starts: BTreeMap<_, _> = measured.records.iter().rev().flat_map(closed::starts).collect();
        // A limit that most machines do not have: it is looked for where it shows.
        numbers.retain(|n| n.key != BOTH || n.given || starts.contains_key(&*n.to_string()));
        Ok(Task { args, out, children, paths, base, measured, remarks, numbers, starts })
    }

    /// What it is made of, in words.
    fn from(&self) -> String {
        let runs: Vec<String> = self.paths.iter().map(|p| line(&p.display().to_string())).collect();
        format!("{}, begun with {}.", runs.join(", "), line(&self.base.from))
    }

    /// Finds the twin and writes it, with the other processes if there are some.
    fn make(&self, world: Option<&dyn Comm>) -> anyhow::Result<Exit> {
        let Task { measured, numbers, out, .. } = self;
        let runs = Runs::new(self.args, out, &self.children, world)?;
        let outcome = find::find(self, &runs, world)?;
        if world.is_some_and(|w| w.rank() > 0) {
            return Ok(Exit::Good);
        }
        let Outcome { kinds, twin, .. } = &outcome;
        let base = self.base.of(kinds);
        let mut remarks = self.remarks.clone();
        explain(numbers, twin, &base, &mut remarks);
        remarks.extend(kinds.found().map(|[name, _, remark]| (name.to_string(), remark.to_string())));
        let file = written(&base, numbers, &twin.at.values, &remarks);
        sim::Config::from_toml(&file).map_err(|e| Fail::with(Exit::Failure, format!("the twin is no machine: {e}")))?;
        let verdict = Verdict::new(&outcome, measured, &runs.predict(measured, &file)?, self.from());
        let say = |e| Fail::with(Exit::Failure, format!("cannot write {}: {e}", out.display()));
        record::files::replace(out, (verdict.head() + &file).as_bytes()).map_err(say)?;
        let exit = if verdict.holds() { Exit::Good } else { Exit::Threshold };
        let format = self.args.get_one::<String>("format").expect("it has a default");
        output::print(&verdict.written(format, out, (numbers, kinds), twin))?;
        Ok(exit)
    }
}

/// A record, or what `nodecomm` printed as one.
fn open(path: &Path, base: &Base, children: &Children, out: &Path) -> anyhow::Result<RunRecord> {
    let refused = match show::open(path) {
        Ok(record) => return Ok(record),
        Err(refused) => refused,
    };
    match std::fs::read_to_string(path) {
        Ok(text) if !text.trim_start().starts_with('{') => {
            let folder = beside(out, mpi::rank().unwrap_or(0));
            nodecomm::record(children, &base.text, &folder, &text)
                .map_err(|e| e.context(format!("{} as a table of nodecomm", path.display())))
        }
        _ => Err(refused),
    }
}

/// What becomes of nodes that are slower than the others.
fn uneven(args: &ArgMatches, measured: &mut Measured, base: &mut Base) -> anyhow::Result<()> {
    let slow = measured.slow();
    if slow.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = slow.iter().map(|s| format!("{} ({:.1} times)", line(&s.name), s.times)).collect();
    let done = match args.get_one::<String>("uneven").expect("it has a default").as_str() {
        "leave-out" => {
            measured.leave_out().map_err(Fail::usage)?;
            "what was measured with them is left out"
        }
        "model" => {
            base.slow = slow;
            "their cables are slow in the twin, too"
        }
        _ => "they are part of what was fitted; --uneven leave-out or model treats them as what they are",
    };
    measured.uneven = Some(format!("Slower than the others: {}; {done}.", list.join(", ")));
    Ok(())
}

/// A number may be a thousand times more or less than where the search begins: at what the models of the papers say, if they say something.
fn knob(number: &Number, starts: &BTreeMap<&str, f64>) -> Knob {
    let cable = number.section == "topology" && number.kind == Kind::Rate;
    // Cables of which nobody said anything are as fast as the NICs.
    let name = if cable && !number.given { "nic.rate".to_string() } else { number.to_string() };
    let (default, start) = (number.value, starts.get(&*name).copied().unwrap_or(number.start));
    Knob { name: number.to_string(), default, start, least: start * 1e-3, most: start * 1e3 }
}

/// What the records say without a simulation, put into the base.
fn told(measured: &Measured, base: &mut Base, remarks: &mut Remarks) -> anyhow::Result<()> {
    let mut values = BTreeMap::new();
    if let Some((eager, limit)) = measured.records.iter().find_map(closed::eager) {
        values.insert("protocol.eager".to_string(), eager.to_string());
        remarks.insert("protocol.eager".into(), format!("measured: {limit}"));
    }
    for (name, rate) in measured.records.iter().flat_map(closed::computing) {
        let text = if name.ends_with("_rate") { format!("\"{}B/s\"", rate.round()) } else { format!("{rate:e}") };
        values.insert(name.into(), text);
        remarks.insert(name.into(), "measured: the fastest such test of one rank".into());
    }
    base.text =
        rewritten(&base.text, &values, &Remarks::new()).map_err(|e| Fail::usage(format!("{}: {e}", base.from)))?;
    Ok(())
}

/// The base with these numbers.
fn written(base: &Base, numbers: &[Number], values: &[f64], remarks: &Remarks) -> String {
    let texts = numbers.iter().zip(values).map(|(n, v)| (n.to_string(), n.written(*v))).collect();
    let mut file = rewritten(&base.text, &texts, remarks).expect("it was rewritten before");
    if base.slow.is_empty() {
        return file;
    }
    let nics = sim::Config::from_toml(&file).map_or(1, |c| c.nic.per_node);
    let (number, rate) =
        numbers.iter().zip(values).find(|(n, _)| n.to_string() == "nic.rate").expect("it may be moved");
    for slow in &base.slow {
        for endpoint in (0..nics).map(|i| slow.node as usize * nics + i) {
            let (name, rate) = (line(&slow.name), number.written(rate / slow.times));
            file += &format!("\n[[fault]]  # {name} is slow\nlink = \"endpoint {endpoint}\"\nrate = {rate}\n");
        }
    }
    file
}

/// What is written behind every number.
fn explain(numbers: &[Number], twin: &Twin, base: &Base, remarks: &mut Remarks) {
    for (number, found) in numbers.iter().zip(&twin.found) {
        let text = match found {
            Found::Told { low, high, with, .. } => {
                let range = format!("fitted, 95 %: {} to {}", number.shown(*low), number.shown(*high));
                match with.is_empty() {
                    true => range,
                    false => format!("{range}, with {} as kept: only together do they show", with.join(", ")),
                }
            }
            Found::Beyond { value } => format!("assumed: these data tell one side alone; {}", limit(number, *value)),
            Found::Kept if number.given => format!("assumed: not identified by these data, kept from {}", base.from),
            Found::Kept => "assumed: not identified by these data, default kept".into(),
        };
        remarks.insert(number.to_string(), text);
    }
}

/// What is known of a number whose default does not fit and that the data do not tell.
fn limit(number: &Number, value: f64) -> String {
    let side = if value > number.value { "low" } else { "high" };
    format!("{} is too {side}", number.shown(number.value))
}

/// The folder in which simulations of a rank are made, beside what is written.
fn beside(out: &Path, rank: usize) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}-{rank}", std::process::id()));
    out.with_file_name(name)
}
