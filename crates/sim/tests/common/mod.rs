//! Machines for the tests.
#![allow(dead_code, reason = "each test program uses a part of it")]

use comm::{Buffer, Comm, Data, Machine as _, MachineError, Op, Rank, Tag};
use tailback_sim::{Config, Simulator};

/// A machine from a machine file.
pub fn machine(text: &str) -> Simulator {
    Simulator::new(Config::from_toml(text).unwrap()).unwrap()
}

/// Runs a body and expects the run to end well.
pub fn run(machine: &Simulator, body: impl Fn(&dyn Comm) + Sync) {
    machine.run(&body).unwrap();
}

/// Runs a body and expects the run to fail.
pub fn failure(machine: &Simulator, body: impl Fn(&dyn Comm) + Sync) -> MachineError {
    machine.run(&body).unwrap_err()
}

/// A send of bytes that do not matter.
pub fn send<'a>(to: Rank, tag: Tag, len: usize) -> Op<'a> {
    Op::Send { to, tag, data: Data::Len(len) }
}

/// A receive of bytes that do not matter.
pub fn recv<'a>(from: Rank, tag: Tag, len: usize) -> Op<'a> {
    Op::Recv { from, tag, into: Buffer::Len(len) }
}
