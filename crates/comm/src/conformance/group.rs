//! Communicators made by `split`.

use super::{Check, TAG, bytes, equal, ring, same};
use crate::{Comm, Op, Rank, overlap};

/// Checks that the communicator `part` of `whole` has exactly these members in this order, by numbers and by messages.
fn is_made_of(whole: &dyn Comm, part: &dyn Comm, members: &[Rank]) {
    equal(whole, "size of the part", part.size(), members.len());
    equal(whole, "rank in the part", members.get(part.rank()).copied(), Some(whole.rank()));
    let (next, previous) = ring(part);
    let sent = bytes(whole.rank(), members[next], 0, 100);
    let mut got = [0; 100];
    part.exchange(&mut [Op::recv(previous, TAG, &mut got), Op::send(next, TAG, &sent)]);
    same(whole, "message around the part", &got, &bytes(members[previous], whole.rank(), 0, 100));
}

pub(super) const PARITY: Check = Check {
    name: "split-parity",
    about: "Split by parity: each part has its ranks in order, and both work at the same time.",
    run: |comm| {
        let color = comm.rank() % 2;
        let part = comm.split(Some(color as u32), 0).expect("a color gives a part");
        let members: Vec<Rank> = (color..comm.size()).step_by(2).collect();
        is_made_of(comm, &*part, &members);
        drop(part);
        // Colors need not be small, nor follow each other.
        let part = comm.split(Some(1_000_000 + 77 * color as u32), 5).expect("a color gives a part");
        is_made_of(comm, &*part, &members);
    },
};

pub(super) const NONE: Check = Check {
    name: "split-none",
    about: "Ranks without a color join no part; the others do not wait for them.",
    run: |comm| {
        let inside = |rank: Rank| rank % 3 != 1;
        let part = comm.split(inside(comm.rank()).then_some(4), 0);
        equal(comm, "in the part", part.is_some(), inside(comm.rank()));
        if let Some(part) = part {
            let members: Vec<Rank> = (0..comm.size()).filter(|&rank| inside(rank)).collect();
            is_made_of(comm, &*part, &members);
            part.barrier();
        }
        equal(comm, "a part of nobody", comm.split(None, 0).is_none(), true);
    },
};

pub(super) const KEYS: Check = Check {
    name: "split-keys",
    about: "Keys order a part, and ranks break ties.",
    run: |comm| {
        let size = comm.size();
        let part = comm.split(Some(0), (size - comm.rank()) as u32).expect("a color gives a part");
        is_made_of(comm, &*part, &(0..size).rev().collect::<Vec<_>>());
        let key = |rank: Rank| (rank + 1) % 2;
        let part = comm.split(Some(0), key(comm.rank()) as u32).expect("a color gives a part");
        let mut members: Vec<Rank> = (0..size).collect();
        members.sort_by_key(|&rank| (key(rank), rank));
        is_made_of(comm, &*part, &members);
    },
};

pub(super) const NESTED: Check = Check {
    name: "split-nested",
    about: "A part can be split again, down to one rank.",
    run: |comm| {
        let (me, size) = (comm.rank(), comm.size());
        let outer = comm.split(Some((me % 2) as u32), (size - me) as u32).expect("a color gives a part");
        let outer_members: Vec<Rank> = (me % 2..size).step_by(2).rev().collect();
        is_made_of(comm, &*outer, &outer_members);
        let half = outer.size().div_ceil(2);
        let upper = outer.rank() >= half;
        let inner = outer.split(Some(u32::from(upper)), 0).expect("a color gives a part");
        let inner_members = if upper { &outer_members[half..] } else { &outer_members[..half] };
        is_made_of(comm, &*inner, inner_members);
        let alone = inner.split(Some(inner.rank() as u32), 0).expect("a color gives a part");
        is_made_of(comm, &*alone, &[me]);
        is_made_of(comm, &*outer, &outer_members);
    },
};

pub(super) const GRID: Check = Check {
    name: "split-grid",
    about: "Rows and columns of a grid exist together and are used in turn.",
    run: |comm| {
        const WIDE: usize = 3;
        let (me, size) = (comm.rank(), comm.size());
        let (x, y) = (me % WIDE, me / WIDE);
        let row = comm.split(Some(y as u32), x as u32).expect("a color gives a part");
        let column = comm.split(Some(x as u32), y as u32).expect("a color gives a part");
        let row_members: Vec<Rank> = (y * WIDE..size.min((y + 1) * WIDE)).collect();
        let column_members: Vec<Rank> = (x..size).step_by(WIDE).collect();
        for _ in 0..3 {
            is_made_of(comm, &*row, &row_members);
            is_made_of(comm, &*column, &column_members);
        }
    },
};

pub(super) const SEPARATE: Check = Check {
    name: "split-separate",
    about: "Messages of different communicators do not mix, even with the same ranks and tags.",
    run: |comm| {
        let (next, previous) = ring(comm);
        let me = comm.rank();
        let first = comm.split(Some(0), 0).expect("a color gives a part");
        let second = comm.split(Some(0), 0).expect("a color gives a part");
        let sent = [1, 2, 3].map(|salt| bytes(me, next, salt, 30));
        // Sent in the order 1, 2, 3, and received in the order 3, 2, 1.
        let receive = || {
            for (salt, communicator) in [(3, comm), (2, &*second), (1, &*first)] {
                let mut got = [0; 30];
                communicator.exchange(&mut [Op::recv(previous, TAG, &mut got)]);
                same(comm, &format!("communicator {salt}"), &got, &bytes(previous, me, salt, 30));
            }
        };
        overlap(&*first, |one| {
            one.start(vec![Op::send(next, TAG, &sent[0])]);
            overlap(&*second, |two| {
                two.start(vec![Op::send(next, TAG, &sent[1])]);
                overlap(comm, |three| {
                    three.start(vec![Op::send(next, TAG, &sent[2])]);
                    receive();
                });
            });
        });
    },
};

pub(super) const NODES: Check = Check {
    name: "split-nodes",
    about: "A rank's node has the same number on every communicator it is in.",
    run: |comm| {
        let part = comm.split(Some((comm.rank() % 2) as u32), (comm.size() - comm.rank()) as u32);
        let part = part.expect("a color gives a part");
        equal(comm, "node on the part", part.node(), comm.node());
        let alone = part.split(Some(part.rank() as u32), 0).expect("a color gives a part");
        equal(comm, "node on a part of one", alone.node(), comm.node());
    },
};

pub(super) const MANY: Check = Check {
    name: "split-many",
    about: "Communicators can be made and dropped again and again.",
    run: |comm| {
        for round in 0..64 {
            let color = (comm.rank() + round) % 3;
            let part = comm.split(Some(color as u32), 0).expect("a color gives a part");
            let members: Vec<Rank> = (0..comm.size()).filter(|rank| (rank + round) % 3 == color).collect();
            is_made_of(comm, &*part, &members);
        }
    },
};
