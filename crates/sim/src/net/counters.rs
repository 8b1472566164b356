//! What the machine counts: per run, per node and per port.

use super::Net;
use crate::base::NONE;
use crate::link::{Counters, ENDPOINT, Link};

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Virtual time of the last event, in picoseconds.
    pub end_ps: u64,
    /// Events served.
    pub events: u64,
    /// Packets that crossed a cable, counted once per cable.
    pub packet_hops: u64,
    /// Messages sent, those of the protocol included.
    pub messages: u64,
    /// Payload bytes sent and delivered; equal at the end of a good run.
    pub injected_bytes: u64,
    /// See `injected_bytes`.
    pub delivered_bytes: u64,
    /// Packets lost, by full buffers or faults, and sent again.
    pub resent_packets: u64,
    /// The most bytes that ever waited for one output.
    pub peak_queue_bytes: u64,
    /// A hash of every delivery with its time: equal for equal runs.
    pub log_hash: u64,
    /// Threads that took part, and parts of the network.
    pub threads: usize,
    /// See `threads`.
    pub parts: usize,
}

impl Stats {
    /// Adds a part's totals.
    pub(crate) fn add(&mut self, now: u64, totals: &Totals, peak: u64) {
        self.end_ps = self.end_ps.max(now);
        self.events += totals.events;
        self.packet_hops += totals.hops;
        self.messages += totals.messages;
        self.injected_bytes += totals.injected;
        self.delivered_bytes += totals.delivered;
        self.resent_packets += totals.resent;
        self.peak_queue_bytes = self.peak_queue_bytes.max(peak);
        self.log_hash = self.log_hash.wrapping_add(totals.log);
    }
}

/// Totals of a part; summed over parts they are the run's statistics.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Totals {
    pub(crate) events: u64,
    pub(super) hops: u64,
    pub(super) messages: u64,
    pub(super) injected: u64,
    pub(super) delivered: u64,
    /// Packets sent again.
    pub(super) resent: u64,
    /// The hash of all deliveries so far.
    pub(crate) log: u64,
}

/// One port's counters after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortCounters {
    /// `switch 3 port 7` or `endpoint 12`.
    pub name: String,
    /// `edge`, `local`, `global`: the cable's kind.
    pub kind: &'static str,
    /// What it did.
    pub counters: Counters,
}

impl Net<'_> {
    /// The counters of a node's NICs, of the last hop to them, and of the switch that the node is at; the node is of this part.
    pub(crate) fn node_counters(&self, node: u32) -> Vec<(String, u64)> {
        let nics = self.fabric.config.nic.per_node as u32;
        let endpoints = &self.fabric.endpoints[(node * nics) as usize..((node + 1) * nics) as usize];
        let counters = |link: u32| self.outs.counters(link - self.outs.first);
        // The switch of the first NIC is of the node's part, whatever the parts are; those of other NICs need not be.
        let home = &self.fabric.switches[endpoints[0].switch as usize];
        let mut all = Vec::new();
        for (n, endpoint) in endpoints.iter().enumerate() {
            let sent = counters(endpoint.inject);
            let mut add = |name: &str, value| all.push((format!("nic{n}.{name}"), value));
            add("tx_bytes", sent.bytes);
            add("tx_packets", sent.packets);
            add("tx_stalled_ps", sent.stalled_ps);
            if endpoint.switch == endpoints[0].switch {
                let received = counters(home.first_link + u32::from(endpoint.port));
                add("rx_bytes", received.bytes);
                add("rx_packets", received.packets);
            }
        }
        let links = home.first_link..home.first_link + u32::from(home.ports);
        // In nanoseconds: times picoseconds it would outgrow the counter within seconds of virtual time.
        let waited: u128 = links.clone().map(|l| self.outs.waited(l - self.outs.first, self.clock.now)).sum();
        let to_switches = links.filter(|&l| {
            let to = self.fabric.links[l as usize].to;
            to != NONE && to & ENDPOINT == 0
        });
        let [mut forwarded, mut stalled] = [0, 0];
        for counted in to_switches.map(counters) {
            forwarded += counted.bytes;
            stalled += counted.stalled_ps;
        }
        all.extend([("switch.forwarded_bytes".into(), forwarded), ("switch.stalled_ps".into(), stalled)]);
        all.push(("switch.waiting_byte_ns".into(), (waited / 1000) as u64));
        all
    }

    /// All ports that have sent something.
    pub(crate) fn port_counters(&self) -> Vec<PortCounters> {
        let used = |o: u32| {
            let counters = self.outs.counters(o);
            (counters.packets > 0).then(|| {
                let link = &self.fabric.links[(self.outs.first + o) as usize];
                PortCounters { name: port_name(link), kind: link.kind, counters }
            })
        };
        (0..self.outs.list.len() as u32).filter_map(used).collect()
    }

    /// The most that ever waited for an output.
    pub(crate) fn peak_queue(&self) -> u64 {
        (0..self.outs.list.len() as u32).map(|o| self.outs.counters(o).peak_queue).max().unwrap_or(0)
    }
}

fn port_name(link: &Link) -> String {
    match link.from {
        e if e & ENDPOINT != 0 => format!("endpoint {}", e & !ENDPOINT),
        s => format!("switch {s} port {}", link.from_port),
    }
}
