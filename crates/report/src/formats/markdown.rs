//! Tables for issues, wikis and pull requests.

use crate::facts::{command, facts};
use crate::plain::{fenced, markdown};
use crate::section::Room;
use crate::subjects;
use crate::view::View;
use std::fmt::Write;

pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    let mut out = format!("# {} on {}\n\n", markdown(&view.record.plan.suite), markdown(&view.machine()));
    let _ = writeln!(out, "**{}**: {}, seed {}\n", view.outcome().word(), view.layout(), view.record.plan.seed);
    let warnings = view.warnings();
    if !warnings.is_empty() {
        out.push_str("> **Read this first**\n");
        warnings.iter().for_each(|w| out.push_str(&format!("> - {}\n", markdown(w))));
        out.push('\n');
    }
    for section in subjects::sections(view).iter().filter(|s| s.room <= Room::Document) {
        out.push_str(&section.markdown());
    }
    out.push_str("## What ran\n\n");
    for (name, value) in facts(view) {
        let _ = writeln!(out, "- {}: {}", markdown(&name), markdown(&value));
    }
    let _ = write!(out, "\n{}", fenced("sh", &command(&view.record.command)));
    Ok(out)
}
