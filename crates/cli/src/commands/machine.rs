//! `tailback machine check`: what a simulated machine is, in numbers and as a picture.

use crate::exit::{Exit, Fail};
use crate::machine;
use crate::output;
use clap::ArgMatches;
use std::path::PathBuf;

/// Explains a machine, and draws it if asked to.
pub fn machine(args: &ArgMatches) -> anyhow::Result<Exit> {
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
        std::fs::write(path, picture).map_err(say)?;
    }
    output::print(&format!("{name}\n{description}\n"))?;
    Ok(Exit::Good)
}
