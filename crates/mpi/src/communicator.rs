//! [`Comm`] over MPI: messages, and the library's own collectives.
//!
//! A receive is posted with exactly the length that is expected. A longer message is an error of MPI's (truncation). A
//! shorter one is seen only in its status, which is looked at in the first exchanges of each communicator, and always for
//! operations under way and in debug builds. Both end the job.

use crate::abi::{Abi, UNDEFINED};
use crate::abort::abort;
use crate::context::Context;
use crate::pending::{Sum, UnderWay};
use crate::scratch::Scratch;
use crate::table::Api;
use crate::window::{Memory, allocate};
use comm::{Buffer, Comm, Data, Node, Op, Pending, PendingSum, Rank, Reduce, Refusal, Vector, Window};
use spec::{Time, Work};
use std::cell::{Cell, RefMut};
use std::ffi::{c_int, c_void};

/// A communicator of the library's.
pub(crate) struct Communicator<'c, A: Abi> {
    pub context: &'c Context<A>,
    /// The context's, at hand for the timed path.
    api: &'static Api<A>,
    pub handle: A::H,
    rank: usize,
    size: usize,
    /// Whether it was made by a split and must be freed; the world is the library's.
    owned: bool,
    /// How many more exchanges are checked for messages that are too short.
    to_check: Cell<u32>,
    /// Exchanges of so many operations need neither checks nor more room for requests: one comparison on the timed path.
    at_ease: Cell<usize>,
}

/// So many exchanges of each communicator are checked for messages that are too short; in a debug build, all of them are.
/// Looking at every message costs some 200 instructions a step, and kernels repeat their pattern.
const CHECKED: u32 = 100;

/// So many operations are named where it is not known which one failed.
const NAMED: usize = 8;

/// Whether both fit into C integers.
#[inline]
fn fits(a: usize, b: usize) -> bool {
    // One test for both: the or has a high bit if either has one.
    (a | b) >> 31 == 0
}

/// Calls a function with its count as a C integer, or its variant with 64-bit counts, or ends the job because there is none.
macro_rules! counted {
    ($context:expr, $count:expr, $call:ident, $large:ident, $name:literal, |$n:ident| ($($argument:expr),*)) => {{
        let api = $context.api;
        if $count <= c_int::MAX as usize {
            let $n = $count as c_int;
            // SAFETY: the callers pass buffers of so many elements and handles of this library.
            unsafe { (api.$call)($($argument),*) }
        } else if let Some(large) = api.$large {
            let $n = $count as $crate::table::Count;
            // SAFETY: as above.
            unsafe { large($($argument),*) }
        } else {
            $context.too_long($name, $count)
        }
    }};
}

impl<'c, A: Abi> Communicator<'c, A> {
    /// Wraps a communicator; an owned one is freed at the end.
    pub fn new(context: &'c Context<A>, handle: A::H, owned: bool) -> Communicator<'c, A> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the handle is a communicator of this library.
        let code = unsafe { (context.api.comm_rank)(handle, &mut rank) };
        context.check(code, "MPI_Comm_rank", String::new);
        // SAFETY: as above.
        let code = unsafe { (context.api.comm_size)(handle, &mut size) };
        context.check(code, "MPI_Comm_size", String::new);
        Communicator {
            context,
            api: context.api,
            handle,
            rank: rank as usize,
            size: size as usize,
            owned,
            to_check: Cell::new(CHECKED),
            // So at first every exchange with an operation takes the careful path.
            at_ease: Cell::new(0),
        }
    }

    /// Starts all operations. They must be waited for before the buffers in `ops` or the scratch memory are touched.
    pub fn post(&self, ops: &mut [Op<'_>], scratch: &mut Scratch<A>) {
        let requests = scratch.begin(ops.len(), self.api.handles.request_null);
        self.start(ops, requests, scratch);
    }

    /// Starts all operations, with room for as many requests.
    #[inline(always)]
    fn start(&self, ops: &mut [Op<'_>], mut request: *mut A::H, scratch: &mut Scratch<A>) {
        let api = self.api;
        for op in ops.iter_mut() {
            // The arms say only what differs; checks and calls follow in one place, which keeps the loop short.
            let (start, length, peer, tag, sends) = match op {
                Op::Send { to, tag, data } => match data {
                    Data::Bytes(bytes) => (bytes.as_ptr().cast_mut(), bytes.len(), *to, *tag, true),
                    Data::Len(n) => (scratch.source(*n).cast_mut(), *n, *to, *tag, true),
                },
                Op::Recv { from, tag, into } => match into {
                    Buffer::Bytes(bytes) => (bytes.as_mut_ptr(), bytes.len(), *from, *tag, false),
                    Buffer::Len(n) => (scratch.landing(*n), *n, *from, *tag, false),
                },
            };
            if !fits(length, peer) {
                self.post_long(op, start, request);
                request = request.wrapping_add(1);
                continue;
            }
            let (start, length, peer, tag) = (start.cast(), length as c_int, peer as c_int, c_int::from(tag));
            // SAFETY: `start` has `length` bytes that live until the request is complete. They rest if they are sent;
            // else nobody else touches them.
            let code = unsafe {
                if sends {
                    (api.isend)(start, length, api.handles.byte, peer, tag, self.handle, request)
                } else {
                    (api.irecv)(start, length, api.handles.byte, peer, tag, self.handle, request)
                }
            };
            if code != 0 {
                self.refuse(op, code);
            }
            request = request.wrapping_add(1);
        }
    }

    /// Starts an operation whose length or peer does not fit into a C integer.
    #[cold]
    #[inline(never)]
    fn post_long(&self, op: &Op<'_>, start: *mut u8, request: *mut A::H) {
        let (byte, comm) = (self.context.api.handles.byte, self.handle);
        let start = start.cast();
        let code = match op {
            Op::Send { to, tag, data } => {
                let (to, tag) = (peer(*to), c_int::from(*tag));
                counted!(self.context, data.len(), isend, isend_c, "MPI_Isend", |n| (
                    start, n, byte, to, tag, comm, request
                ))
            }
            Op::Recv { from, tag, into } => {
                let (from, tag) = (peer(*from), c_int::from(*tag));
                counted!(self.context, into.len(), irecv, irecv_c, "MPI_Irecv", |n| (
                    start, n, byte, from, tag, comm, request
                ))
            }
        };
        if code != 0 {
            self.refuse(op, code);
        }
    }

    /// Waits for all operations that were posted with this scratch memory, and looks at what has come.
    pub fn finish(&self, ops: &[Op<'_>], scratch: &mut Scratch<A>) {
        let (requests, statuses) = scratch.requests();
        // SAFETY: `post` has filled so many requests, and there is room for as many statuses.
        let code = unsafe { (self.context.api.waitall)(ops.len() as c_int, requests, statuses) };
        if code != 0 {
            self.report(ops, scratch, code, "MPI_Waitall");
        }
        self.check_lengths(ops, scratch);
        scratch.end();
    }

    /// An exchange that makes room for its requests, and looks at the lengths of messages as long as there is reason to.
    #[cold]
    #[inline(never)]
    fn exchange_with_care(&self, ops: &mut [Op<'_>]) {
        let mut scratch = self.context.scratch.borrow_mut();
        self.post(ops, &mut scratch);
        self.finish(ops, &mut scratch);
        let left = self.to_check.get();
        if left > 0 {
            self.to_check.set(left - 1);
        } else if !cfg!(debug_assertions) {
            self.at_ease.set(scratch.room());
        }
    }

    /// One send, one receive, or one of each, with the library's blocking calls, which have shorter paths than requests: what an
    /// application would use for a ping-pong. Whether these operations were of that kind.
    #[inline(never)]
    fn exchange_blocking(&self, ops: &mut [Op<'_>]) -> bool {
        if !ops.iter().all(|op| fits_one(op)) {
            return false;
        }
        // SAFETY: as in `exchange`.
        let scratch = unsafe { &mut *self.context.scratch.as_ptr() };
        // For its effect alone: landing places begin anew.
        scratch.at_hand();
        let (api, byte) = (self.api, self.api.handles.byte);
        match ops {
            [Op::Send { to, tag, data }] => {
                let (start, length) = (outgoing(data, scratch), data.len() as c_int);
                // SAFETY: `start` has `length` bytes.
                let code = unsafe { (api.send)(start, length, byte, *to as c_int, c_int::from(*tag), self.handle) };
                self.context.check(code, "MPI_Send", || describe(&ops[0]));
            }
            [Op::Recv { from, tag, into }] => {
                let (start, length) = (incoming(into, scratch), into.len() as c_int);
                let (from, tag) = (*from as c_int, c_int::from(*tag));
                // SAFETY: `start` has room for `length` bytes that nobody else touches.
                let code = unsafe { (api.recv)(start, length, byte, from, tag, self.handle, A::IGNORE) };
                self.context.check(code, "MPI_Recv", || describe(&ops[0]));
            }
            [Op::Recv { from, tag, into }, Op::Send { to, tag: sent, data }]
            | [Op::Send { to, tag: sent, data }, Op::Recv { from, tag, into }] => {
                // One call for both: two ranks that each sent first with a blocking send could wait for each other.
                let (out, out_length) = (outgoing(data, scratch), data.len() as c_int);
                let (start, length) = (incoming(into, scratch), into.len() as c_int);
                let (to, sent) = (*to as c_int, c_int::from(*sent));
                let (from, tag) = (*from as c_int, c_int::from(*tag));
                // SAFETY: as above; the two do not overlap.
                let code = unsafe {
                    (api.sendrecv)(
                        out,
                        out_length,
                        byte,
                        to,
                        sent,
                        start,
                        length,
                        byte,
                        from,
                        tag,
                        self.handle,
                        A::IGNORE,
                    )
                };
                self.context.check(code, "MPI_Sendrecv", || format!("{} {}", describe(&ops[0]), describe(&ops[1])));
            }
            _ => return false,
        }
        true
    }

    /// Ends the job if a message was shorter than its receive.
    #[inline]
    pub fn check_lengths(&self, ops: &[Op<'_>], scratch: &Scratch<A>) {
        for (i, op) in ops.iter().enumerate() {
            if let Op::Recv { into, .. } = op {
                let length = self.received(scratch.status(i), into.len());
                if length != into.len() {
                    abort(1, &format!("MPI_Waitall: {}: the message has {length} bytes", describe(op)));
                }
            }
        }
    }

    /// How many bytes a completed receive has got.
    #[inline]
    fn received(&self, status: &A::Status, expected: usize) -> usize {
        let api = self.context.api;
        if expected <= c_int::MAX as usize {
            let mut count = 0;
            // SAFETY: the status was filled by the completion of a receive.
            let code = unsafe { (api.get_count)(status, api.handles.byte, &mut count) };
            self.context.check(code, "MPI_Get_count", String::new);
            return count as usize;
        }
        // Longer receives are posted only where there are 64-bit counts.
        let Some(get_count) = api.get_count_c else { return expected };
        let mut count = 0;
        // SAFETY: as above.
        let code = unsafe { get_count(status, api.handles.byte, &mut count) };
        self.context.check(code, "MPI_Get_count_c", String::new);
        count as usize
    }

    /// Ends the job because an operation could not be started.
    #[cold]
    #[inline(never)]
    fn refuse(&self, op: &Op<'_>, code: c_int) -> ! {
        let call = if matches!(op, Op::Send { .. }) { "MPI_Isend" } else { "MPI_Irecv" };
        self.context.fail(code, call, describe(op))
    }

    /// Ends the job because an operation failed after its start; names the operation if the library does.
    #[cold]
    #[inline(never)]
    pub fn report(&self, ops: &[Op<'_>], scratch: &Scratch<A>, code: c_int, call: &str) -> ! {
        let failed = ops.iter().enumerate().find_map(|(i, op)| {
            let error = A::error_of(scratch.status(i));
            // Libraries put MPI_ERR_PENDING beside the true error for operations that are not complete.
            let true_error = error != 0 && !self.context.api.error_text(error).to_lowercase().contains("pending");
            true_error.then_some((op, error))
        });
        match failed {
            Some((op, error)) => self.context.fail(error, call, describe(op)),
            None => self.context.fail(code, call, String::new()),
        }
    }

    /// Ends the job because one of several operations failed and nobody has asked which. Most often a message was longer
    /// than its receive.
    #[cold]
    #[inline(never)]
    fn blame_all(&self, ops: &[Op<'_>], code: c_int) -> ! {
        let mut words: Vec<String> = ops.iter().take(NAMED).map(describe).collect();
        if ops.len() > NAMED {
            words.push(format!("and {} more", ops.len() - NAMED));
        }
        self.context.fail(code, "MPI_Waitall", words.join(" "))
    }

    /// Scratch memory for a call that is complete when it returns.
    pub fn idle_scratch(&self) -> RefMut<'_, Scratch<A>> {
        let mut scratch = self.context.scratch.borrow_mut();
        scratch.end();
        // The short path of `exchange` never ends its set, so what that has outgrown is freed above.
        scratch.begin(0, self.api.handles.request_null);
        scratch
    }

    /// Scratch memory for operations that outlive the call.
    pub fn take_scratch(&self) -> Scratch<A> {
        self.context.pool.borrow_mut().pop().unwrap_or_else(Scratch::new)
    }
}

/// Whether a collective has nothing to do. It must not be left to the library: the address of an empty slice is 1, which
/// Open MPI takes for MPI_IN_PLACE and refuses.
fn nothing(count: usize) -> bool {
    count == 0
}

/// Whether an operation's length and peer fit into C integers.
fn fits_one(op: &Op<'_>) -> bool {
    match op {
        Op::Send { to, data, .. } => fits(data.len(), *to),
        Op::Recv { from, into, .. } => fits(into.len(), *from),
    }
}

/// Where what is sent lies.
fn outgoing<A: Abi>(data: &Data<'_>, scratch: &mut Scratch<A>) -> *const c_void {
    let start = match data {
        Data::Bytes(bytes) => bytes.as_ptr(),
        Data::Len(n) => scratch.source(*n),
    };
    start.cast()
}

/// Where what comes is to lie.
fn incoming<A: Abi>(into: &mut Buffer<'_>, scratch: &mut Scratch<A>) -> *mut c_void {
    let start = match into {
        Buffer::Bytes(bytes) => bytes.as_mut_ptr(),
        Buffer::Len(n) => scratch.landing(*n),
    };
    start.cast()
}

/// A rank as MPI takes it; one that is out of its range becomes one that MPI refuses.
fn peer(rank: Rank) -> c_int {
    c_int::try_from(rank).unwrap_or(c_int::MAX)
}

/// An operation in words.
fn describe(op: &Op<'_>) -> String {
    match op {
        Op::Send { to, tag, data } => format!("({} bytes to rank {to}, tag {tag})", data.len()),
        Op::Recv { from, tag, into } => format!("({} bytes from rank {from}, tag {tag})", into.len()),
    }
}

impl<A: Abi> Comm for Communicator<'_, A> {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn size(&self) -> usize {
        self.size
    }
    fn node(&self) -> Node {
        self.context.node
    }
    fn now(&self) -> Time {
        self.context.now()
    }

    fn exchange(&self, ops: &mut [Op<'_>]) {
        if ops.len() > self.at_ease.get() {
            return self.exchange_with_care(ops);
        }
        if ops.len() < 3 && self.exchange_blocking(ops) {
            return;
        }
        // SAFETY: nothing else borrows the scratch memory: each borrow ends with the call that makes it, no call is made
        // from within another, and the context is not shared between threads.
        let scratch = unsafe { &mut *self.context.scratch.as_ptr() };
        let requests = scratch.at_hand();
        self.start(ops, requests, scratch);
        // SAFETY: so many requests were started.
        let code = unsafe { (self.api.waitall)(ops.len() as c_int, requests, A::IGNORE) };
        if code != 0 {
            self.blame_all(ops, code);
        }
    }

    fn overlap<'b>(&self, work: &mut dyn FnMut(&mut dyn Pending<'b>)) {
        // Dropped here, whether `work` returns or unwinds, and with it what is left is waited for.
        work(&mut UnderWay::new(self));
    }

    fn compute(&self, _: Work, f: &mut dyn FnMut()) {
        f()
    }
    fn charge(&self, _: Work) -> bool {
        false
    }

    fn split(&self, color: Option<u32>, key: u32) -> Option<Box<dyn Comm + '_>> {
        let api = self.context.api;
        let color = match color.map(c_int::try_from) {
            None => UNDEFINED,
            Some(Ok(color)) => color,
            Some(Err(_)) => panic!("color {} of a split is above {}", color.unwrap_or(0), c_int::MAX),
        };
        // MPI's keys are signed; this keeps the order over all of u32.
        let key = (key ^ (1 << 31)).cast_signed();
        let mut handle = api.handles.comm_null;
        // SAFETY: this communicator is valid, and there is room for the new one.
        let code = unsafe { (api.comm_split)(self.handle, color, key, &mut handle) };
        self.context.check(code, "MPI_Comm_split", String::new);
        if handle == api.handles.comm_null {
            return None;
        }
        Some(Box::new(Communicator::new(self.context, handle, true)))
    }

    fn window(&self, len: usize) -> Result<Box<dyn Window + '_>, Refusal> {
        let memory: Memory<'_, A> = allocate(self, len)?;
        Ok(Box::new(memory))
    }

    fn start_sum(&self, x: f64) -> Box<dyn PendingSum + '_> {
        Box::new(Sum::start(self, x))
    }

    fn barrier(&self) {
        // SAFETY: the communicator is valid.
        let code = unsafe { (self.context.api.barrier)(self.handle) };
        self.context.check(code, "MPI_Barrier", String::new);
    }

    fn allreduce(&self, values: Vector<'_>, how: Reduce) {
        let handles = &self.context.api.handles;
        let op = match how {
            Reduce::Sum => handles.sum,
            Reduce::Min => handles.min,
            Reduce::Max => handles.max,
        };
        let mut scratch = self.idle_scratch();
        let (start, count) = match values {
            Vector::Values(values) => (values.as_mut_ptr(), values.len()),
            Vector::Len(n) => (scratch.landing(n * size_of::<f64>()).cast(), n),
        };
        if nothing(count) {
            return;
        }
        let code = counted!(self.context, count, allreduce, allreduce_c, "MPI_Allreduce", |n| (
            A::IN_PLACE,
            start.cast(),
            n,
            handles.double,
            op,
            self.handle
        ));
        self.context.check(code, "MPI_Allreduce", || format!("({count} values)"));
    }

    fn alltoall(&self, send: Data<'_>, recv: Buffer<'_>) {
        let byte = self.context.api.handles.byte;
        let (out, room) = (send.len(), recv.len());
        assert!(
            out == room && out % self.size == 0,
            "all-to-all of {out} bytes into {room}: both must be {} equal blocks",
            self.size
        );
        let block = out / self.size;
        if nothing(block) {
            return;
        }
        let mut scratch = self.idle_scratch();
        let (mut recv, send) = (recv, send);
        let (from, into) = (outgoing(&send, &mut scratch), incoming(&mut recv, &mut scratch));
        let code = counted!(self.context, block, alltoall, alltoall_c, "MPI_Alltoall", |n| (
            from,
            n,
            byte,
            into,
            n,
            byte,
            self.handle
        ));
        self.context.check(code, "MPI_Alltoall", || format!("({block} bytes a block)"));
    }

    fn bcast(&self, root: Rank, buffer: Buffer<'_>) {
        let byte = self.context.api.handles.byte;
        let count = buffer.len();
        if nothing(count) {
            return;
        }
        let mut scratch = self.idle_scratch();
        let start = match buffer {
            Buffer::Bytes(bytes) => bytes.as_mut_ptr(),
            Buffer::Len(n) => scratch.landing(n),
        };
        let root = peer(root);
        let code =
            counted!(self.context, count, bcast, bcast_c, "MPI_Bcast", |n| (start.cast(), n, byte, root, self.handle));
        self.context.check(code, "MPI_Bcast", || format!("({count} bytes from rank {root})"));
    }

    fn gather(&self, root: Rank, mine: &[u8], all: &mut [u8]) {
        let byte = self.context.api.handles.byte;
        let block = mine.len();
        assert!(
            self.rank != root || all.len() == block * self.size,
            "gather of {block} bytes from each of {} ranks into {} bytes",
            self.size,
            all.len()
        );
        if nothing(block) {
            return;
        }
        let root = peer(root);
        let code = counted!(self.context, block, gather, gather_c, "MPI_Gather", |n| (
            mine.as_ptr().cast(),
            n,
            byte,
            all.as_mut_ptr().cast(),
            n,
            byte,
            root,
            self.handle
        ));
        self.context.check(code, "MPI_Gather", || format!("({block} bytes to rank {root})"));
    }
}

impl<A: Abi> Drop for Communicator<'_, A> {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: it was made by a split, and nothing borrows it any more.
            let code = unsafe { (self.context.api.comm_free)(&mut self.handle) };
            self.context.check(code, "MPI_Comm_free", String::new);
        }
    }
}
