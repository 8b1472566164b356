//! The network against what is known of queues and switches.

mod common;

use comm::{Comm, Op};
use common::{machine, recv, run, send};
use spec::{Rng, Time, Work};
use std::sync::Mutex;

/// Hosts and NICs that cost nothing but the serialisation of packets of 4096 bytes on the wire; a flop is a picosecond.
const IDEAL: &str = "[host]\nsend_overhead = \"0ns\"\nrecv_overhead = \"0ns\"\nflops = 1e12\n\
    [nic]\npacket_overhead = \"0ns\"\nmessage_rate = 1e12\nmtu = 4056\nheader = 40\n";
const PAYLOAD: usize = 4056;
/// Serialisation of one such packet at 12.5 GB/s.
const SERVICE: f64 = 4096.0 / 12.5e9;

/// Sends packets to `to(n)` one after the other until `end`, and returns how many.
fn blast(comm: &dyn Comm, end: Time, mut to: impl FnMut(u64) -> usize) -> u64 {
    let mut n = 0;
    while comm.now() < end {
        comm.exchange(&mut [send(to(n), 1, PAYLOAD)]);
        n += 1;
    }
    n
}

/// The share of the link rate that each rank got; ranks with no destination send nothing.
fn shares(text: &str, end: Time, to: impl Fn(usize) -> Option<usize> + Sync) -> Vec<f64> {
    let m = machine(text);
    let counts = Mutex::new(vec![0; m.config().ranks()]);
    run(&m, |comm| {
        if let Some(to) = to(comm.rank()) {
            let n = blast(comm, end, |_| to);
            counts.lock().unwrap()[comm.rank()] = n;
        }
    });
    counts.into_inner().unwrap().iter().map(|&n| n as f64 * SERVICE / end.secs()).collect()
}

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() < tolerance, "{value} is not near {expected}");
}

#[test]
fn a_saturated_switch_shares_its_outputs_fairly() {
    // Four flows to one output, two to another, one alone.
    let text = format!("nodes = 10\nranks_per_node = 1\n{IDEAL}");
    let to = [Some(7), Some(7), Some(7), Some(7), Some(8), Some(8), Some(9), None, None, None];
    let got = shares(&text, Time::from_us(3000), |rank| to[rank]);
    for (rank, expected) in [0.25, 0.25, 0.25, 0.25, 0.5, 0.5, 1.0].into_iter().enumerate() {
        // Sixteen packets of buffer are filled at the start.
        near(got[rank], expected, 0.01);
    }
}

#[test]
fn an_incast_of_n_gives_each_the_nth() {
    let (n, bytes) = (16, 1 << 20);
    let m = machine(&format!("nodes = {}\nranks_per_node = 1\n{IDEAL}", n + 1));
    let ends = Mutex::new(Vec::new());
    run(&m, |comm| match comm.rank() {
        0 => comm.exchange(&mut (1..=n).map(|r| recv(r, 1, bytes)).collect::<Vec<_>>()),
        _ => {
            comm.exchange(&mut [send(0, 1, bytes)]);
            ends.lock().unwrap().push(comm.now().secs());
        }
    });
    let drain = (n * bytes) as f64 / PAYLOAD as f64 * SERVICE;
    // A send ends when its last packet has left: the sixteen packets that a buffer holds are still to be drained.
    let buffered = (n * 16) as f64 * SERVICE;
    for end in ends.into_inner().unwrap() {
        near(end, drain - buffered, 0.02);
    }
    near(m.stats().end_ps as f64 * 1e-12, drain, 0.01);
}

/// When an incast of 16 messages is over, and the most that waited for the receiver's cable, both in messages.
fn asked_incast(protocol: &str, limit: &str) -> (f64, f64) {
    let n = 16;
    let text = format!("nodes = 17\nranks_per_node = 1\n[protocol]\neager = 0\n{protocol}\n{IDEAL}{limit}\n");
    let m = machine(&text);
    run(&m, |comm| match comm.rank() {
        0 => comm.exchange(&mut (1..=n).map(|r| recv(r, 1, PAYLOAD)).collect::<Vec<_>>()),
        _ => comm.exchange(&mut [send(0, 1, PAYLOAD)]),
    });
    (m.stats().end_ps as f64 * 1e-12 / SERVICE, m.stats().peak_queue_bytes as f64 / 4096.0)
}

#[test]
fn a_receiver_that_fetches_is_not_crowded() {
    let (pushed, crowd) = asked_incast("", "outstanding = 4");
    assert!(crowd > 10.0, "{crowd} of 16 messages wait for the receiver's cable");
    for (protocol, outstanding) in
        ["long = \"fetched\"", "copied = 8192"].into_iter().flat_map(|p| [2, 4, 8].map(|n| (p, n)))
    {
        let (fetched, waiting) = asked_incast(protocol, &format!("outstanding = {outstanding}"));
        assert!(waiting < outstanding as f64, "{waiting} wait with {outstanding} under way");
        let by_bytes = asked_incast(protocol, &format!("window = {}", outstanding * PAYLOAD));
        assert_eq!((fetched, waiting), by_bytes, "{protocol}, {outstanding} messages and so many bytes");
        // One after the other, the cable may have to wait for the next; with several under way it need not.
        assert!(fetched < pushed * if outstanding < 4 { 2.0 } else { 1.15 }, "{fetched} {pushed}");
    }
}

#[test]
fn a_sender_of_copies_goes_on_until_it_holds_as_many_as_it_may() {
    let (ahead, late) = (3, Time::from_us(100));
    let text = format!(
        "nodes = 2\nranks_per_node = 1\n[host]\nsend_overhead = \"1us\"\nrecv_overhead = \"0s\"\ncopy_time = \"250ns\"\n\
         [protocol]\neager = 8\ncopied = 4096\nahead = {ahead}\n"
    );
    let (m, sent) = (machine(&text), Mutex::new(Vec::new()));
    run(&m, |comm| match comm.rank() {
        0 => {
            for tag in 0..5 {
                comm.exchange(&mut [send(1, tag, 4096)]);
                sent.lock().unwrap().push(comm.now());
            }
            // Longer than what is copied: waits for its receive, though nothing is held any more.
            comm.exchange(&mut [send(1, 5, 4097)]);
            sent.lock().unwrap().push(comm.now());
        }
        _ => {
            comm.pause(late);
            (0..5).for_each(|tag| comm.exchange(&mut [recv(0, tag, 4096)]));
            comm.pause(late);
            comm.exchange(&mut [recv(0, 5, 4097)]);
        }
    });
    let sent = sent.into_inner().unwrap();
    // An overhead and four times 250 ns of copying each.
    assert_eq!(sent[..ahead], [2, 4, 6].map(Time::from_us));
    assert!(sent[ahead] > late && sent[4] < late + Time::from_us(20), "{sent:?}");
    assert!(sent[5] > late + late, "{sent:?}");
}

#[test]
fn the_parking_lot_halves_at_every_switch() {
    let text = format!("nodes = 8\nranks_per_node = 1\n[topology]\nkind = \"chain\"\nswitches = 4\n{IDEAL}");
    // Two nodes per switch; the first of each sends to the last node of the last switch.
    let got = shares(&text, Time::from_us(8000), |rank| rank.is_multiple_of(2).then_some(7));
    for (rank, expected) in [(6, 0.5), (4, 0.25), (2, 0.125), (0, 0.125)] {
        near(got[rank], expected, 0.02);
    }
}

const VOQ: &str = "queueing = \"voq\"";
const FIFO: &str = "queueing = \"fifo\"";

/// The throughput per port of a switch whose ports all send to random others.
fn uniform(switch: &str) -> f64 {
    let nodes = 32;
    let text = format!("nodes = {nodes}\nranks_per_node = 1\n[switch]\n{switch}\nbuffer = \"128KiB\"\n{IDEAL}");
    let m = machine(&text);
    let (total, end) = (Mutex::new(0), Time::from_us(1500));
    run(&m, |comm| {
        let (me, mut rng) = (comm.rank(), Rng::new(5, "uniform", comm.rank() as u64));
        let n = blast(comm, end, |_| (me + 1 + rng.below(nodes - 1) as usize) % nodes as usize);
        *total.lock().unwrap() += n;
    });
    // What still stands in the buffers at the end was sent but not yet carried.
    let inside = nodes as f64 * 32.0;
    (total.into_inner().unwrap() as f64 - inside) * SERVICE / end.secs() / nodes as f64
}

#[test]
fn input_fifos_saturate_at_two_minus_root_two() {
    // Karol, Hluchyj, Morgan 1987: 0.586 for many ports, a little more for 32.
    let got = uniform(FIFO);
    assert!((0.575..0.615).contains(&got), "{got}");
}

#[test]
fn queues_by_columns_saturate_in_between() {
    // As with FIFOs, but c times as many queues ask for an output: rho + rho^2 / 2(1 - rho) = c, so rho = 1 + c - sqrt(1 + c^2).
    for columns in [2u32, 4, 8] {
        let c = f64::from(columns);
        let bound = 1.0 + c - (1.0 + c * c).sqrt();
        let got = uniform(&format!("queueing = \"columns\"\ncolumns = {columns}"));
        // Less, because the buffer that the columns of an input share is at times full of packets for one of them.
        assert!((bound - 0.06..bound + 0.02).contains(&got), "{columns} columns: {got}, bound {bound}");
    }
}

/// When a short message comes to `to` that a node sends after four packets for a crowded one (node 4).
fn behind_a_crowd(switch: &str, to: usize) -> f64 {
    let m = machine(&format!("nodes = 12\nranks_per_node = 1\n[switch]\n{switch}\n{IDEAL}"));
    let came = Mutex::new(0.0);
    run(&m, |comm| match comm.rank() {
        0 => {
            // The crowd is there first.
            comm.charge(Work::flops((8.0 * SERVICE * 1e12) as u64));
            for _ in 0..4 {
                comm.exchange(&mut [send(4, 1, PAYLOAD)]);
            }
            comm.exchange(&mut [send(to, 2, 8)]);
        }
        1..=3 => (0..8).for_each(|_| comm.exchange(&mut [send(4, 1, PAYLOAD)])),
        me if me == to => {
            comm.exchange(&mut [recv(0, 2, 8)]);
            *came.lock().unwrap() = comm.now().secs() / SERVICE;
        }
        _ => {}
    });
    came.into_inner().unwrap()
}

#[test]
fn a_crowded_output_holds_up_what_leaves_by_its_column() {
    // Nodes are attached in order, so node 8 is in the column of node 4 if there are four, and node 5 is not.
    let columns = "queueing = \"columns\"\ncolumns = 4";
    let (free, held) = (behind_a_crowd(VOQ, 8), behind_a_crowd(FIFO, 8));
    assert!(held > free + 5.0, "{held} {free}");
    assert_eq!((behind_a_crowd(columns, 8), behind_a_crowd(columns, 5)), (held, free));
    assert_eq!((behind_a_crowd(VOQ, 5), behind_a_crowd(FIFO, 5)), (free, held));
}

/// When a message of two packets, which node 8 fetches, comes from a node whose input is full of packets for a crowded one.
fn fetched_behind_a_crowd(apart: &str) -> f64 {
    let m = machine(&format!(
        "nodes = 12\nranks_per_node = 1\n[switch]\n{FIFO}\napart = \"{apart}\"\n[protocol]\neager = {PAYLOAD}\nlong = \"fetched\"\n{IDEAL}"
    ));
    let came = Mutex::new(0.0);
    run(&m, |comm| match comm.rank() {
        0 => {
            comm.charge(Work::flops((8.0 * SERVICE * 1e12) as u64));
            // Asks first, so that only what is fetched finds the crowd.
            let crowd = (0..4).map(|_| send(4, 1, PAYLOAD));
            comm.exchange(&mut std::iter::once(send(8, 2, 2 * PAYLOAD)).chain(crowd).collect::<Vec<_>>());
        }
        1..=3 => (0..8).for_each(|_| comm.exchange(&mut [send(4, 1, PAYLOAD)])),
        8 => {
            comm.exchange(&mut [recv(0, 2, 2 * PAYLOAD)]);
            *came.lock().unwrap() = comm.now().secs() / SERVICE;
        }
        _ => {}
    });
    came.into_inner().unwrap()
}

#[test]
fn answers_come_past_a_crowd_of_data_if_they_travel_apart() {
    let (held, free) = (fetched_behind_a_crowd("control"), fetched_behind_a_crowd("answers"));
    assert!(held > free + 5.0, "{held} {free}");
}

#[test]
fn virtual_output_queues_do_not() {
    let got = uniform(VOQ);
    assert!(got > 0.9, "{got}");
}

/// Mean wait of packets that arrive at random at one output, in units of the service time.
fn mean_wait(load: f64, packets: u64) -> f64 {
    let senders = 48;
    let m = machine(&format!("nodes = {}\nranks_per_node = {senders}\n{IDEAL}", senders + 1));
    let waits = Mutex::new((0.0, 0u64));
    run(&m, |comm| {
        let (node, slot) = (comm.node(), comm.rank() % senders);
        let mut time = [0u8; PAYLOAD];
        if node > 0 && slot == 0 {
            let mut rng = Rng::new(11, "arrivals", node as u64);
            let mut due = 0.0;
            for _ in 0..packets {
                due += rng.exponential() * SERVICE * 1e12 * senders as f64 / load;
                let gap = (due as u64).saturating_sub(comm.now().ps());
                comm.charge(Work::flops(gap));
                time[..8].copy_from_slice(&(due as u64).to_le_bytes());
                comm.exchange(&mut [Op::send(node - 1, 1, &time)]);
            }
        } else if node == 0 {
            let from = (slot + 1) * senders;
            let alone = m.zero_load(from, slot, PAYLOAD as u64).ps();
            let mut sum = 0.0;
            for _ in 0..packets {
                comm.exchange(&mut [Op::recv(from, 1, &mut time)]);
                let due = u64::from_le_bytes(time[..8].try_into().unwrap());
                sum += (comm.now().ps() - due - alone) as f64;
            }
            let mut waits = waits.lock().unwrap();
            *waits = (waits.0 + sum, waits.1 + packets);
        }
    });
    let (sum, n) = waits.into_inner().unwrap();
    sum / n as f64 * 1e-12 / SERVICE
}

#[test]
fn a_queue_with_random_arrivals_is_m_d_1() {
    for (load, packets, tolerance) in [(0.5, 1500, 0.03), (0.8, 3000, 0.05)] {
        near(mean_wait(load, packets), load / (2.0 * (1.0 - load)), tolerance);
    }
}

/// Two switches 2 us apart: when a stream of 100 packets across is over, and how long 8 bytes there and back take meanwhile between two
/// other nodes. They travel in a class of their own if `small` is 8.
fn across(buffer: &str, small: usize, nic: &str) -> (f64, f64) {
    let text = format!(
        "nodes = 4\nranks_per_node = 1\n[switch]\n{buffer}\n[protocol]\nsmall = {small}\neager = \"1MiB\"\n\
         [topology]\nkind = \"chain\"\nswitches = 2\nlatency = \"2us\"\n{IDEAL}{nic}\n"
    );
    let (m, times) = (machine(&text), Mutex::new((0.0, 0.0)));
    let rounds = 5;
    run(&m, |comm| match comm.rank() {
        0 => comm.exchange(&mut [send(2, 1, 100 * PAYLOAD)]),
        2 => {
            comm.exchange(&mut [recv(0, 1, 100 * PAYLOAD)]);
            times.lock().unwrap().0 = comm.now().secs();
        }
        me => {
            // Until the stream has filled what it can.
            comm.pause(Time::from_us(20));
            let peer = 4 - me;
            for _ in 0..rounds {
                if me == 1 {
                    comm.exchange(&mut [send(peer, 1, 8)]);
                }
                comm.exchange(&mut [recv(peer, 1, 8)]);
                if me == 3 {
                    comm.exchange(&mut [send(peer, 1, 8)]);
                }
            }
            times.lock().unwrap().1 = (comm.now().secs() - 20e-6) / f64::from(rounds);
        }
    });
    times.into_inner().unwrap()
}

const SHARED: &str = "buffer = \"12KiB\"\nshared = \"12KiB\"";

#[test]
fn what_channels_share_is_as_good_as_their_own() {
    // What is under way on a long cable, with the way back of its credits, is the buffer behind it.
    let [small, whole, shared] = ["buffer = \"12KiB\"", "buffer = \"24KiB\"", SHARED].map(|b| across(b, 0, "").0);
    assert_eq!(shared, whole, "nobody else wants it");
    near(small / whole, 2.0, 0.05);
}

#[test]
fn who_fills_what_is_shared_leaves_the_others_their_own() {
    // A stream that waits for a slow last hop fills all that it may.
    let slow = "eject_rate = \"1GB/s\"";
    let (_, quiet) = across(SHARED, 8, "");
    let (_, apart) = across(SHARED, 8, slow);
    let (_, behind) = across(SHARED, 0, slow);
    assert!(apart < quiet + 2.0 * SERVICE, "{apart} beside a full buffer, {quiet} beside one that drains");
    assert!(behind > quiet + 10.0 * SERVICE, "{behind} in one class with what waits");
}
