//! What a user sets for all kernels of a suite alike. How often a kernel runs by itself, the kernel says: GPCNeT's defaults and scaling
//! rules are in `kernels/`.

use crate::kernel::{LEAST_STEPS, Loops};
use crate::kernels::called;
use record::{Pulse, Stop};
use spec::{Params, ReadParams};

/// Limits that a user sets for all canaries alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    time_s: f64,
    rounds: u64,
    precision: Option<f64>,
    cut: u32,
    placements: u32,
    pulse: Option<Pulse>,
}

impl Limits {
    pub fn read(params: &Params) -> Limits {
        Limits {
            time_s: params.time("time").secs(),
            rounds: params.count("rounds").max(1),
            precision: Some(params.share("precision")).filter(|p| *p > 0.0),
            cut: params.count("cut").clamp(1, u64::from(u32::MAX)) as u32,
            placements: 1,
            pulse: None,
        }
    }

    /// The same time, rounds and rings, shared among so many placements.
    pub fn shared(self, placements: u32) -> Limits {
        Limits { placements, ..self }
    }

    /// The same, with congestors that load in bursts.
    pub fn pulsed(self, pulse: Option<Pulse>) -> Limits {
        Limits { pulse, ..self }
    }

    /// Of a measured kernel on `nodes` nodes.
    pub fn canary(&self, kernel: &str, nodes: u32) -> Stop {
        let kernel = called(kernel).expect("checked when it was read").kernel;
        let Loops { warmup, steps, arrangements, measurements } = kernel.traits.measured;
        let cut = |n: u32, least: u32| (n / self.cut).max(least.min(n));
        let rounds = self.rounds.div_ceil(self.placements.into());
        let arrangements = arrangements.div_ceil(self.placements).min(rounds.try_into().unwrap_or(u32::MAX));
        // Whole turns of the rings, so that a test covers the same ones alone and under load.
        let turns = (rounds / u64::from(arrangements)).min(measurements);
        Stop {
            warmup: cut(warmup, 1),
            steps: cut(steps.on(nodes), LEAST_STEPS),
            arrangements,
            blocks: turns * u64::from(arrangements),
            min_blocks: arrangements.into(),
            time_s: Some(self.time_s / f64::from(self.placements)),
            precision: self.precision,
            ..Stop::ONCE
        }
    }

    /// What a reader must know of it.
    pub fn note(&self) -> Option<String> {
        let cut = self.cut;
        let say = || {
            format!(
                "cut {cut}: warm-ups and steps of a block are divided by {cut} ({LEAST_STEPS} steps stay); a sample is the original's"
            )
        };
        (cut > 1).then(say)
    }

    /// Of a background kernel that takes so many steps between two looks at the stop signal.
    pub fn congestor(&self, steps: u32) -> Stop {
        // Without an end of its own: the measured jobs of the phase, a time limit or the user stop it.
        Stop { warmup: 1, steps: (steps / self.cut).max(1), blocks: u64::MAX, pulse: self.pulse, ..Stop::ONCE }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canary_loops_follow_the_original() {
        let limits = Limits { time_s: 10.0, rounds: u64::MAX, precision: None, cut: 1, placements: 1, pulse: None };
        let lat = limits.canary("p2p-lat", 100);
        assert_eq!((lat.warmup, lat.steps, lat.arrangements, lat.blocks), (200, 200, 30, 300_000));
        assert_eq!(limits.canary("alltoall", 128).steps, 32);
        assert_eq!(limits.canary("allreduce", 128).blocks, 100_000);
    }

    #[test]
    fn placements_share_time_rounds_and_rings() {
        let limits = Limits { time_s: 10.0, rounds: 100, precision: None, cut: 1, placements: 1, pulse: None };
        for (placements, rings, blocks) in [(1, 30, 90), (7, 5, 15), (30, 1, 4), (100, 1, 1)] {
            let stop = limits.shared(placements).canary("p2p-lat", 10);
            assert_eq!((stop.arrangements, stop.blocks), (rings, blocks), "{placements}");
            assert_eq!((stop.time_s, stop.min_blocks), (Some(10.0 / f64::from(placements)), rings.into()));
        }
    }

    #[test]
    fn a_cut_leaves_a_sample_as_it_is() {
        let limits = Limits { time_s: 10.0, rounds: 30, precision: None, cut: 10, placements: 1, pulse: None };
        let steps = ["p2p-lat", "p2p-bw-sync", "put-bw"].map(|name| limits.canary(name, 10).steps);
        assert_eq!(steps, [20, 8, 8]);
        assert_eq!(Limits { cut: 1000, ..limits }.canary("p2p-lat", 10).steps, LEAST_STEPS);
    }
}
