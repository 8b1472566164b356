//! Portable collectives over [`Comm::exchange`], for any number of ranks.
//!
//! One file per collective. They are what a machine without collectives of its own runs (the simulator), and what one with
//! its own (MPI) is compared with. All ranks of a communicator call the same collectives in the same order, so one tag per
//! collective is enough: two messages of one pair with one tag arrive in the order they were started.
//!
//! They run on 130,000 simulated ranks with small stacks. So nothing large lives on the stack, no call recurses, and memory
//! is taken only for values on their way. The `Len` forms send the same messages and hold no values at all.
//!
//! Not here: algorithms chosen by topology, and overlap of several collectives.

mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod fold;
mod gather;

pub use allreduce::{RING_BLOCK, allreduce, allreduce_round, doubling_allreduce, has_rounds, ring_allreduce};
pub use alltoall::alltoall;
pub use barrier::{barrier, barrier_round, barrier_rounds};
pub use bcast::bcast;
pub use fold::fold;
pub use gather::gather;

use crate::{Buffer, Comm, Data, FIRST_RESERVED_TAG, Op, Rank, Tag};
use std::ops::Range;

const BARRIER: Tag = FIRST_RESERVED_TAG;
const ALLREDUCE: Tag = FIRST_RESERVED_TAG + 1;
const ALLTOALL: Tag = FIRST_RESERVED_TAG + 2;
const BCAST: Tag = FIRST_RESERVED_TAG + 3;
const GATHER: Tag = FIRST_RESERVED_TAG + 4;
const FOLD: Tag = FIRST_RESERVED_TAG + 5;

/// The reserved tags from here on are not used by the collectives: they are for the engine and for machines.
// Chosen: room for ten more collectives.
pub const FIRST_FREE_TAG: Tag = FIRST_RESERVED_TAG + 16;

/// The part of `data` in `range`.
fn part<'a>(data: &Data<'a>, range: Range<usize>) -> Data<'a> {
    match *data {
        Data::Bytes(bytes) => Data::Bytes(&bytes[range]),
        Data::Len(_) => Data::Len(range.len()),
    }
}

/// The part of `buffer` in `range`.
fn room<'a>(buffer: &'a mut Buffer<'_>, range: Range<usize>) -> Buffer<'a> {
    match buffer {
        Buffer::Bytes(bytes) => Buffer::Bytes(&mut bytes[range]),
        Buffer::Len(_) => Buffer::Len(range.len()),
    }
}

/// Sends one message and waits until it is gone.
fn send<C: Comm + ?Sized>(comm: &C, to: Rank, tag: Tag, data: Data<'_>) {
    comm.exchange(&mut [Op::Send { to, tag, data }]);
}

/// Waits for one message.
fn recv<C: Comm + ?Sized>(comm: &C, from: Rank, tag: Tag, into: Buffer<'_>) {
    comm.exchange(&mut [Op::Recv { from, tag, into }]);
}
