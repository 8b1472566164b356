//! Max-rate with a latency that grows with k: T = a0 + a1 (k-1) + (n/R_C) max(1, k/r), a1 >= 0. Not in the paper, whose short and
//! eager phases it explains: there the time grows with k at every size, which no rate can produce.

use super::profile::{self, Family};
use super::{Data, Estimate, FitError, Model, Raw, estimate, finish};
use spec::Card;

/// The model; theta = (a0, a1, 1/R_C, r).
pub const MODEL: Model = Model {
    card: Card {
        name: "m3a",
        about: "max-rate whose latency grows with each further pair",
        source: "Tailback, after Gropp, Olson, Samfass 2016, eq. (3)",
        params: &[],
    },
    freedom: 4,
    fit,
    predict: |theta, n, k| theta[0] + theta[1] * (k - 1.0) + n * theta[2] * (k / theta[3]).max(1.0),
    estimates,
};

const FAMILY: Family = Family {
    columns: 3,
    row: |n, k, r, out| {
        out[0] = 1.0;
        out[1] = k - 1.0;
        out[2] = n * (k / r).max(1.0);
    },
};

fn fit(data: &Data<'_>) -> Result<Raw, FitError> {
    data.require(MODEL.card.name, 4)?;
    finish(MODEL.card.name, data, profile::fit(data, &FAMILY), 2)
}

fn estimates(theta: &[f64]) -> Vec<Estimate> {
    vec![
        estimate("alpha", "s", theta[0]),
        estimate("alpha_step", "s", theta[1]),
        estimate("rate_core", "B/s", 1.0 / theta[2]),
        estimate("rate_node", "B/s", theta[3] / theta[2]),
        estimate("saturation", "pairs", theta[3]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maxrate::data::{Point, Weighting};

    #[test]
    fn growing_latency_is_recovered_and_never_negative() {
        for (step, expected) in [(5e-8, 5e-8), (-2e-8, 0.0)] {
            let mut points = Vec::new();
            for bytes in [4u64, 8, 16, 64, 256] {
                for pairs in 1..=16u32 {
                    let seconds = 4e-6 + step * f64::from(pairs - 1) + bytes as f64 / 5e8;
                    points.push(Point { bytes, pairs, seconds, trials: vec![seconds] });
                }
            }
            let raw = fit(&Data { points: &points, weighting: Weighting::Relative }).unwrap();
            assert!((raw.theta[1] - expected).abs() < 1e-12, "{raw:?}");
        }
    }
}
