//! Which ranks make pairs: by name, by distance, by socket, or as the user says.
//!
//! `near`, `far` and `inside` need nothing but the layout. `same-switch`, `same-group`, `same-socket` and `cross-socket` need facts that
//! only the site has; [`settle`] turns them into explicit classes, `NAME=A-B` or `NAME=NODE/S-T/S-T`, so that the plan shows which ranks
//! were meant.

use super::super::SuiteError;
use crate::site::Site;
use record::{Layout, Members, RankAt};

/// Names that [`settle`] looks up.
pub const LOOKED_UP: [&str; 4] = ["same-switch", "same-group", "same-socket", "cross-socket"];

/// A class of pairs: pair i is entries 2i and 2i+1 of its members.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Its name in phases.
    pub name: String,
    pairs: Pairs,
}

#[derive(Clone, Debug, PartialEq)]
enum Pairs {
    /// Slot i of one node with slot i of the other.
    Nodes(u32, u32),
    /// Slots 2i and 2i+1 of a node.
    Inside(u32),
    /// These slots of a node.
    Slots(u32, Vec<(u32, u32)>),
}

fn wrong(value: &str, reason: impl std::fmt::Display) -> SuiteError {
    SuiteError::Unknown(format!("maxrate: pair={value}: {reason}"))
}

fn two(text: &str) -> Option<(u32, u32)> {
    let (a, b) = text.split_once('-')?;
    Some((a.trim().parse().ok()?, b.trim().parse().ok()?))
}

impl Class {
    /// Reads one word of the parameter `pair`.
    pub fn read(text: &str, layout: Layout) -> Result<Class, SuiteError> {
        let last = layout.nodes - 1;
        let (name, pairs) = match text {
            "near" => (text, Pairs::Nodes(0, 1)),
            // On a single node this asks for node 1, which is refused below; node 0 with itself would be no pair.
            "far" => (text, Pairs::Nodes(0, last.max(1))),
            "inside" => (text, Pairs::Inside(0)),
            known if LOOKED_UP.contains(&known) => {
                return Err(wrong(text, "this machine was not asked where its ranks are"));
            }
            _ => {
                let (name, rest) = text.split_once('=').unwrap_or((text, text));
                (name, explicit(text, rest, layout)?)
            }
        };
        // Names of phases are put together with these two.
        if name.is_empty() || name.contains(['/', '#']) {
            return Err(wrong(text, "a class has a name without `/` and `#`"));
        }
        let most = match &pairs {
            Pairs::Nodes(a, b) => *a.max(b),
            Pairs::Inside(n) | Pairs::Slots(n, _) => *n,
        };
        if most > last {
            return Err(SuiteError::TooSmall(format!(
                "maxrate: pair={text} needs node {most}, and there are {} nodes (on one host, ranks can count as nodes: --unit rank)",
                layout.nodes
            )));
        }
        Ok(Class { name: name.into(), pairs })
    }

    /// How many pairs there can be.
    pub fn most(&self, layout: Layout) -> u32 {
        match &self.pairs {
            // The fewest ranks of any node, because the two nodes need not be alike.
            Pairs::Nodes(..) => layout.min_ranks_per_node,
            Pairs::Inside(_) => layout.min_ranks_per_node / 2,
            Pairs::Slots(_, list) => list.len() as u32,
        }
    }

    /// The ranks of so many pairs.
    pub fn members(&self, pairs: u32) -> Members {
        let pair = |i: u32| match &self.pairs {
            Pairs::Nodes(a, b) => [(*a, i), (*b, i)],
            Pairs::Inside(node) => [(*node, 2 * i), (*node, 2 * i + 1)],
            Pairs::Slots(node, list) => {
                let (s, t) = list[i as usize];
                [(*node, s), (*node, t)]
            }
        };
        Members::Places((0..pairs).flat_map(pair).map(|(node, slot)| RankAt { node, slot }).collect())
    }
}

/// `A-B` or `NODE/S-T/S-T`.
fn explicit(text: &str, rest: &str, layout: Layout) -> Result<Pairs, SuiteError> {
    let how = || {
        let names = LOOKED_UP.join(", ");
        wrong(text, format!("write near, far, inside, {names}, two nodes like 0-5, or slots of a node like 0/0-1/2-3"))
    };
    let Some((node, slots)) = rest.split_once('/') else {
        let (a, b) = two(rest).ok_or_else(how)?;
        return if a == b {
            Err(wrong(text, "two different nodes; `inside` is for pairs within a node"))
        } else {
            Ok(Pairs::Nodes(a, b))
        };
    };
    let node = node.trim().parse().map_err(|_| how())?;
    let list: Vec<(u32, u32)> = slots.split('/').map(two).collect::<Option<_>>().ok_or_else(how)?;
    let mut used: Vec<u32> = list.iter().flat_map(|&(s, t)| [s, t]).collect();
    used.sort_unstable();
    // Sorted, so slots that are used twice are neighbours and the last one is the largest.
    if used.windows(2).any(|w| w[0] == w[1]) || used.last().is_some_and(|s| *s >= layout.min_ranks_per_node) {
        let most = layout.min_ranks_per_node;
        return Err(wrong(text, format!("every slot once, below the {most} ranks that each node has")));
    }
    Ok(Pairs::Slots(node, list))
}

/// Replaces names that only the site can resolve by explicit classes.
pub fn settle(site: &Site, words: &[String]) -> Result<Vec<String>, SuiteError> {
    let settle = |word: &String| match word.as_str() {
        "same-switch" | "same-group" => by_distance(site, word),
        // Where distances are not known, the last node stands for a far one.
        "far" => Ok(by_distance(site, word).unwrap_or_else(|_| word.clone())),
        "same-socket" | "cross-socket" => by_socket(site, word),
        _ => Ok(word.clone()),
    };
    words.iter().map(settle).collect()
}

fn by_distance(site: &Site, word: &str) -> Result<String, SuiteError> {
    let Some(distances) = site.distances else {
        let say = "this machine does not say how far its nodes are from each other (Slurm's topology plugin does); name two nodes like 0-5";
        return Err(SuiteError::NotHere(format!("maxrate: pair={word}: {say}")));
    };
    let node = match word {
        "same-switch" => distances.switch,
        "same-group" => distances.group,
        _ => distances.far,
    };
    let Some(node) = node else {
        let say =
            "the nodes of this job lie at fewer than three distances, so no group lies between a switch and the whole";
        return Err(SuiteError::TooSmall(format!("maxrate: pair={word}: {say}")));
    };
    Ok(format!("{word}=0-{node}"))
}

/// Pairs of node 0 within one socket, or across two, in the order of slots.
fn by_socket(site: &Site, word: &str) -> Result<String, SuiteError> {
    let bound: Option<Vec<u32>> = site.sockets.iter().copied().collect();
    let Some(sockets) = bound else {
        let say = "ranks are not bound to a socket; bind them (mpirun --bind-to core, srun --cpu-bind=cores)";
        return Err(SuiteError::NotHere(format!("maxrate: pair={word}: {say}")));
    };
    let pairs = pairs_of(&sockets, word == "same-socket");
    if pairs.is_empty() {
        let say = match word {
            "same-socket" => "no socket of node 0 has two ranks",
            _ => "all ranks of node 0 are on one socket",
        };
        return Err(SuiteError::TooSmall(format!("maxrate: pair={word}: {say}")));
    }
    let list: Vec<String> = pairs.iter().map(|(s, t)| format!("{s}-{t}")).collect();
    Ok(format!("{word}=0/{}", list.join("/")))
}

/// Slots in pairs: the next free ones of one socket, or the next free one of another socket.
fn pairs_of(sockets: &[u32], same: bool) -> Vec<(usize, usize)> {
    let mut free = vec![true; sockets.len()];
    let mut pairs = Vec::new();
    for s in 0..sockets.len() {
        let other = (s + 1..sockets.len()).find(|&t| free[t] && (sockets[t] == sockets[s]) == same);
        if let (true, Some(t)) = (free[s], other) {
            (free[s], free[t]) = (false, false);
            pairs.push((s, t));
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout::even(5, 4)
    }

    #[test]
    fn words_become_places() {
        let places = |text: &str| {
            let Members::Places(places) = Class::read(text, layout()).unwrap().members(2) else { panic!("places") };
            places.iter().map(|p| (p.node, p.slot)).collect::<Vec<_>>()
        };
        assert_eq!(places("near"), [(0, 0), (1, 0), (0, 1), (1, 1)]);
        assert_eq!(places("far"), [(0, 0), (4, 0), (0, 1), (4, 1)]);
        assert_eq!(places("3-2"), [(3, 0), (2, 0), (3, 1), (2, 1)]);
        assert_eq!(places("inside"), [(0, 0), (0, 1), (0, 2), (0, 3)]);
        assert_eq!(places("same-socket=0/0-2/1-3"), [(0, 0), (0, 2), (0, 1), (0, 3)]);
        assert_eq!(Class::read("same-switch=0-3", layout()).unwrap().name, "same-switch");
        assert_eq!(Class::read("x=0/0-2/1-3", layout()).unwrap().most(layout()), 2);
    }

    #[test]
    fn bad_words_are_named() {
        for (text, says) in [
            ("1-1", "two different nodes"),
            ("0-9", "needs node 9"),
            ("=0-1", "a name"),
            ("x=0/0-1/1-2", "every slot once"),
            ("x=0/0-4", "every slot once"),
            ("x=7/0-1", "needs node 7"),
            ("same-socket", "was not asked"),
            ("same", "write near"),
        ] {
            let e = Class::read(text, layout()).unwrap_err().to_string();
            assert!(e.contains(says), "{text}: {e}");
        }
    }

    #[test]
    fn slots_pair_up_within_sockets_and_across() {
        // Block and round-robin placement, and a socket with one rank more than the other.
        assert_eq!(pairs_of(&[2, 2, 3, 3], true), [(0, 1), (2, 3)]);
        assert_eq!(pairs_of(&[2, 2, 3, 3], false), [(0, 2), (1, 3)]);
        assert_eq!(pairs_of(&[2, 3, 2, 3], true), [(0, 2), (1, 3)]);
        assert_eq!(pairs_of(&[2, 2, 2, 3], false), [(0, 3)]);
        assert!(pairs_of(&[2, 2], false).is_empty() && pairs_of(&[], true).is_empty());
    }
}
