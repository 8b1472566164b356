//! How a run ended, and whether its traffic was where it should be.

use super::{Launch, RunSpec, Stopped};
use crate::launcher::{Family, Launcher};
use crate::traffic::{LinkKind, Traffic};
use std::fmt;
use std::time::Duration;

/// Default of [`RunSpec::least_bytes`]: above what launching takes, below what any measurement moves.
pub(super) const LEAST_BYTES: u64 = 64 * 1024;
/// A node that only receives sends acknowledgements; so much more must it have received.
const RECEIVED_WEIGHT: u64 = 16;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// All processes ended well.
    Success,
    /// A process failed with this exit code.
    Failed(i32),
    /// A process was ended by this signal.
    Killed(i32),
    /// It took longer than allowed and was ended.
    TimedOut(Duration),
    /// We were interrupted by this signal and ended it.
    Interrupted(i32),
    /// It ended well, but (almost) nothing crossed the links: what it measured is not this network.
    NoTraffic {
        /// What was seen and why it may be.
        reason: String,
    },
}

impl RunOutcome {
    /// Whether the run is good.
    pub fn is_success(&self) -> bool {
        *self == RunOutcome::Success
    }
}

impl fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunOutcome::Success => f.write_str("success"),
            RunOutcome::Failed(code) => write!(f, "failed with exit code {code}"),
            RunOutcome::Killed(signal) => write!(f, "ended by signal {signal}"),
            RunOutcome::TimedOut(limit) => write!(f, "not done after {limit:?}; all its processes were ended"),
            RunOutcome::Interrupted(signal) => {
                write!(f, "interrupted by signal {signal}; all its processes were ended")
            }
            RunOutcome::NoTraffic { reason } => f.write_str(reason),
        }
    }
}

/// One process that was started: the launcher, or a plain command on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The node it ran on.
    pub node: String,
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// What it printed, if that was kept.
    pub stdout: String,
    /// What it printed on its error stream, if that was kept.
    pub stderr: String,
}

/// What a run did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunReport {
    /// How it ended.
    pub outcome: RunOutcome,
    /// Each process that was started.
    pub ended: Vec<Ended>,
    /// What the links carried meanwhile.
    pub traffic: Traffic,
    /// The launcher, if there was one.
    pub launcher: Option<Launcher>,
    /// The command line that ran on the first node.
    pub command_line: Vec<String>,
}

impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(launcher) = &self.launcher {
            writeln!(f, "launcher: {launcher}")?;
        }
        writeln!(f, "{}", self.traffic)?;
        write!(f, "outcome: {}", self.outcome)
    }
}

pub(super) fn judge(
    stopped: Option<Stopped>,
    ended: &[Ended],
    launcher: Option<&Launcher>,
    nodes: usize,
    run: &RunSpec,
    traffic: &Traffic,
) -> RunOutcome {
    // Asked first: what was stopped from outside has died by our own signals, and those are not the reason.
    match stopped {
        Some(Stopped::Timeout(limit)) => return RunOutcome::TimedOut(limit),
        Some(Stopped::Signal(signal)) => return RunOutcome::Interrupted(signal),
        None => {}
    }
    if let Some(signal) = ended.iter().find_map(|e| e.signal) {
        return RunOutcome::Killed(signal);
    }
    if let Some(code) = ended.iter().filter_map(|e| e.code).find(|&code| code != 0) {
        return RunOutcome::Failed(code);
    }
    match (launcher, &run.launch) {
        (Some(launcher), Launch::Mpi(_)) if nodes > 1 => check_traffic(launcher, nodes, run, traffic),
        _ => RunOutcome::Success,
    }
}

/// Whether the job used the links. Launching it and exchanging the ranks' addresses crosses them too, but nearly all of that is
/// sent by the launcher's node: in trials with 10 nodes the others sent 2 to 17 kB and received up to 60 kB. So the others
/// count, by what the busiest of them sent, or received far beyond that.
fn check_traffic(launcher: &Launcher, nodes: usize, run: &RunSpec, traffic: &Traffic) -> RunOutcome {
    // The nodes' links come in order, and the launcher runs on the first node.
    let others = traffic.links.iter().filter(|l| l.kind == LinkKind::Node).skip(1);
    let carried = others.map(|l| l.sent.max(l.received / RECEIVED_WEIGHT)).max().unwrap_or(0);
    if carried >= run.least_bytes {
        return RunOutcome::Success;
    }
    let cause = match launcher.family {
        Family::Hydra(_) => {
            "UCX takes emulated nodes for one node and then uses shared memory; the testbed sets UCX_TLS=tcp,self, or \
             MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp: look for a variable that overrides it"
        }
        _ => {
            "a transport that ignores emulated nodes (UCX, shared memory) was used; the testbed sets `--mca pml ob1 --mca btl \
             tcp,self,vader`: look for OMPI_MCA_ variables or arguments that override it"
        }
    };
    RunOutcome::NoTraffic {
        reason: format!(
            "(almost) nothing crossed the links: of {nodes} nodes none but the launcher's sent more than {carried} B, {} B is the \
             least; either the job sends next to nothing (then set the least to 0), or {cause}",
            run.least_bytes
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::LinkTraffic;

    fn traffic(nodes: &[(u64, u64)]) -> Traffic {
        let link = |(i, &(sent, received)): (usize, &(u64, u64))| LinkTraffic {
            name: format!("n{}", i + 1),
            kind: LinkKind::Node,
            sent,
            received,
        };
        let uplink = LinkTraffic { name: "leaf1".into(), kind: LinkKind::Uplink, sent: 1 << 30, received: 1 << 30 };
        Traffic { links: nodes.iter().enumerate().map(link).chain([uplink]).collect() }
    }

    fn ended(code: Option<i32>, signal: Option<i32>) -> Ended {
        Ended { node: "n1".into(), code, signal, stdout: String::new(), stderr: String::new() }
    }

    fn judged(nodes: &[(u64, u64)], family: Family) -> RunOutcome {
        let launcher = Launcher { path: "mpirun".into(), family, version: "1".into() };
        let run = RunSpec::new(Launch::Mpi("mpirun".into()), &["x"]).unwrap();
        judge(None, &[ended(Some(0), None)], Some(&launcher), nodes.len(), &run, &traffic(nodes))
    }

    #[test]
    fn launching_is_no_traffic_and_messages_are() {
        // Shared memory between nodes, as measured: the launcher's node sends, the others hardly do.
        for family in [Family::OpenMpi4, Family::Hydra(crate::Netmod::Ucx)] {
            match judged(&[(530_619, 74_470), (8_300, 59_000)], family) {
                RunOutcome::NoTraffic { reason } => {
                    assert!(reason.contains("8300 B") && reason.contains("65536 B"), "{reason}")
                }
                other => panic!("{other:?}"),
            }
            assert_eq!(judged(&[(10_000_000, 10_000_000), (10_000_000, 10_000_000)], family), RunOutcome::Success);
            assert_eq!(judged(&[(10_000_000, 20_000), (20_000, 10_000_000)], family), RunOutcome::Success, "one way");
            assert_eq!(judged(&[(10, 10)], family), RunOutcome::Success, "one node needs no links");
        }
    }

    #[test]
    fn the_worst_ending_counts() {
        let run = RunSpec::new(Launch::Plain, &["x"]).unwrap();
        let judge = |stopped, all: &[Ended]| judge(stopped, all, None, 2, &run, &traffic(&[(0, 0), (0, 0)]));
        let (good, bad, hit) = (ended(Some(0), None), ended(Some(3), None), ended(None, Some(9)));
        assert_eq!(judge(None, &[good.clone(), good.clone()]), RunOutcome::Success);
        assert_eq!(judge(None, &[good.clone(), bad.clone()]), RunOutcome::Failed(3));
        assert_eq!(judge(None, &[bad, hit.clone()]), RunOutcome::Killed(9));
        assert_eq!(judge(Some(Stopped::Signal(2)), std::slice::from_ref(&hit)), RunOutcome::Interrupted(2));
        let limit = Duration::from_secs(1);
        assert_eq!(judge(Some(Stopped::Timeout(limit)), &[hit]), RunOutcome::TimedOut(limit));
    }
}
