//! From points to a report: phases, every model in every phase, the choice, the intervals, and what cannot be said.

use super::data::{DataError, Location, Pattern, Point, Weighting};
use super::models::{Data, Fit, FitError, MODELS, Model, Raw, find};
use super::phases::{self, Break};
use super::{bootstrap, bounds};
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// How to analyse.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What the times mean.
    pub pattern: Pattern,
    /// The weights of the fits.
    pub weighting: Weighting,
    /// What stands for several trials; tells how large their noise is.
    pub location: Location,
    /// The sizes at which phases begin; none to find them.
    pub phase_starts: Option<Vec<u64>>,
    /// Replicates of the bootstrap; 0 for no intervals.
    pub replicates: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            pattern: Pattern::default(),
            weighting: Weighting::default(),
            location: Location::default(),
            phase_starts: None,
            replicates: 200,
            seed: 1,
        }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// What the times mean.
    pub pattern: Pattern,
    /// The weights of the fits.
    pub weighting: Weighting,
    /// Every cut that was considered; empty if the phases were given.
    pub breaks: Vec<Break>,
    /// The phases in order of size.
    pub phases: Vec<Phase>,
}

/// One phase: a range of sizes with one protocol.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Phase {
    /// The smallest size of the phase, in bytes.
    pub from_bytes: u64,
    /// The largest size of the phase that was measured, in bytes.
    pub to_bytes: u64,
    /// (k, aggregate rate in bytes per second) with one common latency; none where times do not grow with size.
    pub aggregates: Vec<(u32, Option<f64>)>,
    /// The fitted models, in the order of the table.
    pub fits: Vec<Fit>,
    /// Models that could not be fitted, and why.
    pub skipped: Vec<(String, String)>,
    /// The model of the smallest BIC.
    pub chosen: String,
}

impl Phase {
    /// A fit by its model's name.
    pub fn fit(&self, model: &str) -> Option<&Fit> {
        self.fits.iter().find(|f| f.model == model)
    }
    /// The chosen fit.
    pub fn chosen(&self) -> &Fit {
        self.fit(&self.chosen).expect("the chosen model is among the fits")
    }
}

impl Report {
    /// The phase that a message of so many bytes belongs to: the last that begins at or below it, else the first.
    pub fn phase(&self, bytes: f64) -> &Phase {
        let below = self.phases.iter().rev().find(|p| p.from_bytes as f64 <= bytes);
        below.unwrap_or(&self.phases[0])
    }
    /// The predicted time in seconds, in the convention of the data, by the chosen model of the phase.
    pub fn predict(&self, bytes: f64, pairs: f64) -> f64 {
        self.phase(bytes).chosen().predict(bytes, pairs)
    }
}

/// Why there is no report.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum AnalysisError {
    /// The data are no data.
    #[error(transparent)]
    Data(#[from] DataError),
    /// No model can be fitted to a phase.
    #[error("phase from {bytes} bytes: {reason}")]
    Phase {
        /// First size of the phase.
        bytes: u64,
        /// Why.
        reason: FitError,
    },
}

/// Analyses points, which must be positive and finite as [`super::data::points`] makes them.
pub fn analyse(points: &[Point], options: &Options) -> Result<Report, AnalysisError> {
    if points.is_empty() {
        return Err(DataError::Empty.into());
    }
    if let Some(index) = points.iter().position(|p| !(p.seconds.is_finite() && p.seconds > 0.0)) {
        return Err(DataError::Seconds { index, seconds: points[index].seconds }.into());
    }
    let (breaks, starts) = match &options.phase_starts {
        Some(given) => (Vec::new(), given.clone()),
        None => {
            let breaks = phases::breaks(points);
            let starts = phases::starts(&breaks);
            (breaks, starts)
        }
    };
    let phases = split(points, &starts)
        .into_iter()
        .map(|part| phase(&part, options))
        .collect::<Result<Vec<Phase>, AnalysisError>>()?;
    Ok(Report { pattern: options.pattern, weighting: options.weighting, breaks, phases })
}

/// Cuts the points at the starts; a phase without points disappears.
fn split(points: &[Point], starts: &[u64]) -> Vec<Vec<Point>> {
    let mut starts = starts.to_vec();
    starts.sort_unstable();
    let mut parts: Vec<Vec<Point>> = vec![Vec::new(); starts.len() + 1];
    for p in points {
        parts[starts.iter().filter(|&&s| s <= p.bytes).count()].push(p.clone());
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn phase(points: &[Point], options: &Options) -> Result<Phase, AnalysisError> {
    let data = Data { points, weighting: options.weighting };
    let bytes = |f: fn(u64, u64) -> u64| points.iter().map(|p| p.bytes).reduce(f).unwrap_or_default();
    let (from_bytes, to_bytes) = (bytes(u64::min), bytes(u64::max));
    let (mut fits, mut skipped, mut first_error) = (Vec::new(), Vec::new(), None);
    for model in MODELS {
        match (model.fit)(&data) {
            Ok(raw) => fits.push(describe(model, &data, raw)),
            Err(e) => {
                skipped.push((model.card.name.to_string(), e.to_string()));
                first_error.get_or_insert(e);
            }
        }
    }
    // The two postal fits to a part of the data cannot win: they are there for comparison with the paper.
    let candidates = fits.iter().filter(|f| !f.model.starts_with("postal-"));
    let Some(chosen) = candidates.min_by(|a, b| a.bic.total_cmp(&b.bic)).map(|f| f.model.clone()) else {
        return Err(AnalysisError::Phase { bytes: from_bytes, reason: first_error.unwrap_or(FitError::Empty) });
    };
    for fit in &mut fits {
        // m3 always has intervals: it is reported for comparison, whichever model is chosen.
        if options.replicates > 0 && (fit.model == chosen || fit.model == "m3") {
            bootstrap::intervals(known(fit), &data, fit, options.replicates, options.seed);
        }
        // After the intervals, which a bound replaces.
        bounds::settle(&data, fit);
    }
    judge(&mut fits, &data, options.location);
    let aggregates = aggregates(&data);
    Ok(Phase { from_bytes, to_bytes, aggregates, fits, skipped, chosen })
}

fn known(fit: &Fit) -> &'static Model {
    find(&fit.model).expect("the fit came from the table")
}

/// Says which fits do not fit. Where single trials show no noise, what the best model leaves is taken for it.
fn judge(fits: &mut [Fit], data: &Data<'_>, location: Location) {
    let misfits: Vec<f64> = fits.iter().map(|f| bounds::misfit(data.points, f, known(f).freedom)).collect();
    let least = misfits.iter().copied().fold(f64::INFINITY, f64::min);
    let noise = bounds::noise(data.points, location).unwrap_or(least);
    fits.iter_mut().zip(misfits).for_each(|(fit, misfit)| bounds::judge(fit, misfit, noise));
}

/// Puts a raw fit into numbers that people compare.
pub fn describe(model: &Model, data: &Data<'_>, raw: Raw) -> Fit {
    let errors = relative_errors(model, &raw.theta, data.points);
    Fit {
        model: model.card.name.into(),
        estimates: (model.estimates)(&raw.theta),
        sse: raw.sse,
        bic: bic(model, data, raw.sse),
        error_sum: errors.iter().sum(),
        error_max: errors.iter().copied().fold(0.0, f64::max),
        holdout_error: holdout(model, data),
        limits: raw.limits,
        theta: raw.theta,
    }
}

fn relative_errors(model: &Model, theta: &[f64], points: &[Point]) -> Vec<f64> {
    let error = |p: &Point| ((model.predict)(theta, p.bytes as f64, f64::from(p.pairs)) - p.seconds).abs() / p.seconds;
    points.iter().map(error).collect()
}

/// BIC = N ln(SSE/N) + p ln N (Schwarz 1978). The floor on SSE/N is a millionth of the times squared: below that, models of
/// noise-free data differ by rounding only and the smaller one must win.
fn bic(model: &Model, data: &Data<'_>, sse: f64) -> f64 {
    let n = data.points.len() as f64;
    n * (sse / n).max(1e-12 * data.scale() / n).ln() + model.freedom as f64 * n.ln()
}

/// Fits odd k and predicts even k: the mean relative error there.
fn holdout(model: &Model, data: &Data<'_>) -> Option<f64> {
    let part = |odd: u32| data.points.iter().filter(|p| p.pairs % 2 == odd).cloned().collect::<Vec<Point>>();
    let (train, test) = (part(1), part(0));
    if test.is_empty() {
        return None;
    }
    let raw = (model.fit)(&Data { points: &train, ..*data }).ok()?;
    let errors = relative_errors(model, &raw.theta, &test);
    Some(errors.iter().sum::<f64>() / errors.len() as f64)
}

/// Stage 0: one latency for all, one free slope b_k per k; the aggregate rate is k/b_k. It assumes no form of saturation and so
/// shows what the models have to explain.
fn aggregates(data: &Data<'_>) -> Vec<(u32, Option<f64>)> {
    let mut all: Vec<u32> = data.points.iter().map(|p| p.pairs).collect();
    all.sort_unstable();
    all.dedup();
    // With the slope of each k eliminated, alpha = sum w^2 u v / sum w^2 u^2, where u and v are what is left of 1 and of T after
    // the best multiple of n is taken away. So thousands of k cost no more than their points.
    let place = |p: &Point| all.binary_search(&p.pairs).expect("collected above");
    let mut by_pairs: Vec<(u32, [f64; 3])> = all.iter().map(|&k| (k, [0.0; 3])).collect();
    for p in data.points {
        let (n, w2) = (p.bytes as f64, data.weighting.of(p).powi(2));
        let sums = &mut by_pairs[place(p)].1;
        [n * n, n, n * p.seconds].iter().zip(sums).for_each(|(x, s)| *s += w2 * x);
    }
    let (mut uv, mut uu) = (0.0, 0.0);
    for p in data.points {
        let [nn, n1, nt] = by_pairs[place(p)].1;
        let (n, w2) = (p.bytes as f64, data.weighting.of(p).powi(2));
        let (u, v) = (1.0 - n * n1 / nn, p.seconds - n * nt / nn);
        uv += w2 * u * v;
        uu += w2 * u * u;
    }
    // One size only: latency and slopes cannot be told apart, and the latency is taken as zero.
    let alpha = if uu > 1e-12 * data.scale() { uv / uu } else { 0.0 };
    let rate = |(k, [nn, n1, nt]): (u32, [f64; 3])| {
        let slope = (nt - alpha * n1) / nn;
        (k, (slope > 0.0).then(|| f64::from(k) / slope))
    };
    by_pairs.into_iter().map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::super::models::Limit;
    use super::*;

    fn points(sizes: std::ops::Range<u32>, most: u32, time: impl Fn(f64, f64) -> f64) -> Vec<Point> {
        let mut points = Vec::new();
        for j in sizes {
            for pairs in 1..=most {
                let seconds = time(f64::from(1u32 << j), f64::from(pairs));
                points.push(Point { bytes: 1 << j, pairs, seconds, trials: vec![seconds] });
            }
        }
        points
    }

    fn quick() -> Options {
        Options { replicates: 0, ..Options::default() }
    }

    #[test]
    fn the_true_model_is_chosen() {
        type Case = (&'static str, fn(f64, f64) -> f64);
        let cases: [Case; 4] = [
            ("postal", |n, _| 2e-6 + n / 1e9),
            ("m3", |n, k| 2e-6 + n / 1e9 * (k / 3.0).max(1.0)),
            ("m3a", |n, k| 2e-6 + 1e-7 * (k - 1.0) + n / 1e9 * (k / 3.0).max(1.0)),
            ("m5", |n, k| (2e-6 + n / 1e9).max(k * n / 3e9)),
        ];
        for (name, time) in cases {
            let report = analyse(&points(8..18, 8, time), &Options { phase_starts: Some(vec![]), ..quick() }).unwrap();
            assert_eq!(report.phases[0].chosen, name);
            assert!((report.predict(1e4, 5.0) / time(1e4, 5.0) - 1.0).abs() < 1e-4);
        }
    }

    #[test]
    fn aggregates_grow_and_saturate() {
        let p = points(8..18, 8, |n, k| 2e-6 + n / 1e9 * (k / 3.0).max(1.0));
        let a = aggregates(&Data { points: &p, weighting: Weighting::Relative });
        assert!((a[0].1.unwrap() / 1e9 - 1.0).abs() < 1e-6 && (a[7].1.unwrap() / 3e9 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn intervals_hold_the_truth_and_are_seeded() {
        let mut rng = spec::Rng::new(5, "noise", 0);
        let mut p = points(10..18, 8, |n, k| 2e-5 + n / 1e9 * (k / 3.0).max(1.0));
        for point in &mut p {
            let noisy = |rng: &mut spec::Rng| point.seconds * (0.03 * crate::numeric::stats::normal(rng)).exp();
            point.trials = (0..11).map(|_| noisy(&mut rng)).collect();
            point.seconds = Location::Median.of(&point.trials).unwrap();
        }
        let options = Options { replicates: 40, phase_starts: Some(vec![]), ..Options::default() };
        let report = analyse(&p, &options).unwrap();
        let rate = &report.phases[0].fit("m3").unwrap().estimates[2];
        assert!(rate.low.unwrap() < 3.05e9 && rate.high.unwrap() > 2.95e9, "{rate:?}");
        assert!(rate.high.unwrap() / rate.low.unwrap() < 1.1, "{rate:?}");
        assert_eq!(report, analyse(&p, &options).unwrap());
    }

    #[test]
    fn a_fit_through_all_points_claims_no_interval() {
        let options = Options { replicates: 40, phase_starts: Some(vec![]), ..Options::default() };
        let with_intervals = |sizes| {
            let report = analyse(&points(sizes, 1, |n, _| 2e-6 + n.powf(1.02) / 1e9), &options).unwrap();
            report.phases[0].chosen().estimates.iter().filter(|e| e.low.is_some()).count()
        };
        assert_eq!(with_intervals(10..12), 0);
        assert!(with_intervals(10..15) > 0);
    }

    #[test]
    fn one_size_is_fitted_with_its_limit_and_nothing_is_refused() {
        let report = analyse(&points(10..11, 8, |n, k| 2e-6 + n / 1e9 * k), &quick()).unwrap();
        let fit = report.phases[0].chosen();
        assert!(fit.limits.iter().any(|l| matches!(l, Limit::OneSize { bytes: 1024 })), "{fit:?}");
        assert_eq!(analyse(&[], &quick()), Err(DataError::Empty.into()));
        let bad = Point { bytes: 1, pairs: 1, seconds: f64::NAN, trials: vec![] };
        assert!(analyse(&[bad], &quick()).is_err());
    }
}
