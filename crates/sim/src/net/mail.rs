//! Mail between parts: what one part does to another, handed over between windows of time.

use super::{NONE, Net};
use crate::base::Event;
use crate::control::TrafficFlow;
use crate::link::{Head, Packet};

/// What one part does to another.
#[derive(Default)]
pub(crate) struct Mail {
    /// Packets with the time of their arrival event; heads of those that carry one, in order.
    pub(super) packets: Vec<(u64, Packet)>,
    pub(super) heads: Vec<Head>,
    /// Link, virtual channel, bytes, time.
    pub(super) credits: Vec<(u32, u8, u32, u64)>,
    /// Notices by the side channel.
    pub(super) notices: Vec<(u64, TrafficFlow, u32)>,
    /// Lost packets for their source, with the time to send them again.
    pub(super) returned: Vec<(u64, Packet, Option<Head>)>,
}

impl Mail {
    fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.credits.is_empty() && self.notices.is_empty() && self.returned.is_empty()
    }
}

/// A part's mail for the others.
#[expect(clippy::vec_box, reason = "mail is large and changes hands every window: its address moves, not its contents")]
pub(crate) struct Outbox {
    mail: Vec<Box<Mail>>,
    /// Whom there is mail for, in the order in which it arose.
    addressed: Vec<u16>,
    /// Empty mail whose memory serves again.
    spare: Vec<Box<Mail>>,
}

impl Outbox {
    pub(super) fn new(parts: usize) -> Outbox {
        let mail = (0..parts).map(|_| Box::default()).collect();
        Outbox { mail, addressed: Vec::new(), spare: Vec::new() }
    }

    /// The mail for another part.
    #[inline]
    pub(super) fn to(&mut self, part: u16) -> &mut Mail {
        let mail = &mut self.mail[usize::from(part)];
        if mail.is_empty() {
            self.addressed.push(part);
        }
        mail
    }

    /// Takes out the mail for one of the parts that have some.
    pub(crate) fn take(&mut self) -> Option<(u16, Box<Mail>)> {
        // The last first: their order is of no account, because each receiver sorts its mail by sender.
        let to = self.addressed.pop()?;
        let empty = self.spare.pop().unwrap_or_default();
        Some((to, std::mem::replace(&mut self.mail[usize::from(to)], empty)))
    }

    /// Keeps empty mail, but no more than a window can take: who gets more than it sends would keep what others then have to make.
    fn keep(&mut self, mail: Box<Mail>) {
        if self.spare.len() < self.mail.len() {
            self.spare.push(mail);
        }
    }
}

impl Net<'_> {
    /// Takes in what another part has sent.
    pub(crate) fn receive(&mut self, mut mail: Box<Mail>) {
        let mut heads = mail.heads.drain(..);
        for (time, mut packet) in mail.packets.drain(..) {
            if packet.head != NONE {
                packet.head = self.heads.insert(heads.next().expect("a header travels with its packet"));
            }
            let via = packet.via;
            let packet = self.packets.insert(packet);
            self.clock.push(time, via, Event::Arrive(packet));
        }
        drop(heads);
        for (link, vc, bytes, time) in mail.credits.drain(..) {
            self.credit(link - self.outs.first, vc, bytes, time);
        }
        for (time, flow, value) in mail.notices.drain(..) {
            self.note_later(time, flow, value);
        }
        for (time, packet, head) in mail.returned.drain(..) {
            self.take_back(time, packet, head);
        }
        self.mail.keep(mail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_receives_keeps_no_more_than_it_could_send() {
        let mut box_of = Outbox::new(4);
        (0..100).for_each(|_| box_of.keep(Box::default()));
        assert_eq!(box_of.spare.len(), 4);
        box_of.to(2).credits.push((0, 0, 1, 0));
        assert_eq!(box_of.take().map(|(to, mail)| (to, mail.credits.len())), Some((2, 1)));
        assert!(box_of.take().is_none() && box_of.spare.len() == 3);
    }
}
