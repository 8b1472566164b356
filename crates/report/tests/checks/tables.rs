//! Tables read back from the formats that people read.

/// A table as it was written.
#[derive(Debug, Default)]
pub struct Table {
    pub caption: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The cell in the row of this name and the column of this name.
    pub fn cell(&self, row: &str, column: &str) -> Option<&str> {
        let at = self.header.iter().position(|h| h == column)?;
        self.rows.iter().find(|r| r[0] == row)?.get(at).map(String::as_str)
    }
}

/// The number at the beginning of a cell, and half a unit of its last digit.
pub fn number(cell: &str) -> Option<(f64, f64)> {
    let word = cell.split(' ').next()?.trim_end_matches('x');
    let decimals = word.split_once('.').map_or(0, |(_, d)| d.len());
    // A hair more than half, because both sides were rounded to binary.
    Some((word.parse().ok()?, 0.500001 * 10f64.powi(-(decimals as i32))))
}

/// The last line that is not empty: a table's caption, or the title of its section.
fn caption(before: &[&str]) -> String {
    let last = before.iter().rev().find(|l| !l.trim().is_empty());
    last.map_or(String::new(), |l| l.trim_start_matches('#').trim().to_string())
}

/// Tables of text: a caption, a header, a rule, and rows up to an empty line; columns are two spaces apart.
pub fn of_text(text: &str) -> Vec<Table> {
    let split = |line: &str| -> Vec<String> {
        line.trim().split("  ").map(str::trim).filter(|c| !c.is_empty()).map(String::from).collect()
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let rule = line.trim();
        if i < 2 || rule.len() < 3 || !rule.bytes().all(|b| b == b'-') {
            continue;
        }
        let rows = lines[i + 1..].iter().take_while(|l| !l.trim().is_empty());
        all.push(Table {
            caption: caption(&lines[..i - 1]),
            header: split(lines[i - 1]),
            rows: rows.map(|l| split(l)).collect(),
        });
    }
    all
}

/// Tables of Markdown: a caption, an empty line, and lines with strokes.
pub fn of_markdown(text: &str) -> Vec<Table> {
    let split =
        |line: &str| -> Vec<String> { line.trim_matches('|').split(" | ").map(|c| c.trim().to_string()).collect() };
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        if i < 3 || !line.starts_with("| ---") {
            continue;
        }
        let rows = lines[i + 1..].iter().take_while(|l| l.starts_with('|'));
        all.push(Table {
            caption: caption(&lines[..i - 1]),
            header: split(lines[i - 1]),
            rows: rows.map(|l| split(l)).collect(),
        });
    }
    all
}

/// Tables of a page.
pub fn of_html(text: &str) -> Vec<Table> {
    let mut all = Vec::new();
    for table in text.split("<table ").skip(1) {
        let table = table.split("</table>").next().unwrap();
        let caption = table.split("<caption>").nth(1).unwrap().split("</caption>").next().unwrap();
        let (head, body) = table.split_once("</thead>").unwrap();
        all.push(Table {
            caption: caption.to_string(),
            header: cells(head),
            rows: body.split("<tr>").skip(1).map(cells).collect(),
        });
    }
    all
}

fn cells(row: &str) -> Vec<String> {
    let mut all = Vec::new();
    for cell in row.split("<t").skip(1) {
        let inner = cell.split_once('>').map_or("", |(_, rest)| rest);
        let end = inner.find("</t").unwrap_or(inner.len());
        if cell.starts_with("h ") || cell.starts_with("d>") {
            all.push(inner[..end].to_string());
        }
    }
    all
}
