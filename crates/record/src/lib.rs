//! Everything that is written down: plans, histograms, summaries, verdicts and the run record.
//!
//! Every serialized type of Tailback lives here, so one JSON schema describes all files. Nothing in this crate can
//! communicate or read a clock: models and reports work from a record alone, and any old record can be reported again.

pub mod about;
pub mod batches;
mod few;
pub mod files;
pub mod histogram;
pub mod hpcc_systems;
pub mod hpccoutf;
mod legacy;
pub mod metric;
pub mod network;
pub mod outcome;
pub mod pairs;
pub mod placement;
pub mod plan;
pub mod reference;
pub mod run;
pub mod schema;
pub mod slot;
pub mod store;
pub mod summary;
pub mod verdict;

pub use about::{About, FlowMeasure, Load, OverlapPart, PairPattern, Purpose, TestMode};
pub use batches::Batches;
pub use histogram::Histogram;
pub use metric::{Direction, Metric};
pub use network::{BoxRecord, BundleRecord, NetworkRecord, Series, SliceRecord};
pub use outcome::{Missing, Outcome};
pub use pairs::{PairNode, PairValue, PairsRecord};
pub use placement::PlacementRecord;
pub use plan::{
    Instances, Job, MOST_PLACEMENTS, Members, NodeOrder, Payload, Phase, Plan, PlanError, Pulse, RankAt, Role, Stop,
    Unit,
};
pub use run::{CounterRecord, Ended, Host, JobRecord, Layout, MachineRecord, PhaseRecord, RunRecord, Status, Tells};
pub use slot::Slot;
pub use store::{StoreError, hidden, read, read_plan};
pub use summary::{Interval, Quantile, Summary};
pub use verdict::{Coverage, Verdict};
