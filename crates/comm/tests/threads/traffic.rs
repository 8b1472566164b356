//! How many messages the collectives send, and that the forms without values send the same ones.

use crate::machine::{Message, ThreadMachine};
use tailback_comm::collectives::{RING_BLOCK, barrier, doubling_allreduce, fold, ring_allreduce};
use tailback_comm::{Buffer, Comm, Data, Reduce, Vector};

fn messages(size: usize, body: &(dyn Fn(&dyn Comm) + Sync)) -> Vec<Message> {
    ThreadMachine::new(size).run(body).expect("no rank fails")
}

fn bytes(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.3).sum()
}

#[test]
fn forms_without_values_send_the_same_messages() {
    for size in [1, 2, 3, 5, 8, 9] {
        for len in [0, 1, size - 1, size + 1, 50, RING_BLOCK / 8 * size] {
            let with = messages(size, &|comm| {
                comm.allreduce(Vector::Values(&mut vec![1.0; len]), Reduce::Sum);
                doubling_allreduce(comm, Vector::Values(&mut vec![1.0; len]), Reduce::Sum);
                ring_allreduce(comm, Vector::Values(&mut vec![1.0; len]), Reduce::Sum);
                comm.alltoall(Data::Bytes(&vec![0; len * size]), Buffer::Bytes(&mut vec![0; len * size]));
                comm.bcast(size / 2, Buffer::Bytes(&mut vec![0; len]));
            });
            let without = messages(size, &|comm| {
                comm.allreduce(Vector::Len(len), Reduce::Sum);
                doubling_allreduce(comm, Vector::Len(len), Reduce::Sum);
                ring_allreduce(comm, Vector::Len(len), Reduce::Sum);
                comm.alltoall(Data::Len(len * size), Buffer::Len(len * size));
                comm.bcast(size / 2, Buffer::Len(len));
            });
            assert_eq!(with, without, "{size} ranks, {len} elements");
        }
    }
}

#[test]
fn numbers_of_messages_are_those_of_the_algorithms() {
    for size in 1..=17usize {
        let rounds = size.next_power_of_two().ilog2() as usize;
        assert_eq!(messages(size, &|comm| barrier(comm)).len(), size * rounds, "barrier on {size}");

        let power = 1 << size.ilog2();
        let doubling = messages(size, &|comm| doubling_allreduce(comm, Vector::Len(3), Reduce::Sum));
        assert_eq!(doubling.len(), power * size.ilog2() as usize + 2 * (size - power), "doubling on {size}");
        assert!(doubling.iter().all(|message| message.3 == 24));

        // Each element leaves size - 1 ranks in each half of the ring; the shares of a short vector that are empty, none.
        let ring = messages(size, &|comm| ring_allreduce(comm, Vector::Len(5), Reduce::Sum));
        assert_eq!(bytes(&ring), 2 * (size - 1) * 5 * 8, "bytes of the ring on {size}");
        assert_eq!(ring.len(), 2 * (size - 1) * size.min(5), "ring on {size}");

        let alltoall = messages(size, &|comm| comm.alltoall(Data::Len(7 * size), Buffer::Len(7 * size)));
        assert_eq!(alltoall.len(), size * (size - 1), "all-to-all on {size}");
        assert_eq!(bytes(&alltoall), 7 * size * (size - 1));

        assert_eq!(messages(size, &|comm| comm.bcast(size - 1, Buffer::Len(9))).len(), size - 1, "broadcast on {size}");
        let gather = messages(size, &|comm| comm.gather(0, &[1, 2], &mut vec![0; 2 * size]));
        assert_eq!(gather.len(), size - 1, "gather on {size}");
        let fold = messages(size, &|comm| drop(fold(comm, vec![0], &mut |a, b| [a, b].concat())));
        assert_eq!(fold.len(), 2 * (size - 1), "fold on {size}");
    }
}

#[test]
fn the_ring_is_taken_for_long_vectors_on_more_than_two_ranks() {
    let longest_message = |size, len| {
        let sent = messages(size, &|comm| comm.allreduce(Vector::Len(len), Reduce::Sum));
        sent.iter().map(|message| message.3).max()
    };
    let share = RING_BLOCK / 8;
    assert_eq!(longest_message(4, 4 * share), Some(RING_BLOCK));
    assert_eq!(longest_message(4, 4 * share - 1), Some(4 * RING_BLOCK - 8));
    assert_eq!(longest_message(2, 2 * share), Some(2 * RING_BLOCK));
}
