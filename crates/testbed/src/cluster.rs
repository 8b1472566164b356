//! What to build: the description of an emulated cluster, and the names and addresses that follow from it.
//!
//! ```text
//!              spine                 one bridge, only if there is more than one leaf
//!         down1/   \down2            the uplinks: veth pairs with a rate of their own
//!         up1 /     \ up2
//!        leaf1       leaf2           one bridge per switch
//!        n1  n2      n3  n4          veth pairs: `nI` is the switch's end, `eth0` the node's
//! ```

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// Longest name of a testbed; it becomes part of names of namespaces and files.
// Chosen. Interface names, which the kernel limits to 15 bytes, do not contain it.
const NAME_MAX: usize = 24;
/// More namespaces than this on one machine measure nothing but its scheduler.
const NODES_MAX: usize = 1024;
/// `tc` takes rates in bit/s; below this a single full-size packet takes longer than most timeouts.
// At this rate a packet of 1500 bytes takes 1.5 s.
const RATE_MIN: u64 = 1_000;

/// Who makes the namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Root, by `ip netns`: `ip netns list` shows them.
    Root,
    /// Anybody, inside a user namespace that a holder process keeps.
    User,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Root => "root",
            Mode::User => "user namespace",
        })
    }
}

/// The description of an emulated cluster. `Spec::new(name, nodes)` and change what differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Its name; several testbeds of different names live beside each other.
    pub name: String,
    /// How many nodes, `n1` to `nN`.
    pub nodes: usize,
    /// How many nodes share a leaf switch; `None`: one switch for all.
    pub nodes_per_leaf: Option<usize>,
    /// What a node's link carries in each direction, in bytes per second; `None`: no limit.
    pub rate: Option<u64>,
    /// Nodes whose link carries something else, by name: a cable that is broken.
    #[serde(default)]
    pub slow: BTreeMap<String, u64>,
    /// What a leaf's uplink carries in each direction, in bytes per second; `None`: no limit.
    pub uplink_rate: Option<u64>,
    /// Delay added on each node link in each direction, in microseconds; needs the kernel's `netem`.
    pub delay_us: Option<u64>,
    /// The nodes' addresses. Nothing outside the testbed can reach them, so testbeds may share a subnet.
    pub subnet: Subnet,
    /// Who makes the namespaces; `None`: root where possible, else a user namespace.
    pub mode: Option<Mode>,
}

impl Spec {
    /// Nodes on one switch, without limits.
    pub fn new(name: &str, nodes: usize) -> Spec {
        Spec {
            name: name.into(),
            nodes,
            nodes_per_leaf: None,
            rate: None,
            slow: BTreeMap::new(),
            uplink_rate: None,
            delay_us: None,
            subnet: Subnet::default(),
            mode: None,
        }
    }

    /// Sets the uplink rate so that the leaves are tapered `taper` to one: 1 is full bisection, 2 halves it.
    pub fn taper(&mut self, taper: f64) -> Result<(), Error> {
        let (Some(rate), Some(per_leaf)) = (self.rate, self.nodes_per_leaf) else {
            return Err(Error::Spec("a taper needs a link rate and a number of nodes per leaf; give both".into()));
        };
        if !(taper.is_finite() && taper > 0.0) {
            return Err(Error::Spec(format!("taper {taper} is not a positive number; 2 means two to one")));
        }
        // What the nodes of a full leaf can offer together; a last leaf with fewer nodes gets the same uplink.
        self.uplink_rate = Some((rate as f64 * per_leaf as f64 / taper).round() as u64);
        Ok(())
    }

    /// Whether the description holds together.
    pub fn check(&self) -> Result<(), Error> {
        check_name(&self.name)?;
        let wrong = |text: String| Err(Error::Spec(text));
        if !(1..=NODES_MAX).contains(&self.nodes) {
            return wrong(format!("{} nodes: a testbed has 1 to {NODES_MAX}", self.nodes));
        }
        if self.nodes_per_leaf == Some(0) {
            return wrong("0 nodes per leaf: give at least 1, or leave it out for a single switch".into());
        }
        for host in self.slow.keys() {
            self.node_of(host)?;
        }
        let slow = self.slow.values().map(|rate| ("link rate", Some(*rate)));
        for (what, rate) in [("link rate", self.rate), ("uplink rate", self.uplink_rate)].into_iter().chain(slow) {
            if rate.is_some_and(|r| r < RATE_MIN) {
                return wrong(format!("{what} {} B/s is too low; the least is {RATE_MIN} B/s", rate.unwrap_or(0)));
            }
        }
        // One leaf has no spine above it, so the rate would be ignored in silence.
        if self.uplink_rate.is_some() && self.leaves() < 2 {
            return wrong(format!(
                "an uplink rate needs at least two leaves; {} nodes with {} per leaf make one",
                self.nodes,
                self.per_leaf()
            ));
        }
        if self.subnet.capacity() < self.nodes as u64 {
            return wrong(format!(
                "subnet {} has room for {} nodes, not {}; take a wider one such as {}",
                self.subnet,
                self.subnet.capacity(),
                self.nodes,
                Subnet::default()
            ));
        }
        Ok(())
    }

    fn per_leaf(&self) -> usize {
        // The fields are public, so this meets descriptions that were never checked: the clamp keeps divisions by it defined.
        self.nodes_per_leaf.unwrap_or(self.nodes).clamp(1, self.nodes.max(1))
    }

    /// How many leaf switches there are; with one there is no spine.
    pub fn leaves(&self) -> usize {
        self.nodes.div_ceil(self.per_leaf())
    }

    /// The leaf (1 based) of a node (1 based).
    pub fn leaf_of(&self, node: usize) -> usize {
        (node - 1) / self.per_leaf() + 1
    }

    /// The name of a node (1 based): its host name, and the name of the switch's port to it.
    pub fn node_name(&self, node: usize) -> String {
        format!("n{node}")
    }

    /// The node (1 based) of this name, also when it is given as its address.
    pub fn node_of(&self, host: &str) -> Result<usize, Error> {
        (1..=self.nodes)
            .find(|&i| self.node_name(i) == host || self.subnet.host(i).to_string() == host)
            .ok_or_else(|| Error::NoNode { testbed: self.name.clone(), host: host.into(), nodes: self.nodes })
    }

    /// What the link of a node (1 based) carries.
    pub fn rate_of(&self, node: usize) -> Option<u64> {
        self.slow.get(&self.node_name(node)).copied().or(self.rate)
    }

    /// The text of the nodes' `/etc/hosts`.
    pub fn hosts(&self) -> String {
        let mut text = String::from("127.0.0.1 localhost\n");
        for i in 1..=self.nodes {
            text += &format!("{} {}\n", self.subnet.host(i), self.node_name(i));
        }
        text
    }
}

/// Refuses names that could not be part of a file name or of a namespace's name.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let good = (1..=NAME_MAX).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    match good {
        true => Ok(()),
        false => Err(Error::Spec(format!(
            "`{name}` cannot name a testbed; use 1 to {NAME_MAX} lower-case letters, digits and `-`, such as `demo`"
        ))),
    }
}

/// An IPv4 subnet, written `10.77.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Subnet {
    base: Ipv4Addr,
    bits: u8,
}

impl Default for Subnet {
    fn default() -> Subnet {
        Subnet { base: Ipv4Addr::new(10, 77, 0, 0), bits: 16 }
    }
}

impl Subnet {
    /// The address of node `i` (1 based).
    pub fn host(&self, i: usize) -> Ipv4Addr {
        // Cannot overflow in a checked description: the nodes fit the subnet, and the base has no bits behind the prefix.
        Ipv4Addr::from(u32::from(self.base) + i as u32)
    }
    /// The length of the prefix.
    pub fn bits(&self) -> u8 {
        self.bits
    }
    /// How many nodes fit: all addresses but the first (the network) and the last (broadcast).
    fn capacity(&self) -> u64 {
        (1u64 << (32 - self.bits)) - 2
    }
}

impl FromStr for Subnet {
    type Err = Error;
    fn from_str(text: &str) -> Result<Subnet, Error> {
        let wrong = |why: &str| Error::Spec(format!("subnet `{text}` {why}; write it like {}", Subnet::default()));
        let (base, bits) = text.split_once('/').ok_or_else(|| wrong("has no prefix length"))?;
        let base: Ipv4Addr = base.parse().map_err(|_| wrong("is no IPv4 network"))?;
        let bits: u8 = bits.parse().map_err(|_| wrong("has no prefix length"))?;
        // A /31 has no address left for a node beside network and broadcast; no private range is wider than 10/8.
        if !(8..=30).contains(&bits) {
            return Err(wrong("must have a prefix length of 8 to 30"));
        }
        if !base.is_private() {
            return Err(wrong("is not private (10/8, 172.16/12, 192.168/16)"));
        }
        if u32::from(base) & ((1u32 << (32 - bits)) - 1) != 0 {
            return Err(wrong("has bits set behind its prefix"));
        }
        Ok(Subnet { base, bits })
    }
}

impl TryFrom<String> for Subnet {
    type Error = Error;
    fn try_from(text: String) -> Result<Subnet, Error> {
        text.parse()
    }
}

impl From<Subnet> for String {
    fn from(subnet: Subnet) -> String {
        subnet.to_string()
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_fill_in_order() {
        let mut spec = Spec::new("a", 5);
        assert_eq!((spec.leaves(), spec.leaf_of(5)), (1, 1));
        spec.nodes_per_leaf = Some(2);
        assert_eq!(spec.leaves(), 3);
        assert_eq!((1..=5).map(|i| spec.leaf_of(i)).collect::<Vec<_>>(), [1, 1, 2, 2, 3]);
    }

    #[test]
    fn taper_divides_what_the_leaf_could_send() {
        let mut spec = Spec::new("a", 8);
        assert!(spec.taper(2.0).is_err(), "no rate to taper");
        (spec.rate, spec.nodes_per_leaf) = (Some(1_000_000), Some(4));
        spec.taper(2.0).unwrap();
        assert_eq!(spec.uplink_rate, Some(2_000_000));
        assert!(spec.taper(0.0).is_err() && spec.taper(f64::NAN).is_err());
    }

    #[test]
    fn impossible_clusters_are_refused_with_the_value() {
        let check = |change: &dyn Fn(&mut Spec)| {
            let mut spec = Spec::new("a", 4);
            change(&mut spec);
            spec.check().map_err(|e| e.to_string())
        };
        assert_eq!(check(&|_| ()), Ok(()));
        assert!(check(&|s| s.nodes = 0).unwrap_err().starts_with("0 nodes"));
        assert!(check(&|s| s.nodes_per_leaf = Some(0)).is_err());
        assert!(check(&|s| s.rate = Some(1)).unwrap_err().contains("1 B/s"));
        assert!(check(&|s| s.uplink_rate = Some(1_000_000)).unwrap_err().contains("two leaves"));
        assert!(
            check(&|s| (s.nodes, s.subnet) = (7, "10.0.0.0/29".parse().unwrap())).unwrap_err().contains("room for 6")
        );
        assert_eq!(check(&|s| (s.nodes, s.subnet) = (6, "10.0.0.0/29".parse().unwrap())), Ok(()));
        for name in ["", "A", "a/b", "..", "-a", "a b", &"x".repeat(25)] {
            assert!(check(&|s| s.name = name.into()).is_err(), "{name:?}");
        }
    }

    #[test]
    fn subnets_are_read_and_shown() {
        for text in ["10.77.0.0/16", "192.168.4.0/24", "172.16.0.0/12"] {
            assert_eq!(text.parse::<Subnet>().unwrap().to_string(), text);
        }
        for text in ["10.77.0.0", "10.77.0.1/16", "8.8.8.0/24", "10.0.0.0/31", "10.0.0.0/x", "ten/8", "10.0.0.0/7"] {
            assert!(text.parse::<Subnet>().is_err(), "{text}");
        }
        assert_eq!(Subnet::default().host(257).to_string(), "10.77.1.1");
    }

    #[test]
    fn nodes_are_found_by_name_and_address() {
        let spec = Spec::new("a", 3);
        assert_eq!(spec.node_of("n3").unwrap(), 3);
        assert_eq!(spec.node_of("10.77.0.2").unwrap(), 2);
        assert!(spec.node_of("n4").unwrap_err().to_string().contains("n1 to n3"));
        assert_eq!(spec.hosts(), "127.0.0.1 localhost\n10.77.0.1 n1\n10.77.0.2 n2\n10.77.0.3 n3\n");
    }
}
