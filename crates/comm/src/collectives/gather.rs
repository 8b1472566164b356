//! Binomial gather.

use super::{GATHER, recv, send};
use crate::{Buffer, Comm, Data, Rank};

/// Every rank's equal block reaches the root, in rank order; `all` is looked at on the root alone.
///
/// Ranks are counted from the root, so that the blocks of a subtree are neighbours and travel as one message. A leaf, every
/// second rank, takes no memory; the root collects in place and turns the blocks into rank order at the end.
///
/// # Panics
/// If there is no rank `root`, or if `all` on the root is not `size()` blocks.
pub fn gather<C: Comm + ?Sized>(comm: &C, root: Rank, mine: &[u8], all: &mut [u8]) {
    let (rank, size, block) = (comm.rank(), comm.size(), mine.len());
    assert!(root < size, "gather to rank {root}, but there are only {size} ranks");
    if rank == root {
        let room = all.len();
        assert!(room == size * block, "gather of {size} blocks of {block} bytes into {room}: make room for every rank");
    }
    if block == 0 {
        return;
    }
    let here = (rank + size - root) % size;
    if here == 0 {
        all[..block].copy_from_slice(mine);
        collect(comm, root, here, block, all);
        // So far block 0 is that of the root.
        all.rotate_right(root * block);
        return;
    }
    // The last subtrees are cut off where the ranks end.
    let subtree = below(here).min(size - here);
    let parent = (here - below(here) + root) % size;
    if subtree == 1 {
        send(comm, parent, GATHER, Data::Bytes(mine));
        return;
    }
    let mut blocks = vec![0; subtree * block];
    blocks[..block].copy_from_slice(mine);
    collect(comm, root, here, block, &mut blocks);
    send(comm, parent, GATHER, Data::Bytes(&blocks));
}

/// Receives the blocks of every child subtree into its place in `blocks`, which begins with this rank's own.
fn collect<C: Comm + ?Sized>(comm: &C, root: Rank, here: usize, block: usize, blocks: &mut [u8]) {
    let size = comm.size();
    let mut bit = 1;
    while here + bit < size && here & bit == 0 {
        let count = bit.min(size - here - bit);
        let into = Buffer::Bytes(&mut blocks[bit * block..(bit + count) * block]);
        recv(comm, (here + bit + root) % size, GATHER, into);
        bit *= 2;
    }
}

/// The lowest set bit: how many ranks a full subtree at `here` has, and how far away its parent is.
fn below(here: usize) -> usize {
    1 << here.trailing_zeros()
}
