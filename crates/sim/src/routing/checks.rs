//! Every routing of the table on every topology in every shape: each packet arrives, by ports and channels that exist, and in order if it
//! says so. A wrong routing for each of these shows that the check finds it.

use super::*;
use crate::base::NONE;
use crate::control::CONTROLS;
use crate::file::Config;
use crate::link::{ENDPOINT, Outs};
use crate::net::{Chosen, Fabric};
use crate::topology::TOPOLOGIES;

/// Cables after which a packet will never arrive: more than any detour of a small shape has.
const LOST: usize = 32;

/// Walks every pair of endpoints of every topology in every shape several times.
fn check(entry: &RoutingEntry) -> Result<(), String> {
    for topology in TOPOLOGIES {
        for &(nodes, more) in topology.shapes {
            let (kind, routing) = (topology.card.name, entry.card.name);
            let text = format!("nodes = {nodes}\n[topology]\nkind = \"{kind}\"\n{more}\n");
            let config = Config::from_toml(&text).map_err(|e| e.to_string())?;
            let chosen = Chosen { topology, routing: entry, control: &CONTROLS[0] };
            let fabric = Fabric::of(&config, chosen).map_err(|e| e.to_string())?;
            for (from, to) in (0..nodes * nodes).map(|i| ((i / nodes) as Endpoint, (i % nodes) as Endpoint)) {
                let what = |e| format!("{routing} on {kind} {more}, {from} to {to}: {e}");
                let first = walk(&fabric, from, to, 0).map_err(what)?;
                for seed in 1..4 {
                    let again = walk(&fabric, from, to, seed).map_err(what)?;
                    if fabric.routing.in_order() && again != first {
                        return Err(what("two ways of one flow, so its packets do not stay in order".into()));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The ports by which a packet goes from one endpoint to another on an idle network.
fn walk(fabric: &Fabric, from: Endpoint, to: Endpoint, seed: u64) -> Result<Vec<Port>, String> {
    let (source, end) = (&fabric.endpoints[from as usize], &fabric.endpoints[to as usize]);
    let mut outs = Outs::new(0, &fabric.links, fabric.vcs, &fabric.config.switch);
    let (mut ways, mut rng) = (Ways::default(), Rng::new(seed, "checks", 0));
    let hop = Hop { vc: 0, hops: 0, came_by: source.port };
    let target = Target { switch: end.switch, endpoint: to };
    let mut trip = Trip { source: from, message: 0, to: target, middle: None, hop, bytes: 4136 };
    let (mut at, mut path) = (source.switch, Vec::new());
    while at != end.switch || trip.middle.is_some_and(|m| m != at) {
        trip.middle = trip.middle.filter(|&m| m != at);
        ways.clear();
        let info = &fabric.switches[at as usize];
        let load = Load { outs: &mut outs, first: info.first_link, class: 0, class_vcs: fabric.class_vcs, now: 0 };
        let topology = fabric.topology.as_ref();
        let step =
            fabric.routing.step(&mut At { switch: at, topology, load, ways: &mut ways, rng: &mut rng }, &mut trip);
        if step.port >= info.ports {
            return Err(format!("switch {at} has no port {}", step.port));
        }
        if step.vc >= fabric.class_vcs {
            return Err(format!("there is no channel {}", step.vc));
        }
        let link = &fabric.links[(info.first_link + u32::from(step.port)) as usize];
        if link.to == NONE || link.to & ENDPOINT != 0 {
            return Err(format!("port {} of switch {at} leads to no switch", step.port));
        }
        path.push(step.port);
        if path.len() > LOST {
            return Err(format!("still under way after {LOST} cables"));
        }
        trip.hop = Hop { vc: step.vc, hops: trip.hop.hops + 1, came_by: link.to_port };
        at = link.to;
    }
    Ok(path)
}

#[test]
fn every_routing_arrives() {
    for entry in ROUTINGS {
        check(entry).unwrap();
    }
}

/// What is wrong with a routing.
#[derive(Clone, Copy)]
enum Flaw {
    NoWay,
    WrongChannel,
    IntoAnEndpoint,
    BackAndForth,
    OutOfOrder,
}

impl Routing for Flaw {
    fn step(&self, at: &mut At<'_>, trip: &mut Trip) -> Step {
        at.topology.ways(at.switch, trip.to, at.ways);
        let ports = &at.ways.ports;
        let port = ports[at.rng.below(ports.len() as u64) as usize];
        match self {
            Flaw::NoWay => Step { port: Port::MAX, vc: 0 },
            Flaw::WrongChannel => Step { port, vc: 99 },
            Flaw::IntoAnEndpoint => Step { port: 0, vc: 0 },
            // By the way it came, if that is a cable.
            Flaw::BackAndForth if trip.hop.hops > 0 => Step { port: trip.hop.came_by, vc: 0 },
            Flaw::BackAndForth => Step { port, vc: 0 },
            Flaw::OutOfOrder => Step { port, vc: at.vc(trip, port) },
        }
    }
    fn in_order(&self) -> bool {
        true
    }
}

#[test]
fn wrong_routings_are_caught() {
    type Build = fn(&Params) -> Result<Box<dyn Routing>, String>;
    let table: [(Build, &str); 5] = [
        (|_| Ok(Box::new(Flaw::NoWay)), "has no port 65535"),
        (|_| Ok(Box::new(Flaw::WrongChannel)), "there is no channel 99"),
        (|_| Ok(Box::new(Flaw::IntoAnEndpoint)), "leads to no switch"),
        (|_| Ok(Box::new(Flaw::BackAndForth)), "still under way"),
        (|_| Ok(Box::new(Flaw::OutOfOrder)), "two ways of one flow"),
    ];
    for (build, reason) in table {
        let card = Card { name: "wrong", about: "", source: "", params: &[] };
        let error = check(&RoutingEntry { card, build }).expect_err(reason);
        assert!(error.contains(reason), "{error}, not {reason}");
    }
}
