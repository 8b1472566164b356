//! Kinds that a machine file chooses by a word and that nobody gave: which of them fits what was measured.
//!
//! All of them are tried where the search begins; each other is tried once more when the search has come near, and
//! again when the numbers are found. One that fits clearly better takes its place, and the search goes on with it.

use model::calibrate::fit::UNFIT;
use model::calibrate::{Given, Place, misfit};
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

    /// The best of some for what was seen, by what each gives; and what it gives.
    fn best(some: Vec<Kinds>, seen: &[(f64, f64)], given: Vec<Given>) -> Option<(Kinds, Given)> {
        some.into_iter().zip(given).min_by(|a, b| misfit(seen, &a.1).total_cmp(&misfit(seen, &b.1)))
    }

    /// Where a search begins: the first of all, or one that is clearly better although no number is right yet; and what it gives.
    pub fn first(all: Vec<Kinds>, seen: &[(f64, f64)], given: Vec<Given>) -> Option<(Kinds, Given)> {
        let own = (all.first()?.clone(), given.first()?.clone());
        let sum = misfit(seen, &own.1);
        let clear = UNFIT * sum / seen.len() as f64;
        Kinds::best(all, seen, given).filter(|(_, given)| misfit(seen, given) < sum - clear).or(Some(own))
    }

    /// One of the others that fits what was seen clearly better at the same place, by what each gives there; and what it gives. Says of
    /// every kind whether these data tell it.
    pub fn better(&mut self, seen: &[(f64, f64)], place: &Place, given: Vec<Given>) -> Option<(Kinds, Given)> {
        let (own, clear) = (misfit(seen, &place.given), UNFIT * place.misfit.powi(2));
        let sums = given.iter().map(|g| misfit(seen, g));
        let others: Vec<(Kinds, f64)> = self.others().into_iter().zip(sums).collect();
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
        Kinds::best(self.others(), seen, given).filter(|(_, given)| misfit(seen, given) < own - clear)
    }
}

fn fits(words: &[String]) -> String {
    format!("{} {}", words.join(", "), if words.len() == 1 { "fits" } else { "fit" })
}
