//! `tailback machine`: what a simulated machine is, in numbers and as a picture; and machine files of real networks.

use super::entry::CommandEntry;
use super::sensitivity;
use crate::exit::{Exit, Fail};
use crate::machine;
use crate::options::{MOST_NODES, flag, number, value};
use crate::output;
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use std::path::PathBuf;

/// Its line in the table of commands.
pub const MACHINE: CommandEntry = CommandEntry { line: command, run: machine, welcome: None };

fn command() -> Command {
    let check = Command::new("check")
        .about("Explain it: nodes, switches, cables, bisection, taper, zero-load latency")
        .arg(
            Arg::new("machine")
                .required(true)
                .value_name("MACHINE")
                .value_hint(ValueHint::FilePath)
                .help("A built-in name or a file"),
        )
        .arg(number("nodes", MOST_NODES, "Nodes, instead of the file's"))
        .arg(value("svg", "FILE", "Draw it").value_parser(value_parser!(PathBuf)).value_hint(ValueHint::FilePath));
    let import = Command::new("import")
        .about("Make a machine file of a real network: Slurm's topology, ibnetdiscover, or a list of cables")
        .arg(
            Arg::new("file")
                .required(true)
                .value_name("FILE")
                .value_hint(ValueHint::FilePath)
                .value_parser(value_parser!(PathBuf))
                .help("Output of `scontrol show topology` or ibnetdiscover, topology.conf, or lines like `leaf1 spine1 x3 25GB/s`"),
        )
        .arg(
            value("out", "FILE", "Write it there instead of printing it")
                .value_parser(value_parser!(PathBuf))
                .value_hint(ValueHint::FilePath),
        )
        .arg(flag("force", "Replace the file that is there already").requires("out"));
    let about = "Look at a simulated machine, or make one of a real network";
    Command::new("machine")
        .about(about)
        .subcommand_required(true)
        .subcommand(check)
        .subcommand(import)
        .subcommand(sensitivity::command())
}

fn machine(args: &ArgMatches) -> anyhow::Result<Exit> {
    match args.subcommand().expect("one is required") {
        ("import", args) => import(args),
        ("sensitivity", args) => sensitivity::sensitivity(args),
        (_, args) => check(args),
    }
}

/// Makes a machine file of what a site has.
fn import(args: &ArgMatches) -> anyhow::Result<Exit> {
    let file = args.get_one::<PathBuf>("file").expect("it is required");
    let shown = file.display();
    let text =
        std::fs::read_to_string(file).map_err(|e| Fail::with(Exit::Failure, format!("cannot read {shown}: {e}")))?;
    let wrong = |e: String| Fail::usage(format!("{shown}: {e}"));
    let machine = sim::file::import(&text).map_err(wrong)?.machine(&shown.to_string());
    // What cannot be built is said now, not when it is first used.
    let config = sim::Config::from_toml(&machine).map_err(|e| wrong(e.to_string()))?;
    let description = sim::describe(&config).map_err(|e| wrong(e.to_string()))?;
    match args.get_one::<PathBuf>("out") {
        None => output::print(&machine)?,
        Some(out) if out.exists() && !args.get_flag("force") => {
            return Err(Fail::usage(format!("{} is there already; give --force to replace it", out.display())));
        }
        Some(out) => {
            let say = |e| Fail::with(Exit::Failure, format!("cannot write {}: {e}", out.display()));
            record::files::replace(out, machine.as_bytes()).map_err(say)?;
            output::print(&format!("{}\n{description}\n", out.display()))?;
        }
    }
    Ok(Exit::Good)
}

/// Explains a machine, and draws it if asked to.
fn check(args: &ArgMatches) -> anyhow::Result<Exit> {
    let name = args.get_one::<String>("machine").expect("it is required");
    let (name, file, mut config) = machine::read(name)?;
    if let Some(nodes) = args.get_one::<u32>("nodes") {
        config.nodes = *nodes as usize;
    }
    let wrong = |e: sim::ConfigError| Fail::usage(format!("machine {name}: {e}"));
    let description = sim::describe(&config).map_err(wrong)?;
    if let Some(path) = args.get_one::<PathBuf>("svg") {
        let picture = sim::draw(&config).map_err(wrong)?;
        let say = |e| Fail::with(Exit::Failure, format!("cannot write {}: {e}", path.display()));
        record::files::replace(path, picture.as_bytes()).map_err(say)?;
    }
    output::print(&format!("{name}\n{description}\n{}", assumptions(&file)))?;
    Ok(Exit::Good)
}

/// Names on a line take so much of a terminal of 80 columns.
const WIDTH: usize = 64;

/// Which numbers nobody knows, and how to learn what they do.
fn assumptions(file: &str) -> String {
    let names: Vec<String> = sim::assumed(file).iter().map(|a| a.to_string()).collect();
    if names.is_empty() {
        return String::new();
    }
    let mut text =
        format!("\nassumed      {} numbers; `tailback machine sensitivity` says what each does\n", names.len());
    let mut line = String::new();
    for name in &names {
        if !line.is_empty() && line.len() + name.len() > WIDTH {
            text += &format!("            {line}\n");
            line.clear();
        }
        line += &format!(" {name}");
    }
    text + &format!("            {line}\n")
}
