//! Asking the processor for memory before its turn comes.
//!
//! What a large machine is made of is in no cache, and an event that waits for memory half a dozen times, one time after the other, spends
//! most of its time so. But what happens next is known: the events of the current bucket. So all that are near are asked what they are
//! about, then all of them to what that leads, and so on: memory answers many questions in the time of one.
//!
//! Nothing is changed and nothing is decided here: without it every result is the same.

use crate::base::{Event, FORESEEN};
use crate::host::Host;
use crate::net::{Fabric, Net};
use std::ops::Range;

/// Whether it is worth asking on a machine that so many threads simulate. Of few ranks the caches of a core hold what is hot, and asking
/// takes as long as it saves: on Malbec it is even with 1,000 and 2,000 ranks (`ask_from`), and saves a sixth of the time with 3,200. With
/// 200 it would cost a fifth.
pub(super) fn worth_asking(fabric: &Fabric, threads: usize) -> bool {
    fabric.config.ranks() / threads >= fabric.config.ask_from
}

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
    let (mut further, mut count) = ([0; FORESEEN], 0);
    for place in places.clone().rev() {
        match net.clock.coming(place) {
            Event::Resume(rank) => {
                host.fetch_awaited(net, rank);
                stacks.fetch_stack(rank);
            }
            event => {
                if net.fetch_next(event) {
                    further[count] = place;
                    count += 1;
                }
            }
        }
    }
    for &place in &further[..count] {
        if let Some(head) = net.fetch_behind(net.clock.coming(place)) {
            host.fetch_keys(net, head);
        }
    }
    for &place in &further[..count] {
        if let Some(head) = net.fetch_last(net.clock.coming(place)) {
            host.fetch_receive(net, head);
        }
    }
}
