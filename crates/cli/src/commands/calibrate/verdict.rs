//! How well a twin repeats what it was fitted to, and how well it predicts what was held back.

use super::limit;
use super::runs::Measured;
use model::calibrate::seen::again;
use model::calibrate::{Found, Seen, Twin};
use model::numeric::stats::median;
use record::RunRecord;
use report::View;
use report::plain::line;
use report::table::{Table, digits};
use sim::Number;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What a simulation gave for each record.
type Predicted = [Option<RunRecord>];

/// A measured number beside the twin's.
struct Pair {
    what: String,
    measured: f64,
    twin: Option<f64>,
}

impl Pair {
    /// How far apart they are: 1 is the same, 2 twice or half.
    fn factor(&self) -> f64 {
        self.twin.map_or(f64::INFINITY, |twin| (twin / self.measured).max(self.measured / twin))
    }
}

/// A twin repeats a number if it is off by less than this factor, and must repeat so large a share of all.
const REPEATED: f64 = 1.25;
const SHARE: f64 = 0.75;
/// It predicts an impact if it is off by less than this one.
const PREDICTED: f64 = 2.0;
/// The worst of many are shown.
const SHOWN: usize = 8;

/// A twin beside what was measured.
pub struct Verdict {
    /// What it was fitted to.
    repeated: Vec<Pair>,
    /// What was measured under load and held back: medians, and impacts.
    loaded: Vec<Pair>,
    impacts: Vec<Pair>,
    held_back: bool,
    runs: usize,
}

impl Verdict {
    pub fn new(twin: &Twin, measured: &Measured, predicted: &Predicted) -> Verdict {
        let pair =
            |(seen, twin): (&Seen, &Option<f64>)| Pair { what: seen.what.clone(), measured: seen.value, twin: *twin };
        let repeated = measured.fitted().zip(&twin.given).map(pair).collect();
        let held_back = measured.held_back();
        let mut verdict = Verdict { repeated, loaded: Vec::new(), impacts: Vec::new(), held_back, runs: twin.runs };
        if !held_back {
            return verdict;
        }
        for ((record, seen), simulated) in measured.records.iter().zip(&measured.seen).zip(predicted) {
            let loaded: Vec<Seen> = seen.iter().filter(|s| s.loaded).cloned().collect();
            let given = simulated.as_ref().map_or_else(|| vec![None; loaded.len()], |s| again(&loaded, s));
            verdict.loaded.extend(loaded.iter().zip(&given).map(pair));
            let theirs = simulated.as_ref().map_or_else(Vec::new, impacts);
            verdict.impacts.extend(impacts(record).into_iter().map(|(what, measured)| {
                let twin = theirs.iter().find(|(name, _)| *name == what).map(|(_, value)| *value);
                Pair { what, measured, twin }
            }));
        }
        verdict
    }

    fn good(&self) -> usize {
        self.repeated.iter().filter(|p| p.factor() < REPEATED).count()
    }

    /// Whether it may be used.
    pub fn holds(&self) -> bool {
        let predicts = self.impacts.iter().all(|p| p.factor() < PREDICTED);
        self.good() as f64 >= SHARE * self.repeated.len() as f64 && predicts
    }

    /// The comment at the head of the file.
    pub fn head(&self, paths: &[&PathBuf], from: &str) -> String {
        let runs: Vec<String> = paths.iter().map(|p| line(&p.display().to_string())).collect();
        let mut text = format!("# A twin by `tailback calibrate` of {}, begun with {}.\n", runs.join(", "), line(from));
        for sentence in self.sentences() {
            let _ = writeln!(text, "# {sentence}");
        }
        text + "\n"
    }

    /// What it comes to.
    fn sentences(&self) -> [String; 2] {
        let factors: Vec<f64> = self.repeated.iter().map(Pair::factor).collect();
        let repeats = format!(
            "It repeats {} of {} measured numbers within {:.0} %, half of them within {:.0} %; {} simulations.",
            self.good(),
            factors.len(),
            (REPEATED - 1.0) * 100.0,
            (median(&factors).unwrap_or(1.0) - 1.0) * 100.0,
            self.runs
        );
        let worst = self.impacts.iter().map(Pair::factor).max_by(f64::total_cmp);
        let predicts = match worst {
            None if self.held_back => "Nothing under load could be compared.".into(),
            None => {
                "Nothing under load was held back: what it predicts there is not tested. Add a run of gpcnet.".into()
            }
            Some(worst) if worst.is_finite() => {
                format!("Impacts that it was not fitted to are within a factor of {worst:.2}.")
            }
            Some(_) => "It gives no impact where one was measured.".into(),
        };
        [repeats, predicts]
    }

    /// The numbers, what is repeated worst, what was held back, and what comes next.
    pub fn text(mut self, out: &Path, numbers: &[Number], twin: &Twin) -> String {
        let mut text = numbers_of(numbers, twin);
        let sentences = self.sentences();
        self.repeated.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
        self.repeated.truncate(SHOWN);
        listed(&mut text, "Repeated worst", &self.repeated);
        self.loaded.append(&mut self.impacts);
        listed(&mut text, "Held back", &self.loaded);
        let shown = out.display();
        let _ = writeln!(text, "\n{}\n", sentences.join("\n"));
        let _ = writeln!(text, "{shown} is a machine like any other:");
        let _ = writeln!(text, "  tailback run gpcnet --on {shown} --nodes N");
        let sweep = format!("tailback machine sensitivity {shown} --out DIR");
        let _ = writeln!(text, "  {sweep}    what the numbers do that are not identified");
        text
    }
}

/// Average and 99 % impacts of the canaries.
fn impacts(record: &RunRecord) -> Vec<(String, f64)> {
    let view = View::new(record);
    let of = |c: &report::view::Canary<'_>| {
        let impact = c.impact()?;
        Some([
            (format!("{} impact, average", c.name), impact.average.value),
            (format!("{} impact, 99 %", c.name), impact.tail.value),
        ])
    };
    // A tail that too few samples tell is not a number.
    view.canaries.iter().filter_map(of).flatten().filter(|(_, value)| value.is_finite()).collect()
}

/// What to measure so that a number shows.
fn advice(number: &Number) -> &'static str {
    match (number.section.as_str(), number.key) {
        ("host", key) if key.starts_with("local") => "two or more ranks on a node show it",
        ("topology", _) => "nodes on several switches and groups show it (--topology)",
        ("nic", "message_rate") => "more ranks of a node that send 8 bytes show it",
        _ => "nothing in these data depends on it alone",
    }
}

/// What became of every number.
fn numbers_of(numbers: &[Number], twin: &Twin) -> String {
    let mut text = String::new();
    let mut table = Table::new(&["Number", "value", "95 %", "how"]);
    for ((number, found), value) in numbers.iter().zip(&twin.found).zip(&twin.values) {
        let show = |v: f64| number.kind.show(v);
        table.row(match found {
            Found::Told { low, high, with, .. } => {
                let how =
                    if with.is_empty() { "fitted".into() } else { format!("fitted with {} kept", with.join(", ")) };
                [number.to_string(), show(*value), format!("{} to {}", show(*low), show(*high)), how]
            }
            Found::Beyond { value } => {
                let how = format!("not identified: a limit that is not reached, {}", limit(number, *value));
                [number.to_string(), show(*value), "-".into(), how]
            }
            Found::Kept => {
                [number.to_string(), show(number.value), "-".into(), format!("not identified: {}", advice(number))]
            }
        });
    }
    table.write_left(&mut text);
    text
}

fn listed(text: &mut String, title: &str, pairs: &[Pair]) {
    if pairs.is_empty() {
        return;
    }
    let mut table = Table::new(&[title, "measured", "twin", "factor"]);
    for pair in pairs {
        let factor = pair.factor();
        table.row([
            line(&pair.what),
            digits(pair.measured),
            pair.twin.map_or_else(|| "-".into(), digits),
            if factor.is_finite() { format!("{factor:.2}") } else { "-".into() },
        ]);
    }
    text.push('\n');
    table.write(text);
}
