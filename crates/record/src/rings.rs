//! Published HPC Challenge measurements of ping-pongs and rings, each with its source, exactly as printed.
//!
//! Not here: HPL, PTRANS, STREAM and RandomAccess of these systems, because those runs had HPL solve a tiny system on four ranks and
//! kept STREAM in the cache. They say what a ring leaves of a ping-pong, and nothing about balance.

use std::sync::OnceLock;

const FILE: &str = include_str!("../data/hpcc_rings.csv");
const HEADER: &str = "source,system,nodes,ppn,pingpong_avg_GB/s,natural_ring_GB/s,random_ring_GB/s,pingpong_avg_us,natural_ring_us,random_ring_us";

/// What one system did.
#[derive(Clone, Debug, PartialEq)]
pub struct Rings {
    /// Where it is printed.
    pub source: &'static str,
    /// Its name.
    pub system: &'static str,
    /// Nodes of the run.
    pub nodes: u32,
    /// Ranks per node of the run.
    pub ranks_per_node: u32,
    /// Bandwidth in bytes per second, of a process: average ping-pong, natural ring, random ring.
    pub bandwidth: [f64; 3],
    /// Latency in seconds, of the same.
    pub latency: [f64; 3],
}

/// All of them, in the order of the file.
pub fn published() -> &'static [Rings] {
    static ALL: OnceLock<Vec<Rings>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut lines = FILE.lines();
        assert_eq!(lines.next(), Some(HEADER), "hpcc_rings.csv has another header");
        lines.map(|line| read(line).unwrap_or_else(|| panic!("hpcc_rings.csv: cannot read `{line}`"))).collect()
    })
}

fn read(line: &'static str) -> Option<Rings> {
    let cells: Vec<&'static str> = line.split(',').collect();
    let numbers: Vec<f64> = cells.get(4..)?.iter().map(|c| c.parse().ok()).collect::<Option<_>>()?;
    let [b0, b1, b2, l0, l1, l2] = numbers[..] else { return None };
    Some(Rings {
        source: cells[0],
        system: cells[1],
        nodes: cells[2].parse().ok()?,
        ranks_per_node: cells[3].parse().ok()?,
        bandwidth: [b0, b1, b2].map(|x| x * 1e9),
        latency: [l0, l1, l2].map(|x| x * 1e-6),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read_and_has_a_source() {
        let all = published();
        assert_eq!(all.len(), FILE.lines().count() - 1);
        assert!(all.iter().all(|r| r.source.starts_with("https://") && r.nodes > 1 && r.ranks_per_node > 0));
        // Rings load the network everywhere at once, so they cannot beat a ping-pong by much.
        assert!(all.iter().all(|r| r.bandwidth[2] <= r.bandwidth[1] && r.bandwidth[1] < r.bandwidth[0]));
        assert!(all.iter().flat_map(|r| r.latency).all(|s| (1e-7..1e-4).contains(&s)));
    }
}
