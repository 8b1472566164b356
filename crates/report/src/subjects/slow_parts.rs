//! Which node, switch or group is slow, where every pair of nodes met.

use crate::grid::{Grid, exact};
use crate::section::{Room, Section};
use crate::svg::{Anchor, Svg, WIDTH};
use crate::table::digits;
use crate::view::View;
use model::suspects::{Found, Part, SURE, Suspect};
use record::PairsRecord;

/// Nodes of a matrix that is drawn; more would be a grey square.
const DRAWN: usize = 128;
/// Rows of the list of slow pairs.
const LISTED: usize = 40;

/// Whether a record names a part that is slow, if that was all that it was asked.
pub fn has_suspects(view: &View<'_>) -> bool {
    let asked = view.record.phases.len() == 1;
    asked && view.record.pairs().is_some_and(|pairs| !Found::new(pairs).suspects.is_empty())
}

/// A part in words. Switches and groups are told by their nodes: only the site knows what it calls them.
fn name(view: &View<'_>, pairs: &PairsRecord, part: Part) -> String {
    let members = |is: &dyn Fn(&record::PairNode) -> bool| {
        let all: Vec<String> =
            (0..pairs.nodes.len()).filter(|n| is(&pairs.nodes[*n])).map(|n| view.record.node_name(n)).collect();
        match all.len() {
            n if n > 4 => format!("{}, {} and {} more", all[0], all[1], n - 2),
            _ => all.join(", "),
        }
    };
    match part {
        Part::Node(n) => view.record.node_name(n),
        Part::Switch(s) => format!("the switch of {}", members(&|p| p.switch == Some(s))),
        Part::Group(g) => format!("the group of {}", members(&|p| p.group == Some(g))),
    }
}

/// Nothing of runs whose nodes did not meet in pairs.
pub fn sections(view: &View<'_>) -> Vec<Section> {
    let Some(pairs) = view.record.pairs() else { return Vec::new() };
    let found = Found::new(pairs);
    let mut section = Section::with_room(Room::Terminal, "Slow parts");
    sentences(view, pairs, &found).into_iter().for_each(|s| section.say(s));
    if !found.suspects.is_empty() {
        section.list(suspects(view, pairs, &found));
    }
    if !found.pairs.is_empty() {
        section.table(slow_pairs(view, pairs, &found));
    }
    let mut all = vec![section];
    let mut rates = Section::with_room(Room::Page, "What pairs of nodes reached");
    let pictures = if pairs.nodes.len() <= DRAWN { vec![matrix(view, pairs, &found)] } else { Vec::new() };
    let caption =
        "One cell for each pair of nodes: the stronger, the slower beside the median of pairs at its distance.";
    rates.figure(caption, pictures, vec![by_node(view, pairs, &found)]);
    all.push(rates);
    all
}

fn sentences(view: &View<'_>, pairs: &PairsRecord, found: &Found) -> Vec<String> {
    let met = format!("{} pairs of {} nodes met under the load of all others.", pairs.values.len(), pairs.nodes.len());
    let slow = found.suspects.iter().map(|s| {
        let what = match s.part {
            Part::Node(_) => "is slow",
            Part::Switch(_) | Part::Group(_) => "has a slow cable, or is slow itself",
        };
        let name = name(view, pairs, s.part);
        format!("{name} {what}: {} of its {} pairs take {} times as long as usual.", s.slow, s.of, digits(s.times))
    });
    let mut all: Vec<String> = [met].into_iter().chain(slow.take(5)).collect();
    if found.suspects.is_empty() {
        let limit = digits(found.limit);
        all.push(match found.pairs.len() {
            0 => format!("No part stands out: no pair takes {limit} times as long as is usual at its distance."),
            1 => format!("No part stands out, but one pair takes {limit} times as long as is usual at its distance."),
            n => format!("No part stands out, but {n} pairs take {limit} times as long as is usual at their distance."),
        });
    }
    if pairs.nodes.iter().all(|n| n.switch.is_none()) {
        all.push("Where nodes are is not known, so only nodes can be named; --topology tells.".into());
    }
    let drain: Vec<String> = found
        .suspects
        .iter()
        .filter_map(|s| if let Part::Node(n) = s.part { Some(view.record.node_name(n)) } else { None })
        .collect();
    if !drain.is_empty() {
        all.push(format!("Nodes to take out of service: {}", drain.join(",")));
    }
    all
}

fn suspects(view: &View<'_>, pairs: &PairsRecord, found: &Found) -> Grid {
    let mut grid =
        Grid::new("Slow parts, the surest first", &["Part", "slow pairs", "of", "times slower", "chance if sound"]);
    for Suspect { part, slow, of, times, chance } in &found.suspects {
        let chance = if *chance < 1e-9 { "<1e-9".to_string() } else { format!("{chance:.0e}") };
        grid.row([name(view, pairs, *part), slow.to_string(), of.to_string(), digits(*times), chance]);
    }
    debug_assert!(found.suspects.iter().all(|s| s.chance < SURE));
    grid
}

fn slow_pairs(view: &View<'_>, pairs: &PairsRecord, found: &Found) -> Grid {
    let more = if found.pairs.len() > LISTED {
        format!(" (the first {LISTED} of {})", found.pairs.len())
    } else {
        String::new()
    };
    let caption = format!("Slow pairs that no part explains{more}, of {}", pairs.values.len());
    let mut grid = Grid::new(&caption, &["Node", "with", "MiB/s", "times slower"]);
    for (met, times) in found.pairs.iter().take(LISTED) {
        let [a, b] = met.nodes.map(|n| view.record.node_name(n));
        grid.row([a, b, digits(met.rate / 1048576.0), digits(*times)]);
    }
    grid
}

/// What each node reached with all others.
fn by_node(view: &View<'_>, pairs: &PairsRecord, found: &Found) -> Grid {
    let mut grid = Grid::new("By node", &["Node", "met", "median MiB/s", "least MiB/s", "median times slower"]);
    let mut of: Vec<Vec<(f64, f64)>> = vec![Vec::new(); pairs.nodes.len()];
    for (value, times) in pairs.values.iter().zip(&found.times) {
        for n in value.nodes {
            // A record from elsewhere may name nodes that it does not have.
            if let Some(list) = of.get_mut(n as usize) {
                list.push((value.bytes_per_s, *times));
            }
        }
    }
    for (n, list) in of.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
        let rates: Vec<f64> = list.iter().map(|x| x.0 / 1048576.0).collect();
        let times: Vec<f64> = list.iter().map(|x| x.1).collect();
        let median = crate::compare::changes::median;
        let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let row = [exact(median(&rates)), exact(least), exact(median(&times))];
        grid.row([view.record.node_name(n), list.len().to_string()].into_iter().chain(row));
    }
    grid
}

/// Steps of the colour; finer ones cannot be told apart.
const LEVELS: usize = 5;

fn matrix(view: &View<'_>, pairs: &PairsRecord, found: &Found) -> Svg {
    let (n, left, top) = (pairs.nodes.len().max(1), 40.0, 26.0);
    let side = ((WIDTH - left - 8.0) / n as f64).min(16.0);
    let about = format!("{n} by {n} nodes; {} slow parts. The table has each node's numbers.", found.suspects.len());
    let mut svg = Svg::new("Pairs of nodes", &about, WIDTH, top + side * n as f64 + 22.0);
    let most = found.times.iter().copied().filter(|t| t.is_finite()).fold(found.limit, f64::max);
    let mut corners: Vec<Vec<(f64, f64)>> = vec![Vec::new(); LEVELS];
    for (value, times) in pairs.values.iter().zip(&found.times) {
        let share = (times.ln() / most.ln()).clamp(0.0, 1.0);
        let level = ((share * LEVELS as f64) as usize).min(LEVELS - 1);
        let [a, b] = value.nodes.map(|n| n as usize);
        if a < n && b < n {
            corners[level].extend([(a, b), (b, a)].map(|(x, y)| (left + side * x as f64, top + side * y as f64)));
        }
    }
    for (level, corners) in corners.iter().enumerate().filter(|(_, c)| !c.is_empty()) {
        svg.cells("heat", corners, (side, side), 0.06 + 0.9 * level as f64 / (LEVELS - 1) as f64);
    }
    svg.rect("cell", (left, top), (side * n as f64, side * n as f64), 1.0);
    svg.text("value", (8.0, 14.0), Anchor::Start, "times slower than usual");
    for end in [0, n - 1] {
        svg.text("dim", (left - 5.0, top + side * (end as f64 + 0.5) + 4.0), Anchor::End, &end.to_string());
        let anchor = if end == 0 { Anchor::Start } else { Anchor::End };
        let x = if end == 0 { left } else { left + side * n as f64 };
        svg.text("dim", (x, top + side * n as f64 + 14.0), anchor, &view.record.node_name(end));
    }
    svg
}
