//! `tailback`: measure, model and predict congestion in HPC networks.

// `mpi::say` writes a line in one piece.
#![deny(clippy::print_stderr)]

mod children;
mod commands;
mod cost;
mod drive;
mod ensemble;
mod exit;
mod folder;
mod grouping;
mod host;
mod machine;
mod options;
mod output;
mod parts;
mod progress;
mod published;
mod pulse;
mod role_env;
mod runner;
mod scout;
mod sentinel;
mod show;
mod signals;
mod slurm;
mod vitals;

use exit::Exit;
use std::process::ExitCode;

fn main() -> ExitCode {
    let argv: Vec<_> = std::env::args_os().collect();
    // An MPI launcher of the emulated cluster calls this program to start processes on a node.
    if testbed::called_as_agent(argv.first().map(|a| a.as_os_str())) {
        return commands::testbed::agent(&argv);
    }
    let matches = match commands::command().try_get_matches_from(&argv) {
        Ok(matches) => matches,
        Err(error) => return commands::explain(&error),
    };
    let result = match matches.subcommand() {
        Some((name, matches)) => commands::dispatch(name, matches),
        None => output::print(&commands::welcome()).map(|()| Exit::Good),
    };
    exit::end(result)
}
