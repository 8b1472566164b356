//! Packets and the headers of messages: what moves through the network.

use crate::base::{NONE, Port, place};
use crate::file::Apart;

/// One packet. Kept small: the network's cost is the cost of touching these.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Packet {
    /// When its head is ready to leave the place where it is.
    pub(crate) ready: u64,
    /// From head to tail at the place where it is, in picoseconds.
    pub(crate) span: u32,
    /// Length on the wire.
    pub(crate) wire: u32,
    pub(crate) source: u32,
    pub(crate) target: u32,
    /// The target's switch.
    pub(crate) goal: u32,
    /// The message's number at its source.
    pub(crate) message: u32,
    /// The message's header, with the first packet only; [`NONE`] with the others.
    pub(crate) head: u32,
    /// The next packet of the same queue.
    pub(crate) next: u32,
    /// The link it came by, whose credits it holds.
    pub(crate) via: u32,
    /// Where it is: a switch, or an endpoint with [`super::ENDPOINT`].
    pub(crate) at: u32,
    /// The switch of a detour, or [`NONE`].
    pub(crate) middle: u32,
    pub(crate) in_port: Port,
    /// The port by which it will leave.
    pub(crate) out_port: Port,
    /// The virtual channel (all classes) whose buffer it occupies here.
    pub(crate) vc: u8,
    /// The virtual channel in which it will leave.
    pub(crate) out_vc: u8,
    pub(crate) hops: u8,
    pub(crate) class: u8,
    /// Whether the message has more than this one packet.
    pub(crate) part: bool,
    pub(crate) marked: bool,
    /// Whether it has data that were asked for.
    pub(crate) asked: bool,
    /// The queue of its input and channel whose turn it has or waits for, or [`NO_LANE`].
    pub(crate) lane: u8,
}

/// Of a packet that holds up nobody behind it.
pub(crate) const NO_LANE: u8 = u8::MAX;

/// What a message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Kind {
    /// Data sent without asking.
    #[default]
    Eager,
    /// Request to send: a long message waits at its source.
    Ask,
    /// Clear to send: the receiver is ready.
    Clear,
    /// The data of a long message.
    Bulk,
    /// The receiver reads a long message.
    Fetch,
    /// The answer to it, with the data.
    Fetched,
    /// A remote write.
    Put,
    /// The answer to a put.
    PutDone,
    /// A remote read.
    Get,
    /// The answer to a get, with the data.
    GetDone,
    /// Word of the congestion control.
    Notice,
}

impl Kind {
    /// Whether it travels apart from data.
    pub(crate) fn is_apart(self, apart: Apart) -> bool {
        match apart {
            // Not `GetDone`, which carries data, and not the requests, which travel as data do.
            Apart::Control => matches!(self, Kind::Clear | Kind::PutDone | Kind::Notice),
            Apart::Answers => matches!(self, Kind::Fetched | Kind::PutDone | Kind::GetDone),
        }
    }
}

/// A message's header: travels with its first packet. One line of memory.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) tag: u16,
    /// World rank that sent this message.
    pub(crate) from: u32,
    /// World rank it is for.
    pub(crate) to: u32,
    /// The communicator.
    pub(crate) context: u64,
    /// Bytes of the user's message.
    pub(crate) len: u64,
    /// The request at the side that began the exchange.
    pub(crate) request: u32,
    /// The request at the other side; also the number of a window, or the value of a notice.
    pub(crate) remote: u32,
    /// Byte offset in a window; the order of the message between its two ranks.
    pub(crate) at: u64,
    /// Whether the one who asks wants the bytes themselves.
    pub(crate) wants: bool,
    /// What a request or an acknowledgement weighs beside its header.
    pub(crate) beside: u32,
    pub(crate) payload: Option<Box<[u8]>>,
}

impl Head {
    /// What tells it from other messages of its time, in one word.
    pub(crate) fn place(&self) -> u32 {
        place([self.from, self.to, u32::from(self.tag) << 4 | self.kind as u32, self.at as u32])
    }

    /// Bytes of payload on the wire: a request carries none, but may weigh as if it did.
    pub(crate) fn carried(&self) -> u64 {
        match self.kind {
            Kind::Eager | Kind::Bulk | Kind::Fetched | Kind::Put | Kind::GetDone => self.len,
            Kind::Ask | Kind::Clear | Kind::Fetch | Kind::PutDone | Kind::Get | Kind::Notice => u64::from(self.beside),
        }
    }
}

/// A message at its source until its last packet has left.
#[derive(Debug)]
pub(crate) struct Message {
    /// Payload not yet sent.
    pub(crate) left: u64,
    /// Bytes of the user's message.
    pub(crate) len: u64,
    /// The header, which travels with the next packet, or [`NONE`].
    pub(crate) head: u32,
    /// Endpoints.
    pub(crate) source: u32,
    pub(crate) target: u32,
    /// The request that is complete when the last packet has left, or [`NONE`].
    pub(crate) done: u32,
    /// Number at the source, once begun.
    pub(crate) number: u32,
    /// The next message of its flow or queue.
    pub(crate) next: u32,
    pub(crate) begun: bool,
    /// Longer than one packet.
    pub(crate) long: bool,
    /// Whether it is data that were asked for.
    pub(crate) asked: bool,
    /// How it is moved to the NIC.
    pub(crate) way: u8,
    pub(crate) class: u8,
    /// Whether its NIC counts what it asks for or brings as under way, and lets it wait for its turn.
    pub(crate) counts: bool,
    /// Whether it has something that has to be moved to the NIC.
    pub(crate) moves: bool,
}

impl Message {
    /// A message whose header is kept under a number.
    pub(crate) fn new(
        (head, number): (&Head, u32),
        source: u32,
        target: u32,
        mtu: u32,
        (class, way): (u8, u8),
    ) -> Message {
        let left = head.carried();
        Message {
            left,
            len: head.len,
            head: number,
            source,
            target,
            done: if matches!(head.kind, Kind::Eager | Kind::Bulk | Kind::Fetched) { head.request } else { NONE },
            number: 0,
            next: NONE,
            begun: false,
            long: left > u64::from(mtu),
            asked: matches!(head.kind, Kind::GetDone | Kind::Fetched),
            way,
            class,
            counts: matches!(head.kind, Kind::Put | Kind::Get | Kind::Fetch),
            // Requests and answers carry nothing that would have to be moved.
            moves: left > 0 && head.beside == 0,
        }
    }

    /// A packet that was lost, as a message of its own that goes by the old number.
    pub(crate) fn again(packet: &Packet, payload: u32) -> Message {
        Message {
            left: u64::from(payload),
            len: 0,
            head: packet.head,
            source: packet.source,
            target: packet.target,
            done: NONE,
            number: packet.message,
            next: NONE,
            begun: true,
            long: packet.part,
            asked: packet.asked,
            way: 0,
            class: packet.class,
            counts: false,
            // What is sent again is at the NIC.
            moves: false,
        }
    }
}
