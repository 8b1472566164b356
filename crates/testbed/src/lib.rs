//! An emulated cluster of network namespaces on one Linux machine, for tests and demonstrations.
//!
//! ```text
//! up      Spec -> namespaces, veth pairs, bridges, rate limits, a state file
//! run     a command on its nodes, under Open MPI 4 or 5, MPICH, or plainly; what crossed the links
//! down    removes all of it, also after a killed `up`, and nothing else
//! ```
//!
//! A node is a network namespace; a process on it also gets a host name and a hosts file of its own. All nodes share the
//! machine's processors, memory and files, so absolute times on an emulated cluster measure the scheduler: only ratios at a
//! fixed number of ranks, and rates well below what the processors can do, mean something.
//!
//! Not emulated: link delay where the kernel has no netem, lossless links, routing (the network is a tree).
//!
//! The program that uses this crate must act as the launch agent when it is called as one, before anything else:
//!
//! ```no_run
//! let argv0 = std::env::args_os().next();
//! if tailback_testbed::called_as_agent(argv0.as_deref()) {
//!     let args: Vec<String> = std::env::args().skip(1).collect();
//!     let error = tailback_testbed::agent(argv0.as_deref(), &args);
//!     eprintln!("{error}");
//!     std::process::exit(1);
//! }
//! ```

mod agent;
mod clock;
mod cluster;
mod command;
mod error;
mod holder;
mod launcher;
mod lifecycle;
mod plan;
mod process;
mod run;
mod state;
mod traffic;

pub use agent::{AGENT_NAME, Call, agent, called_as_agent};
pub use cluster::{Mode, Spec, Subnet};
pub use error::Error;
pub use launcher::{Family, Launcher, Netmod};
pub use lifecycle::{Removed, Status};
pub use run::{Ended, Launch, RunOutcome, RunReport, RunSpec};
pub use state::{Holder, Phase, State, Store};
pub use traffic::{LinkKind, LinkTraffic, Traffic};

/// Builds a testbed; see [`Store::up`].
pub fn up(spec: &Spec) -> Result<State, Error> {
    Store::standard().up(spec)
}

/// Removes a testbed; see [`Store::down`].
pub fn down(name: &str) -> Result<Removed, Error> {
    Store::standard().down(name)
}

/// How a testbed is; see [`Store::status`].
pub fn status(name: &str) -> Result<Status, Error> {
    Store::standard().status(name)
}

/// Runs a command on a testbed; see [`Store::run`].
pub fn run(name: &str, run: &RunSpec) -> Result<RunReport, Error> {
    Store::standard().run(name, run)
}

/// The command prefix that enters a node of a testbed; see [`State::enter`].
pub fn enter(name: &str, node: &str) -> Result<Vec<String>, Error> {
    let state = Store::standard().load(name)?;
    state.check()?;
    state.enter(node)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    /// A place for a store that does not exist yet.
    pub(crate) fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("tailback-test-{}-{name}", std::process::id()))
    }
}
