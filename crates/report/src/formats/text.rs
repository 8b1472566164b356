//! The answer for people in as few lines as it takes, all that a terminal holds, and `FOM` lines for tools that search text. All end with
//! a `RESULT` line.

use crate::facts::{coverage, share};
use crate::plain::{WIDTH, line, word, wrap};
use crate::section::Room;
use crate::subjects::{self, SUBJECTS};
use crate::view::View;
use std::fmt::Write;

/// What was asked and what came of it.
pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    let record = view.record;
    let placements = match record.plan.placements {
        1 => String::new(),
        n => format!(", {n} placements"),
    };
    let title = format!(
        "Tailback: {} on {}: {}{placements}, seed {}",
        record.plan.suite,
        view.machine(),
        view.shape(),
        record.plan.seed
    );
    let mut out = wrap(&title, "", "  ") + "\n";
    for subject in SUBJECTS {
        if let Some(text) = (subject.glance)(view) {
            let _ = writeln!(out, "{}\n", text.trim_end());
            continue;
        }
        for section in (subject.sections)(view).iter().filter(|s| s.room == Room::Terminal) {
            let _ = writeln!(out, "{}\n", section.text_within(WIDTH).trim_end());
        }
    }
    let warnings = view.warnings();
    warnings.iter().for_each(|w| out += &wrap(w, "! ", "  "));
    if let Some(all) = coverage(view) {
        let _ = writeln!(out, "Data compared: {}", share(all));
    }
    result(&mut out, view);
    Ok(out)
}

/// Everything that fits a terminal.
pub(super) fn write_long(view: &View<'_>) -> Result<String, String> {
    let mut out = String::new();
    heading(&mut out, view);
    let warnings = view.warnings();
    if !warnings.is_empty() {
        out.push_str("Read this first:\n");
        warnings.iter().for_each(|w| out += &wrap(w, "  ! ", "    "));
        out.push('\n');
    }
    for section in subjects::sections(view).iter().filter(|s| s.room <= Room::Verbose) {
        let _ = writeln!(out, "{}\n", section.text().trim_end());
    }
    if let Some(all) = coverage(view) {
        let _ = writeln!(out, "Data compared: {}\n", share(all));
    }
    result(&mut out, view);
    Ok(out)
}

/// `FOM name value unit`, one per line: stable names, plain numbers.
pub(super) fn write_merits(view: &View<'_>) -> Result<String, String> {
    let mut out = String::new();
    for merit in subjects::merits(view) {
        let value = merit.known.value;
        // Six decimals of a latency in seconds would be no digits at all.
        let small = value != 0.0 && value.abs() < 1e-3;
        let value = if small { format!("{value:.6e}") } else { format!("{value:.6}") };
        let _ = writeln!(out, "FOM {} {value} {}", word(&merit.name), merit.unit);
    }
    result(&mut out, view);
    Ok(out)
}

fn result(out: &mut String, view: &View<'_>) {
    let _ = writeln!(out, "RESULT: {}", view.outcome().word());
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
