//! Tables for people; `FOM` lines and a `RESULT` line for tools that search text.

use crate::facts::{coverage, share};
use crate::plain::{line, word};
use crate::section::Room;
use crate::subjects;
use crate::view::View;
use std::fmt::Write;

pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    let mut out = String::new();
    heading(&mut out, view);
    let warnings = view.warnings();
    if !warnings.is_empty() {
        out.push_str("Read this first:\n");
        warnings.iter().for_each(|w| out.push_str(&format!("  ! {}\n", line(w))));
        out.push('\n');
    }
    for section in subjects::sections(view).iter().filter(|s| s.room <= Room::Terminal) {
        let _ = writeln!(out, "{}\n", section.text().trim_end());
    }
    if let Some(all) = coverage(view) {
        let _ = writeln!(out, "Data compared: {}\n", share(all));
    }
    merits(&mut out, view);
    let _ = writeln!(out, "RESULT: {}", view.outcome().word());
    Ok(out)
}

fn heading(out: &mut String, view: &View<'_>) {
    let record = view.record;
    let what = format!("Tailback {}: {} on {}", record.tailback, record.plan.suite, view.machine());
    let _ = writeln!(out, "{}", line(&what));
    let _ = writeln!(out, "{}, seed {}", view.layout(), record.plan.seed);
    if let Some(canary) = view.canaries.first().filter(|c| !c.congestors.is_empty()) {
        let nodes = |job: &str| view.nodes_of(job).unwrap_or(0);
        let shares: Vec<String> = canary.congestors.iter().map(|c| format!("{} {}", c.name, nodes(&c.name))).collect();
        let on = line(&shares.join(", "));
        let _ = writeln!(out, "Canaries on {} nodes; congestors on {on}", nodes(&canary.isolated.name));
    }
    out.push('\n');
}

/// `FOM name value unit`, one per line: stable names, plain numbers.
fn merits(out: &mut String, view: &View<'_>) {
    for merit in subjects::merits(view) {
        let value = merit.known.value;
        // Six decimals of a latency in seconds would be no digits at all.
        let small = value != 0.0 && value.abs() < 1e-3;
        let value = if small { format!("{value:.6e}") } else { format!("{value:.6}") };
        let _ = writeln!(out, "FOM {} {value} {}", word(&merit.name), merit.unit);
    }
}
