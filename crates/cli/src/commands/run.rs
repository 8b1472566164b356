//! `tailback run`: a suite or a plan on a machine, to a record and a report.

use super::entry::CommandEntry;
use crate::drive::{Order, drive, once};
use crate::exit::{Exit, Fail};
use crate::machine::Target;
use crate::options::{flag, format_of, possible, run_options, value};
use crate::role_env;
use crate::runner;
use crate::show::text_of;
use bench::kernels::command::COMMAND;
use bench::{Experiment, SUITES, Suite, SuiteRun};
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use record::Plan;
use spec::{Kind, Param, Params, ReadParams};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Its line in the table of commands.
pub const RUN: CommandEntry = CommandEntry {
    line: command,
    run,
    welcome: Some((
        "tailback run gpcnet",
        "canaries alone and under congestors; without MPI, on the built-in simulated network",
    )),
};

fn command() -> Command {
    let plan = value("plan", "FILE", "Run this plan, as printed by --plan-only and edited")
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::FilePath);
    Command::new("run")
        .about("Run a suite, or a plan")
        .subcommand_required(false)
        .args_conflicts_with_subcommands(true)
        .arg(plan)
        .arg(flag("allow-commands", "Let the plan start programs: its jobs with the kernel `command`").requires("plan"))
        .args(run_options())
        .subcommands(SUITES.iter().map(suite_command))
}

/// A suite as a command, with its parameters and the options of every run.
pub fn suite_command(suite: &'static Suite) -> Command {
    let card = &suite.card;
    let parameters = card.params.iter().enumerate().map(|(i, param)| match param.kind {
        // A file that comes first is what the suite is about: it is written without its name.
        Kind::File if i == 0 => {
            Arg::new(param.name).value_name("FILE").help(param.about).value_hint(ValueHint::FilePath)
        }
        _ => parameter(param),
    });
    let command = Command::new(card.name).about(card.about).args(parameters).args(run_options());
    let command = if has_roles(suite) { command.args(role_env::options()) } else { command };
    let command = match command_parameter(suite) {
        Some(_) => command.arg(runner::words()),
        None => command,
    };
    command.after_help(format!("Described in: {}", card.source))
}

/// A parameter as an option. Values that the card knows are completed by the shell; what is no single choice is checked by the card.
fn parameter(param: &'static Param) -> Arg {
    let help = format!("{}{}", param.about, param.defaults());
    let arg = Arg::new(param.name).long(param.name).value_name("VALUE").help(help);
    // `-1` is a wrong number and no option: the card says so, with the parameter's name.
    let number = matches!(param.kind, Kind::Size | Kind::Count | Kind::Time | Kind::Rate | Kind::Real | Kind::Share);
    let arg = arg.allow_hyphen_values(number);
    let arg = match param.kind {
        Kind::Choice(words) => possible(arg, words.to_vec()),
        Kind::File => arg.value_hint(ValueHint::FilePath),
        _ => param.known.map_or(arg.clone(), |known| possible(arg, known())),
    };
    arg.help_heading("Parameters of the suite")
}

/// The parameter that is a command line and may be written after `--`.
fn command_parameter(suite: &Suite) -> Option<&'static Param> {
    suite.card.params.iter().find(|p| p.kind == Kind::Command)
}

fn run(args: &ArgMatches) -> anyhow::Result<Exit> {
    match args.subcommand() {
        Some((name, args)) => run_suite(bench::suite(name).map_err(Fail::usage)?, args),
        None => run_plan(args),
    }
}

/// Opens the library of dense kernels that a run may use, on a real machine. It reads its environment when it is opened, and only a
/// process of one thread may change that: so before MPI and this program start theirs. What comes of it is said when it is used.
fn open_blas(args: &ArgMatches, wanted: Option<&str>) {
    let real = args.get_one::<String>("on").is_none_or(|on| on == "mpi" || on == "local");
    let path = match wanted {
        None | Some("builtin") => return,
        Some("fastest" | "system") => None,
        path => path,
    };
    if real && !args.get_flag("plan-only") && !args.get_flag("dry-run") {
        let _ = local::blas::Blas::system(path, 1);
    }
}

/// Whether the user may say which nodes have which role.
fn has_roles(suite: &Suite) -> bool {
    suite.card.params.iter().any(|p| p.name == "canary-nodes")
}

/// Runs a suite with these arguments.
pub fn run_suite(suite: &'static Suite, args: &ArgMatches) -> anyhow::Result<Exit> {
    // First of all: it may start the program anew, and only one that has started nothing yet may do that.
    if has_roles(suite) {
        role_env::set(args)?;
    }
    if let Some(param) = suite.card.params.iter().find(|p| p.name == "blas") {
        open_blas(args, Some(args.get_one::<String>(param.name).map_or(param.default, String::as_str)));
    }
    let target = Target::choose(args, suite.alone)?;
    let read = || Ok((read_suite(suite, args, target.is_simulated())?, Order::read(args, &target)?));
    match once(&target, read())? {
        Ok((experiment, order)) => show(args, &target, &order, &experiment),
        Err(exit) => Ok(exit),
    }
}

fn run_plan(args: &ArgMatches) -> anyhow::Result<Exit> {
    let path = args.get_one::<PathBuf>("plan");
    // Whatever is wrong with it is said below, by rank 0.
    if let Some(plan) = path.and_then(|path| record::read_plan(path).ok()) {
        let named =
            |job: &record::Job| bench::kernels::called(&job.kernel).ok()?.resolve(&job.params).ok()?.remove("blas");
        open_blas(args, plan.phases.iter().flat_map(|p| &p.jobs).find_map(named).as_deref());
    }
    let target = Target::choose(args, false)?;
    let read = || {
        let names = SUITES.iter().map(|s| s.card.name).collect::<Vec<_>>().join(", ");
        let path = path.ok_or_else(|| Fail::usage(format!("say what to run: a suite ({names}) or --plan FILE")))?;
        let plan = record::read_plan(path).map_err(Fail::usage)?;
        if !args.get_flag("allow-commands") {
            refuse_commands(&plan, path)?;
        }
        Ok((plan, Order::read(args, &target)?))
    };
    match once(&target, read())? {
        Ok((plan, order)) => show(args, &target, &order, &plan),
        Err(exit) => Ok(exit),
    }
}

/// A plan may come from elsewhere, and a command is whatever the shell can do: it runs only if the user says so.
fn refuse_commands(plan: &Plan, path: &Path) -> anyhow::Result<()> {
    for phase in &plan.phases {
        for job in &phase.jobs {
            let Ok(called) = bench::called(&job.kernel) else { continue };
            if called.kernel.card.name != COMMAND.card.name {
                continue;
            }
            let line = called.resolve(&job.params).map_or_else(|_| "?".into(), |params| params.word("run").to_string());
            return Err(Fail::usage(format!(
                "{}: job {} of phase {} would run the command `{}`; read the plan, then add --allow-commands",
                path.display(),
                job.name,
                phase.name,
                report::plain::line(&line)
            )));
        }
    }
    Ok(())
}

fn show(args: &ArgMatches, target: &Target, order: &Order, experiment: &dyn Experiment) -> anyhow::Result<Exit> {
    let Some(finished) = drive(target, order, experiment)? else { return Ok(Exit::Good) };
    let text = text_of(&finished.record, format_of(args))?;
    finished.print(&text)
}

/// The suite's parameters: those given over its defaults, and what stands in the files that they name.
pub fn read_suite(suite: &'static Suite, args: &ArgMatches, simulated: bool) -> anyhow::Result<SuiteRun> {
    let mut given = Params::new();
    for param in suite.card.params {
        let value = match param.kind {
            Kind::Command => runner::command(args, param.name),
            _ => args.get_one::<String>(param.name).cloned(),
        };
        given.extend(value.map(|value| (param.name.to_string(), value)));
    }
    let params = suite.card.resolve_on(&given, simulated).map_err(Fail::usage)?;
    let mut files = BTreeMap::new();
    for param in suite.card.params.iter().filter(|p| p.kind == Kind::File && !params[p.name].is_empty()) {
        let path = &params[param.name];
        let say = |e: std::io::Error| Fail::usage(format!("--{}: cannot read {path}: {e}", param.name));
        files.insert(param.name.to_string(), std::fs::read_to_string(path).map_err(say)?);
    }
    Ok(SuiteRun { suite, params, files })
}
