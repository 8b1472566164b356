//! One switch with every endpoint on it: the network with nothing but endpoint contention.

use super::{Hops, Switch, Target, Topology, TopologyEntry, Ways, Wiring};
use crate::Config;
use spec::{Card, Params};

/// See the module.
pub const SINGLE: TopologyEntry = TopologyEntry {
    card: Card { name: "single-switch", about: "all endpoints on one switch", source: "", params: &[] },
    build,
    hops: Hops::Distance,
    shapes: &[(9, ""), (1, "")],
};

/// More ports than any switch has; beyond this a port number would not fit.
const MAX_PORTS: usize = 60_000;

struct Single {
    endpoints: usize,
}

fn build(_: &Params, config: &Config) -> Result<Box<dyn Topology>, String> {
    let endpoints = config.endpoints();
    if endpoints > MAX_PORTS {
        return Err(format!(
            "single-switch: {endpoints} endpoints are too many for one switch (at most {MAX_PORTS}); choose another topology"
        ));
    }
    Ok(Box::new(Single { endpoints }))
}

impl Topology for Single {
    fn wire(&self, wiring: &mut Wiring) {
        let switch = wiring.switch(0);
        for _ in 0..self.endpoints {
            wiring.attach(switch);
        }
    }
    fn ways(&self, _: Switch, _: Target, _: &mut Ways) {}
    fn hops(&self, _: Switch, _: Switch) -> u32 {
        0
    }
    fn vcs(&self, _: bool) -> u8 {
        1
    }
}
