//! A kiviat diagram: one axis per quantity from a common middle, one closed line per system; outwards is better.

use super::WIDTH;
use super::draw::{Anchor, Svg};
use std::f64::consts::{FRAC_PI_2, TAU};

/// One system: the class of its line, its name, and for each axis a share from 0 (middle) to 1 (rim).
pub struct Polygon<'a> {
    /// Class of the line.
    pub class: &'a str,
    /// Name in the legend.
    pub name: &'a str,
    /// Shares in the order of the axes.
    pub shares: &'a [f64],
}

/// Draws it, the first axis upwards and the others clockwise.
pub fn kiviat(title: &str, about: &str, axes: &[String], polygons: &[Polygon<'_>]) -> Svg {
    let (radius, middle) = (105.0, (WIDTH / 2.0, 160.0));
    let mut svg = Svg::new(title, about, WIDTH, 310.0);
    let place = |i: usize, share: f64| {
        let angle = TAU * i as f64 / axes.len() as f64 - FRAC_PI_2;
        (middle.0 + radius * share * angle.cos(), middle.1 + radius * share * angle.sin())
    };
    for ring in 1..=4 {
        let points: Vec<(f64, f64)> = (0..=axes.len()).map(|i| place(i, f64::from(ring) / 4.0)).collect();
        svg.path("cell", &points, true);
    }
    for (i, name) in axes.iter().enumerate() {
        svg.line("grid", middle, place(i, 1.0));
        let (x, y) = place(i, 1.1);
        let anchor = match x - middle.0 {
            d if d > 5.0 => Anchor::Start,
            d if d < -5.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        svg.text("", (x, y + 4.0), anchor, name);
    }
    for Polygon { class, shares, .. } in polygons {
        let points: Vec<(f64, f64)> = shares.iter().enumerate().map(|(i, s)| place(i, s.clamp(0.0, 1.0))).collect();
        svg.path(&format!("mark {class}"), &points, true);
    }
    let names: Vec<(&str, &str)> = polygons.iter().map(|p| (p.class, p.name)).collect();
    svg.legend((10.0, 14.0), &names);
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_axis_points_up_and_shares_stay_on_the_disc() {
        let axes = ["a".to_string(), "b".to_string(), "c".to_string()];
        let svg = kiviat("t", "d", &axes, &[Polygon { class: "s0", name: "n", shares: &[1.0, 7.0, 0.0] }]);
        let text = svg.finish("x");
        let path = text.lines().find(|l| l.contains("mark s0")).unwrap();
        assert!(path.contains("M190 55"), "{path}");
        assert!(path.contains("190 160"), "a share of 0 is the middle: {path}");
    }
}
