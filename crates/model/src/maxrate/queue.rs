//! The price of many messages at once: T = c + a m + gamma m^2 for m messages (Bienz, Gropp, Olson 2018). The quadratic term is the
//! search through the queue of posted receives, worst when messages arrive in the reverse order.

use crate::numeric::least_squares::Problem;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// The fitted price.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QueueFit {
    /// Seconds however many messages there are.
    pub constant_s: f64,
    /// Seconds per message.
    pub per_message_s: f64,
    /// Gamma: seconds per squared number of messages.
    pub search_s: f64,
    /// Number of messages at which the search costs as much as the messages themselves; none without search.
    pub search_dominates_from: Option<f64>,
    /// Largest relative error of the fit.
    pub error_max: f64,
}

/// Data that cannot be fitted.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum QueueError {
    /// Not enough counts.
    #[error("{0} different numbers of messages; at least 3 are needed, e.g. 1, 100 and 10000")]
    TooFew(usize),
    /// A number that is none.
    #[error("measurement {0}: times must be finite and above zero, messages at least 1")]
    Value(usize),
}

/// Fits (messages, seconds) with relative weights; no coefficient is negative.
pub fn fit(data: &[(u64, f64)]) -> Result<QueueFit, QueueError> {
    if let Some(bad) = data.iter().position(|&(m, t)| m == 0 || !(t.is_finite() && t > 0.0)) {
        return Err(QueueError::Value(bad));
    }
    let mut counts: Vec<u64> = data.iter().map(|d| d.0).collect();
    counts.sort_unstable();
    counts.dedup();
    if counts.len() < 3 {
        return Err(QueueError::TooFew(counts.len()));
    }
    let mut problem = Problem::new(3);
    for &(m, t) in data {
        let m = m as f64;
        problem.row(1.0 / t, &[1.0, m, m * m], t);
    }
    let x = problem.solve_nonnegative().x;
    let price = |m: f64| x[0] + x[1] * m + x[2] * m * m;
    let error_max = data.iter().map(|&(m, t)| (price(m as f64) / t - 1.0).abs()).fold(0.0, f64::max);
    // Where gamma m^2 exceeds a m.
    let search_dominates_from = (x[2] > 0.0).then(|| x[1] / x[2]);
    Ok(QueueFit { constant_s: x[0], per_message_s: x[1], search_s: x[2], search_dominates_from, error_max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quadratic_term_comes_back_and_is_zero_without_search() {
        let counts = [1u64, 10, 100, 1000, 10_000];
        let data = |gamma: f64| -> Vec<(u64, f64)> {
            counts.iter().map(|&m| (m, 3e-6 + 4e-7 * m as f64 + gamma * (m * m) as f64)).collect()
        };
        let with = fit(&data(8e-10)).unwrap();
        assert!(
            (with.search_s / 8e-10 - 1.0).abs() < 1e-6
                && (with.search_dominates_from.unwrap() / 500.0 - 1.0).abs() < 1e-6
        );
        let without = fit(&data(0.0)).unwrap();
        assert!(without.search_s < 1e-17 && without.error_max < 1e-6, "{without:?}");
    }

    #[test]
    fn bad_data_are_refused() {
        assert_eq!(fit(&[(1, 1.0), (2, f64::NAN)]), Err(QueueError::Value(1)));
        assert_eq!(fit(&[(1, 1.0), (2, 1.0)]), Err(QueueError::TooFew(2)));
    }
}
