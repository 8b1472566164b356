//! A part of a report that every format can write: sentences, tables and pictures with the numbers behind them, derived once.

use crate::grid::Grid;
use crate::svg::Svg;
use crate::table::Table;
use crate::view::View;
use std::fmt::Write;

/// One thing of a section.
pub enum Block {
    /// A sentence.
    Say(String),
    /// What a reader must know before believing a number.
    Warn(String),
    /// A table in full view.
    Table(Grid),
    /// Pictures, and the numbers behind them.
    Figure {
        /// What they show.
        caption: String,
        /// The pictures.
        pictures: Vec<Svg>,
        /// The numbers; formats without pictures show the first table.
        numbers: Vec<Grid>,
    },
}

/// A titled part of a report.
pub struct Section {
    /// Its title.
    pub title: String,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// Makes the sections that a record of its kind has, none of other records.
type Make = fn(&View<'_>) -> Vec<Section>;

/// Every kind of section, in the order of reports.
const SECTIONS: &[Make] = &[crate::maxrate::sections, crate::contention::sections];

/// All sections of a record.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    SECTIONS.iter().flat_map(|make| make(view)).collect()
}

/// Rows and columns that tables of text and Markdown show; a page and the CSV format have all.
const ROWS: usize = 24;
const COLUMNS: usize = 10;

/// Every so-many-th row and column of a table that is too large to be read, and a caption that says so.
fn thin(grid: &Grid) -> Grid {
    let keep = |n: usize, most: usize| {
        let stride = n.div_ceil(most).max(1);
        (0..n).filter(|i| i % stride == 0 || *i + 1 == n).collect::<Vec<usize>>()
    };
    let rows = keep(grid.rows.len(), ROWS);
    let columns = keep(grid.header.len(), COLUMNS);
    let pick = |cells: &Vec<String>| columns.iter().filter_map(|&c| cells.get(c).cloned()).collect::<Vec<_>>();
    let whole = rows.len() == grid.rows.len() && columns.len() == grid.header.len();
    let caption = match whole {
        true => grid.caption.clone(),
        false => format!(
            "{} ({} of {} rows, {} of {} columns; the html format has all)",
            grid.caption,
            rows.len(),
            grid.rows.len(),
            columns.len(),
            grid.header.len()
        ),
    };
    Grid { caption, header: pick(&grid.header), rows: rows.iter().map(|&r| pick(&grid.rows[r])).collect() }
}

impl Section {
    /// An empty one.
    pub fn new(title: impl Into<String>) -> Section {
        Section { title: title.into(), blocks: Vec::new() }
    }

    /// Adds a sentence.
    pub fn say(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Say(text.into()));
    }

    /// Adds a warning.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Warn(text.into()));
    }

    /// Adds a table, unless it is empty.
    pub fn table(&mut self, grid: Grid) {
        if !grid.rows.is_empty() {
            self.blocks.push(Block::Table(grid));
        }
    }

    /// Adds pictures.
    pub fn figure(&mut self, caption: impl Into<String>, pictures: Vec<Svg>, numbers: Vec<Grid>) {
        self.blocks.push(Block::Figure { caption: caption.into(), pictures, numbers });
    }

    /// As plain text.
    pub fn text(&self) -> String {
        let mut out = format!("{}\n", self.title);
        for block in &self.blocks {
            match block {
                Block::Say(text) => out.push_str(&format!("  {text}\n")),
                Block::Warn(text) => out.push_str(&format!("  ! {text}\n")),
                Block::Table(grid) => write_text(&mut out, &thin(grid)),
                Block::Figure { numbers, .. } => numbers.iter().take(1).for_each(|g| write_text(&mut out, &thin(g))),
            }
        }
        out
    }

    /// As Markdown. `plain` makes text that Markdown leaves alone.
    pub fn markdown(&self, plain: fn(&str) -> String) -> String {
        let mut out = format!("## {}\n\n", plain(&self.title));
        for block in &self.blocks {
            match block {
                Block::Say(text) => out.push_str(&format!("{}\n\n", plain(text))),
                Block::Warn(text) => out.push_str(&format!("> {}\n\n", plain(text))),
                Block::Table(grid) => write_markdown(&mut out, &thin(grid), plain),
                Block::Figure { numbers, .. } => {
                    numbers.iter().take(1).for_each(|g| write_markdown(&mut out, &thin(g), plain));
                }
            }
        }
        out
    }
}

fn write_text(out: &mut String, grid: &Grid) {
    let _ = writeln!(out, "\n  {}", grid.caption);
    let mut table = Table::new(&grid.header.iter().map(String::as_str).collect::<Vec<_>>());
    grid.rows.iter().for_each(|row| table.row(row.iter().cloned()));
    table.write(out);
    out.push('\n');
}

fn write_markdown(out: &mut String, grid: &Grid, plain: fn(&str) -> String) {
    let _ = writeln!(out, "{}\n\n{}", plain(&grid.caption), grid.markdown());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_tables_keep_their_ends_and_say_so() {
        let mut grid =
            Grid { caption: "all".into(), header: (0..40).map(|c| format!("c{c}")).collect(), rows: Vec::new() };
        (0..100).for_each(|r| grid.row((0..40).map(|c| format!("{r}.{c}"))));
        let thin = thin(&grid);
        assert!(thin.rows.len() <= ROWS + 1 && thin.header.len() <= COLUMNS + 1);
        assert_eq!((thin.rows[0][0].as_str(), thin.rows.last().unwrap().last().unwrap().as_str()), ("0.0", "99.39"));
        assert!(thin.caption.contains("of 100 rows"));
        let mut section = Section::new("t");
        section.table(grid);
        assert!(section.text().contains("of 100 rows") && section.markdown(|t| t.into()).contains("| 99.0 |"));
    }
}
