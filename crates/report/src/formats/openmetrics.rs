//! OpenMetrics 1.0 text, for the monitoring that a site already has (a textfile collector, a push gateway).
//!
//! Values are gauges in base units. Each family is written once with all its samples together, as the format demands, and
//! the text ends with `# EOF`.

use crate::facts::kind;
use crate::known::{Known, mean, quantile};
use crate::plain::screen;
use crate::subjects::merits;
use crate::view::View;
use record::summary::QUANTILES;
use record::{JobRecord, Metric, Outcome, Role, Verdict};
use std::fmt::Write;

pub(super) fn write(views: &[View<'_>]) -> Result<String, String> {
    let mut out = String::new();
    out.push_str("# TYPE tailback_run info\n# HELP tailback_run What ran.\n");
    for (i, view) in views.iter().enumerate() {
        // The format wants `_info` at the end of the samples of such a family, but not in its name.
        let _ = writeln!(out, "tailback_run_info{{{}}} 1", labels(&about(i + 1, view)));
    }
    let mut passed = Family::new("tailback_run_passed", "", "1 if everything asked for ran and every check passed.");
    let mut impact = Family::new("tailback_impact_ratio", "ratio", "How many times worse a canary is under load.");
    let mut families: Vec<Family> = METRICS.map(|(_, name, unit, help)| Family::new(name, unit, help)).into();
    let mut figures = Family::new("tailback_merit", "", "Figures of merit by name, each in its own unit.");
    let mut bytes = Family::new("tailback_sent_bytes", "bytes", "Bytes sent in timed steps, over all ranks of a job.");
    let mut compared =
        Family::new("tailback_compared_ratio", "ratio", "Share of the bytes that arrived which were compared.");
    let mut wrong = Family::new("tailback_wrong_values", "values", "Values that were wrong.");
    for (i, view) in views.iter().enumerate() {
        let run = (i + 1).to_string();
        let ok = f64::from(u8::from(view.outcome() == Outcome::Pass));
        passed.sample(&[("run", &run)], ok);
        for phase in &view.record.phases {
            for job in &phase.jobs {
                let at = METRICS.iter().position(|m| m.0 == job.metric).expect("every metric has a family");
                of_job(&mut families[at], &run, &phase.name, job);
                let id = [("run", run.as_str()), ("phase", &phase.name), ("test", &job.name)];
                bytes.sample(&id, job.bytes as f64);
                if let Some(c) = job.coverage {
                    compared.sample(&id, c.seen_bytes as f64 / c.bytes.max(1) as f64);
                }
                if let Some(n) = errors(job) {
                    wrong.sample(&id, n);
                }
            }
        }
        for merit in merits(view) {
            figures.known(&[("run", &run), ("name", &merit.name), ("unit", merit.unit)], merit.known);
        }
        for canary in &view.canaries {
            let Some(x) = canary.impact() else { continue };
            for (stat, x) in [("avg", x.average), ("p99", x.tail), ("p99_over_avg", x.tail_over_average)] {
                impact.known(&[("run", &run), ("canary", canary.name), ("stat", stat)], x);
            }
        }
    }
    let all = std::iter::once(passed).chain(families).chain([impact, bytes, compared, wrong, figures]);
    all.for_each(|family| family.finish(&mut out));
    out.push_str("# EOF\n");
    Ok(out)
}

/// Family and unit of each metric. A family's name ends with its unit.
const METRICS: [(Metric, &str, &str, &str); 5] = [
    (Metric::Latency, "tailback_latency_seconds", "seconds", "Time of one exchange."),
    (Metric::Duration, "tailback_duration_seconds", "seconds", "Time of one step."),
    (Metric::Bandwidth, "tailback_bandwidth_bytes_per_second", "bytes_per_second", "Bytes per second of one rank."),
    (Metric::Updates, "tailback_updates_per_second", "per_second", "Updates per second."),
    (Metric::Flops, "tailback_flops_per_second", "per_second", "Floating-point operations per second."),
];

/// Values of a job that were wrong, of those that were looked at.
fn errors(job: &JobRecord) -> Option<f64> {
    let passed = job.results.get("errors").copied();
    match job.verdict {
        Verdict::Wrong { wrong, .. } => Some(wrong as f64),
        Verdict::Right { checked } if checked > 0 => Some(passed.unwrap_or(0.0)),
        _ => passed,
    }
}

fn about(run: usize, view: &View<'_>) -> Vec<(&'static str, String)> {
    let record = view.record;
    vec![
        ("run", run.to_string()),
        ("suite", record.plan.suite.clone()),
        ("machine", view.machine()),
        ("kind", kind(&record.machine).into()),
        ("nodes", record.layout.nodes.to_string()),
        ("ranks", record.layout.ranks.to_string()),
        ("seed", record.plan.seed.to_string()),
        ("result", view.outcome().word().into()),
        ("tailback", record.tailback.clone()),
    ]
}

fn of_job(family: &mut Family, run: &str, phase: &str, job: &JobRecord) {
    if job.summary.samples == 0 {
        return;
    }
    let role = if job.role == Role::Measured { "measured" } else { "background" };
    let id = [("run", run), ("phase", phase), ("test", job.name.as_str()), ("role", role)];
    let with = |stat: &'static str| -> Vec<(&str, &str)> { id.into_iter().chain([("stat", stat)]).collect() };
    family.known(&with("avg"), mean(job));
    for (q, stat) in QUANTILES.into_iter().zip(["p50", "p90", "p99", "p99.9", "p99.99"]) {
        family.known(&with(stat), quantile(job, q));
    }
}

/// A family under construction.
struct Family {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    samples: String,
}

impl Family {
    fn new(name: &'static str, unit: &'static str, help: &'static str) -> Family {
        Family { name, unit, help, samples: String::new() }
    }

    fn sample(&mut self, with: &[(&str, &str)], value: f64) {
        let owned: Vec<(&str, String)> = with.iter().map(|(n, v)| (*n, v.to_string())).collect();
        if value.is_finite() {
            let _ = writeln!(self.samples, "{}{{{}}} {value}", self.name, labels(&owned));
        }
    }

    /// The value and the ends of its interval, told apart by a label.
    fn known(&mut self, with: &[(&str, &str)], x: Known) {
        let ends = x.interval.map(|i| [("low", i.low), ("high", i.high)]).into_iter().flatten();
        for (bound, value) in std::iter::once(("estimate", x.value)).chain(ends) {
            let all: Vec<(&str, &str)> = with.iter().copied().chain([("bound", bound)]).collect();
            self.sample(&all, value);
        }
    }

    fn finish(self, out: &mut String) {
        if self.samples.is_empty() {
            return;
        }
        let _ = writeln!(out, "# TYPE {} gauge", self.name);
        if !self.unit.is_empty() {
            let _ = writeln!(out, "# UNIT {} {}", self.name, self.unit);
        }
        let _ = write!(out, "# HELP {} {}\n{}", self.name, self.help, self.samples);
    }
}

fn labels(pairs: &[(&str, String)]) -> String {
    // Backslashes first, or those that the other two add would be doubled.
    let escape = |v: &str| screen(v).replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_with_their_units() {
        assert!(METRICS.iter().all(|(_, name, unit, _)| name.ends_with(&format!("_{unit}"))));
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(labels(&[("a", "x\\\"\n".to_string())]), "a=\"x\\\\\\\"\\n\"");
        assert_eq!(labels(&[("a", "\r\u{1b}".to_string())]), "a=\"\\\\u000d\\\\u001b\"");
    }
}
