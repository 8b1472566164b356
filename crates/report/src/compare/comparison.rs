//! Two records side by side: what changed, by how much, how sure that is, and whether they may be compared at all.
//!
//! Tests are matched by what their phases are about and by job. A test whose kernel, metric or parameters differ is not compared,
//! only named. Runs that differ in machine, size or load are compared, because that is often the question, but every difference is
//! said first and the verdicts say that they are about more than one thing.

use super::statistics::{chance_worse, mean_ratio, quantile_ratio};
use crate::known::{Known, mean, quantile};
use crate::merit::{Merit, named};
use crate::view::View;
use record::{About, Direction, JobRecord, MachineRecord, Role, RunRecord, Tells, Verdict};

/// What the data say about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The second is better.
    Better,
    /// The second is worse.
    Worse,
    /// The interval holds 1, or the difference is too small to matter.
    NoDifference,
    /// Too few batches to say.
    Unknown,
}

impl Judgement {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Judgement::Better => "better",
            Judgement::Worse => "worse",
            Judgement::NoDifference => "no difference that the data show",
            Judgement::Unknown => "too few batches to say",
        }
    }

    /// From how many times worse the second is: it must be known to be off 1, and by more than matters.
    fn of(times_worse: Known, matters: f64) -> Judgement {
        let Some(interval) = times_worse.interval else { return Judgement::Unknown };
        // Symmetric in the ratio: as many times better or worse is as far from 1.
        let small = (1.0 / (1.0 + matters)..=1.0 + matters).contains(&times_worse.value);
        match interval {
            _ if small || interval.contains(1.0) => Judgement::NoDifference,
            i if i.low > 1.0 => Judgement::Worse,
            i if i.high < 1.0 => Judgement::Better,
            // Ends that are not numbers compare with nothing.
            _ => Judgement::Unknown,
        }
    }
}

/// One statistic of one test in both runs.
#[derive(Clone, Debug)]
pub struct Row {
    /// Phase and job.
    pub test: String,
    /// `avg`, `99%`, or the name of a number.
    pub statistic: String,
    /// The unit shown.
    pub unit: &'static str,
    /// In the first run, in the unit shown.
    pub first: Known,
    /// In the second run.
    pub second: Known,
    /// How many times worse the second is, with its 95 % interval.
    pub times_worse: Known,
    /// The chance that a sample of the second is worse than one of the first: 0.5 is no difference. Numbers without samples have none.
    pub chance_worse: Option<f64>,
    /// What that means.
    pub judgement: Judgement,
}

/// Two runs compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// In what the runs differ beside their results; empty if they are alike.
    pub differences: Vec<String>,
    /// Tests that could not be compared, and why.
    pub left_out: Vec<String>,
    /// Tests that could.
    pub rows: Vec<Row>,
}

/// Compares `second` with `first`. Differences below the share `matters` do not count.
pub fn compare(first: &View<'_>, second: &View<'_>, matters: f64) -> Comparison {
    let (a, b) = (first.record, second.record);
    let imported = a.is_imported() || b.is_imported();
    let mut found = Comparison { differences: differences(first, second), left_out: Vec::new(), rows: Vec::new() };
    for one in measured(a) {
        let name = &one.label;
        match measured(b).find(|other| other.is_same_test(&one)) {
            None => found.left_out.push(format!("{name} is only in the first run")),
            Some(two) => match unlike(one.job, two.job, imported) {
                Some(why) => found.left_out.push(format!("{name}: {why}")),
                None => found.rows.extend(rows_of(name, one.job, two.job, imported, matters)),
            },
        }
    }
    for two in measured(b).filter(|two| !measured(a).any(|one| one.is_same_test(two))) {
        found.left_out.push(format!("{} is only in the second run", two.label));
    }
    found
}

/// A measured job, by what its phase is about.
struct Measured<'a> {
    label: String,
    about: &'a About,
    job: &'a JobRecord,
}

impl Measured<'_> {
    fn is_same_test(&self, other: &Measured<'_>) -> bool {
        self.about == other.about && self.job.name == other.job.name
    }
}

fn measured(record: &RunRecord) -> impl Iterator<Item = Measured<'_>> {
    record.phases.iter().flat_map(|phase| {
        let jobs = phase.jobs.iter().filter(|j| j.role == Role::Measured && j.tells != Tells::Nothing);
        jobs.map(move |job| Measured { label: phase.label(&job.name), about: &phase.about, job })
    })
}

/// Why two jobs of one name are not one test. Of a run of another program not all parameters are known; `lenient` compares those that are.
fn unlike(a: &JobRecord, b: &JobRecord, lenient: bool) -> Option<String> {
    if a.kernel != b.kernel || a.metric != b.metric {
        return Some(format!("kernel {} against {}", a.kernel, b.kernel));
    }
    let keys = a.params.keys().chain(b.params.keys().filter(|k| !a.params.contains_key(*k)));
    let known = |k: &&String| !lenient || (a.params.contains_key(*k) && b.params.contains_key(*k));
    let mut other = keys.filter(known).filter(|k| a.params.get(*k) != b.params.get(*k)).map(|k| {
        let show = |p: &spec::Params| p.get(k).cloned().unwrap_or_else(|| "nothing".into());
        format!("{k} {} against {}", show(&a.params), show(&b.params))
    });
    if let Some(first) = other.next() {
        return Some(std::iter::once(first).chain(other).collect::<Vec<_>>().join(", "));
    }
    // A fast wrong result is no improvement.
    let bad = |j: &JobRecord| match &j.verdict {
        Verdict::Wrong { .. } => Some("a check failed"),
        _ if j.summary.samples == 0 => Some("it has no samples"),
        _ => None,
    };
    bad(a).map(|w| format!("{w} in the first run")).or(bad(b).map(|w| format!("{w} in the second run")))
}

/// What is compared of a test. Where the samples are how long it took they are not its result; and another program gives one number
/// for each result, which only the same number of ours can be set against.
fn rows_of(name: &str, a: &JobRecord, b: &JobRecord, imported: bool, matters: f64) -> Vec<Row> {
    if imported || a.tells == Tells::Results {
        let named = named_rows(name, a, b);
        if !named.is_empty() {
            return named;
        }
    }
    let mut rows = rows(name, a, b, matters).to_vec();
    if imported {
        // The average comes first; the output of another program has one number and no samples for a tail.
        rows.truncate(1);
    }
    rows
}

fn rows(name: &str, a: &JobRecord, b: &JobRecord, matters: f64) -> [Row; 2] {
    // `unlike` has made sure that both jobs have the same metric.
    let (scale, unit) = a.metric.shown();
    let chance_worse = Some(chance_worse(a.metric, &a.samples, &b.samples));
    let tail = (quantile(a, 0.99), quantile(b, 0.99));
    let over_placements = !a.placements.is_empty() && !b.placements.is_empty();
    let average = match over_placements {
        true => quantile_ratio(a.metric, mean(a), mean(b)),
        false => mean_ratio(a.metric, &a.batches, &b.batches),
    };
    let ratios =
        [("avg", mean(a), mean(b), average), ("99%", tail.0, tail.1, quantile_ratio(a.metric, tail.0, tail.1))];
    ratios.map(|(statistic, first, second, times_worse)| Row {
        test: name.into(),
        statistic: statistic.into(),
        unit,
        first: first.scaled(scale),
        second: second.scaled(scale),
        times_worse,
        chance_worse,
        judgement: Judgement::of(times_worse, matters),
    })
}

/// What a named number is multiplied by to be read easily, and its unit then.
fn readable(merit: &Merit) -> (f64, &'static str) {
    match merit.name.as_str() {
        n if n.ends_with("bytes_per_s") => (1e-9, "GB/s"),
        n if n.ends_with("flops_per_s") => (1e-9, "Gflop/s"),
        n if n.ends_with("updates_per_s") => (1e-9, "GUP/s"),
        n if n.contains("latency") => (1e6, "usec"),
        _ => (1.0, merit.unit),
    }
}

/// The named numbers of a test, one against one: nobody knows how sure they are.
fn named_rows(test: &str, a: &JobRecord, b: &JobRecord) -> Vec<Row> {
    let row = |one: Merit, two: Merit| {
        let (x, y) = (one.known.value, two.known.value);
        let worse = if one.better == Direction::LowerIsBetter { y / x } else { x / y };
        let (scale, unit) = readable(&one);
        let shown = |value: f64| Known::bare(value * scale);
        Row {
            test: test.into(),
            statistic: one.name,
            unit,
            first: shown(x),
            second: shown(y),
            times_worse: Known::bare(worse),
            chance_worse: None,
            judgement: Judgement::Unknown,
        }
    };
    let mut rows = Vec::new();
    for one in named(a) {
        if let Some(two) = named(b).into_iter().find(|two| two.name == one.name) {
            rows.push(row(one, two));
        }
    }
    rows
}

/// The kind of machine: simulated and real numbers are never the same thing.
fn kind(machine: &MachineRecord) -> &'static str {
    match machine {
        MachineRecord::Simulated { .. } => "simulated",
        MachineRecord::Mpi { .. } => "a real machine under MPI",
        MachineRecord::Local { .. } => "one host without MPI",
    }
}

/// Everything in which two runs differ that can change a result, most important first.
pub fn differences(first: &View<'_>, second: &View<'_>) -> Vec<String> {
    let (a, b) = (first.record, second.record);
    let mut all = Vec::new();
    let mut say = |what: &str, one: String, two: String| {
        if one != two {
            all.push(format!("{what}: {one} against {two}"));
        }
    };
    say("machine", kind(&a.machine).into(), kind(&b.machine).into());
    say("system", first.machine(), second.machine());
    // Machines of different names are told apart by the line above; this finds an edited file under an old name.
    if let (MachineRecord::Simulated { file: f, .. }, MachineRecord::Simulated { file: g, .. }) =
        (&a.machine, &b.machine)
        && f != g
        && first.machine() == second.machine()
    {
        say("machine file", "one".into(), "another of the same name".into());
    }
    say("suite", a.plan.suite.clone(), b.plan.suite.clone());
    say("size", first.layout(), second.layout());
    say("seed", a.plan.seed.to_string(), b.plan.seed.to_string());
    say("node order", format!("{:?}", a.plan.node_order), format!("{:?}", b.plan.node_order));
    say("payload", format!("{:?}", a.plan.payload), format!("{:?}", b.plan.payload));
    say("Tailback", a.tailback.clone(), b.tailback.clone());
    let load = |v: &View<'_>| {
        let congestors = v.canaries.iter().find(|c| !c.congestors.is_empty()).map(|c| &c.congestors);
        let name = |j: &&JobRecord| format!("{} on {} ranks", j.name, j.ranks);
        congestors.map_or("none".to_string(), |all| all.iter().map(name).collect::<Vec<_>>().join(", "))
    };
    say("load", load(first), load(second));
    for (which, view) in [("first", first), ("second", second)] {
        if view.outcome() != record::Outcome::Pass {
            all.push(format!("the {which} run is {}", view.outcome().word()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Interval;

    #[test]
    fn judgements_need_certainty_and_a_size_that_matters() {
        let known = |value, low, high| Known { value, interval: Some(Interval { low, high }) };
        assert_eq!(Judgement::of(known(1.2, 1.1, 1.3), 0.01), Judgement::Worse);
        assert_eq!(Judgement::of(known(0.8, 0.7, 0.9), 0.01), Judgement::Better);
        assert_eq!(Judgement::of(known(1.2, 0.9, 1.5), 0.01), Judgement::NoDifference);
        assert_eq!(Judgement::of(known(1.005, 1.004, 1.006), 0.01), Judgement::NoDifference);
        assert_eq!(Judgement::of(Known { value: 3.0, interval: None }, 0.01), Judgement::Unknown);
    }
}
