//! The behaviours every machine is tested against.
//!
//! One list, [`ALL`], run on the simulator by its tests and on real MPI under `mpirun`. A check is ordinary code against
//! [`Comm`] for any number of ranks; it panics with a message that names the rank and what was expected. Every check is safe
//! on a machine where a send waits for its receive: nothing here depends on messages being buffered.
//!
//! Not here: anything about time but that it does not run backwards. Speed is what the kernels measure.

mod collective;
mod group;
mod message;
mod pending;
mod window;

use crate::{Comm, Rank, Tag};
use spec::Rng;

/// One behaviour.
pub struct Check {
    /// Its name, for reports.
    pub name: &'static str,
    /// What must hold, in one line.
    pub about: &'static str,
    /// Checks it. Collective; panics if it does not hold.
    pub run: fn(&dyn Comm),
}

/// Every check, the simple ones first: the first that fails is the one to look at.
pub const ALL: &[Check] = &[
    message::ORDER,
    message::TAGS,
    message::EMPTY,
    message::LARGE,
    message::TO_SELF,
    message::OUTSTANDING,
    message::ALL_PAIRS,
    message::PING_PONG,
    message::SWAP,
    message::LENGTHS,
    pending::OVERLAP,
    pending::TEST,
    pending::END,
    pending::TWO,
    pending::SOME,
    pending::CLOCK,
    group::PARITY,
    group::NONE,
    group::KEYS,
    group::NESTED,
    group::GRID,
    group::SEPARATE,
    group::NODES,
    group::MANY,
    collective::BARRIER,
    collective::ALLREDUCE,
    collective::SAME_BITS,
    collective::ALLTOALL,
    collective::BCAST,
    collective::GATHER,
    collective::FOLD,
    collective::LENGTHS,
    collective::AMID_TRAFFIC,
    pending::SUMS,
    pending::SUMS_IN_GROUPS,
    window::ZEROED,
    window::PUT,
    window::GET,
    window::MIXED,
    window::LARGE,
    window::OWN,
    window::TWO,
    window::GROUP,
];

/// Runs every check on every rank of `comm`; `report` is told of each one that all ranks have passed.
pub fn run_all(comm: &dyn Comm, mut report: impl FnMut(&Check)) {
    for check in ALL {
        (check.run)(comm);
        // A rank that runs ahead would blame the next check for what is still wrong with this one.
        comm.barrier();
        report(check);
    }
}

/// A tag that needs no thought.
const TAG: Tag = 7;

/// Random bytes that both ends of a message can compute.
fn bytes(from: Rank, to: Rank, salt: u64, len: usize) -> Vec<u8> {
    let mut rng = Rng::new(salt, "conformance", (from as u64) << 32 | to as u64);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend(rng.bits().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// The ranks after and before this one, in a ring.
fn ring(comm: &dyn Comm) -> (Rank, Rank) {
    let (rank, size) = (comm.rank(), comm.size());
    ((rank + 1) % size, (rank + size - 1) % size)
}

/// Panics, naming the rank and the first difference, if two byte strings differ.
#[track_caller]
fn same(comm: &dyn Comm, what: &str, got: &[u8], want: &[u8]) {
    let (rank, size) = (comm.rank(), comm.size());
    assert_eq!(got.len(), want.len(), "rank {rank} of {size}: {what}: number of bytes");
    if let Some(at) = got.iter().zip(want).position(|(g, w)| g != w) {
        panic!("rank {rank} of {size}: {what}: byte {at} of {} is {}, not {}", got.len(), got[at], want[at]);
    }
}

/// Panics, naming the rank, if a value is not what it must be.
#[track_caller]
fn equal<T: PartialEq + std::fmt::Debug>(comm: &dyn Comm, what: &str, got: T, want: T) {
    let (rank, size) = (comm.rank(), comm.size());
    assert!(got == want, "rank {rank} of {size}: {what}: {got:?}, not {want:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_every_check_says_what_it_is_about() {
        for (i, check) in ALL.iter().enumerate() {
            assert!(!check.about.is_empty(), "{}", check.name);
            assert!(ALL[..i].iter().all(|other| other.name != check.name), "two checks are named {}", check.name);
        }
    }

    #[test]
    fn bytes_differ_by_sender_receiver_and_salt() {
        let all = [bytes(0, 1, 0, 64), bytes(1, 0, 0, 64), bytes(0, 1, 1, 64), bytes(1, 1, 0, 64)];
        for (i, a) in all.iter().enumerate() {
            assert_eq!(a.len(), 64);
            assert!(all[..i].iter().all(|b| a != b));
        }
        assert_eq!(bytes(0, 1, 0, 13), all[0][..13]);
    }
}
