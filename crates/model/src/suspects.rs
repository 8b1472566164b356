//! Which part of a network is slow, from what pairs of nodes reached.
//!
//! A pair is **slow** if it lies far below pairs at its distance (same switch, same group, beyond): twice as far below their median as the fastest
//! quarter begins above it (in the logarithm), and a fifth at least. Each distance has a fence of its own: where routes collide
//! pairs differ much, and a node that is slower than its share of the cables under load shows among its near pairs only. A slow part makes many of the pairs slow that touch it:
//! of each node all its pairs, or its near ones, of each switch and group those that leave it. The part whose number of slow pairs is least likely, by
//! Chernoff's bound of the binomial distribution with the share of slow pairs elsewhere, is the first suspect; its pairs are taken away, and
//! the rest is asked again. A chance is counted for all parts that were asked (Bonferroni).

use crate::numeric::stats;
use record::PairsRecord;

/// What one pair reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Met {
    /// The nodes.
    pub nodes: [usize; 2],
    /// Their rate.
    pub rate: f64,
}

/// Where a node is, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its switch.
    pub switch: Option<u32>,
    /// Its group.
    pub group: Option<u32>,
}

/// Something that may be slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A node: its cable, its NIC, or itself.
    Node(usize),
    /// A switch: cables that leave it, or itself.
    Switch(u32),
    /// A group: cables that leave it.
    Group(u32),
}

/// A part that is slow.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    /// Which.
    pub part: Part,
    /// Slow pairs among those that touch it.
    pub slow: usize,
    /// Pairs that touch it.
    pub of: usize,
    /// How many times slower its slow pairs are than usual, in the middle.
    pub times: f64,
    /// How likely so many slow pairs are if it is like the others, at most.
    pub chance: f64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Parts, the surest first.
    pub suspects: Vec<Suspect>,
    /// Slow pairs that no suspect explains, with how many times slower they are.
    pub pairs: Vec<(Met, f64)>,
    /// How many times slower each pair is than the median at its distance, in the order given.
    pub times: Vec<f64>,
    /// From how many times slower on a pair is slow.
    pub limit: f64,
}

impl Found {
    /// What a recorded test of pairs tells.
    pub fn new(pairs: &PairsRecord) -> Found {
        let met = pairs.values.iter().map(|v| Met { nodes: v.nodes.map(|n| n as usize), rate: v.bytes_per_s });
        let places: Vec<Place> = pairs.nodes.iter().map(|n| Place { switch: n.switch, group: n.group }).collect();
        find(&met.collect::<Vec<_>>(), &places)
    }
}

/// So sure one must be.
pub const SURE: f64 = 1e-3;
/// A pair that is less slow than this is not slow, however well that is known.
const LEAST: f64 = 1.2;
/// So many times as far below the median as the fastest quarter begins above it.
const FENCE: f64 = 2.0;
/// A node is slow with most of its partners, or it is not the node.
const OF_A_NODE: f64 = 0.5;
/// Other parts have several cables, of which one may be slow.
const OF_OTHERS: f64 = 0.05;
/// More than this nobody would look at one by one.
const MOST: usize = 32;

/// Looks for slow parts. Pairs without a rate above 0, or of unknown nodes, are left out.
pub fn find(pairs: &[Met], places: &[Place]) -> Found {
    let known = |m: &Met| m.rate > 0.0 && m.rate.is_finite() && m.nodes.iter().all(|n| *n < places.len());
    let of = |class: usize| pairs.iter().filter(move |m| known(m) && distance(m, places) == class).map(|m| m.rate.ln());
    let medians = [0, 1, 2].map(|class| median(of(class).collect()));
    // Near pairs differ little, far ones share cables: each distance has a bar of its own.
    let bars = [0, 1, 2].map(|class| {
        let mut late: Vec<f64> = of(class).map(|x| medians[class] - x).collect();
        late.sort_by(f64::total_cmp);
        // From the faster half: slow pairs, of which there may be many, must not raise the fence that they are held against.
        let fast = late.get(late.len() / 4).copied().unwrap_or(0.0);
        (-FENCE * fast).max(LEAST.ln())
    });
    let late = |m: &Met| if known(m) { medians[distance(m, places)] - m.rate.ln() } else { 0.0 };
    let late: Vec<f64> = pairs.iter().map(late).collect();
    let judged = pairs.iter().zip(&late).filter(|(m, _)| known(m)).map(|(met, late)| {
        let class = distance(met, places);
        Judged { met: *met, class, late: *late, slow: *late > bars[class] }
    });
    let mut left: Vec<Judged> = judged.collect();
    let most = [0, 1, 2].into_iter().filter(|c| of(*c).next().is_some()).map(|c| bars[c]).fold(LEAST.ln(), f64::max);
    let mut parts = parts(places);
    let asked = 2.0 * parts.len() as f64;
    let times = late.iter().map(|x| x.exp()).collect();
    let mut found = Found { times, limit: most.exp(), ..Found::default() };
    while found.suspects.len() < MOST {
        let suspects = parts.iter().filter_map(|part| suspect(*part, &left, places, asked));
        // Of equally likely ones the smaller part: a node alone on its switch is the node.
        let likely = |a: &Suspect, b: &Suspect| a.chance.total_cmp(&b.chance).then(a.part.cmp(&b.part));
        let Some(worst) = suspects.min_by(likely) else { break };
        let whole = matches!(worst.part, Part::Node(_));
        left.retain(|one| !(touches(worst.part, &one.met, places) && (one.slow || whole)));
        parts.retain(|part| *part != worst.part);
        found.suspects.push(worst);
    }
    found.pairs = left.into_iter().filter(|one| one.slow).map(|one| (one.met, one.late.exp())).collect();
    found.pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
    found
}

/// A pair beside others at its distance.
struct Judged {
    met: Met,
    class: usize,
    late: f64,
    slow: bool,
}

/// 0 on one switch, 1 in one group, 2 beyond; 2 where nothing is known.
fn distance(met: &Met, places: &[Place]) -> usize {
    let [a, b] = met.nodes.map(|n| places.get(n).copied().unwrap_or_default());
    match () {
        () if a.switch.is_some() && a.switch == b.switch => 0,
        () if a.group.is_some() && a.group == b.group => 1,
        () => 2,
    }
}

/// Every part that may be asked about. One switch or group of all nodes has nothing that leaves it.
fn parts(places: &[Place]) -> Vec<Part> {
    let mut all: Vec<Part> = (0..places.len()).map(Part::Node).collect();
    all.extend(places.iter().filter_map(|p| p.switch).map(Part::Switch));
    all.extend(places.iter().filter_map(|p| p.group).map(Part::Group));
    all.sort_unstable();
    all.dedup();
    all
}

fn touches(part: Part, met: &Met, places: &[Place]) -> bool {
    let [a, b] = met.nodes.map(|n| places.get(n).copied().unwrap_or_default());
    match part {
        Part::Node(node) => met.nodes.contains(&node),
        Part::Switch(switch) => (a.switch == Some(switch)) != (b.switch == Some(switch)),
        Part::Group(group) => (a.group == Some(group)) != (b.group == Some(group)),
    }
}

/// A part beside the others: by all its pairs, and a node also by the near ones alone, where nothing else is shared.
fn suspect(part: Part, left: &[Judged], places: &[Place], asked: f64) -> Option<Suspect> {
    let near =
        matches!(part, Part::Node(_)).then(|| beside(part, left.iter().filter(|one| one.class == 0), places, asked));
    let all = beside(part, left.iter(), places, asked);
    all.into_iter().chain(near.flatten()).min_by(|a, b| a.chance.total_cmp(&b.chance))
}

fn beside<'a>(part: Part, pairs: impl Iterator<Item = &'a Judged>, places: &[Place], asked: f64) -> Option<Suspect> {
    let (mine, others): (Vec<&Judged>, Vec<_>) = pairs.partition(|one| touches(part, &one.met, places));
    let slow: Vec<f64> = mine.iter().filter(|one| one.slow).map(|one| one.late).collect();
    let share = slow.len() as f64 / mine.len().max(1) as f64;
    let least = if matches!(part, Part::Node(_)) { OF_A_NODE } else { OF_OTHERS };
    if slow.len() < 2 || share < least {
        return None;
    }
    let elsewhere = others.iter().filter(|one| one.slow).count() as f64;
    // Half a slow pair more than were seen: that none was seen does not mean that there is none.
    let usual = (elsewhere + 0.5) / (others.len() as f64 + 1.0);
    let chance = asked * chernoff(mine.len() as f64, share, usual);
    let (slow_pairs, of, times) = (slow.len(), mine.len(), median(slow).exp());
    (chance < SURE).then_some(Suspect { part, slow: slow_pairs, of, times, chance })
}

/// An upper bound of the chance that a share of `n` tries or more succeed, each with chance `p`.
fn chernoff(n: f64, share: f64, p: f64) -> f64 {
    if share <= p {
        return 1.0;
    }
    let term = |a: f64, b: f64| if a > 0.0 { a * (a / b).ln() } else { 0.0 };
    (-n * (term(share, p) + term(1.0 - share, 1.0 - p))).exp()
}

/// The median, or 0 of nothing.
fn median(values: Vec<f64>) -> f64 {
    stats::median(&values).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Rng;

    /// All pairs of nodes, four on a switch, eight in a group, with 3 % of noise; `slow` divides a pair's rate.
    fn network(nodes: usize, slow: impl Fn(usize, usize) -> f64) -> (Vec<Met>, Vec<Place>) {
        let mut rng = Rng::new(1, "suspects", 0);
        let mut pairs = Vec::new();
        for a in 0..nodes {
            for b in a + 1..nodes {
                let near = if a / 4 == b / 4 { 1.5 } else { 1.0 };
                let noise = 1.0 + 0.06 * (rng.unit() - 0.5);
                pairs.push(Met { nodes: [a, b], rate: 1e9 * near * noise / slow(a, b) });
            }
        }
        let place = |n: usize| Place { switch: Some(n as u32 / 4), group: Some(n as u32 / 8) };
        (pairs, (0..nodes).map(place).collect())
    }

    #[test]
    fn a_sound_network_has_no_suspects() {
        let (pairs, places) = network(24, |_, _| 1.0);
        let found = find(&pairs, &places);
        assert!(found.suspects.is_empty() && found.pairs.is_empty(), "{found:?}");
    }

    #[test]
    fn a_slow_node_is_named_and_its_switch_is_not() {
        let (pairs, places) = network(24, |a, b| if a == 13 || b == 13 { 2.0 } else { 1.0 });
        let found = find(&pairs, &places);
        assert_eq!(found.suspects.iter().map(|s| s.part).collect::<Vec<_>>(), [Part::Node(13)]);
        assert!(
            (1.8..2.2).contains(&found.suspects[0].times) && found.suspects[0].slow == 23 && found.pairs.is_empty()
        );
    }

    #[test]
    fn a_slow_cable_of_a_switch_is_found_by_the_pairs_that_cross_it() {
        // A fifth of the pairs that leave switch 2 take the slow cable.
        let crosses = |a: usize, b: usize| (a / 4 == 2) != (b / 4 == 2) && (a * 7 + b).is_multiple_of(5);
        let (pairs, places) = network(24, |a, b| if crosses(a, b) { 3.0 } else { 1.0 });
        let found = find(&pairs, &places);
        assert_eq!(found.suspects[0].part, Part::Switch(2), "{:?}", found.suspects);
        assert!(found.suspects.len() == 1 && found.pairs.is_empty());
    }

    #[test]
    fn one_slow_pair_is_a_pair_and_two_parts_are_two() {
        let (pairs, places) = network(24, |a, b| if (a, b) == (3, 20) { 2.0 } else { 1.0 });
        let found = find(&pairs, &places);
        assert!(found.suspects.is_empty() && found.pairs.len() == 1 && found.pairs[0].0.nodes == [3, 20]);
        let (pairs, places) = network(24, |a, b| if a == 5 || b == 5 || a == 22 || b == 22 { 1.6 } else { 1.0 });
        let mut parts: Vec<Part> = find(&pairs, &places).suspects.iter().map(|s| s.part).collect();
        parts.sort_unstable();
        assert_eq!(parts, [Part::Node(5), Part::Node(22)]);
    }

    #[test]
    fn a_slow_node_does_not_hide_among_colliding_routes() {
        // Pairs beyond a switch share cables with others, by their numbers.
        let shared = |a: usize, b: usize| if a / 4 == b / 4 { 1.0 } else { 1.0 + ((a * 31 + b * 17) % 7) as f64 / 2.0 };
        let (sound, places) = network(48, shared);
        assert!(find(&sound, &places).suspects.is_empty(), "{:?}", find(&sound, &places).suspects);
        let (pairs, places) = network(48, |a, b| shared(a, b).max(if a == 13 || b == 13 { 2.5 } else { 1.0 }));
        assert_eq!(find(&pairs, &places).suspects.iter().map(|s| s.part).collect::<Vec<_>>(), [Part::Node(13)]);
    }

    #[test]
    fn nonsense_is_left_out() {
        let (mut pairs, places) = network(8, |_, _| 1.0);
        pairs.push(Met { nodes: [0, 99], rate: 1.0 });
        pairs.push(Met { nodes: [0, 1], rate: f64::NAN });
        assert!(find(&pairs, &places).suspects.is_empty());
        assert_eq!(find(&[], &[]), Found { limit: LEAST.ln().exp(), ..Found::default() });
    }
}
