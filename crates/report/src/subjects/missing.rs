//! What was asked for and did not run, with the reasons: the first thing a reader must know of a run that has gaps.

use crate::grid::Grid;
use crate::section::Section;
use crate::view::View;

/// One row for each thing that is missing.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let missing = view.record.missing();
    if missing.is_empty() {
        return Vec::new();
    }
    let mut grid = Grid::new("Asked for, and did not run", &["What", "why it did not run"]);
    missing.into_iter().for_each(|m| grid.row([m.what, m.why]));
    let mut section = Section::new("Asked for, and did not run");
    section.list(grid);
    vec![section]
}
