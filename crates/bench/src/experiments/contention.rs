//! Campaigns over contention graphs: measure them, derive penalties from them, or measure what rule sets are scored on.

use super::Experiment;
use crate::site::Site;
use crate::suites::contention::{self as suite, Mode, PlannedFlow};
use crate::suites::{self, SuiteError};
use model::contention::answers::{Derivation, Measurement};
use model::contention::derive::{self, DeriveError, DeriveSettings, Derived, Store, Tie};
use model::contention::recorded::{MeasuredGraph, Recorded, middle};
use model::contention::{Graph, campaign, parse};
use record::{About, FlowMeasure, Payload, Phase, PhaseRecord, Plan, Purpose, RunRecord};
use spec::{Params, Time};

pub use crate::suites::contention::WINDOW;
/// Bytes of a message in steady mode at most: with the window small beside what a flow moves in the time, each long beside its own
/// handshake. Messages of 64 KiB give other penalties, because their requests wait in the queues that are measured.
const STEADY_BYTES: u64 = 1 << 20;
/// Flows of a steady phase that ran longer than the shortest by this factor ran partly without it.
const TOGETHER: f64 = 1.2;
/// Pairs of nodes on which a flow alone takes longer than on others by this factor blur penalties.
const ALIKE: f64 = 1.05;

/// A graph and what it is called.
#[derive(Clone, Debug)]
pub struct NamedGraph {
    /// Its name.
    pub name: String,
    /// The graph.
    pub graph: Graph,
}

/// Nodes and ranks per node that graphs need: a rank serves one end of one flow.
pub fn needs<'a>(graphs: impl Iterator<Item = &'a Graph>) -> (u32, u32) {
    // The least that a flow alone takes.
    let (mut nodes, mut slots) = (2, 1);
    for graph in graphs {
        let mut degree = vec![0u32; graph.nodes.len()];
        graph.flows.iter().flat_map(|f| [f.from, f.to]).for_each(|n| degree[n] += 1);
        nodes = nodes.max(graph.nodes.len() as u32);
        slots = slots.max(degree.into_iter().max().unwrap_or(1));
    }
    (nodes, slots)
}

/// Whether every flow of a graph finds a free sender and receiver.
fn seats(site: &Site, graph: &Graph) -> bool {
    let (nodes, slots) = needs([graph].into_iter());
    nodes <= site.layout.nodes && slots <= site.layout.min_ranks_per_node
}

/// A graph's flows as the suite wants them.
fn flows(graph: &Graph, mode: Mode) -> Result<Vec<PlannedFlow>, String> {
    let one = |f: &model::contention::Flow| {
        if f.after.is_some() {
            return Err(format!("flow `{}` starts after another: such graphs can be predicted, not measured", f.name));
        }
        if f.bytes < 1.0 {
            return Err(format!("flow `{}` has no bytes: it cannot be measured", f.name));
        }
        let bytes = if mode.steady() { STEADY_BYTES.min(f.bytes as u64) } else { f.bytes as u64 };
        let start_ps = Time::from_secs(f.start).ps();
        Ok(PlannedFlow { name: f.name.clone(), from: f.from as u32, to: f.to as u32, bytes, start_ps })
    };
    graph.flows.iter().map(one).collect()
}

fn phases(named: &NamedGraph, purpose: Purpose, mode: Mode) -> Result<Vec<Phase>, String> {
    let repeats = match mode {
        Mode::Times { repeats, .. } => repeats as usize,
        Mode::Rates { .. } => 1,
    };
    Plan::may_have(&[repeats], named.graph.flows.len()).map_err(|e| format!("graph `{}`: {e}", named.name))?;
    Ok(suite::phases((&named.name, purpose), &flows(&named.graph, mode)?, mode))
}

/// Adds phases, as long as they are not too many.
fn add(all: &mut Vec<Phase>, more: Vec<Phase>) -> Result<(), SuiteError> {
    Plan::may_have(&[all.len() + more.len()], 1)?;
    all.extend(more);
    Ok(())
}

/// The first flow of a graph by itself, where it is in the graph.
fn alone(name: String, graph: &Graph, mode: Mode) -> Result<Vec<Phase>, String> {
    phases(&NamedGraph { name, graph: graph.part(&[0]) }, Purpose::Alone, mode)
}

fn plan(phases: Vec<Phase>, seed: u64, payload: Payload, site: &Site) -> Result<Plan, SuiteError> {
    let plan = suite::plan_of(phases, seed, payload);
    suites::check(&plan, site)?;
    Ok(plan)
}

/// The repetitions of each flow of a measured graph: times, or rates in steady mode.
fn values(measured: &MeasuredGraph, mode: Mode) -> &[Vec<f64>] {
    if mode.steady() { &measured.rates } else { &measured.times }
}

/// The middle time or rate of the flow alone of this name.
fn alone_value(recorded: &Recorded, name: &str, mode: Mode) -> Result<f64, String> {
    alone_values(recorded, name, mode).map(middle)
}

/// All repetitions of the flow alone: a penalty's error needs their scatter.
fn alone_values<'r>(recorded: &'r Recorded, name: &str, mode: Mode) -> Result<&'r [f64], String> {
    let found = recorded.alone.iter().find(|m| m.name == name).and_then(|m| values(m, mode).first());
    found.map(Vec::as_slice).ok_or_else(|| format!("the flow alone (`{name}`) was not measured"))
}

/// Says what a reader must know of the flows that ran: some had no rivals for a while, or pairs of nodes differ.
fn warn(record: &mut RunRecord, mode: Mode) -> Result<(), String> {
    let apart = record.phases.iter().find_map(apart);
    let recorded = Recorded::read(record)?;
    let mut alone = Vec::new();
    for measured in &recorded.alone {
        alone.extend(values(measured, mode).first().map(|v| middle(v)));
    }
    let low = alone.iter().copied().fold(f64::INFINITY, f64::min);
    let high = alone.iter().copied().fold(0.0, f64::max);
    let differ = (high > ALIKE * low)
        .then(|| format!("a flow alone takes {low:.3e} to {high:.3e} depending on the nodes: penalties are blurred"));
    record.warnings.extend(apart.into_iter().chain(differ));
    Ok(())
}

/// Says if the flows of a steady phase did not run together.
fn apart(phase: &PhaseRecord) -> Option<String> {
    if !matches!(phase.about, About::Graph { flows: FlowMeasure::Rates, .. }) {
        return None;
    }
    let times = || phase.jobs.iter().map(|j| j.elapsed_s);
    let (low, high) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
    (high > TOGETHER * low).then(|| {
        format!(
            "{}: flows ran for {low:.3e} to {high:.3e} s, so some had no rivals for a while; give a longer --steady",
            phase.name
        )
    })
}

/// `contention measure`: each graph, and the first flow of the first alone.
pub struct Measure {
    /// The graphs.
    pub graphs: Vec<NamedGraph>,
    /// How.
    pub mode: Mode,
}

/// What the flow alone is called in a record.
const ALONE: &str = "alone";

impl Measure {
    /// What was measured of each graph.
    pub fn read(&self, record: &RunRecord) -> Result<Vec<Measurement>, String> {
        let recorded = Recorded::read(record)?;
        let alone = alone_value(&recorded, ALONE, self.mode)?;
        let mut all = Vec::new();
        for NamedGraph { name, graph } in &self.graphs {
            let found = recorded.graphs.iter().find(|m| m.name == *name);
            let found = found.ok_or_else(|| format!("{name} was not measured"))?;
            let values = values(found, self.mode).to_vec();
            all.push(Measurement::new(name, graph, self.mode.steady(), alone, values));
        }
        Ok(all)
    }
}

impl Experiment for Measure {
    fn name(&self) -> &str {
        "contention"
    }

    fn plan(&self, site: &Site, seed: u64, payload: Payload) -> Result<Plan, SuiteError> {
        let mut all = alone(ALONE.into(), &self.graphs[0].graph, self.mode)?;
        for named in &self.graphs {
            add(&mut all, phases(named, Purpose::Score, self.mode)?)?;
        }
        plan(all, seed, payload, site)
    }

    fn decides(&self) -> bool {
        true
    }

    fn next(&self, _: &Site, record: &mut RunRecord) -> Result<Vec<Phase>, String> {
        warn(record, self.mode)?;
        Ok(Vec::new())
    }
}

/// `contention derive`: penalties of each graph from steady rates, or from completion times of the graph and of the sub-graphs that are
/// left when flows end.
pub struct Derive {
    /// The graphs.
    pub graphs: Vec<NamedGraph>,
    /// How.
    pub mode: Mode,
    /// Which ends are one step.
    pub tie: Tie,
}

/// What is known of a graph's penalties.
enum Progress {
    /// All of them, and the graphs that were measured for them.
    Done(Vec<Derived>, Vec<String>),
    /// This sub-graph must be measured first.
    Lacks(NamedGraph),
}

impl Derive {
    fn alone_name(&self, index: usize) -> String {
        match index {
            0 => ALONE.into(),
            _ => format!("{ALONE}-{}", self.graphs[index].name),
        }
    }

    /// The penalties of each graph, and the graphs that were measured for them.
    pub fn read(&self, record: &RunRecord) -> Result<Vec<Derivation>, String> {
        let recorded = Recorded::read(record)?;
        let mut all = Vec::new();
        for index in 0..self.graphs.len() {
            match self.progress(&recorded, index)? {
                Progress::Done(penalties, measured) => {
                    let NamedGraph { name, graph } = self.graphs[index].clone();
                    all.push(Derivation { graph_name: name, graph, penalties, measured });
                }
                Progress::Lacks(sub) => return Err(format!("{} was not measured", sub.name)),
            }
        }
        Ok(all)
    }

    /// Goes through the derivation again with what was measured so far: it asks for the same sub-graphs in the same order.
    fn progress(&self, recorded: &Recorded, index: usize) -> Result<Progress, String> {
        let NamedGraph { name, graph } = &self.graphs[index];
        let alone = alone_values(recorded, &self.alone_name(index), self.mode)?;
        if self.mode.steady() {
            let found = recorded.graphs.iter().find(|m| m.name == *name).ok_or("a graph is missing")?;
            let derived = derive::from_rates(alone, &found.rates).map_err(|e| e.to_string())?;
            return Ok(Progress::Done(derived, vec![name.clone()]));
        }
        // Seconds per byte of a flow without rivals: the unit of all penalties.
        let settings = DeriveSettings { tie: self.tie, ..DeriveSettings::new(middle(alone) / graph.flows[0].bytes) };
        let mut store = Store::default();
        let mut measured = Vec::new();
        loop {
            let sub = match derive::from_times(graph, &store, &settings) {
                Ok(derived) => return Ok(Progress::Done(derived, measured)),
                Err(DeriveError::Missing(sub)) => sub,
                Err(error) => return Err(format!("{name}: {error}")),
            };
            // Nodes keep their places: the sub-graph is measured where the graph is.
            let placed = placed_like(&sub, graph);
            let sub_name = format!("{name}/{}-flows-{}", placed.flows.len(), measured.len());
            let Some(found) = recorded.graphs.iter().find(|m| m.name == sub_name) else {
                return Ok(Progress::Lacks(NamedGraph { name: sub_name, graph: placed }));
            };
            store.insert(&placed, &found.times).map_err(|e| e.to_string())?;
            measured.push(parse::write(&sub).trim().replace('\n', "; "));
        }
    }
}

/// The same flows with the node numbers that their names have in another graph.
fn placed_like(sub: &Graph, whole: &Graph) -> Graph {
    let place = |node: usize| whole.nodes.iter().position(|n| *n == sub.nodes[node]).unwrap_or(node);
    let mut graph = Graph { nodes: whole.nodes.clone(), flows: sub.flows.clone() };
    graph.flows.iter_mut().for_each(|f| (f.from, f.to) = (place(f.from), place(f.to)));
    graph
}

impl Experiment for Derive {
    fn name(&self) -> &str {
        "contention"
    }

    fn plan(&self, site: &Site, seed: u64, payload: Payload) -> Result<Plan, SuiteError> {
        let mut all = Vec::new();
        for (index, named) in self.graphs.iter().enumerate() {
            add(&mut all, alone(self.alone_name(index), &named.graph, self.mode)?)?;
            // With completion times the graph itself is the first that the derivation lacks, so `next` asks for it.
            if self.mode.steady() {
                add(&mut all, phases(named, Purpose::Score, self.mode)?)?;
            }
        }
        plan(all, seed, payload, site)
    }

    fn decides(&self) -> bool {
        true
    }

    fn next(&self, _: &Site, record: &mut RunRecord) -> Result<Vec<Phase>, String> {
        let recorded = Recorded::read(record)?;
        for index in 0..self.graphs.len() {
            if let Progress::Lacks(sub) = self.progress(&recorded, index)? {
                // One at a time: which flows are left together next depends on how this one ends.
                return phases(&sub, Purpose::Score, self.mode);
            }
        }
        Ok(Vec::new())
    }
}

/// `contention validate`: what rule sets are calibrated on, learned from and scored on.
pub struct Validate {
    /// The graphs to score.
    pub graphs: Vec<NamedGraph>,
    /// How.
    pub mode: Mode,
    /// Learn from all connected graphs of up to so many flows.
    pub learn: usize,
    /// Whether the rates of a node and of a flow are measured, too.
    pub rates: bool,
}

impl Validate {
    fn bytes(&self) -> f64 {
        self.graphs[0].graph.flows[0].bytes
    }

    /// Max-rate between two nodes, so that the record holds the capacities that flows compete for.
    fn capacities(&self, site: &Site, seed: u64, payload: Payload) -> Result<Vec<Phase>, SuiteError> {
        let bytes = self.bytes();
        let sizes = [64.0, 16.0, 4.0, 1.0].map(|share| (bytes / share).max(1.0).round().to_string());
        let given = [
            ("modes", "stream".to_string()),
            ("sizes", sizes.join(",")),
            ("pairs", format!("1-{}", site.layout.min_ranks_per_node)),
            ("window", "2".into()),
            ("trials", "5".into()),
            ("loops", "16".into()),
            ("volume", (8.0 * bytes).to_string()),
        ];
        let given: Params = given.map(|(name, value)| (name.to_string(), value)).into();
        Ok(suites::maxrate::MAXRATE.plan_on(&given, site, seed, payload)?.phases)
    }

    /// A flow alone between neighbours on a ring of all nodes that the graphs use.
    fn ring(&self, site: &Site) -> Result<Vec<Phase>, String> {
        // At least two, or the ring would be a flow from a node to itself.
        let nodes = (site.layout.nodes as usize).min(self.graphs[0].graph.nodes.len().max(2));
        let mut all = Vec::new();
        for i in 0..nodes {
            let pair = Graph::from_edges(&[(i, (i + 1) % nodes)], self.bytes()).map_err(|e| e.to_string())?;
            all.extend(alone(format!("{ALONE}-{i}"), &pair, self.mode)?);
        }
        Ok(all)
    }
}

impl Experiment for Validate {
    fn name(&self) -> &str {
        "contention"
    }

    fn plan(&self, site: &Site, seed: u64, payload: Payload) -> Result<Plan, SuiteError> {
        let mut all = Vec::new();
        if self.rates {
            all.extend(self.capacities(site, seed, payload)?);
        }
        all.extend(self.ring(site)?);
        // Ring, calibration and learning graphs have the size of the first flow, so one flow alone is the reference of all.
        let (nodes, bytes) = (site.layout.nodes as usize, self.bytes());
        let own = campaign::calibration_graphs(nodes, bytes).into_iter().map(|g| (g, Purpose::Calibrate));
        let own =
            own.chain(campaign::learning_graphs(self.learn, nodes, bytes).into_iter().map(|g| (g, Purpose::Learn)));
        // Of these nobody asked for a particular one, so those that do not fit are left out without a note.
        for ((name, graph), purpose) in own.filter(|((_, graph), _)| seats(site, graph)) {
            add(&mut all, phases(&NamedGraph { name, graph }, purpose, self.mode)?)?;
        }
        let fits: Vec<&NamedGraph> = self.graphs.iter().filter(|n| seats(site, &n.graph)).collect();
        if fits.is_empty() {
            let say =
                "no graph fits: each needs a rank per flow at both ends; give more ranks per node or fewer --edges";
            return Err(SuiteError::TooSmall(say.into()));
        }
        for named in &fits {
            add(&mut all, phases(named, Purpose::Score, self.mode)?)?;
        }
        let mut plan = plan(all, seed, payload, site)?;
        let left = self.graphs.len() - fits.len();
        if left > 0 {
            let of = self.graphs.len();
            plan.notes.push(format!("{left} of {of} graphs need more nodes or ranks per node and are left out"));
        }
        Ok(plan)
    }

    fn decides(&self) -> bool {
        true
    }

    fn next(&self, _: &Site, record: &mut RunRecord) -> Result<Vec<Phase>, String> {
        warn(record, self.mode)?;
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::contention::published;

    #[test]
    fn sub_graphs_keep_their_nodes() {
        let whole = published::find("fig3").unwrap();
        let sub = parse::read(&parse::write(&whole.part(&[3, 5]))).unwrap();
        let placed = placed_like(&sub, &whole);
        assert_eq!(placed.edges(), [whole.edges()[3], whole.edges()[5]]);
    }
}
