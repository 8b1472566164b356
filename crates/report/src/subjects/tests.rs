//! Tests by themselves: the samples of each, and the numbers that kernels give beside them.

use super::{hpcc, impact};
use crate::facts::verdict;
use crate::grid::{Grid, exact};
use crate::known::{mean, quantile};
use crate::merit::{Merit, of_phase};
use crate::section::{Room, Section};
use crate::table::{digits, known};
use crate::view::{View, is_one_of_many};
use record::{About, JobRecord, PhaseRecord};

/// So many rows are about 70 kB of a page that must stay under 500 kB.
const ROWS: usize = 500;

/// The column that takes most samples.
const FAR_TAIL: &str = "99.9%";

/// Tables of tests: those that no other subject tells of, then all, then their named numbers.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let mut all = Vec::new();
    let own: Vec<_> =
        view.sampled().filter(|(p, _)| !view.in_impacts(p) && !is_one_of_many(p) && !in_series(p)).collect();
    if !own.is_empty() {
        // Tests of HPC Challenge have the columns that people know; their samples stand behind those.
        let has_columns = own.iter().all(|(p, _)| matches!(p.about, About::Test { mode: Some(_), .. }))
            && !hpcc::sections(view).is_empty();
        let mut section = Section::with_room(if has_columns { Room::Verbose } else { Room::Terminal }, "Tests");
        if !view.canaries.is_empty() && !impact::is_loaded(view) {
            section.say("Each test ran alone: this says how fast the machine is, not what congestion does to it.");
        }
        section.list(samples("Tests", &own));
        all.push(section);
    }
    if !impact::is_loaded(view) {
        all.extend(impact::tails(view));
    }
    let every: Vec<_> = view.sampled().collect();
    if !every.is_empty() {
        // A document has room for the phases behind a table of impacts, but not for hundreds of points.
        let hidden = every.iter().filter(|(p, _)| view.in_impacts(p)).count();
        let mut section = Section::with_room(if hidden > 0 { Room::Document } else { Room::OwnPage }, "Every test");
        section.list(of_each(&every));
        all.push(section);
    }
    let named = named(view);
    if !named.rows.is_empty() {
        let mut section =
            Section::with_room(Room::OwnPage, "Named numbers of the tests, in seconds, bytes and operations");
        section.list(named);
        all.push(section);
    }
    all
}

/// One of several measurements over time, which have a table of their own.
fn in_series(phase: &PhaseRecord) -> bool {
    matches!(phase.about, About::Series { .. })
}

/// What a test is called: a canary alone by its own name, others by their phases, which tell repetitions apart.
fn name(phase: &PhaseRecord, job: &JobRecord) -> String {
    match &phase.about {
        About::Alone { test } if *test == job.name => test.clone(),
        _ => phase.label(&job.name),
    }
}

fn samples(caption: &str, all: &[(&PhaseRecord, &JobRecord)]) -> Grid {
    let mut grid = Grid::new(caption, &["Test", "unit", "avg", "50%", "99%", FAR_TAIL, "worst block", "samples"]);
    for (phase, job) in all {
        let (scale, unit) = job.metric.shown();
        let mut row = vec![name(phase, job), unit.to_string(), known(mean(job), scale)];
        row.extend([0.5, 0.99, 0.999].map(|q| known(quantile(job, q), scale)));
        row.extend([digits(job.summary.worst * scale), job.summary.samples.to_string()]);
        grid.row(row);
    }
    // A tail that no test has enough samples for is the first to go, and the samples are the last.
    let tail = grid.header.iter().position(|h| h == FAR_TAIL).expect("it is one of them");
    grid.spare = vec!["worst block", "samples"];
    if grid.rows.iter().all(|row| row[tail] == "-") {
        grid.spare.insert(0, FAR_TAIL);
    }
    grid
}

/// Every phase by its label, and whether data arrived as sent.
fn of_each(all: &[(&PhaseRecord, &JobRecord)]) -> Grid {
    let shown = &all[..all.len().min(ROWS)];
    let mut grid = samples("Every test", shown);
    grid.header.push("data".into());
    for (row, (phase, job)) in grid.rows.iter_mut().zip(shown) {
        row[0] = phase.label(&job.name);
        row.push(verdict(job));
    }
    if all.len() > ROWS {
        grid.caption = format!("The first {ROWS} of {} tests; the CSV format has all", all.len());
    }
    grid
}

/// Numbers that kernels give beside their samples.
fn named(view: &View<'_>) -> Grid {
    let mut grid =
        Grid::new("Named numbers of the tests, in seconds, bytes and operations", &["Test", "phase", "name", "value"]);
    for phase in &view.record.phases {
        for job in &phase.jobs {
            for (name, value) in &job.results {
                grid.row([job.name.clone(), phase.name.clone(), name.clone(), exact(*value)]);
            }
        }
    }
    grid
}

/// Figures of merit of canaries that all ran alone, and of tests that are none (HPC Challenge's, for instance) and that no model stands for.
pub fn merits(view: &View<'_>) -> Vec<Merit> {
    let mut all = if impact::is_loaded(view) { Vec::new() } else { impact::of_canaries(view) };
    let alone = |p: &PhaseRecord| matches!(&p.about, About::Alone { test } if view.has_canary(test));
    let of_canary = |p: &PhaseRecord| alone(p) || view.in_impacts(p);
    let phases = view.record.phases.iter().filter(|p| !of_canary(p) && !is_one_of_many(p));
    all.extend(phases.flat_map(|p| of_phase(&view.record.plan.suite, p)));
    all
}
