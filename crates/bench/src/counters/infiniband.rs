//! InfiniBand and RoCE ports, from `/sys/class/infiniband/*/ports/*/{counters,hw_counters}`.
//!
//! The port counters of the InfiniBand specification stay at their largest value instead of wrapping, so a smaller value always means
//! that somebody cleared them. Drivers keep values of `hw_counters` for `lifespan` milliseconds (10 by default): a phase shorter than
//! that may miss its end.

use super::files::{names, number};
use super::{Reading, Source};
use std::path::Path;

/// The source.
pub(super) const INFINIBAND: Source = Source {
    name: "ib",
    about: "Data, waits, discards and retransmissions of InfiniBand and RoCE ports: /sys/class/infiniband/*/ports/*",
    load: &[".port_xmit_data_bytes", ".port_xmit_wait"],
    example: &[
        ("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "100\n"),
        ("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_wait", "7\n"),
        ("sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_discards", "N/A (no PMA)\n"),
        ("sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err", "2\n"),
        ("sys/class/infiniband/mlx5_0/ports/1/hw_counters/lifespan", "10\n"),
        ("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"),
    ],
    read,
};

/// These count words of four bytes, by the specification (PortXmitData, PortRcvData).
const WORDS: [&str; 2] = ["port_xmit_data", "port_rcv_data"];
/// A setting among the counters.
const SETTING: &str = "lifespan";

fn read(root: &Path) -> Vec<Reading> {
    let devices = root.join("sys/class/infiniband");
    let mut all = Vec::new();
    for device in names(&devices) {
        let ports = devices.join(&device).join("ports");
        for port in names(&ports) {
            for folder in ["counters", "hw_counters"] {
                let folder = ports.join(&port).join(folder);
                for counter in names(&folder).iter().filter(|c| *c != SETTING) {
                    let Some(value) = number(&folder.join(counter)) else { continue };
                    let (suffix, scale) = if WORDS.contains(&counter.as_str()) { ("_bytes", 4) } else { ("", 1) };
                    let name = format!("ib.{device}.{port}.{counter}{suffix}");
                    // 64 bits whatever their width: port counters do not wrap, so a smaller value must be taken for a reset.
                    all.push(Reading { name, value: value.saturating_mul(scale), bits: u64::BITS });
                }
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
    fn words_become_bytes_and_settings_are_no_counters() {
        let tree = Tree::new("ib", INFINIBAND.example);
        let want = [("port_xmit_data_bytes", 400), ("port_xmit_wait", 7), ("local_ack_timeout_err", 2)];
        assert_eq!(tree.read(&INFINIBAND), want.map(|(n, x)| (format!("ib.mlx5_0.1.{n}"), x)));
    }
}
