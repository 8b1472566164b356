//! What may be said of a fitted parameter: a value, a lower bound, or that the model does not fit.
//!
//! A fit always has numbers. A rate that no point comes near is the form of the model drawn on, not a measurement, and an
//! interval around it would make it look like one. So it becomes a bound, and the fit says why.

use super::data::{Location, Point};
use super::models::{Data, Fit, Limit};
use super::phases::NOISE_FLOOR;
use crate::numeric::stats::{deviation, mean};

/// A rate may exceed the fastest point by this factor: there the latency takes a third of the time, and the rate the rest. The
/// paper's own data of one pair need 1.27.
const BEYOND: f64 = 1.5;
/// Deviations larger than noise by this factor are the model's: three times the variance, which noise in ten points exceeds
/// once in a hundred.
const TOO_FAR: f64 = 1.75;
/// The standard error of a median over that of a mean, for normal noise and many trials.
const MEDIAN: f64 = 1.2533;

/// Turns rates that the points do not show into bounds. Called once the fit has its intervals.
pub fn settle(data: &Data<'_>, fit: &mut Fit) {
    let fastest = |of: fn(&Point) -> f64| data.points.iter().map(of).fold(0.0, f64::max);
    not_reached(fit);
    // R_N is a limit of the node: points near it show it, or it is not known. R_C is a slope, as in the postal model: two sizes
    // give it, however far the rate of either is from it.
    extrapolated(fit, "rate_node", fastest(|p| f64::from(p.pairs) * p.bytes as f64 / p.seconds));
    saturation(fit);
}

/// A node's rate that was not reached is at least what both the profile of r and the interval say.
fn not_reached(fit: &mut Fit) {
    let Some(Limit::NodeRateNotReached { at_least, .. }) =
        fit.limits.iter_mut().find(|l| matches!(l, Limit::NodeRateNotReached { .. }))
    else {
        return;
    };
    let Some(rate) = fit.estimates.iter_mut().find(|e| e.name == "rate_node") else { return };
    *at_least = rate.low.map_or(*at_least, |low| low.min(*at_least));
    rate.bound(*at_least);
}

fn extrapolated(fit: &mut Fit, name: &str, shown: f64) {
    let Some(rate) = fit.estimates.iter_mut().find(|e| e.name == name) else { return };
    // The least that the interval allows decides: an interval that reaches down to the points claims nothing beyond them.
    let Some(fitted) = rate.value.filter(|_| rate.least().is_some_and(|least| least > BEYOND * shown)) else { return };
    rate.bound(shown);
    for limit in &mut fit.limits {
        if let (Limit::NodeRateNotReached { at_least, .. }, "rate_node") = (limit, name) {
            *at_least = shown;
            return;
        }
    }
    fit.limits.push(Limit::Extrapolated { parameter: name.into(), fitted, shown });
}

/// R_N/R_C follows its rates: a bound of the first is one of the ratio.
fn saturation(fit: &mut Fit) {
    let find = |name: &str| fit.estimates.iter().find(|e| e.name == name).cloned();
    let (node, core) = (find("rate_node"), find("rate_core").or(find("rate_base")));
    let Some(ratio) = fit.estimates.iter_mut().find(|e| e.name == "saturation") else { return };
    let Some(node) = node.filter(|node| node.at_least) else { return };
    match node.least().zip(core.and_then(|core| core.value)) {
        Some((least, core)) => ratio.bound(least / core),
        None => (ratio.value, ratio.low, ratio.high) = (None, None, None),
    }
}

/// The relative standard error of the points from the scatter of their trials; none if there is one trial each.
pub fn noise(points: &[Point], location: Location) -> Option<f64> {
    let mut squares = Vec::new();
    for p in points.iter().filter(|p| p.trials.len() > 1) {
        let n = p.trials.len() as f64;
        let factor = if location == Location::Median && n > 2.0 { MEDIAN } else { 1.0 };
        squares.push((factor * deviation(&p.trials) / p.seconds).powi(2) / n);
    }
    mean(&squares).map(f64::sqrt)
}

/// How far the points lie off a model, as a share of their times.
pub fn misfit(points: &[Point], fit: &Fit, freedom: usize) -> f64 {
    let relative = |p: &Point| fit.predict(p.bytes as f64, f64::from(p.pairs)) / p.seconds - 1.0;
    let sum: f64 = points.iter().map(|p| relative(p).powi(2)).sum();
    (sum / (points.len() as f64 - freedom as f64).max(1.0)).sqrt()
}

/// Says of a fit that it does not fit, if its misfit is far beyond the noise.
pub fn judge(fit: &mut Fit, misfit: f64, noise: f64) {
    let noise = noise.max(NOISE_FLOOR);
    if misfit > TOO_FAR * noise {
        fit.limits.push(Limit::DoesNotFit { misfit, noise });
    }
}

#[cfg(test)]
mod tests {
    use super::super::analysis::{Options, analyse};
    use super::*;

    fn points(sizes: std::ops::Range<u32>, most: u32, time: impl Fn(f64, f64) -> f64) -> Vec<Point> {
        let mut points = Vec::new();
        for j in sizes {
            for pairs in 1..=most {
                // Two trials one per thousand apart: noise that is known and small.
                let exact = time(f64::from(1u32 << j), f64::from(pairs));
                let trials = vec![0.9995 * exact, 1.0005 * exact];
                points.push(Point { bytes: 1 << j, pairs, seconds: exact, trials });
            }
        }
        points
    }

    fn m3(points: &[Point]) -> Fit {
        let options = Options { replicates: 40, phase_starts: Some(vec![]), ..Options::default() };
        analyse(points, &options).unwrap().phases[0].fit("m3").unwrap().clone()
    }

    #[test]
    fn a_rate_that_was_not_reached_is_one_bound_everywhere() {
        let fit = m3(&points(10..20, 3, |n, k| 1e-5 + n / 1e9 * (k / 4.0).max(1.0)));
        let rate = fit.estimates.iter().find(|e| e.name == "rate_node").unwrap();
        let [Limit::NodeRateNotReached { at_least, .. }] = fit.limits[..] else { panic!("{:?}", fit.limits) };
        assert!(rate.at_least && rate.value == Some(at_least) && rate.low == rate.value && rate.high.is_none());
        assert!(at_least > 2.8e9 && at_least <= 3.0e9 * 1.0001, "{at_least}");
        assert_eq!(rate.words(&|x| format!("{:.1}", x * 1e-9)), ">= 3.0");
        assert_eq!((fit.value("rate_node"), fit.bound("rate_node")), (None, Some(at_least)));
    }

    #[test]
    fn no_rate_is_printed_that_no_point_comes_near() {
        // Messages up to 1 KiB, of which the latency is nearly all: the slope says 30 GB/s, the points show less than 1 GB/s.
        let fit = m3(&points(2..11, 8, |n, k| 1e-5 + n / 1e10 * (k / 3.0).max(1.0)));
        let shown = fit.bound("rate_node").unwrap();
        assert!(shown < 1e9 && fit.value("rate_node").is_none(), "{fit:?}");
        assert!(fit.limits.iter().any(|l| l.to_string().starts_with("R_N extrapolated")), "{:?}", fit.limits);
    }

    #[test]
    fn a_model_that_does_not_fit_says_so() {
        let right = |n: f64, k: f64| 1e-5 + n / 1e9 * (k / 3.0).max(1.0);
        let says = |fit: &Fit| fit.limits.iter().any(|l| matches!(l, Limit::DoesNotFit { .. }));
        assert!(!says(&m3(&points(10..20, 8, right))));
        // The node gets slower when crowded, which no model here has.
        let wrong = m3(&points(10..20, 8, |n, k| right(n, k) * (1.0 + 0.02 * k * k)));
        assert!(says(&wrong), "{:?}", wrong.limits);
    }
}
