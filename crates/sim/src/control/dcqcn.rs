//! DCQCN (Zhu et al., SIGCOMM 2015): switches mark at random by the length of the queue (RED), destinations send at most one
//! notice (CNP) per flow and interval, and sources cut their rate and win it back by a timer and a byte counter.
//!
//! ```text
//! notice:        Rt = Rc;  Rc = Rc (1 - alpha/2);  alpha = (1 - g) alpha + g       at most once per decrease interval
//! no notice:     alpha = (1 - g) alpha                                             every alpha interval
//! timer, bytes:  Rc = (Rt + Rc) / 2   after raising Rt: not at all (the first F steps of both), by R_AI, by R_HAI (both past F)
//! ```
//!
//! Three published sets of parameters are presets; each value can be set by itself. `ns3-rdma` is the authors' simulator,
//! `hpcc` the production values in the repository of HPCC (Alibaba), `connectx` the defaults of NVIDIA's adapters with the
//! marking thresholds of NVIDIA's switches in their RoCE mode. Nothing is scaled by the link's rate except where the
//! source says so (`hpcc`: thresholds per 25 Gb/s).
//!
//! Here the network stays lossless by credits per hop, as with priority flow control. A queue can only be as long as the
//! input buffers that feed a port: with buffers smaller than `kmin` nothing is ever marked.
//!
//! Not modelled: the clamp of the target rate, the initial rate of new flows (they begin at the cable's rate).

use super::{Asks, By, Control, ControlEntry, Hears, Maker, Notice, Seen, Spot, TrafficFlow};
use crate::Config;
use crate::base::{Slab, Table};
use spec::{Card, Kind, Param, Params, ReadParams, Rng, Time};
use std::sync::Arc;

/// See the module.
pub const DCQCN: ControlEntry = ControlEntry {
    card: Card {
        name: "dcqcn",
        about: "random marks, notices per flow, rates cut and won back",
        source: "Zhu et al., SIGCOMM 2015",
        params: &[
            Param::new(
                "preset",
                Kind::Choice(&["ns3-rdma", "hpcc", "connectx"]),
                "ns3-rdma",
                "whose values count where nothing is said",
            ),
            Param::new("kmin", Kind::Size, "0", "queue that marks none, 0 = preset"),
            Param::new("kmax", Kind::Size, "0", "queue that marks all, 0 = preset"),
            Param::new("pmax", Kind::Share, "0", "chance of a mark at kmax, 0 = preset"),
            Param::new("g", Kind::Real, "0", "weight of a mark in alpha, 0 = preset"),
            Param::new("cnp_interval", Kind::Time, "0s", "between notices, 0 = preset"),
            Param::new("decrease_interval", Kind::Time, "0s", "between cuts, 0 = preset"),
            Param::new("alpha_interval", Kind::Time, "0s", "between falls of alpha, 0 = preset"),
            Param::new("rate_timer", Kind::Time, "0s", "between rises, 0 = preset"),
            Param::new("byte_counter", Kind::Size, "0", "bytes between rises, 0 = preset"),
            Param::new("f", Kind::Count, "0", "steps of fast recovery, 0 = preset"),
            Param::new("r_ai", Kind::Rate, "1B/s", "additive rise, 1B/s = preset"),
            Param::new("r_hai", Kind::Rate, "1B/s", "faster rise, 1B/s = preset"),
            Param::new("r_min", Kind::Rate, "1B/s", "slowest rate, 1B/s = preset"),
        ],
    },
    build,
    hears: Hears::Queues,
};

/// Bytes per second of one megabit per second.
const MBIT: f64 = 125_000.0;

#[derive(Clone, Copy, Debug)]
struct DcqcnSettings {
    kmin: f64,
    kmax: f64,
    pmax: f64,
    /// The rate for which `kmin` and `kmax` are meant; they grow with a port's rate. Infinite: they do not.
    per_rate: Option<f64>,
    g: f64,
    alpha: f64,
    cnp_interval: u64,
    decrease_interval: u64,
    alpha_interval: u64,
    rate_timer: u64,
    byte_counter: u64,
    f: u32,
    r_ai: f64,
    r_hai: f64,
    r_min: f64,
    line: f64,
}

// The simulator's clock counts picoseconds.
const US: u64 = 1_000_000;

/// The authors' simulator: its configuration file; the byte counter and alpha's start as in the paper.
const NS3_RDMA: DcqcnSettings = DcqcnSettings {
    kmin: 40e3,
    kmax: 1000e3,
    pmax: 1.0,
    per_rate: None,
    g: 1.0 / 256.0,
    alpha: 1.0,
    cnp_interval: 50 * US,
    decrease_interval: 50 * US,
    alpha_interval: 55 * US,
    rate_timer: 60 * US,
    byte_counter: 300_000_000,
    f: 5,
    r_ai: 40.0 * MBIT,
    r_hai: 200.0 * MBIT,
    r_min: 40.0 * MBIT,
    line: 0.0,
};

/// The repository of HPCC: thresholds per 25 Gb/s; no byte counter is given, so there is none.
const HPCC: DcqcnSettings = DcqcnSettings {
    kmin: 100e3,
    kmax: 400e3,
    pmax: 0.2,
    per_rate: Some(25_000.0 * MBIT),
    g: 1.0 / 256.0,
    alpha: 1.0,
    cnp_interval: 4 * US,
    decrease_interval: 4 * US,
    alpha_interval: US,
    rate_timer: 900 * US,
    byte_counter: u64::MAX,
    f: 1,
    r_ai: 50.0 * MBIT,
    r_hai: 100.0 * MBIT,
    r_min: 100.0 * MBIT,
    line: 0.0,
};

/// NVIDIA's documents: adapters (g = 5/1024, alpha begins at 1023/1024) and Cumulus Linux's RoCE mode (150 to 1500 KB).
/// The notice interval, the steps of recovery and the byte counter (32767 x 64 bytes) are recalled, not read.
const CONNECTX: DcqcnSettings = DcqcnSettings {
    kmin: 150e3,
    kmax: 1500e3,
    pmax: 1.0,
    per_rate: None,
    g: 5.0 / 1024.0,
    alpha: 1023.0 / 1024.0,
    cnp_interval: 4 * US,
    decrease_interval: 4 * US,
    alpha_interval: US,
    rate_timer: 300 * US,
    byte_counter: 32_767 * 64,
    f: 1,
    r_ai: 5.0 * MBIT,
    r_hai: 50.0 * MBIT,
    r_min: MBIT,
    line: 0.0,
};

fn build(params: &Params, config: &Config) -> Result<Maker, String> {
    let settings = Arc::new(settings(params, config)?);
    Ok(Box::new(move || Some(Box::new(Dcqcn::new(settings.clone())))))
}

fn settings(params: &Params, config: &Config) -> Result<DcqcnSettings, String> {
    let mut s = match params.word("preset") {
        "ns3-rdma" => NS3_RDMA,
        "connectx" => CONNECTX,
        _ => HPCC,
    };
    s.line = config.nic.rate.bytes_per_s();
    let real = |name: &str, place: &mut f64, value: f64, unset: f64| {
        if value != unset {
            *place = value;
        }
        match *place > 0.0 {
            true => Ok(()),
            false => Err(format!("dcqcn: {name}={value} must be more than 0")),
        }
    };
    // A threshold that is given counts as written, at ports of any rate.
    if params.size("kmin") > 0 || params.size("kmax") > 0 {
        s.per_rate = None;
    }
    real("kmin", &mut s.kmin, params.size("kmin") as f64, 0.0)?;
    real("kmax", &mut s.kmax, params.size("kmax") as f64, 0.0)?;
    real("pmax", &mut s.pmax, params.share("pmax"), 0.0)?;
    real("g", &mut s.g, params.real("g"), 0.0)?;
    real("r_ai", &mut s.r_ai, params.rate("r_ai").bytes_per_s(), 1.0)?;
    real("r_hai", &mut s.r_hai, params.rate("r_hai").bytes_per_s(), 1.0)?;
    real("r_min", &mut s.r_min, params.rate("r_min").bytes_per_s(), 1.0)?;
    let whole = |place: &mut u64, value: u64| {
        if value > 0 {
            *place = value;
        }
    };
    whole(&mut s.cnp_interval, params.time("cnp_interval").ps());
    whole(&mut s.decrease_interval, params.time("decrease_interval").ps());
    whole(&mut s.alpha_interval, params.time("alpha_interval").ps());
    whole(&mut s.rate_timer, params.time("rate_timer").ps());
    whole(&mut s.byte_counter, params.size("byte_counter") as u64);
    let mut f = u64::from(s.f);
    whole(&mut f, params.count("f"));
    s.f = f.min(1_000) as u32;
    let (kmin, kmax) = (s.kmin, s.kmax);
    if kmin > kmax {
        return Err(format!("dcqcn: kmin={kmin} is above kmax={kmax}; choose kmin below kmax"));
    }
    if s.g > 1.0 {
        return Err(format!("dcqcn: g={} is above 1; choose a share such as 0.00390625", s.g));
    }
    // On a cable slower than the preset's slowest rate a cut would otherwise raise the rate.
    s.r_min = s.r_min.min(s.line);
    Ok(s)
}

impl DcqcnSettings {
    /// The chance of a mark for a packet that finds a queue.
    fn chance(&self, queued: u64, rate: f64) -> f64 {
        let scale = self.per_rate.map_or(1.0, |r| rate / r);
        let (queued, kmin, kmax) = (queued as f64, self.kmin * scale, self.kmax * scale);
        if queued <= kmin {
            0.0
        } else if queued > kmax {
            1.0
        } else {
            self.pmax * (queued - kmin) / (kmax - kmin)
        }
    }
}

/// The rate of a flow at its source.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// Current and target rate.
    rc: f64,
    rt: f64,
    alpha: f64,
    /// When each was last reset or counted.
    cut: u64,
    alpha_at: u64,
    timer_at: u64,
    bytes_left: u64,
    /// Rises since the last cut, by the timer and by the byte counter.
    by_timer: u32,
    by_bytes: u32,
    /// The last packet.
    sent: u64,
    sent_bytes: u32,
}

impl Source {
    fn new(s: &DcqcnSettings, now: u64) -> Source {
        Source {
            rc: s.line,
            rt: s.line,
            alpha: s.alpha,
            cut: 0,
            alpha_at: now,
            timer_at: now,
            bytes_left: s.byte_counter,
            by_timer: 0,
            by_bytes: 0,
            sent: 0,
            sent_bytes: 0,
        }
    }

    /// A notice: the rate falls, and recovery begins anew.
    fn cut(&mut self, s: &DcqcnSettings, now: u64) {
        // Steps that are due come first: they belong to the time before this notice.
        self.settle(s, now);
        // 0 is a flow that was never cut: its first notice always counts.
        if self.cut > 0 && now < self.cut + s.decrease_interval {
            return;
        }
        self.cut = now;
        // Recovery aims at the rate before the cut, and alpha grows only after it has set how deep the cut is.
        self.rt = self.rc;
        self.rc = (self.rc * (1.0 - self.alpha / 2.0)).max(s.r_min);
        self.alpha = (1.0 - s.g) * self.alpha + s.g;
        (self.alpha_at, self.timer_at, self.bytes_left) = (now, now, s.byte_counter);
        (self.by_timer, self.by_bytes) = (0, 0);
    }

    /// Takes the steps of both clocks that are due.
    fn settle(&mut self, s: &DcqcnSettings, now: u64) {
        let falls = (now - self.alpha_at) / s.alpha_interval;
        // The bound keeps the exponent in an i32; after 2^20 falls alpha is 0 with every preset's g.
        self.alpha *= (1.0 - s.g).powi(falls.min(1 << 20) as i32);
        self.alpha_at += falls * s.alpha_interval;
        while now - self.timer_at >= s.rate_timer {
            self.timer_at += s.rate_timer;
            self.by_timer = self.by_timer.saturating_add(1);
            self.rise(s);
            // A flow idle for long has many steps due; once it is free the rest would change next to nothing.
            if self.free(s) {
                self.timer_at = now;
            }
        }
    }

    /// Counts bytes sent.
    fn count(&mut self, s: &DcqcnSettings, bytes: u64) {
        // The preset `hpcc` has no byte counter.
        if s.byte_counter == u64::MAX {
            return;
        }
        let mut bytes = bytes;
        while bytes >= self.bytes_left {
            bytes -= self.bytes_left;
            self.bytes_left = s.byte_counter;
            self.by_bytes = self.by_bytes.saturating_add(1);
            self.rise(s);
        }
        self.bytes_left -= bytes;
    }

    fn rise(&mut self, s: &DcqcnSettings) {
        let (most, least) = (self.by_timer.max(self.by_bytes), self.by_timer.min(self.by_bytes));
        if least > s.f {
            self.rt += s.r_hai;
        } else if most > s.f {
            self.rt += s.r_ai;
        }
        self.rt = self.rt.min(s.line);
        self.rc = (self.rc + self.rt) / 2.0;
    }

    /// Whether it is as good as never having been cut.
    fn free(&self, s: &DcqcnSettings) -> bool {
        // Every rise halves the distance to the target, so the line rate is only approached.
        // Chosen: the last 0.1 % counts as none.
        self.rc >= s.line * 0.999
    }
}

struct Dcqcn {
    settings: Arc<DcqcnSettings>,
    sources: Slab<Source>,
    source_of: Table,
    /// When a flow's destination last sent a notice.
    notices: Slab<u64>,
    notice_of: Table,
}

impl Dcqcn {
    fn new(settings: Arc<DcqcnSettings>) -> Dcqcn {
        let (source_of, notice_of) = (Table::new(), Table::new());
        Dcqcn { settings, sources: Slab::new(), source_of, notices: Slab::new(), notice_of }
    }
}

impl Control for Dcqcn {
    fn queued(&mut self, _: Time, spot: Spot, _: Seen, rng: &mut Rng, _: &mut Asks) -> bool {
        let chance = self.settings.chance(spot.queued, spot.rate);
        chance > 0.0 && rng.unit() < chance
    }

    fn ejected(&mut self, now: Time, seen: Seen, asks: &mut Asks) {
        if !seen.marked {
            return;
        }
        match self.notice_of.get(seen.flow.key()) {
            Some(n) if now.ps() < self.notices[n] + self.settings.cnp_interval => return,
            Some(n) => self.notices[n] = now.ps(),
            None => {
                let n = self.notices.insert(now.ps());
                self.notice_of.set(seen.flow.key(), n);
            }
        }
        asks.notices.push(Notice { flow: seen.flow, value: 1, by: By::Packet });
    }

    fn notified(&mut self, now: Time, flow: TrafficFlow, _: u32, _: &mut Asks) {
        let s = self.source_of.get(flow.key()).unwrap_or_else(|| {
            let s = self.sources.insert(Source::new(&self.settings, now.ps()));
            self.source_of.set(flow.key(), s);
            s
        });
        self.sources[s].cut(&self.settings, now.ps());
    }

    fn pace(&mut self, now: Time, flow: TrafficFlow, _: u32) -> Time {
        // Flows that were never told of, or have recovered, have no state and go at the cable's rate.
        let Some(s) = self.source_of.get(flow.key()) else { return now };
        let source = &mut self.sources[s];
        source.settle(&self.settings, now.ps());
        if source.free(&self.settings) {
            self.source_of.remove(flow.key());
            self.sources.free(s);
            return now;
        }
        // The gap is the last packet's time at the current rate, in picoseconds, rounded up so that the rate is never exceeded.
        let gap = (f64::from(source.sent_bytes) * 1e12 / source.rc).ceil() as u64;
        now.max(Time::from_ps(source.sent + gap))
    }

    fn sent(&mut self, now: Time, flow: TrafficFlow, bytes: u32, _: &mut Asks) {
        let Some(s) = self.source_of.get(flow.key()) else { return };
        let source = &mut self.sources[s];
        source.settle(&self.settings, now.ps());
        source.count(&self.settings, u64::from(bytes));
        (source.sent, source.sent_bytes) = (now.ps(), bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: TrafficFlow = TrafficFlow { from: 3, to: 7 };

    fn read(given: &[(&str, &str)]) -> Result<DcqcnSettings, String> {
        let given = given.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        settings(&DCQCN.card.resolve(&given).unwrap(), &Config::default())
    }

    #[test]
    fn the_rate_after_k_notices() {
        let s = read(&[("preset", "ns3-rdma")]).unwrap();
        let mut source = Source::new(&s, 0);
        let (mut rate, mut alpha) = (12.5e9, 1.0);
        for k in 1..=5u64 {
            // 50 us apart: before alpha falls (55 us) and before the rate rises (60 us).
            source.cut(&s, k * 50 * US);
            rate *= 1.0 - alpha / 2.0;
            alpha = (1.0 - s.g) * alpha + s.g;
            assert!((source.rc / rate - 1.0).abs() < 1e-12, "after {k}: {} for {rate}", source.rc);
        }
        assert_eq!(source.rc, 12.5e9 / 32.0, "alpha stays 1, so each notice halves the rate");
        source.cut(&s, 5 * 50 * US + 1);
        assert_eq!(source.rc, 12.5e9 / 32.0, "notices within one interval count once");
        for k in 6..200 {
            source.cut(&s, k * 50 * US);
        }
        assert_eq!(source.rc, s.r_min);
    }

    #[test]
    fn fast_recovery_halves_the_distance_f_times_then_the_target_rises() {
        let s = read(&[("preset", "ns3-rdma")]).unwrap();
        let mut source = Source::new(&s, 0);
        source.cut(&s, 50 * US);
        source.cut(&s, 100 * US);
        let (rt, rc) = (source.rt, source.rc);
        assert_eq!((rt, rc), (6.25e9, 3.125e9));
        for step in 1..=5i32 {
            source.settle(&s, 100 * US + step as u64 * 60 * US);
            assert_eq!(source.rt, rt);
            assert_eq!(source.rc, rt - (rt - rc) / 2f64.powi(step), "step {step}");
        }
        source.settle(&s, 100 * US + 6 * 60 * US);
        assert_eq!(source.rt, rt + 40.0 * MBIT, "additive rise");
        source.count(&s, 6 * s.byte_counter);
        assert_eq!(source.by_bytes, 6);
        // Bytes 1 to 5 rise additively because the timer is past F, the sixth is past F in both.
        assert_eq!(source.rt, rt + (40.0 * 6.0 + 200.0) * MBIT, "hyper rise");
    }

    #[test]
    fn alpha_falls_without_notices() {
        let s = read(&[("preset", "ns3-rdma")]).unwrap();
        let mut source = Source::new(&s, 0);
        source.settle(&s, 3 * 55 * US);
        assert!((source.alpha - (1.0 - s.g).powi(3)).abs() < 1e-15);
    }

    #[test]
    fn a_flow_recovers_and_is_forgotten() {
        let mut d = Dcqcn::new(Arc::new(read(&[]).unwrap()));
        let mut asks = Asks::default();
        d.notified(Time::from_us(1), FLOW, 1, &mut asks);
        d.sent(Time::from_us(1), FLOW, 4000, &mut asks);
        // Half of 12.5 GB/s: 640 ns for 4000 bytes.
        assert_eq!(d.pace(Time::from_us(1), FLOW, 4000), Time::from_ps(1_640_000));
        assert_eq!(
            d.pace(Time::from_us(1), TrafficFlow { from: 3, to: 8 }, 4000),
            Time::from_us(1),
            "other flows are free"
        );
        assert_eq!(d.pace(Time::from_secs(1.0), FLOW, 4000), Time::from_secs(1.0));
        assert_eq!(d.source_of.get(FLOW.key()), None);
    }

    #[test]
    fn marks_follow_red_and_notices_their_interval() {
        let s = read(&[("kmin", "1000"), ("kmax", "3000"), ("pmax", "0.5"), ("cnp_interval", "4us")]).unwrap();
        let chances = [500, 1000, 2000, 3000, 3001].map(|q| s.chance(q, 1e9));
        assert_eq!(chances, [0.0, 0.0, 0.25, 0.5, 1.0]);
        assert_eq!(
            read(&[("preset", "hpcc")]).unwrap().chance(1_000_000, 12.5e9),
            0.1,
            "hpcc: 400 to 1600 KB at 100 Gb/s, up to 0.2"
        );
        let mut d = Dcqcn::new(Arc::new(s));
        let mut asks = Asks::default();
        let seen = Seen { flow: FLOW, bytes: 4136, marked: true };
        for us in 0..10 {
            d.ejected(Time::from_us(us), seen, &mut asks);
        }
        assert_eq!(asks.notices.len(), 3, "at 0, 4 and 8 us");
        d.ejected(Time::from_us(20), Seen { marked: false, ..seen }, &mut asks);
        assert_eq!(asks.notices.len(), 3);
    }

    #[test]
    fn impossible_values_are_named() {
        assert_eq!(
            read(&[("kmin", "2MB"), ("kmax", "1MB")]).unwrap_err(),
            "dcqcn: kmin=2000000 is above kmax=1000000; choose kmin below kmax"
        );
        assert!(read(&[("g", "2")]).unwrap_err().starts_with("dcqcn: g=2 is above 1"));
        assert!(read(&[("g", "-1")]).unwrap_err().contains("must be more than 0"));
    }
}
