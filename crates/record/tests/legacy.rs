//! Records that Tailback 0.1.0 wrote, one of every kind of run: they stay readable, and what their phases are about is found.
//!
//! `v1/*.fom` are the figures of merit that 0.1.0 printed of them; `crates/report/tests` compares.

use std::path::PathBuf;
use tailback_record::{About, RunRecord};

fn all() -> Vec<(String, RunRecord)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/v1");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
    paths.sort();
    assert!(paths.len() >= 12, "records are missing: {paths:?}");
    let name = |p: &PathBuf| p.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|p| (name(p), tailback_record::read(p).unwrap_or_else(|e| panic!("{e}")))).collect()
}

/// The label that follows from what a phase is about is the name that 0.1.0 gave it, so nothing of the name was lost.
#[test]
fn what_a_phase_is_about_says_all_that_its_name_said() {
    for (name, record) in all() {
        assert_eq!(record.version, tailback_record::run::VERSION, "{name}");
        for (planned, done) in record.plan.phases.iter().zip(&record.phases) {
            assert_eq!(planned.about, done.about, "{name}: {}", done.name);
            assert_eq!(done.about.to_string(), done.name, "{name}");
            assert!(!matches!(done.about, About::Test { mode: None, .. }), "{name}: {} was not understood", done.name);
        }
    }
}

/// Every kind of phase that 0.1.0 knew is in one of the records, so that the conversion of none goes untested.
#[test]
fn every_kind_of_phase_is_there() {
    let mut kinds: Vec<String> = Vec::new();
    for about in all().iter().flat_map(|(_, r)| &r.phases).map(|p| &p.about) {
        let json = serde_json::to_value(about).unwrap();
        kinds.push(json["kind"].as_str().unwrap().to_string());
    }
    kinds.sort();
    kinds.dedup();
    let expected = ["alone", "baseline", "graph", "load", "loaded", "point", "rest", "series", "test"];
    assert_eq!(kinds, expected);
}

/// A plan that 0.1.0 printed runs as it did; a phase that nobody can tell anything about is a test of its own.
#[test]
fn plans_of_version_1_are_read() {
    let dir = std::env::temp_dir().join(format!("tailback-legacy-plan-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("plan.json");
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/v1/gpcnet.json")).unwrap();
    let mut plan = serde_json::from_str::<serde_json::Value>(&text).unwrap()["plan"].take();
    plan["phases"][1]["name"] = "mine".into();
    std::fs::write(&path, plan.to_string()).unwrap();
    let read = tailback_record::read_plan(&path).unwrap();
    assert_eq!(read.phases[0].about, About::Alone { test: "p2p-lat".into() });
    assert_eq!(read.phases[1].about, About::Test { mode: None, test: "mine".into(), variant: None });
    std::fs::remove_dir_all(dir).unwrap();
}
