//! The launch agent: what MPI launchers call in place of ssh to start their daemons on a node.
//!
//! Launchers take a program and at most blank-separated arguments for it, some (hydra) no arguments at all. So a run makes a
//! symbolic link `tailback-agent` to the program, and the program acts as the agent when called by that name. A link, because
//! `/run` is often mounted without the right to execute files in it.

use crate::Error;
use crate::state::{State, Store};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

/// The name of the link by which the program is called as the agent.
pub const AGENT_NAME: &str = "tailback-agent";
/// The variable that tells the agent which testbed it serves: its directory.
pub(crate) const DIR_VARIABLE: &str = "TAILBACK_TESTBED_DIR";
/// Options of ssh and rsh that take a value.
const WITH_VALUE: &str = "BbcDEeFIiJLlmOopQRSWw";
/// Options of ssh and rsh without a value.
const WITHOUT_VALUE: &str = "46AaCdfGgKkMNnqsTtVvXxYy";

/// What an agent is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The testbed, if it was named by `--testbed NAME`.
    pub testbed: Option<String>,
    /// The node.
    pub host: String,
    /// The command. As with ssh the words are joined by blanks and read by a shell on the node.
    pub command: Vec<String>,
}

/// Whether the program was called by the agent's name (its zeroth argument).
pub fn called_as_agent(argv0: Option<&OsStr>) -> bool {
    argv0.and_then(|a| Path::new(a).file_name()).is_some_and(|name| name == AGENT_NAME)
}

impl Call {
    /// Reads the arguments after the program's name (or after `agent`): leading options as ssh and rsh know them are dropped.
    pub fn parse(args: &[String]) -> Result<Call, Error> {
        let mut call = Call { testbed: None, host: String::new(), command: Vec::new() };
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            if let Some(name) = word.strip_prefix("--testbed") {
                call.testbed = match name.strip_prefix('=') {
                    Some(name) => Some(name.into()),
                    None => Some(rest.next().ok_or_else(|| Error::Agent("--testbed has no value".into()))?.clone()),
                };
            } else if word == "--" {
                continue;
            } else if let Some(option) = word.strip_prefix('-').filter(|o| !o.is_empty()) {
                // Also after the host: rsh takes its options there.
                skip_option(option, &mut rest)?;
            } else if call.host.is_empty() {
                // A user name is dropped: every user is root on a node.
                call.host = word.rsplit_once('@').map_or(word.as_str(), |(_, host)| host).into();
            } else {
                call.command = std::iter::once(word).chain(rest).cloned().collect();
                break;
            }
        }
        match (call.host.is_empty(), call.command.is_empty()) {
            (true, _) => Err(Error::Agent("no host is given".into())),
            (_, true) => Err(Error::Agent(format!("no command is given for host {}", call.host))),
            _ => Ok(call),
        }
    }

    /// The directory of the testbed: by name, else by the link the agent was called by, else by the environment.
    fn testbed_dir(&self, argv0: Option<&OsStr>) -> Result<PathBuf, Error> {
        if let Some(name) = &self.testbed {
            return Ok(Store::standard().load(name)?.dir().into());
        }
        // DIR/run-ID/tailback-agent
        let by_link = argv0.map(Path::new).filter(|path| path.is_absolute() && called_as_agent(argv0));
        if let Some(dir) = by_link.and_then(|path| path.parent()?.parent()) {
            return Ok(dir.into());
        }
        match std::env::var_os(DIR_VARIABLE) {
            Some(dir) => Ok(dir.into()),
            None => Err(Error::Agent(format!("no testbed is named, neither by --testbed nor by {DIR_VARIABLE}"))),
        }
    }
}

/// Passes over one word of options, and over the value of the last of them if it needs one.
fn skip_option<'a>(option: &str, rest: &mut impl Iterator<Item = &'a String>) -> Result<(), Error> {
    let mut letters = option.chars();
    while let Some(letter) = letters.next() {
        if WITH_VALUE.contains(letter) {
            // The value is the rest of the word (`-lroot`) or, without a rest, the next word.
            return match letters.as_str().is_empty() && rest.next().is_none() {
                true => Err(Error::Agent(format!("option -{letter} has no value"))),
                false => Ok(()),
            };
        }
        if !WITHOUT_VALUE.contains(letter) {
            return Err(Error::Agent(format!("unknown option -{option}")));
        }
    }
    Ok(())
}

/// Acts as the agent: enters the node and becomes the command. Returns only if that fails.
pub fn agent(argv0: Option<&OsStr>, args: &[String]) -> Error {
    let prefix = || {
        let call = Call::parse(args)?;
        let state = State::load(&call.testbed_dir(argv0)?)?;
        state.check()?;
        Ok((state.enter(&call.host)?, call.command.join(" ")))
    };
    match prefix() {
        Err(error) => error,
        Ok((prefix, line)) => {
            let mut command = std::process::Command::new(&prefix[0]);
            command.args(&prefix[1..]).args(["sh", "-c", &line]).env("PATH", crate::command::search_path());
            let source = command.exec();
            Error::Io { what: format!("starting `{}`", prefix[0]), source }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::words;

    fn parse(line: &str) -> Result<Call, String> {
        Call::parse(&words(&line.split_whitespace().collect::<Vec<_>>())).map_err(|e| e.to_string())
    }

    #[test]
    fn options_of_ssh_and_rsh_are_dropped() {
        for line in [
            "n2 orted -mca ess env",
            "-x n2 orted -mca ess env",
            "-l root -n n2 orted -mca ess env",
            "-lroot -xn n2 orted -mca ess env",
            "-o BatchMode=yes root@n2 orted -mca ess env",
            "n2 -l root -n orted -mca ess env",
            "-q -- n2 orted -mca ess env",
        ] {
            let call = parse(line).unwrap();
            assert_eq!((call.host.as_str(), call.command.join(" ").as_str()), ("n2", "orted -mca ess env"), "{line}");
        }
        assert_eq!(parse("--testbed a n1 true").unwrap().testbed.as_deref(), Some("a"));
        assert_eq!(parse("--testbed=a n1 true").unwrap().testbed.as_deref(), Some("a"));
    }

    #[test]
    fn wrong_calls_say_what_is_missing() {
        for (line, expect) in [
            ("", "no host"),
            ("-x", "no host"),
            ("n1", "no command is given for host n1"),
            ("-l", "option -l has no value"),
            ("--testbed", "no value"),
            ("-Z n1 true", "unknown option -Z"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(expect), "{line}: {error}");
        }
    }

    #[test]
    fn the_link_tells_that_it_is_the_agent_and_of_which_testbed() {
        let link = OsStr::new("/run/tailback/t/run-1/tailback-agent");
        assert!(called_as_agent(Some(link)) && called_as_agent(Some(OsStr::new(AGENT_NAME))));
        assert!(!called_as_agent(Some(OsStr::new("/usr/bin/tailback"))) && !called_as_agent(None));
        let call = parse("n1 true").unwrap();
        assert_eq!(call.testbed_dir(Some(link)).unwrap(), Path::new("/run/tailback/t"));
    }
}
