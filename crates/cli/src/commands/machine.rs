//! `tailback machine check`: what a simulated machine is, in numbers and as a picture.

use super::entry::CommandEntry;
use crate::exit::{Exit, Fail};
use crate::machine;
use crate::options::{MOST_NODES, number, value};
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
    Command::new("machine").about("Look at a simulated machine").subcommand_required(true).subcommand(check)
}

/// Explains a machine, and draws it if asked to.
fn machine(args: &ArgMatches) -> anyhow::Result<Exit> {
    let (_, args) = args.subcommand().expect("one is required");
    let name = args.get_one::<String>("machine").expect("it is required");
    let (name, _, mut config) = machine::read(name)?;
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
    output::print(&format!("{name}\n{description}\n"))?;
    Ok(Exit::Good)
}
