//! Acceptance: a file of requirements held against runs. What was asked for and is not there is not met.
//!
//! ```toml
//! reference = "baseline/run.json"   # a run, beside this file, or a published system: what `1.1 x reference` means
//! sure = true                       # the whole 95 % interval must hold; each requirement may say otherwise
//!
//! [[require]]
//! figure = "gpcnet.*.impact99"
//! at_most = 2
//!
//! [[require]]
//! figure = "gpcnet.p2p-lat.isolated.avg"
//! between = ["1 us", "3 us"]
//! note = "clause 4.2 of the contract"
//! ```

use super::limit::Limit;
use super::require::{Bound, Held, Holds, Operator, Requirement};
use crate::grid::Grid;
use crate::merit::Merit;
use crate::svg::escape;
use serde::Deserialize;
use serde_json::{Value, json};
use spec::near::near;
use toml::Spanned;

/// A file of requirements.
#[derive(Clone, Debug, PartialEq)]
pub struct Acceptance {
    /// A run or a published system that limits may refer to.
    pub reference: Option<String>,
    /// What must hold.
    pub requirements: Vec<Requirement>,
}

/// More requirements than this are no contract that anyone has read.
const MOST: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    reference: Option<String>,
    #[serde(default)]
    sure: bool,
    #[serde(default)]
    require: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    figure: String,
    below: Option<Written>,
    at_most: Option<Written>,
    above: Option<Written>,
    at_least: Option<Written>,
    between: Option<[Written; 2]>,
    sure: Option<bool>,
    note: Option<String>,
}

/// A limit as a number or as text with a unit.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Whole(i64),
    Number(f64),
    Text(String),
}

impl Written {
    fn limit(&self) -> Result<Limit, String> {
        match self {
            Written::Whole(n) => Limit::parse(&n.to_string()),
            Written::Number(x) => Limit::parse(&x.to_string()),
            Written::Text(text) => Limit::parse(text),
        }
    }
}

impl Acceptance {
    /// Reads a file; an error names its line.
    pub fn parse(text: &str) -> Result<Acceptance, String> {
        let line_of = |offset: usize| text.bytes().take(offset).filter(|b| *b == b'\n').count() + 1;
        let file: File = toml::from_str(text).map_err(|e| {
            format!("line {}: {}", line_of(e.span().map_or(0, |s| s.start)), e.message().replace('\n', " "))
        })?;
        match file.require.len() {
            0 => return Err("it asks for nothing; a requirement begins with [[require]]".into()),
            n if n > MOST => return Err(format!("{n} requirements are more than {MOST}")),
            _ => {}
        }
        let mut requirements = Vec::new();
        for entry in file.require {
            let line = line_of(entry.span().start);
            let requirement = entry.into_inner().requirement(file.sure).map_err(|why| format!("line {line}: {why}"))?;
            if file.reference.is_none() && requirement.bounds.iter().any(|b| b.limit.is_relative()) {
                return Err(format!(
                    "line {line}: no `reference = \"RUN or SYSTEM\"` at the top of the file says what it refers to"
                ));
            }
            requirements.push(requirement);
        }
        Ok(Acceptance { reference: file.reference, requirements })
    }

    /// Holds every requirement against every run, each by a name and its figures. A requirement is about the runs that have a figure of its
    /// name; where none has, it is listed once as not there.
    pub fn judge(&self, runs: &[(String, Vec<Merit>)], reference: &[Merit]) -> Judged {
        let mut lines = Vec::new();
        for requirement in &self.requirements {
            let before = lines.len();
            for (run, merits) in runs {
                for merit in merits.iter().filter(|m| requirement.is_about(&m.name)) {
                    let held = requirement.hold(merit, reference.iter().find(|r| r.name == merit.name));
                    let (figure, unit) = (merit.name.clone(), merit.unit);
                    lines.push(Line { requirement: requirement.clone(), run: run.clone(), figure, unit, held });
                }
            }
            if lines.len() == before {
                lines.push(absent(requirement, runs));
            }
        }
        Judged { lines }
    }
}

/// The line of a requirement that no run has a figure for.
fn absent(requirement: &Requirement, runs: &[(String, Vec<Merit>)]) -> Line {
    let known = runs.iter().flat_map(|(_, merits)| merits.iter().map(|m| m.name.as_str()));
    let near: Vec<String> = near(&requirement.name, known).iter().map(|n| format!("`{n}`")).collect();
    let text = match near.as_slice() {
        [] => "no run has such a figure; `tailback report --format fom` lists those that it has".to_string(),
        near => format!("no run has such a figure; did you mean {}?", near.join(", ")),
    };
    let held = Held { holds: Holds::NotThere, known: crate::known::Known::bare(f64::NAN), text };
    Line { requirement: requirement.clone(), run: "-".into(), figure: requirement.name.clone(), unit: "", held }
}

impl Entry {
    fn requirement(self, sure: bool) -> Result<Requirement, String> {
        let one = |operator, written: &Option<Written>| {
            written.as_ref().map(|w| w.limit().map(|limit| Bound { operator, limit })).transpose()
        };
        let mut bounds: Vec<Bound> = Vec::new();
        bounds.extend(one(Operator::Below, &self.below)?);
        bounds.extend(one(Operator::AtMost, &self.at_most)?);
        bounds.extend(one(Operator::Above, &self.above)?);
        bounds.extend(one(Operator::AtLeast, &self.at_least)?);
        if let Some([low, high]) = &self.between {
            bounds.push(Bound { operator: Operator::AtLeast, limit: low.limit()? });
            bounds.push(Bound { operator: Operator::AtMost, limit: high.limit()? });
        }
        if bounds.is_empty() {
            return Err(format!("`{}` has no limit: below, at_most, above, at_least or between", self.figure));
        }
        if self.figure.trim().is_empty() {
            return Err("`figure` is empty; it names figures of merit, `*` stands for any text".into());
        }
        Ok(Requirement { name: self.figure, bounds, sure: self.sure.unwrap_or(sure), note: self.note })
    }
}

/// What became of one requirement for one figure of one run.
#[derive(Clone, Debug)]
pub struct Line {
    /// What was asked for.
    pub requirement: Requirement,
    /// The run, as it was named.
    pub run: String,
    /// The figure of merit.
    pub figure: String,
    /// Its unit.
    pub unit: &'static str,
    /// What became of it.
    pub held: Held,
}

/// Every requirement with its outcome.
pub struct Judged {
    /// In the order of the file, then of the runs.
    pub lines: Vec<Line>,
}

impl Judged {
    /// Whether everything is met.
    pub fn accepted(&self) -> bool {
        self.lines.iter().all(|l| l.held.holds == Holds::Met)
    }

    /// How many are so.
    pub fn count(&self, holds: Holds) -> usize {
        self.lines.iter().filter(|l| l.held.holds == holds).count()
    }

    /// One sentence that says it all.
    pub fn summary(&self) -> String {
        let [met, missed, unsure, absent] =
            [Holds::Met, Holds::Missed, Holds::NotSure, Holds::NotThere].map(|h| self.count(h));
        let word = if self.accepted() { "ACCEPTED" } else { "NOT ACCEPTED" };
        format!("{word}: {met} met, {missed} missed, {unsure} not sure, {absent} not there")
    }

    /// A table, what is not met first.
    pub fn grid(&self) -> Grid {
        let mut grid = Grid::new("Requirements", &["", "figure of merit", "run", "value"]);
        let mut lines: Vec<&Line> = self.lines.iter().collect();
        lines.sort_by_key(|l| l.held.holds == Holds::Met);
        for line in lines {
            let note = line.requirement.note.as_ref().map_or(String::new(), |note| format!(" ({note})"));
            let text = format!("{}{note}", line.held.text);
            grid.row([line.held.holds.word().into(), line.figure.clone(), line.run.clone(), text]);
        }
        grid
    }

    /// For pipelines.
    pub fn json(&self) -> Value {
        let line = |l: &Line| {
            let interval = l.held.known.interval.map(|i| json!([i.low, i.high]));
            json!({
                "outcome": match l.held.holds {
                    Holds::Met => "met",
                    Holds::Missed => "missed",
                    Holds::NotSure => "not-sure",
                    Holds::NotThere => "not-there",
                },
                "requirement": l.requirement.to_string(),
                "note": l.requirement.note,
                "run": l.run,
                "figure": l.figure,
                "value": Some(l.held.known.value).filter(|v| v.is_finite()),
                "interval95": interval,
                "unit": l.unit,
                "text": l.held.text,
            })
        };
        json!({ "accepted": self.accepted(), "requirements": self.lines.iter().map(line).collect::<Vec<_>>() })
    }

    /// As JUnit writes tests: one case for each requirement, figure and run.
    pub fn junit(&self) -> String {
        let failures = self.lines.len() - self.count(Holds::Met);
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"tailback accept\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">\n",
            self.lines.len()
        );
        for line in &self.lines {
            let (class, name) = (escape(&line.run), escape(&format!("{}: {}", line.figure, line.requirement)));
            out.push_str(&format!("<testcase classname=\"{class}\" name=\"{name}\""));
            let text = escape(&line.held.text);
            out.push_str(&match line.held.holds {
                Holds::Met => format!("><system-out>{text}</system-out></testcase>\n"),
                holds => format!("><failure type=\"{}\" message=\"{text}\"/></testcase>\n", holds.word()),
            });
        }
        out + "</testsuite>\n</testsuites>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known::Known;
    use record::{Direction, Interval};

    fn merits(scale: f64) -> Vec<Merit> {
        let merit = |name: &str, value: f64, unit| {
            let known = Known {
                value: value * scale,
                interval: Some(Interval { low: value * scale * 0.9, high: value * scale * 1.1 }),
            };
            Merit { name: name.into(), known, unit, better: Direction::LowerIsBetter }
        };
        vec![merit("gpcnet.p2p-lat.impact", 2.0, "x"), merit("gpcnet.p2p-lat.isolated.avg", 1.5, "usec")]
    }

    const FILE: &str = r#"
reference = "before"
sure = true
[[require]]
figure = "gpcnet.*.impact"
at_most = 3
[[require]]
figure = "gpcnet.p2p-lat.isolated.avg"
between = ["1 us", "1.6 us"]
note = "clause 4"
[[require]]
figure = "*.avg"
at_most = "1.1 x reference"
sure = false
[[require]]
figure = "gpcnet.p2p-lat.impacts"
above = 0.5
"#;

    fn judged() -> Judged {
        Acceptance::parse(FILE).unwrap().judge(&[("now".to_string(), merits(1.0))], &merits(0.5))
    }

    #[test]
    fn each_requirement_has_its_outcome() {
        let outcomes: Vec<Holds> = judged().lines.iter().map(|l| l.held.holds).collect();
        assert_eq!(outcomes, [Holds::Met, Holds::NotSure, Holds::Missed, Holds::NotThere]);
        assert!(!judged().accepted());
        assert_eq!(judged().summary(), "NOT ACCEPTED: 1 met, 1 missed, 1 not sure, 1 not there");
        let grid = judged().grid();
        assert_eq!(grid.rows[3][0], "met");
        assert!(
            grid.rows.iter().any(|r| r[3].contains("clause 4"))
                && grid.rows.iter().any(|r| r[3].contains("did you mean"))
        );
    }

    #[test]
    fn pipelines_can_read_it() {
        let json = judged().json();
        assert_eq!(json["accepted"], false);
        assert_eq!(json["requirements"][1]["outcome"], "not-sure");
        let junit = judged().junit();
        assert!(junit.contains("tests=\"4\" failures=\"3\""), "{junit}");
        assert_eq!(junit.matches("<failure").count(), 3);
        assert!(junit.contains("&gt;= 1 us and &lt;= 1.6 us"), "{junit}");
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, says) in [
            ("", "asks for nothing"),
            ("[[require]]\nfigure = \"a\"", "line 1: `a` has no limit"),
            ("\n[[require]]\nfigure = \"a\"\nbelow = \"2 parsecs\"", "line 2: `2 parsecs` is not a limit"),
            ("[[require]]\nfigure = \"a\"\nbelow = \"2 x reference\"", "reference ="),
            ("[[require]]\nfigure = \"a\"\nbelwo = 2", "unknown field `belwo`"),
            ("[[require]]\nfigure = \"a\"\nbetween = [1]", "line 3"),
            ("[[require]]\nfigure = \" \"\nbelow = 1", "`figure` is empty"),
        ] {
            let error = Acceptance::parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
