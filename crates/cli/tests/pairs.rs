//! The slow part of a network is found and named, and a sound one has none.

mod common;

use common::{folder, tailback, text};
use std::fs;

/// A tree of four leaves with four nodes each and four spines, and what is wrong with it.
fn machine(fault: &str) -> String {
    let sound = "nodes = 16\nranks_per_node = 1\n[topology]\nkind = \"fat-tree\"\nlevels = 2\nradix = 8\n";
    format!("{sound}{fault}")
}

#[test]
fn a_slow_node_and_a_slow_cable_are_named() {
    let dir = folder("pairs");
    for (name, fault, code, says) in [
        ("sound", "", 0, "No part stands out"),
        ("node", "[[fault]]\nlink = \"endpoint 9\"\nrate = \"3GB/s\"\n", 3, "Nodes to take out of service: node 9"),
        ("cable", "[[fault]]\nlink = \"1-5\"\nrate = \"1GB/s\"\n", 3, "the switch of node 4, node 5, node 6, node 7"),
    ] {
        let file = format!("{name}.toml");
        fs::write(dir.join(&file), machine(fault)).unwrap();
        let out = tailback(&dir, &["run", "all-pairs", "--on", &file, "--quiet", "--out", name]);
        let words = text(&out.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(out.status.code(), Some(code), "{name}: {words} {}", text(&out.stderr));
        assert!(words.contains(says), "{name}: {words}");
        let again = tailback(&dir, &["report", name]);
        assert_eq!(again.status.code(), Some(code), "{name}");
    }
}
