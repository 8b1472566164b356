//! Plain text tables: a header, a rule, aligned columns.

use crate::known::Known;
use crate::plain::line;

/// A table under construction.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these column names. The first column is aligned left, the others right.
    pub fn new(header: &[&str]) -> Table {
        Table { rows: vec![header.iter().map(|h| line(h)).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| line(&cell)).collect());
    }

    /// Writes it, indented by two.
    pub fn write(&self, out: &mut String) {
        self.write_aligned(out, 1);
    }

    /// Writes it with every column aligned left.
    pub fn write_left(&self, out: &mut String) {
        self.write_aligned(out, usize::MAX);
    }

    /// How wide its lines are, with what they are indented by.
    pub fn width(&self) -> usize {
        self.widths().iter().map(|w| w + 2).sum()
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
        (0..columns).map(width).collect()
    }

    fn write_aligned(&self, out: &mut String, left: usize) {
        let widths = self.widths();
        for (i, row) in self.rows.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate().map(|(c, (cell, &w))| match c < left {
                true => format!("{cell:<w$}"),
                false => format!("{cell:>w$}"),
            });
            out.push_str(&format!("  {}", cells.collect::<Vec<_>>().join("  ")));
            out.truncate(out.trim_end().len());
            out.push('\n');
            if i == 0 {
                out.push_str(&format!("  {}\n", "-".repeat(self.width().saturating_sub(2))));
            }
        }
    }
}

/// Three significant digits, never an exponent for what people read.
pub fn digits(x: f64) -> String {
    match x.abs() {
        _ if !x.is_finite() => "-".into(),
        // Limits lie half a last digit below the power: 99.96 is 100, not 100.0.
        a if a >= 99.95 => format!("{x:.0}"),
        a if a >= 9.995 => format!("{x:.1}"),
        a if a >= 0.0995 => format!("{x:.2}"),
        0.0 => "0".into(),
        a => format!("{x:.*}", (1.0 - a.log10().floor()) as usize),
    }
}

/// As many digits as an interval allows: two where it is wider than a tenth of the value to either side, else three.
pub fn rounded(x: Known, scale: f64) -> String {
    let value = x.value * scale;
    match x.interval.map(|i| i.relative(x.value)) {
        Some(r) if r > 0.1 && value.is_finite() && value != 0.0 => {
            let places = 1 - value.abs().log10().floor() as i32;
            // Rounded to tens and hundreds, too: 1230 ±300 is 1200.
            let unit = 10f64.powi(-places);
            format!("{:.*}", places.max(0) as usize, (value / unit).round() * unit)
        }
        _ => digits(value),
    }
}

/// A value and how well it is known: `1.83 ±2%`.
pub fn known(x: Known, scale: f64) -> String {
    match x.interval.map(|i| i.relative(x.value)) {
        Some(r) if r.is_finite() => format!("{} ±{}%", digits(x.value * scale), share(r)),
        _ => digits(x.value * scale),
    }
}

/// How many times worse something is: `2.05x ±7%`.
pub fn factor(x: Known) -> String {
    let text = known(x, 1.0);
    if !x.value.is_finite() {
        return text;
    }
    match text.split_once(' ') {
        Some((value, width)) => format!("{value}x {width}"),
        None => text + "x",
    }
}

/// Bytes moved in a time, in GB/s; nothing where no time passed.
pub fn gigabytes_per_s(bytes: u64, seconds: f64) -> String {
    if seconds > 0.0 { digits(bytes as f64 / seconds * 1e-9) } else { "-".into() }
}

/// A share as people read it.
pub fn percent(r: f64) -> String {
    share(r) + "%"
}

fn share(r: f64) -> String {
    let percent = 100.0 * r;
    match percent {
        // An interval wider than the value says only that the value is not known.
        p if p > 100.0 => ">100".into(),
        p if p < 0.95 => format!("{p:.1}"),
        p => format!("{p:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits() {
        for (x, text) in [
            (1234.5, "1234"),
            (99.96, "100"),
            (12.34, "12.3"),
            (1.8349, "1.83"),
            (0.01234, "0.012"),
            (0.0, "0"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(digits(x), text);
        }
    }

    #[test]
    fn digits_follow_the_interval() {
        let of = |value: f64, share: f64| {
            let interval = Some(record::Interval { low: value * (1.0 - share), high: value * (1.0 + share) });
            rounded(Known { value, interval }, 1.0)
        };
        assert_eq!(
            [of(3.638, 0.05), of(3.638, 0.3), of(1234.0, 0.3), of(0.0123, 0.5)],
            ["3.64", "3.6", "1200", "0.012"]
        );
        assert_eq!((of(12.6, 0.4), of(9.99, 0.4)), ("13".into(), "10.0".into()));
        assert_eq!(rounded(Known { value: 3.638, interval: None }, 10.0), "36.4");
    }

    #[test]
    fn factors_are_factors_however_well_they_are_known() {
        let of = |value, interval| factor(Known { value, interval });
        let between = |low, high| Some(record::Interval { low, high });
        assert_eq!(of(2.05, between(1.9, 2.2)), "2.05x ±7%");
        assert_eq!((of(2.05, None), of(2.05, between(1.0, f64::INFINITY))), ("2.05x".into(), "2.05x".into()));
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["name", "value"]);
        table.row(["a".to_string(), "1".to_string()]);
        let mut text = String::new();
        table.write(&mut text);
        assert_eq!(text, "  name  value\n  -----------\n  a         1\n");
    }
}
