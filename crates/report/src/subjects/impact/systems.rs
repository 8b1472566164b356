//! Impact across systems on a logarithmic axis, like the paper's Figure 11: the published systems in grey, these runs in colour.

use crate::grid::{Grid, exact};
use crate::known::Known;
use crate::section::{Room, Section};
use crate::svg::rows::{Rows, Words};
use crate::svg::{Anchor, Scale, Svg};
use crate::table::digits;
use crate::view::{View, gpcnet_title};
use record::hpcc_systems::System as HpccSystem;
use record::reference::systems;

/// All runs of a page beside every published system; those of HPC Challenge have no impacts.
pub fn across(views: &[View<'_>], _: &[HpccSystem]) -> Vec<Section> {
    let mut titles: Vec<String> = Vec::new();
    for canary in views.iter().flat_map(|v| &v.canaries).filter(|c| c.impact().is_some()) {
        let title = gpcnet_title(canary.isolated);
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    if titles.is_empty() {
        return super::side::section(views).into_iter().collect();
    }
    let mut pictures = Vec::new();
    let mut grid = Grid::new(
        "Impact of congestion, published and here",
        &["System", "test", "impact avg", "impact 99%", "loaded 99% over avg alone", "source"],
    );
    for title in &titles {
        let entries = entries(views, title);
        for e in &entries {
            let show = |x: Option<Known>| x.map_or("-".to_string(), |x| exact(x.value));
            let source = e.source.unwrap_or("this page").to_string();
            let numbers = [e.average, e.tail, e.tail_over_average].map(show);
            grid.row([e.label.clone(), title.clone()].into_iter().chain(numbers).chain([source]));
        }
        pictures.push(picture(title, &entries));
    }
    let caption = "Impact of congestion from least to most: open dots are averages, full dots the loaded 99 % over the 99 % \
                   alone, as everywhere on this page; the table also has it over the average alone, as the paper's Figure 11. \
                   Grey systems are published (nodes x ranks per node); other machines, sizes and loads cannot be compared \
                   number by number.";
    let mut section = Section::with_room(Room::Page, "Across systems");
    section.figure(caption, pictures, vec![grid]);
    super::side::section(views).into_iter().chain([section]).collect()
}

fn picture(title: &str, entries: &[SystemImpact]) -> Svg {
    let values = entries.iter().flat_map(|e| [e.average, e.tail]).flatten().map(|x| x.value).filter(|x| *x > 0.0);
    // 1 is always in sight: the line of no harm stands there.
    let (low, high) = values.fold((1.0, 2.0), |(a, b): (f64, f64), x| (a.min(x), b.max(x)));
    let names: Vec<(String, &str)> =
        entries.iter().map(|e| (e.label.clone(), if e.source.is_some() { "dim" } else { "value" })).collect();
    let ours = entries.iter().filter(|e| e.source.is_none());
    let ours = ours.map(|e| format!("{}: {}", e.label, e.tail.map_or("-".into(), |x| digits(x.value))));
    let about =
        format!("Dots on a logarithmic axis, {} systems. {}.", entries.len(), ours.collect::<Vec<_>>().join("; "));
    let words = Words { title, about: &about, axis: "times worse under load" };
    let mut rows = Rows::new(words, Scale::log(low, high), &names, 14.0);
    rows.rule("ref", 1.0, entries.len());
    for (row, e) in entries.iter().enumerate() {
        let class = if e.source.is_some() { "ref" } else { "s1" };
        for (x, open, what) in [(e.tail, "", "99 %"), (e.average, " open", "average")] {
            let Some(x) = x.filter(|x| x.value > 0.0) else { continue };
            let tip = format!("{}, {what}: {} times worse", e.label, digits(x.value));
            let ends = x.interval.map(|i| (i.low, i.high));
            rows.dot(row, 0.0, &format!("{class}{open}"), x.value, ends, &tip);
        }
    }
    rows.svg.text("value", (8.0, 14.0), Anchor::Start, title);
    rows.svg
}

/// One system's impact of one test: published, or of a run at hand.
struct SystemImpact {
    /// Its name and size.
    label: String,
    /// Where it is published; nothing for a run at hand.
    source: Option<&'static str>,
    average: Option<Known>,
    tail_over_average: Option<Known>,
    tail: Option<Known>,
}

/// Every published system and every run that has an impact of the test with this GPCNeT title (name and size), from least to
/// most.
fn entries(views: &[View<'_>], title: &str) -> Vec<SystemImpact> {
    let mut all: Vec<SystemImpact> = published(views, title);
    for (i, view) in views.iter().enumerate() {
        let canary = view.canaries.iter().find(|c| gpcnet_title(c.isolated) == title);
        let Some(impact) = canary.and_then(|c| c.impact()) else { continue };
        let name = if views.len() > 1 { format!("run {}", i + 1) } else { "this run".to_string() };
        let layout = &view.record.layout;
        let finite = |x: Known| Some(x).filter(|x| x.value.is_finite());
        all.push(SystemImpact {
            label: format!("{name} {} x {}", layout.nodes, layout.max_ranks_per_node),
            source: None,
            average: finite(impact.average),
            tail_over_average: finite(impact.tail_over_average),
            tail: finite(impact.tail),
        });
    }
    let key = |e: &SystemImpact| e.tail.or(e.average).map_or(0.0, |x| x.value);
    all.sort_by(|a, b| key(a).total_cmp(&key(b)));
    all
}

fn published(views: &[View<'_>], title: &str) -> Vec<SystemImpact> {
    let canaries = || views.iter().flat_map(|v| &v.canaries);
    let Some(metric) = canaries().find(|c| gpcnet_title(c.isolated) == title).map(|c| c.isolated.metric) else {
        return Vec::new();
    };
    let entry = |s: &'static record::reference::System| {
        let impact = s.impact(metric, title);
        impact.average.or(impact.tail)?;
        Some(SystemImpact {
            label: s.label(),
            source: Some(&s.source),
            average: impact.average.map(Known::bare),
            tail_over_average: impact.tail_over_average.map(Known::bare),
            tail: impact.tail.map(Known::bare),
        })
    };
    systems().iter().filter_map(entry).collect()
}
