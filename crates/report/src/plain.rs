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

/// Columns of a terminal.
pub const WIDTH: usize = 80;

/// A sentence as lines of a terminal, the first with something before it and the others with something else.
pub fn wrap(text: &str, first: &str, others: &str) -> String {
    let (mut out, mut row) = (String::new(), first.to_string());
    let mut empty = true;
    for word in line(text).split_whitespace() {
        if !empty && row.chars().count() + 1 + word.chars().count() > WIDTH {
            out += &format!("{row}\n");
            row = others.to_string();
            empty = true;
        }
        if !empty {
            row.push(' ');
        }
        row += word;
        empty = false;
    }
    out + &row + "\n"
}

/// One word of a line whose words count.
pub fn word(text: &str) -> String {
    line(text).split_whitespace().collect::<Vec<_>>().join("_")
}

/// Text that Markdown leaves alone, in a sentence or at the start of a line.
pub fn markdown(text: &str) -> String {
    let text = line(text);
    let text = text.trim();
    let number = text.chars().take_while(char::is_ascii_digit).count();
    // What would begin a list, a quotation, a rule or a heading.
    let at = match text[number..].chars().next() {
        Some('+' | '-' | '=' | '>' | '~') if number == 0 => Some(0),
        Some('.' | ')') if number > 0 && !text[number + 1..].starts_with(|c: char| !c.is_whitespace()) => Some(number),
        _ => None,
    };
    match at {
        Some(at) => format!("{}\\{}", &text[..at], within(&text[at..])),
        None => within(text),
    }
}

/// The same in a cell of a table, where nothing begins.
pub fn markdown_cell(text: &str) -> String {
    within(line(text).trim()).replace('|', "\\|")
}

/// What means something in the midst of a line, with a backslash before it; as few as will do, because people read this, too.
fn within(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.clone().next().unwrap_or(' ');
        let touches = !before.is_whitespace() || !after.is_whitespace();
        let marks = match c {
            '\\' | '`' | '<' | '#' => true,
            '*' => touches,
            // Within a word it is a letter.
            '_' => touches && !(before.is_alphanumeric() && after.is_alphanumeric()),
            // What makes a link of the brackets before it.
            ']' => matches!(after, '(' | '[' | ':'),
            '~' => after == '~' || before == '~',
            '&' => after == '#' || after.is_alphabetic(),
            _ => false,
        };
        if marks {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// A line of code in Markdown, within a fence that nothing in them can close.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}\n", line(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_become_lines_of_a_terminal() {
        let words = "ab ".repeat(40);
        let text = wrap(&words, "! ", "  ");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("! ab ab") && lines[1].starts_with("  ab"), "{text}");
        assert!(lines.iter().all(|l| l.chars().count() <= 80) && lines[0].len() > 76);
        let long = "x".repeat(100);
        assert_eq!(wrap(&format!("a {long}"), "", ""), format!("a\n{long}\n"), "a word is never cut");
        assert_eq!(wrap("", "! ", ""), "! \n");
    }

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
        for (text, plain) in [
            ("a_b <c> `d`\n#", "a_b \\<c> \\`d\\` \\#"),
            ("_a_ **b** R_C *", "\\_a\\_ \\*\\*b\\*\\* R_C *"),
            ("[a](javascript:x) [0.5, 1.0] ![i][j]", "[a\\](javascript:x) [0.5, 1.0] ![i\\][j]"),
            ("&lt; & ~~x~~ ~1", "\\&lt; & \\~\\~x\\~\\~ ~1"),
            ("- x", "\\- x"),
            ("1. x", "1\\. x"),
            ("1)", "1\\)"),
            ("1.83 ±2%", "1.83 ±2%"),
            ("> x", "\\> x"),
            ("    x", "x"),
            ("---", "\\---"),
            ("p2p-lat|", "p2p-lat|"),
        ] {
            assert_eq!(markdown(text), plain);
        }
        for (text, plain) in [("+0.0", "+0.0"), ("1|2", "1\\|2"), ("a\\|b", "a\\\\\\|b"), ("1.83 ±2%", "1.83 ±2%")] {
            assert_eq!(markdown_cell(text), plain);
        }
        assert_eq!(fenced("sh", "a ```\nb"), "````sh\na ``` b\n````\n");
    }
}
