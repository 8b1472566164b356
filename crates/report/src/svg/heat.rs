//! A heat map of factors: one cell per pair, the stronger the colour the larger the logarithm of the factor.

use super::WIDTH;
use super::draw::text_width;
use super::draw::{Anchor, Svg};

/// A heat map's rows, columns and values; `None` is a pair that was not measured.
pub struct Heat<'a> {
    /// Names of the rows.
    pub rows: &'a [String],
    /// Names of the columns, written upright when they are many or long.
    pub columns: &'a [String],
    /// One value per row and column, with what to write.
    pub cells: &'a [Vec<Option<(f64, String)>>],
}

const CELL: f64 = 26.0;
/// The strongest colour; text on it stays readable in light and dark.
const STRONGEST: f64 = 0.62;

/// Draws it. Values of `least` and below have no colour, those of the largest have the strongest.
pub fn heat(title: &str, about: &str, heat: &Heat<'_>, least: f64) -> Svg {
    let left = heat.rows.iter().map(|n| text_width(n)).fold(30.0, f64::max) + 14.0;
    let width = (WIDTH - left - 6.0) / heat.columns.len().max(1) as f64;
    let upright = heat.columns.iter().any(|n| text_width(n) > width - 2.0);
    let top = if upright { heat.columns.iter().map(|n| text_width(n)).fold(20.0, f64::max) + 12.0 } else { 22.0 };
    let mut svg = Svg::new(title, about, WIDTH, top + CELL * heat.rows.len() as f64 + 6.0);
    let values = heat.cells.iter().flatten().flatten().map(|c| c.0).filter(|v| v.is_finite());
    // The span is never empty, so its logarithm can be divided by.
    let most = values.fold(least * 1.01, f64::max);
    for (c, name) in heat.columns.iter().enumerate() {
        let x = left + width * (c as f64 + 0.5);
        match upright {
            true => svg.text_up("", (x + 4.0, top - 6.0 - text_width(name) / 2.0), name),
            false => svg.text("", (x, top - 7.0), Anchor::Middle, name),
        }
    }
    for (r, (name, cells)) in heat.rows.iter().zip(heat.cells).enumerate() {
        let y = top + CELL * r as f64;
        svg.text("", (left - 6.0, y + CELL / 2.0 + 4.0), Anchor::End, name);
        for (c, cell) in cells.iter().enumerate() {
            let x = left + width * c as f64;
            if let Some((value, text)) = cell {
                let share = ((value / least).ln() / (most / least).ln()).clamp(0.0, 1.0);
                svg.rect("heat", (x, y), (width, CELL), if share.is_nan() { 0.0 } else { STRONGEST * share });
                svg.text("value", (x + width / 2.0, y + CELL / 2.0 + 4.0), Anchor::Middle, text);
            }
            svg.rect("cell", (x, y), (width, CELL), 1.0);
        }
    }
    svg
}
