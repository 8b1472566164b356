//! Congestors without a canary: what loads the network while other programs are measured beside it.

use crate::grid::Grid;
use crate::section::Section;
use crate::table::{digits, gigabytes_per_s};
use crate::view::View;
use record::About;

/// The section of a record that only loads.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let mut grid = Grid::new("Load", &["Congestor", "nodes", "seconds", "GB/s in all"]);
    for job in view.record.phases.iter().filter(|p| p.about == About::Load).flat_map(|p| &p.jobs) {
        let nodes = view.nodes_of(&job.name).map_or("-".into(), |n| n.to_string());
        let rate = gigabytes_per_s(job.bytes, job.elapsed_s);
        grid.row([job.name.clone(), nodes, digits(job.elapsed_s), rate]);
    }
    if grid.rows.is_empty() {
        return Vec::new();
    }
    let mut section = Section::new("Load");
    let jobs = || view.record.phases.iter().filter(|p| p.about == About::Load).flat_map(|p| &p.jobs);
    let all: f64 = jobs().map(|job| job.bytes as f64 / job.elapsed_s).filter(|rate| rate.is_finite()).sum();
    let word = if jobs().count() == 1 { "congestor" } else { "congestors" };
    section.say(format!("{} {word} moved {} GB/s in all.", jobs().count(), digits(all * 1e-9)));
    section.list(grid);
    vec![section]
}
