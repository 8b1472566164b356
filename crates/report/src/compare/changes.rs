//! When a series of runs changed, and whether its last value is news. Both know the spread between runs, which no single run knows.
//!
//! **Change points** by ranks: the piece whose ranks differ most from all others (circular binary segmentation, Olshen et al., Biostatistics
//! 2004), beside what shuffled orders of the same values give; it counts if at most one of 500 shuffles has such a piece, and if
//! the medians differ by more than is worth a word. Then the piece and what is left of it and right of it are looked at again. Ranks do not care about a few odd runs nor about the shape of the spread; about seven runs on each side are the fewest
//! that can be so rare.
//!
//! **The last value** is held against those since the last change: beyond Student's t for 1 in 1,000 of their spread in the logarithm, and
//! beyond what the runs know of themselves, it stands out.

use crate::known::Known;
use spec::Rng;

/// So many runs before the last say something about their spread.
pub const FEWEST: usize = 4;
/// A piece counts if at most one in so many shuffles has one as good.
const RARE: usize = 500;
const SHUFFLES: usize = 2 * RARE;
/// The newest runs are looked at: a year of nights. All pieces of them are tried, which grows as the square.
const NEWEST: usize = 366;
/// Fewer runs than this on a side are no new state.
const SIDE: usize = 3;
/// A change below this share is never worth a line in red.
const SMALL: f64 = 0.01;
/// From so many runs on, those far off the median are left out of what is usual.
const ODD_FROM: usize = 10;

/// Where new states begin, in rising order: indices of their first values.
pub fn changes(values: &[f64]) -> Vec<usize> {
    let first = values.len().saturating_sub(NEWEST);
    let mut found = Vec::new();
    let mut open = vec![(first, values.len())];
    while let Some((from, to)) = open.pop() {
        let Some((begin, end)) = piece(&values[from..to], from as u64) else { continue };
        let cuts = [from, from + begin, from + end, to];
        // A piece at an end has one border that is new, one in the middle has two.
        found.extend(cuts[1..3].iter().filter(|cut| **cut > from && **cut < to));
        open.extend(cuts.windows(2).filter(|w| w[0] < w[1]).map(|w| (w[0], w[1])));
    }
    found.sort_unstable();
    found
}

/// The piece that differs most from the rest, if shuffled orders have none such.
fn piece(values: &[f64], index: u64) -> Option<(usize, usize)> {
    if values.len() < 2 * SIDE {
        return None;
    }
    let mut ranks = ranks(values);
    let (begin, end, most) = best(&ranks)?;
    let rest: Vec<f64> = [&values[..begin], &values[end..]].concat();
    let (inside, outside) = (median(&values[begin..end]), median(&rest));
    if (inside - outside).abs() <= SMALL * outside.abs() {
        return None;
    }
    let mut rng = Rng::new(1, "history", index);
    let mut as_good = 0;
    for _ in 0..SHUFFLES {
        rng.shuffle(&mut ranks);
        as_good += usize::from(best(&ranks).is_some_and(|(.., other)| other >= most));
        if as_good > SHUFFLES / RARE {
            return None;
        }
    }
    Some((begin, end))
}

/// The piece whose mean rank differs most from that of the rest, in units of its own spread.
fn best(ranks: &[f64]) -> Option<(usize, usize, f64)> {
    let n = ranks.len();
    let mean = ranks.iter().sum::<f64>() / n as f64;
    let mut sums = vec![0.0];
    ranks.iter().for_each(|rank| sums.push(sums[sums.len() - 1] + rank - mean));
    let mut best: Option<(usize, usize, f64)> = None;
    // What is left over on a side is a state of its own, or nothing.
    for begin in (0..n).filter(|begin| *begin == 0 || *begin >= SIDE) {
        for end in (begin + SIDE..=n).filter(|end| *end == n || n - *end >= SIDE) {
            let k = (end - begin) as f64;
            let rest = n as f64 - k;
            if rest < SIDE as f64 {
                continue;
            }
            let size = (sums[end] - sums[begin]).abs() / (k * rest / n as f64).sqrt();
            if best.is_none_or(|(.., most)| size > most) {
                best = Some((begin, end, size));
            }
        }
    }
    best
}

/// Each value's place in the order; equal values share theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = |v: &f64| (sorted.partition_point(|x| x < v) + sorted.partition_point(|x| x <= v)) as f64 / 2.0;
    values.iter().map(place).collect()
}

/// The median; callers have at least one value.
pub fn median(values: &[f64]) -> f64 {
    model::numeric::stats::median(values).unwrap_or(f64::NAN)
}

/// By how much, as a sign, the last value leaves what was usual before it: -1 below, 0 within, 1 above; none if too few say what is usual.
pub fn stands_out(last: Known, before: &[Known]) -> Option<i8> {
    if before.len() < FEWEST {
        return None;
    }
    // Ratios are what is usual of latencies, rates and factors; a series with values at or below 0 is taken as it is.
    let logarithm = last.value > 0.0 && before.iter().all(|k| k.value > 0.0);
    let scaled = |v: f64| if logarithm { v.ln() } else { v };
    let values = usual(before.iter().map(|k| scaled(k.value)).collect());
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    // How well each run knows its own value, where it knows that: a few runs that happen to agree are no proof of a narrow spread.
    let half = |k: &Known| {
        let width = k.interval.map_or(0.0, |i| (i.high - i.low) / 2.0);
        if logarithm { width / k.value } else { width }
    };
    let own = half(&last).hypot(median(&before.iter().map(half).collect::<Vec<f64>>()));
    // Runs that repeat to the digit have no deviation; without a floor any change would stand out.
    let small = if logarithm { SMALL } else { SMALL * mean.abs() };
    let far = (student(values.len() - 1) * deviation * (1.0 + 1.0 / n).sqrt()).max(own).max(small);
    let off = scaled(last.value) - mean;
    Some(if off.abs() <= far { 0 } else { off.signum() as i8 })
}

/// Without values so far off the median that they were no usual runs, as long as enough are left to know.
fn usual(values: Vec<f64>) -> Vec<f64> {
    if values.len() < ODD_FROM {
        return values;
    }
    let middle = median(&values);
    let near = 5.0 * 1.4826 * median(&values.iter().map(|v| (v - middle).abs()).collect::<Vec<f64>>());
    let kept: Vec<f64> = values.iter().copied().filter(|v| (v - middle).abs() <= near).collect();
    if kept.len() >= ODD_FROM / 2 { kept } else { values }
}

/// Student's t that 1 in 1,000 lies beyond, to either side; from ten degrees on by the Cornish-Fisher expansion, within 1 %.
fn student(degrees: usize) -> f64 {
    const FEW: [f64; 10] = [f64::INFINITY, 636.6, 31.6, 12.92, 8.61, 6.869, 5.959, 5.408, 5.041, 4.781];
    FEW.get(degrees).copied().unwrap_or_else(|| {
        let (z, n) = (3.29053f64, degrees as f64);
        let first = (z.powi(3) + z) / (4.0 * n);
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n);
        let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * n.powi(3));
        z + first + second + third
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Interval;

    fn noise(seed: u64, n: usize, level: f64) -> Vec<f64> {
        let mut rng = Rng::new(seed, "test", 0);
        // The sum of twelve uniform numbers is nearly normal.
        (0..n).map(|_| level * (1.0 + 0.05 * ((0..12).map(|_| rng.unit()).sum::<f64>() - 6.0))).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is_and_noise_is_not_a_step() {
        let step = [noise(1, 20, 1.0), noise(2, 12, 1.3)].concat();
        let found = changes(&step);
        assert!(found.len() == 1 && (19..=21).contains(&found[0]), "{found:?}");
        let back = [noise(1, 20, 1.0), noise(2, 12, 1.3), noise(3, 15, 1.0)].concat();
        assert_eq!(changes(&back).len(), 2);
        // One odd run is no new state, and equal values have none.
        let mut odd = noise(4, 30, 1.0);
        odd[12] = 40.0;
        assert_eq!(changes(&odd), [0usize; 0]);
        assert_eq!(changes(&[1.0; 40]), [0usize; 0]);
        let alarms = (0..200).filter(|seed| !changes(&noise(100 + seed, 30, 1.0)).is_empty()).count();
        assert!(alarms <= 3, "{alarms} of 200 series without a change");
    }

    #[test]
    fn the_last_run_stands_out_only_beyond_the_spread() {
        let judge = |values: &[f64]| {
            let known: Vec<Known> = values.iter().map(|v| Known::bare(*v)).collect();
            stands_out(known[known.len() - 1], &known[..known.len() - 1])
        };
        assert_eq!(judge(&[1.0, 1.1, 0.9, 1.0]), None);
        assert_eq!(judge(&[1.0, 1.1, 0.9, 1.0, 1.1]), Some(0));
        assert_eq!(judge(&[1.0, 1.01, 0.99, 1.0, 2.0]), Some(1));
        assert_eq!(judge(&[1.0, 1.01, 0.99, 1.0, 0.5]), Some(-1));
        // Runs that are all equal have no spread; a hair's breadth is still not news.
        assert_eq!(judge(&[1.0, 1.0, 1.0, 1.0, 1.005]), Some(0));
        // A bad night long ago does not hide one today.
        let mut nights = noise(7, 30, 1.0);
        nights[11] = 30.0;
        assert_eq!(judge(&[&nights[..], &[2.0]].concat()), Some(1));
    }

    #[test]
    fn alarms_are_rare_where_nothing_happened() {
        for before in [4, 5, 10, 30] {
            let alarm = |seed: u64| {
                let known: Vec<Known> = noise(seed, before + 1, 1.0).into_iter().map(Known::bare).collect();
                stands_out(known[before], &known[..before]) != Some(0)
            };
            let alarms = (0..2000).filter(|seed| alarm(1000 * before as u64 + seed)).count();
            // 2 of 2,000 are expected; ten would be rarer than one in 10,000.
            assert!(alarms < 10, "{alarms} alarms of 2,000 with {before} runs before");
        }
    }

    #[test]
    fn what_a_run_does_not_know_of_itself_is_no_news() {
        let run = |value: f64| Known { value, interval: Some(Interval { low: value * 0.4, high: value * 1.6 }) };
        let runs: Vec<Known> = [1.0, 1.01, 0.99, 1.0].map(run).to_vec();
        assert_eq!(stands_out(run(1.7), &runs), Some(0));
        assert_eq!(stands_out(run(9.0), &runs), Some(1));
    }

    #[test]
    fn student_matches_the_tables() {
        for (degrees, t) in [(3, 12.92), (10, 4.587), (20, 3.850), (60, 3.460)] {
            assert!((student(degrees) / t - 1.0).abs() < 1e-2, "{degrees}: {}", student(degrees));
        }
    }
}
