//! Reports, comparisons and histories from outside: one simulated run, looked at in every way.

mod common;

use common::{folder, tailback, text};
use std::fs;
use std::path::Path;
use std::process::Output;

fn run(dir: &Path, out: &str, more: &[&str]) -> Output {
    let quick = ["run", "gpcnet", "--rounds", "6", "--cut", "50", "--time", "5ms", "--quiet", "--out", out];
    tailback(dir, &[&quick, more].concat())
}

#[test]
fn every_run_leaves_a_page() {
    let dir = folder("compare-page");
    assert_eq!(run(&dir, "one", &["--nodes", "10"]).status.code(), Some(0));
    let page = fs::read_to_string(dir.join("one/report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg") && page.len() < 500_000);
    let again = tailback(&dir, &["report", "one", "--format", "html"]);
    assert_eq!(text(&again.stdout), page);
}

#[test]
fn comparisons_say_what_differs_and_thresholds_decide_the_exit_code() {
    let dir = folder("compare-verdict");
    run(&dir, "a", &["--nodes", "10"]);
    run(&dir, "b", &["--nodes", "12"]);
    let same = tailback(&dir, &["compare", "a", "a"]);
    let (code, stdout) = (same.status.code(), text(&same.stdout));
    assert_eq!(code, Some(0), "{}", text(&same.stderr));
    assert!(stdout.contains("Verdict: 0 worse, 0 better") && !stdout.contains("NOT ALIKE"), "{stdout}");
    let other = text(&tailback(&dir, &["compare", "a", "b"]).stdout);
    assert!(other.contains("NOT ALIKE") && other.contains("size: 10 nodes"), "{other}");
    for (limit, code) in [("gpcnet.p2p-lat.impact < 100000", 0), ("gpcnet.p2p-lat.impact < 0.001", 3)] {
        let out = tailback(&dir, &["compare", "a", "--require", "gpcnet.p2p-lat.isolated.avg > 0", "--require", limit]);
        assert_eq!(out.status.code(), Some(code), "{}", text(&out.stdout));
        assert_eq!(text(&out.stdout).contains("MISSED"), code == 3);
    }
    let with = text(&tailback(&dir, &["compare", "a", "--with", "summit", "--format", "markdown"]).stdout);
    assert!(with.contains("| Summit 4500 x 21 |"), "{with}");
}

/// What the original HPC Challenge wrote stands beside a run of ours: sizes must agree, named numbers are set against each other.
#[test]
fn the_originals_output_is_a_run() {
    let dir = folder("compare-original");
    let ours = ["run", "hpcc", "--on", "default", "--nodes", "2", "--ranks-per-node", "1", "--n", "100", "--nb", "20"];
    let ours = tailback(&dir, &[&ours[..], &["--only", "hpl,ring-latency", "--quiet", "--out", "ours"]].concat());
    assert_eq!(ours.status.code(), Some(0), "{}", text(&ours.stderr));
    let summary = |n: &str| {
        format!(
            "Hostname: 'zeus'\nBegin of Summary section.\nCommWorldProcs=2\nSuccess=1\nHPL_Tflops=0.001\nHPL_N={n}\nHPL_NB=20\n\
             HPL_time=1\nRandomlyOrderedRingLatency_usec=4\nEnd of Summary section.\n"
        )
    };
    fs::write(dir.join("hpccoutf.txt"), summary("100")).unwrap();
    let stdout = text(&tailback(&dir, &["compare", "hpccoutf.txt", "ours"]).stdout);
    assert!(stdout.contains("NOT ALIKE") && stdout.contains("Tailback: none against"), "{stdout}");
    for (test, number) in [("mpi/hpl", "flops_per_s"), ("mpi/ring-latency", "random_latency_s")] {
        let line = |l: &&str| l.trim_start().starts_with(test) && l.contains(number);
        assert!(stdout.lines().any(|l| line(&l)), "{test} {number}: {stdout}");
    }
    fs::write(dir.join("hpccoutf.txt"), summary("200")).unwrap();
    let stdout = text(&tailback(&dir, &["compare", "hpccoutf.txt", "ours"]).stdout);
    assert!(stdout.contains("mpi/hpl: n 200 against 100"), "{stdout}");
    fs::write(dir.join("hpccoutf.txt"), "Begin of Summary section.\n").unwrap();
    let broken = tailback(&dir, &["report", "hpccoutf.txt"]);
    assert_eq!(broken.status.code(), Some(2));
    assert!(text(&broken.stderr).contains("CommWorldProcs"), "{}", text(&broken.stderr));
}

/// Published systems of HPC Challenge, and a table of a user's own, stand beside a run in `compare` and on its page.
#[test]
fn published_systems_and_own_tables_stand_beside_a_run() {
    let dir = folder("compare-systems");
    let hpcc = ["run", "hpcc", "--on", "default", "--nodes", "2", "--ranks-per-node", "1", "--n", "100", "--nb", "20"];
    let ran = tailback(&dir, &[&hpcc[..], &["--only", "hpl,stream", "--quiet", "--out", "ours"]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let head = "source,system,nodes,ppn,HPL_Tflops,StarSTREAM_Triad\n";
    fs::write(dir.join("table.csv"), format!("{head}\"Table 1, page 9\",Old One,10,4,0.5,2\n")).unwrap();
    let both = ["compare", "ours", "--with", "vaughan", "--with", "table.csv", "--format", "markdown"];
    let stdout = text(&tailback(&dir, &both).stdout);
    let row = |name: &str| stdout.lines().find(|l| l.contains(name)).unwrap_or_else(|| panic!("{name}: {stdout}"));
    assert!(row("Result").contains("Vaughan 24 x 64 | Old One 10 x 4"), "{stdout}");
    // 2 GB/s of each of 40 ranks over 0.5 Tflop/s.
    assert!(row("STREAM Triad of all ranks / HPL").ends_with("0.16 |"), "{stdout}");
    let page = text(&tailback(&dir, &["report", "ours", "--with", "table.csv", "--format", "html"]).stdout);
    assert!(page.contains(">Old One 10 x 4<") && page.contains("Table 1, page 9") && page.contains(">Kiviat<"));
    fs::write(dir.join("wrong.csv"), format!("{head}a,b,10,4,much,2\n")).unwrap();
    run(&dir, "gpcnet", &["--nodes", "10"]);
    for (args, says) in [
        (vec!["compare", "ours", "--with", "wrong.csv"], "line 2: HPL_Tflops `much`"),
        (vec!["compare", "ours", "--with", "absent.csv"], "absent.csv"),
        (vec!["compare", "ours", "--with", "summit"], "no published result of HPC Challenge; those that have: leibniz"),
        (vec!["compare", "gpcnet", "--with", "leibniz"], "no published result of GPCNeT"),
        (vec!["report", "gpcnet", "--with", "leibniz", "--format", "html"], "none of the runs"),
        (vec!["report", "ours", "--with", "leibniz"], "--format html"),
    ] {
        let out = tailback(&dir, &args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
    }
}

#[test]
fn mistakes_exit_with_2_and_say_what_is_known() {
    let dir = folder("compare-mistakes");
    run(&dir, "a", &["--nodes", "10"]);
    for (args, says) in [
        (vec!["compare", "a"], "--require"),
        (vec!["compare", "a", "--with", "sumit"], "`summit`"),
        (vec!["compare", "a", "--require", "nonsense"], "impact99 < 2"),
        (vec!["compare", "a", "--require", "gpcnet.p2p-lat.impct < 2"], "gpcnet.p2p-lat.impact"),
        (vec!["compare", "a", "a", "--matters", "much"], "--matters much"),
    ] {
        let out = tailback(&dir, &args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
    }
}

#[test]
fn a_history_groups_what_can_be_compared_and_names_what_it_left_out() {
    let dir = folder("compare-history");
    for seed in ["1", "2", "3", "4", "5"] {
        run(&dir, &format!("runs/{seed}"), &["--nodes", "10", "--seed", seed]);
    }
    run(&dir, "runs/large", &["--nodes", "12"]);
    fs::create_dir_all(dir.join("runs/broken")).unwrap();
    fs::write(dir.join("runs/broken/run.json"), "{").unwrap();
    let out = tailback(&dir, &["history", "runs", "--merit", "p2p-lat.impact"]);
    let stdout = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(stdout.contains("1 run, ") && stdout.contains("5 runs, "), "{stdout}");
    assert!(stdout.contains("12 nodes") && stdout.contains("left out: ") && stdout.contains("as usual"), "{stdout}");
    assert_eq!(tailback(&dir, &["history", "nowhere"]).status.code(), Some(1));
}

#[test]
fn acceptance_says_met_missed_and_not_there_and_pipelines_can_read_it() {
    let dir = folder("compare-accept");
    run(&dir, "a", &["--nodes", "10"]);
    let accept = |file: &str, format: &str| {
        fs::write(dir.join("site.toml"), file).unwrap();
        tailback(&dir, &["accept", "site.toml", "a", "--format", format])
    };
    let good = "reference = \"a\"\n[[require]]\nfigure = \"gpcnet.*.isolated.avg\"\nat_most = \"1.5 x reference\"\n";
    let out = accept(good, "text");
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(
        text(&out.stdout).ends_with("ACCEPTED: 3 met, 0 missed, 0 not sure, 0 not there\n"),
        "{}",
        text(&out.stdout)
    );
    let bad = format!(
        "{good}[[require]]\nfigure = \"gpcnet.p2p-lat.impact\"\nbelow = 0.001\n[[require]]\nfigure = \"hpcc.hpl\"\nabove = \"1 Tflop/s\"\n"
    );
    let out = accept(&bad, "junit");
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stderr));
    assert!(text(&out.stdout).contains("tests=\"5\" failures=\"2\""), "{}", text(&out.stdout));
    let json: serde_json::Value = serde_json::from_str(&text(&accept(&bad, "json").stdout)).unwrap();
    assert_eq!((&json["accepted"], &json["requirements"][4]["outcome"]), (&false.into(), &"not-there".into()));
    let system = "reference = \"Malbec 485 x 20\"\n[[require]]\nfigure = \"gpcnet.p2p-lat.isolated.avg\"\nat_most = \"100 x reference\"\n";
    assert_eq!(accept(system, "text").status.code(), Some(0));
    for (file, says) in [
        ("reference = \"summit\"\n[[require]]\nfigure = \"x\"\nbelow = 1", "several are published"),
        ("reference = \"nowhere\"\n[[require]]\nfigure = \"x\"\nbelow = 1", "no such run"),
        ("[[require]]\nfigure = \"x\"", "line 1: `x` has no limit"),
    ] {
        let out = accept(file, "text");
        assert_eq!(out.status.code(), Some(2), "{file}");
        assert!(text(&out.stderr).contains(says), "{file}: {}", text(&out.stderr));
    }
}
