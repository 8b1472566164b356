//! The samples themselves: alone against loaded (the paper's Figures 1 to 3) and under each congestor (Figures 4 and 5).

use crate::grid::{Grid, exact};
use crate::known::{mean, quantile};
use crate::section::{Room, Section};
use crate::svg::density::{LogBins, log_bins, log_density};
use crate::svg::frame::{Axis, Frame};
use crate::svg::rows::{Rows, Words};
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
    let title = if loaded { "Distributions alone and under load" } else { "Distributions" };
    let mut section = Section::with_room(Room::Page, title);
    let (pictures, numbers) = canaries.iter().map(|c| histogram(c)).unzip();
    section.figure(
        "How often each value was seen. Both axes are logarithmic, so rare values of the tail can be seen; bins are equally wide \
         in the logarithm. Dashed: what 99 of 100 samples are no worse than.",
        pictures,
        numbers,
    );
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
fn axis(job: &JobRecord) -> String {
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

fn histogram(canary: &Canary<'_>) -> (Svg, Grid) {
    let jobs: Vec<(&str, &str, &JobRecord)> = std::iter::once(("alone", "s0", canary.isolated))
        .chain(canary.loaded.filter(|j| !j.samples.is_empty()).map(|j| ("loaded", "s1", j)))
        .collect();
    let (low, high) = span(&jobs.iter().map(|j| j.2).collect::<Vec<_>>());
    // About 56 bins over the width of the picture. At 200 a decade a bin is 1.2 % wide, more than the 0.1 % of histograms.
    let per_decade = (56.0 / (high / low).log10().max(0.1)).clamp(8.0, 200.0).round();
    let bins: Vec<LogBins> = jobs.iter().map(|j| log_bins(values(j.2), per_decade)).collect();
    let share = |bins: &LogBins, count: u64| count as f64 / bins.total as f64;
    let shares = bins.iter().flat_map(|b| b.bins.iter().map(|x| share(b, x.2)));
    let (least, most) = shares.fold((1.0, 0.0), |(a, b): (f64, f64), s| (a.min(s), b.max(s)));
    // Half a decade of room below, so that a bin with a single sample is still a visible step.
    let y = Scale::log(least.min(most) / 3.0, most * 8.0);
    let title = format!("{}: {}", canary.name, gpcnet_title(canary.isolated));
    let label = axis(canary.isolated);
    let about = jobs.iter().map(|(name, _, job)| {
        let (scale, unit) = job.metric.shown();
        let [average, tail] = [mean(job).value, quantile(job, 0.99).value].map(|x| digits(x * scale));
        format!("{name}: average {average}, 99 % {tail} {unit}, {} samples", job.summary.samples)
    });
    let about = format!("Histogram. {}.", about.collect::<Vec<_>>().join("; "));
    let x = Axis { scale: Scale::log(low, high), label: &label, percent: false };
    let y = Axis { scale: y, label: "share of samples", percent: true };
    let mut frame = Frame::new(&title, &about, 250.0, x, y);
    for ((_, class, _), bins) in jobs.iter().zip(&bins) {
        let steps: Vec<(f64, f64, f64)> = bins.bins.iter().map(|&(a, b, n)| (a, b, share(bins, n))).collect();
        frame.steps(class, &steps);
    }
    for (row, (name, class, job)) in jobs.iter().enumerate() {
        let (scale, _) = job.metric.shown();
        let tail = quantile(job, 0.99).value * scale;
        frame.rule(class, tail, &format!("{name} 99%: {}", digits(tail)), row);
    }
    let legend: Vec<(&str, &str)> = jobs.iter().map(|(name, class, _)| (*class, *name)).collect();
    let right = crate::svg::WIDTH - 12.0 - 62.0 * jobs.len() as f64;
    frame.svg.legend((right, 14.0), &legend);
    frame.svg.text("value", (8.0, 14.0), crate::svg::Anchor::Start, canary.name);
    (frame.svg, numbers(canary, &jobs, &bins))
}

fn numbers(canary: &Canary<'_>, jobs: &[(&str, &str, &JobRecord)], bins: &[LogBins]) -> Grid {
    let (_, unit) = canary.isolated.metric.shown();
    let mut header = vec![format!("from [{unit}]"), format!("to [{unit}]")];
    header.extend(jobs.iter().map(|(name, ..)| format!("{name}: samples")));
    let mut grid = Grid { caption: format!("{}: samples in each bin", canary.name), header, rows: Vec::new() };
    let mut edges: Vec<(f64, f64)> = bins.iter().flat_map(|b| b.bins.iter().map(|x| (x.0, x.1))).collect();
    edges.sort_by(|a, b| a.0.total_cmp(&b.0));
    edges.dedup();
    for (low, high) in edges {
        // Edges are computed from the same whole numbers for every job, so equal bins have equal edges to the bit.
        let count = |b: &LogBins| b.bins.iter().find(|x| x.0 == low).map_or(0, |x| x.2).to_string();
        grid.row([exact(low), exact(high)].into_iter().chain(bins.iter().map(count)));
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
