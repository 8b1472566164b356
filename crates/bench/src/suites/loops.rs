//! How often each kernel of GPCNeT runs, by the original's defaults and scaling rules (version 1.3).

use record::Stop;
use spec::{Params, ReadParams};

/// Timed steps of the all-to-all canary, up to so many nodes.
const ALLTOALL_STEPS: (u32, u32) = (64, 64);
/// Steps between two looks at the stop signal of a congestor, up to so many nodes.
const CONGESTOR_STEPS: (u32, u32) = (512, 32);

/// Steps scaled down in proportion above a base number of nodes, at least one.
fn scaled((steps, base): (u32, u32), nodes: u32) -> u32 {
    if nodes > base { ((f64::from(steps) * f64::from(base) / f64::from(nodes)) as u32).max(1) } else { steps }
}

/// Limits that a user sets for all canaries alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    time_s: f64,
    rounds: u64,
    precision: Option<f64>,
    cut: u32,
}

impl Limits {
    pub fn read(params: &Params) -> Limits {
        Limits {
            time_s: params.time("time").secs(),
            rounds: params.count("rounds").max(1),
            precision: Some(params.share("precision")).filter(|p| *p > 0.0),
            cut: params.count("cut").clamp(1, u64::from(u32::MAX)) as u32,
        }
    }

    /// Of a measured kernel on `nodes` nodes.
    pub fn canary(&self, kernel: &str, nodes: u32) -> Stop {
        // Warm-up steps, timed steps, rings, measurements. GPCNeT counts a measurement as all its rings.
        let (warmup, steps, rings, measurements) = match kernel {
            "p2p-lat" | "get-lat" => (200, 200, 30, 10_000),
            "p2p-bw" | "put-bw" | "p2p-bw-sync" => (1, 8, 30, 10_000),
            "alltoall" | "a2a" => (1, scaled(ALLTOALL_STEPS, nodes), 1, 10_000),
            _ => (1, 200, 1, 100_000),
        };
        let cut = |n: u32| (n / self.cut).max(1);
        Stop {
            warmup: cut(warmup),
            steps: cut(steps),
            arrangements: rings,
            blocks: (u64::from(rings) * measurements).min(self.rounds),
            min_blocks: 1,
            time_s: Some(self.time_s),
            precision: self.precision,
            ..Stop::ONCE
        }
    }

    /// Of a background kernel on `nodes` nodes.
    pub fn congestor(&self, kernel: &str, size: u64, nodes: u32) -> Stop {
        let steps = match kernel {
            // Long reductions: the original's logarithmic rule for its deep-learning congestor.
            "allreduce" if size > 1 << 20 && nodes > 32 => (512.0 / (1.0 + (f64::from(nodes) / 32.0).ln())) as u32,
            _ => scaled(CONGESTOR_STEPS, nodes),
        };
        Stop { warmup: 1, steps: (steps / self.cut).max(1), blocks: u64::MAX, ..Stop::ONCE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn congestor_loops_follow_the_original() {
        let limits = Limits { time_s: 10.0, rounds: u64::MAX, precision: None, cut: 1 };
        for (nodes, a2a, deep) in [(32, 512, 512), (64, 256, 302), (376, 43, 147), (1880, 8, 100)] {
            assert_eq!(limits.congestor("a2a", 4096, nodes).steps, a2a, "{nodes}");
            assert_eq!(limits.congestor("allreduce", 6553600, nodes).steps, deep, "{nodes}");
        }
        assert_eq!(limits.congestor("p2p-incast", 4096, 20_000).steps, 1);
    }

    #[test]
    fn canary_loops_follow_the_original() {
        let limits = Limits { time_s: 10.0, rounds: u64::MAX, precision: None, cut: 1 };
        let lat = limits.canary("p2p-lat", 100);
        assert_eq!((lat.warmup, lat.steps, lat.arrangements, lat.blocks), (200, 200, 30, 300_000));
        assert_eq!(limits.canary("alltoall", 128).steps, 32);
        assert_eq!(limits.canary("allreduce", 128).blocks, 100_000);
    }
}
