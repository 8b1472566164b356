//! The kernel's IP, TCP and UDP, from `/proc/net/snmp`: segments, retransmissions, errors, discards.

use super::files::pairs;
use super::{Reading, Source};
use std::path::Path;

/// The source.
pub(super) const SNMP: Source = Source {
    name: "snmp",
    about: "Segments, retransmissions, errors and discards of the kernel's IP, TCP and UDP: /proc/net/snmp",
    load: &[],
    example: &[(
        "proc/net/snmp",
        "Ip: Forwarding InDiscards\nIp: 1 2\nTcp: RtoMin MaxConn CurrEstab InSegs RetransSegs\nTcp: 200 -1 7 80 9\n\
         UdpLite: InErrors\nUdpLite: 5\n",
    )],
    read,
};

/// What grows and tells of the network; the file also holds settings and numbers of the moment (`CurrEstab`).
const READ: [(&str, &[&str]); 3] = [
    ("Ip", &["InDiscards", "OutDiscards", "ReasmFails"]),
    ("Tcp", &["InSegs", "OutSegs", "RetransSegs", "InErrs", "OutRsts", "AttemptFails", "EstabResets"]),
    ("Udp", &["InDatagrams", "OutDatagrams", "InErrors", "RcvbufErrors", "SndbufErrors"]),
];

fn read(root: &Path) -> Vec<Reading> {
    // `/proc/net` is that of the process's own network namespace. The kernel keeps these as `unsigned long`.
    let found = pairs(&root.join("proc/net/snmp"), &READ);
    found.into_iter().map(|(name, value)| Reading { name: format!("snmp.{name}"), value, bits: usize::BITS }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::files::tree::Tree;
    use super::*;

    #[test]
    fn retransmissions_are_found_by_name() {
        let tree = Tree::new("snmp", SNMP.example);
        let want = [("Ip.InDiscards", 2), ("Tcp.InSegs", 80), ("Tcp.RetransSegs", 9)];
        assert_eq!(tree.read(&SNMP), want.map(|(n, x)| (format!("snmp.{n}"), x)));
    }
}
