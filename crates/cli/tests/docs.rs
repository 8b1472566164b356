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

/// Every `path/to/file.rs` of PAPERS.md is a file, and every `file.rs::name` a function in it.
#[test]
fn what_the_map_of_the_papers_names_exists() {
    let page = fs::read_to_string(root().join("docs/PAPERS.md")).unwrap();
    let (mut files, mut functions) = (0, 0);
    for name in page.split('`').skip(1).step_by(2).filter(|name| name.contains('/') && name.contains('.')) {
        let (path, function) = name.split_once("::").map_or((name, None), |(path, function)| (path, Some(function)));
        let file = fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("docs/PAPERS.md names {name}: {e}"));
        files += 1;
        if let Some(function) = function {
            functions += 1;
            assert!(
                file.contains(&format!("fn {function}(")),
                "docs/PAPERS.md names {name}; {path} has no such function"
            );
        }
    }
    assert!(
        files > 60 && functions > 40,
        "{files} files and {functions} functions: is the page still read as it is written?"
    );
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
