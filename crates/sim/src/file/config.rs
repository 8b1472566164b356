//! A machine file: what the simulated system is made of.
//!
//! TOML with units as text ("12.5GB/s", "250ns", "64KiB"). Every section is a card of parameters; unknown keys are refused
//! with the near names, values that do not parse with how to write them, and absurd ones by name.

use super::faults::{self, FAULT, Fault};
use super::knobs::{Count, Least, Limit, Number, PerSecond, Size, Sort, knobs, words};
use crate::base::{QueueKind, Reach, Room, idle_cores};
use spec::{Card, Kind, Param, ParamError, Params, Rate, ReadParams, Time, near};
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

/// How a switch keeps packets that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// One queue per input, output and virtual channel: a blocked output holds up nobody else.
    Voq,
    /// One queue per input and virtual channel: the first packet holds up those behind it.
    Fifo,
    /// One queue per input, virtual channel and column of outputs, as in switches made of tiles: a packet holds up those behind
    /// it that leave by the same column.
    Columns,
}

/// What travels in virtual channels of its own, beside data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apart {
    /// Acknowledgements, clear-to-send and notices: nothing that carries data ever holds them up.
    Control,
    /// All that answers a request, with its data, as on networks that know requests and responses: gets come beside puts.
    Answers,
}

/// What becomes of packets for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// They wait where they are until there is: flow control by credits, nothing is lost.
    Wait,
    /// They are dropped, and sent again by their source after a timeout.
    Drop,
}

words!(Queueing { Voq = "voq", Fifo = "fifo", Columns = "columns" });
/// Who moves a message that is too long to be sent without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Long {
    /// The sender, as soon as the receiver is ready.
    Pushed,
    /// The receiver, which has as many under way as gets of a NIC.
    Fetched,
}

/// Whose ranks share cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Those of a node.
    Node,
    /// All.
    Machine,
}

/// Which places of a topology the nodes take, if it has more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// The first ones.
    Contiguous,
    /// Random ones, in their order: as a scheduler of a busy machine gives them.
    Scattered,
}

words!(Allocation { Contiguous = "contiguous", Scattered = "scattered" });
words!(Long { Pushed = "pushed", Fetched = "fetched" });
words!(Sharing { Node = "node", Machine = "machine" });
words!(Apart { Control = "control", Answers = "answers" });
words!(Full { Wait = "wait", Drop = "drop" });
words!(QueueKind { Calendar = "calendar", Heap = "heap" });

/// Rates as high as this are no limits.
pub(crate) const NO_LIMIT: f64 = 1e13;

knobs! {
    /// What a rank's processor costs.
    struct HostConfig = "host" "what a rank's processor costs" {
        send_overhead: Time = "200ns" "time of a rank to start a send" in [0.0, 1.0];
        recv_overhead: Time = "200ns" "time of a rank to end a receive" in [0.0, 1.0];
        copy_time: Time = "0ns" "time of a rank, on each side, for each KiB of a message sent without asking" in [0.0, 1.0];
        // Never 0: virtual time must pass for a rank that looks again and again.
        test_cost: Time = "50ns" "time of a look at a pending operation" in [1e-12, 1.0];
        cores: Count<usize> = "0" "cores that ranks share for sending, receiving and computing, 0 = each has its own" in [0.0, 1e6];
        cores_of: Sharing = "node" "whose ranks share them: each node's, or all, as of nodes that one computer pretends to have";
        flops: f64 = "4e9" "floating-point operations per second of a rank" in [1e3, 1e18];
        memory_rate: Rate = "8GB/s" "memory rate of a rank" in [1e3, 1e15];
        updates: f64 = "2e7" "random updates per second of a rank" in [1.0, 1e15];
        local_latency: Time = "300ns" "between ranks of one node" in [0.0, 1.0];
        local_rate: Rate = "8GB/s" "copy rate between ranks of one node" in [1e6, 1e15];
    }
    with {}
}

knobs! {
    /// What stands between a node and its switch.
    struct NicConfig = "nic" "what stands between a node and its switch" {
        per_node: Count<usize> = "1" "NICs of a node; ranks share them in turn" in [1.0, 64.0];
        switches: Count<usize> = "1" "switches that a node's NICs are dealt to, in turn" in [1.0, 64.0];
        rate: Rate = "12.5GB/s" "rate of injection" in [1e6, 1e13];
        eject_rate: Rate = "12.5GB/s" "rate of ejection; as `rate` unless given" in [1e6, 1e13] like rate;
        both_rate: Rate = "10TB/s" "rate of both directions together, which share it when both are busy; the default is no limit"
            in [1e6, 1e13];
        burst: Size<u64> = "0" "bytes that leave at `burst_rate` after a pause, each way: a token bucket as of cloud providers, 0 = none";
        burst_rate: Rate = "12.5GB/s" "rate of a burst; as `rate` unless given" in [1e6, 1e13] like rate;
        latency: Time = "50ns" "time of flight between NIC and switch" in [1e-12, 1.0];
        message_gap named "message_rate": PerSecond = "1e8" "messages per second that a NIC can start" in [1.0, 1e12];
        packet_overhead: Time = "2ns" "time of a NIC per packet, each way" in [0.0, 1e-3];
        mtu: Size<u32> = "4096" "payload of a packet" in [16.0, 65536.0];
        header: Size<u32> = "40" "bytes of header and trailer per packet" in [1.0, 4096.0];
        unit: Size<u32> = "0" "payload of the real network's packets, where a packet is simulated as a train of them and each has a header; 0 = no trains"
            in [0.0, 65536.0];
        asked_header: Size<u32> = "40" "header of packets with data that were asked for; as `header` unless given" in [1.0, 4096.0] like header;
        request: Size<u32> = "0" "bytes by which each unit of a get is asked for, 0 = one packet for all" in [0.0, 4096.0];
        answer: Size<u32> = "0" "bytes by which each unit of a put is acknowledged, 0 = one packet for all" in [0.0, 4096.0];
        outstanding: Count<u32> = "64" "puts and gets of a NIC under way" in [1.0, 1e6];
        window: Size<u64> = "0" "bytes of puts and gets of a NIC under way: the next one waits while it is so many, 0 = no limit";
    }
    with {}
}

knobs! {
    /// Every switch of the network.
    struct SwitchConfig = "switch" "every switch of the network" {
        latency: Time = "100ns" "from a packet's head at the input to the output" in [0.0, 1.0];
        buffer: Size<u32> = "64KiB" "input buffer of a port and virtual channel" in [Least::Packet, 1e9];
        global_buffer: Size<u32> = "64KiB" "the same behind a global cable; as `buffer` unless given"
            in [Least::Packet, 1e9] like buffer;
        shared: Size<u32> = "0" "what all channels of a port share, beside what each has for itself" in [0.0, 1e9];
        global_shared: Size<u32> = "0" "the same behind a global cable; as `shared` unless given" in [0.0, 1e9] like shared;
        queueing: Queueing = "voq" "what shares a queue of an input: nothing, all outputs, or a column of them";
        columns: Count<u32> = "8" "columns of outputs (port modulo this), with `queueing = columns`" in [2.0, 64.0];
        apart: Apart = "control" "what has channels beside those of data: small control messages, or all that answers a request";
        full: Full = "wait" "packets wait for room (credits), or are dropped at outputs of `buffer` bytes";
    }
    with {}
}

knobs! {
    /// How messages become packets.
    struct ProtocolConfig = "protocol" "how messages become packets" {
        eager: Size<usize> = "8KiB" "longest message sent without asking" in [0.0, 1e12];
        copied: Size<usize> = "0" "longer ones up to this are copied by the sender, which goes on, and fetched by the receiver; 0 = none"
            in [0.0, 1e12];
        ahead: Count<u32> = "64" "copied messages of a rank that may wait to be fetched; one more waits like a long one" in [1.0, 1e9];
        long: Long = "pushed" "who moves longer ones: the sender when the receiver is ready, or the receiver";
        short: Size<u64> = "0" "longest message that goes the short way; longer ones up to `eager` go the medium, others the long way";
        medium_time: Time = "0ns" "what a message of the medium way takes more" in [0.0, 1.0];
        long_time: Time = "0ns" "what a message of the long way takes more" in [0.0, 1.0];
        short_rate: Rate = "10TB/s" "rate at which a rank moves messages of the short way to its NIC; the default is no limit"
            in [1e6, 1e13];
        short_more: Rate = "10TB/s" "what each further rank of the NIC adds to that; as `short_rate` unless given"
            in [1.0, 1e13] like short_rate;
        medium_rate: Rate = "10TB/s" "the same of the medium way" in [1e6, 1e13];
        medium_more: Rate = "10TB/s" "what each further rank adds to that; as `medium_rate` unless given"
            in [1.0, 1e13] like medium_rate;
        long_rate: Rate = "10TB/s" "the same of the long way: R_C of the max-rate model" in [1e6, 1e13];
        long_more: Rate = "10TB/s" "what each further rank adds to that; as `long_rate` unless given"
            in [1.0, 1e13] like long_rate;
        small: Size<u64> = "0" "messages up to this long travel in a class of their own, 0 = none";
        resend: Time = "100us" "until a lost packet is sent again" in [1e-9, 1e3];
    }
    with {}
}

knobs! {
    /// A machine, ready to be built. Fields may be set before [`crate::Simulator::new`], which checks them all.
    struct Config = "machine" "the system as a whole" {
        nodes: Count<usize> = "32" "number of nodes" in [1.0, 1e6];
        ranks_per_node: Count<usize> = "2" "ranks on each node" in [1.0, 4096.0];
        allocation: Allocation = "contiguous" "places of the topology that the nodes take, if it has more: the first, or random ones";
        seed: Count<u64> = "1" "seed of random routing, marking and allocation";
        threads: Count<usize> = "0" "threads that simulate, 0 = one per core without other work" in [0.0, 1024.0] but unrecorded;
        threads_from: Count<usize> = "256" "NICs from which several threads are worth their meetings"
            in [0.0, 1e9] but unrecorded;
        ask_from: Count<usize> = "2000" "ranks of a thread from which memory is asked for ahead of events; the result is the same"
            in [0.0, 1e9] but unrecorded;
        stack: Size<usize> = "256KiB" "stack of a rank (address space)"
            in [fiber::MIN_STACK as f64, fiber::MAX_STACK as f64] but unrecorded;
        event_queue: QueueKind = "calendar" "how events are kept; the result is the same" but unrecorded;
    }
    with {
        /// `[host]`.
        host: HostConfig,
        /// `[nic]`.
        nic: NicConfig,
        /// `[switch]`.
        switch: SwitchConfig,
        /// `[protocol]`.
        protocol: ProtocolConfig,
        /// What breaks during the run, in the order of time.
        faults: Vec<Fault>,
        /// Name in [`crate::topology::TOPOLOGIES`] and its parameters.
        topology: (String, Params),
        /// Name in [`crate::routing::ROUTINGS`] and its parameters.
        routing: (String, Params),
        /// Name in [`crate::control::CONTROLS`] and its parameters.
        control: (String, Params),
    }
}

impl HostConfig {
    /// Whether ranks of all nodes share cores.
    pub(crate) fn shares_all(&self) -> bool {
        self.cores > 0 && self.cores_of == Sharing::Machine
    }

    /// What a rank pays for copying a message of so many bytes.
    pub(crate) fn copying(&self, bytes: u64) -> u64 {
        (u128::from(bytes) * u128::from(self.copy_time.ps()) / 1024) as u64
    }
}

/// Ways by which messages are moved to a NIC: the short, the medium and the long one.
pub(crate) const WAYS: usize = 3;

impl ProtocolConfig {
    /// The way of a message of so many bytes.
    pub(crate) fn way(&self, bytes: u64) -> u8 {
        u8::from(bytes > self.short) + u8::from(bytes > self.short.max(self.eager as u64))
    }

    /// Whether the sender of such a message copies it, goes on, and has it fetched.
    pub(crate) fn copies(&self, bytes: u64) -> bool {
        bytes > self.eager as u64 && bytes <= self.copied as u64
    }

    /// What such a message takes more than one of the short way.
    pub(crate) fn more(&self, bytes: u64) -> u64 {
        [0, self.medium_time.ps(), self.long_time.ps()][usize::from(self.way(bytes))]
    }

    /// Of each way what one rank has, and what each further one adds.
    pub(crate) fn rates(&self) -> [(f64, f64); WAYS] {
        let pairs = [
            (self.short_rate, self.short_more),
            (self.medium_rate, self.medium_more),
            (self.long_rate, self.long_more),
        ];
        pairs.map(|(first, more)| (first.bytes_per_s(), more.bytes_per_s()))
    }

    /// Whether messages of one rank may be faster than others by their length.
    pub(crate) fn is_uneven(&self) -> bool {
        self.is_limited() || self.medium_time.ps() + self.long_time.ps() > 0
    }

    /// Whether any of them is a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.rates().iter().any(|(first, _)| *first < NO_LIMIT)
    }
}

impl SwitchConfig {
    /// Queues of an input and channel in which packets wait for their turn to ask for an output: none with virtual output queues.
    pub(crate) fn lanes(&self) -> u32 {
        match self.queueing {
            Queueing::Voq => 0,
            Queueing::Fifo => 1,
            Queueing::Columns => self.columns,
        }
    }

    /// What an output may have under way on a cable: a buffer, or without flow control more than is ever under way.
    pub(crate) fn room(&self, reach: Reach) -> Room {
        match (self.full, reach) {
            (Full::Drop, _) => Room { own: 1 << 30, shared: 0 },
            (Full::Wait, Reach::Global) => Room { own: self.global_buffer, shared: self.global_shared },
            (Full::Wait, Reach::Edge | Reach::Local) => Room { own: self.buffer, shared: self.shared },
        }
    }

    /// Whether channels share a part of some buffer.
    pub(crate) fn shares(&self) -> bool {
        self.full == Full::Wait && self.shared.max(self.global_shared) > 0
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::from_toml("").expect("the defaults are a machine")
    }
}

/// The cards of the sections that are knobs alone; the first is the file's top level.
pub const CARDS: [&Card; 5] =
    [&Config::CARD, &HostConfig::CARD, &NicConfig::CARD, &SwitchConfig::CARD, &ProtocolConfig::CARD];

impl Config {
    /// Threads that simulate it, if it can be divided so far.
    pub(crate) fn workers(&self) -> usize {
        match self.threads {
            _ if self.endpoints() < self.threads_from => 1,
            0 => idle_cores(),
            n => n,
        }
    }

    /// Reads a machine file.
    pub fn from_toml(text: &str) -> Result<Config, ConfigError> {
        let mut file: toml::Table = text.parse().map_err(|e: toml::de::Error| ConfigError::Syntax(e.to_string()))?;
        let host = HostConfig::read(section(&mut file, "host")?, ())?;
        let nic = NicConfig::read(section(&mut file, "nic")?, ())?;
        let switch = SwitchConfig::read(section(&mut file, "switch")?, ())?;
        let protocol = ProtocolConfig::read(section(&mut file, "protocol")?, ())?;
        let faults = faults::read(file.remove(FAULT.name))?;
        let topology = chosen(&mut file, "topology", "single-switch")?;
        let routing = chosen(&mut file, "routing", "minimal")?;
        let control = chosen(&mut file, "control", "none")?;
        // All sections have been taken out: whatever is left must be a key of the top level.
        let top = || Config::CARD.params.iter().map(|p| p.name);
        if let Some(wrong) = file.keys().find(|key| !top().any(|name| name == *key)) {
            let sections = CARDS[1..].iter().map(|card| card.name);
            let known = top().chain(sections).chain(["topology", "routing", "control", FAULT.name]);
            return Err(ConfigError::Unknown(near::unknown("key", wrong, known)));
        }
        let given = texts(&file, Config::CARD.name)?;
        let config = Config::read(given, (host, nic, switch, protocol, faults, topology, routing, control))?;
        config.check()?;
        Ok(config)
    }

    /// Ranks in all. Too many to count are the most that can be: `check` refuses them.
    pub fn ranks(&self) -> usize {
        self.nodes.saturating_mul(self.ranks_per_node)
    }

    /// NICs in all.
    pub fn endpoints(&self) -> usize {
        self.nodes.saturating_mul(self.nic.per_node)
    }

    /// Everything that defines the machine, by the names of the machine file, for the record.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        let mut facts = Vec::new();
        self.add_facts("", &mut facts);
        self.host.add_facts("host.", &mut facts);
        self.nic.add_facts("nic.", &mut facts);
        self.switch.add_facts("switch.", &mut facts);
        self.protocol.add_facts("protocol.", &mut facts);
        facts
    }

    /// The longest packet on the wire.
    pub(crate) fn packet(&self) -> u32 {
        let nic = &self.nic;
        nic.wire(nic.mtu, false).max(nic.wire(nic.mtu, true))
    }

    /// Refuses what parses and cannot be meant.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let mut limits = Vec::new();
        self.add_limits("", &mut limits);
        // Both factors may be in range and the product still too large.
        let (name, value) = ("nodes x ranks_per_node".to_string(), self.ranks() as f64);
        limits.push(Limit { name, kind: Kind::Count, value, least: Least::Is(1.0), most: 4e6 });
        self.host.add_limits("host.", &mut limits);
        self.nic.add_limits("nic.", &mut limits);
        self.switch.add_limits("switch.", &mut limits);
        self.protocol.add_limits("protocol.", &mut limits);
        if self.switch.full == Full::Drop && self.switch.queueing != Queueing::Voq {
            let text = "switch.full = drop means output buffers; set switch.queueing = \"voq\"";
            return Err(ConfigError::Absurd(text.into()));
        }
        if self.switch.full == Full::Drop && self.switch.shared.max(self.switch.global_shared) > 0 {
            let text = "switch.shared is a part of an input buffer, and switch.full = drop means output buffers: leave one out";
            return Err(ConfigError::Absurd(text.into()));
        }
        if self.switch.apart == Apart::Answers && (self.switch.full == Full::Drop || self.control.0 != "none") {
            let text = "switch.apart = answers takes answers with their data out of congestion control's sight: set control.kind = \"none\" \
                        and leave switch.full out";
            return Err(ConfigError::Absurd(text.into()));
        }
        for limit in &limits {
            limit.check(self).map_err(ConfigError::Absurd)?;
        }
        Ok(())
    }
}

/// Takes a section that chooses a line of a table by `kind` out of the file.
fn chosen(file: &mut toml::Table, name: &str, default: &str) -> Result<(String, Params), ConfigError> {
    let mut given = section(file, name)?;
    // Whether the kind exists and its parameters fit is asked when the network is built: its table has the cards.
    let kind = given.remove("kind").unwrap_or_else(|| default.to_string());
    Ok((kind, given))
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
    fn what_cannot_be_meant_together_is_refused() {
        let drop = "[switch]\nfull = \"drop\"\n";
        for (text, remedy) in [
            (format!("{drop}queueing = \"fifo\""), "set switch.queueing"),
            (format!("{drop}shared = \"8KiB\""), "leave one out"),
            (format!("{drop}apart = \"answers\""), "leave switch.full out"),
            ("[switch]\napart = \"answers\"\n[control]\nkind = \"slingshot\"".into(), "set control.kind"),
        ] {
            let said = refused(&text);
            assert!(said.contains(remedy), "{text}: {said}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(refused("node = 3"), "machine file: unknown key `node`; did you mean `nodes`, `ranks_per_node`?");
        assert_eq!(
            refused("[nic]\nrat = \"1GB/s\""),
            "machine file: unknown parameter of nic `rat`; did you mean `rate`, `both_rate`, `burst_rate`?"
        );
        assert!(refused("[nic]\nrate = \"fast\"").contains("nic: rate=fast: `fast` is not a rate"));
        let huge = refused("nodes = 9223372036854775807\nranks_per_node = 9223372036854775807");
        assert!(huge.contains("nodes = 9223372036854776000 is out of range; choose 1 to 1000000"), "{huge}");
        let product = refused("nodes = 1000000\nranks_per_node = 4096");
        assert!(
            product.contains("nodes x ranks_per_node = 4096000000 is out of range; choose 1 to 4000000"),
            "{product}"
        );
        assert!(refused("nodes = 0").contains("nodes = 0 is out of range; choose 1 to 1000000"));
        assert!(refused("[switch]\nbuffer = \"1KiB\"").contains("switch.buffer = 1KiB is out of range; choose 4"));
        assert!(refused("nic = 3").contains("write `[nic]`"));
        assert!(refused("nodes = [1]").contains("machine.nodes must be a number"));
        assert!(refused("= 3").starts_with("machine file: "));
    }

    /// Another value that a parameter may have.
    fn other(param: &Param) -> String {
        let given = Params::from([(param.name.to_string(), param.default.to_string())]);
        match param.kind {
            Kind::Count => (given.count(param.name) + 1).to_string(),
            // 64 bytes more than twice, because twice nothing is nothing.
            Kind::Size => (given.size(param.name) * 2 + 64).to_string(),
            Kind::Time => format!("{}ns", given.time(param.name).ps() / 500 + 1),
            Kind::Rate => format!("{}B/s", given.rate(param.name).bytes_per_s() / 2.0),
            Kind::Real | Kind::Share => (given.word(param.name).parse::<f64>().unwrap() / 2.0).to_string(),
            Kind::Choice(words) => words.iter().find(|w| **w != param.default).unwrap().to_string(),
            Kind::Text | Kind::Command | Kind::File => format!("{} ", param.default),
        }
    }

    /// Every knob of a card changes what is read when it is moved.
    fn every_knob_does_something<R: PartialEq>(
        card: &Card,
        read: impl Fn(Params) -> Result<R, String>,
    ) -> Result<(), String> {
        let still = read(Params::new())?;
        for param in card.params {
            let value = other(param);
            let moved = read(Params::from([(param.name.to_string(), value.clone())]))?;
            if moved == still {
                return Err(format!("{}: {}={value} changes nothing", card.name, param.name));
            }
        }
        Ok(())
    }

    /// Reads a machine file of one section.
    fn one_section(card: &Card, given: Params) -> Result<Config, String> {
        let section = if card.name == Config::CARD.name { String::new() } else { format!("[{}]\n", card.name) };
        let lines: String = given.iter().map(|(name, value)| format!("{name} = {value:?}\n")).collect();
        Config::from_toml(&(section + &lines)).map_err(|e| e.to_string())
    }

    #[test]
    fn every_knob_of_a_machine_file_does_something() {
        for card in CARDS {
            every_knob_does_something(card, |given| one_section(card, given)).unwrap();
        }
    }

    /// What the macro cannot make: a knob that is declared and not read.
    #[test]
    fn a_knob_that_nobody_reads_is_caught() {
        let param = |name| Param::new(name, Kind::Count, "3", "");
        let params = [param("read"), param("forgotten")];
        let card = Card { name: "careless", about: "", source: "", params: Box::leak(Box::new(params)) };
        let read = |given: Params| Ok(card.resolve(&given).map_err(|e| e.to_string())?.count("read"));
        assert_eq!(every_knob_does_something(&card, read).unwrap_err(), "careless: forgotten=4 changes nothing");
    }
}
