//! The kernel's extended TCP and IP counters, from `/proc/net/netstat`: timeouts, kinds of loss, pruned queues, congestion marks.

use super::files::pairs;
use super::{Reading, Source};
use std::path::Path;

/// The source.
pub(super) const NETSTAT: Source = Source {
    name: "netstat",
    about: "Timeouts, losses, pruned queues and congestion marks of the kernel's TCP and IP: /proc/net/netstat",
    load: &[],
    example: &[(
        "proc/net/netstat",
        "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 1 22\nIpExt: InOctets InCEPkts\nIpExt: 3 44\n",
    )],
    read,
};

/// Named as in the kernel's `snmp_counter` documentation.
const READ: [(&str, &[&str]); 2] = [
    (
        "TcpExt",
        &[
            "TCPTimeouts",
            "TCPSpuriousRTOs",
            "TCPFastRetrans",
            "TCPSlowStartRetrans",
            "TCPLostRetransmit",
            "TCPLossProbes",
            "TCPSynRetrans",
            "TCPRetransFail",
            "TCPDSACKRecv",
            "TCPOFOQueue",
            "TCPBacklogDrop",
            "TCPRcvQDrop",
            "TCPToZeroWindowAdv",
            "TCPZeroWindowDrop",
            "PruneCalled",
            "RcvPruned",
            "OfoPruned",
            "ListenOverflows",
            "ListenDrops",
            "TCPDeliveredCE",
        ],
    ),
    ("IpExt", &["InCEPkts", "InCsumErrors", "ReasmOverlaps"]),
];

fn read(root: &Path) -> Vec<Reading> {
    let found = pairs(&root.join("proc/net/netstat"), &READ);
    let named = |(name, value)| Reading { name: format!("netstat.{name}"), value, bits: usize::BITS };
    found.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::super::files::tree::Tree;
    use super::*;

    #[test]
    fn timeouts_and_marks_are_found_by_name() {
        let tree = Tree::new("netstat", NETSTAT.example);
        let want = [("TcpExt.TCPTimeouts", 22), ("IpExt.InCEPkts", 44)];
        assert_eq!(tree.read(&NETSTAT), want.map(|(n, x)| (format!("netstat.{n}"), x)));
    }
}
