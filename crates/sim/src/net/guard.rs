//! The congestion control of a part: called where packets wait, leave and arrive, and obeyed at once.
//!
//! What a control asks for is done before anything else happens.

use super::Net;
use crate::base::{Event, Slab, place};
use crate::control::{Asks, By, Control, Timer, TrafficFlow};
use crate::link::{Head, Kind};
use spec::Time;

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
    pub(super) fn controlled(&mut self, call: impl FnOnce(&mut dyn Control, Time, &mut Asks)) {
        let guard = &mut self.guard;
        if let Some(control) = guard.control.as_mut() {
            call(control.as_mut(), Time::from_ps(self.clock.now), &mut guard.asks);
            if !guard.asks.notices.is_empty() || !guard.asks.timers.is_empty() {
                self.answer_asks();
            }
        }
    }

    /// A timer of the control.
    pub(crate) fn timer(&mut self, number: u32) {
        self.controlled(|c, now, asks| c.timer(now, number, asks));
    }

    /// A notice reaches its source by the side channel.
    pub(crate) fn notice(&mut self, notice: u32) {
        let (flow, value) = self.guard.notices[notice];
        self.guard.notices.free(notice);
        self.notified(flow, value);
    }

    pub(super) fn notified(&mut self, flow: TrafficFlow, value: u32) {
        self.controlled(|c, now, asks| c.notified(now, flow, value, asks));
    }

    /// A notice by the side channel will reach its source at a time.
    pub(super) fn note_later(&mut self, time: u64, flow: TrafficFlow, value: u32) {
        let notice = self.guard.notices.insert((flow, value));
        self.clock.push(time, place([flow.from, flow.to, value]), Event::Notice(notice));
    }

    fn answer_asks(&mut self) {
        // Taken out meanwhile: a notice that is sent may make the control ask for more.
        let mut asks = std::mem::take(&mut self.guard.asks);
        for Timer { time, number, place } in asks.timers.drain(..) {
            self.clock.push(time.ps().max(self.clock.now), place, Event::Timer(number));
        }
        for notice in asks.notices.drain(..) {
            let home = self.fabric.endpoints[notice.flow.from as usize].lp;
            match notice.by {
                By::Packet => {
                    let head = Head { kind: Kind::Notice, remote: notice.value, ..Head::default() };
                    let message = self.message(head, notice.flow.to, notice.flow.from);
                    self.post(message);
                }
                By::Side(delay) => {
                    let time = self.clock.now + self.fabric.delay(delay.ps());
                    if home == self.id {
                        self.note_later(time, notice.flow, notice.value);
                    } else {
                        self.mail.to(home).notices.push((time, notice.flow, notice.value));
                    }
                }
            }
        }
        self.guard.asks = asks;
    }
}
