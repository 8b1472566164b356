//! What congestion does to a test: alone against loaded, each congestor alone, and what the congestors moved meanwhile.

mod distributions;
mod glance;
mod placements;
mod side;
mod systems;

use crate::grid::Grid;
use crate::known::{Known, mean, quantile};
use crate::merit::Merit;
use crate::section::{Block, Headline, Room, Section};
use crate::svg::heat::{Heat, heat};
use crate::svg::rows::{Rows, Words};
use crate::svg::{Scale, Svg};
use crate::table::{digits, factor, gigabytes_per_s, known, rounded};
use crate::view::{Canary, Impact, View, gpcnet_title};
pub use glance::glance;
use record::{Direction, JobRecord, Metric};
pub use systems::across as together;

/// The sections of a record with tests that ran alone.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let mut all = Vec::new();
    all.extend(impacts(view));
    all.extend(placements::section(&view.canaries));
    all.extend(matrix(&view.canaries));
    all.extend(throughput(&view.canaries));
    if is_loaded(view) {
        all.extend(tails(view));
    }
    all
}

/// So many canaries have a card each; more have the table only.
const CARDS: usize = 8;

/// Whether any canary ran under load. Without, canaries are tests like others, and that subject tells of them.
pub fn is_loaded(view: &View<'_>) -> bool {
    view.canaries.iter().any(|c| c.loaded.is_some())
}

/// Pictures of the samples of canaries.
pub fn tails(view: &View<'_>) -> Vec<Section> {
    distributions::sections(&view.canaries)
}

fn impacts(view: &View<'_>) -> Option<Section> {
    if !is_loaded(view) {
        return None;
    }
    let mut section = Section::new("Impact of congestion");
    glance::answer(view).into_iter().for_each(|sentence| section.say(sentence));
    // A card for each size of a sweep would stand before the table that people know.
    if view.canaries.len() <= CARDS {
        section.blocks.push(Block::Headlines(view.canaries.iter().filter_map(headline).collect()));
    }
    section.list(table(&view.canaries));
    section.say("Impact is how many times worse a test is under load: 1 is no harm. 99% is what 99 of 100 samples are no worse than.");
    match (view.record.plan.placements, placements::range(&view.canaries)) {
        (n, Some(grid)) => {
            section.say(format!(
                "± is the 95% confidence interval of the geometric mean over {n} random placements of roles on nodes, from their spread."
            ));
            section.list(grid);
        }
        (_, None) => section.say(
            "This placement only: with other nodes for the roles the numbers differ, often by more than the ±, which is the 95% \
             confidence interval from the spread between batches of blocks within it. --placements covers several.",
        ),
    }
    if view.canaries.iter().any(|c| few(c)) {
        section.say(format!(
            "A dash stands where fewer than {} samples lie beyond a quantile.",
            record::placement::BEYOND
        ));
    }
    drain(&mut section, view);
    Some(section)
}

/// Whether some tail of a test is not known for want of samples.
fn few(canary: &Canary<'_>) -> bool {
    let jobs = std::iter::once(canary.isolated).chain(canary.loaded);
    jobs.filter(|j| j.summary.samples > 0).any(|j| !j.tells_quantile(0.99))
}

fn table(canaries: &[Canary<'_>]) -> Grid {
    let header =
        ["Test", "unit", "alone: avg", "alone: 99%", "loaded: avg", "loaded: 99%", "impact: avg", "impact: 99%"];
    let mut grid = Grid::new("Impact of congestion on each test", &header);
    let nothing = || ["-".to_string(), "-".to_string()];
    for canary in canaries {
        let (scale, unit) = canary.isolated.metric.shown();
        let cells = |job: &JobRecord| [known(mean(job), scale), known(quantile(job, 0.99), scale)];
        let mut row = vec![canary.name.to_string(), unit.to_string()];
        row.extend(cells(canary.isolated));
        row.extend(canary.loaded.map_or_else(nothing, cells));
        row.extend(canary.impact().map_or_else(nothing, |i| [factor(i.average), factor(i.tail)]));
        grid.row(row);
    }
    grid
}

/// How loaded latencies compare with the time that an incast needs to drain.
fn drain(section: &mut Section, view: &View<'_>) {
    let mut found = None;
    let mut ratios = Vec::new();
    for canary in &view.canaries {
        let Some((drain, ratio)) = view.drain_ratio(canary) else { continue };
        found = found.or(Some(drain));
        ratios.push(format!("{} times that for {}", digits(ratio), canary.name));
    }
    let Some(drain) = found else { return };
    section.say(format!(
        "Drain time of one incast: {} us at {} GB/s into its root ({}). The loaded 99% is {}.",
        digits(drain.seconds * 1e6),
        digits(drain.ejection * 1e-9),
        if drain.given { "given" } else { "measured" },
        ratios.join(", ")
    ));
    section.say("Impacts grow with the machine, this ratio does not: 0.4 to 7 is usual without congestion control, below 0.1 with one that works.");
}

/// The grade of the average, or of the tail where that is worse.
fn worse(impact: &Impact) -> (usize, String) {
    let (average, tail) = (grade(impact.average), grade(impact.tail));
    // A tail that is not known does not make the average unknown.
    match impact.tail.value.is_finite() && tail.0 > average.0 {
        true => (tail.0, format!("{} in the tail", tail.1)),
        false => (average.0, average.1.into()),
    }
}

/// Four grades by how much worse something is; a factor of 10 is where tails of the paper's systems without congestion control begin.
fn grade(impact: Known) -> (usize, &'static str) {
    match impact.value {
        // First, because no comparison holds for it and it would end as severe harm.
        x if x.is_nan() => (2, "Not known"),
        _ if impact.interval.is_some_and(|i| i.contains(1.0)) => (0, "No harm that the data show"),
        x if x <= 1.1 => (0, "No harm that matters"),
        // A small factor that nobody can say how sure it is may as well be noise.
        x if x <= 2.0 && impact.interval.is_none() => (1, "Perhaps some harm"),
        x if x <= 2.0 => (1, "Some harm"),
        x if x <= 10.0 => (2, "Clear harm"),
        _ => (3, "Severe harm"),
    }
}

fn sure(x: Known) -> String {
    match x.interval {
        Some(i) => {
            let end = |value| rounded(Known { value, interval: x.interval }, 1.0);
            format!(" (95 % sure: {} to {})", end(i.low), end(i.high))
        }
        None => " (too few batches to say how sure)".into(),
    }
}

fn headline(canary: &Canary<'_>) -> Option<Headline> {
    let impact = canary.impact()?;
    let (level, grade) = worse(&impact);
    Some(Headline {
        title: format!("{}: {}", canary.name, gpcnet_title(canary.isolated)),
        // What the first sentence below it is about.
        number: format!("{}×", rounded(impact.average, 1.0)),
        level,
        grade,
        sentences: sentences(canary, canary.loaded?, &impact),
    })
}

/// What the impact means, in two sentences.
fn sentences(canary: &Canary<'_>, loaded: &JobRecord, impact: &Impact) -> [String; 2] {
    let (scale, unit) = canary.isolated.metric.shown();
    let shown = |x: Known| rounded(x, scale);
    let (average, tail) = (rounded(impact.average, 1.0), rounded(impact.tail, 1.0));
    let (a0, a1) = (shown(mean(canary.isolated)), shown(mean(loaded)));
    let (t0, t1) = (shown(quantile(canary.isolated, 0.99)), shown(quantile(loaded, 0.99)));
    let (sure_a, sure_t) = (sure(impact.average), sure(impact.tail));
    match canary.isolated.metric.direction() {
        Direction::LowerIsBetter => [
            format!("On average it takes {average} times as long{sure_a}: {a1} instead of {a0} {unit}."),
            format!("One in 100 takes {t1} {unit} or more instead of {t0}, {tail} times as long{sure_t}."),
        ],
        Direction::HigherIsBetter => [
            format!("On average it gets {a1} instead of {a0} {unit}: the rate is divided by {average}{sure_a}."),
            format!("One in 100 gets {t1} {unit} or less instead of {t0}: divided by {tail}{sure_t}."),
        ],
    }
}

/// Impact of each congestor alone: victims down, aggressors across.
fn matrix(canaries: &[Canary<'_>]) -> Option<Section> {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in canaries.iter().flat_map(|c| &c.by) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return None;
    }
    let mut header = vec!["Test"];
    header.extend(&names);
    header.push("all");
    let (mut average, mut tail) = (Grid::new("Impact, average", &header), Grid::new("Impact, 99%", &header));
    let mut cells = Vec::new();
    for canary in canaries {
        let under = |name: &&str| canary.by.iter().find(|(n, _)| n == name).and_then(|(_, job)| canary.impact_of(job));
        let mut row: Vec<Option<Impact>> = names.iter().map(under).collect();
        row.push(canary.impact());
        let shown = |pick: fn(Impact) -> Known| {
            let texts = row.iter().map(move |i| i.map_or("-".into(), |i| factor(pick(i))));
            std::iter::once(canary.name.to_string()).chain(texts)
        };
        average.row(shown(|i| i.average));
        tail.row(shown(|i| i.tail));
        // A rate of 0 under load gives an infinite impact, which no scale of colours holds.
        let finite = row.iter().map(|i| i.map(|i| i.tail.value).filter(|x| x.is_finite()));
        cells.push(finite.map(|x| x.map(|x| (x, format!("{}×", digits(x))))).collect());
    }
    let rows: Vec<String> = canaries.iter().map(|c| c.name.to_string()).collect();
    let about = "One cell per test and congestor; the stronger its colour, the larger the impact.";
    let drawn = Heat { rows: &rows, columns: &tail.header[1..], cells: &cells };
    let picture = heat("Impact of each congestor", about, &drawn, 1.0);
    let mut section = Section::new("Each congestor alone");
    section.list(average);
    section.figure(
        "How many times worse the worst 1 % of a test (row) is under one congestor (column), and under all.",
        vec![picture],
        vec![tail],
    );
    Some(section)
}

/// What the congestors moved while a test was measured.
fn throughput(canaries: &[Canary<'_>]) -> Option<Section> {
    let mut grid = Grid::new("What the congestors moved", &["Congestor", "during", "MiB/s/rank", "GB/s in all"]);
    let mut bars = Vec::new();
    for canary in canaries {
        for job in &canary.congestors {
            let (scale, _) = job.metric.shown();
            // What it moved in its time: the mean of the rates of its steps is more, because short steps have high rates.
            let each = job.bytes as f64 / job.elapsed_s / f64::from(job.ranks.max(1));
            let average = if job.metric == Metric::Bandwidth { digits(each * scale) } else { "-".into() };
            let rate = gigabytes_per_s(job.bytes, job.elapsed_s);
            grid.row([job.name.clone(), canary.name.to_string(), average, rate]);
            if job.elapsed_s > 0.0 {
                bars.push((format!("{} / {}", job.name, canary.name), job.bytes as f64 / job.elapsed_s * 1e-9));
            }
        }
    }
    if grid.rows.is_empty() {
        return None;
    }
    let mut section = Section::with_room(Room::Verbose, "What the congestors moved");
    section.figure(
        "Bytes sent by each congestor in a second, all its ranks together, while a test was measured.",
        vec![bars_of(&bars)],
        vec![grid],
    );
    Some(section)
}

fn bars_of(bars: &[(String, f64)]) -> Svg {
    let most = bars.iter().map(|b| b.1).fold(0.0, f64::max);
    let names: Vec<(String, &str)> = bars.iter().map(|b| (b.0.clone(), "")).collect();
    let about = "One row per congestor and test measured meanwhile; the table has the numbers.";
    let words = Words { title: "Throughput of congestors", about, axis: "GB/s in all" };
    // A scale needs a span even where no congestor moved anything.
    let mut rows = Rows::new(words, Scale::linear(0.0, if most > 0.0 { most } else { 1.0 }), &names, 17.0);
    for (row, (name, rate)) in bars.iter().enumerate() {
        rows.dot(row, 0.0, "s1", *rate, Some((0.0, *rate)), &format!("{name}: {} GB/s", digits(*rate)));
    }
    rows.svg
}

/// Figures of merit of canaries, where some ran under load.
pub fn merits(view: &View<'_>) -> Vec<Merit> {
    if is_loaded(view) { of_canaries(view) } else { Vec::new() }
}

/// Figures of merit of canaries.
pub fn of_canaries(view: &View<'_>) -> Vec<Merit> {
    let mut all = Vec::new();
    for canary in &view.canaries {
        of_canary(&mut all, view, canary);
    }
    all
}

fn of_canary(all: &mut Vec<Merit>, view: &View<'_>, canary: &Canary<'_>) {
    let name = format!("{}.{}", view.record.plan.suite, canary.name);
    of_job(all, &format!("{name}.isolated"), canary.isolated);
    if let Some(loaded) = canary.loaded {
        of_job(all, &format!("{name}.loaded"), loaded);
    }
    if let Some(impact) = canary.impact() {
        all.push(Merit::factor(format!("{name}.impact"), impact.average));
        all.push(Merit::factor(format!("{name}.impact99"), impact.tail));
        all.push(Merit::factor(format!("{name}.impact99_over_avg"), impact.tail_over_average));
    }
    if let Some((drain, ratio)) = view.drain_ratio(canary) {
        let (better, known) = (Direction::LowerIsBetter, Known::bare(drain.seconds * 1e6));
        all.push(Merit { name: format!("{name}.drain_time"), known, unit: "usec", better });
        all.push(Merit::factor(format!("{name}.drain_ratio99"), Known::bare(ratio)));
    }
    for (congestor, job) in &canary.by {
        if let Some(impact) = canary.impact_of(job) {
            all.push(Merit::factor(format!("{name}.by.{congestor}.impact"), impact.average));
            all.push(Merit::factor(format!("{name}.by.{congestor}.impact99"), impact.tail));
        }
    }
}

fn of_job(all: &mut Vec<Merit>, name: &str, job: &JobRecord) {
    if job.summary.samples > 0 {
        for (label, x) in [("avg", mean(job)), ("p99", quantile(job, 0.99)), ("p99.9", quantile(job, 0.999))] {
            all.push(Merit::of_samples(format!("{name}.{label}"), job, x));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Interval;

    #[test]
    fn grades_follow_the_worse_and_never_blame_noise() {
        let known = |value, low, high| Known { value, interval: Some(Interval { low, high }) };
        assert_eq!(grade(known(1.5, 0.9, 2.1)).0, 0);
        assert_eq!(grade(known(1.5, 1.3, 1.7)).0, 1);
        assert_eq!(grade(known(93.0, 80.0, 110.0)).1, "Severe harm");
        assert_eq!(grade(Known::bare(5.0)).1, "Clear harm");
        assert_eq!(grade(Known::bare(1.5)).1, "Perhaps some harm");
        assert_eq!(grade(Known::bare(f64::NAN)).1, "Not known");
        let impact = |average, tail| Impact { average, tail, tail_over_average: tail };
        assert_eq!(
            worse(&impact(known(1.05, 1.02, 1.08), known(30.0, 20.0, 40.0))),
            (3, "Severe harm in the tail".into())
        );
        assert_eq!(worse(&impact(known(5.0, 4.0, 6.0), known(9.0, 8.0, 10.0))), (2, "Clear harm".into()));
        assert_eq!(worse(&impact(known(5.0, 4.0, 6.0), Known::bare(f64::NAN))), (2, "Clear harm".into()));
    }
}
