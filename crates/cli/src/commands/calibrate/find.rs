//! The kinds and the numbers that repeat best what was measured.
//!
//! Numbers are searched with one set of kinds, and with each that differs from it in one word, all from the same beginning: a kind that is
//! wrong bends the numbers until they suit it, with those every other looks worse, and no slope leads back from limits that are no longer
//! reached. Before another takes the place of one, both are searched to the end. When numbers are found, the others are searched once more,
//! from there.

use super::forecast::Forecast;
use super::kinds::{Kinds, Rival};
use super::runs::Runs;
use super::{Task, knob, written};
use crate::exit::Fail;
use comm::Comm;
use model::calibrate::{Given, Knob, Place, Twin, approach, converge, fit};
use sim::Remarks;
use std::collections::BTreeMap;

/// How often kinds are changed once numbers are near.
const CHANGES: usize = 3;

/// What came of the search, and how many simulations it took.
pub struct Outcome {
    pub kinds: Kinds,
    pub twin: Twin,
    pub runs: usize,
}

/// A search: what is simulated, by whom, and how often it was.
struct Find<'a> {
    task: &'a Task<'a>,
    runs: &'a Runs<'a>,
    world: Option<&'a dyn Comm>,
    knobs: &'a [Knob],
    rounds: usize,
    forecast: Forecast,
    /// Where a search has come that begins where the knobs do, with each set of kinds that was searched.
    begun: BTreeMap<String, Place>,
}

/// Finds the twin, with the other processes if there are some.
pub fn find(task: &Task, runs: &Runs, world: Option<&dyn Comm>) -> anyhow::Result<Outcome> {
    let knobs: Vec<Knob> = task.numbers.iter().map(|n| knob(n, &task.starts)).collect();
    let forecast = Forecast::new(runs.at_once(world), world.is_none_or(|w| w.rank() == 0));
    Find { task, runs, world, knobs: &knobs, rounds: 0, forecast, begun: BTreeMap::new() }.twin()
}

/// Kinds that take the place of others.
type Settled = anyhow::Result<Option<Rival>>;

/// What was seen: value and error of each.
type Seen<'a> = &'a [(f64, f64)];

impl Find<'_> {
    fn twin(mut self) -> anyhow::Result<Outcome> {
        let seen: Vec<(f64, f64)> = self.task.measured.fitted().map(|s| (s.value, s.error)).collect();
        let base = &self.task.base;
        let mut kinds = Kinds::of(&base.text).map_err(|e| Fail::usage(format!("{}: {e}", base.from)))?;
        let mut near = self.begin(&seen, &kinds)?;
        for left in (0..=CHANGES).rev() {
            if left > 0 {
                let rivals = self.begun_alike(&seen, &kinds)?;
                if let Some(better) = self.settle(&seen, &mut kinds, &mut near, rivals)? {
                    (kinds, near) = better;
                    continue;
                }
            }
            let knobs = self.knobs;
            let twin = fit(knobs, &seen, near, &mut |all: &[Vec<f64>]| self.simulate(&kinds, all))?;
            let known: Vec<(f64, f64)> = seen.iter().zip(&twin.errors).map(|((value, _), e)| (*value, *e)).collect();
            // The others may move every number, so this one may, too.
            let mut own = self.approach(&known, &kinds, (Some(twin.at.clone()), twin.at.given.clone()))?;
            let rivals = self.all_rivals(&known, &kinds, &own)?;
            let Some(better) = self.settle(&known, &mut kinds, &mut own, rivals)?.filter(|_| left > 0) else {
                return Ok(Outcome { kinds, twin, runs: self.rounds });
            };
            (kinds, near) = better;
        }
        unreachable!("the last one returns")
    }

    /// Those of the rivals that take the place of these kinds, whose search has come so far, if both still differ when they are searched to
    /// the end; and where that is.
    fn settle(&mut self, seen: Seen, kinds: &mut Kinds, own: &mut Place, mut rivals: Vec<Rival>) -> Settled {
        let Some((better, theirs)) = kinds.settle(seen, own, &rivals) else { return Ok(None) };
        let (ours, known) = self.converge(seen, kinds, own.clone())?;
        let (theirs, errors) = self.converge(seen, &better, theirs)?;
        // What either cannot repeat of itself does not decide.
        let errors = known.into_iter().zip(errors).map(|(a, b)| a.max(b));
        let known: Vec<(f64, f64)> = seen.iter().zip(errors).map(|((value, _), error)| (*value, error)).collect();
        *own = ours;
        rivals.push((better, theirs));
        Ok(kinds.settle(&known, own, &rivals))
    }

    fn converge(&mut self, seen: Seen, kinds: &Kinds, near: Place) -> anyhow::Result<(Place, Vec<f64>)> {
        let knobs = self.knobs;
        let found = converge(knobs, seen, near, &mut |all: &[Vec<f64>]| self.simulate(kinds, all))?;
        self.begun.insert(kinds.words(), found.0.clone());
        Ok(found)
    }

    /// Where a search has come that begins where the knobs do.
    fn begin(&mut self, seen: Seen, kinds: &Kinds) -> anyhow::Result<Place> {
        if let Some(place) = self.begun.get(&kinds.words()) {
            return Ok(place.clone());
        }
        let starts: Vec<f64> = self.knobs.iter().map(|k| k.start).collect();
        let given = self.simulate(kinds, &[starts])?.remove(0);
        let place = self.approach(seen, kinds, (None, given))?;
        self.begun.insert(kinds.words(), place.clone());
        Ok(place)
    }

    /// The others, and where a search with each has come that began where the knobs do.
    fn begun_alike(&mut self, seen: Seen, kinds: &Kinds) -> anyhow::Result<Vec<Rival>> {
        kinds.others().into_iter().map(|other| self.begin(seen, &other).map(|place| (other, place))).collect()
    }

    /// The same once more from the numbers that were found.
    fn all_rivals(&mut self, known: Seen, kinds: &Kinds, own: &Place) -> anyhow::Result<Vec<Rival>> {
        let mut rivals = self.begun_alike(known, kinds)?;
        for other in kinds.others() {
            let given = self.simulate(&other, std::slice::from_ref(&own.values))?.remove(0);
            let place = self.approach(known, &other, (Some(own.clone()), given))?;
            rivals.push((other, place));
        }
        Ok(rivals)
    }

    fn approach(&mut self, seen: Seen, kinds: &Kinds, from: (Option<Place>, Given)) -> anyhow::Result<Place> {
        let knobs = self.knobs;
        approach(knobs, seen, from, &mut |all: &[Vec<f64>]| self.simulate(kinds, all))
    }

    /// What machines of these kinds give, with each of these values.
    fn simulate(&mut self, kinds: &Kinds, all: &[Vec<f64>]) -> anyhow::Result<Vec<Given>> {
        let Task { base, numbers, measured, .. } = self.task;
        let base = base.of(kinds);
        let files: Vec<String> = all.iter().map(|values| written(&base, numbers, values, &Remarks::new())).collect();
        self.rounds += files.len();
        let given = self.runs.simulate(self.world, measured, &files)?;
        self.forecast.say(self.rounds);
        Ok(given)
    }
}
