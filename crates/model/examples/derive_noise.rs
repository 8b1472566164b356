//! How well `contention derive` finds known penalties again in noise:
//! `cargo run --release -p tailback-model --example derive_noise` prints a Markdown table.
//!
//! 200 random graphs whose flows end when the paper's rules say, every end five times with noise. The procedure asks for the
//! sub-graphs that it needs, which get ends in the same way. Errors are those of the penalties it finds.

use spec::{Params, Rng};
use tailback_model::contention::derive::{DeriveError, DeriveSettings, Derived, Store, Tie, from_times};
use tailback_model::contention::random::{DrawSettings, draw};
use tailback_model::contention::rules::{Rules, evaluate, start};
use tailback_model::contention::{Graph, Options, solve};
use tailback_model::numeric::stats::{mean, median, normal, quantile};

const ALPHA: f64 = 1e-9;
const REPEATS: usize = 5;

fn graphs() -> Vec<Graph> {
    let settings = |edges| DrawSettings { edges, graphs: 50, connected: true, degree: 4, ..DrawSettings::default() };
    [4, 5, 6, 7].into_iter().flat_map(|edges| draw(&settings(edges)).expect("such graphs exist")).collect()
}

/// Measures by the solver what the procedure asks for, with noise.
fn derived(graph: &Graph, rules: &dyn Rules, noise: f64, tie: Tie, seed: u64) -> Vec<Derived> {
    let mut rng = Rng::new(seed, "derive noise", 0);
    let mut store = Store::default();
    let settings = DeriveSettings { tie, ..DeriveSettings::new(ALPHA) };
    loop {
        let sub = match from_times(graph, &store, &settings) {
            Err(DeriveError::Missing(sub)) => sub,
            other => return other.expect("all flows are equal"),
        };
        let ends = solve(&sub, rules, &Options { alpha: ALPHA, ..Options::rate(1.0) }).expect("a valid graph").end_s;
        let mut repeat = |t: &f64| (0..REPEATS).map(|_| t * (noise * normal(&mut rng)).exp()).collect();
        let times: Vec<Vec<f64>> = ends.iter().map(&mut repeat).collect();
        store.insert(&sub, &times).expect("times of every flow");
    }
}

fn main() {
    let rules = start("paper", &Params::new()).expect("a rule set of the table");
    let graphs = graphs();
    println!("{} graphs, {REPEATS} repetitions\n", graphs.len());
    println!("| noise | tie | median error | mean error | error at 95 % | not derived | within two errors |");
    println!("|---|---|---|---|---|---|---|");
    for noise in [0.005, 0.02, 0.05] {
        for tie in [Tie::Share(0.015), Tie::Share(0.04), Tie::Noise] {
            let (mut errors, mut unknown, mut held, mut all) = (Vec::new(), 0, 0, 0);
            for (seed, graph) in graphs.iter().enumerate() {
                let truth = evaluate(&*rules, graph).expect("a valid graph");
                for (d, t) in derived(graph, &*rules, noise, tie, seed as u64).iter().zip(truth) {
                    all += 1;
                    let Some(penalty) = d.penalty else {
                        unknown += 1;
                        continue;
                    };
                    let error = (penalty / t - 1.0).abs();
                    errors.push(100.0 * error);
                    held += usize::from(d.error.is_some_and(|e| error <= 2.0 * e));
                }
            }
            let number = |x: Option<f64>| x.unwrap_or(f64::NAN);
            println!(
                "| {:.1} % | {tie:?} | {:.2} % | {:.2} % | {:.1} % | {:.1} % | {:.0} % |",
                100.0 * noise,
                number(median(&errors)),
                number(mean(&errors)),
                number(quantile(&errors, 0.95)),
                100.0 * f64::from(unknown) / f64::from(all),
                100.0 * held as f64 / errors.len() as f64
            );
        }
    }
}
