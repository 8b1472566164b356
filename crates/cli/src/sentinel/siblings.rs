//! Who of this job is stopped on this host, found without MPI and before it has started.

use super::peers::{State, state, status};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::PathBuf;

/// What tells that two processes are of one job where they have not one parent: PMIx names jobs.
const JOB: &str = "PMIX_NAMESPACE";

/// A rank of this job, `rank 3 on node17`, or the launcher of this rank, if one of them is stopped.
pub fn stopped_here() -> Option<String> {
    let me = Process(std::process::id());
    if let Some(parent) = me.parent().filter(|pid| state(*pid) == State::Stopped) {
        let name = fs::read_to_string(Process(parent).file("comm")).unwrap_or_default();
        return Some(format!("the launcher ({}, process {parent}) on {}", name.trim(), crate::host::name()));
    }
    let (rank, _) = stopped_ranks(&me).next()?;
    Some(format!("rank {rank} on {}", crate::host::name()))
}

/// Kills the ranks of this job that are stopped on this host. A launcher that ends a job lets them go on first: they would come to where the
/// others wait, and let those go on, too, in a job that is being taken down. Open MPI's then waits for ever now and then.
pub fn end_stopped() {
    let me = Process(std::process::id());
    for (_, pid) in stopped_ranks(&me) {
        let _ = Pid::from_raw(pid as i32).map(|pid| kill_process(pid, Signal::KILL));
    }
}

/// Ranks of the job of this one that are stopped on this host, and their processes.
fn stopped_ranks(me: &Process) -> impl Iterator<Item = (usize, u32)> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let stopped = others.filter(|pid: &u32| *pid != me.0 && state(*pid) == State::Stopped);
    stopped.filter_map(|pid| Some((Process(pid).rank_with(me)?, pid)))
}

struct Process(u32);

impl Process {
    /// Its rank, if it runs this program in the job of the other.
    fn rank_with(&self, other: &Process) -> Option<usize> {
        if self.program()? != other.program()? {
            return None;
        }
        let job = self.told(JOB);
        let one = job.is_some() && job == other.told(JOB) || self.parent()? == other.parent()?;
        mpi::rank_in(&|name| self.told(name)).filter(|_| one)
    }

    fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.0))
    }

    fn program(&self) -> Option<PathBuf> {
        fs::read_link(self.file("exe")).ok()
    }

    fn parent(&self) -> Option<u32> {
        status(self.0)?.split_whitespace().nth(1)?.parse().ok()
    }

    /// A variable of its environment.
    fn told(&self, name: &str) -> Option<String> {
        let all = fs::read(self.file("environ")).ok()?;
        let pair = |variable: &[u8]| {
            let text = std::str::from_utf8(variable).ok()?;
            text.split_once('=').filter(|(key, _)| *key == name).map(|(_, value)| value.to_string())
        };
        all.split(|byte| *byte == 0).find_map(pair)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// Stopped as soon as it runs `sleep`, which takes a moment after it was started.
    fn stopped_sleep(environment: &[(&str, &str)]) -> Child {
        let child = Command::new("sleep").arg("60").envs(environment.iter().copied()).spawn().unwrap();
        kill_process(Pid::from_child(&child), Signal::STOP).unwrap();
        while state(child.id()) != State::Stopped {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn a_sibling_runs_the_same_program_in_the_same_job() {
        let told = [("PMI_RANK", "3"), (JOB, "a")];
        let mut children = [&told[..], &told, &[(JOB, "a")]].map(stopped_sleep);
        let [one, same, nobody] = [0, 1, 2].map(|i| Process(children[i].id()));
        assert_eq!(one.rank_with(&same), Some(3));
        assert_eq!(one.rank_with(&Process(std::process::id())), None, "another program");
        assert_eq!(nobody.rank_with(&one), None, "it has no rank");
        assert_eq!(stopped_ranks(&one).collect::<Vec<_>>(), [(3, same.0)]);
        children.iter_mut().for_each(|child| {
            child.kill().unwrap();
            child.wait().unwrap();
        });
    }
}
