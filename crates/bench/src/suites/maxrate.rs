//! Max-rate: how long a message takes when k pairs across two nodes communicate at once.
//!
//! One phase per class of pair, mode, size n and number of pairs k, in random order, so that slow drifts of the machine do not
//! look like an effect of n or k. A phase's blocks are the trials. Phases are named `CLASS/MODE/n=N/k=K`.

mod class;

use super::{Request, Suite, SuiteError};
use crate::site::Ask;
use class::Class;
use record::{About, Instances, Job, Members, NodeOrder, OverlapPart, PairPattern, Phase, Plan, Role, Stop};
use spec::{Card, Kind, Param, Params, ReadParams, Rng, about_bytes, parse_bytes};

/// The suite.
pub const MAXRATE: Suite = Suite {
    card: Card {
        name: "maxrate",
        about: "Ping-pong and streams of k pairs across two nodes, for `tailback fit maxrate`",
        source: "Gropp, Olson, Samfass (EuroMPI '16)",
        params: &[
            Param::new(
                "modes",
                Kind::Text,
                "pingpong",
                "what pairs do: pingpong (the paper's), stream (one way), duplex (both ways)",
            ).known(|| MODES.iter().map(|m| m.0).collect()),
            Param::new(
                "pair",
                Kind::Text,
                "near",
                "which ranks, several by commas: near (first two nodes), same-switch, same-group, far, inside (one node), same-socket, cross-socket, nodes A-B, or slots N/S-T/S-T",
            ).known(|| vec!["near", "same-switch", "same-group", "far", "inside", "same-socket", "cross-socket"]),
            Param::new(
                "pairs",
                Kind::Text,
                "all",
                "numbers of pairs at once, e.g. `1,2,4-8`; `all` for 1 to the ranks of a node",
            ),
            Param::new("from", Kind::Size, "4", "smallest message"),
            Param::new("to", Kind::Size, "256KiB", "largest message"),
            Param::new("per-octave", Kind::Count, "4", "sizes between a size and its double").up_to(64.0),
            Param::new("sizes", Kind::Text, "", "these sizes instead, separated by commas"),
            Param::new(
                "beside",
                Kind::Choice(&["no", "yes"]),
                "no",
                "also one byte below and above each power of two, where protocols change",
            ),
            Param::new("trials", Kind::Count, "11", "repetitions of each point").up_to(MOST_TRIALS as f64).simulated("3"),
            Param::new("loops", Kind::Count, "1000", "messages of a trial at most").simulated("4"),
            Param::new("volume", Kind::Size, "16MiB", "bytes of a trial and pair at most").up_to(1e15),
            Param::new("window", Kind::Count, "16", "messages under way at once in stream and duplex").up_to(crate::kernels::WINDOW).at_least(1.0),
            Param::new("time", Kind::Time, "2s", "time limit of each point").simulated("20ms"),
            Param::new(
                "probe",
                Kind::Choice(&["no", "yes"]),
                "no",
                "also the delayed receiver: the size from which on sends wait for their receiver, by doubling and bisection",
            ),
            Param::new("delay", Kind::Time, "10ms", "delay of that receiver"),
            Param::new(
                "loggp",
                Kind::Choice(&["no", "yes"]),
                "no",
                "also parametrised round trips of one pair, for LogGP's L, o, g and G",
            ),
            Param::new(
                "messages",
                Kind::Text,
                "",
                "also so many messages at once, e.g. `1,10,100,1000`: the search through the receive queue",
            ),
            Param::new(
                "overlap",
                Kind::Choice(&["no", "linear", "square"]),
                "no",
                "also messages, work on an array, and one beside the other: 10 numbers for every 4 bytes of the message (nodecomm -o), or (bytes/4)^2 up to ten million (-o2)",
            ),
        ],
    },
    asks: &[Ask::Distances, Ask::Sockets],
    alone: false,
    shortcut: None,
    tries: None,
    plan,
    tiny: &[("sizes", "8,4096"), ("trials", "2"), ("loops", "2")],
};

/// A mode of the command line: its word, its kernel and what its points are about.
type Mode = (&'static str, &'static str, PairPattern);
const MODES: [Mode; 3] = [
    ("pingpong", "pair-pingpong", PairPattern::Pingpong),
    ("stream", "pair-stream", PairPattern::Stream),
    ("duplex", "pair-duplex", PairPattern::Duplex),
];
/// netgauge's number of messages of a parametrised round trip.
const PRTT_MESSAGES: u64 = 10;
/// LogGP's line needs a few sizes, not all.
const PRTT_SIZES: usize = 12;
/// Bytes of a message of the message-count sweep: the default of its kernel.
const QUEUE_BYTES: u64 = 8;
/// The batches of a record keep so many blocks apart.
const MOST_TRIALS: u64 = record::batches::MOST as u64;

fn wrong(param: &str, value: &str, reason: impl std::fmt::Display) -> SuiteError {
    SuiteError::Unknown(format!("maxrate: {param}={value}: {reason}"))
}

/// Reads `1,2,4-8`.
fn ranges(param: &str, text: &str, most: u64) -> Result<Vec<u64>, SuiteError> {
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let number = |t: &str| t.trim().parse::<u64>().ok().filter(|n| (1..=most).contains(n));
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let range = number(low).zip(number(high)).filter(|(low, high)| low <= high);
        let (low, high) =
            range.ok_or_else(|| wrong(param, part, format!("numbers from 1 to {most} like `1,2,4-8`")))?;
        all.extend(low..=high);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// The sizes in rising order.
fn sizes(params: &Params) -> Result<Vec<u64>, SuiteError> {
    let mut all: Vec<u64> = Vec::new();
    for text in params.names("sizes") {
        let bytes = parse_bytes(&text).map_err(|e| wrong("sizes", &text, e))?;
        // The limit of every message, which the kernels' cards have too.
        if bytes as f64 > Kind::Size.most() {
            let most = about_bytes(Kind::Size.most() as u64);
            return Err(wrong("sizes", &text, format!("a message has at most {most}")));
        }
        all.push(bytes);
    }
    if all.is_empty() {
        let (from, to, per) = (params.size("from"), params.size("to"), params.count("per-octave"));
        if from == 0 || from > to {
            return Err(wrong("from", params.word("from"), format!("from 1 byte up to `to` ({to} bytes)")));
        }
        if per == 0 {
            return Err(wrong("per-octave", params.word("per-octave"), "from 1 to 64"));
        }
        // From the exponent, not from the size before: rounding does not add up and octaves end on doubles of the first size.
        let size = |i: u32| (from as f64 * 2f64.powf(f64::from(i) / per as f64)).round() as u64;
        all.extend((0..).map(size).take_while(|s| *s <= to as u64));
    }
    if params.word("beside") == "yes" {
        let (low, high) = (all.iter().min().copied().unwrap_or(1), all.iter().max().copied().unwrap_or(1));
        // Strictly inside, so that the neighbours of a power stay within what was asked for.
        let powers = (0..63).map(|j| 1u64 << j).filter(|p| *p > low && *p < high);
        all.extend(powers.collect::<Vec<_>>().into_iter().flat_map(|p| [p - 1, p + 1]));
    }
    if let Some(zero) = all.iter().find(|s| **s == 0) {
        return Err(wrong("sizes", &zero.to_string(), "a message has at least 1 byte"));
    }
    // Small sizes of a dense octave round to the same number of bytes.
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn given(list: &[(&str, String)]) -> Params {
    list.iter().map(|(k, v)| (k.to_string(), v.clone())).collect()
}

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, seed, payload, .. } = request;
    let layout = request.site.layout;
    if params.count("trials") == 0 {
        return Err(wrong("trials", "0", format!("from 1 to {MOST_TRIALS}: trials are kept apart")));
    }
    let sizes = sizes(params)?;
    let mut modes = Vec::new();
    for name in params.names("modes") {
        let known = || spec::near::unknown("mode of maxrate", &name, MODES.iter().map(|m| m.0));
        modes.push(*MODES.iter().find(|m| m.0 == name).ok_or_else(|| SuiteError::Unknown(known()))?);
    }
    let mut phases = Vec::new();
    for text in class::settle(request.site, &params.names("pair"))? {
        let class = Class::read(&text, layout)?;
        let most = class.most(layout);
        if most == 0 {
            return Err(SuiteError::TooSmall(format!("maxrate: pair={text} needs 2 ranks on the node")));
        }
        let counts: Vec<u64> = match params.word("pairs") {
            "all" => (1..=u64::from(most)).collect(),
            text => ranges("pairs", text, most.into())?,
        };
        Plan::may_have(&[modes.len(), counts.len(), sizes.len()], 1)?;
        for &mode in &modes {
            for &pairs in &counts {
                phases.extend(sizes.iter().map(|&n| point(params, &class, mode, n, pairs as u32)));
            }
        }
        if params.word("overlap") != "no" {
            Plan::may_have(&[OverlapPart::ALL.len(), counts.len(), sizes.len()], 1)?;
            for &pairs in &counts {
                phases.extend(sizes.iter().flat_map(|&n| beside_work(params, &class, n, pairs as u32)));
            }
        }
        phases.extend(extras(params, &class, &sizes)?);
    }
    if phases.is_empty() {
        return Err(SuiteError::Unknown("maxrate: nothing to do; give modes, pair and pairs".into()));
    }
    // In random order, so that a drift of the machine does not pass for an effect of size or pairs (Hunold, Carpen-Amarie).
    Rng::new(seed, "maxrate order", 0).shuffle(&mut phases);
    let plan = Plan { sweep: true, ..Plan::new("maxrate", seed, NodeOrder::Natural, payload, phases) };
    super::check(&plan, request.site)?;
    Ok(plan)
}

fn job(name: &str, kernel: &str, params: Params, members: Members, stop: Stop) -> Job {
    let (name, kernel) = (name.into(), kernel.into());
    Job { name, kernel, params, role: Role::Measured, members, instances: Instances::Job, stop }
}

/// How often a point is measured whose steps are windows of so many messages.
fn often(params: &Params, n: u64, window: u64) -> Stop {
    // No size is 0 (`sizes` refuses it), so the division is safe.
    let messages = params.count("loops").min(params.size("volume") as u64 / n).max(1);
    // A step is a whole window, so the last one may send more than was asked for.
    let steps = messages.div_ceil(window).clamp(1, u64::from(u32::MAX)) as u32;
    let trials = params.count("trials");
    Stop {
        warmup: (steps / 10).max(1),
        steps,
        blocks: trials,
        min_blocks: trials.min(3),
        time_s: Some(params.time("time").secs()).filter(|t| *t > 0.0),
        ..Stop::ONCE
    }
}

/// One size and number of pairs.
fn point(params: &Params, class: &Class, (mode, kernel, pattern): Mode, n: u64, pairs: u32) -> Phase {
    let window = if pattern == PairPattern::Pingpong { 1 } else { params.count("window").max(1) };
    let mut own = given(&[("size", n.to_string())]);
    if pattern != PairPattern::Pingpong {
        own.insert("window".into(), window.to_string());
    }
    let about = About::Point { class: class.name.clone(), pattern, bytes: n, pairs };
    Phase::new(about, vec![job(mode, kernel, own, class.members(pairs), often(params, n, window))])
}

/// One size and number of pairs three times: messages, work, and one beside the other.
fn beside_work(params: &Params, class: &Class, n: u64, pairs: u32) -> [Phase; 3] {
    // The original counts a message in integers of 4 bytes.
    let integers = n.div_ceil(4);
    let doubles = match params.word("overlap") {
        "square" => integers.saturating_mul(integers).min(10_000_000),
        _ => 10 * integers,
    };
    OverlapPart::ALL.map(|part| {
        let word = part.word();
        let own = given(&[("size", n.to_string()), ("doubles", doubles.to_string()), ("part", word.into())]);
        let pattern = PairPattern::Overlap { part };
        let about = About::Point { class: class.name.clone(), pattern, bytes: n, pairs };
        Phase::new(about, vec![job(word, "pair-overlap", own, class.members(pairs), often(params, n, 1))])
    })
}

/// The delayed receiver, the parametrised round trips and the message-count sweep, with one pair.
fn extras(params: &Params, class: &Class, sizes: &[u64]) -> Result<Vec<Phase>, SuiteError> {
    let stop = |warmup: u32, blocks: u64| Stop { warmup, blocks, ..Stop::ONCE };
    let mut phases = Vec::new();
    let mut phase = |pattern: PairPattern, bytes: u64, job: Job| {
        let about = About::Point { class: class.name.clone(), pattern, bytes, pairs: 1 };
        phases.push(Phase::new(about, vec![job]));
    };
    let trials = params.count("trials");
    if params.word("probe") == "yes" {
        let (first, most) = (sizes.first().copied().unwrap_or(1), sizes.last().copied().unwrap_or(1));
        let range = [("first", first.to_string()), ("most", most.to_string())];
        let own = given(&[range[0].clone(), range[1].clone(), ("delay", params.word("delay").into())]);
        // Once is enough: the search repeats every size by itself and lets the tries vote.
        phase(PairPattern::EagerLimit, most, job("probe", "eager-limit", own, class.members(1), stop(0, 1)));
    }
    if params.word("loggp") == "yes" {
        for &n in sizes.iter().step_by(sizes.len().div_ceil(PRTT_SIZES).max(1)) {
            for (name, messages, pause) in
                [("one", 1, "none"), ("many", PRTT_MESSAGES, "none"), ("spaced", PRTT_MESSAGES, "trip")]
            {
                let own =
                    given(&[("size", n.to_string()), ("messages", messages.to_string()), ("pause", pause.into())]);
                let pattern = PairPattern::RoundTrip { messages: messages as u32, spaced: pause == "trip" };
                phase(pattern, n, job(name, "pair-prtt", own, class.members(1), stop(2, trials)));
            }
        }
    }
    // The most that `pair-queue` has tags for.
    for m in ranges("messages", params.word("messages"), 30_000)? {
        for order in ["same", "reverse"] {
            let own = given(&[("messages", m.to_string()), ("order", order.into())]);
            let pattern = PairPattern::Queue { messages: m as u32, reverse: order == "reverse" };
            phase(pattern, QUEUE_BYTES, job("queue", "pair-queue", own, class.members(1), stop(0, trials)));
        }
    }
    Ok(phases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Site;
    use record::{Layout, Payload};

    fn make(layout: (u32, u32), options: &[(&str, &str)]) -> Result<Plan, SuiteError> {
        let options: Params = options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let (nodes, slots) = layout;
        let site = Site::new(Layout::even(nodes, slots), false);
        MAXRATE.plan_on(&options, &site, 3, Payload::Checked)
    }

    #[test]
    fn every_size_and_number_of_pairs_once_in_random_order() {
        let plan = make((2, 4), &[("from", "4"), ("to", "64")]).unwrap();
        let mut names: Vec<&str> = plan.phases.iter().map(|p| p.name.as_str()).collect();
        // Four octaves of four sizes and the last one; sizes of 4, 5, 6, 7, 8 bytes do not fall together.
        assert_eq!(names.len(), 17 * 4);
        let sorted_by_plan = names.is_sorted();
        names.sort_unstable();
        names.dedup();
        assert!(names.len() == 68 && !sorted_by_plan);
        let again = make((2, 4), &[("from", "4"), ("to", "64")]).unwrap();
        assert_eq!(plan, again);
    }

    #[test]
    fn extras_have_phases_of_their_own() {
        let extras = [("probe", "yes"), ("loggp", "yes"), ("messages", "1,10"), ("overlap", "square")];
        let plan = make((2, 1), &[&[("sizes", "8,16")][..], &extras].concat()).unwrap();
        let count = |word: &str| plan.phases.iter().filter(|p| p.name.contains(word)).count();
        assert_eq!((count("pingpong"), count("/probe"), count("/loggp"), count("queue")), (2, 1, 6, 4));
        assert_eq!((count("/overlap/"), count("/k=1/both")), (6, 2));
        let doubles = |n: &str| {
            plan.phases.iter().filter(|p| p.name.contains(n)).map(|p| p.jobs[0].params.count("doubles")).max()
        };
        assert_eq!((doubles("overlap/n=8/"), doubles("overlap/n=16/")), (Some(4), Some(16)));
    }

    #[test]
    fn mistakes_are_named() {
        let text = |layout, options: &[(&str, &str)]| make(layout, options).unwrap_err().to_string();
        assert!(text((2, 2), &[("modes", "pingpang")]).contains("did you mean `pingpong`"));
        assert!(text((2, 2), &[("pairs", "1-3")]).contains("from 1 to 2"));
        assert!(text((2, 2), &[("pair", "0-9")]).contains("needs node 9"));
        assert!(text((1, 2), &[]).contains("needs node 1"));
        assert!(text((2, 1), &[("pair", "inside")]).contains("2 ranks"));
        assert!(text((2, 2), &[("sizes", "0")]).contains("at least 1 byte"));
        assert!(text((2, 2), &[("sizes", "x")]).contains('x'));
        assert!(text((2, 2), &[("from", "9"), ("to", "8")]).contains("from=9"));
        assert!(text((2, 2), &[("trials", "65")]).contains("at most 64"));
        assert!(text((2, 2), &[("modes", "")]).contains("nothing to do"));
    }
}
