//! Runs in which what was asked for did not run: none passes, each says why, and the exit code tells a script.

mod common;

use bench::SUITES;
use common::{folder, tailback, text};
use std::fs;
use std::path::Path;

/// A command, its exit code, what its last line on stdout says (nothing: no report), and what it says on stdout or stderr.
type Case<'a> = (&'a [&'a str], i32, &'a str, &'a [&'a str]);

const QUICK: [&str; 6] = ["--rounds", "3", "--cut", "50", "--time", "2ms"];

fn check(dir: &Path, (args, code, result, says): Case<'_>) {
    let quick: &[&str] = if args.get(1) == Some(&"gpcnet") { &QUICK } else { &[] };
    let out = tailback(dir, &[args, quick].concat());
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    let said = format!("{args:?}\n{stdout}{stderr}");
    assert_eq!(out.status.code(), Some(code), "{said}");
    assert!(!stdout.contains("RESULT: PASS"), "{said}");
    match result {
        "" => assert!(!stdout.contains("RESULT"), "{said}"),
        word => assert!(stdout.ends_with(&format!("RESULT: {word}\n")), "{said}"),
    }
    for words in says {
        assert!(said.contains(words), "`{words}` is not said by {said}");
    }
}

#[test]
fn what_finds_no_room_is_said_before_the_run_and_in_the_report() {
    let dir = folder("not-run-room");
    let all: &[Case<'_>] = &[
        (
            &["run", "gpcnet", "--nodes", "2"],
            5,
            "INCOMPLETE",
            &["congestor a2a did not run", "10 nodes hold all of them"],
        ),
        (&["run", "gpcnet", "--nodes", "3"], 5, "INCOMPLETE", &["congestor get-bcast did not run", "0 nodes load"]),
        (
            &["run", "gpcnet", "--nodes", "8"],
            5,
            "INCOMPLETE",
            &[
                "congestor get-bcast did not run: 6 nodes load, and each of 4 congestors needs 2; 10 nodes hold all of them",
            ],
        ),
        (&["run", "gpcnet", "--nodes", "4", "--congestors", "a2a,a2a"], 5, "INCOMPLETE", &["6 nodes hold all"]),
        (&["run", "gpcnet", "--nodes", "10", "--share", "10%"], 5, "INCOMPLETE", &["0 nodes load"]),
        (&["run", "gpcnet", "--nodes", "8", "--share", "100%"], 2, "", &["share=100%", "at most --share 75%"]),
        (&["congest", "--nodes", "4", "--time", "1ms"], 5, "INCOMPLETE", &["congestor put-incast did not run"]),
        (
            &["run", "hpcc", "--on", "local", "--only", "stream,latency", "--n", "64"],
            5,
            "INCOMPLETE",
            &["needs 2 ranks"],
        ),
    ];
    all.iter().for_each(|case| check(&dir, *case));
    // What was dropped is a row of the report, and of the page.
    let page = fs::read_to_string(dir.join("tailback-runs/gpcnet-0003/report.html")).unwrap();
    assert!(page.contains("INCOMPLETE") && page.contains("congestor get-bcast"));
}

#[test]
fn what_measures_nothing_exits_with_77() {
    let dir = folder("not-run-nothing");
    let plan = text(&tailback(&dir, &["run", "harness", "--plan-only"]).stdout);
    let mut plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let job = &mut plan["phases"][0]["jobs"][0];
    (job["kernel"], job["params"]) = ("command".into(), serde_json::json!({ "run": "true" }));
    plan["phases"].as_array_mut().unwrap().truncate(1);
    fs::write(dir.join("plan.json"), plan.to_string()).unwrap();
    let all: &[Case<'_>] = &[
        (&["app", "--", "true"], 77, "", &["no processes", "`true`", "under MPI"]),
        (&["app", "--", "false"], 77, "", &["no processes", "`false`"]),
        (&["app", "--on", "local", "--", "true"], 77, "", &["at least 4 nodes", "has 1"]),
        (&["run", "--plan", "plan.json", "--allow-commands"], 77, "SKIPPED", &["commands run on real machines only"]),
        (&["run", "hpcc", "--on", "local", "--only", "latency"], 77, "", &["needs 2 ranks", "more ranks"]),
        (&["history", "."], 77, "", &["no run under", "figure of merit"]),
    ];
    all.iter().for_each(|case| check(&dir, *case));
    check(&folder("not-run-empty"), (&["history", "."], 77, "", &["no record of a run"]));
    assert!(!dir.join("tailback-runs/app-0001").exists(), "what is refused leaves no folder behind");
}

/// On one node of one rank a suite measures, or says why it does not.
#[test]
fn every_suite_on_one_node_measures_or_says_why() {
    let dir = folder("not-run-alone");
    for suite in SUITES {
        let tiny: Vec<String> = suite.tiny.iter().map(|(name, value)| format!("--{name}={value}")).collect();
        let fixed = ["run", suite.card.name, "--nodes", "1", "--ranks-per-node", "1", "--on", "default", "--quiet"];
        let out = tailback(&dir, &fixed.into_iter().chain(tiny.iter().map(String::as_str)).collect::<Vec<_>>());
        let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
        match out.status.code() {
            Some(0) => assert!(stdout.ends_with("RESULT: PASS\n"), "{}: {stdout}", suite.card.name),
            // Some of what its small parameters name needs a second rank.
            Some(5) => assert!(stdout.contains("Asked for, and did not run"), "{}: {stdout}", suite.card.name),
            Some(77) => assert!(stdout.is_empty() && stderr.starts_with("tailback: "), "{}: {stderr}", suite.card.name),
            other => panic!("{}: {other:?}\n{stdout}{stderr}", suite.card.name),
        }
    }
}

#[test]
fn runs_with_nothing_in_common_are_not_compared() {
    let dir = folder("not-run-compare");
    let run = |args: &[&str]| assert_eq!(tailback(&dir, args).status.code(), Some(0), "{args:?}");
    run(&[&["run", "gpcnet", "--nodes", "10", "--out", "a"], &QUICK[..]].concat());
    run(&["run", "harness", "--out", "b"]);
    check(&dir, (&["compare", "a", "b"], 77, "", &["Nothing can be compared", "no test in common"]));
    check(&dir, (&["history", ".", "--merit", "nothing"], 77, "", &["`nothing`"]));
}

/// A folder in the place of the page: the record can be written, the page cannot.
#[test]
fn what_is_not_saved_does_not_pass() {
    let dir = folder("not-run-unsaved");
    fs::create_dir_all(dir.join("out/report.html")).unwrap();
    let says: &[&str] = &["the page is not saved", "report.html"];
    check(&dir, (&["run", "gpcnet", "--nodes", "10", "--out", "out", "--force"], 5, "INCOMPLETE", says));
    assert!(dir.join("out/run.json").exists(), "the record itself is there");
}

/// A device that is always full, where there is one.
#[test]
fn a_report_that_cannot_be_written_is_a_failure() {
    let Ok(full) = fs::File::options().write(true).open("/dev/full") else { return };
    let dir = folder("not-run-full");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tailback"));
    command.current_dir(&dir).args(["run", "gpcnet", "--nodes", "10", "--on", "default"]).args(QUICK).stdout(full);
    let out = command.output().unwrap();
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("No space left"), "{}", text(&out.stderr));
}
