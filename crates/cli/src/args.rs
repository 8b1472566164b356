//! The command line. Suites and their parameters come from their cards, so help, completions and man pages do too.

use crate::exit::Exit;
use bench::SUITES;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint, value_parser};
use std::path::PathBuf;
use std::process::ExitCode;

/// What `tailback` alone prints.
pub const WELCOME: &str = "\
tailback: measure, model and predict congestion in HPC networks

  tailback run gpcnet             canaries alone and under congestors; without MPI, on the built-in simulated network
  mpirun -n 64 tailback run gpcnet  the same on a real machine, under any MPI
  tailback congest --time 5m      congestors only, for other jobs to run under
  tailback app -- CMD             any command alone and under congestors
  tailback tune --like RUN.json   congestors that load the network as that run did
  tailback fit maxrate RUN.json   models of a node's rate from `run maxrate`, and advice
  tailback contention predict g4  when each flow of a contention graph ends; measure, derive and validate it too
  tailback launch --nodes 64 -- gpcnet  the Slurm job of a sweep over ranks per node
  tailback list                   suites, kernels, machines and formats
  tailback report RUN.json        show a recorded run again
  tailback compare A.json B.json  what changed, how sure that is, and thresholds for acceptance tests
  tailback doctor                 what this machine has and what is missing
  tailback testbed up 10          an emulated cluster on this machine, for trials
  tailback help                   everything else
";

/// The whole command line.
pub fn command() -> Command {
    Command::new("tailback")
        .about("Measure, model and predict congestion in HPC networks")
        .version(env!("CARGO_PKG_VERSION"))
        .infer_subcommands(true)
        .after_help("Exit codes: 0 good, 1 failure, 2 usage, 3 a threshold missed, 4 wrong data, 5 incomplete, 77 skipped with the reason.")
        .subcommands([run(), congest(), app(), tune(), crate::commands::fit::command(), crate::commands::contention::command(), crate::commands::launch::command(), list(), report(), compare(), history(), machine(), doctor(), testbed(), generate()])
}

pub(crate) fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

pub(crate) fn value(name: &'static str, unit: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(unit).help(help)
}

pub(crate) fn number(name: &'static str, help: &'static str) -> Arg {
    value(name, "N", help).value_parser(value_parser!(u32).range(1..))
}

fn format_option() -> Arg {
    value("format", "FORMAT", "How results are written to stdout")
        .default_value("text")
        .value_parser(PossibleValuesParser::new(report::FORMATS.iter().map(|f| f.name)))
}

/// Options of every run.
pub(crate) fn run_options() -> Vec<Arg> {
    vec![
        value("on", "MACHINE", "Where to run: `mpi`, `local`, a built-in simulated machine, or a machine file [default: mpi under a launcher, else the simulated machine `default`]")
            .value_hint(ValueHint::FilePath),
        number("nodes", "Nodes of a simulated machine, instead of its file's"),
        number("ranks-per-node", "Ranks per node of a simulated machine, instead of its file's"),
        number("threads", "Threads of the simulator; the result does not depend on it"),
        value("seed", "SEED", "All that is random derives from it: a number, or `random`").default_value("1"),
        value("unit", "UNIT", "What counts as a node when ranks are grouped [default: node, or rank if there is one node]")
            .value_parser(["node", "rank"]),
        value("per", "PART", "Deal the ranks of a node over its parts in turn, and count --slots on each part")
            .default_value("node")
            .value_parser(["node", "socket", "numa", "nic"]),
        value("payload", "WHAT", "Whether messages carry data that is checked [default: checked; lengths on simulated machines over 512 ranks]")
            .value_parser(["checked", "lengths"]),
        value("out", "DIR", "Folder for run.json [default: a new one under tailback-runs]").value_hint(ValueHint::DirPath),
        value("mpi-lib", "FILE", "The MPI library to use, instead of looking for it")
            .value_parser(value_parser!(PathBuf))
            .env("TAILBACK_MPI_LIB"),
        flag("plan-only", "Print the plan and do nothing; run it later with --plan"),
        value("hang-after", "TIME", "End a real run as incomplete when a job has been silent so long and four times its longest block; `never` waits")
            .default_value("5s"),
        flag("quiet", "No progress on stderr"),
        format_option(),
    ]
}

fn run() -> Command {
    let plan = value("plan", "FILE", "Run this plan, as printed by --plan-only and edited")
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::FilePath);
    let mut command = Command::new("run")
        .about("Run a suite, or a plan")
        .subcommand_required(false)
        .args_conflicts_with_subcommands(true)
        .arg(plan)
        .args(run_options());
    for suite in SUITES {
        command = command.subcommand(suite_command(suite, suite.card.name));
    }
    command
}

/// A suite as a command, with its parameters and the options of every run.
fn suite_command(suite: &'static bench::Suite, name: &'static str) -> Command {
    let card = &suite.card;
    let parameters = card.params.iter().map(|p| {
        let help = format!("{}{}", p.about, p.defaults());
        Arg::new(p.name).long(p.name).value_name("VALUE").help(help).help_heading("Parameters of the suite")
    });
    let after = format!("Described in: {}", card.source);
    Command::new(name).about(card.about).args(parameters).args(run_options()).after_help(after)
}

/// `tailback congest`: short for `tailback run congest`.
fn congest() -> Command {
    suite_command(bench::suite("congest").expect("it is in the table"), "congest")
}

/// `tailback app -- CMD`: short for `tailback run app --command CMD`.
fn app() -> Command {
    let words = Arg::new("words").num_args(1..).last(true).value_name("CMD").help("What to run, with its arguments");
    suite_command(bench::suite("app").expect("it is in the table"), "app").arg(words)
}

/// `tailback tune`: how runs are made is chosen as for `run`, what a candidate is by the options here.
fn tune() -> Command {
    let file = value("like", "RUN.json", "The recorded run whose counters to come near to")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::FilePath);
    let options = run_options().into_iter().filter(|o| !["plan-only", "format"].contains(&o.get_id().as_str()));
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
        .arg(number("candidates", "Candidates to try at most").default_value("24"))
        .arg(value("time", "TIME", "Time of each candidate on the machine's clock [default: 10s; 2ms if simulated]"))
        .arg(value("canary", "KERNEL", "What is measured meanwhile").default_value("p2p-lat"))
        .arg(
            value("congestors", "KERNELS", "What may load the network, separated by commas")
                .default_value("a2a,p2p-incast,put-incast,get-bcast"),
        )
        .args(options)
}

fn list() -> Command {
    let what = Arg::new("what").help("Show one list only").value_parser(crate::commands::list::NAMES);
    Command::new("list")
        .about("List suites, kernels, machines and formats; by name also topologies, routings, controls, rules, models, counters")
        .arg(what)
        .arg(flag("markdown", "All lists with all parameters, as the page docs/KERNELS.md"))
}

fn records() -> Arg {
    Arg::new("records")
        .required(true)
        .num_args(1..)
        .value_name("RUN.json")
        .value_hint(ValueHint::FilePath)
        .value_parser(value_parser!(PathBuf))
}

fn report() -> Command {
    let known = record::hpcc_systems::keys().join(", ");
    let what = "Draw a published HPC Challenge system, or a table of them, on the page of its runs; may be given several times";
    Command::new("report")
        .about("Show recorded runs")
        .arg(records())
        .arg(format_option())
        .arg(value("with", "SYSTEM|FILE.csv", what).action(ArgAction::Append))
        .after_help(format!(
            "Published systems of HPC Challenge: {known}; those of GPCNeT are on each of its pages.\n{TABLE}"
        ))
}

const TABLE: &str = "A table begins with the line source,system,nodes,ppn,HPL_Tflops,PTRANS_GBs,... whose further names are keys of the original's summary.";

fn text_or_markdown() -> Arg {
    value("format", "FORMAT", "How tables are written").default_value("text").value_parser(["text", "markdown"])
}

fn compare() -> Command {
    let known = record::reference::keys().join(", ");
    let hpcc = record::hpcc_systems::keys().join(", ");
    Command::new("compare")
        .about("Compare runs with the first of them, with published systems, and with thresholds")
        .arg(records())
        .arg(
            value(
                "require",
                "'NAME < NUMBER'",
                "Exit with 3 unless this holds in every run; may be given several times",
            )
            .action(ArgAction::Append),
        )
        .arg(
            value("with", "SYSTEM|FILE.csv", "Show a published system, or a table of them, beside the first run; may be given several times")
                .action(ArgAction::Append),
        )
        .arg(value("matters", "SHARE", "Smaller differences do not count").default_value("1%"))
        .arg(text_or_markdown())
        .after_help(format!(
            "Published systems of GPCNeT: {known}\nof HPC Challenge: {hpcc}\n{TABLE}\nNames for --require are those of the FOM lines of `tailback report`."
        ))
}

fn history() -> Command {
    let dir = Arg::new("dir")
        .required(true)
        .value_name("DIR")
        .value_hint(ValueHint::DirPath)
        .value_parser(value_parser!(PathBuf))
        .help("A folder with run.json files, at any depth up to 6");
    Command::new("history")
        .about("How figures of merit moved over a folder of runs")
        .arg(dir)
        .arg(value("merit", "TEXT", "Only figures of merit whose name contains this"))
        .arg(
            value("format", "FORMAT", "Tables, or a page with pictures")
                .default_value("text")
                .value_parser(["text", "markdown", "html"]),
        )
}

fn machine() -> Command {
    let check = Command::new("check")
        .about("Explain it: nodes, switches, cables, bisection, taper, zero-load latency")
        .arg(
            Arg::new("machine")
                .required(true)
                .value_name("MACHINE")
                .value_hint(ValueHint::FilePath)
                .help("A built-in name or a file"),
        )
        .arg(number("nodes", "Nodes, instead of the file's"))
        .arg(value("svg", "FILE", "Draw it").value_parser(value_parser!(PathBuf)).value_hint(ValueHint::FilePath));
    Command::new("machine").about("Look at a simulated machine").subcommand_required(true).subcommand(check)
}

fn doctor() -> Command {
    let lib = value("mpi-lib", "FILE", "The MPI library to look at")
        .value_parser(value_parser!(PathBuf))
        .env("TAILBACK_MPI_LIB");
    Command::new("doctor").about("What this machine is, which MPI would be used and why, and what is missing").arg(lib)
}

fn testbed() -> Command {
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
        .arg(number("per-leaf", "Nodes per leaf switch; without it, one switch for all"))
        .arg(rate("rate", "What a node's link carries each way, e.g. 100MB/s"))
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
        .arg(number("on-nodes", "On so many nodes; without it, on all"))
        .arg(number("per-node", "Ranks per node").default_value("1"))
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

fn generate() -> Command {
    Command::new("generate")
        .about("Write shell completions, man pages or the JSON schema of a record")
        .subcommand_required(true)
        .subcommands([
            Command::new("completions").about("For a shell, to stdout").arg(
                Arg::new("shell").required(true).value_parser(value_parser!(clap_complete::Shell)).help("Which shell"),
            ),
            Command::new("man").about("All man pages, into a folder").arg(
                Arg::new("dir")
                    .required(true)
                    .value_name("DIR")
                    .value_parser(value_parser!(PathBuf))
                    .value_hint(ValueHint::DirPath),
            ),
            Command::new("schema").about("The JSON schema of run.json, to stdout"),
        ])
}

/// Prints what clap found wrong; unknown names of suites list the near ones.
pub fn explain(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { Exit::Usage as u8 } else { Exit::Good as u8 })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_holds_together() {
        super::command().debug_assert();
    }

    #[test]
    fn the_welcome_begins_with_the_first_command_to_try() {
        let first = super::WELCOME.lines().find(|l| l.starts_with("  ")).unwrap();
        assert!(first.trim().starts_with("tailback run gpcnet"));
    }
}
