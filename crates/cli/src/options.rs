//! Options that several commands share.

use crate::exit::Fail;
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

/// A parser that takes any text and lets the shell complete the words that are known: lists of names and files are good, too.
#[derive(Clone)]
struct Known(Vec<&'static str>);

impl TypedValueParser for Known {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

/// An option whose values are completed by the shell from these words; others are not refused here.
pub(crate) fn possible(arg: Arg, words: Vec<&'static str>) -> Arg {
    arg.value_parser(Known(words)).hide_possible_values(true)
}

/// Names of machines that `--on` knows without a file.
pub(crate) fn machines() -> Vec<&'static str> {
    ["mpi", "local"].into_iter().chain(sim::BUILTIN.iter().map(|(name, _)| *name)).collect()
}

pub(crate) fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

pub(crate) fn value(name: &'static str, unit: &'static str, help: &'static str) -> Arg {
    // A negative number is a wrong value of this option, not an option of its own.
    Arg::new(name).long(name).value_name(unit).help(help).allow_negative_numbers(true)
}

/// A whole number from 1 to a limit, which is checked before anything is made of it.
pub(crate) fn number(name: &'static str, most: u32, help: &'static str) -> Arg {
    value(name, "N", help).value_parser(value_parser!(u32).range(1..=i64::from(most)))
}

/// Threads of the simulator at most; more than the cores are never used.
const MOST_THREADS: u32 = 1024;
/// Nodes of a machine at most, simulated or real.
pub(crate) const MOST_NODES: u32 = 1_000_000;
/// Ranks of a node at most.
pub(crate) const MOST_RANKS_PER_NODE: u32 = 4096;

pub(crate) fn format_options() -> [Arg; 2] {
    let format = value("format", "FORMAT", "How results are written to stdout")
        .default_value("text")
        .value_parser(PossibleValuesParser::new(report::FORMATS.iter().map(|f| f.name)));
    [format, verbose()]
}

/// The same in one word.
fn verbose() -> Arg {
    flag("verbose", "Every table that a terminal holds: --format long").short('v').conflicts_with("format")
}

/// The format of the answer.
pub(crate) fn format_of(args: &ArgMatches) -> &str {
    match args.get_flag("verbose") {
        true => "long",
        false => args.get_one::<String>("format").expect("it has a default"),
    }
}

/// Options of every run.
pub(crate) fn run_options() -> Vec<Arg> {
    vec![
        possible(value("on", "MACHINE", "Where to run: `mpi`, `local`, a built-in simulated machine, or a machine file [default: mpi under a launcher, else the simulated machine `default`]"), machines())
            .value_hint(ValueHint::FilePath),
        number("nodes", MOST_NODES, "Nodes of a simulated machine, instead of its file's"),
        number("ranks-per-node", MOST_RANKS_PER_NODE, "Ranks per node of a simulated machine, instead of its file's"),
        value("allocation", "PLACES", "Places that the nodes take if the simulated network has more, instead of its file's")
            .value_parser(["contiguous", "scattered"]),
        number("threads", MOST_THREADS, "Threads of the simulator; the result does not depend on it [default: one for each core, but of one simulation only for those without other work]"),
        value("topology", "FILE", "Which switch and group each real node is on: Slurm's topology, ibnetdiscover, or lines like `nodes n[1-18] leaf1` and `group g1 leaf[1-4]` [default: what Slurm tells]")
            .value_parser(value_parser!(PathBuf))
            .value_hint(ValueHint::FilePath),
        value("seed", "SEED", "All that is random derives from it: a number, or `random`").default_value("1"),
        value("unit", "UNIT", "What counts as a node when ranks are grouped [default: node, or rank if there is one node]")
            .value_parser(["node", "rank"]),
        value("per", "PART", "What --slots counts ranks on: ranks are taken from the sockets, NUMA nodes or NICs of a node in turn")
            .default_value("node")
            .value_parser(["node", "socket", "numa", "nic"]),
        value("payload", "WHAT", "Whether messages carry data that is checked, data that nobody looks at, or nothing [default: checked; lengths on simulated machines over 512 ranks]")
            .value_parser(["checked", "unchecked", "lengths"]),
        value("out", "DIR", "Folder for run.json [default: a new one under tailback-runs]").value_hint(ValueHint::DirPath),
        flag("force", "Replace the result that is in --out already; without this, it stays and the run is refused").requires("out"),
        mpi_lib(),
        flag("plan-only", "Print the plan and do nothing; run it later with --plan"),
        flag("dry-run", "Print what a simulated run will cost (messages, time, memory), from a small part of it, and write nothing")
            .conflicts_with("plan-only"),
        value("hang-after", "TIME", "End a real run as incomplete when a job has been silent so long and four times its longest block; `never` waits")
            .default_value("5s"),
        flag("quiet", "No progress on stderr"),
        flag("no-page", "Write run.json alone; `tailback report DIR --format html` makes the page later"),
    ]
    .into_iter()
    .chain(format_options())
    .collect()
}

/// `--hang-after`: a time, or nothing if a run is to wait for ever.
pub(crate) fn patience(args: &ArgMatches) -> anyhow::Result<Option<Duration>> {
    let text = args.get_one::<String>("hang-after").expect("it has a default");
    if text == "never" {
        return Ok(None);
    }
    match spec::parse_time(text) {
        Ok(time) if time.secs() >= 1.0 => Ok(Some(Duration::from_secs_f64(time.secs()))),
        Ok(_) => Err(Fail::usage(format!("--hang-after {text}: at least 1s, or `never`"))),
        Err(error) => Err(Fail::usage(format!("--hang-after {text}: {error}; or `never`"))),
    }
}

/// The library of MPI.
pub(crate) fn mpi_lib() -> Arg {
    value("mpi-lib", "FILE", "The MPI library to use, instead of looking for it")
        .value_parser(value_parser!(PathBuf))
        .env("TAILBACK_MPI_LIB")
}

pub(crate) fn records() -> Arg {
    Arg::new("records")
        .required(true)
        .num_args(1..)
        .value_name("RUN.json")
        .value_hint(ValueHint::FilePath)
        .value_parser(value_parser!(PathBuf))
}

/// What a table of published systems looks like.
pub(crate) const TABLE: &str = "A table begins with the line source,system,nodes,ppn,HPL_Tflops,PTRANS_GBs,... whose further names are keys of the original's summary.";
