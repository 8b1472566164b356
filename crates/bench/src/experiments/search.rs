//! Which candidates are tried, in which order: a coarse grid, then ever smaller steps around the best one.
//!
//! A search that is told the same distances asks for the same candidates, so it can be gone through again from a record.

use std::collections::VecDeque;
use std::fmt;

/// Shares of the grid, in percent of the nodes.
const SHARES: [u32; 5] = [20, 40, 60, 80, 95];
/// The first step of the share around the best of the grid, in percent; it is halved whenever nothing near is better.
const STEP: u32 = 10;
/// Weights of congestors lie between 1 and this.
const HEAVIEST: u32 = 8;

/// A load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Share of the nodes that run congestors, in percent.
    pub share: u32,
    /// Ranks used on each node.
    pub slots: u32,
    /// Weight of each congestor, in the order of the list.
    pub weights: Vec<u32>,
}

impl Candidate {
    /// The list of congestors with their weights, as the suite reads it.
    pub fn congestors(&self, kinds: &[String]) -> String {
        let even = self.weights.iter().all(|w| *w == 1);
        let one = |(kind, weight): (&String, &u32)| if even { kind.clone() } else { format!("{kind}@{weight}") };
        kinds.iter().zip(&self.weights).map(one).collect::<Vec<_>>().join(",")
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights = self.weights.iter().map(u32::to_string).collect::<Vec<_>>().join(":");
        write!(f, "share {}%, {} ranks per node, weights {weights}", self.share, self.slots)
    }
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    /// Ranks per node there are.
    slots: u32,
    tried: Vec<(Candidate, f64)>,
    queue: VecDeque<Candidate>,
    centre: Option<Candidate>,
    step: u32,
}

impl Search {
    /// Over so many kinds of congestors on nodes with so many ranks.
    pub fn new(kinds: usize, slots: u32) -> Search {
        // On nodes of one or two ranks these coincide, and then equal ones are neighbours.
        let mut some = vec![slots, 1, slots.div_ceil(2)];
        some.dedup();
        let grid = some.iter().flat_map(|slots| SHARES.map(|share| (share, *slots)));
        let queue = grid.map(|(share, slots)| Candidate { share, slots, weights: vec![1; kinds] }).collect();
        // Twice, because the first look around the best of the grid halves it.
        Search { slots, tried: Vec::new(), queue, centre: None, step: STEP * 2 }
    }

    /// The next candidate; none when nothing near the best is left to try. Tell its distance with [`Search::found`].
    pub fn next(&mut self) -> Option<Candidate> {
        loop {
            while let Some(candidate) = self.queue.pop_front() {
                // Candidates at the edge of the range are clamped onto others, which need not run twice.
                if self.tried.iter().all(|(c, _)| *c != candidate) {
                    return Some(candidate);
                }
            }
            let best = self.best()?.0.clone();
            // The step shrinks only where the last look around found nothing better.
            if self.centre.as_ref() == Some(&best) || self.centre.is_none() {
                self.step /= 2;
            }
            if self.step == 0 {
                return None;
            }
            self.queue = self.around(&best).into();
            self.centre = Some(best);
        }
    }

    /// How far the candidate was.
    pub fn found(&mut self, candidate: Candidate, distance: f64) {
        self.tried.push((candidate, distance));
    }

    /// The nearest so far; the first of equals.
    pub fn best(&self) -> Option<&(Candidate, f64)> {
        self.tried.iter().reduce(|best, other| if other.1 < best.1 { other } else { best })
    }

    /// One step along each axis.
    fn around(&self, centre: &Candidate) -> Vec<Candidate> {
        let mut near = Vec::new();
        for share in [centre.share.saturating_sub(self.step), centre.share + self.step] {
            near.push(Candidate { share: share.clamp(1, 99), ..centre.clone() });
        }
        // Slots are at least 1, so this stays at or above 0 before it is clamped.
        for slots in [centre.slots - 1, centre.slots + 1] {
            near.push(Candidate { slots: slots.clamp(1, self.slots), ..centre.clone() });
        }
        for kind in 0..centre.weights.len() {
            for weight in [centre.weights[kind] * 2, centre.weights[kind] / 2] {
                let mut other = centre.clone();
                other.weights[kind] = weight.clamp(1, HEAVIEST);
                near.push(other);
            }
        }
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up distance with its minimum where it is asked for.
    fn search(share: u32, slots: u32, weights: &[u32], limit: usize) -> (Candidate, usize) {
        let mut search = Search::new(weights.len(), 4);
        while let Some(c) = search.next().filter(|_| search.tried.len() < limit) {
            let near = |a: u32, b: u32| (f64::from(a) - f64::from(b)).abs();
            let heavy: f64 = c.weights.iter().zip(weights).map(|(a, b)| near(*a, *b)).sum();
            search.found(c.clone(), near(c.share, share) / 10.0 + near(c.slots, slots) + heavy);
        }
        (search.best().unwrap().0.clone(), search.tried.len())
    }

    #[test]
    fn the_lowest_point_is_found_and_the_search_ends() {
        for (share, slots, weights) in [(80, 4, [1, 1]), (33, 1, [1, 1]), (57, 3, [2, 1]), (5, 2, [1, 4])] {
            let (best, tried) = search(share, slots, &weights, usize::MAX);
            assert_eq!((best.share, best.slots, &best.weights[..]), (share, slots, &weights[..]));
            assert!(tried < 100, "{tried}");
        }
        assert_eq!(search(33, 1, &[1, 1], 7).1, 7);
    }

    #[test]
    fn congestors_are_written_as_the_suite_reads_them() {
        let kinds = ["a2a".to_string(), "p2p-incast".to_string()];
        let candidate = |weights: &[u32]| Candidate { share: 60, slots: 1, weights: weights.to_vec() };
        assert_eq!(candidate(&[1, 1]).congestors(&kinds), "a2a,p2p-incast");
        assert_eq!(candidate(&[2, 1]).congestors(&kinds), "a2a@2,p2p-incast@1");
    }
}
