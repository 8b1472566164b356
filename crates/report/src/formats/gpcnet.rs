//! The tables of GPCNeT 1.3 as its programs print them, for scripts that read those. Impacts come from unrounded values,
//! where the original rounds both sides to one decimal first.

use crate::plain::line;
use crate::view::{Canary, View, gpcnet_title};
use record::{About, Direction, JobRecord, Role};
use std::fmt::Write;

/// Width of the inner part of a plain table and of a verbose one.
// 80 and 140 columns in the original, less the bars at both ends.
const PLAIN: usize = 78;
const VERBOSE: usize = 138;
const NAME: usize = 33;
const COLUMN: usize = 14;

/// As the original built without `-DVERBOSE` prints.
pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    Ok(tables(view, false))
}

/// As the original built with `-DVERBOSE` prints.
pub(super) fn write_verbose(view: &View<'_>) -> Result<String, String> {
    Ok(tables(view, true))
}

fn tables(view: &View<'_>, verbose: bool) -> String {
    // The plan decides: a run that stopped before its loaded phases was still one of the load test.
    let load = view.record.plan.phases.iter().any(|p| matches!(p.about, About::Loaded { .. }));
    let load = load || view.canaries.iter().any(|c| c.loaded.is_some());
    let mut out = String::new();
    banner(&mut out, view, load);
    let isolated: Vec<&JobRecord> = view.canaries.iter().map(|c| c.isolated).collect();
    table(&mut out, "Isolated Network Tests", &isolated, verbose);
    let baseline = view.record.phases.iter().filter(|p| matches!(p.about, About::Baseline { .. }));
    let baselines: Vec<&JobRecord> = baseline.flat_map(|p| &p.jobs).collect();
    if verbose && !baselines.is_empty() {
        table(&mut out, "Isolated Congestion Tests", &baselines, verbose);
    }
    let loaded: Vec<&JobRecord> = view.canaries.iter().filter_map(|c| c.loaded).collect();
    if loaded.is_empty() {
        return out;
    }
    if verbose {
        for canary in view.canaries.iter().filter(|c| c.loaded.is_some()) {
            let name =
                format!("Network Tests running with Congestion Tests ({:>20} Network Test)", canary.isolated.title);
            let rows: Vec<&JobRecord> = canary.loaded.into_iter().chain(canary.congestors.iter().copied()).collect();
            table(&mut out, &name, &rows, verbose);
        }
    } else {
        table(&mut out, "Network Tests running with Congestion Tests", &loaded, verbose);
    }
    impacts(&mut out, &view.canaries);
    out
}

fn banner(out: &mut String, view: &View<'_>, load: bool) {
    let layout = &view.record.layout;
    let _ = writeln!(out, "Network{} Tests v1.3", if load { "Load" } else { "" });
    let _ = writeln!(out, "  Test with {} MPI ranks ({} nodes)", layout.ranks, layout.nodes);
    if load {
        let congestors = view.canaries.first().map(|c| c.congestors.as_slice()).unwrap_or_default();
        let nodes: Vec<u32> = congestors.iter().filter_map(|j| view.nodes_of(&j.name)).collect();
        let loaded: u32 = nodes.iter().sum();
        let _ = writeln!(out, "  {} nodes running Network Tests", layout.nodes.saturating_sub(loaded));
        let least = nodes.iter().min().copied().unwrap_or(0);
        let _ = writeln!(out, "  {loaded} nodes running Congestion Tests (min {least} nodes per congestor)");
    }
    out.push_str("\n  Legend\n   RR = random ring communication pattern\n");
    if !load {
        out.push_str("   Nat = natural ring communication pattern\n");
    }
    // The original ends its legend without a newline, and every table starts with one.
    out.push_str("   Lat = latency\n   BW = bandwidth\n   BW+Sync = bandwidth with barrier");
}

fn title(out: &mut String, text: &str, width: usize) {
    let _ = write!(out, "\n+{:-<width$}+\n|{:^width$}|\n", "", line(text));
}

/// A rule with a cross between columns.
fn rule(widths: &[usize]) -> String {
    widths.iter().map(|w| format!("+{:-<w$}", "")).collect::<String>() + "+\n"
}

fn table(out: &mut String, name: &str, jobs: &[&JobRecord], verbose: bool) {
    let header: &[&str] = match verbose {
        false => &["Avg", "99%", "Units"],
        true => &["Min", "Max", "Avg", "Avg(Worst)", "99%", "99.9%", "Units"],
    };
    let widths: Vec<usize> = std::iter::once(NAME).chain(header.iter().map(|_| COLUMN)).collect();
    let rule = rule(&widths);
    title(out, name, if verbose { VERBOSE } else { PLAIN });
    let cells = |cells: &[String]| cells.iter().map(|c| format!(" {c:>12.12} |")).collect::<String>();
    let names: Vec<String> = header.iter().map(|h| h.to_string()).collect();
    let _ = write!(out, "{rule}| {:>31} |{}\n{rule}", "Name", cells(&names));
    for job in jobs {
        let _ = write!(out, "| {:>31.31} |{}\n{rule}", line(&gpcnet_title(job)), cells(&values(job, verbose)));
    }
}

/// The numbers of a row; the original's Min and Max are extremes of block values, whichever way is better.
fn values(job: &JobRecord, verbose: bool) -> Vec<String> {
    let (scale, unit) = job.metric.shown();
    let s = &job.summary;
    let (min, max) = match job.metric.direction() {
        Direction::LowerIsBetter => (s.best, s.worst),
        Direction::HigherIsBetter => (s.worst, s.best),
    };
    // As in the original, whatever the number of samples: tools that read this layout expect numbers.
    let at = |q| job.summary.quantile(q).map_or(f64::NAN, |x| x.value);
    let worst = if job.role == Role::Background { s.mean } else { s.mean_worst };
    let numbers = if verbose { vec![min, max, s.mean, worst, at(0.99), at(0.999)] } else { vec![s.mean, at(0.99)] };
    numbers.into_iter().map(|x| format!("{:.1}", x * scale)).chain([unit.to_string()]).collect()
}

fn impacts(out: &mut String, canaries: &[Canary<'_>]) {
    title(out, "Network Tests running with Congestion Tests - Key Results", PLAIN);
    // 44 is both columns below it and the bar between them.
    let (one, two) = (rule(&[NAME, 44]), rule(&[NAME, 22, 21]));
    let _ = write!(out, "{one}| {:>31} | {:>42} |\n{two}", "Name", "Congestion Impact Factor");
    let _ = write!(out, "| {:>31} | {:>20} | {:>19} |\n{two}", "", "Avg", "99%");
    for canary in canaries {
        let Some(impact) = canary.impact() else { continue };
        let (average, tail) = (impact.average.value, impact.tail.value);
        let _ = write!(
            out,
            "| {:>31.31} | {average:>19.1}X | {tail:>18.1}X |\n{two}",
            line(&gpcnet_title(canary.isolated))
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_rules_are_the_originals() {
        let line = |text: &str, width: usize| {
            let mut out = String::new();
            title(&mut out, text, width);
            out.lines().last().unwrap().to_string()
        };
        assert_eq!(
            line("Isolated Network Tests", PLAIN),
            "|                            Isolated Network Tests                            |"
        );
        assert_eq!(
            line("Network Tests running with Congestion Tests - Key Results", PLAIN),
            "|          Network Tests running with Congestion Tests - Key Results           |"
        );
        assert_eq!(line("x", VERBOSE).len(), 140);
        assert_eq!(
            rule(&[NAME, 22, 21]),
            "+---------------------------------+----------------------+---------------------+\n"
        );
        assert_eq!(rule(&[NAME, COLUMN, COLUMN, COLUMN]).trim_end().len(), 80);
    }
}
