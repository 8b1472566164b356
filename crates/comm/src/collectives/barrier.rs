//! Dissemination barrier.

use super::BARRIER;
use crate::{Buffer, Comm, Data, Op};

/// Waits until every rank is here.
///
/// In round k a rank tells the one 2^k after it and hears from the one 2^k before it. After ceil(log2(size)) rounds it has
/// heard, directly or not, of every rank (Hensgen, Finkel and Manber, 1988).
pub fn barrier<C: Comm + ?Sized>(comm: &C) {
    (0..barrier_rounds(comm.size())).for_each(|round| barrier_round(comm, round));
}

/// How many rounds a barrier of so many ranks has.
pub fn barrier_rounds(size: usize) -> u32 {
    size.next_power_of_two().ilog2()
}

/// One round of a barrier, from 0 on: for ranks that make it in turns.
pub fn barrier_round<C: Comm + ?Sized>(comm: &C, round: u32) {
    let (rank, size, step) = (comm.rank(), comm.size(), 1 << round);
    comm.exchange(&mut [
        Op::Recv { from: (rank + size - step) % size, tag: BARRIER, into: Buffer::Len(0) },
        Op::Send { to: (rank + step) % size, tag: BARRIER, data: Data::Len(0) },
    ]);
}
