//! The place of a run's record on disk, which one run holds.
//!
//! A run takes its place before it measures, with a first record that says so; of several that want the same place, one gets it. From
//! then on it replaces its own record and nobody else's.

use crate::files;
use crate::run::RunRecord;
use crate::store::{StoreError, read};
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A place that is ours.
#[derive(Debug)]
pub struct Slot {
    path: PathBuf,
    /// What we wrote last, to know it again: inode numbers of some network file systems change.
    mark: u64,
}

impl Slot {
    /// Takes a place where nothing is.
    pub fn claim(path: &Path, first: &RunRecord) -> Result<Slot, StoreError> {
        let text = text(first);
        match files::create(path, &text) {
            Ok(()) => Ok(Slot { path: path.into(), mark: mark(&text) }),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(StoreError::taken(path)),
            Err(source) => Err(StoreError::Io { doing: "write", path: path.into(), source }),
        }
    }

    /// Takes a place from the record that is there, if any. What is not a record is not ours to remove.
    pub fn seize(path: &Path, first: &RunRecord) -> Result<Slot, StoreError> {
        let io = |source| StoreError::Io { doing: "replace", path: path.into(), source };
        match fs::symlink_metadata(path) {
            Err(_) => return Slot::claim(path, first),
            // The link goes, and what it leads to stays.
            Ok(there) if there.is_symlink() => {
                fs::remove_file(path).map_err(io)?;
                return Slot::claim(path, first);
            }
            Ok(_) if read(path).is_err() => return Err(StoreError::InTheWay { path: path.into() }),
            Ok(_) => {}
        }
        let text = text(first);
        files::replace(path, &text).map_err(io)?;
        Ok(Slot { path: path.into(), mark: mark(&text) })
    }

    /// Replaces our record by a later one. Whatever else has come into its place stays.
    pub fn save(&mut self, record: &RunRecord) -> Result<(), StoreError> {
        let path = &self.path;
        let lost = || StoreError::Lost { path: path.clone() };
        let text = text(record);
        let written = match fs::read(path) {
            Ok(there) if mark(&there) == self.mark => files::replace(path, &text),
            Ok(_) => return Err(lost()),
            Err(error) if error.kind() == ErrorKind::NotFound => files::create(path, &text),
            Err(error) => Err(error),
        };
        match written {
            Ok(()) => {
                self.mark = mark(&text);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(lost()),
            Err(source) => Err(StoreError::Io { doing: "write", path: path.clone(), source }),
        }
    }

    /// Where the record is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn text(record: &RunRecord) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(record).expect("every record can be written as JSON");
    text.push(b'\n');
    text
}

fn mark(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{folder, record};

    #[test]
    fn a_place_is_taken_once_and_its_holder_saves_as_often_as_it_likes() {
        let path = folder("slot").join("run.json");
        let mut slot = Slot::claim(&path, &record()).unwrap();
        let refused = Slot::claim(&path, &record()).unwrap_err().to_string();
        assert!(refused.contains("run.json") && refused.contains("--out") && refused.contains("--force"), "{refused}");
        for warning in ["first", "second"] {
            let mut more = record();
            more.warnings.push(warning.into());
            slot.save(&more).unwrap();
            assert_eq!(read(&path).unwrap(), more);
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn who_lost_the_place_does_not_overwrite_its_new_holder() {
        let path = folder("lost").join("run.json");
        let mut first = Slot::claim(&path, &record()).unwrap();
        let mut other = record();
        other.warnings.push("of the other".into());
        let mut second = Slot::seize(&path, &other).unwrap();
        assert!(first.save(&record()).unwrap_err().to_string().contains("another run"));
        assert_eq!(read(&path).unwrap(), other);
        second.save(&record()).unwrap();
        // A record that somebody removed is written again.
        fs::remove_file(&path).unwrap();
        second.save(&other).unwrap();
        assert_eq!(read(&path).unwrap(), other);
    }

    #[test]
    fn what_is_no_record_is_left_alone_even_by_force_and_links_lead_nowhere() {
        let dir = folder("foreign");
        let path = dir.join("run.json");
        for text in ["{}", "[1,2]", "", "{\"format\":\"tailback-run\",\"version\":999}"] {
            fs::write(&path, text).unwrap();
            for taken in [Slot::claim(&path, &record()), Slot::seize(&path, &record())] {
                assert!(taken.unwrap_err().to_string().contains("left alone"));
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::rename(&path, dir.join("precious")).unwrap();
        std::os::unix::fs::symlink(dir.join("precious"), &path).unwrap();
        assert!(Slot::claim(&path, &record()).is_err());
        Slot::seize(&path, &record()).unwrap().save(&record()).unwrap();
        assert!(fs::read_to_string(dir.join("precious")).unwrap().contains("999"), "the link's target is as it was");
        assert_eq!(read(&path).unwrap(), record());
    }

    #[test]
    fn an_unwritable_place_is_an_error_that_names_it() {
        let error = Slot::claim(Path::new("/proc/tailback/run.json"), &record()).unwrap_err().to_string();
        assert!(error.contains("/proc/tailback"), "{error}");
    }
}
