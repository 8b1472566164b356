//! `tailback compare`: runs beside a first one, beside published systems, and against thresholds.

use super::entry::CommandEntry;
use crate::exit::{Exit, Fail};
use crate::options::{TABLE, records, value};
use crate::output;
use crate::published::{With, has_modes, with};
use crate::show::{exit_of_all, open};
use clap::{ArgAction, ArgMatches, Command};
use record::RunRecord;
use report::compare::require::{Holds, Requirement};
use report::compare::{Comparison, compare as compare_views, compared, json, published, published_hpcc, verdict};
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
                "'NAME < LIMIT'",
                "Exit with 3 unless this holds in every run: a name as FOM lines have it, `*` for any text, and a limit like 2, '5 us' or '10 GB/s'; may be given several times",
            )
            .action(ArgAction::Append),
        )
        .arg(
            value("with", "SYSTEM|FILE.csv", "Show a published system, or a table of them, beside the first run; may be given several times")
                .action(ArgAction::Append),
        )
        .arg(value("matters", "SHARE", "Smaller differences do not count").default_value("1%"))
        .arg(
            value("format", "FORMAT", "Tables, a page with pictures, or what programs read")
                .default_value("text")
                .value_parser(["text", "markdown", "html", "json"]),
        )
        .after_help(format!(
            "Published systems of GPCNeT: {known}\nof HPC Challenge: {hpcc}\n{TABLE}\nNames for --require are those that `tailback report --format fom` prints; for a file of requirements see `tailback accept`."
        ))
}

/// What is to be shown, in whatever format.
struct Compared {
    /// Each run against the first, with a title.
    comparisons: Vec<(String, Comparison)>,
    /// The first run beside published systems.
    beside: Option<Grid>,
    /// What became of the requirements: outcome, figure, run, value.
    held: Grid,
    met: bool,
}

/// Compares every record with the first and prints what the data show.
fn compare(args: &ArgMatches) -> anyhow::Result<Exit> {
    let paths: Vec<&PathBuf> = args.get_many("records").expect("it is required").collect();
    let texts = |option: &str| args.get_many::<String>(option).into_iter().flatten().cloned().collect::<Vec<_>>();
    let requirements: Vec<Requirement> =
        texts("require").iter().map(|t| Requirement::parse(t)).collect::<Result<_, _>>().map_err(Fail::usage)?;
    let systems = with(&texts("with"))?;
    let matters = share(args.get_one::<String>("matters").expect("it has a default"))?;
    let names: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    if paths.len() < 2 && requirements.is_empty() && texts("with").is_empty() {
        return Err(Fail::usage(
            "one record alone: give another to compare with, --with SYSTEM or --require 'NAME < LIMIT'",
        ));
    }
    let records: Vec<RunRecord> = paths.iter().map(|p| open(p)).collect::<anyhow::Result<_>>()?;
    let views: Vec<View<'_>> = records.iter().map(View::new).collect();
    systems.only(has_modes(&records[0]))?;
    let others = names.iter().zip(&views).skip(1);
    let against = |(name, view): (&String, &View<'_>)| {
        (format!("{name} against {}", names[0]), compare_views(&views[0], view, matters))
    };
    let comparisons: Vec<(String, Comparison)> = others.map(against).collect();
    let (held, met) = require(&requirements, &names, &views)?;
    let found = Compared { comparisons, beside: beside(&names[0], &views[0], &systems), held, met };
    let format = args.get_one::<String>("format").expect("it has a default");
    output::print(&written(&found, &views, format))?;
    let alone = paths.len() > 1 && found.comparisons.iter().all(|(_, c)| c.rows.is_empty());
    if alone {
        mpi::say(format_args!(
            "tailback: nothing was compared: the runs have no test in common; name runs of one suite"
        ));
    }
    Ok(match exit_of_all(&records) {
        Exit::WrongData => Exit::WrongData,
        _ if !found.met => Exit::Threshold,
        Exit::Good if alone => Exit::Skipped,
        exit => exit,
    })
}

fn written(found: &Compared, views: &[View<'_>], format: &str) -> String {
    let tables: Vec<&Grid> =
        found.beside.iter().chain([&found.held].into_iter().filter(|g| !g.rows.is_empty())).collect();
    match format {
        "html" => {
            let tables: Vec<Grid> = tables.into_iter().cloned().collect();
            report::html::comparison(views, &found.comparisons, &tables)
        }
        "json" => {
            let one = |(title, comparison): &(String, Comparison)| serde_json::json!({ "title": title, "comparison": json(comparison) });
            let rows =
                |grid: &Grid| serde_json::json!({ "title": grid.caption, "header": grid.header, "rows": grid.rows });
            let comparisons: Vec<_> = found.comparisons.iter().map(one).collect();
            let tables: Vec<_> = tables.into_iter().map(rows).collect();
            format!("{:#}\n", serde_json::json!({ "met": found.met, "comparisons": comparisons, "tables": tables }))
        }
        _ => {
            let markdown = format == "markdown";
            let mut out = String::new();
            for (title, comparison) in &found.comparisons {
                heading(&mut out, markdown, title);
                describe(&mut out, markdown, comparison);
            }
            for grid in tables {
                heading(&mut out, markdown, &grid.caption);
                table(&mut out, markdown, grid);
            }
            out
        }
    }
}

/// The first run beside published systems, if any are named.
fn beside(name: &str, view: &View<'_>, systems: &With) -> Option<Grid> {
    let mut grid = match (systems.hpcc.as_slice(), systems.gpcnet.as_slice()) {
        ([], []) => return None,
        ([], gpcnet) => published(view, gpcnet),
        (hpcc, _) => published_hpcc(&[view], hpcc),
    };
    grid.caption = format!(
        "{name} beside published systems: other machines, sizes and loads, so an order of magnitude, not a verdict"
    );
    Some(grid)
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
    grid.table().write(out);
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
    out.push_str(&format!("\n{}\n", verdict(comparison)));
    out.push_str("Each line is judged alone: of 20 lines without a difference, about one shows one. Intervals know the spread within a run, not between runs.\n");
}

/// What became of each requirement in each run, and whether all are met.
fn require(requirements: &[Requirement], names: &[String], views: &[View<'_>]) -> anyhow::Result<(Grid, bool)> {
    let mut grid = Grid::new("Requirements", &["", "figure of merit", "run", "value"]);
    let mut met = true;
    for (name, view) in names.iter().zip(views) {
        let merits = merits(view);
        for requirement in requirements {
            for (merit, held) in requirement.check(&merits).map_err(|e| Fail::usage(format!("{name}: {e}")))? {
                met &= held.holds == Holds::Met;
                grid.row([held.holds.word().into(), merit.name.clone(), name.clone(), held.text]);
            }
        }
    }
    Ok((grid, met))
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
