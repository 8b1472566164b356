//! Max-rate: how long a message takes when k pairs across two nodes communicate at once.
//!
//! One phase per class of pair, mode, size n and number of pairs k, in random order, so that slow drifts of the machine do not
//! look like an effect of n or k. A phase's blocks are the trials. Phases are named `CLASS/MODE/n=N/k=K`.

use super::{Request, Suite, SuiteError};
use record::{Instances, Job, Layout, Members, NodeOrder, Phase, Place, Plan, Role, Stop};
use spec::{Card, Kind, Param, Params, ReadParams, Rng, parse_bytes};

/// The suite.
pub const MAXRATE: Suite = Suite {
    card: Card {
        name: "maxrate",
        about: "Ping-pong and streams of k pairs across two nodes, for `tailback fit maxrate`",
        source: "Gropp, Olson, Samfass (EuroMPI '16)",
        params: &[
            Param {
                name: "modes",
                about: "what pairs do: pingpong (the paper's), stream (one way), duplex (both ways)",
                kind: Kind::Text,
                default: "pingpong",
            },
            Param {
                name: "pair",
                about: "which nodes, several separated by commas: near (first two), far (first and last), inside (one node), or A-B",
                kind: Kind::Text,
                default: "near",
            },
            Param {
                name: "pairs",
                about: "numbers of pairs at once, e.g. `1,2,4-8`; `all` for 1 to the ranks of a node",
                kind: Kind::Text,
                default: "all",
            },
            Param { name: "from", about: "smallest message", kind: Kind::Size, default: "4" },
            Param { name: "to", about: "largest message", kind: Kind::Size, default: "256KiB" },
            Param { name: "per-octave", about: "sizes between a size and its double", kind: Kind::Count, default: "4" },
            Param { name: "sizes", about: "these sizes instead, separated by commas", kind: Kind::Text, default: "" },
            Param {
                name: "beside",
                about: "also one byte below and above each power of two, where protocols change",
                kind: Kind::Choice(&["no", "yes"]),
                default: "no",
            },
            Param { name: "trials", about: "repetitions of each point, at most 64", kind: Kind::Count, default: "11" },
            Param { name: "loops", about: "messages of a trial at most", kind: Kind::Count, default: "1000" },
            Param { name: "volume", about: "bytes of a trial and pair at most", kind: Kind::Size, default: "16MiB" },
            Param {
                name: "window",
                about: "messages under way at once in stream and duplex",
                kind: Kind::Count,
                default: "16",
            },
            Param { name: "time", about: "time limit of each point", kind: Kind::Time, default: "2s" },
            Param {
                name: "probe",
                about: "also the delayed receiver at every size: where sends begin to wait for their receiver",
                kind: Kind::Choice(&["no", "yes"]),
                default: "no",
            },
            Param { name: "delay", about: "delay of that receiver", kind: Kind::Time, default: "10ms" },
            Param {
                name: "messages",
                about: "also so many messages at once, e.g. `1,10,100,1000`: the search through the receive queue",
                kind: Kind::Text,
                default: "",
            },
        ],
    },
    plan,
};

/// Mode on the command line, kernel in the plan.
pub const MODES: [(&str, &str); 3] =
    [("pingpong", "pair-pingpong"), ("stream", "pair-stream"), ("duplex", "pair-duplex")];
/// Votes of the delayed receiver at each size; odd.
const VOTES: u64 = 3;
/// The batches of a record keep so many blocks apart.
const MOST_TRIALS: u64 = record::batches::MOST as u64;

fn wrong(param: &str, value: &str, reason: impl std::fmt::Display) -> SuiteError {
    SuiteError::Unknown(format!("maxrate: {param}={value}: {reason}"))
}

/// Which ranks make pairs: the places of pair i are entries 2i and 2i+1.
struct Class {
    name: String,
    /// First and second node; equal for pairs inside a node.
    nodes: (u32, u32),
}

impl Class {
    fn read(text: &str, layout: Layout) -> Result<Class, SuiteError> {
        let last = layout.nodes - 1;
        let nodes = match text {
            "near" => (0, 1),
            "far" => (0, last),
            "inside" => (0, 0),
            other => {
                let number = |t: &str| t.trim().parse::<u32>().ok();
                let split = other.split_once('-').and_then(|(a, b)| Some((number(a)?, number(b)?)));
                split.ok_or_else(|| wrong("pair", other, "write near, far, inside, or two node numbers like 0-5"))?
            }
        };
        let named = !matches!(text, "near" | "far" | "inside");
        if named && nodes.0 == nodes.1 {
            return Err(wrong("pair", text, "two different nodes; `inside` is for pairs within a node"));
        }
        if nodes.0.max(nodes.1) > last || (text == "far" && last == 0) {
            let say = format!(
                "maxrate: pair={text} needs node {}, and there are {} nodes (on one host, ranks can count as nodes: --unit rank)",
                nodes.0.max(nodes.1).max(1),
                layout.nodes
            );
            return Err(SuiteError::TooSmall(say));
        }
        Ok(Class { name: text.into(), nodes })
    }

    fn inside(&self) -> bool {
        self.nodes.0 == self.nodes.1
    }

    /// How many pairs there can be.
    fn most(&self, layout: Layout) -> u32 {
        if self.inside() { layout.min_ranks_per_node / 2 } else { layout.min_ranks_per_node }
    }

    fn members(&self, pairs: u32) -> Members {
        let pair = |i: u32| match self.inside() {
            true => [(self.nodes.0, 2 * i), (self.nodes.0, 2 * i + 1)],
            false => [(self.nodes.0, i), (self.nodes.1, i)],
        };
        Members::Places((0..pairs).flat_map(pair).map(|(node, slot)| Place { node, slot }).collect())
    }
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
        all.push(parse_bytes(&text).map_err(|e| wrong("sizes", &text, e))?);
    }
    if all.is_empty() {
        let (from, to, per) = (params.size("from"), params.size("to"), params.count("per-octave"));
        if from == 0 || from > to {
            return Err(wrong("from", params.word("from"), format!("from 1 byte up to `to` ({to} bytes)")));
        }
        if !(1..=64).contains(&per) {
            return Err(wrong("per-octave", params.word("per-octave"), "from 1 to 64"));
        }
        let size = |i: u32| (from as f64 * 2f64.powf(f64::from(i) / per as f64)).round() as u64;
        all.extend((0..).map(size).take_while(|s| *s <= to as u64));
    }
    if params.word("beside") == "yes" {
        let (low, high) = (all.iter().min().copied().unwrap_or(1), all.iter().max().copied().unwrap_or(1));
        let powers = (0..63).map(|j| 1u64 << j).filter(|p| *p > low && *p < high);
        all.extend(powers.collect::<Vec<_>>().into_iter().flat_map(|p| [p - 1, p + 1]));
    }
    if let Some(zero) = all.iter().find(|s| **s == 0) {
        return Err(wrong("sizes", &zero.to_string(), "a message has at least 1 byte"));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn given(list: &[(&str, String)]) -> Params {
    list.iter().map(|(k, v)| (k.to_string(), v.clone())).collect()
}

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let Request { params, layout, seed, payload } = request;
    let trials = params.count("trials");
    if !(1..=MOST_TRIALS).contains(&trials) {
        return Err(wrong("trials", params.word("trials"), format!("from 1 to {MOST_TRIALS}: trials are kept apart")));
    }
    let sizes = sizes(params)?;
    let mut modes = Vec::new();
    for name in params.names("modes") {
        let known = || spec::near::unknown("mode of maxrate", &name, MODES.iter().map(|m| m.0));
        modes.push(*MODES.iter().find(|m| m.0 == name).ok_or_else(|| SuiteError::Unknown(known()))?);
    }
    let mut phases = Vec::new();
    for text in params.names("pair") {
        let class = Class::read(&text, *layout)?;
        let most = class.most(*layout);
        if most == 0 {
            return Err(SuiteError::TooSmall(format!("maxrate: pair={text} needs 2 ranks on the node")));
        }
        let counts = match params.word("pairs") {
            "all" => (1..=u64::from(most)).collect(),
            text => ranges("pairs", text, most.into())?,
        };
        for &(mode, kernel) in &modes {
            for &pairs in &counts {
                phases.extend(sizes.iter().map(|&n| point(params, &class, (mode, kernel), n, pairs as u32)));
            }
        }
        phases.extend(extras(params, &class, &sizes)?);
    }
    if phases.is_empty() {
        return Err(SuiteError::Unknown("maxrate: nothing to do; give modes, pair and pairs".into()));
    }
    Rng::new(*seed, "maxrate order", 0).shuffle(&mut phases);
    let plan = Plan::new("maxrate", *seed, NodeOrder::Natural, *payload, phases);
    super::check(&plan, *layout)?;
    Ok(plan)
}

fn job(name: &str, kernel: &str, params: Params, members: Members, stop: Stop) -> Job {
    let (name, kernel) = (name.into(), kernel.into());
    Job { name, kernel, params, role: Role::Measured, members, instances: Instances::Job, stop }
}

/// One size and number of pairs.
fn point(params: &Params, class: &Class, (mode, kernel): (&str, &str), n: u64, pairs: u32) -> Phase {
    let window = if mode == "pingpong" { 1 } else { params.count("window").max(1) };
    let messages = params.count("loops").min(params.size("volume") as u64 / n).max(1);
    let steps = messages.div_ceil(window).clamp(1, u64::from(u32::MAX)) as u32;
    let trials = params.count("trials");
    let stop = Stop {
        warmup: (steps / 10).max(1),
        steps,
        arrangements: 1,
        blocks: trials,
        min_blocks: trials.min(3),
        time_s: Some(params.time("time").secs()).filter(|t| *t > 0.0),
        precision: None,
        pulse: None,
    };
    let mut own = given(&[("size", n.to_string())]);
    if mode != "pingpong" {
        own.insert("window".into(), window.to_string());
    }
    let name = format!("{}/{mode}/n={n}/k={pairs}", class.name);
    Phase { name, jobs: vec![job(mode, kernel, own, class.members(pairs), stop)] }
}

/// The delayed receiver and the message-count sweep, with one pair.
fn extras(params: &Params, class: &Class, sizes: &[u64]) -> Result<Vec<Phase>, SuiteError> {
    let stop = |blocks: u64| Stop {
        warmup: 0,
        steps: 1,
        arrangements: 1,
        blocks,
        min_blocks: 0,
        time_s: None,
        precision: None,
        pulse: None,
    };
    let mut phases = Vec::new();
    if params.word("probe") == "yes" {
        for &n in sizes {
            for (name, delay) in [("prompt", "0s"), ("late", params.word("delay"))] {
                let own = given(&[("size", n.to_string()), ("delay", delay.to_string())]);
                let jobs = vec![job(name, "late-receiver", own, class.members(1), stop(VOTES))];
                phases.push(Phase { name: format!("{}/probe/n={n}/{name}", class.name), jobs });
            }
        }
    }
    for m in ranges("messages", params.word("messages"), 30_000)? {
        for order in ["same", "reverse"] {
            let own = given(&[("messages", m.to_string()), ("order", order.into())]);
            let jobs = vec![job("queue", "pair-queue", own, class.members(1), stop(params.count("trials")))];
            phases.push(Phase { name: format!("{}/queue/m={m}/{order}", class.name), jobs });
        }
    }
    Ok(phases)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Payload;

    fn make(layout: (u32, u32), options: &[(&str, &str)]) -> Result<Plan, SuiteError> {
        let options: Params = options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let params = MAXRATE.card.resolve(&options)?;
        let (nodes, slots) = layout;
        let layout = Layout::even(nodes, slots);
        plan(&Request { params: &params, layout, seed: 3, payload: Payload::Checked })
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
    fn pairs_are_of_two_nodes_or_of_one() {
        let places = |layout, options: &[(&str, &str)]| {
            let plan = make(layout, options).unwrap();
            let Members::Places(places) = plan.phases[0].jobs[0].members.clone() else { panic!("places") };
            places.iter().map(|p| (p.node, p.slot)).collect::<Vec<_>>()
        };
        let one = [("sizes", "8"), ("pairs", "2")];
        let with = |pair: &'static str| [one[0], one[1], ("pair", pair)];
        assert_eq!(places((5, 4), &with("near")), [(0, 0), (1, 0), (0, 1), (1, 1)]);
        assert_eq!(places((5, 4), &with("far")), [(0, 0), (4, 0), (0, 1), (4, 1)]);
        assert_eq!(places((5, 4), &with("3-2")), [(3, 0), (2, 0), (3, 1), (2, 1)]);
        assert_eq!(places((5, 4), &with("inside")), [(0, 0), (0, 1), (0, 2), (0, 3)]);
    }

    #[test]
    fn extras_have_phases_of_their_own() {
        let plan = make((2, 1), &[("sizes", "8,16"), ("probe", "yes"), ("messages", "1,10")]).unwrap();
        let count = |word: &str| plan.phases.iter().filter(|p| p.name.contains(word)).count();
        assert_eq!((count("pingpong"), count("/late"), count("/prompt"), count("queue")), (2, 2, 2, 4));
    }

    #[test]
    fn mistakes_are_named() {
        let text = |layout, options: &[(&str, &str)]| make(layout, options).unwrap_err().to_string();
        assert!(text((2, 2), &[("modes", "pingpang")]).contains("did you mean `pingpong`"));
        assert!(text((2, 2), &[("pairs", "1-3")]).contains("from 1 to 2"));
        assert!(text((2, 2), &[("pair", "0-9")]).contains("needs node 9"));
        assert!(text((1, 2), &[]).contains("needs node 1"));
        assert!(text((2, 1), &[("pair", "inside")]).contains("2 ranks"));
        assert!(text((2, 2), &[("pair", "1-1")]).contains("different"));
        assert!(text((2, 2), &[("sizes", "0")]).contains("at least 1 byte"));
        assert!(text((2, 2), &[("sizes", "x")]).contains('x'));
        assert!(text((2, 2), &[("from", "9"), ("to", "8")]).contains("from=9"));
        assert!(text((2, 2), &[("trials", "65")]).contains("from 1 to 64"));
        assert!(text((2, 2), &[("modes", "")]).contains("nothing to do"));
    }
}
