//! Meetings: what all ranks of a communicator decide together outside the network: splits, and small reductions.
//!
//! The machine collects every member's word and releases each at (the last one's arrival + a modelled latency): up and down a
//! binomial tree of small messages. These messages put no load
//! on the network: a split is not measured, and a reduction of a few numbers per block is negligible beside what the block sends. Nor
//! are they delayed by its load. The result is the same whichever thread completes a meeting, because words are sorted by rank first.

use super::protocol::{Blocked, Host};
use crate::base::{Event, Tray};
use crate::net::{Fabric, Net};
use comm::Reduce;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A communicator's members; shared by all of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Members {
    /// Its name in message matching: derived from its parent's, so that no counter is shared.
    pub(crate) context: u64,
    /// World ranks in order; `None` for the world itself.
    pub(crate) list: Option<Vec<u32>>,
    pub(crate) size: usize,
}

/// Names a meeting: communicator, how many it has had before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Key {
    pub(crate) context: u64,
    pub(crate) number: u32,
}

/// What a member says.
#[derive(Clone, Debug)]
pub(crate) enum Word {
    Split {
        color: Option<u32>,
        key: u32,
    },
    /// Numbers to combine one by one.
    Numbers(Vec<f64>, Reduce),
}

/// What a member gets.
#[derive(Clone, Debug)]
pub(crate) enum Agreed {
    /// The part joined, and the rank there.
    Joined(Option<(Arc<Members>, u32)>),
    Numbers(Arc<[f64]>),
}

/// One member's contribution.
struct Said {
    /// Rank in the communicator, and in the world.
    rank: u32,
    world: u32,
    word: Word,
}

#[derive(Default)]
struct Meeting {
    latest: u64,
    said: Vec<Said>,
}

/// One rank's outcome, on its way to its part.
pub(crate) struct Release {
    key: Key,
    time: u64,
    /// Its number in its part and in the world.
    rank: u32,
    world: u32,
    outcome: Agreed,
}

/// All meetings of a run.
pub(crate) struct Meetings {
    open: Mutex<BTreeMap<Key, Meeting>>,
    /// Outcomes by part.
    over: Vec<Tray<Release>>,
}

/// A member who joins.
pub(crate) struct Join<'a> {
    pub(crate) key: Key,
    pub(crate) members: &'a Members,
    pub(crate) rank: u32,
    pub(crate) world: u32,
    pub(crate) time: u64,
    pub(crate) word: Word,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Meetings {
    pub(crate) fn new(parts: usize) -> Meetings {
        Meetings { open: Mutex::default(), over: (0..parts).map(|_| Tray::default()).collect() }
    }

    /// Adds a member's word. True if it was the last: outcomes are ready then.
    pub(crate) fn join(&self, fabric: &Fabric, join: Join<'_>) -> bool {
        let mut open = lock(&self.open);
        let meeting = open.entry(join.key).or_default();
        meeting.latest = meeting.latest.max(join.time);
        meeting.said.push(Said { rank: join.rank, world: join.world, word: join.word });
        if meeting.said.len() < join.members.size {
            return false;
        }
        let mut meeting = open.remove(&join.key).expect("just used");
        drop(open);
        meeting.said.sort_by_key(|s| s.rank);
        // The depth of a binomial tree: the binary logarithm of its size, rounded up.
        let depth = u64::from(join.members.size.next_power_of_two().trailing_zeros());
        // Up the tree, then down it: a rank hears after as many steps as it has bits, so that ranks do not all go on at one instant.
        let heard = |rank: usize| (depth + u64::from(rank.count_ones())) * fabric.tree_step;
        let outcomes = match &meeting.said[0].word {
            Word::Numbers(first, how) => reduce(first, *how, &meeting.said),
            Word::Split { .. } => split(join.key, &meeting.said),
        };
        for (number, (world, outcome)) in outcomes.into_iter().enumerate() {
            let (lp, rank) = fabric.home(world);
            let time = meeting.latest + fabric.delay(heard(number));
            self.over[usize::from(lp)].put(Release { key: join.key, time, rank, world, outcome });
        }
        true
    }

    /// Hands outcomes to the ranks of a part, in an order that does not depend on threads. Whether there were any.
    pub(crate) fn hand_out(&self, host: &mut Host, net: &mut Net<'_>) -> bool {
        // Nobody adds to it meanwhile: ranks join while windows run, and this is between them, or on the thread of a part alone.
        let mut over = Vec::new();
        self.over[usize::from(net.id)].empty_into(&mut over);
        let any = !over.is_empty();
        over.sort_by_key(|r| (r.key, r.rank));
        for Release { key, time, rank, world, outcome } in over {
            let state = &mut host.ranks[rank as usize];
            state.outcomes.get_or_insert_default().push((key, time, outcome));
            // A rank that does not wait for it yet finds the outcome when it asks.
            if state.blocked == Blocked::Meeting(key) {
                let time = time.max(state.clock).max(net.clock.now);
                net.clock.push(time, world, Event::Resume(rank));
            }
        }
        any
    }
}

/// Combined in the order of ranks, so that every run gives the same bits.
fn reduce(first: &[f64], how: Reduce, said: &[Said]) -> Vec<(u32, Agreed)> {
    let mut total = first.to_vec();
    for s in &said[1..] {
        let Word::Numbers(numbers, _) = &s.word else { continue };
        assert_eq!(numbers.len(), total.len(), "rank {} reduces another count of numbers than rank 0", s.rank);
        total.iter_mut().zip(numbers).for_each(|(t, x)| *t = how.apply(*t, *x));
    }
    let total: Arc<[f64]> = total.into();
    said.iter().map(|s| (s.world, Agreed::Numbers(Arc::clone(&total)))).collect()
}

/// Members by color, within a color by (key, rank).
fn split(meeting: Key, said: &[Said]) -> Vec<(u32, Agreed)> {
    let mut parts: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
    let mut outcomes = Vec::with_capacity(said.len());
    for s in said {
        match s.word {
            Word::Split { color: Some(color), key } => parts.entry(color).or_default().push((key, s.world)),
            _ => outcomes.push((s.world, Agreed::Joined(None))),
        }
    }
    for (color, mut list) in parts {
        // A stable sort: `said` is in the order of ranks, which decides between equal keys.
        list.sort_by_key(|&(key, _)| key);
        let list: Vec<u32> = list.into_iter().map(|(_, world)| world).collect();
        let size = list.len();
        let context = child(meeting, color);
        let members = Arc::new(Members { context, list: Some(list.clone()), size });
        for (rank, world) in list.into_iter().enumerate() {
            outcomes.push((world, Agreed::Joined(Some((Arc::clone(&members), rank as u32)))));
        }
    }
    outcomes
}

/// The context of a part: 64 mixed bits of its origin, so that equal ones do not occur in practice.
fn child(meeting: Key, color: u32) -> u64 {
    // The mixing steps of SplitMix64, once per word.
    let mut z = meeting.context;
    for word in [u64::from(meeting.number), u64::from(color)] {
        z = (z ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
    }
    z
}
