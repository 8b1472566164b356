//! A part of a report that every format can write: sentences, tables and pictures with the numbers behind them, derived once.

use crate::grid::Grid;
use crate::plain::{line, markdown, wrap};
use crate::svg::Svg;
use std::fmt::Write;

/// How much room a section needs. A format shows those that it has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Room {
    /// A terminal.
    Terminal,
    /// A terminal of someone who wants to know more.
    Verbose,
    /// A document that is scrolled.
    Document,
    /// A page that folds what is long.
    Page,
    /// A page of one run: where several share a page, this is the first to go.
    OwnPage,
}

/// A number in large letters, and what it means.
#[derive(Clone, Debug)]
pub struct Headline {
    /// What it is about.
    pub title: String,
    /// The number.
    pub number: String,
    /// How bad that is, from 0 (harmless) to 3.
    pub level: usize,
    /// The same in two words.
    pub grade: String,
    /// The same in sentences.
    pub sentences: [String; 2],
}

/// One thing of a section.
pub enum Block {
    /// A sentence.
    Say(String),
    /// What a reader must know before believing a number.
    Warn(String),
    /// Numbers in large letters, for pages; a table in the same section has them too.
    Headlines(Vec<Headline>),
    /// A table of many numbers, of which a terminal shows some.
    Table(Grid),
    /// A table of which every row counts.
    List(Grid),
    /// Pictures, and the numbers behind them.
    Figure {
        /// What they show.
        caption: String,
        /// The pictures.
        pictures: Vec<Svg>,
        /// The numbers; formats without pictures show the first table.
        numbers: Vec<Grid>,
    },
    /// A picture that a slider moves through time, and the numbers behind it. Formats without pictures show nothing.
    Film {
        /// What it shows.
        caption: String,
        /// The picture at one time; its marks know all the others.
        picture: Svg,
        /// Each time in words.
        times: Vec<String>,
        /// The time that is shown first.
        shown: usize,
        /// The numbers.
        numbers: Vec<Grid>,
    },
}

/// A titled part of a report.
pub struct Section {
    /// Its title.
    pub title: String,
    /// How much room it needs.
    pub room: Room,
    /// What stands in it.
    pub blocks: Vec<Block>,
}

/// Rows and columns that tables of text and Markdown show; a page and the CSV format have all.
const ROWS: usize = 24;
const COLUMNS: usize = 10;

/// Every so-many-th row and column of a table that is too large to be read, and a caption that says so.
fn thin(grid: &Grid) -> Grid {
    let keep = |n: usize, most: usize| {
        let stride = n.div_ceil(most).max(1);
        // The last stays whatever the stride, so both ends of a sweep can be read.
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
    Grid {
        caption,
        header: pick(&grid.header),
        rows: rows.iter().map(|&r| pick(&grid.rows[r])).collect(),
        ..Grid::default()
    }
}

impl Block {
    /// The table that a format without pictures shows of it.
    fn table(&self) -> Option<Grid> {
        match self {
            Block::List(grid) => Some(grid.clone()),
            Block::Table(grid) => Some(thin(grid)),
            Block::Figure { numbers, .. } => numbers.first().map(thin),
            Block::Say(_) | Block::Warn(_) | Block::Headlines(_) | Block::Film { .. } => None,
        }
    }
}

impl Section {
    /// An empty one that every format has room for.
    pub fn new(title: impl Into<String>) -> Section {
        Section::with_room(Room::Terminal, title)
    }

    /// An empty one that needs this much room.
    pub fn with_room(room: Room, title: impl Into<String>) -> Section {
        Section { title: title.into(), room, blocks: Vec::new() }
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

    /// Adds a table of which every row counts, unless it is empty.
    pub fn list(&mut self, grid: Grid) {
        if !grid.rows.is_empty() {
            self.blocks.push(Block::List(grid));
        }
    }

    /// Adds pictures.
    pub fn figure(&mut self, caption: impl Into<String>, pictures: Vec<Svg>, numbers: Vec<Grid>) {
        self.blocks.push(Block::Figure { caption: caption.into(), pictures, numbers });
    }

    /// As plain text.
    pub fn text(&self) -> String {
        self.text_within(usize::MAX)
    }

    /// As plain text whose tables leave out columns that can be spared where it is narrow.
    pub fn text_within(&self, width: usize) -> String {
        let mut out = format!("{}\n", line(&self.title));
        for block in &self.blocks {
            match block {
                Block::Say(text) => out += &wrap(text, "  ", "  "),
                Block::Warn(text) => out += &wrap(text, "  ! ", "    "),
                other => other.table().into_iter().for_each(|grid| self.write_text(&mut out, &grid.within(width))),
            }
        }
        out
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("## {}\n\n", markdown(&self.title));
        for block in &self.blocks {
            match block {
                Block::Say(text) => out.push_str(&format!("{}\n\n", markdown(text))),
                Block::Warn(text) => out.push_str(&format!("> {}\n\n", markdown(text))),
                other => other.table().iter().for_each(|grid| self.write_markdown(&mut out, grid)),
            }
        }
        out
    }

    /// A table that is all of a section has its title; saying it twice would only take room.
    fn caption<'a>(&self, grid: &'a Grid) -> Option<&'a str> {
        Some(grid.caption.as_str()).filter(|c| *c != self.title)
    }

    fn write_text(&self, out: &mut String, grid: &Grid) {
        out.push('\n');
        if let Some(caption) = self.caption(grid) {
            let _ = writeln!(out, "  {}", line(caption));
        }
        grid.table().write(out);
        out.push('\n');
    }

    fn write_markdown(&self, out: &mut String, grid: &Grid) {
        if let Some(caption) = self.caption(grid) {
            let _ = writeln!(out, "{}\n", markdown(caption));
        }
        let _ = writeln!(out, "{}", grid.markdown());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_tables_keep_their_ends_and_say_so() {
        let mut grid =
            Grid { caption: "all".into(), header: (0..40).map(|c| format!("c{c}")).collect(), ..Grid::default() };
        (0..100).for_each(|r| grid.row((0..40).map(|c| format!("{r}.{c}"))));
        let thin = thin(&grid);
        assert!(thin.rows.len() <= ROWS + 1 && thin.header.len() <= COLUMNS + 1);
        assert_eq!((thin.rows[0][0].as_str(), thin.rows.last().unwrap().last().unwrap().as_str()), ("0.0", "99.39"));
        assert!(thin.caption.contains("of 100 rows"));
        let mut section = Section::new("t");
        section.table(grid);
        assert!(section.text().contains("of 100 rows") && section.markdown().contains("| 99.0 |"));
    }
}
