//! Congestion control: what switches mark, what destinations report, and how sources hold back.
//!
//! To add one: write `control/x.rs` with a `pub const X: ControlEntry` (card, `build`, what it hears) and a type that
//! implements [`Control`], name the file below, and add one line to [`CONTROLS`]. The tests hold it to what it says: it acts,
//! and it lets its sources go again.
//!
//! One object is made for each part of the network that is simulated together; it holds the state of that
//! part's ports and sources in its own tables and is called at these places:
//!
//! ```text
//! source NIC --pace/sent--> switch --queued/forwarded (may mark)--> ... --> destination NIC --ejected (may notify)-+
//!      ^                                                                                                          |
//!      +------------------------------------- notified <--- a notice, as a packet or by a side channel -----------+
//! ```
//!
//! Only data and requests are looked at and paced; packets of the control class (acknowledgements, clear-to-send, notices)
//! are neither marked nor held back.
//!
//! Traffic classes are no control but a property of the machine, so that they combine with any: with `protocol.small` set,
//! messages up to that length travel in virtual channels of their own and take turns with the rest at every port.
//!
//! A notice of a switch goes by the side channel with a delay of its choice; a notice of a NIC usually as a small packet in
//! the control class, so that it too meets traffic.

mod aimd;
#[cfg(test)]
mod checks;
mod dcqcn;
mod ib;
mod none;
mod slingshot;

use crate::Config;
use crate::topology::{Endpoint, Port, Switch};
use spec::{Card, Params, Rng, Time};

/// Traffic between two endpoints: what congestion control tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrafficFlow {
    /// Source.
    pub from: Endpoint,
    /// Destination.
    pub to: Endpoint,
}

impl TrafficFlow {
    /// The flow as the key of a table.
    pub(crate) fn key(self) -> (u64, u64) {
        (u64::from(self.from) << 32 | u64::from(self.to), 0)
    }
}

/// A packet as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Whose it is.
    pub flow: TrafficFlow,
    /// Length on the wire.
    pub bytes: u32,
    /// Whether a switch has marked it (FECN, ECN).
    pub marked: bool,
}

/// An output port of a switch and its state.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// The switch.
    pub switch: Switch,
    /// The port.
    pub port: Port,
    /// The endpoint behind the port, if it is a last hop.
    pub edge: Option<Endpoint>,
    /// Bytes that wait here for this port, in all virtual channels, this packet included.
    pub queued: u64,
    /// Whether the port could send but has no credits downstream: then it is not the root of the congestion.
    pub starved: bool,
    /// The cable's rate in bytes per second.
    pub rate: f64,
}

/// How a notice travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// As a small packet of the control class from the flow's destination to its source.
    Packet,
    /// By a side channel, after so long (never less than the look-ahead of the simulation).
    Side(Time),
}

/// Word to a flow's source.
#[derive(Clone, Copy, Debug)]
pub struct Notice {
    /// Which flow it is about; it goes to `flow.from`.
    pub flow: TrafficFlow,
    /// What it says; the meaning is the control's own.
    pub value: u32,
    /// How it travels.
    pub by: By,
}

/// What a control asks the machine to do.
#[derive(Default)]
pub struct Asks {
    /// Notices to send.
    pub notices: Vec<Notice>,
    /// Timers to set.
    pub timers: Vec<Timer>,
}

/// A timer to set.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// When.
    pub time: Time,
    /// The number to call back with.
    pub number: u32,
    /// What it is for, as a number that is the same however the network is divided into parts: orders timers of one time.
    pub place: u32,
}

/// A congestion control in one part of the network. All times are virtual; calls come in order of time.
pub trait Control {
    /// A packet has joined the queue of an output. True marks it.
    fn queued(&mut self, _now: Time, _spot: Spot, _seen: Seen, _rng: &mut Rng, _asks: &mut Asks) -> bool {
        false
    }
    /// A packet that has waited leaves a switch by an output; `queued` no longer counts it. True marks it. Packets that need
    /// not wait pass without a call.
    fn forwarded(&mut self, _now: Time, _spot: Spot, _seen: Seen, _rng: &mut Rng, _asks: &mut Asks) -> bool {
        false
    }
    /// A packet has reached its destination's NIC.
    fn ejected(&mut self, _now: Time, _seen: Seen, _asks: &mut Asks) {}
    /// A notice has reached the source.
    fn notified(&mut self, _now: Time, _flow: TrafficFlow, _value: u32, _asks: &mut Asks) {}
    /// When the next packet of a flow may leave its source: now or later. Asked for each packet; asked again at that time.
    fn pace(&mut self, now: Time, _flow: TrafficFlow, _bytes: u32) -> Time {
        now
    }
    /// A packet of a flow begins to leave its source.
    fn sent(&mut self, _now: Time, _flow: TrafficFlow, _bytes: u32, _asks: &mut Asks) {}
    /// A packet of a flow was lost and is about to be sent again by its source.
    fn lost(&mut self, _now: Time, _flow: TrafficFlow, _asks: &mut Asks) {}
    /// A timer that was asked for.
    fn timer(&mut self, _now: Time, _number: u32, _asks: &mut Asks) {}
}

/// Makes the control of one part of the network; `None` means no control, which costs nothing.
pub type Maker = Box<dyn Fn() -> Option<Box<dyn Control>> + Send + Sync>;

/// A line of the table.
pub struct ControlEntry {
    /// Name, one line, source, parameters.
    pub card: Card,
    /// Reads the parameters, or says which is impossible.
    pub build: fn(&Params, &Config) -> Result<Maker, String>,
    /// What makes it act.
    pub hears: Hears,
}

/// What a control slows sources down for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hears {
    /// Packets that wait.
    Queues,
    /// Packets that are lost, which only networks that drop have.
    Losses,
    /// Nothing: it never acts.
    Nothing,
}

/// All congestion controls, in the order of `list`.
pub const CONTROLS: &[ControlEntry] = &[none::OFF, ib::IB, dcqcn::DCQCN, slingshot::SLINGSHOT, aimd::AIMD];
