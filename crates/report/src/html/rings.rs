//! What rings in which all ranks talk at once leave of a ping-pong between two, beside published systems.

use super::Page;
use crate::grid::{Grid, exact};
use crate::hpcc::result;
use crate::svg::rows::{Rows, Words};
use crate::svg::{Anchor, Scale, Svg};
use crate::table::digits;
use crate::view::View;
use record::rings::published;

/// A system or a run: its name, its source if it is published, and the natural and the random ring over the average ping-pong, in
/// bandwidth and in latency.
struct Entry {
    name: String,
    source: Option<&'static str>,
    bandwidth: [Option<f64>; 2],
    latency: [Option<f64>; 2],
}

pub(super) fn write(page: &mut Page, runs: &[&View<'_>]) {
    let ours: Vec<Entry> = runs.iter().enumerate().map(|(i, view)| ours(i, view)).collect();
    if ours.iter().all(|e| e.bandwidth == [None; 2] && e.latency == [None; 2]) {
        return;
    }
    let entries: Vec<Entry> = published().iter().map(theirs).chain(ours).collect();
    let header = [
        "System",
        "natural ring, bandwidth",
        "random ring, bandwidth",
        "natural ring, latency",
        "random ring, latency",
        "source",
    ];
    let mut grid = Grid::new("Rings over the average ping-pong, of one rank", &header);
    for e in &entries {
        let show = |x: Option<f64>| x.map_or("-".to_string(), exact);
        let values = [e.bandwidth[0], e.bandwidth[1], e.latency[0], e.latency[1]].map(show);
        grid.row(std::iter::once(e.name.clone()).chain(values).chain([e.source.unwrap_or("this page").to_string()]));
    }
    let pictures = vec![
        picture("Bandwidth left", "share of the average ping-pong's bandwidth", &entries, |e| e.bandwidth),
        picture("Latency", "times the average ping-pong's latency", &entries, |e| e.latency),
    ];
    let caption = "What a ring of all ranks leaves of a ping-pong between two, per rank: full dots are random rings, open ones \
                   natural rings. Grey systems are published (nodes x ranks per node). Ranks of a node share its NIC, so the \
                   number of ranks per node counts more than the network: compare like with like.";
    page.figure(caption, pictures, &[grid]);
}

fn ours(i: usize, view: &View<'_>) -> Entry {
    let of = |phase: &str, name: &str| result(view, phase, name);
    let over = |ring: Option<f64>, ping: Option<f64>| ring.zip(ping).map(|(r, p)| r / p);
    let ping = of("mpi/ping-pong-bandwidth", "bandwidth_avg_bytes_per_s");
    let wait = of("mpi/ping-pong-latency", "latency_avg_s");
    let rings = ["natural", "random"];
    let layout = &view.record.layout;
    Entry {
        name: format!("run {} {} x {}", i + 1, layout.nodes, layout.max_ranks_per_node),
        source: None,
        bandwidth: rings.map(|r| over(of("mpi/ring-bandwidth", &format!("{r}_bandwidth_bytes_per_s")), ping)),
        latency: rings.map(|r| over(of("mpi/ring-latency", &format!("{r}_latency_s")), wait)),
    }
}

fn theirs(r: &'static record::rings::Rings) -> Entry {
    let over = |[ping, natural, random]: [f64; 3]| [Some(natural / ping), Some(random / ping)];
    Entry {
        name: format!("{} {} x {}", r.system, r.nodes, r.ranks_per_node),
        source: Some(r.source),
        bandwidth: over(r.bandwidth),
        latency: over(r.latency),
    }
}

fn picture(title: &str, axis: &str, entries: &[Entry], of: impl Fn(&Entry) -> [Option<f64>; 2]) -> Svg {
    let values = entries.iter().flat_map(&of).flatten().filter(|x| *x > 0.0);
    let (low, high) = values.fold((1.0, 1.0), |(a, b): (f64, f64), x| (a.min(x), b.max(x)));
    let class = |e: &Entry| if e.source.is_some() { "dim" } else { "value" };
    let names: Vec<(String, &str)> = entries.iter().map(|e| (e.name.clone(), class(e))).collect();
    let about = format!("Dots on a logarithmic axis, {} systems; the table has the numbers.", entries.len());
    let mut rows = Rows::new(Words { title, about: &about, axis }, Scale::log(low * 0.9, high * 1.1), &names, 16.0);
    rows.rule("ref", 1.0, entries.len());
    for (row, e) in entries.iter().enumerate() {
        let class = if e.source.is_some() { "ref" } else { "s1" };
        for (value, open, what) in [(of(e)[1], "", "random"), (of(e)[0], " open", "natural")] {
            let Some(value) = value.filter(|v| *v > 0.0) else { continue };
            let tip = format!("{}, {what} ring: {} of the ping-pong", e.name, digits(value));
            rows.dot(row, 0.0, &format!("{class}{open}"), value, None, &tip);
        }
    }
    rows.svg.text("value", (8.0, 14.0), Anchor::Start, title);
    rows.svg
}
