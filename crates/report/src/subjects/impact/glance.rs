//! The answer in a few lines of a terminal: what congestion does to each test, how sure that is, and what decides it.

use crate::known::{Known, mean, quantile};
use crate::plain::{line, wrap};
use crate::table::{digits, rounded};
use crate::view::{Canary, Impact, View};
use record::{Direction, JobRecord};

/// Above this factor between the worst and the best placement, where a job lands is worth a sentence.
const PLACES_MATTER: f64 = 1.5;
/// The answer, if tests ran under load.
pub fn glance(view: &View<'_>) -> Option<String> {
    if view.canaries.iter().all(|c| c.impact().is_none()) {
        return None;
    }
    let mut out = table(view);
    out.push('\n');
    // Of the first test alone: one that is made of many messages waits for several of them.
    let mut drains = view.canaries.iter().filter_map(|c| Some((c.name, view.drain_ratio(c)?.1)));
    let drained = drains.find(|(_, ratio)| ratio.is_finite()).map(|(name, ratio)| drain(name, ratio));
    let only = "This placement only: other nodes for the roles give other numbers, often by more than the interval says (--placements).";
    let only = (view.record.plan.placements == 1).then(|| only.to_string());
    let few = format!("A dash stands where fewer than {} samples lie beyond a quantile.", record::placement::BEYOND);
    let few = view.canaries.iter().any(super::few).then_some(few);
    for sentence in answer(view).into_iter().chain(drained).chain(only).chain(few) {
        out += &wrap(&sentence, "  ", "  ");
    }
    if let Some(section) = super::matrix(&view.canaries) {
        out += &format!("\n{}", section.text());
    }
    Some(out)
}

/// A row of cells for each test, below two rows that say what they are.
fn table(view: &View<'_>) -> String {
    let mut rows: Vec<[String; 9]> =
        vec![["", "", "avg", "99%", "avg", "99%", "avg", "(95% sure)", "99%"].map(String::from)];
    let dash = || "-".to_string();
    for canary in &view.canaries {
        let (scale, unit) = canary.isolated.metric.shown();
        let two = |job: &JobRecord| [rounded(mean(job), scale), rounded(quantile(job, 0.99), scale)];
        let [alone, alone_tail] = two(canary.isolated);
        let [loaded, loaded_tail] = canary.loaded.map_or_else(|| [dash(), dash()], two);
        let [average, sure, tail] = canary.impact().map_or_else(
            || [dash(), String::new(), dash()],
            |i| [rounded(i.average, 1.0), sure(i.average), rounded(i.tail, 1.0)],
        );
        rows.push([line(canary.name), unit.into(), alone, alone_tail, loaded, loaded_tail, average, sure, tail]);
    }
    let widths: Vec<usize> = (0..9).map(|c| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0)).collect();
    // Indented, as every line is that begins with a name of the record's.
    let mut out = format!("  {}\n", heads(&widths).trim_end());
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(c, (cell, &w))| match c {
            0 | 1 => format!("{cell:<w$}"),
            _ => format!("{cell:>w$}"),
        });
        out += &format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    out
}

/// What groups of columns are, above the middle of each.
fn heads(widths: &[usize]) -> String {
    let mut out = " ".repeat(widths[0] + widths[1] + 4);
    for (columns, name) in [(2..4, "alone"), (4..6, "under load"), (6..9, "times worse")] {
        let width = widths[columns.clone()].iter().sum::<usize>() + 2 * (columns.len() - 1);
        out += &format!("{name:^width$}  ");
    }
    out
}

fn sure(x: Known) -> String {
    x.interval.map_or(String::new(), |i| {
        let end = |value| rounded(Known { value, interval: x.interval }, 1.0);
        format!("({} to {})", end(i.low), end(i.high))
    })
}

/// What congestion does, in sentences: to the test of each kind that it hurts most, and what the choice of nodes does.
pub fn answer(view: &View<'_>) -> Vec<String> {
    let found = view.canaries.iter().filter_map(|c| Some((c, c.impact()?)));
    let found: Vec<(&Canary<'_>, Impact)> = found.filter(|f| f.1.average.value.is_finite()).collect();
    let harm_of = |i: &usize| found[*i].1.average.value;
    let most = |fits: &dyn Fn(&Canary<'_>, &Impact) -> bool| {
        let those = (0..found.len()).filter(|&i| fits(found[i].0, &found[i].1));
        those.max_by(|a, b| harm_of(a).total_cmp(&harm_of(b)))
    };
    let Some(worst) = most(&|_, _| true) else { return Vec::new() };
    let mut all = Vec::new();
    for direction in [Direction::LowerIsBetter, Direction::HigherIsBetter] {
        let hurt = most(&|canary, impact| canary.isolated.metric.direction() == direction && harms(impact.average));
        all.extend(hurt.map(|i| harm(found[i].0, &found[i].1)));
    }
    if all.is_empty() {
        let factor = digits(harm_of(&worst));
        all.push(format!("No test is measurably worse under load; {factor} is the largest factor."));
    }
    all.extend(places(found[worst].0));
    all
}

/// Whether a factor is harm: its interval says so, or without one it is large.
fn harms(x: Known) -> bool {
    x.interval.map_or(x.value > 1.1, |i| i.low > 1.0)
}

fn harm(canary: &Canary<'_>, impact: &Impact) -> String {
    let (name, average) = (line(canary.name), impact.average);
    match canary.isolated.metric.direction() {
        Direction::LowerIsBetter => {
            let tail = Some(impact.tail).filter(|x| x.value.is_finite());
            let tail = tail.map_or(String::new(), |x| format!(", one in a hundred {} times", rounded(x, 1.0)));
            format!("{name} takes {} times as long under load{tail}.", rounded(average, 1.0))
        }
        Direction::HigherIsBetter => format!("{name} keeps {:.0} % of its rate under load.", 100.0 / average.value),
    }
}

/// What the choice of nodes does.
fn places(canary: &Canary<'_>) -> Option<String> {
    let impacts: Vec<f64> = canary.placement_impacts().iter().map(|p| p.average).filter(|x| x.is_finite()).collect();
    let (best, worst) = (impacts.iter().copied().reduce(f64::min)?, impacts.iter().copied().reduce(f64::max)?);
    let (name, low, high) = (line(canary.name), digits(best), digits(worst));
    match worst / best {
        _ if impacts.len() < 2 => None,
        r if r >= PLACES_MATTER => Some(format!(
            "Where a job lands decides much: {name} has {low} in the best placement, {high} in the worst."
        )),
        _ => Some(format!("The {} placements are much alike: {low} to {high} for {name}.", impacts.len())),
    }
}

/// What is usual stands beside it, and no reason: a load that does not reach the test looks like a control that works.
fn drain(test: &str, ratio: f64) -> String {
    let (test, ratio) = (line(test), digits(ratio));
    format!(
        "The loaded tail of {test} is {ratio} of an incast's drain time; usual is 0.4 to 7 without congestion control and below 0.1 \
         with one that works."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Interval;

    #[test]
    fn harm_is_what_the_interval_says() {
        let of = |value, ends: Option<(f64, f64)>| {
            harms(Known { value, interval: ends.map(|(low, high)| Interval { low, high }) })
        };
        assert!(of(1.05, Some((1.01, 1.1))) && of(1.2, None));
        assert!(!of(3.0, Some((0.9, 9.0))) && !of(1.05, None) && !of(f64::NAN, None));
    }
}
