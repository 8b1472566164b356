//! Rates that no NIC carries are told from those that it does.

mod common;

use comm::{Comm, Machine};
use local::memory_limits::{Limit, Memory};
use std::sync::Mutex;
use tailback_bench::health::{Vitals, too_fast};
use tailback_bench::{Scout, Seat, Site};

/// The rate of the NICs of `common::machine`.
const NIC: f64 = 12.5e9;

#[test]
fn only_rates_between_nodes_are_held_against_the_nic() {
    let given = [("congestors", "p2p-incast"), ("baselines", "yes"), ("rounds", "6"), ("time", "10ms")];
    let record = common::run(&common::machine(4, 2), &common::plan("gpcnet", 4, 2, &given), false);
    assert_eq!(too_fast(&record, f64::MAX), Vec::<String>::new());
    let slow = too_fast(&record, 1e6);
    assert!(
        slow.iter().any(|w| w.contains("p2p-bw-sync")) && slow.iter().any(|w| w.contains("p2p-incast")),
        "{slow:?}"
    );
    let latencies = ["isolated/p2p-lat", "loaded/p2p-lat", "isolated/allreduce", "loaded/allreduce"];
    assert!(slow.iter().all(|w| latencies.iter().all(|l| !w.starts_with(l))), "{slow:?}");
    // A send that is only handed over is no rate: what an incast tells is what its root received.
    assert!(too_fast(&record, NIC).iter().all(|w| !w.contains("p2p-incast")), "{:?}", too_fast(&record, NIC));
}

/// What one rank would see of its host.
struct Seen(Vitals);

impl Scout for Seen {
    fn simulated(&self) -> bool {
        false
    }
    fn distance(&self, _: &dyn Comm) -> Option<f64> {
        None
    }
    fn socket(&self) -> Option<u32> {
        None
    }
    fn vitals(&self) -> Vitals {
        self.0.clone()
    }
}

fn own_limit(bytes: u64) -> Option<Limit> {
    Some(Limit { bytes, by: "ulimit -v".into() })
}

/// Two hosts of four ranks; on the second another program keeps 1.3 cores busy, and its NIC is the slower one.
#[test]
fn a_survey_tells_the_worst_of_all_hosts_and_not_what_ranks_do_themselves() {
    let found = Mutex::new(Vec::new());
    let body = |world: &dyn Comm| {
        let seat = Seat::find(world);
        let second = seat.node == 1;
        let seen = Vitals {
            // Hardly a machine has processors of such numbers, so each is a core of its own.
            cpus: vec![5000 + seat.slot as usize],
            own_s: 0.1,
            busy_s: Some(if second { 0.53 } else { 0.4 }),
            window_s: 0.1,
            unsteady: second && seat.slot == 2,
            nic: Some(if second { 1e9 } else { 2e9 }),
            // On the second host the four ranks may have 4 GiB together; each may have 3 by itself.
            memory: Memory {
                available: Some(if second { 4 << 30 } else { 16 << 30 }),
                own: own_limit(3 << 30),
                shared: None,
            },
        };
        // Found before the lock is taken: ranks wait for each other in there.
        let health = Site::survey(world, &seat, &[], &Seen(seen)).health.expect("a real machine");
        found.lock().unwrap().push(health);
    };
    common::machine(2, 4).run(&body).unwrap();
    let found = found.into_inner().unwrap();
    assert!(found.iter().all(|h| *h == found[0]), "all ranks agree: {found:?}");
    let health = &found[0];
    assert_eq!((health.fullest.0, health.ranks, health.hosts, health.wandering), (4, 8, 2, 0));
    assert_eq!(health.memory, Some(4 << 30));
    assert!((health.others - 1.3).abs() < 1e-9 && health.unsteady && health.nic == Some(1e9), "{health:?}");
}
