//! Asking the processor for memory before its turn comes.
//!
//! What a large machine is made of is in no cache, and an event that waits for memory half a dozen times, one time after the other, spends
//! most of its time so. But what happens next is known: the events of the current bucket. So all that are near are asked what they are
//! about, then all of them to what that leads, and so on: memory answers many questions in the time of one.
//!
//! Nothing is changed and nothing is decided here: without it every result is the same.

use crate::base::Event;
use crate::host::Host;
use crate::net::Net;
use std::ops::Range;

/// Where ranks' stacks are.
pub(super) trait Stacks {
    /// Asks for what says where a rank's stack is.
    fn fetch(&self, rank: u32);
    /// Asks for the stack itself.
    fn fetch_stack(&self, rank: u32);
}

/// Asks for what some events need that are the next to come.
pub(super) fn foresee(net: &Net<'_>, host: &Host, stacks: &impl Stacks, places: Range<usize>) {
    let events = || places.clone().rev().map(|place| net.clock.coming(place));
    for event in events() {
        match event {
            Event::Resume(rank) => {
                host.fetch_rank(rank);
                stacks.fetch(rank);
            }
            _ => net.fetch(event),
        }
    }
    for event in events() {
        match event {
            Event::Resume(rank) => {
                host.fetch_awaited(net, rank);
                stacks.fetch_stack(rank);
            }
            _ => net.fetch_next(event),
        }
    }
    for event in events() {
        if let Some(head) = net.fetch_behind(event) {
            host.fetch_keys(net, head);
        }
    }
    for event in events() {
        if let Some(head) = net.fetch_last(event) {
            host.fetch_receive(net, head);
        }
    }
}
