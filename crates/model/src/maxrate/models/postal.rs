//! Postal: T = alpha + n/R_C, blind to how many pairs communicate. Three fits: to all points, to those of one pair, to those
//! of the most pairs; the prediction is for every k alike.

use super::{Data, Estimate, FitError, Model, Raw, estimate, finish};
use crate::numeric::least_squares::Problem;
use spec::Card;

/// Fitted to all points.
pub const ALL: Model = Model { fit: |d| fit(ALL.card.name, d, |_, _| true), ..model("postal", "fitted to all k") };
/// Fitted to the points of one pair.
pub const ONE_PAIR: Model = Model {
    fit: |d| fit(ONE_PAIR.card.name, d, |k, _| k == 1.0),
    ..model("postal-one-pair", "fitted to k=1, predicting all k")
};
/// Fitted to the points of the most pairs.
pub const MOST_PAIRS: Model = Model {
    fit: |d| fit(MOST_PAIRS.card.name, d, |k, most| k == most),
    ..model("postal-most-pairs", "fitted to the largest k, predicting all k")
};

const fn model(name: &'static str, about: &'static str) -> Model {
    Model {
        card: Card { name, about, source: "Gropp, Olson, Samfass 2016, eq. (1)", params: &[] },
        freedom: 2,
        fit: |_| Err(FitError::Empty),
        predict: |theta, n, _| theta[0] + n * theta[1],
        estimates,
    }
}

fn fit(name: &'static str, data: &Data<'_>, part: fn(f64, f64) -> bool) -> Result<Raw, FitError> {
    let most = data.most_pairs();
    let mut problem = Problem::new(2);
    for p in data.points.iter().filter(|p| part(f64::from(p.pairs), most)) {
        problem.row(data.weighting.of(p), &[1.0, p.bytes as f64], p.seconds);
    }
    if problem.is_empty() {
        return Err(FitError::Empty);
    }
    let theta = problem.solve_nonnegative().x;
    let sse = data.sse(|n, _| theta[0] + n * theta[1]);
    finish(name, data, Raw { theta, sse, limits: Vec::new() }, 1)
}

fn estimates(theta: &[f64]) -> Vec<Estimate> {
    vec![estimate("alpha", "s", theta[0]), estimate("rate_core", "B/s", 1.0 / theta[1])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maxrate::data::{Point, Weighting};

    #[test]
    fn three_fits_of_one_set() {
        let point = |bytes: u64, pairs: u32| {
            let seconds = 1e-6 + bytes as f64 * 1e-9 * f64::from(pairs);
            Point { bytes, pairs, seconds, trials: vec![seconds] }
        };
        let points = [point(1000, 1), point(2000, 1), point(1000, 3), point(2000, 3)];
        let data = Data { points: &points, weighting: Weighting::Relative };
        let slope = |m: &Model| (m.fit)(&data).unwrap().theta[1];
        assert!((slope(&ONE_PAIR) / 1e-9 - 1.0).abs() < 1e-9);
        assert!((slope(&MOST_PAIRS) / 3e-9 - 1.0).abs() < 1e-9);
        assert!(slope(&ALL) > 1e-9 && slope(&ALL) < 3e-9);
    }
}
