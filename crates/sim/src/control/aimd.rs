//! Additive increase, multiplicative decrease: sources slow down when packets are lost, as TCP does.
//!
//! A loss multiplies the rate of a flow by `beta`, at most once per round trip; each round trip without one adds a packet
//! per round trip (Chiu and Jain 1989; Jacobson 1988). New flows begin at the cable's rate and nothing is kept of flows that
//! are back at it. Only networks that drop packets (`switch.full = "drop"`) have losses: elsewhere it does nothing, like TCP
//! over a lossless network.
//!
//! Not modelled: slow start, the window (the rate stands for window / round trip), growing timeouts.

use super::{Asks, Control, ControlEntry, Hears, Maker, TrafficFlow};
use crate::Config;
use crate::base::{Slab, Table};
use spec::{Card, Kind, Param, Params, ReadParams, Time};
use std::sync::Arc;

/// See the module.
pub const AIMD: ControlEntry = ControlEntry {
    card: Card {
        name: "aimd",
        about: "sources slow down when packets are lost, as TCP does",
        source: "Jacobson, SIGCOMM 1988; Chiu, Jain 1989",
        params: &[
            Param::new("rtt", Kind::Time, "20us", "round trip that rises and falls are paced by"),
            Param::new("beta", Kind::Share, "0.5", "what a loss leaves of the rate"),
        ],
    },
    build,
    hears: Hears::Losses,
};

/// The slowest rate, in packets per round trip: a window of less than one packet.
const SLOWEST: f64 = 1.0 / 64.0;

struct AimdSettings {
    rtt: u64,
    beta: f64,
    line: f64,
    /// One packet per round trip, in bytes per second.
    step: f64,
}

#[derive(Clone, Copy)]
struct Source {
    rate: f64,
    /// When the rate was last cut, and until when rises are counted.
    cut: u64,
    risen: u64,
    sent: u64,
    bytes: u32,
}

struct Aimd {
    settings: Arc<AimdSettings>,
    sources: Slab<Source>,
    source_of: Table,
}

fn build(params: &Params, config: &Config) -> Result<Maker, String> {
    let settings = Arc::new(settings(params, config)?);
    Ok(Box::new(move || {
        Some(Box::new(Aimd { settings: settings.clone(), sources: Slab::new(), source_of: Table::new() }))
    }))
}

fn settings(params: &Params, config: &Config) -> Result<AimdSettings, String> {
    let (rtt, beta) = (params.time("rtt"), params.share("beta"));
    if rtt < Time::from_ns(100) {
        return Err(format!("aimd: rtt={rtt} is too short; choose 100ns or more"));
    }
    if !(0.01..=0.99).contains(&beta) {
        return Err(format!("aimd: beta={beta} is out of range; choose 0.01 to 0.99"));
    }
    let step = f64::from(config.packet()) / rtt.secs();
    Ok(AimdSettings { rtt: rtt.ps(), beta, line: config.nic.rate.bytes_per_s(), step })
}

impl Aimd {
    /// A flow's state with the rises that are due; forgotten once it is back at the cable's rate.
    fn settled(&mut self, now: Time, flow: TrafficFlow) -> Option<u32> {
        let s = self.source_of.get(flow.key())?;
        let source = &mut self.sources[s];
        let trips = (now.ps() - source.risen) / self.settings.rtt;
        source.rate += trips as f64 * self.settings.step;
        // Whole round trips only: the remainder counts towards the next rise.
        source.risen += trips * self.settings.rtt;
        if source.rate < self.settings.line {
            return Some(s);
        }
        self.source_of.remove(flow.key());
        self.sources.free(s);
        None
    }
}

impl Control for Aimd {
    fn lost(&mut self, now: Time, flow: TrafficFlow, _: &mut Asks) {
        let s = self.settled(now, flow).unwrap_or_else(|| {
            // `cut` = 0 lets the first loss through below, which sets `risen` too before anybody reads it.
            let s = self.sources.insert(Source { rate: self.settings.line, cut: 0, risen: 0, sent: 0, bytes: 0 });
            self.source_of.set(flow.key(), s);
            s
        });
        let source = &mut self.sources[s];
        if source.cut == 0 || now.ps() >= source.cut + self.settings.rtt {
            source.rate = (source.rate * self.settings.beta).max(self.settings.step * SLOWEST);
            (source.cut, source.risen) = (now.ps(), now.ps());
        }
    }

    fn pace(&mut self, now: Time, flow: TrafficFlow, _: u32) -> Time {
        let Some(s) = self.settled(now, flow) else { return now };
        let source = &self.sources[s];
        let gap = (f64::from(source.bytes) * 1e12 / source.rate).ceil() as u64;
        now.max(Time::from_ps(source.sent + gap))
    }

    fn sent(&mut self, now: Time, flow: TrafficFlow, bytes: u32, _: &mut Asks) {
        if let Some(s) = self.source_of.get(flow.key()) {
            let source = &mut self.sources[s];
            (source.sent, source.bytes) = (now.ps(), bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_halves_the_rate_and_each_round_trip_adds_a_packet() {
        let params = AIMD.card.resolve(&Params::new()).unwrap();
        let settings = Arc::new(settings(&params, &Config::default()).unwrap());
        let mut c = Aimd { settings, sources: Slab::new(), source_of: Table::new() };
        let (flow, mut asks) = (TrafficFlow { from: 1, to: 2 }, Asks::default());
        let rate = |c: &mut Aimd, us| c.settled(Time::from_us(us), flow).map_or(12.5e9, |s| c.sources[s].rate);
        c.lost(Time::from_us(100), flow, &mut asks);
        assert_eq!(rate(&mut c, 100), 6.25e9);
        c.lost(Time::from_us(110), flow, &mut asks);
        assert_eq!(rate(&mut c, 110), 6.25e9, "one cut per round trip");
        c.lost(Time::from_us(120), flow, &mut asks);
        assert!((rate(&mut c, 120) - (6.25e9 + c.settings.step) / 2.0).abs() < 1.0, "a rise was due, then a cut");
        let before = rate(&mut c, 120);
        assert!((rate(&mut c, 120 + 5 * 20) - before - 5.0 * c.settings.step).abs() < 1.0);
        c.sent(Time::from_us(220), flow, 4000, &mut asks);
        let gap = c.pace(Time::from_us(220), flow, 4000).since(Time::from_us(220)).secs();
        assert!((gap * rate(&mut c, 220) / 4000.0 - 1.0).abs() < 1e-3);
        assert_eq!(c.pace(Time::from_us(220), TrafficFlow { from: 1, to: 3 }, 4000), Time::from_us(220));
        assert_eq!(rate(&mut c, 1_000_000), 12.5e9, "recovered and forgotten");
    }
}
