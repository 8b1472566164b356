//! Records and plans on disk, read with a clear answer. How a record is written is in `slot`.

use crate::legacy;
use crate::plan::Plan;
use crate::run::{FORMAT, RunRecord, VERSION};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a record could not be read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The file system said no.
    #[error("cannot {doing} {path}: {source}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Not JSON to the end.
    #[error(
        "{path} is not a whole JSON file ({source}); it may have been cut off: look for an older copy, or run again"
    )]
    Broken {
        /// Which file.
        path: PathBuf,
        /// Where reading stopped.
        source: serde_json::Error,
    },
    /// JSON, but not ours.
    #[error("{path} is not a Tailback record (no \"format\": \"{FORMAT}\")")]
    Foreign {
        /// Which file.
        path: PathBuf,
    },
    /// From a later Tailback.
    #[error("{path} has record version {found}, this Tailback reads up to {VERSION}; use a newer Tailback")]
    Future {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// Ours, but something is wrong inside.
    #[error("{path} is a damaged Tailback record: {source}")]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Not a plan.
    #[error("{path} is not a plan: {source}")]
    NoPlan {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A plan with characters that a terminal would obey.
    #[error("{path}: {place} holds the control character U+{:04X}; remove it", u32::from(*found))]
    Control {
        /// Which file.
        path: PathBuf,
        /// Where in it, as a JSON pointer.
        place: String,
        /// Which character.
        found: char,
    },
    /// Another run's record, or its page, is where ours should go.
    #[error("{path} exists: it is the result of another run; give another --out, or --force to replace it")]
    Taken {
        /// Which file.
        path: PathBuf,
    },
    /// Our record has been replaced under way.
    #[error("another run has put its record at {path}; give each run its own --out")]
    Lost {
        /// Which file.
        path: PathBuf,
    },
    /// Something else is where the record should go.
    #[error("{path} exists and is not a Tailback record this version can read; it is left alone: give another --out")]
    InTheWay {
        /// Which file.
        path: PathBuf,
    },
}

impl StoreError {
    /// What is at this place already: a result, or something that is none.
    pub(crate) fn taken(path: &Path) -> StoreError {
        let path = path.to_path_buf();
        // A file that cannot be read may be somebody else's, or all that is left of a run.
        if read(&path).is_ok() { StoreError::Taken { path } } else { StoreError::InTheWay { path } }
    }
}

/// Reads a record.
pub fn read(path: &Path) -> Result<RunRecord, StoreError> {
    let text = fs::read(path).map_err(|source| StoreError::Io { doing: "read", path: path.into(), source })?;
    parse(&text, path)
}

/// Reads a plan, also one that 0.1.0 printed.
pub fn read_plan(path: &Path) -> Result<Plan, StoreError> {
    let text = fs::read(path).map_err(|source| StoreError::Io { doing: "read", path: path.into(), source })?;
    parse_plan(&text, path)
}

/// Reads the text of a plan; the path is for what is said of it.
pub fn parse_plan(text: &[u8], path: &Path) -> Result<Plan, StoreError> {
    let bad = |source| StoreError::NoPlan { path: path.into(), source };
    let mut json: serde_json::Value = serde_json::from_slice(text).map_err(bad)?;
    legacy::plan(&mut json);
    if let Some((place, found)) = control(&json, "") {
        return Err(StoreError::Control { path: path.into(), place, found });
    }
    serde_json::from_value(json).map_err(bad)
}

/// The first control character of a text in here, and where it is. Names of a plan are shown while it runs, one a line; only what its
/// kernels are told may have several lines, because it may be a script.
fn control(json: &serde_json::Value, place: &str) -> Option<(String, char)> {
    use serde_json::Value;
    let lines = place.contains("/params/");
    let of_text = |text: &str| text.chars().find(|c| hidden(*c) && !(lines && matches!(c, '\n' | '\t')));
    match json {
        Value::String(text) => of_text(text).map(|c| (place.to_string(), c)),
        Value::Array(all) => all.iter().enumerate().find_map(|(i, v)| control(v, &format!("{place}/{i}"))),
        Value::Object(all) => all.iter().find_map(|(name, v)| match of_text(name) {
            Some(c) => Some((place.to_string(), c)),
            None => control(v, &format!("{place}/{name}")),
        }),
        _ => None,
    }
}

/// Whether a character is one that terminals obey or that hides others instead of being shown: controls, line separators, and marks that
/// turn the direction of what follows (Trojan Source, CVE-2021-42574).
pub fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Reads the text of a record; the path is for what is said of it.
pub fn parse(text: &[u8], path: &Path) -> Result<RunRecord, StoreError> {
    let path = || path.to_path_buf();
    let mut json: serde_json::Value =
        serde_json::from_slice(text).map_err(|source| StoreError::Broken { path: path(), source })?;
    if json.get("format").and_then(|f| f.as_str()) != Some(FORMAT) {
        return Err(StoreError::Foreign { path: path() });
    }
    match json.get("version").and_then(|v| v.as_u64()) {
        Some(found) if found > u64::from(VERSION) => Err(StoreError::Future { path: path(), found }),
        Some(1) => {
            legacy::record(&mut json);
            serde_json::from_value(json).map_err(|source| StoreError::Damaged { path: path(), source })
        }
        // From the text again and not from `json`, so that the error names line and column.
        _ => serde_json::from_slice(text).map_err(|source| StoreError::Damaged { path: path(), source }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::{NodeOrder, Payload};
    use crate::run::{Layout, MachineRecord, Status};

    pub(crate) fn record() -> RunRecord {
        RunRecord {
            format: FORMAT.into(),
            version: VERSION,
            tailback: "0.0.0".into(),
            status: Status::Complete,
            command: vec!["tailback".into()],
            created: None,
            machine: MachineRecord::Local { host: Default::default() },
            layout: Layout::even(1, 1),
            plan: Plan::new("none", 1, NodeOrder::Natural, Payload::Checked, vec![]),
            node_names: vec![],
            hosts: vec![],
            warnings: vec![],
            events: Vec::new(),
            network: None,
            phases: vec![],
        }
    }

    pub(crate) fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("tailback-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn truncated_foreign_and_future_files_are_named() {
        let path = folder("bad").join("run.json");
        let whole = serde_json::to_string(&record()).unwrap();
        let future = whole.replace("\"version\":2", "\"version\":999");
        for (text, says) in [
            (&whole[..whole.len() / 2], "cut off"),
            ("{}", "not a Tailback record"),
            ("[1,2]", "not a Tailback record"),
            (future.as_str(), "record version 999"),
            ("{\"format\":\"tailback-run\",\"version\":1}", "damaged"),
            ("{\"format\":\"tailback-run\",\"version\":2}", "damaged"),
        ] {
            fs::write(&path, text).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn a_plan_cannot_speak_to_the_terminal() {
        let path = folder("control").join("plan.json");
        let plan = |name: &str, run: &str| {
            let job = serde_json::json!({ "name": "j", "kernel": "command", "params": { "run": run }, "role": "measured",
                "members": { "block": { "first_node": 0, "nodes": 1 } }, "instances": "slot", "stop": crate::Stop::ONCE });
            let phases = serde_json::json!([{ "name": name, "about": { "kind": "load" }, "jobs": [job] }]);
            let plan = serde_json::json!({ "suite": "x", "seed": 1, "node_order": "natural", "payload": "checked", "phases": phases });
            fs::write(&path, plan.to_string()).unwrap();
            read_plan(&path).map_err(|e| e.to_string())
        };
        for (name, place) in [("a\nRESULT: PASS", "U+000A"), ("\u{1b}[2J", "U+001B"), ("\u{202e}", "U+202E")] {
            let refused = plan(name, "true").unwrap_err();
            assert!(refused.contains("/phases/0/name") && refused.contains(place), "{refused}");
        }
        assert!(plan("a", "\u{9b}2J").unwrap_err().contains("/phases/0/jobs/0/params/run"));
        plan("a", "one\n\ttwo").unwrap();
    }
}
