//! Fat trees of two and three levels, tapered or not.
//!
//! ```text
//! level 2               core (j, k)  .  .  .        one port to aggregation switch j of every pod
//! level 1      agg 0 .. agg j ..  |  agg 0 ..       one port to every leaf of its pod; the two-level tree has one pod,
//! level 0      leaf   leaf  leaf  |  leaf           whose level 1 are the spines
//!              | | |                                endpoints
//! ```
//!
//! The fixed way is d-mod-k: at level l a packet goes up by the digit of its destination that belongs to the level, so that
//! every destination has its own tree and shift permutations meet no conflict. Up and then down has no cycle: one virtual
//! channel is enough, and a detour would be one more way up, so there are none.

use super::{Cable, Hop, Hops, MOST, Port, Reach, Switch, Target, Topology, TopologyEntry, Ways, Wiring};
use crate::Config;
use spec::{Card, Kind, Param, Params, ReadParams};

/// See the module.
pub const FAT_TREE: TopologyEntry = TopologyEntry {
    card: Card {
        name: "fat-tree",
        about: "two or three levels of switches, every leaf connected to all switches above it",
        source: "Leiserson 1985; d-mod-k: Zahavi, Johnson, Kerbyson, Lang 2010",
        params: &[
            Param::new("levels", Kind::Count, "2", "levels of switches, 2 or 3").up_to(MOST),
            Param::new("radix", Kind::Count, "36", "ports of every switch").up_to(MOST),
            Param::new("taper", Kind::Real, "1", "endpoints per cable up of a leaf: 1, 2, 3..."),
            Param::new("down", Kind::Count, "0", "endpoints per leaf, 0 = by radix and taper").up_to(MOST),
            Param::new("up", Kind::Count, "0", "cables up of a leaf, 0 = the ports left").up_to(MOST),
            Param::new("parallel", Kind::Count, "1", "cables between a leaf and a switch above").up_to(MOST),
            Param::new("pod", Kind::Count, "0", "leaves per pod, 0 = half of the radix").up_to(MOST),
            Param::new("agg_up", Kind::Count, "0", "cables up of an aggregation switch, 0 = the ports left")
                .up_to(MOST),
            Param::new("rate", Kind::Rate, "12.5GB/s", "rate of a cable between leaf and level 1"),
            Param::new("latency", Kind::Time, "30ns", "its time of flight"),
            Param::new("core_rate", Kind::Rate, "12.5GB/s", "rate of a cable to the core"),
            Param::new("core_latency", Kind::Time, "150ns", "its time of flight"),
        ],
    },
    build,
    hops: Hops::Distance,
    shapes: &[
        (9, "levels = 3\nradix = 4"),
        (12, "radix = 6"),
        (30, "radix = 12\ntaper = 2\nparallel = 2"),
        (25, "radix = 6\nlevels = 3"),
        (25, "radix = 9\ntaper = 2\nlevels = 3\npod = 3\nagg_up = 4"),
    ],
};

/// Parts of the network that are simulated together: enough for any number of cores, few enough to cost nothing.
const PARTS: usize = 16;

struct FatTree {
    leaves: usize,
    /// Leaves per pod; all of them in a tree of two levels.
    pod: usize,
    pods: usize,
    down: usize,
    /// Switches at level 1 per pod, and cables from a leaf to each.
    aggs: usize,
    parallel: usize,
    /// Cables from a level 1 switch to the core, 0 in a tree of two levels.
    agg_up: usize,
    edge: Cable,
    core: Cable,
    /// Each switch's level, pod, and number there.
    places: Vec<TreePosition>,
    /// Each endpoint's digits: which way up at the leaf, which at level 1.
    digits: Vec<(u16, u16)>,
}

#[derive(Clone, Copy)]
struct TreePosition {
    level: u8,
    pod: u16,
    index: u16,
    /// The first port up.
    up: Port,
}

fn build(params: &Params, config: &Config) -> Result<Box<dyn Topology>, String> {
    let count = |name: &str| params.count(name) as usize;
    let (levels, radix, taper) = (count("levels"), count("radix"), params.real("taper"));
    if levels != 2 && levels != 3 {
        return Err(format!("fat-tree: levels={levels}: choose 2 or 3 (one level is `single-switch`)"));
    }
    if !(2..=4096).contains(&radix) {
        return Err(format!("fat-tree: radix={radix}: choose 2 to 4096"));
    }
    if !(0.01..=1000.0).contains(&taper) {
        return Err(format!("fat-tree: taper={taper}: choose endpoints per cable up, e.g. 1 (none), 2 (half)"));
    }
    let (down, up, parallel) = leaf_shape(params)?;
    let leaves = config.endpoints().div_ceil(down).max(1);
    let (pod, agg_up) =
        if levels == 2 { (leaves, 0) } else { pod_shape(count("pod"), count("agg_up"), radix, parallel)? };
    let pods = leaves.div_ceil(pod);
    // The levels below fit by their own shape; only the top's need of ports grows with the machine.
    let (top, ports) = if levels == 2 { ("spine", leaves * parallel) } else { ("core switch", pods) };
    if ports > radix {
        let most = if levels == 2 { radix / parallel * down } else { radix * pod * down };
        return Err(format!(
            "fat-tree: radix={radix}: a {top} would need {ports} ports for {} endpoints; this shape carries at most {most}{}",
            config.endpoints(),
            if levels == 2 { "; raise `radix` or choose levels=3" } else { "; raise `radix`" }
        ));
    }
    // A tree's buffers are all of one size: `switch.global_buffer` speaks of cables between groups.
    let reach = Reach::Local;
    let cable = |rate, latency, kind| Cable { rate: params.rate(rate), latency: params.time(latency), reach, kind };
    let (edge, core) = (cable("rate", "latency", "up"), cable("core_rate", "core_latency", "core"));
    if let Some(c) = [edge, core].iter().find(|c| c.rate.bytes_per_s() < 1e6) {
        return Err(format!("fat-tree: the rate of the `{}` cables, {}, is too low; at least 1MB/s", c.kind, c.rate));
    }
    let mut tree = FatTree {
        leaves,
        pod,
        pods,
        down,
        aggs: up / parallel,
        parallel,
        agg_up,
        edge,
        core,
        places: vec![],
        digits: vec![],
    };
    tree.number(config.endpoints());
    Ok(Box::new(tree))
}

/// Endpoints of a leaf, its cables up, and how many of these lead to one switch.
fn leaf_shape(params: &Params) -> Result<(usize, usize, usize), String> {
    let count = |name: &str| params.count(name) as usize;
    let (radix, taper) = (count("radix"), params.real("taper"));
    let down = match count("down") {
        // down / up = taper and down + up = radix, in whole ports, at least one each way.
        0 => ((radix as f64 * taper / (1.0 + taper)).round() as usize).clamp(1, radix - 1),
        given => given,
    };
    let up = match (count("up"), count("down")) {
        (0, 0) => radix.saturating_sub(down),
        // With `down` given the taper alone decides, and ports may stay empty.
        (0, _) => ((down as f64 / taper).round() as usize).max(1),
        (given, _) => given,
    };
    let parallel = count("parallel");
    if down + up > radix || up == 0 {
        return Err(format!(
            "fat-tree: down={down} and up={up} do not fit a switch of radix={radix} ports; lower one of them"
        ));
    }
    if parallel == 0 || up % parallel != 0 {
        return Err(format!("fat-tree: parallel={parallel}: must divide the {up} cables up of a leaf"));
    }
    Ok((down, up, parallel))
}

/// Leaves per pod and cables to the core of an aggregation switch.
fn pod_shape(pod: usize, agg_up: usize, radix: usize, parallel: usize) -> Result<(usize, usize), String> {
    let leaves = if pod == 0 { (radix / 2 / parallel).max(1) } else { pod };
    let used = leaves * parallel;
    let up = if agg_up == 0 { radix.saturating_sub(used) } else { agg_up };
    if up == 0 || used + up > radix {
        return Err(format!(
            "fat-tree: pod={leaves} and agg_up={up} do not fit an aggregation switch of radix={radix} ports; lower one of them"
        ));
    }
    Ok((leaves, up))
}

impl FatTree {
    fn leaves_of(&self, pod: usize) -> usize {
        self.pod.min(self.leaves - pod * self.pod)
    }

    /// Leaves first, then level 1 pod by pod, then the core.
    fn number(&mut self, endpoints: usize) {
        for leaf in 0..self.leaves {
            let (pod, index) = ((leaf / self.pod) as u16, (leaf % self.pod) as u16);
            self.places.push(TreePosition { level: 0, pod, index, up: self.down as Port });
        }
        for pod in 0..self.pods {
            let up = (self.leaves_of(pod) * self.parallel) as Port;
            self.places.extend((0..self.aggs).map(|j| TreePosition { level: 1, pod: pod as u16, index: j as u16, up }));
        }
        let cores = self.aggs * self.agg_up;
        self.places.extend((0..cores).map(|c| TreePosition { level: 2, pod: 0, index: c as u16, up: 0 }));
        let ways = self.aggs * self.parallel;
        let digit = |e: usize| ((e % ways) as u16, if self.agg_up == 0 { 0 } else { (e / ways % self.agg_up) as u16 });
        // The last leaf is attached in full, so places without a NIC are numbered too.
        self.digits = (0..endpoints.max(self.leaves * self.down)).map(digit).collect();
    }

    fn agg(&self, pod: usize, j: usize) -> Switch {
        (self.leaves + pod * self.aggs + j) as Switch
    }

    /// The part in which a switch is simulated: neighbouring leaves together, the top spread over all.
    fn part(&self, place: TreePosition) -> u32 {
        let units = if self.agg_up == 0 { self.leaves } else { self.pods };
        let parts = units.min(PARTS);
        let unit = match (place.level, self.agg_up) {
            (0, 0) => usize::from(place.index),
            (1, 0) => usize::from(place.index) * units / self.aggs,
            (2, _) => usize::from(place.index) * units / (self.aggs * self.agg_up),
            _ => usize::from(place.pod),
        };
        (unit * parts / units) as u32
    }
}

impl Topology for FatTree {
    fn wire(&self, wiring: &mut Wiring) {
        for &place in &self.places {
            let switch = wiring.switch(self.part(place));
            if place.level == 0 {
                for _ in 0..self.down {
                    wiring.attach(switch);
                }
            }
        }
        // `ways` counts on this order: a leaf has its cables by switch above, that switch has them by leaf.
        for leaf in 0..self.leaves {
            for j in 0..self.aggs {
                let agg = self.agg(leaf / self.pod, j);
                for _ in 0..self.parallel {
                    wiring.cable(leaf as Switch, agg, self.edge);
                }
            }
        }
        let first_core = self.leaves + self.pods * self.aggs;
        for pod in 0..self.pods {
            for j in 0..self.aggs {
                for k in 0..self.agg_up {
                    wiring.cable(self.agg(pod, j), (first_core + j * self.agg_up + k) as Switch, self.core);
                }
            }
        }
    }

    #[inline]
    fn ways(&self, at: Switch, to: Target, out: &mut Ways) {
        let (here, there) = (self.places[at as usize], self.places[to.switch as usize]);
        let digits = self.digits[to.endpoint as usize];
        let parallel = self.parallel as Port;
        let (first, ways, fixed) = match here.level {
            0 => (here.up, self.aggs as Port * parallel, digits.0),
            // Also downwards a destination keeps to its own one of the parallel cables.
            1 if here.pod == there.pod => (there.index * parallel, parallel, digits.0 % parallel),
            1 => (here.up, self.agg_up as Port, digits.1),
            // A core switch has one port per pod, laid in the order of pods.
            _ => (there.pod, 1, 0),
        };
        out.ports.extend(first..first + ways);
        out.fixed = usize::from(fixed);
    }

    /// Defined from every switch to a leaf.
    fn hops(&self, from: Switch, to: Switch) -> u32 {
        let (a, b) = (self.places[from as usize], self.places[to as usize]);
        match a.level {
            _ if from == to => 0,
            0 if a.pod == b.pod => 2,
            0 => 4,
            1 if a.pod == b.pod => 1,
            1 => 3,
            _ => 2,
        }
    }

    fn vcs(&self, _: bool) -> u8 {
        1
    }

    fn vc(&self, _: Hop, _: Switch, _: Port) -> u8 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Fabric;

    fn config(text: &str) -> Config {
        Config::from_toml(text).unwrap()
    }

    fn refused(text: &str) -> String {
        Fabric::new(&config(text)).err().expect("refused").to_string()
    }

    #[test]
    fn summit_and_sierra_have_their_switches() {
        let shape =
            "nodes = 4608\nranks_per_node = 1\n[nic]\nper_node = 2\n[topology]\nkind = \"fat-tree\"\nlevels = 3\n";
        let f = Fabric::new(&config(shape)).unwrap();
        // 512 leaves of 18, 29 pods of 18 aggregation switches, 18 x 18 core switches.
        assert_eq!(f.switches.len(), 512 + 29 * 18 + 18 * 18);
        let f = Fabric::new(&config(&format!("{shape}taper = 2\n"))).unwrap();
        assert_eq!(f.switches.len(), 384 + 22 * 12 + 12 * 18);
    }

    #[test]
    fn impossible_shapes_are_named() {
        let base = "nodes = 64\n[topology]\nkind = \"fat-tree\"\n";
        assert!(refused(&format!("{base}levels = 4")).contains("levels=4: choose 2 or 3"));
        assert!(refused(&format!("{base}radix = 4")).contains("a spine would need 32 ports for 64 endpoints"));
        assert!(refused(&format!("{base}down = 20\nup = 20")).contains("do not fit a switch of radix=36"));
        assert!(refused(&format!("{base}parallel = 5")).contains("parallel=5: must divide the 18"));
        assert!(refused(&format!("{base}levels = 3\nradix = 4\npod = 4")).contains("pod=4 and agg_up=0 do not fit"));
    }
}
