//! Extended max-rate, eq. (4): T = alpha + k n / min(R_N, R_Cb + (k-1) R_Ci).
//!
//! Written with q = R_Ci/R_Cb >= 0 and r = R_N/R_Cb >= 1 it is T = alpha + (n/R_Cb) k max(1/r, 1/(1 + (k-1) q)): linear in alpha and
//! 1/R_Cb. So a coarse grid over (q, r) with a linear fit each gives starts near every valley, and Levenberg-Marquardt finishes.

use super::{Data, Estimate, FitError, Limit, Model, Raw, estimate, finish, m3};
use crate::numeric::least_squares::Problem;
use crate::numeric::levenberg::minimise;
use crate::numeric::search::golden_section;
use spec::Card;

/// The model; theta = (alpha, 1/R_Cb, q, r).
pub const MODEL: Model = Model {
    card: Card {
        name: "m4",
        about: "extended max-rate: each further pair adds R_Ci up to R_N",
        source: "Gropp, Olson, Samfass 2016, eq. (4)",
        params: &[],
    },
    freedom: 4,
    fit,
    predict,
    estimates,
};

/// Ratios R_Ci/R_Cb of the grid.
const INCREMENTS: [f64; 11] = [0.0, 0.03, 0.07, 0.12, 0.2, 0.3, 0.45, 0.65, 1.0, 1.5, 2.5];
/// Ratios R_N/R_Cb of the grid for each increment.
const SATURATIONS: usize = 14;
/// How many cells of the grid Levenberg-Marquardt starts from.
const STARTS: usize = 6;
/// A saturation within this share of the largest usable one means that the node's rate was not reached.
const NOT_REACHED: f64 = 0.98;

fn predict(theta: &[f64], n: f64, k: f64) -> f64 {
    theta[0] + n * theta[1] * shape(theta[2], theta[3], k)
}

fn shape(q: f64, r: f64, k: f64) -> f64 {
    k * (1.0 / r).max(1.0 / (1.0 + (k - 1.0) * q))
}

fn fit(data: &Data<'_>) -> Result<Raw, FitError> {
    data.require(MODEL.card.name, 4)?;
    let mut starts = grid(data);
    starts.sort_by(|a, b| a.sse.total_cmp(&b.sse));
    starts.truncate(STARTS);
    let from_m3 = (m3::MODEL.fit)(data)?;
    // With R_Ci = R_Cb, so q = 1, this model is m3, and that fit is a start as well.
    starts.push(Raw { theta: vec![from_m3.theta[0], from_m3.theta[1], 1.0, from_m3.theta[2]], ..from_m3 });
    let polished: Vec<Raw> = starts.iter().map(|s| polish(data, s)).collect();
    let best = starts.into_iter().chain(polished).min_by(|a, b| a.sse.total_cmp(&b.sse)).expect("m3 is a start");
    // A node's rate that the data do not show (within two standard deviations) would only add its noise to the others.
    let free = unsaturated(data);
    let dof = data.points.len().saturating_sub(MODEL.freedom).max(1) as f64;
    let best = if free.sse <= best.sse * (1.0 + 4.0 / dof) + 1e-24 * data.scale() { free } else { best };
    let limits = limits(data, &best);
    finish(MODEL.card.name, data, Raw { limits, ..best }, 1)
}

/// A linear fit for every cell.
fn grid(data: &Data<'_>) -> Vec<Raw> {
    let most = data.most_pairs();
    let mut cells = Vec::new();
    for q in INCREMENTS {
        let top = 1.0 + (most - 1.0) * q;
        for i in 0..SATURATIONS {
            let r = top.powf((i + 1) as f64 / SATURATIONS as f64);
            cells.push(solve(data, q, r));
        }
    }
    cells
}

/// The best fit without R_N: r is as large as k R_C gets, so that it never decides.
fn unsaturated(data: &Data<'_>) -> Raw {
    let most = data.most_pairs();
    let at = |q: f64| solve(data, q, 1.0 + (most - 1.0) * q);
    let sums: Vec<f64> = INCREMENTS.iter().map(|&q| at(q).sse).collect();
    let best = (0..sums.len()).min_by(|&i, &j| sums[i].total_cmp(&sums[j])).expect("the grid is not empty");
    let (low, high) = (INCREMENTS[best.saturating_sub(1)], INCREMENTS[(best + 1).min(sums.len() - 1)]);
    let (q, sse) = golden_section(low, high, &|q| at(q).sse);
    if sums[best] <= sse { at(INCREMENTS[best]) } else { at(q) }
}

fn solve(data: &Data<'_>, q: f64, r: f64) -> Raw {
    let mut problem = Problem::new(2);
    for p in data.points {
        problem.row(data.weighting.of(p), &[1.0, p.bytes as f64 * shape(q, r, f64::from(p.pairs))], p.seconds);
    }
    let s = problem.solve_nonnegative();
    Raw { theta: vec![s.x[0], s.x[1], q, r], sse: s.sse, limits: Vec::new() }
}

/// Levenberg-Marquardt over (q, ln(r-1)) with alpha and 1/R_Cb eliminated by the linear fit: two well-scaled unknowns.
fn polish(data: &Data<'_>, start: &Raw) -> Raw {
    let norm = data.scale().sqrt();
    // Any unknowns are allowed ones: q stays at least zero and r above 1.
    let unpack = |x: &[f64]| (x[0].abs(), 1.0 + x[1].clamp(-40.0, 40.0).exp());
    let residuals = |x: &[f64]| {
        let (q, r) = unpack(x);
        let theta = solve(data, q, r).theta;
        data.residuals(|n, k| predict(&theta, n, k)).into_iter().map(|v| v / norm * 1e3).collect()
    };
    let ratio = (start.theta[3] - 1.0).max(1e-6).ln();
    let found = minimise(&[start.theta[2].max(1e-3), ratio], &residuals);
    let (q, r) = unpack(&found.x);
    solve(data, q, r)
}

fn limits(data: &Data<'_>, fit: &Raw) -> Vec<Limit> {
    let most = data.most_pairs();
    let top = 1.0 + (most - 1.0) * fit.theta[2];
    if most > 1.0 && fit.theta[3] <= 1.02 {
        return vec![Limit::RatesNotSeparable];
    }
    let mut limits = Vec::new();
    if fit.theta[3] >= NOT_REACHED * top && fit.theta[1] > 0.0 {
        limits.push(Limit::NodeRateNotReached { at_least: top / fit.theta[1], pairs: most as u32 });
    }
    if most > 1.0 && fit.theta[3] <= 1.0 + fit.theta[2] {
        // From the second pair on the node's rate decides, so the increment only has to be large enough.
        limits.push(Limit::Dead { parameter: "rate_increment".into() });
    }
    limits
}

fn estimates(theta: &[f64]) -> Vec<Estimate> {
    vec![
        estimate("alpha", "s", theta[0]),
        estimate("rate_base", "B/s", 1.0 / theta[1]),
        estimate("rate_increment", "B/s", theta[2] / theta[1]),
        estimate("rate_node", "B/s", theta[3] / theta[1]),
        estimate("saturation", "pairs", if theta[2] > 0.0 { 1.0 + (theta[3] - 1.0) / theta[2] } else { f64::NAN }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maxrate::data::{Point, Weighting};

    #[test]
    fn table_1_is_recovered_from_its_own_data() {
        // Rendezvous row of the paper's Table 1.
        let truth = [2.0e-5, 1.0 / 3.6e9, 6.1e8 / 3.6e9, 5.5e9 / 3.6e9];
        let mut points = Vec::new();
        for j in 10..=18 {
            for pairs in 1..=16u32 {
                let seconds = predict(&truth, f64::from(1 << j), f64::from(pairs));
                points.push(Point { bytes: 1 << j, pairs, seconds, trials: vec![seconds] });
            }
        }
        for weighting in [Weighting::Paper, Weighting::Relative] {
            let raw = fit(&Data { points: &points, weighting }).unwrap();
            for (found, true_value) in raw.theta.iter().zip(truth) {
                assert!((found / true_value - 1.0).abs() < 1e-5, "{:?}", raw.theta);
            }
            assert!(raw.limits.is_empty(), "{:?}", raw.limits);
        }
    }
}
