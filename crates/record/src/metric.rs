//! What a kernel's samples mean: the unit they are shown in and which tail is the bad one.
//!
//! A sample is one step of one rank, turned into a value by its kernel's metric: `Work` and time in, a number out. Values are
//! kept in SI base units and in a histogram as whole ticks; only reports scale them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::{Time, Work};

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Latencies: the upper tail is the bad one.
    LowerIsBetter,
    /// Rates: the lower tail is the bad one.
    HigherIsBetter,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Time of a step divided by its exchanges, in seconds; shown in microseconds.
    Latency,
    /// Time of a step, in seconds; shown in seconds.
    Duration,
    /// Bytes that a rank sent in a step over its time, in bytes per second; shown in MiB/s per rank as GPCNeT does.
    Bandwidth,
    /// Updates per second; shown in GUP/s.
    Updates,
    /// Floating-point operations per second; shown in Gflop/s.
    Flops,
}

impl Metric {
    /// The value of one step, in base units. A step that took no time has no rate: it counts as one picosecond.
    pub fn value(self, work: Work, time: Time) -> f64 {
        let seconds = time.ps().max(1) as f64 * 1e-12;
        match self {
            Metric::Latency => seconds / work.exchanges.max(1) as f64,
            Metric::Duration => seconds,
            Metric::Bandwidth => work.bytes as f64 / work.senders.max(1) as f64 / seconds,
            Metric::Updates => work.updates as f64 / seconds,
            Metric::Flops => work.flops as f64 / seconds,
        }
    }

    /// Which way is better.
    pub fn direction(self) -> Direction {
        match self {
            Metric::Latency | Metric::Duration => Direction::LowerIsBetter,
            Metric::Bandwidth | Metric::Updates | Metric::Flops => Direction::HigherIsBetter,
        }
    }

    /// The quantile of the distribution that "the worst `1 - q`" begins at: latencies count from below, rates from above.
    pub fn tail(self, q: f64) -> f64 {
        match self.direction() {
            Direction::LowerIsBetter => q,
            Direction::HigherIsBetter => 1.0 - q,
        }
    }

    /// How much worse `loaded` is than `isolated`, at least in the eyes of this metric: above 1 is worse. GPCNeT §3.3.
    pub fn impact(self, isolated: f64, loaded: f64) -> f64 {
        match self.direction() {
            Direction::LowerIsBetter => loaded / isolated,
            Direction::HigherIsBetter => isolated / loaded,
        }
    }

    /// One tick of the histogram, in base units: a picosecond, a byte per second, an update or an operation per second.
    pub fn tick(self) -> f64 {
        match self {
            Metric::Latency | Metric::Duration => 1e-12,
            _ => 1.0,
        }
    }

    /// What a base unit is multiplied by to be shown, and the name of that unit.
    pub fn shown(self) -> (f64, &'static str) {
        match self {
            Metric::Latency => (1e6, "usec"),
            Metric::Duration => (1.0, "s"),
            Metric::Bandwidth => (1.0 / 1048576.0, "MiB/s/rank"),
            Metric::Updates => (1e-9, "GUP/s"),
            Metric::Flops => (1e-9, "Gflop/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_impacts() {
        let work = Work::messages(2, 1 << 20);
        let t = Time::from_us(4);
        assert!((Metric::Latency.value(work, t) - 2e-6).abs() < 1e-18);
        assert_eq!(Metric::Bandwidth.value(work, t), 1048576.0 / 4e-6);
        assert_eq!(Metric::Latency.impact(1.0, 3.0), 3.0);
        assert_eq!(Metric::Bandwidth.impact(3.0, 1.0), 3.0);
        assert_eq!((Metric::Latency.tail(0.99), Metric::Bandwidth.tail(0.75)), (0.99, 0.25));
    }
}
