//! One machine, one body, one result: whatever keeps the events, however many threads take part, and into however many parts the
//! network is divided for them.

mod common;

use comm::{Access, Comm, Data, Op, Reduce, agree, overlap};
use common::{machine, recv, run, send};
use spec::Rng;
use tailback_sim::{PortCounters, Stats};

/// A little of everything, random but the same everywhere.
fn mixture(comm: &dyn Comm) {
    let (me, size) = (comm.rank(), comm.size());
    for round in 0..6 {
        let shift = 1 + Rng::new(3, "mixture", round).below(size as u64 - 1) as usize;
        let bytes = [8, 3000, 20_000][round as usize % 3];
        let ops = vec![recv((me + size - shift) % size, 1, bytes), send((me + shift) % size, 1, bytes)];
        overlap(comm, |pending| {
            pending.start(ops);
            comm.charge(spec::Work::flops(me as u64 * 100));
        });
    }
    let sum = comm.start_sum(me as f64);
    // An incast.
    if me > 0 {
        comm.exchange(&mut [send(0, 2, 6000)]);
    } else {
        comm.exchange(&mut (1..size).map(|r| recv(r, 2, 6000)).collect::<Vec<_>>());
    }
    assert_eq!(sum.wait(), (size * (size - 1) / 2) as f64);
    let part = comm.split(Some((me % 3) as u32), me as u32).unwrap();
    let mut mine = [me as u8; 4];
    let mut theirs = [0; 4];
    let next = (part.rank() + 1) % part.size();
    let before = (part.rank() + part.size() - 1) % part.size();
    part.exchange(&mut [Op::send(next, 0, &mine), Op::recv(before, 0, &mut theirs)]);
    mine = theirs;
    let window = part.window(64).unwrap();
    window.transfer(&mut [Access::Put { to: next, at: 8, data: Data::Bytes(&mine) }]);
    assert_eq!(agree(comm, 1.0, Reduce::Sum), size as f64);
}

/// What a run did, in all and at every port.
fn stats(text: &str) -> (Stats, Vec<PortCounters>) {
    let m = machine(text);
    run(&m, mixture);
    (Stats { threads: 0, parts: 0, ..m.stats() }, m.ports())
}

/// How many parts a machine has on so many threads.
fn parts(threads: usize, text: &str) -> usize {
    let m = machine(&format!("threads = {threads}\nthreads_from = 0\n{text}"));
    run(&m, |_| ());
    m.stats().parts
}

const CHAIN: &str = "nodes = 12\nranks_per_node = 2\n[topology]\nkind = \"chain\"\nswitches = 5\n";

/// Ranks move what they send, each length its own way.
const MOVED: &str = "[protocol]\nshort = 1024\nmedium_time = \"1us\"\nlong_time = \"2us\"\nshort_rate = \"1GB/s\"\n\
    long_rate = \"3GB/s\"\nlong_more = \"1GB/s\"\n";

/// Small packets in trains; what is long is fetched.
const TRAINS: &str = "[nic]\nmtu = 512\nheader = 20\nunit = 64\nasked_header = 8\nrequest = 18\nanswer = 6\n\
    [protocol]\neager = 1024\nlong = \"fetched\"\n";

#[test]
fn heap_and_calendar() {
    for layout in ["nodes = 9\n", CHAIN] {
        let heap = stats(&format!("threads = 1\nevent_queue = \"heap\"\n{layout}"));
        assert_eq!(heap, stats(&format!("threads = 1\nevent_queue = \"calendar\"\n{layout}")));
    }
}

#[test]
fn one_thread_and_several() {
    let tree = "nodes = 32\n[topology]\nkind = \"fat-tree\"\nradix = 8\n";
    let dragonfly = "nodes = 36\n[topology]\nkind = \"dragonfly\"\nswitches = 4\nendpoints = 2\nglobal = 2\n";
    let tight = "[switch]\nbuffer = \"8400B\"\n";
    let mut machines = vec![
        CHAIN.to_string(),
        format!("{CHAIN}{tight}"),
        format!("{CHAIN}{tight}queueing = \"fifo\"\n"),
        format!("{dragonfly}{tight}queueing = \"columns\"\ncolumns = 3\n[routing]\nkind = \"ugal\"\n"),
        format!("{dragonfly}{tight}shared = \"6KiB\"\n[routing]\nkind = \"ugal\"\n"),
        format!(
            "{dragonfly}{tight}queueing = \"fifo\"\napart = \"answers\"\n[nic]\nwindow = \"16KiB\"\n[protocol]\neager = \"1KiB\"\n\
             long = \"fetched\"\n[routing]\nkind = \"ugal\"\nby_length = \"false\"\n"
        ),
        format!("{CHAIN}[switch]\nbuffer = \"32KiB\"\nfull = \"drop\"\n[control]\nkind = \"aimd\"\n"),
        format!("{CHAIN}[protocol]\nsmall = \"1KiB\"\neager = \"1KiB\"\n"),
        format!("{CHAIN}[nic]\nper_node = 2\n"),
        format!("{CHAIN}{MOVED}"),
        format!("{tree}{MOVED}[nic]\nmtu = 512\n[control]\nkind = \"slingshot\"\n"),
        format!("{CHAIN}{MOVED}[switch]\nbuffer = \"32KiB\"\nfull = \"drop\"\n[control]\nkind = \"aimd\"\n"),
        format!("{CHAIN}{TRAINS}[switch]\nbuffer = \"32KiB\"\nfull = \"drop\"\n[control]\nkind = \"aimd\"\n"),
        // Nothing takes a time of its own: ranks, messages and answers meet at one moment.
        format!("{tree}[host]\nsend_overhead = \"0ns\"\nrecv_overhead = \"0ns\"\n[nic]\npacket_overhead = \"0ns\"\n"),
        format!("{tree}[[fault]]\nat = \"8us\"\nlink = \"0-8\"\n[routing]\nkind = \"adaptive\"\n"),
    ];
    for routing in ["minimal", "random", "adaptive"] {
        machines.push(format!("{tree}{tight}[routing]\nkind = \"{routing}\"\n"));
    }
    for routing in ["valiant", "ugal"] {
        machines.push(format!("{dragonfly}{tight}[routing]\nkind = \"{routing}\"\n"));
    }
    for control in ["infiniband", "dcqcn", "slingshot"] {
        machines.push(format!("{tree}{tight}[control]\nkind = \"{control}\"\n"));
    }
    for text in &machines {
        assert!(parts(1, text) == 1 && parts(2, text) > 4, "{text}");
        let one = stats(&format!("threads = 1\n{text}"));
        // Asked for ahead of events, on machines that are too small for it otherwise.
        assert_eq!(one, stats(&format!("threads = 1\nask_from = 0\n{text}")), "asking ahead:\n{text}");
        for threads in [2, 3] {
            let several = stats(&format!("threads = {threads}\nthreads_from = 0\n{text}"));
            assert_eq!(one, several, "{threads} threads:\n{text}");
        }
    }
}

/// The film is a witness: it is the same on any number of threads, adds up to what the ports counted, and changes nothing.
#[test]
fn a_film_changes_nothing_and_is_the_same_on_any_number_of_threads() {
    let filmed = |comm: &dyn Comm| {
        for phase in ["first", "second"] {
            comm.barrier();
            if comm.rank() == 0 {
                comm.mark(Some(phase));
            }
            mixture(comm);
            if comm.rank() == 0 {
                comm.mark(None);
            }
        }
    };
    let plain = |comm: &dyn Comm| {
        for _ in 0..2 {
            comm.barrier();
            mixture(comm);
        }
    };
    for layout in ["nodes = 9\n", CHAIN] {
        // Room for two packets, so that the incast stalls cables.
        let text =
            |threads: usize| format!("threads = {threads}\nthreads_from = 0\n{layout}[switch]\nbuffer = \"8400B\"\n");
        let one = machine(&text(1));
        run(&one, plain);
        let before = one.stats();
        assert!(one.film().slices.is_empty());
        run(&one, filmed);
        assert_eq!(one.stats(), before);
        let film = one.film();
        let phases: Vec<&str> = film.slices.iter().map(|s| s.phase.as_str()).collect();
        assert!(phases.first() == Some(&"first") && phases.last() == Some(&"second"), "{phases:?}");
        assert!(film.slices.len() > 3 && film.slices.windows(2).all(|w| w[0].to <= w[1].from));
        // All but the few packets of the barriers and of the last ranks.
        let sent: u64 = film.bundles.iter().filter(|b| b.kind == "inject").flat_map(|b| &b.bytes).sum();
        let counted: u64 =
            one.ports().iter().filter(|p| p.name.starts_with("endpoint")).map(|p| p.counters.bytes).sum();
        assert!(sent <= counted && sent as f64 > 0.9 * counted as f64, "{sent} of {counted} bytes");
        assert!(film.bundles[0].stalled.iter().sum::<u64>() > 0, "an incast stalls something");
        for threads in [2, 3] {
            let several = machine(&text(threads));
            run(&several, filmed);
            assert_eq!(several.film(), film, "{threads} threads");
        }
    }
}

#[test]
fn the_hash_sees_a_difference() {
    let (a, b) = (stats("nodes = 9\n"), stats("nodes = 9\n[nic]\nlatency = \"51ns\"\n"));
    assert_ne!(a.0.log_hash, b.0.log_hash);
}
