//! A bare loop over MPI calls, as one would write it in C: what the cost of [`comm::Comm::exchange`] is compared with by
//! `examples/step_cost.rs`.

use crate::abi::Abi;
use crate::context::Context;
use std::ffi::c_int;

/// The tag of its messages.
pub(crate) const TAG: c_int = 7;

/// `steps` times: receive from both neighbours in the ring, send to both, wait for all; `bytes` a message.
pub(crate) fn ring<A: Abi>(context: &Context<A>, steps: u64, bytes: usize, rank: usize, ranks: usize) {
    let api = context.api;
    let (world, byte, null) = (api.handles.world, api.handles.byte, api.handles.request_null);
    let next = ((rank + 1) % ranks) as c_int;
    let previous = ((rank + ranks - 1) % ranks) as c_int;
    let out = vec![1u8; bytes];
    let (mut one, mut two) = (vec![0u8; bytes], vec![0u8; bytes]);
    let count = c_int::try_from(bytes).expect("a message of the comparison is below 2 GiB");
    let mut requests = [null; 4];
    for _ in 0..steps {
        let [r0, r1, r2, r3] = &mut requests;
        // SAFETY: the buffers have `bytes` bytes and are not touched before the wait.
        let codes = unsafe {
            [
                (api.irecv)(one.as_mut_ptr().cast(), count, byte, previous, TAG, world, r0),
                (api.irecv)(two.as_mut_ptr().cast(), count, byte, next, TAG, world, r1),
                (api.isend)(out.as_ptr().cast(), count, byte, next, TAG, world, r2),
                (api.isend)(out.as_ptr().cast(), count, byte, previous, TAG, world, r3),
                (api.waitall)(4, requests.as_mut_ptr(), A::IGNORE),
            ]
        };
        if let Some(&code) = codes.iter().find(|&&code| code != 0) {
            context.fail(code, "the bare loop", String::new());
        }
    }
}
