//! Kernels of pairs and flows, and the suites made of them, on the simulated machine.

mod common;

use comm::{Comm, Machine};
use record::{About, Members, Payload, Plan, RunRecord};
use std::sync::Mutex;
use tailback_bench::health::Vitals;
use tailback_bench::suites::contention::{self, Mode, PlannedFlow};
use tailback_bench::{Ask, Scout, Site, suite};

fn run(nodes: u32, slots: u32, plan: &Plan) -> RunRecord {
    common::run(&common::machine(nodes as usize, slots as usize), plan, false)
}

fn maxrate(options: &[(&str, &str)]) -> RunRecord {
    run(2, 4, &common::plan("maxrate", 2, 4, options))
}

/// Mean of a phase's samples in seconds.
fn mean(record: &RunRecord, phase: &str) -> f64 {
    record.phase(phase).unwrap_or_else(|| panic!("{phase} is missing")).jobs[0].summary.mean
}

#[test]
fn the_sample_of_a_ping_pong_is_the_round_trip() {
    let quick = [("trials", "3"), ("loops", "20"), ("modes", "pingpong,stream"), ("sizes", "256KiB"), ("pairs", "1,4")];
    let record = maxrate(&quick);
    let [one, four] = [1, 4].map(|k| mean(&record, &format!("near/pingpong/n=262144/k={k}")));
    let stream = mean(&record, "near/stream/n=262144/k=1");
    // One pair uses the wire half of the time; four fill it in both directions, but for the first and the last loops.
    assert!((one / stream - 2.0).abs() < 0.2, "round trip {one}, one way {stream}");
    assert!((four / one - 2.0).abs() < 0.2, "four pairs {four}, one {one}");
    let job = &record.phase("near/pingpong/n=262144/k=4").unwrap().jobs[0];
    assert_eq!((job.ranks, job.batches.batches.len()), (8, 3));
    assert!(!record.has_wrong_data());
}

#[test]
fn the_delayed_receiver_finds_the_eager_limit_to_a_few_bytes() {
    let record = maxrate(&[("sizes", "64,256KiB"), ("pairs", "1"), ("probe", "yes"), ("delay", "1ms")]);
    let found = &record.phase("near/probe").unwrap().jobs[0].results;
    let (passes, blocks) = (found["passes_to_bytes"], found["blocks_from_bytes"]);
    // The simulated machine's eager limit.
    assert!(passes <= 8192.0 && blocks > 8192.0 && blocks - passes <= 4.0, "{found:?}");
}

#[test]
fn parametrised_round_trips_grow_with_messages_and_pauses() {
    let record = maxrate(&[("sizes", "8,65536"), ("pairs", "1"), ("loggp", "yes"), ("trials", "3")]);
    for n in [8, 65536] {
        let [one, many, spaced] =
            ["one", "many", "spaced"].map(|what| mean(&record, &format!("near/loggp/n={n}/{what}")));
        let pause = record.phase(&format!("near/loggp/n={n}/spaced")).unwrap().jobs[0].results["pause_s"];
        assert!(
            pause > one && one < many && many < spaced && spaced > 9.0 * pause,
            "{n}: {one} {many} {spaced} {pause}"
        );
    }
}

/// What one rank would be told by its machine.
struct Told {
    distance: Option<f64>,
    socket: Option<u32>,
}

impl Scout for Told {
    fn simulated(&self) -> bool {
        false
    }
    fn distance(&self, _: &dyn Comm) -> Option<f64> {
        self.distance
    }
    fn socket(&self) -> Option<u32> {
        self.socket
    }
    fn vitals(&self) -> Vitals {
        Vitals::default()
    }
}

/// Nodes 1 to 3 share a group with node 0 and node 2 its switch; slots alternate between two sockets.
#[test]
fn the_machine_says_which_node_shares_a_switch_and_which_slots_a_socket() {
    let found = Mutex::new(Vec::new());
    let body = |world: &dyn Comm| {
        let seat = tailback_bench::Seat::find(world);
        let distance = Some([0.0, 3.0, 1.0, 3.0, 5.0][seat.node as usize]);
        let asks = [Ask::Distances, Ask::Sockets];
        let site = Site::survey(world, &seat, &asks, &Told { distance, socket: Some(seat.slot % 2) });
        let blind = Site::survey(world, &seat, &asks, &Told { distance: None, socket: None });
        found.lock().unwrap().push((site, blind));
    };
    common::machine(5, 4).run(&body).unwrap();
    let found = found.into_inner().unwrap();
    assert!(found.iter().all(|f| *f == found[0]), "all ranks agree");
    let (site, blind) = &found[0];
    let classes = |site: &Site, pair: &str| {
        let given = [("pair", pair), ("sizes", "8"), ("pairs", "1")].map(|(k, v)| (k.to_string(), v.to_string()));
        let plan =
            suite("maxrate").unwrap().plan_on(&given.into(), site, 1, Payload::Checked).map_err(|e| e.to_string())?;
        let mut all: Vec<(String, Vec<(u32, u32)>)> = Vec::new();
        for phase in &plan.phases {
            let About::Point { class, .. } = &phase.about else { panic!("a point") };
            let Members::Places(places) = &phase.jobs[0].members else { panic!("named ranks") };
            all.push((class.clone(), places.iter().map(|p| (p.node, p.slot)).collect()));
        }
        all.sort();
        Ok::<_, String>(all)
    };
    let expected = [
        ("cross-socket", [(0, 0), (0, 1)]),
        ("far", [(0, 0), (4, 0)]),
        ("near", [(0, 0), (1, 0)]),
        ("same-group", [(0, 0), (1, 0)]),
        ("same-socket", [(0, 0), (0, 2)]),
        ("same-switch", [(0, 0), (2, 0)]),
    ];
    let expected = expected.map(|(class, places)| (class.to_string(), places.to_vec()));
    assert_eq!(classes(site, "near,same-switch,same-group,far,same-socket,cross-socket").unwrap(), expected);
    let refused = |pair: &str| classes(blind, pair).unwrap_err();
    assert!(refused("same-group").contains("does not say how far") && refused("cross-socket").contains("bind them"));
    assert_eq!(classes(blind, "far").unwrap()[0].1, [(0, 0), (4, 0)]);
}

#[test]
fn two_flows_of_one_sender_take_twice_as_long_and_starts_are_kept() {
    let flow = |name: &str, to, start_ps| PlannedFlow { name: name.into(), from: 0, to, bytes: 1 << 20, start_ps };
    let mode = Mode::Times { repeats: 1, lead_ps: 0 };
    let alone = contention::phases(("alone", record::Purpose::Alone), &[flow("a", 1, 0)], mode);
    let late = contention::phases(("late", record::Purpose::Score), &[flow("a", 1, 1_000_000_000)], mode);
    let both = contention::phases(("both", record::Purpose::Score), &[flow("a", 1, 0), flow("b", 2, 0)], mode);
    let plan = contention::plan_of([alone, late, both].concat(), 1, Payload::Lengths);
    let record = run(3, 2, &plan);
    let reference = mean(&record, "alone#0");
    assert!((mean(&record, "late#0") - reference - 1e-3).abs() < 0.05 * reference);
    for job in &record.phase("both#0").unwrap().jobs {
        assert!((job.summary.mean / reference - 2.0).abs() < 0.05, "{} {}", job.name, job.summary.mean / reference);
    }
}

/// Two ranks leave a barrier up to microseconds apart: a small flow takes half a round trip whoever is first, and however long all wait.
#[test]
fn small_flows_take_what_one_way_takes() {
    let taken = |from, to, lead_ps| {
        let flow = PlannedFlow { name: "a".into(), from, to, bytes: 8, start_ps: 0 };
        let mode = Mode::Times { repeats: 3, lead_ps };
        let phases = contention::phases(("g", record::Purpose::Alone), std::slice::from_ref(&flow), mode);
        mean(&run(2, 1, &contention::plan_of(phases, 1, Payload::Lengths)), "g#0")
    };
    let quick = [("trials", "3"), ("loops", "20"), ("modes", "pingpong"), ("sizes", "8"), ("pairs", "1")];
    let round_trip = maxrate(&quick).phases[0].jobs[0].summary.mean;
    let usual = spec::parse_time(contention::LEAD).unwrap().ps();
    for (from, to, lead) in [(0, 1, 0), (1, 0, 0), (0, 1, usual), (1, 0, 10 * usual)] {
        let taken = taken(from, to, lead);
        assert!(
            (2.0 * taken / round_trip - 1.0).abs() < 0.05,
            "{from} to {to} after {lead}: {taken} of {round_trip} s"
        );
    }
}

#[test]
fn steady_rates_are_shared() {
    let flow = |name: &str, to| PlannedFlow { name: name.into(), from: 0, to, bytes: 1 << 17, start_ps: 0 };
    let mode = Mode::Rates { seconds: 2e-3, window: 4 };
    let alone = contention::phases(("alone", record::Purpose::Alone), &[flow("a", 1)], mode);
    let both = contention::phases(("both", record::Purpose::Score), &[flow("a", 1), flow("b", 2)], mode);
    let record = run(3, 2, &contention::plan_of([alone, both].concat(), 1, Payload::Lengths));
    for job in &record.phase("both#rate").unwrap().jobs {
        let share = job.summary.mean / mean(&record, "alone#rate");
        assert!((share - 0.5).abs() < 0.05, "{} {share}", job.name);
    }
}
