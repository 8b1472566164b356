//! The simulated machine: a packet-level network in virtual time.
//!
//! ```text
//! kernel (a fiber per rank) -> comm -> protocol, matching -> nic -> switch, switch, ... -> nic -> protocol -> fiber
//!                                          |                  |         |
//!                                     meeting (split, sum)  control   routing over topology
//! ```
//!
//! Time is integer picoseconds. A run is a pure function of the configuration and the body: the number of threads and the
//! kind of event queue do not change a bit of it. Switches have finite input buffers and credits, so congestion spreads as it
//! does in lossless networks, without any tuning.
//!
//! Adding a topology, a routing or a congestion control is one new file and one line in [`topology::TOPOLOGIES`],
//! [`routing::ROUTINGS`] or [`control::CONTROLS`].
//!
//! Not modelled: bit errors of links, the internal structure of switches, the memory system of nodes.

mod base;
pub mod control;
pub mod file;
mod host;
mod link;
mod net;
pub mod routing;
mod run;
pub mod topology;
mod view;

pub use base::{QueueKind, Reach};
pub use file::{Config, ConfigError, Fault, FaultSite};
pub use link::{Counters, Load};
pub use net::{PortCounters, Stats};
pub use run::Simulator;
pub use view::{Bundle, Cables, Description, Film, FilmBox, Slice, describe, draw};

/// The machines that come with the program: name and machine file.
pub const BUILTIN: &[(&str, &str)] = &[
    ("default", include_str!("../../../machines/default.toml")),
    ("small-dragonfly", include_str!("../../../machines/small-dragonfly.toml")),
    ("small-fat-tree", include_str!("../../../machines/small-fat-tree.toml")),
    ("crystal", include_str!("../../../machines/crystal.toml")),
    ("osprey", include_str!("../../../machines/osprey.toml")),
    ("edison", include_str!("../../../machines/edison.toml")),
    ("theta", include_str!("../../../machines/theta.toml")),
    ("sierra", include_str!("../../../machines/sierra.toml")),
    ("summit", include_str!("../../../machines/summit.toml")),
    ("malbec", include_str!("../../../machines/malbec.toml")),
    ("bluewaters", include_str!("../../../machines/bluewaters.toml")),
];

/// The machine file of a built-in machine.
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}
