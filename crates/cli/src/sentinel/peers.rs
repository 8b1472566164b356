//! Processes of other ranks on the same node.

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The other ranks of a node.
pub struct Peers(Vec<Peer>);

struct Peer {
    rank: usize,
    pid: u32,
    /// Becomes readable when the process ends. Older kernels have none: then its death is found when somebody asks.
    life: Option<OwnedFd>,
}

impl Peers {
    /// By rank and process id.
    pub fn new(of: impl Iterator<Item = (usize, u32)>) -> Peers {
        let life = |pid: u32| pidfd_open(Pid::from_raw(pid as i32)?, PidfdFlags::empty()).ok();
        Peers(of.map(|(rank, pid)| Peer { rank, pid, life: life(pid) }).collect())
    }

    /// What becomes readable when one of them ends.
    pub fn lives(&self) -> Vec<BorrowedFd<'_>> {
        self.0.iter().filter_map(|p| p.life.as_ref()).map(AsFd::as_fd).collect()
    }

    /// Those whose process is gone; nobody is told of twice.
    pub fn take_dead(&mut self) -> Vec<usize> {
        let (dead, alive) = std::mem::take(&mut self.0).into_iter().partition(|p| state(p.pid) == State::Gone);
        self.0 = alive;
        let dead: Vec<Peer> = dead;
        dead.into_iter().map(|p| p.rank).collect()
    }

    /// Those who are stopped.
    pub fn stopped(&self) -> Vec<usize> {
        self.0.iter().filter(|p| state(p.pid) == State::Stopped).map(|p| p.rank).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    Runs,
    Stopped,
    Gone,
}

pub fn state(pid: u32) -> State {
    let Some(fields) = status(pid) else { return State::Gone };
    match fields.split_whitespace().next() {
        Some("T" | "t") => State::Stopped,
        Some("Z" | "X") => State::Gone,
        _ => State::Runs,
    }
}

/// What the kernel says of a process, from its state on; its parent is next.
pub fn status(pid: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, which may hold anything.
    text.rsplit_once(')').map(|(_, fields)| fields.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Signal, kill_process};
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn stopped_and_dead_processes_are_told_apart() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut peers = Peers::new([(3, child.id()), (4, std::process::id())].into_iter());
        assert_eq!((peers.stopped(), peers.take_dead()), (vec![], vec![]));
        let pid = Pid::from_child(&child);
        kill_process(pid, Signal::STOP).unwrap();
        // The signal takes effect when the child is next looked at by the scheduler.
        while peers.stopped().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(peers.stopped(), [3]);
        kill_process(pid, Signal::KILL).unwrap();
        let ended = super::super::line::wait(&peers.lives()[..1], Duration::from_secs(10));
        assert_eq!((ended, peers.take_dead()), (vec![true], vec![3]));
        assert_eq!((peers.take_dead(), peers.lives().len()), (vec![], 1));
        child.wait().unwrap();
    }
}
