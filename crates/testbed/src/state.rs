//! What is known of a testbed: the state file, where it lives, and how to get into the namespaces it names.
//!
//! The file is written before each thing is made, so that whatever a killed `up` leaves is named in it.

use crate::cluster::check_name;
use crate::command::words;
use crate::{Error, Mode, Spec};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Version of the state file.
const FORMAT: u32 = 1;
const STATE_FILE: &str = "state.json";
const LOCK_FILE: &str = "lock";
/// How long `down` waits for an `up` or `down` at work.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// Inside the node's namespaces: set the name, put the hosts file in place, go back to the working directory (entering a
/// mount namespace leaves it), become the command.
const ARRIVE: &str = r#"cd -- "$2" && hostname "$0" && mount --bind "$1" /etc/hosts && shift 2 && exec "$@""#;

/// How far a testbed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// `up` is at work, or was killed.
    Building,
    /// It can be used.
    Up,
    /// `down` is at work, or was killed.
    Removing,
}

/// The process that keeps the namespaces of a testbed made without root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot; with the boot this tells it from a later process of the same id.
    pub start: u64,
    /// The boot it belongs to.
    pub boot: String,
    /// Its user namespace, as `/proc/PID/ns/user` names it.
    pub user_ns: String,
}

/// A testbed: what was asked for and what was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    format: u32,
    /// What was asked for.
    pub spec: Spec,
    /// Who made the namespaces.
    pub mode: Mode,
    /// How far it is.
    pub phase: Phase,
    /// Whether the kernel can delay packets (netem); without it links have a rate but no added delay.
    pub netem: bool,
    /// The namespaces made, or about to be made, in this order.
    pub made: Vec<String>,
    /// The process that keeps them, without root.
    pub holder: Option<Holder>,
    #[serde(skip)]
    dir: PathBuf,
}

impl State {
    pub(crate) fn new(spec: Spec, mode: Mode, dir: PathBuf) -> State {
        State { format: FORMAT, spec, mode, phase: Phase::Building, netem: false, made: vec![], holder: None, dir }
    }

    /// The directory with the state file, the hosts file and what runs need; it belongs to this testbed alone.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads the state of the testbed in a directory.
    pub fn load(dir: &Path) -> Result<State, Error> {
        let path = dir.join(STATE_FILE);
        let text = fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
        let wrong = |reason: String| Error::State { path: path.clone(), reason };
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|e| wrong(format!("this is no state file of a testbed ({e})")))?;
        // The number is looked at before the rest, so that a file of another version is not called damaged.
        match value.get("format").and_then(|f| f.as_u64()) {
            Some(format) if format == u64::from(FORMAT) => {}
            Some(format) => {
                return Err(wrong(format!(
                    "format {format} is of another version of the program (this one knows {FORMAT}); use that version to take the testbed down"
                )));
            }
            None => return Err(wrong("this is no state file of a testbed (no format number)".into())),
        }
        let mut state: State =
            serde_json::from_value(value).map_err(|e| wrong(format!("this is no state file of a testbed ({e})")))?;
        state.dir = dir.into();
        Ok(state)
    }

    /// Writes the state so that a reader sees the old or the new one, never half of it.
    pub(crate) fn save(&self) -> Result<(), Error> {
        let (path, fresh) =
            (self.dir.join(STATE_FILE), self.dir.join(format!("state.json.{}.new", std::process::id())));
        let text = serde_json::to_string_pretty(self).expect("a state is plain data");
        fs::write(&fresh, text).map_err(Error::io("writing", &fresh))?;
        fs::rename(&fresh, &path).map_err(Error::io("writing", &path))
    }

    /// The hosts file that the nodes see as `/etc/hosts`.
    pub fn hosts_file(&self) -> PathBuf {
        self.dir.join("hosts")
    }

    /// The name by which `ip netns` knows a namespace of a testbed made by root.
    pub fn netns_name(&self, place: &str) -> String {
        format!("tailback-{}-{place}", self.spec.name)
    }

    /// The file of the network namespace of a node, or of the switches (`fabric`).
    pub fn netns(&self, place: &str) -> PathBuf {
        match self.mode {
            Mode::Root => Path::new("/run/netns").join(self.netns_name(place)),
            Mode::User => self.dir.join("netns").join(place),
        }
    }

    pub(crate) fn make_netns(&self, place: &str) -> Vec<String> {
        match self.mode {
            Mode::Root => words(&["ip", "netns", "add", &self.netns_name(place)]),
            // `unshare` mounts the namespace on the file, which keeps it after `true` has ended.
            Mode::User => words(&["unshare", &format!("--net={}", self.netns(place).display()), "true"]),
        }
    }

    /// A command in a network namespace, from inside of the holder's namespaces if there is one.
    pub(crate) fn in_netns(&self, place: &str, argv: Vec<String>) -> Vec<String> {
        let net = format!("--net={}", self.netns(place).display());
        [words(&["nsenter", &net, "--"]), argv].concat()
    }

    /// A command inside of the holder's namespaces; as it is, if there is no holder or we are inside.
    pub(crate) fn in_holder(&self, argv: Vec<String>) -> Vec<String> {
        match &self.holder {
            Some(holder) if crate::process::namespace("self", "user").as_ref() != Some(&holder.user_ns) => {
                let pid = holder.pid.to_string();
                let enter = ["nsenter", "--target", &pid, "--user", "--mount", "--preserve-credentials", "--"];
                [words(&enter), argv].concat()
            }
            _ => argv,
        }
    }

    /// The command prefix that enters a node: its network, a host name and hosts file of its own (UTS and mount namespace).
    /// Append the command. The prefix keeps the current working directory, and needs nothing but util-linux.
    pub fn enter(&self, host: &str) -> Result<Vec<String>, Error> {
        let node = self.spec.node_name(self.spec.node_of(host)?);
        let hosts = self.hosts_file().display().to_string();
        // A working directory that was removed meanwhile must not keep the command from running.
        let here = std::env::current_dir().map_or_else(|_| "/".into(), |dir| dir.display().to_string());
        let arrive = ["unshare", "--uts", "--mount", "--propagation", "private", "--"];
        let arrive = [words(&arrive), words(&["sh", "-c", ARRIVE, &node, &hosts, &here])].concat();
        Ok(self.in_holder(self.in_netns(&node, arrive)))
    }

    /// Whether the testbed is whole; says what is missing if not.
    pub fn check(&self) -> Result<(), Error> {
        let broken = |reason: String| Err(Error::Broken { name: self.spec.name.clone(), reason });
        if self.phase != Phase::Up {
            return broken("it was never completed, or is being taken down".into());
        }
        // Its namespaces are mounted where only the holder sees them, and they live exactly as long as it does.
        if let Some(holder) = &self.holder {
            return match crate::process::is_alive(holder) {
                true => Ok(()),
                false => broken(format!("the process {} that kept its namespaces is gone", holder.pid)),
            };
        }
        match self.made.iter().find(|place| !self.netns(place).exists()) {
            Some(place) => broken(format!("namespace {} is gone", self.netns_name(place))),
            None => Ok(()),
        }
    }
}

/// Where testbeds keep their state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// The user's own: `/run/tailback` for root (where `/run` can be written), else `$XDG_RUNTIME_DIR/tailback`, else a directory of the user's own in the
    /// directory for temporary files.
    pub fn standard() -> Store {
        let user = rustix::process::geteuid();
        let session =
            std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute() && dir.is_dir());
        let dir = match (crate::holder::is_full_root(), session) {
            (true, _) => PathBuf::from("/run/tailback"),
            (false, Some(session)) => session.join("tailback"),
            (false, None) => std::env::temp_dir().join(format!("tailback-{}", user.as_raw())),
        };
        Store { dir }
    }

    /// In a directory of the caller's choice.
    pub fn at(dir: &Path) -> Store {
        // Commands see it from other working directories.
        Store { dir: std::path::absolute(dir).unwrap_or_else(|_| dir.into()) }
    }

    /// The directory of a testbed.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The names of all testbeds, in order.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.dir)
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| check_name(name).is_ok())
            .collect();
        names.sort();
        names
    }

    /// The state of a testbed.
    pub fn load(&self, name: &str) -> Result<State, Error> {
        check_name(name)?;
        // The name is part of a path, so it is checked first: one with a slash could leave the store.
        match self.path(name).join(STATE_FILE).exists() {
            true => State::load(&self.path(name)),
            false => Err(Error::NotFound { name: name.into(), known: self.names() }),
        }
    }

    /// Makes the directory of a new testbed and takes its lock.
    pub(crate) fn create(&self, spec: &Spec, mode: Mode) -> Result<(State, File), Error> {
        self.own_directory()?;
        let dir = self.path(&spec.name);
        // The directory is the claim on the name: of two `up` at once, one makes it.
        DirBuilder::new().mode(0o755).create(&dir).map_err(|e| match e.kind() {
            std::io::ErrorKind::AlreadyExists => Error::Exists { name: spec.name.clone(), dir: dir.clone() },
            _ => Error::io("making the directory", &dir)(e),
        })?;
        let lock = self.lock(&spec.name)?.ok_or_else(|| Error::Busy { name: spec.name.clone() })?;
        let state = State::new(spec.clone(), mode, dir);
        state.save()?;
        Ok((state, lock))
    }

    /// The store must be ours: in a directory that all can write, somebody else could have put it there.
    fn own_directory(&self) -> Result<(), Error> {
        DirBuilder::new().recursive(true).mode(0o755).create(&self.dir).map_err(Error::io("making", &self.dir))?;
        // A link is not followed: somebody else could have put one there that points to a directory of ours.
        let meta = fs::symlink_metadata(&self.dir).map_err(Error::io("reading", &self.dir))?;
        match meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0 {
            true => Ok(()),
            false => Err(Error::State {
                path: self.dir.clone(),
                reason: "this directory is not ours alone; remove it, or set XDG_RUNTIME_DIR to a directory of yours"
                    .into(),
            }),
        }
    }

    /// Takes the lock of a testbed; `None` if the testbed is gone (meanwhile).
    pub(crate) fn lock(&self, name: &str) -> Result<Option<File>, Error> {
        let path = self.path(name).join(LOCK_FILE);
        let deadline = crate::clock::now() + LOCK_PATIENCE;
        loop {
            let lock = match File::options().create(true).append(true).open(&path) {
                Ok(lock) => lock,
                // The file is created where it is missing, so what is not found is the directory: the testbed is gone.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(e) => return Err(Error::io("opening", &path)(e)),
            };
            if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
                // The file may have been removed, and even made anew, before we got the lock of the old one.
                let inode = lock.metadata().map(|m| m.ino()).ok();
                if inode.is_some() && fs::metadata(&path).map(|m| m.ino()).ok() == inode {
                    return Ok(Some(lock));
                }
                continue;
            }
            if crate::clock::now() > deadline {
                return Err(Error::Busy { name: name.into() });
            }
            crate::clock::pause();
        }
    }

    /// Removes the directory of a testbed, and the store's own when it was the last.
    pub(crate) fn forget(&self, name: &str) -> Result<(), Error> {
        let dir = self.path(name);
        // The state goes last: whoever is interrupted here can begin again.
        for entry in fs::read_dir(&dir).map_err(Error::io("reading", &dir))?.flatten() {
            let path = entry.path();
            match entry.file_name() {
                name if name == STATE_FILE || name == LOCK_FILE => Ok(()),
                _ if entry.file_type().is_ok_and(|t| t.is_dir()) => fs::remove_dir_all(&path),
                _ => fs::remove_file(&path),
            }
            .map_err(Error::io("removing", &path))?;
        }
        fs::remove_dir_all(&dir).map_err(Error::io("removing", &dir))?;
        // Fails when another testbed is there, which is well.
        let _ = fs::remove_dir(&self.dir);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scratch;

    #[test]
    fn states_are_written_and_read() {
        let store = Store::at(&scratch("states"));
        let (mut state, _lock) = store.create(&Spec::new("a", 3), Mode::Root).unwrap();
        state.made.push("fabric".into());
        state.save().unwrap();
        assert_eq!(store.load("a").unwrap(), state);
        assert_eq!(store.names(), ["a"]);
        let again = store.create(&Spec::new("a", 3), Mode::Root).unwrap_err();
        assert!(again.to_string().contains("exists already"), "{again}");
        assert!(state.check().unwrap_err().to_string().contains("never completed"));
        store.forget("a").unwrap();
        assert!(matches!(store.load("a"), Err(Error::NotFound { .. })));
        assert!(!store.dir.exists());
    }

    #[test]
    fn damaged_and_future_states_are_named() {
        let store = Store::at(&scratch("damaged"));
        let (state, _lock) = store.create(&Spec::new("a", 1), Mode::Root).unwrap();
        let path = state.dir().join(STATE_FILE);
        for (text, expect) in [
            ("{", "no state file"),
            ("[]", "no format number"),
            (r#"{"format":9}"#, "another version"),
            (r#"{"format":1}"#, "no state file"),
        ] {
            fs::write(&path, text).unwrap();
            let error = store.load("a").unwrap_err().to_string();
            assert!(error.contains(expect) && error.contains("state.json"), "{text}: {error}");
        }
        store.forget("a").unwrap();
    }

    #[test]
    fn the_lock_follows_the_directory() {
        let store = Store::at(&scratch("lock"));
        assert!(store.lock("a").unwrap().is_none(), "no directory, nothing to lock");
        let (_, lock) = store.create(&Spec::new("a", 1), Mode::Root).unwrap();
        let copy = lock.try_clone().unwrap();
        drop(lock);
        let other = File::options().append(true).open(store.path("a").join(LOCK_FILE)).unwrap();
        let locked = |f: &File| rustix::fs::flock(f, FlockOperation::NonBlockingLockExclusive).is_err();
        assert!(locked(&other), "a copy keeps the lock");
        drop(copy);
        assert!(!locked(&other));
        store.forget("a").unwrap();
    }

    #[test]
    fn entering_a_node_names_its_namespace() {
        let state = State::new(Spec::new("t", 2), Mode::Root, "/run/tailback/t".into());
        let argv = state.enter("n2").unwrap();
        assert_eq!(argv[..3], words(&["nsenter", "--net=/run/netns/tailback-t-n2", "--"]));
        assert_eq!(argv[9..argv.len() - 1], words(&["sh", "-c", ARRIVE, "n2", "/run/tailback/t/hosts"]));
        assert!(state.enter("n3").is_err());
        let mut state = State::new(Spec::new("t", 2), Mode::User, "/tmp/t".into());
        state.holder = Some(Holder { pid: 7, start: 0, boot: String::new(), user_ns: "user:[1]".into() });
        let argv = state.enter("10.77.0.1").unwrap();
        assert_eq!(argv[..3], words(&["nsenter", "--target", "7"]));
        assert!(argv.contains(&"--net=/tmp/t/netns/n1".to_string()));
        state.holder.as_mut().unwrap().user_ns = crate::process::namespace("self", "user").unwrap();
        assert_eq!(state.enter("n1").unwrap()[1], "--net=/tmp/t/netns/n1", "inside already");
    }
}
