//! Operations under way.

use crate::abi::Abi;
use crate::communicator::Communicator;
use crate::scratch::Scratch;
use comm::{Op, Pending, PendingSum, Set};

/// All sets of one call of [`comm::Comm::overlap`]. It lives in the frame of that call, which lends it as a trait object: no safe code
/// can move it out of there, so its sets are dropped before the borrow of their buffers (`'b`) ends.
pub(crate) struct UnderWay<'a, 'b, A: Abi> {
    comm: &'a Communicator<'a, A>,
    sets: Vec<Transfers<'a, 'b, A>>,
}

impl<'a, A: Abi> UnderWay<'a, '_, A> {
    pub fn new(comm: &'a Communicator<'a, A>) -> Self {
        UnderWay { comm, sets: Vec::new() }
    }
}

impl<'b, A: Abi> Pending<'b> for UnderWay<'_, 'b, A> {
    fn start(&mut self, ops: Vec<Op<'b>>) -> Set {
        self.sets.push(Transfers::start(self.comm, ops));
        self.sets.len() - 1
    }
    fn test(&mut self, set: Set) -> bool {
        self.sets[set].test()
    }
    fn wait(&mut self, set: Set) {
        self.sets[set].wait();
    }
}

/// Messages under way. They are waited for when this is dropped, because the library writes into the buffers until then.
struct Transfers<'a, 'b, A: Abi> {
    comm: &'a Communicator<'a, A>,
    ops: Vec<Op<'b>>,
    /// `None` once all messages are complete.
    scratch: Option<Scratch<A>>,
}

impl<'a, 'b, A: Abi> Transfers<'a, 'b, A> {
    fn start(comm: &'a Communicator<'a, A>, mut ops: Vec<Op<'b>>) -> Self {
        let mut scratch = comm.take_scratch();
        comm.post(&mut ops, &mut scratch);
        Transfers { comm, ops, scratch: Some(scratch) }
    }

    /// Gives the scratch memory back.
    fn release(&mut self) {
        self.comm.context.pool.borrow_mut().extend(self.scratch.take());
    }

    fn test(&mut self) -> bool {
        let Some(scratch) = &mut self.scratch else { return true };
        let api = self.comm.context.api;
        let (requests, statuses) = scratch.requests();
        let mut complete = 0;
        // SAFETY: `post` has filled so many requests, and there is room for as many statuses.
        let code = unsafe { (api.testall)(self.ops.len() as i32, requests, &mut complete, statuses) };
        if code != 0 {
            self.comm.report(&self.ops, scratch, code, "MPI_Testall");
        }
        if complete != 0 {
            self.comm.check_lengths(&self.ops, scratch);
            scratch.end();
            self.release();
        }
        complete != 0
    }

    /// Waits; a second time has no effect.
    fn wait(&mut self) {
        if let Some(scratch) = &mut self.scratch {
            self.comm.finish(&self.ops, scratch);
        }
        self.release();
    }
}

impl<A: Abi> Drop for Transfers<'_, '_, A> {
    fn drop(&mut self) {
        self.wait();
    }
}

/// A sum under way. Unlike messages it borrows nothing that the library touches, so it may be a value that a caller could leak
/// (`mem::forget`): the numbers have memory of their own, which is leaked with it and stays the library's.
pub(crate) struct Sum<'a, A: Abi> {
    comm: &'a Communicator<'a, A>,
    /// What this rank gives, and the result. Raw, because the library reads and writes it while this value moves.
    values: *mut [f64; 2],
    request: A::H,
}

impl<'a, A: Abi> Sum<'a, A> {
    pub fn start(comm: &'a Communicator<'a, A>, x: f64) -> Sum<'a, A> {
        let api = comm.context.api;
        let values = Box::into_raw(Box::new([x, 0.0]));
        let mut request = api.handles.request_null;
        let (double, sum) = (api.handles.double, api.handles.sum);
        // SAFETY: both values live until the request is complete, which the drop waits for; without a drop they live for ever.
        let code = unsafe {
            let first = values.cast::<f64>();
            (api.iallreduce)(first.cast(), first.add(1).cast(), 1, double, sum, comm.handle, &mut request)
        };
        comm.context.check(code, "MPI_Iallreduce", String::new);
        Sum { comm, values, request }
    }

    /// Waits; a second time has no effect, because the request is then the null request.
    fn finish(&mut self) {
        let api = self.comm.context.api;
        // SAFETY: the request is one that this library has started, or its null request.
        let code = unsafe { (api.waitall)(1, &mut self.request, A::IGNORE) };
        self.comm.context.check(code, "MPI_Waitall", || "(for a sum)".to_string());
    }
}

impl<A: Abi> PendingSum for Sum<'_, A> {
    fn wait(mut self: Box<Self>) -> f64 {
        self.finish();
        // SAFETY: the sum is complete, so the library no longer touches the values.
        unsafe { (*self.values)[1] }
    }
}

impl<A: Abi> Drop for Sum<'_, A> {
    fn drop(&mut self) {
        self.finish();
        // SAFETY: the values came from a box, and the library no longer touches them.
        drop(unsafe { Box::from_raw(self.values) });
    }
}
