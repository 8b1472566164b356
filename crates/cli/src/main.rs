//! `tailback`: measure, model and predict congestion in HPC networks.

mod args;
mod commands;
mod exit;
mod grouping;
mod host;
mod machine;
mod output;
mod parts;
mod progress;
mod published;
mod pulse;
mod signals;
mod slurm;
mod whereabouts;

use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let argv: Vec<_> = std::env::args_os().collect();
    // An MPI launcher of the emulated cluster calls this program to start processes on a node.
    if testbed::called_as_agent(argv.first().map(|a| a.as_os_str())) {
        return commands::testbed::agent(&argv);
    }
    let matches = match args::command().try_get_matches_from(&argv) {
        Ok(matches) => matches,
        Err(error) => return args::explain(&error),
    };
    let result = match matches.subcommand() {
        Some(("run", matches)) => commands::run::run(matches),
        Some((name @ ("congest" | "app"), matches)) => commands::run::run_suite(bench::suite(name).ok(), matches),
        Some(("tune", matches)) => commands::tune::tune(matches),
        Some(("fit", matches)) => commands::fit::fit(matches),
        Some(("contention", matches)) => commands::contention::contention(matches),
        Some(("launch", matches)) => commands::launch::launch(matches),
        Some(("list", matches)) => commands::list::list(matches),
        Some(("report", matches)) => commands::report::report(matches),
        Some(("compare", matches)) => commands::compare::compare(matches),
        Some(("history", matches)) => commands::history::history(matches),
        Some(("machine", matches)) => commands::machine::machine(matches),
        Some(("doctor", matches)) => commands::doctor::doctor(matches),
        Some(("testbed", matches)) => commands::testbed::testbed(matches),
        Some(("generate", matches)) => commands::generate::generate(matches),
        Some((other, _)) => unreachable!("`{other}` is not in the table of commands"),
        None => output::print(args::WELCOME).map(|()| Exit::Good),
    };
    exit::end(result)
}
