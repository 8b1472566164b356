//! The table of commands. To add one: a file here with its line, and a line in [`COMMANDS`].

pub mod app;
mod compare;
mod contention;
mod doctor;
mod fit;
mod generate;
mod history;
mod launch;
mod list;
mod machine;
pub mod report;
pub mod run;
pub mod testbed;
mod tune;

use crate::exit::{Exit, Fail};
use clap::{ArgMatches, Command};

/// One command.
pub struct CommandEntry {
    /// Its name, help and options.
    pub line: fn() -> Command,
    /// Does it.
    pub run: fn(&ArgMatches) -> anyhow::Result<Exit>,
    /// How a newcomer calls it, and what for; none for commands that can wait.
    pub welcome: Option<(&'static str, &'static str)>,
}

/// Every command, in the order of the help.
pub const COMMANDS: &[CommandEntry] = &[
    run::RUN,
    tune::TUNE,
    fit::FIT,
    contention::CONTENTION,
    launch::LAUNCH,
    list::LIST,
    report::REPORT,
    compare::COMPARE,
    history::HISTORY,
    machine::MACHINE,
    doctor::DOCTOR,
    testbed::TESTBED,
    generate::GENERATE,
];

/// Does what the command line says: a command of the table, or a suite that has a command of its own.
pub fn dispatch(name: &str, args: &ArgMatches) -> anyhow::Result<Exit> {
    match COMMANDS.iter().find(|c| (c.line)().get_name() == name) {
        Some(command) => (command.run)(args),
        None => run::run_suite(bench::suite(name).map_err(Fail::usage)?, args),
    }
}
