//! Counters over nodes as violins (the paper's Figures 8 to 10): one picture per counter, one row per phase and job.

use super::Page;
use crate::grid::{Grid, exact};
use crate::svg::density::log_density;
use crate::svg::rows::{Rows, Words};
use crate::svg::{Anchor, Scale, Svg};
use crate::view::View;
use record::CounterRecord;

/// So many violins are about 200 kB of a page that must stay under 500 kB; `--format csv` has every counter.
const VIOLINS: usize = 120;
/// So many rows of numbers are about 100 kB.
const ROWS: usize = 500;

/// Alone and under all load is what a reader compares first; idle nodes and single congestors are left to the table.
fn drawn(phase: &str, counter: &CounterRecord) -> bool {
    !phase.starts_with("loaded-by-") && counter.job != "idle"
}

pub(super) fn write(page: &mut Page, view: &View<'_>, of: &str, pages: usize) {
    let (most, rows) = (VIOLINS / pages.max(1), ROWS / pages.max(1));
    let all = || view.record.phases.iter().flat_map(|p| p.counters.iter().map(move |c| (p.name.as_str(), c)));
    let mut groups: Vec<(&str, Vec<(&str, &CounterRecord)>)> = Vec::new();
    for (phase, counter) in all().filter(|(phase, c)| drawn(phase, c)) {
        match groups.iter_mut().find(|(name, _)| *name == counter.name) {
            Some((_, group)) => group.push((phase, counter)),
            None => groups.push((&counter.name, vec![(phase, counter)])),
        }
    }
    groups.retain(|(_, group)| group.iter().any(|(_, c)| c.per_node.iter().any(|&v| v > 0)));
    let mut grid = Grid::new(
        "Growth of counters during a phase, over the nodes of a job",
        &["Counter", "phase", "job", "nodes", "nodes at 0", "min", "10%", "50%", "90%", "max", "sum"],
    );
    all().take(rows).for_each(|(phase, counter)| grid.row(row(phase, counter)));
    if grid.rows.is_empty() {
        return;
    }
    page.section(&format!("Counters over nodes{of}"));
    let mut violins = 0;
    let fits = |(_, group): &&(&str, Vec<_>)| {
        violins += group.len();
        violins <= most
    };
    let pictures: Vec<Svg> = groups.iter().take_while(fits).map(|(name, group)| picture(name, group)).collect();
    let left = groups.len() - pictures.len() + all().count().saturating_sub(rows);
    let more = if left > 0 { " More counters than fit here are in the CSV format of the report." } else { "" };
    let caption = format!(
        "How each counter grew on the nodes of a job during a phase; densities are computed in the logarithm, the strokes are \
         the smallest, the median and the largest node. Nodes at 0 are counted beside the row. Idle nodes and single \
         congestors are in the table only.{more}"
    );
    page.figure(&caption, pictures, &[grid]);
}

fn at(counter: &CounterRecord, share: f64) -> f64 {
    let last = counter.per_node.len().saturating_sub(1);
    counter.per_node.get((share * last as f64).round() as usize).map_or(f64::NAN, |&v| v as f64)
}

fn row(phase: &str, counter: &CounterRecord) -> Vec<String> {
    let zeros = counter.per_node.iter().filter(|&&v| v == 0).count();
    let sum: u128 = counter.per_node.iter().map(|&v| u128::from(v)).sum();
    let mut row = vec![counter.name.clone(), phase.to_string(), counter.job.clone()];
    row.extend([counter.per_node.len().to_string(), zeros.to_string()]);
    row.extend([0.0, 0.1, 0.5, 0.9, 1.0].map(|q| exact(at(counter, q))));
    row.push(sum.to_string());
    row
}

fn picture(name: &str, counters: &[(&str, &CounterRecord)]) -> Svg {
    let positive = |c: &CounterRecord| c.per_node.iter().filter(|&&v| v > 0).map(|&v| v as f64).collect::<Vec<f64>>();
    let values: Vec<Vec<f64>> = counters.iter().map(|(_, c)| positive(c)).collect();
    let (low, high) = values.iter().flatten().fold((f64::INFINITY, 0.0f64), |(a, b), &v| (a.min(v), b.max(v)));
    let label = |phase: &str, c: &CounterRecord| {
        let zeros = c.per_node.iter().filter(|&&v| v == 0).count();
        let zeros = if zeros > 0 { format!(" ({zeros} at 0)") } else { String::new() };
        // A measured job has the name of its phase; saying it once leaves room for the load.
        let job = if phase.ends_with(&c.job) { String::new() } else { format!(" {}", c.job) };
        format!("{phase}{job}{zeros}")
    };
    let names: Vec<(String, &str)> = counters.iter().map(|(phase, c)| (label(phase, c), "")).collect();
    let about = format!("Violins of {name}, one row per phase and job; the table has the numbers.");
    let words = Words { title: name, about: &about, axis: "growth during the phase" };
    let mut rows = Rows::new(words, Scale::log(low, high), &names, 22.0);
    for (row, values) in values.iter().enumerate() {
        let (Some(first), Some(last)) = (values.first(), values.last()) else { continue };
        let density = log_density(values.iter().map(|&v| (v, v, 1)));
        rows.violin(row, "s3", &density, &[*first, values[values.len() / 2], *last]);
    }
    rows.svg.text("value", (8.0, 14.0), Anchor::Start, name);
    rows.svg
}
