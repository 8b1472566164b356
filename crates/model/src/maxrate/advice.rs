//! What a person does with the models: how many processes should communicate, what a halo exchange costs, how to split a
//! node's data.

use super::analysis::Report;
use super::models::Limit;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// How the data of a node are best sent.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Split {
    /// Bytes of the node in all.
    pub bytes: u64,
    /// For k = 1, 2, ..: the predicted seconds when k processes send bytes/k each, in the convention of the data.
    pub seconds: Vec<f64>,
    /// The k of the smallest time.
    pub best: u32,
    /// The smallest k within 5 % of the best time: more processes do not help.
    pub enough: u32,
    /// Time with one process over the best time.
    pub gain: f64,
}

/// The predicted cost of a halo exchange.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Halo {
    /// Seconds if a process waits for each neighbour in turn: one round trip per neighbour.
    pub in_turn_s: f64,
    /// Seconds if all messages are under way at once and latencies overlap: the larger of half of the above and the time in
    /// which the node's rate moves all of its bytes.
    pub overlapped_s: f64,
    /// What the postal model of one pair predicts for `in_turn_s`; none if there were no data of one pair.
    pub postal_s: Option<f64>,
    /// What limits these numbers.
    pub notes: Vec<String>,
}

/// A question that has no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AdviceError {
    /// A count or size of zero.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
}

/// Times closer than this to the best are as good as the best; the models are not more exact.
const AS_GOOD: f64 = 1.05;

/// The best split of a node's data over 1 to `cores` processes.
pub fn split(report: &Report, bytes: u64, cores: u32) -> Result<Split, AdviceError> {
    if bytes == 0 {
        return Err(AdviceError::Zero("the number of bytes"));
    }
    if cores == 0 {
        return Err(AdviceError::Zero("the number of processes"));
    }
    let time = |k: u32| report.predict((bytes as f64 / f64::from(k)).max(1.0), f64::from(k));
    let seconds: Vec<f64> = (1..=cores).map(time).collect();
    let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let place = |limit: f64| seconds.iter().position(|&s| s <= limit).map_or(1, |i| i as u32 + 1);
    Ok(Split { bytes, best: place(least), enough: place(AS_GOOD * least), gain: seconds[0] / least, seconds })
}

/// The number of processes that fills the node: r = R_N/R_C of model (3) in the phase of large messages, rounded up; none with the
/// reason if the data do not show it.
pub fn saturating_processes(report: &Report) -> Result<u32, String> {
    let phase = report.phases.last().ok_or("there are no phases")?;
    let fit = phase.fit("m3").ok_or("model m3 was not fitted to the largest messages")?;
    if let Some(limit) = fit.undetermined().next() {
        return Err(limit.to_string());
    }
    // A fit of 3.0000001 means 3.
    fit.value("saturation").map(|r| (r - 0.02).ceil().max(1.0) as u32).ok_or_else(|| "no rate was found".into())
}

/// The cost of a halo exchange in which each of `processes` processes of a node sends to and receives from `neighbours`
/// messages of `bytes`, all to other nodes.
pub fn halo(report: &Report, bytes: u64, neighbours: u32, processes: u32) -> Result<Halo, AdviceError> {
    for (value, what) in [(bytes, "the number of bytes"), (neighbours.into(), "the number of neighbours")] {
        if value == 0 {
            return Err(AdviceError::Zero(what));
        }
    }
    if processes == 0 {
        return Err(AdviceError::Zero("the number of processes"));
    }
    let (n, k, q) = (bytes as f64, f64::from(processes), f64::from(neighbours));
    let phase = report.phase(n);
    let in_turn_s = q * report.predict(n, k);
    // One round trip moves n bytes each way, which is what an exchange with one neighbour moves: where the node's rate
    // decides, overlapping cannot help.
    let moving = phase.chosen().bound("rate_node").map_or(0.0, |rate| k * q * n / rate);
    let overlapped_s = (0.5 * in_turn_s).max(moving).min(in_turn_s);
    let postal_s = phase.fit("postal-one-pair").map(|f| q * f.predict(n, k));
    let mut notes: Vec<String> = phase.chosen().limits.iter().map(Limit::to_string).collect();
    if bytes < phase.from_bytes || bytes > phase.to_bytes {
        notes.push(format!("{bytes} bytes is outside the measured {} to {}", phase.from_bytes, phase.to_bytes));
    }
    Ok(Halo { in_turn_s, overlapped_s, postal_s, notes })
}

#[cfg(test)]
mod tests {
    use super::super::analysis::{Options, analyse};
    use super::super::data::Point;
    use super::*;

    fn report(most: u32) -> Report {
        let mut points = Vec::new();
        for j in 10..20 {
            for pairs in 1..=most {
                let seconds = 1e-5 + f64::from(1u32 << j) / 1e9 * (f64::from(pairs) / 3.0).max(1.0);
                points.push(Point { bytes: 1 << j, pairs, seconds, trials: vec![seconds] });
            }
        }
        analyse(&points, &Options { replicates: 0, ..Options::default() }).unwrap()
    }

    #[test]
    fn three_processes_fill_this_node() {
        let report = report(8);
        assert_eq!(saturating_processes(&report), Ok(3));
        let split = split(&report, 1 << 20, 8).unwrap();
        assert_eq!(split.enough, 3, "{split:?}");
        assert!((split.gain - (1e-5 + 1.048576e-3) / (1e-5 + 1.048576e-3 / 3.0)).abs() < 1e-3);
    }

    #[test]
    fn a_rate_that_was_not_reached_gives_no_number() {
        assert!(saturating_processes(&report(2)).unwrap_err().contains("R_N not reached: at least 2GB/s"));
    }

    #[test]
    fn halo_times_follow_the_node_s_rate() {
        let halo = halo(&report(8), 1 << 16, 6, 6).unwrap();
        assert!((halo.in_turn_s / (6.0 * (1e-5 + 65536.0 / 1e9 * 2.0)) - 1.0).abs() < 1e-6);
        assert!((halo.overlapped_s / (6.0 * 65536.0 * 2e-9) - 1.0).abs() < 1e-6);
        assert!(halo.postal_s.unwrap() < halo.in_turn_s && halo.notes.is_empty(), "{halo:?}");
        assert!(!super::halo(&report(8), 1 << 25, 1, 1).unwrap().notes.is_empty());
    }

    #[test]
    fn zeros_are_refused() {
        let report = report(2);
        assert!(split(&report, 0, 1).is_err() && split(&report, 1, 0).is_err());
        assert!(halo(&report, 0, 1, 1).is_err() && halo(&report, 1, 0, 1).is_err() && halo(&report, 1, 1, 0).is_err());
    }
}
