//! Tables for issues, wikis and pull requests.

use crate::facts::{command, facts};
use crate::section::Room;
use crate::subjects;
use crate::view::View;
use std::fmt::Write;

pub(super) fn write(view: &View<'_>) -> Result<String, String> {
    let mut out = format!("# {} on {}\n\n", plain(&view.record.plan.suite), plain(&view.machine()));
    let _ = writeln!(out, "**{}**: {}, seed {}\n", view.outcome().word(), view.layout(), view.record.plan.seed);
    let warnings = view.warnings();
    if !warnings.is_empty() {
        out.push_str("> **Read this first**\n");
        warnings.iter().for_each(|w| out.push_str(&format!("> - {}\n", plain(w))));
        out.push('\n');
    }
    for section in subjects::sections(view).iter().filter(|s| s.room <= Room::Document) {
        out.push_str(&section.markdown(plain));
    }
    out.push_str("## What ran\n\n");
    for (name, value) in facts(view) {
        let _ = writeln!(out, "- {}: {}", plain(&name), plain(&value));
    }
    let _ = writeln!(out, "\n```sh\n{}\n```", command(&view.record.command));
    Ok(out)
}

/// Text that Markdown leaves alone.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '#') {
            out.push('\\');
        }
        out.push(if c == '\n' { ' ' } else { c });
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_stays_text() {
        assert_eq!(super::plain("a_b <c> `d`\n#"), "a\\_b \\<c> \\`d\\` \\#");
    }
}
