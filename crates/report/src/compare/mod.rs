//! Runs beside each other: two of them, many over time, one against thresholds or published systems.

pub mod acceptance;
pub mod changes;
mod comparison;
pub mod history;
pub mod limit;
pub mod require;
pub mod statistics;
mod system;
mod tables;

pub use crate::subjects::hpcc::beside as published_hpcc;
pub use comparison::{Comparison, Judgement, Row, compare, differences};
pub use system::merits_of;
pub use tables::{compared, json, published, verdict};
