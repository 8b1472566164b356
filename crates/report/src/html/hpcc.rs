//! HPC Challenge on a page: its tables, its balance beside published systems, and, with several runs, their kiviat diagram.

use super::Page;
use crate::grid::{Grid, exact};
use crate::hpcc::{COLUMNS, beside, name, ratios, results, runs, shares};
use crate::svg::kiviat::{Polygon, kiviat};
use crate::view::View;
use record::RunRecord;
use record::hpcc_systems::System;

/// Lines of the kiviat: six colours, and the same broken.
const CLASSES: [&str; 12] =
    ["s0", "s1", "s2", "s3", "s4", "s5", "s0 dash", "s1 dash", "s2 dash", "s3 dash", "s4 dash", "s5 dash"];

pub(super) fn write(page: &mut Page, views: &[View<'_>], systems: &[System]) {
    let runs = runs(views);
    if runs.is_empty() {
        return;
    }
    page.section("HPC Challenge");
    page.table(&results(&runs));
    let ratios = ratios(&runs);
    if !ratios.rows.is_empty() {
        page.say("Balance: what the memory and the network offer for each floating-point operation of HPL, and what a ring in which all ranks talk at once leaves of a ping-pong between two.");
        page.table(&ratios);
    }
    if !systems.is_empty() {
        page.table(&beside(&runs, systems));
    }
    super::balance::write(page, &runs, systems);
    kiviats(page, &runs, systems);
}

/// Axes are relative to the best, so a single run would always be a full circle that says nothing.
fn kiviats(page: &mut Page, runs: &[&View<'_>], systems: &[System]) {
    if runs.len() + systems.len() < 2 {
        return;
    }
    let records: Vec<RunRecord> = systems.iter().map(System::record).collect();
    let others: Vec<View<'_>> = records.iter().map(View::new).collect();
    let names = runs.iter().enumerate().map(|(i, view)| name(i, view));
    let names: Vec<String> = names.chain(systems.iter().map(System::label)).collect();
    let shares = shares(&runs.iter().copied().chain(&others).collect::<Vec<_>>());
    let polygons: Vec<Polygon<'_>> = shares
        .iter()
        .zip(&names)
        .zip(CLASSES.into_iter().cycle())
        .map(|((shares, name), class)| Polygon { class, name, shares })
        .collect();
    let axes: Vec<String> = COLUMNS.iter().map(|c| c.name.to_string()).collect();
    let about = "One axis per test; the rim is the best of these, latency is inverted. The table has the shares.";
    let mut grid = Grid { caption: "Share of the best".into(), ..Grid::default() };
    grid.header = std::iter::once("Run".to_string()).chain(axes.iter().cloned()).collect();
    for (name, shares) in names.iter().zip(&shares) {
        grid.row(std::iter::once(name.clone()).chain(shares.iter().map(|s| exact(*s))));
    }
    let caption = "Runs against the best of them on each axis.";
    page.figure(caption, vec![kiviat("Kiviat", about, &axes, &polygons)], &[grid]);
}
