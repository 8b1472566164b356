//! Ranks that know their own node alone agree on the order of all of them, and on the one that is computed where all is known.

use comm::{Comm, Machine};
use record::{NodeOrder, Unit};
use std::sync::Mutex;
use tailback_bench::{Home, NodeFacts, Seat, is_listed, places};

/// Twelve nodes: the last switch is in a group with the first.
fn node(number: u32) -> NodeFacts {
    let home = Home { switch: 40 + number / 3, group: Some(if (3..9).contains(&number) { 2 } else { 1 }) };
    NodeFacts { name: format!("n{number}"), home: Some(home) }
}

#[test]
fn every_rank_finds_the_place_that_the_list_gives_it() {
    let config = sim::Config::from_toml("nodes = 12\nranks_per_node = 3\n").unwrap();
    let machine = sim::Simulator::new(config).unwrap();
    let nodes: Vec<NodeFacts> = (0..12).map(node).collect();
    let list = ["n4", "n9", "n2"].map(String::from);
    for seed in [1, 2, 3] {
        for order in [
            NodeOrder::Units { by: Unit::Switch },
            NodeOrder::Units { by: Unit::Group },
            NodeOrder::Listed,
            NodeOrder::Rotated,
        ] {
            let expected = places(&nodes, &list, order, seed);
            let told = Mutex::new(Vec::new());
            let body = |world: &dyn Comm| {
                let mine = &nodes[world.node()];
                let seat = Seat { home: mine.home, listed: is_listed(&list, &mine.name), ..Seat::find(world) };
                // Before the lock: the rank may have to wait for others.
                let place = seat.place(world, order, seed).node;
                told.lock().unwrap().push((seat.node, place));
            };
            machine.run(&body).unwrap();
            let told = told.into_inner().unwrap();
            assert_eq!(told.len(), 36);
            assert!(
                told.iter().all(|&(node, place)| expected[node as usize] == place),
                "{order:?} {told:?} {expected:?}"
            );
        }
    }
}
