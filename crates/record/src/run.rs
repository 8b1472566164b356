//! The run record: everything measured and everything needed to repeat it.

use crate::about::About;
use crate::batches::Batches;
use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::network::NetworkRecord;
use crate::pairs::PairsRecord;
use crate::placement::PlacementRecord;
use crate::plan::{Plan, Role};
use crate::summary::Summary;
use crate::verdict::{Coverage, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::Params;
use std::collections::BTreeMap;

/// Names the format in every file.
pub const FORMAT: &str = "tailback-run";
/// In the place of Tailback's version, for a run of another program.
pub const IMPORTED: &str = "none";
/// Grows when a reader of the old version would misread a new file.
// 2: what a phase is about is a field; in version 1 it stood in the phase's name (see `legacy`).
pub const VERSION: u32 = 2;

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Always [`FORMAT`].
    pub format: String,
    /// Version of the format.
    pub version: u32,
    /// Version of Tailback that wrote it.
    pub tailback: String,
    /// Whether it is all there.
    pub status: Status,
    /// The command that repeats it.
    pub command: Vec<String>,
    /// When it started (UTC, RFC 3339). Simulated runs have none: same seed, same bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// What it ran on.
    pub machine: MachineRecord,
    /// How ranks lie on nodes.
    pub layout: Layout,
    /// What was to run.
    pub plan: Plan,
    /// Node names in the plan's order, where nodes have names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub node_names: Vec<String>,
    /// Names of the hosts as the machine numbers them, where they have names; counters say which they are of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// What a reader must know before believing a number.
    pub warnings: Vec<String>,
    /// What happened to the machine during the run, in the order of time: what broke, what was mended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<String>,
    /// What ran, in order.
    pub phases: Vec<PhaseRecord>,
    /// What a simulated network did meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkRecord>,
}

/// Whether a run is all there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "status", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Status {
    /// Every phase of the plan is here.
    Complete,
    /// Some are missing.
    Incomplete {
        /// Why.
        reason: String,
    },
}

/// The machine, real or simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum MachineRecord {
    /// The built-in network, in virtual time.
    Simulated {
        /// Name of the machine file.
        name: String,
        /// The whole machine file as it was used.
        file: String,
        /// Facts worth reading: topology, rates, buffers.
        facts: BTreeMap<String, String>,
    },
    /// Real ranks under an MPI library.
    Mpi {
        /// Library version, ABI, path, how it was found, thread level.
        facts: BTreeMap<String, String>,
        /// The host of rank 0.
        host: Host,
    },
    /// This process alone, without MPI.
    Local {
        /// This host.
        host: Host,
    },
}

/// Facts of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Logical processors.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

/// How ranks lie on nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Nodes.
    pub nodes: u32,
    /// Ranks in all.
    pub ranks: u32,
    /// Fewest ranks on a node.
    pub min_ranks_per_node: u32,
    /// Most ranks on a node.
    pub max_ranks_per_node: u32,
    /// Parts of a node (sockets, NUMA domains, NICs) over which its slots are dealt in turn; 1 if they are in rank order.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub parts_per_node: u32,
}

pub(crate) fn one() -> u32 {
    1
}

pub(crate) fn is_false(x: &bool) -> bool {
    !x
}

pub(crate) fn is_one(n: &u32) -> bool {
    *n == 1
}

impl Layout {
    /// The same number of ranks on every node, in rank order.
    pub fn even(nodes: u32, ranks_per_node: u32) -> Layout {
        let (min_ranks_per_node, max_ranks_per_node) = (ranks_per_node, ranks_per_node);
        Layout { nodes, ranks: nodes * ranks_per_node, min_ranks_per_node, max_ranks_per_node, parts_per_node: 1 }
    }
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseRecord {
    /// Its label in the plan.
    pub name: String,
    /// What it is about.
    pub about: About,
    /// Its duration on the machine's clock, in seconds; of one placement on average, if there are several.
    pub elapsed_s: f64,
    /// When it began, in seconds of the machine's clock since the run's first phase, if it is one of a series over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_s: Option<f64>,
    /// Its jobs.
    pub jobs: Vec<JobRecord>,
    /// Counters around the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterRecord>,
    /// For each job of `counters` the nodes that ran it, as the machine numbers them. Older records do not say.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<String, Vec<u32>>,
}

/// One job of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobRecord {
    /// Its name in the plan.
    pub name: String,
    /// Its kernel.
    pub kernel: String,
    /// All parameters as they were used.
    pub params: Params,
    /// What it was for.
    pub role: Role,
    /// Ranks that took part.
    pub ranks: u32,
    /// What its samples are.
    pub metric: Metric,
    /// What the kernel is called in the tables of the benchmark that it comes from.
    pub title: String,
    /// Which of its numbers are the result.
    pub tells: Tells,
    /// Whether many ranks send to one, so that a time to drain can be computed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub incast: bool,
    /// Why it did not run, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Why it ended.
    pub ended: Ended,
    /// Time from its first to its last timed block, in seconds.
    pub elapsed_s: f64,
    /// Bytes sent in timed steps, over all ranks.
    pub bytes: u64,
    /// The numbers people ask for.
    pub summary: Summary,
    /// All samples.
    pub samples: Histogram,
    /// Blocks in the order of time, for confidence.
    pub batches: Batches,
    /// Whether data arrived as sent.
    pub verdict: Verdict,
    /// How much of what arrived the verdict rests on, for kernels whose messages are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// What a reader must know: blocks cut short, precision not reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Named numbers beside the samples, in base units: sizes, residuals, rates of parts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub results: BTreeMap<String, f64>,
    /// What every pair of nodes reached, of a test of pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PairsRecord>,
    /// What it measured in each placement, if the run covers several. What stands above is then over all of them: means and quantiles
    /// are geometric means with intervals from their spread, counts and samples are of all, and a batch is a placement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<PlacementRecord>,
}

/// Which numbers of a job are its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tells {
    /// Its samples.
    Samples,
    /// Its named numbers, by rules of its own; its samples only tell how long it took.
    Results,
    /// None: it only passes the time.
    Nothing,
}

/// Why a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// All its blocks were done.
    Count,
    /// Its time was over.
    Time,
    /// It was known well enough.
    Precision,
    /// The measured jobs were done.
    WithMeasured,
    /// It never ran.
    Skipped,
}

/// A counter's growth during a phase, as a distribution over nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterRecord {
    /// Its name with its source, e.g. `net.eth0.tx_bytes`.
    pub name: String,
    /// The job that the nodes ran.
    pub job: String,
    /// One value per node, in the order of the phase's `counted`; in rising order where the phase does not say which nodes they are.
    pub per_node: Vec<u64>,
}

impl CounterRecord {
    /// Its values from the smallest to the largest.
    pub fn rising(&self) -> Vec<u64> {
        let mut values = self.per_node.clone();
        values.sort_unstable();
        values
    }
}

impl PhaseRecord {
    /// The node on which a counter of this phase grew most, as the machine numbers them, if the record says which it is.
    pub fn node_of_most(&self, counter: &CounterRecord) -> Option<u32> {
        let nodes = self.counted.get(&counter.job)?;
        // The first of equals, so that the same record names the same node.
        let most = counter.per_node.iter().max()?;
        let at = counter.per_node.iter().position(|value| value == most)?;
        nodes.get(at).copied()
    }
}

impl RunRecord {
    /// What a node is called, by the machine's number.
    pub fn host(&self, node: u32) -> String {
        self.hosts.get(node as usize).cloned().unwrap_or_else(|| format!("node {node}"))
    }

    /// What the node at this place of the plan's order is called.
    pub fn node_name(&self, place: usize) -> String {
        self.node_names.get(place).cloned().unwrap_or_else(|| format!("node {place}"))
    }

    /// Its first test in which pairs of nodes met.
    pub fn pairs(&self) -> Option<&PairsRecord> {
        self.phases.iter().flat_map(|p| &p.jobs).find_map(|job| job.pairs.as_ref())
    }

    /// The phase of this name.
    pub fn phase(&self, name: &str) -> Option<&PhaseRecord> {
        self.phases.iter().find(|p| p.name == name)
    }

    /// Whether another program ran it, and its output was read.
    pub fn is_imported(&self) -> bool {
        self.tailback == IMPORTED
    }

    /// Whether any job saw wrong data.
    pub fn has_wrong_data(&self) -> bool {
        self.phases.iter().flat_map(|p| &p.jobs).any(|j| j.verdict.is_wrong())
    }
}
