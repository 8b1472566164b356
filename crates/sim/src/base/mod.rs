//! What every other room stands on: the numbers by which things are named, the set of events, the room of a buffer,
//! three containers, and the cores of the computer that simulates.
//!
//! Not for anything that knows what a network or a rank is.

mod clock;
mod event;
mod idle;
mod room;
mod slab;
mod table;
mod tray;

pub(crate) use clock::Clock;
pub use event::QueueKind;
pub(crate) use event::{Event, FORESEEN, Queue, place};
pub use idle::idle_cores;
pub(crate) use room::Room;
pub(crate) use slab::{NONE, Slab, fetch_in};
pub(crate) use table::{Key, Table};
pub(crate) use tray::Tray;

/// How far a cable reaches. Declared where it is laid; what it is called is for people only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Between a NIC and its switch.
    Edge,
    /// Between switches that stand together.
    Local,
    /// Between groups: so long that switches have larger buffers behind it.
    Global,
}

/// A switch's number.
pub type Switch = u32;
/// The number of a NIC's attachment to the network: node x NICs per node + NIC.
pub type Endpoint = u32;
/// A port's number on its switch: attachments and cables in the order in which a topology makes them.
pub type Port = u16;
