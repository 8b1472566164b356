//! Kernels, suites and the engine that measures them.
//!
//! A kernel here cannot know where it runs: this crate sees neither the simulator nor MPI, only [`comm::Comm`]. "Canary" and
//! "congestor" are not kinds of kernel but roles that a [`record::Plan`] gives it.

pub mod counters;
pub mod engine;
pub mod experiments;
pub mod goal;
pub mod health;
pub mod kernel;
pub mod kernels;
pub mod layout;
mod order;
pub mod payload;
pub mod site;
mod stopwatch;
pub mod suites;
pub mod trial;

pub use counters::Counters;
pub use engine::wire;
pub use engine::{Beat, Facts, Observer, Stage, ask_next, drive, run, steps_taken};
pub use experiments::{Experiment, SuiteRun};
pub use kernel::{Arithmetic, Kernel, Meeting, Merge, NamedNumber, Pattern, Progress, Setup};
pub use kernels::{KERNELS, called};
pub use layout::{Home, NodeFacts, Seat, is_listed, places};
pub use site::{Ask, Scout, Site};
pub use stopwatch::{Lap, Stopwatch};
pub use suites::maxrate::MAXRATE;
pub use suites::{SUITES, Suite, suite};
