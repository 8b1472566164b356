//! Per-flow back-pressure at the edge, in the manner of Slingshot: whoever holds what one endpoint cannot take knows whose it
//! is, and tells only those.
//!
//! Slingshot tracks what is in flight between every pair of endpoints, tells flows that cause congestion at an endpoint from
//! those that merely suffer, and slows only the first, at their own NICs (De Sensi et al., SC 2020). Its algorithm is not
//! public; this one follows the port control of SST's merlin in spirit, but looks at every output: where all of an incast
//! comes by one cable, it waits before that cable and not at the last hop.
//!
//! ```text
//! output:    bytes that wait, per destination and source. From `threshold` bytes for one destination of at least `sources`
//!            sources on, each is told how many they are (n) and how long it takes to drain what waits (hold-off). Told again
//!            while that does not fall, when n changes by an eighth, and when a source has gone: those left, and the one that
//!            went (n = 1). An output without credits is not where the congestion begins, and only counts.
//! source:    sends nothing for the hold-off (and until its turn after it), then `share` / n of the cable's rate to that
//!            destination; n of the last hop or of an output before it, whichever is larger.
//! ```
//!
//! A source that was told has gone when nothing of it waited for `window` x (n + 1) times of a full packet. Notices travel by
//! a side channel and take `notice`. Other congestion inside the network is not looked at: that is adaptive routing's work.
//!
//! A share below one is what drains the packets that the output cannot see, those in buffers further back.

use super::{Asks, By, Control, ControlEntry, Hears, Maker, Notice, Seen, Spot, Timer, TrafficFlow};
use crate::Config;
use crate::base::{Key, Slab, Table, place};
use crate::topology::Endpoint;
use spec::{Card, Kind, Param, Params, ReadParams, Rng, Time};
use std::sync::Arc;

/// See the module.
pub const SLINGSHOT: ControlEntry = ControlEntry {
    card: Card {
        name: "slingshot",
        about: "who holds more than an endpoint can take slows its sources, and nobody else",
        source: "De Sensi et al., SC 2020; SST merlin, portControl",
        params: &[
            Param::new("threshold", Kind::Size, "32KiB", "bytes for one endpoint at an output that call for action"),
            // 6 sources, 128 bytes, 4 drain times and 5 rounds are the values of merlin's portControl.
            Param::new("sources", Kind::Count, "6", "fewer sources are left alone"),
            Param::new("packet_size", Kind::Size, "128", "shorter packets do not count"),
            Param::new("hold", Kind::Real, "4", "hold-off, in drain times of what waits"),
            Param::new("share", Kind::Share, "0.9", "of the last hop's rate that is shared out"),
            Param::new("window", Kind::Real, "5", "rounds of all sources until one has gone"),
            Param::new("notice", Kind::Time, "500ns", "time that a notice takes"),
        ],
    },
    build,
    hears: Hears::Queues,
};

/// A notice says three things in 32 bits: the number of sources below, who says it, the hold-off in these units above.
// Chosen: 16 bits of 128 ns reach 8.4 ms; a longer hold-off is cut to that.
const HOLD_UNIT_PS: u64 = 128_000;
const HALF: u64 = 0xffff;
/// Set in notices of last hops, whose word does not take back that of an output before them.
const EDGE: u64 = 1 << 15;
const MOST: u64 = EDGE - 1;

#[derive(Clone, Copy)]
struct SlingshotSettings {
    threshold: u64,
    sources: usize,
    packet_size: u32,
    hold: f64,
    share: f64,
    window: f64,
    notice: Time,
    packet: f64,
    rate: f64,
}

fn build(params: &Params, config: &Config) -> Result<Maker, String> {
    let settings = Arc::new(settings(params, config)?);
    Ok(Box::new(move || Some(Box::new(Slingshot::new(settings.clone())))))
}

fn settings(params: &Params, config: &Config) -> Result<SlingshotSettings, String> {
    let positive = |name: &str, x: f64| match x > 0.0 && x <= 1e6 {
        true => Ok(x),
        false => Err(format!("slingshot: {name}={x} is out of range; choose more than 0, at most 1e6")),
    };
    Ok(SlingshotSettings {
        threshold: params.size("threshold").max(1) as u64,
        sources: positive("sources", params.count("sources") as f64)? as usize,
        packet_size: params.size("packet_size").min(u32::MAX as usize) as u32,
        hold: positive("hold", params.real("hold"))?,
        share: positive("share", params.share("share"))?,
        window: positive("window", params.real("window"))?,
        notice: params.time("notice"),
        packet: f64::from(config.packet()),
        rate: config.nic.eject_rate.bytes_per_s(),
    })
}

/// What waits at an output for an endpoint.
struct Pile {
    /// The output and the endpoint.
    key: Key,
    bytes: u64,
    /// The sources of what waits, and once they were told those that have not gone.
    members: Vec<Endpoint>,
    /// How many sources were last told of, 0 while there is no congestion.
    told: usize,
    /// Whether a timer is set.
    watched: bool,
    /// Whether this is the last hop.
    edge: bool,
    /// Bytes per second that can leave for the endpoint.
    rate: f64,
}

/// A source as a pile sees it.
#[derive(Clone, Copy)]
struct Member {
    bytes: u64,
    /// When it was last seen, or when its hold-off ends.
    seen: u64,
    told: bool,
}

/// A flow at its source.
#[derive(Clone, Copy)]
struct Brake {
    /// Nothing is sent before.
    hold: u64,
    /// By word of the outputs on the way and of the last hop, 0 from whom there is none.
    ps_per_byte: [f64; 2],
    sent: u64,
    bytes: u32,
}

struct Slingshot {
    settings: Arc<SlingshotSettings>,
    piles: Vec<Pile>,
    /// Piles of which nothing is left. Their lists keep their memory: one is begun and ended for every packet that waits.
    spare: Vec<u32>,
    pile_of: Table,
    members: Slab<Member>,
    member_of: Table,
    brakes: Slab<Brake>,
    brake_of: Table,
}

/// The output and the endpoint.
fn pile_key(spot: &Spot, to: Endpoint) -> Key {
    (u64::from(spot.switch) << 16 | u64::from(spot.port), u64::from(to))
}

/// A source in a pile.
fn member_key(p: u32, from: Endpoint) -> Key {
    (u64::from(p), u64::from(from))
}

impl Pile {
    fn to(&self) -> Endpoint {
        self.key.1 as Endpoint
    }
}

impl Slingshot {
    fn new(settings: Arc<SlingshotSettings>) -> Slingshot {
        let (pile_of, member_of, brake_of) = (Table::new(), Table::new(), Table::new());
        let (members, brakes) = (Slab::new(), Slab::new());
        Slingshot { settings, piles: Vec::new(), spare: Vec::new(), pile_of, members, member_of, brakes, brake_of }
    }

    fn pile(&mut self, spot: &Spot, to: Endpoint) -> u32 {
        let key = pile_key(spot, to);
        if let Some(p) = self.pile_of.get(key) {
            return p;
        }
        let p = self.spare.pop().unwrap_or(self.piles.len() as u32);
        let members = self.piles.get_mut(p as usize).map_or(Vec::new(), |old| std::mem::take(&mut old.members));
        let rate = spot.rate.min(self.settings.rate);
        let pile = Pile { key, bytes: 0, members, told: 0, watched: false, edge: spot.edge.is_some(), rate };
        match self.piles.get_mut(p as usize) {
            Some(old) => *old = pile,
            None => self.piles.push(pile),
        }
        self.pile_of.set(key, p);
        p
    }

    /// Forgets a pile of which nothing is left and that no timer knows.
    fn clear(&mut self, p: u32) {
        let pile = &self.piles[p as usize];
        if pile.members.is_empty() && !pile.watched {
            self.pile_of.remove(pile.key);
            self.spare.push(p);
        }
    }

    /// Counts a packet that waits. True if its source is new there.
    fn note(&mut self, now: Time, p: u32, flow: TrafficFlow, bytes: u32) -> bool {
        let pile = &mut self.piles[p as usize];
        pile.bytes += u64::from(bytes);
        let key = member_key(p, flow.from);
        if let Some(m) = self.member_of.get(key) {
            let member = &mut self.members[m];
            member.bytes += u64::from(bytes);
            // `seen` may lie in the future: a source that holds off is silent and has not gone.
            member.seen = member.seen.max(now.ps());
            return false;
        }
        let m = self.members.insert(Member { bytes: u64::from(bytes), seen: now.ps(), told: false });
        self.member_of.set(key, m);
        pile.members.push(flow.from);
        true
    }

    fn member(&self, p: u32, from: Endpoint) -> u32 {
        self.member_of.get(member_key(p, from)).expect("members are known")
    }

    fn packet_ps(&self, p: u32) -> f64 {
        self.settings.packet * 1e12 / self.piles[p as usize].rate
    }

    /// How long a pile drains, if nothing more comes.
    fn drain_ps(&self, p: u32) -> f64 {
        let pile = &self.piles[p as usize];
        self.settings.hold * pile.bytes as f64 * 1e12 / pile.rate
    }

    /// Tells sources of a pile what share they have; with `hold`, to let it drain first. With `only_new`, those not yet told.
    fn tell(&mut self, now: Time, p: u32, hold: bool, only_new: bool, asks: &mut Asks) {
        let s = *self.settings;
        let drain = if hold { self.drain_ps(p) } else { 0.0 };
        // Sources that all began again at once would fill the queue at once.
        let turn = if hold { self.packet_ps(p) / s.share } else { 0.0 };
        let n = self.piles[p as usize].members.len();
        // Newcomers told alone leave the count that the others know, so that small changes add up to an eighth.
        if !only_new {
            self.piles[p as usize].told = n;
        }
        for i in 0..n {
            let pile = &self.piles[p as usize];
            let from = pile.members[i];
            let m = self.member(p, from);
            let member = &mut self.members[m];
            // Turns count all members, told or not, so that a newcomer's comes after those under way.
            let units = ((drain + turn * i as f64) / HOLD_UNIT_PS as f64).ceil().min(HALF as f64) as u64;
            if only_new && member.told {
                continue;
            }
            member.told = true;
            member.seen = member.seen.max(now.ps() + units * HOLD_UNIT_PS);
            // Sources reckon with the last hop's rate; a slower cable before it is as if more shared it.
            let shared = ((n as f64 * s.rate / pile.rate).ceil() as u64).min(MOST);
            asks.notices.push(self.notice(p, from, units << 16 | shared));
        }
    }

    fn notice(&self, p: u32, from: Endpoint, value: u64) -> Notice {
        let pile = &self.piles[p as usize];
        let value = (value | if pile.edge { EDGE } else { 0 }) as u32;
        Notice { flow: TrafficFlow { from, to: pile.to() }, value, by: By::Side(self.settings.notice) }
    }

    /// Looks at a pile again after one packet's time per source, or when the hold-off is over.
    fn watch(&mut self, now: Time, p: u32, asks: &mut Asks) {
        let again = self.packet_ps(p) * (self.piles[p as usize].members.len() + 1) as f64;
        let later = again.max(self.drain_ps(p)) as u64;
        let pile = &mut self.piles[p as usize];
        pile.watched = true;
        let ((output, _), to) = (pile.key, pile.to());
        let place = place([(output >> 32) as u32, output as u32, to]);
        // Sources act only once the notice has reached them; a look before that would see the old queue.
        asks.timers.push(Timer { time: now + Time::from_ps(later) + self.settings.notice, number: p, place });
    }

    /// Strikes off the sources that have gone; they are told so. With `free`, all are told, and stay only while something waits.
    fn expire(&mut self, now: Time, p: u32, free: bool, asks: &mut Asks) {
        let rounds = self.settings.window * (self.piles[p as usize].members.len() + 1) as f64;
        let window = (rounds * self.packet_ps(p)) as u64;
        let mut members = std::mem::take(&mut self.piles[p as usize].members);
        members.retain(|&from| {
            let m = self.member(p, from);
            // What still waits will be subtracted in `forwarded`, so its member must stay.
            let gone = self.members[m].bytes == 0 && (free || self.members[m].seen + window <= now.ps());
            if (gone || free) && std::mem::take(&mut self.members[m].told) {
                asks.notices.push(self.notice(p, from, 1));
            }
            if gone {
                self.member_of.remove(member_key(p, from));
                self.members.free(m);
            }
            !gone
        });
        self.piles[p as usize].members = members;
    }

    /// Strikes off a source of which nothing waits any more, where none was told anything.
    fn drained(&mut self, p: u32, from: Endpoint, m: u32) {
        self.member_of.remove(member_key(p, from));
        self.members.free(m);
        let members = &mut self.piles[p as usize].members;
        members.retain(|&one| one != from);
        self.clear(p);
    }
}

impl Control for Slingshot {
    fn queued(&mut self, now: Time, spot: Spot, seen: Seen, _: &mut Rng, asks: &mut Asks) -> bool {
        // `forwarded` leaves out the same packets, or the counts would not return to zero.
        if seen.bytes < self.settings.packet_size {
            return false;
        }
        let p = self.pile(&spot, seen.flow.to);
        let new = self.note(now, p, seen.flow, seen.bytes);
        let pile = &self.piles[p as usize];
        let (n, told) = (pile.members.len(), pile.told);
        let many = pile.bytes >= self.settings.threshold && n >= self.settings.sources;
        if told == 0 && many && !spot.starved {
            self.tell(now, p, true, false, asks);
        } else if told > 0 && new {
            self.tell(now, p, true, n < told + told.div_ceil(8), asks);
        }
        let pile = &self.piles[p as usize];
        if pile.told > 0 && !pile.watched {
            self.watch(now, p, asks);
        }
        false
    }

    fn forwarded(&mut self, now: Time, spot: Spot, seen: Seen, _: &mut Rng, _: &mut Asks) -> bool {
        if seen.bytes < self.settings.packet_size {
            return false;
        }
        // `queued` has counted every packet that waited, so neither count falls below zero.
        let p = self.pile_of.get(pile_key(&spot, seen.flow.to)).expect("what waited was counted");
        let m = self.member(p, seen.flow.from);
        let (pile, member) = (&mut self.piles[p as usize], &mut self.members[m]);
        pile.bytes -= u64::from(seen.bytes);
        member.bytes -= u64::from(seen.bytes);
        member.seen = member.seen.max(now.ps());
        if member.bytes == 0 && pile.told == 0 {
            self.drained(p, seen.flow.from, m);
        }
        false
    }

    fn timer(&mut self, now: Time, p: u32, asks: &mut Asks) {
        // First of all, because the number of sources left decides below who is told what.
        self.expire(now, p, false, asks);
        let (threshold, sources) = (self.settings.threshold, self.settings.sources);
        let pile = &mut self.piles[p as usize];
        pile.watched = false;
        let (n, told) = (pile.members.len(), pile.told);
        // Still full after the hold-off: what stood in buffers further back has come in, so all hold off again.
        if pile.bytes >= threshold {
            self.tell(now, p, true, false, asks);
        } else if n < sources.div_ceil(2) {
            // The few that are left are let go; they would have been left alone.
            self.piles[p as usize].told = 0;
            self.expire(now, p, true, asks);
        } else if n != told {
            self.tell(now, p, false, false, asks);
        }
        if self.piles[p as usize].told > 0 {
            self.watch(now, p, asks);
        } else {
            self.clear(p);
        }
    }

    fn notified(&mut self, now: Time, flow: TrafficFlow, value: u32, _: &mut Asks) {
        let (n, hold) = (u64::from(value) & MOST, (u64::from(value) >> 16) * HOLD_UNIT_PS);
        let who = usize::from(u64::from(value) & EDGE != 0);
        let known = self.brake_of.get(flow.key());
        // The word of release, for sources that have gone or are let go.
        if n <= 1 && hold == 0 {
            let Some(b) = known else { return };
            self.brakes[b].ps_per_byte[who] = 0.0;
            if self.brakes[b].ps_per_byte == [0.0; 2] {
                self.brake_of.remove(flow.key());
                self.brakes.free(b);
            }
            return;
        }
        let b = known.unwrap_or_else(|| {
            let b = self.brakes.insert(Brake { hold: 0, ps_per_byte: [0.0; 2], sent: 0, bytes: 0 });
            self.brake_of.set(flow.key(), b);
            b
        });
        let brake = &mut self.brakes[b];
        // A later notice does not shorten a hold-off under way.
        brake.hold = brake.hold.max(now.ps() + hold);
        brake.ps_per_byte[who] = n as f64 * 1e12 / (self.settings.share * self.settings.rate);
    }

    fn pace(&mut self, now: Time, flow: TrafficFlow, _: u32) -> Time {
        let Some(b) = self.brake_of.get(flow.key()) else { return now };
        let brake = &self.brakes[b];
        let slower = brake.ps_per_byte[0].max(brake.ps_per_byte[1]);
        let gap = (f64::from(brake.bytes) * slower).ceil() as u64;
        now.max(Time::from_ps(brake.hold.max(brake.sent + gap)))
    }

    fn sent(&mut self, now: Time, flow: TrafficFlow, bytes: u32, _: &mut Asks) {
        if let Some(b) = self.brake_of.get(flow.key()) {
            let brake = &mut self.brakes[b];
            (brake.sent, brake.bytes) = (now.ps(), bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A last hop's word of release.
    const FREE: u32 = EDGE as u32 | 1;

    fn control() -> Slingshot {
        let params = SLINGSHOT.card.resolve(&Params::new()).unwrap();
        Slingshot::new(Arc::new(settings(&params, &Config::default()).unwrap()))
    }

    fn spot(to: Endpoint) -> Spot {
        Spot { switch: 0, port: to as u16, edge: Some(to), queued: 0, starved: false, rate: 12.5e9 }
    }

    /// The only cable of a switch to the others.
    fn uplink() -> Spot {
        Spot { switch: 1, edge: None, ..spot(0) }
    }

    /// `packets` of 4000 bytes of each source wait for an endpoint.
    fn fill(c: &mut Slingshot, now: Time, to: Endpoint, from: std::ops::Range<u32>, packets: u32) -> Asks {
        let (mut asks, mut rng) = (Asks::default(), Rng::new(1, "test", 0));
        for _ in 0..packets {
            for from in from.clone() {
                wait(c, now, spot(to), TrafficFlow { from, to }, &mut rng, &mut asks);
            }
        }
        asks
    }

    fn wait(c: &mut Slingshot, now: Time, spot: Spot, flow: TrafficFlow, rng: &mut Rng, asks: &mut Asks) {
        assert!(!c.queued(now, spot, Seen { flow, bytes: 4000, marked: false }, rng, asks));
    }

    fn drain(c: &mut Slingshot, now: Time, to: Endpoint, from: std::ops::Range<u32>) {
        let (mut asks, mut rng) = (Asks::default(), Rng::new(1, "test", 0));
        for from in from {
            let seen = Seen { flow: TrafficFlow { from, to }, bytes: 4000, marked: false };
            c.forwarded(now, spot(to), seen, &mut rng, &mut asks);
        }
    }

    fn apply(c: &mut Slingshot, now: Time, asks: &Asks) {
        for n in &asks.notices {
            c.notified(now, n.flow, n.value, &mut Asks::default());
        }
    }

    #[test]
    fn only_sources_of_the_hot_endpoint_are_slowed() {
        let mut c = control();
        // Ten sources for endpoint 99, of which number 3 also sends to 50; number 20 sends to 50 alone.
        let asks = fill(&mut c, Time::ZERO, 99, 0..10, 2);
        let calm = fill(&mut c, Time::ZERO, 50, 3..4, 5);
        let other = fill(&mut c, Time::ZERO, 50, 20..21, 5);
        assert!(calm.notices.is_empty() && other.notices.is_empty(), "two sources are no incast");
        let mut told: Vec<u32> = asks.notices.iter().map(|n| n.flow.from).collect();
        told.sort();
        told.dedup();
        assert_eq!(told, (0..10).collect::<Vec<_>>());
        assert!(asks.notices.iter().all(|n| n.flow.to == 99 && matches!(n.by, By::Side(_))));
        apply(&mut c, Time::ZERO, &asks);
        for from in 0..10 {
            assert!(c.pace(Time::ZERO, TrafficFlow { from, to: 99 }, 4000) > Time::ZERO);
        }
        for flow in
            [TrafficFlow { from: 3, to: 50 }, TrafficFlow { from: 20, to: 50 }, TrafficFlow { from: 20, to: 99 }]
        {
            assert_eq!(c.pace(Time::ZERO, flow, 4000), Time::ZERO, "{flow:?}");
        }
    }

    #[test]
    fn a_source_holds_off_and_then_has_its_share_of_ninety_percent() {
        let mut c = control();
        let flow = TrafficFlow { from: 1, to: 99 };
        c.notified(Time::ZERO, flow, (10 << 16) | 20, &mut Asks::default());
        let held = Time::from_ps(10 * HOLD_UNIT_PS);
        assert_eq!(c.pace(Time::ZERO, flow, 4000), held);
        assert_eq!(c.pace(held, flow, 4000), held);
        c.sent(held, flow, 4000, &mut Asks::default());
        // A twentieth of 0.9 x 12.5 GB/s: 4000 bytes every 7.11 us.
        let gap = c.pace(held, flow, 4000).since(held).secs();
        assert!((gap - 4000.0 * 20.0 / (0.9 * 12.5e9)).abs() < 1e-11, "{gap}");
        c.notified(held, flow, 1, &mut Asks::default());
        assert_eq!(c.pace(held, flow, 4000), held, "released");
    }

    #[test]
    fn few_sources_and_small_packets_are_left_alone() {
        let mut c = control();
        assert!(fill(&mut c, Time::ZERO, 99, 0..5, 50).notices.is_empty());
        let (mut asks, mut rng) = (Asks::default(), Rng::new(1, "test", 0));
        for from in 0..1000 {
            let seen = Seen { flow: TrafficFlow { from, to: 98 }, bytes: 100, marked: false };
            c.queued(Time::ZERO, spot(98), seen, &mut rng, &mut asks);
        }
        assert!(asks.notices.is_empty());
    }

    #[test]
    fn sources_that_go_are_released_and_the_others_share_anew() {
        let mut c = control();
        let asks = fill(&mut c, Time::ZERO, 99, 0..20, 1);
        apply(&mut c, Time::ZERO, &asks);
        drain(&mut c, Time::ZERO, 99, 0..20);
        // Much later eight of them are still at it.
        let later = Time::from_us(1000);
        fill(&mut c, later, 99, 0..8, 1);
        drain(&mut c, later, 99, 0..8);
        let mut asks = Asks::default();
        c.timer(later, 0, &mut asks);
        let released: Vec<u32> = asks.notices.iter().filter(|n| n.value == FREE).map(|n| n.flow.from).collect();
        let shares: Vec<_> = asks.notices.iter().filter(|n| n.value != FREE).map(|n| (n.flow.from, n.value)).collect();
        assert_eq!(released, (8..20).collect::<Vec<_>>());
        assert_eq!(shares, (0..8).map(|from| (from, EDGE as u32 | 8)).collect::<Vec<_>>());
        // When all have gone, nothing is left to watch.
        let mut asks = Asks::default();
        c.timer(Time::from_us(5000), 0, &mut asks);
        assert_eq!((asks.notices.len(), asks.timers.len()), (8, 0));
    }

    #[test]
    fn an_output_before_the_last_hop_tells_those_of_the_endpoint_that_it_holds_most_for() {
        let (mut asks, mut rng) = (Asks::default(), Rng::new(1, "test", 0));
        let mut c = control();
        // Ten packets for 99 and, by the same cable, two for each of five others.
        for from in 0..10 {
            for to in [99, 50 + from % 5] {
                wait(&mut c, Time::ZERO, uplink(), TrafficFlow { from, to }, &mut rng, &mut asks);
            }
        }
        assert!(asks.notices.len() >= 10 && asks.notices.iter().all(|n| n.flow.to == 99 && n.value & EDGE as u32 == 0));
        // Where credits are missing, the end of the queue is elsewhere.
        let (mut c, mut asks) = (control(), Asks::default());
        for from in 0..20 {
            let spot = Spot { starved: true, ..uplink() };
            wait(&mut c, Time::ZERO, spot, TrafficFlow { from, to: 99 }, &mut rng, &mut asks);
        }
        assert!(asks.notices.is_empty());
    }

    #[test]
    fn what_waits_and_leaves_is_forgotten_where_nobody_was_told() {
        let (mut asks, mut rng) = (Asks::default(), Rng::new(1, "test", 0));
        let mut c = control();
        for to in 0..1000 {
            let flow = TrafficFlow { from: to + 1, to };
            wait(&mut c, Time::ZERO, uplink(), flow, &mut rng, &mut asks);
            c.forwarded(Time::ZERO, uplink(), Seen { flow, bytes: 4000, marked: false }, &mut rng, &mut asks);
        }
        assert_eq!((c.piles.len(), c.spare.len(), asks.timers.len()), (1, 1, 0));
    }

    #[test]
    fn the_slower_of_two_words_holds_until_it_is_taken_back() {
        let mut c = control();
        let (flow, none) = (TrafficFlow { from: 1, to: 99 }, &mut Asks::default());
        let gap = |c: &mut Slingshot| c.pace(Time::ZERO, flow, 4000).secs() * 0.9 * 12.5e9 / 4000.0;
        c.notified(Time::ZERO, flow, 8, none);
        c.sent(Time::ZERO, flow, 4000, none);
        assert!((gap(&mut c) - 8.0).abs() < 0.01);
        c.notified(Time::ZERO, flow, EDGE as u32 | 20, none);
        assert!((gap(&mut c) - 20.0).abs() < 0.01);
        c.notified(Time::ZERO, flow, FREE, none);
        assert!((gap(&mut c) - 8.0).abs() < 0.01, "the output's word still holds");
        c.notified(Time::ZERO, flow, 1, none);
        assert_eq!(c.pace(Time::ZERO, flow, 4000), Time::ZERO);
    }
}
