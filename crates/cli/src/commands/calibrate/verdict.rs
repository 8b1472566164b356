//! How well a twin repeats what it was fitted to, and how well it predicts what was held back.

use super::Outcome;
use super::kinds::Kinds;
use super::limit;
use super::runs::Measured;
use crate::commands::compare::table;
use model::calibrate::seen::again;
use model::calibrate::{Found, Seen, Twin};
use model::numeric::stats::median;
use record::RunRecord;
use report::View;
use report::grid::Grid;
use report::html::Beside;
use report::plain::{line, wrap};
use sim::Number;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What a simulation gave for each record.
type Predicted = [Option<RunRecord>];

/// A twin repeats a number if it is off by less than this factor, and must repeat so large a share of all.
const REPEATED: f64 = 1.25;
const SHARE: f64 = 0.75;
/// It predicts an impact if it is off by less than this one.
const PREDICTED: f64 = 2.0;
/// How a number was found that shows by itself.
const FITTED: &str = "fitted";
/// The worst of many are shown.
const SHOWN: usize = 8;

/// A twin beside what was measured.
pub struct Verdict {
    /// What it was fitted to.
    repeated: Vec<Beside>,
    /// What was measured under load and held back: medians, and impacts.
    loaded: Vec<Beside>,
    impacts: Vec<Beside>,
    held_back: bool,
    runs: usize,
    /// Nodes that differ.
    uneven: Option<String>,
    /// Runs and the machine that it was made of, in words.
    from: String,
}

impl Verdict {
    pub fn new(
        Outcome { twin, runs, .. }: &Outcome,
        measured: &Measured,
        predicted: &Predicted,
        from: String,
    ) -> Verdict {
        let pair = |(seen, twin): (&Seen, &Option<f64>)| Beside {
            what: line(&seen.label),
            metric: Some(seen.metric),
            measured: seen.value,
            twin: *twin,
        };
        let repeated = measured.fitted().zip(&twin.at.given).map(pair).collect();
        let held_back = measured.held_back();
        let mut verdict = Verdict {
            repeated,
            loaded: Vec::new(),
            impacts: Vec::new(),
            held_back,
            runs: *runs,
            uneven: measured.uneven.clone(),
            from,
        };
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
                Beside { what, metric: None, measured, twin }
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
    pub fn head(&self) -> String {
        let mut text = format!("# A twin by `tailback calibrate` of {}\n", self.from);
        for sentence in self.sentences() {
            let _ = writeln!(text, "# {sentence}");
        }
        text + "\n"
    }

    /// What it comes to.
    fn sentences(&self) -> Vec<String> {
        let factors: Vec<f64> = self.repeated.iter().map(Beside::factor).collect();
        let repeats = format!(
            "It repeats {} of {} measured numbers within {:.0} %, half of them within {:.0} %; {} simulations.",
            self.good(),
            factors.len(),
            (REPEATED - 1.0) * 100.0,
            ((median(&factors).unwrap_or(1.0) - 1.0) * 100.0).ceil(),
            self.runs
        );
        let worst = self.impacts.iter().map(Beside::factor).max_by(f64::total_cmp);
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
        [repeats, predicts].into_iter().chain(self.uneven.clone()).collect()
    }

    /// What it comes to, in a format: the numbers, what is repeated worst, what was held back, and what comes next.
    pub fn written(mut self, format: &str, out: &Path, (numbers, kinds): (&[Number], &Kinds), twin: &Twin) -> String {
        let (sentences, mut numbers) = (self.sentences(), numbers_of(numbers, twin));
        for [name, word, remark] in kinds.found() {
            numbers.row([
                name.into(),
                word.into(),
                "-".into(),
                remark.replace("assumed: these", "not identified: these"),
            ]);
        }
        self.repeated.sort_by(|a, b| b.factor().total_cmp(&a.factor()));
        self.loaded.append(&mut self.impacts);
        match format {
            "html" => {
                let title = format!("{}, a twin", out.file_stem().unwrap_or_default().to_string_lossy());
                let pairs = [("Held back", &self.loaded[..]), ("Fitted to", &self.repeated[..])];
                report::html::twin(&title, &self.from, &sentences, &pairs, &numbers)
            }
            "json" => self.json(out, &sentences, &numbers),
            _ => self.text(format == "markdown", out, &sentences, &numbers),
        }
    }

    fn json(&self, out: &Path, sentences: &[String], numbers: &Grid) -> String {
        let pairs = |all: &[Beside]| -> Vec<serde_json::Value> {
            let one = |p: &Beside| serde_json::json!({ "what": p.what, "measured": p.measured, "twin": p.twin });
            all.iter().map(one).collect()
        };
        let numbers: Vec<_> = numbers
            .rows
            .iter()
            .map(|r| serde_json::json!({ "number": r[0], "value": r[1], "interval": r[2], "how": r[3] }))
            .collect();
        let all = serde_json::json!({
            "machine": out.display().to_string(),
            "holds": self.holds(),
            "summary": sentences,
            "numbers": numbers,
            "fitted": pairs(&self.repeated),
            "held_back": pairs(&self.loaded),
        });
        format!("{all:#}\n")
    }

    fn text(&self, markdown: bool, out: &Path, sentences: &[String], numbers: &Grid) -> String {
        let mut text = String::new();
        if markdown {
            table(&mut text, true, numbers);
        } else {
            on_terminal(&mut text, numbers);
        }
        let worst = &self.repeated[..self.repeated.len().min(SHOWN)];
        for (title, pairs) in [("Repeated worst", worst), ("Held back", &self.loaded)] {
            if !pairs.is_empty() {
                text.push('\n');
                table(&mut text, markdown, &Beside::table(title, pairs));
            }
        }
        let shown = out.display();
        text.push('\n');
        for sentence in sentences {
            text += &if markdown { format!("{sentence}\n") } else { wrap(sentence, "", "") };
        }
        text.push('\n');
        let _ = writeln!(text, "{shown} is a machine like any other. Ask it, and how far to trust it:");
        let _ = writeln!(text, "    tailback run gpcnet --on {shown} --nodes N");
        let _ = writeln!(text, "    tailback machine sensitivity {shown} --out DIR");
        text
    }
}

/// What is found as a table that fits a terminal, and the rest in sentences below.
fn on_terminal(text: &mut String, numbers: &Grid) {
    let mut found = Grid::new("", &["Number", "value", "95 %"]);
    let (mut notes, mut kept) = (String::new(), BTreeMap::<&str, Vec<String>>::new());
    for row in &numbers.rows {
        let [name, value, interval, how] = &row[..] else { continue };
        if interval == "-" {
            kept.entry(how).or_default().push(format!("{name} {value}"));
            continue;
        }
        found.row([name.clone(), value.clone(), interval.clone()]);
        if how != FITTED {
            notes += &wrap(&format!("{name}: {how}"), "  ", "    ");
        }
    }
    found.table().write_left(text);
    if !notes.is_empty() {
        *text += &format!("\nOnly together with others that are kept:\n{notes}");
    }
    if !kept.is_empty() {
        *text += "\nKept as they were:\n";
    }
    for (how, list) in kept {
        *text += &wrap(&format!("{}: {how}", list.join(", ")), "  ", "    ");
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

/// Why a number is kept: others show only together with it, or nothing shows it.
fn why_kept(number: &Number, numbers: &[Number], twin: &Twin) -> String {
    let name = number.to_string();
    let shown = |found: &Found| matches!(found, Found::Told { with, .. } if with.contains(&name));
    let others: Vec<String> =
        numbers.iter().zip(&twin.found).filter(|(_, found)| shown(found)).map(|(n, _)| n.to_string()).collect();
    match others.is_empty() {
        true => format!("not identified: {}", advice(number)),
        false => format!("not identified: it shows only together with {}", others.join(", ")),
    }
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
fn numbers_of(numbers: &[Number], twin: &Twin) -> Grid {
    let mut grid = Grid::new("Its numbers", &["Number", "value", "95 %", "how"]);
    for ((number, found), value) in numbers.iter().zip(&twin.found).zip(&twin.at.values) {
        let show = |v: f64| number.shown(v);
        grid.row(match found {
            Found::Told { low, high, with, .. } => {
                let how = if with.is_empty() { FITTED.into() } else { format!("fitted with {} kept", with.join(", ")) };
                [number.to_string(), show(*value), format!("{} to {}", show(*low), show(*high)), how]
            }
            Found::Beyond { value } => {
                let how = format!("not identified but for one side: {}", limit(number, *value));
                [number.to_string(), show(*value), "-".into(), how]
            }
            Found::Kept => [number.to_string(), show(number.value), "-".into(), why_kept(number, numbers, twin)],
        });
    }
    grid
}
