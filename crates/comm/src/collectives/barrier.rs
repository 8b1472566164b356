//! Dissemination barrier.

use super::BARRIER;
use crate::{Buffer, Comm, Data, Op};

/// Waits until every rank is here.
///
/// In round k a rank tells the one 2^k after it and hears from the one 2^k before it. After ceil(log2(size)) rounds it has
/// heard, directly or not, of every rank (Hensgen, Finkel and Manber, 1988).
pub fn barrier<C: Comm + ?Sized>(comm: &C) {
    let (rank, size) = (comm.rank(), comm.size());
    let mut step = 1;
    while step < size {
        comm.exchange(&mut [
            Op::Recv { from: (rank + size - step) % size, tag: BARRIER, into: Buffer::Len(0) },
            Op::Send { to: (rank + step) % size, tag: BARRIER, data: Data::Len(0) },
        ]);
        step *= 2;
    }
}
