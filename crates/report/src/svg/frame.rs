//! A frame with two axes, and what is drawn in it: lines, dots with error bars, rules.

use super::draw::{Anchor, Svg};
use super::scale::{Scale, Tick, short};
use super::{WIDTH, draw::text_width};

/// A picture with axes.
pub struct Frame {
    /// The picture; more may be drawn on it.
    pub svg: Svg,
    /// Where values of the horizontal axis lie.
    pub x: Scale,
    /// Where values of the vertical axis lie.
    pub y: Scale,
}

/// An axis: its values and what they are.
pub struct Axis<'a> {
    /// The values.
    pub scale: Scale,
    /// Quantity and unit.
    pub label: &'a str,
    /// How values are written.
    pub labels: Labels,
}

/// How values of an axis are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Labels {
    /// As numbers.
    Plain,
    /// Shares in percent.
    Percent,
    /// Shares in words: `1 in 100`; powers of ten only.
    OneIn,
}

const LEFT: f64 = 58.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 38.0;

fn label(tick: &Tick, labels: Labels) -> Option<String> {
    let label = tick.label.clone()?;
    match labels {
        Labels::Plain => Some(label),
        Labels::Percent => Some(short(tick.value * 100.0) + "%"),
        Labels::OneIn if tick.value >= 1.0 => Some("all".into()),
        // 2 in 10 and 5 in 10 would be read as other words.
        Labels::OneIn => {
            (tick.value.log10().fract().abs() < 1e-6).then(|| format!("1 in {}", short((1.0 / tick.value).round())))
        }
    }
}

impl Frame {
    /// An empty frame, `height` high, with grid and labels.
    pub fn new(title: &str, about: &str, height: f64, x: Axis<'_>, y: Axis<'_>) -> Frame {
        let mut svg = Svg::new(title, about, WIDTH, height);
        let (bottom, right) = (height - BOTTOM, WIDTH - RIGHT);
        let (xs, ys) = (x.scale.over(LEFT, right), y.scale.over(bottom, TOP));
        for tick in ys.ticks() {
            let at = ys.at(tick.value);
            svg.line(if tick.label.is_some() { "grid" } else { "minor" }, (LEFT, at), (right, at));
            if let Some(text) = label(&tick, y.labels) {
                svg.text("dim", (LEFT - 5.0, at + 4.0), Anchor::End, &text);
            }
        }
        // Labels that would touch the one before are left out; the grid line stays.
        let mut free = f64::NEG_INFINITY;
        for tick in xs.ticks() {
            let at = xs.at(tick.value);
            svg.line(if tick.label.is_some() { "grid" } else { "minor" }, (at, TOP), (at, bottom));
            if let Some(text) = label(&tick, x.labels) {
                let half = text_width(&text) / 2.0;
                if at - half > free {
                    svg.text("dim", (at, bottom + 14.0), Anchor::Middle, &text);
                    free = at + half + 4.0;
                }
            }
        }
        svg.line("axis", (LEFT, bottom), (right, bottom));
        svg.text("", ((LEFT + right) / 2.0, height - 6.0), Anchor::Middle, x.label);
        svg.text_up("", (12.0, (TOP + bottom) / 2.0), y.label);
        Frame { svg, x: xs, y: ys }
    }

    /// A line through values.
    pub fn line(&mut self, class: &str, points: &[(f64, f64)]) {
        let places: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (self.x.at(x), self.y.at(y))).collect();
        self.svg.path(&format!("mark {class}"), &places, false);
    }

    /// A filled shape through values.
    pub fn shape(&mut self, class: &str, points: &[(f64, f64)]) {
        let places: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (self.x.at(x), self.y.at(y))).collect();
        self.svg.path(&format!("area {class}"), &places, true);
    }

    /// A value with its interval, upright.
    pub fn dot(&mut self, class: &str, (x, y): (f64, f64), interval: Option<(f64, f64)>, tip: &str) {
        if let Some((low, high)) = interval {
            let at = self.x.at(x);
            self.svg.line(&format!("mark {class}"), (at, self.y.at(low)), (at, self.y.at(high)));
        }
        self.svg.dot(class, (self.x.at(x), self.y.at(y)), tip);
    }

    /// A cloud of values without names: small squares, those at one place drawn once.
    pub fn specks(&mut self, class: &str, points: &[(f64, f64)]) {
        const SIDE: f64 = 3.0;
        let corner = |&(x, y): &(f64, f64)| (self.x.at(x) - SIDE / 2.0, self.y.at(y) - SIDE / 2.0);
        let mut corners: Vec<(f64, f64)> = points.iter().map(corner).collect();
        // Pictures keep one decimal, so what falls on the same tenth is the same square and would only add to the page.
        let tenth = |x: f64| (x * 10.0).round() as i64;
        corners.sort_by_key(|c| (tenth(c.0), tenth(c.1)));
        corners.dedup_by_key(|c| (tenth(c.0), tenth(c.1)));
        self.svg.cells(&format!("area {class}"), &corners, (SIDE, SIDE), 0.8);
    }

    /// A dashed upright line at a value of the horizontal axis, named at its top.
    pub fn rule(&mut self, class: &str, x: f64, name: &str, row: usize) {
        let (at, (low, high)) = (self.x.at(x), self.y.domain());
        let top = self.y.at(high) + 11.0 * row as f64;
        self.svg.line(&format!("rule {class}"), (at, self.y.at(low)), (at, top));
        // A name that would leave the picture on the right stands to the left of its line.
        let end = at + 3.0 + text_width(name) > WIDTH - 4.0;
        let (shift, anchor) = if end { (-3.0, Anchor::End) } else { (3.0, Anchor::Start) };
        self.svg.text("halo", (at + shift, top + 9.0), anchor, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> Frame {
        let axis = |scale, label| Axis { scale, label, labels: Labels::Plain };
        Frame::new("t", "d", 200.0, axis(Scale::log(1.0, 100.0), "x"), axis(Scale::linear(0.0, 10.0), "y"))
    }

    #[test]
    fn shares_are_written_in_words() {
        let at = |value| label(&Tick { value, label: Some("x".into()) }, Labels::OneIn);
        assert_eq!(at(1e-4).as_deref(), Some("1 in 10k"));
        assert_eq!(at(1.0).as_deref(), Some("all"));
        assert_eq!(at(0.02), None);
    }

    #[test]
    fn rules_near_the_right_edge_are_named_on_their_left() {
        let mut frame = frame();
        frame.rule("s0", 100.0, "a rather long name", 0);
        assert!(frame.svg.finish("x").contains("text-anchor=\"end\">a rather"));
    }
}
