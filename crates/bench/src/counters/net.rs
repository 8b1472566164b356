//! Network interfaces, from `/proc/net/dev` or `/sys/class/net/*/statistics`.
//!
//! The kernel shows the same numbers in both places. `/sys` shows the interfaces of the namespace in which it was mounted, which in a
//! container or on an emulated cluster may be another one than the process's own; `/proc/net` is always the process's own, and one
//! file instead of dozens. So it goes first.

use super::files::{names, number};
use super::{Reading, Source};
use std::path::Path;

/// The source.
pub(super) const NET: Source = Source {
    name: "net",
    about: "Bytes, packets, drops and errors of every network interface: /proc/net/dev or /sys/class/net/*/statistics",
    load: &[".tx_bytes"],
    example: &[("proc/net/dev", "Inter-| Receive | Transmit\n  eth0: 5 6 7 8 9 0 0 0 15 16 17 18 19 0 0 0\n")],
    read,
};

/// What is read, with its column in `/proc/net/dev` (`dev_seq_printf_stats` in the kernel).
const READ: [(&str, usize); 10] = [
    ("tx_bytes", 8),
    ("rx_bytes", 0),
    ("tx_packets", 9),
    ("rx_packets", 1),
    ("tx_errors", 10),
    ("rx_errors", 2),
    ("tx_dropped", 11),
    ("rx_dropped", 3),
    ("tx_fifo_errors", 12),
    ("rx_fifo_errors", 4),
];

fn read(root: &Path) -> Vec<Reading> {
    match std::fs::read_to_string(root.join("proc/net/dev")) {
        Ok(text) => from_table(&text),
        Err(_) => from_folders(&root.join("sys/class/net")),
    }
}

fn reading(interface: &str, counter: &str, value: u64) -> Reading {
    Reading { name: format!("net.{interface}.{counter}"), value, bits: u64::BITS }
}

fn from_table(text: &str) -> Vec<Reading> {
    let mut interfaces: Vec<(&str, Vec<u64>)> = Vec::new();
    for line in text.lines() {
        // The lines of headings have no colon.
        let Some((name, numbers)) = line.split_once(':') else { continue };
        let numbers = numbers.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        interfaces.push((name.trim(), numbers));
    }
    interfaces.sort();
    let counters = |(name, numbers): &(&str, Vec<u64>)| {
        let (name, numbers) = (name.to_string(), numbers.clone());
        READ.into_iter().filter_map(move |(c, column)| numbers.get(column).map(|x| reading(&name, c, *x)))
    };
    interfaces.iter().flat_map(counters).collect()
}

fn from_folders(folder: &Path) -> Vec<Reading> {
    let mut all = Vec::new();
    for interface in names(folder) {
        let statistics = folder.join(&interface).join("statistics");
        let value = |counter: &str| number(&statistics.join(counter));
        all.extend(READ.iter().filter_map(|(c, _)| value(c).map(|x| reading(&interface, c, x))));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::files::tree::Tree;
    use super::*;

    #[test]
    fn interfaces_are_read_in_order() {
        let tree = Tree::new(
            "net",
            &[
                ("sys/class/net/lo/statistics/tx_bytes", "1\n"),
                ("sys/class/net/eth0/statistics/tx_bytes", "10\n"),
                ("sys/class/net/eth0/statistics/rx_dropped", "3\n"),
                ("sys/class/net/eth0/statistics/collisions", "4\n"),
                ("sys/class/net/bonding_masters", "bond0\n"),
            ],
        );
        let want = [("net.eth0.tx_bytes", 10), ("net.eth0.rx_dropped", 3), ("net.lo.tx_bytes", 1)];
        assert_eq!(tree.read(&NET), want.map(|(n, x)| (n.to_string(), x)));
    }

    #[test]
    fn the_process_s_own_namespace_goes_first() {
        let text = "Inter-|   Receive                            |  Transmit\n\
                     face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n\
                     \x20   lo:     100      1    0    0    0     0          0         0      101       2    0    0    0     0       0          0\n\
                     veth0: 5 6 7 8 9 0 0 0 15 16 17 18 19 0 0 0\n";
        let tree = Tree::new("dev", &[("proc/net/dev", text), ("sys/class/net/eth0/statistics/tx_bytes", "10\n")]);
        let all = tree.read(&NET);
        let value = |name: &str| all.iter().find(|(n, _)| n == name).map(|(_, x)| *x);
        assert_eq!(value("net.eth0.tx_bytes"), None);
        assert_eq!([value("net.lo.rx_bytes"), value("net.lo.tx_packets")], [Some(100), Some(2)]);
        let veth =
            ["rx_dropped", "rx_fifo_errors", "tx_bytes", "tx_packets", "tx_errors", "tx_dropped", "tx_fifo_errors"];
        assert_eq!(veth.map(|c| value(&format!("net.veth0.{c}")).unwrap()), [8, 9, 15, 16, 17, 18, 19]);
    }
}
