//! A rank's clock may run ahead of the event loop; what it does then must act at its clock.

mod common;

use comm::{Op, overlap};
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
        overlap(comm, |pending| {
            pending.start(vec![op]);
            comm.pause(LATE);
            let sent = comm.counters().iter().find(|c| c.0 == "nic0.tx_bytes").map_or(0, |c| c.1);
            assert_eq!(sent >= bytes as u64, comm.rank() == 0, "rank {} has sent {sent} bytes", comm.rank());
        });
    });
}

/// The overheads of the machines below; another sum of the same parts must not change what an exchange takes.
const OVERHEADS: [(u64, u64); 6] = [(250, 250), (249, 251), (251, 249), (1, 499), (499, 1), (0, 500)];

fn two_nodes(send: u64, recv: u64) -> tailback_sim::Simulator {
    let costs = format!("send_overhead = \"{send}ns\"\nrecv_overhead = \"{recv}ns\"");
    machine(&format!("nodes = 2\nranks_per_node = 1\n[host]\n{costs}\n"))
}

#[test]
fn an_exchange_takes_as_long_as_a_message() {
    const STEPS: u64 = 10;
    for (out, back) in OVERHEADS {
        let m = two_nodes(out, back);
        run(&m, |comm| {
            let other = 1 - comm.rank();
            for step in 1..=STEPS {
                comm.exchange(&mut [recv(other, 1, 8), send(other, 1, 8)]);
                assert_eq!(comm.now().ps(), step * m.zero_load(0, 1, 8).ps(), "{out} and {back} ns, step {step}");
            }
        });
    }
}

#[test]
fn a_message_that_is_there_holds_up_no_send() {
    for (out, back) in OVERHEADS {
        let m = two_nodes(out, back);
        run(&m, |comm| {
            if comm.rank() == 0 {
                comm.exchange(&mut [send(1, 1, 8), recv(1, 1, 8)]);
                assert_eq!(comm.now(), LATE + m.zero_load(1, 0, 8));
            } else {
                comm.pause(LATE);
                comm.exchange(&mut [recv(0, 1, 8), send(0, 1, 8)]);
                // A send is over when its 48 bytes have left the NIC at 80 ps each.
                let (paid, gone) = (Time::from_ns(out + back), Time::from_ns(out) + Time::from_ps(48 * 80));
                assert_eq!(comm.now(), LATE + paid.max(gone), "the rank pays for both");
            }
        });
    }
}

/// When rank 1's receive is over if its message comes before it is posted (`early`), or while the rank does something else.
fn receive_ends(early: bool, look: bool) -> Time {
    let (m, end) = (two_nodes(250, 300), Mutex::new(Time::ZERO));
    run(&m, |comm| {
        if comm.rank() == 0 {
            comm.exchange(&mut [send(1, 1, 8)]);
            return;
        }
        comm.pause(if early { LATE } else { Time::ZERO });
        overlap(comm, |pending| {
            let receive = pending.start(vec![recv(0, 1, 8)]);
            comm.pause(if early { Time::ZERO } else { LATE });
            if look {
                assert!(pending.test(receive), "the message is there");
            }
        });
        *end.lock().unwrap() = comm.now();
    });
    end.into_inner().unwrap()
}

#[test]
fn a_receive_is_paid_for_once_whenever_its_message_came() {
    for early in [true, false] {
        assert_eq!(receive_ends(early, false), LATE + Time::from_ns(300), "early: {early}");
        // A look costs 50 ns.
        assert_eq!(receive_ends(early, true), LATE + Time::from_ns(350), "early: {early}");
    }
}
