//! The folder of a run, made before anything is measured: a full night is not to be lost to a missing permission, nor to another run that
//! wants the same place. Many runs may start at once (job arrays, one folder on a network file system); every one gets a folder of its
//! own, or is refused.

use crate::exit::{Exit, Fail};
use record::{RunRecord, Slot, StoreError};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where runs without `--out` go.
const ROOT: &str = "tailback-runs";
/// Names of plans from elsewhere that are longer are not used for a folder.
const LONGEST: usize = 64;

/// Takes the folder named by `--out`, or a new one with this name and a number, and puts the first record there.
pub fn open(name: &str, out: Option<&Path>, force: bool, first: &RunRecord) -> anyhow::Result<Slot> {
    let root = Path::new(ROOT);
    let wanted = out.unwrap_or(root);
    let cannot = |why: &dyn std::fmt::Display| {
        Fail::with(Exit::Failure, format!("cannot write to {}: {why}; give another --out", wanted.display()))
    };
    let made = match out {
        Some(dir) => make(dir).map(|new| (dir.to_path_buf(), new)),
        None => numbered(root, safe(name)).map(|dir| (dir, true)),
    };
    let (dir, new) = made.map_err(|e| cannot(&e))?;
    take(&dir, force, first).map_err(|error| {
        // What is refused leaves nothing behind; a folder that is not empty stays.
        if new {
            let _ = fs::remove_dir(&dir);
        }
        match error {
            StoreError::Io { source, .. } => cannot(&source),
            other => Fail::with(Exit::Failure, other),
        }
    })
}

/// Puts the first record into a folder unless a result is there, and takes the page of an older one away.
fn take(dir: &Path, force: bool, first: &RunRecord) -> Result<Slot, StoreError> {
    let (path, page) = (dir.join("run.json"), crate::show::page_beside(&dir.join("run.json")));
    if !force {
        return match fs::symlink_metadata(&page) {
            // With its record, that is what is named.
            Ok(_) if fs::symlink_metadata(&path).is_err() => Err(StoreError::Taken { path: page }),
            _ => Slot::claim(&path, first),
        };
    }
    let slot = Slot::seize(&path, first)?;
    // The page of a run that is no longer there; were it a folder, it would not be ours.
    let _ = fs::remove_file(&page);
    Ok(slot)
}

/// Makes a folder; whether it was not there before.
fn make(dir: &Path) -> io::Result<bool> {
    if let Some(parent) = dir.parent().filter(|p| !p.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    match fs::create_dir(dir) {
        Ok(()) => Ok(true),
        Err(_) if dir.is_dir() => Ok(false),
        Err(error) => Err(error),
    }
}

/// A new folder with the next number. Making it is what decides: looking first would let two runs see the same gap.
fn numbered(root: &Path, name: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(root)?;
    let mut number = highest(root, name)?;
    loop {
        number += 1;
        let dir = root.join(format!("{name}-{number:04}"));
        match fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// The highest number that a folder of this name has, so that years of runs need not be tried one by one.
fn highest(root: &Path, name: &str) -> io::Result<u64> {
    let mut most = 0;
    for entry in fs::read_dir(root)? {
        let file = entry?.file_name();
        let number = file.to_str().and_then(|f| f.strip_prefix(name)?.strip_prefix('-')?.parse::<u32>().ok());
        most = most.max(number.map_or(0, u64::from));
    }
    Ok(most)
}

/// The name of a suite or plan as part of a path. A plan may come from elsewhere, and so its name: what is not plainly a name is not used.
fn safe(name: &str) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && name.len() <= LONGEST && name.chars().all(plain) { name } else { "plan" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("tailback-folder-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn numbers_go_up_and_foreign_names_do_not_count() {
        let root = root("numbers");
        for (there, next) in [
            ("x-notes", "x-0001"),
            ("x-0007", "x-0008"),
            ("xy-0100", "x-0009"),
            ("x-99999", "x-100000"),
            ("x-18446744073709551615", "x-100001"),
        ] {
            fs::create_dir_all(root.join(there)).unwrap();
            assert_eq!(numbered(&root, "x").unwrap(), root.join(next));
        }
    }

    #[test]
    fn all_who_start_at_once_get_folders_of_their_own() {
        let root = root("at-once");
        let get = || numbered(&root, "x").unwrap();
        let mut all: Vec<PathBuf> = std::thread::scope(|s| {
            let threads: Vec<_> = (0..8).map(|_| s.spawn(|| (0..20).map(|_| get()).collect::<Vec<_>>())).collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 160);
    }

    #[test]
    fn names_from_elsewhere_do_not_become_paths() {
        for name in ["/tmp/x", "../x", "..", "a/b", "", "-rf", "a b", "a\nb", "\u{1b}[2J", "ä", &"x".repeat(65)] {
            assert_eq!(safe(name), "plan", "{name:?}");
        }
        for name in ["gpcnet", "my_plan-2", "0"] {
            assert_eq!(safe(name), name);
        }
    }
}
