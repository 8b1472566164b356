//! When does each flow end? Between two events (a start or an end) penalties are constant and every flow moves 1/(alpha rho)
//! bytes a second; at an event only the senders that it can reach are asked for new penalties.

use super::agenda::Agenda;
use super::graph::{Graph, GraphError};
use super::rules::{Notes, RuleError, Rules};
use super::traffic::{Reach, Traffic};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use thiserror::Error;

/// How to solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Seconds per byte of a flow alone.
    pub alpha: f64,
    /// Seconds before the first byte of every flow.
    pub latency: f64,
    /// The smallest penalty: R_N/R_C where a single flow cannot fill its node (see [`super::join`]); else 1.
    pub floor: f64,
    /// Whether to keep the table of steps; its size is flows times events.
    pub steps: bool,
    /// Penalties that are computed, or kept in the table, before the solver gives up rather than run for hours: rule sets
    /// that look at whole components compute all of a component's penalties at every event in it.
    pub patience: u64,
}

/// A few minutes of computing, or a few gigabytes of table.
pub const PATIENCE: u64 = 2_000_000_000;

impl Options {
    /// Flows alone move `rate` bytes a second; no latency, no table.
    pub fn rate(rate: f64) -> Options {
        Options { alpha: 1.0 / rate, latency: 0.0, floor: 1.0, steps: false, patience: PATIENCE }
    }
}

/// Between two events.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// When it begins, in seconds.
    pub from_s: f64,
    /// When it ends, in seconds.
    pub to_s: f64,
    /// The flows under way.
    pub flows: Vec<StepFlow>,
}

/// A flow during a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepFlow {
    /// Its index.
    pub flow: usize,
    /// Its penalty.
    pub penalty: f64,
    /// Bytes still to be sent when the step begins.
    pub remaining: f64,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Solution {
    /// When each flow starts to send, in seconds.
    pub start_s: Vec<f64>,
    /// When each flow ends, in seconds.
    pub end_s: Vec<f64>,
    /// How often something started or ended; simultaneous ones count once.
    pub events: usize,
    /// The table of steps if it was asked for.
    pub steps: Vec<Step>,
}

/// Why there is no solution.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SolveError {
    /// The graph is none.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The rule set cannot do it.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// An option is out of range.
    #[error("{name} = {value}: must be finite and {range}")]
    Option {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What is allowed.
        range: &'static str,
    },
    /// It would take too long.
    #[error(
        "gave up after {events} events and {limit} penalties; use a rule set of short reach (paper, vienne, degree), divide \
         the graph, or raise the patience"
    )]
    Patience {
        /// Events done.
        events: usize,
        /// The patience.
        limit: u64,
    },
    /// A rule set broke its contract.
    #[error("flow {flow}: the rule set gives penalty {penalty}; penalties are finite and at least 1")]
    Penalty {
        /// The flow.
        flow: u32,
        /// What it gave.
        penalty: f64,
    },
}

/// Ends closer than this share of a flow's own duration are one event.
const SAME: f64 = 1e-12;
/// Times closer than a few units in the last place are equal.
const ULPS: f64 = 8.0 * f64::EPSILON;

/// Solves a graph.
pub fn solve(graph: &Graph, rules: &dyn Rules, options: &Options) -> Result<Solution, SolveError> {
    graph.check().map_err(|e| e.1)?;
    let check = |name, value: f64, good: bool, range| match good && value.is_finite() {
        true => Ok(()),
        false => Err(SolveError::Option { name, value, range }),
    };
    check("alpha", options.alpha, options.alpha > 0.0, "above zero")?;
    check("latency", options.latency, options.latency >= 0.0, "not negative")?;
    check("floor", options.floor, options.floor >= 1.0, "at least 1")?;
    let mut solver = Solver::new(graph, rules, *options);
    while let Some(now) = solver.next_time() {
        solver.events += 1;
        solver.close_step(now);
        // Ends come before starts: what waits for a flow may start at the instant of its end.
        solver.finish_flows(now);
        solver.start_flows(now);
        solver.update(now)?;
        solver.open_step(now);
        if solver.work > options.patience {
            return Err(SolveError::Patience { events: solver.events, limit: options.patience });
        }
    }
    Ok(Solution { start_s: solver.start, end_s: solver.end, events: solver.events, steps: solver.steps })
}

/// A time that can be ordered.
#[derive(Clone, Copy, PartialEq)]
struct At(f64);
impl Eq for At {}
impl Ord for At {
    fn cmp(&self, other: &At) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
impl PartialOrd for At {
    fn partial_cmp(&self, other: &At) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The progress of one flow: what was left at an instant and how fast it goes since.
#[derive(Clone, Copy)]
struct FlowProgress {
    remaining: f64,
    since: f64,
    penalty: f64,
    /// Predicted end at this penalty.
    end: f64,
}

struct Solver<'a> {
    graph: &'a Graph,
    rules: &'a dyn Rules,
    options: Options,
    traffic: Traffic,
    progress: Vec<FlowProgress>,
    agenda: Agenda,
    starts: BinaryHeap<Reverse<(At, usize)>>,
    /// Flows that start after each flow.
    followers: Vec<Vec<u32>>,
    start: Vec<f64>,
    end: Vec<f64>,
    events: usize,
    /// Penalties computed or kept so far.
    work: u64,
    steps: Vec<Step>,
}

impl<'a> Solver<'a> {
    fn new(graph: &'a Graph, rules: &'a dyn Rules, options: Options) -> Solver<'a> {
        let flows = graph.flows.len();
        let mut followers = vec![Vec::new(); flows];
        let mut starts = BinaryHeap::new();
        for (i, f) in graph.flows.iter().enumerate() {
            match f.after {
                Some(after) => followers[after].push(i as u32),
                None => starts.push(Reverse((At(f.start + options.latency), i))),
            }
        }
        Solver {
            graph,
            rules,
            options,
            traffic: Traffic::new(graph.nodes.len(), &graph.edges()),
            progress: vec![FlowProgress { remaining: 0.0, since: 0.0, penalty: 1.0, end: 0.0 }; flows],
            agenda: Agenda::new(graph.nodes.len()),
            starts,
            followers,
            start: vec![0.0; flows],
            end: vec![0.0; flows],
            events: 0,
            work: 0,
            steps: Vec::new(),
        }
    }

    fn next_time(&self) -> Option<f64> {
        let start = self.starts.peek().map(|s| s.0.0.0);
        let end = self.agenda.first().map(|e| e.0);
        [start, end].into_iter().flatten().reduce(f64::min)
    }

    /// Whether a flow under way ends now, or so soon that the difference is rounding.
    fn ends(&self, flow: u32, now: f64) -> bool {
        let p = &self.progress[flow as usize];
        let duration = self.options.alpha * p.penalty * self.graph.flows[flow as usize].bytes;
        p.end <= now + ULPS * now + SAME * duration
    }

    fn finish_flows(&mut self, now: f64) {
        while let Some((_, sender)) = self.agenda.first() {
            let done: Vec<u32> =
                self.traffic.flows_from(sender).iter().copied().filter(|&f| self.ends(f, now)).collect();
            if done.is_empty() {
                break;
            }
            for flow in done {
                self.traffic.end(flow as usize);
                self.finished(flow as usize, now);
            }
            // The sender's remaining flows are entered again by `update`, which always includes a changed sender.
            self.agenda.remove(sender);
        }
    }

    fn finished(&mut self, flow: usize, now: f64) {
        self.end[flow] = now;
        for i in 0..self.followers[flow].len() {
            let next = self.followers[flow][i] as usize;
            let start = now + self.graph.flows[next].start + self.options.latency;
            self.starts.push(Reverse((At(start), next)));
        }
    }

    fn start_flows(&mut self, now: f64) {
        while let Some(&Reverse((At(start), flow))) = self.starts.peek() {
            if start > now + ULPS * now {
                break;
            }
            self.starts.pop();
            self.start[flow] = now;
            let bytes = self.graph.flows[flow].bytes;
            // An empty flow ends as it starts; what waits for it can be due in this same loop.
            if bytes == 0.0 {
                self.finished(flow, now);
            } else {
                self.progress[flow] = FlowProgress { remaining: bytes, since: now, penalty: 1.0, end: f64::INFINITY };
                self.traffic.start(flow);
            }
        }
    }

    /// New penalties where the changes reach.
    fn update(&mut self, now: f64) -> Result<(), SolveError> {
        let changed = self.traffic.settle();
        let reach = self.rules.reach();
        let senders = self.traffic.affected(&changed, reach);
        // Penalties of short reach follow sender by sender; the others need a whole component at once.
        if reach != Reach::Component {
            let mut penalties = Vec::new();
            for &sender in &senders {
                let flows = self.traffic.flows_from(sender);
                penalties.clear();
                penalties.resize(flows.len(), 0.0);
                self.rules.penalties(&self.traffic, flows, &mut penalties, &mut Notes::default())?;
                let mut earliest = f64::INFINITY;
                for (i, &penalty) in penalties.iter().enumerate() {
                    let flow = self.traffic.flows_from(sender)[i];
                    earliest = earliest.min(self.set_penalty(flow, penalty, now)?);
                }
                self.agenda.set(sender, earliest);
            }
            return Ok(());
        }
        let mut done = vec![false; if senders.is_empty() { 0 } else { self.graph.nodes.len() }];
        for sender in senders {
            // Its component was solved for an earlier sender.
            if done[sender as usize] {
                continue;
            }
            let flows = self.traffic.component(sender);
            let mut penalties = vec![0.0; flows.len()];
            self.rules.penalties(&self.traffic, &flows, &mut penalties, &mut Notes::default())?;
            for (&flow, &penalty) in flows.iter().zip(&penalties) {
                self.set_penalty(flow, penalty, now)?;
            }
            for &flow in &flows {
                let sender = self.traffic.sender(flow);
                if !std::mem::replace(&mut done[sender as usize], true) {
                    self.enter(sender);
                }
            }
        }
        Ok(())
    }

    /// Moves a flow to the present, gives it a new penalty and returns its end. A flow whose penalty stays the same is left untouched, so
    /// that its end does not drift by rounding.
    fn set_penalty(&mut self, flow: u32, penalty: f64, now: f64) -> Result<f64, SolveError> {
        // Rounding may leave a penalty a hair below 1, which the floor lifts.
        if !(penalty.is_finite() && penalty >= 1.0 - 1e-9) {
            return Err(SolveError::Penalty { flow, penalty });
        }
        let penalty = penalty.max(self.options.floor);
        self.work += 1;
        let p = &mut self.progress[flow as usize];
        // A flow that has just started has no end yet, even if its penalty stays 1.
        if p.penalty != penalty || p.end.is_infinite() {
            let moved = (now - p.since) / (self.options.alpha * p.penalty);
            let remaining = (p.remaining - moved).max(0.0);
            *p = FlowProgress { remaining, since: now, penalty, end: now + remaining * self.options.alpha * penalty };
        }
        Ok(p.end)
    }

    /// Puts a sender's earliest end into the agenda.
    fn enter(&mut self, sender: u32) {
        let flows = self.traffic.flows_from(sender).iter();
        let earliest = flows.map(|&f| self.progress[f as usize].end).fold(f64::INFINITY, f64::min);
        self.agenda.set(sender, earliest);
    }

    fn close_step(&mut self, now: f64) {
        if let Some(step) = self.steps.last_mut().filter(|s| s.to_s.is_infinite()) {
            step.to_s = now;
        }
    }

    fn open_step(&mut self, now: f64) {
        if !self.options.steps {
            return;
        }
        let under_way = (0..self.graph.nodes.len() as u32).flat_map(|s| self.traffic.flows_from(s).iter().copied());
        let state = |flow: u32| {
            let p = &self.progress[flow as usize];
            let remaining = (p.remaining - (now - p.since) / (self.options.alpha * p.penalty)).max(0.0);
            StepFlow { flow: flow as usize, penalty: p.penalty, remaining }
        };
        let mut flows: Vec<StepFlow> = under_way.map(state).collect();
        flows.sort_by_key(|f| f.flow);
        // An entry of the table is held for good, which costs more than a penalty that is computed and forgotten.
        self.work += 16 * flows.len() as u64;
        if !flows.is_empty() {
            self.steps.push(Step { from_s: now, to_s: f64::INFINITY, flows });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::super::rules::start;
    use super::*;

    fn paper(text: &str, options: Options) -> Solution {
        let rules = start("paper", &spec::Params::new()).unwrap();
        solve(&parse::read(text).unwrap(), &*rules, &options).unwrap()
    }

    #[test]
    fn zero_bytes_latency_and_followers() {
        let s = paper("a: 1 -> 2 0 @3s\nb: 1 -> 2 10 after a\nc: 1 -> 3 10 @1s after b\n", Options::rate(10.0));
        assert_eq!((s.end_s.as_slice(), s.start_s.as_slice()), (&[3.0, 4.0, 6.0][..], &[3.0, 3.0, 5.0][..]));
        let s = paper("a: 1 -> 2 10\n", Options { latency: 0.5, ..Options::rate(10.0) });
        assert_eq!(s.end_s, [1.5]);
    }

    #[test]
    fn a_floor_slows_lone_flows_and_not_crowded_ones() {
        let options = Options { floor: 2.5, ..Options::rate(10.0) };
        assert_eq!(paper("1 -> 2 10\n", options).end_s, [2.5]);
        assert_eq!(paper("1 -> 2 10\n1 -> 3 10\n1 -> 4 10\n", options).end_s, [3.0; 3]);
    }

    #[test]
    fn bad_options_are_refused() {
        let graph = parse::read("1 -> 2").unwrap();
        let rules = start("paper", &spec::Params::new()).unwrap();
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(solve(&graph, &*rules, &Options { alpha, ..Options::rate(1.0) }).is_err());
        }
        assert!(solve(&graph, &*rules, &Options { floor: 0.5, ..Options::rate(1.0) }).is_err());
        assert!(solve(&Graph::default(), &*rules, &Options::rate(1.0)).is_err());
    }

    #[test]
    fn patience_ends_what_would_take_too_long() {
        let edges: Vec<(usize, usize)> = (0..200).map(|i| (i, 200 + i % 7)).collect();
        let mut graph = Graph::from_edges(&edges, 1.0).unwrap();
        graph.flows.iter_mut().enumerate().for_each(|(i, f)| f.bytes += i as f64);
        let rules = start("max-min", &spec::Params::new()).unwrap();
        let options = Options { patience: 1000, ..Options::rate(1.0) };
        let e = solve(&graph, &*rules, &options).unwrap_err();
        assert!(matches!(e, SolveError::Patience { limit: 1000, .. }), "{e}");
        assert!(solve(&graph, &*rules, &Options::rate(1.0)).is_ok());
    }

    #[test]
    fn tiny_flows_late_in_a_long_run_end() {
        // One byte at 1e5 s: the clock's last digit is worth more than the flow.
        let s = paper("a: 1 -> 2 1 @100000s\nb: 1 -> 3 1 @100000s\n", Options::rate(1e12));
        assert!(s.end_s.iter().all(|e| *e >= 100_000.0 && *e < 100_000.001));
    }
}
