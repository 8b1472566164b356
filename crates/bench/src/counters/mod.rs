//! Counters of the network, read on a node before and after a phase. To add a source: a file here and a line in [`SOURCES`].
//!
//! A source reads files below a root folder, which is `/` on a real machine and a made-up tree in tests. Nothing here is read
//! unless the program says so with [`Counters`]: a simulated machine counts for itself ([`comm::Comm::counters`]), and what the
//! host under it does is no part of the result.
//!
//! Not here: counters of switches, which no node can read, and counters that need rights or tools (`ethtool -S`, `perfquery`).

mod cxi;
mod files;
mod infiniband;
mod net;
mod netstat;
mod snmp;

use comm::Comm;
use std::path::{Path, PathBuf};

/// One entry of the table of sources.
pub struct Source {
    /// What names of its counters start with.
    pub name: &'static str,
    /// One line: what it counts and where it is read.
    pub about: &'static str,
    /// How its names end that tell how loaded a node's network is: bytes sent and time spent waiting.
    pub load: &'static [&'static str],
    /// Files as a machine that has it shows them, with at least one counter of each kind in `load`.
    pub example: &'static [(&'static str, &'static str)],
    /// Reads all of its counters below a root folder. What is not there or cannot be read is left out.
    pub read: fn(&Path) -> Vec<Reading>,
}

/// A counter's value at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its name with its source, e.g. `net.eth0.tx_bytes`.
    pub name: String,
    /// Its value.
    pub value: u64,
    /// It wraps to 0 at two to this power; 64 for one that never does in practice.
    pub bits: u32,
}

/// Every source of a real machine, in the order of the record.
pub const SOURCES: &[Source] = &[net::NET, infiniband::INFINIBAND, cxi::CXI, snmp::SNMP, netstat::NETSTAT];

/// What a simulated machine's counters are called, and which of them tell of load.
const MACHINE: &str = "machine";
const MACHINE_LOAD: &[&str] = &[".tx_bytes", ".tx_stalled_ps"];

/// Which counters are read around every phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Counters {
    /// None.
    #[default]
    Off,
    /// Those that the machine itself keeps: a simulated one.
    Machine,
    /// Those of the host, from [`SOURCES`] below this folder: `/`, or a made-up tree.
    Host(PathBuf),
}

impl Counters {
    /// Reads them now, on this rank's node.
    pub fn read(&self, comm: &dyn Comm) -> Vec<Reading> {
        match self {
            Counters::Off => Vec::new(),
            Counters::Machine => {
                let named = |(name, value)| Reading { name: format!("{MACHINE}.{name}"), value, bits: u64::BITS };
                comm.counters().into_iter().map(named).collect()
            }
            Counters::Host(root) => SOURCES.iter().flat_map(|source| (source.read)(root)).collect(),
        }
    }
}

/// Whether a counter of this name tells how loaded a node's network is. The loopback interface is no network.
pub fn tells_load(name: &str) -> bool {
    let sources = SOURCES.iter().map(|s| (s.name, s.load)).chain([(MACHINE, MACHINE_LOAD)]);
    let mut ends = sources.filter(|(source, _)| name.split('.').next() == Some(source)).flat_map(|(_, ends)| ends);
    ends.any(|end| name.ends_with(end)) && !name.starts_with("net.lo.")
}

/// How much each counter grew, in the order of the second reading. One that was not there before is left out: nobody knows where it
/// started.
pub fn growth(before: &[Reading], after: &[Reading]) -> Vec<(String, u64)> {
    let before: std::collections::BTreeMap<&str, u64> = before.iter().map(|r| (r.name.as_str(), r.value)).collect();
    let grown = |now: &Reading| Some((now.name.clone(), grew(*before.get(now.name.as_str())?, now)));
    after.iter().filter_map(grown).collect()
}

/// A counter that is smaller than before has wrapped if it was in the upper half of its range, and was set to 0 if not.
fn grew(before: u64, now: &Reading) -> u64 {
    // In 128 bits, because the range of a counter of 64 bits does not fit into 64.
    let range = 1u128 << now.bits;
    match now.value.checked_sub(before) {
        Some(growth) => growth,
        None if u128::from(before) >= range / 2 => (range - u128::from(before) + u128::from(now.value)) as u64,
        None => now.value,
    }
}

#[cfg(test)]
mod tests {
    use super::files::tree::Tree;
    use super::*;

    fn reading(name: &str, value: u64, bits: u32) -> Reading {
        Reading { name: name.into(), value, bits }
    }

    #[test]
    fn growth_survives_wraps_and_resets() {
        let before = [
            reading("plain", 5, 64),
            reading("wraps", (1 << 32) - 10, 32),
            reading("wide", (1 << 56) - 1, 56),
            reading("widest", u64::MAX, 64),
            reading("reset", 1000, 32),
            reading("gone", 1, 64),
        ];
        let after = [
            reading("plain", 7, 64),
            reading("wraps", 5, 32),
            reading("wide", 0, 56),
            reading("widest", 1, 64),
            reading("reset", 3, 32),
            reading("new", 9, 64),
        ];
        let want = [("plain", 2), ("wraps", 15), ("wide", 1), ("widest", 2), ("reset", 3)];
        assert_eq!(growth(&before, &after), want.map(|(name, x)| (name.to_string(), x)));
    }

    /// It reads its own example, under names of its own, and nothing where there is nothing.
    fn check(source: &Source) -> Result<(), String> {
        let tree = Tree::new(&format!("every-{}", source.name), source.example);
        let readings = (source.read)(&tree.0);
        if readings.is_empty() {
            return Err("reads nothing of its example".into());
        }
        let own = |r: &&Reading| r.name.split('.').next() == Some(source.name) && (1..=64).contains(&r.bits);
        if let Some(other) = readings.iter().find(|r| !own(r)) {
            return Err(format!("{other:?} is not its own"));
        }
        let names: std::collections::BTreeSet<&str> = readings.iter().map(|r| r.name.as_str()).collect();
        if names.len() < readings.len() {
            return Err("gives one name to two counters".into());
        }
        let dead = source.load.iter().find(|end| !names.iter().any(|name| name.ends_with(**end)));
        dead.map_or(Ok(()), |end| Err(format!("nothing in its example ends with {end}")))?;
        match (source.read)(Path::new("/nonexistent")).first() {
            Some(made_up) => Err(format!("{made_up:?} comes from nowhere")),
            None => Ok(()),
        }
    }

    #[test]
    fn every_source_reads_what_it_says() {
        for source in SOURCES {
            assert_eq!(check(source), Ok(()), "{}", source.name);
        }
    }

    #[test]
    fn sources_that_are_wrong_are_caught() {
        const FILE: &[(&str, &str)] = &[("a", "1\n")];
        fn one(root: &Path) -> Vec<Reading> {
            files::number(&root.join("a")).map(|value| reading("made.a", value, 64)).into_iter().collect()
        }
        let sound = Source { name: "made", about: "", load: &[], example: FILE, read: one };
        assert_eq!(check(&sound), Ok(()));
        let wrong = [
            ("reads nothing", Source { read: |_| Vec::new(), ..sound }),
            ("reads nothing", Source { example: &[("b", "1\n")], ..sound }),
            ("not its own", Source { name: "other", ..sound }),
            ("not its own", Source { read: |_| vec![reading("made.a", 1, 65)], ..sound }),
            ("two counters", Source { read: |root| [one(root), one(root)].concat(), ..sound }),
            ("ends with .b", Source { load: &[".b"], ..sound }),
            ("from nowhere", Source { read: |_| vec![reading("made.a", 1, 64)], ..sound }),
        ];
        for (what, source) in wrong {
            let said = check(&source).expect_err(what);
            assert!(said.contains(what), "{what}: {said}");
        }
    }

    #[test]
    fn load_is_told_by_bytes_sent_and_by_waiting() {
        for name in
            ["net.eth0.tx_bytes", "ib.mlx5_0.1.port_xmit_wait", "cxi.cxi0.hni_tx_paused_0", "machine.nic0.tx_bytes"]
        {
            assert!(tells_load(name), "{name}");
        }
        for name in ["net.lo.tx_bytes", "net.eth0.rx_dropped", "snmp.Tcp.OutSegs", "other.nic0.tx_bytes"] {
            assert!(!tells_load(name), "{name}");
        }
    }
}
