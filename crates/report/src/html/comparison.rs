//! Runs compared with a first one, as a page: what differs and how sure that is, then their tails over each other.

use super::page::{Page, whole};
use crate::compare::{Comparison, Judgement, compared, verdict};
use crate::grid::Grid;
use crate::subjects::SUBJECTS;
use crate::svg::rows::{Rows, Words};
use crate::svg::{Scale, Svg};
use crate::table::digits;
use crate::view::View;

/// So many rows fit a picture that is looked at; the table has all.
const MOST: usize = 40;

/// A page of all comparisons, each with its title, of tables that belong to them, and of the runs side by side.
pub fn page(views: &[View<'_>], comparisons: &[(String, Comparison)], tables: &[Grid]) -> String {
    let mut page = Page::default();
    for (title, comparison) in comparisons {
        page.section(title);
        if !comparison.differences.is_empty() {
            page.say("The runs are not alike; what follows mixes these differences:");
            comparison.differences.iter().for_each(|d| page.note(d));
        }
        page.say(&verdict(comparison));
        let pictures = if comparison.rows.is_empty() { Vec::new() } else { vec![picture(comparison)] };
        let caption = "How many times worse the second run is, with the 95 % interval; left of 1 it is better.";
        if !pictures.is_empty() {
            page.figure(caption, pictures, &[compared(comparison)]);
        }
        if !comparison.left_out.is_empty() {
            page.say("Not compared:");
            comparison.left_out.iter().for_each(|l| page.note(l));
        }
    }
    for grid in tables {
        page.section(&grid.caption);
        page.table(grid);
    }
    for section in SUBJECTS.iter().flat_map(|s| (s.together)(views, &[])) {
        page.section(&section.title);
        page.blocks(section);
    }
    let made = "Made by Tailback from the records of the runs; it can be made again with <code>tailback compare --format html</code>.";
    whole("Runs compared", "", made, page)
}

fn picture(comparison: &Comparison) -> Svg {
    // What is surest stands first: a reader looks at the top.
    let mut rows: Vec<_> =
        comparison.rows.iter().filter(|r| r.times_worse.value.is_finite() && r.times_worse.value > 0.0).collect();
    rows.sort_by_key(|r| !matches!(r.judgement, Judgement::Worse | Judgement::Better));
    rows.truncate(MOST);
    let ends = rows.iter().flat_map(|r| {
        [Some(r.times_worse.value), r.times_worse.interval.map(|i| i.low), r.times_worse.interval.map(|i| i.high)]
    });
    let ends = ends.flatten().filter(|v| v.is_finite() && *v > 0.0);
    let (low, high) = ends.fold((0.9, 1.1), |(a, b): (f64, f64), v| (a.min(v), b.max(v)));
    let names: Vec<(String, &str)> = rows.iter().map(|r| (format!("{} {}", r.test, r.statistic), "")).collect();
    let about = "One row per test and statistic; the table has the numbers.";
    let words = Words { title: "Times worse", about, axis: "times worse in the second run" };
    let mut picture = Rows::new(words, Scale::log(low, high), &names, 16.0);
    picture.rule("ref", 1.0, names.len());
    for (i, row) in rows.iter().enumerate() {
        let class = match row.judgement {
            Judgement::Worse => "s1",
            Judgement::Better => "s2",
            Judgement::NoDifference => "s0 open",
            Judgement::Unknown => "ref open",
        };
        let tip = format!("{}: {} times worse, {}", names[i].0, digits(row.times_worse.value), row.judgement.words());
        picture.dot(i, 0.0, class, row.times_worse.value, row.times_worse.interval.map(|i| (i.low, i.high)), &tip);
    }
    picture.svg
}
