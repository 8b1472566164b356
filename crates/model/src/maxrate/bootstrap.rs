//! Confidence intervals by the bootstrap (Efron 1979): fit resampled data again and again and see how the parameters scatter.
//!
//! With several trials per point the trials of each point are drawn again; with one trial each, the relative residuals of the
//! fit are. The second takes the model's form for granted, so its intervals are too narrow where the model is wrong.

use super::data::{Location, Point};
use super::models::{Data, Estimate, Fit, Model};
use crate::numeric::stats::quantile;
use schemars::JsonSchema;
use serde::Serialize;
use spec::Rng;

/// What was drawn again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resampled {
    /// The trials of each point.
    Trials,
    /// The relative residuals of the fit, because points have one trial each.
    Residuals,
}

/// Half of what lies outside a 95 % interval.
const TAIL: f64 = 0.025;

/// Fills in the intervals of a fit's estimates from so many replicates, and says what was drawn again. An estimate that was
/// not finite in every replicate gets no interval: half an interval would look like knowledge.
pub fn intervals(
    model: &Model,
    data: &Data<'_>,
    fit: &mut Fit,
    location: Location,
    replicates: usize,
    seed: u64,
) -> Resampled {
    let kind = if data.points.iter().all(|p| p.trials.len() > 1) { Resampled::Trials } else { Resampled::Residuals };
    let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); fit.estimates.len()];
    for i in 0..replicates {
        let mut rng = Rng::new(seed, "bootstrap", i as u64);
        let points = match kind {
            Resampled::Trials => draw_trials(data.points, location, &mut rng),
            Resampled::Residuals => draw_residuals(data.points, fit, &mut rng),
        };
        let Ok(raw) = (model.fit)(&Data { points: &points, ..*data }) else { continue };
        for (column, estimate) in drawn.iter_mut().zip((model.estimates)(&raw.theta)) {
            column.extend(estimate.value);
        }
    }
    for (estimate, column) in fit.estimates.iter_mut().zip(&drawn) {
        set_interval(estimate, column, replicates);
    }
    kind
}

fn set_interval(estimate: &mut Estimate, column: &[f64], replicates: usize) {
    if replicates > 1 && column.len() == replicates {
        estimate.low = quantile(column, TAIL);
        estimate.high = quantile(column, 1.0 - TAIL);
    }
}

fn draw_trials(points: &[Point], location: Location, rng: &mut Rng) -> Vec<Point> {
    let mut draw = |p: &Point| {
        let trials: Vec<f64> =
            (0..p.trials.len()).map(|_| p.trials[rng.below(p.trials.len() as u64) as usize]).collect();
        let seconds = location.of(&trials).expect("a point has trials");
        Point { seconds, trials, ..*p }
    };
    points.iter().map(&mut draw).collect()
}

fn draw_residuals(points: &[Point], fit: &Fit, rng: &mut Rng) -> Vec<Point> {
    let predicted: Vec<f64> = points.iter().map(|p| fit.predict(p.bytes as f64, f64::from(p.pairs))).collect();
    let ratio: Vec<f64> = points.iter().zip(&predicted).map(|(p, f)| p.seconds / f.max(f64::MIN_POSITIVE)).collect();
    let mut draw = |(p, f): (&Point, &f64)| {
        let seconds = f * ratio[rng.below(ratio.len() as u64) as usize];
        // A prediction of zero (a fit through the origin) leaves nothing to scale.
        let seconds = if seconds.is_finite() && seconds > 0.0 { seconds } else { p.seconds };
        Point { seconds, trials: vec![seconds], ..*p }
    };
    points.iter().zip(&predicted).map(&mut draw).collect()
}
