//! Which ranks share a node: asked from the library, and compared with the host names.
//!
//! A node's number is the order of its lowest rank. No rank ever holds a list of nodes or names: the numbers come from one
//! prefix sum over the ranks that lead their node, and one broadcast within each node.

use crate::abi::Abi;
use crate::communicator::Communicator;
use crate::context::Context;
use comm::{Buffer, Comm, Reduce, Vector};

/// Names are compared up to here; the largest MPI_MAX_PROCESSOR_NAME is 256.
const NAME_ROOM: usize = 256;

/// Where this rank is.
pub(crate) struct Placement {
    pub node: usize,
    pub nodes: usize,
    /// Where the library and the host names disagree; the same on all ranks.
    pub warnings: Vec<String>,
}

/// Finds the place of this rank. Collective over the world.
pub(crate) fn place<A: Abi>(context: &Context<A>, host: &str) -> Placement {
    let api = context.api;
    let world = Communicator::new(context, api.handles.world, false);
    let mut shared = api.handles.comm_null;
    // SAFETY: the world is valid, and there is room for the new communicator.
    let code = unsafe { (api.comm_split_type)(world.handle, A::SHARED, 0, api.handles.info_null, &mut shared) };
    context.check(code, "MPI_Comm_split_type", String::new);
    let neighbours = Communicator::new(context, shared, true);
    let leads = neighbours.rank() == 0;

    let mut before = [0.0];
    // Counts are doubles like all reductions here, exact up to 2^53.
    let mine = [f64::from(u8::from(leads))];
    let (double, sum) = (api.handles.double, api.handles.sum);
    // SAFETY: one value each; on rank 0 the result is left as it is.
    let code = unsafe { (api.exscan)(mine.as_ptr().cast(), before.as_mut_ptr().cast(), 1, double, sum, world.handle) };
    context.check(code, "MPI_Exscan", String::new);
    // MPI leaves the result of the first rank undefined.
    if world.rank() == 0 {
        before = [0.0];
    }
    let mut number = (before[0] as u64).to_le_bytes();
    neighbours.bcast(0, Buffer::Bytes(&mut number));
    let node = u64::from_le_bytes(number) as usize;

    // Names are compared with those of two first ranks only, so that no rank needs a list of them.
    let mixed = heard_from_first(&neighbours, host) != padded(host);
    let doubled = heard_from_first(&world, host) == padded(host) && leads && node != 0;
    let mut counts = [mine[0], f64::from(u8::from(mixed)), f64::from(u8::from(doubled))];
    world.allreduce(Vector::Values(&mut counts), Reduce::Sum);
    let [nodes, mixed, doubled] = counts.map(|count| count as usize);
    Placement { node, nodes, warnings: warnings(mixed, doubled, world.size()) }
}

/// The name of a communicator's first rank.
fn heard_from_first<A: Abi>(comm: &Communicator<'_, A>, host: &str) -> [u8; NAME_ROOM] {
    let mut name = padded(host);
    comm.bcast(0, Buffer::Bytes(&mut name));
    name
}

fn padded(host: &str) -> [u8; NAME_ROOM] {
    let mut name = [0; NAME_ROOM];
    let length = host.len().min(NAME_ROOM);
    name[..length].copy_from_slice(&host.as_bytes()[..length]);
    name
}

/// What is strange, in words.
fn warnings(mixed: usize, doubled: usize, ranks: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if mixed > 0 {
        warnings.push(format!(
            "{mixed} of {ranks} ranks share memory with a rank of another host name; the library counts them as one node \
             (containers or namespaces on one machine?)"
        ));
    }
    if doubled > 0 {
        warnings.push(format!(
            "{doubled} nodes have the host name of the first node but share no memory with it (equal host names in \
             containers, or shared memory switched off?)"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_silent_and_disagreement_is_counted() {
        assert!(warnings(0, 0, 4).is_empty());
        let both = warnings(3, 2, 4);
        assert!(both[0].starts_with("3 of 4 ranks") && both[1].starts_with("2 nodes"), "{both:?}");
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(padded(&"x".repeat(300)), [b'x'; NAME_ROOM]);
        assert_ne!(padded("n1"), padded("n10"));
    }
}
