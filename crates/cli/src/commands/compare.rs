//! `tailback compare`: runs beside a first one, beside published systems, and against thresholds.

use super::entry::CommandEntry;
use crate::exit::{Exit, Fail};
use crate::options::{TABLE, records, text_or_markdown, value};
use crate::output;
use crate::published::{With, has_modes, with};
use crate::show::{exit_of_all, open};
use clap::{ArgAction, ArgMatches, Command};
use record::RunRecord;
use report::compare::require::Requirement;
use report::compare::{Comparison, Judgement, compare as compare_views, compared, published, published_hpcc};
use report::grid::Grid;
use report::plain;
use report::{View, merits};
use std::path::PathBuf;

/// Its line in the table of commands.
pub const COMPARE: CommandEntry = CommandEntry {
    line: command,
    run: compare,
    welcome: Some((
        "tailback compare A.json B.json",
        "what changed, how sure that is, and thresholds for acceptance tests",
    )),
};

fn command() -> Command {
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

/// Compares every record with the first and prints what the data show.
fn compare(args: &ArgMatches) -> anyhow::Result<Exit> {
    let paths: Vec<&PathBuf> = args.get_many("records").expect("it is required").collect();
    let texts = |option: &str| args.get_many::<String>(option).into_iter().flatten().cloned().collect::<Vec<_>>();
    let requirements: Vec<Requirement> =
        texts("require").iter().map(|t| Requirement::parse(t)).collect::<Result<_, _>>().map_err(Fail::usage)?;
    let systems = with(&texts("with"))?;
    let matters = share(args.get_one::<String>("matters").expect("it has a default"))?;
    let markdown = args.get_one::<String>("format").is_some_and(|f| f == "markdown");
    let names: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    if paths.len() < 2 && requirements.is_empty() && texts("with").is_empty() {
        return Err(Fail::usage(
            "one record alone: give another to compare with, --with SYSTEM or --require 'NAME < NUMBER'",
        ));
    }
    let records: Vec<RunRecord> = paths.iter().map(|p| open(p)).collect::<anyhow::Result<_>>()?;
    let views: Vec<View<'_>> = records.iter().map(View::new).collect();
    systems.only(has_modes(&records[0]))?;
    let (mut out, mut lines) = (String::new(), 0);
    for (name, view) in names.iter().zip(&views).skip(1) {
        let comparison = compare_views(&views[0], view, matters);
        heading(&mut out, markdown, &format!("{name} against {}", names[0]));
        describe(&mut out, markdown, &comparison);
        lines += comparison.rows.len();
    }
    beside(&mut out, markdown, &names[0], &views[0], &systems);
    let met = require(&mut out, markdown, &requirements, &names, &views)?;
    output::print(&out)?;
    let alone = paths.len() > 1 && lines == 0;
    if alone {
        eprintln!("tailback: nothing was compared: the runs have no test in common; name runs of one suite");
    }
    Ok(match exit_of_all(&records) {
        Exit::WrongData => Exit::WrongData,
        _ if !met => Exit::Threshold,
        Exit::Good if alone => Exit::Skipped,
        exit => exit,
    })
}

/// The first run beside published systems, if any are named.
fn beside(out: &mut String, markdown: bool, name: &str, view: &View<'_>, systems: &With) {
    let grid = match (systems.hpcc.as_slice(), systems.gpcnet.as_slice()) {
        ([], []) => return,
        ([], gpcnet) => published(view, gpcnet),
        (hpcc, _) => published_hpcc(&[view], hpcc),
    };
    heading(out, markdown, &format!("{name} beside published systems"));
    out.push_str("Other machines, sizes and loads: these numbers give an order of magnitude, not a verdict.\n\n");
    table(out, markdown, &grid);
}

/// `1%` or `0.01`.
fn share(text: &str) -> anyhow::Result<f64> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |n| (n, 0.01));
    let value = number.trim().parse::<f64>().ok().map(|x| x * scale).filter(|x| (0.0..10.0).contains(x));
    value.ok_or_else(|| Fail::usage(format!("--matters {text}: a share like 1% or 0.01")))
}

fn heading(out: &mut String, markdown: bool, text: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(&if markdown {
        format!("## {}\n\n", plain::markdown(text))
    } else {
        format!("{}\n\n", plain::line(text))
    });
}

/// A line of a list, for people or for Markdown.
pub fn item(markdown: bool, mark: &str, text: &str) -> String {
    if markdown { format!("- {}\n", plain::markdown(text)) } else { format!("{mark} {}\n", plain::line(text)) }
}

/// A table for people, or for Markdown.
pub fn table(out: &mut String, markdown: bool, grid: &Grid) {
    if markdown {
        out.push_str(&grid.markdown());
        return;
    }
    let mut table = report::table::Table::new(&grid.header.iter().map(String::as_str).collect::<Vec<_>>());
    grid.rows.iter().for_each(|row| table.row(row.iter().cloned()));
    table.write(out);
}

fn describe(out: &mut String, markdown: bool, comparison: &Comparison) {
    let list = |out: &mut String, title: &str, lines: &[String]| {
        if !lines.is_empty() {
            out.push_str(&format!("{title}\n"));
            lines.iter().for_each(|l| out.push_str(&item(markdown, "  !", l)));
            out.push('\n');
        }
    };
    list(out, "THE RUNS ARE NOT ALIKE; what follows mixes these differences:", &comparison.differences);
    list(out, "Not compared:", &comparison.left_out);
    if comparison.rows.is_empty() {
        out.push_str("Nothing can be compared.\n");
        return;
    }
    table(out, markdown, &compared(comparison));
    let count = |j: Judgement| comparison.rows.iter().filter(|r| r.judgement == j).count();
    let (better, worse, same, unknown) =
        (count(Judgement::Better), count(Judgement::Worse), count(Judgement::NoDifference), count(Judgement::Unknown));
    out.push_str(&format!(
        "\nVerdict: {worse} worse, {better} better, {same} without a difference that the data show, {unknown} with too few batches to say.\n"
    ));
    out.push_str("Each line is judged alone: of 20 lines without a difference, about one shows one. Intervals know the spread within a run, not between runs.\n");
}

/// Prints what became of each requirement in each run; whether all are met.
fn require(
    out: &mut String,
    markdown: bool,
    requirements: &[Requirement],
    names: &[String],
    views: &[View<'_>],
) -> anyhow::Result<bool> {
    if requirements.is_empty() {
        return Ok(true);
    }
    heading(out, markdown, "Requirements");
    let mut met = true;
    for (name, view) in names.iter().zip(views) {
        let merits = merits(view);
        for requirement in requirements {
            let outcome = requirement.check(&merits).map_err(|e| Fail::usage(format!("{name}: {e}")))?;
            met &= outcome.met;
            out.push_str(&item(markdown, " ", &format!("{name}: {}", outcome.text)));
        }
    }
    Ok(met)
}

#[cfg(test)]
mod tests {
    #[test]
    fn shares() {
        assert_eq!(super::share("2%").unwrap(), 0.02);
        assert_eq!(super::share("0.5").unwrap(), 0.5);
        assert!(super::share("-1%").is_err() && super::share("x").is_err());
    }
}
