//! Kinds that a machine file chooses by a word and that nobody gave: which of them fits what was measured.
//!
//! All of them are tried where the search begins, and the best is taken; when the numbers are found, each other is tried once more with
//! them. One that fits clearly better then takes its place, and the numbers are found again.

use model::calibrate::Twin;
use model::calibrate::fit::{UNFIT, misfit};
use sim::{Choice, Remarks, rewritten};
use std::collections::BTreeMap;

/// The kinds of a twin.
#[derive(Clone)]
pub struct Kinds {
    open: Vec<Choice>,
    /// For each what can be said of it.
    pub remarks: Vec<String>,
}

impl Kinds {
    /// Those that a file leaves open.
    pub fn of(text: &str) -> Result<Kinds, sim::ConfigError> {
        let open = sim::choices(text)?;
        Ok(Kinds { remarks: vec![String::new(); open.len()], open })
    }

    /// A file with these kinds.
    pub fn written(&self, text: &str) -> String {
        let words = self.open.iter().map(|c| (c.name.clone(), format!("\"{}\"", c.word))).collect::<BTreeMap<_, _>>();
        rewritten(text, &words, &Remarks::new()).expect("it was rewritten before")
    }

    /// Name, word and remark of each.
    pub fn found(&self) -> impl Iterator<Item = [&str; 3]> {
        self.open.iter().zip(&self.remarks).map(|(c, remark)| [&*c.name, &*c.word, &**remark])
    }

    fn with(&self, at: usize, word: &str) -> Kinds {
        let mut other = self.clone();
        other.open[at].word = word.into();
        other
    }

    /// Every combination, this one first.
    pub fn all(&self) -> Vec<Kinds> {
        (0..self.open.len()).fold(vec![self.clone()], |before, at| {
            let others = |kinds: &Kinds| kinds.others_at(at).map(|word| kinds.with(at, word)).collect::<Vec<_>>();
            let more: Vec<Kinds> = before.iter().flat_map(others).collect();
            before.into_iter().chain(more).collect()
        })
    }

    fn others_at(&self, at: usize) -> impl Iterator<Item = &'static str> {
        let Choice { word, words, .. } = &self.open[at];
        words.iter().copied().filter(move |other| other != word)
    }

    /// Those that differ in one word.
    pub fn others(&self) -> Vec<Kinds> {
        let at = |at: usize| self.others_at(at).map(move |word| self.with(at, word)).collect::<Vec<_>>();
        (0..self.open.len()).flat_map(at).collect()
    }

    /// The best of some for what was seen, by what each gives.
    pub fn best(some: Vec<Kinds>, seen: &[(f64, f64)], given: &[Vec<Option<f64>>]) -> Option<Kinds> {
        let sums = given.iter().map(|g| misfit(seen, g));
        some.into_iter().zip(sums).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(kinds, _)| kinds)
    }

    /// One of the others that fits clearly better with the numbers of a twin, by what each gives. Says of every kind whether these data
    /// tell it.
    pub fn better(&mut self, seen: &[(f64, f64)], twin: &Twin, given: &[Vec<Option<f64>>]) -> Option<Kinds> {
        let seen: Vec<(f64, f64)> = seen.iter().zip(&twin.errors).map(|((value, _), e)| (*value, *e)).collect();
        let (own, clear) = (misfit(&seen, &twin.given), UNFIT * twin.misfit.powi(2));
        let others: Vec<(Kinds, f64)> = self.others().into_iter().zip(given.iter().map(|g| misfit(&seen, g))).collect();
        for at in 0..self.open.len() {
            let word = |kinds: &Kinds| kinds.open[at].word.clone();
            let changed = others.iter().filter(|(k, _)| word(k) != self.open[at].word);
            let (alike, less): (Vec<_>, Vec<_>) = changed.partition(|(_, sum)| *sum < own + clear);
            let [alike, less] = [alike, less].map(|some| some.into_iter().map(|(k, _)| word(k)).collect::<Vec<_>>());
            self.remarks[at] = match (alike.is_empty(), less.is_empty()) {
                (true, _) => format!("found: {} less well with these numbers", fits(&less)),
                (false, true) => format!("assumed: these data do not tell it from {}", alike.join(", ")),
                (false, false) => {
                    format!("assumed: these data do not tell it from {}; {} less well", alike.join(", "), fits(&less))
                }
            };
        }
        let best = others.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, sum)| *sum < own - clear);
        best.map(|(kinds, _)| kinds)
    }
}

fn fits(words: &[String]) -> String {
    format!("{} {}", words.join(", "), if words.len() == 1 { "fits" } else { "fit" })
}
