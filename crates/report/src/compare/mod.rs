//! Runs beside each other: two of them, many over time, one against thresholds or published systems.

mod comparison;
pub mod history;
pub mod require;
pub mod statistics;
mod tables;

pub use crate::subjects::hpcc::beside as published_hpcc;
pub use comparison::{Comparison, Judgement, Row, compare, differences};
pub use tables::{compared, published};
