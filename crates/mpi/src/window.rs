//! Remote memory: a window with shared locks, each taken at the first access to its target and kept until the end, as
//! GPCNeT does. So an access costs a transfer and a flush, and no lock.

use crate::abi::Abi;
use crate::communicator::Communicator;
use comm::{Access, Buffer, Comm, Data, Rank, Reduce, Refusal, Window, agree};
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::fs::{File, TryLockError};
use std::ptr::null_mut;
use std::time::Duration;

/// Longer accesses are made in pieces, so that every count is a C integer.
const PIECE: usize = 1 << 30;
/// Windows are whole pages. MPICH 4.0 packs the windows of a node's ranks one after the other, and puts to one that does not
/// start on a cache line land some bytes beside their place.
const PAGE: usize = 4096;
/// A folder that belongs to this host alone and that everybody may lock.
const HOST_MEMORY: &str = "/dev/shm";
/// How often and after what pause the lock is asked for: 5 s in all.
const TURN_LOOKS: u32 = 5000;
const TURN_LOOK: Duration = Duration::from_millis(1);
/// Room for the reason of a refusal, which one rank tells the others.
const REASON_ROOM: usize = 512;

/// A window of this process's communicator.
pub(crate) struct Memory<'a, A: Abi> {
    comm: &'a Communicator<'a, A>,
    handle: A::H,
    len: usize,
    state: RefCell<State>,
}

/// The locks that are held, and room for the targets of one transfer.
struct State {
    locked: Vec<bool>,
    targets: Vec<Rank>,
}

/// Makes a zeroed window of `len` bytes on every rank, or is refused on every rank.
pub(crate) fn allocate<'a, A: Abi>(comm: &'a Communicator<'a, A>, len: usize) -> Result<Memory<'a, A>, Refusal> {
    let api = comm.context.api;
    let mut base: *mut u8 = null_mut();
    // Any handle will do until the call writes the window's.
    let mut handle = api.handles.info_null;
    let bytes = isize::try_from(len.next_multiple_of(PAGE)).expect("a window fits into the address space");
    let place: *mut *mut u8 = &mut base;
    let turn = turn(comm.rank());
    // SAFETY: MPI writes the address of the memory through the pointer, which its C type hides.
    let code = unsafe {
        (api.win_allocate)(bytes, 1, api.handles.info_null, comm.handle, place.cast::<c_void>(), &mut handle)
    };
    drop(turn);
    agree_on_refusal(comm, (code != 0).then(|| api.error_text(code)))?;
    // SAFETY: the window was made above.
    let code = unsafe { (api.win_set_errhandler)(handle, api.handles.errors_return) };
    comm.context.check(code, "MPI_Win_set_errhandler", String::new);
    let state = RefCell::new(State { locked: vec![false; comm.size()], targets: Vec::new() });
    let memory = Memory { comm, handle, len, state };
    memory.lock(&mut memory.state.borrow_mut(), comm.rank());
    if len > 0 {
        // SAFETY: the window has `len` bytes at `base`, and no rank accesses them before the barrier.
        unsafe { base.write_bytes(0, len) };
    }
    // SAFETY: the window is locked for this rank, as MPI_Win_sync demands.
    let code = unsafe { (api.win_sync)(handle) };
    comm.context.check(code, "MPI_Win_sync", String::new);
    comm.barrier();
    Ok(memory)
}

/// Lets one communicator of a host after the other make its window, by a lock that its first rank holds meanwhile. Open MPI 4.0 and 4.1
/// name the memory behind a window after host, job and number of the communicator, and communicators that were split from one have one
/// number: two that make windows at the same time get each other's memory, and a bus error follows.
///
/// Whoever cannot have the lock goes on without it: where a rank is in several communicators two of them could wait for each other.
#[expect(clippy::disallowed_methods, reason = "a real machine, and before anything is timed")]
fn turn(rank: Rank) -> Option<File> {
    let shared = File::open(HOST_MEMORY).ok().filter(|_| rank == 0)?;
    for _ in 0..TURN_LOOKS {
        match shared.try_lock() {
            Ok(()) => return Some(shared),
            Err(TryLockError::WouldBlock) => std::thread::sleep(TURN_LOOK),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

/// One refused rank refuses all, with its reason. A window that others have got then stays allocated: freeing it is
/// collective, and the refused rank cannot take part.
fn agree_on_refusal<A: Abi>(comm: &Communicator<'_, A>, reason: Option<String>) -> Result<(), Refusal> {
    let size = comm.size();
    let claim = if reason.is_some() { comm.rank() } else { size };
    let first = agree(comm, claim as f64, Reduce::Min) as usize;
    if first == size {
        return Ok(());
    }
    let mut text = [0u8; REASON_ROOM];
    if let Some(reason) = reason {
        let kept = reason.len().min(REASON_ROOM);
        text[..kept].copy_from_slice(&reason.as_bytes()[..kept]);
    }
    comm.bcast(first, Buffer::Bytes(&mut text));
    let text = String::from_utf8_lossy(&text);
    let reason = text.trim_end_matches('\0');
    Err(Refusal(format!("MPI_Win_allocate on rank {first}: {reason}.{}", comm.context.window_hint)))
}

impl<A: Abi> Memory<'_, A> {
    /// Locks a target's window, once.
    fn lock(&self, state: &mut State, target: Rank) {
        if state.locked[target] {
            return;
        }
        // SAFETY: the window is valid, and the target is not locked yet.
        let code = unsafe { (self.comm.context.api.win_lock)(A::LOCK_SHARED, target as c_int, 0, self.handle) };
        self.comm.context.check(code, "MPI_Win_lock", || format!("(target {target})"));
        state.locked[target] = true;
    }

    /// Starts a write.
    ///
    /// # Safety
    /// `start` has `length` bytes that rest until the target is flushed.
    unsafe fn put(&self, to: Rank, at: usize, start: *const u8, length: usize) {
        let api = self.comm.context.api;
        let byte = api.handles.byte;
        self.pieces(to, at, length, "MPI_Put", |offset, count, place| {
            // SAFETY: by the caller's promise, and the place is inside of the window.
            unsafe {
                let start = start.add(offset).cast();
                (api.put)(start, count, byte, to as c_int, place, count, byte, self.handle)
            }
        });
    }

    /// Starts a read.
    ///
    /// # Safety
    /// `start` has room for `length` bytes that nobody touches until the target is flushed.
    unsafe fn get(&self, from: Rank, at: usize, start: *mut u8, length: usize) {
        let api = self.comm.context.api;
        let byte = api.handles.byte;
        self.pieces(from, at, length, "MPI_Get", |offset, count, place| {
            // SAFETY: by the caller's promise, and the place is inside of the window.
            unsafe {
                let start = start.add(offset).cast();
                (api.get)(start, count, byte, from as c_int, place, count, byte, self.handle)
            }
        });
    }

    /// Calls `access` (offset, count, place in the window) for each piece of an access.
    fn pieces(
        &self,
        target: Rank,
        at: usize,
        length: usize,
        call: &str,
        mut access: impl FnMut(usize, c_int, isize) -> c_int,
    ) {
        // The libraries do not all check this, and the target's memory is at stake.
        assert!(
            target < self.comm.size() && at.checked_add(length).is_some_and(|end| end <= self.len),
            "{call} of {length} bytes at {at} of rank {target}: the window has {} bytes on {} ranks",
            self.len,
            self.comm.size()
        );
        self.lock(&mut self.state.borrow_mut(), target);
        let mut offset = 0;
        while offset < length {
            let count = PIECE.min(length - offset);
            let code = access(offset, count as c_int, (at + offset) as isize);
            self.comm.context.check(code, call, || format!("({length} bytes at {at} of rank {target})"));
            offset += count;
        }
    }

    /// Waits until all accesses to a target are complete there.
    fn flush(&self, target: Rank) {
        // SAFETY: the target is locked.
        let code = unsafe { (self.comm.context.api.win_flush)(target as c_int, self.handle) };
        self.comm.context.check(code, "MPI_Win_flush", || format!("(target {target})"));
    }
}

impl<A: Abi> Window for Memory<'_, A> {
    fn transfer(&self, accesses: &mut [Access<'_>]) {
        let mut scratch = self.comm.idle_scratch();
        let mut targets = std::mem::take(&mut self.state.borrow_mut().targets);
        for access in accesses.iter_mut() {
            match access {
                Access::Put { to, at, data } => {
                    let start = match data {
                        Data::Bytes(bytes) => bytes.as_ptr(),
                        Data::Len(n) => scratch.source(*n),
                    };
                    // SAFETY: the bytes are borrowed, or in the scratch memory, until the flush below.
                    unsafe { self.put(*to, *at, start, data.len()) };
                    targets.push(*to);
                }
                Access::Get { from, at, into } => {
                    let length = into.len();
                    let start = match into {
                        Buffer::Bytes(bytes) => bytes.as_mut_ptr(),
                        Buffer::Len(n) => scratch.landing(*n),
                    };
                    // SAFETY: as above; regions of the scratch memory do not overlap.
                    unsafe { self.get(*from, *at, start, length) };
                    targets.push(*from);
                }
            }
        }
        targets.sort_unstable();
        targets.dedup();
        for target in targets.drain(..) {
            self.flush(target);
        }
        self.state.borrow_mut().targets = targets;
    }

    // The own window is accessed like a stranger's: that is right in every memory model that MPI has, and nobody times it.
    fn read(&self, at: usize, into: &mut [u8]) {
        let own = self.comm.rank();
        // SAFETY: the bytes are borrowed until the flush.
        unsafe { self.get(own, at, into.as_mut_ptr(), into.len()) };
        self.flush(own);
    }
    fn write(&self, at: usize, bytes: &[u8]) {
        let own = self.comm.rank();
        // SAFETY: the bytes are borrowed until the flush.
        unsafe { self.put(own, at, bytes.as_ptr(), bytes.len()) };
        self.flush(own);
    }
}

impl<A: Abi> Drop for Memory<'_, A> {
    fn drop(&mut self) {
        let api = self.comm.context.api;
        let state = self.state.borrow();
        for target in (0..state.locked.len()).filter(|&target| state.locked[target]) {
            // SAFETY: the target is locked.
            let code = unsafe { (api.win_unlock)(target as c_int, self.handle) };
            self.comm.context.check(code, "MPI_Win_unlock", || format!("(target {target})"));
        }
        // SAFETY: no lock is held, and nothing borrows the window any more.
        let code = unsafe { (api.win_free)(&mut self.handle) };
        self.comm.context.check(code, "MPI_Win_free", String::new);
    }
}
