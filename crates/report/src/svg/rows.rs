//! One quantity along a horizontal axis, one thing a row: violins, and dots with error bars.

use super::WIDTH;
use super::density::Density;
use super::draw::{Anchor, Svg, text_width};
use super::scale::Scale;

/// A picture of rows.
pub struct Rows {
    /// The picture; more may be drawn on it.
    pub svg: Svg,
    /// Where values lie.
    pub x: Scale,
    left: f64,
    top: f64,
    pitch: f64,
}

/// Names longer than this are cut, with the whole name left to the table.
const LONGEST: usize = 28;
const RIGHT: f64 = 14.0;

fn cut(name: &str) -> String {
    match name.chars().count() > LONGEST {
        true => name.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => name.to_string(),
    }
}

/// What stands above the rows and below them.
pub struct Words<'a> {
    /// The picture in a few words.
    pub title: &'a str,
    /// The picture in a sentence.
    pub about: &'a str,
    /// Quantity and unit of the axis.
    pub axis: &'a str,
}

impl Rows {
    /// An empty picture with these rows, each `pitch` high: name and class of the name (`""` or `dim`).
    pub fn new(words: Words<'_>, scale: Scale, names: &[(String, &str)], pitch: f64) -> Rows {
        let widest = names.iter().map(|(n, _)| text_width(&cut(n))).fold(40.0, f64::max);
        let (left, top) = (widest + 12.0, 26.0);
        let bottom = top + pitch * names.len() as f64;
        let height = bottom + 36.0;
        let mut svg = Svg::new(words.title, words.about, WIDTH, height);
        let x = scale.over(left, WIDTH - RIGHT);
        let mut free = f64::NEG_INFINITY;
        for tick in x.ticks() {
            let at = x.at(tick.value);
            svg.line(if tick.label.is_some() { "grid" } else { "minor" }, (at, top), (at, bottom));
            let Some(text) = tick.label else { continue };
            let half = text_width(&text) / 2.0;
            if at - half > free {
                svg.text("dim", (at, bottom + 14.0), Anchor::Middle, &text);
                free = at + half + 4.0;
            }
        }
        svg.line("axis", (left, bottom), (WIDTH - RIGHT, bottom));
        svg.text("", ((left + WIDTH - RIGHT) / 2.0, height - 6.0), Anchor::Middle, words.axis);
        let rows = Rows { svg, x, left, top, pitch };
        rows.named(names)
    }

    fn named(mut self, names: &[(String, &str)]) -> Rows {
        for (i, (name, class)) in names.iter().enumerate() {
            let at = (self.left - 6.0, self.middle(i) + 4.0);
            self.svg.text(class, at, Anchor::End, &cut(name));
        }
        self
    }

    /// The height of a row's middle.
    pub fn middle(&self, row: usize) -> f64 {
        self.top + self.pitch * (row as f64 + 0.5)
    }

    /// A violin: the density above and below the row's middle, and marks at some quantiles.
    pub fn violin(&mut self, row: usize, class: &str, density: &Density, marks: &[f64]) {
        let (middle, most) = (self.middle(row), density.iter().map(|d| d.1).fold(0.0, f64::max));
        if most > 0.0 {
            // A little less than half a row, so that neighbours do not touch.
            let half = 0.44 * self.pitch / most;
            let upper = density.iter().map(|&(v, d)| (self.x.at(v), middle - half * d));
            let lower = density.iter().rev().map(|&(v, d)| (self.x.at(v), middle + half * d));
            let points: Vec<(f64, f64)> = upper.chain(lower).collect();
            self.svg.path(&format!("area {class}"), &points, true);
        }
        for mark in marks {
            let (at, half) = (self.x.at(*mark), 0.32 * self.pitch);
            self.svg.line(&format!("mark {class}"), (at, middle - half), (at, middle + half));
        }
    }

    /// A value with its interval. `shift` moves it up or down within its row, so that two can share one.
    pub fn dot(&mut self, row: usize, shift: f64, class: &str, value: f64, interval: Option<(f64, f64)>, tip: &str) {
        let y = self.middle(row) + shift;
        if let Some((low, high)) = interval {
            self.svg.line(&format!("mark {class}"), (self.x.at(low), y), (self.x.at(high), y));
        }
        self.svg.dot(class, (self.x.at(value), y), tip);
    }

    /// An upright line through all rows at a value.
    pub fn rule(&mut self, class: &str, value: f64, rows: usize) {
        let at = self.x.at(value);
        let bottom = self.top + self.pitch * rows as f64;
        self.svg.line(&format!("rule {class}"), (at, self.top), (at, bottom));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_everything_stays_inside() {
        let name = "a-name-that-is-far-too-long-to-stand-beside-a-plot".to_string();
        let words = Words { title: "t", about: "d", axis: "x" };
        let mut rows = Rows::new(words, Scale::log(1.0, 10.0), &[(name, "")], 20.0);
        rows.dot(0, 0.0, "s0", 5.0, Some((0.1, 1e9)), "tip");
        let right = rows.x.at(1e9);
        assert!(right <= WIDTH - RIGHT && rows.left < WIDTH / 2.0);
        assert!(rows.svg.finish("x").contains('…'));
    }
}
