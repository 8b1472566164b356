//! What every pair of nodes reached, where a test lets all of them meet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All pairs that met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairsRecord {
    /// Where each node is, in the plan's order.
    pub nodes: Vec<PairNode>,
    /// What each pair reached.
    pub values: Vec<PairValue>,
}

/// Where a node is in the network: equal numbers are one switch or group. None where that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairNode {
    /// Its switch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch: Option<u32>,
    /// Its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
}

/// What one pair reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairValue {
    /// The nodes, the lower number first, in the plan's order.
    pub nodes: [u32; 2],
    /// Bytes per second that a rank sent while it received as many, on average over its meetings.
    pub bytes_per_s: f64,
}
