//! What a user sets for all kernels of a suite alike. How often a kernel runs by itself, the kernel says: GPCNeT's defaults and scaling
//! rules are in `kernels/`.

use crate::kernel::Loops;
use crate::kernels::called;
use record::Stop;
use spec::{Params, ReadParams};

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
        let kernel = called(kernel).expect("checked when it was read").kernel;
        let Loops { warmup, steps, arrangements, measurements } = kernel.traits.measured;
        let cut = |n: u32| (n / self.cut).max(1);
        Stop {
            warmup: cut(warmup),
            steps: cut(steps.on(nodes)),
            arrangements,
            blocks: (u64::from(arrangements) * measurements).min(self.rounds),
            min_blocks: 1,
            time_s: Some(self.time_s),
            precision: self.precision,
            ..Stop::ONCE
        }
    }

    /// Of a background kernel that takes so many steps between two looks at the stop signal.
    pub fn congestor(&self, steps: u32) -> Stop {
        // Without an end of its own: the measured jobs of the phase, a time limit or the user stop it.
        Stop { warmup: 1, steps: (steps / self.cut).max(1), blocks: u64::MAX, ..Stop::ONCE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canary_loops_follow_the_original() {
        let limits = Limits { time_s: 10.0, rounds: u64::MAX, precision: None, cut: 1 };
        let lat = limits.canary("p2p-lat", 100);
        assert_eq!((lat.warmup, lat.steps, lat.arrangements, lat.blocks), (200, 200, 30, 300_000));
        assert_eq!(limits.canary("alltoall", 128).steps, 32);
        assert_eq!(limits.canary("allreduce", 128).blocks, 100_000);
    }
}
