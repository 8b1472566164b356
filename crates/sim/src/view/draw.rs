//! A picture of the network as SVG: every switch and cable of a small one, groups and bundles of a large one.
//!
//! Trees are drawn in rows, endpoints at the bottom; networks in which every switch has endpoints on a circle. What is drawn
//! as one box in a large network is what is simulated together: a group, a pod, a slice.

use crate::base::NONE;
use crate::file::{Config, ConfigError};
use crate::link::{ENDPOINT, Link};
use crate::net::Fabric;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

/// More switches than this are drawn by groups.
const MOST_SWITCHES: usize = 80;
pub(crate) const WIDTH: f64 = 960.0;
pub(crate) const HEIGHT: f64 = 640.0;
const MARGIN: f64 = 60.0;
/// Distinguishable also without colour vision (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// One box of the picture.
pub(crate) struct Item {
    pub(crate) level: u32,
    pub(crate) group: u32,
    pub(crate) switches: usize,
    pub(crate) endpoints: usize,
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// What is to be drawn: boxes, and how many cables of which kind join two of them.
pub(crate) struct Picture {
    pub(crate) items: Vec<Item>,
    /// The box of each switch.
    pub(crate) item_of: Vec<usize>,
    bundles: BTreeMap<(usize, usize, &'static str), usize>,
    pub(crate) grouped: bool,
}

/// Draws the network of a configuration as SVG, or says why it cannot be built.
pub fn draw(config: &Config) -> Result<String, ConfigError> {
    let fabric = Fabric::new(config)?;
    Ok(svg(&placed(&fabric), config, fabric.switches.len()))
}

/// What is to be drawn, and where.
pub(crate) fn placed(fabric: &Fabric) -> Picture {
    let mut picture = gather(fabric);
    place(&mut picture.items);
    picture
}

/// How many cables each switch is away from the nearest with endpoints.
fn levels(fabric: &Fabric) -> Vec<u32> {
    let mut level = vec![u32::MAX; fabric.switches.len()];
    let mut queue = VecDeque::new();
    for end in &fabric.endpoints {
        if level[end.switch as usize] != 0 {
            level[end.switch as usize] = 0;
            queue.push_back(end.switch);
        }
    }
    // Switches that have places for endpoints which this machine leaves empty are edge switches as well.
    let free = |l: &&Link| l.to == NONE && l.from & ENDPOINT == 0;
    for link in fabric.links.iter().filter(free) {
        if level[link.from as usize] != 0 {
            level[link.from as usize] = 0;
            queue.push_back(link.from);
        }
    }
    while let Some(s) = queue.pop_front() {
        let info = &fabric.switches[s as usize];
        for link in &fabric.links[info.first_link as usize..][..usize::from(info.ports)] {
            if link.to & ENDPOINT == 0 && level[link.to as usize] == u32::MAX {
                level[link.to as usize] = level[s as usize] + 1;
                queue.push_back(link.to);
            }
        }
    }
    level
}

fn gather(fabric: &Fabric) -> Picture {
    let level = levels(fabric);
    let grouped = fabric.switches.len() > MOST_SWITCHES;
    let part = |s: usize| fabric.switches[s].group;
    let mut item_of = vec![0; fabric.switches.len()];
    let mut known: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    let mut items: Vec<Item> = Vec::new();
    for s in 0..fabric.switches.len() {
        let new = items.len();
        let i = if grouped { *known.entry((level[s], part(s))).or_insert(new) } else { new };
        if i == new {
            items.push(Item { level: level[s], group: part(s), switches: 0, endpoints: 0, x: 0.0, y: 0.0 });
        }
        items[i].switches += 1;
        item_of[s] = i;
    }
    for end in &fabric.endpoints {
        items[item_of[end.switch as usize]].endpoints += 1;
    }
    let mut bundles = BTreeMap::new();
    for link in fabric.links.iter().filter(|l| l.from & ENDPOINT == 0 && l.to & ENDPOINT == 0) {
        let (a, b) = (item_of[link.from as usize], item_of[link.to as usize]);
        // A cable is there once per direction; one of the two is counted.
        if a < b || (a == b && link.from < link.to) {
            *bundles.entry((a, b, link.kind)).or_insert(0) += 1;
        }
    }
    Picture { items, item_of, bundles, grouped }
}

/// Rows if there are several levels, else a circle.
fn place(items: &mut [Item]) {
    let top = items.iter().map(|i| i.level).max().unwrap_or(0);
    let n = items.len();
    if n == 1 {
        (items[0].x, items[0].y) = (WIDTH / 2.0, HEIGHT / 2.0);
    } else if top == 0 {
        for (i, item) in items.iter_mut().enumerate() {
            // A quarter turn back, so that the first box is at the top.
            let angle = (i as f64 / n as f64 - 0.25) * std::f64::consts::TAU;
            item.x = WIDTH / 2.0 + (WIDTH / 2.0 - MARGIN - 40.0) * angle.cos();
            item.y = HEIGHT / 2.0 + (HEIGHT / 2.0 - MARGIN) * angle.sin();
        }
    } else {
        for level in 0..=top {
            let row = items.iter().filter(|i| i.level == level).count();
            for (i, item) in items.iter_mut().filter(|i| i.level == level).enumerate() {
                item.x = MARGIN + (WIDTH - 2.0 * MARGIN) * (i as f64 + 0.5) / row as f64;
                item.y = HEIGHT - MARGIN - 30.0 - (HEIGHT - 2.0 * MARGIN - 60.0) * f64::from(level) / f64::from(top);
            }
        }
    }
}

fn escape(text: &str) -> String {
    // `&` first, or the other replacements would be escaped again.
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

fn svg(picture: &Picture, config: &Config, switches: usize) -> String {
    let mut kinds: Vec<&str> = picture.bundles.keys().map(|k| k.2).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let colour = |kind: &str| COLOURS[kinds.iter().position(|k| *k == kind).unwrap_or(0) % COLOURS.len()];
    let nics = if config.nic.per_node > 1 { format!(" with {} NICs", config.endpoints()) } else { String::new() };
    let title = format!("{}: {} nodes{nics}, {switches} switches", config.topology.0, config.nodes);
    let mut out = String::new();
    let _ = writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">"#
    );
    let _ = writeln!(out, "<title>{}</title>", escape(&title));
    let _ = writeln!(out, r##"<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>"##);
    let _ = writeln!(out, r#"<text x="16" y="24" font-size="16">{}</text>"#, escape(&title));
    lines(&mut out, picture, colour);
    // The labels count what is attached to a switch: nodes, or their NICs where a node has several.
    boxes(&mut out, picture, if nics.is_empty() { "nodes" } else { "NICs" });
    for (i, kind) in kinds.iter().enumerate() {
        let (x, c) = (16.0 + 150.0 * i as f64, colour(kind));
        let total: usize = picture.bundles.iter().filter(|(k, _)| k.2 == *kind).map(|(_, n)| n).sum();
        let _ = writeln!(out, r#"<path d="M{x} {y}h24" stroke="{c}" stroke-width="3"/>"#, y = HEIGHT - 16.0);
        let _ = writeln!(out, r#"<text x="{}" y="{}">{total} {kind} cables</text>"#, x + 30.0, HEIGHT - 12.0);
    }
    out += "</svg>\n";
    out
}

fn lines<'c>(out: &mut String, picture: &Picture, colour: impl Fn(&str) -> &'c str) {
    let most = picture.bundles.values().copied().max().unwrap_or(1) as f64;
    // Cables inside a box are not drawn, but the legend counts them.
    for (&(a, b, kind), &n) in picture.bundles.iter().filter(|((a, b, _), _)| a != b) {
        let (a, b) = (&picture.items[a], &picture.items[b]);
        // A bundle's width shows its share of the thickest, and a thin one stays visible.
        let width = 0.6 + 3.4 * n as f64 / most.max(4.0);
        let _ = writeln!(
            out,
            r#"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{}" stroke-width="{width:.2}" stroke-opacity="0.55"><title>{n} {kind}</title></line>"#,
            a.x,
            a.y,
            b.x,
            b.y,
            colour(kind)
        );
    }
}

fn boxes(out: &mut String, picture: &Picture, ends: &str) {
    let widest = picture.items.iter().filter(|i| i.level == picture.items[0].level).count().max(1) as f64;
    let half = (WIDTH / widest * 0.4).clamp(4.0, if picture.grouped { 44.0 } else { 16.0 });
    for (i, item) in picture.items.iter().enumerate() {
        let fill = if item.level == 0 { "#e8eef4" } else { "#f6efe2" };
        let high = if picture.grouped { 16.0 } else { half.min(10.0) };
        let what = if picture.grouped {
            format!("group {}: {} switches, {} {ends}", item.group, item.switches, item.endpoints)
        } else {
            format!("switch {i}: {} {ends}", item.endpoints)
        };
        let _ = writeln!(
            out,
            r##"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}" rx="3" fill="{fill}" stroke="#333333"><title>{what}</title></rect>"##,
            item.x - half,
            item.y - high,
            2.0 * half,
            2.0 * high
        );
        // Narrower boxes have no room for a label.
        if half >= 12.0 {
            let label = if picture.grouped { format!("{} sw", item.switches) } else { i.to_string() };
            let _ =
                writeln!(out, r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#, item.x, item.y + 4.0);
        }
        if item.endpoints > 0 && half >= 12.0 {
            let label = format!("{} {ends}", item.endpoints);
            let y = item.y + high + 12.0;
            let _ = writeln!(
                out,
                r##"<text x="{:.1}" y="{y:.1}" text-anchor="middle" fill="#555555">{label}</text>"##,
                item.x
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TOPOLOGIES;

    fn of(text: &str) -> String {
        draw(&Config::from_toml(text).unwrap()).unwrap()
    }

    #[test]
    fn every_topology_is_drawn_small_and_large() {
        for entry in TOPOLOGIES {
            for nodes in [12, 60] {
                let kind = entry.card.name;
                let svg = of(&format!("nodes = {nodes}\n[topology]\nkind = \"{kind}\"\n"));
                assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{kind}");
                assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{kind}: {svg}");
            }
        }
    }

    #[test]
    fn a_small_network_shows_every_switch_and_cable() {
        let svg = of("nodes = 16\n[topology]\nkind = \"fat-tree\"\nradix = 8\n");
        assert_eq!(svg.matches("rx=\"3\"").count(), 8);
        assert_eq!(svg.matches("<line").count(), 16);
    }

    /// The numbers of all labels that count `what`.
    fn sum_of(svg: &str, what: &str) -> usize {
        let label = |text: &str| text.strip_suffix(what).and_then(|n| n.trim().parse::<usize>().ok());
        svg.split(['<', '>']).filter_map(label).sum()
    }

    #[test]
    fn labels_add_up_to_the_title() {
        for (nics, what, title) in [(1, "nodes", "24 nodes, "), (2, "NICs", "24 nodes with 48 NICs, ")] {
            let svg =
                of(&format!("nodes = 24\n[nic]\nper_node = {nics}\n[topology]\nkind = \"fat-tree\"\nradix = 16\n"));
            assert!(svg.contains(&format!("fat-tree: {title}")), "{svg}");
            assert_eq!(sum_of(&svg, what), 24 * nics);
        }
    }

    #[test]
    fn a_large_network_shows_groups() {
        let svg = of("nodes = 1056\n[topology]\nkind = \"dragonfly\"\n");
        assert_eq!(svg.matches("rx=\"3\"").count(), 33);
        assert_eq!(svg.matches("<line").count(), 33 * 32 / 2);
        assert!(svg.contains("528 global cables"));
    }
}
