//! Memory of the network that will be needed soon (`run/ahead`).

use super::Net;
use crate::base::{Event, NONE, fetch_in};
use crate::link::{ENDPOINT, Head, Packet};

impl Net<'_> {
    /// What an event is about.
    #[inline(always)]
    pub(crate) fn fetch(&self, event: Event) {
        match event {
            Event::Arrive(p) => self.packets.fetch(p),
            Event::Post(m) | Event::Answer(m) => self.nics.messages.fetch(m),
            Event::Local(h) => self.heads.fetch(h),
            Event::Wake(o) => self.outs.fetch_waiting(o),
            Event::InputReady(i) => fetch_in(&self.outs.fifos, i as usize),
            _ => {}
        }
    }

    /// To what that leads. Whether that leads further.
    #[inline(always)]
    pub(crate) fn fetch_next(&self, event: Event) -> bool {
        match event {
            Event::Arrive(p) => {
                let packet = &self.packets[p];
                self.fetch_link(packet.via);
                if packet.at & ENDPOINT == 0 {
                    if self.outs.lanes == 1 {
                        fetch_in(&self.outs.fifos, self.input_of(&Packet { lane: 0, ..*packet }) as usize);
                    }
                    return false;
                }
                self.nics.fetch(self.fabric.endpoints[packet.target as usize].local);
                if packet.part {
                    self.nics.fetch_partial(packet);
                }
                if packet.head != NONE {
                    self.heads.fetch(packet.head);
                }
                packet.head != NONE
            }
            Event::Post(m) | Event::Answer(m) => {
                self.nics.fetch(self.fabric.endpoints[self.nics.messages[m].source as usize].local);
                false
            }
            Event::Wake(o) => {
                match self.outs.nic(o) {
                    Some(n) => self.nics.fetch(n),
                    None => self.outs.fetch_queue(o),
                }
                true
            }
            Event::InputReady(i) => {
                let head = self.outs.fifos[i as usize].head;
                if head != NONE {
                    self.packets.fetch(head);
                }
                false
            }
            Event::Local(_) => true,
            _ => false,
        }
    }

    /// To what that leads in turn; a header that will be delivered.
    #[inline(always)]
    pub(crate) fn fetch_behind(&self, event: Event) -> Option<&Head> {
        match event {
            Event::Arrive(p) => return self.delivered(p),
            Event::Local(h) => return Some(&self.heads[h]),
            Event::Wake(o) => match self.outs.nic(o) {
                Some(n) => self.nics.fetch_flows(n),
                None => {
                    if let Some(p) = self.outs.some_first(o) {
                        self.packets.fetch(p);
                    }
                }
            },
            _ => {}
        }
        None
    }

    /// And the last, when all the others are here.
    #[inline(always)]
    pub(crate) fn fetch_last(&self, event: Event) -> Option<&Head> {
        match event {
            Event::Arrive(p) => return self.delivered(p),
            Event::Local(h) => return Some(&self.heads[h]),
            Event::Wake(o) => match self.outs.nic(o) {
                Some(n) => self.nics.fetch_messages(n),
                None => {
                    if let Some(p) = self.outs.some_first(o) {
                        self.fetch_link(self.packets[p].via);
                    }
                }
            },
            _ => {}
        }
        None
    }

    /// The header that a packet brings to its destination.
    #[inline(always)]
    fn delivered(&self, p: u32) -> Option<&Head> {
        let packet = &self.packets[p];
        (packet.at & ENDPOINT != 0 && packet.head != NONE).then(|| &self.heads[packet.head])
    }

    /// The output whose buffer a packet will leave.
    #[inline(always)]
    fn fetch_link(&self, via: u32) {
        let o = via.wrapping_sub(self.outs.first) as usize;
        if o < self.outs.list.len() {
            fetch_in(&self.outs.list, o);
        } else {
            fetch_in(&self.fabric.links, via as usize);
        }
    }
}
