//! Improved max-rate, eq. (5): T = max(alpha + n/R_C, k n/R_N): the latency is hidden where the node's rate decides.

use super::{Data, Estimate, FitError, Limit, Model, Raw, estimate, finish, m3};
use crate::numeric::least_squares::Problem;
use crate::numeric::levenberg::minimise;
use spec::Card;

/// The model; theta = (alpha, 1/R_C, r) with r = R_N/R_C.
pub const MODEL: Model = Model {
    card: Card {
        name: "m5",
        about: "improved max-rate: latency overlaps with the node's rate",
        source: "Gropp, Olson, Samfass 2016, eq. (5)",
        params: &[],
    },
    freedom: 3,
    fit,
    predict,
    estimates,
};

/// Factors on r of model (3) that the search starts from.
const STARTS: [f64; 4] = [1.0, 0.7, 1.4, 2.5];
/// Rounds of reassigning points to the two branches.
const ROUNDS: usize = 30;

fn predict(theta: &[f64], n: f64, k: f64) -> f64 {
    (theta[0] + n * theta[1]).max(n * theta[1] * k / theta[2])
}

fn fit(data: &Data<'_>) -> Result<Raw, FitError> {
    data.require(MODEL.card.name, 3)?;
    let m3 = (m3::MODEL.fit)(data)?;
    let start = |f: f64| vec![m3.theta[0], m3.theta[1], (m3.theta[2] * f).max(1.0)];
    let mut found: Vec<Raw> = STARTS.iter().map(|&f| search(data, start(f))).collect();
    // With one pair, or with a rate that is never reached, the model is postal: its best fit is linear.
    found.push(with_sse(data, assign(data, |_, _| true)));
    let best = found.into_iter().min_by(|a, b| a.sse.total_cmp(&b.sse)).expect("there are starts");
    let limits = limits(data, &best);
    finish(MODEL.card.name, data, Raw { limits, ..best }, 1)
}

/// Alternates between "which branch is larger at each point" and the linear fits of the branches, then polishes.
fn search(data: &Data<'_>, start: Vec<f64>) -> Raw {
    let mut best = with_sse(data, start);
    for _ in 0..ROUNDS {
        let theta = best.theta.clone();
        let next = with_sse(data, assign(data, |n, k| theta[0] + n * theta[1] >= n * theta[1] * k / theta[2]));
        if next.sse >= best.sse {
            break;
        }
        best = next;
    }
    polish(data, best)
}

/// The linear fits of both branches for a given assignment: `first(n, k)` says that latency and core decide.
fn assign(data: &Data<'_>, first: impl Fn(f64, f64) -> bool) -> Vec<f64> {
    let (mut line, mut ray) = (Problem::new(2), Problem::new(1));
    for p in data.points {
        let (n, k, w) = (p.bytes as f64, f64::from(p.pairs), data.weighting.of(p));
        if first(n, k) {
            line.row(w, &[1.0, n], p.seconds);
        } else {
            ray.row(w, &[k * n], p.seconds);
        }
    }
    let (x, inverse) = (line.solve_nonnegative().x, ray.solve_nonnegative().x[0]);
    // No point on the node's branch says nothing of R_N: it is put where no measured k reaches it.
    let r = if inverse > 0.0 { (x[1] / inverse).max(1e-9) } else { data.most_pairs() };
    vec![x[0], x[1], r]
}

fn polish(data: &Data<'_>, start: Raw) -> Raw {
    // The search runs over logarithms, which a parameter at its bound of zero does not have.
    if start.theta.iter().any(|&t| t <= 0.0) {
        return start;
    }
    let norm = data.scale().sqrt();
    // exp overflows beyond 709.
    let unpack = |x: &[f64]| x.iter().map(|v| v.clamp(-700.0, 700.0).exp()).collect::<Vec<f64>>();
    let residuals = |x: &[f64]| {
        let theta = unpack(x);
        data.residuals(|n, k| predict(&theta, n, k)).into_iter().map(|v| v / norm * 1e3).collect()
    };
    let logs: Vec<f64> = start.theta.iter().map(|t| t.ln()).collect();
    let polished = with_sse(data, unpack(&minimise(&logs, &residuals).x));
    if polished.sse < start.sse { polished } else { start }
}

fn with_sse(data: &Data<'_>, theta: Vec<f64>) -> Raw {
    let sse = data.sse(|n, k| predict(&theta, n, k));
    Raw { theta, sse: if sse.is_nan() { f64::INFINITY } else { sse }, limits: Vec::new() }
}

fn limits(data: &Data<'_>, fit: &Raw) -> Vec<Limit> {
    let (most, theta) = (data.most_pairs(), &fit.theta);
    let branch = |n: f64, k: f64| n * theta[1] * k / theta[2] > theta[0] + n * theta[1];
    let reached = data.points.iter().any(|p| branch(p.bytes as f64, f64::from(p.pairs)));
    if reached || theta[1] <= 0.0 {
        return Vec::new();
    }
    // No point sits on the node's branch: the largest aggregate rate that was predicted is a lower bound.
    let rate = |n: f64, k: f64| k * n / (theta[0] + n * theta[1]);
    let at_least = data.points.iter().map(|p| rate(p.bytes as f64, f64::from(p.pairs))).fold(0.0, f64::max);
    vec![Limit::NodeRateNotReached { at_least, pairs: most as u32 }]
}

fn estimates(theta: &[f64]) -> Vec<Estimate> {
    vec![
        estimate("alpha", "s", theta[0]),
        estimate("rate_core", "B/s", 1.0 / theta[1]),
        estimate("rate_node", "B/s", theta[2] / theta[1]),
        estimate("saturation", "pairs", theta[2]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maxrate::data::{Point, Weighting};

    #[test]
    fn its_own_data_give_its_parameters_back() {
        let truth = [1.8e-5, 1.0 / 3e9, 1.9];
        let mut points = Vec::new();
        for j in 10..=18 {
            for pairs in 1..=16u32 {
                let seconds = predict(&truth, f64::from(1 << j), f64::from(pairs));
                points.push(Point { bytes: 1 << j, pairs, seconds, trials: vec![seconds] });
            }
        }
        let raw = fit(&Data { points: &points, weighting: Weighting::Relative }).unwrap();
        for (found, true_value) in raw.theta.iter().zip(truth) {
            assert!((found / true_value - 1.0).abs() < 1e-6, "{:?}", raw.theta);
        }
    }
}
