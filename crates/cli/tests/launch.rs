//! `tailback launch`: the script is checked before it is printed, and does what it says.

mod common;

use common::{folder, tailback, text};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const QUICK: [&str; 9] = ["--", "gpcnet", "--rounds", "3", "--cut", "100", "--time", "2ms", "--quiet"];

fn script(dir: &Path, more: &[&str]) -> String {
    let args: Vec<&str> = ["launch", "--nodes", "10"].into_iter().chain(more.iter().copied()).chain(QUICK).collect();
    let out = tailback(dir, &args);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    text(&out.stdout)
}

/// The script as a batch system runs it; the ranks are simulated, because nothing launches them.
fn run(dir: &Path, script: &str) -> Output {
    fs::write(dir.join("job.sh"), script).unwrap();
    Command::new("bash").arg("job.sh").current_dir(dir).env("SLURM_JOB_ID", "7").output().unwrap()
}

#[test]
fn the_script_asks_for_what_it_was_told() {
    let more = [
        "--partition",
        "big one",
        "--account",
        "a",
        "--limit",
        "90m",
        "--sbatch=--constraint=x",
        "--before",
        "module load mpi",
    ];
    let text = script(&folder("launch-script"), &more);
    for line in [
        "#!/bin/bash",
        "#SBATCH --job-name=tailback-gpcnet",
        "#SBATCH --nodes=10",
        "#SBATCH --time=90",
        "#SBATCH --partition=big one",
        "#SBATCH --constraint=x",
        "module load mpi",
        "for per_node in 1 $(((cores + 1) / 2)) $cores; do",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
    let options = text.find("#SBATCH").unwrap()..text.rfind("#SBATCH").unwrap();
    assert!(text[options].lines().all(|l| l.starts_with("#SBATCH")), "sbatch stops reading at the first command");
}

#[test]
fn the_script_runs_the_suite_once_for_each_count_and_makes_one_page() {
    let dir = folder("launch-run");
    let text_of = script(
        &dir,
        &["--ranks-per-node", "1,2,1", "--launcher", "env R={ranks} P={per-node} N={nodes}", "--out", "my runs"],
    );
    let out = run(&dir, &text_of);
    let stdout = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{stdout}{}", text(&out.stderr));
    assert_eq!(stdout.matches("RESULT: PASS").count(), 2, "a count given twice runs once");
    for place in ["1-per-node/run.json", "2-per-node/run.json", "report.html"] {
        assert!(dir.join("my runs/gpcnet-7").join(place).exists(), "{place}");
    }
}

#[test]
fn a_run_that_fails_makes_the_job_fail_and_the_others_run() {
    let dir = folder("launch-fail");
    let text_of =
        script(&dir, &["--ranks-per-node", "1,2", "--launcher", "sh -c '[ $0 = 2 ] || exit 6; \"$@\"' {per-node}"]);
    let out = run(&dir, &text_of);
    assert_eq!(out.status.code(), Some(6), "{}", text(&out.stderr));
    assert!(dir.join("tailback-runs/gpcnet-7/2-per-node/run.json").exists());
}

#[test]
fn what_a_rank_would_refuse_is_refused_before_the_job_waits() {
    let dir = folder("launch-mistakes");
    let refused = |args: &[&str], says: &str| {
        let out = tailback(&dir, &[&["launch"], args].concat());
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
        assert!(out.stdout.is_empty(), "{args:?}");
    };
    refused(&["--", "gpcnet"], "--nodes");
    refused(&["--nodes", "10"], "SUITE");
    refused(&["--nodes", "10", "--", "gpcnett"], "gpcnet");
    refused(&["--nodes", "10", "--", "gpcnet", "--time", "soon"], "soon");
    refused(&["--nodes", "1", "--ranks-per-node", "1", "--", "gpcnet"], "at least 2 nodes");
    refused(&["--nodes", "10", "--ranks-per-node", "x", "--", "gpcnet"], "`x`");
    refused(&["--nodes", "10", "--limit", "x", "--", "gpcnet"], "x");
    refused(&["--nodes", "10", "--launcher", "mpirun -n {n}", "--", "gpcnet"], "{n}");
    refused(&["--nodes", "10", "--", "gpcnet", "--out", "x"], "--out");
    refused(&["--nodes", "10", "--", "gpcnet", "--on", "summit"], "--on");
    refused(&["--nodes", "1000000", "--ranks-per-node", "1000000", "--", "gpcnet"], "more ranks");
}

#[test]
fn without_sbatch_the_remedy_is_named() {
    let dir = folder("launch-submit");
    let args = ["launch", "--nodes", "10", "--ranks-per-node", "1", "--submit", "--", "gpcnet"];
    let out =
        Command::new(env!("CARGO_BIN_EXE_tailback")).args(args).current_dir(&dir).env("PATH", &dir).output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("leave out --submit"), "{}", text(&out.stderr));
}
