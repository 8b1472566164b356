//! How long a fit will take, and how far it is.

use crate::progress::now;
use spec::about_seconds;
use std::time::{Duration, Instant};

/// Simulations of a fit, from easy ones to hard ones: those of the ten hidden machines and of the public data took so many.
const USUAL: (f64, f64) = (100.0, 500.0);
/// How often it says how far it is.
const EVERY: Duration = Duration::from_secs(10);

/// What is said of a fit while it lasts.
pub struct Forecast {
    begun: Instant,
    said: Option<Instant>,
    at_once: usize,
    speaks: bool,
}

impl Forecast {
    pub fn new(at_once: usize, speaks: bool) -> Forecast {
        Forecast { begun: now(), said: None, at_once, speaks }
    }

    /// So many simulations are over.
    pub fn say(&mut self, done: usize) {
        if !self.speaks || done == 0 || self.said.is_some_and(|t| t.elapsed() < EVERY) {
            return;
        }
        let passed = self.begun.elapsed().as_secs_f64();
        match self.said {
            // The first ones fill the cores as later ones do, but for a rest.
            None => {
                let each = passed / done.div_ceil(self.at_once) as f64;
                let [few, many] = [USUAL.0, USUAL.1].map(|n| about_seconds(n / self.at_once as f64 * each));
                let (least, most) = USUAL;
                mpi::say(format_args!(
                    "tailback: a fit takes {least} to {most} simulations of the plan, {} at once: {few} to {many}",
                    self.at_once
                ));
            }
            Some(_) => {
                let shown = about_seconds(passed);
                mpi::say(format_args!("tailback: {done} simulations in {shown}"));
            }
        }
        self.said = Some(now());
    }
}
