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
        "[protocol]\nshort = 8\nmedium_time = \"3us\"\nlong_time = \"7us\"\n",
        "[protocol]\nshort = 8\nshort_rate = \"1GB/s\"\nmedium_rate = \"20GB/s\"\nlong_rate = \"5GB/s\"\n",
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

#[test]
fn a_burst_leaves_ahead_of_the_rate_and_no_more() {
    // 1 GB/s in the long run, 10 GB/s until 1 MB is sent ahead of that.
    let of = |bytes: usize| {
        let nic = "rate = \"1GB/s\"\nburst = 1000000\nburst_rate = \"10GB/s\"\npacket_overhead = \"0ns\"\nheader = 1\n";
        measured(&machine(&format!("nodes = 2\nranks_per_node = 1\n[nic]\n{nic}")), 0, 1, bytes).secs()
    };
    // While it lasts, 100 kB take 10 us; in the long run each further MB takes 1 ms, and 1 MB was ahead.
    let (short, longer) = (of(200_000) - of(100_000), of(20_000_000) - of(10_000_000));
    assert!((short / 10e-6 - 1.0).abs() < 0.02, "{short}");
    assert!((longer / 10e-3 - 1.0).abs() < 0.02, "{longer}");
    let ahead = 10e-3 - of(10_000_000);
    assert!((ahead / 1e-3 - 1.0).abs() < 0.02, "{ahead}");
}

/// Ranks of one node send so many bytes each to the same of another; bytes per second from the first to the last length.
fn together(ranks: usize, protocol: &str) -> f64 {
    let text = format!(
        "nodes = 2\nranks_per_node = {ranks}\n[nic]\nrate = \"8GB/s\"\npacket_overhead = \"0ns\"\n[protocol]\n{protocol}"
    );
    let seconds = |bytes: usize| {
        let (m, last) = (machine(&text), Mutex::new(0.0_f64));
        run(&m, |comm| {
            let me = comm.rank();
            match me < ranks {
                true => comm.exchange(&mut [send(me + ranks, 1, bytes)]),
                false => comm.exchange(&mut [recv(me - ranks, 1, bytes)]),
            }
            let mut last = last.lock().unwrap();
            *last = last.max(comm.now().secs());
        });
        last.into_inner().unwrap()
    };
    let (short, long) = (1 << 20, 4 << 20);
    ((long - short) * ranks) as f64 / (seconds(long) - seconds(short))
}

#[test]
fn ranks_move_what_max_rate_says() {
    // R_b = 3 GB/s, R_i = 1 GB/s, R_N = 8 GB/s, of which headers take a hundredth.
    for (ranks, gbs) in [(1, 3.0), (2, 4.0), (3, 5.0), (5, 7.0), (8, 8.0 * 4096.0 / 4136.0)] {
        let rate = together(ranks, "long_rate = \"3GB/s\"\nlong_more = \"1GB/s\"\n");
        assert!((rate / (gbs * 1e9) - 1.0).abs() < 0.01, "{ranks} ranks: {rate:e}");
    }
    // As much again with each rank, if nothing is said of further ones; and nothing for messages of another way.
    let rate = together(2, "long_rate = \"3GB/s\"\n");
    assert!((rate / 6e9 - 1.0).abs() < 0.01, "{rate:e}");
    let rate = together(1, "medium_rate = \"3GB/s\"\n");
    assert!((rate / 7.9e9 - 1.0).abs() < 0.01, "{rate:e}");
}

#[test]
fn messages_of_one_packet_share_what_ranks_move() {
    // Four ranks at 1 GB/s together: 1000 bytes of each take 4 us, and not 1, 2, 3 and 4.
    let of = |ranks: usize, more: &str| {
        let protocol = format!("[protocol]\nmedium_rate = \"1GB/s\"\nmedium_more = \"{more}\"\n");
        let text = format!("nodes = 2\nranks_per_node = {ranks}\n{protocol}");
        let (m, first) = (machine(&text), Mutex::new(f64::MAX));
        run(&m, |comm| {
            let me = comm.rank();
            match me < ranks {
                true => comm.exchange(&mut [send(me + ranks, 1, 1000)]),
                false => {
                    comm.exchange(&mut [recv(me - ranks, 1, 1000)]);
                    let mut first = first.lock().unwrap();
                    *first = first.min(comm.now().secs());
                }
            }
        });
        first.into_inner().unwrap()
    };
    let alone = of(1, "1GB/s");
    assert!((of(4, "1GB/s") - alone).abs() < 1e-9);
    let shared = of(4, "1B/s") - alone;
    assert!((shared / 3e-6 - 1.0).abs() < 1e-3, "{shared}");
}

/// Every rank of one node sends to the same of the other; when the last receive is over.
fn all_at_once(ranks: usize, host: &str) -> f64 {
    let last = Mutex::new(0.0_f64);
    let m = machine(&format!("nodes = 2\nranks_per_node = {ranks}\n[host]\nsend_overhead = \"5us\"\n{host}"));
    run(&m, |comm| {
        let me = comm.rank();
        if me < ranks {
            comm.exchange(&mut [send(me + ranks, 1, 8)]);
        } else {
            comm.exchange(&mut [recv(me - ranks, 1, 8)]);
            let now = comm.now().secs();
            let mut last = last.lock().unwrap();
            *last = last.max(now);
        }
    });
    last.into_inner().unwrap()
}

#[test]
fn ranks_that_share_a_core_wait_for_it() {
    let alone = all_at_once(4, "");
    // Four sends on two cores take twice as long; receives are far apart then.
    let more = all_at_once(4, "cores = 2\n") - alone;
    assert!((more / 5e-6 - 1.0).abs() < 0.1, "{more}");
    let one = all_at_once(4, "cores = 1\n") - alone;
    assert!((one / 15e-6 - 1.0).abs() < 0.1, "{one}");
    assert_eq!(all_at_once(4, "cores = 4\n"), alone);
    // Eight ranks of two nodes on one core: receives of the first wait for sends of the last.
    let all = all_at_once(4, "cores = 1\ncores_of = \"machine\"\n");
    assert!(all > alone + one, "{all} {alone} {one}");
}

#[test]
fn two_directions_share_what_they_have_together() {
    // One way 10 GB/s, both together 12: each has 6 while both are busy.
    let of = |both: bool| {
        let nic = "rate = \"10GB/s\"\nboth_rate = \"12GB/s\"\npacket_overhead = \"0ns\"\nheader = 1\n";
        let (m, last) = (machine(&format!("nodes = 2\nranks_per_node = 1\n[nic]\n{nic}")), Mutex::new(0.0_f64));
        let bytes = 20_000_000;
        run(&m, |comm| {
            let (me, other) = (comm.rank(), 1 - comm.rank());
            match (both, me) {
                (true, _) => comm.exchange(&mut [recv(other, 1, bytes), send(other, 1, bytes)]),
                (false, 0) => comm.exchange(&mut [send(other, 1, bytes)]),
                (false, _) => comm.exchange(&mut [recv(other, 1, bytes)]),
            }
            let mut last = last.lock().unwrap();
            *last = last.max(comm.now().secs());
        });
        bytes as f64 / last.into_inner().unwrap()
    };
    assert!((of(false) / 10e9 - 1.0).abs() < 0.02, "{}", of(false));
    assert!((of(true) / 6e9 - 1.0).abs() < 0.05, "{}", of(true));
}
