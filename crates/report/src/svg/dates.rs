//! Ticks of an axis of dates: seconds since 1970, UTC, at times that people name.

use super::scale::Tick;
use spec::date::{Civil, civil};

const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const DAY: i64 = 86_400;

/// Steps between ticks; the shortest with at most [`MOST`] of them is taken.
const STEPS: [i64; 21] = [
    1,
    5,
    15,
    30,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    30 * DAY,
    91 * DAY,
    365 * DAY,
    1461 * DAY,
    14610 * DAY,
];
const MOST: i64 = 6;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Ticks from one moment to another.
pub fn ticks(low: f64, high: f64) -> Vec<Tick> {
    let (low, high) = (low.ceil() as i64, high.floor() as i64);
    let span = high.saturating_sub(low);
    let step = STEPS.into_iter().find(|s| span / s <= MOST).unwrap_or(STEPS[STEPS.len() - 1]);
    // Whole multiples since 1970: hours begin hours, days begin days.
    let first = low.div_euclid(step) + i64::from(low.rem_euclid(step) > 0);
    let last = high.div_euclid(step).min(first + 2 * MOST);
    let tick = |i: i64| Tick { value: (i * step) as f64, label: Some(label(i * step, step)) };
    (first..=last).map(tick).collect()
}

fn label(seconds: i64, step: i64) -> String {
    let Civil { year, month, day, hour, minute, second } = civil(seconds);
    let name = MONTHS[(month - 1).clamp(0, 11) as usize];
    match step {
        s if s >= 91 * DAY => format!("{name} {year}"),
        // The first tick of a day says which day.
        s if s >= DAY || seconds.rem_euclid(DAY) == 0 => format!("{name} {day}"),
        s if s >= MINUTE => format!("{hour:02}:{minute:02}"),
        _ => format!("{hour:02}:{minute:02}:{second:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_times_that_people_name() {
        let labels = |low: &str, high: &str| {
            let at = |text: &str| spec::date::parse(text).unwrap() as f64;
            ticks(at(low), at(high)).into_iter().filter_map(|t| t.label).collect::<Vec<_>>()
        };
        assert_eq!(labels("2026-11-15T22:30", "2026-11-16T03:00"), ["23:00", "Nov 16", "01:00", "02:00", "03:00"]);
        assert_eq!(labels("2026-11-01", "2026-11-05T12:00"), ["Nov 1", "Nov 2", "Nov 3", "Nov 4", "Nov 5"]);
        assert_eq!(
            labels("2026-11-16T10:00:58", "2026-11-16T10:01:04"),
            ["10:00:58", "10:00:59", "10:01:00", "10:01:01", "10:01:02", "10:01:03", "10:01:04"]
        );
        assert!((2..=8).contains(&labels("2020-01-01", "2026-11-16").len()));
    }
}
