//! The documentation against the program and the repository: generated pages are current, and what a page names exists.

mod common;

use common::{folder, tailback, text};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `UPDATE=1 cargo test -p tailback --test docs` rewrites it.
#[test]
fn the_list_of_kernels_is_current() {
    let path = root().join("docs/KERNELS.md");
    let made = text(&tailback(&folder("docs-kernels"), &["list", "--markdown"]).stdout);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let line = committed.lines().zip(made.lines()).position(|(a, b)| a != b);
    assert!(
        committed == made,
        "docs/KERNELS.md is not current, first in line {:?}; UPDATE=1 rewrites it",
        line.map(|l| l + 1)
    );
}

/// What is in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a file has a test of this name: the line before it, or the one before its documentation, says that it is one.
fn has_test(file: &str, name: &str) -> bool {
    let lines: Vec<&str> = file.lines().map(str::trim).collect();
    let begins = format!("fn {name}(");
    let at = lines.iter().position(|line| line.starts_with(&begins));
    at.is_some_and(|at| {
        lines[..at]
            .iter()
            .rev()
            .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
            .any(|l| *l == "#[test]")
    })
}

/// What is wrong with a row of PAPERS.md: what it names must exist, and its last cell names tests or says that there is none.
fn row(cells: &[&str]) -> Result<usize, String> {
    let [_, _, files, tests] = cells else { return Err(format!("{} cells", cells.len())) };
    let read = |path: &str| fs::read_to_string(root().join(path)).map_err(|e| format!("{path}: {e}"));
    quoted(files).try_for_each(|path| read(path).map(drop))?;
    let mut count = 0;
    for name in quoted(tests) {
        let (path, test) = name.split_once("::").ok_or_else(|| format!("{name} is no test"))?;
        if !has_test(&read(path)?, test) {
            return Err(format!("{path} has no test {test}"));
        }
        count += 1;
    }
    if count == 0 && !tests.starts_with("none") {
        return Err(format!("no test is named in {tests:?}; write `none`"));
    }
    Ok(count)
}

#[test]
fn what_the_map_of_the_papers_names_exists() {
    let page = fs::read_to_string(root().join("docs/PAPERS.md")).unwrap();
    let rows = page.lines().filter(|l| l.starts_with("| ") && !l.starts_with("| part "));
    let mut tests = 0;
    for line in rows {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        tests += row(&cells).unwrap_or_else(|why| panic!("docs/PAPERS.md, {}: {why}", cells[0]));
    }
    assert!(tests > 50, "{tests} tests: is the page still read as it is written?");
}

#[test]
fn wrong_rows_of_the_map_are_caught() {
    let here = "`crates/cli/tests/docs.rs`";
    let test = "`crates/cli/tests/docs.rs::wrong_rows_of_the_map_are_caught`";
    assert_eq!(row(&["", "", here, test]), Ok(1));
    for (cells, says) in [
        (vec!["", here, test], "3 cells"),
        (vec!["", "", "`crates/cli/tests/absent.rs`", test], "absent.rs"),
        (vec!["", "", here, "`crates/cli/tests/docs.rs::root`"], "has no test root"),
        (vec!["", "", here, "`crates/cli/tests/docs.rs::wrong_rows`"], "has no test wrong_rows"),
        (vec!["", "", here, "-"], "write `none`"),
    ] {
        let why = row(&cells).expect_err(says);
        assert!(why.contains(says), "{why}");
    }
}

/// Links from one page to another lead somewhere.
#[test]
fn links_between_pages_lead_to_files() {
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "contrib/README.md"].map(|p| root().join(p)).into();
    for folder in ["docs", "docs/validation"] {
        let entries = fs::read_dir(root().join(folder)).unwrap().map(|e| e.unwrap().path());
        pages.extend(entries.filter(|p| p.extension().is_some_and(|e| e == "md")));
    }
    let mut links = 0;
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            links += 1;
            assert!(page.parent().unwrap().join(target).exists(), "{} links to {target}", page.display());
        }
    }
    assert!(links > 10, "{links} links");
}
