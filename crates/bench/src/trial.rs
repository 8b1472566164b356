//! Short trials: what a small problem of a kernel takes at this site, so that a plan can say how long a large one will.

use crate::kernel::{Arithmetic, Setup};
use crate::kernels::{Called, called};
use crate::stopwatch::Stopwatch;
use comm::{Comm, Reduce};
use record::{Payload, Verdict};
use spec::Params;

/// Which ranks try a kernel together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// Each one for itself, all at the same time.
    Each,
    /// The first so many.
    First(usize),
}

/// A kernel to be tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Try {
    /// Its name.
    pub kernel: &'static str,
    /// Its parameters: a small problem.
    pub params: Params,
    /// By whom.
    pub among: Among,
}

/// What it took, in seconds of the slowest rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What was tried.
    pub of: Try,
    /// Until it could begin.
    pub start: f64,
    /// Preparing a block.
    pub before: f64,
    /// One step.
    pub step: f64,
    /// Looking at its result.
    pub after: f64,
}

/// Wrong data in a trial: what follows on this machine cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongData {
    /// The kernel that was tried.
    pub kernel: &'static str,
}

impl std::fmt::Display for WrongData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "WRONG DATA in a trial of {}, before anything was measured: what it computed or received is not what it should be; \
             --estimate no runs the tests without a trial and tells what each of them gets wrong",
            self.kernel
        )
    }
}

/// Tries kernels one after the other. Collective, and the same on every rank; a kernel that refuses anywhere is left out.
pub fn run(world: &dyn Comm, tries: &[Try], payload: Payload) -> Result<Vec<Trial>, WrongData> {
    let arithmetic = Arithmetic::on(world);
    let alone = tries.iter().any(|of| of.among == Among::Each);
    let own = if alone { world.split(Some(world.rank() as u32), 0) } else { None };
    let one = |of: &Try| {
        let called = called(of.kernel).ok()?;
        let some = match of.among {
            Among::First(ranks) => world.split((world.rank() < ranks).then_some(0), 0),
            Among::Each => None,
        };
        let group = if of.among == Among::Each { own.as_deref() } else { some.as_deref() };
        // The first time a library is loaded, threads are made and memory is touched; the second time counts.
        let twice = [(); 2].map(|()| once(world, group, of, &called, (payload, arithmetic)));
        let wrong = twice.iter().flatten().any(|times| times[4] > 0.0);
        let [start, before, step, after, _] = twice[1]?;
        Some(if wrong {
            Err(WrongData { kernel: of.kernel })
        } else {
            Ok(Trial { of: of.clone(), start, before, step, after })
        })
    };
    tries.iter().filter_map(one).collect()
}

/// Seconds of the slowest rank until it could begin, before a step, of it and after it; the fifth number says whether anything was wrong.
fn once(
    world: &dyn Comm,
    group: Option<&dyn Comm>,
    of: &Try,
    called: &Called,
    (payload, arithmetic): (Payload, Arithmetic),
) -> Option<[f64; 5]> {
    let params = called.resolve(&of.params);
    let watch = Stopwatch::new(world);
    let [mut start, mut before, mut step, mut after, mut refused, mut wrong] = [0.0; 6];
    world.settle(&mut [], Reduce::Max);
    let mut pattern = None;
    if let (Some(group), Ok(params)) = (group, &params) {
        let lap = watch.start();
        let setup = Setup { payload: payload.carried(), ..Setup::new(group, params, arithmetic) };
        pattern = (called.kernel.start)(setup).ok();
        start = lap.seconds();
    }
    if pattern.is_none() && (group.is_some() || params.is_err()) {
        refused = 1.0;
    }
    let mut most = [refused];
    world.settle(&mut most, Reduce::Max);
    if most[0] > 0.0 {
        return None;
    }
    if let Some(pattern) = &mut pattern {
        let lap = watch.start();
        pattern.arrange(0);
        pattern.renew(1);
        before = lap.seconds();
    }
    world.settle(&mut [], Reduce::Max);
    if let Some(pattern) = &mut pattern {
        let lap = watch.start();
        let _ = pattern.step();
        step = lap.seconds();
        let lap = watch.start();
        if let Verdict::Wrong { .. } = pattern.verify() {
            wrong = 1.0;
        }
        after = lap.seconds();
    }
    let mut times = [start, before, step, after, wrong];
    world.settle(&mut times, Reduce::Max);
    Some(times)
}
