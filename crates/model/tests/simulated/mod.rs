//! Max-rate data from known parameters, and whether intervals hold them. Used by a test and by the example `coverage`.

use spec::Rng;
use tailback_model::maxrate::models::{Data, Fit, Limit, find};
use tailback_model::maxrate::{Location, Options, Point, Weighting, analyse, analysis, bootstrap, bounds};
use tailback_model::numeric::stats::normal;

/// Model and parameters as the program holds them; m4 is the rendezvous row of the paper's Table 1.
pub const TRUTHS: [(&str, &[f64]); 5] = [
    ("postal", &[2e-5, 1.0 / 3e9]),
    ("m3", &[2e-5, 1.0 / 3e9, 3.67]),
    ("m3a", &[2e-5, 1e-6, 1.0 / 1.5e9, 3.0]),
    ("m4", &[2e-5, 1.0 / 3.6e9, 6.1e8 / 3.6e9, 5.5e9 / 3.6e9]),
    ("m5", &[1.8e-5, 1.0 / 3e9, 1.9]),
];
/// Those that are richer than model (3), or other.
pub const RICHER: &[(&str, &[f64])] = TRUTHS.split_at(2).1;

const PAIRS: [u32; 8] = [1, 2, 3, 4, 6, 8, 12, 16];

/// How the data are made and how often they are drawn again.
#[derive(Clone, Copy)]
pub struct Case {
    pub noise: f64,
    pub trials: usize,
    pub replicates: usize,
}

/// Nine sizes and eight numbers of pairs, with noise on every trial.
pub fn points(model: &str, theta: &[f64], case: Case, seed: u64) -> Vec<Point> {
    let model = find(model).expect("a model of the table");
    let mut rng = Rng::new(seed, "coverage", case.trials as u64);
    let mut points = Vec::new();
    for j in 10..=18 {
        for pairs in PAIRS {
            let exact = (model.predict)(theta, f64::from(1u32 << j), f64::from(pairs));
            let trials: Vec<f64> = (0..case.trials).map(|_| exact * (case.noise * normal(&mut rng)).exp()).collect();
            let seconds = Location::Median.of(&trials).expect("at least one trial");
            points.push(Point { bytes: 1 << j, pairs, seconds, trials });
        }
    }
    points
}

/// For each parameter of a model its name and whether the interval of one fit to its own data holds it.
pub fn held(name: &str, theta: &[f64], case: Case, seed: u64) -> Vec<(String, bool)> {
    let model = find(name).expect("a model of the table");
    let points = points(name, theta, case, seed);
    let data = Data { points: &points, weighting: Weighting::Relative };
    let mut fit = analysis::describe(model, &data, (model.fit)(&data).expect("enough points"));
    bootstrap::intervals(model, &data, &mut fit, case.replicates, 1);
    bounds::settle(&data, &mut fit);
    (model.estimates)(theta).iter().map(|t| (t.name.clone(), holds(&fit, &t.name, t.value))).collect()
}

fn holds(fit: &Fit, name: &str, truth: Option<f64>) -> bool {
    let estimate = fit.estimates.iter().find(|e| e.name == name).expect("the model has it");
    let truth = truth.expect("a finite truth");
    let low = estimate.low.unwrap_or_else(|| panic!("no interval: {estimate:?} {:?}", fit.limits));
    low <= truth && estimate.high.is_none_or(|high| truth <= high)
}

/// Model (3) on data of another one: whether its interval holds the node's rate, and whether it says that it does not fit.
pub fn wrong(name: &str, theta: &[f64], case: Case, seed: u64) -> (bool, bool) {
    let options = Options { replicates: case.replicates, phase_starts: Some(vec![]), ..Options::default() };
    let report = analyse(&points(name, theta, case, seed), &options).expect("enough points");
    let fit = report.phases[0].fit("m3").expect("m3 fits anything");
    let truth = (find(name).expect("a model of the table").estimates)(theta);
    let truth = truth.iter().find(|e| e.name == "rate_node").and_then(|e| e.value);
    let says = fit.limits.iter().any(|l| matches!(l, Limit::DoesNotFit { .. }));
    (holds(fit, "rate_node", truth), says)
}
