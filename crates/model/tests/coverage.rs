//! A printed 95 % interval holds the truth as often as it says. Small and seeded; `cargo run --release -p tailback-model --example
//! coverage` prints the whole table.

mod simulated;

use simulated::{Case, RICHER, TRUTHS, held, wrong};

const CASES: [Case; 2] =
    [Case { noise: 0.01, trials: 1, replicates: 60 }, Case { noise: 0.05, trials: 11, replicates: 60 }];

#[test]
fn intervals_of_every_model_hold_its_own_parameters() {
    for (name, theta) in TRUTHS {
        let mut all = Vec::new();
        for case in CASES {
            for seed in 0..10 {
                all.extend(held(name, theta, case, seed));
            }
        }
        let good = all.iter().filter(|(_, held)| *held).count();
        assert!(good as f64 >= 0.9 * all.len() as f64, "{name}: {good} of {}", all.len());
    }
}

#[test]
fn a_wrong_model_holds_the_truth_or_says_that_it_does_not_fit() {
    for (name, theta) in RICHER {
        for case in CASES {
            for seed in 0..3 {
                let (holds, says) = wrong(name, theta, case, seed);
                assert!(holds || says, "{name} with {} trials, seed {seed}", case.trials);
            }
        }
    }
}
