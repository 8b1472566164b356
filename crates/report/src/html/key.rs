//! Key results first: what congestion does to each canary, in words that need no manual, and what to know before believing it.

use super::Page;
use crate::grid::{Grid, exact};
use crate::svg::escape;
use crate::table::digits;
use crate::view::{Canary, Impact, Known, View, gpcnet_title, mean, quantile};
use record::{Direction, JobRecord};
use std::fmt::Write;

/// `told` says that sections below show what was measured.
pub(super) fn write(page: &mut Page, view: &View<'_>, of: &str, told: bool) {
    page.section(&format!("Key results{of}"));
    warnings(&mut page.body, &view.warnings());
    let impacts: Vec<(&Canary<'_>, Impact)> = view.canaries.iter().filter_map(|c| c.impact().map(|i| (c, i))).collect();
    if told {
        page.say("This run measured a machine for models of it; what they say stands below.");
    } else if impacts.is_empty() {
        page.say("Each test ran alone, so this page says how fast the machine is, not what congestion does to it.");
        page.table(&measured(view));
    } else {
        page.say(
            "Each test ran alone and then while other nodes loaded the network. The factor says how many times worse \
             the worst 1 % of it was under load: 1 is no harm.",
        );
        page.body.push_str("<div class=\"cards\">\n");
        impacts.iter().for_each(|(canary, impact)| card(&mut page.body, canary, impact));
        page.body.push_str("</div>\n");
        page.table(&table(view, &impacts));
        if let Some((canary, (drain, ratio))) = impacts.iter().find_map(|(c, _)| Some((c, view.drain_ratio(c)?))) {
            page.say(&format!(
                "One incast needs {} us to drain at {} GB/s into its root, as {}; the loaded 99 % of {} is {} times that. Impacts grow \
                 with the machine, this ratio does not: 0.4 to 7 is usual without congestion control, below 0.1 with one that works.",
                digits(drain.seconds * 1e6),
                digits(drain.ejection * 1e-9),
                if drain.given { "given" } else { "measured" },
                canary.name,
                digits(ratio)
            ));
        }
    }
}

/// What to know before believing a number; folded when there is much of it.
fn warnings(out: &mut String, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let open = if warnings.len() <= 3 { " open" } else { "" };
    let _ =
        writeln!(out, "<details class=\"warnings\"{open}><summary>Read this first ({})</summary><ul>", warnings.len());
    for warning in warnings {
        let _ = writeln!(out, "<li>{}</li>", escape(warning));
    }
    out.push_str("</ul></details>\n");
}

/// Four grades by how much worse the tail is; a factor of 10 is where the paper's systems without congestion control begin.
pub(crate) fn grade(tail: Known) -> (usize, &'static str) {
    match tail.value {
        x if x.is_nan() => (2, "Not known"),
        _ if tail.interval.is_some_and(|i| i.contains(1.0)) => (0, "No harm that the data show"),
        x if x <= 1.1 => (0, "No harm that matters"),
        // A small factor that nobody can say how sure it is may as well be noise.
        x if x <= 2.0 && tail.interval.is_none() => (1, "Perhaps some harm"),
        x if x <= 2.0 => (1, "Some harm"),
        x if x <= 10.0 => (2, "Clear harm"),
        _ => (3, "Severe harm"),
    }
}

fn sure(x: Known, unit: &str) -> String {
    match x.interval {
        Some(i) => format!(" (95 % sure: {} to {}{unit})", digits(i.low), digits(i.high)),
        None => " (too few batches to say how sure)".into(),
    }
}

/// What the impact means, in two sentences.
pub(crate) fn sentences(canary: &Canary<'_>, impact: &Impact) -> [String; 2] {
    let (scale, unit) = canary.isolated.metric.shown();
    let loaded = canary.loaded.expect("an impact needs load");
    let shown = |x: Known| digits(x.value * scale);
    let (average, tail) = (digits(impact.average.value), digits(impact.tail.value));
    let (a0, a1) = (shown(mean(canary.isolated)), shown(mean(loaded)));
    let (t0, t1) = (shown(quantile(canary.isolated, 0.99)), shown(quantile(loaded, 0.99)));
    match canary.isolated.metric.direction() {
        Direction::LowerIsBetter => [
            format!(
                "On average it takes {average} times as long{}: {a1} instead of {a0} {unit}.",
                sure(impact.average, "")
            ),
            format!(
                "One in 100 takes {t1} {unit} or more instead of {t0}, {tail} times as long{}.",
                sure(impact.tail, "")
            ),
        ],
        Direction::HigherIsBetter => [
            format!(
                "On average it gets {a1} instead of {a0} {unit}: the rate is divided by {average}{}.",
                sure(impact.average, "")
            ),
            format!("One in 100 gets {t1} {unit} or less instead of {t0}: divided by {tail}{}.", sure(impact.tail, "")),
        ],
    }
}

fn card(out: &mut String, canary: &Canary<'_>, impact: &Impact) {
    let (level, words) = grade(impact.tail);
    let name = format!("{}: {}", canary.name, gpcnet_title(canary.isolated));
    let [average, tail] = sentences(canary, impact).map(|s| escape(&s));
    let _ = writeln!(
        out,
        "<article class=\"card\"><h3>{}</h3><p class=\"big h{level}\">{}×</p><p><strong class=\"h{level}\">{words}.</strong> \
         {average}</p><p>{tail}</p></article>",
        escape(&name),
        digits(impact.tail.value)
    );
}

fn table(view: &View<'_>, impacts: &[(&Canary<'_>, Impact)]) -> Grid {
    let header = [
        "Test",
        "unit",
        "alone avg",
        "alone 99%",
        "loaded avg",
        "loaded 99%",
        "impact avg",
        "low",
        "high",
        "impact 99%",
        "low",
        "high",
        "drain time, usec",
        "99% / drain time",
    ];
    let mut grid = Grid::new("Values alone and under load; impacts with the ends of their 95 % intervals", &header);
    for (canary, impact) in impacts {
        let (scale, unit) = canary.isolated.metric.shown();
        let loaded = canary.loaded.expect("an impact needs load");
        let values = [mean(canary.isolated), quantile(canary.isolated, 0.99), mean(loaded), quantile(loaded, 0.99)];
        let factor = |x: Known| {
            let (low, high) = x.interval.map_or((f64::NAN, f64::NAN), |i| (i.low, i.high));
            [exact(x.value), exact(low), exact(high)]
        };
        let mut row = vec![canary.name.to_string(), unit.to_string()];
        row.extend(values.map(|x| exact(x.value * scale)));
        row.extend([impact.average, impact.tail].into_iter().flat_map(factor));
        let drain = view.drain_ratio(canary).map_or([f64::NAN; 2], |(drain, ratio)| [drain.seconds * 1e6, ratio]);
        row.extend(drain.map(exact));
        grid.row(row);
    }
    grid
}

/// So many rows are about 70 kB of a page that must stay under 500 kB.
const ROWS: usize = 500;

/// Every measured job, for runs without load and as the last resort of every other run.
pub(crate) fn measured(view: &View<'_>) -> Grid {
    let header = ["Test", "phase", "unit", "avg", "50%", "99%", "99.9%", "worst", "samples", "data"];
    let mut grid = Grid::new("Every measured test", &header);
    view.told().take(ROWS).for_each(|(phase, job)| grid.row(row(&phase.name, job)));
    if grid.rows.len() == ROWS {
        grid.caption = format!("The first {ROWS} of {} measured tests; the CSV format has all", view.told().count());
    }
    grid
}

fn row(phase: &str, job: &JobRecord) -> Vec<String> {
    let (scale, unit) = job.metric.shown();
    let show = |x: f64| exact(x * scale);
    let mut row = vec![job.name.clone(), phase.to_string(), unit.to_string(), show(job.summary.mean)];
    row.extend([0.5, 0.99, 0.999].map(|q| show(quantile(job, q).value)));
    row.extend([show(job.summary.worst), job.summary.samples.to_string(), super::what::verdict(&job.verdict)]);
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Interval;

    #[test]
    fn grades_follow_the_tail_and_never_blame_noise() {
        let known = |value, low, high| Known { value, interval: Some(Interval { low, high }) };
        assert_eq!(grade(known(1.5, 0.9, 2.1)).0, 0);
        assert_eq!(grade(known(1.5, 1.3, 1.7)).0, 1);
        assert_eq!(grade(known(93.0, 80.0, 110.0)).1, "Severe harm");
        assert_eq!(grade(Known { value: 5.0, interval: None }).1, "Clear harm");
        assert_eq!(grade(Known { value: 1.5, interval: None }).1, "Perhaps some harm");
        assert_eq!(grade(Known { value: f64::NAN, interval: None }).1, "Not known");
    }
}
