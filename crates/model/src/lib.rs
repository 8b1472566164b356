//! Models of congestion that a person can use: postal and max-rate (how many processes share a node's injection rate) and
//! contention graphs (what simultaneous flows do to each other).
//!
//! Pure computation: data in, models, predictions and advice out. Nothing here communicates, reads a clock or prints, so any
//! recorded measurement can be fitted again. Formulas stand where they are computed, with their source.

pub mod calibrate;
pub mod contention;
pub mod maxrate;
pub mod numeric;
pub mod schema;
pub mod suspects;
