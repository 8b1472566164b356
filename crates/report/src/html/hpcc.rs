//! HPC Challenge on a page: its tables, what a ring leaves of a ping-pong, and, with several runs, their kiviat diagram.

use super::Page;
use crate::grid::{Grid, exact};
use crate::hpcc::{COLUMNS, ratios, results, runs, shares};
use crate::svg::kiviat::{Polygon, kiviat};
use crate::view::View;

pub(super) fn write(page: &mut Page, views: &[View<'_>]) {
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
    super::rings::write(page, &runs);
    let names: Vec<String> = (1..=runs.len()).map(|i| format!("run {i}")).collect();
    // Axes are relative to the best run, so a single run would always be a full circle that says nothing.
    if runs.len() > 1 {
        let shares = shares(&runs);
        let polygons: Vec<Polygon<'_>> = shares
            .iter()
            .zip(&names)
            .zip(["s0", "s1", "s2", "s3", "s4", "s5"].into_iter().cycle())
            .map(|((shares, name), class)| Polygon { class, name, shares })
            .collect();
        let axes: Vec<String> = COLUMNS.iter().map(|c| c.name.to_string()).collect();
        let about =
            "One axis per test; the rim is the best of these runs, latency is inverted. The table has the shares.";
        let mut grid = Grid { caption: "Share of the best run".into(), ..Grid::default() };
        grid.header = std::iter::once("Run".to_string()).chain(axes.iter().cloned()).collect();
        for (name, shares) in names.iter().zip(&shares) {
            grid.row(std::iter::once(name.clone()).chain(shares.iter().map(|s| exact(*s))));
        }
        page.figure(
            "Runs against the best of them on each axis.",
            vec![kiviat("Kiviat", about, &axes, &polygons)],
            &[grid],
        );
    }
}
