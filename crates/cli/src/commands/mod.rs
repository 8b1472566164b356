//! The table of commands. To add one: a file here with its line, and a line in [`COMMANDS`].

mod compare;
mod contention;
mod doctor;
mod entry;
mod fit;
mod generate;
mod history;
mod launch;
mod list;
mod machine;
mod report;
mod run;
pub mod testbed;
mod tune;

use crate::exit::{Exit, Fail};
use bench::SUITES;
use clap::{ArgMatches, Command};
use entry::CommandEntry;
use std::fmt::Write;
use std::process::ExitCode;

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

/// What `tailback` alone prints: the commands that a newcomer needs.
pub fn welcome() -> String {
    let mut lines: Vec<(&str, &str)> = COMMANDS.iter().filter_map(|c| c.welcome).collect();
    lines.insert(1, ("mpirun -n 64 tailback run gpcnet", "the same on a real machine, under any MPI"));
    lines.extend(SUITES.iter().filter_map(|s| s.shortcut));
    lines.push(("tailback help", "everything else"));
    let mut out = "tailback: measure, model and predict congestion in HPC networks\n\n".to_string();
    let width = lines.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
    for (line, about) in lines {
        let _ = writeln!(out, "  {line:<width$}  {about}");
    }
    out
}

/// The whole command line.
pub fn command() -> Command {
    Command::new("tailback")
        .about("Measure, model and predict congestion in HPC networks")
        .version(env!("CARGO_PKG_VERSION"))
        .infer_subcommands(true)
        .after_help("Exit codes: 0 good, 1 failure, 2 usage, 3 a threshold missed, 4 wrong data, 5 something asked for did not run or was not saved, 77 nothing was measured or compared; the reason is printed.")
        .subcommands(COMMANDS.iter().map(|c| (c.line)()))
        .subcommands(SUITES.iter().filter(|s| s.shortcut.is_some()).map(run::suite_command))
}

/// Prints what clap found wrong; unknown names of suites list the near ones.
pub fn explain(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { Exit::Usage as u8 } else { Exit::Good as u8 })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_holds_together() {
        super::command().debug_assert();
    }

    #[test]
    fn the_welcome_begins_with_the_first_command_to_try() {
        let welcome = super::welcome();
        let first = welcome.lines().find(|l| l.starts_with("  ")).unwrap();
        assert!(first.trim().starts_with("tailback run gpcnet"));
    }
}
