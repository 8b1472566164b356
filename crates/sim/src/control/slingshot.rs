//! Per-flow back-pressure at the edge, in the manner of Slingshot: the last hop knows who fills it and tells only those.
//!
//! Slingshot tracks what is in flight between every pair of endpoints, tells flows that cause congestion at an endpoint from
//! those that merely suffer, and slows only the first, at their own NICs (De Sensi et al., SC 2020). Its algorithm is not
//! public; this one follows the port control of SST's merlin in spirit:
//!
//! ```text
//! last hop:  bytes that wait, per source. From `threshold` bytes of at least `sources` sources on, every source is told
//!            how many share the port (n) and how long it takes to drain what waits (hold-off). Told again while the queue
//!            does not fall, when n changes by an eighth, and when a source has gone: those left, and the one that went (n = 1).
//! source:    sends nothing for the hold-off (and until its turn after it), then `share` / n of the cable's rate to that destination.
//! ```
//!
//! A source has gone when nothing of it was seen for `window` x (n + 1) times of a full packet. Notices travel by a side
//! channel and take `notice`. Congestion inside the network is not looked at: that is adaptive routing's work.
//!
//! A share below one is what drains the packets that the last hop cannot see, those in buffers further back.

use super::{Asks, By, Control, ControlEntry, Hears, Maker, Notice, Seen, Spot, Timer, TrafficFlow};
use crate::Config;
use crate::base::{Slab, Table};
use crate::topology::Endpoint;
use spec::{Card, Kind, Param, Params, ReadParams, Rng, Time};
use std::sync::Arc;

/// See the module.
pub const SLINGSHOT: ControlEntry = ControlEntry {
    card: Card {
        name: "slingshot",
        about: "the last hop slows the sources that fill it, and nobody else",
        source: "De Sensi et al., SC 2020; SST merlin, portControl",
        params: &[
            Param::new("threshold", Kind::Size, "32KiB", "bytes at a last hop that call for action"),
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

/// A notice says two things in 32 bits: the number of sources below, the hold-off in these units above.
// Chosen: 16 bits of 128 ns reach 8.4 ms; a longer hold-off is cut to that.
const HOLD_UNIT_PS: u64 = 128_000;
const HALF: u64 = 0xffff;

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

/// A last hop.
#[derive(Default)]
struct Port {
    bytes: u64,
    members: Vec<Endpoint>,
    /// How many sources were last told of, 0 while there is no congestion.
    told: usize,
    /// Whether a timer is set.
    watched: bool,
    to: Endpoint,
}

/// A source as its last hop sees it.
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
    ps_per_byte: f64,
    sent: u64,
    bytes: u32,
}

struct Slingshot {
    settings: Arc<SlingshotSettings>,
    ports: Slab<Port>,
    port_of: Table,
    members: Slab<Member>,
    member_of: Table,
    brakes: Slab<Brake>,
    brake_of: Table,
}

impl Slingshot {
    fn new(settings: Arc<SlingshotSettings>) -> Slingshot {
        let (port_of, member_of, brake_of) = (Table::new(), Table::new(), Table::new());
        let (ports, members, brakes) = (Slab::new(), Slab::new(), Slab::new());
        Slingshot { settings, ports, port_of, members, member_of, brakes, brake_of }
    }

    fn port(&mut self, to: Endpoint) -> u32 {
        let key = (u64::from(to), 0);
        self.port_of.get(key).unwrap_or_else(|| {
            let p = self.ports.insert(Port { to, ..Port::default() });
            self.port_of.set(key, p);
            p
        })
    }

    /// Counts a packet that waits at a last hop. True if its source is new there.
    fn note(&mut self, now: Time, p: u32, flow: TrafficFlow, bytes: u32) -> bool {
        let port = &mut self.ports[p];
        port.bytes += u64::from(bytes);
        if let Some(m) = self.member_of.get(flow.key()) {
            let member = &mut self.members[m];
            member.bytes += u64::from(bytes);
            // `seen` may lie in the future: a source that holds off is silent and has not gone.
            member.seen = member.seen.max(now.ps());
            return false;
        }
        let m = self.members.insert(Member { bytes: u64::from(bytes), seen: now.ps(), told: false });
        self.member_of.set(flow.key(), m);
        port.members.push(flow.from);
        true
    }

    fn packet_ps(&self) -> f64 {
        self.settings.packet * 1e12 / self.settings.rate
    }

    /// Tells sources of a port what share they have; with `hold`, to let it drain first. With `only_new`, those not yet told.
    fn tell(&mut self, now: Time, p: u32, hold: bool, only_new: bool, asks: &mut Asks) {
        let s = *self.settings;
        let port = &mut self.ports[p];
        let n = port.members.len();
        let drain = if hold { s.hold * port.bytes as f64 * 1e12 / s.rate } else { 0.0 };
        // Sources that all began again at once would fill the queue at once.
        let turn = if hold { s.packet * 1e12 / (s.share * s.rate) } else { 0.0 };
        // Newcomers told alone leave the count that the others know, so that small changes add up to an eighth.
        if !only_new {
            port.told = n;
        }
        for (i, &from) in port.members.iter().enumerate() {
            let flow = TrafficFlow { from, to: port.to };
            let m = self.member_of.get(flow.key()).expect("members are known");
            let member = &mut self.members[m];
            // Turns count all members, told or not, so that a newcomer's comes after those under way.
            let units = ((drain + turn * i as f64) / HOLD_UNIT_PS as f64).ceil().min(HALF as f64) as u64;
            if only_new && member.told {
                continue;
            }
            member.told = true;
            member.seen = member.seen.max(now.ps() + units * HOLD_UNIT_PS);
            let value = (units << 16 | (n as u64).min(HALF)) as u32;
            asks.notices.push(Notice { flow, value, by: By::Side(s.notice) });
        }
    }

    /// Looks at a port again after one packet's time per source, or when the hold-off is over.
    fn watch(&mut self, now: Time, p: u32, asks: &mut Asks) {
        let again = self.packet_ps() * (self.ports[p].members.len() + 1) as f64;
        let port = &mut self.ports[p];
        let drain = self.settings.hold * port.bytes as f64 * 1e12 / self.settings.rate;
        port.watched = true;
        // Sources act only once the notice has reached them; a look before that would see the old queue.
        let time = now + Time::from_ps(again.max(drain) as u64) + self.settings.notice;
        asks.timers.push(Timer { time, number: p, place: port.to });
    }

    /// Strikes off the sources that have gone; they are told so.
    fn expire(&mut self, now: Time, p: u32, asks: &mut Asks) {
        let port = &mut self.ports[p];
        let packet = self.settings.packet * 1e12 / self.settings.rate;
        let window = (self.settings.window * packet * (port.members.len() + 1) as f64) as u64;
        let (to, notice) = (port.to, self.settings.notice);
        let (members, member_of) = (&mut self.members, &mut self.member_of);
        port.members.retain(|&from| {
            let flow = TrafficFlow { from, to };
            let m = member_of.get(flow.key()).expect("members are known");
            let member = members[m];
            // What still waits will be subtracted in `forwarded`, so its member must stay.
            if member.bytes > 0 || member.seen + window > now.ps() {
                return true;
            }
            if member.told {
                asks.notices.push(Notice { flow, value: 1, by: By::Side(notice) });
            }
            member_of.remove(flow.key());
            members.free(m);
            false
        });
    }
}

impl Control for Slingshot {
    fn queued(&mut self, now: Time, spot: Spot, seen: Seen, _: &mut Rng, asks: &mut Asks) -> bool {
        let Some(to) = spot.edge else { return false };
        // `forwarded` leaves out the same packets, or the counts would not return to zero.
        if seen.bytes < self.settings.packet_size {
            return false;
        }
        let p = self.port(to);
        let new = self.note(now, p, seen.flow, seen.bytes);
        let port = &self.ports[p];
        let (n, told) = (port.members.len(), port.told);
        if told == 0 && port.bytes >= self.settings.threshold && n >= self.settings.sources {
            self.tell(now, p, true, false, asks);
        } else if told > 0 && new {
            self.tell(now, p, true, n < told + told.div_ceil(8), asks);
        }
        if !self.ports[p].watched {
            self.watch(now, p, asks);
        }
        false
    }

    fn forwarded(&mut self, now: Time, spot: Spot, seen: Seen, _: &mut Rng, _: &mut Asks) -> bool {
        if let (Some(to), Some(m)) = (spot.edge, self.member_of.get(seen.flow.key()))
            && seen.bytes >= self.settings.packet_size
        {
            let member = &mut self.members[m];
            // `queued` has counted every packet that waited, so neither count falls below zero.
            member.bytes -= u64::from(seen.bytes);
            member.seen = member.seen.max(now.ps());
            let p = self.port(to);
            self.ports[p].bytes -= u64::from(seen.bytes);
        }
        false
    }

    fn timer(&mut self, now: Time, p: u32, asks: &mut Asks) {
        // First of all, because the number of sources left decides below who is told what.
        self.expire(now, p, asks);
        let (threshold, sources) = (self.settings.threshold, self.settings.sources);
        let port = &mut self.ports[p];
        port.watched = false;
        let n = port.members.len();
        if n == 0 {
            port.told = 0;
            return;
        }
        if port.told > 0 {
            // Still full after the hold-off: what stood in buffers further back has come in, so all hold off again.
            if port.bytes >= threshold {
                self.tell(now, p, true, false, asks);
            } else if n < sources.div_ceil(2) {
                // The few that are left are let go; they would have been left alone.
                self.ports[p].told = 0;
                self.release(p, asks);
            } else if n != port.told {
                self.tell(now, p, false, false, asks);
            }
        }
        self.watch(now, p, asks);
    }

    fn notified(&mut self, now: Time, flow: TrafficFlow, value: u32, _: &mut Asks) {
        let (n, hold) = (u64::from(value) & HALF, (u64::from(value) >> 16) * HOLD_UNIT_PS);
        let known = self.brake_of.get(flow.key());
        // The word of release, for sources that have gone or are let go.
        if n <= 1 && hold == 0 {
            if let Some(b) = known {
                self.brake_of.remove(flow.key());
                self.brakes.free(b);
            }
            return;
        }
        let b = known.unwrap_or_else(|| {
            let b = self.brakes.insert(Brake { hold: 0, ps_per_byte: 0.0, sent: 0, bytes: 0 });
            self.brake_of.set(flow.key(), b);
            b
        });
        let brake = &mut self.brakes[b];
        // A later notice does not shorten a hold-off under way.
        brake.hold = brake.hold.max(now.ps() + hold);
        brake.ps_per_byte = n as f64 * 1e12 / (self.settings.share * self.settings.rate);
    }

    fn pace(&mut self, now: Time, flow: TrafficFlow, _: u32) -> Time {
        let Some(b) = self.brake_of.get(flow.key()) else { return now };
        let brake = &self.brakes[b];
        let gap = (f64::from(brake.bytes) * brake.ps_per_byte).ceil() as u64;
        now.max(Time::from_ps(brake.hold.max(brake.sent + gap)))
    }

    fn sent(&mut self, now: Time, flow: TrafficFlow, bytes: u32, _: &mut Asks) {
        if let Some(b) = self.brake_of.get(flow.key()) {
            let brake = &mut self.brakes[b];
            (brake.sent, brake.bytes) = (now.ps(), bytes);
        }
    }
}

impl Slingshot {
    /// Tells all sources of a port that they are free.
    fn release(&mut self, p: u32, asks: &mut Asks) {
        let port = &self.ports[p];
        for &from in &port.members {
            let flow = TrafficFlow { from, to: port.to };
            let m = self.member_of.get(flow.key()).expect("members are known");
            if std::mem::take(&mut self.members[m].told) {
                asks.notices.push(Notice { flow, value: 1, by: By::Side(self.settings.notice) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control() -> Slingshot {
        let params = SLINGSHOT.card.resolve(&Params::new()).unwrap();
        Slingshot::new(Arc::new(settings(&params, &Config::default()).unwrap()))
    }

    fn spot(to: Endpoint) -> Spot {
        Spot { switch: 0, port: to as u16, edge: Some(to), queued: 0, starved: false, rate: 12.5e9 }
    }

    /// `packets` of 4000 bytes of each source wait for an endpoint.
    fn fill(c: &mut Slingshot, now: Time, to: Endpoint, from: std::ops::Range<u32>, packets: u32) -> Asks {
        let (mut asks, mut rng) = (Asks::default(), Rng::new(1, "test", 0));
        for _ in 0..packets {
            for from in from.clone() {
                let seen = Seen { flow: TrafficFlow { from, to }, bytes: 4000, marked: false };
                assert!(!c.queued(now, spot(to), seen, &mut rng, &mut asks));
            }
        }
        asks
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
        let released: Vec<u32> = asks.notices.iter().filter(|n| n.value == 1).map(|n| n.flow.from).collect();
        let shares: Vec<_> = asks.notices.iter().filter(|n| n.value != 1).map(|n| (n.flow.from, n.value)).collect();
        assert_eq!(released, (8..20).collect::<Vec<_>>());
        assert_eq!(shares, (0..8).map(|from| (from, 8)).collect::<Vec<_>>());
        // When all have gone, nothing is left to watch.
        let mut asks = Asks::default();
        c.timer(Time::from_us(5000), 0, &mut asks);
        assert_eq!((asks.notices.len(), asks.timers.len()), (8, 0));
    }
}
