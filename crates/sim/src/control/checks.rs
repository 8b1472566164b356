//! Every control of the table: it acts on what it says it hears, lets its sources go again, keeps every behaviour of `Comm`,
//! and does not depend on threads. A wrong control for each of the first two shows that the check finds it.

use super::*;
use crate::net::{Chosen, Fabric};
use crate::run::Simulator;
use comm::{Access, Buffer, Comm, Data, Machine as _, Op, conformance};
use std::sync::Mutex;

/// Four switches in a line; the root is on the first.
const CHAIN: &str = "nodes = 20\nranks_per_node = 1\n[topology]\nkind = \"chain\"\nswitches = 4\n";
const ROOT: usize = 0;
/// Two that exchange small messages over the cable that the incast crosses.
const VICTIMS: [usize; 2] = [1, 5];
/// One that takes part in the incast.
const SENDER: usize = 10;
const BYTES: usize = 64 << 10;
/// How long the incast lasts: enough for marks, notices, timers.
const LASTS: Time = Time::from_us(1500);
/// When a control has had time to act.
const SETTLED: Time = Time::from_us(500);
/// When all must be forgotten. Rates are won back in steps of tens of microseconds.
const LATER: Time = Time::from_us(5_000_000);

/// What a run of the incast shows.
#[derive(Debug, PartialEq)]
struct Shown {
    /// The first victim's mean round trip in picoseconds.
    victim: u64,
    /// How long one of the senders takes for a lone message much later.
    later: Time,
    /// Packets lost per byte delivered.
    lost: f64,
    hash: u64,
}

fn simulator(entry: &ControlEntry, text: &str) -> Result<Simulator, String> {
    let config = Config::from_toml(text).map_err(|e| e.to_string())?;
    let chosen = Chosen { control: entry, ..Chosen::by(&config).map_err(|e| e.to_string())? };
    Ok(Simulator::of(Fabric::of(&config, chosen).map_err(|e| e.to_string())?))
}

/// Everybody but the root and the victims fills the root for so long; much later one of them sends to it alone.
fn incast(machine: &Simulator, lasts: Time) -> Result<Shown, String> {
    let (victim, later) = (Mutex::new(0), Mutex::new(Time::ZERO));
    let body = |comm: &dyn Comm| {
        let me = comm.rank();
        let window = comm.window(BYTES).expect("simulated machines have windows");
        comm.barrier();
        if VICTIMS.contains(&me) {
            let other = VICTIMS[0] + VICTIMS[1] - me;
            comm.pause(SETTLED.since(comm.now()));
            let (begin, rounds) = (comm.now(), 200);
            for _ in 0..rounds {
                let recv = Op::Recv { from: other, tag: 1, into: Buffer::Len(8) };
                comm.exchange(&mut [recv, Op::Send { to: other, tag: 1, data: Data::Len(8) }]);
            }
            if me == VICTIMS[0] {
                *victim.lock().unwrap() = comm.now().since(begin).ps() / rounds;
            }
        } else if me != ROOT {
            while comm.now() < lasts {
                window.transfer(&mut [Access::Put { to: ROOT, at: 0, data: Data::Len(BYTES) }]);
            }
        }
        comm.pause(LATER.since(comm.now()));
        if me == SENDER {
            comm.exchange(&mut [Op::Send { to: ROOT, tag: 2, data: Data::Len(BYTES) }]);
        } else if me == ROOT {
            comm.exchange(&mut [Op::Recv { from: SENDER, tag: 2, into: Buffer::Len(BYTES) }]);
            *later.lock().unwrap() = comm.now().since(LATER);
        }
    };
    machine.run(&body).map_err(|e| e.to_string())?;
    let stats = machine.stats();
    let (victim, later) = (victim.into_inner().unwrap(), later.into_inner().unwrap());
    let lost = stats.resent_packets as f64 / stats.delivered_bytes as f64;
    Ok(Shown { victim, later, lost, hash: stats.log_hash })
}

/// Beside a machine without control: fewer that wait, fewer that are lost, or no difference at all.
fn acts(entry: &ControlEntry) -> Result<(), String> {
    let lossy = format!("{CHAIN}[switch]\nfull = \"drop\"\nbuffer = \"32KiB\"\n");
    let text = if entry.hears == Hears::Losses { lossy.as_str() } else { CHAIN };
    // Losses are rare events: ten times as long.
    let lasts = if entry.hears == Hears::Losses { Time::from_ps(10 * LASTS.ps()) } else { LASTS };
    let (with, without) = (incast(&simulator(entry, text)?, lasts)?, incast(&simulator(&CONTROLS[0], text)?, lasts)?);
    let right = match entry.hears {
        Hears::Queues => with.victim < without.victim / 2,
        Hears::Losses => with.lost < without.lost * 0.75,
        Hears::Nothing => with == without,
    };
    if right { Ok(()) } else { Err(format!("hears {:?}: {with:?}, and without it {without:?}", entry.hears)) }
}

/// Long after the incast a lone message takes as long as if there had been none.
fn lets_go(entry: &ControlEntry) -> Result<(), String> {
    let machine = simulator(entry, CHAIN)?;
    let (after, alone) = (incast(&machine, LASTS)?.later, incast(&machine, Time::ZERO)?.later);
    let same = after.secs() < alone.secs() * 1.001;
    if same {
        Ok(())
    } else {
        Err(format!("does not let go: a lone message takes {after} long after, and {alone} else"))
    }
}

/// One thread or two, calendar or heap, with a class of small messages: one result.
fn repeats(entry: &ControlEntry) -> Result<(), String> {
    let text = |how: &str| format!("{how}\n{CHAIN}[protocol]\nsmall = 64\n");
    let shown = |how: &str| incast(&simulator(entry, &text(how))?, LASTS);
    let (one, two) = (shown("threads = 1")?, shown("threads = 2\nthreads_from = 0\nevent_queue = \"heap\"")?);
    if one == two { Ok(()) } else { Err(format!("{one:?} on one thread, {two:?} on two")) }
}

fn conforms(entry: &ControlEntry) -> Result<(), String> {
    let text = "nodes = 3\nranks_per_node = 2\n[topology]\nkind = \"chain\"\nswitches = 2\n";
    let classes = format!("{text}[protocol]\nsmall = 64\n");
    for text in [text, &classes] {
        simulator(entry, text)?.run(&|comm| conformance::run_all(comm, |_| ())).map_err(|e| e.to_string())?;
    }
    Ok(())
}

#[test]
fn every_control_does_what_it_says() {
    for entry in CONTROLS {
        for check in [acts, lets_go, repeats, conforms] {
            check(entry).unwrap_or_else(|e| panic!("{}: {e}", entry.card.name));
        }
    }
}

/// Slows whoever has sent much to the root, and for ever.
#[derive(Default)]
struct Grudge {
    sent: Time,
    bytes: u32,
}

impl Control for Grudge {
    fn pace(&mut self, now: Time, flow: TrafficFlow, _: u32) -> Time {
        let slow = flow.to as usize == ROOT && self.bytes > 2 * BYTES as u32;
        if slow { now.max(self.sent + Time::from_us(20)) } else { now }
    }
    fn sent(&mut self, now: Time, flow: TrafficFlow, bytes: u32, _: &mut Asks) {
        if flow.to as usize == ROOT {
            (self.sent, self.bytes) = (now, self.bytes + bytes);
        }
    }
}

fn wrong(build: fn(&Params, &Config) -> Result<Maker, String>, hears: Hears) -> ControlEntry {
    ControlEntry { card: Card { name: "wrong", about: "", source: "", params: &[] }, build, hears }
}

#[test]
fn wrong_controls_are_caught() {
    let grudge = wrong(|_, _| Ok(Box::new(|| Some(Box::<Grudge>::default()))), Hears::Queues);
    acts(&grudge).unwrap();
    assert!(lets_go(&grudge).unwrap_err().contains("does not let go"));
    for hears in [Hears::Queues, Hears::Losses] {
        let idle = wrong(|_, _| Ok(Box::new(|| None)), hears);
        assert!(acts(&idle).unwrap_err().contains("hears"), "it hears {hears:?} and does nothing");
    }
    let busy = ControlEntry { hears: Hears::Nothing, ..grudge };
    assert!(acts(&busy).unwrap_err().contains("hears Nothing"));
}
