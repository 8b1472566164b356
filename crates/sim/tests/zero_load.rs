//! A lone message takes exactly the closed form, to the picosecond, on every topology, path and length.

mod common;

use common::{machine, recv, run, send};
use spec::Time;
use std::sync::Mutex;

/// Sends `bytes` from one rank to another on an idle machine and returns the time of the whole, seen from the receiver.
fn measured(machine: &tailback_sim::Simulator, from: usize, to: usize, bytes: usize) -> Time {
    let time = Mutex::new(Time::ZERO);
    run(machine, |comm| {
        if comm.rank() == from {
            comm.exchange(&mut [send(to, 1, bytes)]);
        } else if comm.rank() == to {
            comm.exchange(&mut [recv(from, 1, bytes)]);
            *time.lock().unwrap() = comm.now();
        }
    });
    time.into_inner().unwrap()
}

const SIZES: [usize; 11] = [0, 1, 8, 4095, 4096, 4097, 8192, 8193, 20_000, 65_536, 1 << 20];

#[test]
fn single_switch() {
    for extra in [
        "",
        "[host]\ncopy_time = \"70ns\"\n",
        "[nic]\nrate = \"3GB/s\"\nmtu = 1000\n",
        "[nic]\npacket_overhead = \"0ns\"\n",
    ] {
        let m = machine(&format!("nodes = 3\n{extra}"));
        for bytes in SIZES {
            assert_eq!(measured(&m, 0, 5, bytes), m.zero_load(0, 5, bytes as u64), "{bytes} bytes, {extra}");
        }
    }
}

#[test]
fn chain_of_switches() {
    for rate in ["12.5GB/s", "25GB/s"] {
        let text = format!("nodes = 8\n[topology]\nkind = \"chain\"\nswitches = 4\nrate = \"{rate}\"\n");
        let m = machine(&text);
        for (from, to) in [(0, 2), (0, 15), (14, 1), (5, 11)] {
            for bytes in SIZES {
                assert_eq!(measured(&m, from, to, bytes), m.zero_load(from, to, bytes as u64), "{from}->{to} {bytes}");
            }
        }
    }
}

#[test]
fn by_hand() {
    // 200 + 200 ns of overheads, 2 x 50 ns of flight, 100 ns of switch, 48 bytes at 80 ps, 2 ns in the receiving NIC.
    let m = machine("nodes = 2\nranks_per_node = 1\n");
    assert_eq!(measured(&m, 0, 1, 8), Time::from_ps(400_000 + 100_000 + 100_000 + 48 * 80 + 2_000));
}

#[test]
fn inside_a_node() {
    let m = machine("nodes = 1\nranks_per_node = 2\n");
    // 200 + 200 ns of overheads, 300 ns of latency, 8 GB/s of copying.
    assert_eq!(measured(&m, 0, 1, 8000), Time::from_ps(400_000 + 300_000 + 1_000_000));
}

#[test]
fn bandwidth_is_the_payload_share_of_the_rate() {
    let m = machine("nodes = 2\nranks_per_node = 1\n[nic]\npacket_overhead = \"0ns\"\n");
    let bytes = 64 << 20;
    let seconds = measured(&m, 0, 1, bytes).secs();
    let expected = 12.5e9 * 4096.0 / 4136.0;
    assert!((bytes as f64 / seconds / expected - 1.0).abs() < 1e-3);
}
