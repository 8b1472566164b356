//! Several runs side by side: one row a run, their tails laid over each other (the paper's Figures 1 to 3, 6 and 7), and what differs.

use super::distributions::axis;
use crate::grid::{Grid, exact};
use crate::known::{Known, mean, quantile};
use crate::runs::labels;
use crate::section::{Room, Section};
use crate::svg::rows::{Rows, Words};
use crate::svg::tail::{Line, tail_of, tails};
use crate::svg::{Anchor, Scale, Svg};
use crate::table::{digits, factor};
use crate::view::{Canary, View};

/// Colours that can be told apart; more runs than these are in the table only.
const CLASSES: [&str; 6] = ["s0", "s1", "s2", "s3", "s4", "s5"];

/// Names of the tests of all runs, in the order in which they come.
fn tests<'a>(views: &[View<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for canary in views.iter().flat_map(|v| &v.canaries) {
        if !names.contains(&canary.name) {
            names.push(canary.name);
        }
    }
    names
}

/// The test of this name in each run that has it, with the run's number.
fn of<'v, 'a>(views: &'v [View<'a>], test: &str) -> Vec<(usize, &'v Canary<'a>)> {
    let in_run = |(i, view): (usize, &'v View<'a>)| view.canaries.iter().find(|c| c.name == test).map(|c| (i, c));
    views.iter().enumerate().filter_map(in_run).collect()
}

/// Nothing for one run.
pub fn section(views: &[View<'_>]) -> Option<Section> {
    if views.iter().filter(|v| !v.canaries.is_empty()).count() < 2 {
        return None;
    }
    let names = labels(views);
    let mut section = Section::with_room(Room::Terminal, "Runs side by side");
    let tests = tests(views);
    tests.iter().filter_map(|test| sentence(test, &of(views, test), &names)).for_each(|s| section.say(s));
    section.list(table(views, &tests, &names));
    let dots: Vec<Svg> = tests.iter().filter_map(|test| dots(test, &of(views, test), &names)).collect();
    if !dots.is_empty() {
        let caption =
            "Impact in each run: open dots are averages, full dots the 99 % values, with their 95 % intervals.";
        section.figure(caption, dots, vec![impacts(views, &tests, &names)]);
    }
    let (curves, numbers): (Vec<Svg>, Vec<Grid>) =
        tests.iter().filter_map(|test| overlaid(test, &of(views, test), &names)).unzip();
    if !curves.is_empty() {
        let more = if views.len() > CLASSES.len() { " The first six runs." } else { "" };
        let caption = format!(
            "How many samples are worse than a value. Lines: under load, or alone where no load was; dashed: alone.{more}"
        );
        section.figure(caption, curves, numbers);
    }
    Some(section)
}

/// What differs, and how sure that is: the least and the most, and whether their intervals part.
fn sentence(test: &str, runs: &[(usize, &Canary<'_>)], names: &[String]) -> Option<String> {
    let impacts: Vec<(usize, Known)> = runs.iter().filter_map(|(i, c)| Some((*i, c.impact()?.average))).collect();
    let finite = || impacts.iter().filter(|(_, x)| x.value.is_finite());
    let least = finite().min_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    let most = finite().max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    // Two runs without harm have nothing to tell apart.
    if least.0 == most.0 || most.1.value < 1.01 {
        return None;
    }
    let sure = match (least.1.interval, most.1.interval) {
        (Some(a), Some(b)) if a.high < b.low => "their intervals do not meet",
        (Some(_), Some(_)) => "their intervals overlap, so that may be chance",
        _ => "how sure that is nobody can say",
    };
    let (low, high) = (digits(least.1.value), digits(most.1.value));
    Some(format!(
        "{test} is {low} times worse under load in {} and {high} times in {}: {sure}.",
        names[least.0], names[most.0]
    ))
}

/// One row a run; of each test its impacts.
fn table(views: &[View<'_>], tests: &[&str], names: &[String]) -> Grid {
    let mut header = vec!["Run".to_string()];
    tests.iter().for_each(|test| header.extend([format!("{test} impact"), "99%".to_string()]));
    let mut grid = Grid { caption: "Runs side by side".into(), header, ..Grid::default() };
    for (view, name) in views.iter().zip(names) {
        let mut row = vec![name.clone()];
        for test in tests {
            let impact = view.canaries.iter().find(|c| c.name == *test).and_then(|c| c.impact());
            row.extend(impact.map_or(["-".to_string(), "-".to_string()], |i| [factor(i.average), factor(i.tail)]));
        }
        grid.row(row);
    }
    grid
}

/// Every impact with its interval.
fn impacts(views: &[View<'_>], tests: &[&str], names: &[String]) -> Grid {
    let mut grid = Grid::new("Impact in each run", &["Run", "test", "", "impact", "95 % from", "to"]);
    for test in tests {
        for (i, canary) in of(views, test) {
            let Some(impact) = canary.impact() else { continue };
            for (what, x) in [("avg", impact.average), ("99%", impact.tail)] {
                let ends = x.interval.map_or(["-".to_string(), "-".to_string()], |i| [exact(i.low), exact(i.high)]);
                let row = [names[i].clone(), test.to_string(), what.to_string(), exact(x.value)];
                grid.row(row.into_iter().chain(ends));
            }
        }
    }
    grid
}

fn dots(test: &str, runs: &[(usize, &Canary<'_>)], names: &[String]) -> Option<Svg> {
    let impacts: Vec<_> = runs.iter().filter_map(|(i, c)| Some((*i, c.impact()?))).collect();
    let values =
        impacts.iter().flat_map(|(_, i)| [i.average.value, i.tail.value]).filter(|v| v.is_finite() && *v > 0.0);
    // 1 is always in sight: the line of no harm stands there.
    let (low, high) = values.fold((1.0, 2.0), |(a, b): (f64, f64), v| (a.min(v), b.max(v)));
    if impacts.is_empty() {
        return None;
    }
    let rows: Vec<(String, &str)> = impacts.iter().map(|(i, _)| (names[*i].clone(), "")).collect();
    let about = format!("Dots on a logarithmic axis, one row for each of {} runs.", rows.len());
    let words = Words { title: test, about: &about, axis: "times worse under load" };
    let mut picture = Rows::new(words, Scale::log(low * 0.95, high * 1.05), &rows, 22.0);
    picture.rule("ref", 1.0, rows.len());
    for (row, (_, impact)) in impacts.iter().enumerate() {
        for (x, class, shift, what) in [(impact.average, "s1 open", -4.0, "average"), (impact.tail, "s1", 4.0, "99 %")]
        {
            if x.value.is_finite() && x.value > 0.0 {
                let tip = format!("{}, {what}: {} times worse", rows[row].0, digits(x.value));
                picture.dot(row, shift, class, x.value, x.interval.map(|i| (i.low, i.high)), &tip);
            }
        }
    }
    picture.svg.text("value", (8.0, 14.0), Anchor::Start, test);
    Some(picture.svg)
}

fn overlaid(test: &str, runs: &[(usize, &Canary<'_>)], names: &[String]) -> Option<(Svg, Grid)> {
    let shown: Vec<&(usize, &Canary<'_>)> = runs.iter().filter(|(i, _)| *i < CLASSES.len()).collect();
    let dashed: Vec<String> = CLASSES.iter().map(|class| format!("{class} dash")).collect();
    let mut lines = Vec::new();
    let (_, unit) = shown.first()?.1.isolated.metric.shown();
    let mut grid = Grid::new(&format!("{test} [{unit}]"), &["Run", "", "avg", "99%", "99.9%", "samples"]);
    for (i, canary) in shown.iter().map(|(i, c)| (*i, *c)) {
        let loaded = canary.loaded.filter(|j| !j.samples.is_empty());
        let full = loaded.unwrap_or(canary.isolated);
        lines.push(Line { class: CLASSES[i], name: names[i].clone(), tail: tail_of(full) });
        if loaded.is_some() {
            lines.push(Line { class: &dashed[i], name: String::new(), tail: tail_of(canary.isolated) });
        }
        for (what, job) in [("alone", Some(canary.isolated)), ("loaded", loaded)] {
            let Some(job) = job else { continue };
            let (scale, _) = job.metric.shown();
            let numbers = [mean(job), quantile(job, 0.99), quantile(job, 0.999)].map(|x| exact(x.value * scale));
            let row = [names[i].clone(), what.to_string()].into_iter().chain(numbers);
            grid.row(row.chain([job.summary.samples.to_string()]));
        }
    }
    let about = format!("Share of samples that are worse than a value, {} runs.", shown.len());
    let mut frame = tails(test, &about, &axis(shown.first()?.1.isolated), &lines)?;
    frame.svg.text("value", (8.0, 14.0), Anchor::Start, test);
    let legend: Vec<(&str, &str)> =
        lines.iter().filter(|l| !l.name.is_empty()).map(|l| (l.class, l.name.as_str())).collect();
    frame.svg.legend_below(8.0, &legend);
    Some((frame.svg, grid))
}
