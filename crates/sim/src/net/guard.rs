//! The congestion control of a part: called where packets wait, leave and arrive, and obeyed at once.
//!
//! What a control asks for is done before anything else happens, because events of one time happen in the order in which
//! they were made.

use super::Net;
use crate::base::{Event, Slab};
use crate::control::{Asks, By, Control, TrafficFlow};
use crate::link::{Head, Kind};
use spec::{Rng, Time};

pub(super) struct Guard {
    /// `None` without congestion control, which then costs nothing.
    pub(super) control: Option<Box<dyn Control>>,
    asks: Asks,
    /// Notices on their way by the side channel.
    notices: Slab<(TrafficFlow, u32)>,
}

impl Guard {
    pub(super) fn new(control: Option<Box<dyn Control>>) -> Guard {
        Guard { control, asks: Asks::default(), notices: Slab::new() }
    }
}

impl Net<'_> {
    /// Calls the congestion control, if there is one, and does what it asks.
    #[inline]
    pub(super) fn controlled(&mut self, call: impl FnOnce(&mut dyn Control, Time, &mut Rng, &mut Asks)) {
        let guard = &mut self.guard;
        if let Some(control) = guard.control.as_mut() {
            call(control.as_mut(), Time::from_ps(self.clock.now), &mut self.rng, &mut guard.asks);
            if !guard.asks.notices.is_empty() || !guard.asks.timers.is_empty() {
                self.answer_asks();
            }
        }
    }

    /// A timer of the control.
    pub(crate) fn timer(&mut self, number: u32) {
        self.controlled(|c, now, _, asks| c.timer(now, number, asks));
    }

    /// A notice reaches its source by the side channel.
    pub(crate) fn notice(&mut self, notice: u32) {
        let (flow, value) = self.guard.notices[notice];
        self.guard.notices.free(notice);
        self.notified(flow, value);
    }

    pub(super) fn notified(&mut self, flow: TrafficFlow, value: u32) {
        self.controlled(|c, now, _, asks| c.notified(now, flow, value, asks));
    }

    /// A notice by the side channel will reach its source at a time.
    pub(super) fn note_later(&mut self, time: u64, flow: TrafficFlow, value: u32) {
        let notice = self.guard.notices.insert((flow, value));
        self.clock.push(time, Event::Notice(notice));
    }

    fn answer_asks(&mut self) {
        // Taken out meanwhile: a notice that is sent may make the control ask for more.
        let mut asks = std::mem::take(&mut self.guard.asks);
        for (time, number) in asks.timers.drain(..) {
            self.clock.push(time.ps().max(self.clock.now), Event::Timer(number));
        }
        for notice in asks.notices.drain(..) {
            let home = self.fabric.endpoints[notice.flow.from as usize].lp;
            match notice.by {
                By::Packet => {
                    let head = Head { kind: Kind::Notice, remote: notice.value, ..Head::default() };
                    let message = self.message(head, notice.flow.to, notice.flow.from);
                    self.post(message);
                }
                By::Side(delay) if home == self.id => {
                    self.note_later(self.clock.now + delay.ps(), notice.flow, notice.value);
                }
                By::Side(delay) => {
                    // However short the delay: no effect on another part may fall into this window.
                    let time = self.clock.now + delay.ps().max(self.fabric.lookahead);
                    self.mail.to(home).notices.push((time, notice.flow, notice.value));
                }
            }
        }
        self.guard.asks = asks;
    }
}
