//! Every kernel of the table, on the simulated machine: a new entry is tested without writing a test.

mod common;

use comm::{Comm, Machine};
use record::{Payload, Verdict};
use spec::{Params, Work};
use std::sync::Mutex;
use tailback_bench::{KERNELS, Kernel, Setup};

/// Runs `steps` steps of a kernel on each rank; the work declared and the verdicts.
fn steps(kernel: &Kernel, ranks: usize, payload: Payload, steps: u32) -> (Work, Vec<Verdict>, u64) {
    let machine = common::machine(ranks, 1);
    let params = kernel.card.resolve(&Params::new()).unwrap();
    let total = Mutex::new(Work::NONE);
    let verdicts = Mutex::new(Vec::new());
    let body = |world: &dyn Comm| {
        let setup = Setup { comm: world, params: &params, seed: 7, payload, progress: &|_| () };
        let mut pattern = (kernel.start)(setup).unwrap_or_else(|r| panic!("{}: {r:?}", kernel.card.name));
        pattern.arrange(0);
        for _ in 0..steps {
            if let Some(work) = pattern.step() {
                let mut total = total.lock().unwrap();
                *total += work;
            }
        }
        let verdict = pattern.verify();
        verdicts.lock().unwrap().push(verdict);
        pattern.arrange(1);
        pattern.step();
        let verdict = pattern.verify();
        verdicts.lock().unwrap().push(verdict);
    };
    machine.run(&body).unwrap_or_else(|e| panic!("{} on {ranks}: {e}", kernel.card.name));
    (total.into_inner().unwrap(), verdicts.into_inner().unwrap(), machine.stats().injected_bytes)
}

/// Kernels of GPCNeT's kind: what they declare is what they send themselves. Collectives declare what the caller asked for.
fn sends_what_it_declares(kernel: &Kernel) -> bool {
    !matches!(kernel.card.name, "allreduce" | "p2p-bw-sync") && kernel.card.source.starts_with("GPCNeT")
}

#[test]
fn every_kernel_delivers_right_data_on_any_number_of_ranks() {
    for kernel in KERNELS.iter().filter(|k| k.card.source.starts_with("GPCNeT")) {
        for ranks in [2, 3, 4, 5, 8] {
            let (_, verdicts, _) = steps(kernel, ranks, Payload::Checked, 2);
            assert_eq!(verdicts.len(), 2 * ranks);
            let all = verdicts.into_iter().reduce(Verdict::and).unwrap();
            assert!(
                matches!(all, Verdict::Right { checked } if checked > 0),
                "{} on {ranks}: {all:?}",
                kernel.card.name
            );
        }
    }
}

#[test]
fn every_kernel_moves_exactly_the_bytes_it_declares() {
    for kernel in KERNELS.iter().filter(|k| sends_what_it_declares(k)) {
        for ranks in [2, 5] {
            let (few, _, sent_few) = steps(kernel, ranks, Payload::Lengths, 1);
            let (many, _, sent_many) = steps(kernel, ranks, Payload::Lengths, 4);
            assert_eq!(sent_many - sent_few, many.bytes - few.bytes, "{} on {ranks}", kernel.card.name);
        }
    }
}

#[test]
fn lengths_alone_are_never_called_checked() {
    for kernel in KERNELS.iter().filter(|k| sends_what_it_declares(k)) {
        let (_, verdicts, _) = steps(kernel, 3, Payload::Lengths, 1);
        let all = verdicts.into_iter().reduce(Verdict::and).unwrap();
        let says = matches!(all, Verdict::Unchecked { .. } | Verdict::Right { checked: 0 });
        assert!(says, "{}: {all:?}", kernel.card.name);
    }
}
