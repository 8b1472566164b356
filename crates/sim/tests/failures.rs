//! What goes wrong ends the run with a reason, never with a hang or an abort.

mod common;

use comm::Op;
use common::{failure, machine, recv, run, send};

#[test]
fn a_deadlock_says_who_waits_for_whom() {
    let m = machine("nodes = 2\n");
    let error = failure(&m, |comm| {
        let from = (comm.rank() + 1) % comm.size();
        comm.exchange(&mut [recv(from, 7, 64)]);
    });
    let lines: Vec<&str> = error.0.lines().collect();
    assert_eq!(lines[0], "deadlock: nothing is left to happen and 4 of 4 ranks still wait");
    assert_eq!(lines[4], "  rank 3 waits for a message of 64 bytes from rank 0 with tag 7");
}

#[test]
fn a_deadlock_of_many_is_counted() {
    let m = machine("nodes = 20\n");
    let error = failure(&m, |comm| {
        if comm.rank() > 0 {
            comm.barrier();
        }
    });
    assert!(error.0.contains("rank 1 waits for") && error.0.ends_with("more"), "{error}");
    assert_eq!(error.0.lines().count(), 12);
}

#[test]
fn a_long_send_that_nobody_receives_is_named() {
    let m = machine("nodes = 2\nranks_per_node = 1\n");
    let error = failure(&m, |comm| {
        if comm.rank() == 0 {
            comm.exchange(&mut [send(1, 3, 1 << 20)]);
        }
    });
    assert!(error.0.contains("rank 0 waits for its send of 1048576 bytes to rank 1 with tag 3"), "{error}");
}

#[test]
fn a_split_that_somebody_misses() {
    let m = machine("nodes = 2\nranks_per_node = 1\n");
    let error = failure(&m, |comm| {
        if comm.rank() == 0 {
            comm.split(Some(1), 0);
        }
    });
    assert!(error.0.contains("rank 0 waits for a split or a sum"), "{error}");
}

#[test]
fn a_panic_names_its_rank_and_the_rest_is_unwound() {
    for text in ["nodes = 3\n", "nodes = 4\nthreads = 2\nthreads_from = 0\n[topology]\nkind = \"chain\"\n"] {
        let m = machine(text);
        let error = failure(&m, |comm| {
            comm::overlap(comm, |pending| {
                pending.start(vec![recv(0, 1, 8)]);
                if comm.rank() == 2 {
                    panic!("rank two is out of sorts");
                }
            });
        });
        assert!(error.0.ends_with("rank 2: rank two is out of sorts"), "{error}");
        // The machine is good for another run.
        run(&m, |comm| comm.barrier());
    }
}

#[test]
fn lengths_that_differ_are_named() {
    let m = machine("nodes = 2\nranks_per_node = 1\n");
    for (sent, expected) in [(8, 16), (1 << 20, 8)] {
        let error = failure(&m, |comm| match comm.rank() {
            0 => comm.exchange(&mut [send(1, 3, sent)]),
            _ => comm.exchange(&mut [recv(0, 3, expected)]),
        });
        assert!(error.0.contains(&format!("rank 1 receives {expected} bytes from rank 0 with tag 3")), "{error}");
    }
}

#[test]
fn accesses_outside_a_window_are_named() {
    let m = machine("nodes = 2\nranks_per_node = 1\n");
    let error = failure(&m, |comm| {
        let window = comm.window(64).unwrap();
        window.read(60, &mut [0; 8]);
    });
    assert!(error.0.contains("read of 8 bytes at 60 is outside the window of 64 bytes"), "{error}");
}

#[test]
fn some_may_return_early() {
    let m = machine("nodes = 2\n");
    run(&m, |comm| {
        if comm.rank() < 2 {
            let other = 1 - comm.rank();
            let (mut mine, mut theirs) = ([0; 1], [0; 1]);
            mine[0] = comm.rank() as u8;
            comm.exchange(&mut [Op::send(other, 0, &mine), Op::recv(other, 0, &mut theirs)]);
            assert_eq!(theirs[0] as usize, other);
        }
    });
}
