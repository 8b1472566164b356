//! What nodes count: their NICs, the last hop to them, and the switch they are at.

mod common;

use comm::{Access, Buffer, Comm, Data, Window};
use common::{machine, recv, run, send};
use spec::Time;
use std::sync::Mutex;

const BYTES: usize = 1 << 16;

fn counter(comm: &dyn Comm, name: &str) -> u64 {
    comm.counters().iter().find(|c| c.0 == name).unwrap_or_else(|| panic!("no {name} in {:?}", comm.counters())).1
}

/// A counter on every node, once all that was sent has come.
fn counted(file: &str, name: &str, body: impl Fn(&dyn Comm) + Sync) -> Vec<u64> {
    let found = Mutex::new(Vec::new());
    let m = machine(file);
    run(&m, |comm| {
        body(comm);
        comm.pause(Time::from_us(10_000));
        let value = counter(comm, name);
        found.lock().unwrap().push((comm.rank(), value));
    });
    let mut all = found.into_inner().unwrap();
    all.sort_unstable();
    all.into_iter().map(|(_, value)| value).collect()
}

/// Everyone sends to rank 0.
fn incast(comm: &dyn Comm) {
    if comm.rank() == 0 {
        let mut all: Vec<_> = (1..comm.size()).map(|from| recv(from, 1, BYTES)).collect();
        comm.exchange(&mut all);
    } else {
        comm.exchange(&mut [send(0, 1, BYTES)]);
    }
}

#[test]
fn what_is_sent_is_received() {
    let file = "nodes = 8\nranks_per_node = 1\n";
    let [sent, received] = ["nic0.tx_bytes", "nic0.rx_bytes"].map(|name| counted(file, name, incast));
    assert_eq!(sent.iter().sum::<u64>(), received.iter().sum::<u64>(), "{sent:?} {received:?}");
    let [out, came] = ["nic0.tx_packets", "nic0.rx_packets"].map(|name| counted(file, name, incast));
    assert_eq!(out.iter().sum::<u64>(), came.iter().sum::<u64>(), "{out:?} {came:?}");
    assert!(received[0] >= 7 * BYTES as u64 && received[1..].iter().all(|b| *b < BYTES as u64), "{received:?}");
}

/// Two switches of four nodes: what crosses is forwarded once, and a crowd on one node of the other switch makes packets wait.
#[test]
fn switches_count_what_they_pass_on_and_where_it_waits() {
    let file = "nodes = 8\nranks_per_node = 1\n[topology]\nkind = \"fat-tree\"\nradix = 8\nlevels = 2\n";
    let (first, second) = (0..4, 4..8);
    let forwarded = counted(file, "switch.forwarded_bytes", incast);
    // Everyone at a switch reads the same switch. The senders at the other one send all of theirs across.
    for leaf in [first, second.clone()] {
        assert!(forwarded[leaf.clone()].iter().all(|b| *b == forwarded[leaf.start]), "{forwarded:?}");
    }
    assert!(forwarded[4] >= 4 * BYTES as u64 && forwarded[0] < BYTES as u64, "{forwarded:?}");
    let quiet = |comm: &dyn Comm| match comm.rank() {
        4 => comm.exchange(&mut [send(0, 1, 8)]),
        0 => comm.exchange(&mut [recv(4, 1, 8)]),
        _ => {}
    };
    let [crowded, alone] = [counted(file, "switch.stalled_ps", incast), counted(file, "switch.stalled_ps", quiet)];
    assert!(crowded[4] > 0 && alone == [0; 8], "{crowded:?} {alone:?}");
}

/// A switch whose only crowd is that before rank 0: its queue empties at the rate of the last cable, so what waits is known.
#[test]
fn what_waits_in_a_switch_is_counted_with_its_time() {
    let file = "nodes = 5\nranks_per_node = 1\n[topology]\nkind = \"single-switch\"\n[nic]\nrate = \"10GB/s\"\nheader = 1\nmtu = 4096\n";
    let senders = |count: usize| {
        move |comm: &dyn Comm| match comm.rank() {
            0 => comm.exchange(&mut (1..=count).map(|from| recv(from, 1, 4096)).collect::<Vec<_>>()),
            rank if rank <= count => comm.exchange(&mut [send(0, 1, 4096)]),
            _ => {}
        }
    };
    let waiting = |count| counted(file, "switch.waiting_byte_ns", senders(count));
    assert_eq!(waiting(1), [0; 5], "one packet waits for nobody");
    // All come at once, one leaves every 409.7 ns. One is under way and one is next, in the output's stage; the others wait for their
    // turn: of three the last for two times of a packet, of four the last two for two and for three.
    let packet = 4097.0 * 409.7;
    for (count, turns) in [(2, 0.0), (3, 2.0), (4, 5.0)] {
        let seen = waiting(count);
        assert!(seen.iter().all(|s| *s == seen[0]), "one switch: {seen:?}");
        assert!((seen[0] as f64 - turns * packet).abs() <= 1.0, "{count}: {seen:?}, {}", turns * packet);
    }
}

/// A get and a put of 4 KiB on a network whose packets have 64 bytes, beside one that knows no trains: what each node sends more.
#[test]
fn trains_are_asked_for_and_answered_packet_by_packet() {
    let plain = "nodes = 2\nranks_per_node = 1\n[nic]\nmtu = 2048\nheader = 20\n";
    let trains = &format!("{plain}unit = 64\nasked_header = 8\nrequest = 18\nanswer = 6\n");
    let more = |access: &(dyn Fn(&dyn Window) + Sync)| {
        let sent = |file| {
            counted(file, "nic0.tx_bytes", |comm| {
                let window = comm.window(4096).expect("a simulated window");
                if comm.rank() == 0 {
                    access(&*window);
                }
            })
        };
        let (before, now) = (sent(plain), sent(trains));
        [now[0] - before[0], now[1] - before[1]]
    };
    let get = more(&|w| w.transfer(&mut [Access::Get { from: 1, at: 0, into: Buffer::Len(4096) }]));
    assert_eq!(get, [64 * 18 - 20, 64 * (64 + 8) - 2 * (2048 + 20)]);
    let put = more(&|w| w.transfer(&mut [Access::Put { to: 1, at: 0, data: Data::Len(4096) }]));
    assert_eq!(put, [64 * (64 + 20) - 2 * (2048 + 20), 64 * 6 - 20]);
}
