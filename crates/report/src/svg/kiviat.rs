//! A kiviat diagram: one axis per quantity from a common middle, one closed line per system; outwards is better.

use super::WIDTH;
use super::draw::text_width;
use super::draw::{Anchor, LEGEND_LINE, Svg, legend_places};
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

/// Where the name of an axis stands, in radii.
const BEYOND: f64 = 1.1;
/// Height of a line of a name, whose words stand below each other.
const LINE: f64 = 13.0;

/// Where the legend begins.
const LEGEND: (f64, f64) = (10.0, 300.0);

/// As large as the longest words at the sides let it be.
fn radius(axes: &[String]) -> f64 {
    let fits = |(i, name): (usize, &String)| {
        let aside = (TAU * i as f64 / axes.len() as f64).sin().abs();
        // Fonts differ, and these names have many capitals.
        let longest = 1.15 * name.split(' ').map(text_width).fold(0.0, f64::max);
        (WIDTH / 2.0 - 4.0 - longest) / (BEYOND * aside).max(0.1)
    };
    axes.iter().enumerate().map(fits).fold(105.0, f64::min).max(40.0)
}

/// Draws it, the first axis upwards and the others clockwise.
pub fn kiviat(title: &str, about: &str, axes: &[String], polygons: &[Polygon<'_>]) -> Svg {
    let middle = (WIDTH / 2.0, 145.0);
    let radius = radius(axes);
    let names: Vec<(&str, &str)> = polygons.iter().map(|p| (p.class, p.name)).collect();
    // The legend has as many lines as it needs, below the disc.
    let lines = legend_places(WIDTH - LEGEND.0, names.iter().map(|n| n.1)).last().map_or(0, |(_, line)| line + 1);
    let mut svg = Svg::new(title, about, WIDTH, LEGEND.1 + LEGEND_LINE * lines as f64);
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
        let (x, y) = place(i, BEYOND);
        let anchor = match x - middle.0 {
            d if d > 5.0 => Anchor::Start,
            d if d < -5.0 => Anchor::End,
            _ => Anchor::Middle,
        };
        // Above the middle the last word is next to the rim, below it the first.
        let words: Vec<&str> = name.split(' ').collect();
        let up = LINE * (words.len() - 1) as f64 * (1.0 - (y - middle.1) / (BEYOND * radius)) / 2.0;
        for (line, word) in words.iter().enumerate() {
            svg.text("", (x, y + 4.0 - up + LINE * line as f64), anchor, word);
        }
    }
    for Polygon { class, shares, .. } in polygons {
        let points: Vec<(f64, f64)> = shares.iter().enumerate().map(|(i, s)| place(i, s.clamp(0.0, 1.0))).collect();
        svg.path(&format!("mark {class}"), &points, true);
    }
    svg.legend(LEGEND, &names);
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
        assert!(path.contains("M190 40"), "{path}");
        assert!(path.contains("190 145"), "a share of 0 is the middle: {path}");
    }

    #[test]
    fn long_names_at_the_sides_stay_on_the_picture() {
        let axes: Vec<String> = ["up", "to the right", "down", "RandomAccessLatency"].map(String::from).into();
        let half = WIDTH / 2.0;
        assert!(BEYOND * radius(&axes) + text_width("RandomAccessLatency") <= half);
        assert_eq!(radius(&axes[..3]), 105.0);
    }
}
