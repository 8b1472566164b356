//! Files that are there whole or not at all, whoever writes beside us and whatever lies in their place.
//!
//! Every file that is written for the user comes from here. Its text is first written to a file of its own in the same folder, because a
//! name changes hands atomically only within one file system. That file is made with `O_EXCL`, which never opens what is there, a link
//! least of all, and holds on network file systems too; its mode follows the umask.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Names tried for a temporary file. Only what crashed before, with this process id, is in the way of the first.
const TRIES: u32 = 1000;

/// Writes a file, over an older one if there is one: a reader sees the old text or the new one, also after a crash. A link, a folder or a
/// device in its place is refused and left alone.
pub fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Ok(there) = fs::symlink_metadata(path)
        && !there.is_file()
    {
        return Err(io::Error::new(ErrorKind::InvalidInput, "a link, folder or device is in its place"));
    }
    Fresh::beside(path, text)?.rename(path)
}

/// Writes a file that is not there yet: of all who try at the same time, one succeeds and the others get [`ErrorKind::AlreadyExists`].
/// A link counts as being there, wherever it leads.
pub fn create(path: &Path, text: &[u8]) -> io::Result<()> {
    // Before the text is written, only to spare the disk; who is first is decided below.
    if fs::symlink_metadata(path).is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let fresh = Fresh::beside(path, text)?;
    match fs::hard_link(&fresh.path, path) {
        Ok(()) => Ok(()),
        // A server's answer can be lost and the question be asked again: then the link is there, and two names are the proof.
        Err(_) if fs::metadata(&fresh.path).is_ok_and(|m| m.nlink() == 2) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Some file systems have no second names. There the winner is the same, but a crash may leave half a file.
        Err(_) => {
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            file.write_all(text).and_then(|()| file.sync_all()).inspect_err(|_| drop(fs::remove_file(path)))
        }
    }
}

/// A temporary file with its whole text; gone when it is dropped.
struct Fresh {
    path: PathBuf,
}

impl Fresh {
    fn beside(path: &Path, text: &[u8]) -> io::Result<Fresh> {
        let name = path.file_name().ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "it names no file"))?;
        for number in 0..TRIES {
            let mut fresh = OsString::from(".");
            fresh.push(name);
            fresh.push(format!(".{}-{number}.tmp", std::process::id()));
            let fresh = path.with_file_name(fresh);
            let mut file = match OpenOptions::new().write(true).create_new(true).open(&fresh) {
                Ok(file) => file,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            // From here on it is removed again if anything fails: half a file helps nobody, and on a full disk its space does.
            let fresh = Fresh { path: fresh };
            file.write_all(text)?;
            // Before it gets its name, or a crash could leave the name without its data.
            file.sync_all()?;
            return Ok(fresh);
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, "too many temporary files (.tmp) are beside it"))
    }

    fn rename(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        // The old name may be another process's by now.
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("tailback-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut all: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_else_stays() {
        let dir = folder("whole");
        let path = dir.join("a.txt");
        replace(&path, b"a long first text").unwrap();
        replace(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(names(&dir), ["a.txt"]);
        // As a file made the usual way.
        fs::write(dir.join("usual"), "").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode(), fs::metadata(dir.join("usual")).unwrap().mode());
    }

    #[test]
    fn of_many_who_create_one_file_one_succeeds() {
        let dir = folder("create");
        for round in 0..50 {
            let path = dir.join(format!("{round}"));
            let create = |i: u8| create(&path, &[i; 1000]).map(|()| i);
            let won: Vec<u8> = std::thread::scope(|s| {
                let all: Vec<_> = (0..8).map(|i| s.spawn(move || create(i))).collect();
                all.into_iter().filter_map(|t| t.join().unwrap().ok()).collect()
            });
            assert_eq!(won.len(), 1);
            assert_eq!(fs::read(&path).unwrap(), [won[0]; 1000]);
        }
        assert_eq!(names(&dir).len(), 50, "no temporary file stays");
    }

    #[test]
    fn links_are_never_followed() {
        let dir = folder("links");
        let (precious, path) = (dir.join("precious"), dir.join("a"));
        fs::write(&precious, "precious").unwrap();
        // Where the temporary file would be, where the file would be, and where nothing is.
        symlink(&precious, dir.join(format!(".a.{}-0.tmp", std::process::id()))).unwrap();
        replace(&path, b"text").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        for (name, target) in [("b", precious.as_path()), ("c", Path::new("nowhere")), ("d", Path::new("/dev/null"))] {
            symlink(target, dir.join(name)).unwrap();
            assert!(replace(&dir.join(name), b"x").unwrap_err().to_string().contains("link"));
            assert_eq!(create(&dir.join(name), b"x").unwrap_err().kind(), ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert!(!dir.join("nowhere").exists());
    }

    #[test]
    fn what_cannot_be_written_leaves_the_old_file() {
        let dir = folder("old");
        fs::create_dir(dir.join("folder")).unwrap();
        assert!(replace(&dir.join("folder"), b"x").is_err());
        assert!(replace(&dir.join("nowhere/file"), b"x").is_err() && replace(Path::new("/"), b"x").is_err());
        assert_eq!(names(&dir), ["folder"]);
    }
}
