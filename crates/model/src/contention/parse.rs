//! Reads contention graphs, with the line of every mistake.
//!
//! One flow per line, `[NAME:] FROM -> TO [SIZE] [@START] [after NAME]`, `#` begins a comment:
//! ```text
//! a: 1 -> 11 20MiB
//! b: 1 -> 12 4k @2.5ms      # starts 2.5 ms after everything
//! c: 2 -> 11 after a        # starts when a has ended
//! ```
//! or TOML:
//! ```toml
//! size = "20MiB"
//! [[flow]]
//! from = "1"
//! to = "11"
//! start = "2.5ms"
//! ```

use super::graph::{DEFAULT_BYTES, Flow, Graph, GraphError, MAX_FLOWS, letters};
use serde::Deserialize;
use spec::{parse_bytes, parse_time};
use std::collections::BTreeMap;
use thiserror::Error;
use toml::Spanned;

/// A file that is not a graph.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}: {reason}")]
pub struct ParseError {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong and what is expected.
    pub reason: String,
}

/// A flow as written, before names become numbers.
#[derive(Default)]
struct Written {
    line: usize,
    name: Option<String>,
    from: String,
    to: String,
    size: Option<String>,
    start: Option<String>,
    after: Option<String>,
}

/// Reads a graph in either notation: TOML if some line begins a `[[flow]]` table, else one flow per line.
pub fn read(text: &str) -> Result<Graph, ParseError> {
    let is_toml = text.lines().any(|l| l.trim_start().starts_with("[[flow]]"));
    if is_toml { read_toml(text) } else { read_lines(text) }
}

/// Reads one flow per line.
pub fn read_lines(text: &str) -> Result<Graph, ParseError> {
    let mut written = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if !content.is_empty() {
            limit(written.len(), i + 1)?;
            written.push(read_line(content, i + 1)?);
        }
    }
    build(written, None, text.lines().count().max(1))
}

fn limit(so_far: usize, line: usize) -> Result<(), ParseError> {
    if so_far >= MAX_FLOWS { Err(ParseError { line, reason: GraphError::TooMany.to_string() }) } else { Ok(()) }
}

fn read_line(content: &str, line: usize) -> Result<Written, ParseError> {
    let fail = |reason: String| ParseError { line, reason };
    let expected = "expected `[NAME:] FROM -> TO [SIZE] [@START] [after NAME]`";
    let (name, rest) = match content.split_once(':') {
        Some((name, rest)) => (Some(name.trim().to_string()), rest),
        None => (None, content),
    };
    let spaced = rest.replace("->", " ");
    let mut words = spaced.split_whitespace();
    let mut node = || words.next().map(str::to_string).ok_or_else(|| fail(format!("`{content}`: {expected}")));
    let mut flow = Written { line, name, from: node()?, to: node()?, ..Written::default() };
    while let Some(word) = words.next() {
        let slot = match word {
            "after" => {
                let after = words.next().ok_or_else(|| fail(format!("`after` names no flow; {expected}")))?;
                flow.after.replace(after.into())
            }
            w if w.starts_with('@') => flow.start.replace(w[1..].into()),
            w => flow.size.replace(w.into()),
        };
        if let Some(old) = slot {
            return Err(fail(format!("`{word}` follows `{old}`; {expected}")));
        }
    }
    Ok(flow)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    size: Option<Spanned<Quantity>>,
    flow: Vec<Spanned<Table>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    name: Option<String>,
    from: Quantity,
    to: Quantity,
    size: Option<Quantity>,
    start: Option<Quantity>,
    after: Option<String>,
}

/// `size = 4096` and `size = "4KiB"` mean the same; so do `from = 1` and `from = "1"`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Quantity {
    Whole(i64),
    Real(f64),
    Text(String),
}

impl Quantity {
    fn text(self) -> String {
        match self {
            Quantity::Whole(n) => n.to_string(),
            Quantity::Real(x) => x.to_string(),
            Quantity::Text(t) => t,
        }
    }
}

/// Reads TOML.
pub fn read_toml(text: &str) -> Result<Graph, ParseError> {
    // Counted before parsing, so that a file of ten million flows is refused without being held in memory.
    for (i, (line, _)) in text.lines().enumerate().filter(|(_, l)| l.trim_start().starts_with("[[flow]]")).enumerate() {
        limit(i, line + 1)?;
    }
    let newlines: Vec<usize> = text.bytes().enumerate().filter(|b| b.1 == b'\n').map(|b| b.0).collect();
    let line_of = |offset: usize| newlines.partition_point(|&n| n < offset) + 1;
    let file: File = toml::from_str(text).map_err(|e| ParseError {
        line: line_of(e.span().map_or(0, |s| s.start)),
        reason: e.message().replace('\n', " "),
    })?;
    let size = file.size.map(|s| (line_of(s.span().start), s.into_inner().text()));
    let written = |s: Spanned<Table>| {
        let line = line_of(s.span().start);
        let t = s.into_inner();
        Written {
            line,
            name: t.name,
            from: t.from.text(),
            to: t.to.text(),
            size: t.size.map(Quantity::text),
            start: t.start.map(Quantity::text),
            after: t.after,
        }
    };
    let flows: Vec<Written> = file.flow.into_iter().map(written).collect();
    // Flows of an inline array have no heading that was counted above.
    limit(flows.len().saturating_sub(1), text.lines().count())?;
    build(flows, size, text.lines().count().max(1))
}

/// Names become numbers, quantities are read, and the whole is checked.
fn build(written: Vec<Written>, size: Option<(usize, String)>, lines: usize) -> Result<Graph, ParseError> {
    let default = match size {
        Some((line, text)) => parse_bytes(&text).map_err(|e| ParseError { line, reason: e.to_string() })? as f64,
        None => DEFAULT_BYTES,
    };
    let mut graph = Graph::default();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for (i, w) in written.iter().enumerate() {
        let fail = |reason: String| ParseError { line: w.line, reason };
        let name = w.name.clone().unwrap_or_else(|| letters(i));
        if name.is_empty() || w.from.is_empty() || w.to.is_empty() {
            return Err(fail("a name is empty; flows and nodes need names".into()));
        }
        let mut node = |name: &String| {
            *numbers.entry(name.clone()).or_insert_with(|| {
                graph.nodes.push(name.clone());
                graph.nodes.len() - 1
            })
        };
        let (from, to) = (node(&w.from), node(&w.to));
        let bytes = w.size.as_ref().map_or(Ok(default), |t| parse_bytes(t).map(|b| b as f64));
        let start = w.start.as_ref().map_or(Ok(0.0), |t| parse_time(t).map(|t| t.secs()));
        let bytes = bytes.map_err(|e| fail(e.to_string()))?;
        let start = start.map_err(|e| fail(e.to_string()))?;
        // A name used twice is left to `check` below.
        names.entry(name.clone()).or_insert(i);
        graph.flows.push(Flow { name, from, to, bytes, start, after: None });
    }
    // In a second pass, because a flow may wait for one that is written below it.
    for (flow, w) in graph.flows.iter_mut().zip(&written) {
        if let Some(after) = &w.after {
            let error = || GraphError::After { flow: flow.name.clone(), after: after.clone() }.to_string();
            let index = names.get(after).ok_or_else(|| ParseError { line: w.line, reason: error() })?;
            flow.after = Some(*index);
        }
    }
    graph
        .check()
        .map_err(|(i, e)| ParseError { line: written.get(i).map_or(lines, |w| w.line), reason: e.to_string() })?;
    Ok(graph)
}

/// Writes a graph so that [`read`] gives it back, if names are unbroken words and sizes whole.
pub fn write(graph: &Graph) -> String {
    let line = |f: &Flow| {
        let (from, to) = (&graph.nodes[f.from], &graph.nodes[f.to]);
        // Whole picoseconds, the unit of all times that are read.
        let start = if f.start > 0.0 { format!(" @{}ps", (f.start * 1e12).round()) } else { String::new() };
        let after = f.after.map_or(String::new(), |a| format!(" after {}", graph.flows[a].name));
        format!("{}: {from} -> {to} {}{start}{after}\n", f.name, f.bytes.round())
    };
    graph.flows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations_mean_the_same() {
        let lines = read("# Figure\na: 1 -> 11 4k\nb: 1->12 @2.5ms\n\nc: 2 11 8 after a\n").unwrap();
        let toml = "size = \"20MiB\"\n[[flow]]\nname = \"a\"\nfrom = 1\nto = \"11\"\nsize = \"4k\"\n[[flow]]\nfrom = 1\n\
            to = 12\nstart = \"2.5ms\"\n[[flow]]\nname = \"c\"\nfrom = 2\nto = 11\nsize = 8\nafter = \"a\"\n";
        assert_eq!(lines, read(toml).unwrap());
        assert_eq!((lines.flows[0].bytes, lines.flows[1].bytes, lines.flows[1].start), (4096.0, DEFAULT_BYTES, 2.5e-3));
        assert_eq!((lines.flows[2].after, lines.nodes.len()), (Some(0), 4));
        assert_eq!(read(&write(&lines)).unwrap(), lines);
    }

    #[test]
    fn mistakes_have_lines() {
        for (text, line, word) in [
            ("", 1, "at least one flow"),
            ("a -> b\nc -> c\n", 2, "itself"),
            ("a -> b -5\n", 1, "`-5` is not a size"),
            ("a -> b nan\n", 1, "`nan` is not a size"),
            ("a -> b 1k @-3s\n", 1, "is not a time"),
            ("x: a -> b\n\nx: b -> c\n", 3, "used twice"),
            ("x: a -> b after y\ny: a -> c after x\n", 1, "cycle"),
            ("x: a -> b after z\n", 1, "not a flow"),
            ("a\n", 1, "expected"),
            (": a -> b\n", 1, "empty"),
            ("a -> b 1 2\n", 1, "follows"),
            ("a -> b after\n", 1, "names no flow"),
            ("[[flow]]\nfrom = 1\nto = 1\n", 1, "itself"),
            ("[[flow]]\nfrom = 1\nto = 2\nsize = -4\n", 1, "`-4` is not a size"),
            ("[[flow]]\nfrom = 1\nto = 2\nsize = nan\n", 1, "not a size"),
            ("[[flow]]\nfrom = 1\ntwo = 2\n", 3, "unknown field"),
            ("size = \"x\"\n[[flow]]\nfrom = 1\nto = 2\n", 1, "`x` is not a size"),
        ] {
            let e = read(text).unwrap_err();
            assert!(e.line == line && e.reason.contains(word), "{text:?}: {e}");
        }
    }

    #[test]
    fn ten_million_edges_are_refused_at_the_line_that_is_too_many() {
        let text = "a b\n".repeat(MAX_FLOWS + 5);
        assert_eq!(read(&text).unwrap_err().line, MAX_FLOWS + 1);
        let text = "[[flow]]\n".repeat(MAX_FLOWS + 5);
        assert_eq!(read(&text).unwrap_err().line, MAX_FLOWS + 1);
    }
}
