//! Records from files to text, pages and exit codes, for every command that has one in its hands.

use crate::exit::{Exit, Fail};
use record::{RunRecord, hpccoutf};
use report::{RunResult, View, format};
use std::path::Path;

/// Reads a record. A folder of a run is as good as the file in it, and so is what the original HPC Challenge wrote.
pub fn open(path: &Path) -> anyhow::Result<RunRecord> {
    let path = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    match std::fs::read_to_string(&path) {
        Ok(text) if hpccoutf::is_one(&text) => hpccoutf::read(&text)
            .map_err(|why| Fail::usage(format!("{} is not a whole hpccoutf.txt: {why}", path.display()))),
        _ => Ok(record::read(&path)?),
    }
}

/// The exit code that tells the outcome of a run.
pub fn outcome(view: &View<'_>) -> Exit {
    match view.outcome() {
        RunResult::Pass => Exit::Good,
        RunResult::Fail => Exit::WrongData,
        RunResult::Incomplete => Exit::Incomplete,
    }
}

/// The exit code that tells the outcome of a record.
pub fn exit_of(record: &RunRecord) -> Exit {
    outcome(&View::new(record))
}

/// One record in a format.
pub fn text_of(record: &RunRecord, name: &str) -> anyhow::Result<String> {
    let format = format(name).map_err(Fail::usage)?;
    format.write(&View::new(record)).map_err(Fail::usage)
}

/// Writes the page beside the record. The record is the result: a page that cannot be written is a warning, and it can be made
/// again.
pub fn save_page(record: &RunRecord, beside: &Path, quiet: bool) {
    let path = beside.with_file_name("report.html");
    let page = report::html::page(&[View::new(record)]);
    match std::fs::write(&path, page) {
        Ok(()) if quiet => {}
        Ok(()) => eprintln!("tailback: wrote {}", path.display()),
        Err(error) => eprintln!("tailback: warning: cannot write {}: {error}", path.display()),
    }
}
