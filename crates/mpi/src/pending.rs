//! Operations under way.

use crate::abi::Abi;
use crate::communicator::Communicator;
use crate::scratch::Scratch;
use comm::{Op, Pending, PendingSum};

/// Messages under way. They are waited for when this is dropped, because the library writes into the buffers until then.
///
/// Leaking it (`mem::forget`) while messages are under way would leave the buffers with the library after their borrow has
/// ended; nobody may do that: see [`comm::Comm::begin`].
pub(crate) struct Transfers<'a, A: Abi> {
    comm: &'a Communicator<'a, A>,
    ops: Vec<Op<'a>>,
    /// `None` once all messages are complete.
    scratch: Option<Scratch<A>>,
}

impl<'a, A: Abi> Transfers<'a, A> {
    pub fn start(comm: &'a Communicator<'a, A>, mut ops: Vec<Op<'a>>) -> Transfers<'a, A> {
        let mut scratch = comm.take_scratch();
        comm.post(&mut ops, &mut scratch);
        Transfers { comm, ops, scratch: Some(scratch) }
    }

    /// Gives the scratch memory back.
    fn release(&mut self) {
        self.comm.context.pool.borrow_mut().extend(self.scratch.take());
    }
}

impl<A: Abi> Pending for Transfers<'_, A> {
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
    fn wait(self: Box<Self>) {
        drop(self);
    }
}

impl<A: Abi> Drop for Transfers<'_, A> {
    fn drop(&mut self) {
        if let Some(scratch) = &mut self.scratch {
            self.comm.finish(&self.ops, scratch);
        }
        self.release();
    }
}

/// A sum under way.
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
        // SAFETY: both values live until the request is complete, which the drop waits for.
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
