//! `tailback run`: a suite or a plan on a machine, to a record and a report.

use super::app;
use super::report::show;
use crate::exit::{Exit, Fail};
use crate::grouping::Grouping;
use crate::machine::{Machine, Voice};
use crate::progress::Watch;
use crate::whereabouts::Ground;
use crate::{output, signals};
use bench::suites::{self, Request};
use bench::{Facts, Suite};
use clap::ArgMatches;
use comm::{Buffer, Comm};
use record::{Payload, Plan};
use spec::Params;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// Above so many ranks a simulated machine moves lengths instead of data unless told otherwise.
pub(super) const CARRY_DATA_UP_TO: usize = 512;

/// What is asked for, read and checked before any rank starts.
struct Wanted {
    /// A suite with its parameters, or a plan from a file.
    what: Source,
    seed: Option<u64>,
    grouping: Grouping,
    payload: Option<Payload>,
    out: Option<PathBuf>,
    plan_only: bool,
    format: String,
    quiet: bool,
    patience: Option<Duration>,
}

enum Source {
    Suite(&'static Suite, Params),
    Plan(Box<Plan>),
}

/// Runs a suite or a plan, as `tailback run` is given it.
pub fn run(args: &ArgMatches) -> anyhow::Result<Exit> {
    match args.subcommand() {
        Some((name, args)) => run_suite(Some(bench::suite(name).map_err(Fail::usage)?), args),
        None => run_suite(None, args),
    }
}

/// Runs a suite with these arguments, or the plan that they name.
pub fn run_suite(suite: Option<&'static Suite>, args: &ArgMatches) -> anyhow::Result<Exit> {
    let machine = Machine::choose(args, suite.is_some_and(|s| s.card.name == "hpcc"))?;
    // Every rank reads the same arguments and would say the same; rank 0 speaks for all.
    let wanted = match Wanted::read(suite, args, &machine) {
        Ok(wanted) => wanted,
        Err(error) if machine.prints() => return Err(error),
        Err(_) => return Ok(Exit::Usage),
    };
    let watch = Watch::new(wanted.quiet || !machine.prints(), machine.is_simulated(), wanted.patience);
    let problem = Mutex::new(None);
    let last_words = watch.clone();
    let loads_only = wanted.name() == "congest";
    signals::on_signal(move |reason| {
        // Load without a measurement ends when it is asked to; everything else loses what it had not yet recorded.
        if loads_only && !last_words.ask_to_stop() {
            return signals::Wait::Yes;
        }
        last_words.give_up(reason);
        signals::Wait::No
    });
    if !machine.is_simulated() {
        app::install();
    }
    let facts = facts(&machine);
    let lengths = machine.is_simulated() && machine.ranks() > CARRY_DATA_UP_TO;
    let (voice, ground) = (machine.voice(), Ground::of(&machine));
    let ended = machine.run(&|world| {
        let open = || open_record(voice, &watch, wanted.name(), wanted.out.as_deref());
        if let Err(error) = on_rank(world, (ground, lengths), &wanted, &facts, &watch, &open) {
            *problem.lock().expect("nobody panics holding it") = Some(error);
        }
    });
    if let Some(error) = problem.into_inner().expect("nobody panics holding it") {
        return if machine.prints() { Err(error) } else { Ok(Exit::Usage) };
    }
    watch.complete(&machine);
    if let Err(error) = ended {
        watch.give_up(&error.0);
        let (record, _) = watch.finish();
        let code = if record.is_some() { Exit::Incomplete } else { Exit::Failure };
        return Err(Fail::with(code, error));
    }
    if let Some(effort) = machine.effort().filter(|_| !wanted.quiet && !wanted.plan_only) {
        eprintln!("tailback: {effort}");
    }
    conclude(&wanted, &watch)
}

/// On rank 0: makes the folder for the record and says where it is. What fails here ends the job on all ranks.
fn open_record(voice: Voice, watch: &Watch, name: &str, out: Option<&Path>) -> anyhow::Result<()> {
    if voice.prints {
        let file = prepare(name, out).or_else(|error| voice.end_all(error))?.join("run.json");
        watch.save_to(&file);
        eprintln!("tailback: writing {}", file.display());
    }
    Ok(())
}

/// The watch of a campaign that has only its record to lose: opened, ended by signals, and guarded against ranks that hang.
pub(crate) fn watch_campaign(machine: &Machine, args: &ArgMatches, name: &str) -> anyhow::Result<Watch> {
    let quiet = args.get_flag("quiet") || !machine.prints();
    let watch = Watch::new(quiet, machine.is_simulated(), read_patience(args)?);
    open_record(machine.voice(), &watch, name, args.get_one::<String>("out").map(Path::new))?;
    let last_words = watch.clone();
    signals::on_signal(move |reason| {
        last_words.give_up(reason);
        signals::Wait::No
    });
    Ok(watch)
}

/// What the record holds besides plan and measurements.
pub(crate) fn facts(machine: &Machine) -> Facts {
    Facts {
        command: command_line(),
        created: (!machine.is_simulated()).then(now),
        machine: machine.record(),
        warnings: machine.warnings(),
        counters: machine.counters(),
        node_names: Vec::new(),
    }
}

/// Shows the record; says what could not be saved.
fn conclude(wanted: &Wanted, watch: &Watch) -> anyhow::Result<Exit> {
    let (record, failure) = watch.finish();
    let Some(record) = record else { return Ok(Exit::Good) };
    let exit = show(&record, &wanted.format)?;
    match failure {
        Some(text) => Err(Fail::with(Exit::Incomplete, text)),
        None => Ok(exit),
    }
}

/// The same on every rank: find the seat, make the plan, run it. The machine says where ranks are, and whether it moves lengths alone.
fn on_rank(
    world: &dyn Comm,
    (ground, lengths): (Ground<'_>, bool),
    wanted: &Wanted,
    facts: &Facts,
    watch: &Watch,
    open: &dyn Fn() -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let seed = agree_on_seed(world, wanted.seed);
    let mut facts = facts.clone();
    let seat = wanted.grouping.take_seat(world, &mut facts)?;
    let layout = seat.layout;
    let payload = wanted.payload.unwrap_or(if lengths { Payload::Lengths } else { Payload::Checked });
    let plan = match &wanted.what {
        Source::Plan(plan) => {
            suites::check(plan, layout).map_err(Fail::usage)?;
            (**plan).clone()
        }
        Source::Suite(suite, params) => {
            let mut params = params.clone();
            suites::hpcc::fit(world, &mut params);
            if suite.card.name == "maxrate" {
                let here = ground.find(world);
                suites::maxrate::settle(world, &seat, here, &mut params).map_err(Fail::usage)?;
            }
            (suite.plan)(&Request { params: &params, layout, seed, payload }).map_err(Fail::usage)?
        }
    };
    if wanted.plan_only {
        if world.rank() == 0 {
            output::print(&(serde_json::to_string_pretty(&plan)? + "\n"))?;
        }
        return Ok(());
    }
    // Not before the plan is known to be good: what is refused leaves no folder behind.
    if world.rank() == 0 {
        open()?;
    }
    bench::run(world, seat, &plan, &facts, watch);
    Ok(())
}

/// A random seed is drawn by rank 0, told to all and recorded.
pub(super) fn agree_on_seed(world: &dyn Comm, seed: Option<u64>) -> u64 {
    let mut bytes = seed.unwrap_or_else(clock_seed).to_le_bytes();
    if seed.is_none() {
        world.bcast(0, Buffer::Bytes(&mut bytes));
    }
    u64::from_le_bytes(bytes)
}

impl Wanted {
    /// Name of the suite, also of a plan: the folder of the record is named after it.
    fn name(&self) -> &str {
        match &self.what {
            Source::Suite(suite, _) => suite.card.name,
            Source::Plan(plan) => &plan.suite,
        }
    }

    fn read(suite: Option<&'static Suite>, args: &ArgMatches, machine: &Machine) -> anyhow::Result<Wanted> {
        let text = |option: &str| args.get_one::<String>(option).cloned();
        let what = match suite {
            Some(suite) => Source::Suite(suite, parameters(suite, args, machine.is_simulated())?),
            None => Source::Plan(Box::new(read_plan(args.get_one::<PathBuf>("plan"))?)),
        };
        let seed = read_seed(args)?;
        let payload = text("payload").map(|p| if p == "checked" { Payload::Checked } else { Payload::Lengths });
        Ok(Wanted {
            what,
            seed,
            grouping: Grouping::read(args, machine)?,
            payload,
            out: text("out").map(PathBuf::from),
            plan_only: args.get_flag("plan-only"),
            format: text("format").expect("it has a default"),
            quiet: args.get_flag("quiet"),
            patience: read_patience(args)?,
        })
    }
}

/// `--seed`: a number, or nothing for a random one.
pub(super) fn read_seed(args: &ArgMatches) -> anyhow::Result<Option<u64>> {
    match args.get_one::<String>("seed").expect("it has a default").as_str() {
        "random" => Ok(None),
        number => match number.parse() {
            Ok(seed) => Ok(Some(seed)),
            Err(_) => Err(Fail::usage(format!("--seed {number}: a whole number, or `random`"))),
        },
    }
}

/// `--hang-after`: a time, or nothing if a run is to wait for ever.
fn read_patience(args: &ArgMatches) -> anyhow::Result<Option<Duration>> {
    let text = args.get_one::<String>("hang-after").expect("it has a default");
    if text == "never" {
        return Ok(None);
    }
    match spec::parse_time(text) {
        Ok(time) if time.secs() >= 1.0 => Ok(Some(Duration::from_secs_f64(time.secs()))),
        Ok(_) => Err(Fail::usage(format!("--hang-after {text}: at least 1s, or `never`"))),
        Err(error) => Err(Fail::usage(format!("--hang-after {text}: {error}; or `never`"))),
    }
}

/// The suite's parameters: those given, and on a simulated machine loop counts that fit a coffee break.
fn parameters(suite: &'static Suite, args: &ArgMatches, simulated: bool) -> anyhow::Result<Params> {
    let mut given = Params::new();
    for param in suite.card.params {
        if param.name == app::COMMAND && suite.card.name == "app" {
            given.extend(app::command(args).map(|line| (param.name.to_string(), line)));
        } else if let Some(value) = args.get_one::<String>(param.name) {
            given.insert(param.name.into(), value.clone());
        }
    }
    suite.card.resolve_on(&given, simulated).map_err(Fail::usage)
}

fn read_plan(path: Option<&PathBuf>) -> anyhow::Result<Plan> {
    let names = bench::SUITES.iter().map(|s| s.card.name).collect::<Vec<_>>().join(", ");
    let path = path.ok_or_else(|| Fail::usage(format!("say what to run: a suite ({names}) or --plan FILE")))?;
    record::read_plan(path).map_err(Fail::usage)
}

/// Makes the folder for the record before anything runs: a full night is not to be lost to a missing permission.
fn prepare(suite: &str, out: Option<&Path>) -> anyhow::Result<PathBuf> {
    let dir = match out {
        Some(dir) => dir.to_path_buf(),
        None => (1..)
            .map(|n| Path::new("tailback-runs").join(format!("{suite}-{n:04}")))
            .find(|d| !d.exists())
            .expect("numbers do not run out"),
    };
    let say = |e: std::io::Error| {
        Fail::with(Exit::Failure, format!("cannot write to {}: {e}; give another --out", dir.display()))
    };
    std::fs::create_dir_all(&dir).map_err(say)?;
    let probe = dir.join("run.json.tmp");
    std::fs::File::create(&probe).and_then(|_| std::fs::remove_file(&probe)).map_err(say)?;
    let path = dir.join("run.json");
    if path.exists() {
        record::read(&path)
            .map_err(|e| Fail::with(Exit::Failure, format!("{e}; it is left alone: give another --out")))?;
    }
    Ok(dir)
}

/// The command as it was given, without what cannot change the result.
fn command_line() -> Vec<String> {
    let mut words = std::env::args().skip(1);
    let mut line = vec!["tailback".to_string()];
    while let Some(word) = words.next() {
        match word.as_str() {
            "--threads" | "--out" => drop(words.next()),
            "--quiet" => {}
            w if w.starts_with("--threads=") || w.starts_with("--out=") => {}
            _ => line.push(word),
        }
    }
    line
}

#[expect(clippy::disallowed_methods, reason = "the program dates a record and draws a random seed")]
fn since_epoch() -> std::time::Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

fn clock_seed() -> u64 {
    since_epoch().as_nanos() as u64
}

/// Now, in UTC, as RFC 3339.
fn now() -> String {
    rfc3339(since_epoch().as_secs())
}

/// Days to a civil date by Howard Hinnant's algorithm.
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = ((seconds / 86_400) as i64, seconds % 86_400);
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_573_689_599, "2019-11-13T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
        }
    }
}
