//! Confidence intervals by the bootstrap (Efron 1979): fit changed data again and again and see how the parameters scatter.
//!
//! What is changed is how far the points lie from the model, noise and lack of fit alike. Trials drawn again would show the
//! noise alone: many of them make an interval as narrow as one likes around a value that the model's form has made wrong.
//!
//! A model that is wrong is wrong for a whole size, or for a whole number of pairs, and points that err together tell less than
//! as many that err apart. So the deviations are taken apart into what a size has in common, what a number of pairs has in
//! common, and the rest, and each part is drawn by itself.

use super::data::Point;
use super::models::{Data, Estimate, Fit, Model};
use crate::numeric::stats::quantile;
use spec::Rng;
use std::collections::BTreeMap;

/// Half of what lies outside a 95 % interval.
const TAIL: f64 = 0.025;

/// Fills in the intervals of a fit's estimates from so many replicates. An estimate that was not finite in every replicate
/// gets no interval: half an interval would look like knowledge. Neither does a fit that has no point to spare: it goes through
/// all of them, and how far the model is off cannot be seen.
pub fn intervals(model: &Model, data: &Data<'_>, fit: &mut Fit, replicates: usize, seed: u64) {
    if data.points.len() <= model.freedom {
        return;
    }
    let parts = Parts::of(model, data, fit);
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); fit.estimates.len()];
    for i in 0..replicates {
        let points = parts.draw(data.points, &mut Rng::new(seed, "bootstrap", i as u64));
        let Ok(raw) = (model.fit)(&Data { points: &points, ..*data }) else { continue };
        for (column, estimate) in drawn.iter_mut().zip((model.estimates)(&raw.theta)) {
            column.extend(estimate.value);
        }
    }
    for (estimate, column) in fit.estimates.iter_mut().zip(&drawn) {
        if replicates > 1 && column.len() == replicates {
            set_interval(estimate, column);
        }
    }
}

/// The replicates scatter about the estimate as the estimate does about the truth. So their bias is taken off twice: once
/// because they have it, once because the estimate has it too (the basic bootstrap, in logarithms, as rates are ratios). Where a
/// value is zero there are no logarithms, and the percentiles themselves are taken.
fn set_interval(estimate: &mut Estimate, column: &[f64]) {
    let (Some(low), Some(high), Some(value)) = (quantile(column, TAIL), quantile(column, 1.0 - TAIL), estimate.value)
    else {
        return;
    };
    let logarithms = low > 0.0 && value > 0.0;
    let (low, high) = if logarithms { (value * value / high, value * value / low) } else { (low, high) };
    estimate.low = Some(low.min(value));
    estimate.high = Some(high.max(value));
}

/// The deviations of the points from the model, ln(T/f), in parts that are drawn by themselves.
struct Parts {
    predicted: Vec<f64>,
    sizes: Vec<usize>,
    pairs: Vec<usize>,
    /// What each size has in common.
    by_size: Vec<f64>,
    /// What each number of pairs has in common.
    by_pairs: Vec<f64>,
    /// What is left of each point.
    rest: Vec<f64>,
}

impl Parts {
    fn of(model: &Model, data: &Data<'_>, fit: &Fit) -> Parts {
        let points = data.points;
        let predicted: Vec<f64> = points.iter().map(|p| fit.predict(p.bytes as f64, f64::from(p.pairs))).collect();
        // A prediction of zero (a fit through the origin) leaves nothing to compare with.
        let deviation = |(p, f): (&Point, &f64)| if *f > 0.0 { (p.seconds / f).ln() } else { 0.0 };
        let mut rest: Vec<f64> = points.iter().zip(&predicted).map(deviation).collect();
        take_mean(&mut rest, &vec![0; points.len()]);
        let sizes = numbered(points.iter().map(|p| p.bytes));
        let pairs = numbered(points.iter().map(|p| u64::from(p.pairs)));
        let mut by_size = take_mean(&mut rest, &sizes);
        let mut by_pairs = take_mean(&mut rest, &pairs);
        widen(&mut by_size, LINE);
        widen(&mut by_pairs, model.freedom - LINE + 1);
        widen(&mut rest, model.freedom);
        Parts { predicted, sizes, pairs, by_size, by_pairs, rest }
    }

    fn draw(&self, points: &[Point], rng: &mut Rng) -> Vec<Point> {
        let mut draw = |pool: &[f64]| pool[rng.below(pool.len() as u64) as usize];
        let by_size: Vec<f64> = self.by_size.iter().map(|_| draw(&self.by_size)).collect();
        let by_pairs: Vec<f64> = self.by_pairs.iter().map(|_| draw(&self.by_pairs)).collect();
        let mut drawn = Vec::with_capacity(points.len());
        for (i, p) in points.iter().enumerate() {
            let deviation = by_size[self.sizes[i]] + by_pairs[self.pairs[i]] + draw(&self.rest);
            let seconds = self.predicted[i] * deviation.exp();
            let seconds = if seconds.is_finite() && seconds > 0.0 { seconds } else { p.seconds };
            drawn.push(Point { seconds, trials: vec![seconds], ..*p });
        }
        drawn
    }
}

/// Every model has a latency and a rate, which bend towards the sizes; its other parameters bend towards the pairs.
const LINE: usize = 2;

/// Deviations are too small because the fit has bent towards them, by as many of them as it has parameters.
fn widen(deviations: &mut [f64], parameters: usize) {
    let n = deviations.len() as f64;
    let factor = (n / (n - parameters as f64).max(1.0)).sqrt();
    deviations.iter_mut().for_each(|d| *d *= factor);
}

/// Takes the mean of each group off its members, and returns the means.
fn take_mean(values: &mut [f64], group: &[usize]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); group.iter().max().map_or(0, |m| m + 1)];
    for (v, &g) in values.iter().zip(group) {
        sums[g] = (sums[g].0 + v, sums[g].1 + 1.0);
    }
    let means: Vec<f64> = sums.iter().map(|(sum, n)| sum / n).collect();
    values.iter_mut().zip(group).for_each(|(v, &g)| *v -= means[g]);
    means
}

/// Equal keys get equal numbers, from 0.
fn numbered(keys: impl Iterator<Item = u64>) -> Vec<usize> {
    let mut known = BTreeMap::new();
    let mut number = |key| {
        let next = known.len();
        *known.entry(key).or_insert(next)
    };
    keys.map(&mut number).collect()
}
