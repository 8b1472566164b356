//! InfiniBand congestion control (IBA 1.2.1, annex A10): switches mark (FECN), destinations send the mark back (BECN), and
//! each mark moves the source of a flow one entry further down a table of injection delays, from which a timer brings it
//! back.
//!
//! A port marks a packet before which more than `threshold` waits, if it is the root of the congestion (it has credits) or
//! leads to an endpoint (`Victim_Mask` of ports with channel adapters). The packet itself does not count: one that waits for
//! the end of another is no queue, and packets of a lone message meet like that when they take different ways. The threshold
//! is a weight, as the architecture has it: 0 never marks, 15 marks from one sixteenth of an input buffer on; what a weight
//! means in bytes is left to vendors, and this linear scale is assumed. A mark goes back as a packet of its own (CNP) in the control class. A flow is all traffic between two
//! endpoints.
//!
//! The table grows geometrically: the last entry makes a source `hosts` times slower than its cable. The vendor's manager
//! too sizes the table by the number of hosts; its formula is not public.
//!
//! The defaults are those of Gran et al. as recalled; the smallest packet is that of Mellanox OFED's congestion control
//! manager, which marks only every eleventh packet (`marking_rate = 10`).
//!
//! Not modelled: marks on acknowledgements, the congestion log and its trigger threshold, control by service level.

use super::{Asks, By, Control, ControlEntry, Hears, Maker, Notice, Seen, Spot, TrafficFlow};
use crate::Config;
use crate::base::{Slab, Table};
use spec::{Card, Kind, Param, Params, ReadParams, Rng, Time};
use std::sync::Arc;

/// See the module.
pub const IB: ControlEntry = ControlEntry {
    card: Card {
        name: "infiniband",
        about: "marks by switches, injection delays from a table",
        source: "IBA 1.2.1 annex A10; Gran et al., IPDPS 2010",
        params: &[
            Param::new("threshold", Kind::Count, "15", "weight 0 (off) to 15 (marks early)"),
            Param::new("packet_size", Kind::Size, "512", "shortest packet marked"),
            Param::new("marking_rate", Kind::Count, "0", "packets between marks"),
            Param::new("ccti_increase", Kind::Count, "1", "steps down the table per mark"),
            Param::new("ccti_timer", Kind::Count, "150", "time per step back, x 1.024 us"),
            Param::new("ccti_limit", Kind::Count, "127", "last entry of the table"),
            Param::new("ccti_min", Kind::Count, "0", "entry that a source never leaves"),
            Param::new(
                "hosts",
                Kind::Count,
                "0",
                "how much slower the last entry is, 0 = as the machine has endpoints",
            ),
        ],
    },
    build,
    hears: Hears::Queues,
};

/// IBA 1.2.1, annex A10: the unit of `CCTI_Timer`.
const TIMER_UNIT_PS: u64 = 1_024_000;

struct IbSettings {
    /// Bytes above which a port marks; `None` never does.
    threshold: Option<u64>,
    packet_size: u32,
    marking_rate: u64,
    increase: u32,
    timer: u64,
    min: u32,
    /// Delays after a packet, in times of the packet itself.
    table: Vec<f64>,
    ps_per_byte: f64,
}

fn build(params: &Params, config: &Config) -> Result<Maker, String> {
    let settings = Arc::new(settings(params, config)?);
    Ok(Box::new(move || Some(Box::new(Ib::new(settings.clone())))))
}

fn settings(params: &Params, config: &Config) -> Result<IbSettings, String> {
    let within = |name: &str, low: u64, high: u64| match params.count(name) {
        x if (low..=high).contains(&x) => Ok(x),
        x => Err(format!("infiniband: {name}={x} is out of range; choose {low} to {high}")),
    };
    let limit = within("ccti_limit", 1, 16_383)?;
    let weight = within("threshold", 0, 15)?;
    let hosts = match within("hosts", 0, 1_000_000)? {
        // With one host all entries would be 0 and the table without effect.
        0 => config.endpoints().max(2) as f64,
        n => n as f64,
    };
    // Less one: the delay comes on top of the packet's own time, so entry 0 is no delay.
    let entry = |i: u64| hosts.powf(i as f64 / limit as f64) - 1.0;
    Ok(IbSettings {
        threshold: (weight > 0).then(|| u64::from(config.switch.buffer + config.switch.shared) * (16 - weight) / 16),
        packet_size: params.size("packet_size").min(u32::MAX as usize) as u32,
        marking_rate: within("marking_rate", 0, 65_535)?,
        increase: within("ccti_increase", 1, 255)? as u32,
        timer: within("ccti_timer", 1, 65_535)? * TIMER_UNIT_PS,
        min: within("ccti_min", 0, limit)? as u32,
        table: (0..=limit).map(entry).collect(),
        ps_per_byte: 1e12 / config.nic.rate.bytes_per_s(),
    })
}

/// A flow at its source.
#[derive(Clone, Copy)]
struct Source {
    ccti: u32,
    /// Ticks of the port's timer that have been taken into account.
    ticks: u64,
    /// The last packet's end and length.
    tail: u64,
    bytes: u32,
}

struct Ib {
    settings: Arc<IbSettings>,
    sources: Slab<Source>,
    source_of: Table,
    /// Packets since the last mark, by port.
    unmarked: Slab<u64>,
    unmarked_of: Table,
}

impl Ib {
    fn new(settings: Arc<IbSettings>) -> Ib {
        let (source_of, unmarked_of) = (Table::new(), Table::new());
        Ib { settings, sources: Slab::new(), source_of, unmarked: Slab::new(), unmarked_of }
    }

    /// A flow's state with the timer's steps taken; forgotten once it is back where flows begin.
    fn settled(&mut self, now: Time, flow: TrafficFlow) -> Option<u32> {
        let s = self.source_of.get(flow.key())?;
        let (settings, source) = (&self.settings, &mut self.sources[s]);
        // All flows share the port's clock, so a flow's first step back may come sooner than a whole period after its mark.
        let ticks = now.ps() / settings.timer;
        // `begin` starts at `min` and the index never falls below it, so the difference is not negative.
        let fall = (ticks - source.ticks).min(u64::from(source.ccti - settings.min)) as u32;
        source.ccti -= fall;
        source.ticks = ticks;
        // Never with `ccti_min` above 0: such a flow keeps its delay, and with it its state.
        if source.ccti == 0 {
            self.source_of.remove(flow.key());
            self.sources.free(s);
            return None;
        }
        Some(s)
    }

    fn begin(&mut self, now: Time, flow: TrafficFlow) -> u32 {
        let ticks = now.ps() / self.settings.timer;
        let s = self.sources.insert(Source { ccti: self.settings.min, ticks, tail: 0, bytes: 0 });
        self.source_of.set(flow.key(), s);
        s
    }
}

impl Control for Ib {
    fn queued(&mut self, _: Time, spot: Spot, seen: Seen, _: &mut Rng, _: &mut Asks) -> bool {
        let Some(threshold) = self.settings.threshold else { return false };
        let root = !spot.starved || spot.edge.is_some();
        let before = spot.queued - u64::from(seen.bytes);
        if before <= threshold || !root || seen.bytes < self.settings.packet_size {
            return false;
        }
        let key = (u64::from(spot.switch), u64::from(spot.port));
        let u = self.unmarked_of.get(key).unwrap_or_else(|| {
            // A new port starts as if its turn had come: the first packet above the threshold is marked.
            let u = self.unmarked.insert(self.settings.marking_rate);
            self.unmarked_of.set(key, u);
            u
        });
        let unmarked = &mut self.unmarked[u];
        let mark = *unmarked >= self.settings.marking_rate;
        *unmarked = if mark { 0 } else { *unmarked + 1 };
        mark
    }

    fn ejected(&mut self, _: Time, seen: Seen, asks: &mut Asks) {
        if seen.marked {
            asks.notices.push(Notice { flow: seen.flow, value: 1, by: By::Packet });
        }
    }

    fn notified(&mut self, now: Time, flow: TrafficFlow, _: u32, _: &mut Asks) {
        let s = self.settled(now, flow).unwrap_or_else(|| self.begin(now, flow));
        let limit = self.settings.table.len() as u32 - 1;
        let source = &mut self.sources[s];
        source.ccti = (source.ccti + self.settings.increase).min(limit);
    }

    fn pace(&mut self, now: Time, flow: TrafficFlow, _: u32) -> Time {
        let Some(s) = self.settled(now, flow) else { return now };
        let source = self.sources[s];
        let delay = f64::from(source.bytes) * self.settings.ps_per_byte * self.settings.table[source.ccti as usize];
        now.max(Time::from_ps(source.tail + delay.ceil() as u64))
    }

    fn sent(&mut self, now: Time, flow: TrafficFlow, bytes: u32, _: &mut Asks) {
        let s = match self.source_of.get(flow.key()) {
            Some(s) => s,
            // With `ccti_min` flows are delayed without any mark, so their state begins with their first packet.
            None if self.settings.min > 0 => self.begin(now, flow),
            None => return,
        };
        let source = &mut self.sources[s];
        source.tail = now.ps() + (f64::from(bytes) * self.settings.ps_per_byte).ceil() as u64;
        source.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: TrafficFlow = TrafficFlow { from: 3, to: 7 };

    fn ib(given: &[(&str, &str)]) -> Ib {
        let given = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let params = IB.card.resolve(&given).unwrap();
        Ib::new(Arc::new(settings(&params, &Config::default()).unwrap()))
    }

    fn ccti(ib: &mut Ib, now: Time) -> u32 {
        ib.settled(now, FLOW).map_or(0, |s| ib.sources[s].ccti)
    }

    #[test]
    fn ccti_rises_by_the_increase_per_becn_and_falls_by_one_per_timer() {
        let mut ib = ib(&[("ccti_increase", "3"), ("ccti_timer", "10"), ("ccti_limit", "14")]);
        let tick = |n: u64| Time::from_ps(n * 10 * TIMER_UNIT_PS);
        let mut asks = Asks::default();
        for (becns, expected) in [(1, 3), (2, 6), (3, 9), (4, 12), (5, 14), (6, 14)] {
            ib.notified(Time::ZERO, FLOW, 1, &mut asks);
            assert_eq!(ccti(&mut ib, Time::ZERO), expected, "after {becns} marks");
        }
        for (ticks, expected) in [(1, 13), (2, 12), (5, 9), (13, 1), (14, 0), (20, 0)] {
            assert_eq!(ccti(&mut ib, tick(ticks)), expected, "after {ticks} timers");
        }
        assert_eq!(ib.source_of.get(FLOW.key()), None, "a flow that has recovered is forgotten");
    }

    #[test]
    fn ccti_min_is_never_left() {
        let mut ib = ib(&[("ccti_min", "5"), ("ccti_timer", "1")]);
        let mut asks = Asks::default();
        ib.sent(Time::ZERO, FLOW, 4136, &mut asks);
        assert_eq!(ccti(&mut ib, Time::ZERO), 5);
        ib.notified(Time::ZERO, FLOW, 1, &mut asks);
        assert_eq!(ccti(&mut ib, Time::ZERO), 6);
        assert_eq!(ccti(&mut ib, Time::from_secs(1.0)), 5);
    }

    #[test]
    fn the_delay_is_the_tables_entry_times_the_packet() {
        // 128 hosts and 7 entries: each doubles the time from packet to packet.
        let mut ib = ib(&[("hosts", "128"), ("ccti_limit", "7")]);
        let mut asks = Asks::default();
        for step in 1..=7u32 {
            ib.notified(Time::ZERO, FLOW, 1, &mut asks);
            ib.sent(Time::ZERO, FLOW, 1000, &mut asks);
            let gap = ib.pace(Time::ZERO, FLOW, 1000).ps();
            // 1000 bytes at 12.5 GB/s are 80 ns.
            assert!(gap.abs_diff((1 << step) * 80_000) <= 1, "step {step}: {gap}");
        }
        assert_eq!(ib.pace(Time::ZERO, TrafficFlow { from: 3, to: 8 }, 1000), Time::ZERO, "other flows are free");
    }

    #[test]
    fn roots_mark_one_packet_in_so_many() {
        let mut ib = ib(&[("marking_rate", "2"), ("threshold", "8")]);
        let (mut asks, mut rng) = (Asks::default(), Rng::new(1, "test", 0));
        let spot = Spot { switch: 0, port: 1, edge: None, queued: 40_000, starved: false, rate: 12.5e9 };
        let seen = Seen { flow: FLOW, bytes: 4136, marked: false };
        let mut marks = |spot, seen| {
            let one = |_| u32::from(ib.queued(Time::ZERO, spot, seen, &mut rng, &mut asks));
            (0..9).map(one).sum::<u32>()
        };
        assert_eq!(marks(spot, seen), 3);
        assert_eq!(marks(Spot { queued: 32_768 + 4136, ..spot }, seen), 0, "at the threshold");
        assert_eq!(marks(Spot { starved: true, ..spot }, seen), 0, "not a root");
        assert_eq!(marks(Spot { starved: true, edge: Some(7), port: 2, ..spot }, seen), 3, "a last hop is always one");
        assert_eq!(marks(spot, Seen { bytes: 100, ..seen }), 0, "small packets");
    }

    #[test]
    fn impossible_values_are_named() {
        let params = IB.card.resolve(&[("threshold".to_string(), "16".to_string())].into()).unwrap();
        let error = settings(&params, &Config::default()).err().unwrap();
        assert_eq!(error, "infiniband: threshold=16 is out of range; choose 0 to 15");
    }
}
