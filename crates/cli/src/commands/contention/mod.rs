//! `tailback contention`: flows that start together, measured, predicted, inverted and compared with rules.
//!
//! | file | what it does |
//! |---|---|
//! | `graphs` | where graphs come from: names, files, random draws |
//! | `session` | a machine that measures graph after graph into one record |
//! | `show` | tables |

mod graphs;
mod session;
mod show;

use crate::args::{flag, number, run_options, value};
use crate::exit::{Exit, Fail};
use crate::output;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use graphs::Named;
use model::contention::answers::{Derivation, Measurement, Prediction};
use model::contention::campaign::{self, Campaign};
use model::contention::derive::{self, DeriveError, DeriveSettings, Derived, Store};
use model::contention::join::Capacities;
use model::contention::rules::{self, RULES};
use model::contention::{Options, solve};
use session::{Session, Times};
use spec::Params;
use std::path::{Path, PathBuf};

/// Its command line.
pub fn command() -> Command {
    let graphs = || {
        Arg::new("graphs")
            .required(true)
            .num_args(1..)
            .value_name("GRAPH")
            .help("A built-in graph (g1, fig3, ...), a file, or `random:EDGES[:SEED]`")
    };
    let size = || value("size", "BYTES", "Size of every flow, instead of the graph's");
    let repeats = |default: &'static str| {
        number("repeats", "Repetitions; the first is dropped if there are three").default_value(default)
    };
    let capacities = |more: &'static str| {
        let help = format!("Rates of a node and of one flow: NODE,FLOW, or the record of a max-rate run{more}");
        Arg::new("capacities").long("capacities").value_name("RATES").help(help)
    };
    let from_campaign = || {
        value(
            "learned",
            "RUN.json",
            "The record of a campaign, whose calibrated rule sets `learned` and `vienne-calibrated` are used",
        )
        .value_parser(value_parser!(PathBuf))
    };
    let lead = || value("lead", "TIME", "Wait of all senders in which the barriers of all flows end [default: 2ms]");
    let predict = Command::new("predict")
        .about("When each flow ends, by a rule set")
        .arg(graphs())
        .arg(value("rules", "NAME", "Rule set, or `all`").default_value("paper"))
        .arg(value("set", "PARAM=VALUE", "A parameter of the rule set").action(ArgAction::Append))
        .arg(value("rate", "RATE", "What one flow alone moves").default_value("1.959GB/s"))
        .arg(capacities("; instead of --rate"))
        .arg(from_campaign())
        .arg(size())
        .arg(flag("explain", "Which rule gave which term of each penalty"))
        .arg(flag("steps", "Penalties and remaining bytes between events, as the paper's Figure 3"))
        .arg(flag("json", "As JSON"));
    let measure = Command::new("measure")
        .about("Measure completion times, or steady rates, of graphs")
        .arg(graphs())
        .arg(size())
        .arg(repeats("5"))
        .arg(lead())
        .arg(value("steady", "TIME", "Steady rates over this time instead of completion times"))
        .arg(flag("json", "As JSON"))
        .args(run_options());
    let derive = Command::new("derive")
        .about("Penalties of a graph from completion times; nested sub-graphs are measured as needed")
        .arg(graphs())
        .arg(size())
        .arg(repeats("5"))
        .arg(lead())
        .arg(value("tie", "SHARE", "Ends closer than this are one step").default_value("1.5%"))
        .arg(value("steady", "TIME", "From steady rates over this time instead"))
        .arg(flag("json", "As JSON"))
        .args(run_options());
    let validate = Command::new("validate")
        .about("Score every rule set on measured graphs: random ones, or those of a record")
        .arg(
            Arg::new("record")
                .value_name("RUN.json")
                .value_parser(value_parser!(PathBuf))
                .help("Score this record; measure nothing"),
        )
        .arg(number("graphs", "How many random graphs").default_value("200"))
        .arg(value("edges", "FROM..TO", "Numbers of flows").default_value("2..8"))
        .arg(number("among", "Nodes that graphs are drawn on").default_value("9"))
        .arg(number("degree", "Largest in- and out-degree").default_value("8"))
        .arg(flag("connected", "Only graphs whose flows are all connected"))
        .arg(
            value("learn", "N", "Learn a table from all connected graphs of up to N flows, measured first; 0 for none")
                .default_value("3")
                .value_parser(value_parser!(u32).range(0..=5)),
        )
        .arg(from_campaign())
        .arg(capacities(", or `measure` to measure them in this campaign"))
        .arg(size())
        .arg(repeats("3"))
        .arg(lead())
        .arg(flag("json", "As JSON"))
        .args(run_options());
    Command::new("contention")
        .about("Contention graphs: measure, predict, derive penalties, validate rule sets")
        .subcommand_required(true)
        .subcommands([measure, predict, derive, validate])
}

/// Runs it.
pub fn contention(args: &ArgMatches) -> anyhow::Result<Exit> {
    let (what, args) = args.subcommand().expect("one is required");
    match what {
        "predict" => predict(args),
        "measure" => measure(args),
        "derive" => derive(args),
        _ => validation(args),
    }
}

/// Prints text, or the same as JSON.
fn print(args: &ArgMatches, text: impl FnOnce() -> String, json: impl serde::Serialize) -> anyhow::Result<Exit> {
    let text = if args.get_flag("json") { serde_json::to_string_pretty(&json)? + "\n" } else { text() };
    output::print(&text)?;
    Ok(Exit::Good)
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
    for Named { name, graph } in &named {
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
    print(args, || show::predictions(&all), &all)
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

fn measure(args: &ArgMatches) -> anyhow::Result<Exit> {
    let named = graphs::read(args)?;
    let mode = session::mode(args)?;
    let needs = session::needs(named.iter().map(|n| &n.graph));
    let outcome = session::run(args, needs, &|session| {
        let alone = session.alone(&named[0].graph, mode)?;
        let mut all = Vec::new();
        for n in &named {
            let times = session.measure(&n.name, &n.graph, mode)?;
            all.push(times.map(|times| Measurement::new(&n.name, &n.graph, mode.steady(), alone, times)));
        }
        Ok(all.into_iter().collect::<Option<Vec<_>>>())
    })?;
    let Some(all) = outcome else { return Ok(Exit::Good) };
    print(args, || show::measurements(&all), &all)
}

fn derive(args: &ArgMatches) -> anyhow::Result<Exit> {
    let named = graphs::read(args)?;
    let mode = session::mode(args)?;
    let text = args.get_one::<String>("tie").expect("it has a default");
    let tie = spec::card::parse_share(text).ok_or_else(|| Fail::usage(format!("--tie {text}: a share like 1.5%")))?;
    let needs = session::needs(named.iter().map(|n| &n.graph));
    let outcome = session::run(args, needs, &|session| {
        let mut all = Vec::new();
        for n in &named {
            let alone = session.alone(&n.graph, mode)?;
            let found = match mode.steady() {
                true => by_rates(session, n, mode, alone)?,
                false => by_times(session, n, mode, alone, tie)?,
            };
            all.push(found);
        }
        Ok(all.into_iter().collect::<Option<Vec<_>>>())
    })?;
    let Some(all) = outcome else { return Ok(Exit::Good) };
    print(args, || show::derivations(&all), &all)
}

fn by_rates(session: &mut Session<'_>, n: &Named, mode: Times, alone: f64) -> Result<Option<Derivation>, String> {
    let Some(rates) = session.measure(&n.name, &n.graph, mode)? else { return Ok(None) };
    let derived = derive::from_rates(&[alone], &rates).map_err(|e| e.to_string())?;
    Ok(Some(derivation(n, derived, vec![n.name.clone()])))
}

fn derivation(n: &Named, penalties: Vec<Derived>, measured: Vec<String>) -> Derivation {
    Derivation { graph_name: n.name.clone(), graph: n.graph.clone(), penalties, measured }
}

/// Rank 0 knows the times and says which graph is to be measured next; an empty word ends it.
fn by_times(
    session: &mut Session<'_>,
    n: &Named,
    mode: Times,
    alone: f64,
    tie: f64,
) -> Result<Option<Derivation>, String> {
    let mut store = Store::default();
    let mut measured = Vec::new();
    let bytes = n.graph.flows[0].bytes;
    loop {
        let settings = DeriveSettings { tie, ..DeriveSettings::new(alone / bytes) };
        let answer = session.leads().then(|| derive::from_times(&n.graph, &store, &settings));
        let next = match &answer {
            Some(Err(DeriveError::Missing(sub))) => model::contention::parse::write(sub),
            _ => String::new(),
        };
        let next = session.tell(next);
        if next.is_empty() {
            let derived = answer.transpose().map_err(|e| format!("{}: {e}", n.name))?;
            return Ok(derived.map(|d| derivation(n, d, measured)));
        }
        // Nodes keep their places: the sub-graph is measured where the graph is.
        let sub = model::contention::parse::read(&next).map_err(|e| e.to_string())?;
        let sub = graphs::placed_like(&sub, &n.graph);
        let name = format!("{}/{}-flows-{}", n.name, sub.flows.len(), measured.len());
        measured.push(next.trim().replace('\n', "; "));
        if let Some(times) = session.measure(&name, &sub, mode)? {
            store.insert(&sub, &times).map_err(|e| e.to_string())?;
        }
    }
}

/// The word of `--capacities` that has them measured.
const MEASURE: &str = "measure";
/// Graphs measured before all of them are saved and a dead run loses no more than these.
const BATCH: usize = 10;

fn validation(args: &ArgMatches) -> anyhow::Result<Exit> {
    let capacities = given_capacities(args)?;
    if let Some(path) = args.get_one::<PathBuf>("record") {
        return score(args, &campaign(path)?, capacities);
    }
    let mode = session::mode(args)?;
    let named = graphs::random(args)?;
    let bytes = named[0].graph.flows[0].bytes;
    let learn = *args.get_one::<u32>("learn").expect("it has a default") as usize;
    let measure_rates = args.get_one::<String>("capacities").is_some_and(|c| c == MEASURE);
    let needs = session::needs(named.iter().map(|n| &n.graph));
    let outcome = session::run(args, needs, &|session| {
        if measure_rates {
            session.measure_rates(bytes)?;
        }
        session.alone_everywhere(&named[0].graph, mode)?;
        let nodes = session.nodes();
        let own = campaign::calibration_graphs(nodes, bytes).into_iter();
        let own = own.chain(campaign::learning_graphs(learn, nodes, bytes)).map(|(name, graph)| Named { name, graph });
        // A rank serves one flow, so a node that sends and receives much may have too few of them.
        let fits: Vec<Named> = named.iter().filter(|n| session.seats(&n.graph)).cloned().collect();
        if fits.is_empty() {
            return Err(
                "no graph fits: each needs a rank per flow at both ends; give more ranks per node or fewer --edges"
                    .into(),
            );
        }
        if fits.len() < named.len() {
            let left = named.len() - fits.len();
            session.warn(Some(format!(
                "{left} of {} graphs need more nodes or ranks per node and are left out",
                named.len()
            )));
        }
        let all: Vec<Named> = own.filter(|n| session.seats(&n.graph)).chain(fits).collect();
        for batch in all.chunks(BATCH) {
            session.measure_all(batch, mode)?;
        }
        session.record().map(Campaign::read).transpose()
    })?;
    let Some(campaign) = outcome else { return Ok(Exit::Good) };
    score(args, &campaign, capacities)
}

/// The campaign of a record of `measure` or `validate`.
fn campaign(path: &Path) -> anyhow::Result<Campaign> {
    let file = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    let found = Campaign::read(&record::read(&file)?);
    found.map_err(|e| Fail::usage(format!("{}: {e}", file.display())))
}

fn score(args: &ArgMatches, campaign: &Campaign, capacities: Option<Capacities>) -> anyhow::Result<Exit> {
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
    print(args, || report::contention::of_findings(&found).text(), &found)
}
