//! A network whose cables are coloured by how long they stalled, slice of time by slice.
//!
//! Every mark carries its levels in all slices, one digit each, so that a small script can show another slice by changing classes;
//! without it the picture shows the slice it was drawn for. Marks get wider as well as darker: colour alone tells nothing.

use super::WIDTH;
use super::draw::{Anchor, Svg};
use record::{BoxRecord, BundleRecord, NetworkRecord};
use std::collections::BTreeMap;

/// Shares of stalled time from which a level begins; level 0 sent nothing.
const STEPS: [f64; 4] = [0.01, 0.05, 0.2, 0.5];
/// What the levels mean, in words.
pub const MEANING: [&str; 6] = ["idle", "under 1 %", "1 to 5 %", "5 to 20 %", "20 to 50 %", "over 50 %"];
/// Directions of a cable lie so far beside its middle.
const ASIDE: f64 = 2.2;
const BARS: f64 = 52.0;
/// Room above and below the boxes.
const MARGIN: f64 = 30.0;

/// The level of a bundle in each slice.
pub fn levels(bundle: &BundleRecord, network: &NetworkRecord) -> Vec<u8> {
    let level = |slice: usize| match bundle.stalled(&network.slices, slice) {
        share if share == 0.0 && bundle.bytes.at(slice) == 0 => 0,
        share => 1 + STEPS.iter().filter(|s| share >= **s).count() as u8,
    };
    (0..network.slices.len()).map(level).collect()
}

/// The worst level of several bundles, slice by slice.
fn worst(all: &[Vec<u8>], slices: usize) -> Vec<u8> {
    (0..slices).map(|i| all.iter().map(|levels| levels[i]).max().unwrap_or(0)).collect()
}

/// What the bars of the slices show.
pub struct Bar {
    /// The share of time that cables stalled.
    pub share: f64,
    /// The slice in words.
    pub text: String,
    /// It is the first of its phase.
    pub begins: bool,
}

/// Draws the slice `shown`; at most `most` bundles one by one, the others as plain lines.
pub fn network(title: &str, about: &str, network: &NetworkRecord, bars: &[Bar], (shown, most): (usize, usize)) -> Svg {
    // Twice as wide as other pictures: a page gives it a row of its own.
    let scale = 2.0 * WIDTH / network.size.0;
    let (top, bottom) = network.boxes.iter().fold((f64::MAX, 0.0f64), |(a, b), one| (a.min(one.y), b.max(one.y)));
    let place = |b: &BoxRecord| (b.x * scale, (b.y - top) * scale + MARGIN);
    let (width, height) = (2.0 * WIDTH, (bottom - top).max(0.0) * scale + 2.0 * MARGIN);
    let mut svg = Svg::new(title, about, width, height + BARS);
    let at = |b: u32| network.boxes.get(b as usize).map_or((0.0, 0.0), place);
    // Records list the bundles that stalled longest first, so what is left is what matters least.
    let (drawn, rest) = network.bundles.split_at(network.bundles.len().min(most));
    let plain = network.others.0.chunks_exact(2).map(|p| (at(p[0] as u32), at(p[1] as u32)));
    let left = rest.iter().filter(|b| b.from != b.to).map(|b| (at(b.from), at(b.to)));
    let lines: Vec<_> = plain.chain(left).collect();
    svg.strokes("k k0", &lines);
    // The worst last, so that it lies above the others.
    for bundle in drawn.iter().rev().filter(|b| b.from != b.to) {
        let (from, to) = beside(at(bundle.from), at(bundle.to));
        svg.filmed("k", (from, to), (&levels(bundle, network), shown), &network.name(bundle));
    }
    boxes(&mut svg, network, place, shown);
    timeline(&mut svg, bars, (height, width), shown);
    svg
}

/// The line of one direction: on its right-hand side.
fn beside((x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> ((f64, f64), (f64, f64)) {
    let length = (x2 - x1).hypot(y2 - y1).max(1e-9);
    let (dx, dy) = (-(y2 - y1) / length * ASIDE, (x2 - x1) / length * ASIDE);
    ((x1 + dx, y1 + dy), (x2 + dx, y2 + dy))
}

/// Boxes: the body tells of the cables inside it, the strip below of its NICs.
fn boxes(svg: &mut Svg, network: &NetworkRecord, place: impl Fn(&BoxRecord) -> (f64, f64), shown: usize) {
    let mut own: BTreeMap<(u32, bool), Vec<Vec<u8>>> = BTreeMap::new();
    for bundle in network.bundles.iter().filter(|b| b.from == b.to) {
        let nics = matches!(bundle.kind.as_str(), "inject" | "eject");
        own.entry((bundle.from, nics)).or_default().push(levels(bundle, network));
    }
    let row = network.boxes.iter().filter(|b| Some(b.level) == network.boxes.first().map(|f| f.level)).count();
    let half = (2.0 * WIDTH / row.max(1) as f64 * 0.4).clamp(4.0, if network.grouped { 30.0 } else { 16.0 });
    for (i, b) in network.boxes.iter().enumerate() {
        let (x, y) = place(b);
        let high = if network.grouped { 12.0 } else { half.min(9.0) };
        let of = |nics: bool| own.get(&(i as u32, nics)).map(|all| worst(all, network.slices.len()));
        let corner = (x - half, y - high);
        svg.rect("node", corner, (2.0 * half, 2.0 * high), 1.0);
        if let Some(levels) = of(false) {
            let tip = format!("inside {}: {} switches", b.name, b.switches);
            svg.filmed_box("kb", (corner, (2.0 * half, 2.0 * high)), (&levels, shown), &tip);
        }
        if let Some(levels) = of(true) {
            let tip = format!("{} NICs of {}", b.nics, b.name);
            svg.filmed_box("kb", ((x - half, y + high + 1.0), (2.0 * half, 5.0)), (&levels, shown), &tip);
        }
        if half >= 8.0 {
            let label = b.name.rsplit(' ').next().unwrap_or_default();
            svg.text("halo", (x, y + 4.0), Anchor::Middle, label);
        }
    }
}

/// One bar per slice, and a stroke where a phase begins.
fn timeline(svg: &mut Svg, bars: &[Bar], (top, width): (f64, f64), shown: usize) {
    let (left, each) = (12.0, (width - 24.0) / bars.len().max(1) as f64);
    let high = BARS - 14.0;
    // Heights are relative to the worst slice: they say when to look, the words of a bar say how much.
    let most = bars.iter().map(|b| b.share).fold(1e-9, f64::max);
    for (i, bar) in bars.iter().enumerate() {
        let x = left + each * i as f64;
        let tall = (bar.share / most * high).max(1.0);
        svg.slice((x + 0.5, top + high - tall), ((each - 1.0).max(0.5), tall), (top, high), i == shown, &bar.text);
        if bar.begins {
            svg.line("axis", (x, top + high), (x, top + high + 6.0));
        }
    }
    svg.line("axis", (left, top + high), (width - 12.0, top + high));
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Series, SliceRecord};

    fn made() -> NetworkRecord {
        let one = |name: &str, x: f64| BoxRecord { name: name.into(), x, y: 300.0, level: 0, switches: 1, nics: 2 };
        let bundle = |from, to, kind: &str, bytes, stalled| BundleRecord {
            from,
            to,
            kind: kind.into(),
            cables: 1,
            rate_bytes_per_s: 1e9,
            bytes: Series(bytes),
            stalled_ns: Series(stalled),
        };
        let slice = |from: f64| SliceRecord { phase: "p".into(), from_s: from * 1e-6, to_s: (from + 1.0) * 1e-6 };
        NetworkRecord {
            size: (960.0, 640.0),
            grouped: false,
            boxes: vec![one("switch 0", 200.0), one("switch 1", 700.0)],
            slices: vec![slice(0.0), slice(1.0), slice(2.0)],
            bundles: vec![
                bundle(0, 1, "up", vec![9, 9, 0], vec![0, 600, 0]),
                bundle(1, 0, "up", vec![9, 9, 9], vec![30, 0, 0]),
                bundle(0, 0, "inject", vec![9, 9, 9], vec![0, 300, 0]),
            ],
            others: Series(vec![0, 1]),
        }
    }

    #[test]
    fn every_mark_knows_all_slices_and_shows_one() {
        let made = made();
        assert_eq!(levels(&made.bundles[0], &made), [1, 5, 0]);
        assert_eq!(levels(&made.bundles[1], &made), [2, 1, 1]);
        let bar = |share| Bar { share, text: "s".into(), begins: true };
        let text = network("t", "d", &made, &[bar(0.1), bar(0.3), bar(0.0)], (1, 1)).finish("x");
        assert!(
            text.contains("class=\"k k5\" data-k=\"150\"") && text.contains("class=\"kb k4\" data-k=\"141\""),
            "{text}"
        );
        // The second bundle and the pair without numbers are plain lines of one element.
        assert_eq!((text.matches("data-k=").count(), text.matches("<path class=\"k k0\"").count()), (2, 1));
        assert_eq!(text.matches("class=\"slice now\"").count(), 1);
    }

    #[test]
    fn directions_lie_apart() {
        let (a, b) = ((0.0, 0.0), (10.0, 0.0));
        assert_eq!((beside(a, b).0.1, beside(b, a).0.1), (ASIDE, -ASIDE));
    }
}
