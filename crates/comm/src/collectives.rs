//! Portable collectives over [`Comm::exchange`](crate::Comm::exchange), for any number of ranks.

use crate::{Buffer, Comm, Data, Rank, Reduce, Vector};

/// Dissemination barrier.
pub fn barrier<C: Comm + ?Sized>(_comm: &C) {
    unreachable!()
}
/// All-reduce.
pub fn allreduce<C: Comm + ?Sized>(_comm: &C, _values: Vector<'_>, _how: Reduce) {
    unreachable!()
}
/// Pairwise all-to-all.
pub fn alltoall<C: Comm + ?Sized>(_comm: &C, _send: Data<'_>, _recv: Buffer<'_>) {
    unreachable!()
}
/// Binomial broadcast.
pub fn bcast<C: Comm + ?Sized>(_comm: &C, _root: Rank, _buffer: Buffer<'_>) {
    unreachable!()
}
/// Binomial gather.
pub fn gather<C: Comm + ?Sized>(_comm: &C, _root: Rank, _mine: &[u8], _all: &mut [u8]) {
    unreachable!()
}
/// Folds values of any length up a binomial tree.
pub fn fold<C: Comm + ?Sized>(
    _comm: &C,
    _mine: Vec<u8>,
    _merge: &mut dyn FnMut(Vec<u8>, Vec<u8>) -> Vec<u8>,
) -> Option<Vec<u8>> {
    unreachable!()
}
