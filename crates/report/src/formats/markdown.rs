//! Tables for issues, wikis and pull requests.

use crate::grid::Grid;
use crate::table::{digits, known};
use crate::view::{Canary, Known, View, mean, quantile};
use record::JobRecord;
use std::fmt::Write;

pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    let mut out = format!("# {} on {}\n\n", plain(&view.record.plan.suite), plain(&view.machine()));
    let _ = writeln!(out, "**{}**: {}, seed {}\n", view.outcome().word(), view.layout(), view.record.plan.seed);
    let warnings = view.warnings();
    if !warnings.is_empty() {
        out.push_str("> **Read this first**\n");
        warnings.iter().for_each(|w| out.push_str(&format!("> - {}\n", plain(w))));
        out.push('\n');
    }
    if view.canaries.iter().any(|c| c.loaded.is_some()) {
        section(&mut out, "Impact of congestion", &impacts(view));
        out.push_str("Impact is how many times worse a test is under load: 1 is no harm. ± is the 95 % interval. The drain ratio is the loaded 99 % latency over the time one incast needs to drain: 0.4 to 7 is usual without congestion control, below 0.1 with one that works.\n\n");
    }
    let sections = crate::section::sections(view);
    sections.iter().for_each(|s| out.push_str(&s.markdown(plain)));
    crate::hpcc::section(view).iter().for_each(|s| out.push_str(&s.markdown(plain)));
    if sections.is_empty() {
        section(&mut out, "Tests", &measured(view));
    }
    if view.canaries.iter().any(|c| !c.by.is_empty()) {
        section(&mut out, "Impact of each congestor alone on the 99 % value", &matrix(&view.canaries));
    }
    if view.canaries.iter().any(|c| !c.congestors.is_empty()) {
        section(&mut out, "Congestors", &congestors(&view.canaries));
    }
    out.push_str("## What ran\n\n");
    for (name, value) in crate::html::facts(view) {
        let _ = writeln!(out, "- {}: {}", plain(&name), plain(&value));
    }
    let _ = writeln!(out, "\n```sh\n{}\n```", crate::html::command(&view.record.command));
    Ok(out)
}

/// Text that Markdown leaves alone.
fn plain(text: &str) -> String {
    let special = |c: char| matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '#');
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect::<String>().replace('\n', " ")
}

fn section(out: &mut String, title: &str, grid: &Grid) {
    let _ = writeln!(out, "## {title}\n\n{}", grid.markdown());
}

fn factor(x: Option<Known>) -> String {
    x.map_or("-".into(), |x| known(x, 1.0).replacen(' ', "x ", 1) + if x.interval.is_some() { "" } else { "x" })
}

fn impacts(view: &View<'_>) -> Grid {
    let header = [
        "Test",
        "unit",
        "alone avg",
        "alone 99%",
        "loaded avg",
        "loaded 99%",
        "impact avg",
        "impact 99%",
        "drain ratio",
    ];
    let mut grid = Grid::new("", &header);
    for canary in &view.canaries {
        let (scale, unit) = canary.isolated.metric.shown();
        let cells = |job: Option<&JobRecord>| match job {
            Some(job) => [known(mean(job), scale), known(quantile(job, 0.99), scale)],
            None => ["-".into(), "-".into()],
        };
        let impact = canary.impact();
        let mut row = vec![canary.name.to_string(), unit.to_string()];
        row.extend(cells(Some(canary.isolated)));
        row.extend(cells(canary.loaded));
        row.extend([factor(impact.map(|i| i.average)), factor(impact.map(|i| i.tail))]);
        row.push(view.drain_ratio(canary).map_or("-".into(), |(_, ratio)| digits(ratio)));
        grid.row(row);
    }
    grid
}

fn measured(view: &View<'_>) -> Grid {
    let mut grid = Grid::new("", &["Phase", "test", "unit", "avg", "50%", "99%", "99.9%", "samples"]);
    for (phase, job) in view.told() {
        let (scale, unit) = job.metric.shown();
        let mut row = vec![phase.name.clone(), job.name.clone(), unit.to_string(), known(mean(job), scale)];
        row.extend([0.5, 0.99, 0.999].map(|q| known(quantile(job, q), scale)));
        row.push(job.summary.samples.to_string());
        grid.row(row);
    }
    grid
}

fn matrix(canaries: &[Canary<'_>]) -> Grid {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in canaries.iter().flat_map(|c| &c.by) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let header: Vec<&str> = std::iter::once("Test").chain(names.iter().copied()).collect();
    let mut grid = Grid::new("", &header);
    for canary in canaries {
        let cell = |name: &&str| {
            let job = canary.by.iter().find(|(n, _)| n == name).map(|(_, job)| *job);
            factor(job.and_then(|job| canary.impact_of(job)).map(|i| i.tail))
        };
        grid.row(std::iter::once(canary.name.to_string()).chain(names.iter().map(cell)));
    }
    grid
}

fn congestors(canaries: &[Canary<'_>]) -> Grid {
    let mut grid = Grid::new("", &["Congestor", "during", "GB/s in all"]);
    for canary in canaries {
        for job in canary.congestors.iter().filter(|j| j.elapsed_s > 0.0) {
            let rate = job.bytes as f64 / job.elapsed_s * 1e-9;
            grid.row([job.name.clone(), canary.name.to_string(), digits(rate)]);
        }
    }
    grid
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_stays_text() {
        assert_eq!(super::plain("a_b <c> `d`\n#"), "a\\_b \\<c> \\`d\\` \\#");
    }
}
