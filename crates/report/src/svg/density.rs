//! Distributions for pictures: bins and densities of equal width in the logarithm, because that is where they are drawn.
//!
//! A density computed on a linear axis and drawn on a logarithmic one has its mass in the wrong place: the kernel that is
//! right for the head is a hair's breadth in the tail. Here everything happens in decades.

/// Counts in bins of equal width in decades.
#[derive(Clone, Debug, PartialEq)]
pub struct LogBins {
    /// Lower edge, upper edge, count; filled bins only, rising.
    pub bins: Vec<(f64, f64, u64)>,
    /// All that was counted, values of 0 included.
    pub total: u64,
    /// Values of 0 and below, which have no place on a logarithmic axis.
    pub zeros: u64,
}

/// Bins of `per_decade` to a power of ten, from weighted values given as (low, high, count). A value is put where the
/// geometric middle of its bucket lies.
pub fn log_bins(values: impl IntoIterator<Item = (f64, f64, u64)>, per_decade: f64) -> LogBins {
    let mut found = LogBins { bins: Vec::new(), total: 0, zeros: 0 };
    let mut counts: std::collections::BTreeMap<i64, u64> = std::collections::BTreeMap::new();
    for (low, high, count) in values {
        found.total += count;
        let middle = if low > 0.0 { (low * high).sqrt() } else { high / 2.0 };
        if middle > 0.0 && middle.is_finite() {
            *counts.entry((middle.log10() * per_decade).floor() as i64).or_default() += count;
        } else {
            found.zeros += count;
        }
    }
    let edge = |i: i64| 10f64.powf(i as f64 / per_decade);
    found.bins = counts.into_iter().map(|(i, count)| (edge(i), edge(i + 1), count)).collect();
    found
}

/// A density over the logarithm: (value, density per decade), rising, zero beyond its ends.
pub type Density = Vec<(f64, f64)>;

/// How fine densities look at their values before they are smoothed.
// Three of these bins are one narrowest kernel, so binning cannot be seen in the curve.
const FINE: f64 = 400.0;
/// Points of a density.
const POINTS: usize = 72;
/// No kernel is narrower than this, in decades: histograms resolve 0.1 %, and a spike of no width cannot be seen.
const NARROWEST: f64 = 0.008;

/// The density of weighted values (low, high, count) by a Gaussian kernel in decades, its width by Silverman's rule
/// (Density Estimation, 1986, eq. 3.31). Empty if no value is above 0.
pub fn log_density(values: impl IntoIterator<Item = (f64, f64, u64)>) -> Density {
    let fine = log_bins(values, FINE);
    let points: Vec<(f64, f64)> =
        fine.bins.iter().map(|&(low, high, count)| ((low * high).sqrt().log10(), count as f64)).collect();
    let total: f64 = points.iter().map(|p| p.1).sum();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    let h = bandwidth(&points, total);
    // Beyond the extremes there are no samples; two kernel widths let the shape close softly.
    let (low, high) = (first.0 - 2.0 * h, last.0 + 2.0 * h);
    let density = |x: f64| {
        let sum: f64 = points.iter().map(|&(at, count)| count * (-0.5 * ((x - at) / h).powi(2)).exp()).sum();
        sum / (total * h * std::f64::consts::TAU.sqrt())
    };
    let at = |i: usize| low + (high - low) * i as f64 / (POINTS - 1) as f64;
    (0..POINTS).map(at).map(|x| (10f64.powf(x), density(x))).collect()
}

fn bandwidth(points: &[(f64, f64)], total: f64) -> f64 {
    let mean = points.iter().map(|p| p.0 * p.1).sum::<f64>() / total;
    let deviation = (points.iter().map(|p| (p.0 - mean).powi(2) * p.1).sum::<f64>() / total).sqrt();
    let quantile = |q: f64| {
        let mut sum = 0.0;
        let reached = points.iter().find(|p| {
            sum += p.1;
            sum >= q * total
        });
        reached.map_or(mean, |p| p.0)
    };
    let spread = (quantile(0.75) - quantile(0.25)) / 1.34;
    // Where half of all samples lie in one bin the quartiles are equal, and only the deviation sees the tail.
    let spread = if spread > 0.0 { spread.min(deviation) } else { deviation };
    (0.9 * spread * total.powf(-0.2)).max(NARROWEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_normal(n: u64) -> Vec<(f64, f64, u64)> {
        let mut rng = spec::Rng::new(1, "density", 0);
        let normal = |rng: &mut spec::Rng| {
            let (a, b) = (rng.exponential(), rng.exponential());
            // The logarithm of a ratio of exponentials is logistic: symmetric, with tails.
            (a / b).ln()
        };
        (0..n).map(|_| 1e-6 * 10f64.powf(0.1 * normal(&mut rng))).map(|v| (v, v, 1)).collect()
    }

    #[test]
    fn a_density_in_decades_has_mass_one_and_its_top_in_the_middle() {
        let density = log_density(log_normal(20_000));
        let mass: f64 = density.windows(2).map(|w| (w[1].0 / w[0].0).log10() * (w[0].1 + w[1].1) / 2.0).sum();
        assert!((mass - 1.0).abs() < 0.01, "{mass}");
        let top = density.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
        assert!((top.log10() + 6.0).abs() < 0.05, "{top}");
    }

    #[test]
    fn bins_keep_every_count_and_zeros_apart() {
        let bins = log_bins([(1.0, 1.0, 3), (9.9, 9.9, 2), (0.0, 0.0, 7)], 2.0);
        assert_eq!((bins.total, bins.zeros), (12, 7));
        assert_eq!(bins.bins.iter().map(|b| b.2).sum::<u64>(), 5);
        assert!(bins.bins.iter().all(|b| b.0 < b.1));
    }

    #[test]
    fn one_value_and_none_are_fine() {
        let one = log_density([(2.0, 2.0, 5)]);
        assert!(one.iter().all(|p| p.0.is_finite() && p.1.is_finite()) && !one.is_empty());
        assert!(log_density([(0.0, 0.0, 5)]).is_empty());
    }
}
