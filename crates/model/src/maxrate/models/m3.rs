//! Max-rate, eq. (3): T = alpha + k n / min(R_N, k R_C) = alpha + (n/R_C) max(1, k/r) with r = R_N/R_C.

use super::profile::{self, Family};
use super::{Data, Estimate, FitError, Model, Raw, estimate, finish};
use spec::Card;

/// The model; theta = (alpha, 1/R_C, r).
pub const MODEL: Model = Model {
    card: Card {
        name: "m3",
        about: "max-rate: k pairs share the node's rate R_N",
        source: "Gropp, Olson, Samfass 2016, eq. (3)",
        params: &[],
    },
    freedom: 3,
    fit,
    predict: |theta, n, k| theta[0] + n * theta[1] * (k / theta[2]).max(1.0),
    estimates,
};

const FAMILY: Family = Family {
    columns: 2,
    row: |n, k, r, out| {
        out[0] = 1.0;
        out[1] = n * (k / r).max(1.0);
    },
};

fn fit(data: &Data<'_>) -> Result<Raw, FitError> {
    data.require(MODEL.card.name, 3)?;
    finish(MODEL.card.name, data, profile::fit(data, &FAMILY), 1)
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
    use super::super::Limit;
    use super::*;
    use crate::maxrate::data::{Point, Weighting};

    /// Data of r = 3.67 with so many pairs.
    fn points(most: u32) -> Vec<Point> {
        let time = |n: f64, k: f64| 1e-5 + n / 1.5e9 * (k / 3.67).max(1.0);
        let one = |bytes: u64, pairs: u32| {
            let seconds = time(bytes as f64, f64::from(pairs));
            Point { bytes, pairs, seconds, trials: vec![seconds] }
        };
        (10..18).flat_map(|j| (1..=most).map(move |k| one(1 << j, k))).collect()
    }

    fn raw(most: u32) -> Raw {
        fit(&Data { points: &points(most), weighting: Weighting::Relative }).unwrap()
    }

    #[test]
    fn the_node_rate_is_a_lower_bound_until_it_is_reached() {
        for most in [1, 2, 3] {
            let raw = raw(most);
            let [Limit::NodeRateNotReached { at_least, pairs }] = raw.limits[..] else { panic!("{:?}", raw.limits) };
            assert!(pairs == most && (at_least / (1.5e9 * f64::from(most)) - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn four_pairs_identify_it_and_more_do_so_exactly() {
        for most in [4, 5, 16] {
            let raw = raw(most);
            assert!((raw.theta[2] / 3.67 - 1.0).abs() < 1e-5, "{raw:?}");
            assert!(raw.limits.is_empty(), "{raw:?}");
        }
    }
}
