//! Impact across systems on a logarithmic axis (the paper's Figure 11): the published systems in grey, these runs in colour.

use super::Page;
use crate::grid::{Grid, exact};
use crate::reference::{Entry, entries};
use crate::svg::rows::{Rows, Words};
use crate::svg::{Anchor, Scale, Svg};
use crate::table::digits;
use crate::view::{View, gpcnet_title};

pub(super) fn write(page: &mut Page, views: &[View<'_>]) {
    let mut titles: Vec<String> = Vec::new();
    for canary in views.iter().flat_map(|v| &v.canaries).filter(|c| c.impact().is_some()) {
        let title = gpcnet_title(canary.isolated);
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    if titles.is_empty() {
        return;
    }
    page.section("Across systems");
    let mut pictures = Vec::new();
    let mut grid = Grid::new(
        "Impact of congestion, published and here",
        &["System", "test", "impact avg", "impact 99% over avg", "impact 99%", "source"],
    );
    for title in &titles {
        let entries = entries(views, title);
        for e in &entries {
            let show = |x: Option<f64>| x.map_or("-".to_string(), exact);
            let source = e.source.unwrap_or("this page").to_string();
            grid.row([
                e.label.clone(),
                title.clone(),
                show(e.average),
                show(e.tail_over_average),
                show(e.tail),
                source,
            ]);
        }
        pictures.push(picture(title, &entries));
    }
    let caption = "Impact of congestion as in the paper's Figure 11, from least to most: open dots are averages, full dots the \
                   loaded 99 % over the average alone. Grey systems are published (nodes x ranks per node); other machines, \
                   sizes and loads cannot be compared number by number.";
    page.figure(caption, pictures, &[grid]);
}

fn picture(title: &str, entries: &[Entry]) -> Svg {
    let values = entries.iter().flat_map(|e| [e.average, e.tail_over_average]).flatten().filter(|x| *x > 0.0);
    let (low, high) = values.fold((1.0, 2.0), |(a, b): (f64, f64), x| (a.min(x), b.max(x)));
    let names: Vec<(String, &str)> =
        entries.iter().map(|e| (e.label.clone(), if e.source.is_some() { "dim" } else { "value" })).collect();
    let ours = entries.iter().filter(|e| e.source.is_none());
    let ours = ours.map(|e| format!("{}: {}", e.label, e.tail_over_average.map_or("-".into(), digits)));
    let about =
        format!("Dots on a logarithmic axis, {} systems. {}.", entries.len(), ours.collect::<Vec<_>>().join("; "));
    let words = Words { title, about: &about, axis: "times worse under load" };
    let mut rows = Rows::new(words, Scale::log(low, high), &names, 14.0);
    rows.rule("ref", 1.0, entries.len());
    for (row, e) in entries.iter().enumerate() {
        let class = if e.source.is_some() { "ref" } else { "s1" };
        for (value, interval, open, what) in [
            (e.tail_over_average, e.tail_interval, "", "99 % over average"),
            (e.average, e.average_interval, " open", "average"),
        ] {
            let Some(value) = value.filter(|v| *v > 0.0) else { continue };
            let tip = format!("{}, {what}: {} times worse", e.label, digits(value));
            rows.dot(row, 0.0, &format!("{class}{open}"), value, interval, &tip);
        }
    }
    rows.svg.text("value", (8.0, 14.0), Anchor::Start, title);
    rows.svg
}
