//! The tests of HPC Challenge 1.5.0, each as a kernel: same sizes, generators, operation counts and checks as the original.
//!
//! ```text
//! hpl/            solve a dense system on a P x Q grid of ranks
//! ptrans          transpose and add on such a grid
//! random_access   updates of a random table, alone and over all ranks
//! fft             one-dimensional complex transform, alone and over all ranks
//! dgemm, stream   one rank's arithmetic and memory
//! latency         ping-pong over pairs, natural and random rings
//! ```
//!
//! The same code computes and models. With [`Payload::Lengths`] on a simulated machine nothing is stored and nothing computed:
//! every message has its length and every computation its price, so a problem may be larger than any memory. Everywhere else
//! the arithmetic is done and checked.
//!
//! The original's rules say whose clock counts (rank 0's, the slowest rank's, the best round's). Where they differ from "every
//! rank times every step", the kernel also uses the [`Stopwatch`](crate::Stopwatch) it was lent and gives the number by those rules among its results.

pub mod dgemm;
pub mod fft;
pub mod grid;
pub mod hpl;
pub mod latency;
mod library;
mod pairs;
pub mod ptrans;
pub mod random_access;
pub mod ring;
mod route;
pub mod stream;

use crate::kernel::{Arithmetic, Setup};
use comm::{Buffer, Comm, Data, Refusal};
use local::memory::{Plain, bytes, bytes_mut};
use record::{Payload, Verdict};
use spec::{Kind, Param, Work};

/// The number by which a test says its class in the sense of HPCC's rules: 1 if it does what only an optimized run may.
const OPTIMIZED: &str = "optimized";

/// Half the distance from one to the next number: the `eps` of every check.
const EPS: f64 = f64::EPSILON / 2.0;

/// Threads of a rank at most: more than a node of today has.
pub const MOST_THREADS: f64 = 4096.0;
const THREADS: Param = Param::new("threads", Kind::Count, "1", "threads of each rank").up_to(MOST_THREADS);
// 16 is what HPCC takes without an input file.
const THRESHOLD: Param = Param::new("threshold", Kind::Real, "16", "largest scaled residual that passes");

/// Whether computations are only paid for: lengths are carried and the machine is a simulated one.
fn modelled(setup: &Setup<'_>) -> bool {
    setup.payload == Payload::Lengths && setup.arithmetic == Arithmetic::Charged
}

/// Does a computation and pays for it, or pays alone.
fn pay(comm: &dyn Comm, model: bool, work: Work, f: &mut dyn FnMut()) {
    if model {
        comm.charge(work);
    } else {
        comm.compute(work, f);
    }
}

/// `count` values to send: those of `values`, or their length where none are stored.
fn outgoing<T: Plain>(model: bool, values: &[T], count: usize) -> Data<'_> {
    if model { Data::Len(count * size_of::<T>()) } else { Data::Bytes(bytes(&values[..count])) }
}

/// Room for `count` values, or their length where none are stored.
fn incoming<T: Plain>(model: bool, values: &mut [T], count: usize) -> Buffer<'_> {
    if model { Buffer::Len(count * size_of::<T>()) } else { Buffer::Bytes(bytes_mut(&mut values[..count])) }
}

/// An array for a test, or none where only lengths are carried.
fn array<T: Plain>(model: bool, len: usize) -> Result<local::Buffer<T>, Refusal> {
    local::Buffer::zeroed(if model { 0 } else { len }).map_err(|e| Refusal(e.to_string()))
}

/// A result that must stay below a bound; `checked` values went into it.
fn bounded(what: &str, value: f64, bound: f64, checked: u64) -> Verdict {
    // Written so that a value that is no number fails.
    if value < bound {
        return Verdict::Right { checked };
    }
    Verdict::Wrong { checked, wrong: 1, first: format!("{what} is {value:e}, not below {bound}") }
}

/// The verdict of work that was only paid for.
fn not_computed() -> Verdict {
    Verdict::Unchecked { reason: "computations were charged, not done".into() }
}
