//! The models: one file each, one line each in [`MODELS`].
//!
//! A model's parameters inside the program (`theta`) are times, inverse rates and ratios, which stay finite when the data
//! determine no rate; [`Model::estimates`] turns them into the latency and the rates that people read.

pub mod m3;
pub mod m3a;
pub mod m4;
pub mod m5;
pub mod postal;
mod profile;

use super::data::{Point, Weighting};
use schemars::JsonSchema;
use serde::Serialize;
use spec::{Card, Rate};
use thiserror::Error;

/// All models, in the order of lists and reports.
pub const MODELS: &[Model] =
    &[postal::ALL, postal::ONE_PAIR, postal::MOST_PAIRS, m3::MODEL, m3a::MODEL, m4::MODEL, m5::MODEL];

/// One model of the time of a message.
#[derive(Clone, Copy)]
pub struct Model {
    /// Its identity.
    pub card: Card,
    /// How many numbers are fitted, for the BIC.
    pub freedom: usize,
    /// Fits it.
    pub fit: fn(&Data<'_>) -> Result<Raw, FitError>,
    /// The time in seconds of a message of `bytes` while `pairs` communicate, in the convention of the data.
    pub predict: fn(theta: &[f64], bytes: f64, pairs: f64) -> f64,
    /// The parameters as people read them.
    pub estimates: fn(theta: &[f64]) -> Vec<Estimate>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("name", &self.card.name).finish_non_exhaustive()
    }
}

/// Finds a model by its name.
pub fn find(name: &str) -> Result<&'static Model, FitError> {
    let known = || MODELS.iter().map(|m| m.card.name);
    let missing = || FitError::Unknown(spec::near::unknown("model", name, known()));
    MODELS.iter().find(|m| m.card.name == name).ok_or_else(missing)
}

/// The points of one phase and how their residuals are weighed.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// The points.
    pub points: &'a [Point],
    /// The weights.
    pub weighting: Weighting,
}

impl Data<'_> {
    /// The largest number of pairs.
    pub fn most_pairs(&self) -> f64 {
        f64::from(self.points.iter().map(|p| p.pairs).max().unwrap_or(1))
    }

    /// The weighted sum of squared residuals of a prediction.
    pub fn sse(&self, predict: impl Fn(f64, f64) -> f64) -> f64 {
        self.residuals(predict).iter().map(|r| r * r).sum()
    }

    /// The weighted residuals of a prediction.
    pub fn residuals(&self, predict: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let residual = |p: &Point| (predict(p.bytes as f64, f64::from(p.pairs)) - p.seconds) * self.weighting.of(p);
        self.points.iter().map(residual).collect()
    }

    /// The weighted sum of squares of the times themselves: the scale that tells rounding from error.
    pub fn scale(&self) -> f64 {
        self.points.iter().map(|p| (p.seconds * self.weighting.of(p)).powi(2)).sum()
    }

    /// How many different sizes there are.
    pub fn sizes(&self) -> usize {
        let mut sizes: Vec<u64> = self.points.iter().map(|p| p.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.len()
    }

    fn require(&self, model: &'static str, needed: usize) -> Result<(), FitError> {
        match self.points.len() {
            0 => Err(FitError::Empty),
            n if n < needed => Err(FitError::TooFew { model, points: n, needed }),
            _ => Ok(()),
        }
    }
}

/// A fit before it is put into words.
#[derive(Clone, Debug, PartialEq)]
pub struct Raw {
    /// The model's parameters.
    pub theta: Vec<f64>,
    /// Weighted sum of squared residuals.
    pub sse: f64,
    /// What the data do not determine.
    pub limits: Vec<Limit>,
}

/// What the data do not determine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The node's rate was not reached; it is at least this many bytes per second.
    NodeRateNotReached {
        /// Bytes per second.
        at_least: f64,
        /// With so many pairs.
        pairs: u32,
    },
    /// Rates of core and node cannot be told apart: the time grows with k already from the first pair on.
    RatesNotSeparable,
    /// Only one size was measured: latency and rate cannot be told apart.
    OneSize {
        /// That size in bytes.
        bytes: u64,
    },
    /// Times do not grow with size in this phase, so there is no rate to report.
    NoSlope,
    /// A parameter has no influence on the residuals.
    Dead {
        /// Its name.
        parameter: String,
    },
    /// A rate lies beyond what any point shows; it is at least what the fastest one shows.
    Extrapolated {
        /// Its name.
        parameter: String,
        /// What the fit says, in bytes per second.
        fitted: f64,
        /// What the fastest point shows, in bytes per second.
        shown: f64,
    },
    /// The points lie farther off the model than their noise explains: its parameters are no properties of the machine.
    DoesNotFit {
        /// Root of the mean square of (f-T)/T.
        misfit: f64,
        /// The same for noise: from the trials, else what the best model leaves.
        noise: f64,
    },
}

impl Limit {
    /// A parameter's name as the papers write it.
    fn symbol(parameter: &str) -> &str {
        match parameter {
            "rate_core" => "R_C",
            "rate_base" => "R_Cb",
            "rate_node" => "R_N",
            other => other,
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::NodeRateNotReached { at_least, pairs } => {
                let rate = Rate::from_bytes_per_s(*at_least);
                write!(f, "R_N not reached: at least {rate} ({pairs} pairs measured)")
            }
            Limit::RatesNotSeparable => f.write_str(
                "R_C/R_N not separable: the time grows with k from the first pair on; do not read R_N from this phase",
            ),
            Limit::OneSize { bytes } => {
                write!(f, "latency and rate not separable: only messages of {bytes} bytes were measured")
            }
            Limit::NoSlope => f.write_str("no rate: times do not grow with the size in this phase"),
            Limit::Dead { parameter } => write!(f, "{parameter} has no influence on these data"),
            Limit::Extrapolated { parameter, fitted, shown } => {
                let [fitted, shown] = [*fitted, *shown].map(Rate::from_bytes_per_s);
                let name = Limit::symbol(parameter);
                write!(
                    f,
                    "{name} extrapolated: the slope says {fitted}, the fastest point shows {shown}; at least that"
                )
            }
            Limit::DoesNotFit { misfit, noise } => {
                let [misfit, noise] = [100.0 * misfit, 100.0 * noise];
                write!(f, "the model does not fit: points lie {misfit:.1} % off it where noise explains {noise:.1} %")
            }
        }
    }
}

/// A parameter as people read it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// Its name: `alpha`, `alpha_step`, `rate_core`, `rate_node`, `rate_base`, `rate_increment` or `saturation`.
    pub name: String,
    /// Its unit: `s`, `B/s` or `pairs`.
    pub unit: String,
    /// Its value; none if the data determine no finite one.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval, if one was computed.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval, if one was computed; none of a bound.
    pub high: Option<f64>,
    /// Whether the data show only that it is at least the value.
    pub at_least: bool,
}

impl Estimate {
    /// The smallest value that is not ruled out.
    pub fn least(&self) -> Option<f64> {
        self.low.or(self.value)
    }

    /// Makes it a lower bound: the interval is open upwards.
    pub fn bound(&mut self, at_least: f64) {
        (self.value, self.low, self.high) = (Some(at_least), Some(at_least), None);
        self.at_least = true;
    }

    /// The value with its interval or as a bound, its numbers written by `number`.
    pub fn words(&self, number: &dyn Fn(f64) -> String) -> String {
        match (self.value, self.low, self.high) {
            (None, ..) => "not determined".into(),
            (Some(v), ..) if self.at_least => format!(">= {}", number(v)),
            (Some(v), Some(l), Some(h)) => format!("{} [{}, {}]", number(v), number(l), number(h)),
            (Some(v), ..) => number(v),
        }
    }
}

/// An estimate without interval; a value that is not finite becomes none.
fn estimate(name: &str, unit: &str, value: f64) -> Estimate {
    let value = value.is_finite().then_some(value);
    Estimate { name: name.into(), unit: unit.into(), value, low: None, high: None, at_least: false }
}

/// A fitted model of one phase.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fit {
    /// The model's name in [`MODELS`].
    pub model: String,
    /// Its internal parameters, from which times are predicted.
    pub theta: Vec<f64>,
    /// Its parameters as people read them.
    pub estimates: Vec<Estimate>,
    /// Weighted sum of squared residuals.
    pub sse: f64,
    /// Bayesian information criterion; smaller is better, among fits of the same points and weights.
    pub bic: f64,
    /// Sum over all points of |T-f|/T, as in the paper's Table 2.
    pub error_sum: f64,
    /// Largest |T-f|/T.
    pub error_max: f64,
    /// Mean |T-f|/T on even k of a fit to odd k; none if either has too few points.
    pub holdout_error: Option<f64>,
    /// What the data do not determine.
    pub limits: Vec<Limit>,
}

impl Fit {
    /// The predicted time in seconds, in the convention of the data.
    pub fn predict(&self, bytes: f64, pairs: f64) -> f64 {
        let model = find(&self.model).expect("a fit names a model of the table");
        (model.predict)(&self.theta, bytes, pairs)
    }

    /// An estimate's value by its name; none if the data give a bound only.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.estimates.iter().find(|e| e.name == name && !e.at_least).and_then(|e| e.value)
    }

    /// An estimate's value by its name, or the least that it can be.
    pub fn bound(&self, name: &str) -> Option<f64> {
        self.estimates.iter().find(|e| e.name == name).and_then(|e| e.value)
    }

    /// The limits but for lack of fit: what leaves a parameter open.
    pub fn undetermined(&self) -> impl Iterator<Item = &Limit> {
        self.limits.iter().filter(|l| !matches!(l, Limit::DoesNotFit { .. }))
    }
}

/// Why a model was not fitted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FitError {
    /// No points.
    #[error("there are no points in this phase")]
    Empty,
    /// Fewer points than parameters.
    #[error("{model} has {needed} parameters and there are only {points} points; measure more sizes or more pairs")]
    TooFew {
        /// The model.
        model: &'static str,
        /// How many points there are.
        points: usize,
        /// How many it needs.
        needed: usize,
    },
    /// Not a model.
    #[error("{0}")]
    Unknown(String),
    /// The numbers left the range of floating point.
    #[error("{0}: the fit is not finite; sizes or times are too far apart")]
    NotFinite(&'static str),
}

/// Refuses what is not finite and adds the limits that follow from the sizes alone.
fn finish(model: &'static str, data: &Data<'_>, mut raw: Raw, slope: usize) -> Result<Raw, FitError> {
    if !raw.sse.is_finite() || raw.theta.iter().any(|t| !t.is_finite()) {
        return Err(FitError::NotFinite(model));
    }
    if data.sizes() == 1 {
        raw.limits.insert(0, Limit::OneSize { bytes: data.points[0].bytes });
    } else if raw.theta[slope] == 0.0 {
        // Without a slope there is no rate at all, so what is said of single rates falls away.
        raw.limits = vec![Limit::NoSlope];
    }
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_models_are_named() {
        assert!(find("m4x").unwrap_err().to_string().contains("`m4`"));
    }
}
