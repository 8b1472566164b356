//! A campaign: measured graphs, and how every rule set does on them, those calibrated on the same network included.
//!
//! Graphs measured to calibrate give Vienne's constants, graphs to learn from (all small connected ones) the learned table; neither is
//! scored. Everything comes from the record, so a campaign scores the same when it ends and years later.

use super::derive::{self, DeriveSettings, Store};
use super::graph::Graph;
use super::join::Capacities;
use super::learned::Table;
use super::random;
use super::recorded::{MeasuredGraph, Recorded, middle};
use super::rules::vienne::Vienne;
use super::rules::{self, RULES, Rules};
use super::solver::{Options, solve};
use super::validate::{Measured, Validation, validate};
use crate::maxrate;
use record::{Purpose, RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use spec::Params;

/// The graphs that Vienne's three constants follow from: two out of one, two into one, and a sender of two, one of whose receivers
/// has two more senders.
pub const CALIBRATION: [(&str, &[(usize, usize)]); 3] = [
    ("calibrate-out", &[(0, 1), (0, 2)]),
    ("calibrate-in", &[(0, 2), (1, 2)]),
    ("calibrate-block", &[(0, 1), (0, 2), (3, 1), (4, 1)]),
];

/// The calibrated rule sets.
const CALIBRATED: &str = "vienne-calibrated";
const LEARNED: &str = "learned";

/// The graphs of [`CALIBRATION`] that fit on so many nodes.
pub fn calibration_graphs(nodes: usize, bytes: f64) -> Vec<(String, Graph)> {
    let made = CALIBRATION.iter().map(|(name, edges)| {
        (name.to_string(), Graph::from_edges(edges, bytes).expect("calibration graphs connect two nodes"))
    });
    made.filter(|(_, g)| g.nodes.len() <= nodes).collect()
}

/// All connected graphs of two to `flows` flows that fit on so many nodes, to learn from.
pub fn learning_graphs(flows: usize, nodes: usize, bytes: f64) -> Vec<(String, Graph)> {
    // A flow alone is measured for a purpose of its own.
    let fits = random::all(flows, false).into_iter().filter(|g| g.flows.len() > 1 && g.nodes.len() <= nodes);
    let sized = fits.map(|mut g| {
        g.flows.iter_mut().for_each(|f| f.bytes = bytes);
        g
    });
    sized.enumerate().map(|(i, g)| (format!("learn-{i}"), g)).collect()
}

/// What a table was learned from.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Learned {
    /// Components in the table.
    pub components: usize,
    /// Graphs whose penalties could not be derived, and why.
    pub left_out: Vec<String>,
}

/// A graph with its name and when each flow ended.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scored {
    /// Its name.
    pub name: String,
    /// The graph and its ends.
    pub measured: Measured,
}

/// What the ends of the scored graphs are by one rule set; none where it refuses a graph.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Predicted {
    /// The rule set.
    pub rules: String,
    /// For each scored graph the end of each flow in seconds.
    pub end_s: Vec<Option<Vec<f64>>>,
}

/// What a campaign found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Findings {
    /// Seconds per byte of a flow alone, as measured.
    pub alpha: f64,
    /// The capacities that were used instead, if max-rate was measured or given.
    pub capacities: Option<Capacities>,
    /// Vienne's constants of this network (Be, Bs, g).
    pub constants: Option<[f64; 3]>,
    /// What the learned table rests on.
    pub learned: Option<Learned>,
    /// The graphs that were scored.
    pub scored: Vec<Scored>,
    /// How every rule set did.
    pub validation: Validation,
    /// What every rule set predicts.
    pub predicted: Vec<Predicted>,
}

/// Why there are no findings.
pub type CampaignError = String;

/// A campaign as its record has it.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The graphs.
    pub recorded: Recorded,
    /// Capacities from max-rate phases of the same record.
    pub capacities: Option<Capacities>,
}

impl Campaign {
    /// Reads a record. Phases of max-rate in it become capacities.
    pub fn read(record: &RunRecord) -> Result<Campaign, CampaignError> {
        let recorded = Recorded::read(record)?;
        let rates = maxrate::Recorded::read(record, false);
        let capacities = match rates.samples.is_empty() {
            true => None,
            false => Some(Capacities::from_record(record)?),
        };
        Ok(Campaign { recorded, capacities })
    }

    /// The graphs with completion times that were measured for this purpose.
    fn timed(&self, purpose: Purpose) -> impl Iterator<Item = &MeasuredGraph> {
        self.recorded.graphs.iter().filter(move |g| g.purpose == purpose && !g.times.is_empty())
    }

    /// Vienne's constants of this network; none if its graphs were not measured.
    pub fn vienne(&self) -> Option<Vienne> {
        let find = |(name, _)| self.timed(Purpose::Calibrate).find(|g| g.name == name);
        let [out, into, block] = CALIBRATION.map(find);
        let (out, into, block) = (out?, into?, block?);
        let alone = self.recorded.alpha()? * block.graph.flows[0].bytes;
        // Both flows of the first two graphs end together but for noise.
        let pair = |e: &MeasuredGraph| Some(0.5 * (middle(e.times.first()?) + middle(e.times.get(1)?)));
        // Flow 1 of the block graph goes to the free receiver, as `calibrate` asks.
        Vienne::calibrate(alone, pair(out)?, pair(into)?, middle(block.times.get(1)?))
    }

    /// The table learned from the small graphs; none if there are none.
    pub fn learn(&self) -> Option<(Table, Learned)> {
        let alpha = self.recorded.alpha()?;
        let small: Vec<&MeasuredGraph> = self.timed(Purpose::Learn).collect();
        let mut store = Store::default();
        let mut left_out = Vec::new();
        // Lone flows, too: the last step of a graph may be one.
        for e in small.iter().copied().chain(self.recorded.alone.iter().filter(|e| !e.times.is_empty())) {
            left_out.extend(store.insert(&e.graph, &e.times).err().map(|why| format!("{}: {why}", e.name)));
        }
        // Learned graphs are connected, but what is left of one after its first end need not be.
        let settings = DeriveSettings { split: true, ..DeriveSettings::new(alpha) };
        let mut data = Vec::new();
        for e in &small {
            let penalties =
                derive::from_times(&e.graph, &store, &settings).map_err(|e| e.to_string()).and_then(|all| {
                    let known: Option<Vec<f64>> = all.iter().map(|d| d.penalty).collect();
                    known.ok_or_else(|| "too little of a flow was sent with all flows under way".to_string())
                });
            match penalties {
                Ok(penalties) => data.push((e.graph.clone(), penalties)),
                Err(why) => left_out.push(format!("{}: {why}", e.name)),
            }
        }
        let table = Table::learn(&data).ok()?;
        let components = table.len();
        Some((table, Learned { components, left_out }))
    }

    /// Scores every rule set. Given capacities come before those of the record, a given table before one learned here.
    pub fn findings(
        &self,
        capacities: Option<Capacities>,
        table: Option<(Table, Learned)>,
    ) -> Result<Findings, CampaignError> {
        let alpha = self.recorded.alpha();
        let alpha = alpha
            .ok_or("no completion time of a flow alone; it needs a record of `contention validate` or `measure`")?;
        let capacities = capacities.or_else(|| self.capacities.clone());
        let as_measured = Options { alpha, ..Options::rate(1.0) };
        let options = capacities.as_ref().map_or(as_measured, Capacities::options);
        let mut sets: Vec<(&str, Box<dyn Rules>)> = Vec::new();
        for set in RULES {
            sets.push((set.card.name, rules::start(set.card.name, &Params::new()).map_err(|e| e.to_string())?));
        }
        let constants = self.vienne();
        if let Some(vienne) = constants {
            sets.push((CALIBRATED, Box::new(vienne)));
        }
        let (table, learned) = table.or_else(|| self.learn()).unzip();
        if let Some(table) = table {
            sets.push((LEARNED, Box::new(table)));
        }
        let scored: Vec<Scored> = self.timed(Purpose::Score).map(score).collect();
        let measured: Vec<Measured> = scored.iter().map(|s| s.measured.clone()).collect();
        let candidates: Vec<(&str, &dyn Rules)> = sets.iter().map(|(name, set)| (*name, &**set)).collect();
        let validation = validate(&measured, &options, &candidates).map_err(|e| e.to_string())?;
        let mut predicted = Vec::new();
        for (name, set) in &sets {
            // Why a rule set refuses a graph stands in the validation; here it leaves a gap.
            let end = |m: &Measured| solve(&m.graph, &**set, &options).ok().map(|s| s.end_s);
            predicted.push(Predicted { rules: name.to_string(), end_s: measured.iter().map(end).collect() });
        }
        let constants = constants.map(|v| [v.be, v.bs, v.g]);
        Ok(Findings { alpha, capacities, constants, learned, scored, validation, predicted })
    }

    /// A rule set by name: one of the table, or one that this campaign calibrates.
    pub fn rules(&self, name: &str) -> Option<Box<dyn Rules>> {
        match name {
            CALIBRATED => self.vienne().map(|v| Box::new(v) as Box<dyn Rules>),
            LEARNED => self.learn().map(|(table, _)| Box::new(table) as Box<dyn Rules>),
            other => rules::start(other, &Params::new()).ok(),
        }
    }
}

fn score(entry: &MeasuredGraph) -> Scored {
    let end_s = entry.times.iter().map(|t| middle(t)).collect();
    Scored { name: entry.name.clone(), measured: Measured { graph: entry.graph.clone(), end_s } }
}

impl Findings {
    /// What the best rule set is called.
    pub fn best(&self) -> Option<&str> {
        self.validation.best.as_deref()
    }

    /// The predicted ends of one rule set.
    pub fn of(&self, rules: &str) -> Option<&Predicted> {
        self.predicted.iter().find(|p| p.rules == rules)
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::DrawSettings;
    use super::*;

    fn measured(name: String, purpose: Purpose, graph: Graph, rules: &dyn Rules) -> MeasuredGraph {
        let ends = solve(&graph, rules, &Options::rate(1e9)).unwrap().end_s;
        let times = ends.into_iter().map(|e| vec![e]).collect();
        MeasuredGraph { name, purpose, graph, times, rates: Vec::new() }
    }

    /// A campaign on a network that follows these rules.
    fn campaign(rules: &dyn Rules) -> Campaign {
        let bytes = 1e6;
        let mut recorded = Recorded::default();
        let alone = Graph::from_edges(&[(0, 1)], bytes).unwrap();
        recorded.alone.push(measured("alone".into(), Purpose::Alone, alone, rules));
        let mut add = |purpose: Purpose, graphs: Vec<(String, Graph)>| {
            recorded.graphs.extend(graphs.into_iter().map(|(name, g)| measured(name, purpose, g, rules)));
        };
        add(Purpose::Calibrate, calibration_graphs(9, bytes));
        add(Purpose::Learn, learning_graphs(4, 9, bytes));
        let drawn = DrawSettings { edges: 5, graphs: 20, bytes, ..DrawSettings::default() };
        let random = random::draw(&drawn).unwrap().into_iter().enumerate();
        add(Purpose::Score, random.map(|(i, g)| (format!("e5-{i}"), g)).collect());
        Campaign { recorded, capacities: None }
    }

    #[test]
    fn vienne_s_constants_come_back_and_win() {
        let truth = Vienne { be: 0.9, bs: 0.97, g: 1.2 };
        let found = campaign(&truth).findings(None, None).unwrap();
        let constants = found.constants.unwrap();
        for (a, b) in constants.iter().zip([truth.be, truth.bs, truth.g]) {
            assert!((a / b - 1.0).abs() < 1e-9, "{constants:?}");
        }
        let own = found.validation.scores.iter().find(|s| s.rules == CALIBRATED).unwrap();
        assert!(own.all.max_flow < 1e-9 && own.all.graphs == 20, "{own:?}");
    }

    #[test]
    fn a_learned_table_beats_rules_that_are_wrong() {
        let rules = rules::start("ib-residual", &Params::new()).unwrap();
        let found = campaign(&*rules).findings(None, None).unwrap();
        let mean = |name: &str| found.validation.scores.iter().find(|s| s.rules == name).unwrap().all.mean;
        assert!(found.learned.as_ref().unwrap().left_out.is_empty(), "{:?}", found.learned);
        assert!(mean(LEARNED) < 0.05 && mean(LEARNED) < mean("max-min"), "{} {}", mean(LEARNED), mean("max-min"));
    }

    #[test]
    fn nothing_measured_is_said() {
        let none = Campaign { recorded: Recorded::default(), capacities: None };
        assert!(none.findings(None, None).unwrap_err().contains("a flow alone"));
        let mut no_graphs = campaign(&*rules::start("paper", &Params::new()).unwrap());
        no_graphs.recorded.graphs.clear();
        assert!(no_graphs.findings(None, None).unwrap_err().contains("no measured graphs"));
    }
}
