//! A rest: time passes and nothing is sent.

use crate::kernel::{Evidence, Kernel, Pattern, Setup, Traits};
use comm::{Comm, Refusal};
use record::{Metric, Tells, Verdict};
use spec::{Card, Kind, Param, ReadParams, Time, Work};

/// The kernel.
pub const PAUSE: Kernel = Kernel {
    card: Card {
        name: "pause",
        about: "Lets time pass without loading the network",
        source: "Tailback",
        params: &[Param::new("time", Kind::Time, "1s", "how long")],
    },
    metric: Metric::Duration,
    min_ranks: 1,
    traits: Traits {
        tells: Tells::Nothing,
        evidence: Evidence::Nothing("nothing is sent"),
        tiny: &[("time", "1us")],
        ..Traits::PLAIN
    },
    start,
};

struct Pause<'c> {
    comm: &'c dyn Comm,
    time: Time,
}

fn start(setup: Setup<'_>) -> Result<Box<dyn Pattern + '_>, Refusal> {
    Ok(Box::new(Pause { comm: setup.comm, time: setup.params.time("time") }))
}

impl Pattern for Pause<'_> {
    fn arrange(&mut self, _: u64) {}
    fn step(&mut self) -> Option<Work> {
        self.comm.pause(self.time);
        Some(Work::NONE)
    }
    fn verify(&mut self) -> Verdict {
        Verdict::Right { checked: 0 }
    }
}
