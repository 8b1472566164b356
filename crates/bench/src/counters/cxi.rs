//! Slingshot: the Cassini NIC's counters in `/sys/class/cxi/*/device/telemetry` and those of its retry handler in `/run/cxi/*`.
//!
//! A file holds `VALUE@SECONDS.NANOSECONDS`. There are about 1,700 of them for each NIC, most of them of its inner parts, so only
//! those that tell of the network are read: the groups that HPE's Cassini counter guide and Open MPI's `hwpc_cxi` call performance
//! and error statistics.

use super::files::{names, number};
use super::{Reading, Source};
use std::path::Path;

/// The source.
pub(super) const CXI: Source = Source {
    name: "cxi",
    about: "Octets, packets, pauses, blocked cycles, retries and timeouts of Slingshot NICs: /sys/class/cxi/*/device/telemetry",
    load: &[
        ".hni_sts_tx_ok_octets",
        ".parbs_tarb_pi_posted_blocked_cnt",
        ".hni_tx_paused_0",
        ".hni_tx_paused_1",
        ".hni_rx_paused_0",
        ".hni_rx_paused_1",
    ],
    example: &[
        ("sys/class/cxi/cxi0/device/telemetry/hni_sts_tx_ok_octets", "123@1700000000.000000001\n"),
        ("sys/class/cxi/cxi0/device/telemetry/hni_tx_paused_0", "4@1700000000.000000002\n"),
        ("sys/class/cxi/cxi0/device/telemetry/hni_tx_paused_1", "5@1700000000.000000002\n"),
        ("sys/class/cxi/cxi0/device/telemetry/hni_rx_paused_0", "6@1700000000.000000002\n"),
        ("sys/class/cxi/cxi0/device/telemetry/hni_rx_paused_1", "7@1700000000.000000002\n"),
        ("sys/class/cxi/cxi0/device/telemetry/parbs_tarb_pi_posted_blocked_cnt", "8@1700000000.000000002\n"),
        ("sys/class/cxi/cxi0/device/telemetry/atu_cache_hit_0", "9@1700000000.000000003\n"),
        ("sys/class/cxi/cxi0/device/telemetry/ALL-in-binary", "\u{1}\u{2}"),
        ("run/cxi/cxi0/spt_timeouts", "5\n"),
        ("run/cxi/cxi0/sct_in_use", "6\n"),
        ("run/cxi/cxi0/reset_counters", "0\n"),
    ],
    read,
};

/// Counters of the chip are 56 bits wide (`cxi_stat` of HPE's `libcxi`).
const BITS: u32 = 56;

/// How the names that are read start.
const READ: [&str; 15] = [
    "hni_sts_tx_ok_octets",
    "hni_sts_rx_ok_octets",
    "hni_pkts_sent_by_tc_",
    "hni_pkts_recv_by_tc_",
    "hni_tx_paused_",
    "hni_rx_paused_",
    "hni_discard_cntr",
    "hni_llr_tx_replay_event",
    "hni_llr_rx_replay_event",
    "hni_pcs_uncorrected_cw",
    "parbs_tarb_pi_",
    "pct_no_",
    "pct_retry_",
    "pct_spt_timeouts",
    "pct_sct_timeouts",
];

/// The retry handler also shows how many connections are in use now, and a file that clears everything when written.
fn counts(name: &str) -> bool {
    !name.ends_with("_in_use") && !name.starts_with("reset")
}

fn read(root: &Path) -> Vec<Reading> {
    let devices = root.join("sys/class/cxi");
    let mut all = Vec::new();
    for device in names(&devices) {
        let telemetry = devices.join(&device).join("device/telemetry");
        for counter in names(&telemetry).iter().filter(|c| READ.iter().any(|start| c.starts_with(start))) {
            if let Some(value) = number(&telemetry.join(counter)) {
                all.push(Reading { name: format!("cxi.{device}.{counter}"), value, bits: BITS });
            }
        }
        let handler = root.join("run/cxi").join(&device);
        for counter in names(&handler).iter().filter(|c| counts(c)) {
            if let Some(value) = number(&handler.join(counter)) {
                all.push(Reading { name: format!("cxi.{device}.rh:{counter}"), value, bits: u64::BITS });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::files::tree::Tree;
    use super::*;

    #[test]
    fn the_network_is_read_and_the_inner_parts_are_not() {
        let tree = Tree::new("cxi", CXI.example);
        let want = [
            ("hni_rx_paused_0", 6),
            ("hni_rx_paused_1", 7),
            ("hni_sts_tx_ok_octets", 123),
            ("hni_tx_paused_0", 4),
            ("hni_tx_paused_1", 5),
            ("parbs_tarb_pi_posted_blocked_cnt", 8),
            ("rh:spt_timeouts", 5),
        ];
        assert_eq!(tree.read(&CXI), want.map(|(n, x)| (format!("cxi.cxi0.{n}"), x)));
        assert_eq!((CXI.read)(&tree.0)[0].bits, 56);
    }
}
