//! `tailback launch`: the Slurm job script of a sweep over ranks per node, printed or submitted.
//!
//! GPCNeT's authors advise three runs: 1 rank per node (the lightest load), X (what the site's applications use) and N (as many
//! as there are cores, where congestion shows most). The script is plain shell, to be read and edited; the program itself never
//! calls a launcher while it measures. What can be found wrong before the job waits in a queue is found here.

use super::entry::CommandEntry;
use super::run::{RUN, read_suite};
use crate::exit::{Exit, Fail};
use crate::options::{MOST_NODES, flag, number, value};
use crate::output;
use bench::{Experiment, Site, SuiteRun};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use record::{Layout, Payload};
use report::html::command as shell;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

/// What a launcher needs to know; the script sets them as shell variables.
const PLACES: [(&str, &str); 3] = [("{nodes}", "$nodes"), ("{ranks}", "$ranks"), ("{per-node}", "$per_node")];
/// Options of `run` that the script gives itself, or that contradict a real machine.
const TAKEN: [(&str, &str); 5] = [
    ("out", "every run of the sweep gets a folder of its own; use --out before `--`"),
    ("on", "a job runs on its nodes under MPI"),
    ("nodes", "it sizes a simulated machine; use --nodes before `--`"),
    ("ranks-per-node", "it sizes a simulated machine; use --ranks-per-node before `--`"),
    ("allocation", "it is for simulated machines; Slurm chooses the nodes of a job"),
];

/// Its line in the table of commands.
pub const LAUNCH: CommandEntry = CommandEntry {
    line: command,
    run: launch,
    welcome: Some(("tailback launch --nodes 64 -- gpcnet", "the Slurm job of a sweep over ranks per node")),
};

fn command() -> Command {
    Command::new("launch")
        .about("Print or submit the Slurm job of a suite, for several numbers of ranks per node")
        .arg(number("nodes", MOST_NODES, "Nodes of the job").required(true))
        .arg(
            value(
                "ranks-per-node",
                "LIST",
                "Ranks per node, one run each: numbers, `cores` of a node, or `half` of them",
            )
            .default_value("1,half,cores"),
        )
        .arg(value("limit", "TIME", "Time limit of the whole job").default_value("1h"))
        .arg(value("partition", "NAME", "Partition to run in"))
        .arg(value("account", "NAME", "Account to charge"))
        .arg(
            value("sbatch", "OPTION", "One more option of sbatch, e.g. --constraint=x")
                .action(ArgAction::Append)
                .allow_hyphen_values(true),
        )
        .arg(
            value("before", "COMMAND", "A line of shell before the runs, e.g. 'module load openmpi'")
                .action(ArgAction::Append),
        )
        .arg(
            value("launcher", "COMMAND", "What starts the ranks; {nodes}, {ranks} and {per-node} are filled in")
                .default_value("srun --nodes={nodes} --ntasks={ranks} --ntasks-per-node={per-node}"),
        )
        .arg(
            value("program", "FILE", "Where this program is on the nodes [default: where it is here]")
                .value_hint(ValueHint::FilePath),
        )
        .arg(
            value("out", "DIR", "Folder for the records; the job makes one with its number in it")
                .default_value("tailback-runs")
                .value_hint(ValueHint::DirPath),
        )
        .arg(flag("submit", "Give the script to sbatch instead of printing it"))
        .arg(
            Arg::new("words")
                .required(true)
                .num_args(1..)
                .last(true)
                .value_name("SUITE")
                .help("The suite with its options, as for `tailback run`"),
        )
        .after_help(
            "The advice to run with 1, X and N ranks per node is GPCNeT's (its README, Benchmarking Practices).",
        )
}

/// Prints the script, or submits it and prints the job's number.
fn launch(args: &ArgMatches) -> anyhow::Result<Exit> {
    let job = Job::read(args)?;
    let script = job.script();
    match args.get_flag("submit") {
        true => submit(&script, &job.out),
        false => output::print(&script).map(|()| Exit::Good),
    }
}

/// How many ranks a node gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PerNode {
    Number(u32),
    Half,
    Cores,
}

/// The job, read and checked.
struct Job {
    suite: &'static str,
    words: Vec<String>,
    nodes: u32,
    per_node: Vec<PerNode>,
    options: Vec<String>,
    before: Vec<String>,
    launcher: String,
    program: String,
    out: String,
}

impl Job {
    fn read(args: &ArgMatches) -> anyhow::Result<Job> {
        let text = |name: &str| args.get_one::<String>(name).cloned();
        let many = |name: &str| args.get_many::<String>(name).into_iter().flatten().cloned().collect::<Vec<_>>();
        let words = many("words");
        let nodes = *args.get_one::<u32>("nodes").expect("it is required");
        let per_node = per_node(&text("ranks-per-node").expect("it has a default"))?;
        let suite = check(&words, nodes, &per_node)?;
        let limit = text("limit").expect("it has a default");
        let limit = time_limit(&limit)?;
        let mut options = vec![
            format!("--job-name=tailback-{suite}"),
            format!("--nodes={nodes}"),
            "--exclusive".into(),
            format!("--time={}", minutes(limit)),
        ];
        options.extend(["partition", "account"].iter().filter_map(|n| Some(format!("--{n}={}", text(n)?))));
        options.extend(many("sbatch"));
        if let Some(bad) = options.iter().find(|o| !o.starts_with('-') || o.contains('\n')) {
            return Err(Fail::usage(format!("--sbatch {bad}: an option of sbatch on one line, like --constraint=x")));
        }
        let program = match text("program") {
            Some(program) => program,
            None => std::env::current_exe()?.display().to_string(),
        };
        let launcher = launcher(&text("launcher").expect("it has a default"))?;
        let out = text("out").expect("it has a default");
        Ok(Job { suite, words, nodes, per_node, options, before: many("before"), launcher, program, out })
    }

    fn script(&self) -> String {
        let Job { nodes, launcher, .. } = self;
        let version = env!("CARGO_PKG_VERSION");
        let mut out = format!("#!/bin/bash\n# One run of `{}` for each number of ranks per node", self.suite);
        let _ = writeln!(out, "; by tailback {version}.");
        self.options.iter().for_each(|option| out.push_str(&format!("#SBATCH {option}\n")));
        out.push_str("set -u\n");
        self.before.iter().for_each(|line| out.push_str(&format!("{line}\n")));
        let _ = writeln!(out, "tailback={}", quote(&self.program));
        // A job that Slurm starts again keeps its number, and what its first try measured.
        let again = "${SLURM_RESTART_COUNT:+-again-$SLURM_RESTART_COUNT}";
        let _ = writeln!(out, "out={}/{}-$SLURM_JOB_ID{again}", quote(&self.out), self.suite);
        let _ = writeln!(out, "nodes={nodes}");
        if self.per_node.iter().any(|p| !matches!(p, PerNode::Number(_))) {
            out.push_str("# Cores of this node, which is one of the job's; hardware threads of one core count once.\n");
            out.push_str("cores=$(lscpu -p=Core,Socket 2>/dev/null | grep -v '^#' | sort -u | wc -l)\n");
            out.push_str("[ \"$cores\" -ge 1 ] || cores=$SLURM_CPUS_ON_NODE\n");
        }
        let counts: Vec<String> = self.per_node.iter().map(|p| p.shell()).collect();
        let run = shell(&[vec!["run".to_string()], self.words.clone()].concat());
        let _ = write!(
            out,
            "first_failure=0 records=() done=\" \"\n\
             for per_node in {counts}; do\n\
             \x20 case $done in *\" $per_node \"*) continue ;; esac\n\
             \x20 done=\"$done$per_node \" ranks=$((nodes * per_node))\n\
             \x20 echo \"== $nodes nodes x $per_node ranks\"\n\
             \x20 {launcher} \"$tailback\" {run} --out \"$out/$per_node-per-node\"\n\
             \x20 code=$?\n\
             \x20 echo \"== exit code $code\"\n\
             \x20 [ $first_failure -ne 0 ] || first_failure=$code\n\
             \x20 [ -f \"$out/$per_node-per-node/run.json\" ] && records+=(\"$out/$per_node-per-node/run.json\")\n\
             done\n\
             # One page with all runs side by side.\n\
             [ ${{#records[@]}} -eq 0 ] || \"$tailback\" report \"${{records[@]}}\" --format html >\"$out/report.html\"\n\
             exit $first_failure\n",
            counts = counts.join(" ")
        );
        out
    }
}

impl PerNode {
    fn shell(self) -> String {
        match self {
            PerNode::Number(n) => n.to_string(),
            PerNode::Half => "$(((cores + 1) / 2))".into(),
            PerNode::Cores => "$cores".into(),
        }
    }
}

fn per_node(text: &str) -> anyhow::Result<Vec<PerNode>> {
    let one = |word: &str| match (word.trim(), word.trim().parse::<u32>()) {
        ("half", _) => Ok(PerNode::Half),
        ("cores", _) => Ok(PerNode::Cores),
        (_, Ok(n)) if n > 0 => Ok(PerNode::Number(n)),
        (other, _) => Err(Fail::usage(format!(
            "--ranks-per-node {text}: `{other}` is neither a number from 1 on, `half` nor `cores`"
        ))),
    };
    text.split(',').map(one).collect()
}

/// The launcher with shell variables in its places.
fn launcher(text: &str) -> anyhow::Result<String> {
    let filled = PLACES.iter().fold(text.to_string(), |text, (place, variable)| text.replace(place, variable));
    if let Some(start) = filled.find('{') {
        let rest: String = filled[start..].chars().take_while(|c| *c != ' ').collect();
        return Err(Fail::usage(format!("--launcher: {rest} is none of {{nodes}}, {{ranks}}, {{per-node}}")));
    }
    if filled.trim().is_empty() || filled.contains('\n') {
        return Err(Fail::usage("--launcher: one line, like 'mpirun -n {ranks} --map-by ppr:{per-node}:node'"));
    }
    Ok(filled)
}

/// Reads the suite's words as `run` will, and makes the plan for every size that is known: what a rank would refuse after
/// hours in a queue is refused now.
fn check(words: &[String], nodes: u32, per_node: &[PerNode]) -> anyhow::Result<&'static str> {
    let line = std::iter::once("run".to_string()).chain(words.iter().cloned());
    let run = (RUN.line)().try_get_matches_from(line).map_err(|e| Fail::usage(e.to_string().trim_end()))?;
    let Some((name, given)) = run.subcommand() else {
        return Err(Fail::usage("say which suite to run after `--`; see `tailback list suites`"));
    };
    let suite = bench::suite(name).map_err(Fail::usage)?;
    for (option, why) in TAKEN {
        if given.value_source(option) == Some(ValueSource::CommandLine)
            && suite.card.params.iter().all(|p| p.name != option)
        {
            return Err(Fail::usage(format!("--{option} after `--`: {why}")));
        }
    }
    for (flag, instead) in [("plan-only", "prints plans"), ("dry-run", "says what a simulated run will cost")] {
        if given.get_flag(flag) {
            let text = format!("--{flag} after `--`: nothing would run; `tailback run SUITE --{flag}` {instead}");
            return Err(Fail::usage(text));
        }
    }
    let experiment = read_suite(suite, given, false)?;
    for count in per_node.iter().filter_map(|p| if let PerNode::Number(n) = p { Some(*n) } else { None }) {
        plan(&experiment, nodes, count)?;
    }
    Ok(suite.card.name)
}

fn plan(experiment: &SuiteRun, nodes: u32, count: u32) -> anyhow::Result<()> {
    if nodes.checked_mul(count).is_none() {
        let text = format!("{nodes} nodes with {count} ranks each are more ranks than can be counted");
        return Err(Fail::usage(text));
    }
    let site = Site::new(Layout::even(nodes, count), false);
    let made = experiment.plan(&site, 1, Payload::Checked);
    let plan = made.map_err(|e| Fail::usage(format!("{nodes} nodes x {count} ranks: {e}")))?;
    // The job would run and exit with 5, so this is said before it is queued.
    plan.missing
        .iter()
        .for_each(|missing| mpi::say(format_args!("tailback: {nodes} nodes x {count} ranks: {missing}")));
    Ok(())
}

/// A time as we write it, `90m`, or as Slurm does where that cannot be mistaken: `01:30:00`, `1-12:00:00`.
fn time_limit(text: &str) -> anyhow::Result<spec::Time> {
    let bad = |why: &dyn std::fmt::Display| Fail::usage(format!("--limit: {why}; or as Slurm does, `01:30:00`"));
    if !text.contains(':') {
        return spec::parse_time(text).map_err(|e| bad(&e));
    }
    let (days, clock) = text.split_once('-').unwrap_or(("0", text));
    let numbers: Option<Vec<u64>> =
        [days].into_iter().chain(clock.split(':')).map(|n| n.parse().ok().filter(|n| *n < 10_000)).collect();
    let seconds = match numbers.as_deref() {
        Some([days, hours, minutes, seconds]) => ((days * 24 + hours) * 60 + minutes) * 60 + seconds,
        Some([0, minutes, seconds]) if !text.contains('-') => minutes * 60 + seconds,
        _ => return Err(bad(&format!("`{text}` is not a time"))),
    };
    Ok(spec::Time::from_secs(seconds as f64))
}

/// Slurm's time: whole minutes, rounded up.
fn minutes(limit: spec::Time) -> u64 {
    (limit.secs() / 60.0).ceil().max(1.0) as u64
}

fn quote(word: &str) -> String {
    shell(&[word.to_string()])
}

/// Gives the script to sbatch and prints the job's number.
fn submit(script: &str, out: &str) -> anyhow::Result<Exit> {
    let failed = |text: String| Fail::with(Exit::Failure, text);
    let mut sbatch = std::process::Command::new("sbatch")
        .arg("--parsable")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| {
            failed(format!(
                "cannot start sbatch: {e}; leave out --submit to print the script and take it to the cluster"
            ))
        })?;
    sbatch.stdin.take().expect("it is piped").write_all(script.as_bytes())?;
    let done = sbatch.wait_with_output()?;
    if !done.status.success() {
        return Err(failed(format!("sbatch did not take the job ({}); its reason is above", done.status)));
    }
    let job = String::from_utf8_lossy(&done.stdout);
    output::print(&format!("{}\n", job.trim()))?;
    mpi::say(format_args!("tailback: job {} is submitted; its records will be under {out}", job.trim()));
    Ok(Exit::Good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_numbers_and_words() {
        assert_eq!(per_node("1, half,cores").unwrap(), [PerNode::Number(1), PerNode::Half, PerNode::Cores]);
        for bad in ["", "0", "all", "1,,2", "-1"] {
            assert!(per_node(bad).unwrap_err().to_string().contains("neither"), "{bad}");
        }
    }

    #[test]
    fn launchers_have_places_to_fill() {
        assert_eq!(launcher("mpirun -n {ranks} -N {per-node}").unwrap(), "mpirun -n $ranks -N $per_node");
        assert!(launcher("mpirun -n {rank}").unwrap_err().to_string().contains("{rank}"));
        assert!(launcher(" ").is_err());
    }

    #[test]
    fn limits_are_whole_minutes() {
        let of = |text: &str| minutes(time_limit(text).unwrap());
        assert_eq!((of("1h"), of("90s"), of("1s")), (60, 2, 1));
        assert_eq!((of("01:30:00"), of("1-12:00:00"), of("10:00")), (90, 36 * 60, 10));
        for bad in ["1:2:3:4", "a:b", "1-10:00", "-1:00:00", "99999:00"] {
            assert!(time_limit(bad).is_err(), "{bad}");
        }
    }
}
