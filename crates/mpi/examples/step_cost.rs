//! What one exchange step costs over the bare MPI calls: `step_cost bare|comm|anew|len STEPS [BYTES]`, under mpirun and valgrind.
//!
//! Each step receives from both neighbours in the ring and sends to both. `bare` calls MPI directly; `comm` goes through
//! `&dyn Comm`, `anew` writes the operations anew in each step, `len` has messages whose values do not matter.
//! `scripts/mpi-step-cost` counts the instructions.

use comm::{Buffer, Comm, Data, Machine as _, Op};
use std::hint::black_box;
use tailback_mpi::{MpiMachine, find};

const TAG: u16 = 7;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| arguments.get(i).map_or(Some(default), |text| text.parse().ok());
    let (Some(mode), Some(steps), Some(bytes)) = (arguments.first(), number(1, 10_000), number(2, 8)) else {
        eprintln!("usage: step_cost bare|comm|anew|len STEPS [BYTES]");
        std::process::exit(2);
    };
    let machine = find(None).and_then(|found| MpiMachine::start(&found)).unwrap_or_else(|error| {
        tailback_mpi::say(format_args!("tailback: {error}"));
        std::process::exit(1);
    });
    let bytes = bytes as usize;
    // The black box hides which communicator it is: calls go through the table of methods, as in a kernel.
    let run = |body: &(dyn Fn(&dyn Comm) + Sync)| {
        machine.run(&|comm| body(black_box(comm))).expect("ranks end the job themselves");
    };
    match mode.as_str() {
        "bare" => machine.bare_ring(steps, bytes),
        "comm" => run(&|comm| buffers(comm, steps, bytes, false)),
        "anew" => run(&|comm| buffers(comm, steps, bytes, true)),
        "len" => run(&|comm| lengths(comm, steps, bytes)),
        other => tailback_mpi::abort(2, &format!("unknown mode `{other}`: bare, comm, anew or len")),
    }
}

fn neighbours(comm: &dyn Comm) -> (usize, usize) {
    ((comm.rank() + 1) % comm.size(), (comm.rank() + comm.size() - 1) % comm.size())
}

/// The bare loop's messages through the interface; the operations are written once, or anew in each step.
fn buffers(comm: &dyn Comm, steps: u64, bytes: usize, anew: bool) {
    let (next, previous) = neighbours(comm);
    let out = vec![1u8; bytes];
    let (mut one, mut two) = (vec![0u8; bytes], vec![0u8; bytes]);
    let (rounds, each) = if anew { (steps, 1) } else { (1, steps) };
    for _ in 0..rounds {
        let mut ops = [
            Op::recv(previous, TAG, &mut one),
            Op::recv(next, TAG, &mut two),
            Op::send(next, TAG, &out),
            Op::send(previous, TAG, &out),
        ];
        for _ in 0..each {
            comm.exchange(&mut ops);
        }
    }
}

/// The same without buffers.
fn lengths(comm: &dyn Comm, steps: u64, bytes: usize) {
    let (next, previous) = neighbours(comm);
    let mut ops = [
        Op::Recv { from: previous, tag: TAG, into: Buffer::Len(bytes) },
        Op::Recv { from: next, tag: TAG, into: Buffer::Len(bytes) },
        Op::Send { to: next, tag: TAG, data: Data::Len(bytes) },
        Op::Send { to: previous, tag: TAG, data: Data::Len(bytes) },
    ];
    for _ in 0..steps {
        comm.exchange(&mut ops);
    }
}
