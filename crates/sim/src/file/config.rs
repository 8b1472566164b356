//! A machine file: what the simulated system is made of.
//!
//! TOML with units as text ("12.5GB/s", "250ns", "64KiB"). Every section is a card of parameters; unknown keys are refused
//! with the near names, values that do not parse with how to write them, and absurd ones by name.

use super::faults::{self, FAULT, Fault};
use crate::base::{QueueKind, Reach};
use spec::{Card, Kind, Param, ParamError, Params, Rate, ReadParams, Time, near, show_bytes};
use thiserror::Error;

/// Why a machine file cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// Not TOML.
    #[error("machine file: {0}")]
    Syntax(String),
    /// An unknown section or name.
    #[error("machine file: {0}")]
    Unknown(String),
    /// A parameter that does not fit.
    #[error("machine file: {0}")]
    Param(#[from] ParamError),
    /// A value that parses and cannot be meant.
    #[error("machine file: {0}")]
    Absurd(String),
}

const MACHINE: Card = Card {
    name: "machine",
    about: "the system as a whole",
    source: "",
    params: &[
        Param { name: "nodes", about: "number of nodes", kind: Kind::Count, default: "32" },
        Param { name: "ranks_per_node", about: "ranks on each node", kind: Kind::Count, default: "2" },
        Param { name: "seed", about: "seed of random routing and marking", kind: Kind::Count, default: "1" },
        Param { name: "threads", about: "threads that simulate, 0 = one per core", kind: Kind::Count, default: "0" },
        Param { name: "stack", about: "stack of a rank (address space)", kind: Kind::Size, default: "256KiB" },
        Param {
            name: "event_queue",
            about: "how events are kept; the result is the same",
            kind: Kind::Choice(&["calendar", "heap"]),
            default: "calendar",
        },
    ],
};

const HOST: Card = Card {
    name: "host",
    about: "what a rank's processor costs",
    source: "",
    params: &[
        Param { name: "send_overhead", about: "time of a rank to start a send", kind: Kind::Time, default: "200ns" },
        Param { name: "recv_overhead", about: "time of a rank to end a receive", kind: Kind::Time, default: "200ns" },
        Param { name: "test_cost", about: "time of a look at a pending operation", kind: Kind::Time, default: "50ns" },
        Param {
            name: "flops",
            about: "floating-point operations per second of a rank",
            kind: Kind::Real,
            default: "4e9",
        },
        Param { name: "memory_rate", about: "memory rate of a rank", kind: Kind::Rate, default: "8GB/s" },
        Param { name: "updates", about: "random updates per second of a rank", kind: Kind::Real, default: "2e7" },
        Param { name: "local_latency", about: "between ranks of one node", kind: Kind::Time, default: "300ns" },
        Param { name: "local_rate", about: "copy rate between ranks of one node", kind: Kind::Rate, default: "8GB/s" },
    ],
};

const NIC: Card = Card {
    name: "nic",
    about: "what stands between a node and its switch",
    source: "",
    params: &[
        Param { name: "per_node", about: "NICs of a node; ranks share them in turn", kind: Kind::Count, default: "1" },
        Param { name: "rate", about: "rate of injection", kind: Kind::Rate, default: "12.5GB/s" },
        Param {
            name: "eject_rate",
            about: "rate of ejection; as `rate` unless given",
            kind: Kind::Rate,
            default: "12.5GB/s",
        },
        Param { name: "latency", about: "time of flight between NIC and switch", kind: Kind::Time, default: "50ns" },
        Param {
            name: "message_rate",
            about: "messages per second that a NIC can start",
            kind: Kind::Real,
            default: "1e8",
        },
        Param {
            name: "packet_overhead",
            about: "time of a NIC per packet, each way",
            kind: Kind::Time,
            default: "2ns",
        },
        Param { name: "mtu", about: "payload of a packet", kind: Kind::Size, default: "4096" },
        Param { name: "header", about: "bytes of header and trailer per packet", kind: Kind::Size, default: "40" },
        Param { name: "outstanding", about: "puts and gets of a NIC under way", kind: Kind::Count, default: "64" },
    ],
};

const SWITCH: Card = Card {
    name: "switch",
    about: "every switch of the network",
    source: "",
    params: &[
        Param {
            name: "latency",
            about: "from a packet's head at the input to the output",
            kind: Kind::Time,
            default: "100ns",
        },
        Param {
            name: "buffer",
            about: "input buffer of a port and virtual channel",
            kind: Kind::Size,
            default: "64KiB",
        },
        Param {
            name: "global_buffer",
            about: "the same behind a global cable; as `buffer` unless given",
            kind: Kind::Size,
            default: "64KiB",
        },
        Param {
            name: "queueing",
            about: "one queue per input, or one per input and output",
            kind: Kind::Choice(&["voq", "fifo"]),
            default: "voq",
        },
        Param {
            name: "full",
            about: "packets wait for room (credits), or are dropped at outputs of `buffer` bytes",
            kind: Kind::Choice(&["wait", "drop"]),
            default: "wait",
        },
    ],
};

const PROTOCOL: Card = Card {
    name: "protocol",
    about: "how messages become packets",
    source: "",
    params: &[
        Param { name: "eager", about: "longest message sent without asking", kind: Kind::Size, default: "8KiB" },
        Param {
            name: "small",
            about: "messages up to this long travel in a class of their own, 0 = none",
            kind: Kind::Size,
            default: "0",
        },
        Param { name: "resend", about: "until a lost packet is sent again", kind: Kind::Time, default: "100us" },
    ],
};

/// What a rank's processor costs. See the card for each.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the card documents them")]
pub struct Host {
    pub send_overhead: Time,
    pub recv_overhead: Time,
    pub test_cost: Time,
    pub flops: f64,
    pub memory_rate: Rate,
    pub updates: f64,
    pub local_latency: Time,
    pub local_rate: Rate,
}

/// What stands between a node and its switch.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the card documents them")]
pub struct NicConfig {
    pub per_node: usize,
    pub rate: Rate,
    pub eject_rate: Rate,
    pub latency: Time,
    pub message_gap: Time,
    pub packet_overhead: Time,
    pub mtu: u32,
    pub header: u32,
    pub outstanding: u32,
}

/// How a switch keeps packets that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// One queue per input, output and virtual channel: a blocked output holds up nobody else.
    Voq,
    /// One queue per input and virtual channel: the first packet holds up those behind it.
    Fifo,
}

/// What becomes of packets for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// They wait where they are until there is: flow control by credits, nothing is lost.
    Wait,
    /// They are dropped, and sent again by their source after a timeout.
    Drop,
}

/// Every switch of the network.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the card documents them")]
pub struct SwitchConfig {
    pub latency: Time,
    pub buffer: u32,
    pub global_buffer: u32,
    pub queueing: Queueing,
    pub full: Full,
}

impl SwitchConfig {
    /// What an output may have under way on a channel of a cable: a buffer, or without flow control more than is ever under
    /// way.
    pub(crate) fn credits(&self, reach: Reach) -> u32 {
        match (self.full, reach) {
            (Full::Drop, _) => 1 << 30,
            (Full::Wait, Reach::Global) => self.global_buffer,
            (Full::Wait, Reach::Edge | Reach::Local) => self.buffer,
        }
    }
}

/// A machine, ready to be built. Fields may be set before [`crate::Simulator::new`], which checks them all.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the cards document them")]
pub struct Config {
    pub nodes: usize,
    pub ranks_per_node: usize,
    pub seed: u64,
    /// Threads that simulate; 0 means one per core. The result does not depend on it.
    pub threads: usize,
    pub stack: usize,
    pub event_queue: QueueKind,
    pub host: Host,
    pub nic: NicConfig,
    pub switch: SwitchConfig,
    /// The longest message that is sent without asking.
    pub eager: usize,
    /// The longest message that travels in the class of small ones; 0 means that there is no such class.
    pub small: u64,
    /// Until a packet that a fault has lost is sent again.
    pub resend: Time,
    /// What breaks during the run, in the order of time.
    pub faults: Vec<Fault>,
    /// Name in [`crate::topology::TOPOLOGIES`] and its parameters.
    pub topology: (String, Params),
    /// Name in [`crate::routing::ROUTINGS`] and its parameters.
    pub routing: (String, Params),
    /// Name in [`crate::control::CONTROLS`] and its parameters.
    pub control: (String, Params),
}

impl Default for Config {
    fn default() -> Config {
        Config::from_toml("").expect("the defaults are a machine")
    }
}

/// What is as another parameter of its section unless it is given.
const ALIKE: [(&str, &str, &str); 2] = [("nic", "rate", "eject_rate"), ("switch", "buffer", "global_buffer")];

/// The three sections that choose a line of a table by `kind`.
const CHOSEN: [(&str, &str); 3] = [("topology", "single-switch"), ("routing", "minimal"), ("control", "none")];

impl Config {
    /// Reads a machine file.
    pub fn from_toml(text: &str) -> Result<Config, ConfigError> {
        let mut file: toml::Table = text.parse().map_err(|e: toml::de::Error| ConfigError::Syntax(e.to_string()))?;
        let cards = [&HOST, &NIC, &SWITCH, &PROTOCOL];
        let mut read = |card: &Card| -> Result<Params, ConfigError> {
            let mut given = section(&mut file, card.name)?;
            for (of, like, unless_given) in ALIKE {
                if of == card.name
                    && let Some(value) = given.get(like).cloned()
                {
                    given.entry(unless_given.into()).or_insert(value);
                }
            }
            Ok(card.resolve(&given)?)
        };
        let [host, nic, switch, protocol] = [read(cards[0])?, read(cards[1])?, read(cards[2])?, read(cards[3])?];
        let faults = faults::read(file.remove(FAULT.name))?;
        let mut chosen = Vec::new();
        for (name, default) in CHOSEN {
            let mut given = section(&mut file, name)?;
            let kind = given.remove("kind").unwrap_or_else(|| default.to_string());
            chosen.push((kind, given));
        }
        let known = MACHINE.params.iter().map(|p| p.name).chain(cards.map(|c| c.name)).chain(CHOSEN.map(|c| c.0));
        let known = known.chain([FAULT.name]);
        if let Some(wrong) = file.keys().find(|k| !MACHINE.params.iter().any(|p| p.name == *k)) {
            return Err(ConfigError::Unknown(near::unknown("key", wrong, known)));
        }
        let machine = MACHINE.resolve(&texts(&file, "machine")?)?;
        let control = chosen.pop().expect("three");
        let routing = chosen.pop().expect("three");
        let topology = chosen.pop().expect("three");
        let config = Config {
            nodes: machine.count("nodes") as usize,
            ranks_per_node: machine.count("ranks_per_node") as usize,
            seed: machine.count("seed"),
            threads: machine.count("threads") as usize,
            stack: machine.size("stack"),
            event_queue: if machine.word("event_queue") == "heap" { QueueKind::Heap } else { QueueKind::Calendar },
            host: host_of(&host),
            nic: NicConfig {
                per_node: nic.count("per_node") as usize,
                rate: nic.rate("rate"),
                eject_rate: nic.rate("eject_rate"),
                latency: nic.time("latency"),
                message_gap: Time::from_secs(1.0 / nic.real("message_rate")),
                packet_overhead: nic.time("packet_overhead"),
                mtu: nic.size("mtu") as u32,
                header: nic.size("header") as u32,
                outstanding: nic.count("outstanding") as u32,
            },
            switch: SwitchConfig {
                latency: switch.time("latency"),
                buffer: switch.size("buffer").min(u32::MAX as usize) as u32,
                global_buffer: switch.size("global_buffer").min(u32::MAX as usize) as u32,
                queueing: if switch.word("queueing") == "fifo" { Queueing::Fifo } else { Queueing::Voq },
                full: if switch.word("full") == "drop" { Full::Drop } else { Full::Wait },
            },
            eager: protocol.size("eager"),
            small: protocol.size("small") as u64,
            resend: protocol.time("resend"),
            faults,
            topology,
            routing,
            control,
        };
        config.check()?;
        Ok(config)
    }

    /// Ranks in all.
    pub fn ranks(&self) -> usize {
        self.nodes * self.ranks_per_node
    }

    /// NICs in all.
    pub fn endpoints(&self) -> usize {
        self.nodes * self.nic.per_node
    }

    /// Everything that defines the machine, by the names of the machine file, for the record.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        let (host, nic, switch) = (&self.host, &self.nic, &self.switch);
        let size = |bytes: usize| show_bytes(bytes as u64);
        let queueing = if switch.queueing == Queueing::Fifo { "fifo" } else { "voq" };
        let facts = [
            ("nodes", self.nodes.to_string()),
            ("ranks_per_node", self.ranks_per_node.to_string()),
            ("seed", self.seed.to_string()),
            ("host.send_overhead", host.send_overhead.to_string()),
            ("host.recv_overhead", host.recv_overhead.to_string()),
            ("host.test_cost", host.test_cost.to_string()),
            ("host.flops", host.flops.to_string()),
            ("host.memory_rate", host.memory_rate.to_string()),
            ("host.updates", host.updates.to_string()),
            ("host.local_latency", host.local_latency.to_string()),
            ("host.local_rate", host.local_rate.to_string()),
            ("nic.per_node", nic.per_node.to_string()),
            ("nic.rate", nic.rate.to_string()),
            ("nic.eject_rate", nic.eject_rate.to_string()),
            ("nic.latency", nic.latency.to_string()),
            ("nic.message_gap", nic.message_gap.to_string()),
            ("nic.packet_overhead", nic.packet_overhead.to_string()),
            ("nic.mtu", size(nic.mtu as usize)),
            ("nic.header", size(nic.header as usize)),
            ("nic.outstanding", nic.outstanding.to_string()),
            ("switch.latency", switch.latency.to_string()),
            ("switch.buffer", size(switch.buffer as usize)),
            ("switch.global_buffer", size(switch.global_buffer as usize)),
            ("switch.queueing", queueing.to_string()),
            ("switch.full", if switch.full == Full::Drop { "drop" } else { "wait" }.to_string()),
            ("protocol.eager", size(self.eager)),
            ("protocol.small", show_bytes(self.small)),
            ("protocol.resend", self.resend.to_string()),
        ];
        facts.map(|(name, value)| (name.to_string(), value)).into()
    }

    /// The longest packet on the wire.
    pub(crate) fn packet(&self) -> u32 {
        self.nic.mtu + self.nic.header
    }

    /// Refuses what parses and cannot be meant.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let limits: &[(&str, f64, f64, f64)] = &[
            ("nodes", self.nodes as f64, 1.0, 1e6),
            ("ranks_per_node", self.ranks_per_node as f64, 1.0, 4096.0),
            ("nodes x ranks_per_node", self.ranks() as f64, 1.0, 4e6),
            ("threads", self.threads as f64, 0.0, 1024.0),
            ("stack", self.stack as f64, fiber::MIN_STACK as f64, fiber::MAX_STACK as f64),
            ("host.flops", self.host.flops, 1e3, 1e18),
            ("host.updates", self.host.updates, 1.0, 1e15),
            ("host.memory_rate", self.host.memory_rate.bytes_per_s(), 1e3, 1e15),
            ("host.local_rate", self.host.local_rate.bytes_per_s(), 1e6, 1e15),
            ("host.send_overhead", self.host.send_overhead.secs(), 0.0, 1.0),
            ("host.recv_overhead", self.host.recv_overhead.secs(), 0.0, 1.0),
            ("host.test_cost", self.host.test_cost.secs(), 1e-12, 1.0),
            ("host.local_latency", self.host.local_latency.secs(), 0.0, 1.0),
            ("nic.per_node", self.nic.per_node as f64, 1.0, 64.0),
            ("nic.rate", self.nic.rate.bytes_per_s(), 1e6, 1e13),
            ("nic.eject_rate", self.nic.eject_rate.bytes_per_s(), 1e6, 1e13),
            ("nic.latency", self.nic.latency.secs(), 1e-12, 1.0),
            ("nic.message_rate", 1.0 / self.nic.message_gap.secs().max(1e-12), 1.0, 1e12),
            ("nic.packet_overhead", self.nic.packet_overhead.secs(), 0.0, 1e-3),
            ("nic.mtu", f64::from(self.nic.mtu), 16.0, 65536.0),
            ("nic.header", f64::from(self.nic.header), 1.0, 4096.0),
            ("nic.outstanding", f64::from(self.nic.outstanding), 1.0, 1e6),
            ("switch.latency", self.switch.latency.secs(), 0.0, 1.0),
            ("switch.buffer", f64::from(self.switch.buffer), f64::from(self.packet()), 1e9),
            ("switch.global_buffer", f64::from(self.switch.global_buffer), f64::from(self.packet()), 1e9),
            ("protocol.eager", self.eager as f64, 0.0, 1e12),
            ("protocol.resend", self.resend.secs(), 1e-9, 1e3),
        ];
        if self.switch.full == Full::Drop && self.switch.queueing == Queueing::Fifo {
            let text = "switch.full = drop means output buffers; set switch.queueing = \"voq\"";
            return Err(ConfigError::Absurd(text.into()));
        }
        match limits.iter().find(|(_, value, low, high)| !(low..=high).contains(&value)) {
            None => Ok(()),
            Some((name, value, low, high)) => Err(ConfigError::Absurd(format!(
                "{name} = {value} is out of range; choose {low} to {high} (base units)"
            ))),
        }
    }
}

fn host_of(host: &Params) -> Host {
    Host {
        send_overhead: host.time("send_overhead"),
        recv_overhead: host.time("recv_overhead"),
        test_cost: host.time("test_cost"),
        flops: host.real("flops"),
        memory_rate: host.rate("memory_rate"),
        updates: host.real("updates"),
        local_latency: host.time("local_latency"),
        local_rate: host.rate("local_rate"),
    }
}

/// Takes a section out of the file as text values.
fn section(file: &mut toml::Table, name: &str) -> Result<Params, ConfigError> {
    match file.remove(name) {
        None => Ok(Params::new()),
        Some(toml::Value::Table(table)) => texts(&table, name),
        Some(_) => Err(ConfigError::Absurd(format!("`{name}` is a section; write `[{name}]`"))),
    }
}

pub(crate) fn texts(table: &toml::Table, name: &str) -> Result<Params, ConfigError> {
    let text = |(key, value): (&String, &toml::Value)| match value {
        toml::Value::String(s) => Ok((key.clone(), s.clone())),
        toml::Value::Integer(i) => Ok((key.clone(), i.to_string())),
        toml::Value::Float(x) => Ok((key.clone(), x.to_string())),
        toml::Value::Boolean(b) => Ok((key.clone(), b.to_string())),
        _ => Err(ConfigError::Absurd(format!("{name}.{key} must be a number or a text"))),
    };
    table.iter().map(text).collect()
}

/// The line of a table by its name, and its resolved parameters.
pub(crate) fn choose<'t, E>(
    what: &str,
    table: &'t [E],
    card: impl Fn(&'t E) -> &'t Card,
    chosen: &(String, Params),
) -> Result<(&'t E, Params), ConfigError> {
    let names = table.iter().map(|e| card(e).name);
    let entry = table
        .iter()
        .find(|e| card(e).name == chosen.0)
        .ok_or_else(|| ConfigError::Unknown(near::unknown(what, &chosen.0, names)))?;
    let params = card(entry).resolve(&chosen.1)?;
    Ok((entry, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Config::from_toml(text).unwrap_err().to_string()
    }

    #[test]
    fn units_are_read() {
        let c =
            Config::from_toml("nodes = 4\n[nic]\nrate = \"100Gb/s\"\nmtu = \"2KiB\"\n[host]\nflops = 1e10").unwrap();
        assert_eq!((c.nodes, c.nic.mtu, c.host.flops), (4, 2048, 1e10));
        assert_eq!(c.nic.eject_rate, c.nic.rate);
        let c = Config::from_toml("[switch]\nbuffer = \"8KiB\"").unwrap();
        assert_eq!((c.switch.buffer, c.switch.global_buffer), (8192, 8192));
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(refused("node = 3"), "machine file: unknown key `node`; did you mean `nodes`, `ranks_per_node`?");
        assert_eq!(
            refused("[nic]\nrat = \"1GB/s\""),
            "machine file: unknown parameter of nic `rat`; did you mean `rate`, `eject_rate`, `message_rate`?"
        );
        assert!(refused("[nic]\nrate = \"fast\"").contains("`fast` is not a rate"));
        assert!(refused("nodes = 0").contains("nodes = 0 is out of range; choose 1 to 1000000"));
        assert!(refused("[switch]\nbuffer = \"1KiB\"").contains("switch.buffer = 1024 is out of range"));
        assert!(refused("nic = 3").contains("write `[nic]`"));
        assert!(refused("nodes = [1]").contains("machine.nodes must be a number"));
        assert!(refused("= 3").starts_with("machine file: "));
    }
}
