//! How often the printed 95 % intervals of `fit maxrate` hold the truth:
//! `cargo run --release -p tailback-model --example coverage [RUNS] [REPLICATES]` prints two Markdown tables.
//!
//! First every model on data of its own, where intervals must hold the generating parameters. Then model (3) on data of other
//! models, where an interval must hold the generating rate of the node or the fit must say that it does not fit.

#[path = "../tests/simulated/mod.rs"]
mod simulated;

use simulated::{Case, RICHER, TRUTHS, held, wrong};

fn main() {
    let number = |i: usize, default: usize| std::env::args().nth(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (runs, replicates) = (number(1, 100) as u64, number(2, 200));
    let cases: Vec<Case> = [(0.01, 1), (0.01, 5), (0.01, 11), (0.05, 1), (0.05, 5), (0.05, 11)]
        .map(|(noise, trials)| Case { noise, trials, replicates })
        .to_vec();
    println!("| model | noise | trials | intervals that hold the truth |\n|---|---|---|---|");
    for (name, theta) in TRUTHS {
        for &case in &cases {
            own(name, theta, case, runs);
        }
    }
    println!("\n| truth, fitted with m3 | noise | trials | R_N held | says that it does not fit | either |");
    println!("|---|---|---|---|---|---|");
    for (name, theta) in RICHER {
        for &case in &cases {
            others(name, theta, case, runs);
        }
    }
}

fn own(name: &str, theta: &[f64], case: Case, runs: u64) {
    let mut counts: Vec<(String, u32)> = Vec::new();
    for seed in 0..runs {
        let held = held(name, theta, case, seed);
        if counts.is_empty() {
            counts = held.iter().map(|(name, _)| (name.clone(), 0)).collect();
        }
        counts.iter_mut().zip(held).for_each(|(count, (_, held))| count.1 += u32::from(held));
    }
    let share = |(name, count): &(String, u32)| format!("{name} {}", percent(*count, runs));
    let cells: Vec<String> = counts.iter().map(share).collect();
    println!("| {name} | {:.0} % | {} | {} |", 100.0 * case.noise, case.trials, cells.join(", "));
}

fn others(name: &str, theta: &[f64], case: Case, runs: u64) {
    let [mut held, mut said, mut either] = [0; 3];
    for seed in 0..runs {
        let (holds, says) = wrong(name, theta, case, seed);
        held += u32::from(holds);
        said += u32::from(says);
        either += u32::from(holds || says);
    }
    let [held, said, either] = [held, said, either].map(|count| percent(count, runs));
    println!("| {name} | {:.0} % | {} | {held} | {said} | {either} |", 100.0 * case.noise, case.trials);
}

fn percent(count: u32, runs: u64) -> String {
    format!("{:.0} %", 100.0 * f64::from(count) / runs.max(1) as f64)
}
