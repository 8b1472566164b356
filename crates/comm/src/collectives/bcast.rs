//! Binomial broadcast.

use super::{BCAST, recv, room, send};
use crate::{Buffer, Comm, Data, Rank};

/// The root's bytes reach everyone in ceil(log2(size)) rounds.
///
/// Ranks are counted from the root. A rank's parent is its number without the lowest set bit; its children are its number
/// with one lower bit added, the largest subtree first because it has the longest way to go.
///
/// # Panics
/// If there is no rank `root`.
pub fn bcast<C: Comm + ?Sized>(comm: &C, root: Rank, mut buffer: Buffer<'_>) {
    let (rank, size) = (comm.rank(), comm.size());
    assert!(root < size, "broadcast from rank {root}, but there are only {size} ranks");
    if buffer.is_empty() {
        return;
    }
    let here = (rank + size - root) % size;
    let mut bit = 1;
    while bit < size && here & bit == 0 {
        bit *= 2;
    }
    // Now `bit` is the lowest set bit of `here`; on the root it is the first power of two that is not below the size.
    if here != 0 {
        let parent = (here - bit + root) % size;
        let len = buffer.len();
        recv(comm, parent, BCAST, room(&mut buffer, 0..len));
    }
    bit /= 2;
    while bit > 0 {
        if here + bit < size {
            let data = match &buffer {
                Buffer::Bytes(bytes) => Data::Bytes(bytes),
                Buffer::Len(len) => Data::Len(*len),
            };
            send(comm, (here + bit + root) % size, BCAST, data);
        }
        bit /= 2;
    }
}
