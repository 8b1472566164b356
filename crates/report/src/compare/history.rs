//! Runs over time: how each figure of merit moved among runs that can be compared, and whether the last one stands out.
//!
//! Runs are grouped by suite, machine and size; nothing is compared across groups. The spread between *runs* is what a history
//! knows and a single run does not: the last value is held against the median of those before it, in units of their median
//! absolute deviation (times 1.4826, a standard deviation if they are normal), which a few odd runs cannot upset.

use crate::known::Known;
use crate::merit::Merit;
use crate::subjects::merits;
use crate::table::digits;
use crate::view::View;
use record::{Direction, RunRecord};

/// A run in a history.
pub struct Run<'a> {
    /// Where it was found.
    pub name: String,
    /// What it is.
    pub record: &'a RunRecord,
}

/// Runs that can be compared.
pub struct Group<'a> {
    /// Suite, machine and size.
    pub title: String,
    /// The runs in order of time, or of name where they have no date.
    pub runs: Vec<Run<'a>>,
}

/// One figure of merit over the runs of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Its value in each run that has it.
    pub values: Vec<f64>,
    /// What the last value is.
    pub last: Last,
}

/// What the last value is beside those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// Better than their spread explains.
    Better,
    /// Worse than their spread explains.
    Worse,
    /// Within their spread.
    Usual,
    /// Fewer than [`FEWEST`] before it.
    TooFew,
}

/// So many runs before the last say something about their spread.
pub const FEWEST: usize = 4;
/// A value this many deviations off the median stands out.
const FAR: f64 = 3.0;
/// A change below this share is never worth a line in red.
const SMALL: f64 = 0.01;

/// Groups runs, oldest first.
pub fn groups<'a>(mut runs: Vec<Run<'a>>) -> Vec<Group<'a>> {
    // Simulated runs have no date; their names decide.
    runs.sort_by(|a, b| (&a.record.created, &a.name).cmp(&(&b.record.created, &b.name)));
    let mut groups: Vec<Group<'a>> = Vec::new();
    for run in runs {
        let view = View::new(run.record);
        let title = format!("{} on {}, {}", run.record.plan.suite, view.machine(), view.layout());
        match groups.iter_mut().find(|g| g.title == title) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { title, runs: vec![run] }),
        }
    }
    groups
}

/// Every figure of merit of a group whose name contains `filter`.
pub fn series(group: &Group<'_>, filter: &str) -> Vec<Series> {
    let all: Vec<Vec<Merit>> = group.runs.iter().map(|r| merits(&View::new(r.record))).collect();
    let mut found: Vec<Series> = Vec::new();
    for merit in all.iter().flatten().filter(|m| m.name.contains(filter)) {
        if found.iter().any(|s| s.name == merit.name) {
            continue;
        }
        let of = |merits: &Vec<Merit>| merits.iter().find(|m| m.name == merit.name).map(|m| m.known);
        // A run may lack a figure, so there may be fewer values than runs, but never none.
        let known: Vec<Known> = all.iter().filter_map(of).collect();
        let values = known.iter().map(|k| k.value).collect();
        let last = judge(&known, merit.better);
        found.push(Series { name: merit.name.clone(), unit: merit.unit, values, last });
    }
    found
}

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // Callers have at least one value.
    let (low, high) = ((sorted.len() - 1) / 2, sorted.len() / 2);
    (sorted[low] + sorted[high]) / 2.0
}

fn judge(runs: &[Known], better: Direction) -> Last {
    let Some((last, before)) = runs.split_last().filter(|(_, before)| before.len() >= FEWEST) else {
        return Last::TooFew;
    };
    let values: Vec<f64> = before.iter().map(|k| k.value).collect();
    let middle = median(&values);
    let deviations: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    // How well each run knows its own value, where it knows that: a few runs that happen to agree are no proof of a narrow spread.
    let half = |k: &Known| k.interval.map_or(0.0, |i| (i.high - i.low) / 2.0);
    let own = half(last).hypot(median(&before.iter().map(half).collect::<Vec<f64>>()));
    // Runs that repeat to the digit have no deviation; without a floor any change would stand out.
    let far = (FAR * 1.4826 * median(&deviations)).max(own).max(SMALL * middle.abs());
    match (last.value - middle, better) {
        (d, _) if d.abs() <= far => Last::Usual,
        (d, Direction::LowerIsBetter) if d < 0.0 => Last::Better,
        (d, Direction::HigherIsBetter) if d > 0.0 => Last::Better,
        _ => Last::Worse,
    }
}

impl Series {
    /// A line of eight heights, oldest first; the last forty values.
    pub fn spark(&self) -> String {
        let shown = &self.values[self.values.len().saturating_sub(40)..];
        let (low, high) = shown.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
        let height = |v: &f64| {
            let share = if high > low { (v - low) / (high - low) } else { 0.5 };
            // The share lies between 0 and 1, because figures of merit that are not finite are dropped in `merits`.
            char::from_u32(0x2581 + (share * 7.0).round() as u32).expect("eight blocks in a row")
        };
        shown.iter().map(height).collect()
    }

    /// What the last value is, in words.
    pub fn verdict(&self) -> &'static str {
        match self.last {
            Last::Better => "better than before",
            Last::Worse => "WORSE than before",
            Last::Usual => "as before",
            Last::TooFew => "too few runs",
        }
    }

    /// Name, unit, runs, least, median, most, last, picture, verdict.
    pub fn cells(&self) -> Vec<String> {
        let (low, high) =
            self.values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
        let last = self.values.last().copied().unwrap_or(f64::NAN);
        let verdict = self.verdict();
        let mut cells = vec![self.name.clone(), self.unit.to_string(), self.values.len().to_string()];
        cells.extend([low, median(&self.values), high, last].map(digits));
        cells.extend([self.spark(), verdict.to_string()]);
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Interval;

    #[test]
    fn the_last_run_stands_out_only_beyond_the_spread() {
        let lower = Direction::LowerIsBetter;
        let judge = |values: &[f64], better| judge(&values.iter().map(|v| Known::bare(*v)).collect::<Vec<_>>(), better);
        assert_eq!(judge(&[1.0, 1.1, 0.9, 1.0], lower), Last::TooFew);
        assert_eq!(judge(&[1.0, 1.1, 0.9, 1.0, 1.1], lower), Last::Usual);
        assert_eq!(judge(&[1.0, 1.1, 0.9, 1.0, 2.0], lower), Last::Worse);
        assert_eq!(judge(&[1.0, 1.1, 0.9, 1.0, 2.0], Direction::HigherIsBetter), Last::Better);
        // Runs that are all equal have no spread; a hair's breadth is still not news.
        assert_eq!(judge(&[1.0, 1.0, 1.0, 1.0, 1.005], lower), Last::Usual);
    }

    #[test]
    fn what_a_run_does_not_know_of_itself_is_no_news() {
        let run = |value: f64| Known { value, interval: Some(Interval { low: value * 0.4, high: value * 1.6 }) };
        let runs: Vec<Known> = [1.0, 1.1, 0.9, 1.0, 1.7].map(run).to_vec();
        assert_eq!(judge(&runs, Direction::LowerIsBetter), Last::Usual);
        assert_eq!(judge(&[&runs[..4], &[run(9.0)]].concat(), Direction::LowerIsBetter), Last::Worse);
    }

    #[test]
    fn sparks_have_a_height_per_run() {
        let series = Series { name: "a".into(), unit: "x", values: vec![1.0, 2.0, 3.0], last: Last::TooFew };
        assert_eq!(series.spark(), "▁▅█");
    }
}
