//! Kinds that a machine file chooses by a word and that nobody gave: which of them fits what was measured.
//!
//! The search begins with those that the file has. Each other is searched like them, and once more from the numbers that were found. One
//! that then fits clearly better takes its place, and the search goes on with it.

use model::calibrate::fit::UNFIT;
use model::calibrate::{Place, misfit};
use sim::{Choice, Remarks, rewritten};
use std::collections::BTreeMap;

/// Kinds, and where a search with them has come.
pub type Rival = (Kinds, Place);

/// A rival is told from the kinds that were taken if its sum of squares is more than so many times theirs: it was not searched to the end.
const OPEN: f64 = 3.0;

/// The kinds of a twin.
#[derive(Clone)]
pub struct Kinds {
    open: Vec<Choice>,
    /// What the file has, which is kept where nothing tells.
    home: Vec<String>,
    /// For each what can be said of it.
    pub remarks: Vec<String>,
}

impl Kinds {
    /// Those that a file leaves open.
    pub fn of(text: &str) -> Result<Kinds, sim::ConfigError> {
        let open = sim::choices(text)?;
        let home = open.iter().map(|c| c.word.clone()).collect();
        Ok(Kinds { remarks: vec![String::new(); open.len()], home, open })
    }

    /// A file with these kinds.
    pub fn written(&self, text: &str) -> String {
        let words = self.open.iter().map(|c| (c.name.clone(), format!("\"{}\"", c.word))).collect::<BTreeMap<_, _>>();
        rewritten(text, &words, &Remarks::new()).expect("it was rewritten before")
    }

    /// What tells these kinds from others.
    pub fn words(&self) -> String {
        self.open.iter().map(|c| &*c.word).collect::<Vec<_>>().join(" ")
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

    fn others_at(&self, at: usize) -> impl Iterator<Item = &'static str> {
        let Choice { word, words, .. } = &self.open[at];
        words.iter().copied().filter(move |other| other != word)
    }

    /// Those that differ in one word.
    pub fn others(&self) -> Vec<Kinds> {
        let at = |at: usize| self.others_at(at).map(move |word| self.with(at, word)).collect::<Vec<_>>();
        (0..self.open.len()).flat_map(at).collect()
    }

    /// Those of the others that take the place of these: one that fits what was seen clearly better if these do not fit, or one that fits as
    /// well and is nearer to what the file has. Each was searched with numbers of its own. Says of every kind whether these data tell it.
    pub fn settle(&mut self, seen: &[(f64, f64)], own: &Place, rivals: &[Rival]) -> Option<Rival> {
        let (sum, clear) = (misfit(seen, &own.given), UNFIT * own.misfit.powi(2));
        let rivals: Vec<(&Rival, f64)> = rivals.iter().map(|r| (r, misfit(seen, &r.1.given))).collect();
        for at in 0..self.open.len() {
            let fit = |word: &str| {
                rivals.iter().any(|((kinds, _), other)| kinds.open[at].word == word && *other < OPEN * sum + clear)
            };
            let (alike, less): (Vec<_>, Vec<_>) = self.others_at(at).partition(|word| fit(word));
            self.remarks[at] = remark(&alike, &less);
        }
        // What repeats everything as well as it is known needs no other.
        let fits = |place: &Place| place.misfit <= 1.0;
        let better = |other: f64| !fits(own) && other < sum - clear;
        let best = rivals.iter().min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, other)| better(*other));
        let alike = |place: &Place, other: f64| fits(place) || other < sum + clear;
        let home = || rivals.iter().find(|((k, place), other)| k.strange() < self.strange() && alike(place, *other));
        best.or_else(home).map(|(rival, _)| (*rival).clone())
    }

    /// How many are others than in the file.
    fn strange(&self) -> usize {
        self.open.iter().zip(&self.home).filter(|(choice, home)| choice.word != **home).count()
    }
}

fn remark(alike: &[&str], less: &[&str]) -> String {
    let less = match less {
        [] => String::new(),
        [one] => format!("{one} fits less well, with the best numbers that were found for it"),
        some => format!("{} fit less well, each with the best numbers that were found for it", some.join(", ")),
    };
    match (alike.join(", "), &*less) {
        (alike, less) if alike.is_empty() => format!("found: {less}"),
        (alike, "") => format!("assumed: these data do not tell it from {alike}"),
        (alike, less) => format!("assumed: these data do not tell it from {alike}; {less}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::calibrate::{Knob, approach};

    const SEEN: [(f64, f64); 40] = [(2.0, 0.01); 40];

    /// Where a search ends with a machine that gives this much too much, whatever its number is.
    fn place(times: f64) -> Place {
        let given = |_: &Vec<f64>| SEEN.iter().map(|(value, _)| Some(value * times)).collect::<Vec<_>>();
        let knob = Knob { name: "rate".into(), default: 1.0, start: 1.0, least: 0.1, most: 10.0 };
        let mut simulate = |all: &[Vec<f64>]| Ok::<_, ()>(all.iter().map(given).collect());
        approach(&[knob], &SEEN, (None, given(&Vec::new())), &mut simulate).unwrap()
    }

    /// What comes of kinds that fit so well beside rivals that fit so well, and what is said of them.
    fn settled(mut own: Kinds, times: f64, rivals: &[f64]) -> (Option<String>, Vec<String>) {
        let rivals: Vec<Rival> =
            own.others().into_iter().zip(rivals).map(|(kinds, times)| (kinds, place(*times))).collect();
        let taken = own.settle(&SEEN, &place(times), &rivals);
        (taken.map(|(kinds, _)| kinds.words()), own.remarks)
    }

    fn home() -> Kinds {
        let kinds = Kinds::of("[topology]\nkind = \"single-switch\"\n").unwrap();
        assert_eq!(kinds.words(), "voq pushed", "the first of each is what a file has");
        kinds
    }

    #[test]
    fn what_fits_clearly_better_takes_the_place() {
        // Others: fifo, columns; fetched.
        let (taken, remarks) = settled(home(), 1.5, &[1.4, 1.0, 1.3]);
        assert_eq!(taken.as_deref(), Some("columns pushed"));
        assert!(remarks.iter().all(|r| r.starts_with("assumed: ")), "{remarks:?}");
    }

    #[test]
    fn what_fits_as_well_as_can_be_asked_stays() {
        // Half of an error on average, where another has none: better by ten, and by no more than what nobody knows.
        let (taken, remarks) = settled(home(), 1.005, &[1.0, 1.5, 1.5]);
        assert_eq!(taken, None);
        assert!(remarks[0].starts_with("assumed: these data do not tell it from fifo"), "{remarks:?}");
        // Three errors are more than can be.
        let (taken, _) = settled(home(), 1.03, &[1.0, 1.5, 1.5]);
        assert_eq!(taken.as_deref(), Some("fifo pushed"));
    }

    #[test]
    fn what_fits_less_well_with_its_own_numbers_is_told() {
        let (taken, remarks) = settled(home(), 1.0, &[1.5, 1.0, 1.5]);
        assert_eq!(taken, None);
        assert!(
            remarks[0].starts_with("assumed: these data do not tell it from columns; fifo fits less"),
            "{remarks:?}"
        );
        assert!(remarks[1].starts_with("found: fetched fits less well"), "{remarks:?}");
    }

    #[test]
    fn what_the_file_has_comes_back_where_nothing_tells() {
        let strange = home().others().remove(0);
        assert_eq!(strange.words(), "fifo pushed");
        let (taken, _) = settled(strange.clone(), 1.0, &[1.0, 1.0, 1.0]);
        assert_eq!(taken.as_deref(), Some("voq pushed"));
        let (taken, remarks) = settled(strange, 1.0, &[1.5, 1.5, 1.5]);
        assert_eq!(taken, None);
        assert!(remarks[0].starts_with("found: voq, columns fit less well"), "{remarks:?}");
    }
}
