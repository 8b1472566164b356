//! `tailback testbed`: an emulated cluster on this machine.

use super::entry::CommandEntry;
use crate::exit::{Exit, Fail};
use crate::options::{MOST_RANKS_PER_NODE, flag, number, value};
use crate::output;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use testbed::{Launch, Mode, RunOutcome, RunSpec, Spec};

/// Its line in the table of commands.
pub const TESTBED: CommandEntry = CommandEntry {
    line: command,
    run: testbed,
    welcome: Some(("tailback testbed up 10", "an emulated cluster on this machine, for trials")),
};

fn slow() -> Arg {
    let help = "What the link of one node carries instead: a broken cable; may be given several times";
    value("slow", "NODE=RATE", help).action(ArgAction::Append)
}

fn command() -> Command {
    let name = || value("name", "NAME", "Name of the testbed").default_value("tailback");
    let rate = |name, help| value(name, "RATE", help);
    let up = Command::new("up")
        .about("Build it")
        .arg(
            Arg::new("nodes")
                .required(true)
                .value_name("NODES")
                .value_parser(value_parser!(u32).range(1..))
                .help("How many nodes"),
        )
        .arg(number("per-leaf", MOST_RANKS_PER_NODE, "Nodes per leaf switch; without it, one switch for all"))
        .arg(rate("rate", "What a node's link carries each way, e.g. 100MB/s"))
        .arg(slow())
        .arg(rate("uplink", "What a leaf's uplink carries each way"))
        .arg(
            value("taper", "X", "Uplinks carry 1/X of what the leaf's nodes can send").value_parser(value_parser!(f64)),
        )
        .arg(value("delay", "TIME", "Delay added on each link, where the kernel can (netem)"))
        .arg(flag("user", "In a user namespace, also as root"))
        .arg(name());
    let run = Command::new("run")
        .about("Run a command on its nodes, under MPI")
        .arg(value("mpirun", "PATH", "The MPI launcher").default_value("mpirun"))
        .arg(number("on-nodes", MOST_RANKS_PER_NODE, "On so many nodes; without it, on all"))
        .arg(number("per-node", MOST_RANKS_PER_NODE, "Ranks per node").default_value("1"))
        .arg(value("env", "NAME=VALUE", "Environment of the command").action(ArgAction::Append))
        .arg(
            value("mpi-arg", "ARG", "One more argument of the launcher")
                .action(ArgAction::Append)
                .allow_hyphen_values(true),
        )
        .arg(value("timeout", "TIME", "End it after this time"))
        .arg(flag("plain", "Without MPI: the command once on each node"))
        .arg(flag("no-traffic-check", "Do not insist that traffic crosses the links"))
        .arg(name())
        .arg(Arg::new("command").required(true).num_args(1..).last(true).value_name("CMD"));
    let agent = Command::new("agent").hide(true).arg(
        Arg::new("args")
            .num_args(0..)
            .allow_hyphen_values(true)
            .trailing_var_arg(true)
            .value_parser(value_parser!(String)),
    );
    Command::new("testbed")
        .about("An emulated cluster of network namespaces on this machine")
        .subcommand_required(true)
        .subcommands([
            up,
            Command::new("down").about("Remove it and all that runs on it").arg(name()),
            Command::new("status").about("Show it").arg(name()),
            run,
            agent,
        ])
}

/// This program as a launch agent: becomes the wanted process on the wanted node.
pub fn agent(argv: &[OsString]) -> ExitCode {
    let args: Vec<String> = argv.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect();
    let error = testbed::agent(argv.first().map(|a| a.as_os_str()), &args);
    mpi::say(format_args!("tailback: {error}"));
    ExitCode::from(Exit::Failure as u8)
}

/// Builds, removes, shows or uses a testbed.
fn testbed(args: &ArgMatches) -> anyhow::Result<Exit> {
    let (what, args) = args.subcommand().expect("one is required");
    if what == "agent" {
        let words: Vec<String> = args.get_many::<String>("args").unwrap_or_default().cloned().collect();
        return Err(refused(testbed::agent(None, &words)));
    }
    let name = args.get_one::<String>("name").expect("it has a default");
    let text = match what {
        "up" => testbed::up(&spec(name, args)?).map_err(refused)?.to_string(),
        "down" => testbed::down(name).map_err(refused)?.to_string(),
        "status" => testbed::status(name).map_err(refused)?.to_string(),
        _ => return run(name, args),
    };
    output::print(&(text + "\n"))?;
    Ok(Exit::Good)
}

/// A machine that does not allow namespaces is a reason to skip, not a failure.
fn refused(error: testbed::Error) -> anyhow::Error {
    let code = if error.is_refusal() { Exit::Skipped } else { Exit::Failure };
    Fail::with(code, error)
}

fn spec(name: &str, args: &ArgMatches) -> anyhow::Result<Spec> {
    let rate = |option: &str| -> anyhow::Result<Option<u64>> {
        let text = args.get_one::<String>(option);
        text.map(|t| spec::parse_rate(t).map(|r| r.bytes_per_s() as u64).map_err(Fail::usage)).transpose()
    };
    let mut spec = Spec::new(name, *args.get_one::<u32>("nodes").expect("it is required") as usize);
    spec.nodes_per_leaf = args.get_one::<u32>("per-leaf").map(|n| *n as usize);
    spec.rate = rate("rate")?;
    for pair in args.get_many::<String>("slow").unwrap_or_default() {
        let wrong = |why: String| Fail::usage(format!("--slow {pair}: {why}"));
        let (node, rate) = pair.split_once('=').ok_or_else(|| wrong("write it like n4=20MB/s".into()))?;
        let rate = spec::parse_rate(rate).map_err(|why| wrong(why.to_string()))?;
        spec.slow.insert(node.into(), rate.bytes_per_s() as u64);
    }
    spec.uplink_rate = rate("uplink")?;
    spec.delay_us = time(args, "delay")?.map(|t| t.as_micros() as u64);
    spec.mode = args.get_flag("user").then_some(Mode::User);
    if let Some(taper) = args.get_one::<f64>("taper") {
        spec.taper(*taper).map_err(Fail::usage)?;
    }
    spec.check().map_err(Fail::usage)?;
    Ok(spec)
}

fn time(args: &ArgMatches, option: &str) -> anyhow::Result<Option<Duration>> {
    let text = args.get_one::<String>(option);
    text.map(|t| spec::parse_time(t).map(|t| Duration::from_secs_f64(t.secs())).map_err(Fail::usage)).transpose()
}

fn run(name: &str, args: &ArgMatches) -> anyhow::Result<Exit> {
    let command: Vec<&str> = args.get_many::<String>("command").expect("it is required").map(String::as_str).collect();
    let launch = match args.get_flag("plain") {
        true => Launch::Plain,
        false => Launch::Mpi(PathBuf::from(args.get_one::<String>("mpirun").expect("it has a default"))),
    };
    let mut run = RunSpec::new(launch, &command)?;
    run.nodes = args.get_one::<u32>("on-nodes").map(|n| *n as usize);
    run.ranks_per_node = *args.get_one::<u32>("per-node").expect("it has a default") as usize;
    run.launcher_args = args.get_many::<String>("mpi-arg").unwrap_or_default().cloned().collect();
    for pair in args.get_many::<String>("env").unwrap_or_default() {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| Fail::usage(format!("--env {pair}: write NAME=VALUE")))?;
        run.env.push((name.into(), value.into()));
    }
    run.timeout = time(args, "timeout")?;
    if args.get_flag("no-traffic-check") {
        run.least_bytes = 0;
    }
    let report = testbed::run(name, &run).map_err(refused)?;
    mpi::say(&report);
    Ok(match report.outcome {
        RunOutcome::Success => Exit::Good,
        // The command's own code is what a script wants to see.
        RunOutcome::Failed(code) => std::process::exit(code),
        _ => Exit::Failure,
    })
}
