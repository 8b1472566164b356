//! A table of texts with a caption, written as HTML or Markdown.

use crate::plain;
use crate::svg::escape;
use crate::table::Table;
use std::fmt::Write;

/// The numbers behind a picture, or a table in its own right. The first column names the rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// What it shows.
    pub caption: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// Columns that a terminal leaves out where all are wider than it is, the first first.
    pub spare: Vec<&'static str>,
}

impl Grid {
    /// An empty table.
    pub fn new(caption: &str, header: &[&str]) -> Grid {
        Grid { caption: caption.into(), header: header.iter().map(|h| h.to_string()).collect(), ..Grid::default() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Without as many of its spare columns as it takes to be no wider than this.
    pub fn within(mut self, width: usize) -> Grid {
        for name in std::mem::take(&mut self.spare) {
            if self.table().width() <= width {
                break;
            }
            if let Some(at) = self.header.iter().position(|h| h == name) {
                self.header.remove(at);
                self.rows.iter_mut().filter(|row| at < row.len()).for_each(|row| drop(row.remove(at)));
            }
        }
        self
    }

    /// As a table of plain text.
    pub fn table(&self) -> Table {
        let mut table = Table::new(&self.header.iter().map(String::as_str).collect::<Vec<_>>());
        self.rows.iter().for_each(|row| table.row(row.iter().cloned()));
        table
    }

    /// As an HTML table that a screen reader can walk through. Under a heading that says the same its caption is not seen.
    pub fn html(&self, id: &str, titled: bool) -> String {
        let class = if titled { "wide titled" } else { "wide" };
        // A region that scrolls must be reachable by keyboard, and have a name for those who hear it.
        let caption = escape(&self.caption);
        let mut out = format!(
            "<div class=\"{class}\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table id=\"{id}\"><caption>{caption}</caption>"
        );
        out.push_str("<thead><tr>");
        for name in &self.header {
            let _ = write!(out, "<th scope=\"col\">{}</th>", escape(name));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            out.push_str("<tr>");
            for (i, cell) in row.iter().enumerate() {
                let cell = escape(cell);
                let _ = match i {
                    0 => write!(out, "<th scope=\"row\">{cell}</th>"),
                    _ => write!(out, "<td>{cell}</td>"),
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        out
    }

    /// As a Markdown table of GitHub's kind.
    pub fn markdown(&self) -> String {
        self.markdown_of(plain::markdown_cell)
    }

    /// The same with cells that are Markdown already: ours, and nobody else's.
    pub fn of_markdown(&self) -> String {
        // Backslashes first, or that of the bar would be doubled.
        self.markdown_of(|text| text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;"))
    }

    fn markdown_of(&self, cell: fn(&str) -> String) -> String {
        let line =
            |cells: &[String]| format!("| {} |\n", cells.iter().map(|c| cell(c)).collect::<Vec<_>>().join(" | "));
        let mut out = line(&self.header);
        let rule: Vec<&str> = (0..self.header.len()).map(|i| if i == 0 { "---" } else { "---:" }).collect();
        let _ = writeln!(out, "| {} |", rule.join(" | "));
        self.rows.iter().for_each(|row| out.push_str(&line(row)));
        out
    }
}

/// Five significant digits, for the numbers behind pictures.
pub fn exact(x: f64) -> String {
    if !x.is_finite() {
        return "-".into();
    }
    if x == 0.0 {
        return "0".into();
    }
    let places = (4 - x.abs().log10().floor() as i32).max(0) as usize;
    if places > 12 {
        return format!("{x:.4e}");
    }
    let text = format!("{x:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cannot_break_a_table() {
        let mut grid = Grid::new("a < b", &["name", "x|y"]);
        grid.row(["<img>".to_string(), "1|2\n3".to_string()]);
        assert!(grid.html("t", false).contains("&lt;img&gt;") && grid.html("t", false).contains("a &lt; b"));
        assert_eq!(grid.markdown(), "| name | x\\|y |\n| --- | ---: |\n| \\<img> | 1\\|2 3 |\n");
    }

    #[test]
    fn spare_columns_go_first_and_only_where_it_is_narrow() {
        let mut grid = Grid::new("t", &["name", "much", "more", "last"]);
        grid.row(["a", "b", "c", "d"].map(String::from));
        grid.spare = vec!["more", "much"];
        for (width, left) in [(24, "name much more last"), (23, "name much last"), (17, "name last"), (3, "name last")]
        {
            let narrow = grid.clone().within(width);
            assert_eq!(narrow.header.join(" "), left, "{width}");
            assert_eq!(narrow.rows[0].len(), narrow.header.len());
        }
    }

    #[test]
    fn five_digits() {
        for (x, text) in [(1234567.0, "1234567"), (1.23456789, "1.2346"), (0.00012, "0.00012"), (3e-20, "3.0000e-20")] {
            assert_eq!(exact(x), text);
        }
    }
}
