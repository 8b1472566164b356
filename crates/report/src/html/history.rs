//! A folder of runs as a page: for each group of runs that can be compared, how every figure of merit moved.

use super::page::{Page, whole};
use crate::compare::history::{Group, Last, Series, median, series};
use crate::grid::{Grid, exact};
use crate::svg::frame::{Axis, Frame};
use crate::svg::{Anchor, Scale, Svg};
use crate::table::digits;

/// So many pictures are about 200 kB of a page that must stay under 500 kB; the table has every figure.
const PICTURES: usize = 60;
/// The newest runs are drawn, and listed run by run; all of them are in the summary.
const NEWEST: usize = 100;
const HEIGHT: f64 = 190.0;

/// The page of all groups. Figures of merit whose name contains `filter`; `left_out` says which files could not be read.
pub fn page(groups: &[Group<'_>], filter: &str, left_out: &[String]) -> String {
    let mut page = Page::default();
    let runs: usize = groups.iter().map(|g| g.runs.len()).sum();
    for group in groups {
        section(&mut page, group, filter);
    }
    if !left_out.is_empty() {
        page.section("Left out");
        left_out.iter().for_each(|why| page.say(why));
    }
    let made = "Made by Tailback from the records in a folder; it can be made again with <code>tailback history --format html</code>.";
    let groups = if groups.len() == 1 { "one group".to_string() } else { format!("{} groups", groups.len()) };
    let heads = format!("<p>{runs} runs in {groups}; those of a group have the same suite, machine and size.</p>\n");
    whole("History of runs", &heads, made, page)
}

fn section(page: &mut Page, group: &Group<'_>, filter: &str) {
    page.section(&group.title);
    let mut all = series(group, filter);
    if all.is_empty() {
        return page.say(&format!("No figure of merit has `{filter}` in its name."));
    }
    // What stands out comes first, in the order of the run otherwise.
    all.sort_by_key(|s| match s.last {
        Last::Worse => 0,
        Last::Better => 1,
        Last::Usual | Last::TooFew => 2,
    });
    let worse = all.iter().filter(|s| s.last == Last::Worse).count();
    let unknown = all.iter().all(|s| s.last == Last::TooFew);
    page.say(&match (worse, unknown) {
        (_, true) => "Too few runs to say what is usual.".to_string(),
        (0, _) => "No figure of the last run is worse than the spread of those before it explains.".to_string(),
        (n, _) => format!(
            "{n} of {} figures of the last run are worse than the spread of those before it explains.",
            all.len()
        ),
    });
    let pictures = if group.runs.len() > 1 { all.iter().take(PICTURES).map(picture).collect() } else { Vec::new() };
    let more = if all.len() > PICTURES { " More figures than fit here are in the table." } else { "" };
    let caption = format!(
        "Each figure of merit from the oldest to the newest run; the last one is filled. Grey is the median of those before it.{more}"
    );
    page.figure(&caption, pictures, &[summary(&all), values(group, &all)]);
}

fn summary(all: &[Series]) -> Grid {
    let header = ["Figure of merit", "unit", "runs", "least", "median", "most", "last", "oldest to newest", "last is"];
    let mut grid = Grid::new("Summary", &header);
    all.iter().for_each(|s| grid.row(s.cells()));
    grid
}

/// Run by run; a run that lacks a figure has none of its values shifted into its place.
fn values(group: &Group<'_>, all: &[Series]) -> Grid {
    let mut grid = Grid::new("Run by run", &["Run", "figure of merit", "value", "unit"]);
    // Values are not tied to runs, so only a figure that every run has can be set beside them.
    let complete = all.iter().filter(|s| s.values.len() == group.runs.len());
    for s in complete.take(PICTURES) {
        let skip = group.runs.len().saturating_sub(NEWEST);
        for (run, value) in group.runs.iter().zip(&s.values).skip(skip) {
            let label = run.record.created.clone().unwrap_or_else(|| run.name.clone());
            grid.row([label, s.name.clone(), exact(*value), s.unit.to_string()]);
            if grid.rows.len() >= 1000 {
                return grid;
            }
        }
    }
    grid
}

fn picture(s: &Series) -> Svg {
    let shown = &s.values[s.values.len().saturating_sub(NEWEST)..];
    let (low, high) = shown.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
    let last = shown[shown.len() - 1];
    // The line that the last run is held against: what was usual before it.
    let usual = median(&shown[..(shown.len() - 1).max(1)]);
    let verdict = s.verdict();
    let about = format!(
        "{} runs from {} to {} {}, last {}: {verdict}.",
        s.values.len(),
        digits(low),
        digits(high),
        s.unit,
        digits(last)
    );
    let x = Axis { scale: Scale::linear(1.0, shown.len() as f64), label: "run", percent: false };
    let y = Axis { scale: Scale::linear(low, high), label: s.unit, percent: false };
    let mut frame = Frame::new(&s.name, &about, HEIGHT, x, y);
    let (first, end) = frame.x.domain();
    frame.line("ref", &[(first, usual), (end, usual)]);
    let points: Vec<(f64, f64)> = shown.iter().enumerate().map(|(i, v)| (i as f64 + 1.0, *v)).collect();
    frame.line("s0", &points);
    for (i, &(run, value)) in points.iter().enumerate() {
        let class = match (i + 1 == points.len(), s.last) {
            (false, _) => "s0 open",
            (true, Last::Worse) => "s1",
            (true, _) => "s0",
        };
        frame.dot(class, (run, value), None, &format!("run {}: {} {}", i + 1, digits(value), s.unit));
    }
    let mark = match s.last {
        Last::Worse => "WORSE: ",
        Last::Better => "better: ",
        Last::Usual | Last::TooFew => "",
    };
    frame.svg.text("value", (8.0, 14.0), Anchor::Start, &format!("{mark}{}", s.name));
    frame.svg
}
