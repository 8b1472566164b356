//! Flows between nodes: senders on the left, receivers on the right, an arrow with a label for each flow. A node that does both stands on both
//! sides, because its two directions do not meet.

use super::WIDTH;
use super::draw::text_width;
use super::draw::{Anchor, Svg};

/// One arrow.
pub struct Arrow<'a> {
    /// Number of the node it leaves.
    pub from: usize,
    /// Number of the node it enters.
    pub to: usize,
    /// What stands on it.
    pub label: &'a str,
    /// Its colour.
    pub class: &'a str,
}

const TOP: f64 = 40.0;
const PITCH: f64 = 44.0;
const NODE: f64 = 13.0;
const LEFT: f64 = 46.0;
/// How far the middles of parallel arrows lie apart.
const APART: f64 = 18.0;
/// Where along an arrow its label may stand, the best place first.
const SPOTS: [f64; 9] = [0.42, 0.54, 0.3, 0.66, 0.2, 0.78, 0.36, 0.48, 0.6];

/// Nodes of one side in the order in which they are drawn: each at the mean place of its partners, so that few arrows cross.
fn order(mine: &[usize], partner: impl Fn(usize) -> Vec<usize>, other: &[usize]) -> Vec<usize> {
    let place = |node: usize| other.iter().position(|n| *n == node).unwrap_or(0) as f64;
    let mean = |node: usize| {
        let all: Vec<f64> = partner(node).into_iter().map(place).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    };
    let mut sorted = mine.to_vec();
    sorted.sort_by(|a, b| mean(*a).total_cmp(&mean(*b)).then(a.cmp(b)));
    sorted
}

fn once(all: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut list: Vec<usize> = all.collect();
    list.sort_unstable();
    list.dedup();
    list
}

/// Draws it.
pub fn graph(title: &str, about: &str, nodes: &[String], arrows: &[Arrow<'_>]) -> Svg {
    let into = |node: usize| arrows.iter().filter(move |a| a.to == node).map(|a| a.from).collect::<Vec<_>>();
    let from = |node: usize| arrows.iter().filter(move |a| a.from == node).map(|a| a.to).collect::<Vec<_>>();
    let mut senders = once(arrows.iter().map(|a| a.from));
    let mut receivers = once(arrows.iter().map(|a| a.to));
    // The order of each side rests on that of the other, so they take turns. Three rounds are chosen.
    for _ in 0..3 {
        receivers = order(&receivers, into, &senders);
        senders = order(&senders, from, &receivers);
    }
    let rows = senders.len().max(receivers.len()).max(1) as f64;
    let mut svg = Svg::new(title, about, WIDTH, TOP + PITCH * rows + 4.0);
    svg.text("value", (8.0, 14.0), Anchor::Start, title);
    svg.text("dim", (LEFT, 30.0), Anchor::Middle, "from");
    svg.text("dim", (WIDTH - LEFT, 30.0), Anchor::Middle, "to");
    // The shorter side is spread over the height of the longer one.
    let at = |side: &[usize], node: usize, x: f64| {
        let place = side.iter().position(|n| *n == node).unwrap_or(0) as f64;
        (x, TOP + PITCH * rows * (place + 0.5) / side.len() as f64)
    };
    let mut labels: Vec<((f64, f64), &str)> = Vec::new();
    for (i, arrow) in arrows.iter().enumerate() {
        let earlier = arrows[..i].iter().filter(|a| (a.from, a.to) == (arrow.from, arrow.to)).count();
        let (a, b) = (at(&senders, arrow.from, LEFT), at(&receivers, arrow.to, WIDTH - LEFT));
        let curve = Curve::new(a, b, APART * earlier as f64);
        curve.draw(&mut svg, arrow.class);
        labels.push((spot(&curve, arrow.label, &labels), arrow.label));
    }
    for (side, x) in [(&senders, LEFT), (&receivers, WIDTH - LEFT)] {
        for &node in side {
            let (x, y) = at(side, node, x);
            svg.circle("node", (x, y), NODE);
            svg.text("value", (x, y + 4.0), Anchor::Middle, nodes.get(node).map_or("?", String::as_str));
        }
    }
    for ((x, y), label) in labels {
        // A little above the line, which would strike it through.
        svg.text("value halo", (x, y - 3.0), Anchor::Middle, label);
    }
    svg
}

/// The first place along an arrow where its label touches no other.
fn spot(curve: &Curve, label: &str, taken: &[((f64, f64), &str)]) -> (f64, f64) {
    let touches = |p: (f64, f64)| {
        let near = |(q, other): &((f64, f64), &str)| {
            (p.0 - q.0).abs() < (text_width(label) + text_width(other)) / 2.0 && (p.1 - q.1).abs() < 13.0
        };
        taken.iter().any(near)
    };
    let mut spots = SPOTS.iter().map(|t| curve.at(*t));
    // In a graph so dense that every place is taken, the best place is as good as any.
    spots.find(|p| !touches(*p)).unwrap_or_else(|| curve.at(SPOTS[0]))
}

/// An arrow between the rims of two nodes, its middle moved down for parallel ones: a quadratic Bezier curve.
struct Curve {
    points: [(f64, f64); 3],
}

impl Curve {
    fn new(a: (f64, f64), b: (f64, f64), shift: f64) -> Curve {
        // A quadratic curve goes only half the way to its control point, hence twice the shift.
        let middle = ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0 + 2.0 * shift);
        let rim = |node: (f64, f64)| {
            let (x, y) = (middle.0 - node.0, middle.1 - node.1);
            let length = x.hypot(y).max(1.0);
            (node.0 + x / length * (NODE + 1.0), node.1 + y / length * (NODE + 1.0))
        };
        Curve { points: [rim(a), middle, rim(b)] }
    }

    fn at(&self, t: f64) -> (f64, f64) {
        let [a, m, b] = self.points;
        let mix = |a: f64, m: f64, b: f64| (1.0 - t) * (1.0 - t) * a + 2.0 * t * (1.0 - t) * m + t * t * b;
        (mix(a.0, m.0, b.0), mix(a.1, m.1, b.1))
    }

    fn draw(&self, svg: &mut Svg, class: &str) {
        let line: Vec<(f64, f64)> = (0..=8).map(|i| self.at(f64::from(i) / 8.0)).collect();
        svg.path(&format!("mark {class}"), &line, false);
        let (tip, from) = (self.points[2], self.at(0.9));
        let (dx, dy) = (tip.0 - from.0, tip.1 - from.1);
        let length = dx.hypot(dy).max(1e-9);
        let (ux, uy) = (dx / length, dy / length);
        let wing = |side: f64| (tip.0 - 8.0 * ux - side * 3.5 * uy, tip.1 - 8.0 * uy + side * 3.5 * ux);
        svg.path(&format!("area solid {class}"), &[tip, wing(1.0), wing(-1.0)], true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposite_and_parallel_arrows_lie_apart() {
        let nodes = ["1", "2"].map(String::from);
        let arrow = |from, to| Arrow { from, to, label: "a 1.00", class: "s0" };
        let text = graph("g", "d", &nodes, &[arrow(0, 1), arrow(1, 0), arrow(0, 1)]).finish("x");
        let mut lines: Vec<&str> = text.lines().filter(|l| l.starts_with("<path class=\"mark")).collect();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 3);
        // Two senders and two receivers.
        assert_eq!(text.matches("<circle class=\"node\"").count(), 4);
    }

    #[test]
    fn sides_are_ordered_so_that_few_arrows_cross() {
        let into = |node: usize| vec![if node == 5 { 1 } else { 0 }];
        assert_eq!(order(&[5, 6], into, &[0, 1]), [6, 5]);
    }
}
