//! Skeletons of applications: what they send and how long they compute, without what they compute.
//!
//! ```text
//! team       the ranks that take part, in a box or a rectangle; those that are left over idle
//! halo       one exchange with neighbours in a box: faces, edges, corners
//! stencil    kernels made of halos, computing and small reductions: lulesh, halo3d, cg
//! wave       a wavefront over a rectangle of ranks: sweep3d
//! pencils    a three-dimensional FFT: all-to-alls in rows, then in columns
//! gradient   ring all-reduces of buckets beside computing
//! collect    everybody writes to a few: checkpoint
//! ```

pub mod collect;
pub mod gradient;
mod halo;
pub mod pencils;
pub mod stencil;
mod team;
pub mod wave;
