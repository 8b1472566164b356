//! Where the protocol changes: the sizes at which a new straight line begins.
//!
//! For one number of pairs the sizes are cut exactly, by dynamic programming, into the segments whose lines (latency and
//! slope at least zero) fit best; the BIC chooses how many. That alone over-segments, because saturation makes a kink too and
//! moves with k. So a cut counts as a change of protocol only if the lines on its two sides miss each other by more than 10 % at the
//! same size for k = 1, 2 and 4.

use super::data::Point;
use crate::numeric::least_squares::Problem;
use schemars::JsonSchema;
use serde::Serialize;

/// Relative errors below this are noise or print rounding, never evidence for a cut.
// nodecomm prints three digits, which is half a per cent.
pub const NOISE_FLOOR: f64 = 0.005;
/// A line needs two sizes.
const MIN_SIZES: usize = 2;
/// Protocols have short, eager and rendezvous forms, seldom more; a bound keeps noise from being cut to pieces.
const MAX_SEGMENTS: usize = 8;
/// The jump of a change of protocol.
// Blue Waters shows jumps of +149 % at 512 bytes and -24 % at 8192, well beyond this.
const MIN_JUMP: f64 = 0.10;
/// Numbers of pairs at which the jump must be seen, where they were measured.
const JUMP_PAIRS: [u32; 3] = [1, 2, 4];

/// A place where a new line begins.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Break {
    /// The first size of the new line, in bytes.
    pub bytes: u64,
    /// The last size of the old line, in bytes.
    pub after_bytes: u64,
    /// For each number of pairs looked at: (new line - old line) / old line between the two sizes, the smaller of both ends.
    pub jumps: Vec<(u32, f64)>,
    /// Whether it is a change of protocol: a jump of the same sign above 10 % for every k looked at.
    pub protocol: bool,
}

/// All cuts found at the smallest number of pairs, with their jump tests.
pub fn breaks(points: &[Point]) -> Vec<Break> {
    let Some(first) = points.iter().map(|p| p.pairs).min() else { return Vec::new() };
    let series = thin(series(points, first));
    let cuts = segment(&series);
    let bounds: Vec<usize> = [vec![0], cuts.clone(), vec![series.len()]].concat();
    let one = |i: usize| {
        let (from, at, to) = (bounds[i - 1], bounds[i], bounds[i + 1]);
        let range = (series[from].0, series[at].0, series[to - 1].0);
        let jumps: Vec<(u32, f64)> = pairs_to_test(points, first)
            .into_iter()
            .filter_map(|k| Some((k, jump(&self::series(points, k), range)?)))
            .collect();
        let same_sign = jumps.iter().all(|j| j.1 > MIN_JUMP) || jumps.iter().all(|j| j.1 < -MIN_JUMP);
        let after_bytes = series[at - 1].0;
        Break { bytes: series[at].0, after_bytes, protocol: same_sign && !jumps.is_empty(), jumps }
    };
    (1..bounds.len() - 1).map(one).collect()
}

/// The sizes at which a phase begins, from the breaks that are changes of protocol.
pub fn starts(breaks: &[Break]) -> Vec<u64> {
    breaks.iter().filter(|b| b.protocol).map(|b| b.bytes).collect()
}

fn pairs_to_test(points: &[Point], first: u32) -> Vec<u32> {
    let mut wanted = vec![first];
    wanted.extend(JUMP_PAIRS.iter().copied().filter(|&k| k != first && points.iter().any(|p| p.pairs == k)));
    wanted
}

type Series = Vec<(u64, f64)>;

fn series(points: &[Point], pairs: u32) -> Series {
    let mut series: Series = points.iter().filter(|p| p.pairs == pairs).map(|p| (p.bytes, p.seconds)).collect();
    series.sort_by_key(|s| s.0);
    series
}

/// At most so many sizes are cut exactly; the cost grows with their cube. Measured lists have a hundred.
const MAX_SIZES: usize = 240;

/// Every second, third, ... size of a list that is too long; breaks are then known to so many sizes.
fn thin(series: Series) -> Series {
    let stride = series.len().div_ceil(MAX_SIZES).max(1);
    series.into_iter().step_by(stride).collect()
}

/// The equations of a stretch's line, for (latency, slope) and relative residuals.
fn equations(series: &[(u64, f64)]) -> Problem {
    let mut problem = Problem::new(2);
    for &(bytes, seconds) in series {
        problem.row(1.0 / seconds, &[1.0, bytes as f64], seconds);
    }
    problem
}

/// How far the lines of `[from, at)` and `[at, to]` miss each other between the last size of the one and the first of the
/// other: the smaller miss of the two ends, and zero if the lines cross in between, which is what a kink does. None if
/// either has fewer than two sizes. Lines are free here: one that continues a kink may well begin below zero.
fn jump(series: &Series, (from, at, to): (u64, u64, u64)) -> Option<f64> {
    let part =
        |low: u64, high: u64| -> Series { series.iter().copied().filter(|s| s.0 >= low && s.0 < high).collect() };
    let (old, new) = (part(from, at), part(at, to.saturating_add(1)));
    if old.len() < MIN_SIZES || new.len() < MIN_SIZES {
        return None;
    }
    let (old_line, new_line) = (equations(&old).solve().x, equations(&new).solve().x);
    let value = |x: &[f64], bytes: u64| x[0] + x[1] * bytes as f64;
    let miss = |bytes: u64| {
        let base = value(&old_line, bytes);
        if base > 0.0 { value(&new_line, bytes) / base - 1.0 } else { 0.0 }
    };
    let (before, after) = (miss(old[old.len() - 1].0), miss(at));
    Some(if before * after <= 0.0 { 0.0 } else { before.signum() * before.abs().min(after.abs()) })
}

/// Exact segmentation: the indices at which new segments begin, for the number of segments of the smallest BIC.
fn segment(series: &Series) -> Vec<usize> {
    let n = series.len();
    let most = (n / MIN_SIZES).min(MAX_SEGMENTS);
    if most < 2 {
        return Vec::new();
    }
    let cost: Vec<Vec<f64>> =
        (0..n)
            .map(|i| {
                (0..=n)
                    .map(|j| {
                        if j >= i + MIN_SIZES {
                            equations(&series[i..j]).solve_nonnegative().sse
                        } else {
                            f64::INFINITY
                        }
                    })
                    .collect()
            })
            .collect();
    // best[m][j]: the smallest sum of squares of the first j sizes in m+1 segments, and where the last one begins.
    let mut best: Vec<Vec<(f64, usize)>> = vec![(0..=n).map(|j| (cost[0][j], 0)).collect()];
    for m in 1..most {
        let last = &best[m - 1];
        let cell = |j: usize| {
            let option = |i: usize| (last[i].0 + cost[i][j], i);
            (1..j).map(option).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0))
        };
        best.push((0..=n).map(cell).collect());
    }
    let count = n as f64;
    let bic = |m: usize| {
        let variance = (best[m][n].0 / count).max(NOISE_FLOOR * NOISE_FLOOR);
        // m + 1 lines of two parameters and m places of cuts.
        count * variance.ln() + (3 * m + 2) as f64 * count.ln()
    };
    let chosen = (0..most).filter(|&m| best[m][n].0.is_finite()).min_by(|&a, &b| bic(a).total_cmp(&bic(b)));
    let (mut cuts, mut at) = (Vec::new(), n);
    for m in (1..=chosen.unwrap_or(0)).rev() {
        at = best[m][at].1;
        cuts.push(at);
    }
    cuts.reverse();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(time: impl Fn(f64, f64) -> f64) -> Vec<Point> {
        let mut points = Vec::new();
        for quarter in 8..=72 {
            let bytes = 2f64.powf(f64::from(quarter) / 4.0).round() as u64;
            for pairs in [1, 2, 4, 8] {
                let seconds = time(bytes as f64, f64::from(pairs));
                points.push(Point { bytes, pairs, seconds, trials: vec![seconds] });
            }
        }
        points
    }

    #[test]
    fn jumps_are_protocols_and_kinks_are_not() {
        let with_protocols = points(|n, k| match n {
            n if n < 512.0 => 4e-6 + n / 6e8,
            n if n < 8192.0 => 11e-6 + n / 1.7e9,
            _ => 8e-6 + n / 3.6e9 * (k / 1.5).max(1.0),
        });
        let found = breaks(&with_protocols);
        assert_eq!(starts(&found), [512, 8192], "{found:?}");
        // A steeper line from 1 KiB on, without a jump: seen, but not a change of protocol.
        let kink = points(|n, _| 4e-6 + n / 1e9 + (n - 1024.0).max(0.0) / 2e8);
        assert!(starts(&breaks(&kink)).is_empty());
    }

    #[test]
    fn too_little_data_has_no_breaks() {
        assert!(breaks(&[]).is_empty());
        let p = points(|n, _| 1e-6 + n * 1e-9);
        assert!(breaks(&p[..8]).is_empty());
        assert!(breaks(&p).is_empty());
    }
}
