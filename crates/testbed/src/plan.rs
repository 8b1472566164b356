//! From a description to commands. Pure: nothing is called here.
//!
//! All switches live in a namespace of their own, the fabric. So the machine's own network is never touched, its packet
//! filters do not see the traffic, and removing the namespaces removes everything in them.

use crate::command::words;
use crate::state::State;

/// The namespace of the switches.
pub(crate) const FABRIC: &str = "fabric";
/// The interface of a node, in the node.
pub(crate) const NODE_INTERFACE: &str = "eth0";
/// Smallest burst of a rate limit: one segment as large as TCP hands them down (64 KiB).
const BURST_MIN: u64 = 64 * 1024;
/// The burst is what the link carries in this part of a second: long enough for a late timer, short beside any transfer.
const BURST_PER_S: u64 = 1_000;
/// How long a packet may wait in a rate limit's queue before it is dropped; this is the size of the switch's buffer.
const QUEUE_LATENCY: &str = "20ms";
/// Packets that netem may hold back; its own default of 1000 drops at a few Gbit/s and milliseconds.
const NETEM_LIMIT: &str = "100000";

/// One command of `up`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// The namespace that the command makes, if it makes one; it is recorded before.
    pub makes: Option<String>,
    /// The command.
    pub argv: Vec<String>,
}

/// All commands that build the testbed, in order.
pub(crate) fn steps(state: &State, ipv6: bool) -> Vec<Step> {
    let spec = &state.spec;
    let mut plan = Plan { state, ipv6, steps: Vec::new() };
    // The links are made from inside of the fabric, so it comes first.
    plan.make(FABRIC);
    for leaf in 1..=spec.leaves() {
        plan.bridge(&format!("leaf{leaf}"));
    }
    if spec.leaves() > 1 {
        plan.bridge("spine");
        for leaf in 1..=spec.leaves() {
            plan.uplink(leaf);
        }
    }
    for node in 1..=spec.nodes {
        plan.node(node);
    }
    plan.steps
}

struct Plan<'a> {
    state: &'a State,
    /// Whether the kernel has IPv6: then interfaces must be kept from talking on their own.
    ipv6: bool,
    steps: Vec<Step>,
}

impl Plan<'_> {
    fn make(&mut self, place: &str) {
        self.steps.push(Step { makes: Some(place.into()), argv: self.state.make_netns(place) });
        self.call(place, &["ip", "link", "set", "dev", "lo", "up"]);
    }

    fn call(&mut self, place: &str, argv: &[&str]) {
        self.steps.push(Step { makes: None, argv: self.state.in_netns(place, words(argv)) });
    }

    /// Without link-local addresses there is no neighbour discovery: an idle link carries nothing, and the counters show the
    /// job's traffic only.
    fn quiet(&mut self, place: &str, dev: &str) {
        if self.ipv6 {
            self.call(place, &["ip", "link", "set", "dev", dev, "addrgenmode", "none"]);
        }
    }

    fn bridge(&mut self, name: &str) {
        self.call(FABRIC, &["ip", "link", "add", "name", name, "type", "bridge"]);
        self.quiet(FABRIC, name);
        self.call(FABRIC, &["ip", "link", "set", "dev", name, "up"]);
    }

    fn port(&mut self, dev: &str, bridge: &str) {
        self.quiet(FABRIC, dev);
        self.call(FABRIC, &["ip", "link", "set", "dev", dev, "master", bridge, "up"]);
    }

    fn uplink(&mut self, leaf: usize) {
        let (up, down) = (format!("up{leaf}"), format!("down{leaf}"));
        self.call(FABRIC, &["ip", "link", "add", "name", &up, "type", "veth", "peer", "name", &down]);
        self.port(&up, &format!("leaf{leaf}"));
        self.port(&down, "spine");
        for dev in [up, down] {
            self.shape(FABRIC, &dev, self.state.spec.uplink_rate, None);
        }
    }

    fn node(&mut self, node: usize) {
        let spec = &self.state.spec;
        let (name, leaf) = (spec.node_name(node), format!("leaf{}", spec.leaf_of(node)));
        let address = format!("{}/{}", spec.subnet.host(node), spec.subnet.bits());
        let netns = self.state.netns(&name).display().to_string();
        // Before the link, whose far end is made in it.
        self.make(&name);
        self.call(
            FABRIC,
            &["ip", "link", "add", "name", &name, "type", "veth", "peer", "name", NODE_INTERFACE, "netns", &netns],
        );
        self.port(&name, &leaf);
        self.quiet(&name, NODE_INTERFACE);
        self.call(&name, &["ip", "address", "add", &address, "dev", NODE_INTERFACE]);
        self.call(&name, &["ip", "link", "set", "dev", NODE_INTERFACE, "up"]);
        // A queueing discipline limits only what leaves by its interface, so each direction has one at its sender.
        self.shape(FABRIC, &name, spec.rate_of(node), spec.delay_us);
        self.shape(&name, NODE_INTERFACE, spec.rate_of(node), spec.delay_us);
    }

    /// Limits what leaves by an interface; with both limits the delay is inside of the rate.
    fn shape(&mut self, place: &str, dev: &str, rate: Option<u64>, delay_us: Option<u64>) {
        if let Some(rate) = rate {
            let (bits, burst) = (format!("{}bit", rate * 8), burst(rate).to_string());
            let tbf = ["handle", "1:", "tbf", "rate", &bits, "burst", &burst, "latency", QUEUE_LATENCY];
            self.call(place, &[&["tc", "qdisc", "add", "dev", dev, "root"], &tbf[..]].concat());
        }
        if let Some(delay) = delay_us {
            let delay = format!("{delay}us");
            // The limit of the rate has one class, 1:1, and the delay takes the place of its inner queue.
            let parent: &[&str] = if rate.is_some() { &["parent", "1:1"] } else { &["root"] };
            let netem = ["netem", "delay", &delay, "limit", NETEM_LIMIT];
            self.call(place, &[&["tc", "qdisc", "add", "dev", dev], parent, &netem[..]].concat());
        }
    }
}

/// The burst of a rate limit, in bytes.
fn burst(rate: u64) -> u64 {
    (rate / BURST_PER_S).max(BURST_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, Spec};

    fn lines(spec: Spec, ipv6: bool) -> Vec<String> {
        let state = State::new(spec, Mode::Root, "/run/x".into());
        steps(&state, ipv6).iter().map(|s| crate::command::show(&s.argv)).collect()
    }

    #[test]
    fn one_switch_needs_no_spine() {
        let lines = lines(Spec::new("t", 2), false);
        assert_eq!(lines[0], "ip netns add tailback-t-fabric");
        assert!(lines.iter().all(|l| !l.contains("spine") && !l.contains("tc ") && !l.contains("addrgenmode")));
        let node = "nsenter --net=/run/netns/tailback-t-n2 -- ip address add 10.77.0.2/16 dev eth0";
        assert!(lines.contains(&node.to_string()), "{lines:#?}");
    }

    #[test]
    fn everything_but_making_namespaces_happens_inside_them() {
        let mut spec = Spec::new("t", 4);
        (spec.nodes_per_leaf, spec.rate, spec.uplink_rate) = (Some(2), Some(10_000_000), Some(5_000_000));
        for line in lines(spec, true) {
            assert!(
                line.starts_with("ip netns add tailback-t-")
                    || line.starts_with("nsenter --net=/run/netns/tailback-t-"),
                "{line}"
            );
        }
    }

    #[test]
    fn rates_limit_both_ends_of_every_link() {
        let mut spec = Spec::new("t", 4);
        (spec.nodes_per_leaf, spec.rate, spec.uplink_rate) = (Some(2), Some(10_000_000), Some(500_000_000));
        let mut broken = spec.clone();
        broken.slow.insert("n3".into(), 1_000_000);
        let slow: Vec<String> =
            self::lines(broken.clone(), false).into_iter().filter(|l| l.contains("rate 8000000bit")).collect();
        assert!(
            matches!(&slow[..], [a, b] if a.contains("dev n3") && b.contains("t-n3") && b.contains("dev eth0")),
            "{slow:?}"
        );
        broken.slow.insert("n9".into(), 1_000_000);
        assert!(broken.check().unwrap_err().to_string().contains("n9"));
        let lines = lines(spec, false);
        let count = |what: &str| lines.iter().filter(|l| l.contains(what)).count();
        assert_eq!(count("tbf rate 80000000bit burst 65536 latency 20ms"), 4 * 2);
        assert_eq!(count("tbf rate 4000000000bit burst 500000 latency 20ms"), 2 * 2);
        assert_eq!(count("master spine"), 2);
        assert_eq!((count("master leaf1"), count("master leaf2")), (3, 3));
    }

    #[test]
    fn delay_goes_inside_of_the_rate() {
        let mut spec = Spec::new("t", 1);
        spec.delay_us = Some(50);
        assert!(lines(spec.clone(), false).iter().any(|l| l.contains("dev eth0 root netem delay 50us")));
        spec.rate = Some(1_000_000);
        assert!(lines(spec, false).iter().any(|l| l.contains("dev eth0 parent 1:1 netem delay 50us")));
    }
}
