//! Tails as curves: the share of samples that are worse than a value, both axes logarithmic, the shares in words.

use super::frame::{Axis, Frame, Labels};
use super::scale::Scale;
use record::{Direction, JobRecord};

/// A curve: value in the unit shown, and the share of samples that are worse; from the best sample to the worst.
pub type Tail = Vec<(f64, f64)>;

/// One of the lines of a picture.
pub struct Line<'a> {
    /// Its class.
    pub class: &'a str,
    /// What it is.
    pub name: String,
    /// Where it runs.
    pub tail: Tail,
}

/// Points nearer than this to the one before, in shares of the span of both axes, cannot be seen.
const NEAR: f64 = 0.01;

/// The tail of a job's samples; empty if none lies above 0.
pub fn tail_of(job: &JobRecord) -> Tail {
    let (scale, _) = job.metric.shown();
    let mut buckets = job.samples.buckets(job.metric);
    let all: u64 = buckets.iter().map(|b| b.2).sum();
    let lower = job.metric.direction() == Direction::LowerIsBetter;
    if !lower {
        buckets.reverse();
    }
    let mut better = 0;
    let mut points: Tail = Vec::new();
    for (low, high, count) in buckets {
        // The edge that a sample of this bucket is certainly no worse than begins its step.
        let value = if lower { low } else { high } * scale;
        if value > 0.0 && value.is_finite() {
            points.push((value, (all - better) as f64 / all as f64));
        }
        better += count;
    }
    thinned(points)
}

/// Without points that no eye can tell from their neighbours; the ends stay.
fn thinned(points: Tail) -> Tail {
    let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else { return points };
    let width = (last.0 / first.0).ln().abs().max(1e-3);
    let height = (first.1 / last.1).ln().abs().max(1e-3);
    let mut kept = vec![first];
    for point in &points[1..] {
        let before = kept[kept.len() - 1];
        let (dx, dy) = ((point.0 / before.0).ln().abs() / width, (before.1 / point.1).ln().abs() / height);
        if dx + dy >= NEAR || *point == last {
            kept.push(*point);
        }
    }
    kept
}

/// The share `1 in 100`, where tables have their 99 %.
pub const ONE_IN_A_HUNDRED: f64 = 0.01;

/// A picture of tails; `None` if there is nothing to draw.
pub fn tails(title: &str, about: &str, axis: &str, lines: &[Line<'_>]) -> Option<Frame> {
    let points = || lines.iter().flat_map(|l| &l.tail);
    let (low, high) = points().fold((f64::INFINITY, 0.0), |(a, b): (f64, f64), p| (a.min(p.0), b.max(p.0)));
    if !(low <= high && high > 0.0) {
        return None;
    }
    let least = points().map(|p| p.1).fold(ONE_IN_A_HUNDRED, f64::min);
    let x = Axis { scale: Scale::log(low, high), label: axis, labels: Labels::Plain };
    let y = Axis { scale: Scale::log(least, 1.0), label: "", labels: Labels::OneIn };
    let mut frame = Frame::new(title, about, 250.0, x, y);
    frame.line("ref dash", &[(frame.x.domain().0, ONE_IN_A_HUNDRED), (frame.x.domain().1, ONE_IN_A_HUNDRED)]);
    for line in lines {
        // As stairs: between two samples the share does not change.
        let mut stairs: Tail = Vec::with_capacity(2 * line.tail.len());
        for (i, point) in line.tail.iter().enumerate() {
            if i > 0 {
                stairs.push((point.0, line.tail[i - 1].1));
            }
            stairs.push(*point);
        }
        if let [(only, _)] = line.tail[..] {
            // Samples that are all alike: none is worse.
            stairs.push((only, least));
        }
        frame.line(line.class, &stairs);
    }
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends_and_drops_what_cannot_be_seen() {
        let points: Tail = (0..10_000).map(|i| (1.0 + f64::from(i) * 1e-3, 1.0 - f64::from(i) * 9.9e-5)).collect();
        let thin = thinned(points.clone());
        assert!(thin.len() < 1000 && thin[0] == points[0] && thin[thin.len() - 1] == points[9999], "{}", thin.len());
        assert!(thinned(Vec::new()).is_empty());
    }

    #[test]
    fn nothing_to_draw_is_no_picture() {
        assert!(tails("t", "a", "x", &[]).is_none());
        let one = Line { class: "s0", name: "alone".into(), tail: vec![(1.0, 1.0)] };
        let text = tails("t", "a", "x", &[one]).unwrap().svg.finish("p");
        // A line of one point would not be seen: it goes down.
        assert!(text.contains("class=\"mark s0\"") && text.contains("V206.7"), "{text}");
        assert!(text.contains("1 in 100") && text.contains("all"), "{text}");
    }
}
