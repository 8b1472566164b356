//! Pairwise-exchange all-to-all.

use super::{ALLTOALL, part, room};
use crate::{Buffer, Comm, Data, Op};

/// Block `i` of `send` goes to rank `i`; block `j` of `recv` comes from rank `j`.
///
/// Size - 1 rounds; in each, a rank sends one block and receives one, so no rank is ever the target of two messages of one
/// round. With a power of two the two partners are the same rank (`rank ^ round`); otherwise a rank sends `round` ahead and
/// receives from `round` behind.
///
/// # Panics
/// If the buffers differ in length or are not `size()` equal blocks.
pub fn alltoall<C: Comm + ?Sized>(comm: &C, send: Data<'_>, mut recv: Buffer<'_>) {
    let (rank, size) = (comm.rank(), comm.size());
    assert!(
        send.len() == recv.len() && send.len().is_multiple_of(size),
        "all-to-all of {} bytes into {} on {size} ranks: both must be the same multiple of the number of ranks",
        send.len(),
        recv.len(),
    );
    let block = send.len() / size;
    if block == 0 {
        return;
    }
    let at = |r: usize| r * block..(r + 1) * block;
    if let (Data::Bytes(from), Buffer::Bytes(into)) = (&send, &mut recv) {
        into[at(rank)].copy_from_slice(&from[at(rank)]);
    }
    for round in 1..size {
        let (to, from) = if size.is_power_of_two() {
            (rank ^ round, rank ^ round)
        } else {
            ((rank + round) % size, (rank + size - round) % size)
        };
        comm.exchange(&mut [
            Op::Recv { from, tag: ALLTOALL, into: room(&mut recv, at(from)) },
            Op::Send { to, tag: ALLTOALL, data: part(&send, at(to)) },
        ]);
    }
}
