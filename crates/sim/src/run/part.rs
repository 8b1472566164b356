//! One part of the machine: its network, its hosts, and the loop that serves their events.
//!
//! A part (a logical process of the parallel simulation) is owned by one thread. What it does to other parts goes into its
//! mail and is handed over between windows of time.

use super::ahead::{Stacks, foresee, worth_asking};
use crate::base::Event;
use crate::host::{Host, Key};
use crate::net::{Fabric, Net};
use crate::view::Cut;

pub(super) struct Part<'f> {
    pub(super) net: Net<'f>,
    pub(super) host: Host,
    /// A meeting whose last member has joined: its results wait to be handed out.
    pub(super) met: Option<Key>,
    /// Whether memory is asked for ahead of events.
    pub(super) asks: bool,
    /// Phases that have begun or ended here since the window began.
    pub(super) cuts: Vec<Cut>,
}

/// Why the loop stopped.
pub(super) enum Stop {
    /// This rank is to run.
    Resume(u32),
    /// Nothing is left before the limit.
    Idle,
}

impl<'f> Part<'f> {
    pub(super) fn new(id: u16, fabric: &'f Fabric, threads: usize) -> Part<'f> {
        let host = Host::new(fabric, &fabric.parts[usize::from(id)]);
        let asks = worth_asking(fabric, threads);
        Part { net: Net::new(id, fabric, asks), host, met: None, asks, cuts: Vec::new() }
    }

    /// Serves events before `limit` until a rank is to run or nothing is left.
    pub(super) fn serve(&mut self, limit: u64, stacks: &impl Stacks) -> Stop {
        let Part { net, host, asks, .. } = self;
        while let Some((event, before)) = net.clock.advance(limit) {
            net.totals.events += 1;
            if *asks {
                let near = net.clock.unforeseen();
                if !near.is_empty() {
                    foresee(net, host, stacks, near);
                }
            }
            match event {
                Event::Arrive(packet) if net.at_endpoint(packet) => {
                    if let Some((head, time)) = net.eject(packet) {
                        host.deliver(net, head, time);
                    }
                }
                Event::Arrive(packet) => net.arrive(packet),
                Event::Wake(out) => {
                    if !net.wake(out) {
                        net.forget(before);
                    }
                }
                Event::Post(message) | Event::Answer(message) => net.post(message),
                Event::Local(head) => {
                    let head = net.copied(head);
                    host.deliver(net, head, net.clock.now);
                }
                Event::Resume(rank) => return Stop::Resume(rank),
                Event::InputReady(input) => net.input_ready(input),
                Event::Unpark(flow) => net.unpark(flow),
                Event::Moved(pool) => {
                    if !net.moved(pool) {
                        net.forget(before);
                    }
                }
                Event::Timer(number) => net.timer(number),
                Event::Notice(notice) => net.notice(notice),
                Event::Fault(number) => {
                    // Every part hears of it, and one counts it.
                    net.totals.events -= u64::from(net.id != 0);
                    // What breaks when all is over does not lengthen the run.
                    let idle = host.done() && net.clock.peek().is_none();
                    net.strike(number, idle);
                    if idle {
                        net.clock.now = before;
                    }
                }
                Event::Resend(packet) => net.resend(packet),
            }
            if net.clock.failure.is_some() {
                break;
            }
        }
        Stop::Idle
    }

    /// The world rank of one of the part's ranks.
    pub(super) fn world_rank(&self, local: u32) -> u32 {
        let fabric = self.net.fabric;
        let per = fabric.config.ranks_per_node as u32;
        fabric.parts[usize::from(self.net.id)].nodes[(local / per) as usize] * per + local % per
    }
}
