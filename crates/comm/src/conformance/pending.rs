//! Operations under way: `overlap`, `start_sum`, and the clock beside them.

use super::{Check, TAG, bytes, equal, ring, same};
use crate::{Op, PendingSum, Reduce, agree, overlap};
use spec::{Time, Work};

pub(super) const OVERLAP: Check = Check {
    name: "overlap-work",
    about: "Operations under way complete beside work and other messages, and their data are there afterwards.",
    run: |comm| {
        let (next, previous) = ring(comm);
        for len in [8, 300_000] {
            let sent = bytes(comm.rank(), next, 1, len);
            let mut got = vec![0; len];
            overlap(comm, |pending| {
                pending.start(vec![Op::recv(previous, 1, &mut got), Op::send(next, 1, &sent)]);
                let mut sum = 0u64;
                comm.compute(Work::flops(1000), &mut || sum += (0..1000).sum::<u64>());
                equal(comm, "work is done once", sum, 499_500);
                let mut token = [0; 2];
                comm.exchange(&mut [Op::recv(previous, 2, &mut token), Op::send(next, 2, &[1, 2])]);
                equal(comm, "message beside those under way", token, [1, 2]);
                comm.barrier();
            });
            same(comm, "after the work", &got, &bytes(previous, comm.rank(), 1, len));
        }
    },
};

pub(super) const TEST: Check = Check {
    name: "overlap-test",
    about: "A look says no before the message was sent, and yes in the end; then the data are there.",
    run: |comm| {
        let (next, previous) = ring(comm);
        for len in [0, 16, 300_000] {
            let sent = bytes(comm.rank(), next, 2, len);
            let mut got = vec![0; len];
            overlap(comm, |pending| {
                let receive = pending.start(vec![Op::recv(previous, 1, &mut got)]);
                equal(comm, "complete before anything was sent", pending.test(receive), false);
                // The message starts only after its receiver has looked.
                let mut go = [0];
                comm.exchange(&mut [Op::send(previous, 2, &[1]), Op::recv(next, 2, &mut go)]);
                let send = pending.start(vec![Op::send(next, 1, &sent)]);
                let mut done = (false, false);
                while done != (true, true) {
                    done = (done.0 || pending.test(receive), done.1 || pending.test(send));
                }
                equal(comm, "complete stays complete", pending.test(receive) && pending.test(send), true);
                pending.wait(receive);
                pending.wait(send);
            });
            same(comm, "after the last look", &got, &bytes(previous, comm.rank(), 2, len));
        }
    },
};

pub(super) const END: Check = Check {
    name: "overlap-end",
    about: "Work may end while operations are under way: they are waited for.",
    run: |comm| {
        let (next, previous) = ring(comm);
        for len in [1, 300_000] {
            let sent = bytes(comm.rank(), next, 3, len);
            let mut got = vec![0; len];
            overlap(comm, |pending| pending.start(vec![Op::recv(previous, TAG, &mut got), Op::send(next, TAG, &sent)]));
            same(comm, "after no work", &got, &bytes(previous, comm.rank(), 3, len));
        }
    },
};

pub(super) const TWO: Check = Check {
    name: "overlap-two",
    about: "Two sets under way keep the order in which they were started, whichever is waited for first.",
    run: |comm| {
        let (next, previous) = ring(comm);
        for len in [8, 200_000] {
            let sent = [1, 2, 3].map(|salt| bytes(comm.rank(), next, salt, len));
            let [mut a, mut b, mut c] = [1, 2, 3].map(|_| vec![0; len]);
            overlap(comm, |pending| {
                let first = pending.start(vec![Op::send(next, TAG, &sent[0]), Op::recv(previous, TAG, &mut a)]);
                let second = pending.start(vec![Op::recv(previous, TAG, &mut b), Op::send(next, TAG, &sent[1])]);
                comm.exchange(&mut [Op::recv(previous, TAG, &mut c), Op::send(next, TAG, &sent[2])]);
                // Against the order of their start, which must not matter.
                pending.wait(second);
                pending.wait(first);
            });
            for (salt, got) in [(1, a), (2, b), (3, c)] {
                same(comm, &format!("set {salt}"), &got, &bytes(previous, comm.rank(), salt, len));
            }
        }
    },
};

pub(super) const SOME: Check = Check {
    name: "overlap-some",
    about: "Waiting for some of several sets gives those whose messages have come, each once, whatever their order.",
    run: |comm| {
        let (next, previous) = ring(comm);
        for len in [8, 200_000] {
            let sent = [1, 2].map(|salt| bytes(comm.rank(), next, salt, len));
            let [mut a, mut b] = [1, 2].map(|_| vec![0; len]);
            overlap(comm, |pending| {
                let early = pending.start(vec![Op::recv(previous, 1, &mut a)]);
                let late = pending.start(vec![Op::recv(previous, 2, &mut b)]);
                pending.start(vec![Op::send(next, 2, &sent[1])]);
                let mut sets = vec![early, late];
                equal(comm, "what came without being sent", pending.test_some(&mut vec![early]), vec![]);
                equal(comm, "what has come", pending.wait_some(&mut sets), vec![late]);
                equal(comm, "what has not", sets.clone(), vec![early]);
                // The other message starts only after its receiver has waited.
                let mut go = [0];
                comm.exchange(&mut [Op::send(previous, 3, &[1]), Op::recv(next, 3, &mut go)]);
                pending.start(vec![Op::send(next, 1, &sent[0])]);
                equal(comm, "the last", pending.wait_some(&mut sets), vec![early]);
                equal(comm, "none of none", pending.wait_some(&mut sets), vec![]);
            });
            for (salt, got) in [(1, a), (2, b)] {
                same(comm, &format!("set {salt}"), &got, &bytes(previous, comm.rank(), salt, len));
            }
        }
    },
};

pub(super) const CLOCK: Check = Check {
    name: "clock",
    about: "Time does not run backwards over messages and work; every rank agrees whether work is only charged.",
    run: |comm| {
        let (next, previous) = ring(comm);
        let mut last = Time::ZERO;
        for _ in 0..20 {
            let mut got = [0; 8];
            comm.exchange(&mut [Op::recv(previous, TAG, &mut got), Op::send(next, TAG, &[0; 8])]);
            let now = comm.now();
            assert!(now >= last, "rank {}: the time went from {last:?} back to {now:?}", comm.rank());
            last = now;
        }
        let charged = f64::from(u8::from(comm.charge(Work::flops(1000))));
        assert!(comm.now() >= last, "rank {}: charged work ended before it began", comm.rank());
        let (least, most) = (agree(comm, charged, Reduce::Min), agree(comm, charged, Reduce::Max));
        equal(comm, "ranks that charge work", least, most);
    },
};

/// The sum of `term(rank)` over `size` ranks; whole numbers, so it is exact in any order.
fn sum_of(size: usize, term: impl Fn(usize) -> f64) -> f64 {
    (0..size).map(term).sum()
}

pub(super) const SUMS: Check = Check {
    name: "sum-pipelined",
    about: "Several sums under way at once each give every rank their own result, with other traffic in between.",
    run: |comm| {
        const DEEP: u64 = 4;
        let (next, previous) = ring(comm);
        let term = |round: u64| move |rank: usize| (round * 1000 + (rank as u64 + 1) * (rank as u64 + 2)) as f64;
        let mut sums = std::collections::VecDeque::new();
        let check = |round: u64, sum: Box<dyn PendingSum + '_>| {
            equal(comm, &format!("sum {round}"), sum.wait(), sum_of(comm.size(), term(round)));
        };
        for round in 0..20 {
            sums.push_back((round, comm.start_sum(term(round)(comm.rank()))));
            let sent = bytes(comm.rank(), next, round, 50);
            let mut got = [0; 50];
            comm.exchange(&mut [Op::recv(previous, TAG, &mut got), Op::send(next, TAG, &sent)]);
            same(comm, "message beside a sum", &got, &bytes(previous, comm.rank(), round, 50));
            if round % 5 == 2 {
                comm.barrier();
                let most = agree(comm, comm.rank() as f64, Reduce::Max);
                equal(comm, "all-reduce beside a sum", most, (comm.size() - 1) as f64);
            }
            if round >= DEEP {
                let (round, sum) = sums.pop_front().expect("sums are under way");
                check(round, sum);
            }
        }
        for (round, sum) in sums {
            check(round, sum);
        }
    },
};

pub(super) const SUMS_IN_GROUPS: Check = Check {
    name: "sum-groups",
    about: "Sums of a communicator and of its parts are under way together and do not mix.",
    run: |comm| {
        let part = comm.split(Some((comm.rank() % 2) as u32), 0).expect("a color gives a part");
        let members = (comm.rank() % 2..comm.size()).step_by(2);
        for round in 0..5 {
            let whole = comm.start_sum((comm.rank() + round) as f64);
            let half = part.start_sum((100 * comm.rank() + round) as f64);
            part.barrier();
            equal(comm, "sum of the part", half.wait(), members.clone().map(|r| (100 * r + round) as f64).sum());
            equal(comm, "sum of all", whole.wait(), sum_of(comm.size(), |r| (r + round) as f64));
        }
    },
};
