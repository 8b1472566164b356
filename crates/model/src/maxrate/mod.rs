//! Max-rate: how long a message takes when k processes of a node communicate at once (Gropp, Olson, Samfass, EuroMPI '16).
//!
//! | module | what it does |
//! |---|---|
//! | [`data`] | samples, what their times mean, one point per (bytes, pairs) |
//! | [`nodecomm`] | reads the text output of the paper's benchmark |
//! | [`models`] | the table [`models::MODELS`]: postal, (3), (4), (5) and (3) with growing latency |
//! | [`phases`] | where the protocol changes |
//! | [`probe`] | what the delayed receiver found, which confirms such a change |
//! | [`analysis`] | phases, fits, choice by BIC, intervals, honest statements |
//! | [`bootstrap`], [`bounds`] | intervals, and which parameters are bounds or do not fit |
//! | [`tables`] | error tables and heat maps as the paper's Table 2 and Figure 2 |
//! | [`advice`] | how many processes should communicate, and what an exchange costs |
//! | [`loggp`], [`queue`], [`overlap`] | LogGP parameters, the price of many messages, messages beside work |
//! | [`recorded`], [`mod@study`] | what a record holds, and everything that is said of it |
//!
//! Convention, stated once: a time in ping-pong data is the **whole round trip** and `bytes` the bytes of **one** message, as
//! the paper's Table 1 has it. One-way values are derived by [`data::Pattern`] and named as such.

pub mod advice;
pub mod analysis;
pub mod bootstrap;
pub mod bounds;
pub mod data;
pub mod loggp;
pub mod models;
pub mod nodecomm;
pub mod overlap;
pub mod phases;
pub mod probe;
pub mod queue;
pub mod recorded;
pub mod study;
pub mod tables;

pub use analysis::{Options, Report, analyse};
pub use data::{DataError, Location, Pattern, Point, Sample, Weighting, points};
pub use models::{Fit, FitError, MODELS, Model};
pub use recorded::Recorded;
pub use study::{Study, StudySettings, study};
