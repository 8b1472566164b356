//! What can go wrong, each with the way out.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why the testbed could not do what was asked.
#[derive(Debug, Error)]
pub enum Error {
    /// The machine does not let this user make namespaces.
    #[error(
        "this machine refuses network namespaces: {reason}; run as root, or allow user namespaces \
         (`sysctl -w kernel.unprivileged_userns_clone=1`, on Ubuntu `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`, \
         in a container start it with `--privileged`)"
    )]
    Refused {
        /// What was tried and what the machine answered.
        reason: String,
    },
    /// A program that the testbed calls is not installed.
    #[error("`{program}` is missing: apt-get install {package}")]
    Missing {
        /// The program.
        program: String,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A command failed.
    #[error("`{line}` failed ({status}): {stderr}{hint}")]
    Command {
        /// The command line as a shell would take it.
        line: String,
        /// How it ended.
        status: String,
        /// What it said.
        stderr: String,
        /// What to do, empty if nothing is known.
        hint: &'static str,
    },
    /// The description of the cluster does not hold together.
    #[error("{0}")]
    Spec(String),
    /// The testbed is there already.
    #[error("testbed `{name}` exists already ({}); take it down first: tailback testbed down {name}", dir.display())]
    Exists {
        /// Its name.
        name: String,
        /// Where its state is.
        dir: PathBuf,
    },
    /// Something that the testbed would make is there already and is not ours.
    #[error(
        "`{what}` exists already and is not of this testbed; choose another name, or remove it if nobody uses it: {remedy}"
    )]
    Foreign {
        /// The name of the thing.
        what: String,
        /// The command that removes it.
        remedy: String,
    },
    /// There is no testbed of this name.
    #[error("there is no testbed `{name}`; {}", known_names(known))]
    NotFound {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The testbed is not whole: its `up` was interrupted or its namespaces are gone.
    #[error("testbed `{name}` is not usable: {reason}; take it down and up again: tailback testbed down {name}")]
    Broken {
        /// Its name.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// Another process works on this testbed.
    #[error("another process is bringing testbed `{name}` up or down; wait for it to end, then try again")]
    Busy {
        /// Its name.
        name: String,
    },
    /// There is no such node.
    #[error("testbed `{testbed}` has no node `{host}`; its nodes are n1 to n{nodes}")]
    NoNode {
        /// The testbed.
        testbed: String,
        /// The name asked for.
        host: String,
        /// How many nodes there are.
        nodes: usize,
    },
    /// The state file cannot be understood.
    #[error("{}: {reason}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The launcher is none that the testbed knows how to drive.
    #[error(
        "`{launcher} --version` answers `{answer}`: neither Open MPI nor MPICH (hydra); name one of theirs, for example mpirun.openmpi or mpiexec.hydra"
    )]
    Launcher {
        /// The program asked.
        launcher: String,
        /// The first line of its answer.
        answer: String,
    },
    /// The launch agent was called wrongly.
    #[error("launch agent: {0}; it is called as `agent [options] host command ...`")]
    Agent(String),
    /// The operating system refused a file or process operation.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Whether this machine cannot do it at all, so that a test is skipped rather than failed.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Error::Refused { .. } | Error::Missing { .. })
    }

    /// An input/output error with what was tried on which path.
    pub(crate) fn io(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let what = format!("{what} {}", path.display());
        move |source| Error::Io { what, source }
    }
}

fn known_names(known: &[String]) -> String {
    match known {
        [] => "none is up: tailback testbed up".into(),
        names => format!("these exist: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_the_value_and_the_remedy() {
        let missing = Error::Missing { program: "ip".into(), package: "iproute2" };
        assert_eq!(missing.to_string(), "`ip` is missing: apt-get install iproute2");
        assert!(missing.is_refusal());
        let none = Error::NotFound { name: "a".into(), known: vec![] };
        assert_eq!(none.to_string(), "there is no testbed `a`; none is up: tailback testbed up");
        let some = Error::NotFound { name: "a".into(), known: vec!["b".into(), "c".into()] };
        assert_eq!(some.to_string(), "there is no testbed `a`; these exist: b, c");
        assert!(!some.is_refusal());
    }
}
