//! A rank's clock may run ahead of the event loop; what it does then must act at its clock.

mod common;

use comm::Op;
use common::{machine, recv, run, send};
use spec::Time;
use std::sync::Mutex;

const LATE: Time = Time::from_us(1000);

/// When rank 0's send of `bytes` is over if rank 1 posts its receive late.
fn send_ends(bytes: usize) -> Time {
    let m = machine("nodes = 2\nranks_per_node = 1\n[protocol]\neager = \"8KiB\"\n");
    let end = Mutex::new(Time::ZERO);
    run(&m, |comm| {
        if comm.rank() == 0 {
            comm.exchange(&mut [send(1, 1, bytes)]);
            *end.lock().unwrap() = comm.now();
        } else {
            comm.pause(LATE);
            comm.exchange(&mut [recv(0, 1, bytes)]);
            assert!(comm.now() >= LATE);
        }
    });
    end.into_inner().unwrap()
}

#[test]
fn a_long_message_waits_for_a_receive_posted_after_a_pause() {
    let end = send_ends(1 << 16);
    assert!(end > LATE, "the send was over at {end}, before its receive was posted");
    assert!(send_ends(8) < LATE, "a short message waits for nobody");
}

#[test]
fn counters_are_read_at_the_clock_of_the_rank() {
    let bytes = 1 << 16;
    let m = machine("nodes = 2\nranks_per_node = 1\n[protocol]\neager = \"1MiB\"\n");
    run(&m, |comm| {
        let op: Op<'_> = if comm.rank() == 0 { send(1, 1, bytes) } else { recv(0, 1, bytes) };
        let pending = comm.begin(vec![op]);
        comm.pause(LATE);
        let sent = comm.counters().iter().find(|c| c.0 == "nic0.tx_bytes").map_or(0, |c| c.1);
        assert_eq!(sent >= bytes as u64, comm.rank() == 0, "rank {} has sent {sent} bytes", comm.rank());
        pending.wait();
    });
}
