//! `tailback accept`: a file of requirements held against runs.

use super::compare::table;
use super::entry::CommandEntry;
use crate::exit::{Exit, Fail};
use crate::options::{records, value};
use crate::output;
use crate::show::{exit_of_all, open};
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use record::{RunRecord, reference};
use report::compare::acceptance::{Acceptance, Judged};
use report::compare::merits_of;
use report::{Merit, View, merits};
use std::path::{Path, PathBuf};

/// Its line in the table of commands.
pub const ACCEPT: CommandEntry = CommandEntry {
    line: command,
    run: accept,
    welcome: Some(("tailback accept SITE.toml RUN.json", "is this machine good enough? requirements from a file")),
};

const EXAMPLE: &str = "\
Example of a file:
  reference = \"baseline/run.json\"  # a run, or a published system like \"Summit 4500 x 21\"
  sure = true                      # the whole 95 % interval must hold, not the value alone
  [[require]]
  figure = \"gpcnet.*.impact99\"     # names as `tailback report --format fom` prints them; * for any text
  at_most = 2                      # or below, above, at_least, between = [\"1 us\", \"3 us\"]
  [[require]]
  figure = \"gpcnet.p2p-bw-sync.isolated.avg\"
  at_least = \"0.9 x reference\"
  note = \"clause 4.2\"
A requirement is about every run that has such a figure; what none of them has is not met.
Exit codes: 0 all met, 3 some missed, not sure or not there; 4 or 5 if a run is wrong or incomplete.";

fn command() -> Command {
    let file = Arg::new("requirements")
        .required(true)
        .value_name("FILE.toml")
        .value_hint(ValueHint::FilePath)
        .value_parser(value_parser!(PathBuf))
        .help("What must hold");
    Command::new("accept")
        .about("Hold runs against a file of requirements: met, missed, not sure")
        .arg(file)
        .arg(records().help("Runs to hold against it"))
        .arg(
            value("format", "FORMAT", "A table, or what pipelines read")
                .default_value("text")
                .value_parser(["text", "markdown", "json", "junit"]),
        )
        .after_help(EXAMPLE)
}

/// Judges every run and says what became of each requirement.
fn accept(args: &ArgMatches) -> anyhow::Result<Exit> {
    let file = args.get_one::<PathBuf>("requirements").expect("it is required");
    let bad = |why: String| Fail::usage(format!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|why| bad(why.to_string()))?;
    let acceptance = Acceptance::parse(&text).map_err(bad)?;
    let paths: Vec<&PathBuf> = args.get_many("records").expect("it is required").collect();
    let records: Vec<RunRecord> = paths.iter().map(|p| open(p)).collect::<anyhow::Result<_>>()?;
    let views: Vec<View<'_>> = records.iter().map(View::new).collect();
    let names = paths.iter().map(|p| p.display().to_string());
    let runs: Vec<(String, Vec<Merit>)> = names.zip(views.iter().map(merits)).collect();
    let reference = match &acceptance.reference {
        Some(name) => figures(name, file, &views).map_err(|why| bad(format!("reference = \"{name}\": {why}")))?,
        None => Vec::new(),
    };
    let judged = acceptance.judge(&runs, &reference);
    let format = args.get_one::<String>("format").expect("it has a default");
    output::print(&written(&judged, format))?;
    Ok(match exit_of_all(&records) {
        Exit::Good if !judged.accepted() => Exit::Threshold,
        exit => exit,
    })
}

fn written(judged: &Judged, format: &str) -> String {
    match format {
        "json" => format!("{:#}\n", judged.json()),
        "junit" => judged.junit(),
        _ => {
            let mut out = String::new();
            table(&mut out, format == "markdown", &judged.grid());
            out + &format!("\n{}\n", judged.summary())
        }
    }
}

/// The figures of a reference: a run, found from where the file of requirements is, or a published system of GPCNeT.
fn figures(name: &str, file: &Path, views: &[View<'_>]) -> Result<Vec<Merit>, String> {
    let path = file.parent().unwrap_or(Path::new("")).join(name);
    if path.exists() {
        let record = open(&path).map_err(|why| format!("{why:#}"))?;
        return Ok(merits(&View::new(&record)));
    }
    let found: Vec<&reference::System> = reference::systems()
        .iter()
        .filter(|s| s.label().eq_ignore_ascii_case(name) || s.key() == name.to_lowercase())
        .collect();
    match found.as_slice() {
        [] => Err(format!("no such run, and no published system of GPCNeT: {}", reference::keys().join(", "))),
        [one] => Ok(views.iter().flat_map(|view| merits_of(one, view)).collect()),
        several => {
            let labels: Vec<String> = several.iter().map(|s| format!("\"{}\"", s.label())).collect();
            Err(format!("several are published; name one of {}", labels.join(", ")))
        }
    }
}
