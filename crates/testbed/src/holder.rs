//! Who may make namespaces, and the process that keeps them when that is not root.

use crate::command::{command, show, words};
use crate::process;
use crate::state::{Holder, State};
use crate::{Error, Mode};
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

/// The holder says that it is there, and lives on only if it is told that it has been recorded: when `up` is killed in
/// between, its pipe closes and the holder ends. The terminal's end must not end it.
const HOLD: &str = "trap '' HUP; echo ready; read go && exec sleep infinity </dev/null >/dev/null 2>&1";
/// How long the holder may take to end.
const PATIENCE: Duration = Duration::from_secs(3);

/// How namespaces can be made here: as asked, else as root, else in a user namespace.
pub(crate) fn choose(asked: Option<Mode>) -> Result<Mode, Error> {
    let mut reasons = Vec::new();
    for mode in [Mode::Root, Mode::User] {
        if asked.is_none_or(|a| a == mode) {
            match probe(mode) {
                Ok(()) => return Ok(mode),
                Err(reason) => reasons.push(reason),
            }
        }
    }
    Err(Error::Refused { reason: reasons.join("; ") })
}

/// Whether we are root of the machine or of a container with a `/run` of its own, not only of a user namespace.
pub(crate) fn is_full_root() -> bool {
    let writable = rustix::fs::access("/run", rustix::fs::Access::WRITE_OK).is_ok();
    rustix::process::geteuid().is_root() && writable
}

/// Makes such namespaces for a moment.
fn probe(mode: Mode) -> Result<(), String> {
    let argv = match mode {
        Mode::Root if !is_full_root() => return Err("not root, or /run cannot be written".into()),
        Mode::Root => words(&["unshare", "--net", "--mount", "--uts", "true"]),
        Mode::User => words(&["unshare", "--user", "--map-root-user", "--mount", "--net", "--uts", "true"]),
    };
    let output = command(&argv).stdin(Stdio::null()).output().map_err(|e| format!("`{}`: {e}", show(&argv)))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("`{}`: {}", show(&argv), String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Starts the holder and records it.
pub(crate) fn start(state: &mut State) -> Result<(), Error> {
    let argv = words(&["unshare", "--user", "--map-root-user", "--mount", "--", "sh", "-c", HOLD]);
    let failed = |source| Error::Io { what: format!("starting `{}`", show(&argv)), source };
    // A group of its own, so that Ctrl-C in the terminal of `up` does not reach it.
    let mut child = command(&argv)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .current_dir("/")
        .spawn()
        .map_err(failed)?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).map_err(failed)?;
    // Where user namespaces are forbidden `unshare` ends here, and its error stream says why.
    if line != "ready\n" {
        let mut said = String::new();
        child.stderr.take().expect("piped").read_to_string(&mut said).map_err(failed)?;
        let _ = child.wait();
        return Err(Error::Refused { reason: format!("`{}`: {}", show(&argv), said.trim()) });
    }
    let pid = child.id();
    let (start, user_ns) = (process::start_of(pid), process::namespace(&pid.to_string(), "user"));
    let (Some(start), Some(user_ns)) = (start, user_ns) else {
        return Err(Error::Io { what: format!("reading /proc/{pid}"), source: std::io::ErrorKind::NotFound.into() });
    };
    state.holder = Some(Holder { pid, start, boot: process::boot(), user_ns });
    // Recorded before it is told to stay: a holder that nobody knows of ends by itself.
    state.save()?;
    child.stdin.take().expect("piped").write_all(b"go\n").map_err(failed)
}

/// Ends the holder, if it is still the process that was recorded; with its last process the namespaces end.
pub(crate) fn stop(holder: &Holder) {
    for signal in [Signal::TERM, Signal::KILL] {
        let deadline = crate::clock::now() + PATIENCE;
        if process::is_alive(holder) {
            process::send(holder.pid, signal);
        }
        while process::is_alive(holder) && crate::clock::now() < deadline {
            crate::clock::pause();
        }
    }
}
