//! Records from files to text, pages and exit codes, for every command that has one in its hands.

use crate::exit::{Exit, Fail};
use record::{Outcome, RunRecord, hpccoutf};
use report::{View, format};
use std::path::{Path, PathBuf};

/// Reads a record. A folder of a run is as good as the file in it, and so is what the original HPC Challenge wrote.
pub fn open(path: &Path) -> anyhow::Result<RunRecord> {
    let path = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    match std::fs::read_to_string(&path) {
        Ok(text) if hpccoutf::is_one(&text) => hpccoutf::read(&text)
            .map_err(|why| Fail::usage(format!("{} is not a whole hpccoutf.txt: {why}", path.display()))),
        _ => Ok(record::read(&path)?),
    }
}

/// The exit code that tells the outcome of a record.
pub fn exit_of(record: &RunRecord) -> Exit {
    match record.outcome() {
        // What was asked is whether a part is slow: a script must not have to read the answer.
        Outcome::Pass if report::has_suspects(&View::new(record)) => Exit::Threshold,
        Outcome::Pass => Exit::Good,
        Outcome::Fail => Exit::WrongData,
        Outcome::Incomplete => Exit::Incomplete,
        Outcome::Nothing => Exit::Skipped,
    }
}

/// The exit code of several records: that of the one that says the worst.
pub fn exit_of_all(records: &[RunRecord]) -> Exit {
    let all: Vec<Exit> = records.iter().map(exit_of).collect();
    let worst =
        [Exit::WrongData, Exit::Incomplete, Exit::Skipped, Exit::Threshold].into_iter().find(|exit| all.contains(exit));
    worst.unwrap_or(Exit::Good)
}

/// One record in a format.
pub fn text_of(record: &RunRecord, name: &str) -> anyhow::Result<String> {
    let format = format(name).map_err(Fail::usage)?;
    format.write(&View::new(record)).map_err(Fail::usage)
}

/// The page of a record.
pub fn page_beside(record: &Path) -> PathBuf {
    record.with_file_name("report.html")
}

/// Removes a page that is of the record which was replaced, if there is one.
pub fn remove_page(beside: &Path) -> Result<(), String> {
    let path = page_beside(beside);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}, which is of another record: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Writes the page beside the record and says where, or why it could not be written.
pub fn save_page(record: &RunRecord, beside: &Path) -> Result<PathBuf, String> {
    let path = page_beside(beside);
    let page = report::html::page(&[View::new(record)]);
    match record::files::replace(&path, page.as_bytes()) {
        Ok(()) => Ok(path),
        Err(error) => Err(format!("the page is not saved: cannot write {}: {error}", path.display())),
    }
}
