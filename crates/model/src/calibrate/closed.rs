//! What a record tells of a machine without a simulation.

use crate::maxrate::data::{Pattern, Sample};
use crate::maxrate::loggp;
use crate::maxrate::probe::EagerLimit;
use crate::maxrate::recorded::Recorded;
use record::{About, Metric, PairPattern, RunRecord, TestMode};
use std::collections::BTreeMap;

/// The longest message that is sent without asking: what the delayed receiver found, and the roundest number that fits it, because
/// thresholds are chosen by people.
pub fn eager(record: &RunRecord) -> Option<(u64, EagerLimit)> {
    let probed = |about: &About| matches!(about, About::Point { pattern: PairPattern::EagerLimit, .. });
    let job = record.phases.iter().find(|p| probed(&p.about))?.jobs.first()?;
    let limit = EagerLimit::from_results(&job.results);
    match limit {
        EagerLimit::Blocks { from, below, .. } => Some((roundest(below, from), limit)),
        EagerLimit::Always { .. } => Some((0, limit)),
        // Above the largest that was tried nothing is known.
        EagerLimit::Never { bytes } => Some((bytes, limit)),
        EagerLimit::Invalid => None,
    }
}

/// The number from `low` to below `end` with the most zeros at its end, in twos.
fn roundest(low: u64, end: u64) -> u64 {
    (low..end.min(low + (1 << 16))).max_by_key(|n| (n.trailing_zeros(), std::cmp::Reverse(*n))).unwrap_or(low)
}

/// What a rank computes, by the fastest test of each kind that one rank made for itself: the name in a machine file, and the rate.
pub fn computing(record: &RunRecord) -> Vec<(&'static str, f64)> {
    let alone = |about: &About| matches!(about, About::Test { mode: Some(TestMode::Single | TestMode::Star), .. });
    let jobs = || record.phases.iter().filter(|p| alone(&p.about)).flat_map(|p| &p.jobs);
    let kinds =
        [("host.flops", Metric::Flops), ("host.memory_rate", Metric::Bandwidth), ("host.updates", Metric::Updates)];
    let best = |(name, metric): (&'static str, Metric)| {
        let rates = jobs().filter(|j| j.skipped.is_none() && j.metric == metric).map(|j| j.summary.mean);
        rates.filter(|r| r.is_finite() && *r > 0.0).reduce(f64::max).map(|rate| (name, rate))
    };
    kinds.into_iter().filter_map(best).collect()
}

/// Pairs inside a node are called this.
const INSIDE: &str = "inside";
/// What is so much more than something else is not the same, measured.
const MORE: f64 = 1.1;
/// Where more pairs have less than their share of more messages by so much, a limit is near: a search that begins far above it feels
/// nothing of it, and blames overheads.
const SHORT: f64 = 1.03;

/// Numbers of a machine file by the models of the papers: LogGP's overhead and gap, max-rate's rate of a node. No more than where a
/// search begins, because each of these models leaves something out that a machine has.
pub fn starts(record: &RunRecord) -> BTreeMap<&'static str, f64> {
    let data = Recorded::read(record, false);
    let (inside, between) = (times(&data, Pattern::PingPong, true), times(&data, Pattern::Stream, false));
    let mut found = BTreeMap::new();
    if let Some((send, receive)) = overheads(&data) {
        found.insert("host.send_overhead", send);
        found.insert("host.recv_overhead", receive);
        let local = first(&inside).map(|(_, t)| t - send - receive);
        found.extend(local.filter(|t| *t > 0.0).map(|t| ("host.local_latency", t)));
    }
    let rate = |(&(bytes, pairs), &t): (&(u64, u32), &f64)| bytes as f64 * f64::from(pairs) / t;
    found.extend(between.iter().map(rate).reduce(f64::max).map(|most| ("nic.rate", most)));
    found.extend(messages(&between).map(|most| ("nic.message_rate", most)));
    let duplex = times(&data, Pattern::Duplex, false);
    found.extend(together(&between, &duplex).map(|rate| ("nic.both_rate", rate)));
    let mut longest = inside.iter().rev().filter(|((_, pairs), _)| *pairs == 1).map(|(&(bytes, _), &t)| (bytes, t));
    if let (Some((more, long)), Some((less, short))) = (longest.next(), longest.next()) {
        let rate = (more - less) as f64 / (long - short);
        found.extend((rate > 0.0 && rate.is_finite()).then_some(("host.local_rate", rate)));
    }
    found
}

/// The mean time of a message on one way, by bytes and pairs, between nodes or inside one.
fn times(data: &Recorded, pattern: Pattern, inside: bool) -> BTreeMap<(u64, u32), f64> {
    let wanted = |class: &str, of: Pattern| of == pattern && (class == INSIDE) == inside;
    let ways = if pattern == Pattern::PingPong { 2.0 } else { 1.0 };
    let mut all: BTreeMap<(u64, u32), Vec<f64>> = BTreeMap::new();
    let samples = data.samples.iter().filter(|((class, of), _)| wanted(class, *of)).flat_map(|(_, list)| list);
    for &Sample { bytes, pairs, seconds, .. } in samples {
        all.entry((bytes, pairs)).or_default().push(seconds / ways);
    }
    all.into_iter().map(|(key, list)| (key, list.iter().sum::<f64>() / list.len() as f64)).collect()
}

fn first(times: &BTreeMap<(u64, u32), f64>) -> Option<((u64, u32), f64)> {
    times.iter().next().map(|(key, t)| (*key, *t))
}

/// The overheads of a sender and of a receiver. A train without pauses goes as fast as the slower of the two; if that is the sender, only
/// the way as a whole tells something of the other.
fn overheads(data: &Recorded) -> Option<(f64, f64)> {
    let trips = data.trips.iter().find(|(class, _)| *class != INSIDE)?.1;
    let found = loggp::derive(trips).ok()?;
    let send = found.overhead_s.first().map(|(_, o)| *o).filter(|o| *o > 0.0)?;
    let rest = (found.latency_s - send) / 2.0;
    let receive = if found.gap_s > MORE * send { found.gap_s } else { rest.min(found.gap_s) };
    (receive > 0.0).then_some((send, receive))
}

/// The rate of the shortest messages, if more pairs do not have as much more of it.
fn messages(times: &BTreeMap<(u64, u32), f64>) -> Option<f64> {
    let (shortest, _) = first(times)?;
    let rates = times.iter().filter(|((bytes, _), _)| *bytes == shortest.0);
    let rates: Vec<(f64, f64)> = rates.map(|((_, pairs), t)| (f64::from(*pairs), f64::from(*pairs) / t)).collect();
    let [.., (fewer, before), (pairs, most)] = rates[..] else { return None };
    (most / before * SHORT < pairs / fewer).then_some(most)
}

/// What both directions of a node have together, if they are slower at once than each alone: by the most that is sent.
fn together(stream: &BTreeMap<(u64, u32), f64>, duplex: &BTreeMap<(u64, u32), f64>) -> Option<f64> {
    let (key, both) = duplex.iter().next_back()?;
    let alone = stream.get(key)?;
    let rate = 2.0 * key.0 as f64 * f64::from(key.1) / both;
    (both / alone > MORE).then_some(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_round() {
        assert_eq!(roundest(8190, 8194), 8192);
        assert_eq!(roundest(8192, 8196), 8192);
        assert_eq!(roundest(4000, 4004), 4000);
        assert_eq!(roundest(4001, 4002), 4001);
        assert_eq!(roundest(0, 4), 0);
    }

    fn recorded(class: &str, pattern: Pattern, list: &[(u64, u32, f64)]) -> Recorded {
        let sample = |&(bytes, pairs, seconds): &(u64, u32, f64)| Sample { bytes, pairs, seconds, trial: 0 };
        let samples = BTreeMap::from([((class.to_string(), pattern), list.iter().map(sample).collect())]);
        Recorded { samples, ..Recorded::default() }
    }

    #[test]
    fn message_rates_are_limits_only_where_more_pairs_do_not_help() {
        let rate = |list: &[(u64, u32, f64)]| {
            messages(&times(&recorded("near", Pattern::Stream, list), Pattern::Stream, false))
        };
        assert_eq!(rate(&[(8, 2, 1e-6), (8, 4, 1e-6), (4096, 4, 1e-5)]), None);
        assert_eq!(rate(&[(8, 2, 1e-6), (8, 4, 2e-6), (4096, 4, 1e-5)]), Some(2e6));
        // A limit that four pairs just reach.
        assert_eq!(rate(&[(8, 2, 1e-6), (8, 4, 1.05e-6)]), Some(4.0 / 1.05e-6));
        assert_eq!(rate(&[(8, 2, 1e-6), (8, 4, 1.02e-6)]), None);
        assert_eq!(rate(&[(8, 2, 1e-6)]), None);
    }

    #[test]
    fn directions_share_a_rate_only_where_both_are_slower_than_one() {
        let of = |seconds: f64| {
            let points = |seconds| BTreeMap::from([((8, 1), 1e-6), ((1_000_000, 2), seconds)]);
            together(&points(2e-3), &points(seconds))
        };
        assert_eq!(of(2.1e-3), None);
        assert_eq!(of(4e-3), Some(1e9));
    }

    #[test]
    fn overheads_follow_from_trains() {
        let trip = |messages, pause, seconds| loggp::Prtt { messages, pause, bytes: 8, seconds };
        let of = |trips: [loggp::Prtt; 3], class: &str| {
            overheads(&Recorded { trips: BTreeMap::from([(class.to_string(), trips.to_vec())]), ..Recorded::default() })
        };
        // Round trip 4 us, sends of 0.3 us; the receiver needs 0.5 us for each, or less than the sender.
        let train =
            |gap: f64| [trip(1, 0.0, 4e-6), trip(11, 0.0, 4e-6 + 10.0 * gap), trip(11, 5e-6, 4e-6 + 10.0 * 5.3e-6)];
        let near = |found: Option<(f64, f64)>, send: f64, receive: f64| {
            found.is_some_and(|(s, r)| (s / send - 1.0).abs() < 1e-6 && (r / receive - 1.0).abs() < 1e-6)
        };
        assert!(near(of(train(0.5e-6), "near"), 0.3e-6, 0.5e-6));
        assert!(near(of(train(0.3e-6), "near"), 0.3e-6, 0.3e-6));
        assert_eq!(of(train(0.5e-6), "inside"), None);
    }
}
