//! Graphs with penalties, predictions against measurements, and the spread of errors.

use crate::svg::frame::{Axis, Frame, Labels};
use crate::svg::graph::{Arrow, graph};
use crate::svg::{Anchor, Scale, Svg};
use crate::table::digits;
use model::contention::Graph;
use model::contention::campaign::Findings;

/// Slower than alone by more than this is drawn as slow.
const SLOW: f64 = 1.05;

/// A graph with a number on each flow: its nodes that flows touch, in order.
pub fn drawn(title: &str, measured: &Graph, numbers: &[f64], what: &str) -> Svg {
    let mut used: Vec<usize> = measured.flows.iter().flat_map(|f| [f.from, f.to]).collect();
    used.sort_unstable();
    used.dedup();
    let place = |node: usize| used.binary_search(&node).unwrap_or(0);
    let names: Vec<String> = used.iter().map(|&n| measured.nodes[n].clone()).collect();
    let labels: Vec<String> =
        measured.flows.iter().zip(numbers).map(|(f, x)| format!("{} {}", f.name, digits(*x))).collect();
    let arrows: Vec<Arrow<'_>> = measured
        .flows
        .iter()
        .zip(&labels)
        .zip(numbers)
        .map(|((f, label), x)| Arrow {
            from: place(f.from),
            to: place(f.to),
            label,
            class: if *x > SLOW { "s1" } else { "s0" },
        })
        .collect();
    let about = format!("{} nodes and {} flows with their {what}: {}.", names.len(), labels.len(), labels.join(", "));
    graph(title, &about, &names, &arrows)
}

/// Predicted and measured ends of every flow, in units of a flow alone of its size.
fn pairs(found: &Findings, rules: &str) -> Vec<(usize, f64, f64)> {
    let mut all = Vec::new();
    let Some(predicted) = found.of(rules) else { return all };
    for (s, p) in found.scored.iter().zip(&predicted.end_s) {
        let Some(p) = p else { continue };
        for (i, f) in s.measured.graph.flows.iter().enumerate() {
            let alone = found.alpha * f.bytes;
            let pair = (s.measured.end_s[i] / alone, p[i] / alone);
            // Both axes are logarithmic.
            if pair.0.is_finite() && pair.1.is_finite() && pair.0 > 0.0 && pair.1 > 0.0 {
                all.push((s.measured.graph.flows.len(), pair.0, pair.1));
            }
        }
    }
    all
}

/// Predicted against measured.
pub fn scatter(found: &Findings, rules: &str) -> Svg {
    let pairs = pairs(found, rules);
    let (low, high) =
        pairs.iter().flat_map(|p| [p.1, p.2]).fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    let (low, high) = if low.is_finite() { (low, high) } else { (1.0, 2.0) };
    let worst = pairs.iter().map(|p| (p.2 / p.1 - 1.0).abs()).fold(0.0, f64::max);
    let about = format!(
        "{} flows: ends predicted by {rules} over ends measured; the largest error is {} %.",
        pairs.len(),
        digits(100.0 * worst)
    );
    let axis = |label| Axis { scale: Scale::log(low, high), label, labels: Labels::Plain };
    let mut frame = Frame::new(rules, &about, 330.0, axis("measured [times alone]"), axis("predicted [times alone]"));
    let ends = frame.x.domain();
    frame.line("ref", &[(ends.0, ends.0), (ends.1, ends.1)]);
    frame.specks("s0", &pairs.iter().map(|p| (p.1, p.2)).collect::<Vec<_>>());
    frame.svg.text("value", (8.0, 14.0), Anchor::Start, rules);
    frame.svg
}

/// Errors by number of flows.
pub fn spread(found: &Findings, rules: &str) -> Svg {
    let pairs = pairs(found, rules);
    let points: Vec<(f64, f64)> = pairs.iter().map(|p| (p.0 as f64, 100.0 * (p.2 / p.1 - 1.0).abs())).collect();
    let high = points.iter().map(|p| p.1).fold(1.0, f64::max);
    let most = points.iter().map(|p| p.0).fold(1.0, f64::max);
    let x = Axis { scale: Scale::linear(0.0, most + 0.5), label: "flows of a graph", labels: Labels::Plain };
    let y = Axis { scale: Scale::linear(0.0, high), label: "|error| [%]", labels: Labels::Plain };
    let by = found.validation.scores.iter().find(|s| s.rules == rules).map(|s| &s.by_edges);
    let line = |pick: fn(&model::contention::validate::Errors) -> f64| -> Vec<(f64, f64)> {
        by.iter().flat_map(|m| m.iter()).map(|(n, e)| (*n as f64, 100.0 * pick(e))).collect()
    };
    let lines = [
        ("s0", "mean", line(|e| e.mean)),
        ("s2", "worst graph", line(|e| e.max_graph_mean)),
        ("s1", "worst flow", line(|e| e.max_flow)),
    ];
    let about = format!("Errors of {rules} by number of flows; the worst flow is off by {} %.", digits(high));
    let mut frame = Frame::new(&format!("{rules}: spread"), &about, 270.0, x, y);
    frame.specks("ref", &points);
    for (class, name, points) in &lines {
        frame.line(class, points);
        points.iter().for_each(|p| frame.dot(class, *p, None, &format!("{} flows, {name}: {} %", p.0, digits(p.1))));
    }
    frame.svg.text("value", (8.0, 14.0), Anchor::Start, rules);
    frame.svg.legend((135.0, 14.0), &lines.iter().map(|l| (l.0, l.1)).collect::<Vec<_>>());
    frame.svg
}
