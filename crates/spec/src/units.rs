//! Quantities with their units, and the notations people write them in.
//!
//! Time is integer picoseconds everywhere: a real clock's nanoseconds and the simulator's picoseconds fit in it without
//! loss, and 2^64 ps are 213 days. Sizes are plain byte counts (`usize`, `u64`); only their notation lives here.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use thiserror::Error;

/// An instant since the start of the machine, or the distance of two instants, in picoseconds.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time(u64);

impl Time {
    /// The start of the machine; also "no time".
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const MAX: Time = Time(u64::MAX);

    /// From picoseconds.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }
    /// From nanoseconds.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns * 1_000)
    }
    /// From microseconds.
    pub const fn from_us(us: u64) -> Time {
        Time(us * 1_000_000)
    }
    /// From seconds; negative and NaN become zero, too large becomes [`Time::MAX`].
    pub fn from_secs(s: f64) -> Time {
        Time((s * 1e12).round() as u64)
    }
    /// In picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }
    /// In seconds.
    pub fn secs(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// In microseconds.
    pub fn us(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// The distance to an earlier instant, zero if that is not earlier.
    pub const fn since(self, earlier: Time) -> Time {
        Time(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0.saturating_add(other.0))
    }
}
impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        *self = *self + other;
    }
}
impl Sub for Time {
    type Output = Time;
    fn sub(self, other: Time) -> Time {
        Time(self.0.checked_sub(other.0).expect("time does not run backwards"))
    }
}
impl Mul<u64> for Time {
    type Output = Time;
    fn mul(self, n: u64) -> Time {
        Time(self.0.saturating_mul(n))
    }
}

/// Shows three significant digits in the unit that fits: `1.50us`, `250ns`, `12.0s`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ps = self.0 as f64;
        let (value, unit) = match self.0 {
            0 => return f.write_str("0s"),
            1..1_000 => return write!(f, "{}ps", self.0),
            1_000..1_000_000 => (ps * 1e-3, "ns"),
            1_000_000..1_000_000_000 => (ps * 1e-6, "us"),
            1_000_000_000..1_000_000_000_000 => (ps * 1e-9, "ms"),
            _ => (ps * 1e-12, "s"),
        };
        let digits = if value >= 100.0 { 0 } else { 2 - usize::from(value >= 10.0) };
        write!(f, "{value:.digits$}{unit}")
    }
}

/// A rate in bytes per second.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd, Debug)]
pub struct Rate(f64);

impl Rate {
    /// From bytes per second.
    pub const fn from_bytes_per_s(r: f64) -> Rate {
        Rate(r)
    }
    /// In bytes per second.
    pub const fn bytes_per_s(self) -> f64 {
        self.0
    }
    /// How long `bytes` take at this rate, rounded up to a whole picosecond so that no rate is exceeded.
    pub fn time_for(self, bytes: u64) -> Time {
        Time((bytes as f64 * 1e12 / self.0).ceil() as u64)
    }
}

/// Shows decimal units, as links are sold: `12.5GB/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            r if r >= 1e9 => (r * 1e-9, "GB/s"),
            r if r >= 1e6 => (r * 1e-6, "MB/s"),
            r if r >= 1e3 => (r * 1e-3, "kB/s"),
            r => (r, "B/s"),
        };
        write!(f, "{}{unit}", (value * 1e4).round() / 1e4)
    }
}

/// The longest time that anyone may ask for, in seconds: 116 days. The clock's 2^64 ps are 213, so two such times are counted still.
pub const LONGEST_S: f64 = 1e7;
/// The fastest rate that is read, in bytes per second.
const FASTEST: f64 = 1e18;
/// The largest size that is read: up to here every number of bytes is exact in a double.
const LARGEST: u64 = 1 << 53;

/// A quantity that could not be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseUnitError {
    /// No such notation.
    #[error("`{text}` is not {what}; write it like {examples}")]
    Unreadable {
        /// What was written.
        text: String,
        /// What it should be.
        what: &'static str,
        /// How to write it.
        examples: &'static str,
    },
    /// More than is counted.
    #[error("`{text}` is too large; the largest {what} is {most}")]
    TooLarge {
        /// What was written.
        text: String,
        /// What it should be.
        what: &'static str,
        /// The largest.
        most: &'static str,
    },
}

/// The number at the start of `text` and the unit after it; `2^20` is a number.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let exponent =
                matches!(c, 'e' | 'E') && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-');
            let sign = c == '-' && text[..i].ends_with(['e', 'E']);
            !(c.is_ascii_digit() || matches!(c, '.' | '_' | '^') || exponent || sign)
        })
        .map_or(text.len(), |(i, _)| i);
    let (number, unit) = text.split_at(end);
    let number = number.replace('_', "");
    let value = match number.split_once('^') {
        Some((base, power)) => base.parse::<f64>().ok()?.powi(power.parse().ok()?),
        None => number.parse().ok()?,
    };
    (value.is_finite() && value >= 0.0).then_some((value, unit.trim()))
}

/// Reads a size: `8`, `4096 B`, `4k`, `4KiB` (binary), `4kB` (decimal), `1M`, `6.5MB`, `2^20`. A bare `k`, `M`, `G` is binary, as in OSU and IMB.
pub fn parse_bytes(text: &str) -> Result<u64, ParseUnitError> {
    let error = || ParseUnitError::Unreadable {
        text: text.into(),
        what: "a size",
        examples: "`8`, `4k`, `128KiB`, `6.5MB` or `2^20`",
    };
    let (value, unit) = split_number(text).ok_or_else(error)?;
    let factor = match unit {
        "" | "B" => 1.0,
        "k" | "K" | "Ki" | "KiB" => 1024.0,
        "M" | "Mi" | "MiB" => 1048576.0,
        "G" | "Gi" | "GiB" => 1073741824.0,
        "T" | "Ti" | "TiB" => 1099511627776.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        _ => return Err(error()),
    };
    let bytes = value * factor;
    let most = || ParseUnitError::TooLarge { text: text.into(), what: "size", most: "8192 TiB" };
    (bytes <= LARGEST as f64).then_some(bytes.round() as u64).ok_or_else(most)
}

/// Reads a time: `250ns`, `1.5us`, `20 ms`, `10s`, `5m`, `2h`; a bare number is seconds.
pub fn parse_time(text: &str) -> Result<Time, ParseUnitError> {
    let error = || ParseUnitError::Unreadable {
        text: text.into(),
        what: "a time",
        examples: "`250ns`, `1.5us`, `20ms`, `10s` or `5m`",
    };
    let (value, unit) = split_number(text).ok_or_else(error)?;
    let ps = match unit {
        "ps" => 1.0,
        "ns" => 1e3,
        "us" | "µs" => 1e6,
        "ms" => 1e9,
        "" | "s" => 1e12,
        "m" | "min" => 60e12,
        "h" => 3600e12,
        _ => return Err(error()),
    };
    let ps = value * ps;
    let most = || ParseUnitError::TooLarge { text: text.into(), what: "time", most: "10000000s, 116 days" };
    (ps <= LONGEST_S * 1e12).then_some(Time(ps.round() as u64)).ok_or_else(most)
}

/// Reads a rate: `12.5GB/s`, `100Gb/s`, `200Gbit/s`, `300MiB/s`.
pub fn parse_rate(text: &str) -> Result<Rate, ParseUnitError> {
    let error = || ParseUnitError::Unreadable {
        text: text.into(),
        what: "a rate",
        examples: "`12.5GB/s`, `100Gb/s` or `300MiB/s`",
    };
    let (value, unit) = split_number(text).ok_or_else(error)?;
    let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).ok_or_else(error)?;
    let (prefix, bits) = match unit {
        u if u.ends_with("bit") => (&u[..u.len() - 3], true),
        u if u.ends_with('b') => (&u[..u.len() - 1], true),
        u if u.ends_with('B') => (&u[..u.len() - 1], false),
        _ => return Err(error()),
    };
    let factor = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1048576.0,
        "Gi" => 1073741824.0,
        _ => return Err(error()),
    };
    let rate = value * factor / if bits { 8.0 } else { 1.0 };
    let most = || ParseUnitError::TooLarge { text: text.into(), what: "rate", most: "1000000 TB/s" };
    // Which rates make sense is the reader's to say; above this one, times for bytes would be 0.
    match rate > 0.0 {
        true => (rate <= FASTEST).then_some(Rate(rate)).ok_or_else(most),
        false => Err(error()),
    }
}

/// Shows a size so that [`parse_bytes`] gives it back: `8`, `4KiB`, `128KiB`, `6553600`.
pub fn show_bytes(bytes: u64) -> String {
    for (factor, unit) in [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= factor && bytes.is_multiple_of(factor) {
            return format!("{}{unit}", bytes / factor);
        }
    }
    bytes.to_string()
}

/// Shows a size to a person: `64 MiB`, `1.8 GiB`.
pub fn about_bytes(bytes: u64) -> String {
    let units = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.into_iter().find(|(factor, _)| bytes >= *factor) {
        Some((factor, unit)) if bytes.is_multiple_of(factor) => format!("{} {unit}", bytes / factor),
        Some((factor, unit)) => format!("{:.1} {unit}", bytes as f64 / factor as f64),
        None => format!("{bytes} bytes"),
    }
}

/// Shows a time that is known to one or two digits to a person: `40 ms`, `3.2 s`, `12 min`.
pub fn about_seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 5.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people() {
        let all = [(8, "8 bytes"), (4096, "4 KiB"), (1_900_000_000, "1.8 GiB"), (320_000_000_000, "298.0 GiB")];
        all.into_iter().for_each(|(bytes, text)| assert_eq!(about_bytes(bytes), text));
    }

    #[test]
    fn sizes_in_the_fields_notations() {
        for (text, bytes) in [
            ("8", 8),
            ("8 B", 8),
            ("4k", 4096),
            ("4KiB", 4096),
            ("4kB", 4000),
            ("1M", 1 << 20),
            ("2^20", 1 << 20),
            ("6.5MB", 6_500_000),
            ("1_000", 1000),
            ("1e3", 1000),
        ] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "k", "-1", "4x", "1e99", "nan", "inf", "4 k B"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_and_rates() {
        assert_eq!(parse_time("250ns"), Ok(Time::from_ns(250)));
        assert_eq!(parse_time("1.5 us"), Ok(Time::from_ps(1_500_000)));
        assert_eq!(parse_time("5m"), Ok(Time::from_secs(300.0)));
        assert_eq!(parse_time("10"), Ok(Time::from_secs(10.0)));
        assert!(parse_time("1e20s").is_err() && parse_time("ten").is_err());
        assert_eq!(parse_rate("100Gb/s"), Ok(Rate(12.5e9)));
        assert_eq!(parse_rate("12.5GB/s"), Ok(Rate(12.5e9)));
        assert_eq!(parse_rate("1MiB/s"), Ok(Rate(1048576.0)));
        assert!(parse_rate("0B/s").is_err() && parse_rate("12").is_err());
    }

    #[test]
    fn shown_sizes_read_back() {
        for bytes in [0, 1, 8, 1000, 1024, 4096, 131072, 6553600, 1 << 30, (1 << 30) + 1] {
            assert_eq!(parse_bytes(&show_bytes(bytes)), Ok(bytes));
        }
    }

    #[test]
    fn times_show_three_digits() {
        for (ps, text) in [
            (0, "0s"),
            (7, "7ps"),
            (1_500, "1.50ns"),
            (12_340_000, "12.3us"),
            (250_000_000_000, "250ms"),
            (90_000_000_000_000, "90.0s"),
        ] {
            assert_eq!(Time::from_ps(ps).to_string(), text);
        }
    }
}
