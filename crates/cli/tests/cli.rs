//! The program from outside: what it prints, where, and with which exit code. Tests of a new command go here.

mod common;

use common::{folder, tailback, text};
use std::fs;
use std::process::Output;

const QUICK: [&str; 8] = ["--rounds", "6", "--cut", "50", "--nodes", "10", "--time", "5ms"];

fn quick<'a>(suite: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    ["run", suite].into_iter().chain(QUICK).chain(more.iter().copied()).collect()
}

#[test]
fn alone_it_shows_the_first_command_to_try() {
    let out = tailback(&folder("cli-alone"), &[]);
    assert_eq!(out.status.code(), Some(0));
    assert!(text(&out.stdout).contains("tailback run gpcnet"));
}

#[test]
fn a_run_prints_results_on_stdout_and_progress_on_stderr() {
    let dir = folder("cli-streams");
    let out = tailback(&dir, &quick("gpcnet", &[]));
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(0), "{stderr}");
    assert!(stdout.contains("(simulated") && stdout.ends_with("RESULT: PASS\n"), "{stdout}");
    assert!(stdout.lines().count() <= 24 && stdout.lines().all(|l| l.chars().count() <= 80), "one screen:\n{stdout}");
    assert!(stderr.contains("run.json") && stderr.contains("placements done: 30/30"));
    assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'), "no colours into a pipe");
    let record = dir.join("tailback-runs/gpcnet-0001/run.json");
    let again = tailback(&dir, &["report", record.to_str().unwrap()]);
    assert_eq!(text(&again.stdout), stdout);
    let merits = tailback(&dir, &["report", "--format", "fom", record.to_str().unwrap()]);
    assert!(text(&merits.stdout).lines().filter(|l| l.starts_with("FOM gpcnet.p2p-lat.")).count() >= 4);
    let long = text(&tailback(&dir, &["report", "-v", record.to_str().unwrap()]).stdout);
    assert!(long.contains("What the congestors moved") && long.ends_with("RESULT: PASS\n"), "{long}");
    // The next run gets a folder of its own.
    tailback(&dir, &quick("gpcnet", &[]));
    assert!(dir.join("tailback-runs/gpcnet-0002/run.json").exists());
}

#[test]
fn a_printed_plan_runs_and_gives_the_same_numbers() {
    let dir = folder("cli-plan");
    let plan = tailback(&dir, &quick("gpcnet", &["--plan-only"]));
    fs::write(dir.join("plan.json"), &plan.stdout).unwrap();
    let merits =
        |out: Output| text(&out.stdout).lines().filter(|l| l.starts_with("FOM")).map(String::from).collect::<Vec<_>>();
    let by_suite = merits(tailback(&dir, &quick("gpcnet", &["--format", "fom"])));
    let by_plan = merits(tailback(&dir, &["run", "--plan", "plan.json", "--nodes", "10", "--format", "fom"]));
    assert!(!by_suite.is_empty());
    assert_eq!(by_suite, by_plan);
    // Names of phases are labels: with others the numbers and their names are the same.
    let mut renamed: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
    for (i, phase) in renamed["phases"].as_array_mut().unwrap().iter_mut().enumerate() {
        phase["name"] = format!("mine {i}").into();
    }
    fs::write(dir.join("renamed.json"), renamed.to_string()).unwrap();
    let by_renamed = merits(tailback(&dir, &["run", "--plan", "renamed.json", "--nodes", "10", "--format", "fom"]));
    assert_eq!(by_suite, by_renamed);
}

#[test]
fn the_originals_layout_can_be_printed() {
    let out = tailback(&folder("cli-layout"), &quick("gpcnet", &["--format", "gpcnet"]));
    let stdout = text(&out.stdout);
    assert!(stdout.starts_with("NetworkLoad Tests v1.3\n  Test with "), "{stdout}");
    let rows: Vec<&str> = stdout.lines().filter(|l| l.starts_with(['+', '|'])).collect();
    assert!(rows.len() > 25 && rows.iter().all(|l| l.len() == 80), "{stdout}");
}

#[test]
fn mistakes_name_the_value_and_the_near_names_and_exit_with_2() {
    let dir = folder("cli-mistakes");
    fs::write(dir.join("bad.toml"), "nodes = 4\nswich = 1\n").unwrap();
    fs::write(dir.join("bad.json"), "{}").unwrap();
    for (args, says) in [
        (vec!["run", "gpcnett"], "gpcnet"),
        (vec!["run", "gpcnet", "--canaries", "p2plat"], "did you mean `p2p-lat`"),
        (vec!["run", "gpcnet", "--time", "soon"], "soon"),
        (vec!["run", "gpcnet", "--seed", "x"], "--seed x"),
        (vec!["run", "gpcnet", "--on", "sumit"], "sumit"),
        (vec!["run", "gpcnet", "--on", "bad.toml"], "swich"),
        (vec!["run", "gpcnet", "--nodes", "0"], "0"),
        (vec!["run", "--plan", "bad.json"], "bad.json"),
        (vec!["run"], "say what to run"),
        (vec!["report", "x.json", "--format", "htm"], "htm"),
    ] {
        let out = tailback(&dir, &args);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
        assert!(out.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn files_that_cannot_be_read_or_written_are_named() {
    let dir = folder("cli-files");
    fs::write(dir.join("run.json"), "{\"format\": \"other\"}").unwrap();
    for (args, says) in [
        (vec!["report", "nothing.json"], "nothing.json"),
        (vec!["report", "run.json"], "not a Tailback record"),
        (vec!["run", "gpcnet", "--out", "/proc/nowhere"], "/proc/nowhere"),
        (vec!["run", "gpcnet", "--out", "."], "left alone"),
    ] {
        let out = tailback(&dir, &args);
        assert_eq!(out.status.code(), Some(1), "{args:?}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains(says), "{args:?}: {}", text(&out.stderr));
    }
    assert_eq!(fs::read_to_string(dir.join("run.json")).unwrap(), "{\"format\": \"other\"}");
}

#[test]
fn lists_completions_man_pages_and_schema_come_from_the_tables() {
    let dir = folder("cli-tables");
    let list = text(&tailback(&dir, &["list"]).stdout);
    for name in ["gpcnet", "p2p-lat", "put-incast", "default", "text"] {
        assert!(list.contains(name), "{name}");
    }
    // Sentences end, and lines fit a terminal.
    let words = list.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("so that congestors hurt."), "{list}");
    assert!(list.lines().all(|l| l.chars().count() <= 80 || !l.trim().contains(' ')), "{list}");
    let bash = text(&tailback(&dir, &["generate", "completions", "bash"]).stdout);
    assert!(bash.contains("gpcnet") && bash.contains("--precision"));
    assert_eq!(tailback(&dir, &["generate", "man", "man"]).status.code(), Some(0));
    assert!(dir.join("man/tailback-run-gpcnet.1").exists());
    let schema = text(&tailback(&dir, &["generate", "schema"]).stdout);
    assert!(schema.contains("\"title\": \"RunRecord\""));
}

#[test]
fn the_doctor_names_what_is_there_and_what_mends_it() {
    let out = tailback(&folder("cli-doctor"), &["doctor", "--mpi-lib", "/nowhere/libmpi.so"]);
    let stdout = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0));
    assert!(stdout.contains("/nowhere/libmpi.so") && stdout.contains("mend:"), "{stdout}");
}

#[test]
fn the_record_and_the_reports_say_what_broke_and_where_it_stalled() {
    let dir = folder("cli-fault");
    let machine = "nodes = 8\nranks_per_node = 2\nthreads_from = 0\n[topology]\nkind = \"chain\"\nswitches = 2\n\
                   [[fault]]\nat = \"300us\"\nlink = \"0-1\"\nrate = \"1.25GB/s\"\n";
    fs::write(dir.join("broken.toml"), machine).unwrap();
    let run = |out: &str, threads: &str| {
        let words = [
            "run",
            "gpcnet",
            "--on",
            "broken.toml",
            "--congestors",
            "a2a,p2p-incast",
            "--rounds",
            "6",
            "--cut",
            "50",
            "--time",
            "5ms",
            "--out",
            out,
        ];
        let done = tailback(&dir, &[&words[..], &["--threads", threads]].concat());
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        text(&done.stdout).to_string()
    };
    let stdout = run("one", "1");
    let event = "link 0-1 set to 1.25GB/s at 300us";
    assert!(stdout.contains(&format!("during the run: {event}")), "{stdout}");
    let json = fs::read_to_string(dir.join("one/run.json")).unwrap();
    assert!(json.contains(event), "the record does not say what happened");
    let record = record::read(&dir.join("one/run.json")).unwrap();
    let network = record.network.expect("a simulated run has a film");
    assert_eq!(network.boxes.len(), 2);
    assert!(
        record.phases.iter().all(|p| network.slices.iter().any(|s| s.phase == p.name)),
        "a slice per phase at least"
    );
    let names: Vec<String> = network.bundles.iter().map(|b| network.name(b)).collect();
    assert!(names.iter().any(|n| n.starts_with("switch 0 to switch 1")), "{names:?}");
    assert!(names.contains(&"NICs of switch 1".to_string()), "{names:?}");
    let page = fs::read_to_string(dir.join("one/report.html")).unwrap();
    assert!(page.contains(event) && page.contains("type=\"range\"") && page.contains("data-k="));
    run("two", "2");
    assert_eq!(json, fs::read_to_string(dir.join("two/run.json")).unwrap());
}

/// Points of a sweep are simulations of their own: the record does not tell how many ran at once, and phases, film and what was decided
/// after them are all there.
#[test]
fn points_of_a_sweep_make_the_same_record_on_any_number_of_threads() {
    let dir = folder("cli-sweep");
    let sweeps: [(&str, &[&str]); 3] = [
        ("maxrate", &["run", "maxrate", "--nodes", "4", "--sizes", "8,64KiB", "--pairs", "1-2"]),
        ("measure", &["contention", "measure", "fig3", "--size", "64KiB", "--repeats", "2"]),
        // Each batch is decided on by what the one before has shown.
        ("derive", &["contention", "derive", "fig3", "--size", "64KiB", "--repeats", "2"]),
    ];
    for (name, words) in sweeps {
        let run = |threads: &str| {
            let out = format!("{name}{threads}");
            let done = tailback(&dir, &[words, &["--quiet", "--out", &out, "--threads", threads][..]].concat());
            assert_eq!(done.status.code(), Some(0), "{name}: {}", text(&done.stderr));
            fs::read(dir.join(out).join("run.json")).unwrap()
        };
        assert!(run("1") == run("3"), "{name}: other threads, other bytes");
        let record = record::read(&dir.join(format!("{name}1/run.json"))).unwrap();
        assert!(record.plan.sweep && record.status == record::Status::Complete);
        let names = |phases: Vec<&String>| phases.into_iter().cloned().collect::<Vec<_>>();
        let planned = names(record.plan.phases.iter().map(|p| &p.name).collect());
        assert_eq!(names(record.phases.iter().map(|p| &p.name).collect()), planned, "{name}");
        let film = record.network.expect("a simulated run has a film");
        assert_eq!(names(film.slices.iter().map(|s| &s.phase).collect()), planned, "{name}");
    }
}
