//! Text that was written elsewhere, as it may be shown: names in records come from anywhere, and must not become escapes, lines, formulas or
//! markup of ours. (HTML and SVG have an `escape` of their own, OpenMetrics and CSV their quotes.)

use record::hidden;
use std::fmt::Write;

/// Text as part of one line: nothing in it can end the line or speak to the terminal.
pub fn line(text: &str) -> String {
    shown(text, |c| matches!(c, '\n' | '\r' | '\t').then_some(' '))
}

/// A document whose lines and columns are ours, without anything else that a terminal obeys. What is replaced reads as JSON writes it, so
/// that JSON stays the same JSON.
pub fn screen(text: &str) -> String {
    shown(text, |c| matches!(c, '\n' | '\t').then_some(c))
}

fn shown(text: &str, known: fn(char) -> Option<char>) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match known(c) {
            Some(c) => out.push(c),
            None if hidden(c) => drop(write!(out, "\\u{:04x}", u32::from(c))),
            None => out.push(c),
        }
    }
    out
}

/// One word of a line whose words count.
pub fn word(text: &str) -> String {
    line(text).split_whitespace().collect::<Vec<_>>().join("_")
}

/// Text that Markdown leaves alone, at the start of a line and within one, in a table too.
pub fn markdown(text: &str) -> String {
    let text = line(text);
    let text = text.trim();
    let mut out = String::new();
    // What would begin a list, a rule or a heading.
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    for (i, c) in text.chars().enumerate() {
        let begins = (i == 0 && matches!(c, '+' | '-' | '='))
            || (i > 0 && i == digits && matches!(c, '.' | ')') && text[i + 1..].starts_with(' '));
        if begins || matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Lines of code in Markdown, within a fence that nothing in them can close.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n", screen(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_line_and_says_nothing_to_the_terminal() {
        assert_eq!(line("a\nRESULT: PASS\r\tb"), "a RESULT: PASS  b");
        assert_eq!(line("\u{1b}[31m\u{9b}2J\u{7f}"), "\\u001b[31m\\u009b2J\\u007f");
        assert_eq!(line("abc\u{202e}cba\u{2066}\u{2028}"), "abc\\u202ecba\\u2066\\u2028");
        assert_eq!(line("±2 % µs häufig"), "±2 % µs häufig");
        assert_eq!(word(" a b\n1 us "), "a_b_1_us");
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({ "a": "\u{7f}\u{9b}\u{202e}\n\u{1b} \\ \"" });
        let text = screen(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.contains(|c| hidden(c) && c != '\n'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn markdown_leaves_it_alone() {
        assert_eq!(markdown("a_b <c> `d`\n#"), "a\\_b \\<c\\> \\`d\\` \\#");
        assert_eq!(markdown("1|2 & 3"), "1\\|2 \\& 3");
        assert_eq!(
            (markdown("- x"), markdown("1. x"), markdown("    x")),
            ("\\- x".into(), "1\\. x".into(), "x".into())
        );
        assert_eq!((markdown("1.83 ±2%"), markdown("p2p-lat")), ("1.83 ±2%".into(), "p2p-lat".into()));
        assert_eq!(markdown("---"), "\\---");
        assert_eq!(fenced("sh", "a ```\nb"), "````sh\na ```\nb\n````\n");
    }
}
