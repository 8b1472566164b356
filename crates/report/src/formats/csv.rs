//! Every number of a record, one a line: the tidy long form that spreadsheets and data frames read without help.

use crate::facts::kind;
use crate::known::{mean, quantile};
use crate::plain::line;
use crate::subjects::merits;
use crate::view::View;
use record::summary::QUANTILES;
use record::{Interval, MachineRecord, Outcome, PhaseRecord, Verdict};
use std::fmt::Write;

const HEADER: &str = "run,suite,machine,nodes,ranks,seed,phase,job,kernel,role,statistic,value,low,high,unit\n";

pub(super) fn write(views: &[View<'_>]) -> Result<String, String> {
    let mut out = HEADER.to_string();
    for (i, view) in views.iter().enumerate() {
        let mut lines = Lines { prefix: prefix(i + 1, view), out: &mut out };
        view.record.phases.iter().for_each(|phase| lines.phase(phase));
        let passed = f64::from(u8::from(view.outcome() == Outcome::Pass));
        lines.line("", [""; 3], "passed", passed, None, "");
        for merit in merits(view) {
            let job = [&merit.name, "", ""];
            lines.line("merit", job, "value", merit.known.value, merit.known.interval, merit.unit);
        }
    }
    Ok(out)
}

/// A cell as RFC 4180 wants it. What a spreadsheet would compute gets an apostrophe, which makes it text there (OWASP, CSV injection).
fn quote(text: &str) -> String {
    let text = line(text);
    let formula = text.starts_with(['=', '@', '+', '-']) && text.parse::<f64>().is_err();
    let text = if formula { format!("'{text}") } else { text };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

fn prefix(run: usize, view: &View<'_>) -> String {
    let record = view.record;
    let name = match &record.machine {
        MachineRecord::Simulated { name, .. } => name,
        MachineRecord::Mpi { facts, .. } => facts.get("library").map_or("unknown", |l| l),
        MachineRecord::Local { host } => &host.name,
    };
    let machine = quote(&format!("{}:{name}", kind(&record.machine)));
    let (layout, plan) = (&record.layout, &record.plan);
    format!("{run},{},{machine},{},{},{}", quote(&plan.suite), layout.nodes, layout.ranks, plan.seed)
}

struct Lines<'a> {
    prefix: String,
    out: &'a mut String,
}

impl Lines<'_> {
    /// One line; a value that is not a number is an empty cell.
    fn line(&mut self, phase: &str, job: [&str; 3], stat: &str, value: f64, interval: Option<Interval>, unit: &str) {
        let number = |x: f64| if x.is_finite() { format!("{x}") } else { String::new() };
        let (low, high) = interval.map_or((f64::NAN, f64::NAN), |i| (i.low, i.high));
        let [name, kernel, role] = job.map(quote);
        let numbers = [value, low, high].map(number).join(",");
        let (phase, stat) = (quote(phase), quote(stat));
        let _ = writeln!(self.out, "{},{phase},{name},{kernel},{role},{stat},{numbers},{unit}", self.prefix);
    }

    fn phase(&mut self, phase: &PhaseRecord) {
        for job in &phase.jobs {
            let role = if job.role == record::Role::Measured { "measured" } else { "background" };
            let id = [job.name.as_str(), &job.kernel, role];
            let mut add = |stat: &str, value: f64, interval: Option<Interval>, unit: &str| {
                self.line(&phase.name, id, stat, value, interval, unit);
            };
            add("samples", job.summary.samples as f64, None, "");
            add("bytes", job.bytes as f64, None, "B");
            add("elapsed", job.elapsed_s, None, "s");
            if let Some(c) = job.coverage {
                add("messages", c.messages as f64, None, "");
                add("messages-compared", c.whole as f64, None, "");
                add("bytes-arrived", c.bytes as f64, None, "B");
                add("bytes-compared", c.seen_bytes as f64, None, "B");
            }
            if let Verdict::Wrong { wrong, .. } = job.verdict {
                add("wrong", wrong as f64, None, "");
            }
            if job.summary.samples > 0 {
                let (scale, unit) = job.metric.shown();
                let ends = |i: Option<Interval>| i.map(|i| Interval { low: i.low * scale, high: i.high * scale });
                let s = &job.summary;
                add("mean", s.mean * scale, ends(mean(job).interval), unit);
                add("mean-worst", s.mean_worst * scale, None, unit);
                add("best", s.best * scale, None, unit);
                add("worst", s.worst * scale, None, unit);
                for q in QUANTILES {
                    let x = quantile(job, q);
                    add(&format!("p{}", 100.0 * q), x.value * scale, ends(x.interval), unit);
                }
            }
            for (name, value) in &job.results {
                add(&format!("result:{name}"), *value, None, "");
            }
        }
        for counter in &phase.counters {
            let (nodes, rising) = (counter.per_node.len(), counter.rising());
            let at = |share: f64| rising.get((share * nodes.saturating_sub(1) as f64).round() as usize);
            for (stat, share) in [("min", 0.0), ("p50", 0.5), ("max", 1.0)] {
                let value = at(share).map_or(f64::NAN, |&v| v as f64);
                let stat = format!("counter:{}:{stat}", counter.name);
                self.line(&phase.name, [&counter.job, "", ""], &stat, value, None, "");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        assert_eq!(quote("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(quote("plain"), "plain");
    }

    #[test]
    fn nothing_is_a_formula() {
        for (text, cell) in [
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"),
            ("+a", "'+a"),
            ("\t=1", " =1"),
            ("\r=HYPERLINK(\"x\")", "\" =HYPERLINK(\"\"x\"\")\""),
            ("-1.5e-3", "-1.5e-3"),
            ("+2", "+2"),
        ] {
            assert_eq!(quote(text), cell);
        }
    }
}
