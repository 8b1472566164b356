//! Contention graphs: each graph is a phase with one measured job per flow, all started together by the phase.
//!
//! A rank is only a sender or only a receiver of one flow. Flows take the slots of their nodes in order, so a node needs as many
//! ranks as flows leave and enter it. Repetitions are phases of their own, `GRAPH#0`, `GRAPH#1`, because only a phase starts
//! all flows at once. A model reads the graph back from a phase: its jobs have the flows' names, its places their ends.

use super::{Request, Suite, SuiteError};
use record::{About, FlowMeasure, Instances, Job, Members, NodeOrder, Phase, Plan, Purpose, RankAt, Role, Stop};
use spec::{Card, Kind, Param, Params, ReadParams};

/// The suite: one graph. `tailback contention` measures many, files and random ones.
pub const CONTENTION: Suite = Suite {
    card: Card {
        name: "contention",
        about: "Completion times of flows that start together; `tailback contention` does more with them",
        source: "Martinasso, Mehaut (Euro-Par 2011)",
        params: &[
            Param::new("flows", Kind::Text, "0>1,0>2", "flows as FROM>TO between node numbers, separated by commas"),
            Param::new("size", Kind::Size, "20MiB", "bytes of every flow"),
            Param::new("repeats", Kind::Count, "3", "repetitions").up_to(10_000.0),
            Param::new(
                "lead",
                Kind::Time,
                LEAD,
                "wait of all senders before they start, in which the barriers of all flows end; no part of the samples",
            ),
            Param::new(
                "steady",
                Kind::Time,
                "0s",
                "measure steady rates over this time instead of completion times; 0s for no",
            ),
        ],
    },
    asks: &[],
    alone: false,
    shortcut: None,
    tries: None,
    plan,
    tiny: &[("flows", "0>1"), ("size", "64KiB"), ("repeats", "2")],
};

/// All flows wait so long, in which the barriers of all of them end: a barrier behind another flow's data starts its flow late, and a
/// receiver that is late sees a short time.
pub const LEAD: &str = "2ms";

/// Messages of a flow under way in steady mode, of all who measure steady rates.
pub const WINDOW: u32 = 8;

/// One flow of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedFlow {
    /// Its name, unique in the graph.
    pub name: String,
    /// Sending node's place.
    pub from: u32,
    /// Receiving node's place.
    pub to: u32,
    /// Bytes of the message; of one message of many in steady mode.
    pub bytes: u64,
    /// Picoseconds after the common start.
    pub start_ps: u64,
}

/// How flows are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// Completion times, so many repetitions.
    Times {
        /// Repetitions.
        repeats: u32,
        /// Picoseconds that every sender waits first, so that no barrier is stuck behind data; part of the samples.
        lead_ps: u64,
    },
    /// Steady rates over so many seconds.
    Rates {
        /// Seconds.
        seconds: f64,
        /// Messages under way at once.
        window: u32,
    },
}

impl Mode {
    /// Whether rates are measured, not times.
    pub fn steady(self) -> bool {
        matches!(self, Mode::Rates { .. })
    }
}

/// The phases of one graph.
pub fn phases((name, purpose): (&str, Purpose), flows: &[PlannedFlow], mode: Mode) -> Vec<Phase> {
    let phase =
        |flows: FlowMeasure, jobs: Vec<Job>| Phase::new(About::Graph { graph: name.into(), purpose, flows }, jobs);
    match mode {
        Mode::Times { repeats, lead_ps } => {
            let start = |f: &PlannedFlow| {
                let time = |name: &str, ps: u64| (name.to_string(), format!("{ps}ps"));
                Params::from([time("start", f.start_ps), time("calm", lead_ps)])
            };
            // One message and no warm-up: only the start of a phase is common to all flows.
            let jobs = jobs(flows, "flow", start, &Stop::ONCE);
            (0..repeats.max(1)).map(|repeat| phase(FlowMeasure::Times { repeat }, jobs.clone())).collect()
        }
        Mode::Rates { seconds, window } => {
            // A block is as long as the engine allows within the time: the agreement between blocks must not thin out the load.
            let stop = Stop {
                warmup: 1,
                steps: 1 << 16,
                blocks: u64::MAX,
                min_blocks: 3,
                time_s: Some(seconds),
                ..Stop::ONCE
            };
            let params = |_: &PlannedFlow| Params::from([("window".to_string(), window.to_string())]);
            vec![phase(FlowMeasure::Rates, jobs(flows, "flow-rate", params, &stop))]
        }
    }
}

fn jobs(flows: &[PlannedFlow], kernel: &str, params: impl Fn(&PlannedFlow) -> Params, stop: &Stop) -> Vec<Job> {
    let nodes = flows.iter().map(|f| f.from.max(f.to) as usize + 1).max().unwrap_or(0);
    let mut taken = vec![0u32; nodes];
    let mut seat = |node: u32| {
        let slot = taken[node as usize];
        taken[node as usize] += 1;
        RankAt { node, slot }
    };
    let mut list = Vec::with_capacity(flows.len());
    for flow in flows {
        let members = Members::Places(vec![seat(flow.from), seat(flow.to)]);
        let mut params = params(flow);
        params.insert("size".into(), flow.bytes.to_string());
        list.push(Job {
            name: flow.name.clone(),
            kernel: kernel.into(),
            params,
            role: Role::Measured,
            members,
            instances: Instances::Job,
            stop: stop.clone(),
        });
    }
    list
}

/// Nodes and ranks per node that flows need.
pub fn needs(flows: &[PlannedFlow]) -> (u32, u32) {
    let nodes = flows.iter().map(|f| f.from.max(f.to) + 1).max().unwrap_or(0);
    let mut degree = vec![0u32; nodes as usize];
    flows.iter().flat_map(|f| [f.from, f.to]).for_each(|n| degree[n as usize] += 1);
    (nodes, degree.into_iter().max().unwrap_or(0))
}

/// The plan of a list of phases.
pub fn plan_of(phases: Vec<Phase>, seed: u64, payload: record::Payload) -> Plan {
    Plan { sweep: true, ..Plan::new("contention", seed, NodeOrder::Natural, payload, phases) }
}

fn plan(request: &Request<'_>) -> Result<Plan, SuiteError> {
    let &Request { params, seed, payload, .. } = request;
    let layout = request.site.layout;
    let bytes = params.size("size") as u64;
    let mut list = Vec::new();
    for (i, text) in params.names("flows").iter().enumerate() {
        let bad = || SuiteError::Unknown(format!("contention: flow `{text}`: write FROM>TO with two node numbers"));
        let number = |t: &str| t.trim().parse::<u32>().ok().filter(|n| *n < layout.nodes);
        let (from, to) = text.split_once('>').ok_or_else(bad)?;
        if layout.nodes < 2 {
            let say = format!("contention: flow `{text}` needs 2 nodes (or ranks that count as nodes: --unit rank)");
            return Err(SuiteError::TooSmall(say));
        }
        // A flow within a node does not meet the network, so it has no penalty.
        let ends = number(from).zip(number(to)).filter(|(from, to)| from != to);
        let (from, to) = ends.ok_or_else(|| {
            SuiteError::Unknown(format!(
                "contention: flow `{text}`: two different nodes from 0 to {}",
                layout.nodes - 1
            ))
        })?;
        list.push(PlannedFlow { name: format!("f{i}"), from, to, bytes, start_ps: 0 });
    }
    if list.is_empty() {
        return Err(SuiteError::Unknown("contention: flows is empty; write for instance 0>1,0>2".into()));
    }
    let seconds = params.time("steady").secs();
    let mode = match seconds > 0.0 {
        true => Mode::Rates { seconds, window: WINDOW },
        false => {
            let lead_ps = params.time("lead").ps();
            Mode::Times { repeats: params.count("repeats").max(1) as u32, lead_ps }
        }
    };
    // The reference of all penalties; it runs between the nodes of the first flow.
    let alone = [PlannedFlow { name: "alone".into(), ..list[0].clone() }];
    let all =
        [phases(("alone", Purpose::Alone), &alone, mode), phases(("graph", Purpose::Score), &list, mode)].concat();
    let plan = plan_of(all, seed, payload);
    super::check(&plan, request.site)?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Site;
    use record::{Layout, Payload};

    #[test]
    fn a_graph_survives_its_phase_and_no_rank_serves_two_flows() {
        let flow = |name: &str, from, to, start_ps| PlannedFlow { name: name.into(), from, to, bytes: 4096, start_ps };
        let list = [flow("a", 0, 1, 0), flow("b", 0, 2, 2_500_000), flow("c", 2, 1, 0)];
        let made = phases(("g", Purpose::Score), &list, Mode::Times { repeats: 2, lead_ps: 7 });
        assert_eq!((made.len(), made[1].name.as_str()), (2, "g#1"));
        let back = model::contention::recorded::graph(&made[0]).unwrap();
        let same = |(f, g): (&PlannedFlow, &model::contention::Flow)| {
            f.name == g.name && (f.from as usize, f.to as usize) == (g.from, g.to) && f.bytes as f64 == g.bytes
        };
        assert!(list.iter().zip(&back.flows).all(same) && (back.flows[1].start - 2.5e-6).abs() < 1e-15);
        assert_eq!(needs(&list), (3, 2));
        assert!(plan_of(made, 1, Payload::Lengths).check(3, 2).is_ok());
        let steady = phases(("g", Purpose::Score), &list, Mode::Rates { seconds: 1.0, window: 4 });
        assert_eq!(model::contention::recorded::graph(&steady[0]).unwrap().flows[1].from, 0);
    }

    #[test]
    fn the_suite_refuses_what_is_no_flow() {
        let layout = Layout::even(3, 2);
        let make = |text: &str| {
            let given = Params::from([("flows".to_string(), text.to_string())]);
            CONTENTION.plan_on(&given, &Site::new(layout, false), 1, Payload::Checked)
        };
        assert_eq!(make("0>1,0>2").unwrap().phases.len(), 6);
        for bad in ["0>0", "0>3", "0", "", "x>1", "0>1,0>2,0>1"] {
            assert!(make(bad).is_err(), "{bad}");
        }
    }
}
