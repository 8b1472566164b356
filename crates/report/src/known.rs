//! A value and how well it is known: what every report is made of.

use record::{Interval, JobRecord, Metric};

/// A value with its 95 % interval, in base units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The value.
    pub value: f64,
    /// How well it is known, if that can be said.
    pub interval: Option<Interval>,
}

impl Known {
    /// A value that nobody can say how sure it is.
    pub fn bare(value: f64) -> Known {
        Known { value, interval: None }
    }

    /// The same in another unit.
    pub fn scaled(self, scale: f64) -> Known {
        let interval = self.interval.map(|i| Interval { low: i.low * scale, high: i.high * scale });
        Known { value: self.value * scale, interval }
    }
}

/// The value of a quantile with its interval; no number if too few samples lie beyond it.
pub fn quantile(job: &JobRecord, q: f64) -> Known {
    match job.summary.quantile(q).filter(|_| job.tells_quantile(q)) {
        Some(found) => Known { value: found.value, interval: found.interval },
        None => Known::bare(f64::NAN),
    }
}

/// The mean with its interval.
pub fn mean(job: &JobRecord) -> Known {
    Known { value: job.summary.mean, interval: job.summary.mean_interval }
}

/// The interval of a ratio of two independent values, by adding relative half-widths in quadrature.
pub fn ratio(metric: Metric, isolated: Known, loaded: Known) -> Known {
    let value = metric.impact(isolated.value, loaded.value);
    let interval = isolated.interval.zip(loaded.interval).map(|(i, l)| {
        // A factor cannot be below 0, so its interval ends there.
        let spread = i.relative(isolated.value).hypot(l.relative(loaded.value)).min(1.0);
        Interval { low: value * (1.0 - spread), high: value * (1.0 + spread) }
    });
    Known { value, interval }
}
