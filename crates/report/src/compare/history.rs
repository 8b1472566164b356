//! Runs over time: how each figure of merit moved among runs that can be compared, when it changed, and whether the last one stands out.
//!
//! Runs are grouped by suite, machine and size; nothing is compared across groups.

use super::changes::{changes, median, stands_out};
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
    /// When its file was written, in seconds since 1970.
    pub written: Option<i64>,
}

impl Run<'_> {
    /// When it ran, in seconds since 1970: by its record, which simulated runs do not date, or else by its file.
    pub fn when(&self) -> Option<i64> {
        self.dated().or(self.written)
    }

    fn dated(&self) -> Option<i64> {
        self.record.created.as_deref().and_then(spec::date::parse)
    }

    /// Its date, or its name if it has none.
    pub fn label(&self) -> String {
        self.when().map_or_else(|| self.name.clone(), spec::date::rfc3339)
    }
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
    /// Which way is better.
    pub better: Direction,
    /// Its value in each run that has it.
    pub points: Vec<Point>,
    /// When it changed, in the order of time.
    pub changes: Vec<Change>,
    /// What the last value is.
    pub last: Last,
}

/// A value of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Which of the group's runs.
    pub run: usize,
    /// Its value.
    pub known: Known,
}

/// A new state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The first of the points that are in it.
    pub from: usize,
    /// The median before it.
    pub before: f64,
    /// The median since.
    pub after: f64,
    /// Whether that is worse.
    pub worse: bool,
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
    /// Too few before it, since the last change, to know their spread.
    TooFew,
}

/// Groups runs, oldest first.
pub fn groups<'a>(mut runs: Vec<Run<'a>>) -> Vec<Group<'a>> {
    runs.sort_by(|a, b| (a.when(), &a.name).cmp(&(b.when(), &b.name)));
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

impl Group<'_> {
    /// How many runs, from when to when, and whose dates those are.
    pub fn span(&self) -> String {
        // A group has a run.
        let (first, last) = (&self.runs[0], &self.runs[self.runs.len() - 1]);
        let of_files = self.runs.iter().filter(|r| r.dated().is_none() && r.written.is_some()).count();
        let whose = match of_files {
            0 => "",
            n if n == self.runs.len() => " (when files were written; the records have no dates)",
            _ => " (some by when files were written, because their records have no dates)",
        };
        match self.runs.len() {
            1 => format!("1 run, {}{whose}", first.label()),
            n => format!("{n} runs, {} to {}{whose}", first.label(), last.label()),
        }
    }

    /// Every run's date, if each has one of its own: what a picture can be drawn over.
    pub fn dates(&self) -> Option<Vec<i64>> {
        let dates: Vec<i64> = self.runs.iter().map(Run::when).collect::<Option<_>>()?;
        // Files that were unpacked together say nothing about when they were made.
        let rises = dates.windows(2).all(|pair| pair[0] < pair[1]);
        (rises && dates.len() > 1).then_some(dates)
    }
}

/// Every figure of merit of a group whose name contains `filter`.
pub fn series(group: &Group<'_>, filter: &str) -> Vec<Series> {
    let all: Vec<Vec<Merit>> = group.runs.iter().map(|r| merits(&View::new(r.record))).collect();
    let mut found: Vec<Series> = Vec::new();
    for merit in all.iter().flatten().filter(|m| m.name.contains(filter)) {
        if found.iter().any(|s| s.name == merit.name) {
            continue;
        }
        // A run may lack a figure, so there may be fewer values than runs, but never none.
        let of = |(run, merits): (usize, &Vec<Merit>)| {
            merits.iter().find(|m| m.name == merit.name).map(|m| Point { run, known: m.known })
        };
        found.push(Series::of(merit, all.iter().enumerate().filter_map(of).collect()));
    }
    found
}

impl Series {
    fn of(merit: &Merit, points: Vec<Point>) -> Series {
        let values: Vec<f64> = points.iter().map(|p| p.known.value).collect();
        let rises_is_worse = merit.better == Direction::LowerIsBetter;
        let starts = changes(&values);
        let ends = starts.iter().skip(1).copied().chain([values.len()]);
        let begins = [0].into_iter().chain(starts.iter().copied());
        let change = |((begin, from), end): ((usize, usize), usize)| {
            let (before, after) = (median(&values[begin..from]), median(&values[from..end]));
            Change { from, before, after, worse: (after > before) == rises_is_worse }
        };
        let changes: Vec<Change> = begins.zip(starts.iter().copied()).zip(ends).map(change).collect();
        let since = changes.last().map_or(0, |c| c.from);
        let known: Vec<Known> = points[since..].iter().map(|p| p.known).collect();
        // A state holds one value at least.
        let last = match stands_out(known[known.len() - 1], &known[..known.len() - 1]) {
            None => Last::TooFew,
            Some(0) => Last::Usual,
            Some(side) if (side > 0) == rises_is_worse => Last::Worse,
            Some(_) => Last::Better,
        };
        Series { name: merit.name.clone(), unit: merit.unit, better: merit.better, points, changes, last }
    }

    /// Whether something should be looked at: the last value is worse than usual, or the newest change was to the worse.
    pub fn is_worse(&self) -> bool {
        self.last == Last::Worse || self.changes.last().is_some_and(|c| c.worse)
    }

    /// The values, oldest first.
    pub fn values(&self) -> Vec<f64> {
        self.points.iter().map(|p| p.known.value).collect()
    }

    /// What was usual since the last change, the last value left out where there are others.
    pub fn usual(&self) -> f64 {
        let since = self.changes.last().map_or(0, |c| c.from);
        let values = self.values();
        let end = (values.len() - 1).max(since + 1);
        median(&values[since..end])
    }

    /// A line of eight heights, oldest first; the newest values.
    pub fn spark(&self) -> String {
        let values = self.values();
        let shown = &values[values.len().saturating_sub(24)..];
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
            Last::Better => "better than usual",
            Last::Worse => "WORSE than usual",
            Last::Usual => "as usual",
            Last::TooFew => "too few runs",
        }
    }

    /// Its changes in words, with the runs of its group.
    pub fn told(&self, group: &Group<'_>) -> Vec<String> {
        let tell = |change: &Change| {
            let when = group.runs[self.points[change.from].run].label();
            let word = if change.worse { "WORSE" } else { "better" };
            let (before, after, unit) = (digits(change.before), digits(change.after), self.unit);
            format!("{} is {word} since {when}: {after} {unit}, before {before}", self.name)
        };
        self.changes.iter().map(tell).collect()
    }

    /// Name, unit, runs, usual, last, picture, verdict.
    pub fn cells(&self) -> Vec<String> {
        let last = self.points.last().map_or(f64::NAN, |p| p.known.value);
        let mut cells = vec![self.name.clone(), self.unit.to_string(), self.points.len().to_string()];
        cells.extend([self.usual(), last].map(digits));
        cells.extend([self.spark(), self.verdict().to_string()]);
        cells
    }
}

/// The names of [`Series::cells`].
pub const HEADER: [&str; 7] = ["Figure of merit", "unit", "runs", "usual", "last", "oldest to newest", "last is"];

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        let merit = Merit::factor("a".into(), Known::bare(1.0));
        let point = |(run, v): (usize, &f64)| Point { run, known: Known::bare(*v) };
        Series::of(&merit, values.iter().enumerate().map(point).collect())
    }

    #[test]
    fn sparks_have_a_height_per_run() {
        assert_eq!(series(&[1.0, 2.0, 3.0]).spark(), "▁▅█");
    }

    #[test]
    fn the_last_run_is_held_against_the_state_that_it_is_in() {
        let wave = |level: f64, n: usize| (0..n).map(move |i| level * (1.0 + 0.01 * ((i * 7) % 5) as f64));
        let worse: Vec<f64> = wave(1.0, 15).chain(wave(2.0, 12)).collect();
        let found = series(&worse);
        assert_eq!((found.changes.len(), found.changes[0].from, found.changes[0].worse), (1, 15, true));
        assert!(found.last == Last::Usual && found.is_worse() && found.usual() > 1.9);
        let mended: Vec<f64> = worse.into_iter().chain(wave(1.0, 12)).collect();
        assert!(!series(&mended).is_worse() && series(&mended).changes.len() == 2);
        assert_eq!(series(&[1.0]).last, Last::TooFew);
    }
}
