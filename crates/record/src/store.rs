//! Records on disk: written whole or not at all, read with a clear answer.

use crate::legacy;
use crate::plan::Plan;
use crate::run::{FORMAT, RunRecord, VERSION};
use std::fs::{self, File};
use std::io::{self, Write};
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
    /// Something else is where the record should go.
    #[error("{path} exists and is not a Tailback record this version can read; it is left alone: give another --out")]
    InTheWay {
        /// Which file.
        path: PathBuf,
    },
}

/// Reads a record.
pub fn read(path: &Path) -> Result<RunRecord, StoreError> {
    let text = fs::read(path).map_err(|source| StoreError::Io { doing: "read", path: path.into(), source })?;
    parse(&text, path)
}

/// Reads a plan, also one that 0.1.0 printed.
pub fn read_plan(path: &Path) -> Result<Plan, StoreError> {
    let text = fs::read(path).map_err(|source| StoreError::Io { doing: "read", path: path.into(), source })?;
    let bad = |source| StoreError::NoPlan { path: path.into(), source };
    let mut json: serde_json::Value = serde_json::from_slice(&text).map_err(bad)?;
    legacy::plan(&mut json);
    serde_json::from_value(json).map_err(bad)
}

fn parse(text: &[u8], path: &Path) -> Result<RunRecord, StoreError> {
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

/// Writes a record atomically: a reader sees the old file or the new one, also after a crash. Refuses to replace what is not a
/// readable record.
pub fn write(path: &Path, record: &RunRecord) -> Result<(), StoreError> {
    let io = |doing, path: &Path| {
        let path = path.to_path_buf();
        move |source| StoreError::Io { doing, path, source }
    };
    // A file that cannot be read may be somebody else's, or all that is left of a run.
    if path.exists() && read(path).is_err() {
        return Err(StoreError::InTheWay { path: path.into() });
    }
    let mut text = serde_json::to_vec_pretty(record).expect("every record can be written as JSON");
    text.push(b'\n');
    // Beside the record, because a rename is atomic only within one file system.
    let temporary = path.with_extension("json.tmp");
    let written = File::create(&temporary).and_then(|mut file| {
        file.write_all(&text)?;
        // Before the rename, or a crash could leave the new name without its data.
        file.sync_all()
    });
    if let Err(source) = written {
        // A half-written temporary helps nobody, and on a full disk its space does.
        let _ = fs::remove_file(&temporary);
        return Err(StoreError::Io { doing: "write", path: temporary, source });
    }
    fs::rename(&temporary, path).map_err(io("replace", path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{NodeOrder, Payload};
    use crate::run::{Layout, MachineRecord, Status};

    fn record() -> RunRecord {
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

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("tailback-store-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn written_records_read_back_and_are_replaced_whole() {
        let path = folder("back").join("run.json");
        write(&path, &record()).unwrap();
        let mut second = record();
        second.warnings.push("again".into());
        write(&path, &second).unwrap();
        assert_eq!(read(&path).unwrap(), second);
        assert!(!path.with_extension("json.tmp").exists());
    }

    #[test]
    fn truncated_foreign_and_future_files_are_named_and_never_overwritten() {
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
            assert!(write(&path, &record()).unwrap_err().to_string().contains("left alone"));
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn an_unwritable_place_is_an_error_that_names_it() {
        let error = write(Path::new("/proc/tailback/run.json"), &record()).unwrap_err().to_string();
        assert!(error.contains("/proc/tailback"), "{error}");
    }
}
