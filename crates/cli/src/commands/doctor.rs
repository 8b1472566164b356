//! `tailback doctor`: what this machine is, which MPI would be used and why, what is missing and the command that mends it.

use super::entry::CommandEntry;
use crate::exit::Exit;
use crate::host;
use crate::options::value;
use crate::output;
use clap::{ArgMatches, Command, value_parser};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Its line in the table of commands.
pub const DOCTOR: CommandEntry = CommandEntry {
    line: command,
    run: doctor,
    welcome: Some(("tailback doctor", "what this machine has and what is missing")),
};

fn command() -> Command {
    let lib = value("mpi-lib", "FILE", "The MPI library to look at")
        .value_parser(value_parser!(PathBuf))
        .env("TAILBACK_MPI_LIB");
    Command::new("doctor").about("What this machine is, which MPI would be used and why, and what is missing").arg(lib)
}

/// Prints the findings. It looks, it changes nothing.
fn doctor(args: &ArgMatches) -> anyhow::Result<Exit> {
    let mut out = String::new();
    this_machine(&mut out);
    message_passing(&mut out, args.get_one::<PathBuf>("mpi-lib").map(PathBuf::as_path));
    emulation(&mut out);
    output::print(&out)?;
    Ok(Exit::Good)
}

fn this_machine(out: &mut String) {
    let host = host::here();
    let _ = writeln!(out, "tailback {} ({})", env!("CARGO_PKG_VERSION"), env!("TAILBACK_BUILD"));
    let _ = writeln!(
        out,
        "machine    {}: {}, {} processors, {:.1} GiB",
        host.name,
        host.cpu,
        host.cpus,
        host.memory_bytes as f64 / (1u64 << 30) as f64
    );
    let _ = writeln!(out, "kernel     {}", host.kernel);
}

fn message_passing(out: &mut String, library: Option<&Path>) {
    match mpi::launched() {
        Some(launch) => {
            let ranks = launch.ranks.map_or("unknown".into(), |n| n.to_string());
            let _ = writeln!(
                out,
                "launch     by {:?} ({} is set), {ranks} ranks: a run would use MPI",
                launch.launcher, launch.variable
            );
        }
        None => {
            let _ = writeln!(
                out,
                "launch     not started by an MPI launcher: a run would use the simulated machine `default`"
            );
        }
    }
    match mpi::find(library) {
        Ok(found) => {
            let version = found.version.lines().next().unwrap_or_default().trim();
            let _ = writeln!(out, "mpi        {version}");
            let _ = writeln!(
                out,
                "           {} ({}, MPI {}.{})",
                found.path.display(),
                found.kind,
                found.standard.0,
                found.standard.1
            );
            let _ = writeln!(out, "           {}", found.how);
            for hint in hints(version) {
                let _ = writeln!(out, "           hint: {hint}");
            }
        }
        Err(error) => {
            let _ = writeln!(out, "mpi        none: {error}");
            let _ = writeln!(
                out,
                "           mend: apt-get install openmpi-bin   (or load your site's module), or --mpi-lib FILE"
            );
        }
    }
}

/// What is known to go wrong with a library.
fn hints(version: &str) -> Vec<&'static str> {
    let mut hints = Vec::new();
    if version.contains("Open MPI v4") {
        hints.push("over TCP its windows need `--mca osc pt2pt`; without it the put and get kernels are skipped");
    }
    if version.contains("Open MPI") && rustix::process::geteuid().is_root() {
        hints.push("as root mpirun wants OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
    }
    hints
}

fn emulation(out: &mut String) {
    let found = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")])
            .any(|d| d.join(program).exists())
    };
    let missing: Vec<&str> = ["ip", "tc", "unshare", "nsenter"].into_iter().filter(|p| !found(p)).collect();
    if missing.is_empty() {
        let who = if rustix::process::geteuid().is_root() {
            "as root"
        } else {
            "in a user namespace, where the kernel allows it"
        };
        let _ = writeln!(out, "testbed    can be built {who}: tailback testbed up 4");
    } else {
        let _ = writeln!(out, "testbed    {} missing; mend: apt-get install iproute2 util-linux", missing.join(", "));
    }
    let machines: Vec<&str> = sim::BUILTIN.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(out, "simulated  {}", machines.join(", "));
}
