//! Messages between two ranks.

use super::{Check, TAG, bytes, ring, same};
use crate::{Buffer, Comm, Data, FIRST_RESERVED_TAG, Op, Rank, Tag, overlap};

pub(super) const ORDER: Check = Check {
    name: "message-order",
    about: "Messages of one pair with one tag arrive in the order they were started, short and long ones mixed.",
    run: |comm| {
        // Short and long ones in turn: a library may send these by different protocols, which must not overtake each other.
        let lengths: Vec<usize> = (0..48).map(|i| if i % 3 == 1 { 100_000 + i } else { i }).collect();
        let (next, previous) = ring(comm);
        around(comm, TAG, &[64; 32], 0, true);
        around(comm, TAG, &lengths, 1, true);
        around(comm, TAG, &lengths, 2, false);
        // One send call after the other, while the receiver takes them in one.
        let sent: Vec<_> = lengths.iter().map(|&len| bytes(comm.rank(), next, len as u64, len)).collect();
        let mut got: Vec<_> = lengths.iter().map(|&len| vec![0; len]).collect();
        overlap(comm, |pending| {
            pending.start(got.iter_mut().map(|b| Op::recv(previous, TAG, b)).collect());
            for message in &sent {
                comm.exchange(&mut [Op::send(next, TAG, message)]);
            }
        });
        for (got, &len) in got.iter().zip(&lengths) {
            same(comm, "one of several sends", got, &bytes(previous, comm.rank(), len as u64, len));
        }
    },
};

/// Sends one message per length around the ring in one exchange, and checks what comes.
fn around(comm: &dyn Comm, tag: Tag, lengths: &[usize], salt: u64, receive_first: bool) {
    let (next, previous) = ring(comm);
    let salt = |i: usize| salt * 1000 + i as u64;
    let sent: Vec<_> = lengths.iter().enumerate().map(|(i, &len)| bytes(comm.rank(), next, salt(i), len)).collect();
    let mut got: Vec<_> = lengths.iter().map(|&len| vec![0; len]).collect();
    let mut ops: Vec<Op> = got.iter_mut().map(|b| Op::recv(previous, tag, b)).collect();
    let sends = sent.iter().map(|b| Op::send(next, tag, b));
    if receive_first {
        ops.extend(sends);
    } else {
        ops.splice(0..0, sends);
    }
    comm.exchange(&mut ops);
    for (i, got) in got.iter().enumerate() {
        let want = bytes(previous, comm.rank(), salt(i), lengths[i]);
        same(comm, &format!("message {i} from rank {previous}"), got, &want);
    }
}

pub(super) const TAGS: Check = Check {
    name: "message-tags",
    about: "A receive takes the message with its tag, whatever else came before, over the whole range of tags.",
    run: |comm| {
        let (next, previous) = ring(comm);
        let tags: [Tag; 5] = [1, 0, 300, FIRST_RESERVED_TAG - 1, 256];
        let sent: Vec<_> = tags.iter().map(|&tag| bytes(comm.rank(), next, tag.into(), 40)).collect();
        overlap(comm, |pending| {
            pending.start(tags.iter().zip(&sent).map(|(&tag, b)| Op::send(next, tag, b)).collect());
            // Not the order in which they are sent.
            for at in [3, 1, 4, 0, 2] {
                let mut got = [0; 40];
                comm.exchange(&mut [Op::recv(previous, tags[at], &mut got)]);
                let want = bytes(previous, comm.rank(), tags[at].into(), 40);
                same(comm, &format!("message with tag {}", tags[at]), &got, &want);
            }
        });
    },
};

pub(super) const EMPTY: Check = Check {
    name: "message-empty",
    about: "Messages of no bytes are messages: they match, keep their order, and are waited for.",
    run: |comm| {
        around(comm, TAG, &[0, 5, 0, 0, 9, 0], 3, true);
        around(comm, TAG, &[0], 4, false);
        comm.exchange(&mut []);
        overlap(comm, |pending| pending.start(Vec::new()));
    },
};

pub(super) const LARGE: Check = Check {
    name: "message-large",
    about: "Messages of any length arrive whole, up to several mebibytes.",
    run: |comm| {
        // On both sides of powers of two, where buffers and protocols change.
        for len in [1, 255, 4095, 4096, 4097, 65_535, 65_537, 1 << 20, (3 << 20) + 1] {
            around(comm, TAG, &[len], 5, true);
        }
        around(comm, TAG, &[(3 << 20) + 1, 3, (1 << 20) - 1], 6, false);
    },
};

pub(super) const TO_SELF: Check = Check {
    name: "message-self",
    about: "A rank can send to itself, short and long, whichever half is started first.",
    run: |comm| {
        let me = comm.rank();
        for len in [0, 1, 1000, 200_001] {
            let (a, b) = (bytes(me, me, 1, len), bytes(me, me, 2, len));
            let (mut x, mut y) = (vec![0; len], vec![0; len]);
            let mut ops = [Op::send(me, 1, &a), Op::recv(me, 2, &mut y), Op::recv(me, 1, &mut x), Op::send(me, 2, &b)];
            comm.exchange(&mut ops);
            same(comm, "send started before its receive", &x, &a);
            same(comm, "receive started before its send", &y, &b);
        }
    },
};

pub(super) const OUTSTANDING: Check = Check {
    name: "message-outstanding",
    about: "256 sends and 256 receives with each neighbour at once, tags matched in reverse.",
    run: |comm| {
        const MANY: usize = 256;
        let (next, previous) = ring(comm);
        let me = comm.rank();
        let length = |i: usize| 8 + i % 100;
        let salt = |i: usize, up: bool| 2 * i as u64 + u64::from(up);
        let up: Vec<_> = (0..MANY).map(|i| bytes(me, next, salt(i, true), length(i))).collect();
        let down: Vec<_> = (0..MANY).map(|i| bytes(me, previous, salt(i, false), length(i))).collect();
        let mut from_below: Vec<_> = (0..MANY).map(|i| vec![0; length(i)]).collect();
        let mut from_above = from_below.clone();
        let mut ops = Vec::new();
        for i in 0..MANY {
            ops.push(Op::send(next, i as Tag, &up[i]));
            ops.push(Op::send(previous, (MANY + i) as Tag, &down[i]));
        }
        for (i, (below, above)) in from_below.iter_mut().zip(&mut from_above).enumerate().rev() {
            ops.push(Op::recv(previous, i as Tag, below));
            ops.push(Op::recv(next, (MANY + i) as Tag, above));
        }
        comm.exchange(&mut ops);
        for i in 0..MANY {
            same(comm, "from below", &from_below[i], &bytes(previous, me, salt(i, true), length(i)));
            same(comm, "from above", &from_above[i], &bytes(next, me, salt(i, false), length(i)));
        }
    },
};

pub(super) const ALL_PAIRS: Check = Check {
    name: "message-all-pairs",
    about: "Everyone sends to everyone, itself included, in one exchange; lengths differ by pair.",
    run: |comm| {
        let (me, size) = (comm.rank(), comm.size());
        let length = |from: Rank, to: Rank| 10 * from + to;
        let sent: Vec<_> = (0..size).map(|to| bytes(me, to, 9, length(me, to))).collect();
        let mut got: Vec<_> = (0..size).map(|from| vec![0; length(from, me)]).collect();
        let mut ops: Vec<Op> = sent.iter().enumerate().map(|(to, b)| Op::send(to, TAG, b)).collect();
        ops.extend(got.iter_mut().enumerate().map(|(from, b)| Op::recv(from, TAG, b)));
        comm.exchange(&mut ops);
        for (from, got) in got.iter().enumerate() {
            same(comm, &format!("from rank {from}"), got, &bytes(from, me, 9, length(from, me)));
        }
    },
};

pub(super) const PING_PONG: Check = Check {
    name: "message-ping-pong",
    about: "A rank that only sends, then only receives, and its partner the other way round, make progress.",
    run: |comm| {
        let (me, partner) = (comm.rank(), comm.rank() ^ 1);
        if partner >= comm.size() {
            return;
        }
        for len in [0, 8, 70_000] {
            for round in 0..5 {
                let ball = bytes(me & !1, me | 1, round, len);
                let mut got = vec![0; len];
                if me < partner {
                    comm.exchange(&mut [Op::send(partner, TAG, &ball)]);
                    comm.exchange(&mut [Op::recv(partner, TAG, &mut got)]);
                } else {
                    comm.exchange(&mut [Op::recv(partner, TAG, &mut got)]);
                    comm.exchange(&mut [Op::send(partner, TAG, &got)]);
                }
                same(comm, "the ball", &got, &ball);
            }
        }
    },
};

pub(super) const SWAP: Check = Check {
    name: "message-swap",
    about: "Hundreds of exchanges of one send and one receive, in either order and with lengths alone, stay in step.",
    run: |comm| {
        let (me, n) = (comm.rank(), comm.size());
        let (to, from) = ((me + 1) % n, (me + n - 1) % n);
        for round in 0..200 {
            for len in [0, 8, 9_000] {
                let (out, expected) = (bytes(me, to, round, len), bytes(from, me, round, len));
                let mut got = vec![0; len];
                let (send, recv) = (Op::send(to, TAG, &out), Op::recv(from, TAG, &mut got));
                match round % 2 {
                    0 => comm.exchange(&mut [recv, send]),
                    _ => comm.exchange(&mut [send, recv]),
                }
                same(comm, "the neighbour's data", &got, &expected);
            }
            let send = Op::Send { to, tag: TAG, data: Data::Len(100) };
            comm.exchange(&mut [Op::Recv { from, tag: TAG, into: Buffer::Len(100) }, send]);
        }
    },
};

pub(super) const LENGTHS: Check = Check {
    name: "message-lengths",
    about: "Messages whose values do not matter pair with each other and with bytes, in order, and disturb no other.",
    run: |comm| {
        let (next, previous) = ring(comm);
        for len in [0, 1, 1000, 100_003, 2 << 20] {
            let (sent, want) = (bytes(comm.rank(), next, 1, 64), bytes(previous, comm.rank(), 1, 64));
            let (mut got, mut unknown) = ([0; 64], vec![0; len]);
            let known = vec![1; len];
            let send = |data| Op::Send { to: next, tag: TAG, data };
            let recv = |into| Op::Recv { from: previous, tag: TAG, into };
            comm.exchange(&mut [
                recv(Buffer::Len(len)),
                recv(Buffer::Bytes(&mut got)),
                recv(Buffer::Len(len)),
                recv(Buffer::Bytes(&mut unknown)),
                send(Data::Len(len)),
                send(Data::Bytes(&sent)),
                send(Data::Bytes(&known)),
                send(Data::Len(len)),
            ]);
            same(comm, "bytes between messages without", &got, &want);
        }
    },
};
