//! Binomial fold of byte strings of any length.

use super::{FOLD, recv};
use crate::{Buffer, Comm, Op};

/// Merges every rank's bytes up a binomial tree; rank 0 gets the result, the others `None`.
///
/// `merge(a, b)` always gets neighbours, `a` from the lower ranks and `b` from the ones right after them, so it need not be
/// commutative: concatenation gives rank order. A message is its length (8 bytes) followed by its bytes, if any.
pub fn fold<C: Comm + ?Sized>(
    comm: &C,
    mine: Vec<u8>,
    merge: &mut dyn FnMut(Vec<u8>, Vec<u8>) -> Vec<u8>,
) -> Option<Vec<u8>> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut value = mine;
    let mut bit = 1;
    while bit < size {
        // All lower bits are done, so the value is that of the whole subtree and this rank is finished.
        if rank & bit != 0 {
            give(comm, rank - bit, &value);
            return None;
        }
        if rank + bit < size {
            let theirs = take(comm, rank + bit);
            value = merge(value, theirs);
        }
        bit *= 2;
    }
    Some(value)
}

/// Sends the length and, at the same time, the bytes.
fn give<C: Comm + ?Sized>(comm: &C, to: usize, bytes: &[u8]) {
    let length = (bytes.len() as u64).to_le_bytes();
    // Messages of one tag keep their order, so the bytes need no tag of their own.
    let mut ops = [Op::send(to, FOLD, &length), Op::send(to, FOLD, bytes)];
    let messages = if bytes.is_empty() { 1 } else { 2 };
    comm.exchange(&mut ops[..messages]);
}

/// Receives the length, then the bytes.
fn take<C: Comm + ?Sized>(comm: &C, from: usize) -> Vec<u8> {
    let mut length = [0; 8];
    recv(comm, from, FOLD, Buffer::Bytes(&mut length));
    let length = u64::from_le_bytes(length);
    let length = usize::try_from(length).expect("a byte string of another rank fits in memory");
    let mut bytes = vec![0; length];
    if length > 0 {
        recv(comm, from, FOLD, Buffer::Bytes(&mut bytes));
    }
    bytes
}
