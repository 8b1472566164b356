//! A folder of runs as a page: for each group of runs that can be compared, how every figure of merit moved.

use super::page::{Page, whole};
use crate::compare::history::{Group, HEADER, Last, Series, series};
use crate::grid::{Grid, exact};
use crate::svg::frame::{Axis, Frame, Labels};
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
    all.sort_by_key(|s| (!s.is_worse(), s.last == Last::Usual || s.last == Last::TooFew));
    page.say(&format!("{}.", group.span()));
    let worse = all.iter().filter(|s| s.last == Last::Worse).count();
    let unknown = all.iter().all(|s| s.last == Last::TooFew);
    page.say(&match (worse, unknown) {
        (_, true) => "Too few runs to say what is usual.".to_string(),
        (0, _) => "No figure of the last run is worse than the spread of those before it explains.".to_string(),
        (n, _) => format!(
            "{n} of {} figures of the last run are worse than the spread of those before it explains (1 in 1,000 would be by chance).",
            all.len()
        ),
    });
    all.iter().flat_map(|s| s.told(group)).for_each(|change| page.say(&format!("{change}.")));
    let drawn = if group.runs.len() > 1 { PICTURES } else { 0 };
    let pictures = all.iter().take(drawn).map(|s| picture(group, s)).collect();
    let more = if all.len() > PICTURES { " More figures than fit here are in the table." } else { "" };
    let caption = format!(
        "Each figure of merit from the oldest to the newest run with its 95 % interval; the last one is filled. Grey is what is usual since the last change, which a dashed line marks.{more}"
    );
    page.figure(&caption, pictures, &[summary(&all), values(group, &all)]);
}

fn summary(all: &[Series]) -> Grid {
    let mut grid = Grid::new("Summary", &HEADER);
    all.iter().for_each(|s| grid.row(s.cells()));
    grid
}

/// Run by run.
fn values(group: &Group<'_>, all: &[Series]) -> Grid {
    let mut grid = Grid::new("Run by run", &["Run", "figure of merit", "value", "95 % from", "to", "unit"]);
    let skip = group.runs.len().saturating_sub(NEWEST);
    for s in all.iter().take(PICTURES) {
        for point in s.points.iter().filter(|p| p.run >= skip) {
            let ends =
                point.known.interval.map_or(["-".to_string(), "-".to_string()], |i| [exact(i.low), exact(i.high)]);
            let [low, high] = ends;
            let label = group.runs[point.run].label();
            grid.row([label, s.name.clone(), exact(point.known.value), low, high, s.unit.to_string()]);
            if grid.rows.len() >= 1000 {
                return grid;
            }
        }
    }
    grid
}

fn picture(group: &Group<'_>, s: &Series) -> Svg {
    let skip = s.points.len().saturating_sub(NEWEST);
    let shown = &s.points[skip..];
    let dates = group.dates();
    let place = |run: usize| dates.as_ref().map_or(run as f64 + 1.0, |dates| dates[run] as f64);
    let ends = shown
        .iter()
        .flat_map(|p| [Some(p.known.value), p.known.interval.map(|i| i.low), p.known.interval.map(|i| i.high)]);
    let (low, high) = ends.flatten().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let last = shown[shown.len() - 1];
    let usual = s.usual();
    let (verdict, value) = (s.verdict(), digits(last.known.value));
    let about = format!("{} runs, usually {} {}, last {value}: {verdict}.", s.points.len(), digits(usual), s.unit);
    let (first, newest) = (place(shown[0].run), place(last.run));
    let x = match dates {
        Some(_) => Axis { scale: Scale::dates(first, newest), label: "UTC", labels: Labels::Plain },
        None => Axis { scale: Scale::whole(first, newest), label: "run", labels: Labels::Plain },
    };
    let y = Axis { scale: Scale::linear(low, high), label: s.unit, labels: Labels::Plain };
    let mut frame = Frame::new(&s.name, &about, HEIGHT, x, y);
    let since = s.changes.last().map_or(0, |c| c.from).saturating_sub(skip);
    let begin = place(shown[since].run);
    frame.line("ref", &[(begin, usual), (frame.x.domain().1, usual)]);
    for change in s.changes.iter().filter(|c| c.from >= skip) {
        frame.rule("ref", place(s.points[change.from].run), if change.worse { "worse" } else { "better" }, 0);
    }
    for (i, point) in shown.iter().enumerate() {
        let class = match (i + 1 == shown.len(), s.last) {
            (false, _) => "s0 open",
            (true, Last::Worse) => "s1",
            (true, _) => "s0",
        };
        let tip = format!("{}: {} {}", group.runs[point.run].label(), digits(point.known.value), s.unit);
        let interval = point.known.interval.map(|i| (i.low, i.high));
        frame.dot(class, (place(point.run), point.known.value), interval, &tip);
    }
    let mark = match s.last {
        Last::Worse => "WORSE: ",
        Last::Better => "better: ",
        Last::Usual | Last::TooFew => "",
    };
    frame.svg.text("value", (8.0, 14.0), Anchor::Start, &format!("{mark}{}", s.name));
    frame.svg
}
