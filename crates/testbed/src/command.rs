//! Calling other programs: every command is checked, and every failure names the command and the remedy.

use crate::Error;
use crate::state::State;
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs the testbed calls and the Debian packages that have them.
const PROGRAMS: &[(&str, &str)] = &[
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("nsenter", "util-linux"),
    ("unshare", "util-linux"),
    ("setpriv", "util-linux"),
    ("mount", "mount"),
    ("hostname", "hostname"),
];

/// What building and removing a testbed needs of a machine. A second implementation in the tests records the commands and
/// can fail at any of them.
pub(crate) trait CommandRunner {
    /// Runs a command to its end; returns what it printed.
    fn run(&mut self, argv: &[String]) -> Result<String, Error>;
    /// Whether a namespace's file is there.
    fn exists(&self, path: &Path) -> bool;
    /// Ends all processes that live in the testbed's namespaces; returns how many there were.
    fn end_processes(&mut self, state: &State) -> usize;
}

/// The real machine.
pub(crate) struct System {
    /// The testbed's lock. Each command gets it as its standard input, so that the lock outlives a killed `up` for as long
    /// as the command in flight can still make something.
    pub lock: Option<File>,
}

impl CommandRunner for System {
    fn run(&mut self, argv: &[String]) -> Result<String, Error> {
        let stdin = match &self.lock {
            Some(lock) => Stdio::from(
                lock.try_clone().map_err(|source| Error::Io { what: "keeping the testbed's lock".into(), source })?,
            ),
            None => Stdio::null(),
        };
        run(argv, stdin)
    }

    fn exists(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok()
    }

    fn end_processes(&mut self, state: &State) -> usize {
        crate::process::end_all_of(state)
    }
}

/// A command with the administrator's directories in its search path and with untranslated messages.
pub(crate) fn command(argv: &[String]) -> Command {
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).env("PATH", search_path()).env("LC_ALL", "C");
    command
}

/// `PATH` with the directories where Debian keeps `ip` and `tc`, which ordinary users do not have in theirs.
pub(crate) fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    // At the end, so that what the user has in front still comes first.
    path.push(":/usr/sbin:/sbin");
    path
}

fn run(argv: &[String], stdin: Stdio) -> Result<String, Error> {
    let output = command(argv).stdin(stdin).output().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => missing(&argv[0]),
        _ => Error::Io { what: format!("starting `{}`", show(argv)), source },
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(Error::Command { line: show(argv), status: output.status.to_string(), hint: hint(&stderr), stderr })
}

fn hint(stderr: &str) -> &'static str {
    if stderr.contains("Operation not permitted") || stderr.contains("Permission denied") {
        "; it needs root with CAP_SYS_ADMIN and CAP_NET_ADMIN, or user namespaces"
    } else if stderr.contains("qdisc kind is unknown") {
        "; the kernel lacks this queueing discipline: modprobe sch_tbf (or sch_netem), or leave the rate (or delay) out"
    } else if stderr.contains("No space left on device") {
        "; a limit on namespaces is reached: see /proc/sys/user/max_net_namespaces"
    } else {
        ""
    }
}

fn missing(program: &str) -> Error {
    let package = PROGRAMS.iter().find(|(p, _)| *p == program).map_or("the package that has it", |(_, p)| p);
    Error::Missing { program: program.into(), package }
}

/// Whether everything the testbed calls is installed.
pub(crate) fn check_programs() -> Result<(), Error> {
    match PROGRAMS.iter().find(|(program, _)| find(program).is_none()) {
        None => Ok(()),
        Some((program, _)) => Err(missing(program)),
    }
}

/// The file that a program's name stands for.
pub(crate) fn find(program: &str) -> Option<std::path::PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_file().then(|| program.into());
    }
    std::env::split_paths(&search_path()).map(|dir| dir.join(program)).find(|file| file.is_file())
}

/// A command line as a shell would take it.
pub(crate) fn show(argv: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+%^".contains(c);
    let word = |w: &String| match !w.is_empty() && w.chars().all(plain) {
        true => w.clone(),
        false => format!("'{}'", w.replace('\'', r"'\''")),
    };
    argv.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// Owned words, for command lines.
pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| w.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_command_and_what_it_said() {
        let mut system = System { lock: None };
        assert_eq!(system.run(&words(&["echo", "a b"])).unwrap(), "a b\n");
        let text = system.run(&words(&["sh", "-c", "echo no >&2; exit 3"])).unwrap_err().to_string();
        assert_eq!(text, "`sh -c 'echo no >&2; exit 3'` failed (exit status: 3): no");
        let text =
            system.run(&words(&["sh", "-c", "echo Operation not permitted >&2; false"])).unwrap_err().to_string();
        assert!(text.contains("needs root"), "{text}");
        let absent = system.run(&words(&["no-such-program-here"])).unwrap_err();
        assert!(absent.is_refusal() && absent.to_string().contains("`no-such-program-here` is missing"), "{absent}");
    }

    #[test]
    fn shown_words_are_quoted_for_a_shell() {
        assert_eq!(show(&words(&["a", "", "b c", "it's", "--x=1"])), r"a '' 'b c' 'it'\''s' --x=1");
    }
}
