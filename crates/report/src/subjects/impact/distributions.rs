//! The samples themselves: alone against loaded (the paper's Figures 1 to 3) and under each congestor (Figures 4 and 5).

use crate::grid::{Grid, exact};
use crate::known::{mean, quantile};
use crate::section::{Room, Section};
use crate::svg::density::log_density;
use crate::svg::rows::{Rows, Words};
use crate::svg::tail::{Line, ONE_IN_A_HUNDRED, tail_of, tails};
use crate::svg::{Scale, Svg};
use crate::table::digits;
use crate::view::{Canary, gpcnet_title};
use record::JobRecord;

/// Pictures of samples, for pages.
pub fn sections(canaries: &[Canary<'_>]) -> Vec<Section> {
    let mut all = Vec::new();
    let canaries: Vec<&Canary<'_>> = canaries.iter().filter(|c| !c.isolated.samples.is_empty()).collect();
    if canaries.is_empty() {
        return all;
    }
    let loaded = canaries.iter().any(|c| c.loaded.is_some());
    let (pictures, numbers): (Vec<Option<Svg>>, Vec<Grid>) = canaries.iter().map(|c| tail(c)).unzip();
    let pictures: Vec<Svg> = pictures.into_iter().flatten().collect();
    let mut section = Section::with_room(Room::Page, if loaded { "Tails alone and under load" } else { "Tails" });
    let dots = if canaries.iter().any(|c| c.isolated.placements.len() > 1) { " Dots: each placement." } else { "" };
    let caption = format!(
        "How many samples are worse than a value: the further right a curve of latencies (or left, of rates), the worse. Dashed: 1 in 100.{dots}"
    );
    section.figure(&caption, pictures, numbers);
    all.push(section);
    let by: Vec<&Canary<'_>> = canaries.into_iter().filter(|c| !c.by.is_empty()).collect();
    if !by.is_empty() {
        let mut section = Section::with_room(Room::Page, "Distributions under each congestor");
        let (pictures, numbers) = by.iter().map(|c| violins(c)).unzip();
        section.figure(
            "Densities of the samples, computed in the logarithm; the strokes are the median and the 99 % value.",
            pictures,
            numbers,
        );
        all.push(section);
    }
    all
}

/// The samples of a job in the unit shown.
fn values(job: &JobRecord) -> Vec<(f64, f64, u64)> {
    let (scale, _) = job.metric.shown();
    job.samples.buckets(job.metric).into_iter().map(|(low, high, n)| (low * scale, high * scale, n)).collect()
}

/// The quantity and unit along the axis.
pub(super) fn axis(job: &JobRecord) -> String {
    let (_, unit) = job.metric.shown();
    let quantity = match job.metric {
        record::Metric::Latency => "time of an exchange",
        record::Metric::Duration => "time",
        record::Metric::Bandwidth => "bandwidth",
        record::Metric::Updates => "updates",
        record::Metric::Flops => "floating-point rate",
    };
    format!("{quantity} [{unit}]")
}

/// The span of values above 0 of several jobs.
fn span(jobs: &[&JobRecord]) -> (f64, f64) {
    let edges = jobs.iter().flat_map(|j| values(j)).filter(|v| v.1 > 0.0);
    let (low, high) = edges.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), (a, b, _)| {
        // A bucket that begins at 0 has no logarithm there; its middle stands for it, as in `log_bins`.
        (low.min(if a > 0.0 { a } else { b / 2.0 }), high.max(b))
    });
    if low <= high && high > 0.0 { (low, high) } else { (1.0, 10.0) }
}

/// The tails of a canary alone and under load, what each placement's worst hundredth begins at, and the numbers.
fn tail(canary: &Canary<'_>) -> (Option<Svg>, Grid) {
    let jobs: Vec<(&str, &'static str, &JobRecord)> = std::iter::once(("alone", "s0", canary.isolated))
        .chain(canary.loaded.filter(|j| !j.samples.is_empty()).map(|j| ("loaded", "s1", j)))
        .collect();
    let line = |(name, class, job): &(&str, &'static str, &JobRecord)| Line {
        class,
        name: name.to_string(),
        tail: tail_of(job),
    };
    let lines: Vec<Line<'_>> = jobs.iter().map(line).collect();
    let title = format!("{}: {}", canary.name, gpcnet_title(canary.isolated));
    let about = jobs.iter().map(|(name, _, job)| {
        let (scale, unit) = job.metric.shown();
        let [average, tail] = [mean(job).value, quantile(job, 0.99).value].map(|x| digits(x * scale));
        format!("{name}: average {average}, 99 % {tail} {unit}, {} samples", job.summary.samples)
    });
    let about = format!("Share of samples that are worse than a value. {}.", about.collect::<Vec<_>>().join("; "));
    let numbers = numbers(canary, &jobs);
    // Samples that took no time have no place on a logarithmic axis.
    let Some(mut frame) = tails(&title, &about, &axis(canary.isolated), &lines) else { return (None, numbers) };
    for (name, class, job) in &jobs {
        let (scale, unit) = job.metric.shown();
        for placement in job.placements.iter().filter(|_| job.placements.len() > 1) {
            let Some(tail) = placement.summary.quantile(0.99).map(|q| q.value * scale).filter(|v| *v > 0.0) else {
                continue;
            };
            let tip = format!(
                "{name}, placement {}: 1 in 100 is worse than {} {unit}",
                placement.placement + 1,
                digits(tail)
            );
            frame.dot(&format!("{class} open"), (tail, ONE_IN_A_HUNDRED), None, &tip);
        }
    }
    let legend: Vec<(&str, &str)> = jobs.iter().map(|(name, class, _)| (*class, *name)).collect();
    let right = crate::svg::WIDTH - 12.0 - 62.0 * jobs.len() as f64;
    frame.svg.legend((right, 14.0), &legend);
    frame.svg.text("value", (8.0, 14.0), crate::svg::Anchor::Start, canary.name);
    (Some(frame.svg), numbers)
}

/// What is worse in one of 2, 10, 100, ... samples.
fn numbers(canary: &Canary<'_>, jobs: &[(&str, &'static str, &JobRecord)]) -> Grid {
    let (scale, unit) = canary.isolated.metric.shown();
    let mut header = vec!["share that is worse".to_string()];
    header.extend(jobs.iter().map(|(name, ..)| format!("{name} [{unit}]")));
    header.push("times worse".into());
    let mut grid = Grid { caption: format!("{}: the tail", canary.name), header, ..Grid::default() };
    for one_in in [2u32, 10, 100, 1000, 10_000, 100_000] {
        let q = 1.0 - 1.0 / f64::from(one_in);
        let known = |job: &JobRecord| {
            // Ten samples beyond it, or it is the place of a few.
            let enough = job.samples.len() as f64 / f64::from(one_in) >= record::placement::BEYOND;
            enough.then(|| job.samples.quantile(job.metric, job.metric.tail(q)))
        };
        let values: Vec<Option<f64>> = jobs.iter().map(|(_, _, job)| known(job)).collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let shown = |v: &Option<f64>| v.map_or("-".to_string(), |v| exact(v * scale));
        let times = match values.as_slice() {
            [Some(alone), Some(loaded)] => digits(canary.isolated.metric.impact(*alone, *loaded)),
            _ => "-".into(),
        };
        let mut row = vec![format!("1 in {one_in}")];
        row.extend(values.iter().map(shown));
        row.push(times);
        grid.row(row);
    }
    grid
}

/// Alone, under each congestor, under all.
fn lines<'a>(canary: &Canary<'a>) -> Vec<(String, &'static str, &'a JobRecord)> {
    std::iter::once(("alone".to_string(), "s0", canary.isolated))
        .chain(canary.by.iter().map(|(name, job)| (name.to_string(), "s4", *job)))
        .chain(canary.loaded.map(|job| ("all".to_string(), "s1", job)))
        .filter(|(_, _, job)| !job.samples.is_empty())
        .collect()
}

fn violins(canary: &Canary<'_>) -> (Svg, Grid) {
    let lines = lines(canary);
    let (low, high) = span(&lines.iter().map(|l| l.2).collect::<Vec<_>>());
    let names: Vec<(String, &str)> = lines.iter().map(|l| (l.0.clone(), "")).collect();
    let (scale, unit) = canary.isolated.metric.shown();
    let caption = format!("{} under each congestor", canary.name);
    let mut grid = Grid::new(
        &format!("{caption} [{unit}]"),
        &["Load", "avg", "50%", "99%", "99.9%", "impact avg", "impact 99%", "samples"],
    );
    for (name, _, job) in &lines {
        let impact = canary.impact_of(job);
        let mut row = vec![name.clone(), exact(mean(job).value * scale)];
        row.extend([0.5, 0.99, 0.999].map(|q| exact(quantile(job, q).value * scale)));
        row.extend(impact.map_or(["-".into(), "-".into()], |i| [exact(i.average.value), exact(i.tail.value)]));
        row.push(job.summary.samples.to_string());
        grid.row(row);
    }
    let about = lines.iter().map(|(name, _, job)| {
        format!(
            "{name}: median {}, 99 % {}",
            digits(quantile(job, 0.5).value * scale),
            digits(quantile(job, 0.99).value * scale)
        )
    });
    let about = format!("Violins, in {unit}. {}.", about.collect::<Vec<_>>().join("; "));
    let words = Words { title: &caption, about: &about, axis: &axis(canary.isolated) };
    let mut rows = Rows::new(words, Scale::log(low, high), &names, 30.0);
    for (row, (_, class, job)) in lines.iter().enumerate() {
        let marks = [0.5, 0.99].map(|q| quantile(job, q).value * scale);
        rows.violin(row, class, &log_density(values(job)), &marks);
    }
    rows.svg.text("value", (8.0, 14.0), crate::svg::Anchor::Start, canary.name);
    (rows.svg, grid)
}
