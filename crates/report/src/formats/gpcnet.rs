//! The tables of GPCNeT 1.3 as its programs print them, for scripts that read those. Impacts come from unrounded values,
//! where the original rounds both sides to one decimal first.

use crate::view::{Canary, View, gpcnet_title, quantile};
use record::JobRecord;
use std::fmt::Write;

const BAR: &str = "+------------------------------------------------------------------------------+";
const COLUMNS: &str = "+---------------------------------+--------------+--------------+--------------+";
const IMPACT: &str = "+---------------------------------+--------------------------------------------+";
const IMPACTS: &str = "+---------------------------------+----------------------+---------------------+";

pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    let load = match view.record.plan.suite.as_str() {
        "gpcnet" => true,
        "network" => false,
        other => {
            return Err(format!("--format gpcnet shows runs of gpcnet and network, not of {other}; use --format text"));
        }
    };
    let mut out = String::new();
    banner(&mut out, view, load);
    let isolated: Vec<&JobRecord> = view.canaries.iter().map(|c| c.isolated).collect();
    table(&mut out, "Isolated Network Tests", &isolated);
    let loaded: Vec<&JobRecord> = view.canaries.iter().filter_map(|c| c.loaded).collect();
    if !loaded.is_empty() {
        table(&mut out, "Network Tests running with Congestion Tests", &loaded);
        impacts(&mut out, &view.canaries);
    }
    Ok(out)
}

fn banner(out: &mut String, view: &View<'_>, load: bool) {
    let layout = &view.record.layout;
    let _ = writeln!(out, "Network{} Tests v1.3", if load { "Load" } else { "" });
    let _ = writeln!(out, "  Test with {} MPI ranks ({} nodes)", layout.ranks, layout.nodes);
    if load {
        let congestors = view.canaries.first().map(|c| c.congestors.as_slice()).unwrap_or_default();
        let nodes: Vec<u32> = congestors.iter().filter_map(|j| view.nodes_of(&j.name)).collect();
        let loaded: u32 = nodes.iter().sum();
        let _ = writeln!(out, "  {} nodes running Network Tests", layout.nodes - loaded);
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

fn title(out: &mut String, text: &str) {
    let _ = write!(out, "\n{BAR}\n|{text:^78}|\n");
}

fn table(out: &mut String, name: &str, jobs: &[&JobRecord]) {
    title(out, name);
    let _ = write!(out, "{COLUMNS}\n| {:>31} | {:>12} | {:>12} | {:>12} |\n{COLUMNS}\n", "Name", "Avg", "99%", "Units");
    for job in jobs {
        let (scale, unit) = job.metric.shown();
        let (mean, tail) = (job.summary.mean * scale, quantile(job, 0.99).value * scale);
        let _ = writeln!(out, "| {:>31.31} | {mean:>12.1} | {tail:>12.1} | {unit:>12.12} |", gpcnet_title(job));
        let _ = writeln!(out, "{COLUMNS}");
    }
}

fn impacts(out: &mut String, canaries: &[Canary<'_>]) {
    title(out, "Network Tests running with Congestion Tests - Key Results");
    let _ = write!(out, "{IMPACT}\n| {:>31} | {:>42} |\n{IMPACTS}\n", "Name", "Congestion Impact Factor");
    let _ = write!(out, "| {:>31} | {:>20} | {:>19} |\n{IMPACTS}\n", "", "Avg", "99%");
    for canary in canaries {
        let Some(impact) = canary.impact() else { continue };
        let (average, tail) = (impact.average.value, impact.tail.value);
        let _ = writeln!(out, "| {:>31.31} | {average:>19.1}X | {tail:>18.1}X |", gpcnet_title(canary.isolated));
        let _ = writeln!(out, "{IMPACTS}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of the original's own output that do not depend on values.
    #[test]
    fn bars_have_the_originals_widths() {
        assert_eq!([BAR, COLUMNS, IMPACT, IMPACTS].map(str::len), [80; 4]);
        let mut out = String::new();
        title(&mut out, "Isolated Network Tests");
        assert!(out.ends_with("|                            Isolated Network Tests                            |\n"));
        let mut out = String::new();
        title(&mut out, "Network Tests running with Congestion Tests - Key Results");
        assert!(out.ends_with("|          Network Tests running with Congestion Tests - Key Results           |\n"));
    }
}
