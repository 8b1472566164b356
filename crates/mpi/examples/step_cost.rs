//! What one exchange step costs over the bare MPI calls: `step_cost bare|comm|len STEPS [BYTES]`, under mpirun and valgrind.
//!
//! Each step receives from both neighbours in the ring and sends to both. `bare` calls MPI directly, `comm` goes through
//! `&dyn Comm` with buffers, `len` with messages whose values do not matter. `scripts/mpi-step-cost` counts the instructions.

use comm::{Buffer, Comm, Data, Machine as _, Op};
use std::hint::black_box;
use tailback_mpi::{Machine, find};

const TAG: u16 = 7;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| arguments.get(i).map_or(Some(default), |text| text.parse().ok());
    let (Some(mode), Some(steps), Some(bytes)) = (arguments.first(), number(1, 10_000), number(2, 8)) else {
        eprintln!("usage: step_cost bare|comm|len STEPS [BYTES]");
        std::process::exit(2);
    };
    let machine = find(None).and_then(|found| Machine::start(&found)).unwrap_or_else(|error| {
        eprintln!("tailback: {error}");
        std::process::exit(1);
    });
    let bytes = bytes as usize;
    match mode.as_str() {
        "bare" => machine.bare_ring(steps, bytes),
        "comm" => machine.run(&|comm| buffers(black_box(comm), steps, bytes)).expect("ranks end the job themselves"),
        "len" => machine.run(&|comm| lengths(black_box(comm), steps, bytes)).expect("ranks end the job themselves"),
        other => tailback_mpi::abort(2, &format!("unknown mode `{other}`: bare, comm or len")),
    }
}

fn neighbours(comm: &dyn Comm) -> (usize, usize) {
    ((comm.rank() + 1) % comm.size(), (comm.rank() + comm.size() - 1) % comm.size())
}

/// The bare loop's messages through the interface, the operations written anew in each step as kernels do.
fn buffers(comm: &dyn Comm, steps: u64, bytes: usize) {
    let (next, previous) = neighbours(comm);
    let out = vec![1u8; bytes];
    let (mut one, mut two) = (vec![0u8; bytes], vec![0u8; bytes]);
    for _ in 0..steps {
        comm.exchange(&mut [
            Op::recv(previous, TAG, &mut one),
            Op::recv(next, TAG, &mut two),
            Op::send(next, TAG, &out),
            Op::send(previous, TAG, &out),
        ]);
    }
}

/// The same without buffers.
fn lengths(comm: &dyn Comm, steps: u64, bytes: usize) {
    let (next, previous) = neighbours(comm);
    for _ in 0..steps {
        comm.exchange(&mut [
            Op::Recv { from: previous, tag: TAG, into: Buffer::Len(bytes) },
            Op::Recv { from: next, tag: TAG, into: Buffer::Len(bytes) },
            Op::Send { to: next, tag: TAG, data: Data::Len(bytes) },
            Op::Send { to: previous, tag: TAG, data: Data::Len(bytes) },
        ]);
    }
}
