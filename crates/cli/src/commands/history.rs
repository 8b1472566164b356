//! `tailback history`: a folder of runs over time.

use super::compare::table;
use super::entry::CommandEntry;
use crate::exit::{Exit, Fail};
use crate::options::value;
use crate::output;
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};
use record::{Outcome, RunRecord};
use report::compare::history::{Run, groups, series};
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
        .arg(
            value("format", "FORMAT", "Tables, or a page with pictures")
                .default_value("text")
                .value_parser(["text", "markdown", "html"]),
        )
}

/// Folders deeper than this are not searched.
const DEPTH: usize = 6;

/// Prints how each figure of merit moved.
fn history(args: &ArgMatches) -> anyhow::Result<Exit> {
    let dir = args.get_one::<PathBuf>("dir").expect("it is required");
    let filter = args.get_one::<String>("merit").map_or("", String::as_str);
    let format = args.get_one::<String>("format").expect("it has a default").as_str();
    let markdown = format == "markdown";
    let mut paths = Vec::new();
    find(dir, DEPTH, &mut paths)
        .map_err(|e| Fail::with(Exit::Failure, format!("cannot read the folder {}: {e}", dir.display())))?;
    paths.sort();
    let (mut records, mut refused): (Vec<(String, RunRecord)>, Vec<String>) = (Vec::new(), Vec::new());
    for path in &paths {
        // One broken file must not hide a year of good ones, but it is not passed over in silence.
        match record::read(path) {
            Ok(record) => records.push((path.display().to_string(), record)),
            Err(error) => refused.push(error.to_string()),
        }
    }
    if records.is_empty() {
        refused.iter().for_each(|r| eprintln!("tailback: {}", plain::line(r)));
        return Err(Fail::with(Exit::Skipped, format!("no record of a run (run.json) under {}", dir.display())));
    }
    let runs = records.iter().map(|(name, record)| Run { name: name.clone(), record }).collect();
    let groups = groups(runs);
    if groups.iter().all(|group| series(group, filter).is_empty()) {
        let of = if filter.is_empty() { String::new() } else { format!(" with `{filter}` in its name") };
        let say = format!("no run under {} has a figure of merit{of}", dir.display());
        return Err(Fail::with(Exit::Skipped, say));
    }
    if format == "html" {
        output::print(&report::html::history(&groups, filter, &refused))?;
        return Ok(Exit::Good);
    }
    let mut out = String::new();
    for group in groups {
        let (first, last) = (&group.runs[0], group.runs.last().expect("a group has a run"));
        let text = |text: &str| if markdown { plain::markdown(text) } else { plain::line(text) };
        out.push_str(&format!("{}{}\n", if markdown { "## " } else { "" }, text(&group.title)));
        let count = group.runs.len();
        out.push_str(&match count {
            1 => format!("1 run, {}\n\n", text(&label(first))),
            _ => format!("{count} runs, {} to {}\n\n", text(&label(first)), text(&label(last))),
        });
        for run in group.runs.iter().filter(|r| r.record.outcome() != Outcome::Pass) {
            out.push_str(&format!("! {} is {}\n", text(&run.name), run.record.outcome().word()));
        }
        let header =
            ["Figure of merit", "unit", "runs", "least", "median", "most", "last", "oldest to newest", "last is"];
        let mut grid = Grid::new("", &header);
        series(&group, filter).iter().for_each(|s| grid.row(s.cells()));
        match grid.rows.is_empty() {
            true => out.push_str(&format!("no figure of merit has `{filter}` in its name\n")),
            false => table(&mut out, markdown, &grid),
        }
        out.push('\n');
    }
    refused.iter().for_each(|r| out.push_str(&format!("left out: {}\n", plain::line(r))));
    output::print(&out)?;
    Ok(Exit::Good)
}

fn label(run: &Run<'_>) -> String {
    run.record.created.clone().unwrap_or_else(|| run.name.clone())
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
