//! What crossed the links, by the counters of the switches' ports.

use crate::Error;
use crate::command::{CommandRunner, System, words};
use crate::plan::FABRIC;
use crate::state::State;
use std::collections::BTreeMap;
use std::fmt;

/// A link of the testbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// Between a node and its switch.
    Node,
    /// Between a leaf and the spine.
    Uplink,
}

/// What one link carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTraffic {
    /// `n3`, or `leaf2`.
    pub name: String,
    /// Which kind of link.
    pub kind: LinkKind,
    /// Bytes from the node to its switch, or from the leaf to the spine, with headers.
    pub sent: u64,
    /// Bytes in the other direction.
    pub received: u64,
}

/// What all links carried.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Traffic {
    /// The nodes' links in order, then the uplinks.
    pub links: Vec<LinkTraffic>,
}

impl Traffic {
    /// Bytes that the nodes sent.
    pub fn sent_by_nodes(&self) -> u64 {
        self.links.iter().filter(|l| l.kind == LinkKind::Node).map(|l| l.sent).sum()
    }

    /// The counters now.
    pub(crate) fn read(state: &State) -> Result<Traffic, Error> {
        // Read by a process inside: `/proc/net` shows the network namespace of its reader.
        let argv = state.in_holder(state.in_netns(FABRIC, words(&["cat", "/proc/net/dev"])));
        Traffic::of(state, &parse(&System { lock: None }.run(&argv)?))
    }

    fn of(state: &State, counters: &BTreeMap<String, (u64, u64)>) -> Result<Traffic, Error> {
        let spec = &state.spec;
        let nodes = (1..=spec.nodes).map(|i| (spec.node_name(i), spec.node_name(i), LinkKind::Node));
        let leaves = if spec.leaves() > 1 { spec.leaves() } else { 0 };
        let uplinks = (1..=leaves).map(|i| (format!("leaf{i}"), format!("up{i}"), LinkKind::Uplink));
        let link = |(name, port, kind): (String, String, LinkKind)| {
            let &(received, transmitted) = counters.get(&port).ok_or_else(|| Error::Broken {
                name: spec.name.clone(),
                reason: format!("the switch port {port} is gone"),
            })?;
            // The port receives what a node sends, but transmits what a leaf sends up.
            let (sent, received) = match kind {
                LinkKind::Node => (received, transmitted),
                LinkKind::Uplink => (transmitted, received),
            };
            Ok(LinkTraffic { name, kind, sent, received })
        };
        Ok(Traffic { links: nodes.chain(uplinks).map(link).collect::<Result<_, Error>>()? })
    }

    /// What was carried since an earlier reading.
    pub(crate) fn since(&self, earlier: &Traffic) -> Traffic {
        let difference = |(now, before): (&LinkTraffic, &LinkTraffic)| LinkTraffic {
            sent: now.sent.saturating_sub(before.sent),
            received: now.received.saturating_sub(before.received),
            ..now.clone()
        };
        Traffic { links: self.links.iter().zip(&earlier.links).map(difference).collect() }
    }
}

/// Received and transmitted bytes of each interface, from the text of `/proc/net/dev`.
fn parse(text: &str) -> BTreeMap<String, (u64, u64)> {
    let line = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let mut numbers = numbers.split_whitespace().map(|n| n.parse::<u64>().ok());
        // Eight numbers of reception, then those of transmission; bytes are the first of each.
        Some((name.trim().to_string(), (numbers.next()??, numbers.nth(7)??)))
    };
    text.lines().filter_map(line).collect()
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<8} {:>16} {:>16}", "link", "sent [B]", "received [B]")?;
        for link in &self.links {
            write!(f, "\n{:<8} {:>16} {:>16}", link.name, link.sent, link.received)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, Spec};

    const TEXT: &str = "Inter-|   Receive                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
    n1:    1000      10    0    0    0     0          0         0      200       2    0    0    0     0       0          0
    n2:     200       2    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
   up1:      20       2    0    0    0     0          0         0      900      10    0    0    0     0       0          0
   up2:     900       2    0    0    0     0          0         0       20      10    0    0    0     0       0          0
";

    #[test]
    fn counters_are_seen_from_the_node_and_from_the_leaf() {
        let mut spec = Spec::new("t", 2);
        spec.nodes_per_leaf = Some(1);
        let state = State::new(spec, Mode::Root, "/x".into());
        let traffic = Traffic::of(&state, &parse(TEXT)).unwrap();
        let rows: Vec<_> = traffic.links.iter().map(|l| (l.name.as_str(), l.sent, l.received)).collect();
        assert_eq!(rows, [("n1", 1000, 200), ("n2", 200, 1000), ("leaf1", 900, 20), ("leaf2", 20, 900)]);
        assert_eq!(traffic.sent_by_nodes(), 1200);
        assert_eq!(traffic.since(&traffic).sent_by_nodes(), 0);
        assert!(traffic.to_string().contains("\nleaf1                 900               20"), "{traffic}");
        let missing = Traffic::of(&State::new(Spec::new("t", 3), Mode::Root, "/x".into()), &parse(TEXT)).unwrap_err();
        assert!(missing.to_string().contains("n3 is gone"), "{missing}");
    }
}
