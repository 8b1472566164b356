//! Every collective against a reference that each rank computes alone.
//!
//! Each is run as the machine does it and as [`collectives`] do it, on the communicator and on smaller ones, repeatedly and
//! with several sizes. Values are whole numbers where exactness is asked for, so that the order of additions does not matter.

use super::{Check, TAG, bytes, equal, ring, same};
use crate::collectives::{self, RING_BLOCK};
use crate::{Access, Buffer, Comm, Data, Op, Rank, Reduce, Vector, agree, overlap};

/// Sub-communicators up to this size are tried; beyond, nothing new happens but longer runs.
const LARGEST_PART: usize = 9;

const WAYS: [Reduce; 3] = [Reduce::Sum, Reduce::Min, Reduce::Max];

/// Runs `check` on the communicator, then on the first n ranks of it for each small n.
fn on_each_size(comm: &dyn Comm, check: &dyn Fn(&dyn Comm)) {
    check(comm);
    for n in 1..=comm.size().min(LARGEST_PART) {
        // In reverse, so that a rank's number differs from the one it has outside.
        if let Some(part) = comm.split((comm.rank() < n).then_some(0), (n.saturating_sub(comm.rank())) as u32) {
            check(&*part);
        }
    }
}

pub(super) const BARRIER: Check = Check {
    name: "barrier",
    about: "Nobody leaves a barrier before everybody has come.",
    run: |comm| {
        on_each_size(comm, &|comm| {
            for _ in 0..10 {
                comm.barrier();
                collectives::barrier(comm);
            }
            // Only shared memory can tell who was here first: each rank in turn comes late and leaves its mark everywhere.
            let Ok(window) = comm.window(2 * comm.size()) else { return };
            for late in 0..comm.size() {
                for portable in [false, true] {
                    let at = 2 * late + usize::from(portable);
                    if comm.rank() == late {
                        idle(comm);
                        let mark = |to| Access::Put { to, at, data: Data::Bytes(&[1]) };
                        window.transfer(&mut (0..comm.size()).map(mark).collect::<Vec<_>>());
                    }
                    if portable {
                        collectives::barrier(comm)
                    } else {
                        comm.barrier()
                    }
                    let mut mark = [0];
                    window.read(at, &mut mark);
                    equal(comm, &format!("mark of rank {late} after the barrier"), mark, [1]);
                }
            }
        });
    },
};

/// Passes some time, real or virtual, without other ranks.
fn idle(comm: &dyn Comm) {
    let (out, mut back) = (vec![1; 64 << 10], vec![0; 64 << 10]);
    for _ in 0..20 {
        comm.exchange(&mut [Op::recv(comm.rank(), TAG, &mut back), Op::send(comm.rank(), TAG, &out)]);
    }
}

/// A whole number that depends on everything.
fn value(rank: Rank, i: usize, salt: u64) -> f64 {
    // Below 510 in size, so that sums over any number of ranks that is tried are exact.
    (((rank as u64 + 1) * (i as u64 + 3) * (salt + 7)) % 1009) as f64 - 500.0
}

fn reduced(size: usize, i: usize, salt: u64, how: Reduce) -> f64 {
    (0..size).map(|rank| value(rank, i, salt)).reduce(|a, b| how.apply(a, b)).expect("at least one rank")
}

/// One all-reduce, as the machine does it or by one of ours.
type Allreduce = fn(&dyn Comm, Vector<'_>, Reduce);

const ALLREDUCES: [(&str, Allreduce); 5] = [
    ("the machine's all-reduce", |comm, values, how| comm.allreduce(values, how)),
    ("portable all-reduce", |comm, values, how| collectives::allreduce(comm, values, how)),
    ("doubling all-reduce", |comm, values, how| collectives::doubling_allreduce(comm, values, how)),
    ("ring all-reduce", |comm, values, how| collectives::ring_allreduce(comm, values, how)),
    ("what is settled between measurements", |comm, values, how| match values {
        Vector::Values(values) => comm.settle(values, how),
        Vector::Len(_) => comm.settle(&mut [], how),
    }),
];

/// Lengths around the number of ranks, where shares are empty or uneven, and beyond the change to the ring.
fn lengths(size: usize) -> [usize; 9] {
    [0, 1, 2, 7, size - 1, size, size + 1, 1000, RING_BLOCK / 8 * size + 3]
}

pub(super) const ALLREDUCE: Check = Check {
    name: "allreduce",
    about: "Sum, minimum and maximum are exact on every rank, for vectors shorter and longer than the number of ranks.",
    run: |comm| {
        on_each_size(comm, &|comm| {
            for len in lengths(comm.size()) {
                for (salt, how) in (0..).zip(WAYS) {
                    let want: Vec<f64> = (0..len).map(|i| reduced(comm.size(), i, salt, how)).collect();
                    for (name, allreduce) in ALLREDUCES {
                        let mut values: Vec<f64> = (0..len).map(|i| value(comm.rank(), i, salt)).collect();
                        allreduce(comm, Vector::Values(&mut values), how);
                        if let Some(i) = (0..len).find(|&i| values[i] != want[i]) {
                            let what = format!("{how:?} by {name}, element {i} of {len}");
                            equal(comm, &what, values[i], want[i]);
                        }
                    }
                }
            }
            equal(comm, "agreed", agree(comm, comm.rank() as f64, Reduce::Max), (comm.size() - 1) as f64);
        });
    },
};

pub(super) const SAME_BITS: Check = Check {
    name: "allreduce-bits",
    about: "Sums that depend on the order of additions still have the same bits on every rank.",
    run: |comm| {
        on_each_size(comm, &|comm| {
            let (me, size) = (comm.rank(), comm.size());
            // Each rank's term is of another magnitude, so that almost every order of additions rounds differently.
            let term = |rank: Rank, i: usize| value(rank, i, 3) / 3.0 * 10f64.powi((rank as i32 * 5 + i as i32) % 13);
            for len in [1, 5, size + 2, RING_BLOCK / 8 * size + 3] {
                for (name, allreduce) in ALLREDUCES {
                    let mut values: Vec<f64> = (0..len).map(|i| term(me, i)).collect();
                    allreduce(comm, Vector::Values(&mut values), Reduce::Sum);
                    for i in [0, len - 1] {
                        let (want, scale) = (0..size)
                            .map(|r| term(r, i))
                            .fold((0.0, 1.0), |(sum, scale), t| (sum + t, scale + t.abs()));
                        let near = (values[i] - want).abs() <= 1e-12 * scale;
                        assert!(near, "rank {me} of {size}: {name}: {} is not near {want}", values[i]);
                    }
                    let mine: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                    let mut theirs = vec![0; mine.len()];
                    let (next, previous) = ring(comm);
                    comm.exchange(&mut [Op::recv(previous, TAG, &mut theirs), Op::send(next, TAG, &mine)]);
                    same(comm, &format!("bits of {name} on rank {previous}, against mine"), &theirs, &mine);
                }
            }
        });
    },
};

pub(super) const ALLTOALL: Check = Check {
    name: "alltoall",
    about: "Every block reaches its rank and its place.",
    run: |comm| {
        on_each_size(comm, &|comm| {
            let (me, size) = (comm.rank(), comm.size());
            for (salt, block) in (0..).zip([0, 1, 13, 5000, 1]) {
                let send: Vec<u8> = (0..size).flat_map(|to| bytes(me, to, salt, block)).collect();
                let want: Vec<u8> = (0..size).flat_map(|from| bytes(from, me, salt, block)).collect();
                let mut recv = vec![0; block * size];
                comm.alltoall(Data::Bytes(&send), Buffer::Bytes(&mut recv));
                same(comm, "all-to-all", &recv, &want);
                recv.fill(0);
                collectives::alltoall(comm, Data::Bytes(&send), Buffer::Bytes(&mut recv));
                same(comm, "portable all-to-all", &recv, &want);
            }
        });
    },
};

/// Every rank of a small communicator, a few of a large one.
fn roots(size: usize) -> impl Iterator<Item = Rank> {
    (0..size).step_by(size.div_ceil(LARGEST_PART))
}

pub(super) const BCAST: Check = Check {
    name: "bcast",
    about: "The root's bytes reach everyone, whoever is the root.",
    run: |comm| {
        on_each_size(comm, &|comm| {
            for root in roots(comm.size()) {
                for len in [0, 1, 100, 70_001] {
                    let want = bytes(root, root, len as u64, len);
                    let before = || if comm.rank() == root { want.clone() } else { vec![0; len] };
                    let mut buffer = before();
                    comm.bcast(root, Buffer::Bytes(&mut buffer));
                    same(comm, "broadcast", &buffer, &want);
                    buffer = before();
                    collectives::bcast(comm, root, Buffer::Bytes(&mut buffer));
                    same(comm, "portable broadcast", &buffer, &want);
                }
            }
        });
    },
};

pub(super) const GATHER: Check = Check {
    name: "gather",
    about: "Every block reaches the root in rank order, whoever is the root; the others' room is not touched.",
    run: |comm| {
        on_each_size(comm, &|comm| {
            let (me, size) = (comm.rank(), comm.size());
            for root in roots(size) {
                for len in [0, 1, 24, 9000] {
                    let mine = bytes(me, root, len as u64, len);
                    let want: Vec<u8> = (0..size).flat_map(|from| bytes(from, root, len as u64, len)).collect();
                    // Elsewhere the room is of a wrong size on purpose: it must not be looked at.
                    let (room, want) = if me == root { (size * len, &want[..]) } else { (3, &[9, 9, 9][..]) };
                    let mut all = vec![9; room];
                    comm.gather(root, &mine, &mut all);
                    same(comm, "gather", &all, want);
                    all.fill(9);
                    collectives::gather(comm, root, &mine, &mut all);
                    same(comm, "portable gather", &all, want);
                }
            }
        });
    },
};

pub(super) const FOLD: Check = Check {
    name: "fold",
    about: "Byte strings of any length merge to rank 0, in rank order.",
    run: |comm| {
        on_each_size(comm, &|comm| {
            let lengths: [fn(Rank) -> usize; 3] = [|_| 0, |rank| rank * 37 % 101, |rank| 60_000 * (rank % 2) + 1];
            for (salt, length) in (0..).zip(lengths) {
                let mine = bytes(comm.rank(), 0, salt, length(comm.rank()));
                let folded = collectives::fold(comm, mine, &mut |mut a, b| {
                    a.extend(b);
                    a
                });
                equal(comm, "whether there is a result", folded.is_some(), comm.rank() == 0);
                if let Some(folded) = folded {
                    let want: Vec<u8> = (0..comm.size()).flat_map(|from| bytes(from, 0, salt, length(from))).collect();
                    same(comm, "fold", &folded, &want);
                }
            }
        });
    },
};

pub(super) const LENGTHS: Check = Check {
    name: "collective-lengths",
    about: "Collectives whose values do not matter end, and leave nothing behind that a later one would take.",
    run: |comm| {
        on_each_size(comm, &|comm| {
            let size = comm.size();
            for len in [0, 1, 1000, RING_BLOCK / 8 * size + 3] {
                for (_, allreduce) in ALLREDUCES {
                    allreduce(comm, Vector::Len(len), Reduce::Sum);
                }
                comm.alltoall(Data::Len(len * size), Buffer::Len(len * size));
                collectives::alltoall(comm, Data::Len(len * size), Buffer::Len(len * size));
                comm.bcast(size - 1, Buffer::Len(len));
                collectives::bcast(comm, size - 1, Buffer::Len(len));
            }
            // A message too many from any of the above would be taken for one of these.
            let want = reduced(size, 0, 1, Reduce::Sum);
            for (name, allreduce) in ALLREDUCES {
                let mut sum = [value(comm.rank(), 0, 1)];
                allreduce(comm, Vector::Values(&mut sum), Reduce::Sum);
                equal(comm, name, sum[0], want);
            }
            let send: Vec<u8> = (0..size).flat_map(|to| bytes(comm.rank(), to, 0, 4)).collect();
            let mut recv = vec![0; 4 * size];
            collectives::alltoall(comm, Data::Bytes(&send), Buffer::Bytes(&mut recv));
            let want: Vec<u8> = (0..size).flat_map(|from| bytes(from, comm.rank(), 0, 4)).collect();
            same(comm, "all-to-all afterwards", &recv, &want);
            let mut word = if comm.rank() == 0 { *b"word" } else { [0; 4] };
            collectives::bcast(comm, 0, Buffer::Bytes(&mut word));
            equal(comm, "broadcast afterwards", word, *b"word");
        });
    },
};

pub(super) const AMID_TRAFFIC: Check = Check {
    name: "collective-amid-traffic",
    about: "Collectives and messages under way with any tag of a kernel do not disturb each other.",
    run: |comm| {
        let (next, previous) = ring(comm);
        let tags = [0, TAG, crate::FIRST_RESERVED_TAG - 1];
        let sent = tags.map(|tag| bytes(comm.rank(), next, tag.into(), 5000));
        let mut got = tags.map(|_| vec![0; 5000]);
        let mut ops: Vec<Op> = got.iter_mut().zip(tags).map(|(b, tag)| Op::recv(previous, tag, b)).collect();
        ops.extend(sent.iter().zip(tags).map(|(b, tag)| Op::send(next, tag, b)));
        overlap(comm, |pending| {
            pending.start(ops);
            for salt in 0..5 {
                for (name, allreduce) in ALLREDUCES {
                    let mut sum = [value(comm.rank(), 0, salt)];
                    allreduce(comm, Vector::Values(&mut sum), Reduce::Sum);
                    equal(comm, name, sum[0], reduced(comm.size(), 0, salt, Reduce::Sum));
                }
                comm.barrier();
            }
        });
        for (got, tag) in got.iter().zip(tags) {
            same(comm, "message under way", got, &bytes(previous, comm.rank(), tag.into(), 5000));
        }
    },
};
