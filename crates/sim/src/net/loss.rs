//! Lost packets: those that find a full buffer in a network without credits, and those that a fault has stranded.
//!
//! With `switch.full = "drop"` a switch has no credits to wait for: a packet that does not fit into the buffer of its output
//! any more is dropped (tail drop), as in Ethernet without pauses. Its NIC sends it again when a timeout is over,
//! `protocol.resend` after the drop. The control `aimd` makes sources slow down then, as TCP does.
//!
//! Not modelled: fast retransmission by duplicate acknowledgements, growing timeouts, go-back-n. Only what was lost is sent
//! again.

use super::{APART_CLASS, Net};
use crate::base::{Event, NONE, place};
use crate::control::TrafficFlow;
use crate::link::{Head, Message, Packet};

impl Net<'_> {
    /// A packet is lost here; its source will know in time.
    pub(super) fn lose(&mut self, id: u32) {
        let time = self.clock.now + self.fabric.delay(self.fabric.config.protocol.resend.ps());
        let packet = self.give_up(id);
        let head = (packet.head != NONE).then(|| self.heads.take(packet.head));
        let home = self.fabric.endpoints[packet.source as usize].lp;
        if home == self.id {
            self.take_back(time, packet, head);
        } else {
            self.mail.to(home).returned.push((time, packet, head));
        }
    }

    /// A packet that was lost elsewhere is to be sent again at a time.
    pub(super) fn take_back(&mut self, time: u64, mut packet: Packet, head: Option<Head>) {
        let place = place([packet.source, packet.message, packet.via, u32::from(head.is_some())]);
        packet.head = head.map_or(NONE, |h| self.heads.insert(h));
        let id = self.packets.insert(packet);
        self.clock.push(time, place, Event::Resend(id));
    }

    /// Sends a lost packet again: a message of one packet with the old number.
    pub(crate) fn resend(&mut self, id: u32) {
        let packet = self.packets[id];
        self.packets.free(id);
        if packet.class != APART_CLASS {
            let flow = TrafficFlow { from: packet.source, to: packet.target };
            self.controlled(|c, now, asks| c.lost(now, flow, asks));
        }
        let payload = self.fabric.config.nic.payload(packet.wire, packet.asked);
        // It was counted when it was sent for the first time.
        self.totals.injected -= u64::from(payload);
        self.totals.messages -= 1;
        self.totals.resent += 1;
        let message = self.nics.messages.insert(Message::again(&packet, payload));
        self.enqueue_message(self.fabric.endpoints[packet.source as usize].local, message);
    }
}
