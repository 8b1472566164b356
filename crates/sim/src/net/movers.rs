//! Between memory and NIC: ranks of a node that move messages to their NIC share what the node has for that.
//!
//! The max-rate model of Gropp, Olson and Samfass, as a mechanism: one rank moves its messages at a rate R_b, each further one that is at
//! it adds R_i, and all of them have equal parts of the sum. Short, medium and long messages may go different ways, each with rates of
//! its own. A rank moves a packet of one of its messages at a time; the NIC sends what has been moved.

use super::{Fabric, Net, PartInfo};
use crate::Config;
use crate::base::{Clock, Endpoint, Event, place};
use crate::file::{NO_LIMIT, WAYS};
use std::collections::VecDeque;

/// Binary places of a pace, as of [`crate::link::Pace`], and of a byte that has been moved in part.
const PLACES: u32 = 20;
const PART: u32 = 16;
/// Times are whole picoseconds, so what is moved by then may be a little less than what was waited for.
const NEAR: u64 = 8;

/// A rank that moves a packet.
struct Mover {
    /// Its number in the part.
    rank: u32,
    flow: u32,
    /// What each mover of the pool has moved when this one is done.
    end: u64,
}

/// Ranks of a NIC that move messages one way.
#[derive(Default)]
struct Pool {
    /// What each of them has moved since the start, if it was at it all the time, up to a moment.
    moved: u64,
    at: u64,
    movers: Vec<Mover>,
    /// When the first of them will be done: events for another time are outdated.
    due: u64,
}

impl Pool {
    /// Moves on to a moment.
    fn advance(&mut self, paces: &[u64], now: u64) {
        self.moved = match pace(paces, self.movers.len()) {
            Some(pace) => self.moved + ((u128::from(now - self.at) << (PLACES + PART)) / u128::from(pace)) as u64,
            None => 0,
        };
        self.at = now;
    }

    /// Says when the first will be done.
    fn plan(&mut self, paces: &[u64], clock: &mut Clock, place: u32, number: u32) {
        let Some(first) = self.movers.iter().map(|m| m.end).min() else { return };
        let pace = pace(paces, self.movers.len()).expect("there is a mover");
        let left = u128::from(first.saturating_sub(self.moved)) * u128::from(pace);
        // Rounded up: then it is moved.
        self.due = self.at + left.div_ceil(1 << (PLACES + PART)) as u64;
        clock.push(self.due, place, Event::Moved(number));
    }
}

/// Picoseconds in which each of so many movers moves a byte, with [`PLACES`].
fn pace(paces: &[u64], movers: usize) -> Option<u64> {
    paces.get(movers.checked_sub(1)?).copied()
}

/// All of a part.
pub(super) struct Movers {
    /// By way and number of movers; empty for a way without a limit.
    paces: [Vec<u64>; WAYS],
    /// By NIC and way.
    pools: Vec<Pool>,
    /// Flows of a rank whose next packet waits to be moved, by rank and way. The first is being moved.
    queues: Vec<VecDeque<(u32, u32)>>,
}

impl Movers {
    /// None if nothing limits what ranks move.
    pub(super) fn new(fabric: &Fabric, part: &PartInfo) -> Option<Movers> {
        let config = &fabric.config;
        config.protocol.is_limited().then(|| Movers {
            paces: paces(config),
            pools: std::iter::repeat_with(Pool::default).take(part.endpoints.len() * WAYS).collect(),
            queues: vec![VecDeque::new(); part.nodes.len() * config.ranks_per_node * WAYS],
        })
    }

    /// A rank is to move a packet of a flow, so many bytes by a way. Whether that takes time.
    pub(super) fn begin(
        &mut self,
        clock: &mut Clock,
        (nic, endpoint): (u32, Endpoint),
        rank: u32,
        (flow, bytes, way): (u32, u32, u8),
    ) -> bool {
        if self.paces[usize::from(way)].is_empty() {
            return false;
        }
        let queue = &mut self.queues[rank as usize * WAYS + usize::from(way)];
        queue.push_back((flow, bytes));
        if queue.len() > 1 {
            return true;
        }
        let number = nic * WAYS as u32 + u32::from(way);
        let (pool, paces) = (&mut self.pools[number as usize], &self.paces[usize::from(way)]);
        pool.advance(paces, clock.now);
        pool.movers.push(Mover { rank, flow, end: pool.moved + (u64::from(bytes) << PART) });
        pool.plan(paces, clock, place([endpoint, u32::from(way)]), number);
        true
    }

    /// The flows of which a packet has been moved now.
    fn ended(&mut self, clock: &mut Clock, number: u32, endpoint: Endpoint) -> Vec<u32> {
        let way = number as usize % WAYS;
        let (pool, paces) = (&mut self.pools[number as usize], &self.paces[way]);
        if pool.due != clock.now {
            return Vec::new();
        }
        pool.advance(paces, clock.now);
        let mut done = Vec::new();
        let (moved, queues) = (pool.moved, &mut self.queues);
        pool.movers.retain_mut(|mover| {
            if mover.end > moved + NEAR {
                return true;
            }
            done.push(mover.flow);
            let queue = &mut queues[mover.rank as usize * WAYS + way];
            queue.pop_front();
            let Some(&(flow, bytes)) = queue.front() else { return false };
            // Without a pause: what is rounded does not add up.
            (mover.flow, mover.end) = (flow, mover.end + (u64::from(bytes) << PART));
            true
        });
        pool.plan(paces, clock, place([endpoint, way as u32]), number);
        done
    }
}

/// Of k ranks each has a k-th of R_b + (k - 1) R_i.
fn paces(config: &Config) -> [Vec<u64>; WAYS] {
    let of = |k: usize, (first, more): (f64, f64)| {
        let sum = first + (k - 1) as f64 * more;
        (1e12 * k as f64 / sum * f64::from(1 << PLACES)).round().max(1.0) as u64
    };
    config.protocol.rates().map(|rates| {
        let most = if rates.0 < NO_LIMIT { config.ranks_per_node } else { 0 };
        (1..=most).map(|k| of(k, rates)).collect()
    })
}

impl Net<'_> {
    /// Ranks may be done with moving packets. Whether any is.
    pub(crate) fn moved(&mut self, number: u32) -> bool {
        let nic = number / WAYS as u32;
        let endpoint = self.fabric.parts[usize::from(self.id)].endpoints[nic as usize];
        let Some(movers) = self.nics.movers.as_mut() else { return false };
        let flows = movers.ended(&mut self.clock, number, endpoint);
        let any = !flows.is_empty();
        flows.into_iter().for_each(|f| self.may_go(f));
        if any {
            self.inject(nic);
        }
        any
    }
}
