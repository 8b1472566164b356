//! Windows: memory that other ranks read and write.
//!
//! A machine may refuse windows; then there is nothing to check but that every rank was refused.

use super::{Check, bytes, equal, ring, same};
use crate::{Access, Buffer, Comm, Data, Rank, Reduce, Window, agree};

/// Bytes of one rank's part of a window.
const PART: usize = 100;

/// A window, unless the machine offers none, on all ranks alike.
fn window(comm: &dyn Comm, len: usize) -> Option<Box<dyn Window + '_>> {
    let window = comm.window(len).ok();
    let offered = f64::from(u8::from(window.is_some()));
    let (least, most) = (agree(comm, offered, Reduce::Min), agree(comm, offered, Reduce::Max));
    equal(comm, "every rank is refused a window or none", least, most);
    window
}

fn put<'a>(to: Rank, at: usize, bytes: &'a [u8]) -> Access<'a> {
    Access::Put { to, at, data: Data::Bytes(bytes) }
}

fn get<'a>(from: Rank, at: usize, bytes: &'a mut [u8]) -> Access<'a> {
    Access::Get { from, at, into: Buffer::Bytes(bytes) }
}

/// What this rank's own window holds.
fn content(window: &dyn Window, at: usize, len: usize) -> Vec<u8> {
    // Not zeros, so that a read that does nothing does not look like one of zeros.
    let mut content = vec![0xa5; len];
    window.read(at, &mut content);
    content
}

pub(super) const ZEROED: Check = Check {
    name: "window-zeroed",
    about: "A new window is zero, for its owner and for the others, also after one of the same size was used.",
    run: |comm| {
        for len in [1, 10_000, 10_000] {
            let Some(window) = window(comm, len) else { return };
            same(comm, "own new window", &content(&*window, 0, len), &vec![0; len]);
            let (next, _) = ring(comm);
            let mut theirs = vec![1; len];
            window.transfer(&mut [get(next, 0, &mut theirs)]);
            same(comm, "new window of the next rank", &theirs, &vec![0; len]);
            comm.barrier();
            // Left dirty: the next window of this size may get the same memory.
            window.write(0, &vec![0xff; len]);
            comm.barrier();
        }
    },
};

pub(super) const PUT: Check = Check {
    name: "window-put",
    about: "Puts to several ranks and offsets are in place after a barrier, and a later put wins.",
    run: |comm| {
        let (me, size) = (comm.rank(), comm.size());
        let Some(window) = window(comm, size * PART + 1) else { return };
        for salt in 0..3 {
            let blocks: Vec<_> = (0..size).map(|to| bytes(me, to, salt, PART)).collect();
            let mut puts = Vec::new();
            for (to, block) in blocks.iter().enumerate() {
                // In two pieces and a piece of nothing, the second piece first.
                puts.push(put(to, me * PART + 30, &block[30..]));
                puts.push(put(to, me * PART, &block[..30]));
                puts.push(put(to, size * PART + 1, &[]));
            }
            window.transfer(&mut puts);
            comm.barrier();
            let want: Vec<u8> = (0..size).flat_map(|from| bytes(from, me, salt, PART)).collect();
            same(comm, "what the others put here", &content(&*window, 0, size * PART), &want);
            same(comm, "the byte nobody put", &content(&*window, size * PART, 1), &[0]);
            comm.barrier();
        }
    },
};

pub(super) const GET: Check = Check {
    name: "window-get",
    about: "Gets of several ranks and offsets see what the owner wrote and what others put before a barrier.",
    run: |comm| {
        let (me, size) = (comm.rank(), comm.size());
        let Some(window) = window(comm, 2 * PART) else { return };
        let (next, _) = ring(comm);
        window.write(0, &bytes(me, me, 1, PART));
        let note = bytes(me, next, 2, PART);
        window.transfer(&mut [put(next, PART, &note)]);
        comm.barrier();
        let mut got: Vec<_> = (0..size).map(|_| (vec![0; PART - 10], vec![0; PART], vec![0; 10])).collect();
        let mut gets = Vec::new();
        for (from, (tail, note, head)) in got.iter_mut().enumerate() {
            gets.push(get(from, 10, tail));
            gets.push(get(from, PART, note));
            gets.push(get(from, 0, head));
        }
        window.transfer(&mut gets);
        for (from, (tail, note, head)) in got.iter().enumerate() {
            let own = bytes(from, from, 1, PART);
            same(comm, "head of a window", head, &own[..10]);
            same(comm, "tail of a window", tail, &own[10..]);
            same(comm, "what another rank put", note, &bytes((from + size - 1) % size, from, 2, PART));
        }
        comm.barrier();
    },
};

pub(super) const MIXED: Check = Check {
    name: "window-mixed",
    about: "One transfer of puts and gets, with and without values, does all of them; the targets do nothing.",
    run: |comm| {
        const SCRATCH: usize = 5000;
        let me = comm.rank();
        let Some(window) = window(comm, 2 * PART + SCRATCH) else { return };
        let (next, previous) = ring(comm);
        for salt in 0..4 {
            window.write(0, &bytes(me, me, salt, PART));
            comm.barrier();
            let block = bytes(me, next, salt, PART);
            let mut got = [0; PART];
            window.transfer(&mut [
                put(next, PART, &block),
                Access::Put { to: next, at: 2 * PART, data: Data::Len(SCRATCH) },
                get(previous, 0, &mut got),
                Access::Get { from: previous, at: 0, into: Buffer::Len(PART) },
            ]);
            same(comm, "get beside puts", &got, &bytes(previous, previous, salt, PART));
            comm.barrier();
            same(comm, "put beside gets", &content(&*window, PART, PART), &bytes(previous, me, salt, PART));
            same(comm, "what nobody put", &content(&*window, 0, PART), &bytes(me, me, salt, PART));
        }
        comm.barrier();
        window.transfer(&mut []);
    },
};

pub(super) const LARGE: Check = Check {
    name: "window-large",
    about: "Puts and gets of a mebibyte and a byte arrive whole.",
    run: |comm| {
        const LEN: usize = (1 << 20) + 1;
        let me = comm.rank();
        let Some(window) = window(comm, LEN + 7) else { return };
        let (next, previous) = ring(comm);
        let sent = bytes(me, next, 0, LEN);
        window.transfer(&mut [put(next, 7, &sent)]);
        comm.barrier();
        same(comm, "large put", &content(&*window, 7, LEN), &bytes(previous, me, 0, LEN));
        let mut back = vec![0; LEN];
        window.transfer(&mut [get(next, 7, &mut back)]);
        same(comm, "large get", &back, &sent);
        comm.barrier();
    },
};

pub(super) const OWN: Check = Check {
    name: "window-own",
    about: "A rank reads and writes its own window, directly and by put and get.",
    run: |comm| {
        let me = comm.rank();
        let Some(window) = window(comm, 2 * PART) else { return };
        let (direct, remote) = (bytes(me, me, 1, PART), bytes(me, me, 2, PART));
        window.write(0, &direct);
        window.transfer(&mut [put(me, PART, &remote)]);
        let mut got = vec![0; 2 * PART];
        window.transfer(&mut [get(me, 0, &mut got)]);
        let want = [direct, remote].concat();
        same(comm, "own window by get", &got, &want);
        same(comm, "own window by read", &content(&*window, 0, 2 * PART), &want);
        window.write(PART - 1, &[1, 2]);
        same(comm, "rewritten bytes", &content(&*window, PART - 1, 2), &[1, 2]);
        comm.barrier();
    },
};

pub(super) const TWO: Check = Check {
    name: "window-two",
    about: "Two windows of one communicator do not mix.",
    run: |comm| {
        let me = comm.rank();
        let (next, previous) = ring(comm);
        let Some(first) = window(comm, PART) else { return };
        let Some(second) = window(comm, 2 * PART) else { return };
        let (a, b) = (bytes(me, next, 1, PART), bytes(me, next, 2, PART));
        second.transfer(&mut [put(next, 0, &b)]);
        first.transfer(&mut [put(next, 0, &a)]);
        comm.barrier();
        same(comm, "first window", &content(&*first, 0, PART), &bytes(previous, me, 1, PART));
        same(comm, "second window", &content(&*second, 0, PART), &bytes(previous, me, 2, PART));
        comm.barrier();
    },
};

pub(super) const GROUP: Check = Check {
    name: "window-group",
    about: "A window of a part counts ranks as the part does.",
    run: |comm| {
        let key = (comm.size() - comm.rank()) as u32;
        let part = comm.split(Some((comm.rank() % 2) as u32), key).expect("a color gives a part");
        let Some(window) = window(&*part, PART) else { return };
        let (next, previous) = ring(&*part);
        let sent = bytes(part.rank(), next, comm.rank() as u64 % 2, PART);
        window.transfer(&mut [put(next, 0, &sent)]);
        part.barrier();
        let want = bytes(previous, part.rank(), comm.rank() as u64 % 2, PART);
        same(comm, "window of the part", &content(&*window, 0, PART), &want);
        part.barrier();
    },
};
