//! Balance beside published systems: what memory and network offer for each operation of HPL, and what rings in which all ranks
//! talk at once leave of a ping-pong between two.

use super::columns::{PING_PONG_BANDWIDTH, PING_PONG_LATENCY, RING_BANDWIDTH, RING_LATENCY, TestAt, balance, result};
use crate::grid::{Grid, exact};
use crate::section::Section;
use crate::svg::rows::{Rows, Words};
use crate::svg::{Anchor, Scale, Svg};
use crate::table::digits;
use crate::view::View;

/// A value of a system, drawn as a full or an open dot.
struct Dot {
    what: &'static str,
    open: bool,
    value: Option<f64>,
}

/// One picture: its words and the dots of a system.
struct Panel {
    title: &'static str,
    axis: &'static str,
    dots: fn(&View<'_>) -> Vec<Dot>,
}

/// The panels of one figure.
struct Figure {
    caption: &'static str,
    table: &'static str,
    panels: &'static [Panel],
}

const FIGURES: [Figure; 3] = [
    Figure {
        caption: "Balance: bytes that the memory and the network of all ranks move while HPL does one operation (of the ring: a \
                  thousand). Grey systems are published (nodes x ranks per node); more nodes mean a larger HPL, so compare like sizes.",
        table: "Balance of runs and published systems",
        panels: &[
            Panel { title: "STREAM Triad / HPL", axis: "bytes per flop", dots: |v| one(v, 0) },
            Panel { title: "PTRANS / HPL", axis: "bytes per flop", dots: |v| one(v, 1) },
            Panel { title: "Random ring / HPL", axis: "bytes per thousand flops", dots: |v| one(v, 2) },
        ],
    },
    Figure {
        caption: "By the paper's definitions (its Figure 2): the bandwidth of a rank in a ring over the least of any ping-pong, and the \
                  largest latency of any ping-pong over that in a ring; 1 means that nothing is lost when all ranks talk. Full dots are \
                  random rings, open ones natural rings. Grey systems are published (nodes x ranks per node).",
        table: "Rings and the worst ping-pong",
        panels: &[
            Panel { title: "Bandwidth left, of the least", axis: "ring / least ping-pong", dots: |v| two(v, [4, 5]) },
            Panel { title: "Latency kept, of the largest", axis: "largest ping-pong / ring", dots: |v| two(v, [7, 8]) },
        ],
    },
    Figure {
        caption: "What a ring of all ranks leaves of a ping-pong between two, per rank: full dots are random rings, open ones \
                  natural rings. Grey systems are published (nodes x ranks per node). Ranks of a node share its NIC, so the \
                  number of ranks per node counts more than the network: compare like with like.",
        table: "Rings over the average ping-pong, of one rank",
        panels: &[
            Panel {
                title: "Bandwidth left",
                axis: "share of the average ping-pong's bandwidth",
                dots: |v| {
                    rings(
                        v,
                        [RING_BANDWIDTH, PING_PONG_BANDWIDTH],
                        "bandwidth_bytes_per_s",
                        "bandwidth_avg_bytes_per_s",
                    )
                },
            },
            Panel {
                title: "Latency",
                axis: "times the average ping-pong's latency",
                dots: |v| rings(v, [RING_LATENCY, PING_PONG_LATENCY], "latency_s", "latency_avg_s"),
            },
        ],
    },
];

fn one(view: &View<'_>, at: usize) -> Vec<Dot> {
    vec![Dot { what: "", open: false, value: balance(view)[at].value }]
}

/// Two ratios: of the random and of the natural ring.
fn two(view: &View<'_>, at: [usize; 2]) -> Vec<Dot> {
    let all = balance(view);
    let dot = |(i, what, open): (usize, _, _)| Dot { what, open, value: all[i].value };
    [(at[0], "random ring", false), (at[1], "natural ring", true)].map(dot).into()
}

fn rings(view: &View<'_>, [ring, ping_pong]: [TestAt; 2], name: &str, average: &str) -> Vec<Dot> {
    let ping = result(view, ping_pong, average);
    let over = |which: &str| Some(result(view, ring, &format!("{which}_{name}"))? / ping?);
    [("random ring", false, over("random")), ("natural ring", true, over("natural"))]
        .map(|(what, open, value)| Dot { what, open, value })
        .into()
}

/// A run or a published system: its name, and its source if it is published.
pub struct SystemBalance<'a, 'r> {
    pub name: String,
    pub source: Option<&'a str>,
    pub view: &'a View<'r>,
}

/// Draws the runs beside published systems.
pub fn figures(section: &mut Section, theirs: &[SystemBalance<'_, '_>], ours: &[SystemBalance<'_, '_>]) {
    for figure in &FIGURES {
        draw(section, figure, theirs, ours);
    }
}

/// Draws a figure of those that have a value in it; nothing if no run has.
fn draw(section: &mut Section, figure: &Figure, theirs: &[SystemBalance<'_, '_>], ours: &[SystemBalance<'_, '_>]) {
    let has =
        |e: &&SystemBalance<'_, '_>| figure.panels.iter().flat_map(|p| (p.dots)(e.view)).any(|d| d.value.is_some());
    if !ours.iter().any(|e| has(&e)) {
        return;
    }
    let entries: Vec<&SystemBalance<'_, '_>> = theirs.iter().chain(ours).filter(has).collect();
    let mut grid = Grid::new(figure.table, &["System"]);
    for panel in figure.panels {
        // There is an entry, because one of the runs has a value; panels have the same dots for every system.
        let dots = (panel.dots)(entries[0].view);
        grid.header.extend(dots.iter().map(|d| [panel.title, d.what].join(", ").trim_end_matches(", ").to_string()));
    }
    grid.header.push("source".into());
    for e in &entries {
        let values = figure.panels.iter().flat_map(|p| (p.dots)(e.view)).map(|d| d.value.map_or("-".into(), exact));
        let source = e.source.unwrap_or("this page").to_string();
        grid.row(std::iter::once(e.name.clone()).chain(values).chain([source]));
    }
    let pictures = figure.panels.iter().map(|p| picture(p, &with_value(p, &entries))).collect();
    section.figure(figure.caption, pictures, vec![grid]);
}

/// Those that have a value in a panel: some published tables have one ratio of three, and rows without a dot say nothing.
fn with_value<'e, 'a, 'r>(panel: &Panel, entries: &[&'e SystemBalance<'a, 'r>]) -> Vec<&'e SystemBalance<'a, 'r>> {
    let has = |e: &&&SystemBalance<'_, '_>| (panel.dots)(e.view).iter().any(|dot| dot.value.is_some());
    entries.iter().filter(has).copied().collect()
}

fn picture(panel: &Panel, entries: &[&SystemBalance<'_, '_>]) -> Svg {
    let values = entries.iter().flat_map(|e| (panel.dots)(e.view)).filter_map(|d| d.value);
    let (low, high) = values.fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), x| (a.min(x), b.max(x)));
    let (low, high) = if low <= high { (low, high) } else { (1.0, 1.0) };
    let class = |e: &SystemBalance<'_, '_>| if e.source.is_some() { "dim" } else { "value" };
    let names: Vec<(String, &str)> = entries.iter().map(|e| (e.name.clone(), class(e))).collect();
    let about = format!("Dots on a logarithmic axis, {} systems; the table has the numbers.", entries.len());
    let words = Words { title: panel.title, about: &about, axis: panel.axis };
    let mut rows = Rows::new(words, Scale::log(low * 0.9, high * 1.1), &names, 16.0);
    // Values outside a scale lie on its edge, so a line at 1 that is out of sight would stand at a wrong value.
    if low < 1.0 && high > 1.0 {
        rows.rule("ref", 1.0, entries.len());
    }
    for (row, e) in entries.iter().enumerate() {
        let class = if e.source.is_some() { "ref" } else { "s1" };
        for dot in (panel.dots)(e.view) {
            let Some(value) = dot.value else { continue };
            let tip = format!("{} {}: {} {}", e.name, dot.what, digits(value), panel.axis);
            rows.dot(row, 0.0, &format!("{class}{}", if dot.open { " open" } else { "" }), value, None, &tip);
        }
    }
    rows.svg.text("value", (8.0, 14.0), Anchor::Start, panel.title);
    rows.svg
}
