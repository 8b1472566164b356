//! The functions of MPI that are used, with their C types, and the table of their addresses in the loaded library.

use crate::MpiError;
use crate::abi::{Abi, Handles};
use libloading::os::unix::Library;
use std::ffi::{CStr, c_char, c_int, c_void};

/// `MPI_Aint`.
pub(crate) type Aint = isize;
/// `MPI_Count`.
pub(crate) type Count = i64;

/// Room for the text of an error; the largest of the three interfaces is 512.
const ERROR_ROOM: usize = 1024;

macro_rules! table {
    (
        required { $($field:ident = $symbol:ident($($argument:ty),*);)* }
        optional { $($optional:ident = $optional_symbol:ident($($optional_argument:ty),*);)* }
    ) => {
        /// The loaded library: addresses of functions and predefined handles. All functions return an error code.
        pub(crate) struct Api<A: Abi> {
            pub handles: Handles<A::H>,
            $(pub $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
            $(pub $optional: Option<unsafe extern "C" fn($($optional_argument),*) -> c_int>,)*
        }

        impl<A: Abi> Api<A> {
            /// Looks every function up.
            ///
            /// # Safety
            /// The library speaks the binary interface `A`, and is never unloaded.
            pub unsafe fn load(library: &Library) -> Result<Api<A>, MpiError> {
                Ok(Api {
                    handles: A::handles(library)?,
                    // SAFETY: the types are those of the MPI standard for this interface, by the caller's promise.
                    $($field: *unsafe { library.get(stringify!($symbol)) }
                        .map_err(|_| MpiError::Symbol { symbol: stringify!($symbol) })?,)*
                    // SAFETY: as above.
                    $($optional: unsafe { library.get(stringify!($optional_symbol)) }.ok().map(|symbol| *symbol),)*
                })
            }
        }
    };
}

table! {
    required {
        init_thread = MPI_Init_thread(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
        initialized = MPI_Initialized(*mut c_int);
        finalize = MPI_Finalize();
        abort = MPI_Abort(A::H, c_int);
        error_string = MPI_Error_string(c_int, *mut c_char, *mut c_int);
        get_processor_name = MPI_Get_processor_name(*mut c_char, *mut c_int);
        comm_rank = MPI_Comm_rank(A::H, *mut c_int);
        comm_size = MPI_Comm_size(A::H, *mut c_int);
        comm_split = MPI_Comm_split(A::H, c_int, c_int, *mut A::H);
        comm_split_type = MPI_Comm_split_type(A::H, c_int, c_int, A::H, *mut A::H);
        comm_free = MPI_Comm_free(*mut A::H);
        comm_set_errhandler = MPI_Comm_set_errhandler(A::H, A::H);
        send = MPI_Send(*const c_void, c_int, A::H, c_int, c_int, A::H);
        recv = MPI_Recv(*mut c_void, c_int, A::H, c_int, c_int, A::H, *mut A::Status);
        sendrecv = MPI_Sendrecv(*const c_void, c_int, A::H, c_int, c_int, *mut c_void, c_int, A::H, c_int, c_int, A::H, *mut A::Status);
        isend = MPI_Isend(*const c_void, c_int, A::H, c_int, c_int, A::H, *mut A::H);
        irecv = MPI_Irecv(*mut c_void, c_int, A::H, c_int, c_int, A::H, *mut A::H);
        waitall = MPI_Waitall(c_int, *mut A::H, *mut A::Status);
        testall = MPI_Testall(c_int, *mut A::H, *mut c_int, *mut A::Status);
        get_count = MPI_Get_count(*const A::Status, A::H, *mut c_int);
        barrier = MPI_Barrier(A::H);
        bcast = MPI_Bcast(*mut c_void, c_int, A::H, c_int, A::H);
        gather = MPI_Gather(*const c_void, c_int, A::H, *mut c_void, c_int, A::H, c_int, A::H);
        alltoall = MPI_Alltoall(*const c_void, c_int, A::H, *mut c_void, c_int, A::H, A::H);
        allreduce = MPI_Allreduce(*const c_void, *mut c_void, c_int, A::H, A::H, A::H);
        exscan = MPI_Exscan(*const c_void, *mut c_void, c_int, A::H, A::H, A::H);
        iallreduce = MPI_Iallreduce(*const c_void, *mut c_void, c_int, A::H, A::H, A::H, *mut A::H);
        win_allocate = MPI_Win_allocate(Aint, c_int, A::H, A::H, *mut c_void, *mut A::H);
        win_set_errhandler = MPI_Win_set_errhandler(A::H, A::H);
        win_free = MPI_Win_free(*mut A::H);
        win_lock = MPI_Win_lock(c_int, c_int, c_int, A::H);
        win_unlock = MPI_Win_unlock(c_int, A::H);
        win_flush = MPI_Win_flush(c_int, A::H);
        win_sync = MPI_Win_sync(A::H);
        put = MPI_Put(*const c_void, c_int, A::H, c_int, Aint, c_int, A::H, A::H);
        get = MPI_Get(*mut c_void, c_int, A::H, c_int, Aint, c_int, A::H, A::H);
    }
    // With 64-bit counts, from MPI 4; Open MPI 4 and 5 have none of them.
    optional {
        isend_c = MPI_Isend_c(*const c_void, Count, A::H, c_int, c_int, A::H, *mut A::H);
        irecv_c = MPI_Irecv_c(*mut c_void, Count, A::H, c_int, c_int, A::H, *mut A::H);
        get_count_c = MPI_Get_count_c(*const A::Status, A::H, *mut Count);
        bcast_c = MPI_Bcast_c(*mut c_void, Count, A::H, c_int, A::H);
        gather_c = MPI_Gather_c(*const c_void, Count, A::H, *mut c_void, Count, A::H, c_int, A::H);
        alltoall_c = MPI_Alltoall_c(*const c_void, Count, A::H, *mut c_void, Count, A::H, A::H);
        allreduce_c = MPI_Allreduce_c(*const c_void, *mut c_void, Count, A::H, A::H, A::H);
    }
}

impl<A: Abi> Api<A> {
    /// The library's text for an error code.
    pub fn error_text(&self, code: c_int) -> String {
        let mut text = [0u8; ERROR_ROOM];
        let mut length = 0;
        // SAFETY: there is more room than any interface's MPI_MAX_ERROR_STRING, and the last byte stays zero.
        let failed = unsafe { (self.error_string)(code, text.as_mut_ptr().cast(), &mut length) };
        match CStr::from_bytes_until_nul(&text) {
            Ok(text) if failed == 0 && !text.is_empty() => one_line(&text.to_string_lossy()),
            _ => format!("MPI error {code}"),
        }
    }
}

/// Libraries put stacks of errors on several lines; a message of ours is one line.
pub(crate) fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_of_errors_become_one_line() {
        assert_eq!(
            one_line("Invalid rank, error stack:\n  internal_Isend(1)\n\n"),
            "Invalid rank, error stack:; internal_Isend(1)"
        );
    }
}
