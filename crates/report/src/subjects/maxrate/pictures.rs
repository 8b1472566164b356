//! Rates over sizes and over pairs, and maps of errors.

use super::{Crossed, cross};
use crate::grid::Grid;
use crate::svg::frame::{Axis, Frame, Labels};
use crate::svg::map::{Map, map};
use crate::svg::{Anchor, Scale, Svg};
use crate::table::digits;
use model::maxrate::Report;
use model::maxrate::study::Fitted;
use model::maxrate::tables::{HeatMap, RateCell};

const COLOURS: [&str; 6] = ["s0", "s1", "s2", "s3", "s4", "s5"];
/// Points of a drawn line in a region.
const FINE: usize = 40;
/// Dots of one line; more would touch.
const DOTS: usize = 40;

/// At most six of a list: its ends, and others at equal ratios of place.
fn few<T: Copy + PartialEq>(all: &[T]) -> Vec<T> {
    let last = all.len().saturating_sub(1);
    let mut kept: Vec<T> = Vec::new();
    for i in 0..COLOURS.len().min(all.len()) {
        let steps = (COLOURS.len().min(all.len()) - 1).max(1);
        // Places grow geometrically: small numbers of pairs differ most.
        let place = ((last as f64 + 1.0).powf(i as f64 / steps as f64) - 1.0).round() as usize;
        let value = all[place.min(last)];
        if !kept.contains(&value) {
            kept.push(value);
        }
    }
    kept
}

/// The two pictures of aggregate rates.
pub fn rates(fitted: &Fitted) -> Vec<Svg> {
    let crossed = cross(fitted.rates.iter().map(|c| (c.bytes, c.pairs, *c)));
    vec![over_sizes(fitted, &crossed), over_pairs(fitted, &crossed)]
}

fn span(cells: &[RateCell]) -> (f64, f64) {
    let values = cells.iter().flat_map(|c| [c.measured, c.modelled]).filter(|v| v.is_finite() && *v > 0.0);
    let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(a, b), v| (a.min(v), b.max(v)));
    if low.is_finite() { (low * 1e-9, high * 1e-9) } else { (0.1, 1.0) }
}

/// Where a region ends on the axis of sizes: between its last size and the next one's first.
fn boundaries(report: &Report) -> Vec<f64> {
    // The geometric mean, because the axis is logarithmic.
    report.phases.windows(2).map(|w| ((w[0].to_bytes as f64) * (w[1].from_bytes as f64)).sqrt()).collect()
}

fn over_sizes(fitted: &Fitted, crossed: &Crossed<RateCell>) -> Svg {
    let report = &fitted.report;
    let (low, high) = span(&fitted.rates);
    let first = crossed.sizes.first().copied().unwrap_or(1) as f64;
    let last = crossed.sizes.last().copied().unwrap_or(1) as f64;
    let chosen = few(&crossed.pairs);
    let names: Vec<String> = chosen.iter().map(|k| format!("k={k}")).collect();
    let about = format!(
        "Aggregate rate of {} over the size of a message, up to {} GB/s; regions: {}.",
        names.join(", "),
        digits(high),
        words(report)
    );
    let x = Axis { scale: Scale::log(first, last), label: "message [bytes]", labels: Labels::Plain };
    let y = Axis { scale: Scale::log(low, high * 1.6), label: "k n/T [GB/s]", labels: Labels::Plain };
    let mut frame = Frame::new("Aggregate rate over size", &about, 270.0, x, y);
    regions(&mut frame, report);
    // Only dots are thinned; the table behind the picture has every size.
    let stride = crossed.sizes.len().div_ceil(DOTS).max(1);
    for (&k, class) in chosen.iter().zip(COLOURS) {
        for phase in &report.phases {
            let (from, to) = (phase.from_bytes as f64, phase.to_bytes as f64);
            // Equal ratios are equal distances on the axis, so bends at small sizes are as smooth as at large ones.
            let at = |i: usize| from * (to / from).powf(i as f64 / FINE as f64);
            let rate = |n: f64| f64::from(k) * n / phase.chosen().predict(n, f64::from(k)) * 1e-9;
            let line: Vec<(f64, f64)> = (0..=FINE).map(at).map(|n| (n, rate(n))).filter(|p| p.1.is_finite()).collect();
            frame.line(class, &line);
        }
        let column = crossed.pairs.binary_search(&k).unwrap_or(0);
        let dots = crossed.cells.iter().step_by(stride).filter_map(|row| row[column]);
        for c in dots.filter(|c| c.measured.is_finite()) {
            let tip = format!(
                "{} B, k={}: {} GB/s, model {}",
                c.bytes,
                c.pairs,
                digits(c.measured * 1e-9),
                digits(c.modelled * 1e-9)
            );
            frame.svg.speck(class, (frame.x.at(c.bytes as f64), frame.y.at(c.measured * 1e-9)), &tip);
        }
    }
    legend(&mut frame, &names);
    frame.svg
}

fn words(report: &Report) -> String {
    report
        .phases
        .iter()
        .map(|p| format!("{} to {} bytes by {}", p.from_bytes, p.to_bytes, p.chosen))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Dashed lines between the protocol's regions, and the model chosen in each at the foot of its region.
fn regions(frame: &mut Frame, report: &Report) {
    let cuts = boundaries(report);
    for (i, cut) in cuts.iter().enumerate() {
        // Names of neighbouring cuts stand on two lines in turn, so that they do not touch.
        frame.rule("ref", *cut, &format!("{} B", report.phases[i + 1].from_bytes), i % 2);
    }
    let (low, high) = frame.x.domain();
    let edges: Vec<f64> = std::iter::once(low).chain(cuts).chain([high]).collect();
    let foot = frame.y.at(frame.y.domain().0) - 5.0;
    for (phase, edge) in report.phases.iter().zip(edges.windows(2)) {
        let (from, to) = (frame.x.at(edge[0]), frame.x.at(edge[1]));
        if to - from > crate::svg::text_width(&phase.chosen) {
            frame.svg.text("dim halo", ((from + to) / 2.0, foot), Anchor::Middle, &phase.chosen);
        }
    }
}

fn legend(frame: &mut Frame, names: &[String]) {
    let entries: Vec<(&str, &str)> = COLOURS.iter().copied().zip(names.iter().map(String::as_str)).collect();
    frame.svg.legend((60.0, 14.0), &entries);
}

fn over_pairs(fitted: &Fitted, crossed: &Crossed<RateCell>) -> Svg {
    let (low, high) = span(&fitted.rates);
    let most = crossed.pairs.last().copied().unwrap_or(1);
    // The largest sizes saturate a node; from each region the largest, then the ends of the list.
    let mut sizes: Vec<u64> = fitted.report.phases.iter().map(|p| p.to_bytes).collect();
    sizes.extend(
        [crossed.sizes.len() / 4, crossed.sizes.len() / 2, 3 * crossed.sizes.len() / 4]
            .iter()
            .filter_map(|&i| crossed.sizes.get(i)),
    );
    sizes.sort_unstable();
    sizes.dedup();
    let sizes: Vec<u64> = sizes.into_iter().rev().take(COLOURS.len() - 1).rev().collect();
    let names: Vec<String> = sizes.iter().map(|n| spec::show_bytes(*n)).collect();
    let about = format!("Aggregate rate over the number of pairs, for messages of {}.", names.join(", "));
    let x = Axis { scale: Scale::linear(0.0, f64::from(most)), label: "pairs k", labels: Labels::Plain };
    let y = Axis { scale: Scale::log(low, high * 1.6), label: "k n/T [GB/s]", labels: Labels::Plain };
    let mut frame = Frame::new("Aggregate rate over pairs", &about, 270.0, x, y);
    for (&n, class) in sizes.iter().zip(COLOURS) {
        let Ok(row) = crossed.sizes.binary_search(&n) else { continue };
        let known: Vec<RateCell> = crossed.cells[row].iter().flatten().copied().collect();
        let line: Vec<(f64, f64)> =
            known.iter().map(|c| (f64::from(c.pairs), c.modelled * 1e-9)).filter(|p| p.1.is_finite()).collect();
        frame.line(class, &line);
        for c in &known {
            let tip = format!("{} B, k={}: {} GB/s", c.bytes, c.pairs, digits(c.measured * 1e-9));
            frame.svg.speck(class, (frame.x.at(f64::from(c.pairs)), frame.y.at(c.measured * 1e-9)), &tip);
        }
    }
    legend(&mut frame, &names);
    frame.svg
}

/// The map of one model, and its numbers.
pub fn heat(heat: &HeatMap, report: &Report) -> (Svg, Grid) {
    let crossed = cross(heat.cells.iter().map(|c| (c.bytes, c.pairs, c.error)));
    let rows: Vec<String> = crossed.sizes.iter().map(u64::to_string).collect();
    let columns: Vec<String> = crossed.pairs.iter().map(u32::to_string).collect();
    let name = if heat.model == "chosen" { "chosen models".to_string() } else { heat.model.clone() };
    let worst = heat.cells.iter().map(|c| c.error.abs()).fold(0.0, f64::max);
    let about = format!(
        "Relative error of {name} over message size and pairs, at most {} %; regions: {}.",
        digits(100.0 * worst),
        words(report)
    );
    let mut grid = Grid::new(&format!("Error of {name} in %"), &["Bytes"]);
    grid.header.extend(columns.iter().map(|k| format!("k={k}")));
    for (n, cells) in rows.iter().zip(&crossed.cells) {
        let texts = cells.iter().map(|c| c.map_or("-".into(), |e| format!("{:+.1}", 100.0 * e)));
        grid.row(std::iter::once(n.clone()).chain(texts));
    }
    let picture = Map { rows: &rows, columns: &columns, cells: &crossed.cells };
    (map(&name, &about, ("down: bytes", "pairs k"), &picture), grid)
}

#[cfg(test)]
mod tests {
    use super::few;

    #[test]
    fn few_keep_the_ends_and_every_value_once() {
        assert_eq!(few(&[1u32, 2, 3]), [1, 2, 3]);
        let many: Vec<u32> = (1..=16).collect();
        assert_eq!((few(&many)[0], *few(&many).last().unwrap(), few(&many).len()), (1, 16, 6));
        assert!(few::<u32>(&[]).is_empty());
        assert_eq!(few(&[7u32]), [7]);
    }
}
