//! LogGP parameters from parametrised round trips PRTT(n, d, s) (Hoefler et al., IPDPS 2007; netgauge's pattern).
//!
//! PRTT(n, d, s) is the time from the first of n messages of s bytes, with a pause of d seconds after each, to the reply to the
//! last one. Then o(s) = (PRTT(n,d,s) - PRTT(1,0,s))/(n-1) - d with d at least PRTT(1,0,s); g and G are the line
//! (PRTT(n,0,s) - PRTT(1,0,s))/(n-1) = g + G (s-1); L = PRTT(1,0,s_min)/2, the sum of wire and both overheads.

use crate::numeric::least_squares::Problem;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// One measured PRTT.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prtt {
    /// Number of messages.
    pub messages: u32,
    /// Pause after each message, in seconds.
    pub pause: f64,
    /// Bytes of each message.
    pub bytes: u64,
    /// Time from the first message to the reply, in seconds.
    pub seconds: f64,
}

/// The parameters.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LogGp {
    /// L: half of the round trip of the smallest message, in seconds.
    pub latency_s: f64,
    /// (bytes, o): the sender's overhead in seconds for each size that had data; never below zero.
    pub overhead_s: Vec<(u64, f64)>,
    /// g: gap between messages, in seconds.
    pub gap_s: f64,
    /// G: gap per byte, in seconds; zero if only one size was measured.
    pub gap_per_byte_s: f64,
    /// What could not be determined.
    pub notes: Vec<String>,
}

/// Data from which nothing follows.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LogGpError {
    /// A number that is none.
    #[error("measurement {0}: times must be finite and above zero, pauses not negative, messages and bytes at least 1")]
    Value(usize),
    /// A kind of measurement is missing.
    #[error("no measurement of {0}; LogGP needs PRTT(1,0,s), PRTT(n,0,s) and PRTT(n,d,s)")]
    Missing(&'static str),
}

/// Derives the parameters.
pub fn derive(data: &[Prtt]) -> Result<LogGp, LogGpError> {
    let timed = |p: &Prtt| p.seconds.is_finite() && p.seconds > 0.0 && p.pause.is_finite() && p.pause >= 0.0;
    let good = |p: &Prtt| timed(p) && p.messages > 0 && p.bytes > 0;
    if let Some(bad) = data.iter().position(|p| !good(p)) {
        return Err(LogGpError::Value(bad));
    }
    let single = |bytes: u64| {
        let one = |p: &&Prtt| p.messages == 1 && p.pause == 0.0 && p.bytes == bytes;
        data.iter().filter(one).map(|p| p.seconds).reduce(f64::min)
    };
    let smallest = data.iter().filter(|p| p.messages == 1 && p.pause == 0.0).min_by_key(|p| p.bytes);
    let smallest = smallest.ok_or(LogGpError::Missing("PRTT(1,0,s)"))?;
    let latency_s = single(smallest.bytes).unwrap_or(smallest.seconds) / 2.0;
    let mut notes = Vec::new();
    let (gap_s, gap_per_byte_s) = gaps(data, &single, &mut notes)?;
    let overhead_s = overheads(data, &single, &mut notes);
    Ok(LogGp { latency_s, overhead_s, gap_s, gap_per_byte_s, notes })
}

fn gaps(data: &[Prtt], single: &dyn Fn(u64) -> Option<f64>, notes: &mut Vec<String>) -> Result<(f64, f64), LogGpError> {
    let mut problem = Problem::new(2);
    let mut sizes = Vec::new();
    for p in data.iter().filter(|p| p.messages > 1 && p.pause == 0.0) {
        if let Some(one) = single(p.bytes) {
            let gap = (p.seconds - one) / f64::from(p.messages - 1);
            // Relative errors; a gap that noise makes zero must not get infinite weight.
            problem.row(1.0 / gap.abs().max(1e-12), &[1.0, (p.bytes - 1) as f64], gap);
            sizes.push(p.bytes);
        }
    }
    sizes.sort_unstable();
    sizes.dedup();
    match sizes.len() {
        0 => return Err(LogGpError::Missing("PRTT(n,0,s) with a PRTT(1,0,s) of the same size")),
        1 => notes.push(format!("G not determined: only {} bytes were measured", sizes[0])),
        _ => {}
    }
    let x = problem.solve_nonnegative().x;
    Ok((x[0], x[1]))
}

fn overheads(data: &[Prtt], single: &dyn Fn(u64) -> Option<f64>, notes: &mut Vec<String>) -> Vec<(u64, f64)> {
    let mut found: Vec<(u64, f64)> = Vec::new();
    for p in data.iter().filter(|p| p.messages > 1 && p.pause > 0.0) {
        let Some(one) = single(p.bytes) else { continue };
        if p.pause < one {
            notes.push(format!(
                "{} bytes: a pause of {} s is shorter than the round trip, o is too large",
                p.bytes, p.pause
            ));
        }
        let o = (p.seconds - one) / f64::from(p.messages - 1) - p.pause;
        found.push((p.bytes, o.max(0.0)));
    }
    if found.is_empty() {
        notes.push("o not determined: no measurement with a pause".into());
    }
    found.sort_by_key(|f| f.0);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_back() {
        let (l, o, g, gg) = (2e-6, 3e-7, 8e-7, 1e-9);
        let gap = |s: u64| g + gg * (s - 1) as f64;
        let one = |s: u64| 2.0 * l + 2.0 * gg * (s - 1) as f64;
        let mut data = Vec::new();
        for bytes in [1u64, 64, 1024, 65536] {
            data.push(Prtt { messages: 1, pause: 0.0, bytes, seconds: one(bytes) });
            data.push(Prtt { messages: 10, pause: 0.0, bytes, seconds: one(bytes) + 9.0 * gap(bytes) });
            let pause = one(bytes);
            data.push(Prtt { messages: 10, pause, bytes, seconds: one(bytes) + 9.0 * (o + pause) });
        }
        let p = derive(&data).unwrap();
        assert!((p.latency_s / l - 1.0).abs() < 1e-9 && (p.gap_s / g - 1.0).abs() < 1e-6);
        assert!((p.gap_per_byte_s / gg - 1.0).abs() < 1e-6 && p.notes.is_empty(), "{p:?}");
        assert!(p.overhead_s.iter().all(|x| (x.1 / o - 1.0).abs() < 1e-6));
    }

    #[test]
    fn missing_and_bad_data_are_named() {
        assert!(matches!(derive(&[]), Err(LogGpError::Missing(_))));
        let one = Prtt { messages: 1, pause: 0.0, bytes: 1, seconds: 1e-6 };
        assert!(matches!(derive(&[one]), Err(LogGpError::Missing(_))));
        assert_eq!(derive(&[one, Prtt { seconds: f64::NAN, ..one }]), Err(LogGpError::Value(1)));
        let many = derive(&[one, Prtt { messages: 10, seconds: 5e-6, ..one }]).unwrap();
        assert_eq!((many.notes.len(), many.gap_per_byte_s), (2, 0.0));
    }
}
