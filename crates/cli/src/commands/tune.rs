//! `tailback tune`: which congestors give the network the counters of a recorded run.

use super::entry::CommandEntry;
use crate::drive::{Order, drive, once, read_seed};
use crate::exit::{Exit, Fail};
use crate::machine::Target;
use crate::options::{number, possible, run_options, value};
use bench::Site;
use bench::experiments::tune::{self, Candidate, Tried, Tune};
use bench::suites::gpcnet::GPCNET;
use clap::{ArgMatches, Command, ValueHint, value_parser};
use record::{About, PhaseRecord, RunRecord};
use report::plain::line;
use report::table::{Table, digits};
use std::fmt::Write;
use std::path::PathBuf;

/// Its line in the table of commands.
pub const TUNE: CommandEntry = CommandEntry {
    line: command,
    run,
    welcome: Some(("tailback tune --like RUN.json", "congestors that load the network as that run did")),
};

/// What is measured meanwhile unless the user says otherwise: the first canary of the suite.
fn first_canary() -> &'static str {
    GPCNET.card.param("canaries").default.split(',').next().unwrap_or_default()
}

/// How runs are made is chosen as for `run`, what a candidate is by the options here.
fn command() -> Command {
    let file = value("like", "RUN.json", "The recorded run whose counters to come near to")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::FilePath);
    let options = run_options()
        .into_iter()
        .filter(|o| !["plan-only", "dry-run", "format", "verbose"].contains(&o.get_id().as_str()));
    let kernels = |arg| possible(arg, bench::kernels::names());
    Command::new("tune")
        .about("Find the congestors that load the network as a recorded run did, by its counters")
        .after_help("Described in: GPCNeT (Chunduri et al., SC '19) §4.5")
        .arg(file)
        .arg(value("phase", "NAME", "The phase to come near to [default: the first one under load]"))
        .arg(value(
            "counter",
            "NAMES",
            "Counters to compare, separated by commas, THERE=HERE where names differ [default: bytes sent and waiting]",
        ))
        .arg(number("candidates", 10_000, "Candidates to try at most").default_value("24"))
        .arg(value("time", "TIME", "Time of each candidate on the machine's clock [default: 10s; simulated: 2ms]"))
        .arg(kernels(value("canary", "KERNEL", "What is measured meanwhile").default_value(first_canary())))
        .arg(kernels(
            value("congestors", "KERNELS", "What may load the network, separated by commas")
                .default_value(GPCNET.card.param("congestors").default),
        ))
        .args(options)
}

/// What to come near to, for the answer.
struct Goal {
    like: PathBuf,
    phase: String,
    /// The recorded seed on a simulated machine: the recorded load itself would be played again to the last bit.
    replays: bool,
    /// The options that chose the machine, which the command for the nearest candidate needs, too.
    machine: String,
}

/// Options that choose the machine and its size.
const MACHINE: [&str; 4] = ["on", "nodes", "ranks-per-node", "allocation"];

/// Those that were given, as they are typed.
fn machine(args: &ArgMatches) -> String {
    let given = MACHINE.iter().filter_map(|option| {
        let values: Vec<&str> = args.get_raw(option)?.filter_map(|v| v.to_str()).collect();
        Some(format!(" --{option} {}", values.join(" ")))
    });
    given.collect()
}

fn run(args: &ArgMatches) -> anyhow::Result<Exit> {
    let target = Target::choose(args, false)?;
    let read = || Ok((read(args, &target)?, Order::read(args, &target)?));
    let ((goal, experiment), order) = match once(&target, read())? {
        Ok(read) => read,
        Err(exit) => return Ok(exit),
    };
    let Some(finished) = drive(&target, &order, &experiment)? else { return Ok(Exit::Good) };
    let site = Site::new(finished.record.layout, target.is_simulated());
    let (tried, _) = experiment.so_far(&site, &finished.record).map_err(Fail::usage)?;
    let text = answer(&goal, &experiment, &tried);
    finished.print(&text)
}

fn read(args: &ArgMatches, target: &Target) -> anyhow::Result<(Goal, Tune)> {
    let text = |option: &str| args.get_one::<String>(option).cloned();
    let like = args.get_one::<PathBuf>("like").expect("it is required").clone();
    let record = record::read(&like)?;
    let phase = pick_phase(&record, text("phase").as_deref())
        .map_err(|why| Fail::usage(format!("{}: {why}", like.display())))?;
    let counters = pick_counters(phase, text("counter").as_deref()).map_err(Fail::usage)?;
    let aim = tune::Target::new(phase, &counters).map_err(|missing| {
        let say = spec::near::unknown("counter", &missing, tune::counter_names(phase));
        Fail::usage(format!("{say} (of {} in {})", phase.name, like.display()))
    })?;
    let list = text("congestors").expect("it has a default");
    let experiment = Tune {
        target: aim,
        counters: counters.into_iter().map(|(theirs, _)| theirs).collect(),
        canary: text("canary").expect("it has a default"),
        congestors: list.split(',').map(|c| c.trim().to_string()).collect(),
        time: text("time"),
        candidates: *args.get_one::<u32>("candidates").expect("it has a default") as usize,
    };
    let replays = target.is_simulated() && read_seed(args)? == Some(record.plan.seed);
    Ok((Goal { phase: phase.name.clone(), like, replays, machine: machine(args) }, experiment))
}

/// The phase to aim at: the one named, or the first one under load, or the first one.
fn pick_phase<'a>(record: &'a RunRecord, name: Option<&str>) -> Result<&'a PhaseRecord, String> {
    let counted: Vec<&PhaseRecord> = record.phases.iter().filter(|p| !p.counters.is_empty()).collect();
    if counted.is_empty() {
        return Err("it holds no counters of any phase; record it again on a machine that counts".into());
    }
    match name {
        None => {
            let loaded = counted.iter().find(|p| matches!(p.about, About::Loaded { .. } | About::Load));
            Ok(loaded.unwrap_or(&counted[0]))
        }
        Some(name) => {
            let found = counted.iter().find(|p| p.name == name).copied();
            found.ok_or_else(|| spec::near::unknown("phase", name, counted.iter().map(|p| p.name.as_str())))
        }
    }
}

/// The counters to compare, as they are called there and here: those named (`THERE=HERE` where the names differ), or all that tell of
/// load.
fn pick_counters(phase: &PhaseRecord, given: Option<&str>) -> Result<Vec<(String, String)>, String> {
    let pair = |text: &str| text.split_once('=').map_or((text.into(), text.into()), |(a, b)| (a.into(), b.into()));
    if let Some(given) = given {
        return Ok(given.split(',').map(|name| pair(name.trim())).collect());
    }
    let names = tune::counter_names(phase);
    let telling: Vec<(String, String)> =
        names.iter().filter(|name| bench::counters::tells_load(name)).map(|name| pair(name)).collect();
    if telling.is_empty() {
        return Err(format!("no counter of {} tells of load; name one of {}", phase.name, names.join(", ")));
    }
    Ok(telling)
}

/// Candidates by distance, and what to type for the nearest.
fn answer(goal: &Goal, experiment: &Tune, tried: &[Tried]) -> String {
    let mut order: Vec<usize> = (0..tried.len()).collect();
    order.sort_by(|a, b| tried[*a].distance.total_cmp(&tried[*b].distance));
    let mut out = String::new();
    let _ = writeln!(out, "Load like {} of {}", line(&goal.phase), goal.like.display());
    let _ = writeln!(out, "by {}\n", line(&experiment.counters.join(", ")));
    let mut table = Table::new(&["Candidate", "share", "ranks/node", "congestors", "distance"]);
    for i in &order {
        let Tried { candidate, distance, .. } = &tried[*i];
        table.row([
            format!("candidate-{:02}", i + 1),
            format!("{}%", candidate.share),
            candidate.slots.to_string(),
            candidate.congestors(&experiment.congestors),
            digits(*distance),
        ]);
    }
    table.write(&mut out);
    out.push_str(
        "\n  Distance is between the nodes' rates there and here, as a share of the mean rate there: 0 is the same.\n",
    );
    out.push_str("  Loads that fill the network can look alike, and chance moves counters: try another --seed before trusting a near tie.\n");
    if goal.replays {
        out.push_str("  The seed is the recorded one, so the recorded load would be played again: another --seed is a fairer trial.\n");
    }
    let Some(best) = order.first().map(|i| &tried[*i]) else { return out };
    let _ = writeln!(out, "\nNearest, {}:", best.candidate);
    let congestors = best.candidate.congestors(&experiment.congestors);
    let Candidate { share, slots, .. } = best.candidate;
    let machine = line(&goal.machine);
    let _ =
        writeln!(out, "  tailback run gpcnet{machine} --share {share}% --slots {slots} --congestors {congestors}\n");
    let _ = writeln!(out, "FOM tune.distance {:.6} x", best.distance);
    out
}
