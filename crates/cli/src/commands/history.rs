//! `tailback history`: a folder of runs over time.

use super::compare::{item, table};
use super::entry::CommandEntry;
use crate::exit::{Exit, Fail};
use crate::options::value;
use crate::output;
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use record::{Outcome, RunRecord};
use report::compare::history::{Group, HEADER, Run, Series, groups, series};
use report::grid::Grid;
use report::plain;
use std::path::{Path, PathBuf};

/// Its line in the table of commands.
pub const HISTORY: CommandEntry = CommandEntry { line: command, run: history, welcome: None };

fn command() -> Command {
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
        .arg(value("since", "DATE", "Only runs since then, like 2026-11-01: what was before is accepted"))
        .arg(
            value("format", "FORMAT", "Tables, or a page with pictures")
                .default_value("text")
                .value_parser(["text", "markdown", "html"]),
        )
        .after_help(
            "Exit code 3 if a figure of the last run is worse than usual, or its newest change was to the worse; --since leaves out what is \
             accepted.",
        )
}

/// Folders deeper than this are not searched.
const DEPTH: usize = 6;

/// Prints how each figure of merit moved.
fn history(args: &ArgMatches) -> anyhow::Result<Exit> {
    let dir = args.get_one::<PathBuf>("dir").expect("it is required");
    let filter = args.get_one::<String>("merit").map_or("", String::as_str);
    let format = args.get_one::<String>("format").expect("it has a default").as_str();
    let mut paths = Vec::new();
    find(dir, DEPTH, &mut paths)
        .map_err(|e| Fail::with(Exit::Failure, format!("cannot read the folder {}: {e}", dir.display())))?;
    paths.sort();
    let (mut records, mut refused): (Vec<(PathBuf, RunRecord)>, Vec<String>) = (Vec::new(), Vec::new());
    for path in paths {
        // One broken file must not hide a year of good ones, but it is not passed over in silence.
        match record::read(&path) {
            Ok(record) => records.push((path, record)),
            Err(error) => refused.push(error.to_string()),
        }
    }
    if records.is_empty() {
        refused.iter().for_each(|r| mpi::say(format_args!("tailback: {}", plain::line(r))));
        return Err(Fail::with(Exit::Skipped, format!("no record of a run (run.json) under {}", dir.display())));
    }
    let runs = records.iter().map(|entry| {
        let (name, written, record) = (entry.0.display().to_string(), written(&entry.0), &entry.1);
        Run { name, record, written }
    });
    let since = since(args)?;
    let groups =
        groups(runs.filter(|run| since.is_none_or(|since| run.when().is_some_and(|when| when >= since))).collect());
    let all: Vec<Vec<Series>> = groups.iter().map(|group| series(group, filter)).collect();
    if all.iter().all(Vec::is_empty) {
        let of = if filter.is_empty() { String::new() } else { format!(" with `{filter}` in its name") };
        let say = format!("no run under {} (or none since the date) has a figure of merit{of}", dir.display());
        return Err(Fail::with(Exit::Skipped, say));
    }
    let text = match format {
        "html" => report::html::history(&groups, filter, &refused),
        _ => tables(&groups, &all, format == "markdown", &refused),
    };
    output::print(&text)?;
    let worse = all.iter().flatten().any(Series::is_worse);
    Ok(if worse { Exit::Threshold } else { Exit::Good })
}

/// Each group as a table, what changed above it.
fn tables(groups: &[Group<'_>], all: &[Vec<Series>], markdown: bool, refused: &[String]) -> String {
    let mut out = String::new();
    for (group, all) in groups.iter().zip(all) {
        let text = |text: &str| if markdown { plain::markdown(text) } else { plain::line(text) };
        out.push_str(&format!("{}{}\n", if markdown { "## " } else { "" }, text(&group.title)));
        out.push_str(&format!("{}\n\n", text(&group.span())));
        for run in group.runs.iter().filter(|r| r.record.outcome() != Outcome::Pass) {
            out.push_str(&item(markdown, "!", &format!("{} is {}", run.name, run.record.outcome().word())));
        }
        all.iter().flat_map(|s| s.told(group)).for_each(|change| out.push_str(&item(markdown, "!", &change)));
        let mut grid = Grid::new("", &HEADER);
        all.iter().for_each(|s| grid.row(s.cells()));
        match grid.rows.is_empty() {
            true => out.push_str("no such figure of merit\n"),
            false => table(&mut out, markdown, &grid),
        }
        out.push('\n');
    }
    refused.iter().for_each(|r| out.push_str(&format!("left out: {}\n", plain::line(r))));
    out
}

/// The date from which on runs count.
fn since(args: &ArgMatches) -> anyhow::Result<Option<i64>> {
    let Some(text) = args.get_one::<String>("since") else { return Ok(None) };
    let date = spec::date::parse(text);
    date.map(Some).ok_or_else(|| Fail::usage(format!("--since {text}: a date like 2026-11-01 or 2026-11-01T06:00")))
}

/// When a file was written, in seconds since 1970.
fn written(path: &Path) -> Option<i64> {
    let time = std::fs::metadata(path).and_then(|m| m.modified()).ok()?;
    i64::try_from(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs()).ok()
}

/// Every `run.json` under a folder; links to folders are not followed, so that a circle ends.
fn find(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 0 {
            // A folder that may not be read is not ours.
            let _ = find(&entry.path(), depth - 1, found);
        } else if kind.is_file() && entry.file_name() == "run.json" {
            found.push(entry.path());
        }
    }
    Ok(())
}
