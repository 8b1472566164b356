//! A simulated twin beside the machine it was made of, as a page: how far off it is, then the numbers it consists of.

use super::page::{Page, whole};
use crate::grid::Grid;
use crate::svg::rows::{Rows, Words};
use crate::svg::{Scale, Svg, escape};
use crate::table::digits;
use record::Metric;

/// A measured number beside the twin's.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// Which.
    pub what: String,
    /// What kind of number it is; none of a ratio.
    pub metric: Option<Metric>,
    /// On the machine.
    pub measured: f64,
    /// On the twin, if it gives one.
    pub twin: Option<f64>,
}

impl Beside {
    /// How far apart they are: 1 is the same, 2 twice or half.
    pub fn factor(&self) -> f64 {
        self.twin.map_or(f64::INFINITY, |twin| (twin / self.measured).max(self.measured / twin))
    }

    /// What the values are multiplied by to be shown, and the name of that unit.
    fn shown(&self) -> (f64, &'static str) {
        match self.metric {
            Some(Metric::Duration) if self.measured < SHORT => Metric::Latency.shown(),
            Some(metric) => metric.shown(),
            None => (1.0, "times"),
        }
    }

    /// Several of them as a table.
    pub fn table(title: &str, all: &[Beside]) -> Grid {
        let mut grid = Grid::new(title, &[title, "unit", "measured", "twin", "factor"]);
        for pair in all {
            let (factor, (scale, unit)) = (pair.factor(), pair.shown());
            let times = if factor.is_finite() { format!("{factor:.2}") } else { "-".into() };
            let show = |value: f64| digits(value * scale);
            let twin = pair.twin.map_or_else(|| "-".into(), show);
            grid.row([pair.what.clone(), unit.into(), show(pair.measured), twin, times]);
        }
        grid
    }
}

/// Shorter times are shown in microseconds.
const SHORT: f64 = 0.01;
/// So many rows fit a picture that is looked at; the table has all.
const MOST: usize = 40;

/// The page of a twin: what it is from, what it comes to, numbers beside each other by title, and a table of what the twin consists of.
pub fn page(title: &str, from: &str, sentences: &[String], pairs: &[(&str, &[Beside])], numbers: &Grid) -> String {
    let mut page = Page::default();
    page.section("The twin beside the machine");
    sentences.iter().for_each(|s| page.say(s));
    for (title, pairs) in pairs.iter().filter(|(_, pairs)| !pairs.is_empty()) {
        page.section(title);
        let caption = "What the twin gives over what was measured; at 1 they are the same.";
        page.figure(caption, vec![picture(title, pairs)], &[Beside::table(title, pairs)]);
    }
    page.section(&numbers.caption);
    page.table(numbers);
    let made = "Made by Tailback from the records of runs; it can be made again with <code>tailback calibrate --format html</code>.";
    whole(title, &format!("<p>{}</p>\n", escape(from)), made, page)
}

fn picture(title: &str, pairs: &[Beside]) -> Svg {
    let ratio = |p: &Beside| p.twin.map(|twin| twin / p.measured).filter(|r| r.is_finite() && *r > 0.0);
    // The worst stand first: a reader looks at the top.
    let mut shown: Vec<(&Beside, f64)> = pairs.iter().filter_map(|p| Some((p, ratio(p)?))).collect();
    shown.sort_by(|a, b| b.0.factor().total_cmp(&a.0.factor()));
    shown.truncate(MOST);
    let (low, high) = shown.iter().fold((0.5, 2.0), |(a, b): (f64, f64), (_, r)| (a.min(*r), b.max(*r)));
    let names: Vec<(String, &str)> = shown.iter().map(|(p, _)| (p.what.clone(), "")).collect();
    let about = "One row per measured number, the worst first; the table has all of them.";
    let words = Words { title, about, axis: "twin over measured" };
    let mut picture = Rows::new(words, Scale::log(low, high), &names, 16.0);
    picture.rule("ref", 1.0, names.len());
    for (i, (pair, ratio)) in shown.iter().enumerate() {
        let (scale, unit) = pair.shown();
        let (measured, twin) = (digits(pair.measured * scale), digits(ratio * pair.measured * scale));
        let tip = format!("{}: measured {measured}, twin {twin} {unit}", pair.what);
        picture.dot(i, 0.0, "s0", *ratio, None, &tip);
    }
    picture.svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_drawn_first_and_what_is_missing_is_in_the_table() {
        let beside =
            |what: &str, twin| Beside { what: what.into(), metric: Some(Metric::Latency), measured: 2.0, twin };
        let all = [beside("near", Some(2.1)), beside("<far>", Some(0.5)), beside("none", None)];
        assert_eq!(all[1].factor(), 4.0);
        let numbers = Grid::new("Numbers", &["Number", "value"]);
        let page =
            page("A twin", "Of a run.", &["It repeats.".into()], &[("Repeated", &all), ("Held back", &[])], &numbers);
        assert!(page.find("&lt;far&gt;").unwrap() < page.find("near").unwrap(), "{page}");
        assert!(page.contains("none") && !page.contains("Held back") && !page.contains("<far>"), "{page}");
    }
}
