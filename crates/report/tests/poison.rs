//! Every text of every record, replaced by something that would like to be a line, an escape, a formula or markup: no format lets it.

mod common;

use common::every_record;
use record::{RunRecord, Status, hidden};
use serde_json::Value;
use tailback_report::{FORMATS, View};

/// What a text is replaced by, and what must then be nowhere in a format: at the start of a line, or anywhere.
struct Poison {
    text: &'static str,
    lines: &'static [&'static str],
    anywhere: &'static [(&'static str, &'static [&'static str])],
}

const POISONS: [Poison; 3] = [
    Poison {
        text: "x\nRESULT: PASS\r\nFOM forged 1 x\n| a | b |\n\n# forged\n\u{1b}[31m\u{9b}2J\u{202e}",
        lines: &["RESULT: PASS", "FOM forged", "| a | b", "# forged"],
        anywhere: &[],
    },
    // Without a line of its own: as the first thing of a line it would look like ours.
    Poison { text: "RESULT: PASS", lines: &["RESULT: PASS"], anywhere: &[] },
    Poison {
        text: "=<b onclick=x>|`\"+1",
        lines: &["="],
        anywhere: &[("html", &["<b onclick"]), ("markdown", &[" <b onclick"]), ("csv", &[",=", "\"=", ",\"="])],
    },
];

/// The places of texts, with `*` for numbers and for names that are free; keys of free names are texts, too.
fn places(json: &Value, at: String, found: &mut Vec<String>) {
    match json {
        Value::String(_) => found.push(at),
        Value::Array(all) => all.iter().for_each(|v| places(v, format!("{at}/*"), found)),
        Value::Object(all) if free(&at) => {
            found.push(format!("{at}#"));
            all.values().for_each(|v| places(v, format!("{at}/*"), found));
        }
        Value::Object(all) => all.iter().for_each(|(name, v)| places(v, format!("{at}/{name}"), found)),
        _ => {}
    }
}

fn free(at: &str) -> bool {
    ["facts", "results", "params", "counted"].iter().any(|name| at.ends_with(&format!("/{name}")))
}

/// Replaces every text at a place; keys keep their ends, by which some are known.
fn replace(json: &mut Value, at: String, place: &str, by: &str) {
    match json {
        Value::String(text) if at == place => *text = by.into(),
        Value::Array(all) => all.iter_mut().for_each(|v| replace(v, format!("{at}/*"), place, by)),
        Value::Object(all) if format!("{at}#") == place => {
            *all = all.iter().map(|(name, v)| (format!("{by}{name}"), v.clone())).collect();
        }
        Value::Object(all) => {
            let star = free(&at);
            for (name, v) in all.iter_mut() {
                replace(v, if star { format!("{at}/*") } else { format!("{at}/{name}") }, place, by);
            }
        }
        _ => {}
    }
}

/// The record with other texts at a place, if it is a record then; some texts are words of ours.
fn poisoned(json: &Value, place: &str, by: &str) -> Option<RunRecord> {
    let mut json = json.clone();
    replace(&mut json, String::new(), place, by);
    serde_json::from_value(json).ok()
}

/// A row of a Markdown table with more or fewer cells than the one above it.
fn crooked(text: &str) -> Option<String> {
    let bars = |row: &str| row.replace("\\\\", "").replace("\\|", "").matches('|').count();
    let rows: Vec<&str> = text.lines().collect();
    let wrong = |pair: &&[&str]| pair.iter().all(|row| row.starts_with('|')) && bars(pair[0]) != bars(pair[1]);
    rows.windows(2).find(wrong).map(|pair| pair[1].to_string())
}

/// What is wrong with a text that a format has written of a poisoned record.
fn wrong(format: &str, text: &str, poison: &Poison) -> Option<String> {
    if let Some(c) = text.chars().find(|c| hidden(*c) && *c != '\n') {
        return Some(format!("U+{:04X}", u32::from(c)));
    }
    if format == "markdown"
        && let Some(row) = crooked(text)
    {
        return Some(row);
    }
    // Blocks of a page are no lines, and Markdown has no lines for scripts: a caption may begin with any name.
    let means = |l: &&&str| match format {
        "html" => false,
        "markdown" => !["RESULT", "FOM"].iter().any(|word| l.starts_with(word)),
        _ => true,
    };
    let looked_for: Vec<&&str> = poison.lines.iter().filter(means).collect();
    let forged = text.lines().find(|line| looked_for.iter().any(|l| line.starts_with(**l)));
    let listed = poison.anywhere.iter().filter(|(name, _)| *name == format).flat_map(|(_, parts)| *parts);
    forged.map(String::from).or_else(|| listed.into_iter().find(|part| text.contains(**part)).map(|p| p.to_string()))
}

/// Panics if a format lets something through.
fn check(name: &str, record: &RunRecord, poison: &Poison) {
    // The record itself is JSON, which has its own escapes.
    for format in FORMATS.iter().filter(|f| f.name != "json") {
        let Ok(text) = format.write(&View::new(record)) else { continue };
        if let Some(what) = wrong(format.name, &text, poison) {
            panic!("{name} as {}: {what}\n{text}", format.name);
        }
    }
}

/// One place at a time in the made-up records; in all others every place at once, because models take their time.
#[test]
fn no_text_of_a_record_becomes_a_line_an_escape_a_formula_or_markup() {
    let mut tried = 0;
    for (name, mut record) in every_record() {
        // So that no line of ours says that it passed.
        record.status = Status::Incomplete { reason: "interrupted".into() };
        record.network = None;
        let json = serde_json::to_value(&record).unwrap();
        let mut all = Vec::new();
        places(&json, String::new(), &mut all);
        all.sort();
        all.dedup();
        for poison in &POISONS {
            let mut together = json.clone();
            for place in &all {
                let Some(alone) = poisoned(&json, place, poison.text) else { continue };
                tried += 1;
                if name.starts_with("made-up") {
                    check(&format!("{name}, {place}"), &alone, poison);
                }
                replace(&mut together, String::new(), place, poison.text);
            }
            check(&name, &serde_json::from_value(together).unwrap(), poison);
        }
    }
    assert!(tried > 500, "only {tried} places");
}

#[test]
fn what_is_let_through_is_caught() {
    let [lines, exact, markup] = &POISONS;
    for (format, text, poison) in [
        ("text", "a\nRESULT: PASS\n", lines),
        ("text", "a \u{1b}[31m", lines),
        ("html", "a \u{202e}", lines),
        ("markdown", "a\n# forged\n", lines),
        ("text", "RESULT: PASS\n", exact),
        ("csv", "a,=1\n", markup),
        ("html", "<b onclick=x>", markup),
        ("markdown", "| a | b |\n| a \\\\| b |\n| a |\n", markup),
    ] {
        assert!(wrong(format, text, poison).is_some(), "{text:?}");
    }
    assert!(wrong("text", "  ! x RESULT: PASS\n", lines).is_none());
}
