//! What one process can do on its own cores, fast: the local halves of HPC Challenge.
//!
//! ```text
//! threads, host, memory      who computes, on what, in which pages
//! memory_limits              how much of it this process may use
//! matrix                     column-major views that may be split into disjoint parts
//! blas/                      GEMM and its relatives: built in, or any system library; the faster one is picked
//! stream, random_access, fft, transpose     the kernels
//! lcg, bcnrand               the generators of HPL, PTRANS and FFT, equal to the original's at any offset
//! ```
//!
//! Invariant: nothing here knows of ranks, messages, records or printing, and only `blas/pick.rs` reads a clock, to choose
//! between two libraries. The distributed algorithms are built on top of this crate and need no unsafe code for it: every
//! public function is safe and checks its sizes.

mod simd;
mod turn;

pub mod bcnrand;
pub mod blas;
pub mod fft;
pub mod host;
pub mod lcg;
pub mod matrix;
pub mod memory;
pub mod memory_limits;
pub mod random_access;
pub mod stream;
pub mod threads;
pub mod transpose;

pub use matrix::{Mat, MatMut};
pub use memory::Buffer;
pub use threads::Pool;
