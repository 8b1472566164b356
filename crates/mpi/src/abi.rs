//! The three binary interfaces of MPI libraries: what a handle is, and what the constants are.
//!
//! The functions of [`crate::table`] have the same parameters in each, so everything above this file is generic over
//! [`Abi`] and compiled once for each: no handle is ever converted, and no call pays for the choice.
//!
//! The numbers are facts from the public `mpi.h` of Open MPI 4.1 and 5.0, of MPICH 4.0 and 5.0, and from the standard ABI of
//! MPI 5.0.

use crate::MpiError;
use libloading::os::unix::Library;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr::without_provenance_mut;

/// The binary interface that a library speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Open MPI and its relatives: handles are addresses of the library's objects.
    OpenMpi,
    /// MPICH and its relatives (Intel, Cray, MVAPICH, ParaStation): handles are C integers.
    Mpich,
    /// The standard ABI of MPI 5: handles are small integers of the size of a pointer.
    Standard,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::OpenMpi => "Open MPI ABI",
            Kind::Mpich => "MPICH ABI",
            Kind::Standard => "MPI-5 standard ABI",
        })
    }
}

/// How much threading the library grants, weakest first, in the order of [`Abi::THREADS`].
pub(crate) const THREAD_NAMES: [&str; 4] = ["single", "funneled", "serialized", "multiple"];

/// The predefined handles that are used.
pub(crate) struct Handles<H> {
    pub world: H,
    pub own: H,
    pub comm_null: H,
    pub byte: H,
    pub double: H,
    pub request_null: H,
    pub errors_return: H,
    pub info_null: H,
    pub sum: H,
    pub min: H,
    pub max: H,
}

/// One binary interface.
pub(crate) trait Abi: Sized + 'static {
    /// A handle of any sort.
    type H: Copy + PartialEq + Send + Sync + 'static;
    /// `MPI_Status`.
    type Status: Copy + 'static;

    /// `MPI_IN_PLACE`.
    const IN_PLACE: *mut c_void;
    /// `MPI_STATUS_IGNORE` and `MPI_STATUSES_IGNORE`, which are equal in all three.
    const IGNORE: *mut Self::Status;
    /// `MPI_COMM_TYPE_SHARED`.
    const SHARED: c_int;
    /// `MPI_LOCK_SHARED`.
    const LOCK_SHARED: c_int;
    /// `MPI_THREAD_SINGLE`, `_FUNNELED`, `_SERIALIZED`, `_MULTIPLE`.
    const THREADS: [c_int; 4];

    /// The predefined handles of a loaded library.
    fn handles(library: &Library) -> Result<Handles<Self::H>, MpiError>;
    /// The field `MPI_ERROR`.
    fn error_of(status: &Self::Status) -> c_int;
    /// An empty status.
    fn status() -> Self::Status;
}

/// `MPI_UNDEFINED`, the same in all three.
pub(crate) const UNDEFINED: c_int = -32766;

/// See [`Kind::OpenMpi`].
pub(crate) struct OpenMpi;

/// The address of one of Open MPI's objects.
#[derive(Clone, Copy, PartialEq)]
#[repr(transparent)]
pub(crate) struct Address(*mut c_void);

// SAFETY: it is never dereferenced here; the library's functions decide what other threads may do with it.
unsafe impl Send for Address {}
// SAFETY: as above.
unsafe impl Sync for Address {}

/// Open MPI's `MPI_Status`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct OpenMpiStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    cancelled: c_int,
    count: usize,
}

impl Abi for OpenMpi {
    type H = Address;
    type Status = OpenMpiStatus;
    const IN_PLACE: *mut c_void = without_provenance_mut(1);
    const IGNORE: *mut OpenMpiStatus = without_provenance_mut(0);
    const SHARED: c_int = 0;
    const LOCK_SHARED: c_int = 2;
    const THREADS: [c_int; 4] = [0, 1, 2, 3];

    fn handles(library: &Library) -> Result<Handles<Address>, MpiError> {
        let address = |name: &'static str| {
            // SAFETY: only the address of the symbol is taken, and the library is never unloaded.
            unsafe { library.get::<*mut c_void>(name) }
                .map(|symbol| Address(*symbol))
                .map_err(|_| MpiError::Symbol { symbol: name })
        };
        Ok(Handles {
            world: address("ompi_mpi_comm_world")?,
            own: address("ompi_mpi_comm_self")?,
            comm_null: address("ompi_mpi_comm_null")?,
            byte: address("ompi_mpi_byte")?,
            double: address("ompi_mpi_double")?,
            request_null: address("ompi_request_null")?,
            errors_return: address("ompi_mpi_errors_return")?,
            info_null: address("ompi_mpi_info_null")?,
            sum: address("ompi_mpi_op_sum")?,
            min: address("ompi_mpi_op_min")?,
            max: address("ompi_mpi_op_max")?,
        })
    }
    fn error_of(status: &OpenMpiStatus) -> c_int {
        status.error
    }
    fn status() -> OpenMpiStatus {
        OpenMpiStatus { source: 0, tag: 0, error: 0, cancelled: 0, count: 0 }
    }
}

/// See [`Kind::Mpich`].
pub(crate) struct Mpich;

/// MPICH's `MPI_Status`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct MpichStatus {
    count_low: c_int,
    count_high: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

impl Abi for Mpich {
    type H = c_int;
    type Status = MpichStatus;
    const IN_PLACE: *mut c_void = without_provenance_mut(usize::MAX);
    const IGNORE: *mut MpichStatus = without_provenance_mut(1);
    const SHARED: c_int = 1;
    const LOCK_SHARED: c_int = 235;
    const THREADS: [c_int; 4] = [0, 1, 2, 3];

    fn handles(_: &Library) -> Result<Handles<c_int>, MpiError> {
        Ok(Handles {
            world: 0x4400_0000,
            own: 0x4400_0001,
            comm_null: 0x0400_0000,
            byte: 0x4c00_010d,
            double: 0x4c00_080b,
            request_null: 0x2c00_0000,
            errors_return: 0x5400_0001,
            info_null: 0x1c00_0000,
            sum: 0x5800_0003,
            min: 0x5800_0002,
            max: 0x5800_0001,
        })
    }
    fn error_of(status: &MpichStatus) -> c_int {
        status.error
    }
    fn status() -> MpichStatus {
        MpichStatus { count_low: 0, count_high: 0, source: 0, tag: 0, error: 0 }
    }
}

/// See [`Kind::Standard`].
pub(crate) struct Standard;

/// The standard ABI's `MPI_Status`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct StandardStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    internal: [c_int; 5],
}

impl Abi for Standard {
    type H = usize;
    type Status = StandardStatus;
    const IN_PLACE: *mut c_void = without_provenance_mut(1);
    const IGNORE: *mut StandardStatus = without_provenance_mut(0);
    const SHARED: c_int = 221;
    const LOCK_SHARED: c_int = 302;
    const THREADS: [c_int; 4] = [0, 1024, 2048, 4096];

    fn handles(_: &Library) -> Result<Handles<usize>, MpiError> {
        Ok(Handles {
            world: 0x101,
            own: 0x102,
            comm_null: 0x100,
            byte: 0x247,
            double: 0x214,
            request_null: 0x180,
            errors_return: 0x143,
            info_null: 0x130,
            sum: 0x21,
            min: 0x22,
            max: 0x23,
        })
    }
    fn error_of(status: &StandardStatus) -> c_int {
        status.error
    }
    fn status() -> StandardStatus {
        StandardStatus { source: 0, tag: 0, error: 0, internal: [0; 5] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The libraries write whole statuses into our arrays, so a wrong size would corrupt memory.
    #[test]
    fn statuses_have_the_sizes_of_the_headers() {
        assert_eq!(size_of::<OpenMpiStatus>(), 24);
        assert_eq!(size_of::<MpichStatus>(), 20);
        assert_eq!(size_of::<StandardStatus>(), 32);
        assert_eq!(std::mem::offset_of!(OpenMpiStatus, error), 8);
        assert_eq!(std::mem::offset_of!(MpichStatus, error), 16);
        assert_eq!(std::mem::offset_of!(StandardStatus, error), 8);
    }
}
