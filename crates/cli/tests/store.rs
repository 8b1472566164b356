//! Records on disk: many runs that start at once, results that are there already, links, full and vanished disks, and names from elsewhere.

mod common;

use common::{command, folder, tailback, text};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// As short as a run can be.
const SHORT: [&str; 13] = [
    "run",
    "gpcnet",
    "--nodes",
    "8",
    "--placements",
    "1",
    "--rounds",
    "1",
    "--canaries",
    "p2p-lat",
    "--congestors",
    "null",
    "--quiet",
];
const AT_ONCE: usize = 8;
const ROUNDS: usize = 3;

fn short(more: &[&'static str]) -> Vec<&'static str> {
    SHORT.into_iter().chain(more.iter().copied()).collect()
}

/// Starts so many at once and waits for all.
fn at_once(dir: &Path, args: &[&str]) -> Vec<Output> {
    let start = || command(dir, args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started: Vec<_> = (0..AT_ONCE).map(|_| start()).collect();
    started.into_iter().map(|child| child.wait_with_output().unwrap()).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let mut all: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    all.sort();
    all
}

fn is_complete(dir: &Path) -> bool {
    record::read(&dir.join("run.json")).unwrap_or_else(|e| panic!("{e}")).status == record::Status::Complete
}

#[test]
fn of_many_runs_with_one_out_one_gets_it_and_the_others_are_refused() {
    let dir = folder("store-one-out");
    for round in 0..ROUNDS {
        let out: &'static str = format!("deep/{round}").leak();
        let ended = at_once(&dir, &short(&["--out", out]));
        let (won, refused): (Vec<_>, Vec<_>) = ended.iter().partition(|o| o.status.code() == Some(0));
        assert_eq!(won.len(), 1, "{}", text(&ended[0].stderr));
        for out_of in refused {
            let stderr = text(&out_of.stderr);
            assert_eq!(out_of.status.code(), Some(1), "{stderr}");
            assert!(out_of.stdout.is_empty(), "{}", text(&out_of.stdout));
            assert!([out, "--out", "--force"].iter().all(|w| stderr.contains(w)), "{stderr}");
        }
        assert!(is_complete(&dir.join(out)));
        assert_eq!(names(&dir.join(out)), ["report.html", "run.json"], "nothing else is left");
    }
}

#[test]
fn many_runs_in_one_folder_get_folders_of_their_own() {
    let dir = folder("store-numbers");
    for round in 1..=ROUNDS {
        let ended = at_once(&dir, &short(&[]));
        assert!(ended.iter().all(|o| o.status.code() == Some(0)), "{}", text(&ended[0].stderr));
        let runs = names(&dir.join("tailback-runs"));
        assert_eq!(runs.len(), round * AT_ONCE, "{runs:?}");
        assert!(runs.iter().all(|run| is_complete(&dir.join("tailback-runs").join(run))));
    }
}

#[test]
fn a_result_stays_unless_it_is_replaced_by_force() {
    let dir = folder("store-force");
    let run = |more: &[&'static str]| tailback(&dir, &short(more));
    let read = |file: &str| fs::read_to_string(dir.join("out").join(file)).unwrap();
    assert_eq!(run(&["--out", "out"]).status.code(), Some(0));
    let (first, page) = (read("run.json"), read("report.html"));
    let refused = run(&["--out", "out", "--seed", "2"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{}", text(&refused.stderr));
    assert_eq!((read("run.json"), read("report.html")), (first.clone(), page.clone()));
    assert_eq!(run(&["--out", "out", "--seed", "2", "--force"]).status.code(), Some(0));
    assert!(read("run.json") != first && read("report.html") != page);
    // The same run again is the same record, however it got its place.
    assert_eq!(run(&["--force", "--out", "out"]).status.code(), Some(0));
    assert_eq!(read("run.json"), first);
    // Without a page there is none, not that of the record before; the record is the same.
    let alone = run(&["--force", "--out", "out", "--no-page"]);
    assert_eq!((alone.status.code(), names(&dir.join("out"))), (Some(0), vec!["run.json".to_string()]));
    assert!(read("run.json") == first && !text(&alone.stderr).contains("report.html"), "{}", text(&alone.stderr));
    assert_eq!(run(&["--force", "--out", "out"]).status.code(), Some(0));
    // A page without its record is somebody's, too.
    fs::remove_file(dir.join("out/run.json")).unwrap();
    let refused = run(&["--out", "out"]);
    assert!(refused.status.code() == Some(1) && text(&refused.stderr).contains("report.html"));
    assert_eq!(names(&dir.join("out")), ["report.html"]);
    // There is nothing to replace without --out.
    assert_eq!(run(&["--force"]).status.code(), Some(2));
}

#[test]
fn nothing_is_written_through_a_link() {
    let dir = folder("store-links");
    let out = dir.join("out");
    fs::create_dir(&out).unwrap();
    fs::write(dir.join("precious"), "precious").unwrap();
    let link = |name: &str| symlink(dir.join("precious"), out.join(name)).unwrap();
    link("run.json.tmp");
    link("report.html");
    assert_eq!(tailback(&dir, &short(&["--out", "out"])).status.code(), Some(1));
    link("run.json");
    assert_eq!(tailback(&dir, &short(&["--out", "out"])).status.code(), Some(1));
    assert_eq!(tailback(&dir, &short(&["--out", "out", "--force"])).status.code(), Some(0));
    assert!(is_complete(&out));
    symlink(dir.join("precious"), dir.join("picture.svg")).unwrap();
    let drawn = tailback(&dir, &["machine", "check", "default", "--svg", "picture.svg"]);
    assert!(drawn.status.code() == Some(1) && text(&drawn.stderr).contains("picture.svg"));
    assert_eq!(fs::read_to_string(dir.join("precious")).unwrap(), "precious");
}

/// The program with files of at most so many blocks of 512 bytes: writing more fails, as on a full disk.
fn on_a_full_disk(dir: &Path, blocks: u32, args: &[&str]) -> Output {
    let whole = command(dir, args);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\""), "sh"]);
    shell.arg(whole.get_program()).args(whole.get_args()).current_dir(dir);
    for (name, _) in whole.get_envs().filter(|(_, value)| value.is_none()) {
        shell.env_remove(name);
    }
    shell.output().unwrap()
}

#[test]
fn a_full_disk_is_said_last_and_what_was_there_is_still_there() {
    let dir = folder("store-full");
    // No room for the first record: nothing begins, and nothing stays.
    let refused = on_a_full_disk(&dir, 0, &short(&["--out", "new"]));
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("new") && !dir.join("new").exists(), "{}", text(&refused.stderr));
    // Room for the first record, but neither for the last one nor for the page.
    let out = on_a_full_disk(&dir, 24, &short(&["--out", "out"]));
    let (stdout, stderr) = (text(&out.stdout), text(&out.stderr));
    assert_eq!(out.status.code(), Some(5), "{stdout}{stderr}");
    assert!(stdout.ends_with("RESULT: INCOMPLETE\n") && !stdout.contains("PASS"), "{stdout}");
    assert!(stderr.lines().last().unwrap().contains("not saved"), "{stderr}");
    let record = record::read(&dir.join("out/run.json")).unwrap();
    assert!(matches!(record.status, record::Status::Incomplete { .. }));
    assert_eq!(names(&dir.join("out")), ["run.json"]);
    // An older result outlives the attempt to replace it.
    assert_eq!(tailback(&dir, &short(&["--out", "old"])).status.code(), Some(0));
    let old = fs::read(dir.join("old/run.json")).unwrap();
    assert_eq!(on_a_full_disk(&dir, 0, &short(&["--out", "old", "--force"])).status.code(), Some(1));
    assert_eq!(fs::read(dir.join("old/run.json")).unwrap(), old);
    assert_eq!(names(&dir.join("old")), ["report.html", "run.json"]);
}

/// A run whose folder is moved away while it goes on; nothing if the run was faster.
fn robbed(dir: &Path) -> Option<Output> {
    let args = ["run", "gpcnet", "--nodes", "20", "--rounds", "12", "--out", "out", "--quiet"];
    let run = command(dir, &args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !dir.join("out/run.json").exists() {
        std::thread::yield_now();
    }
    fs::rename(dir.join("out"), dir.join("elsewhere")).unwrap();
    let ended = run.wait_with_output().unwrap();
    let under_way = !dir.join("elsewhere/report.html").exists();
    under_way.then_some(ended)
}

#[test]
fn a_folder_that_vanishes_under_way_is_said_last() {
    let tries = (0..5).map(|i| folder(&format!("store-vanished-{i}")));
    let (dir, ended) =
        tries.into_iter().find_map(|dir| robbed(&dir).map(|ended| (dir, ended))).expect("it takes a while");
    let (stdout, stderr) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(5), "{stdout}{stderr}");
    assert!(stdout.ends_with("RESULT: INCOMPLETE\n"), "{stdout}");
    assert!(stderr.lines().last().unwrap().contains("not saved"), "{stderr}");
    record::read(&dir.join("elsewhere/run.json")).unwrap();
}

/// A plan of the shortest run, changed.
fn plan(dir: &Path, change: impl FnOnce(&mut serde_json::Value)) -> PathBuf {
    let printed = tailback(dir, &short(&["--plan-only"]));
    let mut plan: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    change(&mut plan);
    fs::write(dir.join("plan.json"), plan.to_string()).unwrap();
    dir.join("plan.json")
}

#[test]
fn a_plans_name_does_not_become_a_path() {
    for (i, name) in ["../escaped", "/tmp/tailback-escaped", "a/b", "", "."].into_iter().enumerate() {
        let dir = folder(&format!("store-names-{i}"));
        plan(&dir, |plan| plan["suite"] = name.into());
        let out = tailback(&dir, &["run", "--plan", "plan.json", "--nodes", "8", "--quiet"]);
        assert!(is_complete(&dir.join("tailback-runs/plan-0001")), "{name}: {}", text(&out.stderr));
        assert_eq!(names(&dir), ["plan.json", "tailback-runs"]);
    }
}

#[test]
fn a_plan_runs_commands_only_if_it_is_allowed_to() {
    let dir = folder("store-commands");
    plan(&dir, |plan| {
        let job = &mut plan["phases"][0]["jobs"][0];
        job["name"] = "mine".into();
        (job["kernel"], job["params"]) = ("command".into(), serde_json::json!({ "run": "touch started" }));
    });
    let refused = tailback(&dir, &["run", "--plan", "plan.json", "--on", "local"]);
    let stderr = text(&refused.stderr);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{stderr}");
    assert!(["mine", "touch started", "--allow-commands"].iter().all(|w| stderr.contains(w)), "{stderr}");
    assert_eq!(names(&dir), ["plan.json"], "nothing was started");
}

#[test]
fn texts_of_records_forge_no_line_and_no_escape() {
    let dir = folder("store-texts");
    const POISON: &str = "x\nRESULT: PASS\n\u{1b}[31m";
    for (seed, out) in [("1", "a"), ("2", "b")] {
        let ended = tailback(&dir, &[&SHORT[..], &["--seed", seed, "--out", out]].concat());
        assert_eq!(ended.status.code(), Some(0), "{}", text(&ended.stderr));
        let path = dir.join(out).join("run.json");
        let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        json["status"] = serde_json::json!({ "status": "incomplete", "reason": POISON });
        json["machine"]["name"] = POISON.into();
        json["machine"]["facts"]["topology"] = POISON.into();
        json["plan"]["suite"] = POISON.into();
        json["tailback"] = POISON.into();
        json["warnings"] = serde_json::json!([format!("{POISON}{seed}")]);
        for phase in json["phases"].as_array_mut().unwrap() {
            phase["name"] = format!("{POISON}{}", phase["name"]).into();
            phase["jobs"][0]["name"] = POISON.into();
            phase["counters"].as_array_mut().into_iter().flatten().for_each(|c| c["name"] = POISON.into());
        }
        fs::write(&path, json.to_string()).unwrap();
    }
    for args in [
        &["report", "a"][..],
        &["report", "a", "b", "--format", "markdown"],
        &["report", "a", "b", "--format", "csv"],
        &["report", "a", "--format", "gpcnet"],
        &["report", "a", "--format", "json"],
        &["compare", "a", "b"],
        &["compare", "a", "b", "--format", "markdown"],
        &["compare", "a", "--require", "nothing < 1"],
        &["history", "."],
        &["history", ".", "--format", "markdown"],
        &["tune", "--like", "a/run.json", "--phase", "nothing"],
        &["fit", "maxrate", "a"],
        &["contention", "validate", "a"],
    ] {
        let ended = tailback(&dir, args);
        let said = text(&ended.stdout) + &text(&ended.stderr);
        assert!(!said.contains('\u{1b}'), "{args:?}: {said}");
        assert!(!said.lines().any(|l| l.starts_with("RESULT: PASS")), "{args:?}: {said}");
        assert!(!said.is_empty(), "{args:?}");
    }
}
