//! Each kind of picture against a committed file that a browser opens.

mod common;

use common::golden;
use tailback_report::svg::density::log_density;
use tailback_report::svg::frame::{Axis, Frame, Labels};
use tailback_report::svg::graph::{Arrow, graph};
use tailback_report::svg::heat::{Heat, heat};
use tailback_report::svg::kiviat::{Polygon, kiviat};
use tailback_report::svg::map::{Map, map};
use tailback_report::svg::rows::{Rows, Words};
use tailback_report::svg::{STYLE, Scale, Svg};

/// With the style inside, so that the file can be looked at.
fn check(name: &str, svg: Svg) {
    let text = svg.finish(name);
    let text = text.replacen("</title>", &format!("</title>\n<style>\n{STYLE}</style>"), 1);
    golden(&format!("{name}.svg"), &text);
}

#[test]
fn shapes_lines_and_error_bars() {
    let x = Axis { scale: Scale::log(1.0, 2000.0), label: "time [usec]", labels: Labels::Plain };
    let y = Axis { scale: Scale::log(1e-4, 1.0), label: "share that is worse", labels: Labels::OneIn };
    let mut frame = Frame::new("Frame", "A shape and a line, <with> text to escape.", 250.0, x, y);
    frame.shape("s0", &[(1.0, 0.7), (2.0, 0.2), (16.0, 0.01), (1.0, 0.01)]);
    frame.line("s1", &[(1.0, 1e-3), (30.0, 0.3), (900.0, 2e-4)]);
    frame.dot("s2", (100.0, 0.1), Some((0.03, 0.4)), "a & b");
    frame.rule("s1", 1900.0, "99%: 1900", 1);
    check("frame", frame.svg);
}

#[test]
fn violins_and_dots_in_rows() {
    let names = [("alone".to_string(), ""), ("put-incast".to_string(), "dim")];
    let words = Words { title: "Rows", about: "A violin and a dot.", axis: "time [usec]" };
    let mut rows = Rows::new(words, Scale::log(1.0, 300.0), &names, 30.0);
    let density = log_density((1..=50u32).map(|i| (f64::from(i), f64::from(i), u64::from(51 - i))));
    rows.violin(0, "s0", &density, &[5.0, 40.0]);
    rows.dot(1, 0.0, "s1", 120.0, Some((80.0, 200.0)), "120");
    rows.rule("ref", 1.5, 2);
    check("rows", rows.svg);
}

#[test]
fn heat_maps() {
    let rows = ["p2p-lat", "allreduce"].map(String::from);
    let columns = ["a2a", "p2p-incast", "put-incast", "get-bcast", "a-long-name"].map(String::from);
    let cell = |x: f64| Some((x, format!("{x}×")));
    let cells = [vec![cell(1.0), cell(2.0), cell(50.0), None, cell(0.9)], vec![cell(3.0); 5]];
    check("heat", heat("Heat", "Two rows.", &Heat { rows: &rows, columns: &columns, cells: &cells }, 1.0));
}

#[test]
fn kiviats() {
    let axes = ["HPL", "PTRANS", "STREAM", "RandomAccess", "FFT"].map(String::from);
    let polygons = [
        Polygon { class: "s0", name: "this run", shares: &[1.0, 0.5, 0.7, 0.2, 0.9] },
        Polygon { class: "ref", name: "published", shares: &[0.6, 1.0, 1.0, 1.0, 0.1] },
    ];
    check("kiviat", kiviat("Kiviat", "Two systems on five axes.", &axes, &polygons));
}

#[test]
fn maps_of_errors() {
    let names = |list: &[u32]| list.iter().map(u32::to_string).collect::<Vec<_>>();
    let (rows, columns) = (names(&[64, 128, 256, 512]), names(&[1, 2, 4]));
    let cells = [0.0, 0.03, 0.3, 2.0].map(|e| vec![Some(e), Some(-e), None]).to_vec();
    check(
        "map",
        map("m3", "Four sizes.", ("down: bytes", "pairs k"), &Map { rows: &rows, columns: &columns, cells: &cells }),
    );
}

#[test]
fn graphs_of_flows() {
    let nodes = ["1", "2", "11", "12"].map(String::from);
    let arrow = |from, to, label, class| Arrow { from, to, label, class };
    let arrows = [
        arrow(0, 2, "a 2.50", "s1"),
        arrow(0, 3, "b 2.50", "s1"),
        arrow(1, 2, "c 1.00", "s0"),
        arrow(1, 2, "d 2.00", "s1"),
        arrow(3, 1, "e 1.00", "s0"),
    ];
    check("graph", graph("fig", "Four nodes.", &nodes, &arrows));
}
