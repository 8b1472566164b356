//! Classes of HPC Challenge's rules: what is base and what is optimized is asked for, kept and said.

mod common;

use common::{folder, tailback, text};

#[test]
fn each_number_says_its_class() {
    let dir = folder("hpcc-class");
    let tests = ["run", "hpcc", "--only", "star/stream,star/random-access,star/dgemm", "--n", "64", "--estimate", "no"];
    for (name, more, streaming, updates) in [
        ("optimized", &["--stores", "streaming"][..], "opt", "opt"),
        ("plain", &["--stores", "plain"], "base", "opt"),
        ("base", &["--class", "base"], "base", "base"),
    ] {
        let out = tailback(&dir, &[&tests[..], &["--out", name], more].concat());
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        let shown = text(&out.stdout);
        for (test, class) in [("EP-STREAM Sys", streaming), ("EP-STREAM Triad", streaming), ("EP-DGEMM", "base")] {
            let line = shown.lines().find(|l| l.trim_start().starts_with(test)).unwrap_or_else(|| panic!("{shown}"));
            assert_eq!(line.contains("(opt)"), class == "opt", "{name}: {line}");
            assert!(shown.contains("base runs."), "{shown}");
        }
        let summary = text(&tailback(&dir, &["report", name, "--format", "hpcc"]).stdout);
        let first = summary.lines().next().unwrap();
        assert_eq!(first.contains("star/stream"), streaming == "opt", "{name}: {first}");
        assert_eq!(first.contains("star/random-access"), updates == "opt", "{name}: {first}");
        assert_eq!(first == "Class of the run: base", name == "base", "{first}");
    }
}

#[test]
fn a_base_run_does_not_stream() {
    let dir = folder("hpcc-class-refused");
    let out = tailback(&dir, &["run", "hpcc", "--class", "base", "--stores", "streaming", "--out", "no"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("--stores streaming"), "{}", text(&out.stderr));
}
