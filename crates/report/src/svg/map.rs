//! A map of relative errors over two quantities: blue where a model is too fast, orange where it is too slow, in steps that can be told
//! apart. Cells are small and many, so each step is one element, and the numbers are left to the table.

use super::WIDTH;
use super::draw::text_width;
use super::draw::{Anchor, Svg};

/// A map's rows, columns and errors; rows from the top.
pub struct Map<'a> {
    /// Names of the rows; some are left out where they would touch.
    pub rows: &'a [String],
    /// Names of the columns; some are left out where they would touch.
    pub columns: &'a [String],
    /// One error per row and column, as a share; none was not measured.
    pub cells: &'a [Vec<Option<f64>>],
}

/// Errors up to each of these shares have one colour; larger ones the last.
const STEPS: [f64; 5] = [0.02, 0.05, 0.1, 0.2, 0.5];
/// Their strengths; the first means "as good as measured".
const STRENGTH: [f64; 6] = [0.0, 0.12, 0.28, 0.48, 0.7, 0.95];
const TOP: f64 = 26.0;
const PLOT: f64 = 190.0;

fn step(error: f64) -> usize {
    STEPS.iter().filter(|s| error.abs() > **s).count()
}

/// Draws it, with the name of the vertical quantity above the rows' names and that of the horizontal one below.
pub fn map(title: &str, about: &str, (down, across): (&str, &str), map: &Map<'_>) -> Svg {
    let left = map.rows.iter().map(|n| text_width(n)).fold(30.0, f64::max) + 10.0;
    let (rows, columns) = (map.rows.len().max(1) as f64, map.columns.len().max(1) as f64);
    let (width, height) = ((WIDTH - left - 8.0) / columns, PLOT / rows);
    let bottom = TOP + PLOT;
    let mut svg = Svg::new(title, about, WIDTH, bottom + 56.0);
    svg.text("value", (8.0, 14.0), Anchor::Start, title);
    svg.text("dim", (WIDTH - 8.0, 14.0), Anchor::End, down);
    for (level, &strength) in STRENGTH.iter().enumerate().skip(1) {
        for (class, slow) in [("slow", true), ("fast", false)] {
            let mut corners = Vec::new();
            for (r, cells) in map.cells.iter().enumerate() {
                for (c, error) in cells.iter().enumerate() {
                    if error.is_some_and(|e| step(e) == level && (e > 0.0) == slow) {
                        corners.push((left + width * c as f64, TOP + height * r as f64));
                    }
                }
            }
            svg.cells(class, &corners, (width, height), strength);
        }
    }
    svg.rect("cell", (left, TOP), (WIDTH - left - 8.0, PLOT), 1.0);
    let mut free = f64::NEG_INFINITY;
    for (r, name) in map.rows.iter().enumerate() {
        let y = TOP + height * (r as f64 + 0.5);
        if y - 6.0 > free {
            svg.text("dim", (left - 5.0, y + 4.0), Anchor::End, name);
            free = y + 7.0;
        }
    }
    free = f64::NEG_INFINITY;
    for (c, name) in map.columns.iter().enumerate() {
        let (x, half) = (left + width * (c as f64 + 0.5), text_width(name) / 2.0);
        if x - half > free {
            svg.text("dim", (x, bottom + 13.0), Anchor::Middle, name);
            free = x + half + 3.0;
        }
    }
    svg.text("", ((left + WIDTH - 8.0) / 2.0, bottom + 27.0), Anchor::Middle, across);
    key(&mut svg, bottom + 50.0);
    svg
}

/// Both colours from strong to strong, with the steps between them.
fn key(svg: &mut Svg, y: f64) {
    let side = 26.0;
    let boxes = (STRENGTH.len() - 1) as f64;
    let mut x = (WIDTH - 2.0 * side * boxes - side) / 2.0;
    svg.text("dim", (x - 4.0, y), Anchor::End, "too fast");
    let order = (1..STRENGTH.len())
        .rev()
        .map(|l| ("fast", l))
        .chain([("fast", 0)])
        .chain((1..STRENGTH.len()).map(|l| ("slow", l)));
    for (class, level) in order {
        svg.rect(class, (x, y - 10.0), (side, 12.0), STRENGTH[level]);
        svg.rect("cell", (x, y - 10.0), (side, 12.0), 1.0);
        let text = match level {
            0 => "±2".to_string(),
            l if l == STEPS.len() => format!(">{}", STEPS[l - 1] * 100.0),
            l => format!("{}", STEPS[l] * 100.0),
        };
        svg.text("value", (x + side / 2.0, y), Anchor::Middle, &text);
        x += side;
    }
    svg.text("dim", (x + 4.0, y), Anchor::Start, "slow, %");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_rise_and_missing_cells_stay_empty() {
        assert_eq!([0.0, 0.02, -0.03, 0.3, -9.0].map(step), [0, 0, 1, 4, 5]);
        let names = |n: usize| (0..n).map(|i| format!("{i}")).collect::<Vec<_>>();
        let cells = vec![vec![Some(0.3), None], vec![Some(-0.3), Some(0.0)]];
        let text = map("t", "d", ("n", "k"), &Map { rows: &names(2), columns: &names(2), cells: &cells }).finish("x");
        assert_eq!(text.matches("<path class=\"slow\"").count(), 1);
        assert_eq!(text.matches("<path class=\"fast\"").count(), 1);
    }
}
