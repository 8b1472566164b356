//! What each placement of roles on nodes gave: the range behind the headline.

use crate::grid::{Grid, exact};
use crate::known::Known;
use crate::section::{Room, Section};
use crate::svg::rows::{Rows, Words};
use crate::svg::{Anchor, Scale, Svg};
use crate::table::{digits, percent};
use crate::view::{Canary, PlacementImpact};

/// One number of a placement.
type Pick = fn(&PlacementImpact) -> f64;

/// Impacts from the least to the most, and how much a value moves within one placement.
pub fn range(canaries: &[Canary<'_>]) -> Option<Grid> {
    let header = ["Test", "avg: least", "most", "99%: least", "most", "within one ±", "samples alone", "loaded"];
    let mut grid = Grid::new("Impact in the placements", &header);
    for canary in canaries {
        let all = canary.placement_impacts();
        let Some(loaded) = canary.loaded.filter(|_| all.len() > 1) else { continue };
        let ends = |pick: Pick| {
            let (low, high) =
                all.iter().map(pick).fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), x| (a.min(x), b.max(x)));
            [digits(low) + "x", digits(high) + "x"]
        };
        let mut row = vec![canary.name.to_string()];
        row.extend(ends(|p| p.average));
        row.extend(ends(|p| p.tail));
        row.push(within(canary).map_or("-".into(), percent));
        row.extend([canary.isolated, loaded].map(|job| job.summary.samples.to_string()));
        grid.row(row);
    }
    (!grid.rows.is_empty()).then_some(grid)
}

/// The median over placements of the relative half-width of the loaded average within one.
fn within(canary: &Canary<'_>) -> Option<f64> {
    let parts = &canary.loaded?.placements;
    let mut known: Vec<f64> =
        parts.iter().filter_map(|p| p.summary.mean_interval.map(|i| i.relative(p.summary.mean))).collect();
    known.sort_by(f64::total_cmp);
    known.get(known.len() / 2).copied()
}

/// One dot for each placement, for pages.
pub fn section(canaries: &[Canary<'_>]) -> Option<Section> {
    let placed: Vec<&Canary<'_>> = canaries.iter().filter(|c| c.placement_impacts().len() > 1).collect();
    if placed.is_empty() {
        return None;
    }
    let mut section = Section::with_room(Room::Page, "Impact in each placement");
    let mut grid = Grid::new("Impact in each placement", &["Test", "placement", "impact avg", "impact 99%"]);
    for canary in &placed {
        for p in canary.placement_impacts() {
            grid.row([canary.name.to_string(), (p.placement + 1).to_string(), exact(p.average), exact(p.tail)]);
        }
    }
    section.figure(
        "Open dots: one placement of roles on nodes each. Full dots: their geometric mean with its 95 % interval. Another placement \
         would be one more open dot.",
        vec![picture(&placed)],
        vec![grid],
    );
    Some(section)
}

fn picture(canaries: &[&Canary<'_>]) -> Svg {
    let names: Vec<(String, &str)> =
        canaries.iter().flat_map(|c| ["avg", "99%"].map(|what| (format!("{} {what}", c.name), ""))).collect();
    let all: Vec<Vec<PlacementImpact>> = canaries.iter().map(|c| c.placement_impacts()).collect();
    let values = all.iter().flatten().flat_map(|p| [p.average, p.tail]).filter(|x| x.is_finite() && *x > 0.0);
    // 1 is always in sight: the line of no harm stands there.
    let (low, high) = values.fold((1.0, 2.0), |(a, b): (f64, f64), x| (a.min(x), b.max(x)));
    let about = format!("Dots on a logarithmic axis, one row per test and statistic, {} placements.", all[0].len());
    let words = Words { title: "Impact in each placement", about: &about, axis: "times worse under load" };
    let mut rows = Rows::new(words, Scale::log(low * 0.95, high * 1.05), &names, 22.0);
    rows.rule("ref", 1.0, names.len());
    for (i, (canary, placements)) in canaries.iter().zip(&all).enumerate() {
        let Some(impact) = canary.impact() else { continue };
        let picks: [(Pick, Known); 2] = [(|p| p.average, impact.average), (|p| p.tail, impact.tail)];
        for (k, (pick, headline)) in picks.into_iter().enumerate() {
            let row = 2 * i + k;
            for p in placements.iter().filter(|p| pick(p).is_finite() && pick(p) > 0.0) {
                let tip = format!("placement {}: {} times worse", p.placement + 1, digits(pick(p)));
                rows.dot(row, -4.0, "s0 open", pick(p), None, &tip);
            }
            if headline.value.is_finite() && headline.value > 0.0 {
                let tip = format!("{}: {} times worse", names[row].0, digits(headline.value));
                rows.dot(row, 5.0, "s1", headline.value, headline.interval.map(|i| (i.low, i.high)), &tip);
            }
        }
    }
    rows.svg.text("value", (8.0, 14.0), Anchor::Start, "impact");
    rows.svg
}
