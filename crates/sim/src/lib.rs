//! The simulated machine: a packet-level network in virtual time.
//!
//! ```text
//! kernel (a fiber per rank) -> comm -> protocol, matching -> nic -> switch, switch, ... -> nic -> protocol -> fiber
//!                                          |                  |         |
//!                                     meeting (split, sum)  control   routing over topology
//! ```
//!
//! The rooms, each of which knows only those above it:
//!
//! | room | what is in it |
//! |---|---|
//! | `base` | numbers of things, the clock and its events, two containers |
//! | [`file`](mod@file) | the machine file: every knob, faults, the files that come with the program |
//! | [`topology`] | which switches there are, how they are cabled, which ways lead nearer |
//! | `link` | cables, packets, the outputs at which packets wait |
//! | [`routing`], [`control`] | which way a packet takes; how sources hold back |
//! | `net` | the network as built, and one part of it while a run lasts |
//! | `host` | ranks, and what messages mean to them |
//! | `view` | numbers, a picture and a film for people |
//! | `run` | parts on threads, and the fibers in which ranks run |
//!
//! Time is integer picoseconds. A run is a pure function of the configuration and the body: the number of threads and the
//! kind of event queue do not change a bit of it. Switches have finite input buffers and credits, so congestion spreads as it
//! does in lossless networks, without any tuning.
//!
//! Adding a topology, a routing or a congestion control is one new file and one line in [`topology::TOPOLOGIES`],
//! [`routing::ROUTINGS`] or [`control::CONTROLS`]; a knob of a machine file is one line in `file/config.rs`, a machine one
//! file and its name in [`BUILTIN`].
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

pub use base::{QueueKind, Reach, idle_cores};
pub use file::{BUILTIN, Config, ConfigError, Fault, FaultSite, builtin};
pub use link::{Counters, Load};
pub use net::{PortCounters, Stats};
pub use run::Simulator;
pub use view::{
    Bundle, Cables, Choice, Description, Film, FilmBox, Number, Remarks, Slice, Uncertain, assumed, choices, describe,
    draw, moved, numbers, rewritten, uncertain,
};
