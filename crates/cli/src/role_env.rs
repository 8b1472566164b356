//! Environment variables of one role: an MPI library reads them when it starts, so they are set before that, by starting this program
//! anew in its own place. That needs roles that are known before MPI starts: those of `--canary-nodes`.

use crate::exit::{Exit, Fail};
use crate::host;
use crate::options::value;
use bench::is_listed;
use clap::{Arg, ArgAction, ArgMatches};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The options, for suites that have roles.
pub fn options() -> [Arg; 2] {
    let option = |name, who| value(name, "NAME=VALUE", who).action(ArgAction::Append).requires("canary-nodes");
    [
        option(
            "canary-env",
            "Environment of the processes on --canary-nodes, set before MPI starts: a traffic class, a service level, a NIC; may be given several times",
        ),
        option("congestor-env", "The same for the processes on all other nodes"),
    ]
}

/// Starts this process anew if its role has variables that are not set; returns if there is nothing to set.
pub fn set(args: &ArgMatches) -> anyhow::Result<()> {
    let given = |option: &str| -> anyhow::Result<Vec<(String, String)>> {
        args.get_many::<String>(option).into_iter().flatten().map(|text| variable(option, text)).collect()
    };
    let (canary, congestor) = (given("canary-env")?, given("congestor-env")?);
    if canary.is_empty() && congestor.is_empty() {
        return Ok(());
    }
    let real = args.get_one::<String>("on").map_or_else(|| mpi::launched().is_some(), |on| on == "mpi");
    if !real {
        return Err(Fail::usage(
            "--canary-env and --congestor-env are for real MPI: start under a launcher; a simulated rank has no environment",
        ));
    }
    let list = args.get_one::<String>("canary-nodes").map_or("", String::as_str);
    let list = spec::hosts::expand(list, list).map_err(|why| Fail::usage(format!("--canary-nodes: {why}")))?;
    let mine = if is_listed(&list, &host::name()) { canary } else { congestor };
    if mine.iter().all(|(name, value)| std::env::var_os(name).is_some_and(|is| is == value.as_str())) {
        return Ok(());
    }
    let program = std::env::current_exe()?;
    let why = Command::new(&program).args(std::env::args_os().skip(1)).envs(mine).exec();
    Err(Fail::with(
        Exit::Failure,
        format!("cannot start {} anew with the role's environment: {why}", program.display()),
    ))
}

fn variable(option: &str, text: &str) -> anyhow::Result<(String, String)> {
    let fine = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match text.split_once('=') {
        Some((name, value)) if fine(name) => Ok((name.to_string(), value.to_string())),
        _ => Err(Fail::usage(format!("--{option} {text}: write it like UCX_NET_DEVICES=mlx5_0:1"))),
    }
}
