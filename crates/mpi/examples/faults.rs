//! Things that go wrong on one rank, to see that the whole job ends: `mpirun -n 2 faults MODE`. `scripts/mpi-faults` runs all.
//!
//! The last rank misbehaves; the others send it 8 bytes and wait for a message that never comes. With one rank it is alone.

use comm::{Comm, Machine as _, Op};
use tailback_mpi::{MpiMachine, abort, find};

/// A name and what the misbehaving rank does.
type Fault = (&'static str, fn(&dyn Comm));

const FAULTS: &[Fault] = &[
    ("panic", |comm| panic!("rank {} cannot go on", comm.rank())),
    ("bad-rank", |comm| comm.exchange(&mut [Op::send(comm.size() + 5, 1, b"nobody is there")])),
    // The arithmetic slip `rank - 1` on rank 0: as a C integer it would be one of MPI's special ranks.
    ("minus-one", |comm| comm.exchange(&mut [Op::recv(usize::MAX, 1, &mut [0])])),
    // Rank 0 sends 8 bytes.
    ("truncate", |comm| comm.exchange(&mut [Op::recv(0, 1, &mut [0; 4])])),
    ("truncate-late", |comm| {
        // Beyond the exchanges that are checked.
        (0..200).for_each(|_| comm.exchange(&mut []));
        comm.exchange(&mut [Op::recv(0, 1, &mut [0; 4])]);
    }),
    ("short", |comm| comm.exchange(&mut [Op::recv(0, 1, &mut [0; 16])])),
    ("exit", |_| std::process::exit(3)),
    ("exit-zero", |_| std::process::exit(0)),
    ("kill", |_| std::process::abort()),
    // As a signal handler does it: another thread ends the job while this one waits inside of MPI.
    ("thread", |comm| {
        std::thread::spawn(|| abort(1, "the other thread has had enough"));
        comm.exchange(&mut [Op::recv(comm.rank(), 3, &mut [0])]);
    }),
];

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    let Some((_, fault)) = FAULTS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = FAULTS.iter().map(|(name, _)| *name).collect();
        eprintln!("usage: faults {}", names.join("|"));
        std::process::exit(2);
    };
    let machine = find(None).and_then(|found| MpiMachine::start(&found)).unwrap_or_else(|error| {
        tailback_mpi::say(format_args!("tailback: {error}"));
        std::process::exit(1);
    });
    let done = machine.run(&|comm| {
        comm.barrier();
        if comm.rank() + 1 == comm.size() {
            fault(comm);
        } else {
            comm.exchange(&mut [Op::send(comm.size() - 1, 1, &[0; 8])]);
        }
        comm.exchange(&mut [Op::recv(comm.size() - 1, 2, &mut [0])]);
    });
    println!("not reached: {done:?}");
}
