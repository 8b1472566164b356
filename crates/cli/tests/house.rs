//! The house rules that a test can keep: CONTRIBUTING's table is true, names are no schema, and files and functions stay small.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// All Rust files below a folder.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(dir) = folders.pop() {
        for path in fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(root()).unwrap().display().to_string();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder} holds no sources");
    found
}

/// The kinds of thing that CONTRIBUTING must tell how to add.
const KINDS: [&str; 14] = [
    "kernel",
    "suite",
    "topology",
    "routing",
    "congestion control",
    "rule set",
    "model",
    "report format",
    "subject",
    "counter source",
    "simulated machine",
    "knob",
    "command",
    "conformance case",
];

/// Checks a row `| kind | write | N: TABLE in FILE |`: the table is declared in that file, and the folder to write in exists.
fn check_row(row: &str) -> Result<(), String> {
    let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [_, write, elsewhere] = cells.as_slice() else { return Err(format!("three cells: {row}")) };
    let mut quoted = elsewhere.split('`').skip(1).step_by(2);
    let (Some(table), Some(file)) = (quoted.next(), quoted.next()) else { return Err(format!("no table: {row}")) };
    let text = fs::read_to_string(root().join(file)).map_err(|e| format!("{file}: {e}"))?;
    let lines: usize = elsewhere.split(':').next().unwrap().parse().map_err(|_| format!("no number: {row}"))?;
    let declared = text.contains(&format!("const {table}:")) || text.contains(table);
    if !declared {
        return Err(format!("{file} has no {table}"));
    }
    // A folder's table costs a `mod` line and an entry; everything else one line.
    let modules = text.lines().any(|l| l.starts_with("mod ") || l.starts_with("pub mod "));
    if lines == 2 && !modules {
        return Err(format!("{file} has no `mod` lines, so one line must do"));
    }
    if let Some(path) = write.split('`').nth(1) {
        let folder = if path.contains('.') { Path::new(path).parent().unwrap() } else { Path::new(path) };
        if !root().join(folder).is_dir() {
            return Err(format!("{} is no folder", folder.display()));
        }
    }
    Ok(())
}

#[test]
fn contributing_tells_how_to_add_every_kind_of_thing() {
    let page = read("CONTRIBUTING.md");
    for kind in KINDS {
        let row = page.lines().find(|l| l.starts_with(&format!("| {kind}"))).unwrap_or_else(|| panic!("{kind}"));
        check_row(row).unwrap_or_else(|why| panic!("{why}"));
    }
    let wrong = "| kernel | `crates/bench/src/kernels/x.rs` | 2: `NOWHERE` in `crates/bench/src/kernels/mod.rs` |";
    assert!(check_row(wrong).is_err());
    let wrong = "| kernel | `crates/bench/src/nothing/x.rs` | 2: `KERNELS` in `crates/bench/src/kernels/mod.rs` |";
    assert!(check_row(wrong).is_err());
}

/// Whether a text holds one of these names as a string of its own outside its tests: then something is known by its name.
fn knows(text: &str, names: &[&str]) -> Option<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    for line in code.lines().map(str::trim).filter(|l| !l.starts_with("//")) {
        for name in names {
            if line.contains(&format!("\"{name}\"")) {
                return Some(format!("`{name}` in: {line}"));
            }
        }
    }
    None
}

/// Readers and the program ask types, not names. What 0.1.0 called things is told in one file.
#[test]
fn no_reader_knows_a_kernel_a_suite_or_a_phase_by_its_name() {
    let mut names: Vec<&str> = bench::kernels::names();
    names.extend(bench::SUITES.iter().map(|s| s.card.name));
    names.extend(["isolated/", "loaded/", "loaded-by-", "congestor/"]);
    // Words that mean something else as well: formats and subjects are called after what they show, and tests of HPC Challenge have
    // names of their own, which their kernels share.
    let formats = [
        "network",
        "hpcc",
        "gpcnet",
        "maxrate",
        "contention",
        "app",
        "flow",
        "pause",
        "null",
        "command",
        "congest",
        "replay",
    ];
    let tests = ["hpl", "ptrans", "random-access", "dgemm", "stream", "fft", "ping-pong"];
    let elsewhere = [&formats[..], &tests[..]].concat();
    names.retain(|n| !elsewhere.contains(n));
    for folder in ["crates/report/src", "crates/model/src", "crates/cli/src", "crates/record/src"] {
        for (file, text) in sources(folder) {
            // The first converts 0.1.0's names; the second imports another program's output under our names.
            if ["crates/record/src/legacy.rs", "crates/record/src/hpccoutf.rs"].contains(&file.as_str()) {
                continue;
            }
            if let Some(found) = knows(&text, &names) {
                panic!("{file} knows {found}");
            }
        }
    }
    assert!(knows("if phase.kernel == \"p2p-lat\" {", &names).is_some(), "the test must catch what it looks for");
}

/// Lines of each function, by the indentation that the formatter gives it.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let begins = ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "const fn ", "pub const fn ", "unsafe fn "];
        if !begins.iter().any(|b| code.starts_with(b)) || code.ends_with(';') || code.ends_with("{}") {
            continue;
        }
        let end = format!("{indent}}}");
        if let Some(length) = lines[i..].iter().position(|l| *l == end) {
            found.push((i + 1, length + 1));
        }
    }
    found
}

#[test]
fn files_and_functions_stay_small() {
    let long = format!("fn f() {{\n{}}}\n", "    x();\n".repeat(60));
    assert_eq!(functions(&long), [(1, 62)], "the test must see long functions");
    let mut wrong = Vec::new();
    for (file, text) in sources("crates") {
        if text.lines().count() > 600 {
            wrong.push(format!("{file} has {} lines, more than 600", text.lines().count()));
        }
        for (line, length) in functions(&text) {
            if length > 60 {
                wrong.push(format!("{file}:{line}: a function of {length} lines, more than 60"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
