//! Runs of HPC Challenge beside each other and beside published systems: a table, their balance, and a kiviat diagram.

use super::balance::{SystemBalance, figures};
use super::columns::{COLUMNS, Column, MORE, balance, runs, value};
use crate::grid::{Grid, exact};
use crate::section::{Room, Section};
use crate::svg::kiviat::{Polygon, kiviat};
use crate::table::digits;
use crate::view::View;
use record::RunRecord;
use record::hpcc_systems::{System, published};

/// Lines of the kiviat: six colours, and the same broken.
const CLASSES: [&str; 12] =
    ["s0", "s1", "s2", "s3", "s4", "s5", "s0 dash", "s1 dash", "s2 dash", "s3 dash", "s4 dash", "s5 dash"];

/// The runs of a page beside each other, beside the systems that were named, and beside everything that ships.
pub fn together(views: &[View<'_>], named: &[System]) -> Vec<Section> {
    let runs = runs(views);
    if runs.is_empty() {
        return Vec::new();
    }
    let several = runs.len() + named.len() > 1;
    let mut section = Section::with_room(Room::Page, "HPC Challenge across systems");
    if several {
        section.list(beside(&runs, named));
    }
    let systems: Vec<&System> = published().iter().chain(named.iter().filter(|s| !published().contains(s))).collect();
    let records: Vec<RunRecord> = systems.iter().map(|s| s.record()).collect();
    let views: Vec<View<'_>> = records.iter().map(View::new).collect();
    let theirs = systems.iter().zip(&views);
    let theirs = theirs.map(|(s, view)| SystemBalance { name: s.label(), source: Some(&s.source), view });
    let ours = runs.iter().enumerate();
    let ours = ours.map(|(i, view)| SystemBalance { name: name(i, view), source: None, view });
    figures(&mut section, &theirs.collect::<Vec<_>>(), &ours.collect::<Vec<_>>());
    if several {
        kiviats(&mut section, &runs, named);
    }
    if section.blocks.is_empty() { Vec::new() } else { vec![section] }
}

/// A run among others: its number and how large it was.
fn name(i: usize, view: &View<'_>) -> String {
    let layout = &view.record.layout;
    format!("run {} {} x {}", i + 1, layout.nodes, layout.max_ranks_per_node)
}

/// Runs beside others: the columns of the results page and the balance ratios of each, where any has them. Of a single run the
/// others must have them, or there is nothing to compare.
pub fn beside(runs: &[&View<'_>], systems: &[System]) -> Grid {
    let records: Vec<RunRecord> = systems.iter().map(System::record).collect();
    let others: Vec<View<'_>> = records.iter().map(View::new).collect();
    let mut grid = Grid::new("Beside each other; published systems are rounded as printed", &["Result", "unit"]);
    grid.header.extend((1..=runs.len()).map(|i| if runs.len() == 1 { "this run".into() } else { format!("run {i}") }));
    grid.header.extend(systems.iter().map(System::label));
    let mut add = |name: &str, unit: &str, scale: f64, of: &dyn Fn(&View<'_>) -> Option<f64>| {
        let all: Vec<Option<f64>> = runs.iter().copied().chain(&others).map(of).collect();
        let compared = if runs.len() == 1 { &all[1..] } else { &all[..] };
        if compared.iter().any(Option::is_some) {
            let shown = all.iter().map(|x| x.map_or("-".into(), |x| digits(x * scale)));
            grid.row([name.to_string(), unit.to_string()].into_iter().chain(shown));
        }
    };
    for column in COLUMNS.iter().chain(&MORE) {
        add(column.name, column.unit, column.scale, &|v| value(v, column));
    }
    for (at, ratio) in runs.first().into_iter().flat_map(|v| balance(v)).enumerate() {
        add(ratio.name, ratio.unit, 1.0, &|v| balance(v)[at].value);
    }
    grid
}

/// Each run's share of the best on each axis; 0 where a test did not run.
fn shares(runs: &[&View<'_>]) -> Vec<Vec<f64>> {
    let goodness = |view: &View<'_>, c: &Column| value(view, c).map_or(0.0, |v| if c.lower { 1.0 / v } else { v });
    // Where no run has a test its best is not 0, so that shares are 0 and not 0/0.
    let best: Vec<f64> =
        COLUMNS.iter().map(|c| runs.iter().map(|v| goodness(v, c)).fold(f64::MIN_POSITIVE, f64::max)).collect();
    runs.iter().map(|v| COLUMNS.iter().zip(&best).map(|(c, b)| goodness(v, c) / b).collect()).collect()
}

/// Axes are relative to the best, so a single run would always be a full circle that says nothing.
fn kiviats(section: &mut Section, runs: &[&View<'_>], systems: &[System]) {
    let records: Vec<RunRecord> = systems.iter().map(System::record).collect();
    let others: Vec<View<'_>> = records.iter().map(View::new).collect();
    let names = runs.iter().enumerate().map(|(i, view)| name(i, view));
    let names: Vec<String> = names.chain(systems.iter().map(System::label)).collect();
    let shares = shares(&runs.iter().copied().chain(&others).collect::<Vec<_>>());
    let axes: Vec<String> = COLUMNS.iter().map(|c| c.name.to_string()).collect();
    let mut grid = Grid::new("Share of the best", &["Run"]);
    grid.header.extend(axes.iter().cloned());
    let mut polygons = Vec::new();
    for ((name, shares), class) in names.iter().zip(&shares).zip(CLASSES.into_iter().cycle()) {
        polygons.push(Polygon { class, name, shares });
        grid.row(std::iter::once(name.clone()).chain(shares.iter().map(|s| exact(*s))));
    }
    let about = "One axis per test; the rim is the best of these, latency is inverted. The table has the shares.";
    let pictures = vec![kiviat("Kiviat", about, &axes, &polygons)];
    section.figure("Runs against the best of them on each axis.", pictures, vec![grid]);
}
