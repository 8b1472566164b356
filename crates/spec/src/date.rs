//! Dates in UTC: seconds since 1970 as people and files write them.

/// A date and a time of day, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59.
    pub second: i64,
}

const DAY: i64 = 86_400;

/// The date of so many seconds since 1970, by Howard Hinnant's algorithm.
pub fn civil(seconds: i64) -> Civil {
    let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    Civil { year, month, day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60 }
}

/// Days from 1970 to a date, by the same algorithm.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let mp = (month + 9) % 12;
    let doy = (153 * mp + 2) / 5 + day - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

/// As RFC 3339 has it: `2019-11-13T23:59:59Z`.
pub fn rfc3339(seconds: i64) -> String {
    let Civil { year, month, day, hour, minute, second } = civil(seconds);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Seconds since 1970 of `2019-11-13`, `2019-11-13T23:59`, `2019-11-13T23:59:59Z`; none of what is no such date.
pub fn parse(text: &str) -> Option<i64> {
    let (date, time) = text.trim().split_once(['T', ' ']).unwrap_or((text.trim(), "00:00:00"));
    let numbers = |text: &str, sign: char| {
        text.split(sign).map(|n| n.parse::<u32>().ok().map(i64::from)).collect::<Option<Vec<_>>>()
    };
    let [year, month, day] = numbers(date, '-')?[..] else { return None };
    let (hour, minute, second) = match numbers(time.strip_suffix('Z').unwrap_or(time), ':')?[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let within =
        year <= 9999 && (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 60;
    let seconds = within.then(|| days(year, month, day) * DAY + hour * 3600 + minute * 60 + second)?;
    // The 30th of February is no date: it would come back as another one.
    (civil(seconds).day == day).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_there_and_back() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_573_689_599, "2019-11-13T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(rfc3339(seconds), text);
            assert_eq!(parse(text), Some(seconds));
        }
        assert_eq!(parse("2000-02-29"), Some(951_782_400));
        assert_eq!(parse("2000-02-29 01:02"), Some(951_782_400 + 3720));
        for text in
            ["", "2000", "2000-02-30", "2000-13-01", "2000-01-01T25:00", "x", "2000-01-01T", "-1-1-1", "99999-01-01"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
