//! Every number that the two papers print and that follows from their formulas.
//!
//! Max-rate: Gropp, Olson, Samfass (EuroMPI '16). Its raw data are not public, so its Table 1 generates data and its Table 2 and
//! quoted maxima are checked on them. Contention: Martinasso, Mehaut (Euro-Par 2011).

use spec::{Params, Rng};
use tailback_model::contention::rules::{evaluate, start};
use tailback_model::contention::{Flow, Graph, Options, Solution, published, solve};
use tailback_model::maxrate::models::{Data, Limit, MODELS, Raw, find};
use tailback_model::maxrate::{Model, Point, Weighting};
use tailback_model::numeric::levenberg::minimise;
use tailback_model::numeric::stats::normal;

/// A row of Table 1 (eq. 4, round-trip convention): alpha, R_N, R_Cb, R_Ci.
struct Row {
    alpha: f64,
    node: f64,
    base: f64,
    increment: f64,
    /// Sizes of the phase, powers of two from and up to.
    sizes: std::ops::RangeInclusive<u32>,
}

const SHORT: Row = Row { alpha: 4.0e-6, node: f64::INFINITY, base: 6.3e8, increment: -1.8e7, sizes: 2..=4 };
/// With the border size of 1024 bytes, as in the specification's recovery figures (4 % and 10 %).
const EAGER: Row = Row { alpha: 1.1e-5, node: f64::INFINITY, base: 1.7e9, increment: 6.2e7, sizes: 5..=10 };
const RENDEZVOUS: Row = Row { alpha: 2.0e-5, node: 5.5e9, base: 3.6e9, increment: 6.1e8, sizes: 10..=18 };

impl Row {
    /// Eq. (4).
    fn time(&self, n: f64, k: f64) -> f64 {
        self.alpha + k * n / self.node.min(self.base + (k - 1.0) * self.increment)
    }

    /// Points of the paper's grid, k = 1..16, with lognormal noise.
    fn points(&self, noise: f64, seed: u64) -> Vec<Point> {
        let mut rng = Rng::new(seed, "table 1", 0);
        let mut points = Vec::new();
        for j in self.sizes.clone() {
            for pairs in 1..=16u32 {
                let exact = self.time(f64::from(1u32 << j), f64::from(pairs));
                let seconds = exact * (noise * normal(&mut rng)).exp();
                points.push(Point { bytes: 1 << j, pairs, seconds, trials: vec![seconds] });
            }
        }
        points
    }
}

fn model(name: &str) -> &'static Model {
    find(name).unwrap()
}

fn fit(name: &str, points: &[Point], weighting: Weighting) -> Raw {
    (model(name).fit)(&Data { points, weighting }).unwrap()
}

/// Sum and maximum of |T-f|/T.
fn errors(name: &str, points: &[Point]) -> (f64, f64) {
    let raw = fit(name, points, Weighting::Paper);
    let predict = |p: &Point| (model(name).predict)(&raw.theta, p.bytes as f64, f64::from(p.pairs));
    let errors: Vec<f64> = points.iter().map(|p| (predict(p) - p.seconds).abs() / p.seconds).collect();
    (errors.iter().sum(), errors.iter().copied().fold(0.0, f64::max))
}

fn estimate(name: &str, raw: &Raw, parameter: &str) -> f64 {
    (model(name).estimates)(&raw.theta).into_iter().find(|e| e.name == parameter).unwrap().value.unwrap()
}

fn within(found: f64, expected: f64, share: f64, what: &str) {
    assert!((found / expected - 1.0).abs() <= share, "{what}: {found}, expected {expected} within {share}");
}

#[test]
fn table_2_and_maxima_of_the_rendezvous_phase() {
    let points = RENDEZVOUS.points(0.0, 0);
    // (model, sum and max on noise-free data, the paper's sum and max on its own data).
    for (name, sum, max, paper_sum, paper_max) in [
        ("postal-one-pair", 56.3, 0.88, 58.78, 0.88),
        ("postal-most-pairs", 106.2, 7.43, 109.39, 7.26),
        ("postal", 48.0, 3.63, 46.87, 3.49),
    ] {
        let found = errors(name, &points);
        within(found.0, sum, 0.01, name);
        within(found.1, max, 0.01, name);
        within(found.0, paper_sum, 0.05, name);
        within(found.1, paper_max, 0.05, name);
    }
    // The figure 0.20 is printed with two digits.
    within(errors("m3", &points).1, 0.20, 0.025, "m3 max");
    assert!(errors("m4", &points).1 < 1e-4);
}

/// The other two rows do not follow from Table 1: its parameters give postal errors that are neither the paper's nor in its
/// proportions (one pair errs three times as much as sixteen there), so its data have something at one pair that no model has.
#[test]
fn table_2_of_the_short_and_eager_phases_does_not_follow_from_table_1() {
    let below_the_border = Row { sizes: 5..=9, ..EAGER };
    // By model: what Table 1 gives, and what the paper's Table 2 has.
    for (row, sums) in [
        (SHORT, [("postal-one-pair", 1.83, 7.40), ("postal-most-pairs", 2.71, 2.59), ("postal", 1.18, 1.81)]),
        (
            below_the_border,
            [("postal-one-pair", 3.94, 10.97), ("postal-most-pairs", 3.18, 3.54), ("postal", 1.88, 2.37)],
        ),
    ] {
        let points = row.points(0.0, 0);
        let found = sums.map(|(name, given, _)| {
            let sum = errors(name, &points).0;
            within(sum, given, 0.01, name);
            sum
        });
        assert!(sums[0].2 / sums[1].2 > 2.5 && found[0] / found[1] < 1.5, "{found:?}");
    }
}

/// Root mean square over replicates of the relative error of a parameter of model (4).
fn scatter(row: &Row, noise: f64, parameter: &str, truth: f64) -> f64 {
    let replicates = 40;
    let square = |seed: u64| {
        let raw = fit("m4", &row.points(noise, seed), Weighting::Relative);
        (estimate("m4", &raw, parameter) / truth - 1.0).powi(2)
    };
    ((0..replicates).map(square).sum::<f64>() / replicates as f64).sqrt()
}

#[test]
fn table_1_is_recovered_from_noisy_data() {
    // Bounds of the specification's A5; a quarter more for the scatter of 40 replicates.
    for (noise, bounds) in [(0.01, [0.002, 0.002, 0.009, 0.026]), (0.05, [0.010, 0.012, 0.045, 0.13])] {
        let parameters = [("alpha", 2.0e-5), ("rate_node", 5.5e9), ("rate_base", 3.6e9), ("rate_increment", 6.1e8)];
        for ((name, truth), bound) in parameters.into_iter().zip(bounds) {
            let found = scatter(&RENDEZVOUS, noise, name, truth);
            assert!(found <= 1.25 * bound, "{noise} {name}: {found} > {bound}");
        }
    }
    for (name, truth, bound) in [("rate_base", EAGER.base, 0.04), ("rate_increment", EAGER.increment, 0.10)] {
        let found = scatter(&EAGER, 0.01, name, truth);
        assert!(found <= bound, "eager {name}: {found} > {bound}");
    }
    assert!(scatter(&EAGER, 0.05, "alpha", EAGER.alpha) < 0.03);
    assert!(scatter(&SHORT, 0.05, "alpha", SHORT.alpha) < 0.05);
}

#[test]
fn model_3_has_no_bias_on_data_of_model_4() {
    let raw = fit("m3", &RENDEZVOUS.points(0.0, 0), Weighting::Relative);
    within(estimate("m3", &raw, "rate_node"), 5.49e9, 0.01, "R_N");
    within(estimate("m3", &raw, "rate_core"), 3.62e9, 0.02, "R_C");
    within(estimate("m3", &raw, "saturation"), 1.52, 0.02, "r");
}

#[test]
fn a_node_rate_that_was_not_reached_is_a_lower_bound() {
    let truth = |n: f64, k: f64| 2e-5 + n / 1.5e9 * (k / 3.67).max(1.0);
    let points = |most: u32, seed: u64| {
        let mut rng = Rng::new(seed, "bound", 0);
        let sizes = 10..=18u32;
        let mut one = |j: u32, pairs: u32| {
            let seconds = truth(f64::from(1u32 << j), f64::from(pairs)) * (0.01 * normal(&mut rng)).exp();
            Point { bytes: 1 << j, pairs, seconds, trials: vec![seconds] }
        };
        sizes.flat_map(|j| (1..=most).map(move |k| (j, k))).map(|(j, k)| one(j, k)).collect::<Vec<Point>>()
    };
    for seed in 0..5 {
        for most in [2, 3] {
            let raw = fit("m3", &points(most, seed), Weighting::Relative);
            let [Limit::NodeRateNotReached { at_least, .. }] = raw.limits[..] else {
                panic!("{most}: {:?}", raw.limits)
            };
            let text = raw.limits[0].to_string();
            assert!(text.starts_with("R_N not reached: at least ") && text.contains("GB/s"), "{text}");
            assert!(at_least <= 1.02 * 3.67 * 1.5e9 && at_least > 0.9 * 1.5e9 * f64::from(most), "{at_least}");
        }
        let raw = fit("m3", &points(8, seed), Weighting::Relative);
        assert!(raw.limits.is_empty(), "{:?}", raw.limits);
        within(estimate("m3", &raw, "rate_node"), 3.67 * 1.5e9, 0.03, "R_N");
    }
    // In the short phase time grows with k from the first pair on: no R_N may be read from it.
    let short = fit("m3", &SHORT.points(0.01, 1), Weighting::Relative);
    assert!(short.limits.iter().any(|l| !matches!(l, Limit::Dead { .. })), "{short:?}");
}

/// Plain Levenberg-Marquardt over logarithms of alpha and the rates from random starts over three decades: the best sum and
/// how many starts came within 0.1 % of `reference`.
fn naive(name: &str, points: &[Point], weighting: Weighting, reference: f64) -> (f64, usize) {
    let data = Data { points, weighting };
    let norm = data.scale().sqrt();
    let predict = |x: &[f64], n: f64, k: f64| {
        let p: Vec<f64> = x.iter().map(|v| v.clamp(-300.0, 300.0).exp()).collect();
        match name {
            "m3" => p[0] + k * n / p[1].min(k * p[2]),
            "m4" => p[0] + k * n / p[1].min(p[2] + (k - 1.0) * p[3]),
            _ => (p[0] + n / p[2]).max(k * n / p[1]),
        }
    };
    let unknowns = if name == "m4" { 4 } else { 3 };
    let centre = [2.0e-5f64, 5.5e9, 3.6e9, 6.1e8];
    let mut rng = Rng::new(9, "naive", unknowns as u64);
    let (mut best, mut good) = (f64::INFINITY, 0);
    for _ in 0..100 {
        let start: Vec<f64> = centre[..unknowns].iter().map(|c| c.ln() + (rng.unit() - 0.5) * 1000f64.ln()).collect();
        let residuals =
            |x: &[f64]| data.residuals(|n, k| predict(x, n, k)).into_iter().map(|r| r / norm).collect::<Vec<f64>>();
        let sse = minimise(&start, &residuals).sse * norm * norm;
        best = best.min(sse);
        good += usize::from(sse <= 1.001 * reference);
    }
    (best, good)
}

#[test]
fn robust_fits_are_as_good_as_the_best_of_100_naive_ones() {
    let points = RENDEZVOUS.points(0.02, 3);
    for weighting in [Weighting::Relative, Weighting::Paper] {
        for name in ["m3", "m4", "m5"] {
            let robust = fit(name, &points, weighting).sse;
            let (best, good) = naive(name, &points, weighting, robust);
            assert!(robust <= best * (1.0 + 1e-6), "{name} {weighting:?}: robust {robust}, naive {best}");
            // The reason for all this: many naive starts do not arrive.
            assert!(good < 100, "{name}: {good} of 100 naive starts arrived");
        }
    }
    assert!(MODELS.iter().all(|m| !m.card.source.is_empty()));
}

/// Penalties of a built-in graph by the paper's rules.
fn penalties(graph: &str) -> Vec<f64> {
    evaluate(&*start("paper", &Params::new()).unwrap(), &published::find(graph).unwrap()).unwrap()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= tolerance, "{found:?}, expected {expected:?}");
    }
}

/// The paper's seconds per byte.
const ALPHA: f64 = 5.105e-10;

fn solved(rules: &str, graph: &str) -> Solution {
    let rules = start(rules, &Params::new()).unwrap();
    let options = Options { alpha: ALPHA, steps: true, ..Options::rate(1.0) };
    solve(&published::find(graph).unwrap(), &*rules, &options).unwrap()
}

/// Ends in units of the time of a flow alone.
fn in_t_ref(rules: &str, graph: &str) -> Vec<f64> {
    solved(rules, graph).end_s.iter().map(|t| t / (ALPHA * 20_971_520.0)).collect()
}

#[test]
fn contention_figure_2() {
    close(&penalties("g1"), &[3.0; 3], 1e-9);
    close(&penalties("g2"), &[2.0; 4], 1e-9);
    close(&penalties("g3"), &[4.0, 4.0, 4.0, 2.667, 2.667], 5e-4);
    close(&penalties("g4"), &[4.0, 4.0, 1.333, 1.333], 5e-4);
}

#[test]
fn contention_figure_3() {
    let s = solved("paper", "fig3");
    let third = 1.0 / 3.0;
    let rho: Vec<Vec<f64>> = s.steps.iter().map(|s| s.flows.iter().map(|f| f.penalty).collect()).collect();
    close(&rho[0], &[3.5, 3.5, 3.5, 3.0 + third, 3.0 + third, 1.5], 1e-9);
    close(&rho[1], &[3.5, 3.5, 3.5, 2.0 + third, 2.0 + third], 1e-9);
    close(&rho[2], &[3.0; 3], 1e-9);
    let ends: Vec<f64> = s.steps.iter().map(|s| s.to_s).collect();
    close(&ends, &[0.0160589, 0.0297983, 0.0363748], 5e-8);
    let remaining = |step: usize, flow: usize| s.steps[step].flows[flow].remaining;
    close(&[remaining(1, 0), remaining(1, 3), remaining(2, 0)], &[11_983_726.0, 11_534_336.0, 4_294_168.0], 0.6);
    // Bytes of the first step: the paper prints 8987820 from rounded inputs.
    close(&[20_971_520.0 - remaining(1, 0)], &[8_987_794.0], 0.6);
    close(&s.end_s, &[0.0363748, 0.0363748, 0.0363748, 0.0297983, 0.0297983, 0.0160589], 5e-8);
}

#[test]
fn contention_figure_4() {
    close(&penalties("fig4a"), &[5.0, 5.0, 2.5, 2.5, 1.25], 1e-9);
    close(&in_t_ref("paper", "fig4a"), &[3.375, 3.375, 2.5, 2.5, 1.25], 1e-9);
    close(&in_t_ref("paper", "fig4b"), &[4.1, 4.1, 3.5, 3.5, 3.5], 1e-9);
    // The figure as printed: predicted and measured seconds, and (T_p - T_m)/T_m in per cent, truncated toward zero.
    let a = [(0.036132, 0.036328, 0.0), (0.036132, 0.036326, 0.0), (0.026765, 0.027653, -3.0)];
    let a = [&a[..], &[(0.026765, 0.027651, -3.0), (0.013382, 0.013413, 0.0)]].concat();
    let b = [(0.043894, 0.045236, -2.0), (0.043894, 0.045228, -2.0), (0.037471, 0.040073, -6.0)];
    let b = [&b[..], &[(0.037471, 0.040072, -6.0), (0.037471, 0.040071, -6.0)]].concat();
    for (graph, printed) in [("fig4a", a), ("fig4b", b)] {
        let found = solved("paper", graph).end_s;
        close(&found, &printed.iter().map(|(predicted, ..)| *predicted).collect::<Vec<f64>>(), 1e-6);
        let errors =
            found.iter().zip(&printed).map(|(p, (_, measured, _))| (100.0 * (p - measured) / measured).trunc());
        assert!(errors.eq(printed.iter().map(|(.., error)| *error)), "{graph}: {found:?}");
    }
}

#[test]
fn residual_rule_against_the_paper_s_measurements() {
    let (a, b) = (in_t_ref("ib-residual", "fig4a"), in_t_ref("ib-residual", "fig4b"));
    close(&a[2..4], &[2.583; 2], 1e-3);
    close(&b, &[4.25, 4.25, 3.75, 3.75, 3.75], 1e-3);
    for (predicted, measured) in [(a[2], 2.583), (b[2], 3.743), (b[0], 4.225)] {
        within(predicted, measured, 0.007, "residual");
    }
}

#[test]
fn graphs_that_tell_readings_apart() {
    let value = |rules: &str, graph: &str, flow: usize| {
        evaluate(&*start(rules, &Params::new()).unwrap(), &published::find(graph).unwrap()).unwrap()[flow]
    };
    for (rules, f1) in [("paper", 1.5), ("paper-v2", 1.333), ("paper-v3", 1.333), ("ib-residual", 1.286)] {
        close(&[value(rules, "d1", 2)], &[f1], 5e-4);
    }
    close(&[value("paper", "d2", 0), value("paper", "d3", 0)], &[3.0, 3.5], 1e-9);
    // All readings agree on everything that was published.
    for rules in ["paper-v2", "paper-v3"] {
        for g in ["g1", "g2", "g3", "g4", "fig3", "fig4a", "fig4b"] {
            close(&in_t_ref(rules, g), &in_t_ref("paper", g), 1e-9);
        }
    }
}

#[test]
fn staggered_starts() {
    let flow = |name: &str, from, to, bytes, start| Flow { name: name.into(), from, to, bytes, start, after: None };
    let graph = Graph {
        nodes: ["s", "t", "x", "y"].map(String::from).to_vec(),
        flows: vec![flow("a", 0, 2, 1.0, 0.0), flow("b", 0, 3, 0.5, 0.25), flow("c", 1, 2, 1.0, 0.5)],
    };
    let rules = start("paper", &Params::new()).unwrap();
    close(&solve(&graph, &*rules, &Options::rate(1.0)).unwrap().end_s, &[2.125, 1.625, 2.125], 1e-12);
}
