//! The table of commands. To add one: a file here with its line, and a line in [`COMMANDS`].

mod accept;
mod calibrate;
mod compare;
mod contention;
mod doctor;
mod entry;
mod examples;
mod fit;
mod generate;
mod history;
mod launch;
mod list;
mod machine;
mod report;
mod run;
mod sensitivity;
pub mod testbed;
mod tune;

use crate::exit::{Exit, Fail};
use crate::machine::Target;
use bench::SUITES;
use clap::{ArgMatches, Command};
use entry::CommandEntry;
use std::fmt::Write;
use std::process::ExitCode;
use std::time::Duration;

/// Every command, in the order of the help.
pub const COMMANDS: &[CommandEntry] = &[
    run::RUN,
    tune::TUNE,
    fit::FIT,
    calibrate::CALIBRATE,
    contention::CONTENTION,
    launch::LAUNCH,
    list::LIST,
    report::REPORT,
    compare::COMPARE,
    accept::ACCEPT,
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
    examples::illustrated(plain())
}

fn plain() -> Command {
    Command::new("tailback")
        .about("Measure, model and predict congestion in HPC networks")
        .version(concat!(env!("CARGO_PKG_VERSION"), " (", env!("TAILBACK_BUILD"), ")"))
        .infer_subcommands(true)
        .after_help("Exit codes: 0 good, 1 failure, 2 usage, 3 a threshold missed, 4 wrong data, 5 something asked for did not run or was not saved, 77 nothing was measured or compared; the reason is printed.")
        .subcommands(COMMANDS.iter().map(|c| (c.line)()))
        .subcommands(SUITES.iter().filter(|s| s.shortcut.is_some()).map(run::suite_command))
}

/// How long the other ranks wait for rank 0 to say what is wrong with a command line.
const AFTER_RANK_0: Duration = Duration::from_secs(3);

/// Prints what clap found wrong; unknown names of suites list the near ones. Once a job, by rank 0.
pub fn explain(error: &clap::Error) -> ExitCode {
    let code = if error.use_stderr() { Exit::Usage } else { Exit::Good };
    let first = mpi::rank().is_none_or(|rank| rank == 0);
    if first || !end_with_rank_0(error, code) {
        let _ = error.print();
    }
    if first && mpi::launched().is_some() {
        let _ = Target::start_library(None);
    }
    ExitCode::from(code as u8)
}

/// All ranks of a job have the same command line and end MPI together, so that no launcher ends rank 0 before it has spoken. A rank whose
/// command line is another waits for that in vain, and speaks for itself. Whether rank 0 did.
fn end_with_rank_0(error: &clap::Error, code: Exit) -> bool {
    let text = error.render().to_string();
    std::thread::spawn(move || {
        std::thread::park_timeout(AFTER_RANK_0);
        mpi::abort(code as i32, text.trim_end());
    });
    Target::start_library(None).is_ok()
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
