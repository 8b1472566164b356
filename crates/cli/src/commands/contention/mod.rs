//! `tailback contention`: flows that start together, measured, predicted, inverted and compared with rules.
//!
//! | file | what it does |
//! |---|---|
//! | `graphs` | where graphs come from: names, files, random draws |
//! | `show` | tables |

mod graphs;
mod show;

use super::entry::CommandEntry;
use crate::drive::{Order, drive};
use crate::exit::{Exit, Fail};
use crate::machine::Target;
use crate::options::{flag, number, possible, run_options, value};
use crate::output;
use bench::experiments::contention::{Derive, Measure, NamedGraph, Validate, WINDOW, needs};
use bench::suites::contention::{LEAD, Mode};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use model::contention::answers::Prediction;
use model::contention::campaign::{Campaign, calibration_graphs};
use model::contention::derive::Tie;
use model::contention::join::Capacities;
use model::contention::rules::{self, RULES};
use model::contention::{Graph, Options, published, solve};
use report::section::{Room, Section};
use spec::Params;
use std::path::{Path, PathBuf};

/// Its line in the table of commands.
pub const CONTENTION: CommandEntry = CommandEntry {
    line: command,
    run: contention,
    welcome: Some((
        "tailback contention predict g4",
        "when each flow of a contention graph ends; measure, derive and validate it too",
    )),
};

fn command() -> Command {
    Command::new("contention")
        .about("Contention graphs: measure, predict, derive penalties, validate rule sets")
        .subcommand_required(true)
        .subcommands([measure_command(), predict_command(), derive_command(), validate_command()])
}

fn graphs_option() -> Arg {
    let help = "A built-in graph (g1, fig3, ...), a file, or `random:EDGES[:SEED]`";
    let arg = Arg::new("graphs").required(true).num_args(1..).value_name("GRAPH").help(help);
    possible(arg, published::GRAPHS.iter().map(|g| g.name).collect())
}

fn size_option() -> Arg {
    value("size", "BYTES", "Size of every flow, instead of the graph's")
}

fn capacities_option(more: &str) -> Arg {
    let help = format!("Rates of a node and of one flow: NODE,FLOW, or the record of a max-rate run{more}");
    Arg::new("capacities").long("capacities").value_name("RATES").help(help)
}

fn learned_option() -> Arg {
    let help = "The record of a campaign, whose calibrated rule sets `learned` and `vienne-calibrated` are used";
    value("learned", "RUN.json", help).value_parser(value_parser!(PathBuf))
}

/// What every campaign that measures graphs can be told.
fn measuring(command: Command, repeats: &'static str) -> Command {
    command
        .arg(size_option())
        .arg(number("repeats", 10_000, "Repetitions; the first is dropped if there are three").default_value(repeats))
        .arg(value("lead", "TIME", "Wait of all senders in which the barriers of all flows end [default: 2ms]"))
        .arg(flag("json", "As JSON"))
        // Campaigns have tables of their own.
        .args(run_options().into_iter().filter(|o| !["format", "verbose"].contains(&o.get_id().as_str())))
}

fn predict_command() -> Command {
    Command::new("predict")
        .about("When each flow ends, by a rule set")
        .arg(graphs_option())
        .arg(possible(value("rules", "NAME", "Rule set, or `all`").default_value("paper"), rule_names()))
        .arg(value("set", "PARAM=VALUE", "A parameter of the rule set").action(ArgAction::Append))
        .arg(value("rate", "RATE", "What one flow alone moves").default_value("1.959GB/s"))
        .arg(capacities_option("; instead of --rate"))
        .arg(learned_option())
        .arg(size_option())
        .arg(flag("explain", "Which rule gave which term of each penalty"))
        .arg(flag("steps", "Penalties and remaining bytes between events, as the paper's Figure 3"))
        .arg(flag("json", "As JSON"))
}

fn measure_command() -> Command {
    let command = Command::new("measure")
        .about("Measure completion times, or steady rates, of graphs")
        .arg(graphs_option())
        .arg(value("steady", "TIME", "Steady rates over this time instead of completion times"));
    measuring(command, "5")
}

fn derive_command() -> Command {
    let command = Command::new("derive")
        .about("Penalties of a graph from completion times; nested sub-graphs are measured as needed")
        .arg(graphs_option())
        .arg(
            value("tie", "SHARE", "Ends closer than this are one step; `auto`: as close as noise")
                .default_value("auto"),
        )
        .arg(value("steady", "TIME", "From steady rates over this time instead"));
    measuring(command, "5")
}

fn validate_command() -> Command {
    let record = Arg::new("record")
        .value_name("RUN.json")
        .value_parser(value_parser!(PathBuf))
        .help("Score this record; measure nothing");
    let command = Command::new("validate")
        .about("Score every rule set on measured graphs: random ones, or those of a record")
        .arg(record)
        .arg(number("graphs", 100_000, "How many random graphs").default_value("200"))
        .arg(value("edges", "FROM..TO", "Numbers of flows").default_value("2..8"))
        .arg(number("among", 10_000, "Nodes that graphs are drawn on").default_value("9"))
        .arg(number("degree", 10_000, "Largest in- and out-degree").default_value("8"))
        .arg(flag("verbose", "Also errors by number of flows and by graph").short('v'))
        .arg(flag("connected", "Only graphs whose flows are all connected"))
        .arg(
            value("learn", "N", "Learn a table from all connected graphs of up to N flows, measured first; 0 for none")
                .default_value("3")
                .value_parser(value_parser!(u32).range(0..=5)),
        )
        .arg(learned_option())
        .arg(capacities_option(", or `measure` to measure them in this campaign"));
    measuring(command, "3")
}

fn rule_names() -> Vec<&'static str> {
    RULES.iter().map(|r| r.card.name).chain(["all"]).collect()
}

/// Runs it.
fn contention(args: &ArgMatches) -> anyhow::Result<Exit> {
    let (what, args) = args.subcommand().expect("one is required");
    match what {
        "predict" => predict(args),
        "measure" => measure(args),
        "derive" => derive(args),
        _ => validation(args),
    }
}

/// Text, or the same as JSON.
fn written(args: &ArgMatches, text: impl FnOnce() -> String, json: impl serde::Serialize) -> anyhow::Result<String> {
    Ok(if args.get_flag("json") { serde_json::to_string_pretty(&json)? + "\n" } else { text() })
}

fn predict(args: &ArgMatches) -> anyhow::Result<Exit> {
    let named = graphs::read(args)?;
    let word = |name: &str| args.get_one::<String>(name).map(String::as_str);
    let mut given = Params::new();
    for pair in args.get_many::<String>("set").unwrap_or_default() {
        let (name, value) =
            pair.split_once('=').ok_or_else(|| Fail::usage(format!("--set {pair}: write PARAM=VALUE")))?;
        given.insert(name.into(), value.into());
    }
    let mut options = match given_capacities(args)? {
        None => Options::rate(rate("rate", word("rate").expect("it has a default"))?),
        Some(capacities) => capacities.options(),
    };
    let campaign = args.get_one::<PathBuf>("learned").map(|p| campaign(p)).transpose()?;
    options.steps = args.get_flag("steps");
    let names: Vec<&str> = match word("rules").expect("it has a default") {
        "all" => RULES.iter().map(|r| r.card.name).collect(),
        one => vec![one],
    };
    let mut all = Vec::new();
    for NamedGraph { name, graph } in &named {
        for rules_name in &names {
            let fail = |e: &dyn std::fmt::Display| Fail::usage(format!("{name}: {e}"));
            let set = match &campaign {
                Some(campaign) if RULES.iter().all(|r| r.card.name != *rules_name) => campaign.rules(rules_name),
                _ => Some(rules::start(rules_name, &given).map_err(|e| fail(&e))?),
            };
            let set =
                set.ok_or_else(|| fail(&format!("--learned: its campaign does not give the rule set `{rules_name}`")))?;
            let (penalties, terms) = rules::explain(&*set, graph).map_err(|e| fail(&e))?;
            let solution = solve(graph, &*set, &options).map_err(|e| fail(&e))?;
            let terms = if args.get_flag("explain") { terms } else { Vec::new() };
            all.push(Prediction {
                graph_name: name.clone(),
                rules: rules_name.to_string(),
                graph: graph.clone(),
                penalties,
                terms,
                solution,
            });
        }
    }
    output::print(&written(args, || show::predictions(&all), &all)?).map(|()| Exit::Good)
}

/// `--capacities`: two rates, or a record.
fn given_capacities(args: &ArgMatches) -> anyhow::Result<Option<Capacities>> {
    let Some(text) = args.get_one::<String>("capacities").filter(|t| *t != MEASURE) else { return Ok(None) };
    let path = Path::new(text);
    if path.exists() {
        let file = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
        let found = Capacities::from_record(&record::read(&file)?);
        return found.map(Some).map_err(|e| Fail::usage(format!("--capacities {}: {e}", file.display())));
    }
    let (node, flow) = text.split_once(',').ok_or_else(|| {
        Fail::usage(format!("--capacities {text}: write NODE,FLOW, or name the record of a max-rate run"))
    })?;
    let capacities = Capacities::new(rate("capacities", node)?, rate("capacities", flow)?);
    capacities.map(Some).map_err(|e| Fail::usage(format!("--capacities {text}: {e}")))
}

fn rate(option: &str, text: &str) -> anyhow::Result<f64> {
    let rate = spec::parse_rate(text.trim()).map_err(|e| Fail::usage(format!("--{option}: {e}")))?.bytes_per_s();
    match rate > 0.0 && rate.is_finite() {
        true => Ok(rate),
        false => Err(Fail::usage(format!("--{option} {text}: a rate above zero"))),
    }
}

/// Options, machine and order of a campaign that measures these graphs; a simulated machine is made large enough for them.
fn campaign_on<'g>(args: &ArgMatches, graphs: impl Iterator<Item = &'g Graph>) -> anyhow::Result<(Target, Order)> {
    let target = Target::choose_for(args, false, Some(needs(graphs)))?;
    let order = Order::read(args, &target)?.with_lengths(args, &target);
    Ok((target, order))
}

fn measure(args: &ArgMatches) -> anyhow::Result<Exit> {
    let experiment = Measure { graphs: graphs::read(args)?, mode: mode(args)? };
    let (target, order) = campaign_on(args, experiment.graphs.iter().map(|n| &n.graph))?;
    let Some(finished) = drive(&target, &order, &experiment)? else { return Ok(Exit::Good) };
    let shown = experiment.read(&finished.record).map_err(Fail::usage)?;
    finished.print(&written(args, || show::measurements(&shown), &shown)?)
}

fn derive(args: &ArgMatches) -> anyhow::Result<Exit> {
    let text = args.get_one::<String>("tie").expect("it has a default");
    let bad = || Fail::usage(format!("--tie {text}: a share like 1.5%, or `auto`"));
    let tie = if text == "auto" { Tie::Noise } else { Tie::Share(spec::card::parse_share(text).ok_or_else(bad)?) };
    let experiment = Derive { graphs: graphs::read(args)?, mode: mode(args)?, tie };
    let (target, order) = campaign_on(args, experiment.graphs.iter().map(|n| &n.graph))?;
    let Some(finished) = drive(&target, &order, &experiment)? else { return Ok(Exit::Good) };
    let shown = experiment.read(&finished.record).map_err(Fail::usage)?;
    finished.print(&written(args, || show::derivations(&shown), &shown)?)
}

/// The word of `--capacities` that has them measured.
const MEASURE: &str = "measure";

fn validation(args: &ArgMatches) -> anyhow::Result<Exit> {
    let capacities = given_capacities(args)?;
    if let Some(path) = args.get_one::<PathBuf>("record") {
        let text = score(args, &campaign(path)?, capacities)?;
        return output::print(&text).map(|()| Exit::Good);
    }
    let experiment = Validate {
        graphs: graphs::random(args)?,
        mode: mode(args)?,
        learn: *args.get_one::<u32>("learn").expect("it has a default") as usize,
        rates: args.get_one::<String>("capacities").is_some_and(|c| c == MEASURE),
    };
    // The rule sets that are calibrated here need their own graphs, too; sizes do not matter for the room.
    let own: Vec<Graph> = calibration_graphs(usize::MAX, 1.0).into_iter().map(|(_, graph)| graph).collect();
    let asked = experiment.graphs.iter().map(|n| &n.graph);
    let (target, order) = campaign_on(args, asked.chain(&own))?;
    let Some(finished) = drive(&target, &order, &experiment)? else { return Ok(Exit::Good) };
    let campaign = Campaign::read(&finished.record).map_err(Fail::usage)?;
    let text = score(args, &campaign, capacities)?;
    finished.print(&text)
}

/// `--repeats`, `--lead` and `--steady`.
fn mode(args: &ArgMatches) -> anyhow::Result<Mode> {
    let steady = args.try_get_one::<String>("steady").ok().flatten();
    if let Some(text) = steady {
        let seconds = spec::parse_time(text).map_err(|e| Fail::usage(format!("--steady: {e}")))?.secs();
        return match seconds > 0.0 {
            true => Ok(Mode::Rates { seconds, window: WINDOW }),
            false => Err(Fail::usage(format!("--steady {text}: a time above zero"))),
        };
    }
    let lead = args.get_one::<String>("lead").map_or(LEAD, String::as_str);
    let lead_ps = spec::parse_time(lead).map_err(|e| Fail::usage(format!("--lead: {e}")))?.ps();
    Ok(Mode::Times { repeats: *args.get_one::<u32>("repeats").expect("it has a default"), lead_ps })
}

/// The campaign of a record of `measure` or `validate`.
fn campaign(path: &Path) -> anyhow::Result<Campaign> {
    let file = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    let found = Campaign::read(&record::read(&file)?);
    found.map_err(|e| Fail::usage(format!("{}: {e}", file.display())))
}

fn score(args: &ArgMatches, campaign: &Campaign, capacities: Option<Capacities>) -> anyhow::Result<String> {
    let table = match args.get_one::<PathBuf>("learned") {
        None => None,
        Some(path) => {
            let learned = self::campaign(path)?.learn();
            let none = || {
                Fail::usage(format!("--learned {}: no graphs to learn from in it (validate --learn 3)", path.display()))
            };
            Some(learned.ok_or_else(none)?)
        }
    };
    let found = campaign.findings(capacities, table).map_err(Fail::usage)?;
    let shown = |section: &Section| section.room == Room::Terminal || args.get_flag("verbose");
    let text = || {
        let sections = report::contention::of_findings(&found);
        sections.iter().filter(|s| shown(s)).map(|s| s.text() + "\n").collect::<String>()
    };
    written(args, text, &found)
}
